//! `fedgrid sweep` and `fit --seeds`.

use std::{
    fs,
    process::Command,
    thread,
    time::{Duration, Instant},
};

use serde_json::Value;

use crate::common::{Folder, skipped};

/// The files of a finished sweep.
const FILES: [&str; 9] = [
    "sweep.toml",
    "cells.jsonl",
    "cells.csv",
    "table.csv",
    "table.md",
    "table.tex",
    "plot.svg",
    "plot.pdf",
    "result.json",
];

/// Keys whose cells are quickly run: what is drawn is which rows train.
fn drawn() -> Folder {
    let folder = Folder::new();
    folder.edit(
        "experiment.toml",
        "split = \"split\"",
        "train = 0.5\nvalidation = 0.25\nfeatures = [\"x\", \"z\"]",
    );
    folder
}

const KINDS: [&str; 4] = ["--set", "method.kind=fedrelax,gtv", "--quick", "--quiet"];

fn sweep(folder: &Folder, out: &str, arguments: &[&str]) -> Value {
    folder.done(&[&["sweep", "experiment.toml", "--out", out], arguments].concat());
    folder.json(&format!("{out}/result.json"))
}

fn bytes(folder: &Folder, out: &str) -> Vec<Vec<u8>> {
    FILES.map(|name| fs::read(folder.path(out).join(name)).unwrap()).to_vec()
}

/// The rows of a CSV file without quotes, as columns by name.
fn column(csv: &str, name: &str) -> Vec<String> {
    let mut lines = csv.lines();
    let place = lines.next().unwrap().split(',').position(|head| head == name).unwrap();
    lines.map(|line| line.split(',').nth(place).unwrap().to_string()).collect()
}

#[test]
fn a_cell_has_the_numbers_and_the_verdict_of_fit() {
    let folder = drawn();
    sweep(&folder, "swept", &[&KINDS[..], &["--seeds", "2"]].concat());
    let cells = folder.read("swept/cells.csv");
    let is_of = |line: &str, seed: &str, method: &str| {
        let cells: Vec<&str> = line.split(',').collect();
        cells[0] == "gtv" && cells[1] == seed && cells[5] == method
    };
    let fitted = folder.fit("fitted", &["--method", "gtv", "--seed", "2", "--quick"]);
    for method in ["local", "pooled", "shrunk", "mixed", "network", "shuffled"] {
        let line = cells.lines().find(|line| is_of(line, "2", method)).unwrap();
        let cells: Vec<&str> = line.split(',').collect();
        let entry = &fitted["comparison"][method];
        assert_eq!(cells[4], fitted["verdict_kind"].as_str().unwrap());
        for (cell, key) in [(6, "validation"), (7, "test")] {
            let found: f64 = cells[cell].parse().unwrap();
            assert_eq!(found.to_bits(), entry[key].as_f64().unwrap().to_bits(), "{method} {key}");
        }
        assert_eq!(cells[8].parse().ok(), entry["alpha"].as_f64(), "{method}");
    }
}

#[test]
fn the_table_has_means_over_seeds_their_standard_errors_and_shares_of_verdicts() {
    let folder = drawn();
    let result = sweep(&folder, "swept", &[&KINDS[..], &["--seeds", "3"]].concat());
    let cells = folder.read("swept/cells.csv");
    let (kinds, methods) = (column(&cells, "method.kind"), column(&cells, "contestant"));
    let tests = column(&cells, "test");
    let errors: Vec<f64> = (0..tests.len())
        .filter(|&row| kinds[row] == "fedrelax" && methods[row] == "network")
        .map(|row| tests[row].parse().unwrap())
        .collect();
    assert_eq!(errors.len(), 3);
    let mean = errors.iter().sum::<f64>() / 3.0;
    let squares: f64 = errors.iter().map(|error| (error - mean).powi(2)).sum();
    let table = folder.read("swept/table.csv");
    let first = |name: &str| column(&table, name)[0].parse::<f64>().unwrap();
    assert!((first("network") - mean).abs() < 1e-12);
    assert!((first("network_se") - (squares / 6.0).sqrt()).abs() < 1e-12);
    assert!(first("network_se") > 0.0);
    for case in result["cases"].as_array().unwrap() {
        let shares = case["verdicts"].as_array().unwrap();
        let sum: f64 = shares.iter().map(|share| share[1].as_f64().unwrap()).sum();
        assert!((sum - 1.0).abs() < 1e-12, "{case}");
    }
    // Every form says what varied.
    let varied = "Seeds 1 to 3 vary which rows train, validate and test";
    for name in ["table.md", "table.tex", "result.json"] {
        assert!(folder.read(&format!("swept/{name}")).contains(varied), "{name}");
    }
    assert!(folder.read("swept/table.md").contains(" ± "));
    assert!(folder.read("swept/table.tex").contains("$\\pm$"));
}

