//! How large ε must at least be, if so many guesses of who took part are right.
//!
//! Whoever sees the result of an (ε, δ)-differentially private computation on rows that took part by the toss of
//! coins, and guesses `r` of `m` coins, is right as often as `r` coins with the probability of heads
//! `q = e^ε / (1 + e^ε)` show heads, or less often, up to δ:
//!
//! ```text
//! P(right ≥ v) ≤ P(H ≥ v) + 2 m δ max_i P(v − i ≤ H < v) / i         H: heads of r coins
//! ```
//!
//! [Steinke, Nasr and Jagielski, 2023, theorem 5.2]. Independent runs add up: their guesses are as one run's.

use crate::privacy::normal;

/// Guesses of who took part.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Guesses {
    /// How many coins were tossed.
    pub candidates: u64,
    /// Of how many it was guessed how they fell.
    pub made: u64,
    /// How many of these guesses are right.
    pub right: u64,
}

/// Beyond this ε nothing is promised anyway, and no number of guesses would show it.
const LARGEST_EPSILON: f64 = 50.0;
/// Deviations beyond which no guess is wrong.
const FARTHEST: f64 = 9.0;
/// Halvings of the interval in which ε is sought: enough for all digits that are shown.
const HALVINGS: usize = 40;

/// The largest ε that so many right guesses refute with this δ: any mechanism with a smaller one would be right so often in
/// at most `error_rate` of all audits. Zero if they refute none.
#[must_use]
pub fn epsilon_at_least(guesses: Guesses, delta: f64, error_rate: f64) -> f64 {
    let is_refuted = |epsilon: f64| chance(guesses, epsilon, delta) <= error_rate;
    if guesses.made == 0 || !is_refuted(0.0) {
        return 0.0;
    }
    let (mut least, mut most) = (0.0, LARGEST_EPSILON);
    for _ in 0..HALVINGS {
        let middle = 0.5 * (least + most);
        if is_refuted(middle) { least = middle } else { most = middle }
    }
    least
}

/// The largest μ of Gaussian differential privacy that so many right guesses refute, each of an independent release and of
/// what only one coin has decided: none with a smaller one would be right so often but in `error_rate` of all audits,
/// because each guess is right with probability Φ(μ/2) at most. Zero if they refute none.
#[must_use]
pub fn mu_at_least(guesses: Guesses, error_rate: f64) -> f64 {
    // The same probability of being right as a logarithm of odds.
    let odds = epsilon_at_least(guesses, 0.0, error_rate);
    let share = 1.0 / (1.0 + (-odds).exp());
    let (mut least, mut most) = (0.0, 2.0 * FARTHEST);
    for _ in 0..HALVINGS {
        let middle = 0.5 * (least + most);
        if normal(0.5 * middle) < share { least = middle } else { most = middle }
    }
    least
}

/// At most how probable so many right guesses are.
fn chance(Guesses { candidates, made, right }: Guesses, epsilon: f64, delta: f64) -> f64 {
    let heads = Heads::new(made, epsilon);
    let tail: f64 = (right..=made).map(|count| heads.probability(count)).sum();
    let (mut below, mut steepest) = (0.0, 0.0_f64);
    if delta > 0.0 {
        for step in 1..=right {
            below += heads.probability(right - step);
            steepest = steepest.max(below / step as f64);
        }
    }
    (tail + 2.0 * candidates as f64 * delta * steepest).min(1.0)
}

/// The number of heads of some coins.
struct Heads {
    /// Logarithms of factorials.
    factorials: Vec<f64>,
    log_odds: f64,
    log_tails: f64,
}

impl Heads {
    fn new(coins: u64, epsilon: f64) -> Self {
        let mut factorials = vec![0.0];
        for count in 1..=coins {
            factorials.push(factorials[factorials.len() - 1] + (count as f64).ln());
        }
        Self { factorials, log_odds: epsilon, log_tails: -epsilon.exp().ln_1p() }
    }

    fn probability(&self, heads: u64) -> f64 {
        let coins = self.factorials.len() - 1;
        let heads = usize::try_from(heads).map_or(coins, |heads| heads.min(coins));
        let ways = self.factorials[coins] - self.factorials[heads] - self.factorials[coins - heads];
        (ways + heads as f64 * self.log_odds + coins as f64 * self.log_tails).exp()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, Stream};

    #[test]
    fn tails_are_those_of_binomial_distributions() {
        // By scipy.stats.binom.sf(v - 1, r, 1 / (1 + exp(-ε))).
        let table = [
            (10, 10, 0.0, 9.765_625e-4),
            (10, 8, 0.0, 0.054_687_5),
            (100, 80, 1.0, 0.071_556_246_8),
            (1000, 900, 2.0, 0.031_670_422_7),
        ];
        for (made, right, epsilon, expected) in table {
            let guesses = Guesses { candidates: made, made, right };
            let found = chance(guesses, epsilon, 0.0);
            assert!((found / expected - 1.0).abs() < 1e-6, "{made} {right}: {found}");
        }
        // All right: q^r = 0.05.
        let guesses = Guesses { candidates: 100, made: 100, right: 100 };
        let q: f64 = 0.05_f64.powf(0.01);
        let found = epsilon_at_least(guesses, 0.0, 0.05);
        assert!((found - (q / (1.0 - q)).ln()).abs() < 1e-9, "{found}");
        assert!(epsilon_at_least(guesses, 1e-5, 0.05) < found);
        assert!(epsilon_at_least(Guesses::default(), 0.0, 0.05) == 0.0);
        // The same share as a distance of two normal distributions: Φ(μ/2) = q.
        let mu = mu_at_least(guesses, 0.05);
        assert!((normal(0.5 * mu) - q).abs() < 1e-9, "{mu}");
        assert!(mu_at_least(Guesses::default(), 0.05) < 1e-9);
    }

    #[test]
    fn a_bound_is_seldom_above_the_epsilon_of_answers_at_random() {
        // Every coin is told rightly with probability e^ε / (1 + e^ε), which is exactly ε-private.
        for (case, epsilon) in [0.5_f64, 1.0, 2.0, 4.0, 8.0].into_iter().enumerate() {
            let q = 1.0 / (1.0 + (-epsilon).exp());
            let (mut above, mut near) = (0, 0);
            for run in 0..400 {
                let mut stream = Stream::new(case as u64, 0, run, Purpose::Data);
                let right = (0..300).filter(|_| stream.uniform() < q).count() as u64;
                let guesses = Guesses { candidates: 300, made: 300, right };
                let found = epsilon_at_least(guesses, 0.0, 0.05);
                above += u32::from(found > epsilon);
                near += u32::from(found > 0.5 * epsilon);
            }
            // 5 % of 400 are 20; 33 are three standard errors more.
            assert!(above <= 33, "{epsilon}: {above}");
            assert!(near >= 200, "{epsilon}: {near}");
        }
    }
}
