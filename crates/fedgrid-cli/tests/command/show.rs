//! A finished run, and one of its nodes.

use std::fs;

use crate::common::{Folder, quick_model};

/// Quickly trained, with a comparison.
const QUICK: [&str; 6] = [
    "--set",
    "compare.shuffles=1",
    "--set",
    "compare.likelihood_shuffles=0",
    "--set",
    "public.points=20",
];

fn lines_fit(text: &str) {
    for line in text.lines() {
        assert!(line.chars().count() <= 80, "{line}");
    }
}

#[test]
fn a_run_is_shown_as_fit_has_said_it() {
    let folder = Folder::new();
    let fit = [&["fit", "experiment.toml", "--out", "run"], &QUICK[..]].concat();
    let said = folder.done(&fit);
    let shown = folder.done(&["show", "run"]);
    // The spread of shuffles stands behind the columns of the table, as in fit.
    let lines = shown.lines().filter(|line| !line.starts_with("shuffled "));
    lines_fit(&lines.collect::<Vec<_>>().join("\n"));
    // All but the heading, which counts test rows apart, and the line of the report with its seconds.
    let body = |text: &str| {
        let lines = text.lines().skip(1).filter(|line| !line.starts_with("Report: "));
        lines.collect::<Vec<_>>().join("\n").trim_end().to_string()
    };
    assert_eq!(body(&shown), body(&said));
    assert!(
        shown.starts_with("experiment: 6 nodes, 5 edges, 24 training rows, 12 scored rows, 2 ")
    );
    let told: serde_json::Value =
        serde_json::from_str(&folder.done(&["show", "run", "--json"])).unwrap();
    assert_eq!(told, folder.json("run/result.json"));
}

