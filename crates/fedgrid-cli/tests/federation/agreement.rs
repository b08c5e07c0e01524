//! Sites agree on the columns: summaries that they consent to, one plan for all, and tables that do not fit it.

use std::fmt::Write;

use serde_json::Value;

use crate::{
    common::Folder,
    sites::{Joined, free_address, model},
};

const HEADER: &str = "node,price,ward,day,y,split\n";

/// Rows of four nodes: the first two have wards a and b, the others b and c; some prices are missing.
fn rows(nodes: std::ops::Range<usize>) -> String {
    let mut text = String::new();
    for node in nodes {
        let name = ["a", "b", "c", "d"][node];
        for row in 0..24 {
            let at = (24 * node + row) as f64;
            let price = 5.0 + (1.0 + at).sin();
            let shown = if row % 4 == 1 { String::new() } else { format!("{price:.4}") };
            let ward = ["a", "b", "c"][(row + node) % 2 + usize::from(node > 1)];
            let day = format!("2024-{:02}-{:02}", 1 + row % 5, 1 + (5 * row) % 28);
            let y = 2.0 + node as f64 + 0.5 * price + (3.0 * at).cos();
            let split = if row % 6 == 5 { "test" } else { "train" };
            writeln!(text, "{name},{shown},{ward},{day},{y:.4},{split}").unwrap();
        }
    }
    text
}

/// An experiment whose rows are at two sites, ann and ben; `whole.csv` has them all.
fn folder() -> Folder {
    let folder = Folder::empty();
    folder.write(
        "experiment.toml",
        "[data]\nfile = \"whole.csv\"\nnode = \"node\"\ntarget = \"y\"\nsplit = \"split\"\nmissing = \"mean\"\n\
         [network]\nedges = \"edges.csv\"\n[model]\nridge = 0.01\n[public]\npoints = 30\n\
         [method]\nkind = \"fedrelax\"\nalpha = 0.5\nrounds = 12\ntolerance = 0.0\nsolver = \"rounds\"\n",
    );
    folder.write("edges.csv", "src,dst\na,b\nb,c\nc,d\n");
    let (ann, ben) = (rows(0..2), rows(2..4));
    folder.write("ann.csv", format!("{HEADER}{ann}"));
    folder.write("ben.csv", format!("{HEADER}{ben}"));
    folder.write("whole.csv", format!("{HEADER}{ann}{ben}"));
    folder.write(
        "sites.toml",
        format!(
            "[[site]]\nname = \"ann\"\naddress = \"{}\"\nnodes = [\"a\", \"b\"]\n\
             [[site]]\nname = \"ben\"\nnodes = [\"c\", \"d\"]\n",
            free_address()
        ),
    );
    folder
}

fn describe(folder: &Folder, site: &str, arguments: &[&str]) -> String {
    let (data, out) = (format!("{site}.csv"), format!("{site}.json"));
    let describe = ["federation", "describe", "experiment.toml", "--data", &data, "--out", &out];
    folder.done(&[&describe[..], &["--yes"], arguments].concat())
}

const NEW: [&str; 7] =
    ["federation", "new", "experiment.toml", "--sites", "sites.toml", "--out", "home"];

/// The same with the kits of both sites in `home`, made from summaries.
fn agreed() -> (Folder, String) {
    let folder = folder();
    for site in ["ann", "ben"] {
        describe(&folder, site, &[]);
    }
    let made = folder.done(&[&NEW[..], &["--summaries", "ann.json,ben.json"]].concat());
    (folder, made)
}

/// The numbers of a stored model.
fn numbers(value: &Value) -> Vec<f64> {
    match value {
        Value::Array(all) => all.iter().flat_map(numbers).collect(),
        Value::Object(all) => all.values().flat_map(numbers).collect(),
        value => value.as_f64().into_iter().collect(),
    }
}

