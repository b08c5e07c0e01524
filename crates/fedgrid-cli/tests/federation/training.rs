//! Sites learn together: the models of one process, over a router, found on the local network, without
//! waiting for each other; and budgets that outlive runs.

use std::{net::UdpSocket, time::Duration};

use serde_json::Value;

use crate::{
    common::{Folder, NODES, skipped},
    sites::{
        ENDLESS, Joined, Plan, SITES, assert_models_of_one_process, fitted, free_address,
        is_beyond, join, join_as, model, provisioned, seen_until,
    },
};

const THIRTY: &str =
    "kind = \"fedrelax\"\nalpha = 0.5\nrounds = 30\ntolerance = 0.0\nsolver = \"rounds\"\n";
const PROBES: &str = "kind = \"persfl\"\nstep = 0.1\nrounds = 15\nsolver = \"rounds\"\n";

#[test]
fn every_site_ends_with_the_models_that_one_process_gives_and_its_own_report() {
    let folder = provisioned(THIRTY);
    let parts = SITES.map(|(site, _)| join(&folder, site));
    for part in parts {
        let said = part.ended();
        assert!(said.contains("With the federation this site's error is"), "{said}");
    }
    fitted(&folder, &[]);
    assert_models_of_one_process(&folder);
    for (site, nodes) in SITES {
        let run = format!("run-{site}");
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
        // Bounds that leave out the nodes of other sites would be wrong.
        let theory = &result["theory"];
        assert_eq!(theory["clusters"].as_array().map(Vec::len), Some(0), "{theory}");
        assert!(theory["warnings"].to_string().contains("a site knows only its own"), "{theory}");
    }
    let shares: Vec<String> = SITES.map(|(site, _)| format!("run-{site}/share.txt")).into();
    let arguments: Vec<&str> = ["federation", "collect", "home"]
        .into_iter()
        .chain(shares.iter().map(String::as_str))
        .collect();
    let collected = folder.run(&arguments);
    assert_eq!(collected.code, Some(0), "{}", collected.err);
    assert_eq!(collected.out.lines().count(), 1 + NODES.len(), "{}", collected.out);
    let twice = [&arguments[..], &["run-east/share.txt"]].concat();
    let refused = folder.refusal(&twice);
    assert!(refused.contains("is of 'east', as run-east/share.txt is"), "{refused}");
    let some = folder.done(&arguments[..4]);
    assert_eq!(some.lines().last(), Some("Missing: mid, west"), "{some}");
    folder.edit("run-mid/share.txt", "\"rows\":4", "\"rows\":5");
    let forged = folder.run(&arguments);
    assert_eq!(forged.code, Some(2));
    assert!(forged.err.contains("is not signed by 'mid'"), "{}", forged.err);
}

/// The numbers of a value, wherever they are.
fn numbers(value: &Value) -> Vec<f64> {
    match value {
        Value::Array(all) => all.iter().flat_map(numbers).collect(),
        Value::Object(all) => all.values().flat_map(numbers).collect(),
        value => value.as_f64().into_iter().collect(),
    }
}

#[test]
fn sites_estimate_the_variances_that_one_process_does_with_nothing_pooled() {
    let folder = Folder::new();
    let refused = |folder: &Folder, arguments: &[&str]| {
        let new = ["federation", "new", "experiment.toml", "--processes", "2", "--out", "none"];
        let set = ["--set", "method.kind=mixed"];
        folder.refusal(&[&new[..], &set, arguments].concat())
    };
    let few = refused(&folder, &[]);
    assert!(few.contains("node 'a' has 4 training rows, expected none or at least 5"), "{few}");
    folder.write("rows.csv", folder.read("rows.csv").replace(",val", ",train"));
    let late = refused(&folder, &["--asynchronous"]);
    assert!(late.contains("--asynchronous is not for method.kind = \"mixed\""), "{late}");
    let full = refused(&folder, &["--set", "method.correlated=yes"]);
    assert!(full.contains("method.correlated is \"yes\", expected \"no\""), "{full}");
    let method = "kind = \"mixed\"\nvariances = { x = 0.01 }\n";
    // Rounds are many and short: writing each to disk would take longer than all the rest.
    let arguments = &["--checkpoint-every", "50"];
    let folder = Plan { method, arguments, ..Plan::default() }.provisioned_in(folder);
    for part in SITES.map(|(site, _)| join(&folder, site)) {
        part.ended();
    }
    fitted(&folder, &[]);
    let rho = |run: &str| folder.json(&format!("{run}/result.json"))["method"]["alpha"].clone();
    for (site, nodes) in SITES {
        let run = format!("run-{site}");
        let (found, expected) = (rho(&run).as_f64().unwrap(), rho("whole").as_f64().unwrap());
        assert!(expected > 0.0 && (found - expected).abs() < 1e-6, "{found} {expected}");
        for node in nodes {
            let own = numbers(&model(&folder, &run, node)["model"]);
            let whole = numbers(&model(&folder, "whole", node)["model"]);
            assert!(own.len() == 3 && whole.len() == 3, "{own:?} {whole:?}");
            let is_near =
                own.iter().zip(&whole).all(|(a, b)| (a - b).abs() < 1e-6 * (1.0 + b.abs()));
            assert!(is_near, "{node}: {own:?} {whole:?}");
        }
    }
}

