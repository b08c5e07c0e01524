//! The features that a plan makes of a table: of all rows that are used, or only what they hold.

use std::{borrow::Cow, collections::BTreeSet, sync::Arc};

use fedgrid::data::Features;
use rayon::prelude::*;

use super::{
    ColumnPlan, Problems,
    treatment::{self, Encoded},
};
use crate::{
    error::Result,
    experiment::{ColumnKeys, ColumnKind, DateOrder},
    source::{Column, Table, is_usable},
};

/// The features that a plan makes of a table.
#[derive(Debug, Clone)]
pub struct PlannedFeatures {
    /// Their names.
    pub names: Arc<[String]>,
    /// Their values, feature by feature, for all rows of the table.
    pub columns: Vec<Vec<f64>>,
    /// How many cells of which columns were missing and filled.
    pub filled: Vec<(String, usize)>,
    /// Where cells were no known level.
    pub others: Vec<UnknownLevels>,
}

/// The cells of a column that hold no known level.
#[derive(Debug, Clone)]
pub struct UnknownLevels {
    /// The column.
    pub column: String,
    /// How many cells there are.
    pub cells: usize,
    /// The first of them, in words.
    pub first: String,
}

impl PlannedFeatures {
    /// The features of some rows.
    pub fn rows(&self, rows: &[usize]) -> fedgrid::Result<Features> {
        if rows.is_empty() {
            return Ok(Features::empty(self.names.clone()));
        }
        let values =
            rows.iter().flat_map(|&row| self.columns.iter().map(move |column| column[row]));
        Features::new(self.names.clone(), values.collect())
    }
}

/// What a feature holds.
#[derive(Debug, Clone, PartialEq)]
pub struct FeatureFacts {
    /// Its name.
    pub name: String,
    /// Whether it is the same in all rows.
    pub is_constant: bool,
    /// A hash of its values, by which equal features are found.
    pub fingerprint: u64,
}

impl FeatureFacts {
    fn new(name: String, values: &[f64], is_used: &[bool]) -> Self {
        let used =
            || values.iter().zip(is_used).filter(|(_, is_used)| **is_used).map(|(value, _)| *value);
        let first = used().next();
        let is_constant = used().all(|value| Some(value) == first);
        // One step of a hash for a value, and not for each of its bytes: there are millions.
        let fingerprint = used().fold(0xcbf2_9ce4_8422_2325_u64, |hash, value| {
            (hash.rotate_left(5) ^ value.to_bits()).wrapping_mul(0x517c_c1b7_2722_0a95)
        });
        Self { name, is_constant, fingerprint }
    }
}

