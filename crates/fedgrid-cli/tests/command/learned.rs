//! Networks made from rows: `network learn`, `network = "learn"`, candidates, and PersFL.

use std::fmt::Write as _;

use crate::common::{Folder, NODES, timeless};
use fedgrid::network::Clustered;
use serde_json::Value;

const COLORADO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/colorado/readings.csv");
const STATIONS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/colorado/stations.csv");
const CLIMATE: [&str; 8] = [
    "--node",
    "station",
    "--target",
    "tmax",
    "--split",
    "split",
    "--features",
    "sin1,cos1,sin2,cos2",
];

/// Five clusters of fifty nodes, ten rows of twenty features each, noise 0.5.
fn clustered() -> String {
    let made = Clustered { clusters: 5, nodes: 50, inside: 1.0, between: 0.0, seed: 31 };
    let data = made.linear_data(20, 10, 0.5).unwrap().data;
    let columns: Vec<String> = (0..20).map(|column| format!("x{column}")).collect();
    let mut text = format!("node,y,{}\n", columns.join(","));
    for (node, data) in data.iter().enumerate() {
        for (x, y) in data.features().iter().zip(data.labels().as_slice()) {
            let x: Vec<String> = x.iter().map(f64::to_string).collect();
            writeln!(text, "n{node},{y},{}", x.join(",")).unwrap();
        }
    }
    text
}

/// The edges of a file: ends, weight and confidence.
fn edges(folder: &Folder, name: &str) -> Vec<(String, String, f64, f64)> {
    let text = folder.read(name);
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("src,dst,weight,confidence"));
    let edge = |line: &str| {
        let cells: Vec<&str> = line.split(',').collect();
        (cells[0].into(), cells[1].into(), cells[2].parse().unwrap(), cells[3].parse().unwrap())
    };
    lines.map(edge).collect()
}

#[test]
fn a_tenth_of_all_pairs_tells_the_clusters_of_a_table() {
    let folder = Folder::empty();
    folder.write("rows.csv", clustered());
    let learn = ["network", "learn", "rows.csv", "--node", "node", "--target", "y"];
    let found: Value =
        serde_json::from_str(&folder.done(&[&learn[..], &["--json"]].concat())).unwrap();
    assert!(found["share"].as_f64().unwrap() <= 0.1);
    assert_eq!(found["pairs"], 250 * 249 / 2);
    let edges = edges(&folder, "edges.csv");
    assert_eq!(found["edges"], edges.len());
    let cluster = |name: &str| name[1..].parse::<usize>().unwrap() / 50;
    let same = edges.iter().filter(|(a, b, ..)| cluster(a) == cluster(b)).count();
    assert!(same as f64 >= 0.95 * edges.len() as f64, "{same} of {}", edges.len());
    assert!(edges.iter().all(|(.., confidence)| (0.0..=1.0).contains(confidence)));
    // The same again is refused, then written bit for bit.
    assert_eq!(folder.refusal(&learn), "'edges.csv' exists: replace it with --force");
    let before = folder.read("edges.csv");
    let said = folder.done(&[&learn[..], &["--force", "--threads", "1"]].concat());
    assert_eq!(folder.read("edges.csv"), before);
    for part in ["pairs       3,112 of 31,125 probed", "kept        ", "components  "] {
        assert!(said.contains(part), "{said}");
    }
    // What was written can be shown and used.
    assert!(folder.done(&["network", "show", "--edges", "edges.csv"]).contains("nodes       250"));
}

#[test]
fn stations_without_coordinates_learn_their_climate_through_the_command() {
    let folder = Folder::empty();
    let fit = ["fit", "--data", COLORADO, "--learn", "--no-compare", "--quiet", "--out", "run"];
    folder.done(&[&fit[..], &CLIMATE].concat());
    let result = folder.json("run/result.json");
    let error = result["comparison"]["network"]["test"].as_f64().unwrap();
    assert!(error <= 8.0, "{error}");
    assert_eq!(result["network"]["kind"], "learned");
    assert!(result["network"]["learned"]["share"].as_f64().unwrap() <= 0.1);
    assert_eq!(result["network"]["edges"], edges(&folder, "run/edges.csv").len());
    let page = folder.read("run/report.html");
    for part in ["Who helps whom", "helps-matrix", "Helps most others"] {
        assert!(page.contains(part), "{part}");
    }
    assert!(folder.read("run/experiment.toml").contains("[network.learn]"));
}

#[test]
fn validation_rows_choose_among_candidates_and_every_candidate_is_told() {
    let folder = Folder::empty();
    folder.write(
        "experiment.toml",
        format!(
            "[data]\nfile = '{COLORADO}'\nnode = 'station'\ntarget = 'tmax'\nsplit = 'split'\n\
             features = ['sin1', 'cos1', 'sin2', 'cos2']\n[network]\nfile = '{STATIONS}'\n\
             nearest = 8\ncoordinates = {{ lon = 85, lat = 111, elevation_m = 0.25 }}\n\
             candidates = ['coordinates', 'learned', 'gradients', 'models', 'pooling']\n[model]\n\
             kind = 'linear'\nridge = 0.0\n"
        ),
    );
    let said = folder.done(&["fit", "experiment.toml", "--no-compare", "--out", "run"]);
    let result = folder.json("run/result.json");
    let tried = result["network"]["candidates"].as_array().unwrap();
    let names: Vec<&str> = tried.iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["coordinates", "learned", "gradients", "models", "pooling"]);
    let error = |one: &Value| one["validation"].as_f64().unwrap();
    let least = tried.iter().map(error).fold(f64::INFINITY, f64::min);
    let chosen: Vec<&Value> = tried.iter().filter(|one| one["chosen"] == true).collect();
    assert_eq!(chosen.len(), 1);
    assert!((error(chosen[0]) - least).abs() < 1e-12);
    // Who lives near whom is worth more than six readings can tell.
    assert_eq!(chosen[0]["name"], "coordinates");
    let used = result["comparison"]["network"]["validation"].as_f64().unwrap();
    assert!((used - least).abs() < 1e-9 * least);
    assert!(said.contains("network candidates") && said.contains("chosen"));
    assert!(folder.read("run/report.html").contains("Which network"));
}

