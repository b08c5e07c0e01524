//! Private runs: what the section of privacy refuses, what it keeps from a run folder, and what a budget buys.

use crate::common::{Folder, timeless};
use serde_json::Value;

const PRIVATE: &str = "
[model]
ridge = 0.01
[method]
kind = \"fedrelax\"
[public]
points = 20
[privacy]
epsilon = 8
labels = { least = -3, most = 7 }
";

fn private() -> Folder {
    let folder = Folder::new();
    folder.append("experiment.toml", PRIVATE);
    folder
}

#[test]
fn a_private_run_says_what_it_cost_and_what_it_bought() {
    let folder = private();
    let result = folder.fit("run", &["--quick"]);
    let found = &result["privacy"];
    assert_eq!(found["kind"], "labels");
    assert_eq!((found["epsilon"].as_f64(), found["delta"].as_f64()), (Some(8.0), Some(1e-5)));
    // Four training and two validation rows of six nodes.
    assert_eq!(found["rows"], 36);
    assert_eq!(found["clipped"]["labels"], 0);
    for error in ["alone", "with_twins", "without_noise"] {
        assert!(found[error].as_f64().unwrap() > 0.0, "{error}: {found}");
    }
    let own = result["comparison"]["network"]["test"].as_f64();
    assert_eq!(found["with_twins"].as_f64(), own);
    assert!(found["sentence"].as_str().unwrap().contains("ε = 8.00"), "{found}");
    assert_eq!(result["comparison"].get("mixed"), None);
    assert!(folder.read("run/report.html").contains("What is told of single rows"));
    let notes = result["notes"].to_string();
    assert!(notes.contains("rehearsal") && notes.contains("noised once"), "{notes}");
    // Sums of clean rows stay out of the folder, and no update can release rows again.
    assert!(!folder.path("run/statistics.json").exists());
    let again = folder.fit("again", &["--quick", "--threads", "1"]);
    assert_eq!(timeless(result), timeless(again));
    let sentence = folder.refusal(&["update", "run", "--data", "rows.csv", "--out", "more"]);
    assert!(sentence.contains("would release its rows again"), "{sentence}");
}

#[test]
fn labels_beyond_their_bounds_are_moved_and_counted() {
    let folder = private();
    folder.set_cell("rows.csv", 1, 3, "1000");
    let found = folder.fit("run", &["--no-compare", "--quick"])["privacy"].clone();
    assert_eq!(found["clipped"]["labels"], 1);
    assert!(found["sentence"].as_str().unwrap().contains("outside of the declared bounds"));
}

#[test]
fn whole_rows_are_private_within_declared_bounds() {
    let folder = private();
    folder.edit("experiment.toml", "points = 20", "points = 20\nkind = \"box\"");
    folder.edit("experiment.toml", "target = \"y\"", "target = \"y\"\nfeatures = [\"x\", \"z\"]");
    folder.edit("experiment.toml", "[privacy]", "[privacy]\nkind = \"rows\"");
    let missing = folder.fit_refusal(&[]);
    assert!(missing.contains("privacy.features.x is missing"), "{missing}");
    folder.append(
        "experiment.toml",
        "[privacy.features]\nx = { least = -1, most = 1 }\nz = { least = -1, most = 1 }\n",
    );
    let found = folder.fit("run", &["--no-compare", "--quick"])["privacy"].clone();
    assert_eq!((&found["kind"], &found["clipped"]["features"]), (&"rows".into(), &0.into()));
    // A triangle of products of (1, x, z, y) is noised for each of two parts.
    let noise = found["noise"].as_f64().unwrap();
    let mu = found["mu"].as_f64().unwrap();
    assert!((noise * mu / (5.0 * 10.0_f64.sqrt()) - 1.0).abs() < 1e-3, "{found}");
    folder.append("experiment.toml", "w = { least = -1, most = 1 }\n");
    let other = folder.refusal(&["fit", "experiment.toml", "--out", "other"]);
    assert!(other.contains("privacy.features: 'w' is not a feature"), "{other}");
}

#[test]
fn what_cannot_be_kept_private_is_refused_in_one_sentence() {
    let refused = |settings: &[&str]| {
        let folder = private();
        let settings: Vec<&str> = settings.iter().flat_map(|one| ["--set", one]).collect();
        folder.fit_refusal(&settings)
    };
    for (settings, words) in [
        (&["method.kind=auto"][..], "[privacy] needs method.kind = \"fedrelax\" or"),
        (&["method.kind=gtv"], "[privacy] needs method.kind = \"fedrelax\" or"),
        (&["model.kind=elastic-net"], "[privacy] needs linear models with an intercept"),
        (&["model.intercept=false"], "[privacy] needs linear models with an intercept"),
        (&["network.candidates=[\"edges\", \"learned\"]"], "network.learn or network.candidates"),
        (&["data.weight=z"], "what a row counts for would not be bounded"),
        (&["compare.baselines=[\"fedavg\"]"], "compare.baselines"),
        (&["federation.judge=true"], "[privacy] and [federation]"),
        (&["privacy.epsilon=0"], "privacy.epsilon is 0, expected a positive number"),
        (&["privacy.delta=1"], "privacy.delta is 1"),
        (&["privacy.labels.least=9"], "privacy.labels is 9 to 7"),
        (&["privacy.features.x={least=0, most=1}"], "privacy.features is for"),
        (&["privacy.kind=rows"], "expected public.kind = \"box\""),
        (&["privacy.kind=rows", "public.kind=box"], "expected data.features"),
        (&["privacy.kind=all"], "privacy.kind is \"all\""),
    ] {
        let sentence = refused(settings);
        assert!(sentence.contains(words), "{settings:?}: {sentence}");
    }
    let folder = private();
    folder.edit("experiment.toml", "split = \"split\"", "train = 0.5");
    assert!(folder.fit_refusal(&[]).contains("[privacy] needs data.split"));
    let folder = private();
    folder.edit("experiment.toml", "epsilon = 8\n", "");
    assert!(folder.fit_refusal(&[]).contains("epsilon"));
    let folder = private();
    let sentence = folder.refusal(&["simulate", "experiment.toml"]);
    assert!(sentence.contains("[privacy]"), "{sentence}");
}

/// The stations of Colorado at a budget.
fn colorado(folder: &Folder, epsilon: &str) -> Value {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/demo/private.toml");
    let epsilon = format!("privacy.epsilon={epsilon}");
    let out = format!("run-{epsilon}");
    folder.done(&["fit", file, "--set", &epsilon, "--no-compare", "--quiet", "--out", &out]);
    folder.json(&format!("{out}/result.json"))["privacy"].clone()
}

#[test]
fn private_readings_of_colorado_still_help_neighbours() {
    let folder = Folder::empty();
    for (epsilon, goal) in [("4.4", 15.5), ("10", 9.3), ("24", 7.2)] {
        let found = colorado(&folder, epsilon);
        let with = found["with_twins"].as_f64().unwrap();
        assert!(with <= goal, "{epsilon}: {found}");
        assert!(found["without_noise"].as_f64().unwrap() < with, "{epsilon}: {found}");
        assert!(with < found["alone"].as_f64().unwrap(), "{epsilon}: {found}");
    }
}
