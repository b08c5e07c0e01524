//! How often training rows of each class count, as an experiment says or as balances them,
//!
//! ```text
//! balanced:  weight of class c = rows / (classes · rows of class c)        over training rows, as they are weighted
//! ```

use fedgrid::data::{Dataset, Plan};

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
    let keys = &experiment.data;
    let Some(asked) = &keys.class_weights else { return Ok(None) };
    if rows.classes.is_empty() {
        let target = &keys.target;
        return Err(Error::input(format!(
            "data.class_weights is for classes, and the target '{target}' is of numbers"
        )));
    }
    let weights = match asked {
        ClassWeights::Balanced => balanced(&plan.training_rows(&rows.data), rows.classes.len()),
        ClassWeights::Given(given) => {
            if let Some(name) = given.keys().find(|name| !rows.classes.contains(name)) {
                let advice = advice(name, rows.classes.iter().map(String::as_str));
                let target = &keys.target;
                return Err(Error::input(format!(
                    "data.class_weights: '{name}' is no class of '{target}'{advice}"
                )));
            }
            rows.classes.iter().map(|class| given.get(class).copied().unwrap_or(1.0)).collect()
        }
    };
    let named = rows.classes.iter().zip(&weights);
    let named: Vec<String> =
        named.map(|(class, weight)| format!("'{class}' {}", tick(*weight))).collect();
    let note = format!(
        "Training rows count by their class ({}); errors are those of rows as they are.",
        named.join(", ")
    );
    Ok(Some((weights, note)))
}

/// Weights by which all classes of the training rows have the same total.
fn balanced(training: &[Dataset], classes: usize) -> Vec<f64> {
    let mut counts = vec![0.0; classes];
    for data in training {
        for row in 0..data.rows() {
            let shares = counts.iter_mut().zip(data.labels().row(row));
            shares.for_each(|(count, share)| *count += data.count(row) * share);
        }
    }
    let total: f64 = counts.iter().sum();
    // A class without a training row counts nowhere.
    let weight = |count: &f64| if *count > 0.0 { total / (classes as f64 * count) } else { 1.0 };
    counts.iter().map(weight).collect()
}
