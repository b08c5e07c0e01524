//! Every kind of model is reachable from an experiment, alone and beside others, and is saved.

use std::{collections::BTreeMap, fmt::Write, path::Path};

use crate::common::{Folder, NODES, dataset, quick_model};
use fedgrid::{data::Labels, loss::Loss, model::Stored};
use fedgrid_lab::source::Table;

const NUMBERS: [&str; 15] = [
    "linear",
    "elastic-net",
    "huber",
    "quantile",
    "poisson",
    "graphical-lasso",
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
[public]
points = 10
[method]
kind = \"fedrelax\"
alpha = 0.3
rounds = 20
[compare]
enabled = false
";

fn with_kind(kind: &str) -> Folder {
    let folder = Folder::new();
    // Counts for the Poisson regression, and numbers for all others.
    folder.write("rows.csv", crate::common::rows(|value| (value.abs() + 1.0).to_string()));
    folder.append("experiment.toml", &format!("[model]\n{}{QUICK}", quick_model(kind)));
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
            let value: f64 = line.split(',').nth(1).unwrap().parse().unwrap();
            assert!(value.is_finite(), "{kind}: {line}");
        }
    }
}

#[test]
fn a_strength_that_is_next_to_nothing_is_local_training_and_the_notes_say_so() {
    let told = |result: &serde_json::Value, words: &str| {
        let notes = result["notes"].as_array().unwrap();
        notes.iter().any(|note| note.as_str().unwrap().contains(words))
    };
    let deaf = "have next to no pull at alpha 1.00 × 10⁻⁶, less than a thousandth";
    for kind in ["tree", "forest", "boosting", "perceptron", "smoother"] {
        let folder = with_kind(kind);
        let predict = |run| folder.done(&["predict", run, "--data", "rows.csv"]);
        folder.fit("alone", &["--alpha", "0"]);
        let weak = folder.fit("weak", &["--alpha", "1e-6"]);
        assert_eq!(predict("alone"), predict("weak"), "{kind}");
        assert!(told(&weak, deaf), "{kind}: {}", weak["notes"]);
        let pulled = folder.fit("pulled", &[]);
        assert_ne!(predict("alone"), predict("pulled"), "{kind}");
        assert!(!told(&pulled, "next to no pull"), "{kind}: {}", pulled["notes"]);
    }
    let open = with_kind("quantile").fit("weak", &["--alpha", "1e-6"]);
    assert!(told(&open, "may leave open which model is best"), "{}", open["notes"]);
    let linear = with_kind("linear").fit("weak", &["--alpha", "1e-6"]);
    assert!(!told(&linear, "next to no pull"), "{}", linear["notes"]);
}

#[test]
fn seven_kinds_at_once_train_are_saved_and_predict_the_same_again() {
    let folder = with_kind("linear");
    let kinds = ["tree", "forest", "boosting", "kernel-ridge", "neighbours", "perceptron"];
    for (node, kind) in NODES.iter().zip(kinds) {
        let keys = quick_model(kind);
        folder.append("experiment.toml", &format!("[model.nodes.{node}]\n{keys}"));
    }
    folder.fit("one", &[]);
    folder.fit("two", &["--threads", "2"]);
    let predict = |run| folder.done(&["predict", run, "--data", "rows.csv"]);
    assert_eq!(predict("one"), predict("two"));
    for kind in kinds {
        assert!(folder.read("one/models/nodes.jsonl").contains(&format!("\"kind\":\"{kind}\"")));
    }
}

/// What the nodes of a large network get in turn, besides linear models.
const IN_TURN: [&str; 6] = [
    "kind = \"tree\"",
    "kind = \"forest\"\ntrees = 5",
    "kind = \"boosting\"\ntrees = 5",
    "kind = \"kernel-ridge\"",
    "kind = \"neighbours\"",
    "kind = \"perceptron\"\nepochs = 20",
];

