//! A run is a folder: complete, the same for the same input, resumable, and predicted from.

use std::{
    fs,
    process::{Command, Stdio},
    thread::sleep,
    time::Duration,
};

use crate::common::{Folder, NODES, timeless};
use serde_json::Value;

/// Trees at two of the six nodes; then the network is solved in rounds.
const MIXED: &str = "
[model]
ridge = 0.01
[model.nodes.b]
kind = \"tree\"
[model.nodes.e]
kind = \"tree\"
max_depth = 2
[public]
points = 20
";

fn mixed() -> Folder {
    let folder = Folder::new();
    folder.append("experiment.toml", MIXED);
    folder
}

#[test]
fn a_quick_run_tries_less_and_says_so_before_its_verdict() {
    let folder = Folder::new();
    let whole = folder.fit("whole", &[]);
    let said = folder.done(&["fit", "experiment.toml", "--quick", "--out", "quick"]);
    let (warning, verdict) =
        (said.find("Warning: This is a first look (--quick)"), said.find("At first look: "));
    assert!(warning.is_some() && warning < verdict, "{said}");
    let quick = folder.json("quick/result.json");
    assert!(quick["verdict"].as_str().is_some_and(|text| text.starts_with("At first look: ")));
    assert!(!whole["verdict"].as_str().unwrap().contains("first look"));
    let tried = |result: &Value, name: &str| result["path"][name].as_array().map(Vec::len);
    assert!(tried(&quick, "shrunk") < tried(&whole, "shrunk"));
    assert!(tried(&quick, "shuffled 1").is_some() && tried(&quick, "shuffled 2").is_none());
    assert!(folder.read("quick/experiment.toml").contains("quick = true"));
}

/// The names of the files below a folder, in order.
fn files(folder: &Folder, name: &str) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder.path(name))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// Every text in a JSON value.
fn texts(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => vec![text.clone()],
        Value::Array(items) => items.iter().flat_map(texts).collect(),
        Value::Object(fields) => fields
            .iter()
            .flat_map(|(key, value)| std::iter::once(key.clone()).chain(texts(value)))
            .collect(),
        _ => Vec::new(),
    }
}

/// The numbers in a column of printed CSV.
fn column(csv: &str, place: usize) -> Vec<f64> {
    csv.lines().skip(1).map(|line| line.split(',').nth(place).unwrap().parse().unwrap()).collect()
}

#[test]
fn a_finished_run_holds_its_parts() {
    let folder = Folder::new();
    folder.fit("runs/first", &[]);
    let expected = [
        "coefficients.csv",
        "experiment.toml",
        "metrics.jsonl",
        "models",
        "report.html",
        "result.json",
        "statistics.json",
        "uncertainty.json",
    ];
    assert_eq!(files(&folder, "runs/first"), expected);
    assert_eq!(
        files(&folder, "runs/first/models"),
        [
            "about.json",
            "local.jsonl",
            "local.uncertainty.json",
            "mixed.jsonl",
            "mixed.uncertainty.json",
            "nodes.jsonl",
            "pooled.jsonl",
            "pooled.uncertainty.json",
            "shrunk.jsonl",
            "shrunk.uncertainty.json",
        ]
    );
    assert_eq!(folder.read("runs/first/models/nodes.jsonl").lines().count(), NODES.len());
    // One line for who it is, three for methods to choose from, one for each of local, pooled, shrunk, mixed,
    // network, two methods that were not chosen, and five shuffles.
    assert_eq!(folder.read("runs/first/metrics.jsonl").lines().count(), 16);
}

#[test]
fn without_a_folder_the_run_is_named_after_the_experiment() {
    let folder = Folder::new();
    folder.done(&["fit", "experiment.toml", "--quiet"]);
    assert!(folder.path("runs/experiment/result.json").exists());
}

