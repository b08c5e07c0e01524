//! `method.kind = "auto"`, which a file without a kind means: validation rows choose, test rows judge.

use std::fs;

use crate::common::{Folder, timeless};
use serde_json::Value;

/// One shuffle keeps it quick.
const QUICK: [&str; 2] = ["--set", "compare.shuffles=1"];

fn fitted(folder: &Folder, out: &str, more: &[&str]) -> Value {
    folder.fit(out, &[&QUICK, more].concat())
}

/// The methods there were to choose from: kind, error on validation rows, whether chosen.
fn candidates(result: &Value) -> Vec<(&str, f64, bool)> {
    let all = result["method"]["candidates"].as_array().unwrap().iter();
    let one = |one: &'_ Value| one["validation"].as_f64().unwrap();
    all.map(|c| (c["kind"].as_str().unwrap(), one(c), c["chosen"].as_bool().unwrap())).collect()
}

#[test]
fn without_a_kind_the_method_of_least_validation_error_is_taken_and_all_are_rows() {
    for folder in [Folder::new(), Folder::with_classes()] {
        let result = fitted(&folder, "run", &[]);
        let candidates = candidates(&result);
        let names: Vec<&str> = candidates.iter().map(|one| one.0).collect();
        assert_eq!(names, ["fedrelax", "gtv", "mixed"]);
        let best = candidates.iter().min_by(|a, b| a.1.total_cmp(&b.1)).unwrap();
        let chosen: Vec<_> = candidates.iter().filter(|one| one.2).collect();
        assert_eq!(chosen, [best]);
        assert_eq!(result["method"]["kind"], best.0);
        let comparison = &result["comparison"];
        assert_eq!(comparison["network"]["validation"].as_f64(), Some(best.1));
        for (kind, validation, _) in candidates.iter().filter(|one| !one.2) {
            let row = &comparison["members"][kind];
            assert_eq!(row["validation"].as_f64(), Some(*validation), "{kind}");
            assert!(row["test"].is_f64(), "{kind}");
        }
        assert!(comparison["members"].get(best.0).is_none());
        let stored = folder.read("run/experiment.toml");
        assert!(stored.contains("[method]\nkind = \"auto\"\n"), "{stored}");
        let again = ["fit", "run/experiment.toml", "--out", "again"];
        let said = folder.done(&[&again[..], &QUICK].concat());
        assert!(said.contains(&format!("by {}, chosen", best.0)), "{said}");
        assert_eq!(said.matches("not chosen").count(), 2, "{said}");
        assert!(said.contains("The method is"), "{said}");
        assert_eq!(timeless(folder.json("again/result.json")), timeless(result));
    }
}

#[test]
fn what_is_chosen_is_what_the_named_method_gives() {
    let folder = Folder::new();
    let chosen = fitted(&folder, "chosen", &["--method", "auto"]);
    for kind in ["fedrelax", "gtv", "mixed"] {
        let named = fitted(&folder, kind, &["--method", kind]);
        assert!(named["method"].get("candidates").is_none());
        assert!(named["comparison"].get("members").is_none());
        let row = &chosen["comparison"]["members"][kind];
        if chosen["method"]["kind"] != kind {
            assert_eq!(*row, named["comparison"]["network"], "{kind}");
            continue;
        }
        for part in ["verdict", "gain", "nodes", "certificate", "residuals"] {
            assert_eq!(chosen[part], named[part], "{part}");
        }
        for row in ["local", "pooled", "shrunk", "mixed", "network", "shuffled"] {
            assert_eq!(chosen["comparison"][row], named["comparison"][row], "{row}");
        }
        let models = "models/nodes.jsonl";
        assert_eq!(
            folder.read(&format!("chosen/{models}")),
            folder.read(&format!("{kind}/{models}"))
        );
    }
}

#[test]
fn test_rows_of_noise_change_neither_the_choice_nor_the_models() {
    let folder = Folder::new();
    let before = fitted(&folder, "before", &[]);
    let rows = folder.read("rows.csv");
    let noise = rows.lines().enumerate().map(|(at, line)| {
        let mut cells: Vec<String> = line.split(',').map(String::from).collect();
        if cells[4] == "test" {
            cells[3] = (1e3 * (at as f64).sin()).to_string();
        }
        cells.join(",")
    });
    folder.write("rows.csv", noise.collect::<Vec<_>>().join("\n") + "\n");
    let after = fitted(&folder, "after", &[]);
    assert_eq!(before["method"], after["method"]);
    assert_ne!(before["comparison"]["network"]["test"], after["comparison"]["network"]["test"]);
    let models = |run: &str| folder.read(&format!("{run}/models/nodes.jsonl"));
    assert_eq!(models("before"), models("after"));
}

