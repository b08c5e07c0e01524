//! Kernel ridge regression on weighted rows, solved by one Cholesky factor,
//!
//! ```text
//! (f, b) = argmin  Σ_r weight_r (y_r − f(x_r) − b)² + ridge ‖f‖²_K      f(x) = Σ_r c_r K(x, x_r)
//! (Ω^½ K Ω^½ + ridge I) a = Ω^½ (y − b)      c = Ω^½ a      Ω = diag(weights)
//! ```
//!
//! The intercept b is never penalised. Rows of equal features are merged first, which leaves the
//! minimiser as it is. The factor is that of all distinct rows (time m³/3, memory m² numbers), so
//! this is a model for up to a few thousand of them; other labels for the same rows cost m².
//!
//! A width that is not given is the root mean squared distance of two rows drawn by weight, √(2 Σ
//! variances): the median heuristic with a mean of squares for the median, so that a row k times is
//! a row of weight k. The ridge counts as at least 10⁻¹² of the largest entry of Ω^½ K Ω^½, below
//! which rounding would decide.
//!
//! Classes are fitted as one regression per class on the labels' probabilities. These are clipped
//! at zero, divided by their sum and mixed with the mean label,
//!
//! ```text
//! q(x) = (1 − s) clip(f(x) + b) / Σ clip + s ȳ      s ∈ [0.001, 1]
//! ```
//!
//! with the s of smallest weighted cross-entropy on the rows: a clipped probability is not a
//! certainty, and with s = 1 within reach no fit is worse than the mean label.
//!
//! The hypothesis holds the rows it was learnt from: it is to stay at its node. [Saunders, Gammerman
//! and Vovk, "Ridge Regression Learning Algorithm in Dual Variables", 1998.]

mod factored;
mod class_shares;

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::{class_shares::mix, factored::FactoredKernel};
use super::{
    Hypothesis, LocalModel, Prepared, Storable, Stored, Tunable, Vanishing, check,
    kernel::Kernel,
    vanishing::{every_column_varies, some_column_varies},
};
use crate::{
    algebra::dot,
    data::{Dataset, Features, Labels, Scaling, Task},
    error::{Error, Result, at_least_zero, same_size},
};

/// A kernel ridge regression model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct KernelRidge {
    /// The likeness of rows.
    #[serde(flatten, with = "super::kernel::keys")]
    #[schemars(with = "super::kernel::keys::KernelKeys")]
    pub kernel: Kernel,
    /// The pull ≥ 0 of the hypothesis to its intercept; zero meets every distinct row as far as
    /// rounding lets it.
    #[serde(skip_serializing)]
    #[schemars(skip)]
    pub ridge: f64,
    /// Whether a constant is added to the prediction.
    pub intercept: bool,
    /// Whether columns are centred and divided by their weighted standard deviation first.
    #[serde(skip)]
    pub standardise: bool,
}

impl Default for KernelRidge {
    fn default() -> Self {
        let kernel = Kernel::Gaussian { width: 0.0 };
        Self { kernel, ridge: 1e-3, intercept: true, standardise: true }
    }
}

impl LocalModel for KernelRidge {
    fn fit(&self, data: &Dataset) -> Result<Box<dyn Hypothesis>> {
        self.factor(data.features(), data.weights())?.fit(data.labels())
    }

    fn prepare(&self, rows: &Features, weights: &[f64]) -> Result<Option<Box<dyn Prepared>>> {
        Ok(Some(Box::new(self.factor(rows, weights)?)))
    }

    fn compares_rows(&self) -> bool {
        true
    }

    fn vanishing_rows(&self, own: &Dataset) -> Vanishing {
        let has_units = !self.standardise || every_column_varies(own);
        let has_width = self.kernel.check_complete().is_ok() || some_column_varies(own);
        match (has_units && has_width, self.ridge > 0.0) {
            (false, _) => Vanishing::Remembered,
            (true, true) => Vanishing::Forgotten,
            // Without a ridge it meets all rows, whatever they weigh, and the own ones too.
            (true, false) => Vanishing::Choosing,
        }
    }

    fn as_tunable(&self) -> Option<&dyn Tunable> {
        Some(self)
    }
}

impl Tunable for KernelRidge {
    fn with_ridge(&self, ridge: f64) -> Box<dyn LocalModel> {
        Box::new(Self { ridge, ..self.clone() })
    }
}

impl KernelRidge {
    fn factor(&self, rows: &Features, weights: &[f64]) -> Result<FactoredKernel> {
        at_least_zero("ridge", self.ridge)?;
        self.kernel.check()?;
        FactoredKernel::new(self, rows, weights)
    }
}

/// A learnt sum of kernels: `Σ_r c_r K(x, x_r) + b`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KernelRidgeHypothesis {
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
    /// The coefficients c of the first output, then those of the second, and so on.
    pub coefficients: Vec<f64>,
    /// The intercept b of each output, zero for models without one.
    pub intercepts: Vec<f64>,
    /// The weighted mean label, which class probabilities are mixed with.
    pub mean: Vec<f64>,
    /// The share s of the mean label in class probabilities; zero for numbers.
    pub share: f64,
}

