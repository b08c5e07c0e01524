//! Dates and times as numbers that a model can use,
//!
//! ```text
//! days since the start      sin, cos of 2π · (month − 1)/12, weekday/7, hour/24
//! ```
//!
//! and never as ticks of a clock: a trend, and places in the year, the week and the day whose end is next to their
//! beginning.

use std::f64::consts::TAU;

use serde::{Deserialize, Serialize};

use super::problems::Problems;
use crate::{
    experiment::{CalendarForm, ColumnKeys, DateOrder, TimePart},
    source::{
        Column,
        moment::{Civil, DAY, WrittenMoment, written},
    },
};

/// Microseconds in an hour.
const HOUR: i64 = DAY / 24;

/// How day and month are ordered in a column, or why that cannot be told; none if no date needs it.
pub(super) fn order_of(column: &Column, places: &Problems) -> Result<Option<DateOrder>, String> {
    let (mut told, mut ambiguous) = (None, None);
    // Also of rows that do not train: how dates are written is a property of the file.
    for row in 0..column.rows() {
        let Some(date) = column.written_moment(row) else { continue };
        match (date.told_order(), told) {
            (Some(order), None) => told = Some(order),
            (Some(order), Some(before)) if order != before => {
                return Err(format!(
                    "row {}, column '{}' is '{}', where day and month are in another order than above",
                    places.place(row),
                    column.name(),
                    column.cell(row)
                ));
            }
            _ => {}
        }
        if date.is_ambiguous() {
            ambiguous.get_or_insert(row);
        }
    }
    match (told, ambiguous) {
        (told, None) | (told @ Some(_), _) => Ok(told),
        (None, Some(row)) => Err(format!(
            "column '{name}' holds dates such as '{}', which do not tell day from month; set \
             data.columns.{name}.order = \"day-first\" or \"month-first\"",
            column.cell(row),
            name = column.name()
        )),
    }
}

/// What is wrong with a cell that is no moment.
pub(super) fn misread(column: &Column, row: usize) -> String {
    let cell = column.cell(row);
    let Some(date) = column.written_moment(row).filter(|date| date.is_ambiguous()) else {
        return format!("is '{cell}', expected a date or time");
    };
    let [one, other] = [DateOrder::DayFirst, DateOrder::MonthFirst]
        .map(|order| date.moment(order).map_or_else(String::new, written));
    format!("is '{cell}', which is {one} or {other}, and no training row tells which; write it so")
}

/// The moments of some rows.
pub(super) fn moments(column: &Column, order: Option<DateOrder>, rows: &[usize]) -> Vec<i64> {
    rows.iter().filter_map(|&row| moment_at(column, order, row)).collect()
}

/// The moment of a row.
pub(super) fn moment_at(column: &Column, order: Option<DateOrder>, row: usize) -> Option<i64> {
    column.written_moment(row)?.moment(order).filter(|_| !column.is_gap(row))
}

/// A moment that was written by itself, such as the start of a count.
pub(super) fn read(text: &str, order: Option<DateOrder>) -> Option<i64> {
    WrittenMoment::read(text)?.moment(order)
}

/// What the moments of training rows say of the parts that can be used of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TimeFacts {
    /// The beginning of the first day.
    pub first: i64,
    /// The moment of all of them, if it is one.
    pub moment: Option<i64>,
    /// Their month, if it is one.
    pub month: Option<i64>,
    /// Their day of the week, if it is one.
    pub weekday: Option<i64>,
    /// Their microseconds since midnight, if these are the same.
    pub time: Option<i64>,
}

impl TimeFacts {
    /// What is so of some moments; none of none.
    pub(super) fn of(moments: &[i64]) -> Option<Self> {
        moments.iter().map(|&moment| Self::of_one(moment)).reduce(Self::joined)
    }

    fn of_one(moment: i64) -> Self {
        let civil = Civil::of(moment);
        Self {
            // Moments before 1970 are negative, and plain division would round them up.
            first: moment.div_euclid(DAY) * DAY,
            moment: Some(moment),
            month: Some(civil.month),
            weekday: Some(civil.weekday),
            time: Some(civil.time),
        }
    }

    /// The parts by which moments differ.
    fn parts(self) -> Vec<TimePart> {
        let used = [
            (TimePart::Days, self.moment.is_none()),
            (TimePart::Month, self.month.is_none()),
            (TimePart::Weekday, self.weekday.is_none()),
            (TimePart::Hour, self.time.is_none()),
        ];
        used.into_iter().filter(|(_, is_used)| *is_used).map(|(part, _)| part).collect()
    }