#[test]
fn probes_between_sites_help_and_are_refused_beyond_the_budget() {
    let folder = provisioned(PROBES);
    for part in SITES.map(|(site, _)| join(&folder, site)) {
        part.ended();
    }
    fitted(&folder, &[]);
    let mut same = 0;
    for (site, nodes) in SITES {
        let result = folder.json(&format!("run-{site}/result.json"));
        // A question takes one round and its answer another.
        assert_eq!((&result["method"]["kind"], &result["rounds"]), (&"persfl".into(), &30.into()));
        let notes = result["notes"].to_string();
        assert!(notes.contains("Budgets of probes ran out for"), "{notes}");
        let run = format!("run-{site}");
        // Only a site's own nodes learn there, and each question has its bytes.
        let probes = folder.read(&format!("{run}/probes.csv"));
        for line in probes.lines().skip(1) {
            let cells: Vec<&str> = line.split(',').collect();
            assert!(nodes.contains(&cells[0]), "{line}");
            assert!(cells[7].parse::<usize>().unwrap() >= cells[2].parse().unwrap(), "{line}");
        }
        assert!(probes.lines().count() > nodes.len(), "{probes}");
        same += nodes
            .iter()
            .filter(|node| model(&folder, &run, node) == model(&folder, "whole", node))
            .count();
    }
    // One process answers all questions; sites answer so few that nothing learns as much.
    assert_eq!(same, 0);
}

/// How many questions of a site's nodes were refused because a budget was spent, and how many were asked.
fn refused(folder: &Folder, run: &str) -> (u64, u64) {
    let notes = folder.json(&format!("{run}/result.json"))["notes"].to_string();
    let words = notes.split("pairs of nodes; ").nth(1).unwrap_or_default();
    let mut numbers = words.split(' ').filter_map(|word| word.parse().ok());
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}

#[test]
fn a_budget_that_was_spent_in_one_run_is_spent_in_the_next() {
    let plan = Plan { method: PROBES, ..Plan::default() };
    let folder = plan.provisioned();
    // The same rows, asked by the same nodes, in a project with other keys.
    plan.made(&folder, "second");
    let run = |project: &str, run: &str, arguments: &[&str]| {
        for part in SITES.map(|(site, _)| join_as(&folder, (project, run), site, arguments)) {
            part.ended();
        }
        SITES.map(|(site, _)| refused(&folder, &format!("{run}-{site}")))
    };
    for (refused, asked) in run("home", "run", &[]) {
        assert!(0 < refused && refused < asked, "{refused} of {asked}");
    }
    for (refused, asked) in run("second", "next", &[]) {
        assert!(0 < asked && refused == asked, "{refused} of {asked}");
    }
    // A site that gives new budgets does so by its own will.
    plan.made(&folder, "third");
    for (refused, asked) in run("third", "last", &["--ledgers", "anew"]) {
        assert!(0 < refused && refused < asked, "{refused} of {asked}");
    }
}

/// A router of the project, once it listens.
fn router(folder: &Folder) -> Joined {
    let mut router = Joined::new(folder, &["federation", "router", "home/router"]);
    let said = router.first_line();
    assert!(said.starts_with("Router of 'experiment' at "), "{said}");
    router
}

#[test]
fn sites_that_cannot_reach_each_other_meet_at_a_router() {
    let head = format!("router = \"{}\"\n", free_address());
    let plan = Plan { method: THIRTY, head: &head, hidden: true, arguments: &[] };
    let folder = plan.provisioned();
    let alone = join(&folder, "east").over();
    assert_eq!(alone.code, Some(75));
    assert!(alone.complained.contains("cannot reach the router"), "{}", alone.complained);
    let _router = router(&folder);
    for part in SITES.map(|(site, _)| join(&folder, site)) {
        part.ended();
    }
    fitted(&folder, &[]);
    assert_models_of_one_process(&folder);
}

