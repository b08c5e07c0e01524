//! What a noised release promises, by one number μ: to tell two neighbouring tables apart is no easier than to tell N(0, 1)
//! from N(μ, 1),
//!
//! ```text
//! μ = Δ / σ          δ(ε) = Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ)          ρ = μ²/2          μ² = Σ μ_k²
//! ```
//!
//! [Dong, Roth and Su, 2022; the profile is Balle and Wang, 2018, theorem 8.] Several Gaussian releases of the same rows are
//! one of the sum of their μ², so that nothing is lost in adding up. ρ is that of zero-concentrated privacy [Bun and
//! Steinke, 2016], which the discrete noise has exactly.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// Halvings of an interval: enough for all digits.
const HALVINGS: usize = 200;
/// From here on Φ(x) is one to all digits.
const FAR: f64 = 9.0;
/// Below this the series is exact to all digits but three, above it the fraction is.
const SERIES_UP_TO: f64 = 2.5;
/// Terms of the continued fraction: more change no digit from 2.5 on.
const FRACTION_TERMS: u32 = 120;

/// What may be told of one row: ε, but for a part δ of all cases.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Budget {
    /// How much likelier an answer may be with a row than without it, as a logarithm.
    pub epsilon: f64,
    /// In which share of cases more may be told.
    pub delta: f64,
}

impl Budget {
    /// Its μ; refuses what no noise can keep.
    pub fn mu(self) -> Result<f64> {
        mu_of(self.epsilon, self.delta)
    }
}

/// The share of cases δ in which a release of this μ tells more than ε.
#[must_use]
pub fn delta_of(mu: f64, epsilon: f64) -> f64 {
    if mu <= 0.0 {
        return 0.0;
    }
    let (a, b) = (0.5 * mu - epsilon / mu, 0.5 * mu + epsilon / mu);
    // Both tails have the density of a in common, because e^ε φ(b) = φ(a): no exponential overflows.
    if a <= 0.0 { density(a) * (mills(-a) - mills(b)) } else { normal(a) - density(a) * mills(b) }
        .max(0.0)
}

/// The smallest ε that a release of this μ keeps but for a part δ.
#[must_use]
pub fn epsilon_of(mu: f64, delta: f64) -> f64 {
    if delta_of(mu, 0.0) <= delta {
        return 0.0;
    }
    let mut most = 1.0;
    while delta_of(mu, most) > delta {
        most *= 2.0;
    }
    halved(0.0, most, |epsilon| delta_of(mu, epsilon) > delta)
}

/// The largest μ that keeps ε but for a part δ.
pub fn mu_of(epsilon: f64, delta: f64) -> Result<f64> {
    if !(epsilon > 0.0 && epsilon.is_finite()) {
        let expected = "a positive number";
        return Err(Error::Parameter { name: "epsilon", value: epsilon, expected });
    }
    if !(delta > 0.0 && delta < 1.0) {
        return Err(Error::Parameter { name: "delta", value: delta, expected: "between 0 and 1" });
    }
    let mut most = 1.0;
    while delta_of(most, epsilon) <= delta {
        most *= 2.0;
    }
    Ok(halved(0.0, most, |mu| delta_of(mu, epsilon) <= delta))
}

/// The ρ of zero-concentrated differential privacy.
#[must_use]
pub fn rho_of(mu: f64) -> f64 {
    0.5 * mu * mu
}

/// The μ of several releases of the same rows.
#[must_use]
pub fn composed(releases: impl IntoIterator<Item = f64>) -> f64 {
    releases.into_iter().map(|mu| mu * mu).sum::<f64>().sqrt()
}

/// The last number of an interval at which something is true, which it is from its begin on.
fn halved(mut least: f64, mut most: f64, is_true: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(least, most);
        if is_true(middle) { least = middle } else { most = middle }
    }
    least
}

fn density(x: f64) -> f64 {
    (-0.5 * x * x).exp() / std::f64::consts::TAU.sqrt()
}

