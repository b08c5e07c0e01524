//! A kernel smoother: the mean label of all rows, weighted by their likeness,
//!
//! ```text
//! h(x) = Σ_r weight_r K(x, x_r) y_r / Σ_r weight_r K(x, x_r)
//! ```
//!
//! and the weighted mean label where every likeness vanishes. A width that is not given is that of
//! Scott's rule, `width = σ n^(−1/(d+4))`, with σ² the mean weighted variance of the d columns and
//! n = (Σ weight)² / Σ weight² the effective number of distinct rows, which does not change when a
//! row is split into copies. [Nadaraya, 1964; Watson, 1964; Scott, "Multivariate Density
//! Estimation", 1992; Kish, "Survey Sampling", 1965, for n.]
//!
//! The hypothesis holds the rows it was learnt from: it is to stay at its node.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    Hypothesis, LocalModel, Storable, Stored, Vanishing, check,
    kernel::{Kernel, total_variance},
    solver::{DistinctRows, mean_of},
};
use crate::{
    algebra::{add_scaled, scale},
    data::{Dataset, Features, Labels, Scaling, Task},
    error::{Error, Result, same_size},
};

/// A kernel smoother (Nadaraya–Watson).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Smoother {
    /// The likeness of rows, Gaussian or Laplace: a narrow one follows every row, a wide one gives
    /// the weighted mean.
    #[serde(flatten, with = "super::kernel::weighting_keys")]
    #[schemars(with = "super::kernel::weighting_keys::WeightingKernelKeys")]
    pub kernel: Kernel,
    /// Whether columns are divided by their weighted standard deviation before distances are taken.
    #[serde(skip)]
    pub standardise: bool,
}

impl Default for Smoother {
    fn default() -> Self {
        Self { kernel: Kernel::Gaussian { width: 0.0 }, standardise: true }
    }
}

impl LocalModel for Smoother {
    fn fit(&self, data: &Dataset) -> Result<Box<dyn Hypothesis>> {
        self.kernel.check()?;
        refuse_signed(self.kernel)?;
        let distinct = DistinctRows::new(data.features(), data.weights(), "a smoother")?;
        let (scaling, points) = distinct.scaled(self.standardise);
        let (columns, shares) = (data.features().columns(), distinct.shares());
        let labels = distinct.labels(data.labels())?;
        Ok(Box::new(SmootherHypothesis {
            names: data.features().names().clone(),
            task: data.task(),
            kernel: self.kernel.with_width(scott_width(&points, columns, &shares)),
            scaling,
            points,
            mean: mean_of(&labels, data.task().outputs(), &shares),
            labels,
            shares,
        }))
    }

    /// Far from the own rows their likeness is smaller than any weight of rows nearby.
    fn vanishing_rows(&self, _own: &Dataset) -> Vanishing {
        Vanishing::Remembered
    }
}

/// Likeness below zero would make a mean with negative weights.
fn refuse_signed(kernel: Kernel) -> Result<()> {
    match kernel {
        Kernel::Gaussian { .. } | Kernel::Laplace { .. } => Ok(()),
        Kernel::Polynomial { .. } => {
            Err(Error::Unsupported { what: "a smoother", needs: "a Gaussian or Laplace kernel" })
        }
    }
}

/// Scott's width for weighted distinct rows; one where there is only one.
fn scott_width(points: &[f64], columns: usize, shares: &[f64]) -> f64 {
    let effective = 1.0 / shares.iter().map(|share| share * share).sum::<f64>();
    let deviation = (total_variance(points, columns, shares) / columns as f64).sqrt();
    let width = deviation * effective.powf(-1.0 / (columns as f64 + 4.0));
    if width > 0.0 { width } else { 1.0 }
}

/// Rows to be like, and how far likeness reaches.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SmootherHypothesis {
    /// The names of the features, in order.
    pub names: Arc<[String]>,
    /// What is predicted.
    pub task: Task,
    /// The likeness of rows.
    pub kernel: Kernel,
    /// How features are scaled before they are compared.
    pub scaling: Scaling,
    /// The scaled features of the distinct rows, one after the other.
    pub points: Vec<f64>,
    /// Their mean labels, one after the other.
    pub labels: Vec<f64>,
    /// Their shares in the total weight.
    pub shares: Vec<f64>,
    /// The weighted mean label, where nothing is alike.
    pub mean: Vec<f64>,
}