#[test]
fn a_router_that_falls_and_comes_back_holds_sites_up_and_changes_nothing() {
    let head = format!("router = \"{}\"\n", free_address());
    let plan = Plan { method: ENDLESS, head: &head, hidden: true, arguments: &[] };
    let folder = plan.provisioned();
    let first = router(&folder);
    let _parts = SITES.map(|(site, _)| join(&folder, site));
    let seen = seen_until(&folder, |all| all.iter().all(|status| is_beyond(status, 5)));
    let round = seen[0]["round"].as_u64().unwrap();
    drop(first);
    std::thread::sleep(Duration::from_secs(3));
    let _router = router(&folder);
    let seen = seen_until(&folder, |all| all.iter().all(|status| is_beyond(status, round + 5)));
    assert!(seen.iter().all(|status| status["epoch"] == 1), "nobody was started again");
}

/// Whether what is sent to a group comes back on this machine.
fn has_multicast() -> bool {
    let group = "224.0.0.224".parse().unwrap();
    let heard = || -> std::io::Result<bool> {
        let socket = UdpSocket::bind("0.0.0.0:0")?;
        socket.join_multicast_v4(&group, &"0.0.0.0".parse().unwrap())?;
        socket.set_multicast_loop_v4(true)?;
        socket.set_read_timeout(Some(Duration::from_secs(1)))?;
        socket.send_to(b"fedgrid", (group, socket.local_addr()?.port()))?;
        Ok(socket.recv(&mut [0; 16])? == 7)
    };
    heard().unwrap_or(false)
}

#[test]
fn sites_without_addresses_find_each_other_on_the_local_network() {
    if !has_multicast() {
        return skipped("there is no multicast on this machine");
    }
    for head in ["", "link = \"tls\"\n", "link = \"tcp\"\n"] {
        let plan = Plan { method: THIRTY, head, hidden: true, arguments: &["--scouting"] };
        let folder = plan.provisioned();
        let parts = SITES.map(|(site, _)| {
            let address = free_address();
            join_as(&folder, ("home", "run"), site, &["--scouting", "--listen", &address])
        });
        for part in parts {
            part.ended();
        }
        fitted(&folder, &[]);
        assert_models_of_one_process(&folder);
    }
}

#[test]
fn a_network_is_divided_with_its_rows_among_processes_on_several_hosts() {
    let folder = Folder::new();
    folder.append("experiment.toml", &format!("[method]\n{THIRTY}"));
    let address = free_address();
    let (host, port) = address.rsplit_once(':').unwrap();
    let high: u8 = host.split('.').nth(1).unwrap().parse().unwrap();
    let tail = host.splitn(3, '.').last().unwrap();
    let hosts = [0, 64, 128].map(|more| format!("127.{}.{tail}", high + more));
    let new = ["federation", "new", "experiment.toml", "--processes", "3", "--out", "home"];
    let said = folder.done(&[&new[..], &["--host", &hosts.join(","), "--port", port]].concat());
    assert!(hosts.iter().all(|host| said.contains(&format!("{host}:{port}"))), "{said}");
    assert!(said.contains("and its file of home/rows"), "{said}");
    let parts = [0, 1, 2].map(|part| {
        let (kit, out) = (format!("home/kits/part-{part}"), format!("run-{part}"));
        let data = format!("home/rows/part-{part}.csv");
        Joined::new(&folder, &["federation", "join", &kit, "--data", &data, "--out", &out])
    });
    for part in parts {
        part.ended();
    }
    fitted(&folder, &[]);
    for part in 0..3 {
        let run = format!("run-{part}");
        let models = folder.read(&format!("{run}/models/nodes.jsonl"));
        let own = NODES.iter().filter(|node| models.contains(&format!("\"node\":\"{node}\"")));
        let own: Vec<&&str> = own.collect();
        assert_eq!(own.len(), 2, "{models}");
        for node in own {
            assert_eq!(model(&folder, &run, node), model(&folder, "whole", node), "{node}");
        }
    }
}

#[test]
fn sites_that_do_not_wait_for_each_other_end_where_one_process_does() {
    wait_for_nobody(&["--asynchronous"]);
    // Shorter rounds, in which words grow too old to be used.
    wait_for_nobody(&["--asynchronous", "--staleness", "3", "--tick", "20"]);
}

fn wait_for_nobody(arguments: &[&str]) {
    let method =
        "kind = \"fedrelax\"\nalpha = 0.05\nrounds = 60\ntolerance = 0.0\nsolver = \"rounds\"\n";
    let folder = Plan { method, arguments, ..Plan::default() }.provisioned();
    for part in SITES.map(|(site, _)| join(&folder, site)) {
        part.ended();
    }
    fitted(&folder, &["--set", "method.rounds=3000"]);
    for (site, nodes) in SITES {
        for node in nodes {
            let own = numbers(&model(&folder, &format!("run-{site}"), node));
            let expected = numbers(&model(&folder, "whole", node));
            assert!(own.len() > 1 && own.len() == expected.len());
            let is_near = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-6 * b.abs().max(1.0);
            assert!(own.iter().zip(&expected).all(is_near), "{node}: {own:?} {expected:?}");
        }
    }
}