impl Hypothesis for KernelRidgeHypothesis {
    fn predict(&self, features: &Features) -> Labels {
        let outputs = self.task.outputs();
        let count = self.coefficients.len() / outputs;
        let mut labels = Labels::neutral(self.task, features.rows());
        let (mut likeness, mut scaled) = (vec![0.0; count], Vec::new());
        for (label, x) in labels.as_mut_slice().chunks_exact_mut(outputs).zip(features.iter()) {
            scaled.clear();
            scaled.extend(self.scaling.row(x));
            self.kernel.row(&scaled, &self.points, &mut likeness);
            let vectors = self.coefficients.chunks_exact(count).zip(&self.intercepts);
            for (value, (c, b)) in label.iter_mut().zip(vectors) {
                *value = dot(c, &likeness) + b;
            }
            if self.task != Task::Regression {
                mix(label, &self.mean, self.share);
            }
        }
        labels
    }

    fn save(&self) -> Option<Stored> {
        Stored::of(self)
    }
}

impl Storable for KernelRidgeHypothesis {
    const KIND: &'static str = "kernel-ridge";

    fn domain(&self) -> (Option<&[String]>, Task) {
        (Some(&self.names), self.task)
    }

    /// Refuses lengths that disagree and numbers out of range, as a file may hold.
    fn check(&self) -> Result<()> {
        let (columns, outputs) = (self.names.len(), self.task.outputs());
        let count = self.points.len().checked_div(columns).unwrap_or(0);
        self.kernel.check_complete()?;
        check::scaling(&self.scaling, columns)?;
        same_size("features of a kernel model", self.points.len(), columns * count)?;
        same_size("coefficients of a kernel model", self.coefficients.len(), outputs * count)?;
        same_size("intercepts of a kernel model", self.intercepts.len(), outputs)?;
        same_size("mean label of a kernel model", self.mean.len(), outputs)?;
        check::finite("a feature of a kernel model", &self.points)?;
        check::finite("a coefficient of a kernel model", &self.coefficients)?;
        check::finite("an intercept of a kernel model", &self.intercepts)?;
        check::finite("the mean label of a kernel model", &self.mean)?;
        if (0.0..=1.0).contains(&self.share) {
            return Ok(());
        }
        let (value, expected) = (self.share, "a number from 0 to 1");
        Err(Error::Parameter { name: "share", value, expected })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        algebra::add_symmetric_product,
        random::{Purpose, Stream},
        testing,
    };

    const LAPLACE: Kernel = Kernel::Laplace { width: 0.8 };

    /// Six rows, the second and the last of equal features, with unequal weights.
    fn six_rows() -> Dataset {
        let rows = [[0.0, 1.0], [1.0, -0.5], [2.0, 0.3], [-1.0, 0.8], [0.5, 0.5], [1.0, -0.5]];
        let features = Features::from_rows(&["a", "b"], &rows).unwrap();
        let labels = Labels::values(vec![1.0, -2.0, 0.5, 3.0, 0.0, 1.0]);
        Dataset::weighted(features, labels, vec![1.0, 0.5, 2.0, 0.1, 3.0, 1.5]).unwrap()
    }

    fn plain(kernel: Kernel, intercept: bool) -> KernelRidge {
        KernelRidge { kernel, ridge: 0.3, intercept, standardise: false }
    }

    fn fitted(model: &KernelRidge, data: &Dataset) -> KernelRidgeHypothesis {
        model
            .fit(data)
            .unwrap()
            .downcast_ref::<KernelRidgeHypothesis>()
            .expect("a kernel model stores a kernel model")
            .clone()
    }

    #[test]
    fn kernel_ridge_keeps_the_laws_of_local_models() {
        for (kernel, ridge, intercept, standardise) in [
            (Kernel::Gaussian { width: 0.0 }, 0.01, true, true),
            (Kernel::Gaussian { width: 0.0 }, 0.0, true, true),
            (Kernel::Laplace { width: 0.0 }, 0.3, true, true),
            (Kernel::Laplace { width: 2.0 }, 0.3, false, false),
            (Kernel::Polynomial { degree: 2, offset: 1.0 }, 0.01, true, true),
            (Kernel::Polynomial { degree: 3, offset: 1.0 }, 0.0, false, true),
        ] {
            let model = KernelRidge { kernel, ridge, intercept, standardise };
            testing::check_local_model(&model, Task::Regression);
            testing::check_local_model(&model, Task::Classification { classes: 2 });
            testing::check_local_model(&model, Task::Classification { classes: 3 });
        }
    }

