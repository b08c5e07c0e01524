//! The keys of mixed models, and what results say of them.

use std::fmt::Write as _;

use serde_json::Value;

use crate::common::{Folder, NODES};

const MIXED: [&str; 4] = ["--method", "mixed", "--no-compare", "--force"];

/// The values of coefficients.csv.
fn values(folder: &Folder) -> Vec<f64> {
    let table = folder.read("run/coefficients.csv");
    let value = |line: &str| line.split(',').nth(2).and_then(|cell| cell.parse().ok()).unwrap();
    table.lines().skip(1).map(value).collect()
}

fn fit(folder: &Folder, keys: &[&str]) -> Value {
    let keys: Vec<&str> = keys.iter().flat_map(|key| ["--set", key]).collect();
    folder.fit("run", &[&MIXED[..], &keys].concat())
}

/// The row of a coefficient in the table of variances.
fn coefficient<'a>(result: &'a Value, name: &str) -> &'a Value {
    let all = result["variances"]["coefficients"].as_array().unwrap();
    all.iter().find(|one| one["coefficient"] == name).unwrap()
}

fn assert_near(found: &[f64], expected: &[f64], tolerance: f64) {
    for (a, b) in found.iter().zip(expected) {
        assert!((a - b).abs() < tolerance * (1.0 + b.abs()), "{a}, expected {b}");
    }
}

#[test]
fn every_comparison_along_a_network_tells_what_training_rows_say_of_it() {
    let folder = Folder::new();
    let answer = folder.run(&["fit", "experiment.toml", "--out", "run", "--method", "fedrelax"]);
    let result = folder.json("run/result.json");
    let evidence = &result["evidence"];
    assert_eq!(evidence["shuffled"].as_array().unwrap().len(), 99);
    let number = |key: &str| evidence[key].as_f64().unwrap();
    let ratio = number("ratio");
    assert!((number("without") - number("with") - ratio).abs() < 1e-9 && ratio >= 0.0);
    let shuffled = evidence["shuffled"].as_array().unwrap().iter();
    let above = shuffled.filter(|other| other.as_f64().unwrap() >= ratio * (1.0 - 1e-5)).count();
    assert!((number("p_value") - (1.0 + above as f64) / 100.0).abs() < 1e-12);
    let sentence = evidence["sentence"].as_str().unwrap();
    assert!(sentence.contains("no promise about others"), "{sentence}");
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words(&answer.out).contains(&words(sentence)), "{}", answer.out);
    let page = folder.read("run/report.html");
    assert!(page.contains("What the training rows say of the network"));
    for keys in [&["--set", "compare.likelihood_shuffles=0"][..], &["--no-compare"]] {
        let result = folder.fit("run", &[&["--force", "--method", "fedrelax"], keys].concat());
        assert!(result["evidence"].is_null(), "{keys:?}");
    }
    let few = ["--force", "--method", "mixed", "--set", "compare.likelihood_shuffles=3"];
    let few = folder.fit("run", &few);
    // Of few all are sought to the end; of many the first look may stand for one, which is at most that.
    let shuffles = |of: &Value| -> Vec<f64> {
        of["shuffled"].as_array().unwrap().iter().map(|one| one.as_f64().unwrap()).collect()
    };
    let (few, many) = (shuffles(&few["evidence"]), shuffles(evidence));
    assert_eq!(few.len(), 3);
    assert!(few.iter().zip(&many).all(|(few, many)| *many <= few + 5e-3), "{few:?} {many:?}");
}

#[test]
fn both_fits_are_told_where_covariances_are_a_choice() {
    let folder = Folder::empty();
    let mut table = String::from("node,x,y\n");
    // Levels and slopes grow together over twenty nodes.
    for node in 0..20 {
        for row in 0..6 {
            let (x, own) = (f64::from(row), 0.3 * f64::from(node));
            let noise = 0.1 * f64::from((7 * node + 11 * row) % 13 - 6);
            writeln!(table, "n{node:02},{x},{}", own + (1.0 + own) * x + noise).unwrap();
        }
    }
    folder.write("rows.csv", table);
    let fit = |more: &[&str]| {
        let data = ["--data", "rows.csv", "--node", "node", "--target", "y", "--shape", "none"];
        folder.done(&[&["fit", "--quiet", "--out", "run"], &data[..], &MIXED, more].concat());
        folder.json("run/result.json")
    };
    let found = fit(&[])["variances"]["covariances"].clone();
    let number = |key: &str| found[key].as_f64().unwrap();
    assert!(found["covariances"] == 1 && found["price"] == 2.0);
    assert_eq!(found["taken"], number("with") + 2.0 < number("without"));
    assert_eq!(found["taken"], true);
    let page = folder.read("run/report.html");
    assert!(page.contains("with 1 covariance as well; these are taken"));
    for (correlated, key) in [("yes", "with"), ("no", "without")] {
        let one = fit(&["--set", &format!("method.correlated=\"{correlated}\"")]);
        assert!(one["variances"]["covariances"].is_null());
        let deviance = one["variances"]["deviance"].as_f64().unwrap();
        assert!((deviance - number(key)).abs() < 1e-6, "{deviance} {found}");
    }
}

