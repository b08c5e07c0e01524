//! `method.kind = "gtv"`: total variation of weights, from the file to the report.

use crate::common::{Folder, NODES, timeless};
use serde_json::Value;

const PENALTIES: [&str; 3] = ["norm", "squared-norm", "one-norm"];

/// The result with a penalty and more arguments.
fn fit(folder: &Folder, penalty: &str, arguments: &[&str]) -> Value {
    let penalty_key = format!("method.penalty={penalty}");
    let usual = ["--method", "gtv", "--set", &penalty_key, "--force"];
    folder.fit(penalty, &[&usual, arguments].concat())
}

#[test]
fn a_run_states_penalty_engine_gap_and_clusters() {
    let folder = Folder::new();
    for penalty in PENALTIES {
        let result = fit(&folder, penalty, &[]);
        let method = &result["method"];
        assert_eq!((&method["kind"], &method["penalty"]), (&"gtv".into(), &penalty.into()));
        assert_eq!(method["solver"], "direct");
        assert!(!method["engine"].as_str().unwrap().is_empty());
        assert!(method.get("coupling").is_none());
        assert_eq!(result["certificate"]["kind"], "certified relative gap");
        assert_eq!(result["certificate"]["converged"], true, "{penalty}");
        assert!(result["certificate"]["value"].as_f64().unwrap() <= 1e-6);
        assert_eq!(
            result["steps"].as_array().map(Vec::len),
            result["residuals"].as_array().map(Vec::len)
        );
        assert_eq!(result.get("clusters").is_some(), penalty != "squared-norm");
        let page = folder.read(&format!("{penalty}/report.html"));
        assert_eq!(page.contains("The solution has"), penalty != "squared-norm");
        assert!(page.contains("certified relative gap"));
        for contestant in ["local", "pooled", "shrunk", "network", "shuffled"] {
            assert!(result["comparison"][contestant]["test"].is_f64(), "{contestant}");
        }
    }
}

#[test]
fn theory_is_in_the_result_and_on_the_page() {
    let folder = Folder::new();
    // At a great strength all six nodes of the path are one cluster, and at its optimum.
    let strong = fit(&folder, "norm", &["--alpha", "1e4", "--no-compare"]);
    let theory = &strong["theory"];
    let path = 2.0 - 2.0 * (std::f64::consts::PI / NODES.len() as f64).cos();
    assert!((theory["clusters"][0]["lambda2"].as_f64().unwrap() - path).abs() < 1e-6, "{theory}");
    assert_eq!(theory["norm"], "weights");
    assert!(theory["recovery"]["error"].as_f64().unwrap() < 1e-3, "{theory}");
    assert!(!theory["warnings"].as_array().unwrap().is_empty(), "one cluster has no edges out");
    assert!(folder.read("norm/report.html").contains("What theory says"));

    let squared = fit(&folder, "squared-norm", &["--alpha", "0.3", "--no-compare"]);
    let relaxed =
        folder.fit("relaxed", &["--method", "fedrelax", "--alpha", "0.3", "--no-compare"]);
    assert_eq!(relaxed["theory"]["norm"], "predictions");
    for result in [&strong, &squared, &relaxed] {
        let mut bounded = 0;
        for cluster in result["theory"]["clusters"].as_array().unwrap() {
            let Some(bound) = cluster["bound"].as_f64() else { continue };
            let variation = cluster["variation"].as_f64().unwrap();
            assert!(variation <= bound * (1.0 + 1e-9), "{cluster}");
            bounded += 1;
        }
        assert!(bounded > 0, "{}", result["theory"]);
    }
    // Without a pull there is nothing to say.
    let alone = fit(&folder, "norm", &["--alpha", "0", "--no-compare"]);
    assert!(alone.get("theory").is_none());
}

