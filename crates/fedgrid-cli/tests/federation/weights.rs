//! What rows count for between sites: weights, offsets, exposures and weights of classes as in one process.

use std::fmt::Write as _;

use serde_json::Value;

use crate::{
    common::{Folder, NODES},
    sites::{Joined, Plan, SITES, assert_models_of_one_process, fitted, free_address, join, model},
};

const METHOD: &str =
    "kind = \"fedrelax\"\nalpha = 0.5\nrounds = 10\ntolerance = 0.0\nsolver = \"rounds\"\n";

/// A row of a node: x, z, a number, a count, and what is known of them.
struct Row {
    x: f64,
    z: f64,
    y: f64,
    weight: usize,
    days: f64,
    start: f64,
}

fn row(at: usize) -> Row {
    let (x, z) = ((1.0 + at as f64).sin(), (2.0 * at as f64).cos());
    let level = 1.0 + 0.5 * (at / 12) as f64;
    Row {
        x,
        z,
        y: level + (1.0 + 0.1 * level) * x - 0.5 * z + 0.1 * (7.0 * at as f64).sin(),
        weight: 1 + (at * at + at / 3) % 3,
        days: 1.0 + ((at * 7) % 5) as f64,
        start: ((at * 5) % 7) as f64,
    }
}

/// Writes twelve rows of each node; a row may become several lines.
fn write(folder: &Folder, header: &str, cells: impl Fn(&Row) -> Vec<String>) {
    let mut text = format!("node,x,z,{header},split\n");
    for at in 0..NODES.len() * 12 {
        let row = row(at);
        let role = ["train", "train", "train", "test"][at % 4];
        for line in cells(&row) {
            let node = NODES[at / 12];
            writeln!(text, "{node},{:.6},{:.6},{line},{role}", row.x, row.z).unwrap();
        }
    }
    folder.write("rows.csv", text);
}

/// A folder of rows with keys of `[data]` and a model.
fn folder(header: &str, keys: &str, model: &str, cells: impl Fn(&Row) -> Vec<String>) -> Folder {
    let folder = Folder::new();
    write(&folder, header, cells);
    folder.edit("experiment.toml", "[data]\n", &format!("[data]\n{keys}\n"));
    folder.append("experiment.toml", &format!("[model]\n{model}\n[public]\npoints = 15\n"));
    folder
}

fn count(row: &Row) -> f64 {
    (row.days * (0.4 + 0.5 * row.x).exp()).round()
}

fn class(row: &Row) -> &'static str {
    if row.y > 1.6 { "warm" } else { "cold" }
}

