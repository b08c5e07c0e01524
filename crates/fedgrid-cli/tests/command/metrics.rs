//! What is predicted and what people read of it: numbers or classes, the error that strengths are chosen by, and the
//! measures beside it.

use crate::common::{Folder, rows, timeless};
use serde_json::Value;

/// The table with a target of few whole numbers.
fn with_grades() -> Folder {
    let folder = Folder::new();
    folder.write("rows.csv", rows(|y| u8::from(y > 2.2).to_string()));
    folder.append("experiment.toml", "[public]\npoints = 20\n[compare]\nshuffles = 1\n");
    folder
}

fn flat(text: &str) -> String {
    text.replace('\n', " ")
}

const ASKED: &str = "rows.csv: 'y' has the 2 values 0 and 1: classes or numbers? set data.task (--task \
                     classification or --task regression)";

#[test]
fn few_whole_numbers_are_asked_about_before_anything_is_trained() {
    let folder = with_grades();
    assert_eq!(folder.fit_refusal(&[]), ASKED);
    // A model that predicts both says nothing.
    assert_eq!(folder.fit_refusal(&["--model", "tree"]), ASKED);
    let checked = folder.run(&["check", "experiment.toml"]);
    assert_eq!(checked.code, Some(2));
    assert!(
        flat(&checked.out).contains("Problem: 'y' has the 2 values 0 and 1:"),
        "{}",
        checked.out
    );
    let answered = folder.done(&["check", "experiment.toml", "--task", "classification"]);
    assert!(!answered.contains("Problem"), "{answered}");
}

#[test]
fn a_key_or_a_model_answers_whether_they_are_classes() {
    let folder = with_grades();
    let quick = ["--method", "shrunk", "--no-compare", "--set", "model.ridge=0.1"];
    let metric = |out: &str, more: &[&str]| {
        folder.fit(out, &[&quick[..], more].concat())["metric"].as_str().unwrap().to_string()
    };
    assert_eq!(metric("numbers", &["--task", "regression"]), "mse");
    assert_eq!(metric("classes", &["--task", "classification"]), "log_loss");
    assert_eq!(metric("logistic", &["--model", "logistic"]), "log_loss");
    assert_eq!(metric("counts", &["--model", "poisson"]), "mse");
    // Whoever names a model of numbers has them, and is told what they may be.
    assert_eq!(metric("linear", &["--model", "linear"]), "mse");
    let said = |out: &str| folder.json(&format!("{out}/result.json"))["notes"].to_string();
    assert!(
        said("linear").contains("Target 'y' holds 2 whole numbers (0, 1)"),
        "{}",
        said("linear")
    );
    assert!(
        !said("counts").contains("whole numbers") && !said("numbers").contains("whole numbers")
    );
    assert_eq!(
        folder.fit_refusal(&["--task", "guess"]),
        "data.task is \"guess\", expected regression, classification or auto"
    );
}

#[test]
fn what_is_taken_for_classes_is_said_and_kept() {
    let folder = with_grades();
    let quick = ["--method", "shrunk", "--no-compare", "--set", "model.ridge=0.1"];
    let fit = |task: &str, out: &str| {
        folder
            .done(&[&["fit", "experiment.toml", "--task", task, "--out", out], &quick[..]].concat())
    };
    let said = fit("auto", "run");
    let before = flat(said.split("validation").next().unwrap());
    assert!(before.contains("data.task is \"auto\": the 2 values of 'y' are classes."), "{said}");
    assert!(
        before.contains("'y' holds classes, so that models are logistic where none is named"),
        "{said}"
    );
    assert_eq!(folder.json("run/result.json")["classes"], serde_json::json!(["0", "1"]));
    // The stored experiment says what was found, and has the same models as who says it himself.
    let stored = folder.read("run/experiment.toml");
    assert!(stored.contains("task = \"classification\"") && stored.contains("kind = \"logistic\""));
    assert!(stored.contains("ridge = 0.1"), "{stored}");
    fit("classification", "told");
    assert_eq!(folder.read("run/models/nodes.jsonl"), folder.read("told/models/nodes.jsonl"));
    folder.done(&["fit", "run/experiment.toml", "--quiet", "--out", "again"]);
    assert_eq!(folder.read("run/models/nodes.jsonl"), folder.read("again/models/nodes.jsonl"));
    // Many values are numbers.
    let many = Folder::new();
    let said =
        many.done(&["fit", "experiment.toml", "--task", "auto", "--no-compare", "--out", "run"]);
    assert!(flat(&said).contains("data.task is \"auto\": 'y' is predicted as a number."), "{said}");
}