#[test]
fn the_clusters_are_those_of_the_nodes_the_largest_first() {
    let folder = Folder::new();
    let result = fit(&folder, "norm", &["--alpha", "0.3", "--no-compare"]);
    let sizes: Vec<u64> =
        result["clusters"]["sizes"].as_array().unwrap().iter().filter_map(Value::as_u64).collect();
    assert_eq!(result["clusters"]["count"], sizes.len());
    assert!(sizes.is_sorted_by(|a, b| a >= b));
    for (cluster, size) in sizes.iter().enumerate() {
        let nodes = result["nodes"].as_array().unwrap();
        let members = nodes.iter().filter(|node| node["cluster"] == cluster).count();
        assert_eq!(members as u64, *size);
    }
    let strong = fit(&folder, "norm", &["--alpha", "1e4", "--no-compare"]);
    assert_eq!(strong["clusters"]["sizes"], serde_json::json!([NODES.len()]));
}

#[test]
fn the_number_of_threads_changes_no_bit() {
    for (folder, penalty) in [
        (Folder::new(), "norm"),
        (Folder::new(), "squared-norm"),
        (Folder::with_classes(), "one-norm"),
    ] {
        let quick = ["--set", "compare.shuffles=1", "--set", "method.tolerance=1e-3"];
        let shuffles = match penalty {
            "one-norm" => [&quick[..], &["--alpha", "0.1"]].concat(),
            _ => quick.to_vec(),
        };
        let one = timeless(fit(&folder, penalty, &[&["--threads", "1"], &shuffles[..]].concat()));
        let models = folder.read(&format!("{penalty}/models/nodes.jsonl"));
        for threads in ["2", "8"] {
            let again = fit(&folder, penalty, &[&["--threads", threads], &shuffles[..]].concat());
            assert_eq!(timeless(again), one);
            assert_eq!(folder.read(&format!("{penalty}/models/nodes.jsonl")), models);
        }
    }
}

#[test]
fn the_stored_experiment_holds_the_keys_of_its_method_and_runs_again() {
    let folder = Folder::new();
    let result = fit(&folder, "one-norm", &["--no-compare"]);
    let stored: toml::Table = folder.read("one-norm/experiment.toml").parse().unwrap();
    let mut keys: Vec<&str> =
        stored["method"].as_table().unwrap().keys().map(String::as_str).collect();
    keys.sort_unstable();
    let own = [
        "alpha",
        "couple_intercept",
        "error",
        "kind",
        "paper_compat",
        "penalty",
        "relaxation",
        "rounds",
        "solver",
        "step",
        "stop_on",
        "tolerance",
        "weighting",
    ];
    assert_eq!(keys, own);
    folder.done(&["fit", "one-norm/experiment.toml", "--quiet", "--out", "again"]);
    assert_eq!(timeless(folder.json("again/result.json")), timeless(result));
}

#[test]
fn predictions_of_a_stored_run_have_the_error_of_its_result() {
    let folder = Folder::new();
    let result = fit(&folder, "norm", &[]);
    let printed = folder.done(&["predict", "norm", "--data", "rows.csv"]);
    let rows = folder.read("rows.csv");
    let cell = |line: &str, place: usize| line.split(',').nth(place).unwrap().parse::<f64>();
    let squares: Vec<f64> = rows
        .lines()
        .zip(printed.lines())
        .filter(|(row, _)| row.ends_with("test"))
        .map(|(row, told)| (cell(row, 3).unwrap() - cell(told, 1).unwrap()).powi(2))
        .collect();
    let error = result["comparison"]["network"]["test"].as_f64().unwrap();
    assert!((squares.iter().sum::<f64>() / squares.len() as f64 - error).abs() < 1e-12);
}

#[test]
fn classes_are_coupled_with_levels_of_their_own() {
    let folder = Folder::with_classes();
    for penalty in PENALTIES {
        // The own level of a node with one class has no minimum, so a tight one is never reached.
        let free = ["--set", "method.couple_intercept=false", "--set", "method.tolerance=0.01"];
        let result =
            fit(&folder, penalty, &[&free[..], &["--alpha", "0.1", "--no-compare"]].concat());
        assert_eq!(result["metric"], "log_loss");
        assert_eq!(result["method"]["couple_intercept"], false);
        assert!(result["comparison"]["network"]["test"].is_f64());
    }
}