#[test]
fn with_one_seed_there_is_no_standard_error() {
    let folder = Folder::new();
    let result = sweep(&folder, "swept", &KINDS);
    let table = folder.read("swept/table.csv");
    assert_eq!(column(&table, "network_se"), ["", ""]);
    assert!(!folder.read("swept/table.md").contains('±'));
    assert_eq!(result["cases"][0]["errors"][0][1]["standard_error"], Value::Null);
    assert_eq!(result["notes"][0], "One seed (1): there are no standard errors.");
}

#[test]
fn the_number_of_threads_changes_no_byte_of_a_sweep() {
    let folder = drawn();
    let arguments = [&KINDS[..], &["--seeds", "3"]].concat();
    sweep(&folder, "one", &[&arguments[..], &["--threads", "1"]].concat());
    sweep(&folder, "three", &[&arguments[..], &["--threads", "3"]].concat());
    assert_eq!(bytes(&folder, "one"), bytes(&folder, "three"));
}

#[test]
fn an_interrupted_sweep_goes_on_and_has_the_bytes_of_a_whole_one() {
    let folder = drawn();
    let arguments = [&KINDS[..], &["--seeds", "30"]].concat();
    let whole = [&["sweep", "experiment.toml", "--out", "whole"], &arguments[..]].concat();
    folder.done(&whole);
    let child =
        folder.command(&[&["sweep", "experiment.toml", "--out", "cut"], &arguments[..]].concat());
    let child = { child }.spawn().unwrap();
    let begun = Instant::now();
    let lines =
        || fs::read_to_string(folder.path("cut/cells.jsonl")).unwrap_or_default().lines().count();
    while lines() < 3 && begun.elapsed() < Duration::from_mins(1) {
        thread::sleep(Duration::from_millis(5));
    }
    assert!(
        Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success()
    );
    let output = child.wait_with_output().unwrap();
    if folder.path("cut/result.json").exists() {
        return skipped("the sweep was faster than the interruption");
    }
    assert_eq!(output.status.code(), Some(130));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.ends_with("fedgrid: interrupted; continue with --resume\n"), "{said}");
    let (known, sentence) = (lines() - 1, folder.refusal(&["sweep", "cut"]));
    assert!((2..60).contains(&known), "{known}");
    assert!(
        sentence.ends_with("to continue an unfinished sweep there, add --resume"),
        "{sentence}"
    );
    // The folder alone says what is to be done, and lines count on from where they were.
    let answer = folder.run(&["sweep", "cut", "--resume"]);
    assert_eq!(answer.code, Some(0), "{}", answer.err);
    assert!(
        answer.err.starts_with(&format!("{known} of 60 steps were done before\n")),
        "{}",
        answer.err
    );
    assert!(answer.err.contains(&format!("({} of 60, ", known + 1)), "{}", answer.err);
    assert_eq!(bytes(&folder, "cut"), bytes(&folder, "whole"));
}

#[test]
fn a_cell_whose_line_was_cut_is_run_again() {
    let folder = drawn();
    let arguments = [&KINDS[..], &["--seeds", "2"]].concat();
    sweep(&folder, "swept", &arguments);
    let whole = bytes(&folder, "swept");
    let cells = folder.read("swept/cells.jsonl");
    let second = cells.match_indices('\n').nth(2).unwrap().0;
    folder.write("swept/cells.jsonl", &cells[..second - 20]);
    fs::remove_file(folder.path("swept/result.json")).unwrap();
    let resume =
        [&["sweep", "experiment.toml", "--out", "swept", "--resume"], &arguments[..]].concat();
    let other = folder.refusal(&[&resume[..], &["--set", "seed=4"]].concat());
    assert!(other.contains("was begun with another sweep, data or version"), "{other}");
    folder.append("rows.csv", "\n");
    assert!(folder.refusal(&resume).contains("another sweep, data or version"));
    folder.write("rows.csv", folder.read("rows.csv").trim_end().to_string() + "\n");
    folder.done(&resume);
    assert_eq!(bytes(&folder, "swept"), whole);
    assert_eq!(
        folder.refusal(&resume),
        "'swept' holds no unfinished sweep; begin one without --resume"
    );
    assert_eq!(
        folder.refusal(&[&["sweep", "experiment.toml", "--out", "swept"], &arguments[..]].concat()),
        "'swept' exists: replace it with --force, or give another folder with --out"
    );
    folder.write("swept/remarks.txt", "mine");
    folder.done(
        &[&["sweep", "experiment.toml", "--out", "swept", "--force"], &arguments[..]].concat(),
    );
    assert_eq!(bytes(&folder, "swept"), whole);
    assert_eq!(folder.read("swept/remarks.txt"), "mine");
}

