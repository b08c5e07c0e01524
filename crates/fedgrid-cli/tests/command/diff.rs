//! What changed between two runs.

use serde_json::Value;

use crate::common::Folder;

fn diff(folder: &Folder, first: &str, second: &str) -> Value {
    serde_json::from_str(&folder.done(&["diff", first, second, "--json"])).unwrap()
}

#[test]
fn a_run_does_not_differ_from_itself() {
    let folder = Folder::new();
    folder.fit("run", &["--method", "mixed"]);
    let same = diff(&folder, "run", "run");
    for list in ["keys", "new_nodes", "gone_nodes", "coefficients"] {
        assert_eq!(same[list], Value::Array(Vec::new()), "{list}");
    }
    assert!(same["moved"].as_array().unwrap().iter().all(|node| node["moved"] == 0.0));
    assert_eq!(same["coefficients_compared"], 18);
    let said = folder.done(&["diff", "run", "run"]);
    assert!(said.contains("The experiments are the same."), "{said}");
    assert!(
        said.contains("0 of 18 coefficients changed by more than two standard errors"),
        "{said}"
    );
}

#[test]
fn what_has_changed_is_found_and_told_in_80_columns() {
    let folder = Folder::new();
    folder.fit("first", &["--method", "mixed"]);
    // Node a has another level, by far more than its error.
    let text = folder.read("rows.csv");
    let mut lines: Vec<String> = text.lines().map(String::from).collect();
    for line in lines.iter_mut().filter(|line| line.starts_with("a,")) {
        let mut cells: Vec<String> = line.split(',').map(String::from).collect();
        cells[3] = format!("{:.6}", cells[3].parse::<f64>().unwrap() + 3.0);
        *line = cells.join(",");
    }
    folder.write("rows.csv", lines.join("\n") + "\ng,0.1,0.2,3.0,train\n");
    folder.append("nodes.csv", "g,7,7\n");
    folder.append("edges.csv", "f,g,1\n");
    folder.fit("second", &["--method", "mixed", "--seed", "7"]);
    let found = diff(&folder, "first", "second");
    assert_eq!(found["new_nodes"], serde_json::json!(["g"]));
    assert_eq!(found["moved"][0]["node"], "a");
    let moved = found["moved"][0]["moved"].as_f64().unwrap();
    assert!((2.0..4.0).contains(&moved), "{moved}");
    let first = &found["coefficients"][0];
    assert_eq!((&first["node"], &first["coefficient"]), (&"a".into(), &"intercept".into()));
    assert!(first["errors"].as_f64().unwrap() > 2.0);
    let error = first["standard_error"].as_f64().unwrap();
    let values = [0, 1].map(|at| first["values"][at].as_f64().unwrap());
    assert!((first["errors"].as_f64().unwrap() - (values[1] - values[0]) / error).abs() < 1e-12);
    let keys: Vec<&str> =
        found["keys"].as_array().unwrap().iter().map(|key| key["key"].as_str().unwrap()).collect();
    assert_eq!(keys, ["seed"]);
    let methods: Vec<&str> = found["errors"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["method"].as_str().unwrap())
        .collect();
    assert!(methods.starts_with(&["local", "pooled", "shrunk", "mixed", "network"]), "{methods:?}");
    // The other way round, who is new is gone.
    assert_eq!(diff(&folder, "second", "first")["gone_nodes"], serde_json::json!(["g"]));
    let said = folder.done(&["diff", "first", "second", "--lines", "2"]);
    for line in said.lines() {
        assert!(line.chars().count() <= 80, "{line}");
    }
    for part in
        ["1 new node: g", "keys that differ", "seed: 1 → 7", "nodes that moved most", "… and"]
    {
        assert!(said.contains(part), "{part}: {said}");
    }
}

#[test]
fn an_update_is_told_from_the_run_before() {
    let folder = Folder::new();
    folder.fit("run", &["--method", "mixed"]);
    folder.write("new.csv", "node,x,z,y,split\nb,0.3,0.4,9,train\nb,-0.3,0.1,9,train\n");
    folder.done(&["update", "run", "--data", "new.csv", "--out", "next", "--quiet"]);
    let found = diff(&folder, "run", "next");
    assert_eq!(found["moved"][0]["node"], "b");
    assert_eq!(found["moved"][0]["rows"], serde_json::json!([4, 6]));
    assert_eq!(found["runs"][1]["updates"], 1);
    let note =
        "The errors of next are those before its update: nobody has compared its methods since.";
    assert_eq!(found["notes"], serde_json::json!([note]));
    let keys: Vec<&str> =
        found["keys"].as_array().unwrap().iter().map(|key| key["key"].as_str().unwrap()).collect();
    assert_eq!(keys, ["data.file"]);
}

#[test]
fn runs_that_do_not_compare_say_so() {
    let folder = Folder::new();
    folder.fit("run", &["--no-compare"]);
    folder.fit("fewer", &["--no-compare", "--set", "data.features=[\"x\"]"]);
    let found = diff(&folder, "run", "fewer");
    assert_eq!(found["moved"], Value::Array(Vec::new()));
    let note = "The runs have different features or targets: their models do not compare.";
    assert_eq!(found["notes"], serde_json::json!([note]));
    let refusal = folder.refusal(&["diff", "run", "nowhere"]);
    assert!(refusal.contains("'nowhere' holds no finished run"), "{refusal}");
}
