//! Sites come and go by the command while the others are at work, and nobody else starts again.

use std::fs;

use serde_json::Value;

use crate::{
    common::Folder,
    sites::{
        ENDLESS, Joined, Plan, SITES, free_address, is_beyond, join_as, provisioned, seen_until,
    },
};

/// Kits as sites hold them: what is written beside the project later does not reach them by itself.
fn carried(folder: &Folder) {
    for (site, _) in SITES {
        let (from, to) = (format!("home/kits/{site}"), format!("carried/kits/{site}"));
        fs::create_dir_all(folder.path(&to)).unwrap();
        for file in fs::read_dir(folder.path(&from)).unwrap() {
            let file = file.unwrap();
            fs::copy(file.path(), folder.path(&to).join(file.file_name())).unwrap();
        }
    }
}

/// Three sites at work with kits of their own.
fn at_work(folder: &Folder) -> [Joined; 3] {
    carried(folder);
    let parts = SITES.map(|(site, _)| join_as(folder, ("carried", "run"), site, &[]));
    seen_until(folder, |all| all.iter().all(|status| is_beyond(status, 15)));
    parts
}

/// The rows of a site north with a node g, which are those of node b.
fn write_north(folder: &Folder) {
    let rows = folder.read("east.csv");
    let header = rows.lines().next().unwrap().to_string();
    let own = rows.lines().filter_map(|line| line.strip_prefix("b,"));
    let own: Vec<String> = own.map(|rest| format!("g,{rest}")).collect();
    assert!(!own.is_empty(), "{rows}");
    folder.write("north.csv", format!("{header}\n{}\n", own.join("\n")));
}

fn add_north(folder: &Folder, arguments: &[&str]) -> String {
    write_north(folder);
    let address = free_address();
    let add = ["federation", "add", "home", "north", "--nodes", "g", "--edges", "g:b,g:d:0.5"];
    folder.done(&[&add, &["--address", &address][..], arguments].concat())
}

fn follows(status: &Value, manifest: u64, rounds: u64) -> bool {
    status["manifest"] == manifest && is_beyond(status, rounds)
}

#[test]
fn a_site_is_added_to_those_at_work_and_one_that_fell_is_removed_and_nobody_else_starts_again() {
    let folder = provisioned(ENDLESS);
    let [east, mid, west] = at_work(&folder);
    let said = add_north(&folder, &[]);
    assert!(said.contains("'north' is a member by manifest 2"), "{said}");
    assert!(said.contains("3 of 3 sites have it now"), "{said}");
    let north = join_as(&folder, ("home", "run"), "north", &[]);
    let seen = seen_until(&folder, |all| {
        all.len() == 4 && all.iter().all(|status| follows(status, 2, 25))
    });
    let said = seen[0]["events"].to_string();
    assert!(said.contains("members have changed; it goes on from round"), "{said}");
    // A power cut: the others wait until it is out.
    drop(west);
    let said = folder.done(&["federation", "remove", "home", "west"]);
    assert!(said.contains("'west' is no member any more by manifest 3"), "{said}");
    let round = seen[0]["round"].as_u64().unwrap();
    seen_until(&folder, |all| {
        [0, 1, 3].iter().all(|&place| follows(&all[place], 3, round + 30)) && all[2].is_null()
    });
    folder.done(&["federation", "stop", "home"]);
    for part in [east, mid, north] {
        let said = part.ended();
        assert!(said.contains("its state is kept"), "{said}");
    }
}

#[test]
fn a_manifest_that_is_carried_to_one_site_reaches_the_others_by_it() {
    let folder = provisioned(ENDLESS);
    let parts = at_work(&folder);
    let said = add_north(&folder, &["--offline"]);
    assert!(said.contains("Nothing was sent"), "{said}");
    let _north = join_as(&folder, ("home", "run"), "north", &[]);
    // No neighbour of west's: what east is given goes by mid.
    let to = folder.path("carried/kits/east/manifest.txt");
    fs::copy(folder.path("home/project/manifest.txt"), to).unwrap();
    seen_until(&folder, |all| all.iter().all(|status| follows(status, 2, 25)));
    // A site that is started again later has it, though its kit has not.
    let [east, mid, west] = parts;
    drop(west);
    let again = join_as(&folder, ("carried", "run"), "west", &[]);
    let seen = seen_until(&folder, |all| follows(&all[2], 2, 25));
    assert!(seen[2]["epoch"].as_u64() > Some(1), "{}", seen[2]);
    drop((east, mid, again));
}

#[test]
fn a_site_that_is_removed_while_it_runs_is_told_and_keeps_its_state() {
    let folder =
        Plan { method: ENDLESS, head: "link = \"tcp\"\n", ..Plan::default() }.provisioned();
    let [east, mid, west] = at_work(&folder);
    folder.done(&["federation", "remove", "home", "west"]);
    let ended = west.over();
    assert_eq!(ended.code, Some(2), "{}", ended.complained);
    let expected = "process 'west' is revoked by manifest 2, or has left";
    assert!(ended.complained.contains(expected), "{}", ended.complained);
    assert!(folder.path("run-west/state").exists());
    seen_until(&folder, |all| follows(&all[0], 2, 25) && follows(&all[1], 2, 25));
    drop((east, mid));
}

#[test]
fn members_of_a_project_that_cannot_go_on_are_not_changed() {
    let refused = |method: &str, arguments: &[&str]| {
        let folder = Plan { method, arguments, ..Plan::default() }.provisioned();
        let sentence = folder.refusal(&["federation", "remove", "home", "west"]);
        assert!(folder.done(&["federation", "status", "home"]).contains("west"));
        sentence
    };
    let tuned = refused("kind = \"fedrelax\"\nrounds = 30\n", &[]);
    assert!(tuned.contains("its sites choose method.alpha together"), "{tuned}");
    let probing = refused("kind = \"persfl\"\nstep = 0.1\nrounds = 15\n", &[]);
    assert!(probing.contains("the nodes of 'persfl' cannot go on"), "{probing}");
    let late = refused(ENDLESS, &["--asynchronous"]);
    assert!(late.contains("its rounds are asynchronous"), "{late}");
    let folder = provisioned(ENDLESS);
    let add = |edges: &str| {
        let add = ["federation", "add", "home", "north", "--nodes", "g", "--edges", edges];
        folder.refusal(&add)
    };
    assert!(add("g-b").contains("expected NODE:NEIGHBOUR"), "{}", add("g-b"));
    assert!(add("g:z").contains("there is no node 'z'"), "{}", add("g:z"));
    assert!(add("g:b:0").contains("has weight 0, expected a positive number"));
}
