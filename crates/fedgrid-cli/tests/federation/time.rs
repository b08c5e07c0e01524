//! Sites whose rows are divided by time: at dates that all know, or each node at its own times.

use std::fmt::Write as _;

use crate::{
    common::{Folder, NODES},
    sites::{Plan, SITES, assert_models_of_one_process, fitted, join},
};

const METHOD: &str =
    "kind = \"fedrelax\"\nalpha = 0.5\nrounds = 20\ntolerance = 0.0\nsolver = \"rounds\"\n";

/// Twenty days at each node, of which the first ones are missing at some; with lags, and a split.
fn folder(split: &str) -> Folder {
    let folder = Folder::new();
    let mut text = String::from("node,day,x,y\n");
    for (i, node) in NODES.iter().enumerate() {
        for day in i..20 {
            let at = (20 * i + day) as f64;
            let y = 1.0 + 0.2 * i as f64 + (1.3 * at).sin() + 0.1 * (7.0 * at).cos();
            writeln!(text, "{node},2024-03-{:02},{:.6},{y:.6}", day + 1, (1.3 * at).sin()).unwrap();
        }
    }
    folder.write("rows.csv", text);
    let keys = format!("time = \"day\"\nmissing = \"drop\"\nsplit = {{ by = \"time\", {split} }}");
    folder.edit("experiment.toml", "split = \"split\"", &keys);
    folder.append("experiment.toml", "[data.lags]\ny = { lags = [1], means = [3] }\n");
    folder
}

#[test]
fn sites_divide_their_rows_by_time_as_one_process_does() {
    for split in [
        "validation_from = 2024-03-12, test_from = 2024-03-16",
        "train = 0.6, validation = 0.2, cut = \"per-node\"",
    ] {
        let folder = Plan { method: METHOD, ..Plan::default() }.provisioned_in(folder(split));
        for part in SITES.map(|(site, _)| join(&folder, site)) {
            let said = part.ended();
            assert!(said.contains("With the federation this site's error is"), "{said}");
        }
        fitted(&folder, &[]);
        assert_models_of_one_process(&folder);
        // A site's run finds the past of new rows, too.
        folder.write("new.csv", "node,day,x\na,2024-03-21,0.5\n");
        let new = ["--data", "new.csv", "--history", "east.csv"];
        let own = folder.done(&[&["predict", "run-east"][..], &new].concat());
        assert_eq!(own, folder.done(&[&["predict", "whole"][..], &new].concat()));
    }
}

#[test]
fn what_needs_the_times_of_all_sites_is_refused_when_the_project_is_made() {
    for (split, sentence) in [
        (
            "train = 0.6, validation = 0.2",
            "data.split.cut is \"common\", expected \"per-node\", or dates (validation_from, test_from) in a \
             federation",
        ),
        (
            "origins = 3, horizon = 2",
            "data.split.origins is 3, expected dates (validation_from, test_from) in a federation",
        ),
    ] {
        let folder = folder(split);
        folder.append("experiment.toml", &format!("[method]\n{METHOD}"));
        let new = ["federation", "new", "experiment.toml", "--processes", "2", "--out", "no"];
        assert_eq!(folder.refusal(&new), sentence);
    }
}