#[test]
fn text_and_truths_get_logistic_models_where_none_is_named() {
    for word in [["cold", "warm"], ["False", "True"]] {
        let folder = Folder::with_classes();
        folder.write("rows.csv", rows(|y| word[usize::from(y > 2.2)].into()));
        folder.edit("experiment.toml", "[model]\nkind = \"logistic\"\nridge = 0.01\n", "");
        let quick = ["--method", "shrunk", "--no-compare"];
        let said = folder.done(&[&["fit", "experiment.toml", "--out", "run"], &quick[..]].concat());
        let note = "'y' holds classes, so that models are logistic where none is named; linear, the usual kind, \
                    is for numbers.";
        assert!(flat(&said).contains(note), "{said}");
        assert!(folder.read("run/report.html").contains("so that models are logistic"));
        let checked = folder.done(&["check", "experiment.toml"]);
        assert!(flat(&checked).contains(note), "{checked}");
        let named = [&quick[..], &["--model", "logistic"]].concat();
        folder.fit("named", &named);
        assert_eq!(folder.read("run/models/nodes.jsonl"), folder.read("named/models/nodes.jsonl"));
        let refused = folder
            .refusal(&[&["fit", "experiment.toml", "--model", "linear"], &quick[..]].concat());
        assert!(refused.contains("and model.kind = \"linear\" predicts numbers only"), "{refused}");
    }
}

/// The numbers of a column of a CSV text.
fn column(text: &str, name: &str) -> Vec<String> {
    let mut lines = text.lines();
    let place = lines.next().unwrap().split(',').position(|known| known == name).unwrap();
    lines.map(|line| line.split(',').nth(place).unwrap().to_string()).collect()
}

/// The test rows of the folder: their truth, and what a run predicts for them.
fn test_rows(folder: &Folder, predicted: &str) -> (Vec<String>, Vec<f64>) {
    let table = folder.read("rows.csv");
    let test: Vec<&str> = table.lines().filter(|line| line.ends_with(",test")).collect();
    let header = table.lines().next().unwrap();
    folder.write("test.csv", format!("{header}\n{}\n", test.join("\n")));
    let answer = folder.done(&["predict", "run", "--data", "test.csv"]);
    let numbers = column(&answer, predicted).iter().map(|cell| cell.parse().unwrap()).collect();
    (column(&folder.read("test.csv"), "y"), numbers)
}

fn near(found: &Value, expected: f64) {
    let found = found.as_f64().unwrap();
    assert!((found - expected).abs() < 1e-9, "{found} {expected}");
}

#[test]
fn the_measures_of_numbers_are_those_of_the_predictions() {
    let folder = Folder::new();
    let said = folder.done(&["fit", "experiment.toml", "--out", "run"]);
    let result = folder.json("run/result.json");
    let own = &result["comparison"]["network"]["metrics"]["test"];
    let (truth, predicted) = test_rows(&folder, "prediction");
    let truth: Vec<f64> = truth.iter().map(|cell| cell.parse().unwrap()).collect();
    let mean = |value: &dyn Fn(f64, f64) -> f64| {
        truth.iter().zip(&predicted).map(|(y, p)| value(*y, *p)).sum::<f64>() / truth.len() as f64
    };
    let level = mean(&|y, _| y);
    let mse = mean(&|y, p| (y - p).powi(2));
    near(&own["mse"], mse);
    near(&own["rmse"], mse.sqrt());
    near(&own["mae"], mean(&|y, p| (y - p).abs()));
    near(&own["r2"], 1.0 - mse / mean(&|y, _| (y - level).powi(2)));
    assert_eq!(own["rows"], 12);
    assert!(own.get("deviance").is_none());
    // They have the bits of the error that is compared, and the terminal and the page have them, too.
    for method in ["local", "pooled", "shrunk", "mixed", "network"] {
        let row = &result["comparison"][method];
        assert_eq!(row["metrics"]["test"]["mse"], row["test"], "{method}");
        let (apart, chosen) =
            (&row["metrics"]["validation"]["mse"], row["validation"].as_f64().unwrap());
        assert!(
            (apart.as_f64().unwrap() / chosen - 1.0).abs() < 1e-3,
            "{method}: {apart} {chosen}"
        );
    }
    let (_, line) = said.split_once("network: rmse ").expect("the terminal has them, too");
    let rmse: f64 = line.split(',').next().unwrap().parse().unwrap();
    assert!((rmse / mse.sqrt() - 1.0).abs() < 0.01, "{said}");
    assert!(folder.read("run/report.html").contains("<h2 id=\"metrics\">Metrics</h2>"));
}

