//! Further rows and nodes for a run: what an update must be equal to, and what it gets that it cannot use.

use std::{fmt::Write as _, fs, sync::Arc};

use fedgrid::data::Features;
use fedgrid_lab::run::RunModels;
use serde_json::Value;

use crate::common::{Folder, NODES, timeless};

/// Rows of a day: some of each node that is named.
fn day(nodes: &[&str], rows: usize, seed: f64) -> String {
    let mut text = String::from("node,x,z,y,split\n");
    for (i, node) in nodes.iter().enumerate() {
        for r in 0..rows {
            let (at, i) = (seed + (rows * i + r) as f64, i as f64);
            let (x, z) = ((3.0 + at).cos(), (1.7 * at).sin());
            let y = 1.2 + 0.4 * i + (1.0 + 0.1 * i) * x - 0.4 * z + 0.1 * (5.0 * at).sin();
            writeln!(text, "{node},{x:.6},{z:.6},{y:.6},train").unwrap();
        }
    }
    text
}

/// A run over edges, and two batches of rows for it: of its nodes, and of one that is new.
fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("tuesday.csv", day(&["a", "b", "c", "f"], 3, 100.0));
    folder.write("wednesday.csv", day(&["a", "d", "g"], 4, 200.0));
    folder.write("joins.csv", "src,dst,weight\ng,f,1\ng,e,0.5\n");
    folder
}

fn update(folder: &Folder, run: &str, data: &str, out: &str, more: &[&str]) -> Value {
    let asked = ["update", run, "--data", data, "--out", out, "--quiet", "--all-methods"];
    folder.done(&[&asked[..], more].concat());
    folder.json(&format!("{out}/result.json"))
}

/// What the models of a method predict at some places, node by node.
fn predictions(folder: &Folder, run: &str, method: &str) -> Predicted {
    let models = RunModels::of_method(&folder.path(run), Some(method)).unwrap();
    let places = Features::from_rows(&["x", "z"], &[[0.0, 0.0], [1.0, 0.5], [-0.7, 0.2]]).unwrap();
    let ask = |(name, model): (&String, &Arc<dyn fedgrid::model::Hypothesis>)| {
        (name.clone(), model.predict(&places).as_slice().to_vec())
    };
    models.by_node.iter().map(ask).collect()
}

#[track_caller]
fn check_same(a: &Predicted, b: &Predicted, tolerance: f64) {
    assert_eq!(a.len(), b.len());
    for ((name, a), (other, b)) in a.iter().zip(b) {
        assert_eq!(name, other);
        for (a, b) in a.iter().zip(b) {
            assert!((a - b).abs() <= tolerance, "{name}: {a} {b} ({:e})", (a - b).abs());
        }
    }
}

fn methods(folder: &Folder, run: &str) -> Vec<String> {
    let about = folder.json(&format!("{run}/models/about.json"));
    let methods = about["methods"].as_array().unwrap();
    methods.iter().map(|name| name.as_str().unwrap().to_string()).collect()
}

/// The strength that a run has chosen for a method: its pull and its ridge.
fn strength(folder: &Folder, run: &str, method: &str) -> (f64, Option<f64>) {
    let metrics = folder.read(&format!("{run}/metrics.jsonl"));
    let cards = metrics.lines().skip(1).map(|line| serde_json::from_str::<Value>(line).unwrap());
    let card = cards.filter(|card| card["contestant"] == method).last().unwrap();
    (card["strength"]["alpha"].as_f64().unwrap(), card["strength"]["ridge"].as_f64())
}

/// What `fedgrid fit` of all rows that an updated run names predicts, by one of the methods that the first run keeps, at its
/// strength there.
fn fitted(folder: &Folder, (first, updated): (&str, &str), kept: &str, own: &str) -> Predicted {
    let (alpha, ridge) = strength(folder, first, kept);
    let method = if kept == "network" { own } else { kept };
    let experiment = format!("{updated}/experiment.toml");
    let mut asked = vec!["fit".into(), experiment, "--out".into(), "whole".into()];
    asked.extend(["--force", "--quiet"].map(String::from));
    // A mixed model of nodes without a network is a row of every comparison, and estimates its strengths.
    let is_apart = kept == "mixed";
    let method = if is_apart { "local" } else { method };
    asked.extend(["--method".into(), method.into()]);
    if !is_apart {
        asked.push("--no-compare".into());
        asked.extend(
            ridge.iter().flat_map(|ridge| ["--set".into(), format!("model.ridge={ridge}")]),
        );
    }
    if ["fedrelax", "gtv", "shrunk"].contains(&method) {
        asked.extend(["--set".into(), format!("method.alpha={alpha}")]);
    }
    folder.done(&asked.iter().map(String::as_str).collect::<Vec<_>>());
    let name = if is_apart { "mixed".into() } else { methods(folder, "whole").remove(0) };
    predictions(folder, "whole", &name)
}

