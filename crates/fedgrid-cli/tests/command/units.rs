//! The same table in other units and another order, through the command: the same verdict and errors, and models
//! that speak in the units of the table.

use crate::common::{Folder, rows};
use serde_json::Value;

/// What a metre is in feet, more or less; the unit of the target is it too.
const UNIT: f64 = 3.281;

/// The table of the folder with z in another unit, x from another zero, y in another unit, its columns in another
/// order and its lines from the last to the first; without the column of roles if they are to be drawn.
fn changed(folder: &Folder, drawn: bool) -> Folder {
    let other = Folder::new();
    let text = folder.read("rows.csv");
    let line = |line: &str| {
        let cells: Vec<&str> = line.split(',').collect();
        let number = |cell: &str| cell.parse::<f64>().unwrap();
        let (x, z, y) = (number(cells[1]) - 20.0, 1e-3 * number(cells[2]), UNIT * number(cells[3]));
        let rest = if drawn { String::new() } else { format!("{},", cells[4]) };
        format!("{rest}{y},{z},{},{x}\n", cells[0])
    };
    let head = if drawn { "y,z,node,x\n" } else { "split,y,z,node,x\n" };
    let lines: Vec<&str> = text.lines().skip(1).collect();
    let reversed: String = lines.into_iter().rev().map(line).collect();
    other.write("rows.csv", head.to_string() + &reversed);
    let nodes = folder.read("nodes.csv");
    let lines: Vec<&str> = nodes.lines().collect();
    let reversed: Vec<&str> = lines[..1].iter().chain(lines[1..].iter().rev()).copied().collect();
    other.write("nodes.csv", reversed.join("\n") + "\n");
    other
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-6 * a.abs().max(b.abs())
}

/// Refuses results whose errors or verdicts differ.
fn check_same(result: &Value, other: &Value, what: &str) {
    assert_eq!(result["verdict_kind"], other["verdict_kind"], "{what}");
    for (name, entry) in result["comparison"].as_object().unwrap() {
        for key in ["validation", "test"] {
            let errors = [&entry[key], &other["comparison"][name][key]].map(Value::as_f64);
            if let [Some(error), Some(found)] = errors {
                assert!(close(UNIT * UNIT * error, found), "{what}, {name} {key}: {error} {found}");
            }
        }
    }
}

#[test]
fn a_table_in_other_units_and_another_order_gives_the_same_result() {
    for method in ["auto", "fedrelax", "gtv", "mixed", "persfl"] {
        for drawn in [false, true] {
            let folder = Folder::new();
            let other = changed(&folder, drawn);
            let arguments = ["--method", method, "--set", "compare.shuffles=2"];
            let mut results = Vec::new();
            for folder in [&folder, &other] {
                if drawn {
                    let shares = "train = 0.5\nvalidation = 0.25\nfeatures = [\"x\", \"z\"]";
                    folder.edit("experiment.toml", "split = \"split\"", shares);
                }
                results.push(folder.fit("run", &arguments));
            }
            check_same(&results[0], &results[1], method);
        }
    }
}

#[test]
fn weights_and_predictions_are_in_the_units_of_the_table() {
    let folder = Folder::new();
    let other = changed(&folder, false);
    // The line y = 1 + 0.5 i + (1 + 0.1 i) x − 0.5 z, without noise, is found as it is.
    let exact = rows(|y| y.to_string());
    let without_noise = |line: &str| {
        let cells: Vec<&str> = line.split(',').collect();
        let number = |cell: &str| cell.parse::<f64>().unwrap();
        let node = f64::from(cells[0].as_bytes()[0] - b'a');
        let y = 1.0 + 0.5 * node + (1.0 + 0.1 * node) * number(cells[1]) - 0.5 * number(cells[2]);
        format!("{},{},{},{y},{}\n", cells[0], cells[1], cells[2], cells[4])
    };
    let text: String = exact.lines().skip(1).map(without_noise).collect();
    folder.write("rows.csv", "node,x,z,y,split\n".to_string() + &text);
    folder.fit("run", &["--method", "local", "--set", "model.ridge=0", "--no-compare"]);
    let lines = folder.read("run/models/nodes.jsonl");
    for (node, line) in lines.lines().enumerate() {
        let model: Value = serde_json::from_str(line).unwrap();
        let of = |place: &str| model["model"].pointer(place).unwrap().as_f64().unwrap();
        let node = node as f64;
        let expected = [1.0 + 0.1 * node, -0.5, 1.0 + 0.5 * node];
        for (place, expected) in ["/slopes/0", "/slopes/1", "/intercept"].iter().zip(expected) {
            assert!((of(place) - expected).abs() < 1e-9, "{place}: {} {expected}", of(place));
        }
    }
    // A tree has no slopes; its predictions are in the units of the table all the same.
    let predicted = |folder: &Folder| -> Vec<f64> {
        folder.fit(
            "tree",
            &["--model", "tree", "--method", "fedrelax", "--alpha", "0.3", "--no-compare"],
        );
        let printed = folder.done(&["predict", "tree", "--data", "rows.csv"]);
        let number = |line: &str| line.split(',').nth(1).unwrap().parse().unwrap();
        printed.lines().skip(1).map(number).collect()
    };
    let noisy = Folder::new();
    let (plain, mut changed) = (predicted(&noisy), predicted(&other));
    changed.reverse();
    for (plain, changed) in plain.iter().zip(&changed) {
        assert!(close(UNIT * plain, *changed), "{plain} {changed}");
    }
}
