//! The part of a kernel ridge fit that does not depend on the labels,
//!
//! ```text
//! S = Ω^½ K Ω^½ + ridge I = L Lᵀ      u = Ω^½ 1      b = uᵀ S⁻¹ Ω^½ y / uᵀ S⁻¹ u
//! ```

use std::sync::Arc;

use super::{
    KernelRidge, KernelRidgeHypothesis,
    class_shares::{best_share, mix},
};
use crate::{
    algebra::{Cholesky, add_scaled, dot},
    data::{Features, Labels, Scaling, Task},
    error::{Error, Result},
    model::{
        Hypothesis, Prepared,
        kernel::{Kernel, total_variance},
        solver::{DistinctRows, mean_of},
    },
};

/// The smallest ridge, as a share of the largest entry of the weighted kernel matrix.
const SMALLEST_RIDGE_SHARE: f64 = 1e-12;

/// How often the ridge is made a hundred times larger before a matrix is given up.
const FACTOR_ATTEMPTS: usize = 6;

/// A kernel ridge model with the factor of its rows.
#[derive(Debug)]
pub(super) struct FactoredKernel {
    names: Arc<[String]>,
    distinct: DistinctRows,
    scaling: Scaling,
    points: Vec<f64>,
    shares: Vec<f64>,
    kernel: Kernel,
    /// The roots u of the weights.
    roots: Vec<f64>,
    /// The ridge that was enough for a factor.
    ridge: f64,
    factor: Cholesky,
    /// `S⁻¹ u`, for models with an intercept.
    level: Option<Vec<f64>>,
}

impl FactoredKernel {
    pub(super) fn new(model: &KernelRidge, rows: &Features, weights: &[f64]) -> Result<Self> {
        let distinct = DistinctRows::new(rows, weights, "a kernel model")?;
        let (scaling, points) = distinct.scaled(model.standardise);
        let shares = distinct.shares();
        // The root mean square distance of two rows: a width in the units of the features.
        let distance = (2.0 * total_variance(&points, rows.columns(), &shares)).sqrt();
        let kernel = model.kernel.with_width(if distance > 0.0 { distance } else { 1.0 });
        let roots: Vec<f64> = distinct.weights.iter().map(|weight| weight.sqrt()).collect();
        let (ridge, factor) = factor(kernel, &points, &roots, model.ridge)?;
        let level = model.intercept.then(|| {
            let mut level = roots.clone();
            factor.solve(&mut level);
            level
        });
        let names = rows.names().clone();
        Ok(Self { names, distinct, scaling, points, shares, kernel, roots, ridge, factor, level })
    }

    /// The solution a and the intercept b for one output.
    fn solve(&self, y: &[f64]) -> (Vec<f64>, f64) {
        // Equal labels leave nothing to be solved, so that they are met exactly.
        let mean = if self.level.is_some() { dot(y, &self.shares) } else { 0.0 };
        let mut a: Vec<f64> = y.iter().zip(&self.roots).map(|(y, u)| u * (y - mean)).collect();
        let Some(level) = &self.level else {
            self.factor.solve(&mut a);
            return (a, 0.0);
        };
        let rise = dot(level, &a) / dot(level, &self.roots);
        self.factor.solve(&mut a);
        add_scaled(&mut a, -rise, level);
        (a, mean + rise)
    }

    /// What the hypothesis predicts on its own rows: `y − ridge Ω^−½ a`.
    fn met(&self, y: &[f64], a: &[f64]) -> Vec<f64> {
        let rows = y.iter().zip(a.iter().zip(&self.roots));
        rows.map(|(y, (a, u))| y - self.ridge * a / u).collect()
    }
}

impl FactoredKernel {
    /// The hypothesis of these labels, and the sums of kernels that it has at the distinct rows.
    fn learn(&self, labels: &Labels) -> Result<(KernelRidgeHypothesis, Vec<f64>)> {
        let (task, count) = (labels.task(), self.distinct.count());
        let outputs = task.outputs();
        let labels = self.distinct.labels(labels)?;
        let mean = mean_of(&labels, outputs, &self.shares);
        let (mut coefficients, mut intercepts) = (Vec::new(), Vec::new());
        let mut met = vec![0.0; labels.len()];
        for output in 0..outputs {
            let y: Vec<f64> = (0..count).map(|index| labels[index * outputs + output]).collect();
            let (a, intercept) = self.solve(&y);
            for (index, value) in self.met(&y, &a).into_iter().enumerate() {
                met[index * outputs + output] = value;
            }
            coefficients.extend(a.iter().zip(&self.roots).map(|(a, u)| u * a));
            intercepts.push(intercept);
        }
        let share = match task {
            Task::Regression => 0.0,
            Task::Classification { .. } => best_share(&labels, &met, &self.shares, &mean),
        };
        let hypothesis = KernelRidgeHypothesis {
            names: self.names.clone(),
            task,
            kernel: self.kernel,
            scaling: self.scaling.clone(),
            points: self.points.clone(),
            coefficients,
            intercepts,
            mean,
            share,
        };
        Ok((hypothesis, met))
    }
}

