//! What is unusual but allowed: it is named, in what is printed and in `result.json`.

use crate::common::{Folder, timeless};
use serde_json::Value;

/// The result of a run that prints each of these notes and keeps it.
fn result_with_notes(folder: &Folder, notes: &[&str]) -> Value {
    let printed = folder.done(&["fit", "experiment.toml", "--out", "run"]);
    let printed = printed.split_whitespace().collect::<Vec<_>>().join(" ");
    let result = folder.json("run/result.json");
    for note in notes {
        assert!(printed.contains(&format!("Note: {note}")), "{note}\nis not in\n{printed}");
        let kept = result["notes"].as_array().unwrap();
        assert!(kept.iter().any(|kept| kept == note), "{note}\nis not among\n{kept:#?}");
    }
    result
}

/// The node of a name.
fn node<'a>(result: &'a Value, name: &str) -> &'a Value {
    result["nodes"].as_array().unwrap().iter().find(|node| node["name"] == name).unwrap()
}

/// Keeps only the rows that pass.
fn keep_rows(folder: &Folder, keep: impl Fn(&str) -> bool) {
    let text = folder.read("rows.csv");
    let lines: Vec<&str> =
        text.lines().enumerate().filter(|(at, line)| *at == 0 || keep(line)).map(|x| x.1).collect();
    folder.write("rows.csv", lines.join("\n") + "\n");
}

/// One prediction, from a run, at x = 0.5 and z = 0.25.
fn prediction(folder: &Folder, node: &str) -> f64 {
    folder.write("new.csv", format!("node,x,z\n{node},0.5,0.25\n"));
    let printed = folder.done(&["predict", "run", "--data", "new.csv"]);
    printed.lines().nth(1).unwrap().split(',').nth(1).unwrap().parse().unwrap()
}

#[test]
fn a_node_without_rows_learns_from_its_neighbours() {
    let folder = Folder::new();
    keep_rows(&folder, |line| !line.starts_with('c'));
    folder.append("experiment.toml", "[method]\nkind = \"fedrelax\"\n");
    let note = "Node 'c' has no training row; what is learnt there comes from neighbours.";
    let result = result_with_notes(&folder, &[note]);
    let c = node(&result, "c");
    assert_eq!(c["rows"], 0);
    assert_eq!(c["note"], "no training row");
    assert_eq!(c["network"], Value::Null);
    let (b, c, d) = (prediction(&folder, "b"), prediction(&folder, "c"), prediction(&folder, "d"));
    assert!(b.min(d) <= c && c <= b.max(d), "{b} {c} {d}");
}

#[test]
fn a_node_without_rows_needs_no_level_of_its_own() {
    let folder = Folder::new();
    keep_rows(&folder, |line| !line.starts_with('c'));
    folder.append(
        "experiment.toml",
        "[method]\nkind = \"fedrelax\"\ncouple_intercept = false\n[public]\npoints = 20\n",
    );
    let result = result_with_notes(&folder, &[]);
    assert_eq!(result["method"]["solver"], "rounds");
    assert!(prediction(&folder, "c").is_finite());
}

#[test]
fn a_node_with_one_row_is_named() {
    let folder = Folder::new();
    let mut seen = 0;
    let text = folder.read("rows.csv");
    let one: Vec<&str> = text
        .lines()
        .filter(|line| {
            seen += usize::from(line.starts_with('c'));
            !line.starts_with('c') || seen == 1
        })
        .collect();
    folder.write("rows.csv", one.join("\n") + "\n");
    let result = result_with_notes(&folder, &["Node 'c' has one training row."]);
    assert_eq!(node(&result, "c")["rows"], 1);
    assert_eq!(node(&result, "c")["note"], "one training row");
}

#[test]
fn a_constant_feature_is_named() {
    let folder = Folder::new();
    let constant: String =
        folder.read("rows.csv").lines().enumerate().fold(String::new(), |text, (at, line)| {
            let cell = if at == 0 { "w" } else { "3.5" };
            text + line + "," + cell + "\n"
        });
    folder.write("rows.csv", constant);
    let result = folder.fit("run", &[]);
    let note = "Feature 'w' is constant over all training rows.";
    assert!(result["notes"].as_array().unwrap().iter().any(|kept| kept == note));
    assert!(result["comparison"]["network"]["test"].as_f64().unwrap().is_finite());
}

