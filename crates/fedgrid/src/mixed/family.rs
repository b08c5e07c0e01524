//! The likelihood of rows whose errors are not normal: classes and counts.
//!
//! ```text
//! classes   log p_y,        p = softmax(0, η_1, …),   W = diag(p) − p pᵀ
//! counts    y η − e^η,                                W = e^η
//! ```
//!
//! with η = X w, one for every class but the first. `Xᵀ(y − μ)` is the score and `Xᵀ W X` the curvature.

use crate::algebra::{add_outer, add_scaled, dot};

/// What rows are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// One of so many classes.
    Classes(usize),
    /// A count.
    Counts,
}

/// The largest logarithm of a mean: beyond, counts overflow.
const LARGEST_LOG_MEAN: f64 = 500.0;

impl Family {
    /// How many linear predictors a row has.
    #[must_use]
    pub fn outputs(self) -> usize {
        match self {
            Self::Classes(classes) => classes.saturating_sub(1),
            Self::Counts => 1,
        }
    }

    /// Whether mean coefficients of so large a log-likelihood tell all classes apart: a row that is given another class
    /// has at most an even chance. Then the likelihood has no maximum, and grows towards infinite coefficients.
    pub(super) fn are_told_apart(self, log_likelihood: f64) -> bool {
        matches!(self, Self::Classes(_)) && log_likelihood > -std::f64::consts::LN_2
    }
}

/// The rows of a node.
#[derive(Debug, Clone, PartialEq)]
pub struct NodeRows {
    family: Family,
    columns: usize,
    features: Vec<f64>,
    /// A probability for every class, or a count.
    labels: Vec<f64>,
    weights: Vec<f64>,
}

/// The log-likelihood of a node's rows at some weights, with its derivatives.
#[derive(Debug, Clone)]
pub(super) struct NodeLikelihood {
    pub(super) value: f64,
    pub(super) score: Vec<f64>,
    /// Minus the second derivatives.
    pub(super) curvature: Vec<f64>,
}

impl NodeRows {
    /// From rows of so many columns each, with labels (a probability for every class, or a count) and weights.
    #[must_use]
    pub fn new(
        family: Family,
        columns: usize,
        features: Vec<f64>,
        labels: Vec<f64>,
        weights: Vec<f64>,
    ) -> Self {
        Self { family, columns, features, labels, weights }
    }

    /// What its labels are.
    pub(super) fn family(&self) -> Family {
        self.family
    }

    /// How many rows count.
    pub(super) fn count(&self) -> usize {
        self.weights.iter().filter(|weight| **weight > 0.0).count()
    }

    fn label(&self, row: usize) -> &[f64] {
        let width = match self.family {
            Family::Classes(classes) => classes,
            Family::Counts => 1,
        };
        &self.labels[row * width..(row + 1) * width]
    }

    /// The features, the linear predictors and their means, row by row.
    fn each(&self, weights: &[f64], mut visit: impl FnMut(usize, &[f64], &[f64], &[f64])) {
        let (d, outputs) = (self.columns, self.family.outputs());
        let mut predictors = vec![0.0; outputs];
        let mut means = vec![0.0; outputs];
        for (row, x) in self.features.chunks_exact(d).enumerate() {
            if self.weights[row] == 0.0 {
                continue;
            }
            for (output, predictor) in predictors.iter_mut().enumerate() {
                *predictor = dot(&weights[output * d..(output + 1) * d], x);
            }
            self.means(&predictors, &mut means);
            visit(row, x, &predictors, &means);
        }
    }

    fn means(&self, predictors: &[f64], means: &mut [f64]) {
        match self.family {
            Family::Classes(_) => {
                // Taken off, so that no power overflows; the first class has a predictor of zero.
                let most = predictors.iter().fold(0.0, |most: f64, x| most.max(*x));
                let total =
                    (-most).exp() + predictors.iter().map(|x| (x - most).exp()).sum::<f64>();
                means.iter_mut().zip(predictors).for_each(|(p, x)| *p = (x - most).exp() / total);
            }
            Family::Counts => means[0] = predictors[0].min(LARGEST_LOG_MEAN).exp(),
        }
    }

    /// The log-likelihood of a row, but for what does not depend on weights.
    fn row_value(&self, row: usize, predictors: &[f64], means: &[f64]) -> f64 {
        let label = self.label(row);
        match self.family {
            Family::Classes(_) => {
                let most = predictors.iter().fold(0.0, |most: f64, x| most.max(*x));
                let total =
                    (-most).exp() + predictors.iter().map(|x| (x - most).exp()).sum::<f64>();
                let share: f64 = label.iter().sum();
                dot(&label[1..], predictors) - share * (most + total.ln())
            }
            Family::Counts => label[0] * predictors[0] - means[0],
        }
    }