/// Of each node, what its model predicts at some places.
type Predicted = Vec<(String, Vec<f64>)>;

#[test]
fn an_update_is_the_fit_of_all_rows_whether_statistics_or_rows_stand_for_the_first() {
    let given = "[model]\nridge = 0.001\n";
    for (method, keys) in [
        // A ridge that was chosen is that of single nodes, and one that is given that of the pooled model, too, which
        // shrunk models are drawn to.
        ("fedrelax", ""),
        ("fedrelax", &format!("{given}[public]\nkind = \"box\"\n")),
        ("fedrelax", &format!("{given}[public]\nkind = \"file\"\nfile = \"points.csv\"\n")),
        ("fedrelax", &format!("{given}[public]\nper_node = true\n")),
        ("gtv", given),
        ("mixed", given),
    ] {
        let folder = folder();
        folder.write("points.csv", "x,z\n0,0\n1,0.5\n-1,0.2\n0.3,-0.8\n");
        folder.append("experiment.toml", keys);
        folder.fit("run", &["--method", method]);
        let second = update(&folder, "run", "tuesday.csv", "second", &[]);
        assert_eq!(second["updates"][0]["by"], "statistics", "{method}");
        assert_eq!(second["updates"][0]["rows_added"], 12);
        let third = update(&folder, "second", "wednesday.csv", "third", &["--edges", "joins.csv"]);
        assert_eq!(third["updates"][1]["new_nodes"], serde_json::json!(["g"]));
        assert_eq!(third["nodes"].as_array().unwrap().len(), 7);
        // In another order, and by the rows.
        for run in ["run", "second", "other"] {
            let _ = fs::remove_file(folder.path(&format!("{run}/statistics.json")));
        }
        let other = update(&folder, "run", "wednesday.csv", "other", &["--edges", "joins.csv"]);
        assert_eq!(other["updates"][0]["by"], "rows", "{method}");
        let _ = fs::remove_file(folder.path("other/statistics.json"));
        update(&folder, "other", "tuesday.csv", "rows", &[]);
        let is_told = |kept: &String| kept != "shrunk" || !keys.is_empty();
        for kept in methods(&folder, "run").into_iter().filter(is_told) {
            let truth = fitted(&folder, ("run", "third"), &kept, method);
            check_same(&predictions(&folder, "third", &kept), &truth, 1e-6);
            check_same(&predictions(&folder, "rows", &kept), &truth, 1e-6);
        }
    }
}

#[test]
fn nodes_that_join_by_their_places_have_the_network_of_a_fit_with_all_of_them() {
    let folder = folder();
    let nearest = "nearest = 2\n[network.coordinates]\nlon = 1\nlat = 0.5";
    folder.edit("experiment.toml", "edges = \"edges.csv\"", nearest);
    folder.fit("run", &["--method", "fedrelax"]);
    folder.write("places.csv", "node,lon,lat\ng,1.5,2\n");
    let found = update(&folder, "run", "wednesday.csv", "next", &["--nodes", "places.csv"]);
    // The experiment of all rows has all nodes, and trains again.
    folder.done(&["fit", "next/experiment.toml", "--out", "again", "--quiet"]);
    let again = folder.json("again/result.json");
    assert_eq!(found["network"]["edges"], again["network"]["edges"]);
    assert_eq!(found["network"]["nodes"], 7);
    let places = |run: &str| folder.json(&format!("{run}/models/places.json"))["nodes"].clone();
    assert_eq!(places("next"), places("again"));
    let rows = |result: &Value| -> Vec<u64> {
        result["nodes"].as_array().unwrap().iter().map(|n| n["rows"].as_u64().unwrap()).collect()
    };
    assert_eq!(rows(&found), rows(&again));
}

