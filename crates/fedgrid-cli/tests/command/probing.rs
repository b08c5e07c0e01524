//! PersFL through `fit`: who may be drawn, who learns, rows that arrive, and each way of choosing.

use crate::common::{Folder, NODES};
use serde_json::Value;

/// Thirty iterations among neighbours on a path.
const THIRTY: [&str; 5] = ["--method", "persfl", "--no-compare", "--set", "method.rounds=30"];

/// The result of a run with these settings, and its models, one per line.
fn probed(folder: &Folder, run: &str, settings: &[&str]) -> (Value, Vec<String>) {
    let mut arguments = [&THIRTY[..], &["--set", "method.step=0.1"]].concat();
    if !settings.contains(&"model.kind=tree") {
        arguments.extend(["--set", "model.ridge=0.01"]);
    }
    arguments.extend(settings.iter().flat_map(|setting| ["--set", setting]));
    let result = folder.fit(run, &arguments);
    assert_eq!(result["method"]["kind"], "persfl");
    let models = folder.read(&format!("{run}/models/nodes.jsonl"));
    (result, models.lines().map(String::from).collect())
}

/// The sentence with which these settings are refused.
fn refusal(folder: &Folder, settings: &[&str]) -> String {
    let mut arguments = THIRTY.to_vec();
    arguments.extend(settings.iter().flat_map(|setting| ["--set", setting]));
    folder.fit_refusal(&arguments)
}

/// All weights of all nodes' linear models.
fn weights(models: &[String]) -> Vec<f64> {
    let weights = |line: &String| {
        let line: Value = serde_json::from_str(line).unwrap();
        let slopes = line["model"]["slopes"].as_array().unwrap().clone();
        slopes.into_iter().chain([line["model"]["intercept"].clone()])
    };
    models.iter().flat_map(weights).map(|value| value.as_f64().unwrap()).collect()
}

