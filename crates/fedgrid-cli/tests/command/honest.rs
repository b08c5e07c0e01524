//! Nothing is silent: columns, targets, convergence, rows that judge, and advice that can be followed.

use crate::common::{Folder, NODES};
use parquet::{
    data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int64Type},
    file::{
        properties::WriterProperties, reader::FileReader, reader::SerializedFileReader,
        writer::SerializedFileWriter,
    },
    schema::parser::parse_message_type,
};
use serde_json::Value;

/// Adds a column to `rows.csv`, its cells by row.
fn add_column(folder: &Folder, name: &str, cell: impl Fn(usize) -> String) {
    let text = folder.read("rows.csv");
    let lines = text.lines().enumerate().map(|(row, line)| match row {
        0 => format!("{line},{name}"),
        row => format!("{line},{}", cell(row)),
    });
    folder.write("rows.csv", lines.collect::<Vec<_>>().join("\n") + "\n");
}

fn notes(result: &Value) -> String {
    result["notes"].as_array().unwrap().iter().map(|note| note.as_str().unwrap()).collect()
}

#[test]
fn columns_that_are_used_and_left_out_are_said_before_training() {
    let folder = Folder::new();
    add_column(&folder, "promo", |row| ["none", "flyer", "tv"][row % 3].into());
    add_column(&folder, "date", |row| format!("2024-01-{:02} 12:00", 1 + row % 28));
    add_column(&folder, "open", |row| ["True", "False"][row % 2].into());
    add_column(&folder, "empty", |_| String::new());
    add_column(&folder, "note", |row| format!("customer {row}"));
    let said = folder.done(&["fit", "experiment.toml", "--out", "run"]);
    let before = said.split("validation").next().unwrap().replace('\n', " ");
    let features = "features: x, z, promo (3 levels), date (days, weekday), open (true or false) ";
    assert!(before.contains(features), "{said}");
    let left_out = "left out: empty (nothing), note (text, 24 values in 24 training rows)";
    assert!(before.contains(left_out), "{said}");
    let result = folder.json("run/result.json");
    assert!(notes(&result).contains("Columns left out: empty (nothing)"), "{result}");
    let said = folder.done(&["fit", "experiment.toml", "--features", "x", "--out", "listed"]);
    assert!(said.contains("not listed as features: z, promo, date, open, empty, note\n"), "{said}");
}

#[test]
fn a_column_of_gaps_with_numbers_and_a_typo_is_refused_with_both() {
    let folder = Folder::new();
    let cell = |row: usize| match row {
        row if row % 3 > 0 => String::new(),
        9 => "oops".into(),
        row => row.to_string(),
    };
    add_column(&folder, "sparse", cell);
    // Most of the cells that are there are numbers, so it is no column of text.
    let refused = folder.fit_refusal(&[]);
    assert!(refused.contains("row 9, column 'sparse' is 'oops', expected a number"), "{refused}");
    assert!(refused.contains("'sparse' has 32 missing cells of 48 (first in row 1)"), "{refused}");
}

