//! Numbers as the page and the terminal print them: three significant digits, the integer part never cut,
//!
//! ```text
//! 0.000123    6.30    −41.0    123,456    1.20 × 10⁻⁷
//! ```

/// What stands for a number that is not there.
pub const ABSENT: &str = "–";

/// A number with at least three significant digits.
#[must_use]
pub fn significant(value: f64) -> String {
    rounded(value, 3)
}

/// A number with at least so many significant digits.
fn rounded(value: f64, digits: usize) -> String {
    if value.is_nan() {
        return ABSENT.into();
    }
    let sign = if value < 0.0 { "−" } else { "" };
    let size = value.abs();
    if size == 0.0 {
        return "0".into();
    }
    if size.is_infinite() {
        return format!("{sign}∞");
    }
    let (mantissa, exponent) = parts(size, digits);
    // Beyond these, zeros are harder to count than a power of ten is to read.
    if !(-4..=6).contains(&exponent) {
        return format!("{sign}{mantissa} × 10{}", raised(exponent));
    }
    match usize::try_from(exponent) {
        Ok(exponent) if exponent >= digits => format!("{sign}{}", grouped(&format!("{size:.0}"))),
        _ => sign.to_string() + &plain(&mantissa, exponent),
    }
}

/// A mantissa times a power of ten that is no larger than its digits reach.
fn plain(mantissa: &str, exponent: i32) -> String {
    let digits = || mantissa.chars().filter(|letter| *letter != '.');
    let Ok(whole) = usize::try_from(exponent) else {
        let zeros = exponent.unsigned_abs() as usize - 1;
        return "0.".chars().chain(std::iter::repeat_n('0', zeros)).chain(digits()).collect();
    };
    let mut text = grouped(&digits().take(whole + 1).collect::<String>());
    if mantissa.len() > whole + 2 {
        text.push('.');
        text.extend(digits().skip(whole + 1));
    }
    text
}

/// Numbers of one column of a table: with as many digits, from three to six, as it takes to tell apart those that differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Apart {
    digits: usize,
}

impl Apart {
    /// As few digits as tell these numbers apart.
    #[must_use]
    pub fn new(values: impl IntoIterator<Item = f64>) -> Self {
        // With more, numbers are hard to read, and what differs by less is the same to anyone.
        const MOST_DIGITS: usize = 6;
        let mut values: Vec<f64> = values.into_iter().filter(|value| value.is_finite()).collect();
        values.sort_by(f64::total_cmp);
        let most = Self { digits: MOST_DIGITS };
        values.dedup_by(|a, b| most.text(*a) == most.text(*b));
        let tells = |digits: &usize| {
            let with = Self { digits: *digits };
            values.windows(2).all(|pair| with.text(pair[0]) != with.text(pair[1]))
        };
        Self { digits: (3..MOST_DIGITS).find(tells).unwrap_or(MOST_DIGITS) }
    }

    /// A number with these digits.
    #[must_use]
    pub fn text(self, value: f64) -> String {
        rounded(value, self.digits)
    }

    /// A number that may be missing.
    #[must_use]
    pub fn perhaps(self, value: Option<f64>) -> String {
        value.map_or_else(|| ABSENT.into(), |value| self.text(value))
    }
}

/// A number with its standard error, the error with two significant digits and the number with as many decimals,
/// such as `5.590 ± 0.031`.
#[must_use]
pub fn with_error(value: f64, error: f64) -> String {
    /// A number of more digits than these is harder to read than what its error says is worth.
    const MOST_DIGITS: i32 = 7;
    if !value.is_finite() || !error.is_finite() || error == 0.0 {
        return format!("{} ± {}", significant(value), significant(error));
    }
    let exponent_of = |size: f64| parts(size, 2).1;
    let exponent = exponent_of(error.abs());
    let first = if value == 0.0 { exponent } else { exponent_of(value.abs()).max(exponent) };
    if !(-4..=6).contains(&first) || first - exponent + 2 > MOST_DIGITS {
        return format!("{} ± {}", significant(value), rounded(error, 2));
    }
    let decimals = usize::try_from(1 - exponent).unwrap_or(0);
    let sign = if value < 0.0 { "−" } else { "" };
    let text = |size: f64| grouped(&format!("{size:.decimals$}"));
    format!("{sign}{} ± {}", text(value.abs()), text(error))
}

