//! The date, for the heads of reports.

use std::time::{SystemTime, UNIX_EPOCH};

/// The date and the time, such as `2026-01-31 09:05 UTC`.
pub(super) fn today() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    at(since.as_secs())
}

/// The same of so many seconds after the beginning of 1970.
fn at(seconds: u64) -> String {
    let (hour, minute) = (seconds / 3600 % 24, seconds / 60 % 60);
    format!("{} {hour:02}:{minute:02} UTC", day(seconds))
}

/// The same with seconds, as logs have it: `2026-01-31T09:05:12Z`.
#[cfg(feature = "federation")]
pub(super) fn moment(seconds: u64) -> String {
    format!("{}T{}Z", day(seconds), time_of_day(seconds))
}

/// The time alone, such as `09:05:12`.
#[cfg(feature = "federation")]
pub(super) fn time_of_day(seconds: u64) -> String {
    format!("{:02}:{:02}:{:02}", seconds / 3600 % 24, seconds / 60 % 60, seconds % 60)
}

/// The day of the calendar, such as `2026-01-31`.
fn day(seconds: u64) -> String {
    let mut days = seconds / 86_400;
    let is_leap = |year: u64| {
        year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
    };
    let mut year = 1970;
    while days >= 365 + u64::from(is_leap(year)) {
        days -= 365 + u64::from(is_leap(year));
        year += 1;
    }
    let february = 28 + u64::from(is_leap(year));
    let months = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let mut month = 0;
    while days >= months[month] {
        days -= months[month];
        month += 1;
    }
    format!("{year}-{:02}-{:02}", month + 1, days + 1)
}

#[cfg(test)]
mod tests {
    use super::at;

    #[test]
    fn seconds_are_dates_of_the_calendar() {
        assert_eq!(at(0), "1970-01-01 00:00 UTC");
        assert_eq!(at(951_782_399), "2000-02-28 23:59 UTC");
        assert_eq!(at(951_782_400), "2000-02-29 00:00 UTC");
        assert_eq!(at(1_767_225_599), "2025-12-31 23:59 UTC");
        assert_eq!(at(4_107_542_400), "2100-03-01 00:00 UTC");
    }

    #[cfg(feature = "federation")]
    #[test]
    fn logs_have_seconds() {
        assert_eq!(super::moment(951_782_399), "2000-02-28T23:59:59Z");
        assert_eq!(super::moment(951_785_999), "2000-02-29T00:59:59Z");
    }
}