#[test]
fn folds_choose_where_no_row_validates() {
    let folder = Folder::new();
    folder.edit("experiment.toml", "split = \"split\"", "features = [\"x\", \"z\"]");
    let result = fitted(&folder, "run", &[]);
    assert_eq!(candidates(&result).len(), 3);
    let notes = result["notes"].to_string();
    assert!(notes.contains("for the least error in 5 folds of the training rows"), "{notes}");
    // The strength is that of the method that was chosen, though no test row has asked for it.
    let kind = result["method"]["kind"].as_str().unwrap();
    let named = fitted(&folder, "named", &["--method", kind]);
    assert_eq!(result["method"]["alpha"], named["method"]["alpha"]);
}

#[test]
fn models_have_the_methods_that_suit_them() {
    let folder = Folder::new();
    let kinds = |out: &str, more: &[&str]| {
        let result = fitted(&folder, out, &[&["--no-compare"], more].concat());
        let names: Vec<String> = candidates(&result).iter().map(|one| one.0.into()).collect();
        (names, result["notes"].to_string())
    };
    let (names, notes) = kinds("trees", &["--model", "tree"]);
    assert_eq!(names, ["fedrelax"]);
    assert!(notes.contains("The method is fedrelax: gtv and mixed do not suit these models."));
    assert_eq!(kinds("one", &["--set", "model.nodes.b.kind=tree"]).0, ["fedrelax"]);
    // No other regression takes the place of one that was asked for.
    let (names, notes) = kinds("huber", &["--model", "huber"]);
    assert_eq!(names, ["fedrelax", "gtv"]);
    assert!(notes.contains("; mixed does not suit these models. Test rows"), "{notes}");
    assert_eq!(kinds("level", &["--set", "model.intercept=false"]).0, ["fedrelax", "gtv"]);
    assert_eq!(kinds("ridge", &["--set", "model.ridge=0.01"]).0, ["fedrelax", "gtv", "mixed"]);
}

#[test]
fn a_run_that_was_cut_after_any_step_ends_the_same() {
    let folder = Folder::new();
    let whole = timeless(fitted(&folder, "whole", &[]));
    let metrics = folder.read("whole/metrics.jsonl");
    let steps = metrics.lines().count();
    fitted(&folder, "cut", &[]);
    for kept in 1..steps {
        let lines: Vec<&str> = metrics.lines().take(kept).collect();
        folder.write("cut/metrics.jsonl", lines.join("\n") + "\n");
        fs::remove_file(folder.path("cut/result.json")).unwrap();
        assert_eq!(timeless(fitted(&folder, "cut", &["--resume"])), whole, "{kept} lines");
        assert_eq!(folder.read("cut/metrics.jsonl"), metrics, "{kept} lines");
    }
}

#[test]
fn keys_of_a_method_ask_for_its_name() {
    let folder = Folder::new();
    let pulls = "fedrelax, gtv, fedprox, ditto, fedmd or shrunk";
    let sentence = "but kind \"auto\", the default, has no such key; name a kind that has";
    assert_eq!(
        folder.fit_refusal(&["--alpha", "0.1"]),
        format!("method.alpha is 0.1, {sentence}: {pulls}")
    );
    assert_eq!(
        folder.fit_refusal(&["--set", "method.penalty=norm"]),
        format!("method.penalty is \"norm\", {sentence}: gtv")
    );
    folder.append("experiment.toml", "[method]\nkind = \"auto\"\ncoupling = \"symmetric\"\n");
    assert_eq!(
        folder.fit_refusal(&[]),
        format!("experiment.toml: method.coupling is \"symmetric\", {sentence}: fedrelax")
    );
    // The name may come with the command.
    let named = folder.fit("named", &["--set", "method.kind=fedrelax", "--no-compare"]);
    assert_eq!(named["method"]["coupling"], "symmetric");
    // Keys of runs belong to all.
    folder.edit("experiment.toml", "coupling = \"symmetric\"", "weighting = \"rows\"");
    assert_eq!(folder.fit("rows", &["--no-compare"])["method"]["weighting"], "rows");
    let other = folder.done(&[
        "fit",
        "named/experiment.toml",
        "--method",
        "auto",
        "--no-compare",
        "--out",
        "other",
    ]);
    assert!(other.contains("not used with --method auto: method.coupling\n"), "{other}");
}

#[test]
fn networks_to_choose_from_are_judged_by_the_best_method() {
    let folder = Folder::new();
    folder.edit(
        "experiment.toml",
        "edges = \"edges.csv\"",
        "edges = \"edges.csv\"\ncandidates = [\"edges\", \"gradients\"]",
    );
    let result = folder.fit("run", &["--no-compare"]);
    let least = candidates(&result).iter().map(|one| one.1).fold(f64::INFINITY, f64::min);
    let networks = result["network"]["candidates"].as_array().unwrap();
    let chosen = networks.iter().find(|one| one["chosen"] == true).unwrap();
    assert_eq!(chosen["validation"].as_f64(), Some(least));
}
