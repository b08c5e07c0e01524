//! Intervals and coefficients of runs, as files and columns have them.

use crate::common::{Folder, NODES};

/// The cells of printed CSV, without its head.
fn cells(csv: &str) -> Vec<Vec<String>> {
    csv.lines().skip(1).map(|line| line.split(',').map(String::from).collect()).collect()
}

fn number(cell: &str) -> f64 {
    cell.parse().unwrap()
}

const PREDICT: [&str; 4] = ["predict", "run", "--data", "rows.csv"];

#[test]
fn intervals_are_two_columns_around_the_prediction() {
    for method in ["fedrelax", "mixed"] {
        let folder = Folder::new();
        folder.fit("run", &["--method", method, "--no-compare"]);
        let plain = folder.done(&PREDICT);
        let printed = folder.done(&[&PREDICT[..], &["--interval", "0.8"]].concat());
        assert_eq!(printed.lines().next(), Some("node,prediction,lower,upper,by,row"));
        let wider = cells(&folder.done(&[&PREDICT[..], &["--interval", "0.9"]].concat()));
        for ((row, plain), wider) in cells(&printed).iter().zip(cells(&plain)).zip(&wider) {
            assert_eq!(row[..2], plain[..2]);
            let [prediction, lower, upper] = [1, 2, 3].map(|k| number(&row[k]));
            assert!(lower < prediction && prediction < upper, "{row:?}");
            assert!(number(&wider[2]) <= lower && upper <= number(&wider[3]), "{method} {row:?}");
        }
        let json: serde_json::Value = serde_json::from_str(
            &folder.done(&[&PREDICT[..], &["--interval", "0.8", "--json"]].concat()),
        )
        .unwrap();
        assert_eq!(json["predictions"][0]["lower"].as_f64(), Some(number(&cells(&printed)[0][2])));
        folder.done(&[&PREDICT[..], &["--interval", "0.8", "--out", "p.parquet"]].concat());
        let again = fedgrid_lab::source::Table::from_file(&folder.path("p.parquet"), ',').unwrap();
        let column: Vec<f64> = cells(&printed).iter().map(|row| number(&row[3])).collect();
        assert_eq!(again.numbers("upper").unwrap(), column);
    }
}

#[test]
fn levels_that_are_no_shares_get_one_sentence() {
    let folder = Folder::new();
    folder.fit("run", &["--no-compare"]);
    for level in ["0", "1", "1.5", "-0.5", "x", "90%", "nan"] {
        assert_eq!(
            folder.refusal(&[&PREDICT[..], &["--interval", level]].concat()),
            format!(
                "--interval is '{level}', expected a share of rows between 0 and 1, such as 0.9"
            )
        );
    }
}

#[test]
fn runs_without_intervals_are_refused_with_the_reason() {
    let folder = Folder::new();
    folder.fit("run", &["--no-compare"]);
    let asked = [&PREDICT[..], &["--interval", "0.9"]].concat();
    let file = folder.path("run/uncertainty.json");
    let text = folder.read("run/uncertainty.json");
    std::fs::remove_file(&file).unwrap();
    assert_eq!(
        folder.refusal(&asked),
        "'run' holds no uncertainty.json, without which there are no intervals; run the experiment again with \
         this version"
    );
    folder.done(&PREDICT);
    for (damaged, said) in [
        (
            text.replace("\"format\":3", "\"format\":4"),
            "format 4, this version reads formats 2 to 3",
        ),
        (text.replacen("\"a\",", "", 1), "nodes with scores: found 6, expected 5"),
        (text[..text.len() / 2].to_string(), "is damaged"),
        (
            text.replace("\"neighbours\":[[[1,", "\"neighbours\":[[[99,"),
            "a neighbour is not a node",
        ),
    ] {
        assert_ne!(damaged, text, "{said}");
        folder.write("run/uncertainty.json", &damaged);
        assert!(folder.refusal(&asked).contains(said), "{said}");
    }
    let classes = Folder::with_classes();
    classes.fit("run", &["--no-compare"]);
    assert!(!classes.path("run/uncertainty.json").exists());
    assert_eq!(
        classes.refusal(&asked),
        "intervals are for numbers, and 'y' holds classes, whose probabilities are given"
    );
}

