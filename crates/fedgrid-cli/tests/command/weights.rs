//! Weights, offsets, exposures and weights of classes: through the command, from the table to predictions.

use std::fmt::Write as _;

use crate::common::{Folder, NODES};
use serde_json::Value;

const ROLES: [&str; 8] = ["train", "train", "val", "train", "test", "train", "val", "test"];

/// What keeps a comparison quick.
const QUICK: [&str; 4] = ["--set", "compare.shuffles=1", "--set", "compare.likelihood_shuffles=0"];

/// A row besides its node: x, a category that may be missing, y, and what is known of it.
struct Row {
    x: f64,
    promo: &'static str,
    y: f64,
    weight: usize,
    days: f64,
}

fn row(at: usize) -> Row {
    let x = (1.0 + at as f64).sin();
    let level = (at / 8) as f64;
    let promo = ["none", "tv", "none", "flyer", "", "tv", "none", "radio"][(at * 5) % 8];
    Row {
        x,
        promo,
        y: (1.0 + 0.3 * level) * x + 0.2 * (7.0 * at as f64).sin(),
        weight: 1 + (at * at + at / 3) % 3,
        days: 1.0 + ((at * 7) % 5) as f64,
    }
}

/// Writes rows as a function has them; none leaves a row out.
fn write(folder: &Folder, header: &str, cells: impl Fn(usize, &Row) -> Vec<String>) {
    let mut text = format!("node,{header},split\n");
    for at in 0..NODES.len() * ROLES.len() {
        for line in cells(at, &row(at)) {
            writeln!(text, "{},{line},{}", NODES[at / 8], ROLES[at % 8]).unwrap();
        }
    }
    folder.write("rows.csv", text);
}

/// All numbers of a part of a result, in their order, but for how many rows there are.
fn numbers(value: &Value, found: &mut Vec<f64>) {
    match value {
        Value::Number(number) => found.extend(number.as_f64()),
        Value::Array(all) => all.iter().for_each(|one| numbers(one, found)),
        Value::Object(all) => {
            let others = all.iter().filter(|(key, _)| *key != "rows");
            others.for_each(|(_, one)| numbers(one, found));
        }
        _ => {}
    }
}

fn check_same(a: &Value, b: &Value) {
    let (mut left, mut right) = (Vec::new(), Vec::new());
    numbers(a, &mut left);
    numbers(b, &mut right);
    assert_eq!(left.len(), right.len(), "{a}\n{b}");
    assert!(left.len() > 3);
    for (a, b) in left.iter().zip(&right) {
        assert!((a - b).abs() <= 1e-9 * (1.0 + a.abs()), "{a} and {b}\n{left:?}\n{right:?}");
    }
}

/// What a run predicts for two rows of each node.
fn predictions(folder: &Folder, run: &str, header: &str, cells: &str) -> Vec<f64> {
    let mut text = format!("node,{header}\n");
    for node in NODES {
        writeln!(text, "{node},{cells}").unwrap();
    }
    folder.write("new.csv", text);
    // By the method that was trained, whatever the verdict advises.
    let said = folder.done(&["predict", run, "--data", "new.csv", "--use", "network"]);
    said.lines().skip(1).map(|line| line.split(',').nth(1).unwrap().parse().unwrap()).collect()
}

#[test]
fn weights_are_repeated_rows_in_all_that_the_command_does() {
    let weighted = |folder: &Folder| {
        write(folder, "x,promo,y,w", |_, row| {
            vec![format!("{:.6},{},{:.6},{}", row.x, row.promo, row.y, row.weight)]
        });
    };
    let repeated = |folder: &Folder| {
        write(folder, "x,promo,y", |_, row| {
            vec![format!("{:.6},{},{:.6}", row.x, row.promo, row.y); row.weight]
        });
    };
    // Gaps that are filled, levels by frequency, means and draws: all by what rows stand for.
    let columns = ["--missing", "most-frequent", "--set", "data.most_levels=2"];
    let common = [&columns[..], &QUICK].concat();
    for (out, more) in [
        ("mixed", &["--method", "mixed"][..]),
        ("relax", &["--method", "fedrelax", "--set", "method.weighting=rows"]),
        ("trees", &["--method", "fedrelax", "--model", "tree"]),
    ] {
        let folder = Folder::new();
        weighted(&folder);
        let a = folder.fit(out, &[&common[..], &["--weight", "w"], more].concat());
        let stored = folder.read(&format!("{out}/experiment.toml"));
        assert!(stored.contains("weight = \"w\""), "{stored}");
        let predicted = predictions(&folder, out, "x,promo", "0.25,tv");
        let folder = Folder::new();
        repeated(&folder);
        let b = folder.fit(out, &[&common[..], more].concat());
        check_same(&a["comparison"], &b["comparison"]);
        // The verdict may differ: copies are taken for rows of their own, and a weighted row is one.
        let again = predictions(&folder, out, "x,promo", "0.25,tv");
        for (a, b) in predicted.iter().zip(&again) {
            assert!((a - b).abs() < 1e-9 * (1.0 + a.abs()), "{out}: {a} and {b}");
        }
    }
}