/// Trains seven kinds at once; what is loaded again must be, to the bit, what was trained.
///
/// The result holds errors that the training process measured before anything was saved.
fn seven_kinds(experiment: &str, data: &Path, nodes: &Path, names: [&str; 2]) {
    let folder = Folder::empty();
    let mut text = format!("{experiment}\n[compare]\nenabled = false\n");
    text += "[model]\nkind = \"linear\"\nridge = 0.01\n";
    let nodes = Table::from_file(nodes, ',').unwrap().text(names[0]).unwrap();
    for (place, node) in nodes.iter().enumerate().filter(|(place, _)| place % 7 > 0) {
        writeln!(text, "[model.nodes.\"{node}\"]\n{}", IN_TURN[place % 7 - 1]).unwrap();
    }
    folder.write("experiment.toml", text);
    let result = folder.fit("run", &[]);
    let data_path = data.display().to_string();
    let predict = || folder.done(&["predict", "run", "--data", &data_path]);
    let predictions = predict();
    assert_eq!(predictions, predict());

    let table = Table::from_file(data, ',').unwrap();
    let (roles, labels) = (table.text("split").unwrap(), table.numbers(names[1]).unwrap());
    let mut scored: BTreeMap<&str, [Vec<f64>; 2]> = BTreeMap::new();
    for ((line, role), label) in predictions.lines().skip(1).zip(&roles).zip(labels) {
        let mut cells = line.split(',');
        let (node, prediction) = (cells.next().unwrap(), cells.next().unwrap());
        if role == "test" {
            let [known, predicted] = scored.entry(node).or_default();
            known.push(label);
            predicted.push(prediction.parse().unwrap());
        }
    }
    assert_eq!(scored.len(), nodes.len());
    for node in result["nodes"].as_array().unwrap() {
        let [known, predicted] = scored[node["name"].as_str().unwrap()].clone().map(Labels::values);
        let losses = Loss::Squared.rows(&known, &predicted);
        let error = losses.iter().sum::<f64>() / losses.len() as f64;
        // Errors are summed in the units that models are trained in.
        let told = node["network"].as_f64().unwrap();
        assert!((told - error).abs() < 1e-12 * error, "{node}: {error}");
    }
    for line in folder.read("run/models/nodes.jsonl").lines() {
        let (_, model) = line.split_once("\"model\":").unwrap();
        let model = model.strip_suffix('}').unwrap();
        let stored: Stored = serde_json::from_str(model).unwrap();
        assert_eq!(serde_json::to_string(&stored).unwrap(), model);
    }
}

#[test]
fn seven_kinds_at_weather_stations_predict_the_same_bits_when_loaded() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/colorado");
    let (data, nodes) = (folder.join("readings.csv"), folder.join("stations.csv"));
    let path = |path: &Path| toml::Value::String(path.display().to_string());
    let columns = r#"["sin1", "cos1", "sin2", "cos2"]"#;
    let experiment = format!(
        "[data]\nfile = {}\nnode = \"station\"\ntarget = \"tmax\"\nsplit = \"split\"\n\
         features = {columns}\n[network]\nfile = {}\nnearest = 8\n\
         coordinates = {{ lon = 85, lat = 111, elevation_m = 0.25 }}\n\
         [public]\nkind = \"columns\"\ncolumns = {columns}\n\
         [method]\nkind = \"fedrelax\"\nalpha = 0.3\nrounds = 10\n",
        path(&data),
        path(&nodes)
    );
    seven_kinds(&experiment, &data, &nodes, ["station", "tmax"]);
}

