//! A hypothesis for rows of a table that was learnt in other units.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Hypothesis, HypothesisKinds, Scales, Stored};
use crate::{
    data::{Features, Labels, Task},
    error::Result,
};

/// Scales the features, asks a model, and gives its numbers the unit of the table.
#[derive(Debug, Clone)]
pub struct RescaledHypothesis {
    /// From the table to the model and back.
    pub scales: Scales,
    /// What is predicted.
    pub task: Task,
    /// What was learnt in other units.
    pub model: Arc<dyn Hypothesis>,
}

/// The same with its model as plain values.
#[derive(Serialize, Deserialize)]
struct RescaledValues {
    scales: Scales,
    task: Task,
    model: Stored,
}

impl Hypothesis for RescaledHypothesis {
    fn predict(&self, features: &Features) -> Labels {
        // Finite features of checked scales stay finite, unless they are astronomic; then nothing is known.
        let Ok(scaled) = self.scales.features(features) else {
            return Labels::neutral(self.task, features.rows());
        };
        let mut labels = self.model.predict(&scaled);
        if self.task == Task::Regression {
            let unit = self.scales.target();
            labels.as_mut_slice().iter_mut().for_each(|label| *label *= unit);
        }
        labels
    }

    fn save(&self) -> Option<Stored> {
        let Self { scales, task, model } = self;
        let values = RescaledValues { scales: scales.clone(), task: *task, model: model.save()? };
        Stored::of_values(Self::KIND, &values)
    }
}

impl RescaledHypothesis {
    pub(super) const KIND: &'static str = "rescaled";

    /// The hypothesis of stored values, and the features that it reads; its model is of the given kinds.
    pub(super) fn load(stored: Stored, kinds: &HypothesisKinds) -> Result<Self> {
        let RescaledValues { scales, task, model } = stored.into_values()?;
        scales.check()?;
        let names = scales.features(&Features::empty(scales.names().into()))?.names().clone();
        let model = kinds.load(model, Some((&names, task)))?.into();
        Ok(Self { scales, task, model })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        data::Dataset,
        model::{LocalModel, ModelKind},
        random::{Purpose, Stream},
    };

    /// Rows in units of their own, the columns not in the order of their names.
    fn rows(task: Task) -> Dataset {
        let mut stream = Stream::new(1, 0, 0, Purpose::Data);
        let row =
            |_| [5e3 + 40.0 * stream.normal(), 2e-4 * stream.normal(), -7.0 + stream.normal()];
        let rows: Vec<[f64; 3]> = (0..40).map(row).collect();
        let score = |x: &[f64; 3]| (x[0] - 5e3) / 40.0 + x[1] / 4e-4 - x[2];
        let labels = match task {
            Task::Regression => {
                Labels::values(rows.iter().map(|x| 30.0 * (9.0 + score(x))).collect())
            }
            Task::Classification { classes } => {
                let class = |x: &[f64; 3]| usize::from(score(x) > 7.0);
                Labels::classes(classes, &rows.iter().map(class).collect::<Vec<_>>()).unwrap()
            }
        };
        Dataset::new(Features::from_rows(&["z", "x", "y"], &rows).unwrap(), labels).unwrap()
    }

    #[test]
    fn models_of_every_kind_predict_in_the_units_of_the_table_also_from_a_file() {
        for kind in ModelKind::ALL {
            let model: Arc<dyn LocalModel> = kind.with_defaults().shared(false);
            for task in [Task::Regression, Task::Classification { classes: 2 }] {
                if !model.predicts(task) {
                    continue;
                }
                let data = rows(task);
                let (names, rows) = (["n".to_string()], std::slice::from_ref(&data));
                let scales =
                    Scales::of(&names, rows, std::slice::from_ref(&model)).unwrap().unwrap();
                let scaled = scales.rows(&data).unwrap();
                let learnt: Arc<dyn Hypothesis> = model.fit(&scaled).unwrap().into();
                let own = scales.for_table(&learnt, task);
                let (found, expected) =
                    (own.predict(data.features()), learnt.predict(scaled.features()));
                let unit = if task == Task::Regression { scales.target() } else { 1.0 };
                for (found, expected) in found.as_slice().iter().zip(expected.as_slice()) {
                    let close = (found - unit * expected).abs() < 1e-9 * (1.0 + found.abs());
                    assert!(close, "{kind}: {found} {expected}");
                }
                let names: &[String] = data.features().names();
                let stored = own.save().unwrap();
                let again =
                    HypothesisKinds::builtin().load(stored.clone(), Some((names, task))).unwrap();
                assert_eq!(again.predict(data.features()), found, "{kind}");
                let other = ["a", "b", "c"].map(String::from);
                let refused = HypothesisKinds::builtin().load(stored, Some((&other, task)));
                assert_eq!(refused.is_err(), *kind != ModelKind::Constant, "{kind}");
            }
        }
    }
}