/// Φ: how often two tables are told apart at best by a release of μ = 2x.
#[must_use]
pub fn normal(x: f64) -> f64 {
    if x >= 0.0 { 1.0 - density(x) * mills(x) } else { density(x) * mills(-x) }
}

/// Φ(−x) / φ(x), which does not vanish where both do.
fn mills(x: f64) -> f64 {
    if x > SERIES_UP_TO {
        // x + 1/(x + 2/(x + 3/…)), from its end.
        return 1.0 / (1..=FRACTION_TERMS).rev().fold(x, |below, k| x + f64::from(k) / below);
    }
    if x < -FAR {
        return 1.0 / density(x);
    }
    // Φ(x) − ½ = φ(x) (x + x³/3 + x⁵/(3·5) + …)
    let (mut term, mut sum, mut k) = (x, x, 1.0);
    while term.abs() > 1e-18 * sum.abs() {
        k += 2.0;
        term *= x * x / k;
        sum += term;
    }
    0.5 / density(x) - sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Deserialize)]
    struct Composition {
        deviations: Vec<f64>,
        delta: f64,
        epsilon: f64,
    }

    #[derive(Deserialize)]
    struct Reference {
        compositions: Vec<Composition>,
    }

    #[test]
    fn compositions_are_those_of_dp_accounting() {
        let made: Reference = serde_json::from_str(include_str!("reference.json")).unwrap();
        assert_eq!(made.compositions.len(), 20);
        for Composition { deviations, delta, epsilon } in made.compositions {
            let mu = composed(deviations.iter().map(|deviation| 1.0 / deviation));
            let found = epsilon_of(mu, delta);
            assert!(
                (found - epsilon).abs() < 1e-6 * (1.0 + epsilon),
                "{deviations:?}: {found} {epsilon}"
            );
            assert!((mu_of(found, delta).unwrap() / mu - 1.0).abs() < 1e-9);
        }
    }

    #[test]
    fn the_profile_falls_from_total_variation_to_nothing_and_never_below_it() {
        for mu in [1e-3, 0.1, 1.0, 4.0, 30.0] {
            // At ε = 0 it is 2 Φ(μ/2) − 1.
            let total = normal(0.5 * mu) - normal(-0.5 * mu);
            assert!((delta_of(mu, 0.0) - total).abs() < 1e-14, "{mu}");
            let mut before = f64::INFINITY;
            for step in 0..400 {
                let delta = delta_of(mu, 0.05 * f64::from(step) * (mu + mu * mu));
                assert!((0.0..=before).contains(&delta), "{mu} {step}");
                before = delta;
            }
        }
        assert!(delta_of(0.0, 1.0).abs() < f64::MIN_POSITIVE);
        assert!(epsilon_of(1e-9, 1e-5) == 0.0);
    }

    #[test]
    fn epsilons_that_no_noise_keeps_are_refused() {
        assert_eq!(
            mu_of(0.0, 1e-5).unwrap_err().to_string(),
            "epsilon is 0, expected a positive number"
        );
        assert!(
            mu_of(1.0, 0.0).is_err() && mu_of(1.0, 1.0).is_err() && mu_of(f64::NAN, 0.1).is_err()
        );
        // Of concentrated privacy a bound follows that is never below the curve.
        for mu in [0.1, 1.0, 3.0] {
            let rho = rho_of(mu);
            let bound = rho + 2.0 * (rho * 1e5_f64.ln()).sqrt();
            assert!(epsilon_of(mu, 1e-5) < bound);
        }
    }

    #[test]
    fn tails_have_all_their_digits() {
        // By mpmath, with 50 digits.
        let known = [
            (0.5, 0.691_462_461_274_013_1),
            (-1.0, 0.158_655_253_931_457_05),
            (-8.0, 6.220_960_574_271_786e-16),
        ];
        for (x, expected) in known {
            assert!((normal(x) / expected - 1.0).abs() < 1e-13, "{x} {}", normal(x));
        }
        let at_join = [SERIES_UP_TO - 1e-9, SERIES_UP_TO + 1e-9].map(mills);
        assert!((at_join[0] / at_join[1] - 1.0).abs() < 1e-8);
    }
}
