//! Whole numbers with the weights of a normal distribution, drawn exactly,
//!
//! ```text
//! P(k) ∝ exp(−k² / 2σ²)          k = …, −1, 0, 1, …
//! ```
//!
//! from fair bits and fractions of whole numbers alone [Canonne, Kamath and Steinke, 2020, algorithms 1 to 3]. Noise that is
//! made of floating-point numbers is on a grid whose holes tell the number below it [Mironov, 2012]; sums are put on a grid
//! of our own instead, and what is added to them are whole steps of it.

use super::Bits;

/// The deviation of the noise in steps of the grid: 2 to this power or up to twice as many, so that rounding to the grid
/// is lost in it, and fractions fit into 128 bits.
const STEPS_EXPONENT: i32 = 18;

/// The normal distribution on whole numbers, of mean zero and density in proportion to exp(−x²/2σ²).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiscreteGaussian {
    /// σ, from one to 2²⁴.
    deviation: u64,
}

impl DiscreteGaussian {
    /// That of a deviation.
    ///
    /// # Panics
    ///
    /// If it is zero or above 2²⁴, where its fractions would not fit.
    #[must_use]
    pub fn new(deviation: u64) -> Self {
        assert!((1..=1 << 24).contains(&deviation), "a deviation lies between 1 and 2²⁴");
        Self { deviation }
    }

    /// Draws a number.
    pub fn sample(self, bits: &mut dyn Bits) -> i64 {
        let square = u128::from(self.deviation).pow(2);
        let scale = self.deviation + 1;
        loop {
            let drawn = laplace(scale, bits);
            let far = u128::from(drawn.unsigned_abs()) * u128::from(scale);
            // (|y| − σ²/t)² / 2σ², with both parts multiplied by t².
            let above = far.abs_diff(square).pow(2);
            if falls(above, 2 * square * u128::from(scale).pow(2), bits) {
                return drawn;
            }
        }
    }
}

/// Numbers with noise by which no more is told of a row than μ allows, if the row changes them by no more than the
/// sensitivity, in length; and the deviation of that noise. An infinite μ is no noise.
#[must_use]
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "exponents of numbers are below 1,100, and the deviation is some 2¹⁹ steps"
)]
pub fn noised(values: &[f64], sensitivity: f64, mu: f64, bits: &mut dyn Bits) -> (Vec<f64>, f64) {
    if mu.is_infinite() || sensitivity <= 0.0 {
        return (values.to_vec(), 0.0);
    }
    // A power of two, so that to put a number on the grid and to take it off rounds once.
    let grid = 2.0_f64.powi((sensitivity / mu).log2().floor() as i32 - STEPS_EXPONENT);
    // Rounding moves each number by half a step at most, in either of two tables.
    let steps = sensitivity / grid + (values.len() as f64).sqrt();
    let deviation = (steps / mu).ceil() as u64;
    let noise = DiscreteGaussian::new(deviation);
    let add = |value: &f64| grid * ((value / grid).round() + noise.sample(bits) as f64);
    (values.iter().map(add).collect(), grid * deviation as f64)
}

/// Whether something of probability exp(−above / below) happens.
fn falls(above: u128, below: u128, bits: &mut dyn Bits) -> bool {
    let (whole, rest) = (above / below, above % below);
    (0..whole).all(|_| falls_within_one(1, 1, bits)) && falls_within_one(rest, below, bits)
}

/// The same for a fraction of at most one: how many tosses of probability γ/1, γ/2, γ/3 … succeed before one fails is even
/// with probability e^−γ.
fn falls_within_one(above: u128, below: u128, bits: &mut dyn Bits) -> bool {
    let mut turn = 1;
    while below_chance(above, below * turn, bits) {
        turn += 1;
    }
    turn % 2 == 1
}

fn below_chance(above: u128, below: u128, bits: &mut dyn Bits) -> bool {
    uniform_below(below, bits) < above
}

/// A whole number below another, each as likely.
fn uniform_below(count: u128, bits: &mut dyn Bits) -> u128 {
    let width = 128 - (count - 1).leading_zeros();
    if width == 0 {
        return 0;
    }
    loop {
        let low = u128::from(bits.next());
        let all = if width > 64 { low | u128::from(bits.next()) << 64 } else { low };
        let drawn = all & (u128::MAX >> (128 - width));
        if drawn < count {
            return drawn;
        }
    }
}

