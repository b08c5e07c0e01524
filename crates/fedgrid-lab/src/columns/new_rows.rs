//! Earlier values of new rows, which may be in a table of the time before.

use super::{
    lags::{LagFeature, LagPlan, PastRows, same_time},
    problems::Problems,
    timeline::Times,
};
use crate::{
    experiment::MissingRule,
    number::counted,
    source::{Column, FileParts, place},
};

/// New rows, behind those that are known of the time before.
#[derive(Debug)]
pub struct NewRows<'a> {
    /// When and where all rows are, those of the time before first.
    pub past: PastRows,
    /// The files that these are from; nothing if there is one.
    pub before: FileParts,
    /// The names of nodes by their numbers; empty if they are not known.
    pub names: &'a [String],
    /// How the time before can be given, in words.
    pub remedy: &'a str,
}

impl NewRows<'_> {
    /// The features of earlier values of the new rows; those that are needed and not there are problems.
    #[must_use]
    pub fn columns(
        &self,
        (lags, rule): (&LagPlan, impl Fn(&str) -> MissingRule),
        source: impl Fn(&str) -> Vec<f64>,
        problems: &mut Problems,
    ) -> Vec<Column> {
        let found = match lags.values(&self.past, source) {
            Ok(found) => found,
            Err(same) => {
                let times = Times {
                    column: lags.time.clone(),
                    axis: lags.axis,
                    ticks: self.past.ticks.clone(),
                };
                let sentence = same_time(&times, same, |row| self.row(row, problems));
                problems.add(sentence);
                return Vec::new();
            }
        };
        let mut columns = Vec::new();
        for (feature, own) in lags.features.iter().zip(found) {
            // Rows of the time before are looked at, not predicted.
            let values = own.values[self.past.known..].to_vec();
            if matches!(rule(&feature.name), MissingRule::Refuse | MissingRule::Drop) {
                self.complain(lags, feature, &values, problems);
            }
            columns.push(Column::of_numbers(feature.name.clone(), values));
        }
        columns
    }

    /// A row in words.
    fn row(&self, row: usize, problems: &Problems) -> String {
        match (row.checked_sub(self.past.known), place(&self.before, row)) {
            (Some(row), _) => format!("row {}", problems.place(row)),
            (None, Some((file, row))) => format!("row {} of {file}", problems.row(row)),
            (None, None) => format!("row {} of the time before", problems.row(row)),
        }
    }

    /// Adds which earlier row the first that misses a value would need.
    fn complain(
        &self,
        lags: &LagPlan,
        feature: &LagFeature,
        values: &[f64],
        problems: &mut Problems,
    ) {
        let missing: Vec<usize> = (0..values.len()).filter(|&row| values[row].is_nan()).collect();
        let Some(&first) = missing.first() else { return };
        let wanted = feature.wanted(self.past.ticks[self.past.known + first]);
        let node = self.names.get(self.past.nodes[self.past.known + first]);
        let node = node.map_or_else(|| "its node".into(), |name| format!("node '{name}'"));
        let at = match (feature.is_mean, lags.axis.written(wanted.start)) {
            (false, at) => format!("at {at}"),
            // Without a horizon, means end with what is just before a row.
            (true, from) if feature.delay == 1 => {
                format!("from {from} to before {}", lags.axis.written(wanted.end))
            }
            (true, _) => {
                let [after, last] =
                    [wanted.start, wanted.end].map(|tick| lags.axis.written(tick - 1));
                format!("after {after} and up to {last}")
            }
        };
        let (row, name, source) = (problems.place(first), &feature.name, &feature.source);
        let others = match missing.len() - 1 {
            0 => String::new(),
            more => format!(" (and so do {})", counted(more, "other row")),
        };
        problems.add(format!(
            "row {row} needs '{source}' of {node} {at} for '{name}', which is not there{others}; give {}",
            self.remedy
        ));
    }
}