#[test]
fn the_short_form_learns_with_every_method_and_any_number_of_threads() {
    let folder = Folder::new();
    folder.edit("experiment.toml", "[network]\nfile = \"nodes.csv\"\nedges = \"edges.csv\"\n", "");
    folder.write(
        "experiment.toml",
        format!("network = \"learn\"\n{}", folder.read("experiment.toml")),
    );
    for method in ["fedrelax", "gtv", "persfl"] {
        let one = folder.fit(method, &["--method", method, "--threads", "1"]);
        let four = folder.fit("again", &["--method", method, "--threads", "4", "--force"]);
        assert_eq!(timeless(one.clone()), timeless(four), "{method}");
        assert_eq!(one["network"]["kind"], "learned");
        assert!(one["comparison"]["shuffled"]["test"].is_f64());
        assert_eq!(folder.read(&format!("{method}/edges.csv")), folder.read("again/edges.csv"));
    }
}

#[test]
fn a_flag_takes_the_place_of_the_network_in_the_file() {
    let folder = Folder::new();
    let quick = ["--no-compare", "--method", "fedrelax", "--alpha", "1"];
    let kind = |flags: &[&str]| {
        let result = folder.fit("run", &[&quick, flags, &["--force"]].concat());
        result["network"]["kind"].as_str().map(str::to_string)
    };
    assert_eq!(kind(&["--learn"]).as_deref(), Some("learned"));
    let text = folder.read("experiment.toml");
    let given = "[network]\nfile = \"nodes.csv\"\nedges = \"edges.csv\"\n";
    folder.write("experiment.toml", format!("network = \"learn\"\n{}", text.replace(given, "")));
    assert_eq!(kind(&["--nodes", "nodes.csv", "--edges", "edges.csv"]), None);
}

#[test]
fn probes_of_everyone_help_and_show_who_did() {
    let folder = Folder::new();
    folder.edit("experiment.toml", "edges = \"edges.csv\"", "shape = \"complete\"");
    let result = folder.fit("run", &["--method", "persfl"]);
    assert_eq!(result["method"]["kind"], "persfl");
    // A complete network is the same wherever its nodes stand.
    assert!(result["comparison"]["shuffled"].is_null());
    let error = |name: &str| result["comparison"][name]["test"].as_f64().unwrap();
    assert!(error("network") < error("pooled"));
    assert!(folder.read("run/report.html").contains("helps-matrix"));
    let probes = folder.read("run/probes.csv");
    assert!(
        probes.starts_with("learner,helper,probes,refused,budget_spent,adopted,reward,bytes\n")
    );
    assert_eq!(probes.lines().count(), 1 + NODES.len() * (NODES.len() - 1));
    let refits = ["--method", "persfl", "--model", "tree", "--set", "method.probe=refit"];
    let few = ["--set", "method.rounds=5", "--set", "method.step=1", "--no-compare"];
    let result = folder.fit("trees", &[&refits[..], &few].concat());
    assert_eq!(result["nodes"].as_array().unwrap().len(), NODES.len());
}

#[test]
fn wrong_networks_from_rows_are_refused_in_one_sentence() {
    let folder = Folder::new();
    let edges = "edges = \"edges.csv\"";
    let refused = |network: &str| {
        let folder = Folder::new();
        folder.edit("experiment.toml", edges, network);
        folder.fit_refusal(&[])
    };
    assert_eq!(
        refused("learn = { share = 0.0 }"),
        "experiment.toml: network.learn.share is 0, expected a share above zero and up to one"
    );
    assert_eq!(
        refused("learn = { shares = 0.1 }"),
        "experiment.toml: unknown key 'network.learn.shares'; did you mean 'network.learn.share'?"
    );
    assert_eq!(
        refused("candidates = [\"learnd\"]"),
        "experiment.toml: network.candidates: 'learnd' is no network; did you mean 'learned'?"
    );
    assert_eq!(
        refused("candidates = [\"edges\", \"learned\"]"),
        "experiment.toml: network.candidates lists 'edges', but network.edges is not"
    );
    folder.edit("experiment.toml", edges, "learn = true");
    folder.edit("experiment.toml", "split = \"split\"\n", "features = [\"x\", \"z\"]\n");
    assert_eq!(
        folder.fit_refusal(&[]),
        "a network that is learned or chosen needs validation rows that train nothing: give \
         data.split with some 'val', or data.train and data.validation"
    );
    let learn = ["network", "learn", "rows.csv", "--node", "node", "--target", "y", "--out", "e"];
    assert_eq!(
        folder.refusal(&[&learn[..], &["--share", "2"]].concat()),
        "network.learn.share is 2, expected a share above zero and up to one"
    );
    assert_eq!(
        folder.refusal(&["network", "learn", "rows.csv"]),
        "data.node is missing; give it, or --node"
    );
    assert!(
        folder
            .refusal(&["network", "show", "experiment.toml"])
            .starts_with("this network is made from rows")
    );
    let trees = Folder::new();
    assert_eq!(
        trees.fit_refusal(&["--method", "persfl", "--model", "tree"]),
        "method.probe needs models with weights, and the tree model of node 'a' has none; \
         use method.probe = \"refit\""
    );
}
