//! What features are made of, as the page shows it.

use minijinja::{Value, context};

use crate::outcome::{ColumnOutcome, Outcome};

/// How many features of a column are named; calendars have dozens.
const NAMED_FEATURES: usize = 8;

/// The columns and their features; none if all are columns of numbers.
pub(super) fn columns(outcome: &Outcome) -> Option<Value> {
    let row = |column: &ColumnOutcome| {
        let named = &column.features[..column.features.len().min(NAMED_FEATURES)];
        let more = if named.len() < column.features.len() { ", …" } else { "" };
        let features = named.join(", ") + more;
        context! { name => &column.name, treatment => &column.treatment, features }
    };
    let rows: Vec<Value> = outcome.columns.iter().map(row).collect();
    (!rows.is_empty()).then(|| context! { rows })
}
