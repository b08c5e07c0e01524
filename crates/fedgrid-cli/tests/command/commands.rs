//! The commands besides `fit`: help, demo, networks, schema.

use std::fs;

use crate::common::{Folder, timeless};
use serde_json::{Value, json};

const COMMANDS: [&[&str]; 21] = [
    &[],
    &["demo"],
    &["check"],
    &["audit"],
    &["privacy"],
    &["fit"],
    &["show"],
    &["predict"],
    &["serve"],
    &["update"],
    &["diff"],
    &["compare"],
    &["sweep"],
    &["export"],
    &["network"],
    &["network", "build"],
    &["network", "show"],
    &["simulate"],
    &["schema"],
    &["completions"],
    &["man"],
];

#[test]
fn every_command_has_help_with_an_example_in_96_columns() {
    let folder = Folder::empty();
    for command in COMMANDS {
        let help = folder.done(&[command, &["--help"]].concat());
        let (_, example) = help.split_once("\nExample").expect("help ends with an example");
        let words = [&["fedgrid"], command].concat().join(" ");
        assert!(example.contains(&words), "{example}");
        for line in help.lines() {
            assert!(line.chars().count() <= 96, "{line}");
        }
        for flag in ["--quiet", "--json", "--threads"] {
            assert!(help.contains(flag), "{command:?} {flag}");
        }
    }
}

#[test]
fn flags_that_are_not_known_end_with_code_two() {
    let folder = Folder::empty();
    for arguments in [&["fit", "--alhpa", "1"][..], &["learn"], &[]] {
        assert_eq!(folder.run(arguments).code, Some(2), "{arguments:?}");
    }
    let answer = folder.run(&["fit", "--alhpa", "1"]);
    assert!(answer.err.contains("--alpha"), "{}", answer.err);
}

const BY_COORDINATES: [&str; 6] =
    ["--nodes", "nodes.csv", "--nearest", "2", "--coordinates", "lon=1,lat=2"];

#[test]
fn a_built_network_is_shown_with_the_same_numbers() {
    let folder = Folder::new();
    let build = [&["network", "build", "--out", "built.csv"], &BY_COORDINATES[..]].concat();
    let printed = folder.done(&build);
    let edges = folder.read("built.csv");
    assert_eq!(edges.lines().next(), Some("src,dst,weight"));
    assert_eq!(printed, format!("{} edges in built.csv\n", edges.lines().count() - 1));
    assert_eq!(folder.refusal(&build), "'built.csv' exists: replace it with --force");
    let show = ["network", "show", "--json", "--value", "lon"];
    let from_coordinates = folder.done(&[&show, &BY_COORDINATES[..]].concat());
    let from_edges =
        folder.done(&[&show[..], &["--nodes", "nodes.csv", "--edges", "built.csv"]].concat());
    assert_eq!(from_coordinates, from_edges);
    let json: Value = serde_json::from_str(&from_edges).unwrap();
    assert_eq!(json["nodes"], 6);
    assert_eq!(json["edges"], edges.lines().count() - 1);
    assert!(json["components"][0]["lambda2"].as_f64().unwrap() > 0.0);
}

#[test]
fn a_network_without_a_file_goes_to_standard_output() {
    let folder = Folder::new();
    let printed = folder.done(&[&["network", "build"], &BY_COORDINATES[..]].concat());
    folder.done(&[&["network", "build", "--out", "built.csv"], &BY_COORDINATES[..]].concat());
    assert_eq!(printed, folder.read("built.csv"));
}

#[test]
fn a_path_of_six_nodes_is_shown_in_numbers() {
    let folder = Folder::new();
    // The algebraic connectivity of a path of n nodes is 2 − 2 cos(π/n).
    let lambda = 2.0 - 2.0 * (std::f64::consts::PI / 6.0).cos();
    assert_eq!(
        folder.done(&["network", "show", "--edges", "edges.csv"]),
        format!(
            "nodes       6\n\
             edges       5\n\
             degree      1.00 to 2.00, median 2.00, mean 1.67 (weighted)\n\
             components  1\n            \
             6 nodes, λ₂ = {lambda:.3}\n\
             isolated    0\n"
        )
    );
    assert_eq!(
        folder.done(&["network", "show", "experiment.toml"]),
        folder.done(&["network", "show", "--edges", "edges.csv"])
    );
}

#[test]
fn homophily_tells_whether_neighbours_are_alike() {
    let folder = Folder::new();
    folder.write("nodes.csv", "node,along,across\na,0,0\nb,1,9\nc,2,0\nd,3,9\ne,4,0\nf,5,9\n");
    let show = ["network", "show", "experiment.toml", "--value", "along,across"];
    let printed = folder.done(&show);
    let json: Value =
        serde_json::from_str(&folder.done(&[&show[..], &["--json"]].concat())).unwrap();
    let [along, across] = ["along", "across"].map(|c| json["homophily"][c].as_f64().unwrap());
    assert!(along > 0.5 && across < 0.0, "{along} {across}");
    assert!(printed.contains(&format!("homophily   {along:.3} of along")), "{printed}");
    assert_eq!(
        folder.refusal(&["network", "show", "--edges", "edges.csv", "--value", "along"]),
        "--value along needs a node table (--nodes)"
    );
}

