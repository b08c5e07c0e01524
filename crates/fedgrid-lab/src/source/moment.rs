//! Dates and times: how files write them, and what a calendar says of them.
//!
//! A moment is a number of microseconds since the beginning of 1970, by the proleptic Gregorian calendar. A written
//! offset from Greenwich is taken off, so that `12:00+02:00` is `10:00`; without one, a time is as it is written.

use crate::experiment::DateOrder;

/// Microseconds in a second.
const SECOND: i64 = 1_000_000;
/// Microseconds in a day.
pub(crate) const DAY: i64 = 86_400 * SECOND;

/// A date as it is written, before it is known which of its small numbers is the month.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WrittenMoment {
    year: i64,
    /// Month and day, or day and month.
    pair: (i64, i64),
    /// Which is which, where the way of writing tells.
    order: Option<DateOrder>,
    /// Microseconds since midnight, less the offset from Greenwich.
    time: i64,
}

impl WrittenMoment {
    /// Reads a date, with or without a time: three numbers, of which one is a year of four digits, such as
    /// `2024-01-31`, `31.01.2024`, `1/31/2024 12:00` or `2024-01-31T12:00:00.5+02:00`.
    pub(crate) fn read(cell: &str) -> Option<Self> {
        let cell = cell.trim();
        let written = Self::usual(cell).or_else(|| Self::any(cell))?;
        let is_day = |order: &DateOrder| written.moment(*order).is_some();
        let orders = [DateOrder::DayFirst, DateOrder::MonthFirst];
        // Where the way of writing tells the order, both are the same.
        let orders = if written.order.is_some() { &orders[..1] } else { &orders };
        orders.iter().any(is_day).then_some(written)
    }

    /// A date as most programs write it, `2024-01-31` and what may follow, by its bytes: a table may hold millions.
    fn usual(cell: &str) -> Option<Self> {
        let &[a, b, c, d, between, m, n, again, p, q] = cell.as_bytes().first_chunk::<10>()?;
        if !matches!(between, b'-' | b'/' | b'.') || between != again {
            return None;
        }
        let [a, b, c, d, m, n, p, q] = decimals([a, b, c, d, m, n, p, q])?;
        let time = match cell.as_bytes().get(10) {
            None => 0,
            Some(b' ' | b'T' | b't') => time_of_day(&cell[11..])?,
            Some(_) => return None,
        };
        let (year, pair) = (1000 * a + 100 * b + 10 * c + d, (10 * m + n, 10 * p + q));
        Some(Self { year, pair, order: Some(DateOrder::MonthFirst), time })
    }

    fn any(cell: &str) -> Option<Self> {
        let between = cell.bytes().find(|byte| !byte.is_ascii_digit())?;
        if !matches!(between, b'-' | b'/' | b'.') {
            return None;
        }
        let end = cell.find([' ', 'T', 't']).unwrap_or(cell.len());
        let mut parts = cell[..end].split(char::from(between));
        let (first, second, third) = (parts.next()?, parts.next()?, parts.next()?);
        let small = |part: &str| digits(part, 1..=2);
        let (year, pair, order) = if first.len() == 4 {
            // With the year in front all write the month next.
            (digits(first, 4..=4)?, (small(second)?, small(third)?), Some(DateOrder::MonthFirst))
        } else {
            let order = (between == b'.').then_some(DateOrder::DayFirst);
            (digits(third, 4..=4)?, (small(first)?, small(second)?), order)
        };
        let time = if end == cell.len() { 0 } else { time_of_day(&cell[end + 1..])? };
        (parts.next().is_none()).then_some(Self { year, pair, order, time })
    }

    /// The moment, for those who write dates in this order; none if there is no such day. Where no order is known, none
    /// of a date that is another day in the other order.
    pub(crate) fn moment(self, order: impl Into<Option<DateOrder>>) -> Option<i64> {
        if let Some(order) = self.order.or(order.into()) {
            return self.day_in(order);
        }
        let [first, second] =
            [DateOrder::DayFirst, DateOrder::MonthFirst].map(|order| self.day_in(order));
        first.or(second).filter(|_| !self.is_ambiguous())
    }

    fn day_in(self, order: DateOrder) -> Option<i64> {
        let (month, day) = match order {
            DateOrder::MonthFirst => self.pair,
            DateOrder::DayFirst => (self.pair.1, self.pair.0),
        };
        let fits = (1..=12).contains(&month) && day >= 1 && day <= days_in(self.year, month);
        fits.then(|| days_from_civil(self.year, month, day) * DAY + self.time)
    }

    /// The order in which this date must be read, if only one is possible and it is not told otherwise.
    pub(crate) fn told_order(self) -> Option<DateOrder> {
        if self.order.is_some() {
            return None;
        }
        match (self.moment(DateOrder::DayFirst), self.moment(DateOrder::MonthFirst)) {
            (Some(_), None) => Some(DateOrder::DayFirst),
            (None, Some(_)) => Some(DateOrder::MonthFirst),
            _ => None,
        }
    }

