//! Time: splits by dates and shares, rolling origins, lags. What is later is never looked at.

use std::{collections::BTreeMap, fmt::Write as _};

use serde_json::Value;

use crate::common::{Folder, NODES, dataset, timeless};

/// Days of each node.
const DAYS: usize = 30;

/// The day of a number, counted from the first of January.
fn day(number: usize) -> String {
    if number < 31 {
        format!("2024-01-{:02}", number + 1)
    } else {
        format!("2024-02-{:02}", number - 30)
    }
}

/// What happened at a node on a day: a feature, and sales that remember those of the day before.
fn cells() -> BTreeMap<(usize, usize), (f64, f64)> {
    let mut all = BTreeMap::new();
    for node in 0..NODES.len() {
        let mut sales = 5.0 + node as f64;
        for number in 0..DAYS {
            let at = (node * DAYS + number) as f64;
            let x = (1.7 * at).sin();
            sales = 2.0 + 0.3 * node as f64 + 0.5 * sales + x + 0.3 * (5.0 * at).cos();
            all.insert((node, number), (x, sales));
        }
    }
    all
}

/// A table of some days, with more columns by a function, and those that it gives a row for.
fn table(header: &str, row: impl Fn(usize, usize) -> Option<String>) -> String {
    let mut text = format!("node,day,x,y{header}\n");
    for ((node, number), (x, y)) in cells() {
        if let Some(more) = row(node, number) {
            writeln!(text, "{},{},{x:.6},{y:.6}{more}", NODES[node], day(number)).unwrap();
        }
    }
    text
}

/// The keys below `[data]`, and what keeps runs quick.
fn experiment(data: &str) -> String {
    format!(
        "[data]\nfile = \"rows.csv\"\nnode = \"node\"\ntarget = \"y\"\n{data}\n[network]\nfile = \"nodes.csv\"\n\
         edges = \"edges.csv\"\n[method]\nkind = \"fedrelax\"\n[compare]\nshuffles = 1\nlikelihood_shuffles = 0\n"
    )
}

fn folder(data: &str) -> Folder {
    let folder = Folder::new();
    folder.write("rows.csv", table("", |_, _| Some(String::new())));
    folder.write("experiment.toml", experiment(data));
    folder
}

/// A result without what a table that is written in another way may say differently.
fn found(result: &Value) -> Value {
    let mut result = timeless(result.clone());
    for key in ["notes", "origins", "columns"] {
        result.as_object_mut().unwrap().remove(key);
    }
    result
}

/// The result with a column that says what each row is for: a function of the day.
fn by_hand(role: impl Fn(usize, usize) -> Option<&'static str>, more: &str) -> (Folder, Value) {
    let folder = folder(&format!("split = \"split\"\nexclude = [\"day\"]\n{more}"));
    folder.write("rows.csv", table(",split", |node, at| Some(format!(",{}", role(node, at)?))));
    let result = folder.fit("hand", &[]);
    (folder, result)
}

/// train before one day, validation before another, test before a third.
fn cut(number: usize, [validation, test, end]: [usize; 3]) -> Option<&'static str> {
    match number {
        _ if number < validation => Some("train"),
        _ if number < test => Some("val"),
        _ if number < end => Some("test"),
        _ => None,
    }
}

#[test]
fn shares_and_dates_are_the_split_column_that_they_stand_for() {
    let (hand, by_column) = by_hand(|_, at| cut(at, [18, 24, 30]), "");
    for split in [
        "split = { by = \"time\", train = 0.6, validation = 0.2 }",
        "split = { by = \"time\", train = 0.6, validation = 0.2, cut = \"per-node\" }",
        "split = { by = \"time\", validation_from = 2024-01-19, test_from = \"2024-01-25\" }",
    ] {
        let folder = folder(&format!("time = \"day\"\n{split}"));
        let said = folder.done(&["fit", "experiment.toml", "--out", "run"]);
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        for part in [
            "time: day",
            "108 rows of 6 nodes train (2024-01-01 to 2024-01-18), 36 rows of 6 nodes validate \
             (2024-01-19 to 2024-01-24), 36 rows of 6 nodes test (2024-01-25 to 2024-01-30).",
        ] {
            assert!(said.contains(part), "{part}\nis not in\n{said}");
        }
        assert_eq!(found(&folder.json("run/result.json")), found(&by_column), "{split}");
        assert_eq!(folder.read("run/models/nodes.jsonl"), hand.read("hand/models/nodes.jsonl"));
    }
}