    /// The log-likelihood with its derivatives.
    pub(super) fn likelihood(&self, weights: &[f64]) -> NodeLikelihood {
        let (d, outputs) = (self.columns, self.family.outputs());
        let size = d * outputs;
        let mut found = NodeLikelihood {
            value: 0.0,
            score: vec![0.0; size],
            curvature: vec![0.0; size * size],
        };
        let mut outer = vec![0.0; d * d];
        self.each(weights, |row, x, predictors, means| {
            let weight = self.weights[row];
            let label = self.label(row);
            found.value += weight * self.row_value(row, predictors, means);
            outer.fill(0.0);
            add_outer(&mut outer, weight, x);
            for a in 0..outputs {
                let residual = match self.family {
                    Family::Classes(_) => label[a + 1] - means[a] * label.iter().sum::<f64>(),
                    Family::Counts => label[0] - means[0],
                };
                add_scaled(&mut found.score[a * d..(a + 1) * d], weight * residual, x);
                for b in 0..outputs {
                    let second = self.second(means, a, b);
                    for k in 0..d {
                        let at = (a * d + k) * size + b * d;
                        let target = &mut found.curvature[at..at + d];
                        add_scaled(target, second, &outer[k * d..(k + 1) * d]);
                    }
                }
            }
        });
        found
    }

    /// An entry of W.
    fn second(&self, means: &[f64], a: usize, b: usize) -> f64 {
        match self.family {
            Family::Classes(_) if a == b => means[a] * (1.0 - means[a]),
            Family::Classes(_) => -means[a] * means[b],
            Family::Counts => means[0],
        }
    }

    /// The derivative by the weights of `tr(C Xᵀ W X)` for a fixed matrix C.
    pub(super) fn third(&self, weights: &[f64], covariance: &[f64]) -> Vec<f64> {
        let (d, outputs) = (self.columns, self.family.outputs());
        let size = d * outputs;
        let mut gradient = vec![0.0; size];
        let mut spread = vec![0.0; outputs * outputs];
        self.each(weights, |row, x, _, means| {
            for a in 0..outputs {
                for b in 0..outputs {
                    let along = (0..d).map(|k| {
                        let at = (a * d + k) * size + b * d;
                        x[k] * dot(&covariance[at..at + d], x)
                    });
                    spread[a * outputs + b] = along.sum();
                }
            }
            for c in 0..outputs {
                let slope = self.weights[row] * self.slope(means, &spread, c);
                add_scaled(&mut gradient[c * d..(c + 1) * d], slope, x);
            }
        });
        gradient
    }

    /// The derivative of `Σ_ab H_ab W_ab` by a linear predictor.
    fn slope(&self, means: &[f64], spread: &[f64], c: usize) -> f64 {
        match self.family {
            Family::Classes(_) => {
                let size = means.len();
                let own: f64 = (0..size).map(|a| means[a] * spread[a * size + a]).sum();
                let row = |a: usize| dot(&spread[a * size..(a + 1) * size], means);
                let all: f64 = (0..size).map(|a| means[a] * row(a)).sum();
                means[c] * (spread[c * size + c] - own - 2.0 * row(c) + 2.0 * all)
            }
            Family::Counts => means[0] * spread[0],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, Stream};

    fn rows(family: Family, columns: usize) -> NodeRows {
        let mut stream = Stream::new(5, 0, 0, Purpose::Data);
        let features: Vec<f64> = (0..7 * columns).map(|_| stream.normal()).collect();
        let labels = match family {
            Family::Classes(classes) => (0..7)
                .flat_map(|row| (0..classes).map(move |c| f64::from(u8::from(row % classes == c))))
                .collect(),
            Family::Counts => (0..7).map(f64::from).collect(),
        };
        NodeRows::new(family, columns, features, labels, vec![1.0, 2.0, 1.0, 0.0, 1.0, 0.5, 1.0])
    }

    #[test]
    fn derivatives_are_those_of_differences() {
        for (family, columns) in
            [(Family::Classes(2), 3), (Family::Classes(4), 2), (Family::Counts, 3)]
        {
            let rows = rows(family, columns);
            let size = columns * family.outputs();
            let mut stream = Stream::new(6, 0, 0, Purpose::Data);
            let at: Vec<f64> = (0..size).map(|_| 0.4 * stream.normal()).collect();
            let mut covariance = vec![0.0; size * size];
            for _ in 0..size {
                let x: Vec<f64> = (0..size).map(|_| stream.normal()).collect();
                add_outer(&mut covariance, 1.0, &x);
            }
            let found = rows.likelihood(&at);
            let third = rows.third(&at, &covariance);
            for k in 0..size {
                let step = 1e-5;
                let moved = |sign: f64| {
                    let mut moved = at.clone();
                    moved[k] += sign * step;
                    rows.likelihood(&moved)
                };
                let (up, down) = (moved(1.0), moved(-1.0));
                let difference = |a: f64, b: f64| (a - b) / (2.0 * step);
                assert!((difference(up.value, down.value) - found.score[k]).abs() < 1e-7);
                for j in 0..size {
                    let second = -difference(up.score[j], down.score[j]);
                    assert!((second - found.curvature[k * size + j]).abs() < 1e-7);
                }
                let trace = |one: &NodeLikelihood| dot(&one.curvature, &covariance);
                assert!((difference(trace(&up), trace(&down)) - third[k]).abs() < 1e-6);
            }
        }
    }
}