#[test]
fn the_result_has_its_documented_shape() {
    let folder = Folder::new();
    let result = folder.fit("run", &["--method", "fedrelax"]);
    for key in ["verdict", "verdict_kind", "advised", "metric", "version"] {
        assert!(result[key].is_string(), "{key}");
    }
    for key in ["rounds", "bytes", "seed"] {
        assert!(result[key].is_u64(), "{key}");
    }
    assert!(result["helps"].is_boolean());
    assert!(result["seconds"].is_f64());
    for contestant in ["local", "pooled", "shrunk", "mixed", "network", "shuffled"] {
        let entry = &result["comparison"][contestant];
        assert!(entry["validation"].is_f64() && entry["test"].is_f64(), "{contestant}");
    }
    let spread = &result["comparison"]["shuffled"]["spread"];
    assert_eq!(spread["repeats"], 5);
    assert!(spread["min"].as_f64() <= spread["max"].as_f64());
    assert!(result["gain"]["better"].is_u64() && result["gain"]["worse"].is_u64());
    assert_eq!(result["method"]["kind"], "fedrelax");
    assert!(result["method"]["alpha"].is_f64());
    assert!(result["certificate"]["kind"].is_string() && result["certificate"]["value"].is_f64());
    let names: Vec<&str> =
        result["nodes"].as_array().unwrap().iter().map(|n| n["name"].as_str().unwrap()).collect();
    assert_eq!(names, NODES);
    assert_eq!(result["version"], env!("CARGO_PKG_VERSION"));
}

#[test]
fn a_run_names_no_place_on_this_machine() {
    let folder = Folder::new();
    let data = folder.path("rows.csv").display().to_string();
    let result = folder.fit("run", &["--data", &data]);
    for text in texts(&result) {
        assert!(!text.contains('/') && !text.contains('\\'), "{text}");
    }
    let root = folder.path("").canonicalize().unwrap();
    let files = ["experiment.toml", "metrics.jsonl", "report.html", "models/about.json"];
    for file in files.iter().chain(&["models/nodes.jsonl"]) {
        let text = folder.read(&format!("run/{file}"));
        assert!(!text.contains(&data) && !text.contains(&*root.to_string_lossy()), "{file}");
    }
    assert!(folder.read("run/experiment.toml").contains("file = \"../rows.csv\""));
}

#[test]
fn json_on_standard_output_is_the_result_file() {
    let folder = Folder::new();
    let answer = folder.run(&["fit", "experiment.toml", "--out", "run", "--json"]);
    assert_eq!(answer.out, folder.read("run/result.json"));
    assert_eq!(answer.err, "");
}

#[test]
fn quiet_commands_print_nothing_but_the_table_that_was_asked_for() {
    let folder = Folder::new();
    let answer = folder.run(&["fit", "experiment.toml", "--out", "run", "--quiet"]);
    assert_eq!((answer.code, answer.out.as_str(), answer.err.as_str()), (Some(0), "", ""));
    let asked = ["predict", "run", "--data", "rows.csv", "--quiet"];
    let answer = folder.run(&asked);
    assert_eq!((answer.code, answer.err.as_str()), (Some(0), ""));
    assert!(answer.out.starts_with("node,prediction,by,row\n"), "{}", answer.out);
    let answer = folder.run(&[&asked[..], &["--out", "new.csv"]].concat());
    assert_eq!((answer.code, answer.out.as_str(), answer.err.as_str()), (Some(0), "", ""));
}

#[test]
fn the_number_of_threads_changes_no_bit() {
    for folder in [Folder::new(), mixed()] {
        let one = timeless(folder.fit("one", &["--threads", "1"]));
        for threads in ["2", "8"] {
            assert_eq!(timeless(folder.fit(threads, &["--threads", threads])), one);
            let files = ["models/nodes.jsonl", "metrics.jsonl", "experiment.toml"];
            for file in files.iter().chain(&["uncertainty.json", "coefficients.csv"]) {
                let (here, there) = (format!("one/{file}"), format!("{threads}/{file}"));
                assert_eq!(folder.read(&here), folder.read(&there), "{file}");
            }
        }
    }
    assert_eq!(mixed().fit("run", &["--no-compare"])["method"]["solver"], "rounds");
}