#[test]
fn an_update_without_rows_leaves_all_models_as_they_are() {
    let folder = folder();
    folder.fit("run", &[]);
    folder.write("none.csv", "node,x,z,y,split\n");
    let same = update(&folder, "run", "none.csv", "same", &[]);
    assert_eq!(same["updates"][0]["by"], "nothing");
    for file in ["models/nodes.jsonl", "models/mixed.jsonl", "uncertainty.json", "statistics.json"]
    {
        assert_eq!(
            folder.read(&format!("run/{file}")),
            folder.read(&format!("same/{file}")),
            "{file}"
        );
    }
    // Rows of which none trains are no rows, either.
    let tested = day(&["a"], 3, 5.0).replace(",train", ",test");
    folder.write("tested.csv", tested);
    let same = update(&folder, "run", "tested.csv", "tested", &[]);
    assert_eq!(same["updates"][0]["rows_added"], 0);
    let note = "3 new rows left out, because the split says that they do not train.";
    assert!(same["notes"].as_array().unwrap().iter().any(|one| one == note), "{same}");
}

#[test]
fn methods_that_nothing_is_predicted_by_are_updated_if_that_is_asked_for() {
    let folder = folder();
    folder.fit("run", &["--method", "fedrelax"]);
    update(&folder, "run", "tuesday.csv", "whole", &[]);
    assert_eq!(methods(&folder, "whole"), methods(&folder, "run"));
    folder.done(&["update", "run", "--data", "tuesday.csv", "--out", "next", "--quiet"]);
    let advised = folder.json("run/models/about.json")["advised"].as_str().unwrap().to_string();
    let kept = methods(&folder, "next");
    assert!(["network", "pooled", &advised].iter().all(|name| kept.contains(&name.to_string())));
    let others: Vec<String> =
        methods(&folder, "run").into_iter().filter(|name| !kept.contains(name)).collect();
    assert!(others.len() >= 2, "{others:?}");
    for name in &kept {
        let [next, whole] = ["next", "whole"].map(|run| predictions(&folder, run, name));
        check_same(&next, &whole, 0.0);
    }
    let note = format!(
        "Models of {} were updated, and those of {} are not kept; --all-methods updates them, too.",
        kept.join(", "),
        others.join(", ")
    );
    let result = folder.json("next/result.json");
    assert!(result["notes"].as_array().unwrap().iter().any(|one| *one == note), "{result}");
    let asked = ["predict", "next", "--data", "rows.csv", "--use", &others[0]];
    let refusal = folder.refusal(&asked);
    assert!(refusal.contains(&format!("keeps no models of '{}'", others[0])), "{refusal}");
    // Updates go on from it with what it keeps.
    folder.done(&[
        "update",
        "next",
        "--data",
        "wednesday.csv",
        "--out",
        "last",
        "--quiet",
        "--edges",
        "joins.csv",
    ]);
    assert_eq!(methods(&folder, "last"), kept);
}

#[test]
fn the_verdict_of_an_update_is_said_to_be_that_of_the_run_before() {
    let folder = folder();
    let first = folder.fit("run", &[]);
    let next = update(&folder, "run", "tuesday.csv", "next", &[]);
    let last = update(&folder, "next", "wednesday.csv", "last", &["--edges", "joins.csv"]);
    for (run, updates) in [(&next, 1), (&last, 2)] {
        let verdict = run["verdict"].as_str().unwrap();
        assert_eq!(verdict, format!("Before the update: {}", first["verdict"].as_str().unwrap()));
        assert_eq!(run["comparison"], first["comparison"]);
        assert_eq!(run["updates"].as_array().unwrap().len(), updates);
        assert_eq!(run["advised"], first["advised"]);
        let warning = run["warnings"][0].as_str().unwrap();
        assert!(warning.starts_with("The models were updated with "), "{warning}");
        assert!(warning.contains("nobody has compared methods since"), "{warning}");
        let warnings = run["warnings"].as_array().unwrap();
        let about = |one: &&Value| one.as_str().unwrap().starts_with("The models were updated");
        assert_eq!(warnings.iter().filter(about).count(), 1);
        let notes = run["notes"].as_array().unwrap();
        let of_rows = |one: &&Value| one.as_str().unwrap().contains("stood for the rows before");
        assert_eq!(notes.iter().filter(of_rows).count(), 1);
    }
    assert!(last["warnings"][0].as_str().unwrap().contains("24 training rows and 1 new node"));
    // Whoever looks at the run is told, too, also of one node.
    let shown = folder.done(&["show", "last"]);
    assert!(shown.contains("Warning: The models were updated with 24 training rows"), "{shown}");
    let node = folder.done(&["show", "last", "--node", "g"]);
    assert!(node.contains("joined by an update"), "{node}");
    // A node of the run before has the errors that it had.
    let [before, now] =
        ["run", "last"].map(|run| folder.done(&["show", run, "--node", "f", "--json"]));
    let errors = |text: &str| serde_json::from_str::<Value>(text).unwrap()["errors"].clone();
    assert_eq!(errors(&before), errors(&now));
}

