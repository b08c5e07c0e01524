//! What the owner of a project does while sites are at work: look, stop, rotate, revoke.

use std::{
    io::{Read, Write},
    net::TcpStream,
};

use crate::sites::{
    ENDLESS, SITES, assert_models_of_one_process, fitted, is_beyond, join, join_as, provisioned,
    seen_until,
};

#[test]
fn sites_are_seen_stopped_and_go_on() {
    let folder = provisioned(ENDLESS);
    let parts = SITES.map(|(site, _)| join(&folder, site));
    let seen = seen_until(&folder, |all| all.iter().all(|status| is_beyond(status, 5)));
    let round = seen[0]["round"].as_u64().unwrap();
    let stopped = folder.done(&["federation", "stop", "home"]);
    assert!(stopped.starts_with("3 of 3 sites"), "{stopped}");
    for part in parts {
        assert!(part.ended().contains("its state is kept"));
    }
    let _parts = SITES.map(|(site, _)| join(&folder, site));
    seen_until(&folder, |all| is_beyond(&all[0], round));
    let table = folder.done(&["federation", "status", "home"]);
    let east = table.lines().find(|line| line.starts_with("east")).unwrap();
    let words: Vec<&str> = east.split_whitespace().collect();
    assert!(words[1] == "training" && words[2].parse::<u64>().unwrap() > round, "{table}");
}

#[test]
fn a_site_at_work_answers_health_checks() {
    let folder = provisioned(ENDLESS);
    let _parts = SITES.map(|(site, _)| join_as(&folder, ("home", "run"), site, &["--health", "0"]));
    let seen = seen_until(&folder, |all| all.iter().all(|status| is_beyond(status, 1)));
    let url = seen[0]["health"].as_str().unwrap();
    let host = url.strip_prefix("http://").unwrap().strip_suffix("/health").unwrap();
    let mut stream = TcpStream::connect(host).unwrap();
    write!(stream, "GET /health HTTP/1.1\r\nhost: {host}\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    let body: serde_json::Value =
        serde_json::from_str(answer.split("\r\n\r\n").nth(1).unwrap()).unwrap();
    assert_eq!((&body["process"], &body["phase"]), (&"east".into(), &"training".into()));
}

#[test]
fn an_agent_that_is_interrupted_keeps_its_state_and_ends_with_130() {
    let folder = provisioned(ENDLESS);
    let parts = SITES.map(|(site, _)| join(&folder, site));
    let seen = seen_until(&folder, |all| all.iter().all(|status| is_beyond(status, 5)));
    let round = seen[0]["round"].as_u64().unwrap();
    for part in parts {
        part.interrupt();
        let ended = part.over();
        assert_eq!(ended.code, Some(130), "{}", ended.complained);
        assert!(ended.said.contains("its state is kept"), "{}", ended.said);
        assert!(ended.complained.ends_with("interrupted; the same command goes on\n"));
    }
    let _parts = SITES.map(|(site, _)| join(&folder, site));
    seen_until(&folder, |all| is_beyond(&all[0], round));
}

#[test]
fn a_key_is_rotated_while_others_run_and_nobody_else_starts_again() {
    let folder = provisioned(
        "kind = \"fedrelax\"\nalpha = 0.5\nrounds = 30\ntolerance = 0.0\nsolver = \"rounds\"\n",
    );
    let (east, mid) = (join(&folder, "east"), join(&folder, "mid"));
    seen_until(&folder, |all| !all[0].is_null() && !all[1].is_null());
    folder.done(&["federation", "rotate", "home", "west"]);
    // The others have the new manifest over their links, and go on by it.
    let west = join(&folder, "west");
    for part in [east, mid, west] {
        part.ended();
    }
    fitted(&folder, &[]);
    assert_models_of_one_process(&folder);
}

#[test]
fn a_site_is_revoked_while_all_run_and_the_others_begin_anew_without_it() {
    let folder = provisioned(ENDLESS);
    let [east, mid, west] = SITES.map(|(site, _)| join(&folder, site));
    seen_until(&folder, |all| all.iter().all(|status| is_beyond(status, 5)));
    let said = folder.done(&["federation", "revoke", "home", "west"]);
    assert!(said.contains("3 of 3 sites have it now"), "{said}");
    let refused = west.over();
    assert_eq!(refused.code, Some(2), "{}", refused.complained);
    assert!(refused.complained.contains("process 'west' is revoked by manifest 2"));
    let is_new = |status: &serde_json::Value| status["manifest"] == 2 && is_beyond(status, 5);
    let seen = seen_until(&folder, |all| is_new(&all[0]) && is_new(&all[1]));
    let events = seen[0]["events"].to_string();
    assert!(events.contains("start 1, from round 0") && !events.contains("goes on from"));
    assert!(seen[2].is_null(), "the revoked one is not asked");
    let names: Vec<_> = seen[1]["neighbours"].as_array().unwrap().iter().collect();
    assert!(names.len() == 1 && names[0]["name"] == "east", "{names:?}");
    drop((east, mid));
}
