//! What `predict` writes: its columns in every format, empty tables, and rows beyond those of training.

use fedgrid_lab::source::Table;
use serde_json::{Value, json};

use crate::common::{Folder, rows};

/// A folder with a run, and a table of new rows with columns of all sorts.
fn trained() -> Folder {
    let folder = Folder::new();
    folder.fit("run", &["--no-compare", "--method", "fedrelax"]);
    folder.write(
        "new.csv",
        "id,node,x,z,note,share\n007,a,0.5,0.25,\"one, two\",1.50\n008,f,-0.5,0.125,,\n009,a,0.25,0.5,three,2\n",
    );
    folder
}

const PREDICT: [&str; 4] = ["predict", "run", "--data", "new.csv"];

/// Asks for more than the plain predictions.
fn predict(folder: &Folder, more: &[&str]) -> String {
    folder.done(&[&PREDICT[..], more].concat())
}

#[test]
fn columns_are_passed_through_beside_what_is_predicted() {
    let folder = trained();
    let plain = predict(&folder, &[]);
    assert_eq!(plain.lines().next(), Some("node,prediction,by,row"));
    let all = predict(&folder, &["--keep"]);
    assert_eq!(all.lines().next(), Some("node,prediction,by,row,id,x,z,note,share"));
    // As they are in the file, leading zeros and all.
    let first: Vec<&str> = all.lines().nth(1).unwrap().split(',').collect();
    assert_eq!(first[2..], ["own", "1", "007", "0.5", "0.25", "\"one", " two\"", "1.50"]);
    let some = predict(&folder, &["--keep", "share,id", "--interval", "0.8"]);
    assert_eq!(some.lines().next(), Some("node,prediction,lower,upper,by,row,share,id"));
    assert!(some.lines().nth(2).unwrap().ends_with(",own,2,,008"), "{some}");
    // Whatever is kept, predictions are the same.
    let predictions = |text: &str| -> Vec<String> {
        text.lines().map(|line| line.split(',').nth(1).unwrap().to_string()).collect()
    };
    assert_eq!(predictions(&plain), predictions(&all));
    assert_eq!(predictions(&plain), predictions(&some));
}

#[test]
fn every_format_holds_the_same() {
    let folder = trained();
    let keep = ["--keep", "id,note,share", "--interval", "0.8"];
    let csv = predict(&folder, &keep);
    for out in ["p.csv", "p.parquet", "p.jsonl"] {
        predict(&folder, &[&keep[..], &["--out", out]].concat());
    }
    assert_eq!(folder.read("p.csv"), csv);
    assert_eq!(predict(&folder, &[&keep[..], &["--out", "-"]].concat()), csv);
    let tables =
        ["p.csv", "p.parquet"].map(|name| Table::from_file(&folder.path(name), ',').unwrap());
    for name in ["row", "prediction", "lower", "upper"] {
        assert_eq!(tables[0].numbers(name).unwrap(), tables[1].numbers(name).unwrap(), "{name}");
    }
    for name in ["node", "note", "by"] {
        assert_eq!(tables[0].text(name).unwrap(), tables[1].text(name).unwrap(), "{name}");
    }
    let lines = folder.read("p.jsonl");
    assert_eq!(predict(&folder, &[&keep[..], &["--as", "jsonl"]].concat()), lines);
    let objects: Vec<Value> =
        lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(objects.len(), 3);
    assert_eq!(objects[1]["note"], Value::Null);
    assert_eq!(objects[2]["share"], json!(2));
    assert_eq!(objects[0]["share"].as_f64(), Some(1.5));
    assert_eq!(objects[0]["note"], "one, two");
    assert_eq!((&objects[2]["row"], &objects[2]["by"]), (&json!(3), &json!("own")));
    let written = tables[0].numbers("prediction").unwrap();
    let found: Vec<f64> = objects.iter().map(|own| own["prediction"].as_f64().unwrap()).collect();
    assert_eq!(found, written);
    // The name may end as it likes where a format is named.
    predict(&folder, &[&keep[..], &["--out", "p.dat", "--as", "jsonl"]].concat());
    assert_eq!(folder.read("p.dat"), lines);
}