/// A whole number of either sign with weights exp(−|k| / scale).
fn laplace(scale: u64, bits: &mut dyn Bits) -> i64 {
    let below = u128::from(scale);
    loop {
        let rest = uniform_below(below, bits);
        if !falls(rest, below, bits) {
            continue;
        }
        let mut turns = 0_u128;
        while falls(1, 1, bits) {
            turns += 1;
        }
        let size = i64::try_from(rest + below * turns).expect("a size beyond has no probability");
        let is_negative = bits.next() & 1 == 1;
        // Zero has one sign.
        if !(is_negative && size == 0) {
            return if is_negative { -size } else { size };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, Stream};

    fn stream(seed: u64) -> Stream {
        Stream::new(seed, 0, 0, Purpose::Privacy)
    }

    #[test]
    fn frequencies_and_moments_are_those_of_the_distribution() {
        for deviation in [1_u64, 2, 7] {
            let (noise, mut bits) = (DiscreteGaussian::new(deviation), stream(deviation));
            let draws = 200_000;
            let s = deviation as f64;
            let weight = |k: i64| (-((k * k) as f64) / (2.0 * s * s)).exp();
            let reach = 12 * i64::try_from(deviation).unwrap();
            let total: f64 = (-reach..=reach).map(weight).sum();
            let mut counts = vec![0.0; usize::try_from(2 * reach + 1).unwrap()];
            for _ in 0..draws {
                counts[usize::try_from(noise.sample(&mut bits) + reach).unwrap()] += 1.0;
            }
            let mut distance = 0.0;
            let mut cells = 0.0;
            for (at, count) in counts.iter().enumerate() {
                let expected =
                    f64::from(draws) * weight(i64::try_from(at).unwrap() - reach) / total;
                if expected > 5.0 {
                    distance += (count - expected) * (count - expected) / expected;
                    cells += 1.0;
                }
            }
            // Five deviations of χ².
            assert!(
                (distance - cells).abs() < 5.0 * (2.0 * cells).sqrt(),
                "{deviation}: {distance} {cells}"
            );
            let moment = |power: i32| -> f64 {
                counts
                    .iter()
                    .enumerate()
                    .map(|(at, count)| count * (at as f64 - reach as f64).powi(power))
                    .sum::<f64>()
                    / f64::from(draws)
            };
            let expected =
                (-reach..=reach).map(|k| (k * k) as f64 * weight(k)).sum::<f64>() / total;
            assert!(moment(1).abs() < 5.0 * s / f64::from(draws).sqrt());
            assert!((moment(2) / expected - 1.0).abs() < 5.0 * (2.0 / f64::from(draws)).sqrt());
        }
    }

    #[test]
    fn large_deviations_have_the_moments_of_normal_noise() {
        let (noise, mut bits) = (DiscreteGaussian::new(1 << 18), stream(3));
        let draws: Vec<f64> =
            (0..50_000).map(|_| noise.sample(&mut bits) as f64 / f64::from(1 << 18)).collect();
        let moment =
            |power: i32| draws.iter().map(|z| z.powi(power)).sum::<f64>() / draws.len() as f64;
        let error = 1.0 / (draws.len() as f64).sqrt();
        // Five standard errors each: variances of z, z², z³ and z⁴ are 1, 2, 15 and 96.
        let known: [(i32, f64, f64); 4] =
            [(1, 0.0, 1.0), (2, 1.0, 2.0), (3, 0.0, 15.0), (4, 3.0, 96.0)];
        for (power, expected, variance) in known {
            assert!(
                (moment(power) - expected).abs() < 5.0 * variance.sqrt() * error,
                "{power}: {}",
                moment(power)
            );
        }
    }

    /// δ(ε) of the discrete noise, summed up [Canonne, Kamath and Steinke, theorem 7].
    fn delta(deviation: f64, step: f64, epsilon: f64) -> f64 {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "deviations of this test are 1,024 at most"
        )]
        let reach = (14.0 * deviation) as i64;
        let weight = |k: i64| (-((k * k) as f64) / (2.0 * deviation * deviation)).exp();
        let total: f64 = (-reach..=reach).map(weight).sum();
        let tail = |from: f64| -> f64 {
            (-reach..=reach).filter(|k| *k as f64 > from).map(weight).sum::<f64>() / total
        };
        let middle = epsilon * deviation * deviation / step;
        tail(middle - 0.5 * step) - epsilon.exp() * tail(middle + 0.5 * step)
    }

    #[test]
    fn on_a_fine_grid_the_promise_is_that_of_normal_noise() {
        for mu in [0.5, 1.0, 2.0] {
            for epsilon in [0.5, 2.0, 4.4] {
                let exact = crate::privacy::delta_of(mu, epsilon);
                let errors = [64.0, 1024.0].map(|deviation: f64| {
                    // A whole number of steps: what is promised of a little more is promised.
                    let step = (mu * deviation).floor();
                    let own = crate::privacy::delta_of(step / deviation, epsilon);
                    (delta(deviation, step, epsilon) / own - 1.0).abs()
                });
                // It falls with the square of the grid, so that nothing that anyone counts is left at 2¹⁸ steps.
                assert!(
                    errors[1] < 1e-4 && errors[1] <= errors[0] + 1e-9,
                    "{mu} {epsilon}: {errors:?} {exact}"
                );
            }
        }
    }

    #[test]
    fn noise_is_added_on_a_grid_that_does_not_depend_on_what_it_hides() {
        let (values, deviation) = noised(&[0.1, 1e3, -7.3], 1.0, 0.5, &mut stream(1));
        assert!((deviation - 2.0).abs() < 1e-4 && deviation >= 2.0, "{deviation}");
        let grid = 2.0_f64.powi(1 - STEPS_EXPONENT);
        assert!(values.iter().all(|value| (value / grid).fract() == 0.0));
        assert_eq!(noised(&[0.1], 1.0, f64::INFINITY, &mut stream(1)), (vec![0.1], 0.0));
        let again = noised(&[0.1, 1e3, -7.3], 1.0, 0.5, &mut stream(1)).0;
        let other = noised(&[0.1, 1e3, -7.3], 1.0, 0.5, &mut stream(2)).0;
        assert!(values == again && values != other);
    }
}
