//! Numbers of a file of text, eight bytes each, that can be written again as they were.
//!
//! A column of numbers is read once and kept as numbers. Its cells may be wanted as text all the same: as names of nodes,
//! levels of a category, classes. So a number is taken for one only if its text can be had back from it:
//!
//! ```text
//! 1.5, 2      the shortest text of the number
//! 1.5, 2.0    the same with a point in whole numbers, as Python writes it
//! 1.50, 2.00  a fixed number of decimals
//! ```
//!
//! A text of fifteen digits at most is the only one of its length that stands for its number. Longer fractions, and numbers with an
//! exponent, are measurements and no names: of these the number is kept, and its shortest text.

/// The largest count of digits that a number always keeps.
const KEPT_DIGITS: usize = 15;

/// Powers of ten by which fifteen digits are divided without an error.
const POWERS: [f64; KEPT_DIGITS + 1] =
    [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15];

/// The ways of writing that all numbers of a column have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct WrittenForms {
    shortest: bool,
    pointed: bool,
    fixed: FixedDecimals,
}

/// Whether numbers have a fixed count of decimals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FixedDecimals {
    Any,
    Digits(u8),
    No,
}

impl WrittenForms {
    /// All ways, as of a column without numbers.
    pub(super) const ALL: Self = Self { shortest: true, pointed: true, fixed: FixedDecimals::Any };
    const WHOLE: Self = Self { shortest: true, pointed: false, fixed: FixedDecimals::No };
    const BY_VALUE: Self = Self { shortest: true, pointed: true, fixed: FixedDecimals::No };

    /// Those of both.
    pub(super) fn and(self, other: Self) -> Self {
        let fixed = match (self.fixed, other.fixed) {
            (FixedDecimals::Any, one) | (one, FixedDecimals::Any) => one,
            (one, same) if one == same => one,
            _ => FixedDecimals::No,
        };
        Self {
            shortest: self.shortest && other.shortest,
            pointed: self.pointed && other.pointed,
            fixed,
        }
    }

    /// Whether there is none.
    pub(super) fn is_none(self) -> bool {
        !self.shortest && !self.pointed && self.fixed == FixedDecimals::No
    }

    /// The text of a number.
    pub(super) fn text(self, value: f64) -> String {
        match self.fixed {
            _ if self.shortest => value.to_string(),
            _ if self.pointed && value.fract() == 0.0 => format!("{value:.1}"),
            _ if self.pointed => value.to_string(),
            FixedDecimals::Digits(digits) => format!("{value:.*}", usize::from(digits)),
            _ => value.to_string(),
        }
    }
}

/// A number with what its text says.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ReadNumber {
    pub(super) value: f64,
    pub(super) forms: WrittenForms,
    pub(super) point: PointSense,
}

/// What a point in a number can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PointSense {
    /// There is none.
    Absent,
    /// A decimal point.
    Clear,
    /// As in `1.234`, which some write for a thousand and more.
    Unclear,
}

/// Reads a number as plain files write it; none if its text could not be had back.
pub(super) fn read_number(cell: &[u8]) -> Option<ReadNumber> {
    let (is_negative, digits) = match cell {
        [b'-', rest @ ..] => (true, rest),
        _ => (false, cell),
    };
    let (whole, size) = leading_digits(digits, 0);
    // Zeros in front tell names apart: 007 is not 7.
    if whole == 0 || (whole > 1 && digits[0] == b'0') {
        return None;
    }
    let signed = |size: f64| if is_negative { -size } else { size };
    if whole == digits.len() {
        let value = signed(size as f64);
        let forms = WrittenForms::WHOLE;
        return (whole <= KEPT_DIGITS).then_some(ReadNumber {
            value,
            forms,
            point: PointSense::Absent,
        });
    }
    if digits[whole] != b'.' {
        // Plain codes such as 1E2 are names; what has a sign is the exponent of a small or large number.
        let has_sign = digits.get(whole + 1).is_some_and(|sign| matches!(sign, b'-' | b'+'));
        return by_value(cell, &digits[whole..], PointSense::Absent).filter(|_| has_sign);
    }
    let fraction = &digits[whole + 1..];
    let (decimals, all) = leading_digits(fraction, size);
    if decimals == 0 {
        return None;
    }
    let is_group = whole <= 3 && digits[0] != b'0' && decimals == 3;
    let point = if is_group { PointSense::Unclear } else { PointSense::Clear };
    if decimals < fraction.len() {
        return by_value(cell, &fraction[decimals..], PointSense::Clear);
    }
    let significant = if digits[0] == b'0' { decimals } else { whole + decimals };
    if significant > KEPT_DIGITS || decimals > KEPT_DIGITS {
        return by_value(cell, b"", point);
    }
    // Both are exact, so their quotient is the number that is nearest to the text.
    let value = signed(all as f64 / POWERS[decimals]);
    let ends_with_zero = fraction[decimals - 1] == b'0';
    let forms = WrittenForms {
        shortest: !ends_with_zero,
        pointed: !ends_with_zero || decimals == 1,
        fixed: u8::try_from(decimals).map_or(FixedDecimals::No, FixedDecimals::Digits),
    };
    Some(ReadNumber { value, forms, point })
}