#[test]
fn json_says_which_method_has_predicted() {
    let folder = trained();
    let found: Value =
        serde_json::from_str(&predict(&folder, &["--json", "--keep", "id"])).unwrap();
    assert_eq!((&found["method"], &found["advised"]), (&json!("network"), &json!("network")));
    assert_eq!(found["predictions"].as_array().unwrap().len(), 3);
    assert_eq!(found["predictions"][1]["node"], "f");
    assert_eq!(found["predictions"][1]["kept"], json!({ "id": 8 }));
}

#[test]
fn a_table_without_rows_has_no_predictions_and_is_no_mistake() {
    let folder = trained();
    folder.write("new.csv", "node,x,z\n");
    assert_eq!(predict(&folder, &[]), "node,prediction,by,row\n");
    assert_eq!(predict(&folder, &["--interval", "0.9"]), "node,prediction,lower,upper,by,row\n");
    assert_eq!(predict(&folder, &["--as", "jsonl"]), "");
    assert_eq!(predict(&folder, &["--out", "p.parquet"]), "0 predictions in p.parquet\n");
    // Columns that are missing are a mistake all the same, and so is a file without any.
    folder.write("new.csv", "node,x\n");
    assert_eq!(folder.refusal(&PREDICT), "new.csv: there is no column 'z'; known are node, x");
    folder.write("new.csv", "");
    assert!(folder.refusal(&PREDICT).starts_with("new.csv is empty"));
    // Training still needs rows.
    folder.write("rows.csv", "node,x,z,y,split\n");
    assert!(folder.refusal(&["fit", "experiment.toml", "--out", "more"]).contains("but no row"));
}

#[test]
fn rows_beyond_those_of_training_are_counted_and_said() {
    let folder = trained();
    folder.write("new.csv", "node,x,z\na,0.5,0.25\nb,40,0.25\nb,-7,0.25\na,0.5,-3\n");
    let answer = folder.run(&PREDICT);
    let said: Vec<&str> = answer.err.lines().collect();
    assert!(said[0].starts_with("2 of 4 rows have 'x' outside of "), "{said:?}");
    assert!(said[0].ends_with(", the range of the training rows (first: row 2)"), "{said:?}");
    assert!(said[1].starts_with("1 of 4 rows has 'z' outside of "), "{said:?}");
    // Training rows themselves are within.
    let text = rows(|y| y.to_string());
    let train: Vec<&str> =
        text.lines().filter(|line| line.starts_with("node") || line.ends_with(",train")).collect();
    folder.write("new.csv", train.join("\n") + "\n");
    assert_eq!(folder.run(&PREDICT).err, "predicted by network\n");
}

#[test]
fn what_cannot_be_written_gets_one_sentence() {
    let folder = trained();
    let refusal = |more: &[&str]| folder.refusal(&[&PREDICT[..], more].concat());
    assert_eq!(refusal(&["--as", "xlsx"]), "--as is 'xlsx', expected csv, jsonl or parquet");
    assert_eq!(
        refusal(&["--keep", "nte"]),
        "new.csv: there is no column 'nte'; did you mean 'note'?"
    );
    folder.edit("new.csv", "note", "by");
    assert_eq!(
        refusal(&["--keep"]),
        "new.csv: column 'by' is called like one of predictions; give it another name, or list the columns to keep \
         without it, such as --keep node"
    );
    folder.done(&[&PREDICT[..], &["--keep", "id"]].concat());
    folder.write("p.csv", "mine");
    assert_eq!(refusal(&["--out", "p.csv"]), "'p.csv' exists: replace it with --force");
    assert_eq!(folder.read("p.csv"), "mine");
}
