//! `fedgrid simulate`: federations in which things go wrong.

use crate::common::Folder;
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
fn probes_under_faults_end_with_the_bits_of_the_run_without() {
    let folder = Folder::new();
    let persfl = ["--set", "method.kind=persfl", "--set", "method.rounds=15"];
    for more in [&[][..], &["--processes", "3", "--torn", "1", "--keep", "3"]] {
        let report = simulated(&folder, &[&persfl[..], more].concat());
        assert_eq!(report["compared_with"], "run without faults");
        assert_eq!(report["largest_distance"], 0.0);
        for seed in report["seeds"].as_array().unwrap() {
            assert_eq!(seed["violations"], Value::Array(Vec::new()), "{seed}");
            assert_eq!((&seed["rounds"], &seed["same_bits"]), (&30.into(), &true.into()), "{seed}");
        }
    }
    let text = folder.done(&[&["simulate", "experiment.toml"], &FAULTS[..], &persfl].concat());
    assert!(text.contains("persfl, step 0.1") && text.contains("to the run without faults"));
    let refusal =
        |more: &[&str]| folder.refusal(&[&["simulate", "experiment.toml"], more].concat());
    let late = refusal(&[&persfl[..2], &["--mode", "asynchronous"]].concat());
    assert!(late.starts_with("--mode is asynchronous, expected synchronous"), "{late}");
    let hub = refusal(&["--set", "method.kind=fedavg"]);
    assert!(
        hub.starts_with("method.kind is \"fedavg\", expected fedrelax, gtv, mixed or persfl"),
        "{hub}"
    );
}

#[test]
fn a_mixed_model_under_faults_ends_with_the_bits_of_the_run_without() {
    let folder = Folder::new();
    let mixed = ["--set", "method.kind=mixed"];
    let rho = ["--set", "method.rho=0.5"];
    let parts = [&["--processes", "2", "--keep", "5"], &rho[..]].concat();
    let free = [&["--set", "method.free=[\"z\"]"], &rho[..]].concat();
    // Few rows of classes leave much to search for: ten thousand rounds.
    let long = ["--deadline", "200000"];
    let shared = [&["--set", "method.shared=[\"x\", \"z\"]"], &rho[..], &long].concat();
    let classes = Folder::with_classes();
    for (folder, more) in
        [(&folder, &[][..]), (&folder, &parts), (&folder, &free), (&classes, &shared)]
    {
        let report = simulated(folder, &[&mixed[..], more].concat());
        for seed in report["seeds"].as_array().unwrap() {
            assert_eq!(seed["violations"], Value::Array(Vec::new()), "{seed}");
            assert_eq!(
                (&seed["converged"], &seed["same_bits"]),
                (&true.into(), &true.into()),
                "{seed}"
            );
        }
    }
    let calm = ["simulate", "experiment.toml", "--seeds", "1"];
    let text = folder.done(&[&calm[..], &mixed, &["--set", "method.rho=0.5"]].concat());
    assert!(text.contains("mixed, rho 0.5, synchronous rounds"), "{text}");
    let late = folder.refusal(&[&calm[..], &mixed, &["--mode", "asynchronous"]].concat());
    assert!(late.contains("expected synchronous for method.kind = \"mixed\": sums are"), "{late}");
}

#[test]
fn writes_that_falls_interrupt_are_torn_or_lost_as_asked() {
    let folder = Folder::new();
    let writes = |share: &str| {
        let crash = ["--crash", "0.1", "--until", "60", "--torn", share];
        let answer =
            folder.done(&[&["simulate", "experiment.toml", "--json"], &crash[..]].concat());
        let report: Value = serde_json::from_str(&answer).unwrap();
        let count = |name: &str| {
            let seeds = report["seeds"].as_array().unwrap().iter();
            seeds.map(|seed| seed[name].as_u64().unwrap()).sum::<u64>()
        };
        assert!(report["seeds"].as_array().unwrap().iter().all(|seed| seed["same_bits"] == true));
        [count("torn"), count("unwritten")]
    };
    let ([never, lost], [torn, _]) = (writes("0"), writes("1"));
    assert!(never == 0 && lost > 0 && torn > 0, "{never} {lost} {torn}");
}

#[test]
fn where_rounds_do_not_settle_ends_are_compared_with_the_run_without_faults() {
    let folder = Folder::new();
    let compared = |alpha: &str| {
        let alpha = format!("method.alpha={alpha}");
        let more = ["--set", "method.rounds=20", "--set", &alpha];
        simulated(&folder, &more)["compared_with"].as_str().unwrap().to_string()
    };
    assert_eq!(compared("0.2"), "fault-free optimum");
    // So strong a pull moves all nodes together, slowly.
    assert_eq!(compared("1e7"), "run without faults");
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
    assert_eq!(refusal(&["--torn", "2"]), "torn is 2, expected a share from zero to one");
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

#[test]
fn nodes_that_choose_their_strength_end_with_the_bits_of_the_run_without_faults() {
    let folder = Folder::new();
    for more in [&[][..], &["--set", "method.kind=gtv", "--processes", "2", "--keep", "3"]] {
        let report = simulated(&folder, &[&["--tune"], more].concat());
        for seed in report["seeds"].as_array().unwrap() {
            assert_eq!(seed["violations"], Value::Array(Vec::new()), "{seed}");
            assert_eq!(seed["same_bits"], true, "{seed}");
        }
    }
    let refusal = |more: &[&str]| {
        folder.refusal(&[&["simulate", "experiment.toml", "--tune"], more].concat())
    };
    let given = refusal(&["--set", "method.kind=fedrelax", "--set", "method.alpha=1"]);
    assert!(given.contains("--tune is given, but method.alpha is not left"), "{given}");
    let late = refusal(&["--mode", "asynchronous"]);
    assert!(late.contains("expected synchronous"), "{late}");
}
