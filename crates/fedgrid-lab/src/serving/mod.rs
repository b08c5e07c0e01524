//! New rows, predicted by the models that a run keeps.

mod explained;
mod ranges;
mod unseen;

use std::{collections::BTreeMap, sync::Arc};

use fedgrid::{data::Features, model::Hypothesis, uncertainty::Band};
use rayon::prelude::*;

pub use self::explained::Explanations;
pub use self::unseen::{NewNodes, UnknownRule, unknown_rule};
use self::unseen::{Stand, Unseen};

use crate::{
    assembly::{features_of_new, known_of, listed},
    error::{Error, Result},
    experiment::advice,
    kept_models::{RunIntervals, RunModels},
    number::counted,
    source::Table,
    summary::basis,
};

/// Whose model has predicted a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum PredictedBy {
    /// That of its own node.
    Own,
    /// Those of its neighbours, on average: the run does not know its node.
    Neighbours,
    /// One model of all nodes.
    Pooled,
    /// The mean coefficients of a mixed model: the run does not know its node.
    FixedEffects,
}

impl std::fmt::Display for PredictedBy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::Own => "own",
            Self::Neighbours => "neighbours",
            Self::Pooled => "pooled",
            Self::FixedEffects => "fixed-effects",
        })
    }
}

/// Intervals of a level.
#[derive(Debug)]
pub struct LevelIntervals {
    level: f64,
    bands: Vec<Band>,
    known: RunIntervals,
    /// Those of the pooled model, for rows of nodes that it predicts.
    pooled: Option<RunIntervals>,
}

impl LevelIntervals {
    /// Those of a method's models, at a level between zero and one.
    pub fn new(models: &RunModels, level: f64) -> Result<Self> {
        let known = RunIntervals::of(models)?;
        let bands = known.intervals.bands(level)?;
        let pooled = models.pooled()?.map(|pooled| RunIntervals::of(&pooled)).transpose()?;
        Ok(Self { level, bands, known, pooled })
    }

    /// The ends of the interval of a row whose node the run does not know; none if nobody knows how far predictions are off
    /// at such nodes.
    fn unseen(&self, by: PredictedBy, row: &[f64], prediction: f64) -> Option<(f64, f64)> {
        let intervals = match by {
            PredictedBy::Pooled => &self.pooled.as_ref()?.intervals,
            // Without a spread over nodes, errors are those of nodes with a model of their own.
            _ => Some(&self.known.intervals).filter(|own| own.predictive.is_some())?,
        };
        let factor = intervals.unseen_band(self.level).factor()?;
        intervals.unseen_interval(factor, row, prediction)
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
    /// What becomes of rows of unknown nodes; none takes neighbours where these are known, and else the pooled model.
    pub unknown: Option<UnknownRule>,
    /// Who is near unknown nodes, if that is told.
    pub new_nodes: Option<&'a NewNodes>,
}

/// The rows of a node.
struct NodeRows<'a> {
    node: &'a str,
    rows: Vec<usize>,
    model: Arc<dyn Hypothesis>,
    by: PredictedBy,
    is_known: bool,
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
        served.notes.extend(unknown_notes(&groups));
        let ask = |group: &NodeRows| group.model.predict(&features.select(&group.rows));
        let answers: Vec<_> = groups.par_iter().map(ask).collect();
        for (group, labels) in groups.iter().zip(&answers) {
            for (place, &row) in group.rows.iter().enumerate() {
                let own = &mut served.values[row * outputs..][..outputs];
                own.copy_from_slice(labels.row(place));
                if let (Some(part), Some(known)) = (&about.known, &known) {
                    own[0] = part.completed(own[0], known[row]);
                }
                served.by[row] = group.by;
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

    /// The rows of each node with the model that predicts them; refuses rows that none does.
    fn groups<'n>(&self, table: &Table, nodes: &'n [String]) -> Result<Vec<NodeRows<'n>>> {
        let mut rows_of: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (row, node) in nodes.iter().enumerate() {
            rows_of.entry(node).or_default().push(row);
        }
        let mut rows_of: Vec<(&str, Vec<usize>)> = rows_of.into_iter().collect();
        // By the first row of each, so that a refusal names the first of the file.
        rows_of.sort_by_key(|(_, rows)| rows[0]);
        let own = if self.models.used == "pooled" { PredictedBy::Pooled } else { PredictedBy::Own };
        let mut unseen = Unseen::new(self.models, self.unknown, self.new_nodes);
        let mut groups = Vec::with_capacity(rows_of.len());
        for (node, rows) in rows_of {
            let known = self.models.by_node.get(node);
            let stand = match known {
                Some(model) => Stand { model: model.clone(), by: own },
                None => unseen
                    .model(node)?
                    .map_err(|reason| self.refusal(table, (node, rows[0]), &reason))?,
            };
            let Stand { model, by } = stand;
            groups.push(NodeRows { node, rows, model, by, is_known: known.is_some() });
        }
        Ok(groups)
    }

    fn refusal(&self, table: &Table, (node, row): (&str, usize), reason: &str) -> Error {
        let names = self.models.by_node.keys().map(String::as_str);
        let advice = if reason.is_empty() { advice(node, names) } else { reason.into() };
        let found = format!("is '{node}', which is not a node of the run{advice}");
        table.at(row, &self.models.about.node, &found)
    }

    /// Adds the intervals that are asked for, and names the nodes without one.
    fn add_intervals(&self, groups: &[NodeRows], features: &Features, served: &mut Served) {
        let (Some(wanted), Some(found)) = (self.intervals, &mut served.intervals) else { return };
        let mut without = 0;
        for group in groups {
            if !group.is_known {
                for &row in &group.rows {
                    let at = (features.row(row), served.values[row]);
                    found[row] = wanted.unseen(group.by, at.0, at.1);
                    without += usize::from(found[row].is_none());
                }
                continue;
            }
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
        if without > 0 {
            served.notes.push(format!(
                "{} of nodes that the run does not know without an interval: how far {} is off at such nodes is not \
                 known; mixed and pooled models know it",
                counted(without, "row"),
                self.models.used
            ));
        }
    }
}

/// Which rows are of nodes that the run does not know, and who predicts them.
fn unknown_notes(groups: &[NodeRows]) -> Vec<String> {
    let all = [PredictedBy::Neighbours, PredictedBy::Pooled, PredictedBy::FixedEffects];
    let note = |by: PredictedBy| {
        let own: Vec<&NodeRows> =
            groups.iter().filter(|group| !group.is_known && group.by == by).collect();
        let rows = counted(own.iter().map(|group| group.rows.len()).sum(), "row");
        let whose = match by {
            PredictedBy::Neighbours => "the mean of their neighbours' models",
            PredictedBy::FixedEffects => "the mean coefficients of all nodes",
            PredictedBy::Pooled | PredictedBy::Own => "the pooled model",
        };
        let names = own.iter().map(|group| group.node);
        let who = listed(names, "is not known to the run", "are not known to the run");
        (!own.is_empty()).then(|| format!("{who}: {rows} predicted by {whose}"))
    };
    all.into_iter().filter_map(note).collect()
}
