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
fn a_key_is_rotated_while_others_run_and_who_does_not_know_it_says_so() {
    let folder = provisioned(
        "kind = \"fedrelax\"\nalpha = 0.5\nrounds = 30\ntolerance = 0.0\nsolver = \"rounds\"\n",
    );
    let (east, mid) = (join(&folder, "east"), join(&folder, "mid"));
    seen_until(&folder, |all| !all[0].is_null() && !all[1].is_null());
    folder.done(&["federation", "rotate", "home", "west"]);
    let west = join(&folder, "west");
    let refused = mid.over();
    assert_eq!(refused.code, Some(2), "{}", refused.complained);
    let expected =
        "wrong manifest: neighbour 'west' follows manifest 2, this kit has 1; get the newest";
    assert!(refused.complained.contains(expected), "{}", refused.complained);
    // Its kit has been renewed on disk; the site that is no neighbour of the rotated one goes on.
    let mid = join(&folder, "mid");
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
    folder.done(&["federation", "revoke", "home", "west"]);
    // Those who follow the old manifest, in the old run, are still seen and can be stopped.
    let seen = seen_until(&folder, |all| is_beyond(&all[0], 5) && is_beyond(&all[1], 5));
    assert_eq!((&seen[0]["manifest"], &seen[1]["manifest"]), (&1.into(), &1.into()));
    let stopped = folder.done(&["federation", "stop", "home"]);
    assert!(stopped.starts_with("2 of 3 sites"), "{stopped}");
    assert!(east.ended().contains("its state is kept"));
    assert!(mid.ended().contains("its state is kept"));
    let parts = ["east", "mid"].map(|site| join(&folder, site));
    let seen = seen_until(&folder, |all| is_beyond(&all[0], 5) && is_beyond(&all[1], 5));
    assert_eq!((&seen[0]["manifest"], &seen[1]["manifest"]), (&2.into(), &2.into()));
    assert!(seen[2].is_null(), "the revoked one, which still runs, is not asked");
    let names: Vec<_> = seen[1]["neighbours"].as_array().unwrap().iter().collect();
    assert!(names.len() == 1 && names[0]["name"] == "east", "{names:?}");
    drop((parts, west));
}
