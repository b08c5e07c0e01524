//! A table looked at without training: what becomes of its columns, and all that is wrong with it at once.

use std::{collections::BTreeMap, path::Path};

use fedgrid::data::{Role, Task};
use serde::Serialize;

use super::{
    Files, Graph,
    rows::ReadRows,
    target::{self, check_target, labels, question_target},
};
use crate::{
    columns::{ColumnPlan, FeatureFacts, Problems},
    error::Result,
    experiment::Experiment,
    number::counted,
};

/// What was found.
#[derive(Debug, Clone, Serialize)]
pub struct Checked {
    /// The name of the table.
    pub table: String,
    /// How many rows it has.
    pub rows: usize,
    /// How many nodes they are of; none where it is not known which column names them.
    pub nodes: Option<usize>,
    /// What becomes of the columns.
    #[serde(flatten)]
    pub plan: ColumnPlan,
    /// The features that models would have.
    pub features: Vec<String>,
    /// What must be changed before anything can be trained.
    pub problems: Vec<String>,
    /// What a reader should know.
    pub notes: Vec<String>,
}

/// Looks at the table of an experiment. Where its node or target is empty, that column is not known yet.
pub fn check_table(experiment: &Experiment, base: &Path) -> Result<Checked> {
    let keys = &experiment.data;
    let files = Files::new(base, keys);
    let table = files.table(&keys.file)?;
    let mut problems = Problems::new(&table.source);
    let graph = (!keys.node.is_empty()).then(|| Graph::new(experiment, files, Some(&table)));
    let graph = graph.and_then(|graph| problems.take(graph));
    let read = ReadRows::new(experiment, &table, graph.as_ref(), &mut problems);
    let mut notes: Vec<String> = read.left_out_note().into_iter().collect();
    let is_sound = problems.is_empty();
    let labels = (!keys.target.is_empty()).then(|| {
        let task = target::task(experiment, &table, &read.is_used)?;
        check_target(experiment, &table, task)?;
        let classes = keys.classes.as_deref().map(target::class_names);
        let (labels, _) = labels(keys, &table, (task, classes.as_deref()), &read.is_used)?;
        Ok((labels, task))
    });
    let labels = labels.and_then(|found| problems.take(found));
    if let Some((labels, Task::Regression)) = labels.as_ref().filter(|_| keys.task.is_none()) {
        notes.extend(question_target(&keys.target, labels.as_slice()));
    }
    let stored = problems.take(read.stored_roles(keys)).flatten();
    let drawn = match (&stored, &labels, &graph) {
        (None, Some((labels, _)), Some(graph)) if is_sound => {
            problems.take(read.drawn_roles(experiment, graph, labels))
        }
        _ => None,
    };
    let roles = stored.or(drawn).unwrap_or_else(|| vec![Role::Train; table.rows()]);
    let plan = read.plan(experiment, &roles, None, &mut problems);
    let column = |name: &str| table.column(name).ok();
    let facts = plan.facts(column, &read.is_used, &mut problems);
    notes.extend(describe_features(&facts));
    notes.extend(describe_nodes(&read.by_node));
    Ok(Checked {
        table: table.source.clone(),
        rows: table.rows(),
        nodes: graph.map(|graph| graph.network.len()),
        features: plan.feature_names(),
        plan,
        problems: problems.sentences(),
        notes,
    })
}

/// Features that are constant, or the same as others.
fn describe_features(facts: &[FeatureFacts]) -> Vec<String> {
    let mut known: BTreeMap<u64, &str> = BTreeMap::new();
    let mut notes = Vec::new();
    for one in facts {
        if one.is_constant {
            notes.push(format!("Feature '{}' is constant.", one.name));
        } else if let Some(other) = known.get(&one.fingerprint) {
            notes.push(format!("Feature '{}' is the same as '{other}' in all rows.", one.name));
        } else {
            known.insert(one.fingerprint, &one.name);
        }
    }
    notes
}

/// Nodes with few rows.
fn describe_nodes(by_node: &[Vec<usize>]) -> Vec<String> {
    let with = |count: usize| by_node.iter().filter(|rows| rows.len() == count).count();
    let note = |nodes: usize, rows: &str| {
        let have = if nodes == 1 { "has" } else { "have" };
        (nodes > 0).then(|| format!("{} {have} {rows}.", counted(nodes, "node")))
    };
    [note(with(0), "no row"), note(with(1), "one row")].into_iter().flatten().collect()
}