#[test]
fn weights_of_one_change_nothing_but_what_is_said_of_them() {
    let folder = Folder::new();
    write(&folder, "x,y,w", |_, row| vec![format!("{:.6},{:.6},1", row.x, row.y)]);
    let ones = folder.fit("ones", &["--weight", "w"]);
    let plain = folder.fit("plain", &["--exclude", "w"]);
    assert_eq!(ones["comparison"], plain["comparison"]);
    assert_eq!(folder.read("ones/models/nodes.jsonl"), folder.read("plain/models/nodes.jsonl"));
    let notes = ones["notes"].to_string();
    assert!(notes.contains("Rows count as 'w' says: 48 rows of the table as 48."), "{notes}");
}

#[test]
fn a_weight_has_its_role_and_rows_of_weight_zero_are_no_rows() {
    let folder = Folder::new();
    write(&folder, "x,y,w", |at, row| {
        let weight = if NODES[at / 8] == "c" || at == 1 { 0 } else { row.weight };
        vec![format!("{:.6},{:.6},{weight}", row.x, row.y)]
    });
    let said = folder.done(&["check", "experiment.toml", "--weight", "w"]);
    assert!(said.contains("w       weight   says how many rows each one stands for"), "{said}");
    let arguments =
        ["fit", "experiment.toml", "--method", "fedrelax", "--weight", "w", "--out", "run"];
    let said = folder.done(&arguments).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("Left out for a weight of zero: 9 rows of 48."), "{said}");
    assert!(said.contains("Node 'c' has no training row"), "{said}");
    let columns = folder.json("run/models/about.json")["columns"]["columns"].to_string();
    assert!(columns.contains("\"role\":\"weight\""), "{columns}");
    // Whoever calls a column so may have meant it.
    let said = folder.done(&["check", "experiment.toml"]);
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("Note: Column 'w' is used as a feature; if it says"), "{said}");
}

#[test]
fn a_table_of_which_no_row_is_left_is_refused_with_what_leaves_rows_out() {
    let folder = Folder::new();
    write(&folder, "x,z,y,w,day", |at, row| {
        let label = if row.y > 0.0 { "warm" } else { "cold" };
        // Every row misses one of two cells.
        let (x, z) = if at % 2 == 0 { ("", "1.5") } else { ("2.5", "") };
        vec![format!("{x},{z},{label},0,2024-01-{:02}", 1 + at % 8)]
    });
    let by_time = "data.split={ by = \"time\", test_from = 2023-06-01, until = 2023-12-31 }";
    let ways: [(&[&str], &str); 4] = [
        (&["--weight", "w"], "48 rows for a weight of zero (column 'w')"),
        (&["--missing", "drop"], "48 rows for missing cells (key data.missing)"),
        (
            &["--set", "data.time=day", "--set", by_time],
            "48 rows for a time after 2023-12-31 (key data.split.until)",
        ),
        (
            &["--set", "data.columns.x.missing=drop", "--weight", "w"],
            "24 rows for missing cells (key data.missing), 24 rows for a weight of zero (column 'w')",
        ),
    ];
    for (arguments, why) in ways {
        let expected =
            format!("rows.csv: no row is left to train on, expected some; left out are {why}");
        for task in [&["--task", "classification"][..], &[]] {
            assert_eq!(folder.fit_refusal(&[arguments, task].concat()), expected);
        }
        let answer = folder.run(&[&["check", "experiment.toml"], arguments].concat());
        assert_eq!(answer.code, Some(2), "{answer:?}");
        let said = answer.out + &answer.err;
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(said.contains(&expected["rows.csv: ".len()..]), "{said}");
    }
}

