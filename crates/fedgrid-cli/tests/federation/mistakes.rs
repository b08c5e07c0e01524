//! What a mistake gets: its name, at once, and another exit code.

use std::{
    fs,
    path::Path,
    time::{Duration, Instant},
};

use crate::common::Folder;
use crate::sites::{ENDLESS, Plan, join, join_as, provisioned};

#[test]
fn each_mistake_is_named_at_once_and_gives_another_exit_code() {
    let folder = provisioned("alpha = 0.5\n");
    let other = provisioned("alpha = 0.5\n");
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
fn a_kit_of_another_project_is_named_by_both_sides() {
    for head in ["", "link = \"tls\"\n"] {
        let plan = Plan { method: ENDLESS, head, ..Plan::default() };
        let folder = plan.provisioned();
        // The same sites at the same addresses, made once more: every kit is whole, by itself.
        plan.made(&folder, "other");
        let right = join(&folder, "east");
        let begun = Instant::now();
        let wrong = join_as(&folder, ("other", "lost"), "mid", &[]).over();
        assert_eq!(wrong.code, Some(75), "{}", wrong.complained);
        let expected =
            "neighbour 'east': its certificate is of another project; is this kit the right";
        assert!(wrong.complained.contains(expected), "{}", wrong.complained);
        assert!(begun.elapsed() < Duration::from_mins(1), "the machine may be slow, not that slow");
        let right = right.told();
        let expected = "waits for mid (or one who calls was turned away for its certificate)";
        assert!(right.contains(expected), "{right}");
    }
}

#[test]
fn an_expired_certificate_and_rows_of_others_are_named() {
    let folder = provisioned("alpha = 0.5\n");
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
    let wrong = folder.refusal(&["federation", "join", "home", "--data", "east.csv"]);
    assert!(wrong.starts_with("'home' is no kit"), "{wrong}");
    let others = folder.run(&["federation", "join", "home/kits/east", "--data", "west.csv"]);
    assert_eq!(others.code, Some(2));
    assert!(others.err.contains("expected a node of this site: a, b"), "{}", others.err);
    for (set, expected) in [
        ("method.alpha=auto", "node 'a' has 2 validation rows, expected none or at least 5"),
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

#[test]
fn between_sites_a_method_is_named_or_it_is_fedrelax() {
    let folder = provisioned("alpha = 0.5\n");
    let made = Plan::default().made(&folder, "again");
    let note = "method.kind is not given; between sites it is \"fedrelax\"\n";
    assert!(made.starts_with(note), "{made}");
    let kept = folder.read("again/kits/east/experiment.toml");
    assert!(kept.contains("kind = \"fedrelax\"") && kept.contains("alpha = 0.5"), "{kept}");
    // To choose takes errors on rows of all nodes.
    let folder = Folder::new();
    folder.append("experiment.toml", "[method]\nkind = \"auto\"\n");
    assert_eq!(
        folder.refusal(&["federation", "new", "experiment.toml", "--processes", "2"]),
        "method.kind is \"auto\", expected fedrelax, gtv, mixed or persfl in a federation"
    );
}

#[test]
fn what_cannot_run_is_refused_when_the_project_is_made() {
    let folder = provisioned("alpha = 0.5\n");
    let good = folder.read("sites.toml");
    let first = good.lines().find(|line| line.starts_with("address")).unwrap().to_string();
    let new = ["federation", "new", "experiment.toml", "--sites", "sites.toml", "--out", "no"];
    let refused = |text: String, expected: &str| {
        folder.write("sites.toml", text);
        let sentence = folder.refusal(&new);
        assert!(sentence.contains(expected), "{sentence} instead of {expected}");
        assert!(!folder.path("no").exists(), "nothing is made");
    };
    let with = |address: &str| good.replacen(&first, &format!("address = \"{address}\""), 1);
    refused(
        with("127.0.0.1:65536"),
        "site 'east' has the address '127.0.0.1:65536', expected a port",
    );
    refused(with("127.0.0.1"), "site 'east' has the address '127.0.0.1', expected host:port");
    refused(with("my host:7447"), "site 'east' has the address 'my host:7447', expected a host");
    let hidden: Vec<&str> = good.lines().filter(|line| !line.starts_with("address")).collect();
    let hidden = hidden.join("\n");
    refused(hidden.clone(), "sites 'east' and 'mid' are neighbours and neither has an address");
    refused(format!("router = \"nowhere\"\n{hidden}"), "the router has the address 'nowhere'");
    let sentence = folder.refusal(&[
        "federation",
        "new",
        "experiment.toml",
        "--processes",
        "3",
        "--port",
        "65534",
        "--out",
        "no",
    ]);
    assert!(sentence.contains("would have port 65536, expected at most 65535"), "{sentence}");
    // Who finds others on the local network needs no address.
    folder.write("sites.toml", hidden);
    folder.done(&[&new[..], &["--scouting"]].concat());
}

#[test]
fn more_than_a_frame_holds_is_refused_when_the_project_is_made() {
    let folder = provisioned("alpha = 0.5\n");
    let new = ["federation", "new", "experiment.toml", "--sites", "sites.toml", "--out", "no"];
    // Two sites share one edge; its message and what surrounds it must fit into 16 MiB.
    let points = (16 << 20) / 8;
    let setting = format!("public.points={points}");
    let sentence = folder.refusal(&[&new[..], &["--set", &setting]].concat());
    assert!(sentence.contains("bytes a round over 1 edge, more than the 16777216"), "{sentence}");
    assert!(!folder.path("no").exists(), "nothing is made");
}

#[test]
fn a_revoked_site_stays_revoked_and_orders_that_reach_nobody_fail() {
    let folder = provisioned("alpha = 0.5\n");
    folder.done(&["federation", "revoke", "home", "west"]);
    let manifest = folder.read("home/project/manifest.txt");
    for order in ["revoke", "rotate"] {
        let sentence = folder.refusal(&["federation", order, "home", "west"]);
        assert!(sentence.contains("site 'west' is revoked already"), "{sentence}");
    }
    assert_eq!(folder.read("home/project/manifest.txt"), manifest);
    let sentence = folder.refusal(&["federation", "stop", "home"]);
    assert!(sentence.starts_with("none of 3 sites was reached"), "{sentence}");
}
