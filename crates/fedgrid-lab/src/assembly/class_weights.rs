//! How often training rows of each class count, as an experiment says or as balances them,
//!
//! ```text
//! balanced:  weight of class c = rows / (classes · rows of class c)        over training rows, as they are weighted
//! ```

use std::collections::BTreeMap;

use fedgrid::data::{Dataset, Plan, Task};

use super::Rows;
use crate::{
    error::{Error, Result},
    experiment::{ClassWeights, Experiment, advice},
    number::tick,
};

/// The weight of each class, and what a reader should know of them; none if all classes count alike.
pub(super) fn class_weights(
    experiment: &Experiment,
    rows: &Rows,
    plan: &Plan,
) -> Result<Option<(Vec<f64>, String)>> {
    let task = rows.data.first().map_or(Task::Regression, Dataset::task);
    for_classes_only(experiment, task)?;
    let weights = match &experiment.data.class_weights {
        None => return Ok(None),
        Some(ClassWeights::Balanced) => {
            balanced(&counts(&plan.training_rows(&rows.data), rows.classes.len()))
        }
        Some(ClassWeights::Given(given)) => of_classes(experiment, given, &rows.classes)?,
    };
    let note = class_note(&rows.classes, &weights);
    Ok(Some((weights, note)))
}

/// Refuses weights of classes where there are none.
pub(super) fn for_classes_only(experiment: &Experiment, task: Task) -> Result<()> {
    if experiment.data.class_weights.is_none() || task != Task::Regression {
        return Ok(());
    }
    let target = &experiment.data.target;
    Err(Error::input(format!(
        "data.class_weights is for classes, and the target '{target}' is of numbers"
    )))
}

/// The weights of classes that are given by name; classes that are not listed count once.
pub(super) fn of_classes(
    experiment: &Experiment,
    given: &BTreeMap<String, f64>,
    classes: &[String],
) -> Result<Vec<f64>> {
    if let Some(name) = given.keys().find(|name| !classes.contains(name)) {
        let advice = advice(name, classes.iter().map(String::as_str));
        let target = &experiment.data.target;
        return Err(Error::input(format!(
            "data.class_weights: '{name}' is no class of '{target}'{advice}"
        )));
    }
    Ok(classes.iter().map(|class| given.get(class).copied().unwrap_or(1.0)).collect())
}

/// What a reader should know of the weights of classes.
pub(super) fn class_note(classes: &[String], weights: &[f64]) -> String {
    let named = classes.iter().zip(weights);
    let named: Vec<String> =
        named.map(|(class, weight)| format!("'{class}' {}", tick(*weight))).collect();
    format!(
        "Training rows count by their class ({}); errors are those of rows as they are.",
        named.join(", ")
    )
}

/// How many rows of each class there are, as they are weighted.
fn counts(training: &[Dataset], classes: usize) -> Vec<f64> {
    let mut counts = vec![0.0; classes];
    for data in training {
        for row in 0..data.rows() {
            // A label is a probability for every class, so that counts are sums of shares.
            let shares = counts.iter_mut().zip(data.labels().row(row));
            shares.for_each(|(count, share)| *count += data.count(row) * share);
        }
    }
    counts
}

/// Weights by which all classes have the same total.
pub(super) fn balanced(counts: &[f64]) -> Vec<f64> {
    let (total, classes): (f64, f64) = (counts.iter().sum(), counts.len() as f64);
    // A class without a training row counts nowhere.
    let weight = |count: &f64| if *count > 0.0 { total / (classes * count) } else { 1.0 };
    counts.iter().map(weight).collect()
}
