//! Which models a run keeps, and which of them predict.

use std::fmt::Write as _;

use crate::common::Folder;

/// The folder of a run that was stored in format 2, and what its version predicted with it.
const FORMAT_2: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/command/format_2");
const FORMAT_2_PREDICTIONS: &str = include_str!("format_2_predictions.csv");

const PREDICT: [&str; 4] = ["predict", "run", "--data", "rows.csv"];

/// The numbers in a column of printed CSV.
fn column(csv: &str, name: &str) -> Vec<f64> {
    let place = csv.lines().next().unwrap().split(',').position(|own| own == name).unwrap();
    csv.lines().skip(1).map(|line| line.split(',').nth(place).unwrap().parse().unwrap()).collect()
}

/// Predictions of all rows by one of the methods that the folder `run` keeps.
fn by(folder: &Folder, run: &str, method: &str) -> Vec<f64> {
    column(&folder.done(&["predict", run, "--data", "rows.csv", "--use", method]), "prediction")
}

/// A folder whose nodes all have one line, with many rows each: the pooled model is enough.
fn with_one_line() -> Folder {
    let folder = Folder::new();
    let mut text = String::from("node,x,z,y,split\n");
    for node in 0..6 {
        for row in 0..600 {
            let at = f64::from(600 * node + row);
            let (x, z) = ((1.0 + at).sin(), (2.0 * at).cos());
            let y = 1.0 + x - 0.5 * z + (7.0 * at).sin();
            let role = match row % 20 {
                0 => "train",
                1 => "val",
                _ => "test",
            };
            let name = char::from(b'a' + u8::try_from(node).unwrap());
            writeln!(text, "{name},{x:.6},{z:.6},{y:.6},{role}").unwrap();
        }
    }
    folder.write("rows.csv", text);
    folder
}

#[test]
fn the_method_that_the_verdict_advises_predicts() {
    let folder = with_one_line();
    let result = folder.fit("run", &[]);
    assert_eq!(result["advised"], "pooled", "{}", result["verdict"]);
    let answer = folder.run(&PREDICT);
    assert_eq!(
        answer.err.lines().last(),
        Some(
            "predicted by pooled, as the verdict advises (--use takes network, local, shrunk, mixed, too)"
        )
    );
    assert_eq!(column(&answer.out, "prediction"), by(&folder, "run", "pooled"));
    // One model of all nodes is stored once.
    assert_eq!(folder.read("run/models/pooled.jsonl").lines().count(), 1);
    let own = folder.run(&[&PREDICT[..], &["--use", "network"]].concat());
    assert!(
        own.err.contains("predicted by network instead of pooled (--use takes "),
        "{}",
        own.err
    );
    assert_ne!(own.out, answer.out);
}

#[test]
fn what_is_kept_of_a_method_is_what_a_run_of_it_has() {
    let folder = Folder::new();
    let result = folder.fit("run", &[]);
    assert_eq!(result["advised"], "network");
    for method in ["local", "pooled", "shrunk"] {
        folder.fit(method, &["--method", method]);
        assert_eq!(by(&folder, "run", method), by(&folder, method, method), "{method}");
        // Their intervals, too.
        let level = |run: &str| {
            let asked = ["predict", run, "--data", "rows.csv", "--interval", "0.8"];
            folder.done(&[&asked[..], &["--use", method]].concat())
        };
        assert_eq!(level("run"), level(method), "{method}");
    }
    let alone = ["--method", "mixed", "--shape", "none"];
    folder.fit("mixed", &alone);
    assert_eq!(by(&folder, "run", "mixed"), by(&folder, "mixed", "network"));
}

#[test]
fn without_validation_rows_kept_methods_have_intervals_too() {
    let folder = Folder::new();
    let rows = folder.read("rows.csv");
    let rows: Vec<&str> = rows.lines().filter(|line| !line.ends_with(",val")).collect();
    folder.write("rows.csv", rows.join("\n") + "\n");
    folder.fit("run", &["--quick"]);
    for method in ["network", "local", "pooled", "shrunk", "mixed"] {
        let asked = [&PREDICT[..], &["--interval", "0.8", "--use", method]].concat();
        let printed = folder.done(&asked);
        let (lower, upper) = (column(&printed, "lower"), column(&printed, "upper"));
        assert!(lower.iter().zip(&upper).all(|(lower, upper)| lower < upper), "{method}");
    }
}

#[test]
fn a_method_that_is_not_kept_gets_one_sentence_with_those_that_are() {
    let folder = Folder::new();
    folder.fit("run", &["--quick"]);
    assert_eq!(
        folder.refusal(&[&PREDICT[..], &["--use", "ditto"]].concat()),
        "'run' keeps no models of 'ditto', expected network, local, pooled, shrunk or mixed"
    );
    folder.fit("run", &["--no-compare", "--force"]);
    assert_eq!(
        folder.refusal(&[&PREDICT[..], &["--use", "pooled"]].concat()),
        "'run' keeps no models of 'pooled', expected network"
    );
}

#[test]
fn a_baseline_that_is_advised_is_kept() {
    let folder = with_one_line();
    // One model for all is a rival of the network, whatever trains it.
    let result = folder.fit("run", &["--baselines", "ditto,ifca"]);
    let advised = result["advised"].as_str().unwrap_or("network");
    let about = folder.json("run/models/about.json");
    assert!(about["methods"].as_array().unwrap().iter().any(|name| name == advised), "{about}");
    folder.done(&PREDICT);
}

#[test]
fn runs_of_the_format_before_still_predict_the_same() {
    let folder = Folder::new();
    let asked = ["predict", FORMAT_2, "--data", "rows.csv", "--interval", "0.8"];
    let answer = folder.run(&asked);
    assert_eq!(answer.code, Some(0), "{}", answer.err);
    assert_eq!(answer.err, "predicted by network\n");
    for name in ["lower", "upper"] {
        assert_eq!(column(&answer.out, name), column(FORMAT_2_PREDICTIONS, name));
    }
    assert_eq!(column(&answer.out, "prediction"), column(FORMAT_2_PREDICTIONS, "y"));
    assert_eq!(
        folder.refusal(&[&asked[..], &["--use", "shrunk"]].concat()),
        format!("'{FORMAT_2}' keeps no models of 'shrunk', expected network")
    );
}
