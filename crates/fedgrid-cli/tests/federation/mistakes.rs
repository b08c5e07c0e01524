//! What a mistake gets: its name, at once, and another exit code.

use std::{
    fs,
    path::Path,
    time::{Duration, Instant},
};

use crate::sites::provisioned;

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
