//! Quantiles of the normal distribution and of Student's.

/// The value that a standard normal number does not exceed with this probability, to seven digits.
/// [Wichura 1988, algorithm AS 241, PPND7.]
#[must_use]
pub fn normal_quantile(probability: f64) -> f64 {
    let ratio = |x: f64, above: [f64; 4], below: [f64; 3]| {
        let [a, b, c, d] = above;
        let [f, g, h] = below;
        (((d * x + c) * x + b) * x + a) / (((h * x + g) * x + f) * x + 1.0)
    };
    let from_middle = probability - 0.5;
    if from_middle.abs() <= 0.425 {
        let above = [3.387_132_717_9, 50.434_271_938, 159.291_132_02, 59.109_374_720];
        let below = [17.895_169_469, 78.757_757_664, 67.187_563_600];
        return from_middle * ratio(0.180_625 - from_middle * from_middle, above, below);
    }
    // The distribution is symmetric: one tail will do, and the sign comes back at the end.
    let tail = (-probability.min(1.0 - probability).ln()).sqrt();
    let size = if tail <= 5.0 {
        let above = [1.423_437_277_7, 2.756_815_390_0, 1.306_728_481_6, 0.170_238_211_03];
        ratio(tail - 1.6, above, [0.737_001_642_50, 0.120_211_329_75, 0.0])
    } else {
        let above = [6.657_905_115_0, 3.081_226_386_0, 0.428_682_943_37, 0.017_337_203_997];
        ratio(tail - 5.0, above, [0.241_978_942_25, 0.012_258_202_635, 0.0])
    };
    size.copysign(from_middle)
}

/// The size that Student's t with ν degrees of freedom keeps below with probability `level`: the normal one
/// and three terms in 1/ν, 1.5 % too small at ν = 2. [Abramowitz and Stegun, 26.7.5.]
#[must_use]
pub(super) fn student_size(level: f64, degrees_of_freedom: f64) -> f64 {
    let z = normal_quantile(f64::midpoint(1.0, level));
    let (square, free) = (z * z, degrees_of_freedom);
    let first = (square + 1.0) / 4.0;
    let second = ((5.0 * square + 16.0) * square + 3.0) / 96.0;
    let third = (((3.0 * square + 19.0) * square + 17.0) * square - 15.0) / 384.0;
    z * (1.0 + (first + (second + third / free) / free) / free)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn normal_quantiles_are_those_of_the_tables() {
        let known = [
            (0.5, 0.0),
            (0.9, 1.281_551_565_5),
            (0.05, -1.644_853_627_0),
            (0.975, 1.959_963_984_5),
            (0.001, -3.090_232_306_2),
            (1e-12, -7.034_483_829),
        ];
        for (probability, quantile) in known {
            let found = normal_quantile(probability);
            assert!(
                (found - quantile).abs() < 1e-6 * (1.0 + quantile.abs()),
                "{probability} {found}"
            );
        }
    }

    #[test]
    fn few_degrees_of_freedom_widen_as_the_tables_of_t_say() {
        for (free, size) in [(2.0, 2.920), (5.0, 2.015), (10.0, 1.812), (30.0, 1.697)] {
            assert!((student_size(0.9, free) / size - 1.0).abs() < 0.015, "{free}");
        }
        assert!((student_size(0.9, 1e9) - normal_quantile(0.95)).abs() < 1e-8);
    }
}
