//! Why rows are predicted as they are: what each column adds to a base.

use std::collections::BTreeSet;

use fedgrid::explain::{ExplainedScore, Explainer, Unexplained};

use super::{NodeRows, Served, Serving};
use crate::{
    assembly::{DataSchema, features_of_new},
    error::{Error, Result},
    source::Table,
};

/// Why each row is predicted as it is.
#[derive(Debug, Default)]
pub struct Explanations {
    /// What a row has before its own cells are looked at.
    pub base: Vec<f64>,
    /// What each column of the table adds, for each row.
    pub columns: Vec<(String, Vec<f64>)>,
    /// What they add up to, in words.
    pub notes: Vec<String>,
}

impl Serving<'_> {
    /// Why the rows of a table are predicted as they were; refuses models for which there is no method.
    pub fn explain(
        &self,
        table: &Table,
        history: Option<&Table>,
        served: &Served,
    ) -> Result<Explanations> {
        let about = &self.models.about;
        let columns = all_columns(about);
        let rows = served.nodes.len();
        let empty = columns.iter().map(|(name, _)| (name.clone(), vec![0.0; rows])).collect();
        let mut all = Explanations { base: vec![0.0; rows], columns: empty, notes: Vec::new() };
        if rows == 0 {
            return Ok(all);
        }
        let (features, _) = features_of_new(table, history, about)?;
        let mut notes = BTreeSet::new();
        let zeros = vec![0.0; about.features.len()];
        let has_means = about.means.len() == zeros.len();
        let means = if has_means { &about.means } else { &zeros };
        for group in self.groups(table, &served.nodes)? {
            let explainer = Explainer::new(group.model.as_ref(), &about.features, means)
                .map_err(|why| refusal(&group, why))?;
            notes.insert(sum_in_words(about, explainer.score));
            notes.insert(base_in_words(&explainer, has_means));
            for &row in &group.rows {
                let class = predicted_class(about, served, row);
                let (base, parts) = of_class(about, &explainer, features.row(row), class);
                all.base[row] = base;
                for ((_, places), (_, cells)) in columns.iter().zip(&mut all.columns) {
                    cells[row] = places.iter().map(|&place| parts[place]).sum();
                }
            }
        }
        all.notes = notes.into_iter().collect();
        Ok(all)
    }
}

/// The columns that features are made of; a feature that none is named for stands for itself.
fn all_columns(about: &DataSchema) -> Vec<(String, Vec<usize>)> {
    let mut columns = about.columns_of_features();
    columns.retain(|(_, places)| !places.is_empty());
    for (place, name) in about.features.iter().enumerate() {
        if !columns.iter().any(|(_, places)| places.contains(&place)) {
            columns.push((name.clone(), vec![place]));
        }
    }
    columns
}

/// The class that a row is given, the first of equals; zero for numbers.
fn predicted_class(about: &DataSchema, served: &Served, row: usize) -> usize {
    let outputs = about.task.outputs();
    let own = &served.values[row * outputs..][..outputs];
    (0..outputs).fold(0, |a, b| if own[b] > own[a] { b } else { a })
}

/// The base and the parts of the score that a row is predicted by.
fn of_class(about: &DataSchema, explainer: &Explainer, x: &[f64], class: usize) -> (f64, Vec<f64>) {
    let (outputs, parts) = (explainer.outputs(), explainer.parts(x));
    let classes = about.classes.len();
    // Of two classes the score is that of the second: for the first it is the other way round.
    if classes == 2 && outputs == 1 {
        let sign = if class == 1 { 1.0 } else { -1.0 };
        return (sign * explainer.base()[0], parts.iter().map(|part| sign * part).collect());
    }
    // Where a score is missing, the first class has the score zero.
    match class.checked_sub(classes.saturating_sub(outputs)) {
        Some(output) => {
            let own = parts[output * x.len()..(output + 1) * x.len()].to_vec();
            (explainer.base()[output], own)
        }
        None => (0.0, vec![0.0; x.len()]),
    }
}

/// What the columns add up to.
fn sum_in_words(about: &DataSchema, score: ExplainedScore) -> String {
    let before = if about.known.is_some() { ", before its known part is put in" } else { "" };
    let what = match score {
        ExplainedScore::Prediction => format!("the prediction{before}"),
        ExplainedScore::Logarithm => format!("the logarithm of the prediction{before}"),
        ExplainedScore::Probabilities => "the probability of the predicted class".into(),
        ExplainedScore::LogOdds if about.classes.len() == 2 => {
            "the logarithm of the odds of the predicted class".into()
        }
        ExplainedScore::LogOdds => {
            "the score of the predicted class; probabilities are in proportion to the exponentials of scores".into()
        }
    };
    format!("base and the columns because_… add up to {what}")
}

/// What the base is.
fn base_in_words(explainer: &Explainer, has_means: bool) -> String {
    match (explainer.is_of_trees(), has_means) {
        (true, _) => "base is the mean over the rows that the trees were grown of",
        (false, true) => "base is that of a row with the means of the training rows",
        (false, false) => {
            "base is that of a row of zeros: the run does not know the means of its training rows"
        }
    }
    .into()
}

fn refusal(group: &NodeRows, why: Unexplained) -> Error {
    let node = group.node;
    Error::input(match why {
        Unexplained::Kind => format!(
            "--explain has no method for the model of node '{node}'; it has one for linear, elastic net, Huber, \
             quantile, logistic and Poisson models, trees, forests, extra trees and boosting. `fedgrid show RUN --node \
             '{node}'` tells the importance of columns of any model"
        ),
        Unexplained::Weightless => format!(
            "the trees of node '{node}' were stored by an earlier version, without the weights of their nodes, which \
             --explain needs; run the experiment again"
        ),
    })
}