    /// Whether both orders give a day, and not the same.
    pub(crate) fn is_ambiguous(self) -> bool {
        let days = [DateOrder::DayFirst, DateOrder::MonthFirst].map(|order| self.day_in(order));
        self.order.is_none() && days[0].is_some() && days[1].is_some() && days[0] != days[1]
    }
}

/// Bytes as digits, if all are such.
fn decimals<const N: usize>(bytes: [u8; N]) -> Option<[i64; N]> {
    let digits = bytes.map(|byte| byte.wrapping_sub(b'0'));
    digits.iter().all(|digit| *digit <= 9).then(|| digits.map(i64::from))
}

fn digits(part: &str, lengths: std::ops::RangeInclusive<usize>) -> Option<i64> {
    let is_number = lengths.contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit());
    is_number.then(|| part.parse().ok())?
}

/// Microseconds since midnight of `12:00`, `12:00:30.25`, `12:00Z` or `12:00+02:00`.
fn time_of_day(text: &str) -> Option<i64> {
    if let &[h, i, b':', m, n, b':', s, t] = text.as_bytes() {
        let [h, i, m, n, s, t] = decimals([h, i, m, n, s, t])?;
        let (hours, minutes, seconds) = (10 * h + i, 10 * m + n, 10 * s + t);
        let fits = hours < 24 && minutes < 60 && seconds < 60;
        return fits.then_some(((hours * 60 + minutes) * 60 + seconds) * SECOND);
    }
    let text = text.trim();
    let (clock, offset) = match text.find(['Z', 'z', '+', '-']) {
        None => (text, 0),
        Some(at) if text[at..].eq_ignore_ascii_case("z") => (&text[..at], 0),
        Some(at) => {
            let sign = if text.as_bytes()[at] == b'-' { -1 } else { 1 };
            let (hours, minutes) = match text[at + 1..].split_once(':') {
                Some((hours, minutes)) => (hours, minutes),
                None if text.len() == at + 5 => text[at + 1..].split_at(2),
                None => (&text[at + 1..], "00"),
            };
            let minutes = digits(hours, 2..=2)? * 60 + digits(minutes, 2..=2)?;
            (text[..at].trim_end(), sign * minutes * 60 * SECOND)
        }
    };
    let mut parts = clock.split(':');
    let (hours, minutes) = (digits(parts.next()?, 1..=2)?, digits(parts.next()?, 2..=2)?);
    let micros = parts.next().map_or(Some(0), seconds)?;
    let fits = parts.next().is_none() && hours < 24 && minutes < 60 && micros < 60 * SECOND;
    fits.then_some((hours * 60 + minutes) * 60 * SECOND + micros - offset)
}

/// Microseconds of `30` or `30.25`; what is finer is cut off.
fn seconds(text: &str) -> Option<i64> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let fraction = if part.is_empty() {
        0
    } else {
        digits(part, 1..=12).map(|_| ())?;
        micros(part)
    };
    Some(digits(whole, 2..=2)? * SECOND + fraction)
}

fn micros(part: &str) -> i64 {
    (0..6).fold(0, |sum, at| {
        10 * sum + i64::from(part.as_bytes().get(at).map_or(0, |digit| digit - b'0'))
    })
}

