//! Methods without a network of their own: as rows of the comparison, as the method itself, and on
//! the datasets of `FEDGRID_DATA`.

use std::{fmt::Write as _, io::Write as _};

use crate::common::{Folder, dataset, timeless};
use serde_json::Value;

const ALL: [&str; 9] =
    ["fedavg", "fedprox", "ditto", "apfl", "ifca", "clustered", "fine-tuned", "gossip", "fedmd"];

/// Few strengths keep it quick.
const QUICK: [&str; 4] = ["--set", "model.ridge=0.01", "--set", "compare.shuffles=1"];

#[test]
fn all_baselines_are_rows_of_the_comparison() {
    let folder = Folder::new();
    let arguments = [&QUICK[..], &["--baselines", "all"]].concat();
    let result = folder.fit("run", &arguments);
    for name in ALL {
        let entry = &result["comparison"]["baselines"][name];
        assert!(entry["test"].is_f64() && entry["validation"].is_f64(), "{name}: {entry}");
        assert!(result["path"][name].as_array().is_some_and(|path| path.len() > 2), "{name}");
        assert!(folder.read("run/report.html").contains(&format!("</span>{name}")), "{name}");
    }
    let notes = result["notes"].to_string();
    assert!(notes.contains("smaller error than the network's"), "{notes}");
    let shown =
        folder.done(&[&["fit", "run/experiment.toml", "--out", "again"], &QUICK[..]].concat());
    assert!(ALL.iter().all(|name| shown.contains(&format!("\n{name} "))), "{shown}");
    assert_eq!(timeless(folder.json("again/result.json")), timeless(result));
}

#[test]
fn a_method_with_a_hub_is_compared_without_network_and_shuffles() {
    let folder = Folder::new();
    for name in ALL.into_iter().filter(|name| *name != "gossip") {
        let result = folder.fit(name, &[&QUICK[..], &["--method", name]].concat());
        let comparison = &result["comparison"];
        assert!(comparison["baselines"][name]["test"].is_f64(), "{name}");
        assert!(comparison["network"].is_null() && comparison["shuffled"].is_null(), "{name}");
        assert_eq!((&result["helps"], &result["method"]["kind"]), (&false.into(), &name.into()));
        let verdict = result["verdict"].as_str().unwrap();
        assert!(verdict.contains(name) && !verdict.contains("network helps"), "{verdict}");
        let page = folder.read(&format!("{name}/report.html"));
        assert!(page.contains(&format!("does {name} help?")), "{name}");
        let predicted = folder.done(&["predict", name, "--data", "rows.csv"]);
        assert!(predicted.lines().count() > 40, "{name}");
    }
    let gossip = folder.fit("gossip", &[&QUICK[..], &["--method", "gossip"]].concat());
    assert!(gossip["comparison"]["shuffled"]["test"].is_f64());
}

#[test]
fn the_experiments_own_method_goes_on_as_long_as_it_is_told_to() {
    let folder = Folder::new();
    let told = ["pace=0.01", "rounds=150", "tolerance=0.0"].map(|key| format!("method.{key}"));
    let told: Vec<&str> = told.iter().flat_map(|key| ["--set", key.as_str()]).collect();
    let own = [&told[..], &["--no-compare", "--set", "model.ridge=0.01"]].concat();
    // A round of questions and one of answers for each iteration, and the last model.
    let result = folder.fit("own", &[&own[..], &["--method", "fedavg"]].concat());
    assert_eq!(result["rounds"], 2 * 150 + 2);
}

#[test]
fn classes_and_neural_networks_are_averaged_too() {
    let folder = Folder::with_classes();
    let result = folder.fit("run", &["--baselines", "fedavg,ditto,ifca,fedmd"]);
    for name in ["fedavg", "ditto", "ifca", "fedmd"] {
        assert!(result["comparison"]["baselines"][name]["accuracy"].is_f64(), "{name}");
    }
    let folder = Folder::new();
    let model = ["--model", "perceptron", "--set", "model.epochs=30"];
    let quick = ["--set", "model.ridge=0.01", "--set", "method.rounds=5", "--no-compare"];
    for (name, strength) in [("fedavg", "pace"), ("fine-tuned", "steps"), ("apfl", "share")] {
        let strength = format!("method.{strength}=1");
        let method = ["--method", name, "--set", &strength];
        let result = folder.fit(name, &[&model[..], &quick, &method].concat());
        assert!(result["comparison"]["baselines"][name]["test"].is_f64(), "{name}");
    }
}

#[test]
fn models_without_weights_leave_distillation_only() {
    let folder = Folder::new();
    let trees = ["--model", "tree", "--set", "compare.shuffles=1"];
    let result = folder.fit("run", &[&trees[..], &["--baselines", "all"]].concat());
    let tried = result["comparison"]["baselines"].as_object().unwrap();
    assert_eq!(tried.keys().collect::<Vec<_>>(), ["fedmd"]);
    assert!(result["notes"].to_string().contains("do not allow: fedavg, fedprox, ditto"));
    let folder = Folder::new();
    let named = folder.fit_refusal(&["--model", "tree", "--baselines", "ditto"]);
    assert!(named.contains("\"ditto\", which couples weights, and the tree model"), "{named}");
    let method = folder.fit_refusal(&["--model", "tree", "--method", "ifca"]);
    assert!(method.contains("\"ifca\", which couples weights, and the tree model"), "{method}");
}

