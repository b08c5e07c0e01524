//! What a plan of all rows would have that the plan of a run has not, as far as further rows tell: the plan stays, and is
//! said to.

use super::{ColumnPlan, ColumnRole, PlannedFeatures, TrainingRows, calendar, levels};
use crate::{
    experiment::{ColumnKeys, ColumnKind, MissingRule, TimePart},
    source::Column,
};

impl ColumnPlan {
    /// What a fit of all rows would make of columns and this plan does not, in sentences; `rows` are further ones that
    /// train, and `made` is what the plan makes of their table.
    #[must_use]
    pub fn kept_for<'a>(
        &self,
        column: impl Fn(&str) -> Option<&'a Column>,
        rows: TrainingRows<'_>,
        made: &PlannedFeatures,
    ) -> Vec<String> {
        let mut said = Vec::new();
        for planned in &self.columns {
            let Some(cells) = column(&planned.name) else { continue };
            match &planned.role {
                ColumnRole::Feature { keys } => {
                    said.extend(of_feature(&planned.name, keys, (cells, rows)));
                }
                ColumnRole::Ignored { reason } => {
                    said.extend(of_ignored(&planned.name, reason, (cells, rows)));
                }
                _ => {}
            }
        }
        let unknown = made.others.iter().map(|own| {
            format!(
                "Levels of '{}' that the run does not know count as other, where a fit of all rows may give them columns of \
                 their own.",
                own.column
            )
        });
        said.into_iter().chain(unknown).collect()
    }
}

/// What is kept of a feature that a fit of all rows would learn again.
fn of_feature(
    name: &str,
    keys: &ColumnKeys,
    (column, rows): (&Column, TrainingRows<'_>),
) -> Option<String> {
    let had_gaps = keys.indicator == Some(true)
        || matches!(keys.missing, Some(MissingRule::Mean | MissingRule::MostFrequent));
    let has_gaps = || rows.rows.iter().any(|&row| column.is_gap(row));
    if let Some(fill) = keys.fill.as_ref().filter(|_| had_gaps || has_gaps()) {
        return Some(format!(
            "Missing cells of '{name}' are taken for {fill}, as in the run, where a fit of all rows would look again."
        ));
    }
    if keys.kind == Some(ColumnKind::Time) {
        let moments = calendar::moments(column, keys.order, rows.rows);
        let parts = calendar::parts_beyond(keys, &moments);
        let is_new = |part: &&TimePart| !keys.parts.iter().flatten().any(|own| own == *part);
        let new: Vec<&str> = parts.iter().filter(is_new).map(|part| part.name()).collect();
        return (!new.is_empty()).then(|| {
            format!(
                "Times of '{name}' differ by {}, which the run does not use; a fit of all rows would, unless \
                 data.columns says which parts.",
                new.join(", ")
            )
        });
    }
    None
}

/// What a fit of all rows would make of a column in which the run has found nothing.
fn of_ignored(
    name: &str,
    reason: &str,
    (column, rows): (&Column, TrainingRows<'_>),
) -> Option<String> {
    let counts = levels::counts(column, rows);
    let is_filled = reason == levels::NOTHING && !counts.is_empty();
    let was_one_level = reason.ends_with(&levels::one_level("")[1..]);
    let was_one_moment =
        !was_one_level && reason.ends_with(&calendar::one_moment(0)["1970-01-01".len()..]);
    let moments = || calendar::moments(column, None, rows.rows).into_iter();
    let differs = was_one_level && counts.keys().any(|level| reason != levels::one_level(level))
        || was_one_moment && moments().any(|moment| reason != calendar::one_moment(moment));
    (is_filled || differs).then(|| {
        format!(
            "Column '{name}' is left out as in the run ({reason}), and further rows hold something else; a fit of all rows \
             may use it."
        )
    })
}
