//! How much nodes differ, from releases alone: the noise is known, so that what is left is how they differ,
//!
//! ```text
//! w_i ~ N(β, diag(τ))          s_i | w_i ~ N(Λ_i w_i, Λ_i)          Λ_i = [`Release::information`]
//! ```
//!
//! with β of maximum likelihood and τ where it ends by expectation and maximisation from a usual guess, which stands for a
//! few nodes more: where noise drowns all differences, the guess is left. Nothing is spent by it.

use super::release::{Release, USUAL_SCATTER};
use crate::algebra::{Cholesky, add_scaled, dot};

/// The usual variance of a coefficient over nodes, in half ranges of the labels: a tenth of a half range in size.
const USUAL_VARIANCE: f64 = 0.01;
/// So many nodes the usual guess stands for.
const GUESS_NODES: f64 = 2.0;
/// Steps of expectation and maximisation, and below which change they end.
const STEPS: usize = 300;
const LEAST_CHANGE: f64 = 1e-4;

/// How coefficients of (1, x) differ over nodes, labels measured from the middle of their bounds.
#[derive(Debug, Clone)]
pub struct Spread {
    /// β.
    pub mean: Vec<f64>,
    /// The covariance of a node's coefficients about the mean, as far as that is known: τ, and the errors of β.
    pub covariance: Vec<f64>,
}

/// What is known of a node without the others.
struct Known {
    precision: Vec<f64>,
    weighed: Vec<f64>,
}

impl Known {
    fn of(releases: &[Release], size: usize) -> Self {
        let mut known = Self { precision: vec![0.0; size * size], weighed: vec![0.0; size] };
        for release in releases {
            let (precision, weighed) = release.information(USUAL_SCATTER);
            add_scaled(&mut known.precision, 1.0, &precision);
            add_scaled(&mut known.weighed, 1.0, &weighed);
        }
        known
    }
}

impl Spread {
    /// Of all that the nodes have released, of features of so many columns.
    #[must_use]
    pub fn of(releases: &[Vec<Release>], columns: usize) -> Self {
        let size = columns + 1;
        let nodes: Vec<Known> = releases.iter().map(|own| Known::of(own, size)).collect();
        let mut variances = vec![USUAL_VARIANCE; size];
        let (mut mean, mut errors) = mean_of(&nodes, &variances, size);
        for _ in 0..STEPS {
            let next = maximised(&nodes, (&mean, &variances), size);
            let moved = next.iter().zip(&variances).map(|(next, last)| (next / last).ln().abs());
            let moved = moved.fold(0.0, f64::max);
            variances = next;
            (mean, errors) = mean_of(&nodes, &variances, size);
            if moved < LEAST_CHANGE {
                break;
            }
        }
        let mut covariance = errors;
        for (entry, variance) in covariance.iter_mut().step_by(size + 1).zip(&variances) {
            *entry += variance;
        }
        Self { mean, covariance }
    }
}

/// The covariance and the mean of a node's deviation from the mean of all.
fn deviation(node: &Known, mean: &[f64], variances: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let size = mean.len();
    let mut precision = node.precision.clone();
    for (entry, variance) in precision.iter_mut().step_by(size + 1).zip(variances) {
        *entry += 1.0 / variance;
    }
    let covariance = inverse(precision, size);
    let rest: Vec<f64> = (0..size)
        .map(|k| node.weighed[k] - dot(&node.precision[k * size..][..size], mean))
        .collect();
    let mode = covariance.chunks_exact(size).map(|row| dot(row, &rest)).collect();
    (covariance, mode)
}

fn maximised(nodes: &[Known], (mean, variances): (&[f64], &[f64]), size: usize) -> Vec<f64> {
    let mut squares = vec![GUESS_NODES * USUAL_VARIANCE; size];
    for node in nodes {
        let (covariance, mode) = deviation(node, mean, variances);
        for (k, square) in squares.iter_mut().enumerate() {
            *square += mode[k] * mode[k] + covariance[k * size + k];
        }
    }
    let count = nodes.len() as f64 + GUESS_NODES;
    squares.into_iter().map(|square| square / count).collect()
}