/// The rows of the folder as Parquet, with a truth value and a time in nanoseconds.
fn parquet_rows(folder: &Folder) -> Vec<u8> {
    let schema = "message rows { REQUIRED BINARY node (UTF8); REQUIRED DOUBLE x; REQUIRED DOUBLE z; \
                  REQUIRED DOUBLE y; \
                  REQUIRED BINARY split (UTF8); REQUIRED BOOLEAN open; \
                  REQUIRED INT64 at (TIMESTAMP(NANOS,true)); \
                  OPTIONAL DOUBLE gone; REQUIRED BINARY text (UTF8); }";
    let schema = parse_message_type(schema).unwrap();
    let properties = WriterProperties::default();
    let mut file = SerializedFileWriter::new(Vec::new(), schema.into(), properties.into()).unwrap();
    let mut group = file.next_row_group().unwrap();
    let text = folder.read("rows.csv");
    let header: Vec<&str> = text.lines().next().unwrap().split(',').collect();
    let cells = |name: &str| -> Vec<String> {
        let place = header.iter().position(|known| *known == name).unwrap();
        text.lines().skip(1).map(|line| line.split(',').nth(place).unwrap().into()).collect()
    };
    for name in ["node", "x", "z", "y", "split", "open", "at", "gone", "text"] {
        let cells = cells(name);
        let mut column = group.next_column().unwrap().unwrap();
        match name {
            "gone" => {
                let absent = vec![0; cells.len()];
                column.typed::<DoubleType>().write_batch(&[], Some(&absent), None).unwrap();
            }
            "node" | "split" | "text" => {
                let cells: Vec<ByteArray> = cells.iter().map(|cell| cell.as_str().into()).collect();
                column.typed::<ByteArrayType>().write_batch(&cells, None, None).unwrap();
            }
            "open" => {
                let cells: Vec<bool> = cells.iter().map(|cell| cell == "True").collect();
                column.typed::<BoolType>().write_batch(&cells, None, None).unwrap();
            }
            "at" => {
                let cells: Vec<i64> =
                    (1..).map(|row| row * 1_000_000_000).take(cells.len()).collect();
                column.typed::<Int64Type>().write_batch(&cells, None, None).unwrap();
            }
            _ => {
                let cells: Vec<f64> = cells.iter().map(|cell| cell.parse().unwrap()).collect();
                column.typed::<DoubleType>().write_batch(&cells, None, None).unwrap();
            }
        }
        column.close().unwrap();
    }
    group.close().unwrap();
    file.into_inner().unwrap()
}

#[test]
fn the_same_rows_in_csv_and_parquet_give_the_same_models() {
    let folder = Folder::new();
    add_column(&folder, "open", |row| ["True", "False"][row % 2].into());
    add_column(&folder, "at", |row| format!("1970-01-01 00:00:{row:02}"));
    // Nothing in a column, and truths that are written as text.
    add_column(&folder, "gone", |_| String::new());
    add_column(&folder, "text", |row| ["true", "false"][row / 2 % 2].into());
    folder.write("rows.parquet", parquet_rows(&folder));
    let said = folder.done(&["fit", "experiment.toml", "--out", "csv"]);
    let features = "features: x, z, open (true or false), at (days, hour), text (true or false)";
    assert!(said.contains(features) && said.contains("left out: gone (nothing)"), "{said}");
    let said =
        folder.done(&["fit", "experiment.toml", "--data", "rows.parquet", "--out", "parquet"]);
    assert!(said.contains(features) && said.contains("left out: gone (nothing)"), "{said}");
    assert_eq!(folder.read("csv/models/nodes.jsonl"), folder.read("parquet/models/nodes.jsonl"));
}

#[test]
fn whole_numbers_to_a_model_of_numbers_are_questioned_and_text_names_a_model_for_classes() {
    let folder = Folder::new();
    add_column(&folder, "grade", |row| (row % 3).to_string());
    add_column(&folder, "level", |row| ["low", "high"][row % 2].into());
    let fit = |target: &str, more: &[&str]| {
        let first = ["fit", "experiment.toml", "--features", "x", "--target", target];
        let out = format!("{target}{}", more.concat());
        folder.run(&[&first[..], &["--no-compare", "--out", &out], more].concat())
    };
    let asked = "Target 'grade' holds 3 whole numbers (0, 1, 2)";
    let flat = |text: &str| text.replace('\n', " ");
    assert!(flat(&fit("grade", &["--model", "linear"]).out).contains(asked));
    assert!(!flat(&fit("grade", &["--task", "regression"]).out).contains(asked));
    assert!(!flat(&fit("grade", &["--model", "poisson"]).out).contains(asked));
    assert!(!flat(&fit("y", &[]).out).contains("whole numbers"));
    let refused = fit("level", &["--model", "linear"]);
    assert_eq!(refused.code, Some(2));
    assert!(refused.err.contains("column 'level' holds text"), "{}", refused.err);
    assert!(refused.err.contains("--model logistic"), "{}", refused.err);
    add_column(&folder, "day", |row| format!("2024-01-{:02}", 1 + row % 28));
    let refused = fit("day", &[]).err;
    assert!(refused.contains("'day' holds dates or times, expected numbers"), "{refused}");
}

