//! Every way of FedRelax through `fit`, and classifiers of many kinds in one network.

use crate::common::{Folder, NODES, quick_model};
use serde_json::Value;

/// What keeps it quick; the rounds suffice for the fixed point of the usual method.
const QUICK: &str = "
[model]
ridge = 0.01
[public]
points = 20
[method]
kind = \"fedrelax\"
alpha = 0.3
rounds = 300
tolerance = 1e-10
[compare]
enabled = false
";

fn quick() -> Folder {
    let folder = Folder::new();
    folder.append("experiment.toml", QUICK);
    folder
}

/// The result of a run with these settings.
fn fitted(folder: &Folder, run: &str, settings: &[&str]) -> Value {
    let arguments: Vec<&str> = settings.iter().flat_map(|setting| ["--set", setting]).collect();
    folder.fit(run, &arguments)
}

/// All predictions of a run for the table's rows; the first number of each.
fn predictions(folder: &Folder, run: &str) -> Vec<f64> {
    let printed = folder.done(&["predict", run, "--data", "rows.csv"]);
    let number = |line: &str| line.split(',').find_map(|cell| cell.parse().ok()).unwrap();
    printed.lines().skip(1).map(number).collect()
}

/// The largest difference of two runs' predictions.
fn apart(folder: &Folder, one: &str, other: &str) -> f64 {
    let pairs = predictions(folder, one).into_iter().zip(predictions(folder, other));
    pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

#[test]
fn what_changes_the_goal_changes_the_models_and_runs_in_rounds() {
    let folder = quick();
    let usual = fitted(&folder, "usual", &[]);
    assert_eq!(usual["method"]["solver"], "direct");
    let cases: [(&str, &[&str]); 6] = [
        ("clip", &["method.clip=0.1"]),
        ("distil", &["method.step=distil", "method.distil_points=20", "method.rounds=5"]),
        ("descend", &["method.step=descend", "method.steps=5", "method.rounds=5"]),
        ("absolute", &["method.discrepancy=absolute", "method.rounds=50"]),
        ("huber", &["method.discrepancy=huber", "method.threshold=0.1", "method.rounds=50"]),
        ("adam", &["method.step=descend", "method.optimiser=adam", "method.rounds=5"]),
    ];
    for (name, settings) in cases {
        let result = fitted(&folder, name, settings);
        assert_eq!(result["method"]["solver"], "rounds", "{name}");
        assert_eq!(result["method"]["engine"], "rounds of messages", "{name}");
        assert!(result["rounds"].as_u64().unwrap() > 0, "{name}");
        assert!(apart(&folder, "usual", name) > 1e-3, "{name} changes nothing");
        let stored: toml::Table = folder.read(&format!("{name}/experiment.toml")).parse().unwrap();
        let (key, value) = settings[0].strip_prefix("method.").unwrap().split_once('=').unwrap();
        let found = &stored["method"][key];
        assert_eq!(found.as_str().map_or_else(|| found.to_string(), String::from), value);
    }
    // Discrepancies from a threshold that none exceeds on are the squared ones.
    fitted(&folder, "never", &["method.discrepancy=huber", "method.threshold=1e6"]);
    assert!(apart(&folder, "usual", "never") < 1e-6);
    fitted(&folder, "loose", &["method.clip=1e6"]);
    assert!(apart(&folder, "usual", "loose") < 1e-6);
}

#[test]
fn what_changes_the_way_ends_where_the_direct_solver_does() {
    let folder = quick();
    fitted(&folder, "direct", &[]);
    let rounds = "method.solver=rounds";
    fitted(&folder, "short", &[rounds, "method.rounds=2"]);
    for (name, setting) in [
        ("turn", "method.order=in-turn"),
        ("under", "method.relaxation=0.5"),
        ("over", "method.relaxation=1.2"),
    ] {
        let result = fitted(&folder, name, &[rounds, setting]);
        assert_eq!(result["method"]["solver"], "rounds");
        assert_eq!(result["certificate"]["converged"], true, "{name}");
        assert!(apart(&folder, "direct", name) < 1e-6, "{name} ends elsewhere");
        let early = format!("{name}-short");
        fitted(&folder, &early, &[rounds, setting, "method.rounds=2"]);
        assert!(apart(&folder, "short", &early) > 1e-3, "{name} goes the usual way");
    }
}

/// The same with classes to predict.
fn with_classes() -> Folder {
    let folder = Folder::with_classes();
    folder.append(
        "experiment.toml",
        "[method]\nkind = \"fedrelax\"\nalpha = 0.3\nrounds = 20\n[compare]\nenabled = false\n",
    );
    folder
}

#[test]
fn divergence_has_the_models_of_cross_entropy_and_another_objective() {
    let folder = with_classes();
    let in_rounds = |name: &str, more: &[&str]| {
        fitted(&folder, name, &[&["method.solver=rounds"], more].concat())
    };
    let entropy = in_rounds("entropy", &["method.discrepancy=cross-entropy"]);
    let divergence = in_rounds("divergence", &["method.discrepancy=kullback-leibler"]);
    // They differ by the neighbours' entropy, which no node can change.
    assert!(apart(&folder, "entropy", "divergence") < 1e-9);
    let last = |result: &Value| {
        let history = result["history"].as_array().unwrap();
        history.last().unwrap()["gtv"].as_f64().unwrap()
    };
    assert!(last(&divergence) < last(&entropy) - 1e-3);
    assert_eq!(in_rounds("usual", &[])["history"], entropy["history"]);
    let solved = fitted(&folder, "solved", &["method.discrepancy=kullback-leibler"]);
    assert_eq!(solved["method"]["solver"], "direct");
    assert!(apart(&folder, "entropy", "solved") < 1e-5, "rounds stop at 1e-6");
}

#[test]
fn classifiers_of_many_kinds_pull_each_other() {
    let kinds = [
        ["logistic", "tree", "forest", "extra-trees", "boosting", "perceptron"],
        ["neighbours", "kernel-ridge", "smoother", "constant", "logistic", "tree"],
    ];
    for (at, kinds) in kinds.iter().enumerate() {
        let folder = with_classes();
        for (node, kind) in NODES.iter().zip(kinds) {
            let keys = quick_model(kind);
            folder.append("experiment.toml", &format!("[model.nodes.{node}]\n{keys}"));
        }
        let result = fitted(&folder, "pulled", &[]);
        fitted(&folder, "alone", &["method.alpha=0"]);
        assert_eq!(result["metric"], "log_loss");
        assert_eq!(result["method"]["solver"], "rounds");
        let [pulled, alone] = ["pulled", "alone"].map(|run| predictions(&folder, run));
        assert_eq!(pulled.len(), 48);
        assert!(pulled.iter().all(|p| (0.0..=1.0).contains(p)), "probabilities");
        for (node, kind) in kinds.iter().enumerate() {
            assert_eq!(result["nodes"][node]["model"], *kind);
            let own = 8 * node..8 * (node + 1);
            assert_ne!(pulled[own.clone()], alone[own], "{kind} of network {at} hears nothing");
        }
    }
}
