//! What a site tells of the columns of its own training rows, so that all sites can have one plan: counts and sums.
//!
//! ```text
//! x_k ↦  mean_k over its cells,   b_k = x_k − mean_k, zero at missing cells,   Σ b_k²,  Σ b_k b_l
//! ```
//!
//! Features are those that any plan could make of a column: a number, one dummy for each level, parts of a date. What
//! a plan fills into missing cells, and from when it counts days, then only adds constants and multiples of the
//! column that says which cells are missing, which has its sums, too.
//!
//! What few rows have in common is not told: levels of fewer rows than `least_count` are counted together and not
//! named, and a column in which all rows but fewer than that are the same has no products with others, because
//! the products would be the other cells of these rows.

use std::{borrow::Cow, collections::BTreeMap};

use serde::{Deserialize, Serialize};

use super::{
    Problems, Purpose,
    calendar::{self, TimeFacts},
    levels,
    products::FeatureDeviations,
    treatment,
};
use crate::{
    experiment::{ColumnKeys, ColumnKind, DataKeys, DateOrder, MissingRule, TimePart},
    source::{
        Column,
        moment::{Civil, DAY, written},
    },
};

/// How much a site tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SummaryOptions {
    /// How many rows a level, or a sum, must have.
    pub least_count: usize,
    /// Whether products of features are told.
    pub products: bool,
    /// Whether of the first day of a column of dates only the month is told.
    pub months: bool,
}

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
    /// Its mean over cells that hold something; days are counted from 1970.
    pub mean: f64,
    /// The sum of squares of what differs from the mean.
    pub squares: f64,
}

/// The name of the column that says which cells of another are missing.
pub(super) fn gap_name(column: &str) -> String {
    format!("{column}=(missing)")
}

impl ColumnSummary {
    /// What is told of a column; the deviations of its features are added to those of others, unless products with
    /// them would tell few rows.
    #[must_use]
    pub fn of(
        column: &Column,
        purpose: Purpose,
        keys: &DataKeys,
        (training, options): (&[usize], SummaryOptions),
        deviations: &mut FeatureDeviations,
    ) -> Self {
        let name = column.name().to_string();
        let Purpose::Feature(kind) = purpose else { return Self { name, purpose, sums: None } };
        let look = SummarisedColumn::new(column, kind, keys, (training, options));
        let (sums, own) = look.sums();
        if !sums.is_apart {
            // What is the same in all rows has no products.
            let varies = |column: &Vec<f64>| column.iter().any(|deviation| *deviation != 0.0);
            for (name, column) in own.into_iter().filter(|(_, column)| varies(column)) {
                deviations.add(name, column);
            }
        }
        Self { name, purpose, sums: Some(sums) }
    }
}

/// A column that is looked at.
struct SummarisedColumn<'a> {
    column: &'a Column,
    kind: ColumnKind,
    given: ColumnKeys,
    rule: MissingRule,
    training: &'a [usize],
    /// The training rows whose cells hold something.
    present: Vec<usize>,
    options: SummaryOptions,
}

