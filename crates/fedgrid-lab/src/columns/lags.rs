//! Features of earlier values at the same node,
//!
//! ```text
//! lag k    x(t − k)                                mean m    mean of x(s),  t − h − m < s ≤ t − h
//! ```
//!
//! where h is the horizon, or next to nothing without one. No value at or after a row's own time is looked at, and with
//! a horizon none that is not known when the forecast is made. What is not there is a missing cell.

use std::{collections::BTreeMap, ops::Range};

use serde::{Deserialize, Serialize};

use super::{
    problems::Problems,
    timeline::{TimeAxis, Times},
};
use crate::{
    experiment::DataKeys,
    number::count,
    source::{Column, Holds},
};

/// The features of earlier values, as a run keeps them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LagPlan {
    /// The column that orders rows.
    pub time: String,
    /// How it is read.
    pub axis: TimeAxis,
    /// The features.
    pub features: Vec<LagFeature>,
}

/// A feature of earlier values.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LagFeature {
    /// Its name.
    pub name: String,
    /// The column that it is made of.
    pub source: String,
    /// Whether it is a mean over a length of time; otherwise it is the value so long ago.
    pub is_mean: bool,
    /// The length of time, in ticks.
    pub span: i64,
    /// How long before a row the values of a mean end, in ticks.
    pub delay: i64,
    /// What it is, in words.
    pub words: String,
}

/// What earlier values are looked for among: the rows of a table, and those of one before it.
#[derive(Debug, Clone)]
pub struct PastRows {
    /// The node of each row, as a number.
    pub nodes: Vec<usize>,
    /// The tick of each row.
    pub ticks: Vec<i64>,
    /// How many rows come first that are only looked at: the time before.
    pub known: usize,
}

/// The values of a feature of earlier values.
#[derive(Debug, Clone, Default)]
pub struct LagValues {
    /// One for each row; not-a-number where there is none.
    pub values: Vec<f64>,
    /// How many rows behind those of the time before have none because it would be before the first row of their node.
    pub before: usize,
    /// How many of them have none because it is missing in between.
    pub gaps: usize,
}

/// Two rows of one node at one time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SameTime {
    /// The earlier row of the table.
    pub first: usize,
    /// The later one.
    pub second: usize,
}

impl LagPlan {
    /// The features that an experiment asks for, of times that are read in this way; none if it asks for none.
    pub fn new(keys: &DataKeys, time: &str, axis: TimeAxis) -> Result<Option<Self>, String> {
        let horizon = keys.time_split().and_then(|split| split.horizon.as_deref());
        let ahead = horizon.map(|text| axis.span("data.split.horizon", text)).transpose()?;
        let mut features = Vec::new();
        for (source, own) in &keys.lags {
            for (name, is_mean, text) in own.features(source) {
                let key = format!("data.lags.{source}");
                let span = axis.span(&key, text)?;
                let length = axis.length(text);
                if let Some((horizon, _)) =
                    horizon.zip(ahead).filter(|(_, ahead)| !is_mean && span < *ahead)
                {
                    let horizon = axis.length(horizon);
                    return Err(format!(
                        "{key}: a lag of {length} is shorter than the horizon of {horizon}, so that it is not \
                         known when a forecast is made; expected {horizon} or more"
                    ));
                }
                let words = match horizon.filter(|_| is_mean) {
                    None if is_mean => format!("mean of '{source}' over {length} before"),
                    None => format!("'{source}' {length} before"),
                    Some(horizon) => format!(
                        "mean of '{source}' over {length}, up to {} before",
                        axis.length(horizon)
                    ),
                };
                // One tick is the least time: without a horizon, means end right before the row.
                let (source, delay) = (source.clone(), ahead.unwrap_or(1));
                features.push(LagFeature { name, source, is_mean, span, delay, words });
            }
        }
        let plan = Self { time: time.into(), axis, features };
        Ok((!plan.features.is_empty()).then_some(plan))
    }

    /// The feature of a name.
    #[must_use]
    pub fn feature(&self, name: &str) -> Option<&LagFeature> {
        self.features.iter().find(|feature| feature.name == name)
    }

    /// The columns that features are made of, each once.
    #[must_use]
    pub fn sources(&self) -> Vec<&str> {
        let mut all: Vec<&str> = Vec::new();
        for feature in &self.features {
            if !all.contains(&feature.source.as_str()) {
                all.push(&feature.source);
            }
        }
        all
    }