#[test]
fn rows_of_one_time_are_on_one_side_and_rows_may_come_in_any_order() {
    // Nodes begin one after the other, so that one cut for all is not one of each node.
    let begins = |node: usize, number: usize| (number >= 2 * node).then(String::new);
    let folder =
        folder("time = \"day\"\nsplit = { by = \"time\", train = 0.55, validation = 0.2 }");
    folder.write("rows.csv", table("", begins));
    let sorted = folder.fit("sorted", &[]);
    let text = folder.read("rows.csv");
    let (header, rows) = text.split_once('\n').unwrap();
    let mut rows: Vec<&str> = rows.lines().collect();
    rows.reverse();
    rows.rotate_left(17);
    folder.write("rows.csv", format!("{header}\n{}\n", rows.join("\n")));
    assert_eq!(timeless(folder.fit("mixed", &[])), timeless(sorted));
    let note = sorted_note(&folder.json("sorted/result.json"));
    // 150 rows, of which 82.5 train: the rows of the day on which the 83rd is are all on the later side.
    let days: Vec<usize> =
        (0..DAYS).map(|at| (0..6).filter(|node| at >= 2 * node).count()).collect();
    let before = |number: usize| days[..number].iter().sum::<usize>();
    let cut = (0..DAYS).rfind(|&number| before(number) <= 83).unwrap();
    assert!(note.contains(&format!("{} rows of 6 nodes train", before(cut))), "{note}");
    assert!(note.contains(&format!("to {})", day(cut - 1))), "{note}");
    let per_node = folder.fit("own", &["--set", "data.split.cut=per-node"]);
    assert!(sorted_note(&per_node).contains("every node at cuts of its own"));
    assert_ne!(found(&per_node), found(&folder.json("sorted/result.json")));
}

fn sorted_note(result: &Value) -> String {
    let notes = result["notes"].as_array().unwrap();
    let note = notes.iter().filter_map(Value::as_str).find(|note| note.starts_with("Split by"));
    note.unwrap_or_else(|| panic!("{notes:?}")).to_string()
}

/// The windows of three origins with a horizon of four days, by hand.
const WINDOWS: [[usize; 3]; 3] = [[14, 18, 22], [18, 22, 26], [22, 26, 30]];

/// Checks that rolling origins are the runs with a split column of each of them.
fn check_origins(folder: &Folder, more: &str) {
    let said = folder.done(&["fit", "experiment.toml", "--out", "run"]);
    assert!(said.contains("Origin 3 of 3: 132 rows before 2024-01-23 train"), "{said}");
    assert!(said.contains("test error from"), "{said}");
    let result = folder.json("run/result.json");
    let origins = result["origins"].as_array().unwrap();
    assert_eq!(origins.len(), 3);
    let (mut loss, mut rows) = (0.0, 0.0);
    for (origin, window) in origins.iter().zip(WINDOWS) {
        let (hand, by_column) = by_hand(|_, at| cut(at, window), more);
        assert_eq!(origin["comparison"], by_column["comparison"], "{window:?}");
        assert_eq!(origin["test_from"], day(window[1]));
        assert_eq!(origin["until"], day(window[2] - 1));
        let tested = origin["test_rows"].as_f64().unwrap();
        loss += tested * origin["comparison"]["network"]["test"].as_f64().unwrap();
        rows += tested;
        if window == WINDOWS[2] {
            // The final models are those of the last origin.
            let models = hand.read("hand/models/nodes.jsonl");
            assert_eq!(folder.read("run/models/nodes.jsonl"), models);
        }
    }
    let test = result["comparison"]["network"]["test"].as_f64().unwrap();
    assert!((test - loss / rows).abs() < 1e-12 * test, "{test} {}", loss / rows);
    assert!(result["gain"]["standard_error"].is_f64() && result["verdict_kind"].is_string());
}

const ROLLING: &str = "time = \"day\"\nsplit = { by = \"time\", origins = 3, horizon = 4 }\n";