impl<'a> SummarisedColumn<'a> {
    fn new(
        column: &'a Column,
        kind: ColumnKind,
        keys: &DataKeys,
        (training, options): (&'a [usize], SummaryOptions),
    ) -> Self {
        let given = keys.columns.get(column.name()).cloned().unwrap_or_default();
        let rule = given.missing.unwrap_or(keys.missing);
        let present = training.iter().copied().filter(|&row| !column.is_gap(row)).collect();
        Self { column, kind, given, rule, training, present, options }
    }

    /// The sums, and what features differ from their means by.
    fn sums(&self) -> (SiteSums, Vec<(String, Vec<f64>)>) {
        let (counts, [rare_values, rare_rows]) = self.counts();
        let keys = self.widest_keys(&counts, rare_rows);
        let mut is_training = vec![false; self.column.rows()];
        self.training.iter().for_each(|&row| is_training[row] = true);
        // What is wrong with the table was said before anything is told of it.
        let mut said = Problems::new("");
        let made = treatment::encode(self.column, &keys, &is_training, &mut said).columns;
        let names = treatment::names(self.column.name(), &keys);
        let missing = self.training.len() - self.present.len();
        let mut is_apart = self.are_few(missing.min(self.present.len()));
        let (mut own, mut features) = (Vec::new(), Vec::with_capacity(names.len()));
        for (name, values) in names.into_iter().zip(made) {
            let present: Vec<f64> = self.present.iter().map(|&row| values[row]).collect();
            let others = present.len() - most_often(&present);
            is_apart |= self.are_few(others);
            // Of equal numbers without rounding.
            let mean = if others == 0 { present.first().copied() } else { None };
            let mean =
                mean.or_else(|| treatment::mean(present.iter().map(|x| (*x, 1.0)))).unwrap_or(0.0);
            let mut squares: Vec<f64> = present.iter().map(|x| (x - mean).powi(2)).collect();
            squares.sort_by(f64::total_cmp);
            features.push(FeatureSums { name: name.clone(), mean, squares: squares.iter().sum() });
            let deviation =
                |&row: &usize| if self.column.is_gap(row) { 0.0 } else { values[row] - mean };
            own.push((name, self.training.iter().map(deviation).collect()));
        }
        if missing > 0 {
            let share = missing as f64 / self.training.len() as f64;
            let gap = |&row: &usize| f64::from(u8::from(self.column.is_gap(row))) - share;
            own.push((gap_name(self.column.name()), self.training.iter().map(gap).collect()));
        }
        let time = self.time(keys.order);
        let values = self.present.len();
        let sums =
            SiteSums { values, missing, counts, rare_values, rare_rows, time, features, is_apart };
        (sums, own)
    }

    /// Whether rows that differ from all others are so few that sums would tell them.
    fn are_few(&self, rows: usize) -> bool {
        (1..self.options.least_count).contains(&rows)
    }

    /// How often values occur, where that is needed; how many values are too rare to be named, and in how many rows.
    fn counts(&self) -> (BTreeMap<String, usize>, [usize; 2]) {
        let mut all: BTreeMap<String, usize> = BTreeMap::new();
        let is_frequent = self.rule == MissingRule::MostFrequent;
        let is_time = self.kind == ColumnKind::Time;
        let order = if is_time { self.order() } else { DateOrder::DayFirst };
        let text = |row: usize| -> Option<String> {
            match self.kind {
                ColumnKind::Category => self.column.level(row).map(Cow::into_owned),
                ColumnKind::Truth => self.column.truth(row).map(|truth| truth.to_string()),
                ColumnKind::Number if is_frequent => {
                    self.column.number(row).map(|number| number.to_string())
                }
                ColumnKind::Time if is_frequent => {
                    self.column.written_moment(row)?.moment(order).map(written)
                }
                _ => None,
            }
        };
        for value in self.present.iter().filter_map(|&row| text(row)) {
            *all.entry(value).or_default() += 1;
        }
        // That a column holds true and false is no secret, and how often is its mean.
        if self.kind == ColumnKind::Truth {
            return (all, [0, 0]);
        }
        let declared = self.given.levels.as_deref();
        let is_named = |value: &String, count: usize| {
            count >= self.options.least_count
                && declared.is_none_or(|levels| levels.contains(value))
        };
        let (named, rare): (BTreeMap<_, _>, BTreeMap<_, _>) =
            all.into_iter().partition(|(value, count)| is_named(value, *count));
        (named, [rare.len(), rare.values().sum()])
    }

    /// The keys by which a column becomes all features that any plan could make of it.
    fn widest_keys(&self, counts: &BTreeMap<String, usize>, rare_rows: usize) -> ColumnKeys {
        let given = &self.given;
        let mut keys = ColumnKeys { kind: Some(self.kind), ..ColumnKeys::default() };
        match self.kind {
            ColumnKind::Category if given.ordered => {
                (keys.levels, keys.ordered) = (given.levels.clone(), true);
            }
            ColumnKind::Category => {
                keys.levels = Some(counts.keys().cloned().collect());
                keys.other = (rare_rows > 0).then_some(true);
            }
            ColumnKind::Time => {
                keys.order = Some(self.order());
                let usual = [TimePart::Days, TimePart::Month, TimePart::Weekday, TimePart::Hour];
                keys.parts = Some(given.parts.clone().unwrap_or_else(|| usual.to_vec()));
                keys.calendar = Some(given.calendar.unwrap_or_default());
                keys.start = Some(written(0));
            }
            _ => {}
        }
        keys
    }

    /// Which of day and month comes first.
    fn order(&self) -> DateOrder {
        // Dates that leave it open were refused when the table was read.
        let found = || {
            let read = calendar::order_of(self.column, &Problems::new(""));
            read.unwrap_or(DateOrder::DayFirst)
        };
        self.given.order.unwrap_or_else(found)
    }

    fn time(&self, order: Option<DateOrder>) -> Option<TimeSums> {
        let order = order.filter(|_| self.kind == ColumnKind::Time)?;
        let moments = calendar::moments(self.column, order, self.training);
        let mut facts = TimeFacts::of(&moments)?;
        if self.options.months {
            facts.first -= (Civil::of(facts.first).day - 1) * DAY;
        }
        let sum: i128 = moments.iter().map(|&moment| i128::from(moment)).sum();
        let count = i128::try_from(moments.len()).ok()?;
        let tells = |row: usize| self.column.written_moment(row)?.told_order();
        let told = self.given.order.or_else(|| (0..self.column.rows()).find_map(tells));
        Some(TimeSums {
            order: told,
            mean: i64::try_from(sum.div_euclid(count)).ok()?,
            rest: i64::try_from(sum.rem_euclid(count)).ok()?,
            facts,
        })
    }
}

/// How often the most frequent of some numbers occurs.
fn most_often(values: &[f64]) -> usize {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.chunk_by(|a, b| a.to_bits() == b.to_bits()).map(<[f64]>::len).max().unwrap_or(0)
}

impl ColumnSummary {
    /// What contradicts itself in a summary of so many rows, if anything does.
    #[must_use]
    pub fn contradiction(&self, rows: usize) -> Option<String> {
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
            _ => counted <= sums.values,
        };
        let is_time = matches!(&self.purpose, Purpose::Feature(ColumnKind::Time));
        let has_time = sums.time.is_some() || !is_time || sums.values == 0;
        let is_whole = sums.values + sums.missing == rows
            && is_counted
            && has_time
            && sums.features.iter().all(is_sound);
        (!is_whole).then(|| format!("the sums of column '{}' contradict each other", self.name))
    }
}

/// Levels of a category in all sites together.
pub(super) fn named_levels(counts: &BTreeMap<String, usize>) -> levels::LevelCounts<'_> {
    let counts =
        counts.iter().map(|(level, rows)| (level.as_str().into(), levels::LevelCount::of(*rows)));
    counts.collect()
}
