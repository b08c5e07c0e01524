//! A plan in words: a short form for the heading of a run, and a long one for each column.

use super::{ColumnPlan, ColumnRole, PlannedFeatures, features::UnknownLevels};
use crate::{
    experiment::{CalendarForm, ColumnKeys, ColumnKind, MissingRule, TimePart},
    number::{count, counted, significant},
};

/// How many levels are named; more would hide the rest.
const NAMED_LEVELS: usize = 6;

impl ColumnPlan {
    /// The features in a few words each: `price`, `promo (3 levels)`.
    #[must_use]
    pub fn short_features(&self) -> Vec<String> {
        let short = |(name, keys): (&str, &ColumnKeys)| {
            let about = match keys.kind {
                Some(ColumnKind::Category) => Some(short_levels(keys)),
                Some(ColumnKind::Time) => Some(part_names(keys).join(", ")),
                Some(ColumnKind::Truth) => Some("true or false".into()),
                _ => None,
            };
            about.map_or_else(|| name.to_string(), |about| format!("{name} ({about})"))
        };
        self.features().map(short).collect()
    }

    /// The columns that cannot be used or shall not be, each with the reason.
    #[must_use]
    pub fn ignored(&self) -> Vec<String> {
        let ignored = self.columns.iter().filter_map(|column| match &column.role {
            ColumnRole::Ignored { reason } => Some(format!("{} ({reason})", column.name)),
            _ => None,
        });
        ignored.collect()
    }

    /// The columns that are not listed.
    #[must_use]
    pub fn unlisted(&self) -> Vec<String> {
        let of = self.columns.iter().filter(|column| column.role == ColumnRole::Unlisted);
        of.map(|column| column.name.clone()).collect()
    }

    /// Every column that features are made of, in words, with these features; none if all are columns of numbers.
    #[must_use]
    pub fn treatments(&self) -> Vec<(String, String, Vec<String>)> {
        if self.keys().is_empty() && self.lags.is_none() {
            return Vec::new();
        }
        let one = |(name, keys): (&str, &ColumnKeys)| {
            (name.into(), self.about(name, keys), self.names_of(name))
        };
        self.features().map(one).collect()
    }

    /// What is made of a feature, and what it is made of.
    fn about(&self, name: &str, keys: &ColumnKeys) -> String {
        let made = self.lags.as_ref().and_then(|lags| lags.feature(name));
        made.map_or_else(|| long(keys), |made| format!("{}: {}", long(keys), made.words))
    }

    /// What is wrong with a plan without a feature.
    #[must_use]
    pub fn no_feature(&self) -> String {
        let others =
            self.ignored().into_iter().chain(self.unlisted()).collect::<Vec<_>>().join(", ");
        let others = if others.is_empty() { others } else { format!("; left out: {others}") };
        format!("there is no feature besides node, target and split, expected one{others}")
    }

    /// Every column with its role and what is made of it.
    #[must_use]
    pub fn described(&self) -> Vec<[String; 3]> {
        let line = |column: &super::PlannedColumn| {
            let (role, about) = match &column.role {
                ColumnRole::Node => ("node", "names the node of each row".into()),
                ColumnRole::Target => ("target", "is predicted".into()),
                ColumnRole::Split => ("split", "says what each row is for".into()),
                ColumnRole::Time => ("time", "orders rows in time".into()),
                ColumnRole::Weight => ("weight", "says how many rows each one stands for".into()),
                ColumnRole::Offset => ("offset", "is a known part of the target".into()),
                ColumnRole::Exposure => ("exposure", "says over how much a row has counted".into()),
                ColumnRole::Feature { keys } => ("feature", self.about(&column.name, keys)),
                ColumnRole::Ignored { reason } => ("ignored", reason.clone()),
                ColumnRole::Unlisted => ("ignored", "not listed as a feature".into()),
            };
            [column.name.clone(), role.to_string(), about]
        };
        self.columns.iter().map(line).collect()
    }
}