impl Prepared for FactoredKernel {
    fn fit(&self, labels: &Labels) -> Result<Box<dyn Hypothesis>> {
        Ok(Box::new(self.learn(labels)?.0))
    }

    /// The equations of the fit tell what it predicts for the rows that have a weight; the others are asked for.
    fn fit_and_predict(
        &self,
        labels: &Labels,
        rows: &Features,
    ) -> Result<(Box<dyn Hypothesis>, Labels)> {
        let (hypothesis, mut met) = self.learn(labels)?;
        let outputs = hypothesis.task.outputs();
        if hypothesis.task != Task::Regression {
            for values in met.chunks_exact_mut(outputs) {
                mix(values, &hypothesis.mean, hypothesis.share);
            }
        }
        let absent: Vec<usize> = self.distinct.absent().collect();
        let asked = hypothesis.predict(&rows.select(&absent));
        let mut predictions = Labels::neutral(hypothesis.task, rows.rows());
        let all = predictions.as_mut_slice();
        self.distinct.each_row(|index, given| {
            all[given * outputs..][..outputs].copy_from_slice(&met[index * outputs..][..outputs]);
        });
        for (place, given) in absent.into_iter().enumerate() {
            all[given * outputs..][..outputs].copy_from_slice(asked.row(place));
        }
        Ok((Box::new(hypothesis), predictions))
    }
}

/// The factor of `Ω^½ K Ω^½ + ridge I`, and the ridge: the given one, or more where the matrix is so
/// near to singular that rounding makes it indefinite.
fn factor(kernel: Kernel, points: &[f64], roots: &[f64], ridge: f64) -> Result<(f64, Cholesky)> {
    let columns = points.len() / roots.len();
    let weighted_points = || points.chunks_exact(columns).zip(roots);
    let largest = weighted_points().map(|(x, u)| u * u * kernel.value(x, x)).fold(0.0, f64::max);
    let mut ridge = ridge.max(SMALLEST_RIDGE_SHARE * largest).max(f64::MIN_POSITIVE);
    for _ in 0..FACTOR_ATTEMPTS {
        let mut matrix = vec![0.0; roots.len() * roots.len()];
        let rows = matrix.chunks_exact_mut(roots.len()).zip(weighted_points());
        for (index, (row, (x, root))) in rows.enumerate() {
            // The factor reads the lower triangle only.
            kernel.row(x, &points[..(index + 1) * columns], row);
            row.iter_mut().zip(roots).for_each(|(value, u)| *value *= root * u);
            row[index] += ridge;
        }
        if let Some(factor) = Cholesky::new(matrix, roots.len()) {
            return Ok((ridge, factor));
        }
        // Large strides: every attempt costs the cube of the rows.
        ridge *= 100.0;
    }
    let reason = "its kernel matrix has no finite factor".into();
    Err(Error::Fit { model: "a kernel model", reason })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{data::Dataset, model::LocalModel};

    #[test]
    fn a_prepared_model_fits_as_the_model_does() {
        let rows = [[0.0, 1.0], [1.0, -0.5], [2.0, 0.3], [-1.0, 0.8], [0.5, 0.5], [1.0, -0.5]];
        let features = Features::from_rows(&["a", "b"], &rows).unwrap();
        let numbers = Labels::values(vec![1.0, -2.0, 0.5, 3.0, 0.0, 1.0]);
        // The fourth row does not count, and is asked for.
        let weights = vec![1.0, 0.5, 2.0, 0.0, 3.0, 1.5];
        let prepared = KernelRidge::default().prepare(&features, &weights).unwrap();
        let prepared = prepared.expect("a kernel model keeps its factor");
        let soft = Task::Classification { classes: 2 };
        let soft = Labels::new(soft, [0.2, 0.8, 1.0, 0.0, 0.4, 0.6].repeat(2)).unwrap();
        for labels in [numbers, Labels::values(vec![3.0; 6]), soft] {
            let whole =
                Dataset::weighted(features.clone(), labels.clone(), weights.clone()).unwrap();
            let hypothesis = KernelRidge::default().fit(&whole).unwrap();
            assert_eq!(prepared.fit(&labels).unwrap().save(), hypothesis.save());
            let (same, known) = prepared.fit_and_predict(&labels, &features).unwrap();
            assert_eq!(same.save(), hypothesis.save());
            let asked = hypothesis.predict(&features);
            for (known, asked) in known.as_slice().iter().zip(asked.as_slice()) {
                assert!((known - asked).abs() < 1e-10, "{known} {asked}");
            }
        }
        assert!(prepared.fit(&Labels::values(vec![1.0])).is_err());
    }
}