#[test]
fn a_level_that_few_rows_do_not_allow_leaves_its_cells_empty_and_says_what_they_allow() {
    let folder = Folder::new();
    let result = folder.fit("run", &["--no-compare", "--method", "fedrelax"]);
    // Two validation rows at each of six nodes.
    let basis = |node: usize| result["nodes"][node]["interval"]["basis"].as_str().unwrap();
    assert!(basis(0).starts_with("2 own rows and "), "{}", basis(0));
    let answer = folder.run(&[&PREDICT[..], &["--interval", "0.95"]].concat());
    assert_eq!(answer.code, Some(0));
    assert!(cells(&answer.out).iter().all(|row| row[2].is_empty() && row[3].is_empty()));
    let of_nodes = || answer.err.lines().filter(|line| line.starts_with("node '"));
    assert_eq!(of_nodes().count(), NODES.len());
    assert_eq!(
        of_nodes().next(),
        Some("node 'a': too few rows for a 95 % interval: 12 rows allow at most 92 %")
    );
    // A model that knows its own errors has an interval all the same.
    folder.fit("run", &["--no-compare", "--method", "mixed", "--force"]);
    let printed = folder.done(&[&PREDICT[..], &["--interval", "0.95"]].concat());
    assert!(cells(&printed).iter().all(|row| number(&row[2]) < number(&row[3])));
}

#[test]
fn coefficients_are_a_table_with_errors_where_the_method_knows_them() {
    let folder = Folder::new();
    for (method, has_errors) in [("fedrelax", false), ("mixed", true)] {
        folder.fit("run", &["--no-compare", "--force", "--method", method]);
        let table = folder.read("run/coefficients.csv");
        assert_eq!(table.lines().next(), Some("node,coefficient,value,standard_error"));
        let rows = cells(&table);
        assert_eq!(rows.len(), 3 * NODES.len());
        let names: Vec<&str> = rows[..3].iter().map(|row| row[1].as_str()).collect();
        assert_eq!(names, ["x", "z", "intercept"]);
        assert!(rows.iter().all(|row| row[3].is_empty() != has_errors), "{method}");
        assert!(rows.iter().all(|row| row[2].parse::<f64>().is_ok()));
    }
    // The slopes of the nodes grow from 1 by 0.1, their levels from 1 by 0.5: the errors say how far off they are.
    let rows = cells(&folder.read("run/coefficients.csv"));
    for (node, own) in rows.chunks_exact(3).enumerate() {
        let truth = [1.0 + 0.1 * node as f64, -0.5, 1.0 + 0.5 * node as f64];
        for (row, truth) in own.iter().zip(truth) {
            let (value, error) = (number(&row[2]), number(&row[3]));
            assert!((value - truth).abs() < 4.0 * error && error < 0.3, "{row:?} {truth}");
        }
    }
    folder.fit("run", &["--no-compare", "--force", "--model", "tree"]);
    assert!(!folder.path("run/coefficients.csv").exists(), "trees have none");
}

#[test]
fn the_coefficients_of_classes_name_their_class() {
    let folder = Folder::with_classes();
    folder.fit("run", &["--no-compare", "--method", "mixed"]);
    let table = folder.read("run/coefficients.csv");
    assert_eq!(table.lines().next(), Some("node,class,coefficient,value,standard_error"));
    assert!(cells(&table).iter().all(|row| row[1] == "warm" && number(&row[4]) > 0.0));
}

#[test]
fn the_result_says_how_often_intervals_cover_and_how_much_nodes_differ() {
    let folder = Folder::new();
    let result = folder.fit("run", &["--no-compare", "--method", "mixed"]);
    let coverage = &result["uncertainty"]["coverage"];
    assert_eq!((coverage["rows"].as_u64(), coverage["nodes"].as_u64()), (Some(12), Some(6)));
    assert!((0.0..=1.0).contains(&coverage["covered"].as_f64().unwrap()));
    assert_eq!(result["uncertainty"]["level"], 0.9);
    assert_eq!(result["uncertainty"]["calibration"], "validation");
    assert_eq!(result["uncertainty"]["residuals"]["rows"], 12);
    let spread =
        |k: usize, key: &str| result["variances"]["coefficients"][k][key].as_f64().unwrap();
    assert_eq!(result["variances"]["coefficients"][2]["coefficient"], "intercept");
    // Levels differ by half from node to node, slopes by a tenth and by nothing.
    assert!((0.6..1.1).contains(&spread(2, "deviation")));
    assert!(spread(0, "deviation") < 0.5 && spread(2, "mean") > 1.5);
    let other = folder.fit("other", &["--no-compare", "--method", "fedrelax"]);
    assert!(other["variances"].is_null() && other["uncertainty"]["has_posterior"] == false);
}