    /// Refuses columns that hold no numbers, and tables that have columns of the names that are made.
    pub fn check<'a>(&self, column: impl Fn(&str) -> Option<&'a Column>, problems: &mut Problems) {
        for source in self.sources() {
            match column(source).map(Column::holds) {
                Some(Holds::Numbers | Holds::Truths | Holds::Nothing) => {}
                Some(holds) => problems.add(format!(
                    "column '{source}' holds {holds}, and data.lags.{source} expects numbers"
                )),
                None => {
                    problems.add(format!("there is no column '{source}', which data.lags names"));
                }
            }
        }
        let made = self.features.iter().filter(|feature| column(&feature.name).is_some());
        for LagFeature { name, .. } in made {
            problems.add(format!(
                "column '{name}' is there, and data.lags makes one of this name; rename it"
            ));
        }
    }

    /// The values of all features, for columns that hold one number for each row; not-a-number stands for none.
    pub fn values(
        &self,
        past: &PastRows,
        source: impl Fn(&str) -> Vec<f64>,
    ) -> Result<Vec<LagValues>, SameTime> {
        let order = past.in_order()?;
        let cells: BTreeMap<&str, Vec<f64>> =
            self.sources().into_iter().map(|name| (name, source(name))).collect();
        let of = |feature: &LagFeature| {
            let cells = &cells[feature.source.as_str()];
            let mut found =
                LagValues { values: vec![f64::NAN; past.ticks.len()], ..LagValues::default() };
            for own in past.nodes_in(&order) {
                feature.fill(&order[own], (past, cells), &mut found);
            }
            found
        };
        Ok(self.features.iter().map(of).collect())
    }
}

impl LagFeature {
    /// Writes the values of one node, whose rows are in the order of time.
    fn fill(&self, rows: &[usize], (past, cells): (&PastRows, &[f64]), found: &mut LagValues) {
        let ticks = &past.ticks;
        let first = rows.first().map_or(0, |&row| ticks[row]);
        for &row in rows {
            let wanted = self.wanted(ticks[row]);
            let from = rows.partition_point(|&other| ticks[other] < wanted.start);
            let to = rows.partition_point(|&other| ticks[other] < wanted.end);
            let values = rows[from..to].iter().map(|&other| cells[other]).filter(|x| x.is_finite());
            // In the order of time, so that the sum has the same bits in whatever order rows come.
            let (sum, count) = values.fold((0.0, 0.0), |(sum, count), x| (sum + x, count + 1.0));
            if count > 0.0 {
                found.values[row] = sum / count;
            } else if row >= past.known {
                let missing = if wanted.end <= first { &mut found.before } else { &mut found.gaps };
                *missing += 1;
            }
        }
    }

    /// The ticks whose values a row of a tick is told.
    #[must_use]
    pub fn wanted(&self, tick: i64) -> Range<i64> {
        if self.is_mean {
            // Ticks are whole, so that s ≤ t − h is s < t − h + 1.
            let end = tick - self.delay + 1;
            end - self.span..end
        } else {
            tick - self.span..tick - self.span + 1
        }
    }
}

impl PastRows {
    /// All rows, node by node in the order of time; refuses two of one node at one time.
    fn in_order(&self) -> Result<Vec<usize>, SameTime> {
        let mut order: Vec<usize> = (0..self.ticks.len()).collect();
        let key = |row: usize| (self.nodes[row], self.ticks[row]);
        order.sort_by_key(|&row| key(row));
        let same = order.windows(2).filter(|pair| key(pair[0]) == key(pair[1]));
        // The first in the table, because rows are sorted by node here and not there.
        match same.min_by_key(|pair| pair[1]) {
            Some(pair) => Err(SameTime { first: pair[0], second: pair[1] }),
            None => Ok(order),
        }
    }

    /// Where the rows of each node are in that order.
    fn nodes_in<'a>(&'a self, order: &'a [usize]) -> impl Iterator<Item = Range<usize>> + 'a {
        let mut start = 0;
        std::iter::from_fn(move || {
            let node = self.nodes[*order.get(start)?];
            let length = order[start..].partition_point(|&row| self.nodes[row] == node);
            start += length;
            Some(start - length..start)
        })
    }
}

/// The numbers of a column; not-a-number stands for what is none.
#[must_use]
pub fn numbers(column: &Column) -> Vec<f64> {
    let number = |row| column.number(row).filter(|number| number.is_finite());
    (0..column.rows()).map(|row| number(row).unwrap_or(f64::NAN)).collect()
}

/// What is said of rows that have no earlier value.
#[must_use]
pub fn gap_note(plan: &LagPlan, found: &[LagValues]) -> Option<String> {
    let missing = plan.features.iter().zip(found).filter(|(_, own)| own.before + own.gaps > 0);
    let words = missing.map(|(feature, own)| {
        let all = count(own.before + own.gaps);
        format!("{all} of '{}' ({} in gaps)", feature.name, count(own.gaps))
    });
    let words: Vec<String> = words.collect();
    (!words.is_empty()).then(|| {
        format!(
            "Rows without an earlier value, at the start of their node or in gaps, are missing cells: {}.",
            words.join(", ")
        )
    })
}