#[test]
fn updated_models_predict_with_intervals_also_where_nodes_are_new() {
    let folder = folder();
    folder.fit("run", &[]);
    update(&folder, "run", "wednesday.csv", "next", &["--edges", "joins.csv"]);
    folder.write("ask.csv", "node,x,z\na,0.5,0.25\ng,0.5,0.25\n");
    for method in methods(&folder, "next") {
        let asked = ["predict", "next", "--data", "ask.csv", "--interval", "0.8", "--use", &method];
        let found = folder.done(&asked);
        for line in found.lines().skip(1) {
            let cells: Vec<&str> = line.split(',').collect();
            let [at, low, high] = [1, 2, 3].map(|at| cells[at].parse::<f64>().unwrap());
            assert!(low < at && at < high, "{method}: {line}");
        }
    }
}

#[test]
fn other_models_are_those_of_all_rows_read_again() {
    let folder = folder();
    folder.append("experiment.toml", "[model]\nkind = \"tree\"\n[public]\npoints = 20\n");
    folder.fit("run", &["--method", "fedrelax"]);
    assert!(!folder.path("run/statistics.json").exists());
    let next = update(&folder, "run", "tuesday.csv", "next", &[]);
    assert_eq!(next["updates"][0]["by"], "rows");
    let note = "The rows before were read again from where the experiment says.";
    assert!(next["notes"].as_array().unwrap().iter().any(|one| one == note), "{next}");
    // Intervals are refreshed, where rows validate.
    assert_eq!(next["updates"][0]["calibrated"], true);
    for kept in ["network", "local", "pooled"] {
        let truth = fitted(&folder, ("run", "next"), kept, "fedrelax");
        check_same(&predictions(&folder, "next", kept), &truth, 1e-9);
    }
    // Without the rows there is nothing to go on with, which is said.
    fs::rename(folder.path("rows.csv"), folder.path("away.csv")).unwrap();
    let asked = ["update", "run", "--data", "tuesday.csv", "--out", "gone"];
    let refusal = folder.refusal(&asked);
    assert!(
        refusal.contains("rows.csv") && refusal.contains("are read again, because"),
        "{refusal}"
    );
    assert!(!folder.path("gone").exists());
}

/// A table with other targets.
fn with_targets(text: &str, target: fn(f64) -> String) -> String {
    let line = |line: &str| {
        let mut cells: Vec<String> = line.split(',').map(String::from).collect();
        if let Ok(y) = cells[3].parse() {
            cells[3] = target(y);
        }
        cells.join(",") + "\n"
    };
    text.lines().map(line).collect()
}

#[test]
fn classes_trees_and_counts_are_those_of_a_fit_of_all_rows() {
    let given = "ridge = 0.01\n[public]\npoints = 20\n";
    let numbers: fn(f64) -> String = |y| y.to_string();
    let classes: fn(f64) -> String = |y| if y > 2.2 { "warm".into() } else { "cold".into() };
    let counts: fn(f64) -> String = |y| format!("{:.0}", y.abs());
    for (kind, method, target, keys) in [
        ("tree", "fedrelax", numbers, "[public]\npoints = 20\n"),
        ("logistic", "fedrelax", classes, given),
        ("poisson", "gtv", counts, given),
    ] {
        let folder = folder();
        for file in ["rows.csv", "tuesday.csv", "wednesday.csv"] {
            folder.write(file, with_targets(&folder.read(file), target));
        }
        folder.append("experiment.toml", &format!("[model]\nkind = \"{kind}\"\n{keys}"));
        folder.fit("run", &["--method", method]);
        assert!(!folder.path("run/statistics.json").exists(), "{kind}");
        let next = update(&folder, "run", "wednesday.csv", "next", &["--edges", "joins.csv"]);
        assert_eq!(next["updates"][0]["by"], "rows", "{kind}");
        update(&folder, "next", "tuesday.csv", "last", &[]);
        for kept in ["network", "local", "pooled"] {
            let truth = fitted(&folder, ("run", "last"), kept, method);
            let found = predictions(&folder, "last", kept);
            let sizes = truth.iter().flat_map(|(_, own)| own.iter().map(|value| value.abs()));
            let largest = sizes.fold(0.0, f64::max);
            check_same(&found, &truth, 1e-9 * largest);
        }
    }
}