#[test]
fn predictions_come_from_each_rows_own_model() {
    let folder = Folder::new();
    folder.fit("run", &[]);
    let printed = folder.done(&["predict", "run", "--data", "rows.csv"]);
    assert_eq!(printed.lines().next(), Some("node,prediction,by,row"));
    let models: Vec<Value> = folder
        .read("run/models/nodes.jsonl")
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let rows = folder.read("rows.csv");
    let (x, z) = (column(&rows, 1), column(&rows, 2));
    let predictions = column(&printed, 1);
    assert_eq!(predictions.len(), x.len());
    for (row, line) in rows.lines().skip(1).enumerate() {
        let model = models.iter().find(|model| model["node"] == line[..1]).unwrap();
        let of = |place: &str| model["model"].pointer(place).unwrap().as_f64().unwrap();
        let by_hand = of("/slopes/0") * x[row] + of("/slopes/1") * z[row] + of("/intercept");
        assert!((predictions[row] - by_hand).abs() < 1e-12);
    }
}

#[test]
fn the_error_of_predictions_is_the_error_of_the_result() {
    let folder = Folder::new();
    let result = folder.fit("run", &[]);
    let predictions = column(&folder.done(&["predict", "run", "--data", "rows.csv"]), 1);
    let rows = folder.read("rows.csv");
    let y = column(&rows, 3);
    let tested: Vec<usize> =
        (0..y.len()).filter(|&r| rows.lines().nth(r + 1).unwrap().ends_with("test")).collect();
    let sum: f64 = tested.iter().map(|&row| (y[row] - predictions[row]).powi(2)).sum();
    let error = result["comparison"]["network"]["test"].as_f64().unwrap();
    assert!((sum / tested.len() as f64 - error).abs() < 1e-12);
}

#[test]
fn class_probabilities_sum_to_one() {
    let folder = Folder::with_classes();
    let result = folder.fit("run", &["--set", "model.nodes.b.kind=tree"]);
    assert_eq!(result["metric"], "log_loss");
    assert!(result["comparison"]["network"]["accuracy"].is_f64());
    let printed = folder.done(&["predict", "run", "--data", "rows.csv", "--json"]);
    let printed: Value = serde_json::from_str(&printed).unwrap();
    let predictions = printed["predictions"].as_array().unwrap();
    assert_eq!(predictions.len(), 48);
    for row in predictions {
        let [cold, warm] = ["cold", "warm"].map(|c| row["probabilities"][c].as_f64().unwrap());
        assert!((cold + warm - 1.0).abs() < 1e-12 && cold >= 0.0 && warm >= 0.0);
        assert_eq!(row["prediction"], if warm > cold { "warm" } else { "cold" });
    }
    let printed = folder.done(&["predict", "run", "--data", "rows.csv"]);
    assert_eq!(
        printed.lines().next(),
        Some("node,prediction,probability_cold,probability_warm,by,row")
    );
    assert_eq!(printed.lines().count(), 49);
}

#[test]
fn trees_that_are_certain_of_other_classes_share_their_shape() {
    let folder = Folder::with_classes();
    let result = folder.fit(
        "run",
        &["--model", "tree", "--method", "fedrelax", "--set", "method.couple_intercept=false"],
    );
    assert!(result["comparison"]["network"]["test"].is_f64());
    assert!(!folder.read("run/models/nodes.jsonl").contains("null"));
    folder.done(&["predict", "run", "--data", "rows.csv"]);
}

#[test]
fn predictions_are_written_once() {
    let folder = Folder::new();
    folder.fit("run", &[]);
    let arguments = ["predict", "run", "--data", "rows.csv", "--out", "p.csv"];
    assert_eq!(folder.done(&arguments), "48 predictions in p.csv\n");
    let refusal = folder.refusal(&arguments);
    assert_eq!(refusal, "'p.csv' exists: replace it with --force");
    folder.done(&[&arguments[..], &["--force"]].concat());
    assert_eq!(folder.read("p.csv"), folder.done(&["predict", "run", "--data", "rows.csv"]));
}

