//! A table looked at without training: what becomes of its columns, and all that is wrong with it at once.

use std::{collections::BTreeMap, path::Path};

use fedgrid::data::{Role, Task};
use serde::Serialize;

use super::{
    Files, Graph,
    read_rows::{ReadRows, check_known},
    rolling::{at_origins, described},
    target::{self, check_target, labels},
    timed_table::TimedTable,
};
use crate::{
    columns::{ColumnPlan, FeatureFacts, Problems, question_weight},
    error::Result,
    experiment::Experiment,
    number::counted,
};

/// What was found.
#[derive(Debug, Clone, Serialize)]
pub struct Checked {
    /// The name of the table.
    pub table: String,
    /// What is unusual about the files, a line each.
    pub files: Vec<String>,
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
    let files = Files::new(base, experiment);
    let table = files.rows()?;
    let mut problems = Problems::of(&table);
    let table = TimedTable::new(keys, table, &mut problems);
    let graph = (!keys.node.is_empty()).then(|| Graph::new(experiment, files, Some(&table)));
    let graph = graph.and_then(|graph| problems.take(graph));
    let read = ReadRows::new(experiment, &table, graph.as_ref(), &mut problems);
    let windows = problems.take(read.origins(keys)).unwrap_or_default();
    // Of rolling origins the last has all rows, and the final models.
    let experiment = &at_origins(experiment, &windows).pop().expect("there is always one");
    let mut notes: Vec<String> = not_asked(experiment).into_iter().collect();
    notes.extend(read.notes().into_iter().chain(described(&windows)));
    // Roles are drawn by what rows hold: nothing is drawn from rows that cannot be read.
    let is_sound = problems.is_empty();
    let labels = (!keys.target.is_empty()).then(|| {
        let task = target::task(experiment, &table, &read.is_used)?;
        check_target(experiment, &table, task)?;
        check_known(&read, task)?;
        let classes = keys.classes.as_deref().map(target::class_names);
        let (labels, _) = labels(keys, &table, (task, classes.as_deref()), &read.is_used)?;
        Ok((read.without_offsets(labels), task))
    });
    let labels = labels.and_then(|found| problems.take(found));
    if let Some((labels, Task::Regression)) = &labels {
        match read.question(experiment, labels) {
            Ok(note) => notes.extend(note),
            Err(asked) => problems.add(asked),
        }
    }
    if let Some((_, task)) = &labels {
        notes.extend(target::describe_task(experiment, *task));
    }
    let stored = problems.take(read.stored_roles(&experiment.data)).flatten();
    let drawn = match (&stored, &labels, &graph) {
        (None, Some((labels, _)), Some(graph)) if is_sound => {
            problems.take(read.drawn_roles(experiment, graph, labels))
        }
        _ => None,
    };
    let roles = stored.or(drawn).unwrap_or_else(|| vec![Role::Train; table.rows()]);
    notes.extend(read.split_notes(keys, &roles));
    let plan = read.plan(experiment, &roles, None, &mut problems);
    let column = |name: &str| table.column(name).ok();
    let features: Vec<&str> = plan.features().map(|(name, _)| name).collect();
    notes.extend(question_weight(keys, &features));
    let facts = plan.facts(column, &read.is_used, &mut problems);
    notes.extend(describe_features(&facts));
    notes.extend(describe_nodes(&read.by_node));
    let of_network = graph.iter().flat_map(|graph| &graph.described);
    Ok(Checked {
        files: table.described.iter().chain(of_network).cloned().collect(),
        table: table.source.clone(),
        rows: table.rows(),
        nodes: graph.map(|graph| graph.network.len()),
        features: plan.feature_names(),
        plan,
        problems: problems.sentences(),
        notes,
    })
}

/// What was not looked at, because nothing says which column it is.
fn not_asked(experiment: &Experiment) -> Option<String> {
    let keys = &experiment.data;
    let open: Vec<&str> = [("--node", &keys.node), ("--target", &keys.target)]
        .into_iter()
        .filter_map(|(flag, column)| column.is_empty().then_some(flag))
        .collect();
    (!open.is_empty()).then(|| {
        format!(
            "Without {} all other columns are listed as features, and nothing is checked that needs it.",
            open.join(" and ")
        )
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