#[test]
fn the_order_of_rows_in_the_node_table_does_not_matter() {
    let folder = Folder::new();
    // Rows at three nodes only, so that condition (17) is one of which nodes are in which cluster.
    let rows = folder.read("rows.csv");
    let some = rows.lines().filter(|row| ["n", "a", "b", "f"].iter().any(|n| row.starts_with(n)));
    folder.write("rows.csv", some.collect::<Vec<_>>().join("\n") + "\n");
    let mut nodes =
        ["a,0,left", "b,1,left", "c,2,left", "d,3,right", "e,4,right", "f,5,right"].to_vec();
    let shown = |nodes: &[&str]| -> Value {
        folder.write("nodes.csv", format!("node,along,side\n{}\n", nodes.join("\n")));
        let columns = ["--value", "along", "--cluster", "side", "--json"];
        let answer = folder.done(&[&["network", "show", "experiment.toml"], &columns[..]].concat());
        serde_json::from_str(&answer).unwrap()
    };
    let sorted = shown(&nodes);
    assert!(sorted["homophily"]["along"].as_f64().unwrap() > 0.5, "{sorted}");
    assert_eq!(sorted["clusters"][0]["pieces"], 1);
    assert_eq!(sorted["condition_17"]["between"], 1.0);
    nodes.rotate_left(2);
    nodes.swap(0, 3);
    assert_eq!(shown(&nodes), sorted);
    nodes.reverse();
    assert_eq!(shown(&nodes), sorted);
}

#[test]
fn the_clusters_of_a_column_have_their_own_connectivity() {
    let folder = Folder::new();
    // A path a – b – c – d – e – f: three in a row, one apart, and two that only it joins.
    folder.write("nodes.csv", "node,region\na,west\nb,west\nc,west\nd,mid\ne,east\nf,mid\n");
    let show = ["network", "show", "experiment.toml", "--cluster", "region"];
    let printed = folder.done(&show);
    let expected = "clusters    3\n            \
         east: 1 nodes, λ₂ = –, weight 0 inside, 2.00 to others\n            \
         mid: 2 nodes, λ₂ = 0, in 2 pieces, weight 0 inside, 3.00 to others\n            \
         west: 3 nodes, λ₂ = 1.00, weight 2.00 inside, 1.00 to others\n";
    assert!(printed.contains(expected), "{printed}");
    // All nodes have rows, so each keeps what comes over its own edges: any L will do.
    assert!(printed.contains("condition   (17) holds with L = "), "{printed}");
    let json: Value =
        serde_json::from_str(&folder.done(&[&show[..], &["--json"]].concat())).unwrap();
    assert_eq!(json["condition_17"]["largest"], json!([null, null, null]));
    assert_eq!(json["clusters"][0]["lambda2"], Value::Null);
    assert_eq!(json["clusters"][1]["pieces"], 2);
    assert!((json["clusters"][2]["lambda2"].as_f64().unwrap() - 1.0).abs() < 1e-8);
    assert_eq!(
        folder.refusal(&["network", "show", "--edges", "edges.csv", "--cluster", "region"]),
        "--cluster region needs a node table (--nodes)"
    );
}

#[test]
fn rows_at_the_ends_of_a_path_hold_its_halves_apart_just_so() {
    let folder = Folder::new();
    folder.write("nodes.csv", "node,side\na,left\nb,left\nc,left\nd,right\ne,right\nf,right\n");
    let rows = folder.read("rows.csv");
    let ends = rows.lines().filter(|row| ["n", "a", "f"].iter().any(|name| row.starts_with(name)));
    folder.write("rows.csv", ends.collect::<Vec<_>>().join("\n") + "\n");
    let show = ["network", "show", "experiment.toml", "--cluster", "side"];
    let printed = folder.done(&show);
    let expected = "condition   (17) holds up to L = 1.000, and Theorem 1 needs more than one";
    assert!(printed.contains(expected), "{printed}");
    let json: Value =
        serde_json::from_str(&folder.done(&[&show[..], &["--json"]].concat())).unwrap();
    let condition = &json["condition_17"];
    assert_eq!(condition["largest"], json!([1.0, 1.0]));
    assert_eq!((&condition["between"], &condition["constants"]), (&json!(1.0), &Value::Null));
    // Without rows at hand nothing is said of it.
    std::fs::remove_file(folder.path("rows.csv")).unwrap();
    assert!(!folder.done(&show).contains("condition"));
}