/// How many digits a text begins with, and the number that they make behind those of `before`.
fn leading_digits(text: &[u8], before: u64) -> (usize, u64) {
    let mut number = before;
    for (count, byte) in text.iter().enumerate() {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return (count, number);
        }
        // More digits than a number holds wrap around; whoever reads it looks at their count first.
        number = number.wrapping_mul(10).wrapping_add(u64::from(digit));
    }
    (text.len(), number)
}

/// A number of which the value alone is kept, if what follows its digits is nothing or an exponent.
fn by_value(cell: &[u8], exponent: &[u8], point: PointSense) -> Option<ReadNumber> {
    let is_exponent = match exponent {
        [] => true,
        [b'e' | b'E', b'-' | b'+', rest @ ..] | [b'e' | b'E', rest @ ..] => {
            !rest.is_empty() && leading_digits(rest, 0).0 == rest.len()
        }
        _ => false,
    };
    let value: f64 = std::str::from_utf8(cell).ok().filter(|_| is_exponent)?.parse().ok()?;
    let forms = WrittenForms::BY_VALUE;
    value.is_finite().then_some(ReadNumber { value, forms, point })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_that_of_its_text_and_its_text_comes_back() {
        let mut cells: Vec<String> =
            ["0", "-0", "7", "-12", "999999999999999", "0.1", "-0.5", "123.456", "1.50", "2.0"]
                .map(String::from)
                .to_vec();
        cells.extend((0..2000_usize).map(|k| format!("{:.*}", k % 9, ((k * k) as f64).sin())));
        cells.extend(
            (0..2000_i32).map(|k| (f64::from(k) / 8.0 * 1e3_f64.powi(k % 5 - 2)).to_string()),
        );
        for cell in cells {
            let read = read_number(cell.as_bytes());
            let digits = cell.bytes().filter(u8::is_ascii_digit).count();
            let Some(read) = read else { panic!("{cell}") };
            assert_eq!(read.value.to_bits(), cell.parse::<f64>().unwrap().to_bits(), "{cell}");
            if digits <= KEPT_DIGITS {
                assert_eq!(read.forms.text(read.value), cell);
            }
        }
    }

    #[test]
    fn long_numbers_keep_every_bit() {
        for k in 1..2000_i32 {
            let value = f64::from(k).sqrt() * 10_f64.powi(k % 40 - 20);
            for cell in [value.to_string(), format!("{value:e}"), format!("{value:.17}")] {
                if let Some(read) = read_number(cell.as_bytes()) {
                    assert_eq!(
                        read.value.to_bits(),
                        cell.parse::<f64>().unwrap().to_bits(),
                        "{cell}"
                    );
                }
            }
        }
        assert_eq!(read_number(b"1.5e-05").unwrap().value.to_bits(), 1.5e-5_f64.to_bits());
        assert_eq!(read_number(b"2e+20").unwrap().value.to_bits(), 2e20_f64.to_bits());
    }

    #[test]
    fn names_that_look_like_numbers_stay_text() {
        for cell in [
            "",
            "-",
            "007",
            "+1",
            "1E2",
            "1e5",
            "5.",
            ".5",
            "1_000",
            "0x10",
            "inf",
            "nan",
            "1.2.3",
            "1,5",
            "1 5",
            "12345678901234567",
            "1.5e",
            "1.5e+",
            "1e+999",
            "٣",
        ] {
            assert_eq!(read_number(cell.as_bytes()), None, "{cell}");
        }
    }

    #[test]
    fn columns_keep_what_their_cells_have_in_common() {
        let forms = |cells: &[&str]| {
            let each = cells.iter().map(|cell| read_number(cell.as_bytes()).unwrap().forms);
            each.fold(WrittenForms::ALL, WrittenForms::and)
        };
        let text = |cells: &[&str]| -> Vec<String> {
            let common = forms(cells);
            let value = |cell: &&str| read_number(cell.as_bytes()).unwrap().value;
            cells.iter().map(|cell| common.text(value(cell))).collect()
        };
        for cells in [&["1", "2.5", "-3"][..], &["1.0", "2.25", "-0.0"], &["1.00", "2.50", "-3.25"]]
        {
            assert!(!forms(cells).is_none());
            assert_eq!(text(cells), cells);
        }
        assert!(forms(&["1", "2.50"]).is_none() && forms(&["1.0", "2"]).is_none());
        assert!(forms(&["1.50", "2.5"]).is_none() && forms(&["1.50", "2.250"]).is_none());
    }

    #[test]
    fn a_point_before_three_digits_may_part_thousands() {
        let point = |cell: &str| read_number(cell.as_bytes()).unwrap().point;
        assert_eq!(point("12"), PointSense::Absent);
        for cell in ["1.234", "-999.000"] {
            assert_eq!(point(cell), PointSense::Unclear, "{cell}");
        }
        for cell in ["0.123", "1234.567", "1.23", "1.2345", "1.234e-05"] {
            assert_eq!(point(cell), PointSense::Clear, "{cell}");
        }
    }
}
