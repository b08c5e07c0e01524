//! What a count says about a share: the largest under which so few are found in one of twenty cases,
//!
//! ```text
//! P(X ≤ k) = Σ_{j ≤ k} C(n, j) p^j (1 − p)^{n − j} = 0.05
//! ```
//!
//! [Clopper and Pearson, "The use of confidence or fiducial limits illustrated in the case of the binomial", 1934.]

/// How often a share lies above its limit, and how often a goal that is just met is taken to be missed.
const BEYOND: f64 = 0.05;

/// The share that lies above that of all worlds in 95 of 100 cases, after `found` of `tried`.
pub(crate) fn upper_limit(found: usize, tried: usize) -> f64 {
    if found >= tried {
        return 1.0;
    }
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if at_most(found, tried, middle) > BEYOND { low = middle } else { high = middle }
    }
    high
}

/// Whether so many are too many for a share of at most the given one.
pub(crate) fn is_above(share: f64, found: usize, tried: usize) -> bool {
    found > 0 && 1.0 - at_most(found - 1, tried, share) < BEYOND
}

/// Whether so many are too few for a share of at least the given one.
pub(crate) fn is_below(share: f64, found: usize, tried: usize) -> bool {
    at_most(found, tried, share) < BEYOND
}

/// The probability of at most so many of all.
fn at_most(found: usize, tried: usize, share: f64) -> f64 {
    // Logarithms, because the first term may be too small for a number.
    if share <= 0.0 || share >= 1.0 {
        return if share <= 0.0 || found >= tried { 1.0 } else { 0.0 };
    }
    let mut term = tried as f64 * (1.0 - share).ln();
    let mut sum = term.exp();
    for j in 1..=found {
        term += ((tried + 1 - j) as f64 / j as f64).ln() + (share / (1.0 - share)).ln();
        sum += term.exp();
    }
    sum
}

#[test]
fn limits_are_those_of_tables() {
    // Without any, 1 − 0.05^(1/n); the others from tables of the binomial.
    assert!((upper_limit(0, 1000) - 0.002_991).abs() < 1e-6);
    assert!((upper_limit(1, 10) - 0.394_163).abs() < 1e-6);
    assert!((upper_limit(5, 20) - 0.455_582).abs() < 1e-6);
    assert!((upper_limit(4, 4) - 1.0).abs() < 1e-12);
}

#[test]
fn goals_are_missed_only_beyond_chance() {
    // P(X ≥ 15) is 0.08 and P(X ≥ 16) 0.05 for a hundredth of a thousand.
    assert!(!is_above(0.01, 15, 1000) && is_above(0.01, 17, 1000));
    assert!(!is_above(0.01, 1, 100) && is_above(0.01, 4, 100));
    assert!(!is_below(0.6, 110, 200) && is_below(0.6, 107, 200));
    assert!(!is_below(0.0, 0, 10) && !is_above(1.0, 10, 10));
}
