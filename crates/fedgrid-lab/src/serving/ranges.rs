//! New rows beyond what training rows have shown: models go on there as they must, and nobody has looked how well.

use fedgrid::data::Features;

use crate::{
    assembly::DataSchema,
    number::{count, counted, significant},
};

/// How many features are named; more would hide the rest.
const NAMED_FEATURES: usize = 5;

/// A sentence for each feature that some rows have outside of the range of the training rows, those with the most such
/// rows first.
pub(super) fn outside(about: &DataSchema, features: &Features) -> Vec<String> {
    let mut found: Vec<(usize, usize, usize)> = Vec::new();
    for (column, &(least, most)) in about.ranges.iter().enumerate() {
        let is_outside = |row: &usize| !(least..=most).contains(&features.row(*row)[column]);
        let mut rows = (0..features.rows()).filter(is_outside);
        if let Some(first) = rows.next() {
            found.push((1 + rows.count(), column, first));
        }
    }
    // Of equals the first column goes first, because the sort is stable.
    found.sort_by_key(|(rows, ..)| std::cmp::Reverse(*rows));
    let more = found.len().saturating_sub(NAMED_FEATURES);
    let mut sentences: Vec<String> = found
        .iter()
        .take(NAMED_FEATURES)
        .map(|&(rows, column, first)| {
            let (name, (least, most)) = (&about.features[column], about.ranges[column]);
            let all = counted(features.rows(), "row");
            let [least, most] = [least, most].map(significant);
            let verb = if rows == 1 { "has" } else { "have" };
            format!(
                "{} of {all} {verb} '{name}' outside of {least} to {most}, the range of the training rows (first: row \
                 {})",
                count(rows),
                first + 1
            )
        })
        .collect();
    if more > 0 {
        sentences
            .push(format!("{} more are left like that by some rows", counted(more, "feature")));
    }
    sentences
}