#[test]
fn strengths_and_keys_that_make_no_sense_are_named() {
    let folder = Folder::new();
    let refusal = |arguments: &[&str]| folder.fit_refusal(arguments);
    assert_eq!(
        refusal(&["--method", "ifca", "--alpha", "3"]),
        "method.alpha is for methods that pull; kind \"ifca\" has method.clusters instead: the number \
         of models at the hub"
    );
    assert_eq!(
        refusal(&["--method", "ifca", "--set", "method.clusters=1.5"]),
        "method.clusters is 1.5, expected a number of clusters, one or more"
    );
    assert_eq!(
        refusal(&["--method", "apfl", "--set", "method.share=2"]),
        "method.share is 2, expected a share from zero to one"
    );
    assert_eq!(
        refusal(&["--method", "fedavg", "--set", "method.participation=0"]),
        "method.participation is 0, expected a share above zero and up to one"
    );
    assert_eq!(
        refusal(&["--method", "fedavg", "--set", "method.hub=1"]),
        "method.hub is 1, but kind \"fedavg\" has no such key; its keys are pace, averaging, \
         local_steps, participation, weighting, solver, rounds, tolerance"
    );
    let foreign = refusal(&["--method", "fedrelax", "--set", "method.restarts=2"]);
    assert!(foreign.starts_with("method.restarts is 2, but kind \"fedrelax\" has no such key; "));
    assert!(refusal(&["--baselines", "fedsgd"]).contains("fedsgd"));
}

/// A dataset and the keys of its experiment, from its `[data]` section on.
fn datasets() -> Vec<(&'static str, String)> {
    let numbered = |count: usize| {
        let names: Vec<String> = (1..=count).map(|number| format!("\"c{number:02}\"")).collect();
        format!("features = [{}]\n", names.join(", "))
    };
    let daily = ["tmin_1", "tmax_1", "tmin_2", "tmax_2", "tmin_3", "tmax_3"];
    let houses = "features = [\"beds\", \"baths\", \"sqft\"]\n";
    vec![
        ("heart_disease", "[model]\nkind = \"logistic\"\n".into()),
        ("fmi_hourly", numbered(12)),
        ("fmi_daily", format!("features = {daily:?}\n")),
        ("sacramento_housing", houses.into()),
        ("school", "[method]\nweighting = \"rows\"\n".into()),
        ("covid_counties", numbered(16)),
    ]
}

#[test]
#[ignore = "prints the table of docs/baselines.md; minutes for each dataset"]
fn every_baseline_on_every_dataset() {
    let only = std::env::var("FEDGRID_ONLY").ok();
    for (name, keys) in datasets() {
        if only.as_ref().is_some_and(|only| only != name) {
            continue;
        }
        let Some(data) = dataset(name) else { return };
        let path = |file: &str| toml::Value::String(data.join(file).display().to_string());
        let mut text = String::from("[network]\n");
        writeln!(text, "file = {}\nedges = {}", path("nodes.csv"), path("edges.csv")).unwrap();
        writeln!(text, "[data]\nfile = {}", path("data.parquet")).unwrap();
        text += "node = \"node\"\ntarget = \"y\"\nsplit = \"split\"\n";
        let folder = Folder::empty();
        folder.write("experiment.toml", text + &keys);
        let few = ["--set", "compare.shuffles=0", "--baselines", "all"];
        let result = folder.fit("run", &few);
        let gtv = folder.fit("gtv", &["--set", "compare.shuffles=0", "--method", "gtv"]);
        let line = row(name, &result, &gtv) + "\n";
        std::io::stderr().write_all(line.as_bytes()).unwrap();
        for baseline in ALL {
            assert!(result["comparison"]["baselines"][baseline]["test"].is_f64(), "{baseline}");
        }
    }
}

/// A row of the table.
fn row(name: &str, result: &Value, gtv: &Value) -> String {
    let comparison = &result["comparison"];
    let ours = ["local", "pooled", "shrunk", "network"].map(|ours| &comparison[ours]);
    let gtv = &gtv["comparison"]["network"];
    let baselines = ALL.map(|baseline| &comparison["baselines"][baseline]);
    let cells = ours.into_iter().chain([gtv]).chain(baselines).map(|entry| {
        let error = entry["test"].as_f64().unwrap_or(f64::NAN);
        let accuracy = entry["accuracy"].as_f64();
        accuracy.map_or(format!("{error:.4}"), |accuracy| format!("{error:.3} / {accuracy:.3}"))
    });
    let seconds = result["seconds"].as_f64().unwrap_or(0.0);
    format!("| {name} | {} | {seconds:.0} s", cells.collect::<Vec<_>>().join(" | "))
}