#[test]
fn rolling_origins_are_the_split_columns_that_they_stand_for() {
    check_origins(&folder(ROLLING), "");
}

#[test]
fn every_origin_learns_levels_fills_and_lags_from_the_rows_before_it() {
    // A level of the last days, a gap that is filled by a mean that grows, and lags.
    let more = "missing = \"mean\"\n";
    let cells = |_: usize, number: usize| {
        let promo = ["none", "tv", "radio"][if number > 23 { 2 } else { number % 2 }];
        let age = if number % 5 == 3 { String::new() } else { (number * number).to_string() };
        format!(",{promo},{age}")
    };
    let folder = folder(&format!("{ROLLING}{more}"));
    folder.write("rows.csv", table(",promo,age", |node, at| Some(cells(node, at))));
    let result = folder.fit("run", &[]);
    for (origin, window) in result["origins"].as_array().unwrap().iter().zip(WINDOWS) {
        let hand = self::folder(&format!("split = \"split\"\nexclude = [\"day\"]\n{more}"));
        let row = |node, at| Some(format!("{},{}", cells(node, at), cut(at, window)?));
        hand.write("rows.csv", table(",promo,age,split", row));
        assert_eq!(origin["comparison"], hand.fit("hand", &[])["comparison"]);
    }
}

#[test]
fn origins_closer_than_the_horizon_are_warned_of_and_methods_are_chosen_at_each() {
    let folder =
        folder("time = \"day\"\nsplit = { by = \"time\", origins = 3, horizon = 4, step = 2 }");
    folder.edit("experiment.toml", "kind = \"fedrelax\"", "kind = \"auto\"");
    let result = folder.fit("run", &[]);
    assert!(result["warnings"].to_string().contains("Origins are closer than the horizon"));
    let from = |origin: usize| result["origins"][origin]["test_from"].clone();
    assert_eq!([from(0), from(1), from(2)], [day(22), day(24), day(26)]);
    // Each method that was not chosen in the end has an error at every origin.
    for kind in result["comparison"]["members"].as_object().unwrap().keys() {
        for origin in result["origins"].as_array().unwrap() {
            assert!(origin["comparison"]["members"][kind]["test"].is_f64(), "{kind} {origin}");
        }
    }
}

#[test]
fn a_rolling_run_that_was_interrupted_goes_on_where_it_was() {
    let folder = folder(ROLLING);
    let whole = folder.fit("run", &[]);
    let metrics = folder.read("run/metrics.jsonl");
    let lines: Vec<&str> = metrics.lines().collect();
    // All of the last origin, which comes first, and a part of the next one.
    let kept = lines.len() / 2;
    folder.write("run/metrics.jsonl", lines[..kept].join("\n") + "\n" + &lines[kept][..20]);
    std::fs::remove_file(folder.path("run/result.json")).unwrap();
    folder.done(&["fit", "run", "--resume", "--quiet"]);
    assert_eq!(timeless(folder.json("run/result.json")), timeless(whole));
    assert_eq!(folder.read("run/metrics.jsonl"), metrics);
}

#[test]
fn what_is_later_changes_nothing_that_is_earlier() {
    let lags = "[data.lags]\ny = { lags = [4, 7], means = [3] }\nx = [4]\n";
    let data = format!("{ROLLING}missing = \"drop\"\n{lags}");
    let folder = folder(&data);
    let result = folder.fit("run", &[]);
    // A planted future: everything from the first test day of the first origin on is something else.
    let text = table("", |_, _| Some(String::new()));
    let planted: Vec<String> = text
        .lines()
        .map(|line| {
            let cells: Vec<&str> = line.split(',').collect();
            if line.starts_with("node") || *cells[1] < *day(18) {
                line.into()
            } else {
                format!("{},{},{},{}", cells[0], cells[1], 1e3, -1e4)
            }
        })
        .collect();
    folder.write("rows.csv", planted.join("\n") + "\n");
    let other = folder.fit("planted", &[]);
    let chosen = |result: &Value| {
        let entries = result["origins"][0]["comparison"].as_object().unwrap().clone();
        let of = |(name, mut entry): (String, Value)| {
            for key in ["test", "spread"] {
                entry.as_object_mut().unwrap().remove(key);
            }
            entry["metrics"]["test"].take();
            (name, entry)
        };
        entries.into_iter().map(of).collect::<BTreeMap<_, _>>()
    };
    // Validation errors and strengths of the first origin are the same bits, and its test errors are not.
    assert_eq!(chosen(&result), chosen(&other));
    assert_ne!(result["origins"][0], other["origins"][0]);
}

