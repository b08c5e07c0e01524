//! The order of rows in time. Dates and times are microseconds, numbers are millionths: both are whole ticks, so that
//! equal times are equal and the row seven days before is found exactly.

use serde::{Deserialize, Serialize};

use super::{
    calendar,
    problems::{Problems, WrongCells},
};
use crate::{
    experiment::{DataKeys, DateOrder, TimeSpan},
    source::{
        Column, Holds,
        moment::{DAY, written},
    },
};

/// Ticks of the number one.
const MILLION: i64 = 1_000_000;
/// Numbers up to this size have whole ticks.
const LARGEST: f64 = 9e12;

/// How the cells of a time column are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimeAxis {
    /// Whether they are dates or times; otherwise they are numbers.
    is_calendar: bool,
    /// Which comes first in dates such as 3/4/2024.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    order: Option<DateOrder>,
}

/// When each row of a table was.
#[derive(Debug, Clone)]
pub struct Times {
    /// The column that says it.
    pub column: String,
    /// How it is read.
    pub axis: TimeAxis,
    /// The tick of each row.
    pub ticks: Vec<i64>,
}

impl Times {
    /// The times of a column; what is wrong with it is added to the problems.
    #[must_use]
    pub fn new(keys: &DataKeys, column: &Column, problems: &mut Problems) -> Option<Self> {
        let axis = TimeAxis::of(keys, column, problems)?;
        Self::by(axis, column, problems)
    }

    /// The same of a column that is read in a known way.
    #[must_use]
    pub fn by(axis: TimeAxis, column: &Column, problems: &mut Problems) -> Option<Self> {
        let mut wrong = WrongCells::default();
        let mut ticks = Vec::with_capacity(column.rows());
        for row in 0..column.rows() {
            // Reading goes on, so that all wrong cells are counted; no tick is used if there is one.
            let tick = axis.tick(column, row).unwrap_or_else(|found| {
                wrong.add(row, || found);
                0
            });
            ticks.push(tick);
        }
        problems.add_cells(column.name(), &wrong);
        let column = column.name().to_string();
        wrong.is_empty().then_some(Self { column, axis, ticks })
    }
}

impl TimeAxis {
    fn of(keys: &DataKeys, column: &Column, problems: &mut Problems) -> Option<Self> {
        let name = column.name();
        let is_calendar = match column.holds() {
            Holds::Times => true,
            Holds::Numbers => false,
            holds => {
                problems.add(format!(
                    "column '{name}' holds {holds}, expected dates, times or numbers (key data.time)"
                ));
                return None;
            }
        };
        let declared = keys.columns.get(name).and_then(|own| own.order);
        let order = match declared {
            Some(order) => Some(order),
            None if is_calendar => match calendar::order_of(column, problems) {
                Ok(order) => order,
                Err(sentence) => {
                    problems.add(sentence);
                    return None;
                }
            },
            None => None,
        };
        Some(Self { is_calendar, order })
    }

    /// The tick of a cell, or what is there instead.
    fn tick(self, column: &Column, row: usize) -> Result<i64, String> {
        let expected = if self.is_calendar { "a date or time" } else { "a number" };
        if column.is_gap(row) {
            return Err(format!("is missing, expected {expected}"));
        }
        let tick = if self.is_calendar {
            column.written_moment(row).and_then(|date| date.moment(self.order))
        } else {
            match column.number(row) {
                Some(number) => return number_tick(number),
                None => None,
            }
        };
        tick.ok_or_else(|| {
            if self.is_calendar {
                calendar::misread(column, row)
            } else {
                format!("is '{}', expected {expected}", column.cell(row))
            }
        })
    }

    /// The tick of a time that an experiment names.
    pub fn read(self, key: &str, text: &str) -> Result<i64, String> {
        let tick = if self.is_calendar {
            calendar::read(text, self.order)
        } else {
            text.trim().parse().ok().and_then(|number| number_tick(number).ok())
        };
        let expected =
            if self.is_calendar { "a date or time, such as 2024-05-01" } else { "a number" };
        tick.ok_or_else(|| {
            format!("{key} is \"{text}\", expected {expected}, as data.time has them")
        })
    }

    /// A tick as files write it.
    #[must_use]
    pub fn written(self, tick: i64) -> String {
        if self.is_calendar {
            return written(tick);
        }
        #[expect(clippy::cast_precision_loss, reason = "a tick comes from a number")]
        let number = tick as f64 / MILLION as f64;
        number.to_string()
    }