    /// What is so of both.
    pub(super) fn joined(self, other: Self) -> Self {
        let same = |a: Option<i64>, b: Option<i64>| a.filter(|_| a == b);
        Self {
            first: self.first.min(other.first),
            moment: same(self.moment, other.moment),
            month: same(self.month, other.month),
            weekday: same(self.weekday, other.weekday),
            time: same(self.time, other.time),
        }
    }
}

/// Completes what is used of dates by what the training rows say; why nothing can be, if so.
pub(super) fn complete(keys: &mut ColumnKeys, facts: Option<TimeFacts>) -> Result<(), String> {
    let Some(facts) = facts else { return Err("nothing in the training rows".into()) };
    if keys.start.is_none() {
        keys.start = Some(written(facts.first));
    }
    keys.calendar.get_or_insert_default();
    if keys.parts.is_none() {
        let parts = facts.parts();
        if parts.is_empty() {
            return Err(one_moment(facts.moment.unwrap_or(facts.first)));
        }
        keys.parts = Some(parts);
    }
    Ok(())
}

/// Why a column of one moment is no feature.
pub(super) fn one_moment(moment: i64) -> String {
    format!("{} in all training rows", written(moment))
}

/// The parts by which further moments differ from each other and from the first day of earlier ones, which these keys count
/// from.
pub(super) fn parts_beyond(keys: &ColumnKeys, moments: &[i64]) -> Vec<TimePart> {
    let Some(facts) = TimeFacts::of(moments) else { return Vec::new() };
    let start = keys.start.as_ref().and_then(|start| read(start, keys.order));
    // Of the first day nobody knows the hour.
    let before = start.map(|start| TimeFacts { time: facts.time, ..TimeFacts::of_one(start) });
    before.map_or(facts, |before| before.joined(facts)).parts()
}

/// How many days of a count that begins in 1970 there are before this start.
pub(super) fn days_before(start: &str, order: Option<DateOrder>) -> f64 {
    read(start, order).unwrap_or(0) as f64 / DAY as f64
}

/// The features of a date or time.
pub(super) fn names(name: &str, keys: &ColumnKeys) -> Vec<String> {
    let of_part = |part: &TimePart| -> Vec<String> {
        let own = format!("{name}.{}", part.name());
        match levels(*part).filter(|_| keys.calendar == Some(CalendarForm::Categories)) {
            Some(levels) => levels.map(|level| format!("{own}={level}")).collect(),
            None if levels(*part).is_some() => vec![format!("{own}_sin"), format!("{own}_cos")],
            None => vec![own],
        }
    };
    keys.parts.iter().flatten().flat_map(of_part).collect()
}

/// The values that a part can have, where it comes back again and again.
fn levels(part: TimePart) -> Option<std::ops::Range<i64>> {
    match part {
        TimePart::Days | TimePart::Year => None,
        TimePart::Month => Some(1..13),
        TimePart::Weekday => Some(0..7),
        TimePart::Hour => Some(0..24),
    }
}

/// The features of a moment, `start` being that from which days are counted.
pub(super) fn values(moment: i64, start: i64, keys: &ColumnKeys) -> Vec<f64> {
    let mut values = Vec::new();
    write_values((moment, start), keys, &mut values);
    values
}

/// The same in the place of what is there: a table may have millions of moments.
#[expect(
    clippy::cast_precision_loss,
    reason = "days and years are small, and fractions are rounded anyway"
)]
pub(super) fn write_values((moment, start): (i64, i64), keys: &ColumnKeys, values: &mut Vec<f64>) {
    values.clear();
    let civil = Civil::of(moment);
    for part in keys.parts.iter().flatten() {
        let (place, whole) = match part {
            TimePart::Days => {
                values.push((moment - start) as f64 / DAY as f64);
                continue;
            }
            TimePart::Year => {
                values.push(civil.year as f64);
                continue;
            }
            TimePart::Month => (civil.month as f64, civil.month),
            TimePart::Weekday => (civil.weekday as f64, civil.weekday),
            TimePart::Hour => (civil.time as f64 / HOUR as f64, civil.time / HOUR),
        };
        let levels = levels(*part).expect("only days and years go on for ever");
        if keys.calendar == Some(CalendarForm::Categories) {
            values.extend(levels.map(|level| f64::from(u8::from(level == whole))));
        } else {
            let angle = TAU * (place - levels.start as f64) / (levels.end - levels.start) as f64;
            values.extend([angle.sin(), angle.cos()]);
        }
    }
}