#[test]
fn a_plan_of_columns_that_all_rows_would_change_is_kept_and_said() {
    let folder = folder();
    let with = |text: &str, columns: [&str; 3]| {
        let add = |(row, line): (usize, &str)| match row {
            0 => format!("{line},soil,kind,day\n"),
            row => {
                let [soils, kind, day] = columns;
                let soil = soils.split(' ').nth(row % 2).unwrap();
                format!("{line},{soil},{kind},{day}T0{}:00:00\n", row % 7)
            }
        };
        text.lines().enumerate().map(add).collect::<String>()
    };
    folder.write("rows.csv", with(&folder.read("rows.csv"), ["clay sand", "old", "2026-03-02"]));
    folder.fit("run", &["--method", "fedrelax"]);
    let tuesday = folder.read("tuesday.csv");
    let notes = |name: &str, columns: [&str; 3]| -> Vec<String> {
        folder.write("more.csv", with(&tuesday, columns));
        let result = update(&folder, "run", "more.csv", name, &[]);
        let notes = result["notes"].as_array().unwrap().iter();
        let own = notes.filter_map(Value::as_str).filter(|note| note.contains("a fit of all rows"));
        own.map(String::from).collect()
    };
    assert_eq!(notes("same", ["clay sand", "old", "2026-03-02"]), [""; 0]);
    assert_eq!(
        notes("other", ["clay peat", "new", "2026-04-01"]),
        [
            "Column 'kind' is left out as in the run ('old' in all training rows), and further rows hold something else; a \
             fit of all rows may use it.",
            "Times of 'day' differ by month, weekday, which the run does not use; a fit of all rows would, unless \
             data.columns says which parts.",
            "Levels of 'soil' that the run does not know count as other, where a fit of all rows may give them columns of \
             their own.",
        ]
    );
    // A gap is filled as the run has learnt it.
    folder.append("experiment.toml", "[data.columns.z]\nmissing = \"mean\"\n");
    folder.done(&["fit", "experiment.toml", "--out", "filled", "--quiet"]);
    let more = with(&tuesday, ["clay sand", "old", "2026-03-02"]);
    folder.write(
        "more.csv",
        more.replacen(more.lines().nth(1).unwrap().split(',').nth(2).unwrap(), "", 1),
    );
    let result = update(&folder, "filled", "more.csv", "gaps", &[]);
    let said = |note: &Value| {
        let note = note.as_str().unwrap();
        note.starts_with("Missing cells of 'z' are taken for ") && note.contains("as in the run")
    };
    assert!(result["notes"].as_array().unwrap().iter().any(said), "{result}");
}

#[test]
fn statistics_need_no_row_of_the_run_and_stay_in_its_folder() {
    let folder = folder();
    folder.fit("run", &[]);
    for file in ["rows.csv", "nodes.csv", "edges.csv"] {
        fs::remove_file(folder.path(file)).unwrap();
    }
    fs::rename(folder.path("run"), folder.path("copied")).unwrap();
    let next = update(&folder, "copied", "wednesday.csv", "next", &["--edges", "joins.csv"]);
    let note = "The statistics of the run stood for the rows before, which were not read again.";
    assert!(next["notes"].as_array().unwrap().iter().any(|one| one == note), "{next}");
    // Strengths are chosen on rows.
    let asked = ["update", "copied", "--data", "tuesday.csv", "--out", "tuned", "--tune"];
    let refusal = folder.refusal(&asked);
    assert!(refusal.contains("because strengths are chosen on validation rows"), "{refusal}");
    // What is damaged is said.
    folder.edit("next/statistics.json", "\"format\":2", "\"format\":7");
    let refusal = folder.refusal(&["update", "next", "--data", "tuesday.csv", "--out", "x"]);
    assert!(refusal.contains("next/statistics.json' is damaged: format 7"), "{refusal}");
    folder.edit("next/statistics.json", "\"format\":7", "\"format\":2");
    folder.edit("next/statistics.json", "\"nodes\":[\"a\",", "\"nodes\":[");
    let refusal = folder.refusal(&["update", "next", "--data", "tuesday.csv", "--out", "x"]);
    assert!(refusal.contains("its parts are of different nodes"), "{refusal}");
}