/// The four keys, each with rows of its own; class weights with those of rows.
fn worlds() -> [(&'static str, Folder); 5] {
    let linear = "ridge = 0.01";
    [
        (
            "weight",
            folder("y,w", "weight = \"w\"", linear, |row| {
                vec![format!("{:.6},{}", row.y, row.weight)]
            }),
        ),
        (
            "offset",
            folder("y,start", "offset = \"start\"", linear, |row| {
                vec![format!("{:.6},{}", row.y + row.start, row.start)]
            }),
        ),
        (
            "exposure",
            folder(
                "y,days,w",
                "exposure = \"days\"\nweight = \"w\"",
                "kind = \"poisson\"\nridge = 0.01",
                |row| vec![format!("{},{},{}", count(row), row.days, row.weight)],
            ),
        ),
        (
            "balanced",
            folder(
                "y,w",
                "class_weights = \"balanced\"\nweight = \"w\"",
                "kind = \"logistic\"\nridge = 0.01",
                |row| vec![format!("{},{}", class(row), row.weight)],
            ),
        ),
        (
            "class weights",
            folder(
                "y",
                "class_weights = { warm = 3.0 }",
                "kind = \"logistic\"\nridge = 0.01",
                |row| vec![class(row).to_string()],
            ),
        ),
    ]
}

#[test]
fn sites_have_the_models_of_one_process_whatever_their_rows_count_for() {
    for (key, folder) in worlds() {
        let plan = Plan { method: METHOD, ..Plan::default() };
        let folder = plan.provisioned_in(folder);
        for part in SITES.map(|(site, _)| join(&folder, site)) {
            let said = part.ended();
            assert!(said.contains("With the federation this site's error is"), "{key}: {said}");
        }
        fitted(&folder, &["--set", "model.ridge=0.01"]);
        assert_models_of_one_process(&folder);
        // What is known of new rows is added to what is predicted, at a site as after fit.
        let of_one = |run: &str| {
            let rows = folder.done(&["predict", run, "--data", "east.csv"]);
            rows.lines().map(String::from).collect::<Vec<_>>()
        };
        assert_eq!(of_one("run-east"), of_one("whole"), "{key}");
    }
}

#[test]
fn simulated_federations_of_rows_that_count_differently_end_with_the_bits_of_one_process() {
    for (key, folder) in worlds() {
        folder.append("experiment.toml", &format!("[method]\n{METHOD}"));
        let faults = ["--loss", "0.3", "--crash", "0.02", "--until", "30", "--seeds", "2"];
        let simulate = [&["simulate", "experiment.toml", "--json"], &faults[..]].concat();
        let report: Value = serde_json::from_str(&folder.done(&simulate)).unwrap();
        for seed in report["seeds"].as_array().unwrap() {
            assert_eq!(seed["violations"], Value::Array(Vec::new()), "{key}: {seed}");
            assert_eq!(seed["same_bits"], true, "{key}: {seed}");
        }
    }
}

/// The numbers of a stored model.
fn numbers(value: &Value) -> Vec<f64> {
    match value {
        Value::Array(all) => all.iter().flat_map(numbers).collect(),
        Value::Object(all) => all.values().flat_map(numbers).collect(),
        value => value.as_f64().into_iter().collect(),
    }
}

fn assert_near(a: &Value, b: &Value, tolerance: f64, what: &str) {
    let (a, b) = (numbers(a), numbers(b));
    assert!(a.len() > 2 && a.len() == b.len(), "{what}: {a:?} {b:?}");
    let is_near = |(a, b): (&f64, &f64)| (a - b).abs() <= tolerance * (1.0 + b.abs());
    assert!(a.iter().zip(&b).all(is_near), "{what}: {a:?} {b:?}");
}

/// Sites describe their rows, and join by the plan of all summaries.
fn described_and_joined(folder: &Folder) {
    let sites = SITES.map(|(site, _)| {
        let (data, out) = (format!("{site}.csv"), format!("{site}.json"));
        let describe = ["federation", "describe", "experiment.toml", "--data", &data];
        folder.done(&[&describe[..], &["--out", &out, "--yes", "--force"]].concat());
        out
    });
    Plan { arguments: &["--summaries", &sites.join(",")], ..Plan::default() }.made(folder, "told");
    let joined = SITES.map(|(site, _)| {
        let (kit, data) = (format!("told/kits/{site}"), format!("{site}.csv"));
        let out = format!("told-{site}");
        Joined::new(folder, &["federation", "join", &kit, "--data", &data, "--out", &out])
    });
    for part in joined {
        part.ended();
    }
}

#[test]
fn sites_that_tell_weighted_sums_end_with_the_models_of_the_pooled_table() {
    for (key, folder) in worlds() {
        if key == "balanced" {
            continue;
        }
        let plan = Plan { method: METHOD, ..Plan::default() };
        let folder = plan.provisioned_in(folder);
        described_and_joined(&folder);
        // One process that reads all rows by the same summaries: the same bits.
        let address = free_address();
        let (host, port) = address.rsplit_once(':').unwrap();
        let one = ["federation", "new", "experiment.toml", "--processes", "1", "--out", "one"];
        let more = ["--summaries", "west.json,east.json,mid.json", "--host", host, "--port", port];
        folder.done(&[&one[..], &more].concat());
        let kit = "one/kits/part-0";
        folder.done(&["federation", "join", kit, "--data", "rows.csv", "--out", "run-one"]);
        for (site, nodes) in SITES {
            for node in nodes {
                let own = model(&folder, &format!("told-{site}"), node);
                assert_eq!(own, model(&folder, "run-one", node), "{key}, {node}");
            }
        }
    }
}

#[test]
fn whole_weights_are_repeated_rows_between_sites_too() {
    let keys = "weight = \"w\"";
    let weighted =
        folder("y,w", keys, "ridge = 0.01", |row| vec![format!("{:.6},{}", row.y, row.weight)]);
    let repeated = folder("y", "", "ridge = 0.01", |row| vec![format!("{:.6}", row.y); row.weight]);
    let plan = Plan { method: METHOD, ..Plan::default() };
    let [weighted, repeated] = [weighted, repeated].map(|folder| {
        let folder = plan.provisioned_in(folder);
        for part in SITES.map(|(site, _)| join(&folder, site)) {
            part.ended();
        }
        described_and_joined(&folder);
        folder
    });
    for (site, nodes) in SITES {
        for run in ["run", "told"] {
            let run = format!("{run}-{site}");
            for node in nodes {
                let [a, b] = [&weighted, &repeated].map(|folder| model(folder, &run, node));
                assert_near(&a["model"], &b["model"], 1e-9, &format!("{run}, {node}"));
            }
            let error = |folder: &Folder| {
                let result = folder.json(&format!("{run}/result.json"));
                result["comparison"].clone()
            };
            let (a, b) = (error(&weighted), error(&repeated));
            for (kind, role) in [("local", "test"), ("network", "test")] {
                let [a, b] = [&a, &b].map(|all| all[kind][role].as_f64().unwrap());
                assert!((a - b).abs() <= 1e-9 * (1.0 + b), "{run}: {a} and {b}");
            }
        }
    }
}

#[test]
fn a_site_without_the_column_that_rows_count_by_is_told_so() {
    let keys = "weight = \"w\"\noffset = \"start\"";
    let folder = folder("y,w,start", keys, "ridge = 0.01", |row| {
        vec![format!("{:.6},{},{}", row.y, row.weight, row.start)]
    });
    let folder = Plan { method: METHOD, ..Plan::default() }.provisioned_in(folder);
    folder.edit("mid.csv", "y,w,start", "y,v,begin");
    let expected = [
        "there is no column 'w', which is the weight at all sites of the federation; add it",
        "there is no column 'start', which is the offset at all sites of the federation; add it",
    ];
    let checked = folder.run(&["federation", "check", "home/kits/mid", "--data", "mid.csv"]);
    let join = ["federation", "join", "home/kits/mid", "--data", "mid.csv", "--out", "run"];
    let (said, refused) = (checked.out.replace('\n', " "), folder.refusal(&join));
    for problem in expected {
        assert!(said.contains(problem), "{said} without {problem}");
        assert!(refused.contains(problem), "{refused} without {problem}");
    }
    let describe = ["federation", "describe", "experiment.toml", "--data", "mid.csv", "--yes"];
    let refused = folder.refusal(&describe);
    assert!(refused.contains("there is no column 'w'"), "{refused}");
    // A cell that is no weight is named with its place.
    folder.edit("mid.csv", "y,v,begin", "y,w,start");
    folder.set_cell("mid.csv", 2, 4, "-1");
    let refused = folder.refusal(&join);
    let place = "row 2, column 'w' is -1, expected zero or a positive number";
    assert!(refused.contains(place), "{refused}");
}

#[test]
fn balanced_classes_of_summaries_are_told_as_numbers() {
    let keys = "class_weights = \"balanced\"\nweight = \"w\"";
    let model = "kind = \"logistic\"\nridge = 0.01";
    let folder = folder("y,w", keys, model, |row| vec![format!("{},{}", class(row), row.weight)]);
    let folder = Plan { method: METHOD, ..Plan::default() }.provisioned_in(folder);
    let describe = |site: &str| {
        let (data, out) = (format!("{site}.csv"), format!("{site}.json"));
        let describe = ["federation", "describe", "experiment.toml", "--data", &data];
        folder.done(&[&describe[..], &["--out", &out, "--yes", "--least-count", "1"]].concat());
    };
    for (site, _) in SITES {
        describe(site);
    }
    let new = ["federation", "new", "experiment.toml", "--sites", "sites.toml", "--out", "none"];
    let told = ["--summaries", "east.json,mid.json,west.json"];
    let refused = folder.refusal(&[&new[..], &told].concat());
    let (_, numbers) = refused.split_once("class_weights = {").expect("numbers are given");
    let (numbers, _) = numbers.split_once('}').unwrap();
    // The very numbers that all rows in one table give.
    let kit: Value = folder.json("home/kits/east/part.json");
    for (name, place) in [("cold", 0), ("warm", 1)] {
        let weight = kit["class_weights"][place].as_f64().unwrap();
        assert!(numbers.contains(&format!("{name} = {weight}")), "{numbers} without {weight}");
    }
}

#[test]
fn a_row_that_outweighs_all_others_does_not_leave_its_site() {
    let keys = "weight = \"w\"";
    // The second row of the first node.
    let heavy = |own: &Row| {
        let weight = if own.x.to_bits() == row(1).x.to_bits() { 400 } else { 1 };
        vec![format!("{:.6},{weight}", own.y)]
    };
    let folder = folder("y,w", keys, "kind = \"tree\"\nmin_leaf_weight = 0.5", heavy);
    folder.append("experiment.toml", &format!("[method]\n{METHOD}"));
    let new = ["federation", "new", "experiment.toml", "--processes", "2", "--out", "none"];
    // Nine rows, of which five are a leaf; but one of them has nearly all of its weight.
    let leaf = folder.refusal(&new);
    assert!(leaf.contains("model.min_leaf_weight is 0.5, expected at least 4.9"), "{leaf}");
    folder.edit("experiment.toml", METHOD, "kind = \"mixed\"\n");
    folder.edit("experiment.toml", "kind = \"tree\"\nmin_leaf_weight = 0.5", "kind = \"linear\"");
    let sums = folder.refusal(&new);
    assert!(sums.contains("one of the training rows of node '"), "{sums}");
    assert!(sums.contains("% of their weight, expected at most 20 % for"), "{sums}");
    let describe = ["federation", "describe", "experiment.toml", "--data", "rows.csv", "--yes"];
    let told = folder.refusal(&describe);
    let said = "% of the weight of all, expected at most 20 %: sums would tell it";
    assert!(told.contains(said), "{told}");
}