#[test]
fn the_measures_of_classes_are_those_of_the_predictions() {
    let folder = Folder::with_classes();
    let said =
        folder.done(&["fit", "experiment.toml", "--set", "compare.shuffles=1", "--out", "run"]);
    let result = folder.json("run/result.json");
    let row = &result["comparison"]["network"];
    let own = &row["metrics"]["test"];
    assert_eq!((&own["log_loss"], &own["accuracy"]), (&row["test"], &row["accuracy"]));
    assert_eq!(result["classes"], serde_json::json!(["cold", "warm"]));
    let (truth, warm) = test_rows(&folder, "probability_warm");
    let is_warm: Vec<bool> = truth.iter().map(|class| class == "warm").collect();
    let (mut pairs, mut count, mut confusion) = (0.0, 0.0, [[0.0; 2]; 2]);
    for (own, probability) in is_warm.iter().zip(&warm) {
        confusion[usize::from(*own)][usize::from(*probability > 0.5)] += 1.0;
        for (other, less) in is_warm.iter().zip(&warm).filter(|(other, _)| *own && !**other) {
            assert!(!other);
            count += 1.0;
            let order = probability.total_cmp(less);
            pairs += 0.5 * f64::from(u8::from(order.is_gt()) + u8::from(order.is_ge()));
        }
    }
    near(&own["auc"], pairs / count);
    assert_eq!(own["confusion"], serde_json::json!(confusion));
    let recall = |class: usize| confusion[class][class] / confusion[class].iter().sum::<f64>();
    near(&own["balanced_accuracy"], 0.5 * (recall(0) + recall(1)));
    let bins = own["calibration"]["bins"].as_array().unwrap();
    let error: f64 = bins
        .iter()
        .map(|bin| {
            let number = |key: &str| bin[key].as_f64().unwrap();
            number("weight") * (number("observed") - number("predicted")).abs()
        })
        .sum();
    near(&own["calibration"]["expected_error"], error / 12.0);
    assert!(said.contains("balanced accuracy") && said.contains("auc"), "{said}");
    let page = folder.read("run/report.html");
    assert!(page.contains("Which classes are taken for which") && page.contains("given warm"));
}

#[test]
fn without_test_rows_measures_are_on_rows_that_took_turns() {
    let folder = Folder::new();
    folder.edit("experiment.toml", "split = \"split\"\n", "");
    folder.edit("rows.csv", ",split", ",part");
    let result = folder
        .fit("run", &["--exclude", "part", "--method", "fedrelax", "--set", "compare.shuffles=1"]);
    for method in ["local", "pooled", "shrunk", "mixed", "network", "shuffled"] {
        let row = &result["comparison"][method];
        assert!(row["metrics"].get("test").is_none());
        let own = &row["metrics"]["validation"];
        assert_eq!(own["rows"], 48, "{method}");
        let ratio = own["mse"].as_f64().unwrap() / row["validation"].as_f64().unwrap();
        assert!((ratio - 1.0).abs() < 1e-3, "{method}: {own} {row}");
    }
}