#[test]
fn a_node_is_shown_beside_its_neighbours_and_the_pooled_model() {
    let folder = Folder::new();
    folder.fit("run", &[&["--method", "fedrelax"], &QUICK[..]].concat());
    let shown = folder.done(&["show", "run", "--node", "b"]);
    lines_fit(&shown);
    for part in [
        "b of experiment: linear model, 4 training rows, 2 scored rows, 2 neighbours",
        "local ",
        "pooled ",
        "shuffled ",
        "intercept ",
        "intervals of 90 %: ",
        "of the node's test rows are inside",
        "pulled by ",
        "importance: ",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let view: serde_json::Value =
        serde_json::from_str(&folder.done(&["show", "run", "--node", "b", "--json"])).unwrap();
    let result = folder.json("run/result.json");
    let errors = view["errors"].as_array().unwrap();
    let local = errors.iter().find(|one| one["method"] == "local").unwrap();
    assert_eq!(local["error"], result["nodes"][1]["local"]);
    let pulled = view["pulled_by"].as_array().unwrap();
    assert_eq!((&pulled[0]["node"], &pulled[0]["share"]), (&"a".into(), &0.5.into()));
    let models = folder.read("run/models/nodes.jsonl");
    let slope = |line: usize| -> f64 {
        let model: serde_json::Value =
            serde_json::from_str(models.lines().nth(line).unwrap()).unwrap();
        model["model"]["slopes"][0].as_f64().unwrap()
    };
    let own = &view["coefficients"][0];
    assert_eq!(own["coefficient"], "x");
    assert!((own["value"].as_f64().unwrap() - slope(1)).abs() < 1e-12);
    let others = f64::midpoint(slope(0), slope(2));
    assert!((own["neighbours"].as_f64().unwrap() - others).abs() < 1e-12);
    assert!(own["pooled"].is_f64());
    // The slope of x is twice that of z.
    assert_eq!(view["importance"]["columns"][0]["column"], "x");
    assert!(["validation", "test"].contains(&view["importance"]["rows_are"].as_str().unwrap()));
}

#[test]
fn pooled_coefficients_are_those_of_a_pooled_run() {
    let folder = Folder::new();
    folder.fit("run", &[&["--method", "fedrelax"], &QUICK[..]].concat());
    folder.fit("pooled", &[&["--method", "pooled"], &QUICK[..]].concat());
    let view: serde_json::Value =
        serde_json::from_str(&folder.done(&["show", "run", "--node", "b", "--json"])).unwrap();
    let pooled: serde_json::Value =
        serde_json::from_str(folder.read("pooled/models/nodes.jsonl").lines().nth(1).unwrap())
            .unwrap();
    let slope = pooled["model"]["slopes"][0].as_f64().unwrap();
    assert!((view["coefficients"][0]["pooled"].as_f64().unwrap() - slope).abs() < 1e-9);
}

#[test]
fn trees_are_rules_in_the_units_of_the_table() {
    for kind in ["tree", "forest", "boosting"] {
        let folder = Folder::new();
        folder.append("experiment.toml", &format!("[model]\n{}", quick_model(kind)));
        let rounds = ["--set", "method.rounds=2", "--no-compare"];
        folder.fit("run", &[&["--method", "fedrelax", "--alpha", "0.3"], &rounds[..]].concat());
        let shown = folder.done(&["show", "run", "--node", "c"]);
        lines_fit(&shown);
        let head = match kind {
            "tree" => "\nthe tree\n",
            "forest" => "\nthe first of 5 trees, whose mean is predicted\n",
            _ => "\nthe first of 5 trees, which are added to ",
        };
        assert!(shown.contains(head), "{shown}");
        assert!(shown.contains(" <= ") && shown.contains(" > "), "{shown}");
        assert!(!shown.contains("coefficient"), "{shown}");
    }
}

#[test]
fn without_its_tables_a_run_shows_what_it_holds_and_says_what_is_missing() {
    let folder = Folder::new();
    folder.fit("run", &[&["--method", "fedrelax"], &QUICK[..]].concat());
    fs::remove_file(folder.path("rows.csv")).unwrap();
    let shown = folder.done(&["show", "run", "--node", "b"]);
    lines_fit(&shown);
    assert!(shown.contains("intercept ") && !shown.contains("pulled by "), "{shown}");
    let note = "Note: neighbours and importance of columns need the run's tables";
    assert!(shown.contains(note), "{shown}");
    // The pooled model is in the folder.
    let view = folder.done(&["show", "run", "--node", "b", "--json"]);
    let view: serde_json::Value = serde_json::from_str(&view).unwrap();
    assert!(view["coefficients"][0]["pooled"].is_f64(), "{view}");
    assert!(shown.replace('\n', " ").contains("rows.csv': there is no such file"), "{shown}");
}

#[test]
fn classes_have_coefficients_of_their_odds() {
    let folder = Folder::with_classes();
    folder.fit("run", &["--method", "fedrelax", "--alpha", "0.3", "--no-compare"]);
    let shown = folder.done(&["show", "run", "--node", "b"]);
    lines_fit(&shown);
    assert!(shown.contains("x (warm) "), "{shown}");
}

#[test]
fn what_is_not_there_gets_one_sentence() {
    let folder = Folder::new();
    assert_eq!(folder.refusal(&["show", "run"]), "'run' holds no finished run; make one with fit");
    folder.fit("run", &["--method", "fedrelax", "--alpha", "0.3", "--no-compare"]);
    let refusal = folder.refusal(&["show", "run", "--node", "bb"]);
    assert!(refusal.starts_with("'bb' is not a node of the run in 'run'"), "{refusal}");
    let refusal = folder.refusal(&["show", "run", "--node", "999"]);
    assert!(refusal.ends_with("; known are a, b, c, d, e, f"), "{refusal}");
    folder.write("run/result.json", "{}");
    let refusal = folder.refusal(&["show", "run"]);
    assert!(refusal.contains("result.json' is damaged: "), "{refusal}");
}

#[test]
fn tables_that_have_changed_since_training_are_said() {
    let folder = Folder::new();
    folder.fit("run", &[&["--method", "fedrelax"], &QUICK[..]].concat());
    let shown = || folder.done(&["show", "run", "--node", "b"]).replace('\n', " ");
    assert!(!shown().contains("has changed"), "{}", shown());
    let (rows, edges) = (folder.read("rows.csv"), folder.read("edges.csv"));
    folder.set_cell("rows.csv", 3, 1, "0.125");
    let said = "Note: the table of rows has changed since the run was trained";
    assert!(shown().contains(said), "{}", shown());
    folder.write("rows.csv", rows);
    assert!(!shown().contains("has changed"), "{}", shown());
    folder.set_cell("edges.csv", 1, 2, "2");
    let said = "Note: a table of the network or of public points has changed";
    assert!(shown().contains(said), "{}", shown());
    folder.write("edges.csv", edges);
    // A run that does not know what its table was like claims nothing.
    let metrics = folder.read("run/metrics.jsonl");
    let mut identity: serde_json::Value =
        serde_json::from_str(metrics.lines().next().unwrap()).unwrap();
    identity.as_object_mut().unwrap().remove("rows").unwrap();
    let rest: Vec<&str> = metrics.lines().skip(1).collect();
    folder.write("run/metrics.jsonl", format!("{identity}\n{}\n", rest.join("\n")));
    folder.set_cell("rows.csv", 3, 1, "0.125");
    assert!(!shown().contains("has changed"), "{}", shown());
}

#[test]
fn a_network_that_was_learned_is_no_table_that_has_changed() {
    let folder = Folder::new();
    folder.edit("experiment.toml", "edges = \"edges.csv\"", "learn = true");
    folder.fit("run", &[&["--method", "fedrelax"], &QUICK[..]].concat());
    assert!(folder.path("run/edges.csv").exists());
    let shown = folder.done(&["show", "run", "--node", "b"]).replace('\n', " ");
    assert!(shown.contains("importance: ") && !shown.contains("has changed"), "{shown}");
}