#[test]
fn what_is_no_weight_or_exposure_is_refused_with_row_and_column() {
    let folder = Folder::new();
    write(&folder, "x,y,w", |at, row| {
        let weight = match at {
            3 => "-1".to_string(),
            5 => "heavy".into(),
            _ => row.weight.to_string(),
        };
        vec![format!("{:.6},{:.6},{weight}", row.x, row.y)]
    });
    assert_eq!(
        folder.fit_refusal(&["--weight", "w"]),
        "rows.csv: row 4, column 'w' is -1, expected zero or a positive number (and 1 more cell of this column)"
    );
    assert_eq!(
        folder.fit_refusal(&["--weight", "weihgt", "--exclude", "w"]),
        "rows.csv: there is no column 'weihgt'; known are node, x, y, w, split"
    );
    assert_eq!(
        folder.fit_refusal(&["--weight", "y"]),
        "data.weight and data.target are both 'y', expected two columns"
    );
    let poisson = ["--model", "poisson", "--set", "data.task=regression"];
    folder.edit("rows.csv", "heavy", "2");
    folder.edit("rows.csv", ",-1,", ",0,");
    assert_eq!(
        folder.fit_refusal(&[&poisson[..], &["--exposure", "w"]].concat()),
        "rows.csv: row 4, column 'w' is 0, expected a positive number"
    );
    assert_eq!(
        folder.fit_refusal(&["--exposure", "w", "--set", "data.offset=x"]),
        "data.offset and data.exposure exclude each other: an exposure is an offset of its logarithm"
    );
    folder.edit("rows.csv", ",0,", ",1,");
    assert_eq!(
        folder.fit_refusal(&["--exposure", "w"]),
        "data.exposure is for models of counts, and the linear model of node 'a' is of numbers; use poisson, or \
         data.offset for a known part of a number"
    );
    assert_eq!(
        folder.fit_refusal(&["--features", "x,w", "--weight", "w"]),
        "data.features: 'w' is already the weight"
    );
    assert_eq!(
        folder.fit_refusal(&["--class-weights", "balanced"]),
        "data.class_weights is for classes, and the target 'y' is of numbers"
    );
}

#[test]
fn an_offset_of_numbers_is_subtracted_from_the_target() {
    let folder = Folder::new();
    let offset = |at: usize| (at % 4) as f64 * 10.0;
    write(&folder, "x,y,o", |at, row| {
        vec![format!("{:.6},{},{}", row.x, row.y + offset(at), offset(at))]
    });
    let known = folder.fit("known", &["--offset", "o"]);
    assert!(
        known["notes"].to_string().contains("Predictions are the offset 'o' and what is learnt")
    );
    let with = predictions(&folder, "known", "x,o", "0.5,100");
    write(&folder, "x,y", |at, row| {
        let less = row.y + offset(at) - offset(at);
        vec![format!("{:.6},{less}", row.x)]
    });
    let by_hand = folder.fit("hand", &[]);
    assert_eq!(known["comparison"], by_hand["comparison"]);
    let without = predictions(&folder, "hand", "x", "0.5");
    for (a, b) in with.iter().zip(&without) {
        assert!((a - b - 100.0).abs() < 1e-9, "{a} and {b}");
    }
    folder.write("new.csv", "node,x\na,0.5\n");
    assert_eq!(
        folder.refusal(&["predict", "known", "--data", "new.csv"]),
        "new.csv: there is no column 'o'; known are node, x (the offset of the run, which predictions need)"
    );
}

