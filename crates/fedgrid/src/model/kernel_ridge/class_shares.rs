//! Class probabilities from one regression per class,
//!
//! ```text
//! q = (1 − s) clip(f) / Σ clip(f) + s ȳ      s = argmin  − Σ_r weight_r Σ_c y_rc log q_rc
//! ```
//!
//! The cross-entropy is convex in s, so its slope is followed to zero by halving.

/// The smallest share of the mean label.
const LEAST_SHARE: f64 = 1e-3;

/// How often the interval of shares is halved: to the last bit.
const SHARE_HALVINGS: usize = 60;

/// Replaces regression values by probabilities.
pub(super) fn mix(values: &mut [f64], mean: &[f64], share: f64) {
    clip(values, mean);
    for (q, mean) in values.iter_mut().zip(mean) {
        *q = (1.0 - share) * *q + share * mean;
    }
}

/// The share of the mean label with the smallest cross-entropy, given labels, regression values and
/// weights of all rows.
pub(super) fn best_share(labels: &[f64], values: &[f64], weights: &[f64], mean: &[f64]) -> f64 {
    let mut clipped = values.to_vec();
    clipped.chunks_exact_mut(mean.len()).for_each(|row| clip(row, mean));
    let slope = |share: f64| {
        let mut sum = 0.0;
        let rows = labels.chunks_exact(mean.len()).zip(clipped.chunks_exact(mean.len()));
        for ((y, p), weight) in rows.zip(weights) {
            for ((y, p), mean) in y.iter().zip(p).zip(mean).filter(|((y, _), _)| **y > 0.0) {
                sum -= weight * y * (mean - p) / ((1.0 - share) * p + share * mean);
            }
        }
        sum
    };
    // Always some share of the mean: one certain mistake would cost infinity.
    let (mut low, mut high) = (LEAST_SHARE, 1.0);
    if slope(low) >= 0.0 {
        return low;
    }
    for _ in 0..SHARE_HALVINGS {
        let middle = 0.5 * (low + high);
        if slope(middle) < 0.0 { low = middle } else { high = middle }
    }
    high
}

/// Cuts off what is below zero and divides by the sum; the mean label where nothing is left.
fn clip(values: &mut [f64], mean: &[f64]) {
    let sum: f64 = values.iter().map(|value| value.max(0.0)).sum();
    for (value, mean) in values.iter_mut().zip(mean) {
        *value = if sum > 0.0 { value.max(0.0) / sum } else { *mean };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cross_entropy(labels: &[f64], values: &[f64], mean: &[f64], share: f64) -> f64 {
        let rows = labels.chunks_exact(2).zip(values.chunks_exact(2));
        rows.map(|(y, value)| {
            let mut q = value.to_vec();
            mix(&mut q, mean, share);
            -y.iter().zip(&q).map(|(y, q)| y * q.ln()).sum::<f64>()
        })
        .sum()
    }

    #[test]
    fn the_share_has_the_smallest_cross_entropy() {
        let (labels, mean) = ([1.0, 0.0, 0.0, 1.0, 0.2, 0.8], [0.4, 0.6]);
        // Confident, and wrong in the last row.
        let values = [0.9, 0.1, 0.2, 0.8, 1.1, -0.1];
        let share = best_share(&labels, &values, &[1.0; 3], &mean);
        assert!(share > LEAST_SHARE && share < 1.0);
        let best = cross_entropy(&labels, &values, &mean, share);
        for other in [share - 1e-4, share + 1e-4, LEAST_SHARE, 1.0] {
            assert!(cross_entropy(&labels, &values, &mean, other) > best);
        }
    }

    #[test]
    fn values_that_are_the_labels_take_the_least_share_and_useless_ones_the_whole_mean() {
        let (labels, mean) = ([1.0, 0.0, 0.0, 1.0], [0.5, 0.5]);
        let share = |values: &[f64]| best_share(&labels, values, &[1.0; 2], &mean);
        assert!((share(&labels) - LEAST_SHARE).abs() < 1e-15);
        assert!((share(&[0.0, 1.0, 1.0, 0.0]) - 1.0).abs() < 1e-15);
        let mut nothing = [-1.0, -2.0];
        mix(&mut nothing, &mean, 0.3);
        assert!(nothing.iter().all(|p| (p - 0.5).abs() < 1e-15));
    }
}