/// The largest difference of two runs' weights.
fn apart(one: &[String], other: &[String]) -> f64 {
    let pairs = weights(one).into_iter().zip(weights(other));
    pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

fn has_note(result: &Value, begin: &str) -> bool {
    let notes = result["notes"].as_array().unwrap();
    notes.iter().any(|note| note.as_str().unwrap().starts_with(begin))
}

#[test]
fn every_option_changes_what_is_learnt_and_messages_take_the_same_steps() {
    let folder = Folder::new();
    folder.edit("experiment.toml", "edges = \"edges.csv\"", "shape = \"complete\"");
    let one = "method.candidates=1";
    let few = "method.candidates=3";
    let cases: [(&str, &[&str], &[&str]); 7] = [
        ("epsilon", &[one], &["method.choice=epsilon-greedy"]),
        ("ucb", &[one], &["method.choice=ucb"]),
        ("wide", &[one, "method.choice=ucb"], &["method.width=5"]),
        ("top", &[few], &["method.top=2"]),
        ("held", &[few], &["method.held=0.5"]),
        ("own", &[few], &["method.own=true"]),
        ("proximal", &[few], &["method.probe=proximal"]),
    ];
    for (name, usual, more) in cases {
        let (_, without) = probed(&folder, &format!("{name}-without"), usual);
        let settings = [usual, more].concat();
        let (result, with) = probed(&folder, &format!("{name}-with"), &settings);
        assert_eq!(result["method"]["engine"], "PersFL on linear models", "{name}");
        assert_eq!(result["method"]["solver"], "direct", "{name}");
        assert!(apart(&with, &without) > 1e-4, "{name} changes nothing");
        let rounds = [&settings[..], &["method.solver=rounds"]].concat();
        let (result, by_messages) = probed(&folder, &format!("{name}-rounds"), &rounds);
        assert_eq!(result["method"]["engine"], "rounds of messages", "{name}");
        assert!(apart(&with, &by_messages) < 1e-9, "{name} differs by messages");
    }
}

#[test]
fn a_target_learns_as_it_does_among_all_and_the_others_keep_their_own_models() {
    let folder = Folder::new();
    let targets = "method.targets=[\"e\", \"b\"]";
    let tree = ["model.kind=tree", "method.probe=refit"];
    let rounds = ["method.solver=rounds", "method.start=local"];
    for (name, settings) in [("linear", &[][..]), ("tree", &tree), ("rounds", &rounds)] {
        let run = |kind: &str| format!("{name}-{kind}");
        let (_, all) = probed(&folder, &run("all"), settings);
        let (_, alone) = probed(&folder, &run("alone"), &[settings, &["method.step=0"]].concat());
        let (result, some) = probed(&folder, &run("some"), &[settings, &[targets]].concat());
        for (node, name) in NODES.iter().enumerate() {
            let learns = ["b", "e"].contains(name);
            assert_ne!(all[node], alone[node], "{name}");
            assert_eq!(some[node], if learns { &all } else { &alone }[node], "{name}");
            let outcome = &result["nodes"][node];
            assert_eq!(outcome["network"].is_f64(), learns, "{outcome}");
            assert_eq!(outcome["note"], if learns { Value::Null } else { "only answers".into() });
        }
        assert!(has_note(&result, "Nodes 'b', 'e' learn; the others only answer"));
    }
}

#[test]
fn the_comparison_is_of_targets_alone() {
    let folder = Folder::new();
    let target = ["--set", "method.targets=[\"c\"]", "--set", "method.rounds=30"];
    let result = folder.fit("run", &[&["--method", "persfl"], &target[..]].concat());
    for (row, of_node) in [("local", "local"), ("network", "network")] {
        assert_eq!(result["comparison"][row]["test"], result["nodes"][2][of_node]);
    }
    assert!(result["comparison"]["pooled"]["test"].is_f64());
    assert_eq!(result["nodes"][0]["scored_rows"], 0);
    // The run says so itself, and can be repeated from what it keeps.
    let stored: toml::Table = folder.read("run/experiment.toml").parse().unwrap();
    assert_eq!(stored["method"]["targets"][0].as_str(), Some("c"));
    folder.done(&["fit", "run/experiment.toml", "--quiet", "--out", "again"]);
    assert_eq!(folder.read("again/models/nodes.jsonl"), folder.read("run/models/nodes.jsonl"));
}

#[test]
fn targets_that_cannot_learn_are_refused() {
    let folder = Folder::new();
    let cases = [
        ("[\"q\"]", "targets: 'q' is not a node of the network; known are a, b, c, d, e, f"),
        ("[\"a\", \"bb\"]", "targets: 'bb' is not a node of the network; did you mean 'b'?"),
        ("[]", "targets is empty, expected names of nodes; all learn without this key"),
        ("b", "targets is \"b\", expected a list of names, such as [\"a\", \"b\"]"),
    ];
    for (targets, sentence) in cases {
        let setting = format!("method.targets={targets}");
        assert_eq!(refusal(&folder, &[&setting]), format!("method.{sentence}"));
    }
    let rows = folder.read("rows.csv");
    let only = |role: &str| {
        let is_kept = |line: &&str| !line.starts_with("b,") || line.ends_with(role);
        rows.lines().filter(is_kept).collect::<Vec<_>>().join("\n") + "\n"
    };
    let target = ["method.targets=[\"b\"]"];
    folder.write("rows.csv", only("test"));
    assert_eq!(
        refusal(&folder, &target),
        "method.targets: node 'b' has no training row, expected some, by which answers are \
         scored"
    );
    folder.write("rows.csv", only("train"));
    assert_eq!(
        refusal(&folder, &target),
        "method.targets: none of these nodes has a validation row, expected one at least"
    );
    let foreign = ["--method", "gtv", "--set", "method.own=true"];
    assert!(folder.fit_refusal(&foreign).contains("but kind \"gtv\" has no such key"));
}

#[test]
fn an_oracle_that_is_told_the_clusters_asks_nobody_else() {
    let folder = Folder::new();
    folder.edit("experiment.toml", "edges = \"edges.csv\"", "shape = \"complete\"");
    let nodes = folder.read("nodes.csv");
    let sides = ["group", "west", "west", "west", "east", "east", "east"];
    let told = nodes.lines().zip(sides).map(|(row, side)| format!("{row},{side}\n"));
    folder.write("nodes.csv", told.collect::<String>());
    let oracle = ["method.choice=oracle", "method.clusters=group"];
    let one = ["method.candidates=1"];
    let (_, models) = probed(&folder, "oracle", &[&oracle[..], &one].concat());
    assert_eq!(models.len(), NODES.len());
    let probes = folder.read("oracle/probes.csv");
    let asked: Vec<[usize; 2]> = (probes.lines().skip(1))
        .map(|line| line.split(',').take(2).map(place).collect::<Vec<_>>())
        .map(|pair| [pair[0], pair[1]])
        .collect();
    assert!(!asked.is_empty());
    assert!(asked.iter().all(|[learner, helper]| learner / 3 == helper / 3), "{probes}");
    let refused = |settings: &[&str]| refusal(&folder, settings);
    assert_eq!(
        refused(&oracle[..1]),
        "method.choice is \"oracle\", which is told the clusters, expected \
         method.clusters, a column of network.file"
    );
    assert_eq!(
        refused(&oracle[1..]),
        "method.clusters is \"group\", expected no such key without choice = \"oracle\""
    );
    assert!(refused(&[oracle[0], "method.clusters=groups"]).contains("did you mean 'group'?"));
}

fn place(name: &str) -> usize {
    NODES.iter().position(|node| *node == name).unwrap()
}

#[test]
fn rows_arrive_in_the_order_of_the_table() {
    let folder = Folder::new();
    let pairs = "method.online.batch=2";
    let (result, still) = probed(&folder, "still", &["method.solver=rounds"]);
    // A question takes one round and its answer another.
    assert_eq!(result["rounds"], 60);
    assert!(result["bytes"].as_u64().unwrap() > 0);
    // A batch of all rows leaves none to come.
    let (result, all) = probed(&folder, "all", &["method.online.batch=100"]);
    // Rows of a batch are summed in the order of the table, others in an order of their own.
    assert!(apart(&all, &still) < 1e-9);
    assert_eq!(result["method"]["solver"], "rounds");
    assert!(has_note(&result, "Rows arrive at the network and its shuffles only"));
    let (_, online) = probed(&folder, "online", &[pairs]);
    assert!(apart(&online, &still) > 1e-3);

    let text = folder.read("rows.csv");
    let (header, rows) = text.split_once('\n').unwrap();
    let back: Vec<&str> = rows.lines().rev().collect();
    folder.write("rows.csv", format!("{header}\n{}\n", back.join("\n")));
    let (_, turned) = probed(&folder, "turned-still", &["method.solver=rounds"]);
    assert!(apart(&turned, &still) < 1e-9);
    let (_, turned) = probed(&folder, "turned", &[pairs]);
    assert!(apart(&turned, &online) > 1e-3);
}

#[test]
fn nodes_wait_until_enough_rows_have_come() {
    let folder = Folder::new();
    let waiting = ["method.online.batch=2", "method.online.enough=1"];
    let (_, short) = probed(&folder, "short", &waiting);
    let longer = [&waiting[..], &["method.rounds=60"]].concat();
    // Two rows come, two questions are asked, and no more.
    assert_eq!(probed(&folder, "longer", &longer).1, short);
    assert_ne!(probed(&folder, "tireless", &waiting[..1]).1, short);
    let trees = [&waiting[..1], &["model.kind=tree", "method.probe=refit"]].concat();
    let (result, _) = probed(&folder, "trees", &trees);
    assert_eq!(result["method"]["engine"], "rounds of messages");
}

#[test]
fn rows_that_cannot_arrive_are_refused() {
    let folder = Folder::new();
    let batch = |rows: usize| format!("method.online.batch={rows}");
    let cases: [(&[&str], &str); 4] = [
        (&[&batch(0)], ".batch is 0, expected at least 1"),
        (
            &[&batch(1), "method.held=0.5"],
            ".batch is 1, expected at least 2, since method.held divides it",
        ),
        (
            &[&batch(3), "method.online.enough=2"],
            ": node 'a' trains on 4 rows, expected at least 5, the batch and enough that come after \
             it",
        ),
        (&["method.online=true"], " is true, expected a section with keys"),
    ];
    for (settings, sentence) in cases {
        assert_eq!(refusal(&folder, settings), format!("method.online{sentence}"));
    }
    let new = ["federation", "new", "experiment.toml", "--processes", "2", "--out", "home"];
    let probes = ["--set", "method.kind=persfl", "--set", "method.step=0.1", "--set"];
    for (setting, sentence) in [
        ("method.online.batch=2", "online is given, expected no such key: rows stay"),
        ("method.targets=[\"a\"]", "targets is given, expected no such key: every site learns"),
    ] {
        let refused = folder.refusal(&[&new[..], &probes, &[setting]].concat());
        assert_eq!(refused, format!("method.{sentence} in a federation"));
    }
}