/// A number with one decimal, for likelihoods: what counts are differences of a few units.
#[must_use]
pub fn decimal(value: f64) -> String {
    let sign = if value < 0.0 { "−" } else { "" };
    format!("{sign}{}", grouped(&format!("{:.1}", value.abs())))
}

/// A number that may be missing.
#[must_use]
pub fn perhaps(value: Option<f64>) -> String {
    value.map_or_else(|| ABSENT.into(), significant)
}

/// The same number without idle zeros, for the ticks of an axis.
#[must_use]
pub fn tick(value: f64) -> String {
    let text = significant(value);
    if let Some((mantissa, power)) = text.split_once(" × ") {
        let mantissa = trimmed(mantissa);
        return match mantissa {
            "1" => power.into(),
            _ => format!("{mantissa} × {power}"),
        };
    }
    trimmed(&text).into()
}

/// The same as a power of ten if it is one, for the ticks of a long log axis.
#[must_use]
pub fn power(value: f64) -> String {
    let (mantissa, exponent) = parts(value, 3);
    if mantissa == "1.00" && exponent != 0 {
        format!("10{}", raised(exponent))
    } else {
        tick(value)
    }
}

/// A number of things.
#[must_use]
pub fn count(number: usize) -> String {
    grouped(&number.to_string())
}

/// A number of things with their name, in the plural where it is due.
#[must_use]
pub fn counted(number: usize, singular: &str) -> String {
    format!("{} {singular}{}", count(number), if number == 1 { "" } else { "s" })
}

/// A share, in per cent.
#[must_use]
pub fn percent(share: f64) -> String {
    format!("{} %", significant(100.0 * share))
}

/// A duration.
#[must_use]
pub fn duration(seconds: f64) -> String {
    if seconds < 120.0 {
        format!("{} s", significant(seconds))
    } else {
        format!("{} min", significant(seconds / 60.0))
    }
}

/// A number of bytes.
#[must_use]
pub fn bytes(number: usize) -> String {
    let units = [(1e9, "GB"), (1e6, "MB"), (1e3, "kB")];
    let size = number as f64;
    match units.into_iter().find(|(unit, _)| size >= *unit) {
        Some((unit, name)) => format!("{} {name}", significant(size / unit)),
        None => counted(number, "byte"),
    }
}

/// The mantissa of so many digits and the exponent of ten, after rounding.
fn parts(size: f64, digits: usize) -> (String, i32) {
    // Rounding comes first, because 999.6 has another exponent than 1,000.
    let text = format!("{size:.*e}", digits - 1);
    let (mantissa, exponent) = text.split_once('e').expect("scientific notation has an exponent");
    (mantissa.into(), exponent.parse().expect("an exponent is an integer"))
}

fn trimmed(text: &str) -> &str {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text }
}