#[test]
fn sites_with_other_levels_gaps_and_dates_end_with_the_models_of_the_pooled_table() {
    let (folder, made) = agreed();
    let ward = made.lines().find(|line| line.starts_with("ward")).unwrap();
    assert!(ward.contains("category: a, b, c"), "{made}");
    assert!(made.contains("The plan is by the summaries of 2 sites"), "{made}");
    // A level that nobody has told of, in a row that tests.
    folder.set_cell("ben.csv", 6, 2, "new");
    let parts = ["ann", "ben"].map(|site| {
        let (kit, data) = (format!("home/kits/{site}"), format!("{site}.csv"));
        let out = format!("run-{site}");
        Joined::new(&folder, &["federation", "join", &kit, "--data", &data, "--out", &out])
    });
    let [ann, ben] = parts.map(Joined::ended);
    assert!(ann.contains("at ann, ") && ann.contains("ward (3 levels)"), "{ann}");
    let other = "Cells that hold none of the known levels: 1 of 'ward' ('new' in row 6); they count as other.";
    assert!(ben.replace('\n', " ").contains(other) && !ann.contains("known levels"), "{ben}");
    // One process that reads the pooled table by the same plan: the same bits.
    let address = free_address();
    let (host, port) = address.rsplit_once(':').unwrap();
    let one = ["federation", "new", "experiment.toml", "--processes", "1", "--out", "one"];
    let more =
        ["--summaries", "ben.json", "--summaries", "ann.json", "--host", host, "--port", port];
    folder.done(&[&one[..], &more].concat());
    folder.set_cell("whole.csv", 54, 2, "new");
    let kit = "one/kits/part-0";
    folder.done(&["federation", "join", kit, "--data", "whole.csv", "--out", "run-one"]);
    folder.done(&["fit", "experiment.toml", "--out", "whole", "--no-compare"]);
    for (site, nodes) in [("ann", ["a", "b"]), ("ben", ["c", "d"])] {
        for node in nodes {
            let own = model(&folder, &format!("run-{site}"), node);
            assert_eq!(own, model(&folder, "run-one", node), "{node}");
            // Sums are added up in another order than rows are, so that fit has other last digits.
            let (own, whole) = (numbers(&own), numbers(&model(&folder, "whole", node)));
            assert!(own.len() > 5 && own.len() == whole.len(), "{own:?} {whole:?}");
            let is_near = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-8 * (1.0 + b.abs());
            assert!(own.iter().zip(&whole).all(is_near), "{node}: {own:?} {whole:?}");
        }
    }
}

#[test]
fn a_summary_is_written_only_with_consent_and_says_before_what_it_tells() {
    let folder = folder();
    let describe = ["federation", "describe", "experiment.toml", "--data", "ann.csv"];
    let asked = folder.run(&describe);
    assert_eq!(asked.code, Some(2), "{}", asked.err);
    assert!(asked.err.contains("add --yes to agree without being asked"), "{}", asked.err);
    for said in [
        "ann.csv: a summary of 40 training rows would hold this, and no row:",
        "nodes: the names of 2 nodes: a, b",
        "ward: 2 levels: a in 20, b in 20 rows",
        "price: mean ",
        "; 8 missing",
        "day: dates since 2024-01-01, mean ",
        "y: target: mean ",
        "products: sums over the rows of each two of price, price=(missing), ward=a, ward=b, day.days, ",
    ] {
        assert!(asked.out.replace('\n', " ").contains(said), "{} without {said}", asked.out);
    }
    assert!(!folder.path("ann.json").exists());
    folder.done(&[&describe[..], &["--yes"]].concat());
    let told = folder.json("ann.json");
    assert_eq!((&told["rows"], &told["fedgrid_summary"]), (&40.into(), &1.into()));
    let exists = folder.refusal(&[&describe[..], &["--yes"]].concat());
    assert!(exists.contains("'ann.json' exists; add --force"), "{exists}");
    let few =
        folder.refusal(&[&describe[..], &["--yes", "--force", "--least-count", "41"]].concat());
    assert!(few.contains("40 training rows, expected at least 41"), "{few}");
    folder.set_cell("ann.csv", 3, 1, "dear");
    folder.set_cell("ann.csv", 5, 3, "soon");
    let wrong = folder.refusal(&[&describe[..], &["--yes", "--force"]].concat());
    let places = ["row 3, column 'price' is 'dear'", "row 5, column 'day' is 'soon'"];
    assert!(places.iter().all(|place| wrong.contains(place)), "{wrong}");
}

