//! `docs/models-json.md` says what files of models hold: every key of every kind, and nothing else.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use fedgrid::{
    data::{Dataset, Features, Labels, Task},
    model::{HypothesisKinds, LocalModel, ModelKind, Scales, Stored},
    random::{Purpose, Stream},
};
use serde_json::Value;

const PAGE: &str = include_str!("../../../docs/models-json.md");

/// Thirty rows of two features.
fn rows(task: Task) -> Dataset {
    let mut stream = Stream::new(1, 0, 0, Purpose::Data);
    let rows: Vec<[f64; 2]> = (0..30).map(|_| [stream.normal(), stream.normal()]).collect();
    let sum = |x: &[f64; 2]| (x[0] + x[1]).abs();
    let labels = match task {
        Task::Regression => Labels::values(rows.iter().map(sum).collect()),
        Task::Classification { classes } => {
            let class = |x: &[f64; 2]| {
                (usize::from(sum(x) > 0.7) + usize::from(sum(x) > 1.5)).min(classes - 1)
            };
            Labels::classes(classes, &rows.iter().map(class).collect::<Vec<_>>()).unwrap()
        }
    };
    Dataset::new(Features::from_rows(&["x", "z"], &rows).unwrap(), labels).unwrap()
}

/// What a run stores of a model of every kind, for numbers, two classes and three.
fn stored() -> Vec<Value> {
    let classes = |classes| Task::Classification { classes };
    let mut all = Vec::new();
    for kind in ModelKind::ALL {
        let model: Arc<dyn LocalModel> = kind.with_defaults().shared(false);
        for task in [Task::Regression, classes(2), classes(3)] {
            if !model.predicts(task) {
                continue;
            }
            let data = rows(task);
            let models = std::slice::from_ref(&model);
            let scales = Scales::of(&["n".into()], std::slice::from_ref(&data), models);
            let scales = scales.unwrap().unwrap();
            let learnt = model.fit(&scales.rows(&data).unwrap()).unwrap().into();
            let model = scales.for_table(&learnt, task).save().unwrap();
            all.push(serde_json::to_value(model).unwrap());
        }
    }
    all
}

/// The paths of all values, by kind; a model inside of another is one of its own.
fn add_keys(value: &Value, keys: &mut BTreeMap<String, BTreeSet<String>>) {
    fn add(value: &Value, at: &str, own: &mut BTreeSet<String>) {
        match value {
            Value::Object(values) if !at.ends_with("task") && at != "model" => {
                let join =
                    |key: &str| if at.is_empty() { key.into() } else { format!("{at}.{key}") };
                values.iter().for_each(|(key, value)| add(value, &join(key), own));
            }
            _ => drop(own.insert(at.into())),
        }
    }
    let own = keys.entry(value["kind"].as_str().unwrap().into()).or_default();
    add(value, "", own);
    own.remove("kind");
    if let Some(inner) = value.get("model") {
        add_keys(inner, keys);
    }
}

/// The sections of the page that are of a kind.
fn sections() -> BTreeMap<&'static str, &'static str> {
    let sections = PAGE.split("\n## ").skip(1).filter_map(|section| section.split_once('\n'));
    sections.filter(|(title, _)| *title != "The other files").collect()
}

/// The names in the first column of a section's table.
fn documented(section: &str) -> BTreeSet<String> {
    let lines = section.lines().filter_map(|line| line.strip_prefix("| `"));
    let cells = lines.filter_map(|line| line.split_once(" |")).map(|(cell, _)| cell);
    let names = cells.flat_map(|cell| cell.split(", ")).map(|name| name.replace('`', ""));
    names.collect()
}

/// The example of a section.
fn example(section: &str) -> Value {
    let (_, rest) = section.split_once("```json\n").expect("every kind has an example");
    serde_json::from_str(rest.split_once("\n```").unwrap().0).unwrap()
}

#[test]
fn every_key_of_every_kind_is_documented_and_no_other() {
    let mut found = BTreeMap::new();
    for value in &stored() {
        add_keys(value, &mut found);
    }
    let sections = sections();
    assert!(sections.keys().copied().eq(found.keys()), "{:?} {:?}", sections.keys(), found.keys());
    for (kind, section) in &sections {
        // Keys that defaults do not have, such as those of polynomials, are in the example.
        let mut expected = BTreeMap::new();
        add_keys(&example(section), &mut expected);
        let mut expected = expected.remove(*kind).expect("the example is of the kind");
        expected.extend(found[*kind].iter().cloned());
        assert_eq!(documented(section), expected, "{kind}");
    }
}

#[test]
fn every_example_predicts_what_the_page_says() {
    for (kind, section) in sections() {
        let stored: Stored = serde_json::from_value(example(section)).unwrap();
        let model = HypothesisKinds::builtin().load(stored, None).unwrap();
        let (_, said) = section.split_once("\nFor x = ").expect(kind);
        let (x, said) = said.split_once(", z = ").unwrap();
        let (z, said) = said.split_once(" it predicts ").unwrap();
        let end = said.find([':', '\n']).unwrap();
        let said = said[..end].trim_end_matches('.').split(", ");
        let row: [f64; 2] = [x.parse().unwrap(), z.parse().unwrap()];
        let predicted = model.predict(&Features::from_rows(&["x", "z"], &[row]).unwrap());
        let said: Vec<f64> = said.map(|number| number.parse().unwrap()).collect();
        assert_eq!(said.len(), predicted.as_slice().len(), "{kind}");
        for (said, predicted) in said.iter().zip(predicted.as_slice()) {
            assert!((said - predicted).abs() < 1e-12, "{kind}: {said} {predicted}");
        }
    }
}

#[test]
fn every_kind_of_an_experiment_is_in_the_table_of_what_it_is_stored_as() {
    let (_, table) = PAGE.split_once("| `[model] kind` | stored as |").unwrap();
    let table = table.split_once("\n\n").unwrap().0;
    for kind in ModelKind::ALL {
        let name = kind.to_string();
        let is_word = |line: &str| line.split(['|', ',', ' ', '`']).any(|word| word == name);
        assert!(table.lines().any(is_word), "{name}");
    }
}
