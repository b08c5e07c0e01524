//! Whether a value agrees with the authors': the band in which it must lie is stated before the run,
//!
//! ```text
//! |ours − theirs| ≤ max( 15 % of theirs, 3 √(s²/n + s'²/n') )
//! ours within a factor 2 of theirs, where theirs is below 10⁻⁴ (or within the 3 standard errors)
//! ```
//!
//! with s and s' the standard deviations over our n and their n' repeats. A median has the standard
//! error 1.2533 s/√n of normal draws. Where their spread is not known, it is ours; a value that was
//! read off a printed figure has the accuracy of the reading as one more error.

use serde::Deserialize;

use super::figure::Statistic;

/// The share of a value by which it may be off in any case.
const ALLOWED_SHARE: f64 = 0.15;
/// How many standard errors of the difference are allowed.
const ALLOWED_STANDARD_ERRORS: f64 = 3.0;
/// Below this a factor counts instead of a share: errors that fall by powers of ten have no share.
const SMALL_VALUE: f64 = 1e-4;
/// That factor.
const ALLOWED_FACTOR: f64 = 2.0;
/// The standard error of a median of normal draws in units of that of their mean, √(π/2).
const MEDIAN_STANDARD_ERROR: f64 = 1.253_314_137_315_5;

/// A value that the authors' code or figure gives.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reference {
    /// Where on the horizontal axis.
    pub x: Option<f64>,
    /// Instead: the first x at which a line is at or below this.
    pub below: Option<f64>,
    /// The value, or that x.
    pub value: f64,
    /// Its standard deviation over single repeats.
    pub sd: Option<f64>,
    /// Over how many repeats it was taken.
    pub runs: usize,
    /// Which middle of them it is.
    #[serde(default)]
    pub statistic: Statistic,
    /// How accurately it was read off a figure.
    pub accuracy: Option<f64>,
    /// The value of the printed figure beside one from code; shown, not judged.
    pub printed: Option<f64>,
    /// Where it is from.
    pub origin: Origin,
}

/// Where a reference value is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// A file or a printed output in the authors' repository.
    Stored,
    /// The authors' code, run again.
    Rerun,
    /// A port that was compared with the authors' code on the same data.
    Port,
    /// Read by eye from the printed figure.
    Figure,
}

impl Origin {
    /// Its name in tables.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Stored => "stored",
            Self::Rerun => "rerun",
            Self::Port => "port",
            Self::Figure => "figure",
        }
    }
}

/// What our repeats gave for a value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ours {
    /// Their middle.
    pub value: f64,
    /// The standard deviation of single repeats; zero for one.
    pub sd: f64,
    /// How many there are.
    pub runs: usize,
}

/// The range that counts as agreement.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Band {
    /// Its lower end.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
}

impl Band {
    /// The band around a reference, for the spread and the number of our repeats.
    #[must_use]
    pub fn around(reference: &Reference, ours: Ours) -> Self {
        let widening = match reference.statistic {
            Statistic::Mean => 1.0,
            Statistic::Median => MEDIAN_STANDARD_ERROR,
        };
        let error = |sd: f64, runs: usize| widening * sd / (runs.max(1) as f64).sqrt();
        // One stored run has no spread of its own; it is taken to vary as ours do.
        let theirs = error(reference.sd.unwrap_or(ours.sd), reference.runs);
        let reading = reference.accuracy.unwrap_or(0.0);
        let own = error(ours.sd, ours.runs);
        let room =
            ALLOWED_STANDARD_ERRORS * (own * own + theirs * theirs + reading * reading).sqrt();
        let value = reference.value;
        let (low, high) = if value.abs() < SMALL_VALUE {
            (value / ALLOWED_FACTOR, value * ALLOWED_FACTOR)
        } else {
            (value - ALLOWED_SHARE * value.abs(), value + ALLOWED_SHARE * value.abs())
        };
        // The wider of the two: neither chance nor a small difference of method is a disagreement.
        Self { low: low.min(value - room), high: high.max(value + room) }
    }

    /// Whether a value lies in it.
    #[must_use]
    pub fn contains(self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reference(value: f64, sd: Option<f64>, runs: usize) -> Reference {
        let (statistic, origin) = (Statistic::Mean, Origin::Port);
        let (x, below, accuracy, printed) = (Some(1.0), None, None, None);
        Reference { x, below, value, sd, runs, statistic, accuracy, printed, origin }
    }

    fn ours(sd: f64, runs: usize) -> Ours {
        Ours { value: 0.0, sd, runs }
    }

    #[test]
    fn without_spread_it_is_fifteen_per_cent_or_a_factor_of_two() {
        let band = Band::around(&reference(2.0, Some(0.0), 5), ours(0.0, 5));
        assert!(band.contains(2.3 - 1e-12) && band.contains(1.7 + 1e-12));
        assert!(!band.contains(2.31) && !band.contains(1.69));
        let band = Band::around(&reference(3e-6, Some(0.0), 5), ours(0.0, 5));
        assert_eq!((band.low, band.high), (1.5e-6, 6e-6));
    }

    #[test]
    fn the_errors_of_both_sides_add_up_and_more_repeats_narrow_them() {
        // 3 √(0.4²/4 + 0.3²/9) = 3 √0.05.
        let band = Band::around(&reference(1.0, Some(0.3), 9), ours(0.4, 4));
        assert!((band.high - (1.0 + 3.0 * 0.05_f64.sqrt())).abs() < 1e-12);
        let narrow = Band::around(&reference(1.0, Some(0.3), 9), ours(0.4, 400));
        assert!(narrow.high < band.high && narrow.low > band.low);
        let median = Reference { statistic: Statistic::Median, ..reference(1.0, Some(0.3), 9) };
        assert!(Band::around(&median, ours(0.4, 4)).high > band.high);
    }

    #[test]
    fn an_unknown_spread_is_ours_and_a_reading_has_its_accuracy() {
        let known = Band::around(&reference(1.0, Some(0.5), 5), ours(0.5, 5));
        assert_eq!(Band::around(&reference(1.0, None, 5), ours(0.5, 5)), known);
        let read = Reference { accuracy: Some(0.1), ..reference(1.0, None, 5) };
        assert!(Band::around(&read, ours(0.5, 5)).high > known.high);
    }
}
