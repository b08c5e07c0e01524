//! No number of a site's rows is in what other sites, the operator or the project are left with: run
//! folders with their reports, logs, statuses, shared metrics and kits.

use std::{collections::BTreeSet, fmt::Write, fs, path::Path};

use crate::{
    common::{Folder, NODES, rows},
    sites::{ENDLESS, Joined, Plan, SITES, is_beyond, join, seen_until},
};

/// Rows of numbers with sixteen digits, which occur nowhere else.
fn unmistakable() -> String {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut digits = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % 1_000_000_000_000_000
    };
    let mut text = String::new();
    for (place, line) in rows(|y| format!("{y:.1}")).lines().enumerate() {
        let mut cells: Vec<String> = line.split(',').map(String::from).collect();
        if place > 0 {
            // The first digits keep what there is to learn.
            let sign = |cell: &str| if cell.starts_with('-') { "-" } else { "" };
            for cell in &mut cells[1..4] {
                let whole = cell.trim_start_matches('-').split('.').next().unwrap().to_string();
                let tenth = cell.split('.').nth(1).map_or("0", |tail| &tail[..1]).to_string();
                *cell = format!("{}{whole}.{tenth}{:015}", sign(cell), digits());
            }
        }
        writeln!(text, "{}", cells.join(",")).unwrap();
    }
    text
}

/// Ways to write a site's numbers down, and the shortest of them.
fn canaries(folder: &Folder, site: &str) -> BTreeSet<Vec<u8>> {
    let mut found = BTreeSet::new();
    for line in folder.read(&format!("{site}.csv")).lines().skip(1) {
        for cell in line.split(',').skip(1).take(3) {
            let value: f64 = cell.parse().unwrap();
            found.insert(cell.trim_start_matches('-').as_bytes().to_vec());
            found.extend([value.to_le_bytes().to_vec(), value.to_be_bytes().to_vec()]);
            found.extend((8..17).map(|digits| format!("{:.digits$}", value.abs()).into_bytes()));
            found.extend((8..17).map(|digits| format!("{:.digits$e}", value.abs()).into_bytes()));
            found.insert(format!("{}", value.abs()).into_bytes());
            found.insert(format!("{:016x}", value.to_bits()).into_bytes());
        }
    }
    found
}

/// How often any of the canaries occurs: by its first seven bytes, then whole.
fn hits(canaries: &BTreeSet<Vec<u8>>, bytes: &[u8]) -> usize {
    let is_hit = |place: usize| {
        let start = &bytes[place..place + 7];
        let after = canaries.range(start.to_vec()..).take_while(|one| one.starts_with(start));
        after.into_iter().any(|one| bytes[place..].starts_with(one))
    };
    (0..bytes.len().saturating_sub(6)).filter(|&place| is_hit(place)).count()
}

/// All files of a folder, one after the other.
fn whole(folder: &Path) -> Vec<u8> {
    let entries = fs::read_dir(folder).unwrap().flatten().map(|entry| entry.path());
    entries
        .flat_map(|path| if path.is_dir() { whole(&path) } else { fs::read(path).unwrap() })
        .collect()
}

#[test]
fn no_row_of_a_site_is_in_what_others_are_left_with() {
    let folder = Folder::new();
    folder.write("rows.csv", unmistakable());
    let mut points = String::from("x,z\n");
    (0..20).for_each(|k| writeln!(points, "{}.5,{}.25", k % 5 - 2, k % 3 - 1).unwrap());
    folder.write("points.csv", points);
    folder.append("experiment.toml", "[public]\nkind = \"file\"\nfile = \"points.csv\"\n");
    // It begins to run without end, so that the operator can look on, and is stopped.
    let plan = Plan { method: ENDLESS, ..Plan::default() };
    let folder = plan.provisioned_in(folder);
    let parts = SITES.map(|(site, _)| join(&folder, site));
    let seen = seen_until(&folder, |all| all.iter().all(|status| is_beyond(status, 5)));
    let mut public = serde_json::to_vec(&seen).unwrap();
    public.extend(folder.done(&["federation", "status", "home"]).into_bytes());
    public.extend(folder.done(&["federation", "stop", "home"]).into_bytes());
    let log = |part: Joined| {
        let ended = part.over();
        assert_eq!(ended.code, Some(0), "{}", ended.complained);
        (ended.said + &ended.complained).into_bytes()
    };
    for part in parts {
        public.extend(log(part));
    }
    public.extend(whole(&folder.path("home")));
    // Then a run that ends, with reports, models and shared metrics.
    folder.edit("experiment.toml", "rounds = 100000000", "rounds = 20");
    plan.made(&folder, "second");
    let join = |site: &str| {
        let (kit, data) = (format!("second/kits/{site}"), format!("{site}.csv"));
        let out = format!("end-{site}");
        let arguments = ["federation", "join", &kit, "--data", &data, "--out", &out, "--share"];
        Joined::new(&folder, &arguments)
    };
    let parts = SITES.map(|(site, _)| join(site));
    for part in parts {
        public.extend(log(part));
    }
    for (site, _) in SITES {
        public.extend(folder.read(&format!("end-{site}/share.txt")).into_bytes());
    }
    for (site, _) in SITES {
        let own = canaries(&folder, site);
        assert!(own.len() > 1000);
        assert_eq!(hits(&own, &public), 0, "rows of {site} in statuses, logs, kits or shares");
        for (other, _) in SITES.iter().filter(|(other, _)| *other != site) {
            for run in ["run", "end"] {
                let left = whole(&folder.path(&format!("{run}-{other}")));
                assert!(left.len() > 1000);
                assert_eq!(hits(&own, &left), 0, "rows of {site} in the folder {run}-{other}");
            }
            let page = folder.read(&format!("end-{other}/report.html"));
            assert!(page.contains(&format!("at {other}")), "the page is a report");
        }
        // The control: the search finds what is there.
        let rows = folder.read(&format!("{site}.csv"));
        assert!(hits(&own, rows.as_bytes()) >= 3 * 8 * NODES.len() / SITES.len());
        let label = rows.lines().nth(3).unwrap().split(',').nth(3).unwrap();
        let value: f64 = label.parse().unwrap();
        assert!(hits(&own, format!("bad row {value:.9}").as_bytes()) > 0, "in a log line");
    }
}
