//! The units in which models are trained, whatever units a table has,
//!
//! ```text
//! z_k = (x_k − mean_k) / deviation_k          η = y / deviation of y          over training rows
//! ```
//!
//! with columns in the order of their names; for models that are affine maps, `z_k` is multiplied by the unit of its
//! slope (`coefficient_spread`). A ridge, a pull, a threshold or a step then means the same for
//! lengths in metres and in feet, and so do the draws of public points. What is learnt goes back to the units
//! of the table: linear maps as linear maps, all else with its scales around it (`for_table.rs`).

mod of_condensed;
mod of_moments;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{LocalModel, check, coefficient_spread::slope_units};
use crate::{
    data::{Dataset, Features, Labels, Scaling, Task, by_name},
    error::{Result, same_size},
};

/// What may be done to the rows of a model without changing what it can learn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rescaling {
    /// Anything that keeps their order: it asks no more of a column, or finds a scale by itself.
    Free,
    /// It is an affine map of its columns, each of which may have a unit of its own. Without an intercept, zero
    /// is a place of its own.
    Affine {
        /// Whether a constant is added.
        intercept: bool,
    },
    /// Columns should have one variance.
    Standardised {
        /// Whether they may be shifted.
        intercept: bool,
    },
    /// Nothing: it reads rows in the units that its user has chosen.
    Nothing,
}

impl Rescaling {
    fn is_shifted(self) -> bool {
        !matches!(self, Self::Affine { intercept: false } | Self::Standardised { intercept: false })
    }
}

/// How the rows of a table become those that models are trained on, and back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Scales {
    /// The features as the table has them.
    names: Arc<[String]>,
    /// What they are shifted and divided by.
    scaling: Scaling,
    /// What a target of numbers is divided by; one for classes and counts.
    target: f64,
}

impl Scales {
    /// The scales by which training rows have mean zero and variance one in all features, as far as the models
    /// allow, and variance one in the target; slopes of affine models have their units. None if some model reads
    /// rows as they are. `training` holds the training rows of the nodes of these names.
    pub fn of(
        names: &[String],
        training: &[Dataset],
        models: &[Arc<dyn LocalModel>],
    ) -> Result<Option<Self>> {
        let asked: Vec<Rescaling> = models.iter().map(|model| model.rescaling()).collect();
        let Some(first) = training.first().filter(|_| !asked.contains(&Rescaling::Nothing)) else {
            return Ok(None);
        };
        let is_shifted = asked.iter().all(|asked| asked.is_shifted());
        let parts = training.iter();
        let scaling =
            if is_shifted { Scaling::of_counted(parts) } else { Scaling::about_zero(parts) };
        // Counts have no unit, and their likelihood is about no other numbers.
        let are_counts = models.iter().any(|model| model.smallest_label() > f64::NEG_INFINITY);
        let target = match first.task() {
            Task::Regression if !are_counts => deviation(training),
            _ => 1.0,
        };
        let mut scales = Self { names: first.features().names().clone(), scaling, target };
        let is_affine = asked.iter().any(|asked| matches!(asked, Rescaling::Affine { .. }));
        let wants_one_variance =
            asked.iter().any(|asked| matches!(asked, Rescaling::Standardised { .. }));
        if is_affine && !wants_one_variance {
            let order = by_name(names);
            let scaled = order
                .iter()
                .map(|&node| scales.rows(&training[node]))
                .collect::<Result<Vec<_>>>()?;
            scales.take_units(slope_units(&scaled, is_shifted));
        }
        Ok(Some(scales))
    }

    /// Scales that no row has a say in: what features of these names are shifted and divided by, and the unit of the target.
    pub fn declared(names: Arc<[String]>, scaling: Scaling, target: f64) -> Result<Self> {
        let made = Self { names, scaling, target };
        made.check().map(|()| made)
    }

    /// Multiplies features, in the order of their names, by the units of their slopes.
    fn take_units(&mut self, units: Option<Vec<f64>>) {
        for (unit, column) in units.into_iter().flatten().zip(by_name(&self.names)) {
            self.scaling.deviations[column] /= unit;
        }
    }

    /// The scales of public points, where no row is at hand: features have variance one, and the target keeps
    /// its unit.
    pub fn of_points(points: &Features, models: &[Arc<dyn LocalModel>]) -> Result<Option<Self>> {
        // Equal labels have no deviation, so that their unit stays one, and tell nothing of slopes.
        let labels = Labels::neutral(Task::Regression, points.rows());
        Self::of(&["points".into()], &[Dataset::new(points.clone(), labels)?], models)
    }

    /// The unit of the target: errors of models are in multiples of it.
    #[must_use]
    pub fn target(&self) -> f64 {
        self.target
    }

    /// What the features are shifted and divided by, in the order of the table.
    #[must_use]
    pub fn scaling(&self) -> &Scaling {
        &self.scaling
    }

    /// Rows of the table as models see them.
    pub fn rows(&self, rows: &Dataset) -> Result<Dataset> {
        let features = self.features(rows.features())?;
        let mut labels = rows.labels().clone();
        if labels.task() == Task::Regression {
            labels.as_mut_slice().iter_mut().for_each(|label| *label /= self.target);
        }
        rows.with_values(features, labels)
    }