/// Commas between thousands of the integer part.
fn grouped(digits: &str) -> String {
    let end = digits.find('.').unwrap_or(digits.len());
    let mut text = String::with_capacity(digits.len() + 2);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && index < end && (end - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn raised(exponent: i32) -> String {
    const DIGITS: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    let raise = |digit: char| digit.to_digit(10).map_or('⁻', |value| DIGITS[value as usize]);
    exponent.to_string().chars().map(raise).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_significant_digits() {
        let cases = [
            (0.0, "0"),
            (6.3, "6.30"),
            (0.1, "0.100"),
            (0.000_123, "0.000123"),
            (99.96, "100"),
            (999.6, "1,000"),
            (-41.04, "−41.0"),
            (-0.5, "−0.500"),
            (1.2e-7, "1.20 × 10⁻⁷"),
            (3.456e12, "3.46 × 10¹²"),
        ];
        for (value, text) in cases {
            assert_eq!(significant(value), text);
        }
    }

    #[test]
    fn a_number_is_written_with_the_decimals_that_its_digits_leave() {
        for at in 0..20_000 {
            let value = f64::from(at).mul_add(0.002_113, -3.9).exp2().powi(1 + at % 3) * 0.9994;
            for digits in 2..=6 {
                let exponent: i32 = parts(value, digits).1;
                let decimals =
                    usize::try_from(i32::try_from(digits).unwrap_or(i32::MAX) - 1 - exponent)
                        .unwrap_or(0);
                let plain = grouped(&format!("{value:.decimals$}"));
                if (-4..=6).contains(&exponent) {
                    assert_eq!(rounded(value, digits), plain);
                }
            }
        }
    }

    #[test]
    fn numbers_of_a_column_have_as_many_digits_as_tell_them_apart() {
        let shown = |values: &[f64]| {
            let apart = Apart::new(values.iter().copied());
            values.iter().map(|value| apart.text(*value)).collect::<Vec<_>>()
        };
        assert_eq!(shown(&[6.3, 12.1]), ["6.30", "12.1"]);
        assert_eq!(shown(&[100.91, 100.04, 100.12]), ["100.9", "100.0", "100.1"]);
        assert_eq!(shown(&[0.11002, 0.11004]), ["0.11002", "0.11004"]);
        // What is equal, or differs by less than anyone reads, keeps three.
        assert_eq!(shown(&[2.5, 2.5]), ["2.50", "2.50"]);
        assert_eq!(shown(&[2.5, 2.500_000_1, f64::NAN]), ["2.50", "2.50", "–"]);
    }

    #[test]
    fn a_standard_error_has_two_digits_and_its_number_as_many_decimals() {
        for (value, error, text) in [
            (5.5904, 0.0312, "5.590 ± 0.031"),
            (12.1, 1.96, "12.1 ± 2.0"),
            (-0.5, 0.25, "−0.50 ± 0.25"),
            (1234.5, 67.0, "1,234 ± 67"),
            (0.4, 12.0, "0 ± 12"),
            (2.0, 0.0, "2.00 ± 0"),
            // What differs by its rounding only would need too many digits.
            (5.5904, 3.1e-12, "5.59 ± 3.1 × 10⁻¹²"),
            (1.2e-9, 3.4e-11, "1.20 × 10⁻⁹ ± 3.4 × 10⁻¹¹"),
        ] {
            assert_eq!(with_error(value, error), text);
        }
    }

    #[test]
    fn the_integer_part_is_never_cut() {
        assert_eq!(significant(123_456.0), "123,456");
        assert_eq!(count(3119), "3,119");
    }

    #[test]
    fn what_is_not_a_number_is_not_printed_as_one() {
        assert_eq!(significant(f64::NAN), "–");
        assert_eq!(significant(f64::NEG_INFINITY), "−∞");
        assert_eq!(perhaps(None), "–");
    }

    #[test]
    fn ticks_have_no_idle_zeros() {
        let ticks = [0.5, 20.0, 1000.0, 1e-6, 2e-6, 100.0].map(tick);
        assert_eq!(ticks, ["0.5", "20", "1,000", "10⁻⁶", "2 × 10⁻⁶", "100"]);
        assert_eq!([1.0, 100.0, 0.01, 20.0].map(power), ["1", "10²", "10⁻²", "20"]);
    }

    #[test]
    fn bytes_and_durations_take_a_unit_that_fits() {
        assert_eq!(bytes(1), "1 byte");
        assert_eq!(bytes(1_234_567), "1.23 MB");
        assert_eq!(duration(0.42), "0.420 s");
        assert_eq!(duration(600.0), "10.0 min");
    }
}