#[test]
fn counts_are_predicted_over_their_exposure() {
    let folder = Folder::new();
    let count = |row: &Row| (row.days * (0.4 + 0.5 * row.x).exp()).round();
    write(&folder, "x,y,days,logdays", |_, row| {
        vec![format!("{:.6},{},{},{}", row.x, count(row), row.days, row.days.ln())]
    });
    let method = ["--method", "fedrelax", "--alpha", "0.1", "--set", "model.ridge=0.01"];
    let poisson = [&QUICK[..], &method, &["--model", "poisson", "--exclude"]].concat();
    let said = folder.fit("days", &[&poisson[..], &["logdays", "--exposure", "days"]].concat());
    assert!(said["notes"].to_string().contains("Counts are over 'days': rates per unit of it"));
    let other = folder.fit("log", &[&poisson[..], &["days", "--offset", "logdays"]].concat());
    check_same(&said["comparison"], &other["comparison"]);
    let [one, ten] =
        ["1", "10"].map(|days| predictions(&folder, "days", "x,days", &format!("0.3,{days}")));
    for (rate, count) in one.iter().zip(&ten) {
        assert!((10.0 * rate - count).abs() < 1e-9 * count, "{rate} {count}");
    }
    // An error is one of counts: that of the local models, by hand.
    let errors = folder.fit(
        "local",
        &[
            "--model",
            "poisson",
            "--method",
            "local",
            "--exclude",
            "logdays",
            "--exposure",
            "days",
            "--no-compare",
        ],
    );
    let said = folder.done(&["predict", "local", "--data", "rows.csv"]);
    let (mut sum, mut rows) = (0.0, 0.0);
    for (at, line) in said.lines().skip(1).enumerate().filter(|(at, _)| ROLES[at % 8] == "test") {
        let predicted: f64 = line.split(',').nth(1).unwrap().parse().unwrap();
        sum += (predicted - count(&row(at))).powi(2);
        rows += 1.0;
    }
    let found = errors["comparison"]["local"]["test"].as_f64().unwrap();
    assert!((found - sum / rows).abs() < 1e-9 * found, "{found} {}", sum / rows);
}

#[test]
fn intervals_of_counts_are_around_what_is_counted() {
    let folder = Folder::new();
    write(&folder, "x,y,days", |_, row| {
        let count = (row.days * (0.4 + 0.5 * row.x).exp()).round();
        vec![format!("{:.6},{count},{}", row.x, row.days)]
    });
    let mixed = ["--model", "poisson", "--method", "mixed", "--no-compare"];
    folder.fit("run", &[&mixed[..], &["--exposure", "days"]].concat());
    folder.write("new.csv", "node,x,days\na,0.2,1\na,0.2,50\n");
    let said = folder.done(&["predict", "run", "--data", "new.csv", "--interval", "0.5"]);
    let cells = |line: &str| -> Vec<f64> {
        line.split(',').skip(1).take(3).map(|cell| cell.parse().unwrap()).collect()
    };
    for line in said.lines().skip(1) {
        let [y, lower, upper] = cells(line)[..] else { panic!("{line}") };
        assert!(lower <= y && y <= upper && lower >= 0.0, "{line}");
    }
}

#[test]
fn weights_of_classes_move_models_and_not_what_errors_are_of() {
    let folder = Folder::with_classes();
    let quick = [&QUICK[..], &["--method", "fedrelax", "--alpha", "0.1"]].concat();
    let plain = folder.fit("plain", &quick);
    let weighted = folder.fit("weighted", &[&quick[..], &["--class-weights", "warm=5"]].concat());
    let notes = weighted["notes"].to_string();
    assert!(notes.contains("Training rows count by their class ('cold' 1, 'warm' 5)"), "{notes}");
    assert_ne!(plain["comparison"], weighted["comparison"]);
    let warm = |run: &str| -> usize {
        let said = folder.done(&["predict", run, "--data", "rows.csv"]);
        said.lines().filter(|line| line.split(',').nth(1) == Some("warm")).count()
    };
    assert!(warm("weighted") >= warm("plain"));
    let balance = ["--set", "data.class_weights=balanced"];
    let balanced = folder.fit("balanced", &[&quick[..], &balance].concat());
    let notes = balanced["notes"].to_string();
    assert!(notes.contains("Training rows count by their class ('cold' "), "{notes}");
    assert_eq!(
        folder.refusal(&["fit", "experiment.toml", "--out", "new", "--class-weights", "wram=2"]),
        "data.class_weights: 'wram' is no class of 'y'; did you mean 'warm'?"
    );
    assert_eq!(
        folder.refusal(&["fit", "experiment.toml", "--out", "new", "--class-weights", "even"]),
        "data.class_weights is \"even\", expected \"balanced\", or a number for each name"
    );
    assert_eq!(
        folder.refusal(&["fit", "experiment.toml", "--out", "new", "--class-weights", "warm=0"]),
        "data.class_weights.warm is 0, expected a positive number"
    );
}