    /// Features of the table as models see them.
    pub fn features(&self, features: &Features) -> Result<Features> {
        same_size("feature columns", features.columns(), self.names.len())?;
        let order = by_name(&self.names);
        let names = order.iter().map(|&column| self.names[column].clone()).collect();
        if features.rows() == 0 {
            return Ok(Features::empty(names));
        }
        let Scaling { means, deviations } = &self.scaling;
        let scaled = |x: &[f64]| -> Vec<f64> {
            order.iter().map(|&c| (x[c] - means[c]) / deviations[c]).collect()
        };
        Features::new(names, features.iter().flat_map(scaled).collect())
    }

    /// The coefficients of an affine map of scaled features to multiples of a unit, the intercept last, as those
    /// of the table's.
    pub(crate) fn coefficients(&self, scaled: &[f64], unit: f64) -> Vec<f64> {
        let Some((intercept, slopes)) = scaled.split_last() else { return Vec::new() };
        let (mut own, level) = self.affine(slopes, *intercept, unit);
        own.push(level);
        own
    }

    /// Slopes and intercept of an affine map of scaled features, as one of the table's.
    pub(super) fn affine(&self, slopes: &[f64], intercept: f64, target: f64) -> (Vec<f64>, f64) {
        let (mut own, mut level) = (vec![0.0; slopes.len()], intercept);
        for (slope, column) in slopes.iter().zip(by_name(&self.names)) {
            own[column] = target * slope / self.scaling.deviations[column];
            level -= slope * self.scaling.means[column] / self.scaling.deviations[column];
        }
        (own, target * level)
    }

    /// What a coefficient of one is worth in the table, where numbers have the unit of the target; any other name
    /// than a feature's is the intercept's.
    pub(crate) fn coefficient_unit(&self, name: &str) -> f64 {
        let feature = self.names.iter().position(|own| own == name);
        self.target / feature.map_or(1.0, |column| self.scaling.deviations[column])
    }

    /// The names of the features as the table has them.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Refuses lists of the wrong length, and what divides by nothing, as a file may hold them.
    pub fn check(&self) -> Result<()> {
        check::scaling(&self.scaling, self.names.len())?;
        check::positive("unit of the target", &[self.target])
    }
}

/// The standard deviation of targets; one if they are all equal.
fn deviation(training: &[Dataset]) -> f64 {
    let values = || {
        training.iter().flat_map(|data| {
            let labels = data.labels().as_slice().iter().enumerate();
            labels.map(|(row, label)| (*label, data.count(row)))
        })
    };
    let total = training.iter().map(Dataset::row_count).sum::<f64>();
    let total = if total > 0.0 { total } else { 1.0 };
    let mean = values().map(|(y, count)| count * y).sum::<f64>() / total;
    let square = |(y, count): (f64, f64)| count * (y - mean).powi(2);
    let deviation = (values().map(square).sum::<f64>() / total).sqrt();
    // Less is the rounding of the mean.
    if deviation > 1e-12 * mean.abs() { deviation } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Hypothesis, Linear, Poisson, Tree};

    fn rows(scale: f64, shift: f64, unit: f64) -> Dataset {
        let x = [[1.0, 4.0], [2.0, 4.0], [5.0, 1.0]].map(|[a, b]| [b * scale + shift, a]);
        let labels = [3.0, 1.0, 8.0].map(|y| y * unit).to_vec();
        Dataset::new(Features::from_rows(&["b", "a"], &x).unwrap(), Labels::values(labels)).unwrap()
    }

    fn scales(data: &Dataset, model: impl LocalModel + 'static) -> Option<Scales> {
        Scales::of(&["n".into()], std::slice::from_ref(data), &[Arc::new(model)]).unwrap()
    }

    #[test]
    fn other_units_give_the_same_rows() {
        let plain = rows(1.0, 0.0, 1.0);
        let seen = scales(&plain, Tree::default()).unwrap().rows(&plain).unwrap();
        assert_eq!(seen.features().names()[..], ["a", "b"].map(String::from));
        for (scale, shift, unit) in [(3.0, -70.0, 1e-3), (1e6, 1e8, 42.0)] {
            let other = rows(scale, shift, unit);
            let again = scales(&other, Tree::default()).unwrap().rows(&other).unwrap();
            let values =
                |data: &Dataset| [data.features().values(), data.labels().as_slice()].concat();
            for (a, b) in values(&seen).iter().zip(values(&again)) {
                assert!((a - b).abs() < 1e-9, "{a} {b}");
            }
        }
    }

    #[test]
    fn without_an_intercept_zero_stays_zero_and_counts_stay_counts() {
        let data = rows(1.0, 0.0, 1.0);
        let through_zero = scales(&data, Linear { ridge: 0.0, intercept: false }).unwrap();
        let zero = Features::from_rows(&["b", "a"], &[[0.0, 0.0]]).unwrap();
        assert_eq!(through_zero.features(&zero).unwrap().values(), [0.0, 0.0]);
        assert!(through_zero.target() > 1.0);
        let counts = scales(&data, Poisson::default()).unwrap();
        assert_eq!(counts.rows(&data).unwrap().labels(), data.labels());
    }

    #[test]
    fn a_model_of_the_users_own_reads_rows_as_they_are() {
        #[derive(Debug)]
        struct Own;
        impl LocalModel for Own {
            fn fit(&self, data: &Dataset) -> Result<Box<dyn Hypothesis>> {
                Linear::default().fit(data)
            }

            fn rescaling(&self) -> Rescaling {
                Rescaling::Nothing
            }
        }
        assert_eq!(scales(&rows(1.0, 0.0, 1.0), Own), None);
    }
}