#[test]
#[ignore = "3,119 counties take ten seconds without optimisation; run with make soak"]
fn seven_kinds_at_counties_predict_the_same_bits_when_loaded() {
    let Some(folder) = dataset("covid_counties") else { return };
    let path = |file: &str| toml::Value::String(folder.join(file).display().to_string());
    let features: Vec<String> = (1..=16).map(|number| format!("c{number:02}")).collect();
    let experiment = format!(
        "[data]\nfile = {}\nnode = \"node\"\ntarget = \"y\"\nsplit = \"split\"\n\
         features = {features:?}\n[network]\nfile = {}\nedges = {}\n\
         [public]\npoints = 30\n[method]\nkind = \"fedrelax\"\nalpha = 1\nrounds = 3\n",
        path("data.parquet"),
        path("nodes.csv"),
        path("edges.csv")
    );
    let [data, nodes] = ["data.parquet", "nodes.csv"].map(|file| folder.join(file));
    seven_kinds(&experiment, &data, &nodes, ["node", "y"]);
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

/// The models that each node trains alone with these settings, one per line.
fn alone(folder: &Folder, run: &str, settings: &[&str]) -> Vec<String> {
    let mut arguments = vec!["--alpha", "0"];
    arguments.extend(settings.iter().flat_map(|setting| ["--set", setting]));
    folder.fit(run, &arguments);
    folder.read(&format!("{run}/models/nodes.jsonl")).lines().map(String::from).collect()
}

#[test]
fn a_perceptron_stops_when_its_patience_ends() {
    let folder = with_kind("perceptron");
    folder.edit("experiment.toml", "epochs = 30", "batch = 1\nstep_size = 0.1");
    let patient = ["model.patience=3", "model.held_back=0.5"];
    let [short, long] = ["model.epochs=200", "model.epochs=400"];
    let stopped = alone(&folder, "short", &[patient[0], patient[1], short]);
    assert_eq!(stopped, alone(&folder, "long", &[patient[0], patient[1], long]));
    let tireless = alone(&folder, "tireless", &["model.patience=0", short]);
    assert_ne!(tireless, alone(&folder, "longer", &["model.patience=0", long]));

    // What one node says is that node's alone.
    let own = ["model.nodes.b.patience=3", "model.nodes.b.held_back=0.5"];
    let mixed = alone(&folder, "mixed", &["model.patience=0", short, own[0], own[1]]);
    for (node, line) in mixed.iter().enumerate() {
        assert_eq!(*line, if node == 1 { &stopped } else { &tireless }[node], "node {node}");
        assert_ne!(stopped[node], tireless[node]);
    }
}

#[test]
fn patience_for_all_is_that_of_perceptrons_and_is_stored_with_them() {
    let folder = with_kind("tree");
    let settings = ["model.nodes.b.kind=perceptron", "model.patience=2", "model.held_back=0.5"];
    let models = alone(&folder, "run", &settings);
    let stored: toml::Table = folder.read("run/experiment.toml").parse().unwrap();
    assert!(stored["model"].get("patience").is_none());
    assert_eq!(stored["model"]["nodes"]["b"]["patience"].as_integer(), Some(2));
    folder.done(&["fit", "run/experiment.toml", "--quiet", "--out", "again"]);
    let again = folder.read("again/models/nodes.jsonl");
    assert_eq!(again.lines().collect::<Vec<_>>(), models);
    assert_ne!(alone(&folder, "usual", &settings[..1])[1], models[1]);
}

#[test]
fn a_ridge_that_is_given_at_a_node_is_not_chosen_anew() {
    let folder = Folder::new();
    folder.append("experiment.toml", "[model.nodes.a]\nridge = 1e9\n[public]\npoints = 10\n");
    folder.fit("run", &["--method", "local", "--no-compare"]);
    let models = folder.read("run/models/nodes.jsonl");
    let first: serde_json::Value = serde_json::from_str(models.lines().next().unwrap()).unwrap();
    let slopes = first["model"]["slopes"].as_array().unwrap();
    assert!(slopes.iter().all(|slope| slope.as_f64().unwrap().abs() < 1e-6), "{first}");
}

#[test]
fn values_out_of_range_are_named() {
    let cases = [
        ("forest", "model.trees=0", "model.trees is 0, expected at least 1"),
        ("boosting", "model.rate=2", "model.rate is 2, expected a share above zero and up to one"),
        ("perceptron", "model.layers=[0]", "model.layers is 0, expected at least 1"),
        (
            "perceptron",
            "model.layers=wide",
            "model.layers is \"wide\", expected a list of whole numbers, such as [16, 8]",
        ),
        (
            "perceptron",
            "model.held_back=1",
            "model.held_back is 1, expected zero or more and below one",
        ),
        (
            "perceptron",
            "model.patience=-1",
            "model.patience is -1, expected a whole number, zero or more",
        ),
        (
            "quantile",
            "model.nodes.a.level=1",
            "model.nodes.a.level is 1, expected a number between zero and one",
        ),
    ];
    for (kind, assignment, sentence) in cases {
        assert_eq!(with_kind(kind).fit_refusal(&["--set", assignment]), sentence);
    }
}

#[test]
fn keys_of_other_kinds_are_refused_with_those_of_the_kind() {
    let folder = with_kind("tree");
    let keys = "has no such key; its keys are max_depth, min_leaf_weight";
    for (assignment, what) in [
        ("model.trees=200", "model.trees is 200"),
        ("model.ridge=auto", "model.ridge is \"auto\""),
        ("model.patience=5", "model.patience is 5"),
        ("model.nodes.a.held_back=0.5", "model.nodes.a.held_back is 0.5"),
    ] {
        let sentence = format!("{what}, but kind \"tree\" {keys}");
        assert_eq!(folder.fit_refusal(&["--set", assignment]), sentence);
    }
    let none = folder.fit_refusal(&["--set", "model.kind=constant", "--set", "model.k=7"]);
    assert!(none.ends_with("kind \"constant\" has no such key; its keys are none"), "{none}");
    // What all are given may be meant for some: each takes what its kind has.
    let some = ["--set", "model.nodes.a.kind=forest", "--set", "model.trees=3"];
    folder.done(&[&["fit", "experiment.toml", "--out", "run", "--no-compare"], &some[..]].concat());
    let complete = folder.read("run/experiment.toml");
    let trees = complete.lines().filter(|line| line.starts_with("trees"));
    assert_eq!(trees.collect::<Vec<_>>(), ["trees = 3"], "{complete}");
    folder.done(&["fit", "run/experiment.toml", "--out", "again", "--no-compare"]);
    // Another kind than the file's is chosen with its own defaults.
    let folder = with_kind("linear");
    let other = folder.fit("other", &["--model", "tree"]);
    assert_eq!(other["nodes"][0]["model"], "tree");
    let same = folder.fit_refusal(&["--set", "model.k=7", "--model", "linear"]);
    assert!(same.contains("model.k is 7"), "{same}");
}