/// β and the covariance of its errors. A usual size of coefficients stands where nothing is known.
fn mean_of(nodes: &[Known], variances: &[f64], size: usize) -> (Vec<f64>, Vec<f64>) {
    let mut precision = vec![0.0; size * size];
    // Coefficients are about as large as half the range of labels, if nothing says better.
    precision.iter_mut().step_by(size + 1).for_each(|entry| *entry = 1.0);
    let mut weighed = vec![0.0; size];
    for node in nodes {
        // Λ − Λ B Λ and s − Λ B s, where B is the covariance of a deviation about zero.
        let zero = vec![0.0; size];
        let (covariance, mode) = deviation(node, &zero, variances);
        let half: Vec<f64> = product(&node.precision, &covariance, size);
        let taken = product(&half, &node.precision, size);
        for at in 0..size * size {
            precision[at] += node.precision[at] - taken[at];
        }
        for (k, sum) in weighed.iter_mut().enumerate() {
            *sum += node.weighed[k] - dot(&node.precision[k * size..][..size], &mode);
        }
    }
    let errors = inverse(precision, size);
    let mean = errors.chunks_exact(size).map(|row| dot(row, &weighed)).collect();
    (mean, errors)
}

fn product(a: &[f64], b: &[f64], size: usize) -> Vec<f64> {
    let entry =
        |at: usize| (0..size).map(|k| a[at / size * size + k] * b[k * size + at % size]).sum();
    (0..size * size).map(entry).collect()
}

/// The inverse of a positive definite matrix; zeros where rounding has left none.
pub(super) fn inverse(matrix: Vec<f64>, size: usize) -> Vec<f64> {
    let Some(factor) = Cholesky::new(matrix, size) else { return vec![0.0; size * size] };
    let mut inverse = vec![0.0; size * size];
    for (k, row) in inverse.chunks_exact_mut(size).enumerate() {
        row[k] = 1.0;
        factor.solve(row);
    }
    inverse
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        data::{Dataset, Features, Labels},
        privacy::{Mechanism, PrivateKind},
        random::{Purpose, Stream},
    };

    #[test]
    fn nodes_differ_by_what_they_were_made_to_differ_by() {
        let spread = |mu: f64| {
            let release = |node: usize| {
                let mut stream = Stream::new(4, node, 0, Purpose::Data);
                let own = [0.2 + 0.3 * stream.normal(), -0.1 + 0.05 * stream.normal()];
                let x: Vec<f64> = (0..40).map(|_| 2.0 * stream.uniform() - 1.0).collect();
                let labels = x.iter().map(|x| own[0] + own[1] * x + 0.1 * stream.normal());
                let labels = Labels::values(labels.collect());
                let rows = Features::new(["x".to_string()].into(), x).unwrap();
                let rows = Dataset::new(rows, labels).unwrap();
                let mechanism = Mechanism { kind: PrivateKind::Labels, mu, middle: 0.0 };
                mechanism.release(&rows, &mut Stream::new(1, node, 0, Purpose::Privacy))
            };
            let releases: Vec<_> = (0..300).map(|node| vec![release(node)]).collect();
            Spread::of(&releases, 1)
        };
        let found = spread(f64::INFINITY);
        assert!(
            (found.mean[0] - 0.2).abs() < 0.06 && (found.mean[1] + 0.1).abs() < 0.02,
            "{found:?}"
        );
        assert!((found.covariance[0] / 0.09 - 1.0).abs() < 0.25, "{found:?}");
        assert!((found.covariance[3] / 0.0025 - 1.0).abs() < 0.5, "{found:?}");
        // Noise that is known is not taken for differences.
        let found = spread(2.0);
        assert!((found.covariance[0] / 0.09 - 1.0).abs() < 0.4, "{found:?}");
        // Drowned in noise, the usual guess is left.
        let found = spread(1e-3);
        assert!(found.covariance[0] < 2.0 && found.covariance[3] < 2.0, "{found:?}");
    }
}
