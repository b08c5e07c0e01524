//! `predict --explain`: a base and what each column adds, which together are the prediction.

use serde_json::Value;

use crate::common::{Folder, quick_model};

const NEW: &str = "node,x,z,kind\na,0.5,0.25,red\nf,-0.5,0.125,blue\na,0.25,0.5,green\n";

/// A run of a kind of model on numbers and a category, or on classes.
fn trained(kind: &str, classes: bool) -> Folder {
    let folder = if classes { Folder::with_classes() } else { Folder::new() };
    let kinds = ["red", "blue", "green"];
    let text = folder.read("rows.csv");
    let lines = text.lines().enumerate().map(|(row, line)| match row {
        0 => format!("{line},kind\n"),
        _ => format!("{line},{}\n", kinds[row % 3]),
    });
    folder.write("rows.csv", lines.collect::<String>());
    if !classes {
        folder.append("experiment.toml", &format!("[model]\n{}", quick_model(kind)));
    }
    let rounds = ["--no-compare", "--method", "fedrelax", "--alpha", "0.3"];
    let set = format!("model.kind={kind}");
    let more: &[&str] = if classes { &["--set", &set] } else { &["--set", "method.rounds=2"] };
    let more = if kind == "linear" || classes { &more[..more.len().min(2)] } else { more };
    folder.fit("run", &[&rounds[..], more].concat());
    folder.write("new.csv", NEW);
    folder
}

fn explained(folder: &Folder) -> Value {
    let text = folder.done(&["predict", "run", "--data", "new.csv", "--explain", "--json"]);
    serde_json::from_str(&text).unwrap()
}

fn sum(row: &Value) -> f64 {
    let parts = row["because"].as_object().unwrap();
    row["base"].as_f64().unwrap() + parts.values().map(|part| part.as_f64().unwrap()).sum::<f64>()
}

#[test]
fn base_and_columns_add_up_to_the_prediction() {
    for kind in ["linear", "tree", "forest", "boosting", "huber"] {
        let folder = trained(kind, false);
        let all = explained(&folder);
        for row in all["predictions"].as_array().unwrap() {
            let names: Vec<&String> = row["because"].as_object().unwrap().keys().collect();
            // The columns of a category are one.
            assert_eq!(names, ["x", "z", "kind"], "{kind}");
            let prediction = row["prediction"].as_f64().unwrap();
            assert!((sum(row) - prediction).abs() < 1e-9, "{kind}: {row}");
        }
        let notes = all["notes"].to_string();
        assert!(notes.contains("because_… add up to the prediction"), "{notes}");
    }
}

#[test]
fn the_base_of_a_linear_model_is_a_row_of_training_means() {
    let folder = trained("linear", false);
    let means = &folder.json("run/models/about.json")["means"];
    let text = folder.read("rows.csv");
    let train: Vec<Vec<&str>> = text
        .lines()
        .map(|line| line.split(',').collect::<Vec<_>>())
        .filter(|cells| cells[4] == "train")
        .collect();
    let mean = train.iter().map(|cells| cells[1].parse::<f64>().unwrap()).sum::<f64>()
        / train.len() as f64;
    assert!((means[0].as_f64().unwrap() - mean).abs() < 1e-12, "{means}");
    let all = explained(&folder);
    let model: Value =
        serde_json::from_str(folder.read("run/models/nodes.jsonl").lines().next().unwrap())
            .unwrap();
    let slope = model["model"]["slopes"][0].as_f64().unwrap();
    let part = all["predictions"][0]["because"]["x"].as_f64().unwrap();
    assert!((part - slope * (0.5 - mean)).abs() < 1e-9);
}

#[test]
fn classes_are_explained_by_the_odds_of_the_one_that_is_predicted() {
    let folder = trained("logistic", true);
    let all = explained(&folder);
    for row in all["predictions"].as_array().unwrap() {
        let class = row["prediction"].as_str().unwrap();
        let own = row["probabilities"][class].as_f64().unwrap();
        assert!((sum(row) - (own / (1.0 - own)).ln()).abs() < 1e-9, "{row}");
    }
    assert!(all["notes"].to_string().contains("the odds of the predicted class"));
}

#[test]
fn explanations_are_columns_of_the_table() {
    let folder = trained("linear", false);
    let table = folder.done(&["predict", "run", "--data", "new.csv", "--explain"]);
    let head = "node,prediction,base,because_x,because_z,because_kind,by,row";
    assert_eq!(table.lines().next(), Some(head), "{table}");
    let cells = |line: &str| -> Vec<f64> {
        line.split(',').skip(1).take(5).map(|cell| cell.parse().unwrap()).collect()
    };
    for line in table.lines().skip(1) {
        let own = cells(line);
        assert!((own[1..].iter().sum::<f64>() - own[0]).abs() < 1e-9, "{line}");
    }
    folder.write("none.csv", "node,x,z,kind\n");
    let none = folder.done(&["predict", "run", "--data", "none.csv", "--explain"]);
    assert_eq!(none.trim_end(), head);
}

#[test]
fn models_without_a_method_are_refused_with_what_would_do() {
    let folder = trained("neighbours", false);
    let said = folder.refusal(&["predict", "run", "--data", "new.csv", "--explain"]);
    assert!(said.starts_with("--explain has no method for the model of node 'a'; it has one for"));
    assert!(said.contains("fedgrid show RUN --node 'a'"), "{said}");
}
