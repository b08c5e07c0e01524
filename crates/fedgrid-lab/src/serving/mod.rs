//! New rows, predicted by the models that a run keeps.

mod ranges;

use std::collections::BTreeMap;

use fedgrid::{data::Features, uncertainty::Band};
use rayon::prelude::*;

use crate::{
    assembly::{features_of_new, known_of},
    error::{Error, Result},
    experiment::advice,
    kept_models::{RunIntervals, RunModels},
    source::Table,
    summary::basis,
};

/// Whose model has predicted a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum PredictedBy {
    /// That of its own node.
    Own,
    /// One model of all nodes.
    Pooled,
}

impl std::fmt::Display for PredictedBy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::Own => "own",
            Self::Pooled => "pooled",
        })
    }
}

/// Intervals of a level.
#[derive(Debug)]
pub struct LevelIntervals {
    level: f64,
    bands: Vec<Band>,
    known: RunIntervals,
}

impl LevelIntervals {
    /// Those of a method's models, at a level between zero and one.
    pub fn new(models: &RunModels, level: f64) -> Result<Self> {
        let known = RunIntervals::of(models)?;
        let bands = known.intervals.bands(level)?;
        Ok(Self { level, bands, known })
    }
}

/// What is predicted for new rows, in their order.
#[derive(Debug, Default)]
pub struct Served {
    /// The node of each row.
    pub nodes: Vec<String>,
    /// A number for each row, or the probability of each class, row by row.
    pub values: Vec<f64>,
    /// Whose model has predicted each row.
    pub by: Vec<PredictedBy>,
    /// The ends of the interval of each row that has one; none if no intervals were asked for.
    pub intervals: Option<Vec<Option<(f64, f64)>>>,
    /// What a reader must know of the rows and the intervals.
    pub notes: Vec<String>,
}

/// The models that predict new rows, and what is asked of them.
#[derive(Debug, Clone, Copy)]
pub struct Serving<'a> {
    /// The models.
    pub models: &'a RunModels,
    /// The intervals that are asked for, if any.
    pub intervals: Option<&'a LevelIntervals>,
}

/// The rows of a node.
struct NodeRows<'a> {
    node: &'a str,
    rows: Vec<usize>,
}

impl Serving<'_> {
    /// Predicts the rows of a table; rows of the time before are looked at by models with lags.
    pub fn predict(&self, table: &Table, history: Option<&Table>) -> Result<Served> {
        let about = &self.models.about;
        let nodes = table.names_in(&about.node)?;
        if nodes.is_empty() {
            return self.of_nothing(table);
        }
        let (features, mut notes) = features_of_new(table, history, about)?;
        let known = known_of(table, about)?;
        notes.extend(ranges::outside(about, &features));
        let groups = self.groups(table, &nodes)?;
        let outputs = about.task.outputs();
        let mut served = Served {
            notes,
            values: vec![0.0; nodes.len() * outputs],
            by: vec![PredictedBy::Own; nodes.len()],
            intervals: self.intervals.map(|_| vec![None; nodes.len()]),
            nodes: Vec::new(),
        };
        let ask = |group: &NodeRows| {
            self.models.by_node[group.node].predict(&features.select(&group.rows))
        };
        let answers: Vec<_> = groups.par_iter().map(ask).collect();
        let by = if self.models.used == "pooled" { PredictedBy::Pooled } else { PredictedBy::Own };
        for (group, labels) in groups.iter().zip(&answers) {
            for (place, &row) in group.rows.iter().enumerate() {
                let own = &mut served.values[row * outputs..][..outputs];
                own.copy_from_slice(labels.row(place));
                if let (Some(part), Some(known)) = (&about.known, &known) {
                    own[0] = part.completed(own[0], known[row]);
                }
                served.by[row] = by;
            }
        }
        self.add_intervals(&groups, &features, &mut served);
        served.nodes = nodes;
        Ok(served)
    }

    /// What is predicted for a table without rows, whose columns must be there all the same.
    fn of_nothing(&self, table: &Table) -> Result<Served> {
        for name in self.models.about.column_plan().sources() {
            table.column(name)?;
        }
        Ok(Served { intervals: self.intervals.map(|_| Vec::new()), ..Served::default() })
    }

    /// The rows of each node; refuses rows of nodes without a model.
    fn groups<'n>(&self, table: &Table, nodes: &'n [String]) -> Result<Vec<NodeRows<'n>>> {
        let mut groups: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (row, node) in nodes.iter().enumerate() {
            groups.entry(node).or_default().push(row);
        }
        let is_unknown = |group: &&NodeRows| !self.models.by_node.contains_key(group.node);
        let groups = groups.into_iter().map(|(node, rows)| NodeRows { node, rows });
        let groups: Vec<NodeRows> = groups.collect();
        // The first of the file, not of the names.
        let first = groups.iter().filter(is_unknown).min_by_key(|group| group.rows[0]);
        match first {
            Some(group) => Err(self.unknown(table, group)),
            None => Ok(groups),
        }
    }

    fn unknown(&self, table: &Table, group: &NodeRows) -> Error {
        let names = self.models.by_node.keys().map(String::as_str);
        let (node, advice) = (group.node, advice(group.node, names));
        let found = format!("is '{node}', which is not a node of the run{advice}");
        table.at(group.rows[0], &self.models.about.node, &found)
    }

    /// Adds the intervals that are asked for, and names the nodes without one.
    fn add_intervals(&self, groups: &[NodeRows], features: &Features, served: &mut Served) {
        let (Some(wanted), Some(found)) = (self.intervals, &mut served.intervals) else { return };
        for group in groups {
            let Some(&place) = wanted.known.places.get(group.node) else { continue };
            let band = &wanted.bands[place];
            let Some(factor) = band.factor() else {
                let basis = basis(band, wanted.level);
                served.notes.push(format!("node '{}': {basis}", group.node));
                continue;
            };
            for &row in &group.rows {
                // Intervals are for numbers, of which a row has one.
                let prediction = served.values[row];
                let ends = &wanted.known.intervals;
                found[row] = Some(ends.interval((place, factor), features.row(row), prediction));
            }
        }
    }
}