#[test]
fn a_run_that_did_not_converge_says_so_above_the_verdict_on_the_page_and_in_the_result() {
    let folder = Folder::new();
    let keys = ["kind=fedrelax", "alpha=10", "solver=rounds", "rounds=2"];
    let keys = keys.map(|key| format!("method.{key}"));
    let few: Vec<&str> = keys.iter().flat_map(|key| ["--set", key.as_str()]).collect();
    let said = folder.done(&[&["fit", "experiment.toml", "--out", "run"][..], &few].concat());
    let result = folder.json("run/result.json");
    let verdict = result["verdict"].as_str().unwrap().split(' ').next().unwrap();
    let warned = said.find("Warning: The run did not converge: fixed-point residual").unwrap();
    assert!(warned < said.rfind(&format!("\n{verdict}")).unwrap(), "{said}");
    assert!(result["warnings"][0].as_str().unwrap().starts_with("The run did not converge"));
    // A rival that has not come to its end is no rival to be beaten in silence.
    let rivals = result["warnings"][1].as_str().unwrap();
    assert!(rivals.starts_with("Rows of the comparison that did not converge: "), "{rivals}");
    assert!(rivals.contains("shuffled 1"), "{rivals}");
    let page = folder.read("run/report.html");
    assert!(
        page.find("The run did not converge").unwrap() < page.find("class=\"verdict\"").unwrap()
    );
}

#[test]
fn a_pull_beyond_rounding_is_not_called_converged() {
    let folder = Folder::new();
    let strong = ["--method", "fedrelax", "--alpha", "1e18", "--no-compare", "--out", "run"];
    folder.done(&[&["fit", "experiment.toml"][..], &strong].concat());
    let certificate = &folder.json("run/result.json")["certificate"];
    let (converged, value) = (&certificate["converged"], certificate["value"].as_f64().unwrap());
    assert_eq!(*converged, Value::Bool(value < 1e-6), "{certificate}");
}

#[test]
fn collinear_columns_converge() {
    let folder = Folder::new();
    // All three dummies and the intercept, and a constant.
    for (place, name) in ["none", "flyer", "tv"].into_iter().enumerate() {
        add_column(&folder, name, move |row| {
            u8::from((row * row + row / 3) % 3 == place).to_string()
        });
    }
    add_column(&folder, "one", |_| "1".into());
    for alpha in ["0.01", "1", "100"] {
        let arguments = ["--method", "fedrelax", "--alpha", alpha, "--force", "--out", "run"];
        folder.done(&[&["fit", "experiment.toml"][..], &arguments].concat());
        let result = folder.json("run/result.json");
        assert_eq!(result["certificate"]["converged"], true, "{alpha}: {}", result["certificate"]);
        assert!(result.get("warnings").is_none(), "{}", result["warnings"]);
    }
}

#[test]
fn without_test_rows_the_reader_is_told_what_the_verdict_rests_on() {
    let folder = Folder::new();
    folder.edit("experiment.toml", "split = \"split\"\n", "");
    let said = folder.done(&["fit", "experiment.toml", "--out", "run"]).replace('\n', " ");
    let warned =
        said.find("Warning: There are no test rows: the verdict rests on the 5 folds of the");
    assert!(warned.is_some(), "{said}");
    // Where nothing is judged, nothing rests on them.
    let alone = folder.done(&["fit", "experiment.toml", "--method", "shrunk", "--out", "shrunk"]);
    assert!(!alone.contains("verdict"), "{alone}");
    let page = folder.read("shrunk/report.html");
    assert!(page.contains("Without a network") && !page.contains("No comparison"), "{alone}");
}

#[test]
fn choices_in_lists_are_named_with_their_key_and_gossip_needs_a_network() {
    let folder = Folder::new();
    let refused = folder.fit_refusal(&["--baselines", "foo"]);
    assert!(refused.contains("compare.baselines") && refused.contains("'foo'"), "{refused}");
    let data = ["fit", "--data", "rows.csv", "--node", "node", "--target", "y", "--split", "split"];
    let gossip = ["--method", "pooled", "--baselines", "gossip"];
    let refused = folder.refusal(&[&data[..], &gossip].concat());
    assert!(refused.contains("gossip needs a network"), "{refused}");
}