    /// How many ticks a length of time takes.
    pub fn span(self, key: &str, text: &str) -> Result<i64, String> {
        let unit = if self.is_calendar { DAY } else { MILLION };
        let ticks = TimeSpan::read(text).and_then(|span| span.ticks(unit, self.is_calendar));
        ticks.ok_or_else(|| {
            format!("{key} is \"{text}\", expected a number, because data.time holds numbers")
        })
    }

    /// A length of time in words: `7 days`, `6h`, `3`.
    #[must_use]
    pub fn length(self, text: &str) -> String {
        let is_plain = text.trim().parse::<f64>().is_ok();
        match text.trim() {
            "1" if self.is_calendar => "1 day".into(),
            text if self.is_calendar && is_plain => format!("{text} days"),
            text => text.into(),
        }
    }
}

/// The tick of a number, or what is wrong with it.
fn number_tick(number: f64) -> Result<i64, String> {
    // Beyond, a million times the number does not fit into 64 bits.
    if !number.is_finite() || number.abs() > LARGEST {
        return Err(format!("is {number}, expected a number of size {LARGEST:e} at most"));
    }
    let ticks = number * MILLION as f64;
    // Decimals such as 0.1 are whole ticks but for rounding.
    let whole = ticks.round();
    // Beyond six decimals two times could be taken for one.
    if (ticks - whole).abs() > 1e-3 {
        return Err(format!("is {number}, expected a time of six decimals at most"));
    }
    #[expect(clippy::cast_possible_truncation, reason = "it is whole, and small enough")]
    Ok(whole as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(cells: &[&str]) -> (Option<Times>, Vec<String>) {
        let column = Column::of_text("day".into(), cells.iter().map(|cell| Some(*cell)));
        let mut problems = Problems::new("t.csv");
        let keys = toml::toml! {
            file = "t.csv"
            node = "node"
            target = "y"
        };
        let times = Times::new(&keys.try_into().unwrap(), &column, &mut problems);
        (times, problems.sentences())
    }

    #[test]
    fn dates_times_and_numbers_are_whole_ticks() {
        let ticks = |cells: &[&str]| times(cells).0.unwrap().ticks;
        assert_eq!(ticks(&["2024-01-02", "2024-01-01"]), [19724 * DAY, 19723 * DAY]);
        // Offsets from Greenwich are taken off: these are one time.
        let same = ticks(&["2024-01-01T12:00Z", "2024-01-01 14:00+02:00", "2024-01-01 12:00"]);
        assert!(same.iter().all(|tick| *tick == same[0]));
        let tenths = ticks(&["0.3", "0.2", "0.1"]);
        assert_eq!(tenths[0] - tenths[1], tenths[1] - tenths[2]);
        let axis = times(&["0.3"]).0.unwrap().axis;
        assert_eq!((axis.written(tenths[0]), axis.read("k", "0.3")), ("0.3".into(), Ok(300_000)));
        assert_eq!((axis.length("3"), axis.span("k", "6h").is_err()), ("3".into(), true));
        let axis = times(&["2024-01-01"]).0.unwrap().axis;
        let tick = axis.read("k", "2024-05-01 12:30").unwrap();
        assert_eq!(
            (axis.written(tick).as_str(), axis.length("7")),
            ("2024-05-01 12:30:00", "7 days".into())
        );
    }

    #[test]
    fn times_that_are_missing_or_none_are_named_with_their_row() {
        for (cells, sentence) in [
            (
                &["2024-01-01", "", "2024-01-02", "soon", "2024-01-03"][..],
                "row 2, column 'day' is missing, expected a date or time (and 1 more cell of this column)",
            ),
            (&["1", "2", "x"], "row 3, column 'day' is 'x', expected a number"),
            (
                &["1", "0.12345678"],
                "row 2, column 'day' is 0.12345678, expected a time of six decimals at most",
            ),
            (
                &["1e14"],
                "row 1, column 'day' is 100000000000000, expected a number of size 9e12 at most",
            ),
            (
                &["a", "b"],
                "column 'day' holds text, expected dates, times or numbers (key data.time)",
            ),
            (
                &["3/4/2024"],
                "column 'day' holds dates such as '3/4/2024', which do not tell day from month; set \
                 data.columns.day.order = \"day-first\" or \"month-first\"",
            ),
        ] {
            let (found, sentences) = times(cells);
            assert!(found.is_none(), "{cells:?}");
            assert_eq!(sentences, [sentence]);
        }
    }
}