impl PlannedFeatures {
    /// What was filled, and what was no known level, in words: `20 missing cells of 'price' were filled`.
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        let filled =
            self.filled.iter().map(|(name, cells)| format!("{} of '{name}'", count(*cells)));
        let filled: Vec<String> = filled.collect();
        let others = self.others.iter().map(|UnknownLevels { column, cells, first }| {
            let which = if *cells == 1 { "" } else { "the first is " };
            format!("{} of '{column}' ({which}{first})", count(*cells))
        });
        let others: Vec<String> = others.collect();
        let of = |all: &[String], what: &str, end: &str| {
            (!all.is_empty()).then(|| format!("{what}: {}{end}.", all.join(", ")))
        };
        let filled = of(&filled, "Missing cells that were filled", "");
        let others =
            of(&others, "Cells that hold none of the known levels", "; they count as other");
        filled.into_iter().chain(others).collect()
    }
}

fn short_levels(keys: &ColumnKeys) -> String {
    let levels = keys.levels.as_ref().map_or(0, Vec::len);
    let ordered = if keys.ordered { "ordered level" } else { "level" };
    let other = if keys.other == Some(true) { " and other" } else { "" };
    format!("{}{other}", counted(levels, ordered))
}

fn part_names(keys: &ColumnKeys) -> Vec<&'static str> {
    keys.parts.iter().flatten().map(|part| part.name()).collect()
}

/// What is made of a feature.
fn long(keys: &ColumnKeys) -> String {
    let kind = match keys.kind {
        Some(ColumnKind::Category) => {
            let levels = keys.levels.as_deref().unwrap_or_default();
            let shown = levels[..levels.len().min(NAMED_LEVELS)].join(", ");
            let more = match levels.len().saturating_sub(NAMED_LEVELS) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            let other = if keys.other == Some(true) { ", and other" } else { "" };
            let ordered = if keys.ordered { "ordered category" } else { "category" };
            format!("{ordered}: {shown}{more}{other}")
        }
        Some(ColumnKind::Time) => of_time(keys),
        Some(ColumnKind::Truth) => "true or false, as 1 or 0".into(),
        _ => "number".into(),
    };
    let indicator = if keys.indicator == Some(true) { "told by a column of their own" } else { "" };
    let fill = keys.fill.as_deref().map(|fill| match fill.parse::<f64>() {
        Ok(number) if keys.kind == Some(ColumnKind::Number) => {
            format!("filled with {}", significant(number))
        }
        _ => format!("filled with {fill}"),
    });
    let gaps: Vec<String> = fill.into_iter().chain([indicator.to_string()]).collect();
    let gaps: Vec<String> = gaps.into_iter().filter(|words| !words.is_empty()).collect();
    match keys.missing {
        Some(MissingRule::Drop) => format!("{kind}; rows without it are left out"),
        _ if gaps.is_empty() => kind,
        _ => format!("{kind}; missing cells {}", gaps.join(" and ")),
    }
}

fn of_time(keys: &ColumnKeys) -> String {
    let parts = keys.parts.as_deref().unwrap_or_default();
    let start = keys.start.as_deref().unwrap_or_default();
    let as_numbers = parts.iter().filter_map(|part| match part {
        TimePart::Days => Some(format!("days since {start}")),
        TimePart::Year => Some("year".into()),
        _ => None,
    });
    let calendar: Vec<&str> = parts
        .iter()
        .filter(|part| !matches!(part, TimePart::Days | TimePart::Year))
        .map(|part| part.name())
        .collect();
    let form = match keys.calendar.unwrap_or_default() {
        CalendarForm::Cycles => "as cycles",
        CalendarForm::Categories => "as categories",
    };
    let calendar = (!calendar.is_empty()).then(|| format!("{} {form}", calendar.join(", ")));
    format!("time: {}", as_numbers.chain(calendar).collect::<Vec<_>>().join("; "))
}