#[test]
fn strengths_are_chosen_again_where_that_is_asked_for() {
    let folder = folder();
    folder.fit("run", &["--method", "fedrelax"]);
    let tuned = update(&folder, "run", "tuesday.csv", "tuned", &["--tune"]);
    assert_eq!(
        (&tuned["updates"][0]["tuned"], &tuned["updates"][0]["by"]),
        (&Value::Bool(true), &Value::String("rows".into()))
    );
    let kept = update(&folder, "run", "tuesday.csv", "kept", &[]);
    let run = folder.json("run/result.json");
    assert_eq!(kept["method"]["alpha"], run["method"]["alpha"]);
}

#[test]
fn rows_that_the_run_knows_are_refused_left_out_or_counted_once_more() {
    let folder = folder();
    folder.fit("run", &["--method", "fedrelax"]);
    // A file that grows: the rows of the run, and three more.
    let more: String =
        day(&["a"], 3, 7.0).lines().skip(1).fold(String::new(), |text, line| text + line + "\n");
    folder.write("grown.csv", folder.read("rows.csv") + &more);
    let asked = ["update", "run", "--data", "grown.csv", "--out", "next"];
    assert_eq!(
        folder.refusal(&asked),
        "grown.csv: 24 of 27 training rows equal rows that the run was trained on, the first of node 'a'; --repeated \
         skip leaves them out, --repeated add counts them once more"
    );
    let next = update(&folder, "run", "grown.csv", "next", &["--repeated", "skip"]);
    assert_eq!(
        (&next["updates"][0]["rows_added"], &next["updates"][0]["rows_known"]),
        (&3.into(), &24.into())
    );
    folder.write("three.csv", String::from("node,x,z,y,split\n") + &more);
    update(&folder, "run", "three.csv", "three", &[]);
    check_same(
        &predictions(&folder, "next", "network"),
        &predictions(&folder, "three", "network"),
        1e-9,
    );
    let twice = update(&folder, "run", "grown.csv", "twice", &["--repeated", "add"]);
    assert_eq!(twice["updates"][0]["rows_added"], 27);
    let asked = ["update", "run", "--data", "grown.csv", "--out", "other"];
    let refusal = folder.refusal(&[&asked[..], &["--repeated", "perhaps"]].concat());
    assert_eq!(refusal, "--repeated is 'perhaps', expected refuse, skip or add");
}

#[test]
fn what_cannot_be_added_is_refused_in_a_sentence_and_nothing_is_written() {
    let folder = folder();
    folder.fit("run", &["--no-compare"]);
    let asked = |data: &str, more: &[&str]| {
        let asked = ["update", "run", "--data", data, "--out", "next"];
        let refusal = folder.refusal(&[&asked[..], more].concat());
        assert!(!folder.path("next").exists());
        refusal
    };
    folder.write("short.csv", "node,x,y,split\na,1,2,train\n");
    assert!(
        asked("short.csv", &[]).contains("there is no column 'z'"),
        "{}",
        asked("short.csv", &[])
    );
    folder.write("text.csv", "node,x,z,y,split\na,1,2,warm,train\n");
    let refusal = asked("text.csv", &[]);
    assert!(refusal.starts_with("text.csv: column 'y' holds text"), "{refusal}");
    let refusal = asked("wednesday.csv", &[]);
    assert_eq!(
        refusal,
        "wednesday.csv: row 9, column 'node' is 'g', which is not a node of the run; known are a, b, c, d, e, f; give its \
         edges to nodes of the run with --edges"
    );
    folder.write("far.csv", "src,dst\nh,a\n");
    let refusal = asked("wednesday.csv", &["--edges", "far.csv"]);
    assert!(
        refusal.contains("is 'g'") && refusal.contains("it has no edge in far.csv"),
        "{refusal}"
    );
    assert!(asked("nothing.csv", &[]).contains("cannot read the table 'nothing.csv'"));
    let refusal = folder.refusal(&["update", "run", "--data", "tuesday.csv", "--out", "run"]);
    assert!(refusal.contains("'run' exists"), "{refusal}");
    let refusal =
        folder.refusal(&["update", "run", "--data", "tuesday.csv", "--out", "run", "--force"]);
    assert!(refusal.contains("the run that is updated"), "{refusal}");
    let refusal = folder.refusal(&["update", "rows.csv", "--data", "tuesday.csv", "--out", "x"]);
    assert!(refusal.contains("holds no finished run"), "{refusal}");
}

