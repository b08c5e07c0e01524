//! `fedgrid simulate`: federations in which things go wrong.

mod common;

use common::Folder;
use serde_json::Value;

const FAULTS: [&str; 10] =
    ["--loss", "0.3", "--crash", "0.02", "--partition", "5..20", "--until", "60", "--seeds", "5"];

fn simulated(folder: &Folder, more: &[&str]) -> Value {
    let command = [&["simulate", "experiment.toml", "--json"], &FAULTS[..], more].concat();
    serde_json::from_str(&folder.done(&command)).unwrap()
}

#[test]
fn synchronous_rounds_end_with_the_bits_of_an_undisturbed_run_in_any_number_of_processes() {
    let folder = Folder::new();
    for more in [&[][..], &["--processes", "2"], &["--set", "method.kind=gtv", "--keep", "4"]] {
        let report = simulated(&folder, more);
        let seeds = report["seeds"].as_array().unwrap();
        assert_eq!(seeds.len(), 5);
        for seed in seeds {
            assert_eq!(seed["violations"], Value::Array(Vec::new()), "{seed}");
            assert_eq!(seed["same_bits"], true, "{seed}");
            assert!(seed["lost"].as_u64() > Some(0), "{seed}");
        }
    }
}

#[test]
fn asynchronous_rounds_end_near_the_optimum_and_a_seed_is_a_trace() {
    let folder = Folder::new();
    let more = ["--mode", "asynchronous", "--delay", "3", "--set", "method.alpha=0.2"];
    let report = simulated(&folder, &more);
    assert!(report["largest_distance"].as_f64().unwrap() < 1e-3, "{report}");
    assert_eq!(report["seeds"][2]["trace"], simulated(&folder, &more)["seeds"][2]["trace"]);
    assert_ne!(report["seeds"][2]["trace"], report["seeds"][1]["trace"]);
}

#[test]
fn wrong_shares_and_times_are_named() {
    let folder = Folder::new();
    let refusal =
        |more: &[&str]| folder.refusal(&[&["simulate", "experiment.toml"], more].concat());
    assert_eq!(refusal(&["--loss", "1.5"]), "loss is 1.5, expected a share from zero to one");
    assert_eq!(
        refusal(&["--processes", "9"]),
        "parts is 9, expected from one to the number of nodes"
    );
    assert!(refusal(&["--partition", "9"]).contains("'9' does not fit --partition"));
}

#[test]
fn the_words_say_what_happened() {
    let folder = Folder::new();
    let text = folder.done(&[&["simulate", "experiment.toml"], &FAULTS[..]].concat());
    for words in ["6 nodes in 6 processes", "5 seeds: 5 ended as promised", "in 5 of 5"] {
        assert!(text.contains(words), "{text}");
    }
}
