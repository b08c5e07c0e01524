//! Predictions that would be labels do not leave: `join` names the node and what would do, and where the
//! rows are at hand, or no rows would do, `new` does so before kits are made.

use std::fmt::Write;

use crate::{
    common::Folder,
    sites::{SITES, free_address},
};

/// All eight rows of each node train, and public points lie on rows of the first node.
fn folder() -> Folder {
    let folder = Folder::new();
    folder.edit("experiment.toml", "split = \"split\"\n", "features = [\"x\", \"z\"]\n");
    let mut points = String::from("x,z\n");
    for line in folder.read("rows.csv").lines().skip(1).take(6) {
        let cells: Vec<&str> = line.split(',').collect();
        writeln!(points, "{},{}", cells[1], cells[2]).unwrap();
    }
    folder.write("points.csv", points);
    folder.append("experiment.toml", "[public]\nkind = \"file\"\nfile = \"points.csv\"\n");
    folder.append("experiment.toml", "[method]\nkind = \"fedrelax\"\nalpha = 0.5\nrounds = 3\n");
    folder
}

/// What one site with all nodes says when it joins with these settings, if it is refused; the project
/// was made where no rows are.
fn joined(folder: &Folder, run: &str, settings: &[String]) -> Result<(), String> {
    let address = free_address();
    let (host, port) = address.split_once(':').unwrap();
    let mut new = vec!["federation", "new", "experiment.toml", "--processes", "1", "--out", run];
    new.extend(["--host", host, "--port", port, "--set", "data.file=elsewhere.csv"]);
    for setting in settings {
        new.extend(["--set", setting]);
    }
    folder.done(&new);
    let (kit, out) = (format!("{run}/kits/part-0"), format!("{run}-run"));
    let answer = folder.run(&["federation", "join", &kit, "--data", "rows.csv", "--out", &out]);
    match answer.code {
        Some(0) => Ok(()),
        Some(2) => {
            assert!(!folder.path(&out).exists(), "nothing has begun");
            Err(answer.err)
        }
        other => panic!("{other:?}: {}", answer.err),
    }
}

#[test]
fn models_whose_predictions_are_labels_are_refused_with_what_would_do() {
    let folder = folder();
    assert_eq!(SITES[0].1[0], "a");
    let cases: [(&str, &[&str]); 3] = [
        ("smoother", &["model.kind=smoother", "model.width=0.01"]),
        ("kernel-ridge", &["model.kind=kernel-ridge", "model.ridge=1e-9", "model.width=0.3"]),
        ("neighbours", &["model.kind=neighbours", "model.by_distance=true"]),
    ];
    for (kind, settings) in cases {
        let mut advised: Vec<String> = settings.iter().map(ToString::to_string).collect();
        let refused = joined(&folder, kind, &advised).unwrap_err();
        let expected = format!("the {kind} model of node 'a' would tell a label");
        assert!(
            refused.contains(&expected) && refused.contains("expected at most 20 %"),
            "{refused}"
        );
        // What it says would do, does, for every node.
        for node in 0.. {
            let run = format!("{kind}-{node}");
            let Err(refused) = joined(&folder, &run, &advised) else { break };
            assert!(node < 6, "{refused}");
            let advice = refused.split("; ").last().unwrap().trim();
            let settings = advice.strip_suffix(" would do").expect(advice).split(" and ");
            advised.extend(settings.map(|setting| setting.replace(" = ", "=")));
        }
    }
}

#[test]
fn what_every_site_would_refuse_is_refused_when_the_project_is_made() {
    let folder = folder();
    let refusal = |settings: &[&str]| {
        let new = ["federation", "new", "experiment.toml", "--processes", "1", "--out", "home"];
        let settings = settings.iter().flat_map(|setting| ["--set", setting]);
        let refused = folder.refusal(&new.into_iter().chain(settings).collect::<Vec<_>>());
        assert!(!folder.path("home").exists(), "no kit is made");
        refused
    };
    for kind in ["tree", "forest", "extra-trees", "boosting"] {
        let kind = format!("model.kind={kind}");
        // Without a smallest leaf no rows would do, wherever they are.
        for file in ["data.file=rows.csv", "data.file=elsewhere.csv"] {
            let refused = refusal(&[&kind, file]);
            assert!(
                refused.starts_with("model.min_leaf_weight is 0, expected a share"),
                "{refused}"
            );
        }
        // Eight rows, five of which are more than half of them.
        let refused = refusal(&[&kind, "model.min_leaf_weight=0.5"]);
        assert!(refused.starts_with("model.min_leaf_weight is 0.5, expected at least 0.625"));
    }
    let refused = refusal(&["model.kind=neighbours", "model.k=3"]);
    assert!(refused.starts_with("model.k is 3, expected at least 5"), "{refused}");
    let refused = refusal(&["model.kind=smoother", "model.width=0.01"]);
    assert!(refused.contains("the smoother model of node 'a' would tell a label"), "{refused}");
    for kind in ["shrunk", "ditto", "fedmd"] {
        let refused = refusal(&[&format!("method.kind={kind}")]);
        assert!(refused.contains("expected fedrelax, gtv, mixed or persfl"), "{refused}");
    }
}

#[test]
fn a_floor_is_waived_by_name_for_models_that_a_site_brings_and_for_no_others() {
    let folder = folder();
    let address = free_address();
    let (host, port) = address.split_once(':').unwrap();
    folder.done(&[
        "federation",
        "new",
        "experiment.toml",
        "--processes",
        "1",
        "--out",
        "home",
        "--host",
        host,
        "--port",
        port,
    ]);
    let refused = folder.refusal(&[
        "federation",
        "join",
        "home/kits/part-0",
        "--data",
        "rows.csv",
        "--waive-floor",
        "a",
    ]);
    let expected =
        "the floor is waived for 'a', which is no node of this site with a model of its own";
    assert!(refused.contains(expected), "{refused}");
}

/// The slope of x at the first node, where x is written in so small a unit.
fn slope(own_models: bool, unit: f64) -> f64 {
    let folder = Folder::new();
    let text = folder.read("rows.csv");
    let (header, rows) = text.split_once('\n').unwrap();
    let mut scaled = format!("{header}\n");
    for line in rows.lines() {
        let cells: Vec<&str> = line.split(',').collect();
        let x: f64 = cells[1].parse().unwrap();
        writeln!(scaled, "{},{},{}", cells[0], x * unit, cells[2..].join(",")).unwrap();
    }
    folder.write("rows.csv", scaled);
    folder.append("experiment.toml", "[model]\nkind = \"linear\"\nridge = 1.0\n");
    folder.append("experiment.toml", "[method]\nkind = \"fedrelax\"\nalpha = 0.5\n");
    let own = format!("federation.own_models={own_models}");
    folder.done(&["fit", "experiment.toml", "--no-compare", "--out", "run", "--set", &own]);
    let models = folder.read("run/models/nodes.jsonl");
    let slopes = models.split_once("\"slopes\":[").expect(&models).1;
    slopes.split([',', ']']).next().unwrap().parse().unwrap()
}

#[test]
fn where_sites_may_bring_models_all_train_in_the_units_of_the_table() {
    let change = |own_models: bool| {
        let (usual, small) = (slope(own_models, 1.0), slope(own_models, 10.0));
        (usual - 10.0 * small).abs() / usual.abs()
    };
    assert!(change(false) < 1e-9, "units change nothing: {}", change(false));
    assert!(change(true) > 0.01, "a ridge is in the units of the table: {}", change(true));
}
