//! The column plan: what every column of a table is for, and how features are made of it.
//!
//! ```text
//! table + experiment ─▶ purposes ─▶ training rows ─▶ completed keys ─▶ features of any rows
//! ```
//!
//! A plan is complete: levels of categories, fills of missing cells and starts of counts are in it, all from training
//! rows, and it is applied in the same way to the rows that train, to those that test and to new ones. What it holds
//! can be written into an experiment file (`[data.columns]`), by which another table gets the same features.

mod agreement;
mod calendar;
mod changed;
mod features;
mod glob;
mod known;
mod lags;
mod levels;
mod new_rows;
mod problems;
mod products;
mod purpose;
mod timeline;
mod site_features;
mod summary;
mod sums;
mod treatment;
mod words;

use std::collections::{BTreeMap, BTreeSet};

pub use agreement::SitePart;
pub use calendar::TimeFacts;
pub use features::{FeatureFacts, PlannedFeatures, raw_values};
pub use known::{KnownKind, KnownPart, question_weight, read_weights, weight_note};
pub use lags::{LagFeature, LagPlan, LagValues, PastRows, SameTime, gap_note, numbers, same_time};
pub use new_rows::NewRows;
pub use problems::Problems;
pub use products::{FeatureDeviations, FeatureProducts};
pub use purpose::{Purpose, purposes};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
pub use summary::{RowWeights, SummaryOptions, ToldRows, heaviest_part, would_tell};
pub use sums::{ColumnSummary, FeatureSums, SiteSums, TimeSums, WeighedSums};
pub use timeline::{TimeAxis, Times};
pub use treatment::Encoded;
use treatment::{Learnt, Unusable};

use crate::{
    experiment::{ColumnKeys, ColumnKind, DataKeys, MissingRule},
    source::Column,
};

/// What becomes of every column of a table.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ColumnPlan {
    /// The columns; features in the order in which models have them.
    pub columns: Vec<PlannedColumn>,
    /// Cells that stand for no value, besides those that do in every table.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing_values: Vec<String>,
    /// The features that are made of earlier values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lags: Option<LagPlan>,
}

/// What becomes of a column.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlannedColumn {
    /// Its name.
    pub name: String,
    /// What it is for.
    #[serde(flatten)]
    pub role: ColumnRole,
}

/// What a column is for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "kebab-case")]
pub enum ColumnRole {
    /// It names the node of each row.
    Node,
    /// It is predicted.
    Target,
    /// It says what each row is for.
    Split,
    /// It orders rows in time.
    Time,
    /// It says how many rows each one stands for.
    Weight,
    /// It is a known part of the target.
    Offset,
    /// It says over how much each row has counted.
    Exposure,
    /// It is predicted from, as these complete keys say.
    Feature {
        /// How.
        keys: ColumnKeys,
    },
    /// It is not used.
    Ignored {
        /// Why.
        reason: String,
    },
    /// It is not used, because others are listed.
    Unlisted,
}

/// The rows that train.
#[derive(Debug, Clone, Copy)]
pub struct TrainingRows<'a> {
    /// Which these are.
    pub rows: &'a [usize],
    /// How many every row of the table stands for; none if for one.
    pub counts: Option<&'a [f64]>,
}

impl TrainingRows<'_> {
    /// How many rows one stands for.
    pub(super) fn count(&self, row: usize) -> f64 {
        self.counts.map_or(1.0, |counts| counts[row])
    }
}