fn days_in(year: i64, month: i64) -> i64 {
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    match month {
        2 => 28 + i64::from(is_leap),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days since the beginning of 1970. [Howard Hinnant, "chrono-compatible low-level date algorithms".]
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    // Years begin in March, so that the odd day of leap years is their last.
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year - era * 400;
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

/// What a calendar says of a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Civil {
    pub(crate) year: i64,
    /// From one.
    pub(crate) month: i64,
    pub(crate) day: i64,
    /// From zero for Monday.
    pub(crate) weekday: i64,
    /// Microseconds since midnight.
    pub(crate) time: i64,
}

impl Civil {
    pub(crate) fn of(moment: i64) -> Self {
        let (days, time) = (moment.div_euclid(DAY), moment.rem_euclid(DAY));
        // So many days are from 1 March of the year 0 to the beginning of 1970.
        let shifted = days + 719_468;
        let era = shifted.div_euclid(146_097);
        let day_of_era = shifted - era * 146_097;
        let year_of_era =
            (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let from_march = (5 * day_of_year + 2) / 153;
        let month = (from_march + 2) % 12 + 1;
        Self {
            year: year_of_era + era * 400 + i64::from(month <= 2),
            month,
            day: day_of_year - (153 * from_march + 2) / 5 + 1,
            // The first day of 1970 was a Thursday.
            weekday: (days + 3).rem_euclid(7),
            time,
        }
    }
}

/// A moment as files write it: `2024-01-31`, or with its time if that is not midnight.
pub(crate) fn written(moment: i64) -> String {
    let Civil { year, month, day, time, .. } = Civil::of(moment);
    let date = format!("{year:04}-{month:02}-{day:02}");
    if time == 0 {
        return date;
    }
    let (seconds, micros) = (time / SECOND, time % SECOND);
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    let fraction = if micros == 0 { String::new() } else { format!(".{micros:06}") };
    format!("{date} {hours:02}:{minutes:02}:{seconds:02}{fraction}")
}

/// The day on which a file was last written, in coordinated universal time; none if that cannot be told.
pub(crate) fn written_day(path: &std::path::Path) -> Option<String> {
    let modified = std::fs::metadata(path).ok()?.modified().ok()?;
    let since = modified.duration_since(std::time::UNIX_EPOCH).ok()?;
    let seconds = i64::try_from(since.as_secs()).ok()?;
    Some(written(seconds.checked_mul(SECOND)?.div_euclid(DAY) * DAY))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(cell: &str) -> Option<String> {
        WrittenMoment::read(cell)?.moment(DateOrder::DayFirst).map(written)
    }

    #[test]
    fn usual_ways_of_writing_dates_are_read() {
        let cases = [
            ("2024-01-31", "2024-01-31"),
            ("2024/1/31", "2024-01-31"),
            ("31.01.2024", "2024-01-31"),
            ("29/2/2024 7:05", "2024-02-29 07:05:00"),
            ("2024-01-31T12:00:00Z", "2024-01-31 12:00:00"),
            ("2024-01-31 01:30+02:00", "2024-01-30 23:30:00"),
            ("2024-01-31 01:30:00 -0130", "2024-01-31 03:00:00"),
            ("2024-01-31 23:59:59.25", "2024-01-31 23:59:59.250000"),
            ("1969-12-31 23:59:59.999999", "1969-12-31 23:59:59.999999"),
            ("0001-01-01", "0001-01-01"),
        ];
        for (cell, found) in cases {
            assert_eq!(read(cell).as_deref(), Some(found), "{cell}");
        }
    }

    #[test]
    fn the_usual_way_of_writing_is_read_as_any_other() {
        for cell in [
            "2024-01-31",
            "2024/01/31",
            "2024.01.31",
            "2024-01-31 12:30:59",
            "2024-01-31T12:30",
            "2024-01-31 12:30:59.5",
            "2024-13-31",
            "2024-00-31",
            "2023-02-29",
            "2024-01-31 24:00:00",
            "2024-01-31 1:00",
            "2024-01-31x",
            "2024-01/31",
            "2024-01-3x",
        ] {
            let whole = |found: Option<WrittenMoment>| {
                found.filter(|found| found.moment(DateOrder::DayFirst).is_some())
            };
            let any = whole(WrittenMoment::any(cell));
            assert_eq!(WrittenMoment::read(cell), any, "{cell}");
            let usual = whole(WrittenMoment::usual(cell));
            assert!(usual.is_none() || usual == any, "{cell}");
        }
    }

    #[test]
    fn what_is_no_date_is_not_read_as_one() {
        for cell in [
            "",
            "2024",
            "1.5",
            "-1.5",
            "12:00",
            "2024-13-01x",
            "2024-02-30",
            "32.01.2024",
            "1-2-3",
            "2024-01-31 25:00",
            "2024-01-31 12:60",
            "2024-01-31-01",
            "10.0.0.1",
            "2024-01",
            "x-y-z",
        ] {
            assert_eq!(read(cell), None, "{cell}");
        }
    }

    #[test]
    fn the_order_of_day_and_month_is_told_by_dates_that_allow_one_only() {
        let read = |cell| WrittenMoment::read(cell).unwrap();
        assert_eq!(read("31/1/2024").told_order(), Some(DateOrder::DayFirst));
        assert_eq!(read("1/31/2024").told_order(), Some(DateOrder::MonthFirst));
        assert_eq!(read("1/2/2024").told_order(), None);
        assert!(read("1/2/2024").is_ambiguous() && !read("2/2/2024").is_ambiguous());
        assert!(!read("1.2.2024").is_ambiguous() && !read("2024-01-02").is_ambiguous());
        assert_ne!(
            read("1/2/2024").moment(DateOrder::DayFirst),
            read("1/2/2024").moment(DateOrder::MonthFirst)
        );
    }

    #[test]
    fn every_day_of_eight_centuries_is_written_as_it_is_read() {
        let first = days_from_civil(1600, 1, 1);
        let mut weekday = Civil::of(first * DAY).weekday;
        assert_eq!(weekday, 5, "a Saturday");
        for day in first..days_from_civil(2400, 1, 1) {
            let text = written(day * DAY);
            assert_eq!(read(&text).as_deref(), Some(text.as_str()));
            assert_eq!(
                WrittenMoment::read(&text).unwrap().moment(DateOrder::DayFirst),
                Some(day * DAY)
            );
            assert_eq!(Civil::of(day * DAY + DAY - 1).weekday, weekday);
            weekday = (weekday + 1) % 7;
        }
    }
}
