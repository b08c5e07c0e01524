//! Predictions that would be labels do not leave: `join` names the node and what would do.

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
    folder.append("experiment.toml", "[method]\nalpha = 0.5\nrounds = 3\n");
    folder
}

/// What one site with all nodes says when it joins with these settings, if it is refused.
fn joined(folder: &Folder, run: &str, settings: &[String]) -> Result<(), String> {
    let address = free_address();
    let (host, port) = address.split_once(':').unwrap();
    let mut new = vec!["federation", "new", "experiment.toml", "--processes", "1", "--out", run];
    new.extend(["--host", host, "--port", port]);
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