#[test]
fn a_level_that_the_run_does_not_know_is_as_predict_has_it() {
    let folder = folder();
    let soils = |text: &str| {
        let add = |(row, line): (usize, &str)| match row {
            0 => format!("{line},soil\n"),
            row => format!("{line},{}\n", ["clay", "sand"][row % 2]),
        };
        text.lines().enumerate().map(add).collect::<String>()
    };
    folder.write("rows.csv", soils(&folder.read("rows.csv")));
    folder.fit("run", &["--method", "fedrelax"]);
    folder.write("tuesday.csv", soils(&folder.read("tuesday.csv")));
    let next = update(&folder, "run", "tuesday.csv", "next", &[]);
    assert_eq!(next["updates"][0]["by"], "statistics");
    folder.edit("tuesday.csv", "sand", "peat");
    let answer = folder.run(&["update", "run", "--data", "tuesday.csv", "--out", "other"]);
    let said = format!("{}{}", answer.out, answer.err);
    assert!(said.contains("peat"), "{said}");
}

#[test]
fn the_number_of_threads_changes_no_bit_of_an_update() {
    let folder = folder();
    folder.fit("run", &[]);
    for threads in ["1", "8"] {
        let out = format!("next{threads}");
        let more = ["--edges", "joins.csv", "--threads", threads];
        update(&folder, "run", "wednesday.csv", &out, &more);
    }
    for file in ["models/nodes.jsonl", "models/mixed.jsonl", "statistics.json", "uncertainty.json"]
    {
        assert_eq!(
            folder.read(&format!("next1/{file}")),
            folder.read(&format!("next8/{file}")),
            "{file}"
        );
    }
    let [one, eight] =
        ["next1", "next8"].map(|run| timeless(folder.json(&format!("{run}/result.json"))));
    assert_eq!(one, eight);
}

#[test]
fn a_resumed_run_counts_the_steps_that_were_done() {
    let folder = Folder::new();
    folder.fit("run", &[]);
    fs::remove_file(folder.path("run/result.json")).unwrap();
    let metrics = folder.read("run/metrics.jsonl");
    let cut = metrics.lines().take(5).fold(String::new(), |text, line| text + line + "\n");
    folder.write("run/metrics.jsonl", cut);
    let answer = folder.run(&["fit", "run", "--resume"]);
    assert_eq!(answer.code, Some(0), "{}", answer.err);
    // The header has no step, and the models to keep are one without a line.
    let all = metrics.lines().count();
    let first = answer.err.lines().next().unwrap();
    assert_eq!(first, format!("4 of {all} steps were done before"));
    assert_eq!(NODES.len(), 6);
}

/// Days of each node from one to another, with sales that remember those of the day before, in a run with lags.
fn days(from: usize, to: usize, role: impl Fn(usize) -> &'static str) -> String {
    let mut text = String::from("node,day,x,y,split\n");
    for (i, node) in NODES.iter().enumerate() {
        let mut y = 5.0 + i as f64;
        for day in 0..to {
            let at = (31 * i + day) as f64;
            let x = (1.7 * at).sin();
            y = 2.0
                + 0.3 * i as f64
                + 0.5 * y
                + (1.0 + 0.1 * i as f64) * x
                + 0.3 * (5.0 * at).cos();
            // A gap, which lags meet in the run and behind it.
            if day >= from && day != 17 {
                writeln!(text, "{node},{day},{x:.6},{y:.6},{}", role(day)).unwrap();
            }
        }
    }
    text
}

/// A run over twenty days, two of which validate, and a week that comes later.
fn folder_with_lags(keys: &str) -> Folder {
    let folder = Folder::new();
    let role = |day| if day % 7 == 5 { "val" } else { "train" };
    folder.write("rows.csv", days(0, 20, role));
    folder.write("week.csv", days(20, 27, |_| "train"));
    folder.write("month.csv", days(27, 40, |_| "train"));
    folder.write(
        "experiment.toml",
        format!(
            "[data]\nfile = \"rows.csv\"\nnode = \"node\"\ntarget = \"y\"\nsplit = \"split\"\ntime = \"day\"\n\
             missing = \"drop\"\n[data.lags]\ny = {{ lags = [\"1\", \"3\"], means = [\"6\"] }}\n[network]\n\
             file = \"nodes.csv\"\nedges = \"edges.csv\"\n[compare]\nshuffles = 1\nlikelihood_shuffles = 0\n{keys}"
        ),
    );
    folder
}