impl ColumnPlan {
    /// The plan of columns of known purposes, completed by the rows that train.
    #[must_use]
    pub fn new<'a>(
        keys: &DataKeys,
        purposes: Vec<(String, Purpose)>,
        column: impl Fn(&str) -> Option<&'a Column> + Sync,
        training: TrainingRows<'_>,
        problems: &mut Problems,
    ) -> Self {
        let learnt = Learnt { training, most_levels: keys.most_levels, missing: keys.missing };
        let places = problems.of_part();
        let planned = |(name, purpose): (String, Purpose)| {
            let role = match purpose {
                Purpose::Node => ColumnRole::Node,
                Purpose::Target => ColumnRole::Target,
                Purpose::Split => ColumnRole::Split,
                Purpose::Time => ColumnRole::Time,
                Purpose::Weight => ColumnRole::Weight,
                Purpose::Offset => ColumnRole::Offset,
                Purpose::Exposure => ColumnRole::Exposure,
                Purpose::Unlisted => ColumnRole::Unlisted,
                Purpose::Ignored(reason) => ColumnRole::Ignored { reason },
                Purpose::Feature(kind) => {
                    return of_feature(name.clone(), column(&name), kind, (keys, learnt, &places));
                }
            };
            (PlannedColumn { name, role }, None)
        };
        // Python has frames where no pool of threads may be begun, such as before a fork.
        let all: Vec<_> = if problems.is_of_frame() {
            purposes.into_iter().map(planned).collect()
        } else {
            // One at a time, because a column of text takes far longer than one of numbers.
            purposes.into_par_iter().with_max_len(1).map(planned).collect()
        };
        let mut columns = Vec::with_capacity(all.len());
        // In the order of columns, whichever was done first.
        for (column, wrong) in all {
            if let Some(sentence) = wrong {
                problems.add(sentence);
            }
            columns.push(column);
        }
        let plan = Self { columns, missing_values: keys.missing_values.clone(), lags: None };
        plan.check_names(problems);
        plan
    }

    /// The plan of columns that are numbers as they are.
    #[must_use]
    pub fn of_numbers(names: &[String]) -> Self {
        let keys = ColumnKeys {
            kind: Some(ColumnKind::Number),
            missing: Some(MissingRule::Refuse),
            ..ColumnKeys::default()
        };
        let column = |name: &String| PlannedColumn {
            name: name.clone(),
            role: ColumnRole::Feature { keys: keys.clone() },
        };
        Self { columns: names.iter().map(column).collect(), missing_values: Vec::new(), lags: None }
    }

    /// Refuses columns whose features have the same names.
    fn check_names(&self, problems: &mut Problems) {
        let mut known: BTreeMap<String, &str> = BTreeMap::new();
        for (source, keys) in self.features() {
            for name in treatment::names(source, keys) {
                if let Some(other) = known.insert(name.clone(), source) {
                    problems.add(format!(
                        "columns '{other}' and '{source}' both make a feature '{name}'; rename one of them"
                    ));
                }
            }
        }
    }

    /// The columns that are features, with their complete keys.
    pub fn features(&self) -> impl Iterator<Item = (&str, &ColumnKeys)> {
        self.columns.iter().filter_map(|column| match &column.role {
            ColumnRole::Feature { keys } => Some((column.name.as_str(), keys)),
            _ => None,
        })
    }

    /// The names of the features, as models have them.
    #[must_use]
    pub fn feature_names(&self) -> Vec<String> {
        self.features().flat_map(|(name, keys)| treatment::names(name, keys)).collect()
    }

    /// The names of the features that are made of a column.
    #[must_use]
    pub fn names_of(&self, column: &str) -> Vec<String> {
        let own = self.features().find(|(name, _)| *name == column);
        own.map_or_else(Vec::new, |(name, keys)| treatment::names(name, keys))
    }

    /// Whether every feature is one column of numbers or truths, whose cells are the feature unless they are missing.
    #[must_use]
    pub fn is_of_single_columns(&self) -> bool {
        let is_single = |keys: &ColumnKeys| {
            matches!(keys.kind, Some(ColumnKind::Number | ColumnKind::Truth))
                && keys.indicator != Some(true)
        };
        self.missing_values.is_empty() && self.features().all(|(_, keys)| is_single(keys))
    }

    /// The column that orders rows in time.
    #[must_use]
    pub fn time(&self) -> Option<&str> {
        let time = self.columns.iter().find(|column| column.role == ColumnRole::Time);
        time.map(|column| column.name.as_str())
    }

    /// How many columns of a table it knows.
    #[must_use]
    pub fn column_count(&self) -> usize {
        // A time that is a feature too stands here twice, and what is made of earlier values is in no table.
        let names = self.columns.iter().map(|column| column.name.as_str());
        names.filter(|name| !self.is_made(name)).collect::<BTreeSet<_>>().len()
    }

    /// The columns that new rows must have for their features.
    #[must_use]
    pub fn sources(&self) -> Vec<&str> {
        self.features().map(|(name, _)| name).filter(|name| !self.is_made(name)).collect()
    }

    /// Whether a column is made of earlier values of others.
    fn is_made(&self, name: &str) -> bool {
        self.lags.as_ref().is_some_and(|lags| lags.feature(name).is_some())
    }

    /// What is done with missing cells of a feature.
    #[must_use]
    pub fn missing_rule(&self, name: &str) -> MissingRule {
        let own = self.features().find(|(known, _)| *known == name);
        own.and_then(|(_, keys)| keys.missing).unwrap_or_default()
    }

    /// What an experiment must say for a table to get this plan again.
    #[must_use]
    pub fn keys(&self) -> BTreeMap<String, ColumnKeys> {
        let kept = self.features().filter(|(_, keys)| !is_plain(keys));
        kept.map(|(name, keys)| (name.to_string(), keys.clone())).collect()
    }

    /// The rows that no column leaves out for a missing cell.
    #[must_use]
    pub fn used_rows<'a>(rows: usize, dropping: impl Iterator<Item = &'a Column>) -> Vec<bool> {
        let mut is_used = vec![true; rows];
        for column in dropping {
            (0..rows).for_each(|row| is_used[row] &= !column.is_gap(row));
        }
        is_used
    }
}

fn is_plain(keys: &ColumnKeys) -> bool {
    keys.kind == Some(ColumnKind::Number) && keys.fill.is_none() && keys.indicator != Some(true)
}

/// Whether a column leaves out rows for its missing cells.
#[must_use]
pub fn drops_rows(keys: &DataKeys, name: &str) -> bool {
    let own = keys.columns.get(name).and_then(|own| own.missing);
    own.unwrap_or(keys.missing) == MissingRule::Drop
}

/// A column that is a feature, unless it turns out to be none; what is wrong with it, if so.
fn of_feature(
    name: String,
    column: Option<&Column>,
    kind: ColumnKind,
    (keys, learnt, places): (&DataKeys, Learnt<'_>, &Problems),
) -> (PlannedColumn, Option<String>) {
    let Some(column) = column else {
        let role = ColumnRole::Ignored { reason: "not there".into() };
        return (PlannedColumn { name, role }, None);
    };
    let mut wrong = None;
    let is_named = keys.features.iter().flatten().any(|one| *one == name);
    let given = (keys.columns.get(&name), is_named);
    let role = match treatment::complete(column, kind, given, (learnt, places)) {
        Ok(keys) => ColumnRole::Feature { keys },
        Err(Unusable::Ignored(reason)) => ColumnRole::Ignored { reason },
        Err(Unusable::Wrong(sentence)) => {
            wrong = Some(sentence);
            ColumnRole::Ignored { reason: "cannot be read".into() }
        }
    };
    (PlannedColumn { name, role }, wrong)
}