/// Every property below a schema, with its path.
fn properties<'a>(schema: &'a Value, path: &str, found: &mut Vec<(String, &'a Value)>) {
    if let Value::Array(all) = schema {
        for one in all {
            properties(one, path, found);
        }
    }
    let Value::Object(fields) = schema else { return };
    for (key, inner) in fields {
        if key == "properties" {
            for (name, property) in inner.as_object().unwrap() {
                found.push((format!("{path}.{name}"), property));
                properties(property, &format!("{path}.{name}"), found);
            }
        } else {
            properties(inner, &format!("{path}/{key}"), found);
        }
    }
}

#[test]
fn the_schema_documents_every_key() {
    let folder = Folder::new();
    let schema: Value = serde_json::from_str(&folder.done(&["schema"])).unwrap();
    let mut found = Vec::new();
    properties(&schema, "", &mut found);
    assert!(found.len() > 40, "{}", found.len());
    for (path, property) in &found {
        let words = property["description"].as_str().unwrap_or_default();
        assert!(words.ends_with('.') && words.len() > 8, "{path}: {words:?}");
    }
    folder.fit("run", &["--no-compare"]);
    let stored: toml::Table = folder.read("run/experiment.toml").parse().unwrap();
    for (section, keys) in &stored {
        let Some(keys) = keys.as_table() else { continue };
        for key in keys.keys() {
            let known = found.iter().any(|(path, _)| path.ends_with(&format!(".{key}")));
            assert!(known, "{section}.{key}");
        }
    }
}

#[test]
fn the_reference_of_keys_is_what_the_schema_says() {
    let printed = Folder::empty().done(&["schema", "--markdown"]);
    let kept = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/keys.md");
    let kept = std::fs::read_to_string(kept).unwrap();
    assert_eq!(
        printed.trim_end(),
        kept.trim_end(),
        "run `fedgrid schema --markdown > docs/keys.md`"
    );
}

#[test]
fn the_demo_says_what_its_rows_can_confirm() {
    let folder = Folder::empty();
    let printed = folder.done(&["demo"]);
    for name in ["local", "pooled", "shrunk", "mixed", "network", "shuffled"] {
        assert!(printed.lines().any(|line| line.starts_with(name)), "{printed}");
    }
    assert!(printed.contains("Your network helps: error 5.59 against 6.17"), "{printed}");
    assert!(printed.contains("Report: fedgrid-demo/report.html"), "{printed}");
    let result = folder.json("fedgrid-demo/result.json");
    assert_eq!(result["helps"], true);
    assert_eq!(
        (&result["verdict_kind"], &result["method"]["kind"]),
        (&"network".into(), &"mixed".into())
    );
    let test = |name: &str| result["comparison"][name]["test"].as_f64().unwrap();
    assert!((test("local") - 12.1).abs() <= 0.5);
    assert!((test("pooled") - 24.8).abs() <= 0.3);
    assert!(test("shrunk") <= 6.5);
    assert!(test("mixed") <= 6.25);
    assert!(test("network") <= 5.6);
    // What was estimated is shown as the strength.
    assert!(result["comparison"]["network"]["alpha"].as_f64().unwrap() > 0.99);
    assert!(result["comparison"]["shuffled"]["spread"]["min"].as_f64().unwrap() >= 6.2);
    // The training rows speak for the network, too.
    assert!(result["evidence"]["ratio"].as_f64().unwrap() > 100.0, "{}", result["evidence"]);
}

#[test]
fn the_demo_runs_again_only_by_force() {
    let folder = Folder::empty();
    folder.done(&["demo", "--quiet", "--out", "here"]);
    let first = timeless(folder.json("here/result.json"));
    assert_eq!(
        folder.refusal(&["demo", "--out", "here"]),
        "'here' exists: replace it with --force, or give another folder with --out"
    );
    let again: Value =
        serde_json::from_str(&folder.done(&["demo", "--json", "--out", "here", "--force"]))
            .unwrap();
    assert_eq!(timeless(again), first);
}

#[test]
fn a_demo_that_was_killed_while_it_unpacked_is_replaced_by_force() {
    let folder = Folder::empty();
    fs::create_dir_all(folder.path("here/data")).unwrap();
    folder.write("here/data/readings.csv", "station,");
    folder.done(&["demo", "--quiet", "--out", "here", "--force"]);
    assert_eq!(folder.json("here/result.json")["verdict_kind"], "network");
    fs::create_dir_all(folder.path("there/data")).unwrap();
    folder.write("there/data/diary.csv", "day,");
    assert!(
        folder.refusal(&["demo", "--out", "there", "--force"]).contains("not the folder of a run")
    );
    assert_eq!(folder.read("there/data/diary.csv"), "day,");
}

#[test]
fn the_demos_experiment_can_be_run_from_its_folder() {
    let folder = Folder::empty();
    folder.done(&["demo", "--quiet"]);
    let stored = "fedgrid-demo/experiment.toml";
    folder.done(&["fit", stored, "--quiet", "--out", "again"]);
    assert_eq!(
        timeless(folder.json("again/result.json")),
        timeless(folder.json("fedgrid-demo/result.json"))
    );
}