#[test]
fn a_cell_that_fails_is_named_with_its_reason_and_the_rest_is_run() {
    let folder = drawn();
    let swept = ["--set", "data.target=y,nothing", "--quick", "--seeds", "2"];
    let answer =
        folder.run(&[&["sweep", "experiment.toml", "--out", "swept"], &swept[..]].concat());
    assert_eq!(answer.code, Some(1), "{}", answer.err);
    let last = answer.err.lines().last().unwrap();
    assert_eq!(last, "fedgrid: 2 of 4 cells failed; the table names them with their reasons");
    let reason = "rows.csv: there is no column 'nothing'";
    let failed = answer.out.lines().find(|line| line.starts_with("Failed:")).unwrap();
    assert!(failed.starts_with("Failed: data.target = nothing, seeds 1, 2: "), "{failed}");
    for name in ["table.csv", "table.md", "cells.csv", "result.json"] {
        let text = folder.read(&format!("swept/{name}"));
        assert!(text.contains("no column 'nothing'"), "{name}: {text} {reason}");
    }
    let result = folder.json("swept/result.json");
    assert_eq!(result["cases"][1]["failed"][0]["seeds"], serde_json::json!([1, 2]));
    assert_eq!(result["cases"][1]["errors"], serde_json::json!([]));
    assert!(result["cases"][0]["errors"][0][1]["mean"].is_f64());
    // As JSON the result is on standard output, and the failure an object on standard error.
    let answer = folder
        .run(&[&["sweep", "experiment.toml", "--out", "again", "--json"], &swept[..]].concat());
    assert_eq!(serde_json::from_str::<Value>(&answer.out).unwrap(), result);
    let error: Value = serde_json::from_str(&answer.err).unwrap();
    assert_eq!(error["error"]["exit_code"], 1);
}

#[test]
fn mistakes_are_refused_before_anything_is_run() {
    let folder = Folder::new();
    for (arguments, sentence) in [
        (&[][..], "nothing varies in this sweep; give --set KEY=VALUE,VALUE or --seeds N"),
        (
            &["--set", "method.kind=fedrelax,gvt"],
            "method.kind = gvt: method.kind is \"gvt\", expected",
        ),
        (&["--set", "method.knd=a,b"], "method.knd = a: unknown key 'method.knd'"),
        (
            &["--set", "compare.shuffles=1,1"],
            "--set compare.shuffles=1,1: compare.shuffles has the value 1 twice",
        ),
        (&["--set", "seed=1,2"], "--set seed=1,2: seeds are no case of their own"),
        (&["--seeds", "0"], "'0' does not fit --seeds <N>"),
        (&["--set", "data.file=none.csv", "--seeds", "2"], "cannot read the table 'none.csv'"),
    ] {
        let found =
            folder.refusal(&[&["sweep", "experiment.toml", "--out", "swept"], arguments].concat());
        assert!(found.starts_with(sentence), "{found}");
        assert!(!folder.path("swept").exists(), "nothing is written");
    }
    folder.fit("run", &["--no-compare"]);
    let taken =
        folder.refusal(&["sweep", "experiment.toml", "--seeds", "2", "--out", "run", "--force"]);
    assert!(taken.contains("is not the folder of a sweep"), "{taken}");
}

