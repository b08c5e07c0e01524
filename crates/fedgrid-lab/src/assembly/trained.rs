//! Training rows as models see them: what they count for, and the units that they give all rows.

use std::sync::Arc;

use fedgrid::{
    data::{Dataset, Plan},
    model::{LocalModel, Scales},
};

use super::{Rows, class_weights::class_weights, privacy};
use crate::{error::Result, experiment::Experiment};

/// What training rows say before anything is trained.
pub(super) struct Trained {
    /// How often the training rows of each class count; none if all count alike.
    pub(super) class_weights: Option<Vec<f64>>,
    /// How many rows each training row stands for as models see it, under one another; none if each is one.
    pub(super) counts: Option<Vec<f64>>,
    /// From the units of the table to those of models.
    pub(super) scales: Option<Scales>,
}

impl Trained {
    /// Looks at training rows and gives all rows the units of models; what is said of classes is added to the notes.
    pub(super) fn new(
        experiment: &Experiment,
        rows: &mut Rows,
        plan: &Plan,
        (names, models): (&[String], &[Arc<dyn LocalModel>]),
        notes: &mut Vec<String>,
    ) -> Result<Self> {
        let (class_weights, note) = class_weights(experiment, rows, plan)?.unzip();
        // Said before training, and kept.
        notes.extend(note.clone());
        rows.notes.extend(note);
        // Before rows are scaled: units go by what a row counts for, by its class and exposure, too.
        let trained = Dataset::all_rates(trained(rows, plan, class_weights.as_deref()));
        let counts = counts(&trained);
        // A model from Python reads rows in the units that its author knows.
        let has_own_models = experiment.federation.own_models;
        let scales = match &experiment.privacy {
            Some(keys) => privacy::scales(keys, &trained)?,
            None => Scales::of(names, &trained, models)?.filter(|_| !has_own_models),
        };
        // Rows that validate and test, too, but none of them has a say in the units.
        rows.scale(scales.as_ref())?;
        Ok(Self { class_weights, counts, scales })
    }

    /// The training rows of every node as models see them, each with a total weight of one.
    pub(super) fn data(&self, rows: &Rows, plan: &Plan) -> Vec<Dataset> {
        let own = trained(rows, plan, self.class_weights.as_deref()).into_iter();
        Dataset::all_rates(own.map(|data| data.with_total_weight(1.0)).collect())
    }
}

/// The training rows of every node, counting as their classes say.
fn trained(rows: &Rows, plan: &Plan, classes: Option<&[f64]>) -> Vec<Dataset> {
    let own = plan.training_rows(&rows.data).into_iter();
    own.map(|own| match classes {
        Some(classes) => own.weighed_by_class(classes),
        None => own,
    })
    .collect()
}

/// How many rows each training row stands for, under one another; none if each is one.
fn counts(training: &[Dataset]) -> Option<Vec<f64>> {
    let has_any = training.iter().any(|data| data.counts().is_some());
    let of = |data: &Dataset| -> Vec<f64> { (0..data.rows()).map(|row| data.count(row)).collect() };
    has_any.then(|| training.iter().flat_map(of).collect())
}
