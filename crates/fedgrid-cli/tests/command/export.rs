//! Models of a run for other programs. What the files compute is held by `python/tests/test_onnx.py`.

use std::fs;

use crate::common::{Folder, quick_model};

/// A folder with a run of some model.
fn with_run(kind: &str) -> Folder {
    let folder = Folder::new();
    folder.append("experiment.toml", &format!("[model]\n{}", quick_model(kind)));
    let sets = ["method.kind=fedrelax", "method.alpha=0.3", "method.rounds=2", "public.points=20"];
    let sets: Vec<&str> = sets.iter().flat_map(|set| ["--set", set]).collect();
    folder.fit("run", &[&sets[..], &["--no-compare"]].concat());
    folder
}

/// The arguments of an export with more of them.
fn export<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&["export", "run", "--onnx"], more].concat()
}

#[test]
fn a_file_or_a_folder_is_written_and_nothing_is_replaced_unasked() {
    let folder = with_run("tree");
    let said = folder.done(&export(&["--out", "all.onnx"]));
    assert_eq!(said, "6 models in all.onnx, by network\n");
    assert_eq!(
        folder.refusal(&export(&["--out", "all.onnx"])),
        "'all.onnx' exists: replace it with --force"
    );
    let before = fs::read(folder.path("all.onnx")).unwrap();
    folder.done(&export(&["--out", "all.onnx", "--force"]));
    assert_eq!(fs::read(folder.path("all.onnx")).unwrap(), before, "the same run, the same bytes");
    assert_eq!(
        folder.done(&export(&["--out", "each"])),
        "6 files and nodes.json in each, by network\n"
    );
    let index = folder.json("each/nodes.json");
    assert_eq!(index[1]["node"], "b");
    assert!(folder.path("each").join(index[1]["file"].as_str().unwrap()).exists());
    folder.done(&export(&["--node", "c", "--out", "c.onnx"]));
    let one = fs::read(folder.path("each/c.onnx")).unwrap();
    assert_eq!(fs::read(folder.path("c.onnx")).unwrap(), one);
}

#[test]
fn what_cannot_be_exported_gets_one_sentence_and_no_file() {
    let folder = with_run("neighbours");
    let refusal = folder.refusal(&["export", "run", "--onnx", "--out", "each"]);
    assert_eq!(
        refusal,
        "the neighbours model of node 'a' cannot be exported as ONNX; linear, elastic-net, huber, quantile, poisson, \
         logistic, graphical-lasso, tree, forest, extra-trees, boosting, perceptron and constant models can"
    );
    assert!(!folder.path("each").exists());
    let refusal = folder.refusal(&["export", "run", "--out", "each"]);
    assert_eq!(refusal, "export needs a form to write: add --onnx");
    let refusal = folder.refusal(&["export", "nowhere", "--onnx", "--out", "each"]);
    assert_eq!(refusal, "'nowhere' holds no finished run; make one with fit");
    let refusal = folder.refusal(&["export", "run", "--onnx", "--node", "g", "--out", "g.onnx"]);
    assert!(refusal.starts_with("there is no node 'g' in the run"), "{refusal}");
}

#[test]
fn what_is_made_of_columns_before_is_said() {
    let folder = Folder::new();
    let rows = folder.read("rows.csv");
    let mut lines = rows.lines();
    let head = format!("{},promo\n", lines.next().unwrap());
    let rows = lines.enumerate().fold(head, |text, (row, line)| {
        text + &format!("{line},{}\n", ["tv", "none", "radio"][row % 3])
    });
    folder.write("rows.csv", rows);
    folder.fit("run", &["--method", "fedrelax", "--alpha", "0.3", "--no-compare"]);
    let answer = folder.run(&["export", "run", "--onnx", "--out", "all.onnx", "--json"]);
    assert_eq!(answer.code, Some(0), "{}", answer.err);
    assert!(answer.err.starts_with("Note: the file takes features as models see them; "));
    assert!(answer.err.contains("promo (category"), "{}", answer.err);
    let told: serde_json::Value = serde_json::from_str(&answer.out).unwrap();
    assert!(told["features"].as_array().unwrap().contains(&"promo=tv".into()), "{told}");
}