#[test]
fn variances_that_a_run_has_estimated_can_be_given_to_the_next() {
    let folder = Folder::new();
    let first = fit(&folder, &[]);
    let before = values(&folder);
    let variance = |name: &str| coefficient(&first, name)["variance"].as_f64().unwrap();
    let (x, level) = (variance("x"), variance("intercept"));
    assert!(x > 0.0 && level > 0.0 && coefficient(&first, "x")["source"] == "estimated");
    let given = format!("method.variances={{ x = {x:e}, intercept = {level:e} }}");
    let second = fit(&folder, &[&given]);
    assert_near(&values(&folder), &before, 1e-5);
    assert_eq!(coefficient(&second, "x")["source"], "given");
    let found = coefficient(&second, "x")["variance"].as_f64().unwrap();
    assert!((found / x - 1.0).abs() < 1e-9, "{found} {x}");
    // In other units: x in thousandths, so that its slopes are a thousand times smaller.
    let text = folder.read("rows.csv");
    let column = text.lines().next().unwrap().split(',').position(|name| name == "x").unwrap();
    let scaled = |line: &str| {
        let mut cells: Vec<String> = line.split(',').map(String::from).collect();
        if let Ok(value) = cells[column].parse::<f64>() {
            cells[column] = format!("{}", 1000.0 * value + 7.0);
        }
        cells.join(",")
    };
    folder.write("rows.csv", text.lines().map(scaled).collect::<Vec<_>>().join("\n") + "\n");
    let given = format!("method.variances={{ x = {:e}, intercept = {level:e} }}", x / 1e6);
    fit(&folder, &[&given]);
    let slopes = |all: &[f64]| -> Vec<f64> { all.iter().step_by(3).copied().collect() };
    let again: Vec<f64> = slopes(&values(&folder)).iter().map(|slope| 1000.0 * slope).collect();
    assert_near(&again, &slopes(&before), 1e-4);
}

#[test]
fn a_variance_of_zero_is_a_shared_feature() {
    let folder = Folder::new();
    fit(&folder, &["method.variances={ x = 0 }"]);
    let zero = values(&folder);
    let result = fit(&folder, &["method.shared=[\"x\"]"]);
    assert_eq!(values(&folder), zero);
    assert_eq!(coefficient(&result, "x")["source"], "shared");
}

#[test]
fn a_free_feature_has_no_variance_and_nodes_without_rows_its_mean() {
    let folder = Folder::new();
    let text = folder.read("rows.csv");
    let without = |line: &str| {
        if line.starts_with("f,") { line.replace("train", "test") } else { line.into() }
    };
    folder.write("rows.csv", text.lines().map(without).collect::<Vec<String>>().join("\n") + "\n");
    let result = fit(&folder, &["method.free=[\"x\"]"]);
    let x = coefficient(&result, "x");
    assert!(x["source"] == "free" && x["variance"].is_null() && x["standard_error"].is_null());
    let notes = result["notes"].to_string();
    assert!(
        notes.contains("Node 'f' is without rows that determine a free coefficient"),
        "{notes}"
    );
    let slopes: Vec<f64> = values(&folder).into_iter().step_by(3).collect();
    assert_eq!(slopes.len(), NODES.len());
    let mean = slopes[..5].iter().sum::<f64>() / 5.0;
    assert_near(&slopes[5..], &[mean], 1e-5);
}

#[test]
fn keys_that_make_no_sense_get_one_sentence() {
    let folder = Folder::new();
    let refused = |keys: &[&str]| {
        let keys: Vec<&str> = keys.iter().flat_map(|key| ["--set", key]).collect();
        let fixed = ["fit", "experiment.toml", "--out", "run", "--method", "mixed"];
        folder.refusal(&[&fixed[..], &keys].concat())
    };
    assert_eq!(
        refused(&["method.shared=[\"x\"]", "method.free=[\"x\"]"]),
        "method.free and method.shared both name 'x', expected it in one of them"
    );
    assert_eq!(
        refused(&["method.free=[\"x\"]", "method.variances={ x = 1 }"]),
        "method.variances and method.free both name 'x', expected it in one of them"
    );
    assert_eq!(
        refused(&["method.free=[\"w\"]"]),
        "method.free names 'w', expected one of x, z, intercept"
    );
    assert_eq!(
        refused(&["method.variances={ w = 1 }"]),
        "method.variances names 'w', expected one of x, z, intercept"
    );
    assert_eq!(
        refused(&["method.shared=[\"w\"]"]),
        "method.shared names 'w', expected one of x, z, intercept"
    );
    for wrong in ["-1", "inf", "nan"] {
        let said = refused(&[&format!("method.variances={{ x = {wrong} }}")]);
        assert!(said.contains("method.variances.x is "), "{said}");
        assert!(said.ends_with("expected zero or a positive number"), "{said}");
    }
    assert!(refused(&["method.variances={ x = \"much\" }"]).contains("method.variances.x"));
    assert!(refused(&["compare.likelihood_shuffles=-1"]).contains("compare.likelihood_shuffles"));
}
