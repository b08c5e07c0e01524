//! The distributions of ratios of normal sums, through the incomplete beta function.

/// How many terms the continued fraction has at most; about √max(a, b) are needed.
const MAX_TERMS: u32 = 300;

/// The change of the fraction, relative to it, at which it has converged.
const RELATIVE_PRECISION: f64 = 1e-13;

/// The logarithm of the gamma function (Lanczos), for positive arguments.
fn log_gamma(x: f64) -> f64 {
    const TERMS: [f64; 6] = [
        76.180_091_729_471_46,
        -86.505_320_329_416_77,
        24.014_098_240_830_91,
        -1.231_739_572_450_155,
        0.120_865_097_386_617_9e-2,
        -0.539_523_938_495_3e-5,
    ];
    let shifted = x + 5.5;
    let mut sum = 1.000_000_000_190_015;
    for (k, term) in TERMS.iter().enumerate() {
        sum += term / (x + 1.0 + k as f64);
    }
    (x + 0.5) * shifted.ln() - shifted + (2.506_628_274_631_000_5 * sum / x).ln()
}

/// The regularised incomplete beta function `I_x(a, b)` by its continued fraction.
fn incomplete_beta(x: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return x.clamp(0.0, 1.0);
    }
    // Beyond its mean the fraction converges slowly; there the other tail is cheaper.
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - incomplete_beta(1.0 - x, b, a);
    }
    let front = a * x.ln() + b * (1.0 - x).ln() + log_gamma(a + b) - log_gamma(a) - log_gamma(b);
    // Lentz's method divides by what may be zero on the way; a tiny number in its stead changes nothing.
    let safe = |value: f64| if value.abs() < 1e-300 { 1e-300 } else { value };
    let (mut c, mut d) = (1.0, 1.0 / safe(1.0 - (a + b) * x / (a + 1.0)));
    let mut fraction = d;
    for k in 1..MAX_TERMS {
        let m = f64::from(k);
        for odd in [false, true] {
            let term = if odd {
                -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0))
            } else {
                m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m))
            };
            d = 1.0 / safe(1.0 + term * d);
            c = safe(1.0 + term / c);
            fraction *= c * d;
        }
        if (c * d - 1.0).abs() < RELATIVE_PRECISION {
            break;
        }
    }
    front.exp() * fraction / a
}

/// The probability that Student's t with these degrees of freedom is at most `t`.
pub(super) fn student(t: f64, freedom: f64) -> f64 {
    let tail = 0.5 * incomplete_beta(freedom / (freedom + t * t), 0.5 * freedom, 0.5);
    if t > 0.0 { 1.0 - tail } else { tail }
}

/// The probability that Fisher's F with these degrees of freedom is at least `f`.
pub(super) fn fisher_tail(f: f64, above: f64, below: f64) -> f64 {
    incomplete_beta(below / (below + above * f.max(0.0)), 0.5 * below, 0.5 * above)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distributions_have_their_known_values() {
        // One degree of freedom is Cauchy's distribution, many are nearly normal.
        assert!((student(1.0, 1.0) - 0.75).abs() < 1e-9);
        assert!((student(-1.0, 1.0) - 0.25).abs() < 1e-9);
        assert!((student(1.959_964, 1e7) - 0.975).abs() < 1e-6);
        // With two above, P(F ≥ f) = (1 + 2 f / b)^(−b/2).
        for f in [0.1, 1.0, 7.0] {
            let exact = (1.0_f64 + 2.0 * f / 6.0).powf(-3.0);
            assert!((fisher_tail(f, 2.0, 6.0) - exact).abs() < 1e-9);
        }
        assert!((fisher_tail(4.0, 1.0, 9.0) - 2.0 * (1.0 - student(2.0, 9.0))).abs() < 1e-9);
        assert!((fisher_tail(0.0, 3.0, 4.0) - 1.0).abs() < 1e-12);
    }
}
