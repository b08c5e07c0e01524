//! Functions of a symmetric matrix N with all eigenvalues in [−r, r], r < 1, by Chebyshev's polynomials,
//!
//! ```text
//! (I − N)⁻¹  = Σ_k c_k T_k(N/r),    c_0 = 1/√(1 − r²),     c_k = 2 κ^k/√(1 − r²)
//! log(I − N) = Σ_k l_k T_k(N/r),    l_0 = −log(1 + κ²),    l_k = −2 κ^k/k
//! κ = r/(1 + √(1 − r²)),            T_1 v = (N/r) v,       T_{k+1} v = 2 (N/r) T_k v − T_{k−1} v
//! ```
//!
//! so that one sequence of products with N gives both, with no sum over nodes on the way.

/// The share of itself that a series may miss: rounding of its sum leaves about as much.
const SERIES_ERROR: f64 = 1e-14;

/// The two series for a radius.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Chebyshev {
    /// r.
    pub(crate) radius: f64,
    /// κ.
    rate: f64,
    /// √(1 − r²).
    root: f64,
}

impl Chebyshev {
    /// For eigenvalues that are nowhere beyond this, zero or more and below one.
    pub(crate) fn new(radius: f64) -> Self {
        // As a product: 1 − r² would lose digits where r is next to one.
        let root = ((1.0 - radius) * (1.0 + radius)).sqrt();
        Self { radius, rate: radius / (1.0 + root), root }
    }

    /// How many terms matter.
    pub(crate) fn terms(&self) -> usize {
        if self.rate == 0.0 {
            return 1;
        }
        let rest = (SERIES_ERROR * (1.0 - self.rate)).ln() / self.rate.ln();
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "at least one, and a radius below one in rounding bounds it"
        )]
        let terms = rest.ceil().max(1.0) as usize;
        1 + terms
    }

    /// `c_k`.
    pub(crate) fn inverse(&self, k: usize) -> f64 {
        if k == 0 { 1.0 / self.root } else { 2.0 * self.power(k) / self.root }
    }

    /// `l_k`.
    pub(crate) fn logarithm(&self, k: usize) -> f64 {
        if k == 0 { -(self.rate * self.rate).ln_1p() } else { -2.0 * self.power(k) / k as f64 }
    }

    fn power(&self, k: usize) -> f64 {
        self.rate.powf(k as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_series_are_those_of_their_functions() {
        for radius in [0.0, 0.3, 0.99] {
            let series = Chebyshev::new(radius);
            for x in [-1.0_f64, -0.2, 0.7, 1.0] {
                let term = |k: usize| (k as f64 * x.acos()).cos();
                let sum = |of: &dyn Fn(usize) -> f64| -> f64 {
                    (0..series.terms()).map(|k| of(k) * term(k)).sum()
                };
                let value = 1.0 - radius * x;
                assert!((sum(&|k| series.inverse(k)) * value - 1.0).abs() < 1e-11, "{radius} {x}");
                assert!((sum(&|k| series.logarithm(k)) - value.ln()).abs() < 1e-11, "{radius} {x}");
            }
        }
    }
}
