//! The exponential of many numbers at once,
//!
//! ```text
//! exp(x) = 2ⁿ exp(r)      n = round(x / log 2)      r = x − n log 2,  |r| ≤ ½ log 2
//! ```
//!
//! with the power series of exp(r) up to r¹³, whose rest is below the rounding of its sum. The standard library's is
//! called number by number, which took a quarter of the time of kernel models.

#![expect(clippy::inline_always, reason = "what is not inlined is not compiled for wide vectors")]

use std::f64::consts::LOG2_E;

use crate::algebra::{SimdTask, simd};

/// Adding it leaves a number rounded to a whole one in the last bits.
const ROUNDING: f64 = 6_755_399_441_055_744.0;
/// The logarithm of two with 32 bits, so that it can be multiplied by n without rounding, and the rest of it.
const LOG_2: [f64; 2] = [0.693_147_180_369_123_8, 1.908_214_929_270_587_7e-10];
/// Below, exponentials are taken as zero; above, as that of the bound. Both are within the range of normal numbers.
const RANGE: [f64; 2] = [-708.0, 709.0];
/// One over the factorials from 13 down to 2.
const INVERSE_FACTORIALS: [f64; 12] = [
    1.605_904_383_682_161_3e-10,
    2.087_675_698_786_81e-9,
    2.505_210_838_544_172e-8,
    2.755_731_922_398_589e-7,
    2.755_731_922_398_589_3e-6,
    2.480_158_730_158_73e-5,
    1.984_126_984_126_984e-4,
    1.388_888_888_888_889e-3,
    8.333_333_333_333_333e-3,
    4.166_666_666_666_666_4e-2,
    1.666_666_666_666_666_6e-1,
    0.5,
];

/// Replaces numbers by their exponentials.
pub(crate) fn exponentials(numbers: &mut [f64]) {
    simd::dispatch(Exponentials(numbers));
}

struct Exponentials<'a>(&'a mut [f64]);

impl SimdTask for Exponentials<'_> {
    #[inline(always)]
    fn run(self) {
        for number in self.0 {
            *number = exponential(*number);
        }
    }
}

#[inline(always)]
fn exponential(x: f64) -> f64 {
    let bounded = if x > RANGE[0] { x } else { RANGE[0] };
    let bounded = if bounded < RANGE[1] { bounded } else { RANGE[1] };
    let shifted = bounded * LOG2_E + ROUNDING;
    let whole = shifted - ROUNDING;
    let r = (bounded - whole * LOG_2[0]) - whole * LOG_2[1];
    let mut series = INVERSE_FACTORIALS[0];
    for factor in &INVERSE_FACTORIALS[1..] {
        series = series * r + factor;
    }
    // The last bits of the shifted number are n, which becomes the exponent of a power of two.
    let power = f64::from_bits((shifted.to_bits() << 52).wrapping_add(1.0_f64.to_bits()));
    let value = power * (1.0 + (r + r * r * series));
    let value = if x < RANGE[0] { 0.0 } else { value };
    if x.is_nan() { x } else { value }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponentials_are_those_of_the_standard_library_up_to_rounding() {
        let given: Vec<f64> = (-70_000..70_000).map(|k| f64::from(k) * 0.010_037).collect();
        let mut found = given.clone();
        exponentials(&mut found);
        for (x, found) in given.iter().zip(found) {
            let expected = x.exp();
            assert!((found - expected).abs() <= 4.0 * f64::EPSILON * expected, "{x}: {found}");
        }
    }

    #[test]
    fn exponentials_at_the_ends_are_exact() {
        let mut found = [0.0, -0.0, -1e4, f64::NEG_INFINITY, -1e-300, 1.0, f64::NAN];
        exponentials(&mut found);
        assert!(found[6].is_nan());
        assert_eq!(found[..5], [1.0, 1.0, 0.0, 0.0, 1.0]);
        assert!((found[5] - 1.0_f64.exp()).abs() < 1e-15);
    }
}