impl Hypothesis for SmootherHypothesis {
    fn predict(&self, features: &Features) -> Labels {
        let outputs = self.task.outputs();
        let mut labels = Labels::neutral(self.task, features.rows());
        let (mut likeness, mut scaled) = (vec![0.0; self.shares.len()], Vec::new());
        for (label, x) in labels.as_mut_slice().chunks_exact_mut(outputs).zip(features.iter()) {
            scaled.clear();
            scaled.extend(self.scaling.row(x));
            self.kernel.row(&scaled, &self.points, &mut likeness);
            label.fill(0.0);
            let mut total = 0.0;
            for ((y, share), alike) in
                self.labels.chunks_exact(outputs).zip(&self.shares).zip(&likeness)
            {
                add_scaled(label, share * alike, y);
                total += share * alike;
            }
            // Below the normal numbers a ratio has lost its digits.
            if total >= f64::MIN_POSITIVE * 1e20 {
                scale(label, 1.0 / total);
            } else {
                label.copy_from_slice(&self.mean);
            }
        }
        labels
    }

    fn save(&self) -> Option<Stored> {
        Stored::of(self)
    }
}

impl Storable for SmootherHypothesis {
    const KIND: &'static str = "smoother";

    fn domain(&self) -> (Option<&[String]>, Task) {
        (Some(&self.names), self.task)
    }

    /// Refuses lengths that disagree and numbers out of range, as a file may hold.
    fn check(&self) -> Result<()> {
        let (columns, outputs) = (self.names.len(), self.task.outputs());
        let count = self.shares.len();
        self.kernel.check_complete()?;
        refuse_signed(self.kernel)?;
        check::scaling(&self.scaling, columns)?;
        check::shares(&self.shares)?;
        same_size("features of a smoother", self.points.len(), columns * count)?;
        same_size("labels of a smoother", self.labels.len(), outputs * count)?;
        same_size("mean label of a smoother", self.mean.len(), outputs)?;
        check::finite("a feature of a smoother", &self.points)?;
        check::finite("a label of a smoother", &self.labels)?;
        check::finite("the mean label of a smoother", &self.mean)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    fn line(xs: &[f64], ys: &[f64], weights: &[f64]) -> Dataset {
        let features = Features::new(["x".to_string()].into(), xs.to_vec()).unwrap();
        Dataset::weighted(features, Labels::values(ys.to_vec()), weights.to_vec()).unwrap()
    }

    fn at(kernel: Kernel, data: &Dataset, x: f64) -> f64 {
        let features = Features::from_rows(&["x"], &[[x]]).unwrap();
        let model = Smoother { kernel, standardise: false };
        model.fit(data).unwrap().predict(&features).as_slice()[0]
    }

    #[test]
    fn smoother_keeps_the_laws_of_local_models() {
        for (kernel, standardise) in [
            (Kernel::Gaussian { width: 0.0 }, true),
            (Kernel::Laplace { width: 0.0 }, true),
            (Kernel::Gaussian { width: 0.5 }, false),
        ] {
            let model = Smoother { kernel, standardise };
            testing::check_local_model(&model, Task::Regression);
            testing::check_local_model(&model, Task::Classification { classes: 2 });
            testing::check_local_model(&model, Task::Classification { classes: 3 });
        }
    }

    #[test]
    fn two_rows_are_mixed_by_weight_and_likeness() {
        let data = line(&[0.0, 2.0], &[1.0, 5.0], &[3.0, 1.0]);
        let (near, far) = (3.0 * (-0.125_f64).exp(), (-1.125_f64).exp());
        let expected = (near + 5.0 * far) / (near + far);
        assert!((at(Kernel::Gaussian { width: 1.0 }, &data, 0.5) - expected).abs() < 1e-14);
    }

    #[test]
    fn wide_kernels_and_points_far_from_all_rows_give_the_weighted_mean() {
        let data = line(&[0.0, 2.0], &[1.0, 5.0], &[3.0, 1.0]);
        assert!((at(Kernel::Laplace { width: 1e12 }, &data, 0.0) - 2.0).abs() < 1e-9);
        assert!((at(Kernel::Gaussian { width: 1.0 }, &data, 1e3) - 2.0).abs() < 1e-15);
        assert!((at(Kernel::Gaussian { width: 1e-3 }, &data, 2.0) - 5.0).abs() < 1e-15);
    }

    #[test]
    fn signed_kernels_and_damaged_smoothers_are_refused() {
        let data = line(&[0.0, 2.0], &[1.0, 5.0], &[3.0, 1.0]);
        let kernel = Kernel::Polynomial { degree: 2, offset: 1.0 };
        let error = Smoother { kernel, standardise: true }.fit(&data).unwrap_err();
        assert_eq!(error.to_string(), "a smoother needs a Gaussian or Laplace kernel");
        let sound = Smoother::default()
            .fit(&data)
            .unwrap()
            .downcast_ref::<SmootherHypothesis>()
            .expect("a smoother stores a smoother")
            .clone();
        assert!(sound.check().is_ok());
        assert!(SmootherHypothesis { points: vec![1.0], ..sound.clone() }.check().is_err());
        assert!(SmootherHypothesis { mean: vec![f64::NAN], ..sound.clone() }.check().is_err());
        let kernel = Kernel::Gaussian { width: 0.0 };
        assert!(SmootherHypothesis { kernel, ..sound }.check().is_err());
    }
}
