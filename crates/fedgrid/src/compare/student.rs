//! Student's t distribution: how many standard errors chance exceeds so often.
//!
//! ```text
//! P(T > √ν tan φ) = ∫_φ^{π/2} cos^{ν−1} / ∫_{−π/2}^{π/2} cos^{ν−1}
//! ```

use std::f64::consts::FRAC_PI_2;

/// Beyond, the distribution is the normal one to within a percent.
const MOST_DEGREES: f64 = 200.0;
/// Steps of the integral on each side; so many are exact to five digits.
const STEPS: usize = 2000;

/// The value that is exceeded with the probability `tail` below one half.
pub(super) fn student(tail: f64, degrees: f64) -> f64 {
    let degrees = degrees.clamp(1.0, MOST_DEGREES);
    let width = FRAC_PI_2 / STEPS as f64;
    let density = |step: usize| ((step as f64 + 0.5) * width).sin().powf(degrees - 1.0);
    // Measured from π/2, where the tail begins.
    let half: f64 = (0..STEPS).map(density).sum();
    let mut left = 2.0 * half * tail;
    let mut step = 0;
    while left > density(step) {
        left -= density(step);
        step += 1;
    }
    let angle = (step as f64 + left / density(step)) * width;
    degrees.sqrt() / angle.tan()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_tables() {
        let table = [
            (0.01, 1.0, 31.820_52),
            (0.01, 3.0, 4.540_70),
            (0.01, 10.0, 2.763_77),
            (0.025, 4.0, 2.776_45),
            (0.025, 60.0, 2.000_30),
            (0.01, 200.0, 2.345_14),
        ];
        for (tail, degrees, value) in table {
            let found = student(tail, degrees);
            assert!((found / value - 1.0).abs() < 1e-4, "{tail} {degrees}: {found} {value}");
        }
        assert!((student(0.01, 1e9) - student(0.01, 200.0)).abs() < 1e-12);
    }
}