#[test]
fn lags_are_the_columns_that_a_person_would_make() {
    let lags = "[data.lags]\ny = { lags = [1, 7], means = [3] }\nx = [\"1d\"]\n";
    let split = "split = { by = \"time\", train = 0.6, validation = 0.2 }\n";
    let folder = folder(&format!("time = \"day\"\nmissing = \"drop\"\n{split}{lags}"));
    let said = folder.done(&["fit", "experiment.toml", "--out", "run"]);
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    let note = "Rows without an earlier value, at the start of their node or in gaps, are missing cells: 6 of \
                'x.lag_1d' (0 in gaps), 6 of 'y.lag_1' (0 in gaps), 42 of 'y.lag_7' (0 in gaps), 6 of \
                'y.mean_3' (0 in gaps).";
    assert!(said.contains(note), "{said}");
    assert!(said.contains("Left out for missing cells: 42 rows of 180."), "{said}");
    let all = cells();
    let y = |node: usize, at: usize| format!("{:.6}", all[&(node, at)].1).parse::<f64>().unwrap();
    let x = |node: usize, at: usize| format!("{:.6}", all[&(node, at)].0).parse::<f64>().unwrap();
    let row = |node: usize, at: usize| {
        let mean = (y(node, at.checked_sub(7)? + 4) + y(node, at - 2) + y(node, at - 1)) / 3.0;
        let lags = [x(node, at - 1), y(node, at - 1), y(node, at - 7), mean].map(|v| v.to_string());
        let role = cut(at, [20, 25, 30])?;
        Some(format!(",{},{role}", lags.join(",")))
    };
    let hand = self::folder("split = \"split\"\nexclude = [\"day\"]\n");
    hand.write("rows.csv", table(",x.lag_1d,y.lag_1,y.lag_7,y.mean_3,split", row));
    let by_column = hand.fit("hand", &[]);
    let result = folder.json("run/result.json");
    assert_eq!(result["comparison"], by_column["comparison"]);
    assert_eq!(folder.read("run/models/nodes.jsonl"), hand.read("hand/models/nodes.jsonl"));
}

#[test]
fn gaps_in_time_are_missing_cells_and_are_counted() {
    let data = "time = \"day\"\nmissing = \"indicator\"\nsplit = { by = \"time\", train = 0.6, validation = 0.2 }\n\
                [data.lags]\ny = [1]\n";
    let folder = folder(data);
    folder.write("rows.csv", table("", |node, at| (node != 2 || at % 9 != 4).then(String::new)));
    let result = folder.fit("run", &[]);
    let notes = result["notes"].to_string();
    assert!(notes.contains("9 of 'y.lag_1' (3 in gaps)"), "{notes}");
    assert!(notes.contains("Missing cells that were filled: 9 of 'y.lag_1'"), "{notes}");
    let features = folder.json("run/models/about.json")["features"].to_string();
    assert_eq!(features, "[\"x\",\"y.lag_1\",\"y.lag_1=(missing)\"]");
    // With the usual rule they are refused, with what would do.
    let refused = folder.refusal(&["fit", "experiment.toml", "--missing", "refuse", "--out", "no"]);
    let told = "rows.csv: column 'y.lag_1' has 9 missing cells of 177 (first in row 1); add --missing mean";
    assert!(refused.starts_with(told), "{refused}");
}

