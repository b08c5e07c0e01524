//! What a site is told of the federation's help: both errors on the same rows, and alone as good as alone
//! can be.

use serde_json::Value;

use crate::{
    common::Folder,
    sites::{Plan, free_address},
};

/// Joins a site that has nobody to wait for.
fn joined(folder: &Folder, kit: &str, data: &str) -> (String, Value) {
    let kit = format!("home/kits/{kit}");
    let join = ["federation", "join", &kit, "--data", data, "--out", "run", "--share"];
    let said = folder.done(&join);
    (said, folder.json("run/result.json"))
}

/// Nodes a and b, which have no neighbour, at a site of their own.
fn lonely_site(folder: &Folder) -> (String, Value) {
    folder.write("edges.csv", "src,dst,weight\nc,d,1\nd,e,1\ne,f,1\n");
    let (one, two) = (free_address(), free_address());
    folder.write(
        "sites.toml",
        format!(
            "[[site]]\nname = \"one\"\naddress = \"{one}\"\nnodes = [\"a\", \"b\"]\n[[site]]\nname = \
             \"two\"\naddress = \"{two}\"\nnodes = [\"c\", \"d\", \"e\", \"f\"]\n"
        ),
    );
    Plan::default().made(folder, "home");
    let rows = folder.read("rows.csv");
    let own = rows.lines().filter(|line| ["node,", "a,", "b,"].iter().any(|s| line.starts_with(s)));
    folder.write("own.csv", own.collect::<Vec<_>>().join("\n") + "\n");
    joined(folder, "one", "own.csv")
}

fn errors(result: &Value, which: &str) -> (f64, f64) {
    let of = |name: &str| result["comparison"][name][which].as_f64().unwrap();
    (of("local"), of("network"))
}

/// The errors that a table on the screen or a page shows: one, on the rows that both have.
fn assert_one_error(folder: &Folder, said: &str, rows: &str) {
    let heading = said.lines().find(|line| line.starts_with("mse ")).unwrap();
    assert_eq!(heading.split_whitespace().collect::<Vec<_>>(), ["mse", rows], "{said}");
    // Nor is the rule of a verdict there that a site does not give.
    let page = folder.read("run/report.html");
    assert!(!page.contains(">Validation</th>") && !page.contains("The rule"));
}

fn assert_nobody_gains(result: &Value) {
    for node in result["nodes"].as_array().unwrap() {
        assert!(node["local"].is_f64() && node["local"] == node["network"], "{node}");
    }
}

const METHOD: &str =
    "[method]\nkind = \"fedrelax\"\nalpha = 0.5\nrounds = 20\nsolver = \"rounds\"\n";

#[test]
fn without_an_edge_both_errors_are_equal_and_nobody_gains() {
    for (kind, strength) in [("fedrelax", "alpha"), ("gtv", "alpha"), ("persfl", "step")] {
        let folder = Folder::new();
        let method = METHOD.replace("alpha", strength).replace("fedrelax", kind);
        folder.append("experiment.toml", &method);
        let (said, result) = lonely_site(&folder);
        let (local, network) = errors(&result, "test");
        assert_eq!(local.to_bits(), network.to_bits(), "{said}");
        assert!(said.contains("both on its test rows; 0 of 2 nodes gain."), "{said}");
        assert_nobody_gains(&result);
        assert_one_error(&folder, &said, "test");
    }
}

#[test]
fn without_rows_held_back_both_errors_are_on_training_rows_and_that_is_said() {
    let folder = Folder::new();
    folder.edit("experiment.toml", "split = \"split\"\n", "");
    let columns = "features = [\"x\", \"z\"]\n\n[network]";
    folder.edit("experiment.toml", "\n[network]", columns);
    folder.append("experiment.toml", METHOD);
    let (said, result) = lonely_site(&folder);
    let (local, network) = errors(&result, "validation");
    assert_eq!(local.to_bits(), network.to_bits(), "{said}");
    assert!(said.contains("On this site's training rows the error is"), "{said}");
    assert!(said.contains("because no rows were held back"), "{said}");
    assert!(!said.contains("nodes gain.") && !said.contains("validation"), "{said}");
    assert_nobody_gains(&result);
    assert_one_error(&folder, &said, "training");
    assert!(result["nodes"].as_array().unwrap().iter().all(|node| node["gain"].is_null()));
    assert!(folder.read("run/share.txt").contains("\"measured_on\":\"training\""));
    let collected = folder.done(&["federation", "collect", "home", "run/share.txt"]);
    let mut own = collected.lines().filter(|line| line.starts_with("one "));
    assert!(own.next().is_some_and(|line| line.ends_with("training")), "{collected}");
    let page = folder.read("run/report.html");
    assert!(page.contains("both on this site's training rows"));
}

#[test]
fn alone_is_tuned_at_a_site_as_fit_tunes_it() {
    let folder = Folder::new();
    folder.append("experiment.toml", METHOD);
    let address = free_address();
    let (host, port) = address.split_once(':').unwrap();
    let new = ["federation", "new", "experiment.toml", "--processes", "1", "--out", "home"];
    folder.done(&[&new[..], &["--host", host, "--port", port]].concat());
    let (_, site) = joined(&folder, "part-0", "rows.csv");
    let whole = folder.fit("whole", &[]);
    let local = &site["comparison"]["local"];
    assert!(local["ridge"].is_f64(), "{local}");
    assert_eq!(local, &whole["comparison"]["local"]);
    // A ridge that the experiment gives is not chosen.
    folder.append("experiment.toml", "[model]\nridge = 0.1\n");
    let again = ["federation", "new", "experiment.toml", "--processes", "1", "--out", "second"];
    folder.done(&[&again[..], &["--host", host, "--port", port]].concat());
    let join = ["federation", "join", "second/kits/part-0", "--data", "rows.csv", "--out", "given"];
    folder.done(&join);
    assert!(folder.json("given/result.json")["comparison"]["local"]["ridge"].is_null());
}
