//! New rows, predicted by the models that a run keeps.

mod explained;
mod ranges;
mod unseen;
mod levels;
mod answer;
mod json_rows;
mod request;
mod ready;

use std::{collections::HashMap, sync::Arc};

use fedgrid::model::Hypothesis;
use rayon::prelude::*;

pub use self::{
    answer::{AnsweredRow, method_note, most_probable},
    explained::Explanations,
    levels::LevelIntervals,
    ready::{Answer, NewNodeFiles, Question, ReadyRun},
    request::AskedRows,
    unseen::{NewNodes, UnknownRule, unknown_rule},
};
use self::{
    ranges::Beyond,
    unseen::{Stand, Unseen},
};

use crate::{
    assembly::{known_of, listed, planned_of_new},
    columns::PlannedFeatures,
    error::{Error, Result},
    experiment::advice,
    kept_models::RunModels,
    number::counted,
    source::Table,
    summary::basis,
};

/// So many rows are worth more than one thread.
const PARALLEL_ROWS: usize = 512;

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

impl PredictedBy {
    /// As tables have it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Own => "own",
            Self::Neighbours => "neighbours",
            Self::Pooled => "pooled",
            Self::FixedEffects => "fixed-effects",
        }
    }
}

impl std::fmt::Display for PredictedBy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.word())
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
    /// How many rows have a feature outside of the range of the training rows.
    pub outside: usize,
    /// How many rows are of nodes that the run does not know.
    pub unknown: usize,
}

impl Served {
    /// Puts the answers of a node in the places of its rows.
    fn take(&mut self, group: &NodeRows, answer: &GroupAnswer) {
        let outputs = answer.values.len() / group.rows.len();
        for (place, &row) in group.rows.iter().enumerate() {
            let own = &answer.values[place * outputs..][..outputs];
            self.values[row * outputs..][..outputs].copy_from_slice(own);
            self.by[row] = group.by;
            if let Some(intervals) = &mut self.intervals {
                intervals[row] = answer.ends[place];
            }
        }
    }
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

/// What is predicted for the rows of a node.
struct GroupAnswer {
    values: Vec<f64>,
    /// The ends of intervals; nothing if none were asked for.
    ends: Vec<Option<(f64, f64)>>,
    beyond: Beyond,
}

impl Serving<'_> {
    /// Predicts the rows of a table; rows of the time before are looked at by models with lags.
    pub fn predict(&self, table: &Table, history: Option<&Table>) -> Result<Served> {
        let about = &self.models.about;
        let nodes = table.names_in(&about.node)?;
        if nodes.is_empty() {
            return self.of_nothing(table);
        }
        let planned = planned_of_new(table, history, about)?;
        let known = known_of(table, about)?;
        let groups = self.groups(table, &nodes)?;
        let ask = |group: &NodeRows| self.answered(group, &planned, known.as_deref());
        // To wake other threads takes longer than to predict a few rows.
        let answers = if nodes.len() < PARALLEL_ROWS {
            groups.iter().map(ask).collect::<Result<Vec<GroupAnswer>>>()?
        } else {
            groups.par_iter().map(ask).collect::<Result<Vec<GroupAnswer>>>()?
        };
        let mut served = Served {
            values: vec![0.0; nodes.len() * about.task.outputs()],
            by: vec![PredictedBy::Own; nodes.len()],
            intervals: self.intervals.map(|_| vec![None; nodes.len()]),
            unknown: groups.iter().filter(|own| !own.is_known).map(|own| own.rows.len()).sum(),
            ..Served::default()
        };
        let mut beyond = Beyond::none(about);
        for (group, answer) in groups.iter().zip(&answers) {
            served.take(group, answer);
            beyond.add(&answer.beyond);
        }
        served.outside = beyond.rows;
        served.notes = planned.notes();
        served.notes.extend(beyond.sentences(about, nodes.len(), |row| table.number_of(row)));
        served.notes.extend(unknown_notes(&groups));
        served.notes.extend(without_rows_note(&groups));
        self.add_interval_notes(&groups, &mut served);
        served.nodes = nodes;
        Ok(served)
    }

    /// The predictions of a node's rows, whose features nobody needs afterwards.
    fn answered(
        &self,
        group: &NodeRows,
        planned: &PlannedFeatures,
        known: Option<&[f64]>,
    ) -> Result<GroupAnswer> {
        let about = &self.models.about;
        let features = planned.rows(&group.rows)?;
        let labels = group.model.predict(&features);
        let outputs = about.task.outputs();
        let mut values = Vec::with_capacity(group.rows.len() * outputs);
        for (place, &row) in group.rows.iter().enumerate() {
            values.extend_from_slice(labels.row(place));
            if let (Some(part), Some(known)) = (&about.known, known) {
                let own = &mut values[place * outputs];
                *own = part.completed(*own, known[row]);
            }
        }
        let ends = self.intervals.map(|wanted| wanted.ends(group, &features, &values));
        let beyond = Beyond::of(about, &features, &group.rows);
        Ok(GroupAnswer { values, ends: ends.unwrap_or_default(), beyond })
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
        let mut places: HashMap<&str, usize> = HashMap::new();
        // By the first row of each, so that a refusal names the first of the file.
        let mut rows_of: Vec<(&str, Vec<usize>)> = Vec::new();
        for (row, node) in nodes.iter().enumerate() {
            let place = *places.entry(node).or_insert_with(|| {
                rows_of.push((node, Vec::new()));
                rows_of.len() - 1
            });
            rows_of[place].1.push(row);
        }
        let own = if self.models.used == "pooled" { PredictedBy::Pooled } else { PredictedBy::Own };
        let mut unseen = Unseen::new(self.models, self.unknown, self.new_nodes);
        let mut groups = Vec::with_capacity(rows_of.len());
        for (node, rows) in rows_of {
            let known = self.models.by_node.get(node);
            let stand = match known {
                Some(model) => unseen
                    .without_rows(node)?
                    .unwrap_or_else(|| Stand { model: model.clone(), by: own }),
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

    /// Says which nodes have no interval, of those that were asked for.
    fn add_interval_notes(&self, groups: &[NodeRows], served: &mut Served) {
        let (Some(wanted), Some(found)) = (self.intervals, &served.intervals) else { return };
        let mut without = 0;
        for group in groups {
            if !group.is_known {
                without += group.rows.iter().filter(|row| found[**row].is_none()).count();
            } else if let Some(band) = wanted.band(group.node)
                && band.factor().is_none()
            {
                let basis = basis(band, wanted.level);
                served.notes.push(format!("node '{}': {basis}", group.node));
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

/// Which rows are of nodes of the run that have no training row, and are predicted by their neighbours.
fn without_rows_note(groups: &[NodeRows]) -> Option<String> {
    let is_stood_in = |group: &&NodeRows| group.is_known && group.by == PredictedBy::Neighbours;
    let own: Vec<&NodeRows> = groups.iter().filter(is_stood_in).collect();
    let rows = counted(own.iter().map(|group| group.rows.len()).sum(), "row");
    let names = own.iter().map(|group| group.node);
    let who = listed(names, "has no training row", "have no training row");
    let whose = if own.len() == 1 { "its" } else { "their" };
    (!own.is_empty())
        .then(|| format!("{who}: {rows} predicted by the mean of {whose} neighbours' models"))
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