#[test]
fn a_single_class_at_a_node_is_named() {
    let folder = Folder::with_classes();
    let text = folder.read("rows.csv");
    let cold: Vec<String> = text
        .lines()
        .map(|line| if line.starts_with('c') { line.replace("warm", "cold") } else { line.into() })
        .collect();
    folder.write("rows.csv", cold.join("\n") + "\n");
    let result = result_with_notes(&folder, &[]);
    assert_eq!(node(&result, "c")["note"], "one class only");
    let notes: Vec<&str> =
        result["notes"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    let note = notes.iter().find(|note| note.contains("of one class only")).unwrap();
    assert!(note.contains("'c'"), "{note}");
    assert_eq!(result["metric"], "log_loss");
}

#[test]
fn an_isolated_node_is_named_and_keeps_its_own_model() {
    let folder = Folder::new();
    folder.write("edges.csv", "src,dst,weight\na,b,1\nb,c,1\nc,d,1\nd,e,1\n");
    folder.append("experiment.toml", "[model]\nridge = 0.01\n[method]\nkind = \"fedrelax\"\n");
    let result =
        result_with_notes(&folder, &["Node 'f' has no neighbour: the network cannot help there."]);
    let f = node(&result, "f");
    assert_eq!(f["note"], "no neighbour");
    assert_eq!(f["neighbours"], 0);
    assert_eq!(f["local"], f["network"]);
    assert_eq!(result["network"]["isolated"], 1);
}

#[test]
fn a_part_without_data_falls_back_to_the_pooled_model() {
    let folder = Folder::new();
    folder.write("edges.csv", "src,dst,weight\na,b,1\nb,c,1\nc,d,1\ne,f,1\n");
    keep_rows(&folder, |line| !line.starts_with('e') && !line.starts_with('f'));
    folder.append("experiment.toml", "[model]\nridge = 0.01\n[method]\nkind = \"fedrelax\"\n");
    let note = "Nodes 'e', 'f' are in a part of the network without any training row; \
                what all nodes have in common is used there.";
    let result = result_with_notes(&folder, &[note]);
    assert_eq!(result["network"]["components"], 2);
    let fallback = prediction(&folder, "e");
    assert!((prediction(&folder, "f") - fallback).abs() < 1e-12);
    // One node with all rows trains the pooled model.
    let lonely = Folder::new();
    keep_rows(&lonely, |line| !line.starts_with('e') && !line.starts_with('f'));
    let rows = lonely.read("rows.csv");
    let pooled: Vec<String> = rows
        .lines()
        .enumerate()
        .map(|(at, line)| if at == 0 { line.into() } else { format!("a{}", &line[1..]) })
        .collect();
    lonely.write("rows.csv", pooled.join("\n") + "\n");
    lonely.fit("run", &["--set", "model.ridge=0.01", "--method", "local"]);
    assert!((prediction(&lonely, "a") - fallback).abs() < 1e-9, "{fallback}");
}

#[test]
fn a_part_without_data_falls_back_in_rounds_too() {
    let folder = Folder::new();
    folder.write("edges.csv", "src,dst,weight\na,b,1\nb,c,1\nc,d,1\ne,f,1\n");
    keep_rows(&folder, |line| !line.starts_with('e') && !line.starts_with('f'));
    folder.append("experiment.toml", "[model]\nkind = \"tree\"\n");
    let note = "Nodes 'e', 'f' are in a part of the network without any training row; \
                what all nodes have in common is used there.";
    let result = result_with_notes(&folder, &[note]);
    assert_eq!(result["method"]["solver"], "rounds");
    assert!((prediction(&folder, "e") - prediction(&folder, "f")).abs() < 1e-12);
}

#[test]
fn unusual_networks_keep_their_bits() {
    let folder = Folder::new();
    folder.write("edges.csv", "src,dst,weight\na,b,1\n");
    keep_rows(&folder, |line| line.starts_with('a') || line.starts_with('c'));
    let (first, second) = (folder.fit("one", &[]), folder.fit("two", &["--threads", "2"]));
    assert_eq!(timeless(first), timeless(second));
}
