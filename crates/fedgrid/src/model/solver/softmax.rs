//! Scores as probabilities, `q_c = exp(z_c) / Σ exp(z)`.

use crate::algebra::scale;

/// Replaces scores by probabilities.
pub(crate) fn softmax(scores: &mut [f64]) {
    // Nothing overflows where the largest exponent is zero.
    let highest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    for score in &mut *scores {
        *score = (*score - highest).exp();
    }
    let sum: f64 = scores.iter().sum();
    scale(scores, 1.0 / sum);
}

/// Gives numbers the sum one.
pub(crate) fn divide_by_sum(numbers: &mut [f64]) {
    let sum: f64 = numbers.iter().sum();
    for number in numbers {
        *number /= sum;
    }
}
