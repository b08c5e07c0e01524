//! What a site tells of a column: counts and sums of its training rows.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Purpose, calendar::TimeFacts, levels::LevelCount};
use crate::experiment::{ColumnKind, DateOrder};

/// What a site tells of a column.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ColumnSummary {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub purpose: Purpose,
    /// Counts and sums of a feature.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sums: Option<SiteSums>,
}

/// Counts and sums of a column.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SiteSums {
    /// How many cells hold something.
    pub values: usize,
    /// How many are missing.
    pub missing: usize,
    /// How often values occur: of categories and truths, and where the most frequent value fills missing cells.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub counts: BTreeMap<String, usize>,
    /// How many different values are not named.
    #[serde(default)]
    pub rare_values: usize,
    /// How many rows hold one of these.
    #[serde(default)]
    pub rare_rows: usize,
    /// Of dates and times: when.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<TimeSums>,
    /// What could be made of it.
    pub features: Vec<FeatureSums>,
    /// Whether it has no products with other columns, because they would tell few rows.
    #[serde(default)]
    pub is_apart: bool,
    /// What its rows count for, where they do not count alike.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weighed: Option<WeighedSums>,
}

/// What the rows of a column count for: as rows of the table, by which columns are planned, and in training, by which
/// means and squares of features are.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WeighedSums {
    /// How many rows those stand for whose cells hold something.
    pub values: f64,
    /// The mean of numbers, each standing for so many; of times in microseconds after the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean: Option<f64>,
    /// How many rows those of each named value stand for.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub counts: BTreeMap<String, f64>,
    /// How much the rows whose cells hold something count in training.
    pub trained: f64,
    /// How much those count whose cells are missing.
    pub trained_missing: f64,
}

/// Of dates and times, in microseconds since the beginning of 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TimeSums {
    /// Which of day and month comes first, where some date tells.
    pub order: Option<DateOrder>,
    /// Their mean, rounded down.
    pub mean: i64,
    /// What rounding took from their sum.
    pub rest: i64,
    /// What they have in common.
    pub facts: TimeFacts,
}

/// A feature that could be made of a column.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FeatureSums {
    /// Its name.
    pub name: String,
    /// Its mean over cells that hold something, as their rows count in training; days are counted from 1970.
    pub mean: f64,
    /// The sum of squares of what differs from the mean, each as often as its row counts.
    pub squares: f64,
}

impl ColumnSummary {
    /// What contradicts itself in a summary of so many rows, weighed or not, if anything does.
    #[must_use]
    pub fn contradiction(&self, rows: usize, is_weighed: bool) -> Option<String> {
        let is_feature = matches!(self.purpose, Purpose::Feature(_));
        let Some(sums) = &self.sums else {
            return is_feature.then(|| format!("column '{}' has no sums", self.name));
        };
        let is_sound = |one: &FeatureSums| {
            one.mean.is_finite() && one.squares.is_finite() && one.squares >= 0.0
        };
        let counted: usize = sums.counts.values().sum::<usize>() + sums.rare_rows;
        let is_counted = match &self.purpose {
            Purpose::Feature(ColumnKind::Category | ColumnKind::Truth) => counted == sums.values,
            // Numbers and times are counted only where the most frequent one fills gaps.
            _ => counted <= sums.values,
        };
        let is_time = matches!(&self.purpose, Purpose::Feature(ColumnKind::Time));
        let has_time = sums.time.is_some() || !is_time || sums.values == 0;
        let is_whole = sums.values + sums.missing == rows
            && is_counted
            && has_time
            && sums.weighed.is_some() == is_weighed
            && sums.weighed.as_ref().is_none_or(WeighedSums::is_sound)
            && sums.features.iter().all(is_sound);
        (!is_whole).then(|| format!("the sums of column '{}' contradict each other", self.name))
    }
}

impl SiteSums {
    /// How many rows those stand for whose cells hold something.
    pub(super) fn counted(&self) -> f64 {
        self.weighed.as_ref().map_or(self.values as f64, |weighed| weighed.values)
    }

    /// The mean of numbers, each standing for so many.
    pub(super) fn mean(&self) -> f64 {
        let trained = || self.features.first().map_or(0.0, |one| one.mean);
        self.weighed.as_ref().map_or_else(trained, |weighed| weighed.mean.unwrap_or(0.0))
    }

    /// How much the rows count in training whose cells hold something, and those whose cells are missing.
    pub(crate) fn trained(&self) -> [f64; 2] {
        let rows = || [self.values, self.missing].map(|rows| rows as f64);
        let weights = |weighed: &WeighedSums| [weighed.trained, weighed.trained_missing];
        self.weighed.as_ref().map_or_else(rows, weights)
    }

    /// How often named values occur.
    pub(super) fn level_counts(&self) -> impl Iterator<Item = (&str, LevelCount)> {
        self.counts.iter().map(|(value, &rows)| {
            let count = self.weighed.as_ref().and_then(|weighed| weighed.counts.get(value));
            (value.as_str(), LevelCount { rows, count: count.copied().unwrap_or(rows as f64) })
        })
    }
}

impl WeighedSums {
    fn is_sound(&self) -> bool {
        let weights = [self.values, self.trained, self.trained_missing].into_iter();
        let is_weight = |weight: f64| weight.is_finite() && weight >= 0.0;
        weights.chain(self.counts.values().copied()).all(is_weight)
            && self.mean.is_none_or(f64::is_finite)
    }
}
