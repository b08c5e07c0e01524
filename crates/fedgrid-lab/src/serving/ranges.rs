//! New rows beyond what training rows have shown: models go on there as they must, and nobody has looked how well.

use fedgrid::data::Features;

use crate::{
    assembly::DataSchema,
    number::{count, counted, significant},
};

/// How many features are named; more would hide the rest.
const NAMED_FEATURES: usize = 5;

/// What leaves the range of the training rows.
pub(super) struct Beyond {
    /// How many rows do, in some feature.
    pub(super) rows: usize,
    /// How many rows do in each feature, and the first of them.
    columns: Vec<(usize, usize)>,
}

impl Beyond {
    /// Nothing yet.
    pub(super) fn none(about: &DataSchema) -> Self {
        Self { rows: 0, columns: vec![(0, usize::MAX); about.ranges.len()] }
    }

    /// Of some rows, which have these places in their table.
    pub(super) fn of(about: &DataSchema, features: &Features, places: &[usize]) -> Self {
        let mut found = Self::none(about);
        for (values, &row) in features.iter().zip(places) {
            let mut leaves = false;
            let columns = found.columns.iter_mut().zip(&about.ranges);
            for ((column, (least, most)), value) in columns.zip(values) {
                if !(least..=most).contains(&value) {
                    *column = (column.0 + 1, column.1.min(row));
                    leaves = true;
                }
            }
            found.rows += usize::from(leaves);
        }
        found
    }

    /// Adds what other rows do.
    pub(super) fn add(&mut self, other: &Self) {
        self.rows += other.rows;
        for (own, (count, first)) in self.columns.iter_mut().zip(&other.columns) {
            *own = (own.0 + count, own.1.min(*first));
        }
    }

    /// A sentence for each feature that some of all rows have there, those with the most such rows first.
    /// Rows are called by `number`.
    pub(super) fn sentences(
        &self,
        about: &DataSchema,
        all: usize,
        number: impl Fn(usize) -> usize,
    ) -> Vec<String> {
        let columns = self.columns.iter().enumerate().filter(|(_, (count, _))| *count > 0);
        let found =
            columns.map(|(column, (count, first))| (*count, column, number(*first))).collect();
        sentences(about, all, found)
    }
}

/// Puts in words how many rows leave the range of which column, and the number of the first that does.
fn sentences(about: &DataSchema, all: usize, mut found: Vec<(usize, usize, usize)>) -> Vec<String> {
    // Of equals the first column goes first, because the sort is stable.
    found.sort_by_key(|(rows, ..)| std::cmp::Reverse(*rows));
    let more = found.len().saturating_sub(NAMED_FEATURES);
    let mut sentences: Vec<String> = found
        .iter()
        .take(NAMED_FEATURES)
        .map(|&(rows, column, first)| {
            let (name, (least, most)) = (&about.features[column], about.ranges[column]);
            let all = counted(all, "row");
            let [least, most] = [least, most].map(significant);
            let verb = if rows == 1 { "has" } else { "have" };
            format!(
                "{} of {all} {verb} '{name}' outside of {least} to {most}, the range of the training rows (first: row \
                 {})",
                count(rows),
                first
            )
        })
        .collect();
    if more > 0 {
        sentences
            .push(format!("{} more are left like that by some rows", counted(more, "feature")));
    }
    sentences
}
