//! Lengths of time: in units of a time column, or with a unit of their own such as `6h`.

/// Microseconds in a second.
const SECOND: f64 = 1e6;

/// A length of time as an experiment writes it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TimeSpan {
    number: f64,
    /// Microseconds of the unit that was written; none for that of the time column.
    unit: Option<f64>,
}

impl TimeSpan {
    /// Reads `7`, `0.5`, `6h`, `30min`, `45s`, `7d` or `2w`; none if it is no length above zero.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        let text = text.trim();
        // Letters begin the unit, so that no exponent can be written.
        let end = text.find(|letter: char| letter.is_ascii_alphabetic()).unwrap_or(text.len());
        let number: f64 = text[..end].trim().parse().ok()?;
        let unit = match &text[end..] {
            "" => None,
            "s" => Some(SECOND),
            "min" => Some(60.0 * SECOND),
            "h" => Some(3_600.0 * SECOND),
            "d" => Some(86_400.0 * SECOND),
            "w" => Some(7.0 * 86_400.0 * SECOND),
            _ => return None,
        };
        (number.is_finite() && number > 0.0).then_some(Self { number, unit })
    }

    /// How many ticks it takes, where the time column counts `unit` ticks as one; none if that is no whole number of
    /// them. Units of its own are for calendars, whose ticks are microseconds.
    #[must_use]
    pub fn ticks(self, unit: i64, is_calendar: bool) -> Option<i64> {
        #[expect(clippy::cast_precision_loss, reason = "a unit is a day, or a million")]
        let ticks = match self.unit {
            None => self.number * unit as f64,
            Some(own) if is_calendar => self.number * own,
            Some(_) => return None,
        };
        let whole = ticks.round();
        // What is left of a tick is rounding, as in 0.1 days.
        let fits = (1.0..9e17).contains(&whole) && (ticks - whole).abs() < 1e-3;
        #[expect(clippy::cast_possible_truncation, reason = "it is whole, and small enough")]
        fits.then_some(whole as i64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ticks of a day.
    const DAY: i64 = 86_400_000_000;

    #[test]
    fn lengths_are_read_with_and_without_a_unit() {
        let days = |text: &str| TimeSpan::read(text)?.ticks(DAY, true);
        assert_eq!(days("7"), Some(7 * DAY));
        assert_eq!(days("7d"), days("7"));
        assert_eq!(days("2w"), days("14"));
        assert_eq!((days("6h"), days("0.25")), (Some(DAY / 4), Some(DAY / 4)));
        assert_eq!((days("30min"), days("1800 s")), (Some(DAY / 48), Some(DAY / 48)));
        let numbers = |text: &str| TimeSpan::read(text)?.ticks(1_000_000, false);
        assert_eq!((numbers("3"), numbers("0.1")), (Some(3_000_000), Some(100_000)));
        // A number has no hours, and no fraction of a tick.
        assert_eq!((numbers("6h"), numbers("0.00000001")), (None, None));
    }

    #[test]
    fn what_is_no_length_of_time_is_not_read() {
        for text in ["", "0", "-1", "h", "6 hours", "inf", "NaN", "1e400", "7dd", "1 2"] {
            assert_eq!(TimeSpan::read(text), None, "{text}");
        }
    }
}
