//! Every kind of model is reachable from an experiment, alone and beside others, and is saved.

mod common;

use common::{Folder, NODES};

const NUMBERS: [&str; 14] = [
    "linear",
    "elastic-net",
    "huber",
    "quantile",
    "poisson",
    "tree",
    "forest",
    "extra-trees",
    "boosting",
    "neighbours",
    "kernel-ridge",
    "smoother",
    "perceptron",
    "constant",
];

const QUICK: &str = "
[model]
ridge = 0.01
trees = 5
epochs = 30
[public]
points = 10
[method]
alpha = 0.3
rounds = 20
[compare]
enabled = false
";

fn with_kind(kind: &str) -> Folder {
    let folder = Folder::new();
    // Counts for the Poisson regression, and numbers for all others.
    folder.write("rows.csv", common::rows(|value| (value.abs() + 1.0).to_string()));
    folder.append(
        "experiment.toml",
        &QUICK.replace("[model]", &format!("[model]\nkind = \"{kind}\"")),
    );
    folder
}

#[test]
fn every_kind_trains_predicts_numbers_and_names_itself() {
    for kind in NUMBERS {
        let folder = with_kind(kind);
        let result = folder.fit("run", &[]);
        assert_eq!(result["nodes"][0]["model"], kind);
        let predictions = folder.done(&["predict", "run", "--data", "rows.csv"]);
        let lines: Vec<&str> = predictions.lines().skip(1).collect();
        assert!(!lines.is_empty());
        for line in lines {
            let value: f64 = line.rsplit(',').next().unwrap().parse().unwrap();
            assert!(value.is_finite(), "{kind}: {line}");
        }
    }
}

#[test]
fn seven_kinds_at_once_train_are_saved_and_predict_the_same_again() {
    let folder = with_kind("linear");
    let kinds = ["tree", "forest", "boosting", "kernel-ridge", "neighbours", "perceptron"];
    for (node, kind) in NODES.iter().zip(kinds) {
        folder.append("experiment.toml", &format!("[model.nodes.{node}]\nkind = \"{kind}\"\n"));
    }
    folder.fit("one", &[]);
    folder.fit("two", &["--threads", "2"]);
    let predict = |run| folder.done(&["predict", run, "--data", "rows.csv"]);
    assert_eq!(predict("one"), predict("two"));
    for kind in kinds {
        assert!(folder.read("one/models/nodes.jsonl").contains(&format!("\"kind\":\"{kind}\"")));
    }
}

#[test]
fn the_stored_experiment_holds_the_defaults_of_the_kinds_in_use() {
    let folder = with_kind("boosting");
    folder.append("experiment.toml", "[model.nodes.b]\nkind = \"perceptron\"\n");
    folder.fit("run", &[]);
    let stored: toml::Table = folder.read("run/experiment.toml").parse().unwrap();
    let model = &stored["model"];
    assert_eq!(model["rate"].as_float(), Some(0.1));
    assert_eq!(model["max_depth"].as_integer(), Some(3));
    assert!(model.get("layers").is_none());
    assert_eq!(model["nodes"]["b"]["layers"].as_array().map(Vec::len), Some(1));
}

#[test]
fn a_ridge_that_is_given_at_a_node_is_not_chosen_anew() {
    let folder = Folder::new();
    folder.append("experiment.toml", "[model.nodes.a]\nridge = 1e9\n[public]\npoints = 10\n");
    folder.fit("run", &["--alpha", "0", "--no-compare"]);
    let models = folder.read("run/models/nodes.jsonl");
    let first: serde_json::Value = serde_json::from_str(models.lines().next().unwrap()).unwrap();
    let slopes = first["model"]["slopes"].as_array().unwrap();
    assert!(slopes.iter().all(|slope| slope.as_f64().unwrap().abs() < 1e-6), "{first}");
}

#[test]
fn values_out_of_range_are_named() {
    let folder = with_kind("forest");
    let cases = [
        ("model.trees=0", "model.trees is 0, expected at least 1"),
        ("model.rate=2", "model.rate is 2, expected a share above 0 and at most 1"),
        ("model.layers=[0]", "model.layers is 0, expected at least 1"),
        (
            "model.layers=wide",
            "model.layers is \"wide\", expected a list of whole numbers, such as [16, 8]",
        ),
        (
            "model.nodes.a.level=1",
            "model.nodes.a.level is 1, expected a number between zero and one",
        ),
    ];
    for (assignment, sentence) in cases {
        assert_eq!(folder.fit_refusal(&["--set", assignment]), sentence);
    }
}