#[test]
fn a_run_with_lags_is_updated_to_the_fit_of_all_rows() {
    for (method, by, keys) in [
        ("fedrelax", "statistics", "[model]\nridge = 0.001\n"),
        ("mixed", "statistics", "[model]\nridge = 0.001\n"),
        ("fedrelax", "rows", "[model]\nkind = \"tree\"\n[public]\npoints = 20\n"),
    ] {
        let folder = folder_with_lags(keys);
        folder.fit("run", &["--method", method]);
        let next = update(&folder, "run", "week.csv", "next", &[]);
        assert_eq!(
            (&next["updates"][0]["by"], &next["updates"][0]["rows_added"]),
            // The first row of each node looks back at the day that is missing, and is left out.
            (&by.into(), &36.into())
        );
        let last = update(&folder, "next", "month.csv", "last", &[]);
        assert_eq!(last["updates"][1]["by"], by);
        for kept in methods(&folder, "run") {
            let truth = fitted(&folder, ("run", "last"), &kept, method);
            check_same(&predictions(&folder, "last", &kept), &truth, 1e-6);
        }
        // Earlier rows that are given stand for the files of the run, which may be gone.
        folder.write("earlier.csv", days(10, 20, |_| "train"));
        fs::rename(folder.path("rows.csv"), folder.path("away.csv")).unwrap();
        let asked = ["update", "run", "--data", "week.csv", "--out", "other"];
        let refusal = folder.refusal(&asked);
        assert!(refusal.contains("rows.csv"), "{refusal}");
        if by == "rows" {
            assert!(refusal.contains("are read again, because"), "{refusal}");
            continue;
        }
        assert!(refusal.ends_with("give these with --history)"), "{refusal}");
        update(&folder, "run", "week.csv", "other", &["--history", "earlier.csv"]);
        for kept in methods(&folder, "run") {
            let [next, other] = ["next", "other"].map(|run| predictions(&folder, run, &kept));
            check_same(&next, &other, 1e-9);
        }
    }
}

#[test]
fn rows_that_would_change_lags_of_the_run_are_refused() {
    let folder = folder_with_lags("");
    folder.fit("run", &["--method", "fedrelax", "--no-compare"]);
    // The day that was missing, at which those after it look back.
    folder.write("late.csv", "node,day,x,y,split\na,17,0.5,4,train\n");
    let refusal = folder.refusal(&["update", "run", "--data", "late.csv", "--out", "next"]);
    assert_eq!(
        refusal,
        "late.csv: by these rows 'y.lag_1' of a row of the run would be another (node 'a', 18), and its models know that row \
         as it was; fit again with all rows"
    );
    // Rows that validated may train now: they are in the run's file, and change no lag.
    let text = folder.read("rows.csv");
    let validated: String = text
        .lines()
        .filter(|line| line.ends_with("val"))
        .fold(String::from("node,day,x,y,split\n"), |text, line| {
            text + &line.replace(",val", ",train") + "\n"
        });
    folder.write("validated.csv", validated);
    let next = update(&folder, "run", "validated.csv", "next", &[]);
    assert_eq!(next["updates"][0]["rows_added"], 18);
    folder.write("twice.csv", "node,day,x,y,split\na,21,0.5,4,train\na,21,0.6,4,train\n");
    let refusal = folder.refusal(&["update", "run", "--data", "twice.csv", "--out", "x"]);
    assert_eq!(
        refusal,
        "twice.csv: row 2 of twice.csv, column 'day' is 21, as is row 1 of twice.csv of the same node; lags need one row \
         for each time of a node"
    );
    folder.write("without.csv", "node,x,y,split\na,0.5,4,train\n");
    let refusal = folder.refusal(&["update", "run", "--data", "without.csv", "--out", "x"]);
    assert!(refusal.contains("there is no column 'day'"), "{refusal}");
    // A table of which no row has its earlier values adds nothing, as does each of these rows among others.
    folder.write("far.csv", "node,day,x,y,split\na,60,0.5,4,train\nb,70,0.5,4,train\n");
    let far = update(&folder, "run", "far.csv", "far", &[]);
    assert_eq!(
        (&far["updates"][0]["by"], &far["updates"][0]["rows_added"]),
        (&"nothing".into(), &0.into())
    );
    let said = "2 new rows left out: none has all of its earlier values (data.missing is drop).";
    assert!(far["notes"].as_array().unwrap().iter().any(|note| note == said), "{}", far["notes"]);
    assert_eq!(folder.read("far/models/nodes.jsonl"), folder.read("run/models/nodes.jsonl"));
    let plain = self::folder();
    plain.fit("run", &["--no-compare"]);
    let asked = ["update", "run", "--data", "tuesday.csv", "--history", "rows.csv", "--out", "x"];
    let refusal = plain.refusal(&asked);
    assert_eq!(refusal, "--history is for runs with lags, and this run has none");
}