/// What is said of two rows of one node at one time.
#[must_use]
pub fn same_time(times: &Times, same: SameTime, row: impl Fn(usize) -> String) -> String {
    let (column, at) = (&times.column, times.axis.written(times.ticks[same.second]));
    format!(
        "{}, column '{column}' is {at}, as is {} of the same node; lags need one row for each time of a node",
        row(same.second),
        row(same.first)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two nodes whose rows come in no order and with gaps, and what they hold.
    fn rows() -> (PastRows, Vec<f64>) {
        let day = |row: usize| (row * 7) % 41;
        let nodes = (0..60).map(|row| usize::from(row >= 30)).collect();
        let ticks = (0..60).map(|row| 1_000_000 * i64::try_from(day(row % 30)).unwrap()).collect();
        let cells = (0..60).map(|row| (1.3 * f64::from(row)).sin()).collect();
        (PastRows { nodes, ticks, known: 0 }, cells)
    }

    /// The features of an experiment with this split, of times that are numbers.
    fn plan(split: &str) -> LagPlan {
        let text = format!(
            "file = 'rows.csv'\nnode = 'node'\ntarget = 'y'\ntime = 'day'\n{split}\n\
             lags = {{ y = {{ lags = ['4', '6'], means = ['5'] }} }}"
        );
        let keys: DataKeys = toml::from_str(&text).unwrap();
        let day = Column::of_numbers("day".into(), vec![1.0]);
        let axis = Times::new(&keys, &day, &mut Problems::new("rows.csv")).unwrap().axis;
        LagPlan::new(&keys, "day", axis).unwrap().unwrap()
    }

    fn bits(found: &[LagValues], row: usize) -> Vec<u64> {
        found.iter().map(|own| own.values[row].to_bits()).collect()
    }

    #[test]
    fn no_feature_changes_with_a_value_that_is_not_known_yet() {
        let (past, cells) = rows();
        for (split, ahead) in
            [("", 1), ("split = { by = 'time', test_from = '9', horizon = '4' }", 4_000_000)]
        {
            let plan = plan(split);
            let found = plan.values(&past, |_| cells.clone()).unwrap();
            let mut changed = 0;
            for row in 0..60 {
                // Everything from then on, at all nodes, is something else; and all of other nodes.
                let is_known = |other: usize| {
                    past.ticks[other] <= past.ticks[row] - ahead
                        && past.nodes[other] == past.nodes[row]
                };
                let planted = |other: usize| if is_known(other) { cells[other] } else { 1e9 };
                let planted: Vec<f64> = (0..60).map(planted).collect();
                let again = plan.values(&past, |_| planted.clone()).unwrap();
                assert_eq!(bits(&found, row), bits(&again, row), "row {row}");
                // The last value that is known counts: a test that cannot see it would prove nothing.
                let mut known = planted.clone();
                (0..60).filter(|&other| is_known(other)).for_each(|other| known[other] += 1.0);
                let moved = plan.values(&past, |_| known.clone()).unwrap();
                changed += usize::from(bits(&found, row) != bits(&moved, row));
            }
            assert!(changed > 40, "{changed}");
        }
    }

    #[test]
    fn lags_are_found_by_time_in_whatever_order_rows_come() {
        let (past, cells) = rows();
        let plan = plan("");
        let found = plan.values(&past, |_| cells.clone()).unwrap();
        let order: Vec<usize> = (0..60).map(|row| (row * 17) % 60).collect();
        let moved = PastRows {
            nodes: order.iter().map(|&row| past.nodes[row]).collect(),
            ticks: order.iter().map(|&row| past.ticks[row]).collect(),
            known: 0,
        };
        let again = plan.values(&moved, |_| order.iter().map(|&row| cells[row]).collect()).unwrap();
        for (place, &row) in order.iter().enumerate() {
            assert_eq!(bits(&again, place), bits(&found, row));
        }
        for row in 0..60 {
            let at = |days: i64| {
                (0..60).find(|&other| {
                    past.nodes[other] == past.nodes[row]
                        && past.ticks[other] == past.ticks[row] - 1_000_000 * days
                })
            };
            let lag = at(4).map_or(f64::NAN, |other| cells[other]);
            assert_eq!(found[0].values[row].to_bits(), lag.to_bits());
            let window: Vec<f64> = (1..=5).rev().filter_map(at).map(|other| cells[other]).collect();
            let mean = window.iter().sum::<f64>() / window.len() as f64;
            assert_eq!(found[2].values[row].is_nan(), mean.is_nan());
            assert!(mean.is_nan() || (found[2].values[row] - mean).abs() < 1e-15);
        }
        let missing = found[0].values.iter().filter(|value| value.is_nan()).count();
        assert_eq!((found[0].before + found[0].gaps, found[0].before), (missing, 8));
    }

    #[test]
    fn two_rows_of_one_node_at_one_time_are_found() {
        let past = PastRows { nodes: vec![0, 1, 0, 1], ticks: vec![5, 5, 6, 5], known: 0 };
        let same = plan("").values(&past, |_| vec![0.0; 4]).unwrap_err();
        assert_eq!(same, SameTime { first: 1, second: 3 });
    }
}