#[test]
fn new_rows_find_their_past_among_themselves_or_in_a_file_of_it() {
    let data = "time = \"day\"\nmissing = \"drop\"\nsplit = { by = \"time\", train = 0.6, validation = 0.2, horizon = 2 }\n\
                [data.lags]\ny = { lags = [2], means = [3] }\n";
    let folder = folder(data);
    folder.fit("run", &[]);
    let all = table("", |_, _| Some(String::new()));
    let header = all.lines().next().unwrap();
    let old: Vec<&str> = all.lines().filter(|line| !line.contains("2024-01-3")).collect();
    folder.write("old.csv", old.join("\n") + "\n");
    // The last day, without what is to be predicted.
    let last = |line: &str| line.rsplit_once(',').map(|(rest, _)| rest.to_string()).unwrap();
    let new: Vec<String> =
        all.lines().filter(|line| line.contains("2024-01-30")).map(last).collect();
    let new = format!("{}\n{}\n", last(header), new.join("\n"));
    folder.write("new.csv", new);
    let predictions = |arguments: &[&str]| -> Vec<String> {
        let text = folder.done(&[&["predict", "run"], arguments].concat());
        text.lines().map(ToString::to_string).collect()
    };
    let with_past = predictions(&["--data", "new.csv", "--history", "old.csv"]);
    assert_eq!(with_past.len(), 7);
    // The same rows among all, whose first ones have no past and are refused.
    let told = folder.refusal(&["predict", "run", "--data", "rows.csv"]);
    assert_eq!(
        told,
        "rows.csv: row 1 needs 'y' of node 'a' at 2023-12-30 for 'y.lag_2', which is not there (and so do 11 other \
         rows); give earlier rows with --history; row 1 needs 'y' of node 'a' after 2023-12-27 and up to 2023-12-30 for \
         'y.mean_3', which is not there (and so do 11 other rows); give earlier rows with --history"
    );
    let told = folder.refusal(&["predict", "run", "--data", "new.csv"]);
    assert_eq!(
        told,
        "new.csv: there is no column 'y', of which lags are features; give earlier rows with --history"
    );
    let twice = folder.refusal(&["predict", "run", "--data", "old.csv", "--history", "old.csv"]);
    assert!(twice.contains("as is row 1 of the time before of the same node"), "{twice}");
    // By hand: the model of a run whose lags are columns.
    let all_cells = cells();
    let y = |at: usize| format!("{:.6}", all_cells[&(0, at)].1).parse::<f64>().unwrap();
    let models = folder.read("run/models/nodes.jsonl");
    let model: Value = serde_json::from_str(models.lines().next().unwrap()).unwrap();
    let slopes = find(&model, "slopes");
    let x = format!("{:.6}", all_cells[&(0, 29)].0).parse::<f64>().unwrap();
    let features = [x, y(27), (y(25) + y(26) + y(27)) / 3.0];
    let slope = |at: usize| slopes[at].as_f64().unwrap();
    let expected = find(&model, "intercept").as_f64().unwrap()
        + features.iter().enumerate().map(|(at, x)| slope(at) * x).sum::<f64>();
    let predicted: f64 = with_past[1].split(',').nth(1).unwrap().parse().unwrap();
    assert!((predicted - expected).abs() < 1e-9, "{predicted} {expected}");
}

#[test]
fn rows_of_several_files_are_named_by_their_file_and_by_what_predict_can_do() {
    let data = "time = \"day\"\nmissing = \"drop\"\nsplit = { by = \"time\", train = 0.6, validation = 0.2 }\n";
    let folder = folder(&format!("{data}[data.lags]\ny = [1]\n"));
    folder.fit("lags", &[]);
    let days =
        |from: usize, to: usize| table("", |_, at| (from..to).contains(&at).then(String::new));
    for (name, from, to) in
        [("a.csv", 0, 10), ("b.csv", 10, 20), ("c.csv", 20, 25), ("d.csv", 25, 30)]
    {
        folder.write(name, days(from, to));
    }
    let new = ["--data", "c.csv", "d.csv"];
    let past = ["--history", "a.csv", "b.csv"];
    let with_lags = [&["predict", "lags"], &new[..], &past].concat();
    assert_eq!(folder.done(&with_lags).lines().count(), 61);
    folder.set_cell("d.csv", 2, 2, "");
    let told = folder.refusal(&with_lags);
    assert_eq!(
        told,
        "c.csv, d.csv: column 'x' has 1 missing cell of 60 (first in row 2 of d.csv); the run was trained without a rule \
         that fills them: fill them in, leave these rows out, or train again with --missing mean, most-frequent or \
         indicator"
    );
    // A run without lags says the same of the same rows.
    folder.write("experiment.toml", experiment(data));
    folder.fit("plain", &[]);
    assert_eq!(folder.refusal(&[&["predict", "plain"], &new[..]].concat()), told);
    folder.write("d.csv", days(25, 30));
    folder.set_cell("d.csv", 3, 1, "someday");
    let told = folder.refusal(&with_lags);
    assert!(told.starts_with("c.csv, d.csv: row 3 of d.csv, column 'day' is 'someday'"), "{told}");
    // The first row of the second file once more, in the first file of the new rows.
    folder.write("d.csv", days(25, 30));
    folder.append("c.csv", days(10, 11).lines().nth(1).unwrap());
    let told = folder.refusal(&with_lags);
    let same = "row 31 of c.csv, column 'day' is 2024-01-11, as is row 1 of b.csv of the same node";
    assert!(told.contains(same), "{told}");
    folder.write("experiment.toml", experiment(&format!("{data}[data.lags]\ny = [1]\n")));
    folder.edit("experiment.toml", "\"rows.csv\"", "[\"b.csv\", \"c.csv\"]");
    let told = folder.fit_refusal(&[]);
    assert!(told.starts_with(&format!("b.csv, c.csv: {same}")), "{told}");
}