    /// In Python, with X, y, w as in `six_rows` and Z as here:
    ///
    /// ```text
    /// KernelRidge(alpha=0.3, kernel="rbf", gamma=1/(2*0.8**2)).fit(X, y, sample_weight=w).predict(Z)
    /// KernelRidge(alpha=0.3, kernel="polynomial", degree=3, gamma=1, coef0=0.5).fit(...).predict(Z)
    /// L = lambda A, B: np.exp(-euclidean_distances(A, B) / 0.8)
    /// KernelRidge(alpha=0.3, kernel="precomputed").fit(L(X, X), y, sample_weight=w).predict(L(Z, X))
    /// S = L(X, X) + 0.3 * np.diag(1 / w)
    /// b = np.linalg.solve(S, y).sum() / np.linalg.solve(S, np.ones(6)).sum()
    /// L(Z, X) @ np.linalg.solve(S, y - b) + b
    /// ```
    #[test]
    fn weighted_fits_are_those_of_scikit_learn() {
        let cubic = Kernel::Polynomial { degree: 3, offset: 0.5 };
        let cases = [
            (
                Kernel::Gaussian { width: 0.8 },
                false,
                [0.111_076_793_933_775_79, 0.005_728_575_316_565_69],
            ),
            (cubic, false, [0.006_357_055_002_103_151, -6.440_589_182_517_272]),
            (LAPLACE, false, [0.194_548_234_312_688_64, 0.023_973_586_163_889_81]),
            (LAPLACE, true, [0.396_370_511_051_385_43, 0.619_068_784_296_533_9]),
        ];
        let new = Features::from_rows(&["a", "b"], &[[0.2, 0.1], [3.0, -2.0]]).unwrap();
        for (kernel, intercept, expected) in cases {
            let predictions = plain(kernel, intercept).fit(&six_rows()).unwrap().predict(&new);
            for (p, expected) in predictions.as_slice().iter().zip(expected) {
                assert!((p - expected).abs() < 1e-10 * (1.0 + expected.abs()), "{kernel:?}: {p}");
            }
        }
    }

    #[test]
    fn no_change_of_the_coefficients_or_the_intercept_lowers_the_objective() {
        let (data, model) = (six_rows(), plain(LAPLACE, true));
        let objective = |h: &KernelRidgeHypothesis| {
            let predictions = h.predict(data.features());
            let rows = data.labels().as_slice().iter().zip(predictions.as_slice());
            let loss: f64 = rows.zip(data.weights()).map(|((y, p), w)| w * (y - p).powi(2)).sum();
            let count = h.coefficients.len();
            let mut matrix = vec![0.0; count * count];
            for (row, x) in matrix.chunks_exact_mut(count).zip(h.points.chunks_exact(2)) {
                h.kernel.row(x, &h.points, row);
            }
            let mut product = vec![0.0; count];
            add_symmetric_product(&mut product, 1.0, &matrix, &h.coefficients);
            loss + model.ridge * dot(&product, &h.coefficients)
        };
        let best = fitted(&model, &data);
        assert_eq!(best.coefficients.len(), 5, "equal rows are merged");
        for change in [-1e-3, 1e-3] {
            for index in 0..best.coefficients.len() {
                let mut other = best.clone();
                other.coefficients[index] += change;
                assert!(objective(&other) > objective(&best));
            }
            let mut other = best.clone();
            other.intercepts[0] += change;
            assert!(objective(&other) > objective(&best));
        }
    }

    #[test]
    fn without_ridge_distinct_rows_are_met_and_a_strong_ridge_leaves_the_mean() {
        let mut stream = Stream::new(1, 0, 0, Purpose::Data);
        let names = ["a", "b"].map(String::from).into();
        let features = Features::new(names, (0..60).map(|_| stream.normal()).collect()).unwrap();
        let labels = Labels::values((0..30).map(|_| stream.normal()).collect());
        let data = Dataset::new(features, labels).unwrap();
        let kernel = Kernel::Laplace { width: 0.0 };
        let predict = |ridge| {
            let model = KernelRidge { kernel, ridge, ..KernelRidge::default() };
            model.fit(&data).unwrap().predict(data.features())
        };
        for (p, y) in predict(0.0).as_slice().iter().zip(data.labels().as_slice()) {
            assert!((p - y).abs() < 1e-8);
        }
        let mean = data.mean_label()[0];
        assert!(predict(1e12).as_slice().iter().all(|p| (p - mean).abs() < 1e-8));
    }

    #[test]
    fn another_ridge_is_another_model_and_wrong_parameters_are_refused() {
        let data = six_rows();
        let one = plain(LAPLACE, true).with_ridge(2.0).fit(&data).unwrap();
        let other = KernelRidge { ridge: 2.0, ..plain(LAPLACE, true) }.fit(&data).unwrap();
        assert_eq!(one.save(), other.save());
        assert!(KernelRidge { ridge: -1.0, ..KernelRidge::default() }.fit(&data).is_err());
        assert!(plain(Kernel::Gaussian { width: -1.0 }, true).fit(&data).is_err());
    }

    #[test]
    fn a_damaged_kernel_model_is_refused() {
        let sound = fitted(&KernelRidge::default(), &six_rows());
        assert!(sound.check().is_ok());
        let mut short = sound.clone();
        short.coefficients.pop();
        assert!(short.check().is_err());
        assert!(KernelRidgeHypothesis { share: 2.0, ..sound.clone() }.check().is_err());
        let mut flat = sound.clone();
        flat.scaling.deviations[0] = 0.0;
        assert!(flat.check().is_err());
        assert!(
            KernelRidgeHypothesis { intercepts: vec![f64::INFINITY], ..sound }.check().is_err()
        );
    }
}