#[test]
fn an_interrupted_run_is_finished_by_resume() {
    let folder = mixed();
    // Many shuffles and rounds that never converge make it long.
    let settings = ["method.tolerance=0", "compare.shuffles=60", "public.points=100"];
    let long = settings.map(|setting| ["--set", setting]).concat();
    let arguments = [&["fit", "experiment.toml", "--out", "cut"], &long[..]].concat();
    let mut child = folder.command(&arguments).stdout(Stdio::null()).spawn().unwrap();
    let steps =
        || fs::read_to_string(folder.path("cut/metrics.jsonl")).unwrap_or_default().lines().count();
    while steps() < 4 {
        assert_eq!(child.try_wait().unwrap(), None, "the run is under way");
        sleep(Duration::from_millis(5));
    }
    let killed = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(killed.success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    let last = String::from_utf8(output.stderr).unwrap().lines().last().unwrap().to_string();
    assert_eq!(last, "fedgrid: interrupted; continue with --resume");
    assert!(!folder.path("cut/result.json").exists());
    assert_eq!(
        folder.refusal(&arguments),
        "'cut' holds an unfinished run: continue it with --resume, or replace it with --force"
    );
    let done = steps();
    let resumed = folder.fit("cut", &[&long[..], &["--resume"]].concat());
    assert!((4..60).contains(&done), "{done} steps were done before");
    assert_eq!(timeless(resumed), timeless(folder.fit("whole", &long)));
    assert_eq!(folder.read("cut/metrics.jsonl"), folder.read("whole/metrics.jsonl"));
}

/// A run without its end, as a killed process leaves it.
fn unfinished() -> Folder {
    let folder = Folder::new();
    folder.fit("run", &[]);
    fs::remove_file(folder.path("run/result.json")).unwrap();
    folder
}

#[test]
fn a_step_that_was_cut_is_done_again() {
    let folder = unfinished();
    let metrics = folder.read("run/metrics.jsonl");
    let cut = metrics.lines().take(4).collect::<Vec<_>>().join("\n");
    folder.write("run/metrics.jsonl", &cut[..cut.len() - 20]);
    let resumed = folder.fit("run", &["--resume"]);
    assert_eq!(timeless(resumed), timeless(folder.fit("whole", &[])));
    assert_eq!(folder.read("run/metrics.jsonl"), metrics);
}

#[test]
fn a_run_is_continued_by_its_folder_alone() {
    let whole = timeless(Folder::new().fit("run", &[]));
    for arguments in [&["fit", "run", "--resume"][..], &["fit", "--out", "run", "--resume"]] {
        let folder = unfinished();
        let (experiment, page) =
            (folder.read("run/experiment.toml"), folder.read("run/report.html"));
        folder.done(arguments);
        assert_eq!(timeless(folder.json("run/result.json")), whole);
        assert_eq!(folder.read("run/experiment.toml"), experiment);
        let titled =
            |page: &str| page.lines().find(|line| line.contains("<title>")).map(String::from);
        assert_eq!(titled(&folder.read("run/report.html")), titled(&page));
    }
    let folder = unfinished();
    let sentence = folder.refusal(&["fit", "run"]);
    assert!(sentence.contains("to continue an unfinished run there, add --resume"), "{sentence}");
    let sentence = folder.refusal(&["fit", "run", "--resume", "--out", "other"]);
    assert!(sentence.ends_with("--out is 'other', expected one of them"), "{sentence}");
    assert_eq!(
        folder.refusal(&["fit", "--out", "nothing", "--resume"]),
        "'nothing' holds no unfinished run; begin one without --resume"
    );
}

#[test]
fn resume_refuses_another_experiment_or_other_data() {
    let sentence = "'run' was begun with another experiment, data or version; \
                    replace it with --force";
    let resume = ["fit", "experiment.toml", "--out", "run", "--resume"];
    let folder = unfinished();
    assert_eq!(folder.refusal(&[&resume[..], &["--seed", "2"]].concat()), sentence);
    for file in ["rows.csv", "nodes.csv", "edges.csv"] {
        let text = folder.read(file);
        folder.append(file, "\n");
        assert_eq!(folder.refusal(&resume), sentence, "{file}");
        folder.write(file, text);
    }
    folder.done(&resume);
}

#[test]
fn force_replaces_a_run_and_keeps_other_files() {
    let folder = Folder::new();
    folder.fit("run", &[]);
    folder.write("run/remarks.txt", "mine");
    assert_eq!(folder.fit("run", &["--force", "--seed", "2"])["seed"], 2);
    assert_eq!(folder.read("run/remarks.txt"), "mine");
    assert_eq!(timeless(folder.json("run/result.json")), {
        timeless(folder.fit("fresh", &["--seed", "2"]))
    });
}

#[test]
fn the_stored_experiment_is_complete_and_runs_again() {
    let folder = mixed();
    let first = folder.fit("deep/run", &["--seed", "7", "--method", "fedrelax", "--alpha", "0.5"]);
    folder.done(&["fit", "deep/run/experiment.toml", "--out", "again", "--quiet"]);
    assert_eq!(timeless(first), timeless(folder.json("again/result.json")));
    let stored: toml::Table = folder.read("deep/run/experiment.toml").parse().unwrap();
    assert_eq!(stored["seed"].as_integer(), Some(7));
    assert_eq!(stored["method"]["alpha"].as_float(), Some(0.5));
    assert_eq!(stored["compare"]["shuffles"].as_integer(), Some(5));
    assert_eq!(stored["model"]["nodes"]["e"]["max_depth"].as_integer(), Some(2));
}

#[test]
fn a_flag_goes_over_the_file_and_a_setting_over_both() {
    let folder = Folder::new();
    folder.append("experiment.toml", "[method]\nkind = \"fedrelax\"\nalpha = 0.1\n");
    let alpha = |out: &str, arguments: &[&str]| {
        let result = folder.fit(out, &[&["--no-compare"], arguments].concat());
        result["method"]["alpha"].as_f64().unwrap()
    };
    let near = |found: f64, given: f64| assert!((found - given).abs() < 1e-12, "{found} {given}");
    near(alpha("file", &[]), 0.1);
    near(alpha("flag", &["--alpha", "0.2"]), 0.2);
    near(alpha("set", &["--set", "method.alpha=0.3"]), 0.3);
    near(alpha("all", &["--alpha", "0.2", "--set", "method.alpha=0.3"]), 0.3);
    near(alpha("last", &["--set", "method.alpha=0.3", "--set", "method.alpha=0.4"]), 0.4);
}

#[test]
fn flags_alone_say_the_same_as_a_file() {
    let folder = Folder::new();
    let from_file = folder.fit("file", &[]);
    let flags = [
        ["--data", "rows.csv"],
        ["--node", "node"],
        ["--target", "y"],
        ["--split", "split"],
        ["--nodes", "nodes.csv"],
        ["--edges", "edges.csv"],
        ["--out", "flags"],
    ];
    folder.done(&[&["fit", "--quiet"], &flags.concat()[..]].concat());
    assert_eq!(timeless(folder.json("flags/result.json")), timeless(from_file));
    assert_eq!(folder.read("flags/experiment.toml"), folder.read("file/experiment.toml"));
}

#[test]
fn paths_in_a_file_lead_from_it_and_paths_in_flags_from_here() {
    let folder = Folder::new();
    fs::create_dir(folder.path("studies")).unwrap();
    let text = folder.read("experiment.toml").replace("file = \"", "file = \"../");
    folder.write("studies/weather.toml", text.replace("edges = \"", "edges = \"../"));
    folder.done(&["fit", "studies/weather.toml", "--data", "rows.csv", "--quiet"]);
    assert_eq!(
        timeless(folder.json("runs/weather/result.json")),
        timeless(folder.fit("plain", &[]))
    );
}

#[test]
fn without_pull_a_mixed_network_is_local_training() {
    let folder = mixed();
    let result = folder.fit("run", &["--method", "fedrelax", "--alpha", "0"]);
    let comparison = &result["comparison"];
    assert_eq!(comparison["local"]["test"], comparison["network"]["test"]);
    assert_eq!(comparison["local"]["validation"], comparison["network"]["validation"]);
    for node in result["nodes"].as_array().unwrap() {
        assert_eq!(node["local"], node["network"]);
        assert!(node["gain"].as_f64().unwrap().abs() < 1e-300);
    }
    let kinds: Vec<&Value> =
        result["nodes"].as_array().unwrap().iter().map(|node| &node["model"]).collect();
    assert_eq!(kinds, ["linear", "tree", "linear", "linear", "tree", "linear"]);
}

#[test]
fn without_a_split_folds_validate_and_the_verdict_is_theirs() {
    let folder = Folder::new();
    folder.edit("experiment.toml", "split = \"split\"", "features = [\"x\", \"z\"]");
    let result = folder.fit("run", &[]);
    let comparison = &result["comparison"];
    assert_eq!(comparison["network"]["test"], Value::Null);
    assert!(result["verdict_kind"].is_string());
    let rival = result["gain"]["rival"].as_str().unwrap();
    let error = |name: &str| comparison[name]["validation"].as_f64().unwrap();
    let difference = result["gain"]["difference"].as_f64().unwrap();
    assert!((error(rival) - error("network") - difference).abs() < 1e-12);
    for node in result["nodes"].as_array().unwrap() {
        assert_eq!((&node["rows"], &node["scored_rows"]), (&8.into(), &8.into()));
    }
}

#[test]
fn shares_of_each_nodes_rows_train_validate_and_test() {
    let folder = Folder::new();
    folder.edit("experiment.toml", "split = \"split\"", "train = 0.5\nvalidation = 0.25");
    let by_seed = |out: &str, seed: &str| {
        let result = folder.fit(out, &["--features", "x,z", "--seed", seed]);
        for node in result["nodes"].as_array().unwrap() {
            assert_eq!((&node["rows"], &node["scored_rows"]), (&4.into(), &2.into()));
        }
        timeless(result)
    };
    let first = by_seed("one", "1");
    assert_eq!(first, by_seed("two", "1"));
    assert_ne!(first["comparison"], by_seed("three", "2")["comparison"]);
}

#[test]
fn a_column_of_roles_is_no_feature() {
    let folder = Folder::new();
    folder.edit("experiment.toml", "split = \"split\"\n", "");
    folder.fit("run", &[]);
    assert_eq!(folder.json("run/models/about.json")["features"], serde_json::json!(["x", "z"]));
}

#[test]
fn without_comparison_the_result_says_so() {
    let folder = Folder::new();
    let result = folder.fit("run", &["--no-compare"]);
    assert_eq!(result["verdict_kind"], Value::Null);
    assert_eq!(result["helps"], false);
    assert_eq!(result["comparison"].as_object().unwrap().len(), 1);
    let verdict = result["verdict"].as_str().unwrap();
    assert!(verdict.ends_with("; nothing was compared with it."), "{verdict}");
}

#[test]
fn a_run_that_was_moved_is_trained_again_once_its_tables_are_named() {
    let folder = Folder::new();
    folder.fit("run", &QUICK_LINEAR);
    let predicted = folder.done(&["predict", "run", "--data", "rows.csv"]);
    fs::create_dir_all(folder.path("far/away/from")).unwrap();
    fs::rename(folder.path("run"), folder.path("far/away/from/here")).unwrap();
    let moved = "far/away/from/here";
    // What predicts is in the folder.
    assert_eq!(folder.done(&["predict", moved, "--data", "rows.csv"]), predicted);
    let again = format!("{moved}/experiment.toml");
    let refusal =
        |flags: &[&str]| folder.refusal(&[&["fit", &again, "--out", "again"], flags].concat());
    for (flags, flag) in [
        (&[][..], "--data"),
        (&["--data", "rows.csv"], "--nodes"),
        (&["--data", "rows.csv", "--nodes", "nodes.csv"], "--edges"),
    ] {
        let said = refusal(flags);
        let end = format!("where it or the run was moved, say where the table is now with {flag}");
        assert!(said.contains("the run in 'far/away/from/here' was trained on"), "{said}");
        assert!(said.ends_with(&end), "{said}");
    }
    let tables = ["--data", "rows.csv", "--nodes", "nodes.csv", "--edges", "edges.csv"];
    let told = folder.done(&[&["fit", &again, "--out", "again", "--json"][..], &tables].concat());
    let result: serde_json::Value = serde_json::from_str(&told).unwrap();
    assert_eq!(folder.done(&["predict", "again", "--data", "rows.csv"]), predicted);
    assert_eq!(result["nodes"], folder.json(&format!("{moved}/result.json"))["nodes"]);
    // It is called as it was, and not after its file.
    assert!(folder.read("again/report.html").contains("<h1>experiment</h1>"));
    folder.done(
        &[&["fit", "experiment.toml", "--title", "six shops", "--out", "named"][..], &QUICK_LINEAR]
            .concat(),
    );
    folder.done(&["fit", "named/experiment.toml", "--out", "named again", "--quiet"]);
    assert!(folder.read("named again/report.html").contains("<h1>six shops</h1>"));
}

/// A run that takes no time.
const QUICK_LINEAR: [&str; 5] = ["--method", "fedrelax", "--alpha", "0.1", "--no-compare"];
