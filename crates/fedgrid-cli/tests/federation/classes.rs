//! Classes whose rows are with the sites: the experiment names them.

use std::{fmt::Write, fs};

use crate::{
    common::Folder,
    sites::{Plan, SITES, fitted, join, join_as, model},
};

const METHOD: &str =
    "kind = \"fedrelax\"\nalpha = 0.5\nrounds = 8\ntolerance = 0.0\nsolver = \"rounds\"\n";

/// Logistic regression at six nodes, with public points in a file and no row at the project.
fn folder() -> Folder {
    let folder = Folder::with_classes();
    folder.edit("experiment.toml", "points = 20", "kind = \"file\"\nfile = \"points.csv\"");
    let features = "features = [\"x\", \"z\"]\nclasses = [\"warm\", \"cold\"]\n\n[network]";
    folder.edit("experiment.toml", "\n[network]", features);
    let mut points = String::from("x,z\n");
    (0..12).for_each(|k| writeln!(points, "{}.5,{}.25", k % 5 - 2, k % 3 - 1).unwrap());
    folder.write("points.csv", points);
    folder
}

#[test]
fn sites_learn_classes_that_only_they_have_as_one_process_does() {
    let plan = Plan { method: METHOD, ..Plan::default() };
    let folder = plan.provisioned_in(folder());
    for part in SITES.map(|(site, _)| join(&folder, site)) {
        part.ended();
    }
    // Without the rows at hand, units are those of the public points.
    fs::rename(folder.path("rows.csv"), folder.path("elsewhere.csv")).unwrap();
    plan.made(&folder, "apart");
    for part in SITES.map(|(site, _)| join_as(&folder, ("apart", "far"), site, &[])) {
        part.ended();
    }
    fs::rename(folder.path("elsewhere.csv"), folder.path("rows.csv")).unwrap();
    fitted(&folder, &["--set", "model.ridge=0.01"]);
    for (site, nodes) in SITES {
        for node in nodes {
            let own = model(&folder, &format!("run-{site}"), node);
            assert_eq!(own, model(&folder, "whole", node), "{node}");
        }
        for run in ["run", "far"] {
            let result = folder.json(&format!("{run}-{site}/result.json"));
            assert_eq!(result["metric"], "log_loss");
            assert!(result["comparison"]["network"]["accuracy"].is_f64());
        }
    }
    // A label that is no class is named with its place, at a site and by fit.
    folder.set_cell("east.csv", 2, 3, "hot");
    folder.set_cell("rows.csv", 2, 3, "hot");
    let join = ["federation", "join", "apart/kits/east", "--data", "east.csv", "--out", "again"];
    let place = "row 2, column 'y' is 'hot', expected one of cold, warm";
    let refused = folder.refusal(&join);
    assert!(refused.contains("east.csv") && refused.contains(place), "{refused}");
    let refused = folder.fit_refusal(&[]);
    assert!(refused.contains("rows.csv") && refused.contains(place), "{refused}");
}

#[test]
fn classes_that_are_not_named_and_models_that_do_not_fit_are_refused_when_the_project_is_made() {
    let folder = folder();
    fs::remove_file(folder.path("rows.csv")).unwrap();
    folder.append("experiment.toml", &format!("[method]\n{METHOD}"));
    let new = ["federation", "new", "experiment.toml", "--processes", "2", "--out", "home"];
    let named = "classes = [\"warm\", \"cold\"]";
    for (change, expected) in [
        ("", "the experiment must give data.classes"),
        ("task = \"classification\"", "the experiment must give data.classes"),
        ("task = \"regression\"", "model.kind = \"logistic\" predicts classes"),
        ("classes = [\"warm\"]", "data.classes holds 1, expected at least two"),
        ("classes = [\"warm\", \"warm\"]", "data.classes: 'warm' is listed twice"),
        ("task = \"regression\"\nclasses = [\"warm\", \"cold\"]", "exclude each other"),
    ] {
        folder.edit("experiment.toml", named, change);
        let refused = folder.refusal(&new);
        assert!(refused.contains(expected), "{refused} instead of {expected}");
        if change.is_empty() {
            folder.edit("experiment.toml", "\"z\"]\n", &format!("\"z\"]\n{named}"));
        } else {
            folder.edit("experiment.toml", change, named);
        }
    }
    let linear = folder.refusal(&[&new[..], &["--set", "model.kind=linear"]].concat());
    assert!(linear.contains("predicts numbers"), "{linear}");
    folder.done(&new);
}