#[test]
fn every_kind_of_model_with_weights_is_coupled() {
    let folder = Folder::new();
    folder.write("rows.csv", crate::common::rows(|value| (value.abs() + 1.0).to_string()));
    let kinds =
        ["linear", "elastic-net", "huber", "quantile", "poisson", "graphical-lasso", "perceptron"];
    for kind in kinds {
        let mut more = vec!["--model", kind, "--set", "model.ridge=0.01", "--alpha", "0.1"];
        if kind == "perceptron" {
            more.extend(["--set", "model.epochs=20", "--set", "model.layers=[2]"]);
        }
        let result = fit(&folder, "squared-norm", &[&more[..], &["--no-compare"]].concat());
        assert_eq!(result["nodes"][0]["model"], kind);
        assert!(result["certificate"]["value"].is_f64(), "{kind}");
        let notes = result["notes"].to_string();
        // A perceptron's loss is not convex, and a graphical lasso's has no bound from below that holds
        // for all weights.
        let uncertified = ["graphical-lasso", "perceptron"].contains(&kind);
        assert_eq!(notes.contains("No gap is certified"), uncertified, "{kind} {notes}");
    }
}

#[test]
fn nodes_without_rows_or_neighbours_are_as_with_any_method() {
    let folder = Folder::new();
    folder.write("edges.csv", "src,dst,weight\na,b,1\nb,c,1\nd,e,1\n");
    let rows = folder.read("rows.csv");
    let kept: Vec<&str> =
        rows.lines().filter(|row| !["b", "d", "e"].contains(&&row[..1])).collect();
    folder.write("rows.csv", kept.join("\n") + "\n");
    let result = fit(&folder, "norm", &["--set", "model.ridge=0.01"]);
    let node = |place: usize| &result["nodes"][place];
    assert_eq!(node(1)["note"], "no training row");
    assert_eq!(node(5)["local"], node(5)["network"]);
    let notes = result["notes"].to_string();
    assert!(notes.contains("what all nodes have in common is used there"), "{notes}");
    folder.write("new.csv", "node,x,z\na,0.5,0.2\nb,0.5,0.2\nc,0.5,0.2\nd,0.5,0.2\ne,0.5,0.2\n");
    let printed = folder.done(&["predict", "norm", "--data", "new.csv"]);
    let told: Vec<f64> = printed
        .lines()
        .skip(1)
        .map(|row| row.split(',').nth(1).unwrap().parse().unwrap())
        .collect();
    assert!(told[0].min(told[2]) - 1e-3 <= told[1] && told[1] <= told[0].max(told[2]) + 1e-3);
    assert!((told[3] - told[4]).abs() < 1e-12);
}

#[test]
fn what_cannot_be_coupled_by_weights_is_refused_with_what_would_do() {
    let folder = Folder::new();
    let refusal = |more: &[&str]| folder.fit_refusal(&[&["--method", "gtv"], more].concat());
    assert_eq!(
        refusal(&["--set", "model.nodes.b.kind=tree"]),
        "method.kind is \"gtv\", which couples weights, and the tree model of node 'b' has none; use \
         linear, elastic-net, huber, quantile, poisson, logistic, graphical-lasso or perceptron models, \
         or method.kind = \"fedrelax\""
    );
    assert_eq!(
        refusal(&["--set", "model.nodes.c.intercept=false"]),
        "method.kind is \"gtv\", which couples weights, and the linear model of node 'c' has 2 weights \
         with 0 intercepts, that of node 'a' 3 with 1; give both the same kind, or use \
         method.kind = \"fedrelax\""
    );
    let foreign = refusal(&["--set", "method.hub=0.5"]);
    assert!(
        foreign.starts_with("method.hub is 0.5, but kind \"gtv\" has no such key; "),
        "{foreign}"
    );
    let foreign = folder.fit_refusal(&["--set", "method.penalty=norm"]);
    assert!(foreign.starts_with(
        "method.penalty is \"norm\", but kind \"auto\", the default, has no such key"
    ));
    assert_eq!(
        refusal(&["--set", "method.penalty=lasso"]),
        "method.penalty is \"lasso\", expected norm, squared-norm or one-norm"
    );
    assert_eq!(
        folder.fit_refusal(&["--method", "gvt"]),
        "method.kind is \"gvt\", expected auto, fedrelax, gtv, persfl, fedavg, fedprox, ditto, apfl, ifca, \
         clustered, fine-tuned, gossip, fedmd, mixed, local, pooled or shrunk"
    );
}