#[test]
fn advice_to_use_local_pooled_or_shrunk_can_be_followed() {
    let folder = Folder::new();
    folder.done(&["fit", "experiment.toml", "--out", "network", "--quiet"]);
    let rows = folder.json("network/result.json")["comparison"].clone();
    folder.write("new.csv", "node,x,z\na,0.5,1\nf,-1.5,0\n");
    let fit = |method: &str| {
        let data =
            ["fit", "--data", "rows.csv", "--node", "node", "--target", "y", "--split", "split"];
        folder.done(&[&data[..], &["--method", method, "--out", method]].concat())
    };
    for method in ["local", "pooled", "shrunk"] {
        // No network is needed, and what is trained is the row of the comparison.
        let said = fit(method);
        assert!(said.contains(&format!("The error of {method} is")), "{said}");
        let result = folder.json(&format!("{method}/result.json"));
        assert_eq!(result["comparison"][method], rows[method]);
        assert_eq!(result["helps"], false);
        let models = folder.read(&format!("{method}/models/nodes.jsonl"));
        assert_eq!(models.lines().count(), NODES.len());
        let predicted = folder.done(&["predict", method, "--data", "new.csv"]);
        assert_eq!(predicted.lines().count(), 3, "{predicted}");
    }
    let of = |method: &str| folder.done(&["predict", method, "--data", "new.csv"]);
    assert_ne!(of("local"), of("pooled"));
    assert_ne!(of("shrunk"), of("pooled"));
    // An experiment with keys of the network's method will do, too, and says which are not used.
    folder.append(
        "experiment.toml",
        "[method]\nkind = \"fedrelax\"\nalpha = 0.5\nhub = 0.1\nweighting = \"rows\"\n",
    );
    let said = folder.done(&["fit", "experiment.toml", "--method", "pooled", "--out", "kept"]);
    assert!(said.contains("not used with --method pooled: method.alpha, method.hub\n"), "{said}");
    assert!(folder.read("kept/experiment.toml").contains("weighting = \"rows\""));
    let refused = folder.run(&["fit", "experiment.toml", "--method", "local", "--alpha", "1"]);
    assert_eq!(refused.code, Some(2));
    assert!(refused.err.contains("method.alpha is 1"), "{}", refused.err);
}

#[test]
fn predictions_are_written_as_the_name_says_or_refused() {
    let folder = Folder::new();
    folder.done(&["fit", "experiment.toml", "--no-compare", "--out", "run", "--quiet"]);
    folder.write("new.csv", "node,x,z\na,0.5,1\nf,-1.5,0\n");
    let predict = |out: &str| folder.run(&["predict", "run", "--data", "new.csv", "--out", out]);
    assert_eq!(predict("p.csv").code, Some(0));
    assert_eq!(predict("p.parquet").code, Some(0));
    let bytes = bytes::Bytes::from(std::fs::read(folder.path("p.parquet")).unwrap());
    let rows = SerializedFileReader::new(bytes).unwrap();
    let read: Vec<String> = rows
        .get_row_iter(None)
        .unwrap()
        .map(|row| {
            let cells = row.unwrap();
            let cells = cells.get_column_iter().map(|(_, cell)| cell.to_string());
            cells.map(|cell| cell.trim_matches('"').to_string()).collect::<Vec<_>>().join(",")
        })
        .collect();
    let csv = folder.read("p.csv");
    assert_eq!(csv.lines().next(), Some("node,prediction,by,row"));
    // All numbers of this file are floating, those of rows, too.
    let floating = csv.lines().skip(1).map(|line| format!("{line}.0"));
    assert_eq!(read, floating.collect::<Vec<_>>());
    let refused = predict("p.xlsx");
    assert_eq!(refused.code, Some(2));
    assert!(refused.err.contains("--out ends with .xlsx, expected .csv, .parquet or .jsonl"));
}

#[test]
fn the_help_of_the_demo_tells_its_folder() {
    let folder = Folder::empty();
    let help = folder.done(&["demo", "--help"]);
    assert!(help.contains("[default: fedgrid-demo]") && !help.contains("runs/"), "{help}");
}