#[test]
fn lists_are_values_and_keys_of_other_methods_are_left_out_aloud() {
    let folder = Folder::new();
    folder.append("experiment.toml", "[method]\nkind = \"fedrelax\"\nalpha = 0.1\n");
    let result = sweep(
        &folder,
        "swept",
        &[
            "--set",
            r#"data.features=["x"],["x","z"]"#,
            "--set",
            "method.kind=fedrelax,mixed",
            "--quick",
            "--quiet",
        ],
    );
    let values = |case: usize| result["cases"][case]["values"].clone();
    assert_eq!(values(0), serde_json::json!([r#"["x"]"#, "fedrelax"]));
    assert_eq!(values(3), serde_json::json!([r#"["x", "z"]"#, "mixed"]));
    let local = |case: usize| result["cases"][case]["errors"][0][1]["mean"].as_f64().unwrap();
    assert!(local(0) > local(2), "a feature is worth something");
    let notes = result["notes"].to_string();
    assert!(notes.contains("method.alpha is not used with method.kind = mixed."), "{notes}");
}

#[test]
fn fit_at_several_seeds_is_a_sweep_without_keys() {
    let folder = drawn();
    folder.done(&["fit", "experiment.toml", "--seeds", "3", "--quick", "--quiet"]);
    sweep(&folder, "swept", &["--seeds", "3", "--quick", "--quiet"]);
    assert_eq!(folder.json("sweeps/experiment/result.json"), folder.json("swept/result.json"));
    assert_eq!(folder.read("sweeps/experiment/plot.svg"), folder.read("swept/plot.svg"));
    let svg = folder.read("swept/plot.svg");
    for method in ["network", "shuffled"] {
        assert!(svg.contains(&format!(">{method}<")), "{method}");
    }
    let table = folder.read("swept/table.csv");
    assert!(table.starts_with("sweep,local,local_se,"), "{table}");
    assert_eq!(table.lines().count(), 2);
    assert!(folder.refusal(&["fit", "experiment.toml", "--seeds", "1"]).contains("--seeds"));
    let sentence = folder.refusal(&["fit", "swept", "--resume"]);
    assert!(sentence.contains("continue it with fedgrid sweep swept --resume"), "{sentence}");
}

#[test]
fn seeds_that_draw_nothing_are_said_to() {
    let folder = Folder::new();
    let result = sweep(
        &folder,
        "swept",
        &[
            "--seeds",
            "2",
            "--method",
            "mixed",
            "--set",
            "compare.shuffles=0",
            "--set",
            "public.kind=columns",
            "--set",
            "public.columns=[\"x\",\"z\"]",
            "--quiet",
        ],
    );
    let notes = result["notes"].to_string();
    assert!(notes.contains("All seeds gave the same errors"), "{notes}");
    assert!(notes.contains("Test rows are the same for every seed."), "{notes}");
}

#[test]
fn cases_of_different_metrics_are_told_apart() {
    let folder = drawn();
    sweep(
        &folder,
        "swept",
        &["--set", "compare.metric=mse,mae", "--method", "mixed", "--quick", "--quiet"],
    );
    let table = folder.read("swept/table.csv");
    assert_eq!(column(&table, "metric"), ["mse", "mae"]);
    let said = folder.read("swept/table.md");
    assert!(
        said.contains("Cases have different metrics, whose errors cannot be compared"),
        "{said}"
    );
}

#[test]
fn methods_far_above_the_others_are_named_below_the_plot() {
    let folder = drawn();
    let arguments = ["--set", "compare.shuffles=1,2", "--seeds", "2", "--quiet"];
    let result = sweep(&folder, "swept", &arguments);
    let case = &result["cases"][0]["errors"];
    let error = |name: &str| {
        let all = case.as_array().unwrap();
        all.iter().find(|one| one[0] == name).unwrap()[1]["mean"].as_f64().unwrap()
    };
    // The levels of nodes differ, so that one model for all is far off.
    assert!(error("pooled") > 2.0 * error("network"));
    let svg = folder.read("swept/plot.svg");
    let named = svg.lines().find(|line| line.contains(">above the plot: ")).unwrap();
    assert!(named.contains("pooled (from "), "{named}");
    assert!(!svg.contains(">pooled<") && svg.contains(">network<"), "{svg}");
}

#[test]
fn the_plot_has_a_line_for_each_series_and_bars_of_standard_errors() {
    let folder = drawn();
    let arguments = [
        "--set",
        "method.alpha=0.01,0.1,1",
        "--set",
        "method.kind=fedrelax,gtv",
        "--seeds",
        "2",
        "--quick",
        "--quiet",
    ];
    sweep(&folder, "swept", &arguments);
    let svg = folder.read("swept/plot.svg");
    assert!(svg.starts_with("<svg xmlns=") && !svg.contains("<style"), "{svg}");
    for text in [">method.alpha<", ">fedrelax<", ">gtv<", ">0.01<", ">0.1<", ">1<"] {
        assert!(svg.contains(text), "{text}");
    }
    // Lines of three points: one for each method.
    let points = |line: &str| {
        line.split("points=\"").nth(1).unwrap().split('"').next().unwrap().split(' ').count()
    };
    let lines: Vec<&str> = svg.lines().filter(|line| line.starts_with("<polyline")).collect();
    assert_eq!(lines.iter().filter(|line| points(line) == 3).count(), 2, "{svg}");
    // Decades are at equal distances: the axis is logarithmic.
    let at = |text: &str| -> f64 {
        let line = svg.lines().find(|line| line.contains(&format!(">{text}<"))).unwrap();
        line.split("x=\"").nth(1).unwrap().split('"').next().unwrap().parse().unwrap()
    };
    assert!(((at("0.1") - at("0.01")) - (at("1") - at("0.1"))).abs() < 0.02);
    // A point of each case, and one of each entry of the legend.
    assert_eq!(svg.matches("<circle").count(), 6 + 2);
    let pdf = fs::read(folder.path("swept/plot.pdf")).unwrap();
    assert!(pdf.starts_with(b"%PDF-1.4") && pdf.ends_with(b"%%EOF\n"));
}
