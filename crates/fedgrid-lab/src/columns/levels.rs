//! Categories as columns of zeros and ones,
//!
//! ```text
//! x = level  ↦  one in the column of its level, zero in those of all others
//! ```
//!
//! Levels are those of the training rows, the most frequent ones. A value that is none of them is "other": it has a
//! column of its own if training rows hold such values, and otherwise zero in all columns, as if that column had the
//! slope zero, which is what a model would learn of it.

use std::{borrow::Cow, collections::BTreeMap};

use fedgrid::data::by_name;

use super::{TrainingRows, problems::WrongCells};
use crate::{experiment::ColumnKeys, source::Column};

/// Above so many levels a column is looked at twice before it is taken for a category.
pub(super) const FEW_LEVELS: usize = 5;

/// What columns say that tell which rows train: no property of a row.
const ROLES: [&str; 6] = ["train", "training", "val", "valid", "validation", "test"];

/// How often a level occurs.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct LevelCount {
    /// In how many rows.
    pub(super) rows: usize,
    /// How many rows these stand for.
    pub(super) count: f64,
}

/// How often each level occurs in some rows; gaps do not count.
pub(super) type LevelCounts<'a> = BTreeMap<Cow<'a, str>, LevelCount>;

/// How often each level occurs in the rows that train.
pub(super) fn counts<'a>(column: &'a Column, training: TrainingRows<'_>) -> LevelCounts<'a> {
    let mut counts = LevelCounts::new();
    for &row in training.rows {
        if let Some(level) = column.level(row) {
            let own = counts.entry(level).or_default();
            own.rows += 1;
            own.count += training.count(row);
        }
    }
    counts
}

/// The most frequent level; of equally frequent ones the first by name.
pub(super) fn most_frequent(counts: &LevelCounts<'_>) -> Option<String> {
    let mut best: Option<(&str, f64)> = None;
    for (level, &LevelCount { count, .. }) in counts {
        if best.is_none_or(|(_, most)| count > most) {
            best = Some((level, count));
        }
    }
    best.map(|(level, _)| level.to_string())
}

/// Why a column without a value is no feature.
pub(super) const NOTHING: &str = "nothing in the training rows";

/// Why a column of one level is no feature.
pub(super) fn one_level(level: &str) -> String {
    format!("'{level}' in all training rows")
}

/// Why a column of text that nobody has declared is no category, if it is none.
pub(super) fn refused(counts: &LevelCounts<'_>) -> Option<String> {
    let rows: usize = counts.values().map(|level| level.rows).sum();
    if !counts.is_empty()
        && counts.keys().all(|level| ROLES.contains(&level.to_lowercase().as_str()))
    {
        return Some(
            "words for training and testing; to use them so, name it as data.split".into(),
        );
    }
    match counts.len() {
        0 => Some(NOTHING.into()),
        1 => Some(one_level(counts.keys().next().map_or("", |level| level))),
        // Names of rows, or sentences: what was learnt of one value would never be used again.
        levels if levels > FEW_LEVELS && 2 * levels > rows => {
            Some(format!("text, {levels} values in {rows} training rows"))
        }
        _ => None,
    }
}

/// Completes the levels of a category by the counts of the training rows.
pub(super) fn complete(keys: &mut ColumnKeys, counts: &LevelCounts<'_>, most: usize) {
    if keys.levels.is_none() {
        let mut frequent: Vec<(&str, f64)> =
            counts.iter().map(|(level, own)| (&**level, own.count)).collect();
        // Stable, so that of equally frequent levels the first by name is kept.
        frequent.sort_by(|(_, a), (_, b)| b.total_cmp(a));
        let kept: Vec<String> =
            frequent.into_iter().take(most).map(|(level, _)| level.to_string()).collect();
        keys.levels = Some(by_name(&kept).into_iter().map(|at| kept[at].clone()).collect());
    }
    let levels = keys.levels.as_deref().unwrap_or_default();
    let has_others = counts.keys().any(|level| !levels.iter().any(|known| known == level));
    // An ordered category is one number, and no number stands for other.
    if keys.other.is_none() && has_others && !keys.ordered {
        keys.other = Some(true);
    }
}

/// The features of a category.
pub(super) fn names(name: &str, keys: &ColumnKeys) -> Vec<String> {
    if keys.ordered {
        return vec![name.to_string()];
    }
    let levels = keys.levels.iter().flatten().map(|level| format!("{name}={level}"));
    let other = (keys.other == Some(true)).then(|| format!("{name}=(other)"));
    levels.chain(other).collect()
}

/// What a value that is no known level does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Coded {
    /// The position of its level.
    Level(usize),
    /// None of the levels.
    Other,
}

/// Cells that hold no known level.
#[derive(Debug, Clone, Default)]
pub struct Others {
    /// How many there are.
    pub cells: usize,
    /// The row of the first, and what it holds.
    pub first: Option<(usize, String)>,
}

impl Others {
    fn add(&mut self, row: usize, level: &str) {
        self.cells += 1;
        self.first.get_or_insert_with(|| (row, level.to_string()));
    }
}

/// The values of a category: the columns of each row, and how many were no known level.
pub(super) struct Coder<'a> {
    places: BTreeMap<&'a str, usize>,
    keys: &'a ColumnKeys,
    pub(super) others: Others,
    pub(super) wrong: WrongCells,
}

impl<'a> Coder<'a> {
    pub(super) fn new(keys: &'a ColumnKeys) -> Self {
        let levels = keys.levels.iter().flatten().map(String::as_str);
        let places = levels.enumerate().map(|(place, level)| (level, place)).collect();
        Self { places, keys, others: Others::default(), wrong: WrongCells::default() }
    }

    /// The place of a value; none if it is refused.
    pub(super) fn coded(&mut self, row: usize, level: &str) -> Option<Coded> {
        if let Some(&place) = self.places.get(level) {
            return Some(Coded::Level(place));
        }
        if self.keys.other == Some(false) || self.keys.ordered {
            let known = self.keys.levels.as_deref().unwrap_or_default().join(", ");
            self.wrong.add(row, || format!("is '{level}', expected one of {known}"));
            return None;
        }
        self.others.add(row, level);
        Some(Coded::Other)
    }

    /// Writes a value into the columns of its row.
    pub(super) fn write(&self, coded: Coded, columns: &mut [Vec<f64>], row: usize) {
        match coded {
            #[expect(clippy::cast_precision_loss, reason = "levels are few")]
            Coded::Level(place) if self.keys.ordered => columns[0][row] = place as f64,
            Coded::Level(place) => columns[place][row] = 1.0,
            Coded::Other if self.keys.other == Some(true) => columns[self.places.len()][row] = 1.0,
            Coded::Other => {}
        }
    }
}
