//! Sites come and go by the command while the others are at work, and nobody else starts again.

use std::fs;

use serde_json::Value;

use crate::{
    common::Folder,
    sites::{
        ENDLESS, Joined, Plan, SITES, free_address, is_beyond, join_as, provisioned, seen_until,
    },
    tuning,
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
    let refused = |folder: Folder, method: &str, arguments: &[&str]| {
        let folder = Plan { method, arguments, ..Plan::default() }.provisioned_in(folder);
        let sentence = folder.refusal(&["federation", "remove", "home", "west"]);
        assert!(folder.read("home/project/manifest.txt").contains("\"number\":1,"));
        sentence
    };
    let tuned = refused(tuning::folder(), tuning::AUTO, &[]);
    assert!(tuned.contains("its sites choose method.alpha together"), "{tuned}");
    let probing = refused(Folder::new(), "kind = \"persfl\"\nstep = 0.1\nrounds = 15\n", &[]);
    assert!(probing.contains("the nodes of 'persfl' cannot go on"), "{probing}");
    let late = refused(Folder::new(), ENDLESS, &["--asynchronous"]);
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

#[test]
fn a_site_leaves_by_itself_and_the_next_manifest_knows() {
    let folder = provisioned(ENDLESS);
    let [east, mid, west] = at_work(&folder);
    let said = folder.done(&["federation", "leave", "carried/kits/west"]);
    assert!(said.contains("'west' has left: 1 of 1 neighbours know it"), "{said}");
    let ended = west.over();
    assert_eq!(ended.code, Some(2), "{}", ended.complained);
    assert!(ended.complained.contains("or has left"), "{}", ended.complained);
    // East, which is no neighbour of west's, has it from mid.
    let goes_on = |status: &Value| status["events"].to_string().contains("members have changed");
    let seen = seen_until(&folder, |all| {
        [0, 1].iter().all(|&place| goes_on(&all[place]) && is_beyond(&all[place], 25))
    });
    let round = seen[0]["round"].as_u64().unwrap();
    let said = folder.refusal(&["federation", "join", "carried/kits/west", "--data", "west.csv"]);
    assert!(said.contains("or has left"), "{said}");
    // The owner hears of it, and nothing of it comes back with the next manifest.
    add_north(&folder, &[]);
    let north = join_as(&folder, ("home", "run"), "north", &[]);
    let seen = seen_until(&folder, |all| {
        [0, 1, 3].iter().all(|&place| follows(&all[place], 2, round + 20)) && all[2].is_null()
    });
    let names = seen[1]["neighbours"].to_string();
    assert!(names.contains("east") && names.contains("north") && !names.contains("west"));
    let manifest = folder.read("home/project/manifest.txt");
    assert!(manifest.starts_with("fedgrid-manifest 2 "), "{manifest}");
    drop((east, mid, north));
}

/// A method with a tolerance that it reaches.
const CLOSE: &str =
    "kind = \"fedrelax\"\nalpha = 0.5\nrounds = 3000\ntolerance = 1e-9\nsolver = \"rounds\"\n";

fn all_end(folder: &Folder, arguments: &[&str]) -> u64 {
    let parts = SITES.map(|(site, _)| join_as(folder, ("home", "run"), site, arguments));
    for part in parts {
        part.ended();
    }
    folder.json("run-east/result.json")["rounds"].as_u64().unwrap()
}

#[test]
fn with_new_rows_the_next_run_begins_where_the_last_one_ended() {
    let folder = provisioned(CLOSE);
    let early = folder.refusal(&[
        "federation",
        "join",
        "home/kits/east",
        "--data",
        "east.csv",
        "--out",
        "run-east",
        "--update",
    ]);
    assert!(early.contains("'run-east' holds no run that has ended"), "{early}");
    let first = all_end(&folder, &[]);
    // A few rows more at one site: its models move, and those of the others a little.
    let rows = folder.read("east.csv");
    let last = rows.lines().rfind(|line| line.ends_with(",train")).unwrap();
    let cells: Vec<&str> = last.split(',').collect();
    let target: f64 = cells[3].parse().unwrap();
    let new = format!("{},{},{},{},train\n", cells[0], cells[1], cells[2], target + 0.01);
    folder.append("east.csv", &new);
    let model = |node: &str| crate::sites::model(&folder, "run-east", node);
    let before = model("b");
    let next = all_end(&folder, &["--update"]);
    assert!(next < first, "{next} rounds after {first}");
    assert_ne!(model("b"), before);
    // Once more, without any new row: it is at rest already.
    let again = all_end(&folder, &["--update"]);
    assert!(again <= next, "{again} rounds after {next}");
    // As without a start: the kit's plan and units are those of the first rows, so a fresh federation has the same.
    let fresh = SITES.map(|(site, _)| join_as(&folder, ("home", "fresh"), site, &[]));
    for part in fresh {
        part.ended();
    }
    let coefficients = |run: &str| {
        let text = crate::sites::model(&folder, run, "b").to_string();
        let numbers = text.split(|c: char| !(c.is_ascii_digit() || ".-e+".contains(c)));
        numbers.filter_map(|word| word.parse::<f64>().ok()).collect::<Vec<_>>()
    };
    let (warm, cold) = (coefficients("run-east"), coefficients("fresh-east"));
    assert_eq!(warm.len(), cold.len());
    for (a, b) in warm.iter().zip(&cold) {
        assert!((a - b).abs() < 1e-6 * (1.0 + b.abs()), "{warm:?} and {cold:?}");
    }
}