#[test]
fn rows_are_said_to_be_too_late_only_if_some_are() {
    let split = |until: &str| {
        format!(
            "time = \"day\"\nmissing = \"drop\"\nweight = \"w\"\nsplit = {{ by = \"time\", validation_from = \
             2024-01-19, test_from = 2024-01-25, until = {until} }}"
        )
    };
    let folder = folder(&split("2024-01-30"));
    // One row without weight, and one with a missing cell.
    folder.write("rows.csv", table(",w", |node, at| Some(format!(",{}", u8::from(node + at > 0)))));
    folder.set_cell("rows.csv", 2, 2, "");
    let checked = || {
        let said = folder.done(&["check", "experiment.toml"]);
        said.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let said = checked();
    for why in ["missing cells", "a weight of zero"] {
        assert!(said.contains(&format!("Left out for {why}: 1 row of 180.")), "{said}");
    }
    assert!(said.contains("36 rows of 6 nodes test"), "{said}");
    assert!(!said.contains("rows after"), "{said}");
    folder.write("experiment.toml", experiment(&split("2024-01-29")));
    let said = checked();
    assert!(said.contains("; rows after 2024-01-29 are left out."), "{said}");
}

/// The value of a key somewhere inside.
fn find<'a>(value: &'a Value, key: &str) -> &'a Value {
    fn inside<'a>(value: &'a Value, key: &str) -> Option<&'a Value> {
        value.get(key).or_else(|| value.as_object()?.values().find_map(|own| inside(own, key)))
    }
    inside(value, key).unwrap_or_else(|| panic!("no {key} in {value}"))
}

#[test]
fn a_time_is_a_feature_only_where_it_is_asked_to_be_one() {
    let split = "split = { by = \"time\", train = 0.6, validation = 0.2 }\n";
    let features = |more: &str| {
        let folder = folder(&format!("time = \"day\"\n{split}{more}"));
        folder.fit("run", &[]);
        let said = folder.done(&["check", "experiment.toml"]);
        assert!(said.contains("day     time     orders rows in time"), "{said}");
        assert!(said.contains("180 rows, 6 nodes, 4 columns"), "{said}");
        folder.json("run/models/about.json")["features"].to_string()
    };
    assert_eq!(features(""), "[\"x\"]");
    assert_eq!(features("features = [\"*\"]\n"), "[\"x\"]");
    assert_eq!(features("[data.columns]\nday = { order = \"day-first\" }\n"), "[\"x\"]");
    let parts = "[data.columns]\nday = { kind = \"time\", parts = [\"days\"] }\n";
    assert_eq!(features(parts), "[\"day.days\",\"x\"]");
    let listed = "features = [\"x\", \"day\"]\n";
    assert_eq!(features(listed), "[\"x\",\"day.days\",\"day.weekday_sin\",\"day.weekday_cos\"]");
}

