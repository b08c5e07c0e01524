//! What becomes of the columns of a table, where the experiment says so.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toml::{Table, Value};

/// How one column is used. `age = "number"` is short for `age = { kind = "number" }`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ColumnKeys {
    /// What it is; by default as its cells look.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<ColumnKind>,
    /// For categories: the levels that have a column of their own; by default the most frequent of the training rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub levels: Option<Vec<String>>,
    /// For categories: whether all other values have a column together. By default they have one if the training rows
    /// hold such values, and are zero in all columns otherwise; with false they are refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub other: Option<bool>,
    /// For categories: whether the levels, in the order in which they are listed, are the numbers 0, 1, 2 and so on.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub ordered: bool,
    /// For dates: whether the day or the month comes first in dates such as 3/4/2024.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub order: Option<DateOrder>,
    /// For dates and times: what is used of them; by default whatever differs between training rows, but for the
    /// calendar year, which days since the start tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parts: Option<Vec<TimePart>>,
    /// For dates and times: how months, weekdays and hours are given to models.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calendar: Option<CalendarForm>,
    /// For dates and times: the day from which days are counted; by default the first of the training rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start: Option<String>,
    /// What is done with missing cells, where it is not data.missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing: Option<MissingRule>,
    /// What missing cells are taken for; by default what the training rows say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fill: Option<String>,
    /// Whether a column says which cells were missing; by default with the rule "indicator", if training rows miss some.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub indicator: Option<bool>,
}

/// What a column is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ColumnKind {
    /// A number.
    Number,
    /// True or false, as one or zero.
    Truth,
    /// One of several levels, each with a column of zeros and ones.
    Category,
    /// A date or time, by its parts.
    Time,
    /// Not used.
    Ignore,
}

/// Which comes first in dates such as 3/4/2024.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DateOrder {
    /// The day, as in most of the world.
    DayFirst,
    /// The month, as in the United States.
    MonthFirst,
}

/// A part of a date or time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TimePart {
    /// Days since the start, with their fractions.
    Days,
    /// The calendar year, as a number.
    Year,
    /// The month of the year.
    Month,
    /// The day of the week.
    Weekday,
    /// The hour of the day; minutes are its fractions.
    Hour,
}

impl TimePart {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Days, Self::Year, Self::Month, Self::Weekday, Self::Hour];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Days => "days",
            Self::Year => "year",
            Self::Month => "month",
            Self::Weekday => "weekday",
            Self::Hour => "hour",
        }
    }
}

/// How months, weekdays and hours are given to models.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CalendarForm {
    /// As the sine and cosine of their place in the year, week or day: the end is next to the beginning.
    #[default]
    Cycles,
    /// As categories.
    Categories,
}

/// What is done with rows of nodes that the network does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum UnknownNodes {
    /// They are refused, with the first of them.
    #[default]
    Refuse,
    /// They are left out, and counted.
    Drop,
}

/// What is done with missing cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MissingRule {
    /// They are refused, with how many there are in which column.
    #[default]
    Refuse,
    /// They are taken for the mean of the training rows; of categories and truths, for the most frequent value.
    Mean,
    /// They are taken for the most frequent value of the training rows.
    MostFrequent,
    /// As "mean", with a column that says which cells were missing; categories get a level for them.
    Indicator,
    /// Their rows are left out.
    Drop,
}

impl MissingRule {
    /// Its name in experiment files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Refuse => "refuse",
            Self::Mean => "mean",
            Self::MostFrequent => "most-frequent",
            Self::Indicator => "indicator",
            Self::Drop => "drop",
        }
    }
}

/// Writes the short form of a column in full, `age = "number"`, and numbers that fill gaps as text.
pub(super) fn in_full(table: &mut Table) {
    let data = table.get_mut("data").and_then(Value::as_table_mut);
    let columns = data.and_then(|data| data.get_mut("columns")).and_then(Value::as_table_mut);
    for (_, keys) in columns.into_iter().flatten() {
        if keys.is_str() {
            let kind = std::mem::replace(keys, Value::Boolean(false));
            *keys = Value::Table(Table::from_iter([("kind".to_string(), kind)]));
        }
        // Fills are text, because a date or the name of a level may be one, too.
        if let Some(fill) = keys.get_mut("fill").filter(|fill| !fill.is_str()) {
            *fill = Value::String(fill.to_string());
        }
    }
}

impl ColumnKeys {
    /// Refuses keys that do not go together.
    pub(super) fn check(&self, name: &str) -> Result<(), String> {
        let place = format!("data.columns.{name}");
        let given = [
            ("levels", self.levels.is_some(), ColumnKind::Category),
            ("other", self.other.is_some(), ColumnKind::Category),
            ("ordered", self.ordered, ColumnKind::Category),
            ("order", self.order.is_some(), ColumnKind::Time),
            ("parts", self.parts.is_some(), ColumnKind::Time),
            ("calendar", self.calendar.is_some(), ColumnKind::Time),
            ("start", self.start.is_some(), ColumnKind::Time),
        ];
        for (key, _, kind) in given.into_iter().filter(|(_, is_given, _)| *is_given) {
            if self.kind.is_some_and(|own| own != kind) {
                let of =
                    if kind == ColumnKind::Category { "categories" } else { "dates and times" };
                return Err(format!("{place}.{key} is for {of}, and {place}.kind says otherwise"));
            }
        }
        if self.ordered && self.levels.is_none() {
            return Err(format!("{place}.ordered needs {place}.levels, the levels in their order"));
        }
        if self.ordered && self.other == Some(true) {
            return Err(format!("{place}.other has no place among ordered levels; leave it out"));
        }
        if self.parts.as_ref().is_some_and(Vec::is_empty) {
            return Err(format!("{place}.parts is empty, expected parts, or kind = \"ignore\""));
        }
        self.check_levels(&place)
    }

    fn check_levels(&self, place: &str) -> Result<(), String> {
        let levels = self.levels.as_deref().unwrap_or_default();
        if self.levels.is_some() && levels.is_empty() {
            return Err(format!("{place}.levels is empty, expected names of levels"));
        }
        match levels.iter().enumerate().find(|(at, level)| levels[..*at].contains(level)) {
            Some((_, level)) => {
                Err(format!("{place}.levels: '{level}' is listed twice, expected each once"))
            }
            None => Ok(()),
        }
    }
}
