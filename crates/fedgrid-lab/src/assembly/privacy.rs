//! What the section of privacy makes of a study: units that are declared, and the noise.

use std::sync::Arc;

use fedgrid::{
    data::{Dataset, Features, Labels, Scaling, Task},
    model::Scales,
    privacy::{Privacy, PrivateKind},
};

use super::{DataSchema, models::Models};
use crate::{
    error::{Error, Result},
    experiment::{Experiment, PrivacyKeys, advice},
    number::significant,
};

/// The units of a private study: labels in half ranges of their bounds; features by their bounds if they are private, too,
/// and as ever if they are no secret.
pub(super) fn scales(keys: &PrivacyKeys, training: &[Dataset]) -> Result<Option<Scales>> {
    let Some(first) = training.first() else { return Ok(None) };
    let names = first.features().names().clone();
    let scaling = match keys.kind {
        PrivateKind::Labels => Scaling::of_counted(training.iter()),
        PrivateKind::Rows => of_bounds(keys, &names)?,
    };
    Ok(Some(Scales::declared(names, scaling, keys.labels.half())?))
}

/// The same where no row is at hand: features that are no secret by public points.
pub(super) fn scales_of_points(keys: &PrivacyKeys, points: &Features) -> Result<Option<Scales>> {
    let labels = Labels::neutral(Task::Regression, points.rows());
    scales(keys, &[Dataset::new(points.clone(), labels)?])
}

/// What features are shifted and divided by where their bounds are declared.
fn of_bounds(keys: &PrivacyKeys, names: &[String]) -> Result<Scaling> {
    if let Some(name) = keys.features.keys().find(|name| !names.contains(name)) {
        let advice = advice(name, names.iter().map(String::as_str));
        return Err(Error::input(format!("privacy.features: '{name}' is not a feature{advice}")));
    }
    let own = |name: &String| {
        let missing = format!(
            "privacy.kind is \"rows\" and privacy.features.{name} is missing, expected what it lies between, as anybody \
             could know"
        );
        let bounds = keys.features.get(name).ok_or_else(|| Error::input(missing))?;
        Ok((bounds.middle(), bounds.half()))
    };
    let (means, deviations) =
        names.iter().map(own).collect::<Result<Vec<_>>>()?.into_iter().unzip();
    Ok(Scaling { means, deviations })
}

/// Two corners of the box in which private features lie, from which public points are drawn; none where features are no
/// secret.
pub(super) fn corners(experiment: &Experiment, names: &Arc<[String]>) -> Result<Option<Features>> {
    let keys = experiment.privacy.as_ref().filter(|keys| keys.kind == PrivateKind::Rows);
    keys.map(|_| {
        let values = [-1.0, 1.0].into_iter().flat_map(|end| vec![end; names.len()]);
        Ok(Features::new(names.clone(), values.collect())?)
    })
    .transpose()
}

/// The noise that an experiment asks for; refuses targets, models and columns that cannot be kept private.
pub(super) fn privacy(
    experiment: &Experiment,
    (models, names): (&Models, &[String]),
    about: &DataSchema,
) -> Result<Option<Privacy>> {
    let Some(keys) = &experiment.privacy else { return Ok(None) };
    if about.task != Task::Regression {
        return Err(Error::input(format!(
            "[privacy] is for targets that are numbers, and '{}' is of classes",
            about.target
        )));
    }
    let is_plain =
        |node: usize| models.models[node].as_linear().is_some_and(|linear| linear.intercept);
    if let Some(node) = (0..names.len()).find(|node| !is_plain(*node)) {
        return Err(Error::input(format!(
            "[privacy] needs linear models with an intercept, of which noised statistics are all that is needed; that of \
             node '{}' is {}",
            names[node], models.kinds[node]
        )));
    }
    if keys.kind == PrivateKind::Rows && !about.column_plan().is_of_single_columns() {
        return Err(Error::input(
            "privacy.kind is \"rows\", expected features that are columns of numbers without gaps: levels and fills are \
             learnt from rows",
        ));
    }
    Ok(Some(Privacy {
        kind: keys.kind,
        mu: keys.budget().mu()?,
        delta: keys.delta,
        middle: keys.labels.middle() / keys.labels.half(),
        seed: experiment.seed,
    }))
}

/// What a reader should know of it.
pub(super) fn notes(experiment: &Experiment) -> Result<Vec<String>> {
    let Some(keys) = &experiment.privacy else { return Ok(Vec::new()) };
    let what = match keys.kind {
        PrivateKind::Labels => "labels (features, and which rows there are, are no secret)",
        PrivateKind::Rows => "whole rows, and whether they are there",
    };
    Ok(vec![
        format!(
            "Private: {what}. Each training and validation row is noised once, and all that other nodes know follows from \
             that: ε = {}, δ = {} for one row (μ = {}), however many rounds and neighbours there are.",
            significant(keys.epsilon),
            significant(keys.delta),
            significant(keys.budget().mu()?)
        ),
        "This is a rehearsal: the noise is drawn from the seed, and whoever knows that can take it away again. Errors on \
         clean validation and test rows are for you; publish none of them."
            .into(),
        "Strengths of pooled, shrunk and network are chosen on noised validation rows, which then teach the twins, too. \
         The row local has its ridge from the clean validation rows of all nodes, which no node alone has: the comparison \
         favours it."
            .into(),
    ])
}