#[test]
fn summaries_that_do_not_fit_are_refused_before_anything_is_made() {
    let folder = folder();
    describe(&folder, "ann", &[]);
    let new = |arguments: &[&str]| folder.refusal(&[&NEW[..], arguments].concat());
    let both = ["--summaries", "ann.json,ben.json"];
    assert!(new(&both).contains("cannot read 'ben.json': there is no such file"));
    folder.write("ben.json", "{}");
    assert!(new(&both).contains("expected a file that fedgrid federation describe wrote"));
    describe(&folder, "ben", &["--force", "--set", "data.missing=indicator"]);
    let keys = new(&both);
    assert!(keys.contains("ben was described with data.missing = \"indicator\""), "{keys}");
    folder.edit("ben.csv", "price", "cost");
    describe(&folder, "ben", &["--force"]);
    let column = new(&both);
    assert!(column.contains("column 'price' is at ann and not at ben; add it there"), "{column}");
    let points = new(&["--summaries", "ann.json", "--set", "public.kind=box"]);
    assert!(points.contains("public.kind is \"box\""), "{points}");
    assert!(!folder.path("home").exists(), "nothing is made");
}

#[test]
fn a_table_that_does_not_fit_the_plan_is_told_all_at_once_and_a_changed_plan_is_noticed() {
    let (folder, _) = agreed();
    let check = ["federation", "check", "home/kits/ben", "--data", "ben.csv"];
    // A column may be empty where the plan fills it.
    let blank = |line: &str| match line.split(',').collect::<Vec<_>>()[..] {
        [node, price, ref rest @ ..] if price != "price" => format!("{node},,{}\n", rest.join(",")),
        _ => format!("{line}\n"),
    };
    folder.write("blank.csv", folder.read("ben.csv").lines().map(blank).collect::<String>());
    let empty = folder.done(&["federation", "check", "home/kits/ben", "--data", "blank.csv"]);
    assert!(empty.contains("Missing cells that were filled: 48 of 'price'"), "{empty}");
    let fits = folder.done(&check);
    assert!(fits.contains("category: a, b, c") && fits.contains("The table fits"), "{fits}");
    folder.edit("ben.csv", "node,price,", "node,cost,");
    folder.set_cell("ben.csv", 3, 3, "soon");
    folder.set_cell("ben.csv", 4, 0, "a");
    folder.set_cell("ben.csv", 7, 4, "much");
    let expected = [
        "there is no column 'price', which all sites of the federation have; add it, if need be without values",
        "row 3, column 'day' is 'soon', expected a date or time",
        "row 4, column 'node' is 'a', expected a node of this site: c, d",
        "row 7, column 'y' is 'much', expected a number",
    ];
    let checked = folder.run(&check);
    let said = checked.out.replace('\n', " ");
    assert_eq!(checked.code, Some(2), "{}", checked.err);
    assert!(checked.err.contains("ben.csv: 4 problems to be solved before this site joins"));
    let join = ["federation", "join", "home/kits/ben", "--data", "ben.csv", "--out", "run"];
    let refused = folder.refusal(&join);
    for problem in expected {
        assert!(said.contains(&format!("Problem: {problem}")), "{said} without {problem}");
        assert!(refused.contains(problem), "{refused} without {problem}");
    }
    assert!(!folder.path("run").exists());
    // The manifest signs the hash of the plan and the units.
    for name in ["\"a\"", "\"deviations\""] {
        let part = folder.read("home/kits/ann/part.json");
        folder.edit("home/kits/ann/part.json", name, "\"z\"");
        let changed =
            folder.refusal(&["federation", "check", "home/kits/ann", "--data", "ann.csv"]);
        assert!(
            changed.contains("experiment.toml or part.json is not what the manifest names"),
            "{changed}"
        );
        folder.write("home/kits/ann/part.json", part);
    }
}

#[test]
fn a_gap_that_the_plan_has_no_rule_for_is_told_with_what_a_site_can_do() {
    let folder = folder();
    folder.edit("experiment.toml", "missing = \"mean\"\n", "");
    for name in ["ann.csv", "ben.csv", "whole.csv"] {
        folder.write(name, folder.read(name).replace(",,", ",4.5,"));
    }
    folder.done(&NEW);
    folder.set_cell("ann.csv", 2, 1, "");
    let join = ["federation", "join", "home/kits/ann", "--data", "ann.csv", "--out", "run"];
    let refused = folder.refusal(&join);
    let expected = "column 'price' has 1 missing cell of 48 (first in row 2); the plan of the federation has no \
                    rule for them: fill them in, or ask for a plan with data.missing";
    assert!(refused.contains(expected), "{refused}");
}
