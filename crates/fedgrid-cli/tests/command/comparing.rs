//! `fedgrid compare`.

use std::fs;

use serde_json::Value;

use crate::common::Folder;

fn runs() -> Folder {
    let folder = Folder::new();
    for (out, method) in [("weak", "fedrelax"), ("strong", "gtv"), ("auto", "auto")] {
        folder.fit(out, &["--method", method, "--title", out, "--quick"]);
    }
    folder
}

#[test]
fn runs_stand_side_by_side_with_errors_strengths_and_verdicts() {
    let folder = runs();
    let text = folder.done(&["compare", "weak", "strong", "auto"]);
    let first = text.lines().next().unwrap();
    assert_eq!(first.split_whitespace().collect::<Vec<_>>(), ["run", "weak", "strong", "auto"]);
    for name in ["method", "verdict", "local", "network", "strength of network", "scored rows"] {
        assert!(text.lines().any(|line| line.starts_with(name)), "{name}: {text}");
    }
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    assert!(text.contains("Errors are mse."), "{text}");
    let csv = folder.done(&["compare", "weak", "strong", "--as", "csv"]);
    let cells = |line: usize| -> Vec<&str> { csv.lines().nth(line).unwrap().split(',').collect() };
    let place = |name: &str| cells(0).iter().position(|head| *head == name).unwrap();
    for (line, run) in [(1, "weak"), (2, "strong")] {
        let result = folder.json(&format!("{run}/result.json"));
        let error: f64 = cells(line)[place("network")].parse().unwrap();
        let known = result["comparison"]["network"]["test"].as_f64().unwrap();
        assert_eq!(error.to_bits(), known.to_bits(), "{run}");
        assert_eq!(cells(line)[place("verdict")], result["verdict_kind"].as_str().unwrap());
        let strength: f64 = cells(line)[place("strength of network")].parse().unwrap();
        let known = result["comparison"]["network"]["alpha"].as_f64().unwrap();
        assert_eq!(strength.to_bits(), known.to_bits(), "{run}");
    }
    let json: Value =
        serde_json::from_str(&folder.done(&["compare", "weak", "auto", "--json"])).unwrap();
    assert_eq!(json["runs"][1]["title"], "auto");
    assert_eq!(json["runs"][0]["comparison"], folder.json("weak/result.json")["comparison"]);
    assert_eq!(json["notes"], serde_json::json!([]));
}

#[test]
fn a_table_of_runs_is_written_as_its_name_ends() {
    let folder = runs();
    folder.done(&["compare", "weak", "strong", "--out", "table.tex"]);
    assert!(folder.read("table.tex").contains("\\begin{tabular}{l"));
    folder.done(&["compare", "weak", "strong", "--out", "table.md"]);
    assert!(folder.read("table.md").starts_with("| run | method | verdict |"));
    assert_eq!(
        folder.refusal(&["compare", "weak", "strong", "--out", "table.md"]),
        "'table.md' exists: replace it with --force"
    );
    let sentence = folder.refusal(&["compare", "weak", "strong", "--out", "table.docx"]);
    assert!(sentence.ends_with("say how it is written with --as"), "{sentence}");
}

#[test]
fn what_cannot_be_compared_is_said_or_refused() {
    let folder = runs();
    folder.fit("mae", &["--metric", "mae", "--title", "weak", "--quick"]);
    folder.set_cell("rows.csv", 1, 3, "1.5");
    folder.fit("other", &["--quick"]);
    // Two runs of one title are told apart by their folders.
    let text = folder.done(&["compare", "weak", "mae", "other"]);
    let first = text.lines().next().unwrap();
    assert_eq!(first.split_whitespace().collect::<Vec<_>>(), ["run", "weak", "mae", "experiment"]);
    let said = text.replace('\n', " ");
    assert!(said.contains("The runs have different metrics"), "{text}");
    assert!(said.contains("The runs were trained on different files"), "{text}");
    assert!(text.lines().any(|line| line.starts_with("metric")), "{text}");
    assert_eq!(folder.refusal(&["compare", "weak", "weak"]), "'weak' is given twice");
    assert!(folder.refusal(&["compare", "weak"]).contains("see --help"));
    let sentence = folder.refusal(&["compare", "weak", "nothing"]);
    assert!(sentence.contains("nothing"), "{sentence}");
    folder.done(&[
        "sweep",
        "experiment.toml",
        "--seeds",
        "2",
        "--quick",
        "--quiet",
        "--out",
        "swept",
    ]);
    let sentence = folder.refusal(&["compare", "weak", "swept"]);
    assert!(sentence.contains("is the folder of a sweep, expected that of a run"), "{sentence}");
    fs::remove_file(folder.path("weak/result.json")).unwrap();
    assert!(folder.refusal(&["compare", "weak", "strong"]).contains("weak"));
}