impl ColumnPlan {
    /// What features hold in the rows that are used, without keeping any: a table may have many more than are trained on.
    #[must_use]
    pub fn facts<'a>(
        &self,
        column: impl Fn(&str) -> Option<&'a Column> + Sync,
        is_used: &[bool],
        problems: &mut Problems,
    ) -> Vec<FeatureFacts> {
        let features: Vec<(&str, &ColumnKeys)> = self.features().collect();
        let blank = problems.of_part();
        let of = |(name, keys): &(&str, &ColumnKeys)| {
            let mut own = blank.clone();
            // Most columns are plain numbers, which are features as they are.
            if let Some(values) = column(name).and_then(|column| plain(column, keys, is_used)) {
                return (vec![FeatureFacts::new((*name).into(), values, is_used)], own);
            }
            let encoded =
                column(name).map(|column| treatment::encode(column, keys, is_used, &mut own));
            let encoded = encoded.unwrap_or_default();
            let names = treatment::names(name, keys).into_iter().zip(&encoded.columns);
            let facts = names.map(|(name, values)| FeatureFacts::new(name, values, is_used));
            // Cells that cannot be read are zeros here, which look constant.
            let facts = facts.filter(|_| own.is_empty());
            (facts.collect::<Vec<_>>(), own)
        };
        // Text and dates take longer than numbers, and often stand together.
        let made: Vec<_> = features.par_iter().with_max_len(1).map(of).collect();
        let mut all = Vec::new();
        for (facts, own) in made {
            problems.join(own);
            all.extend(facts);
        }
        all
    }

    /// The features of the rows that are used.
    #[must_use]
    pub fn encode<'a>(
        &self,
        column: impl Fn(&str) -> Option<&'a Column> + Sync,
        is_used: &[bool],
        problems: &mut Problems,
    ) -> PlannedFeatures {
        let features: Vec<(&str, &ColumnKeys)> = self.features().collect();
        let blank = problems.of_part();
        let made: Vec<(Encoded, Problems)> = features
            .iter()
            .map(|(name, keys)| {
                let mut own = blank.clone();
                let encoded =
                    column(name).map(|column| treatment::encode(column, keys, is_used, &mut own));
                (encoded.unwrap_or_default(), own)
            })
            .collect();
        let names = self.feature_names().into();
        let mut all =
            PlannedFeatures { names, columns: Vec::new(), filled: Vec::new(), others: Vec::new() };
        for ((name, _), (encoded, own)) in features.into_iter().zip(made) {
            problems.join(own);
            all.columns.extend(encoded.columns);
            let counted = |count: usize| (count > 0).then(|| (name.to_string(), count));
            all.filled.extend(counted(encoded.filled));
            all.others.extend(encoded.others.first.map(|(row, level)| UnknownLevels {
                column: name.to_string(),
                cells: encoded.others.cells,
                first: format!("'{level}' in row {}", problems.place(row)),
            }));
        }
        all
    }

    /// The features of new rows, all of which must have some.
    pub fn apply(&self, table: &Table) -> Result<PlannedFeatures> {
        let mut problems = Problems::of_new_rows(table);
        for (name, _) in self.features() {
            problems.take(table.column(name));
        }
        let made =
            self.encode(|name| table.column(name).ok(), &vec![true; table.rows()], &mut problems);
        problems.into_result()?;
        Ok(made)
    }
}

/// The cells of a column that are its feature as they are, in all rows that are used.
fn plain<'a>(column: &'a Column, keys: &ColumnKeys, is_used: &[bool]) -> Option<&'a [f64]> {
    let is_single = keys.kind == Some(ColumnKind::Number) && keys.indicator != Some(true);
    let values = column.plain_numbers().filter(|_| is_single)?;
    let mut used = values.iter().zip(is_used);
    // A gap or a number too large takes the slow way, which says where it is.
    used.all(|(value, is_used)| !is_used || is_usable(*value)).then_some(values)
}

/// The cells of a column as one number each, whatever rows train: by these rows are told apart where roles are drawn,
/// before it is known what training rows say of the column.
#[must_use]
pub fn raw_values(column: &Column, kind: ColumnKind) -> Vec<f64> {
    /// What stands for a gap, or for what cannot be read: less than all that a table may hold.
    const NOTHING: f64 = -1e51;
    let rows = 0..column.rows();
    match kind {
        ColumnKind::Category => {
            let levels: BTreeSet<String> =
                rows.clone().filter_map(|row| column.level(row)).map(Cow::into_owned).collect();
            let levels: Vec<String> = levels.into_iter().collect();
            let place =
                |level: Cow<'_, str>| levels.binary_search_by(|known| (**known).cmp(&level)).ok();
            #[expect(clippy::cast_precision_loss, reason = "levels are fewer than rows")]
            rows.map(|row| column.level(row).and_then(place).map_or(NOTHING, |at| at as f64))
                .collect()
        }
        #[expect(clippy::cast_precision_loss, reason = "only the order counts")]
        ColumnKind::Time => {
            // Any order does, as long as it is always the same: rows are only told apart.
            let order = DateOrder::DayFirst;
            let moment = |row| column.written_moment(row).and_then(|date| date.moment(order));
            rows.map(|row| moment(row).map_or(NOTHING, |moment| moment as f64)).collect()
        }
        _ => {
            let number = |row| column.number(row).filter(|number| number.is_finite());
            let truth = |row| column.truth(row).map(|truth| f64::from(u8::from(truth)));
            rows.map(|row| number(row).or_else(|| truth(row)).unwrap_or(NOTHING)).collect()
        }
    }
}