#[test]
fn numbers_and_hours_are_times_too() {
    let split = |keys: &str| {
        format!("time = \"hour\"\nsplit = {{ by = \"time\", {keys} }}\n[data.lags]\ny = ")
    };
    let result = |keys: &str, lag: &str, hour: &dyn Fn(usize) -> String| {
        let folder = folder(&(split(keys) + lag));
        let text = table(",hour", |_, at| Some(format!(",{}", hour(at))));
        folder.write("rows.csv", text);
        let result = folder.fit("run", &["--exclude", "day", "--missing", "drop"]);
        (result["comparison"].clone(), folder.json("run/models/about.json")["features"].clone())
    };
    let hours = |at: usize| format!("2024-03-0{} {:02}:00+01:00", 1 + at / 24, at % 24);
    let (clock, _) = result("origins = 2, horizon = \"3h\"", "[\"3h\"]", &hours);
    let (numbers, names) = result("origins = 2, horizon = 3", "[3]", &|at| (at + 1000).to_string());
    let (tenths, _) =
        result("origins = 2, horizon = 0.3", "[0.3]", &|at| format!("{:.1}", 0.1 * at as f64));
    assert_eq!((&clock, &tenths), (&numbers, &numbers));
    assert_eq!(names.to_string(), "[\"x\",\"y.lag_3\"]");
}

#[test]
fn what_cannot_be_is_refused_in_one_sentence() {
    let refusal = |data: &str| folder(data).fit_refusal(&[]);
    let split = "split = { by = \"time\", train = 0.6, validation = 0.2 }\n";
    for (data, sentence) in [
        (split.to_string(), "experiment.toml: data.split.by = \"time\" needs data.time, the column that orders rows"),
        (format!("time = \"dya\"\n{split}"), "rows.csv: there is no column 'dya'; did you mean 'day'?"),
        (
            format!("time = \"node\"\n{split}"),
            "rows.csv: column 'node' holds text, expected dates, times or numbers (key data.time)",
        ),
        (
            "[data.lags]\ny = [1]\n".into(),
            "experiment.toml: data.lags needs data.time, the column that orders rows",
        ),
        (
            "time = \"day\"\n[data.lags]\ny = [0]\n".into(),
            "experiment.toml: data.lags.y holds \"0\", expected a length of time above zero: a number, or as in \
             \"6h\" (s, min, h, d, w)",
        ),
        (
            "time = \"day\"\n[data.lags]\nz = [1]\n".into(),
            "rows.csv: there is no column 'z', which data.lags names",
        ),
        (
            "time = \"day\"\n[data.lags]\nnode = [1]\n".into(),
            "rows.csv: column 'node' holds text, and data.lags.node expects numbers",
        ),
        (
            format!("{ROLLING}[data.lags]\ny = [1]\n"),
            "data.lags.y: a lag of 1 day is shorter than the horizon of 4 days, so that it is not known when a \
             forecast is made; expected 4 days or more",
        ),
        (
            "time = \"day\"\nsplit = { by = \"time\", origins = 9, horizon = 4 }\n".into(),
            "data.split: origin 1 of 9, at 2023-12-25, has no row to train on; expected fewer origins, or another \
             horizon or step",
        ),
        (
            "time = \"day\"\nsplit = { by = \"time\", test_from = 3 }\n".into(),
            "data.split.test_from is \"3\", expected a date or time, such as 2024-05-01, as data.time has them",
        ),
        (
            "time = \"day\"\nsplit = { by = \"time\", test_from = 2024-01-10, validation_from = 2024-01-20 }\n".into(),
            "data.split.validation_from is 2024-01-20, which is after test_from, 2024-01-10; expected an earlier one",
        ),
        (
            "time = \"day\"\nsplit = { by = \"time\", test_from = 2023-01-10 }\n".into(),
            "rows.csv: no row is before the first cut of data.split, expected a later one",
        ),
        (
            "time = \"day\"\ntrain = 0.5\n[data.lags]\ny = [1]\n".into(),
            "experiment.toml: data.lags and data.train exclude each other, because rows that are drawn to test would \
             be features of later rows that train; divide rows by time: data.split = { by = \"time\", train = 0.6, \
             validation = 0.2 }",
        ),
    ] {
        assert_eq!(refusal(&data), sentence, "{data}");
    }
}