#[test]
fn rounds_of_messages_are_run_when_asked_for() {
    let folder = Folder::new();
    let rounds = ["--set", "method.solver=rounds", "--set", "method.rounds=4000", "--no-compare"];
    for penalty in PENALTIES {
        let alpha = [
            "--set",
            "method.alpha=0.1",
            "--set",
            "model.ridge=0.01",
            "--set",
            "method.tolerance=1e-9",
        ];
        let result = fit(&folder, penalty, &[&rounds[..], &alpha].concat());
        assert_eq!(result["method"]["engine"], "rounds of messages");
        assert_eq!(result["certificate"]["kind"], "certified relative gap", "{penalty}");
        assert_eq!(result["certificate"]["converged"], true, "{penalty}");
        assert!(result["certificate"]["value"].as_f64().unwrap() <= 1e-9, "{penalty}");
        assert_eq!(result["clusters"].is_null(), penalty == "squared-norm");
        let direct = fit(&folder, penalty, &[&alpha[..], &["--no-compare"]].concat());
        let error = |result: &Value| result["comparison"]["network"]["test"].as_f64().unwrap();
        let (rounds, direct) = (error(&result), error(&direct));
        assert!((rounds - direct).abs() <= 1e-3 * direct.abs(), "{penalty}: {rounds} {direct}");
    }
}

#[test]
fn the_steps_of_rounds_and_what_ends_them_can_be_set() {
    let folder = Folder::new();
    let run = |keys: &[&str]| {
        let common = ["method.alpha=0.1", "model.ridge=0.01", "method.rounds=4000"];
        let sets = common.iter().chain(keys).flat_map(|key| ["--set", key]);
        fit(&folder, "norm", &sets.chain(["--no-compare"]).collect::<Vec<_>>())
    };
    let objective = |result: &Value| {
        let history = result["history"].as_array().unwrap();
        (history.len(), history.last().unwrap()["objective"].as_f64().unwrap())
    };
    let (rounds, least) = objective(&run(&["method.solver=rounds"]));
    let same = [
        &["method.scale=1", "method.relaxation=1"][..],
        &["method.step=inexact", "method.error=0.01"],
        &["method.step=gradient"],
        &["method.stop_on=residual"],
        &["method.stop_on=decrease"],
    ];
    for keys in same {
        // Any of them makes the fit go in rounds, to the same minimum by another way.
        let result = run(keys);
        assert_eq!(result["method"]["engine"], "rounds of messages", "{keys:?}");
        let (other, value) = objective(&result);
        assert!((value - least).abs() <= 1e-3 * least, "{keys:?}: {value} {least}");
        assert_ne!(other, rounds, "{keys:?}");
    }
    // What the authors' code minimises counts every row whole.
    let (_, authors) = objective(&run(&["method.paper_compat=true"]));
    assert!(authors > 1.1 * least, "{authors} {least}");
    for (key, sentence) in [
        ("relaxation=2", "method.relaxation is 2, expected a number between zero and two"),
        ("scale=0", "method.scale is 0, expected a positive number"),
        ("stop_on=gaps", "method.stop_on is \"gaps\", expected residual, gap or decrease"),
    ] {
        let set = format!("method.{key}");
        assert_eq!(folder.fit_refusal(&["--method", "gtv", "--set", &set]), sentence);
    }
    assert_eq!(
        folder.fit_refusal(&["--method", "gtv", "--set", "method.gtv.scale=1"]),
        "the section [method.gtv] is gone: the keys of kind \"gtv\" stand in [method]"
    );
}