#[test]
fn strengths_table_and_verdict_are_in_the_metric_that_is_asked_for() {
    let folder = Folder::new();
    let usual = folder.fit("usual", &[]);
    // The default has the same bits, named or not.
    assert_eq!(timeless(folder.fit("named", &["--metric", "mse"])), timeless(usual.clone()));
    let said = folder.done(&["fit", "experiment.toml", "--metric", "mae", "--out", "mae"]);
    assert!(said.contains("\nmae  "), "{said}");
    assert!(said.contains("network: mse "), "{said}");
    let result = folder.json("mae/result.json");
    assert_eq!(result["metric"], "mae");
    for method in ["local", "pooled", "shrunk", "network"] {
        let row = &result["comparison"][method];
        assert_eq!(row["metrics"]["test"]["mae"], row["test"], "{method}");
        // The strength that is taken has the least absolute error of all that were tried.
        let tried = result["path"][method].as_array().unwrap();
        let least = tried
            .iter()
            .map(|point| point["validation"].as_f64().unwrap())
            .fold(f64::MAX, f64::min);
        assert!(row["validation"].as_f64().unwrap() <= least * (1.0 + 1e-8), "{method}");
    }
    assert!(folder.read("mae/report.html").contains("Errors are mean absolute error"));
    assert!(folder.read("mae/experiment.toml").contains("metric = \"mae\""));
    let gain = &result["gain"];
    let difference =
        result["comparison"][gain["rival"].as_str().unwrap()]["test"].as_f64().unwrap()
            - result["comparison"]["network"]["test"].as_f64().unwrap();
    near(&gain["difference"], difference);
    assert!(gain["standard_error"].as_f64().unwrap() > 0.0, "{gain}");
}

#[test]
fn classes_can_be_compared_by_the_error_rate_and_counts_by_the_deviance() {
    let folder = Folder::with_classes();
    let quick = ["--method", "shrunk", "--set", "compare.shuffles=1"];
    let result = folder.fit("run", &[&["--metric", "error-rate"], &quick[..]].concat());
    let row = &result["comparison"]["shrunk"];
    near(&row["test"], 1.0 - row["accuracy"].as_f64().unwrap());
    let counts = Folder::new();
    counts.write("rows.csv", rows(|y| format!("{:.0}", 3.0 * y.max(0.0))));
    let model = ["--model", "poisson", "--set", "model.ridge=0.1"];
    let result = counts.fit("run", &[&["--metric", "deviance"], &model[..], &quick].concat());
    let row = &result["comparison"]["shrunk"];
    assert_eq!(
        (&result["metric"], &row["test"]),
        (&"deviance".into(), &row["metrics"]["test"]["deviance"])
    );
    // Counts have it beside the mean squared error, too.
    let usual = counts.fit("usual", &[&model[..], &quick].concat());
    assert_eq!(usual["metric"], "mse");
    assert!(usual["comparison"]["shrunk"]["metrics"]["test"]["deviance"].as_f64().unwrap() > 0.0);
}

#[test]
fn a_metric_that_cannot_be_compared_by_is_refused_with_one_that_can() {
    let (numbers, classes) = (Folder::new(), Folder::with_classes());
    let refused = |folder: &Folder, metric: &str| folder.fit_refusal(&["--metric", metric]);
    for word in ["auc", "balanced-accuracy", "balanced_accuracy"] {
        assert_eq!(
            refused(&classes, word),
            format!(
                "compare.metric is \"{word}\", which is no mean over rows, so that nobody could say how sure a \
                 difference is; it is reported beside the error: use log-loss or error-rate"
            )
        );
    }
    assert_eq!(
        refused(&classes, "accuracy"),
        "compare.metric is \"accuracy\", expected error-rate, which is one minus it: less is better"
    );
    assert!(
        refused(&numbers, "rmse").contains("expected mse, which puts methods in the same order")
    );
    assert_eq!(
        refused(&numbers, "mape"),
        "compare.metric is \"mape\", expected mse, mae, deviance, log-loss or error-rate"
    );
    assert_eq!(
        refused(&numbers, "log-loss"),
        "compare.metric is \"log-loss\", which is for classes, and 'y' holds numbers; use mse, mae or deviance"
    );
    assert_eq!(
        refused(&classes, "mae"),
        "compare.metric is \"mae\", which is for numbers, and 'y' holds classes; use log-loss or error-rate"
    );
    let refused = refused(&numbers, "deviance");
    assert!(
        refused.starts_with("compare.metric is \"deviance\", which is for counts, and 'y' holds -"),
        "{refused}"
    );
}
