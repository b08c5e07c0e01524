//! A federation by its command: kits, sites as processes of their own, and what a mistake gets.

#![cfg(feature = "federation")]

mod common;

use std::{
    fmt::Write,
    fs,
    io::Read,
    net::TcpListener,
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use common::{Folder, NODES};
use serde_json::Value;

/// The sites and their nodes.
const SITES: [(&str, &[&str]); 3] =
    [("east", &["a", "b"]), ("mid", &["c", "d"]), ("west", &["e", "f"])];

/// A port that was free a moment ago, below those that systems give to clients.
fn free_port(from: u16) -> u16 {
    (from..32_000)
        .find(|&port| TcpListener::bind(("127.0.0.1", port)).is_ok())
        .expect("some port is free")
}

/// A folder with an experiment, its kits in `home`, and the rows of each site.
fn provisioned(method: &str, base: u16) -> Folder {
    let folder = Folder::new();
    folder.append("experiment.toml", &format!("[method]\n{method}"));
    let mut sites = String::new();
    let mut port = base + u16::try_from(std::process::id() % 50).unwrap() * 10;
    for (name, nodes) in SITES {
        port = free_port(port + 1);
        writeln!(
            sites,
            "[[site]]\nname = \"{name}\"\naddress = \"127.0.0.1:{port}\"\nnodes = {nodes:?}"
        )
        .unwrap();
        let rows = folder.read("rows.csv");
        let mut lines = rows.lines();
        let header = lines.next().unwrap().to_string();
        let is_own = |line: &&str| nodes.iter().any(|node| line.starts_with(&format!("{node},")));
        let own: Vec<&str> = lines.filter(is_own).collect();
        assert!(!own.is_empty(), "{header}");
        folder.write(&format!("{name}.csv"), format!("{header}\n{}\n", own.join("\n")));
    }
    folder.write("sites.toml", sites);
    let made = folder.run(&[
        "federation",
        "new",
        "experiment.toml",
        "--sites",
        "sites.toml",
        "--out",
        "home",
    ]);
    assert_eq!(made.code, Some(0), "{}", made.err);
    assert!(made.out.contains("2 of 5 edges join two sites"), "{}", made.out);
    folder
}

/// A site as a process of its own, which does not outlive its test.
struct Joined(Child);

impl Joined {
    /// Waits for its end, but not for ever; gives its standard output.
    fn ended(mut self) -> String {
        let end = Instant::now() + Duration::from_mins(2);
        while self.0.try_wait().unwrap().is_none() {
            assert!(Instant::now() < end, "a site has not ended");
            std::thread::sleep(Duration::from_millis(20));
        }
        let (mut said, mut complained) = (String::new(), String::new());
        self.0.stdout.take().unwrap().read_to_string(&mut said).unwrap();
        self.0.stderr.take().unwrap().read_to_string(&mut complained).unwrap();
        assert!(self.0.wait().unwrap().success(), "{complained}");
        said
    }
}

impl Drop for Joined {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn join(folder: &Folder, site: &str) -> Joined {
    let child = Command::new(env!("CARGO_BIN_EXE_fedgrid"))
        .args([
            "federation",
            "join",
            &format!("home/kits/{site}"),
            "--data",
            &format!("{site}.csv"),
        ])
        .args(["--out", &format!("run-{site}"), "--share"])
        .current_dir(folder.path(""))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    Joined(child.unwrap())
}

fn model(folder: &Folder, run: &str, node: &str) -> Value {
    let text = folder.read(&format!("{run}/models/nodes.jsonl"));
    let line = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    line.into_iter().find(|line| line["node"] == node).expect("every node has a model")
}

#[test]
fn every_site_ends_with_the_models_that_one_process_gives_and_its_own_report() {
    let folder =
        provisioned("alpha = 0.5\nrounds = 30\ntolerance = 0.0\nsolver = \"rounds\"\n", 20_000);
    let parts = SITES.map(|(site, _)| join(&folder, site));
    for part in parts {
        let said = part.ended();
        assert!(said.contains("With the federation this site's error is"), "{said}");
    }
    let fitted = folder.run(&[
        "fit",
        "experiment.toml",
        "--out",
        "whole",
        "--no-compare",
        "--set",
        "model.ridge=0",
    ]);
    assert_eq!(fitted.code, Some(0), "{}", fitted.err);
    for (site, nodes) in SITES {
        let run = format!("run-{site}");
        for node in nodes {
            assert_eq!(model(&folder, &run, node), model(&folder, "whole", node), "{node}");
        }
        // Nothing of other sites is in a site's folder.
        let page = folder.read(&format!("{run}/report.html"));
        let others = NODES.iter().filter(|node| !nodes.contains(node));
        let result = folder.json(&format!("{run}/result.json"));
        let names: Vec<&str> = result["nodes"]
            .as_array()
            .unwrap()
            .iter()
            .map(|n| n["name"].as_str().unwrap())
            .collect();
        assert_eq!(names, nodes);
        assert!(page.contains("federation") && others.count() == 4);
        assert_eq!(result["rounds"], 30);
    }
    let shares: Vec<String> = SITES.map(|(site, _)| format!("run-{site}/share.txt")).into();
    let arguments: Vec<&str> = ["federation", "collect", "home"]
        .into_iter()
        .chain(shares.iter().map(String::as_str))
        .collect();
    let collected = folder.run(&arguments);
    assert_eq!(collected.code, Some(0), "{}", collected.err);
    assert_eq!(collected.out.lines().count(), 1 + NODES.len(), "{}", collected.out);
    folder.edit("run-mid/share.txt", "\"rows\":4", "\"rows\":5");
    let forged = folder.run(&arguments);
    assert_eq!(forged.code, Some(2));
    assert!(forged.err.contains("is not signed by 'mid'"), "{}", forged.err);
}

#[test]
fn probes_between_sites_help_and_are_refused_beyond_the_budget() {
    let method = "kind = \"persfl\"\nalpha = 0.1\nrounds = 15\nsolver = \"rounds\"\n";
    let folder = provisioned(method, 25_000);
    for part in SITES.map(|(site, _)| join(&folder, site)) {
        part.ended();
    }
    let fitted = folder.run(&[
        "fit",
        "experiment.toml",
        "--out",
        "whole",
        "--no-compare",
        "--set",
        "model.ridge=0",
    ]);
    assert_eq!(fitted.code, Some(0), "{}", fitted.err);
    let mut same = 0;
    for (site, nodes) in SITES {
        let result = folder.json(&format!("run-{site}/result.json"));
        // A question takes one round and its answer another.
        assert_eq!((&result["method"]["kind"], &result["rounds"]), (&"persfl".into(), &30.into()));
        let notes = result["notes"].to_string();
        assert!(notes.contains("Budgets of probes ran out for"), "{notes}");
        let run = format!("run-{site}");
        same += nodes
            .iter()
            .filter(|node| model(&folder, &run, node) == model(&folder, "whole", node))
            .count();
    }
    // One process answers all questions; sites answer so few that nothing learns as much.
    assert_eq!(same, 0);
}

#[test]
fn sites_are_seen_stopped_and_go_on() {
    let folder = provisioned("alpha = 500\nrounds = 100000000\ntolerance = 0.0\n", 21_000);
    let parts = SITES.map(|(site, _)| join(&folder, site));
    let end = Instant::now() + Duration::from_mins(1);
    let round = loop {
        let seen = folder.run(&["federation", "status", "home", "--json"]);
        assert_eq!(seen.code, Some(0), "{}", seen.err);
        let all: Value = serde_json::from_str(&seen.out).unwrap();
        let rounds: Vec<u64> = all
            .as_array()
            .unwrap()
            .iter()
            .filter_map(|site| site["status"]["round"].as_u64())
            .collect();
        if rounds.len() == 3 && rounds.iter().all(|&round| round > 5) {
            break rounds[0];
        }
        assert!(Instant::now() < end, "{}", seen.out);
    };
    let stopped = folder.run(&["federation", "stop", "home"]);
    assert!(stopped.out.starts_with("3 of 3 sites"), "{} {}", stopped.out, stopped.err);
    for part in parts {
        assert!(part.ended().contains("its state is kept"));
    }
    let _parts = SITES.map(|(site, _)| join(&folder, site));
    let end = Instant::now() + Duration::from_mins(1);
    loop {
        let seen = folder.run(&["federation", "status", "home"]);
        let east = seen.out.lines().find(|line| line.starts_with("east")).unwrap().to_string();
        let words: Vec<&str> = east.split_whitespace().collect();
        if words.get(2).and_then(|word| word.parse::<u64>().ok()).is_some_and(|now| now > round) {
            break;
        }
        assert!(Instant::now() < end, "{}", seen.out);
    }
}

#[test]
fn each_mistake_is_named_at_once_and_gives_another_exit_code() {
    let folder = provisioned("alpha = 0.5\n", 22_000);
    let other = provisioned("alpha = 0.5\n", 23_000);
    let east = folder.path("home/kits/east");
    let refused = |expected: &str| {
        let begun = Instant::now();
        let answer = folder.run(&[
            "federation",
            "join",
            "home/kits/east",
            "--data",
            "east.csv",
            "--out",
            "run",
        ]);
        assert_eq!(answer.code, Some(2), "{}", answer.err);
        assert!(answer.err.contains(expected), "{} instead of {expected}", answer.err);
        assert!(begun.elapsed() < Duration::from_mins(1), "the machine may be slow, not that slow");
    };
    let swapped = |name: &str, from: &Path, expected: &str| {
        let own = fs::read(east.join(name)).unwrap();
        fs::copy(from.join(name), east.join(name)).unwrap();
        refused(expected);
        fs::write(east.join(name), own).unwrap();
    };
    let (west, theirs) = (folder.path("home/kits/west"), other.path("home/kits/east"));
    swapped("link.pem", &west, "wrong certificate: it is for 'west', expected 'east'");
    swapped("link.pem", &theirs, "wrong certificate: it is not the one");
    swapped("link.key", &west, "wrong certificate: link.key");
    swapped("authority.pem", &theirs, "wrong certificate: authority.pem");
    swapped("manifest.txt", &theirs, "wrong manifest: it is not signed by the project's key");
    swapped("process.key", &west, "wrong key");
    let public = folder.read("home/kits/east/public.json");
    folder.write("home/kits/east/public.json", public.replacen('1', "2", 1));
    refused("wrong public set");
    folder.write("home/kits/east/public.json", public);
    folder.write("home/kits/east/part.json", "{}");
    refused("wrong manifest");
    let revoked = folder.run(&["federation", "revoke", "home", "east"]);
    assert_eq!(revoked.code, Some(0), "{}", revoked.err);
    refused("wrong key: process 'east' is revoked by manifest 2");
}

#[test]
fn an_expired_certificate_and_rows_of_others_are_named() {
    let folder = provisioned("alpha = 0.5\n", 24_000);
    let made = folder.run(&[
        "federation",
        "new",
        "experiment.toml",
        "--sites",
        "sites.toml",
        "--out",
        "old",
        "--days",
        "0",
    ]);
    assert_eq!(made.code, Some(0), "{}", made.err);
    let expired = folder.run(&["federation", "join", "old/kits/east", "--data", "east.csv"]);
    assert_eq!(expired.code, Some(2));
    assert!(expired.err.contains("wrong certificate: it expired"), "{}", expired.err);
    let others = folder.run(&["federation", "join", "home/kits/east", "--data", "west.csv"]);
    assert_eq!(others.code, Some(2));
    assert!(others.err.contains("expected a node of this site: a, b"), "{}", others.err);
    for (set, expected) in [
        ("method.alpha=auto", "method.alpha is \"auto\", expected a number"),
        ("public.per_node=true", "public.per_node is true"),
        ("method.weighting=rows", "method.weighting is \"rows\""),
    ] {
        let refused = folder.run(&[
            "federation",
            "new",
            "experiment.toml",
            "--processes",
            "2",
            "--out",
            "no",
            "--set",
            set,
        ]);
        assert_eq!(refused.code, Some(2));
        assert!(refused.err.contains(expected), "{}", refused.err);
    }
}