#[test]
fn times_that_cannot_be_read_and_two_rows_of_one_time_are_named() {
    let data = "time = \"day\"\nmissing = \"drop\"\nsplit = { by = \"time\", train = 0.6, validation = 0.2 }\n";
    let folder = folder(data);
    folder.set_cell("rows.csv", 7, 1, "");
    folder.set_cell("rows.csv", 9, 1, "soon");
    assert_eq!(
        folder.fit_refusal(&[]),
        "rows.csv: row 7, column 'day' is missing, expected a date or time (and 1 more cell of this column)"
    );
    let folder = self::folder(&format!("{data}[data.lags]\ny = [1]\n"));
    folder.set_cell("rows.csv", 8, 1, &day(2));
    assert_eq!(
        folder.fit_refusal(&[]),
        "rows.csv: row 8, column 'day' is 2024-01-03, as is row 3 of the same node; lags need one row for each time \
         of a node"
    );
    // Without lags they are two rows like others.
    let folder = self::folder(data);
    folder.set_cell("rows.csv", 8, 1, &day(2));
    folder.fit("run", &[]);
}

/// Rolling origins on a dataset beside its split columns made by hand, through the same table as text.
fn check_dataset(name: &str, time: &str, horizon: i64, features: &str) {
    let Some(data) = dataset(name) else { return };
    let path = |file: &str| toml::Value::String(data.join(file).display().to_string());
    let text = |file: &str, keys: &str| {
        format!(
            "[data]\nfile = {file}\nnode = \"node\"\ntarget = \"y\"\nfeatures = {features}\n{keys}[network]\n\
             file = {}\nedges = {}\n[method]\nkind = \"fedrelax\"\n[model]\nridge = 0.01\n\
             [compare]\nshuffles = 1\nlikelihood_shuffles = 0\n",
            path("nodes.csv"),
            path("edges.csv")
        )
    };
    let rolling = format!(
        "time = \"{time}\"\nsplit = {{ by = \"time\", origins = 3, horizon = {horizon} }}\n"
    );
    let folder = Folder::empty();
    folder.write("experiment.toml", text(&path("data.parquet").to_string(), &rolling));
    let result = folder.fit("run", &[]);
    let table = fedgrid_lab::source::Table::from_file(&data.join("data.parquet"), ',').unwrap();
    let times = table.column(time).unwrap();
    // Dates of one form and whole numbers: both are in order as text of one length.
    let key = |text: &str| format!("{text:>20}");
    for origin in result["origins"].as_array().unwrap() {
        let at = |name: &str| key(origin[name].as_str().unwrap());
        let (validation, test, until) = (at("validation_from"), at("test_from"), at("until"));
        let used: Vec<usize> =
            (0..table.rows()).filter(|&row| key(&times.cell(row)) <= until).collect();
        let csv = table.csv(used.iter().copied());
        let mut lines = csv.lines();
        let mut hand = format!("{},part\n", lines.next().unwrap());
        for (line, &row) in lines.zip(&used) {
            let now = key(&times.cell(row));
            let role = if now < validation {
                "train"
            } else if now < test {
                "val"
            } else {
                "test"
            };
            writeln!(hand, "{line},{role}").unwrap();
        }
        let by_hand = Folder::empty();
        by_hand.write("rows.csv", hand);
        by_hand.write("experiment.toml", text("\"rows.csv\"", "split = \"part\"\n"));
        let by_hand = by_hand.fit("hand", &[]);
        assert_eq!(origin["comparison"], by_hand["comparison"], "{name} {origin}");
    }
}

#[test]
fn rolling_origins_of_daily_temperatures_are_their_split_columns() {
    let names = "[\"tmin_1\", \"tmax_1\", \"tmin_2\", \"tmax_2\", \"tmin_3\", \"tmax_3\"]";
    check_dataset("fmi_daily", "target_day", 7, names);
}

#[test]
fn rolling_origins_of_hourly_temperatures_are_their_split_columns() {
    let names: Vec<String> = (1..=12).map(|number| format!("\"c{number:02}\"")).collect();
    check_dataset("fmi_hourly", "hour_index", 6, &format!("[{}]", names.join(", ")));
}
