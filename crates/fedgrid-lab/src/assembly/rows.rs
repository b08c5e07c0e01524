//! The rows of a table, sorted by node, with their roles.

use std::{collections::BTreeMap, sync::Arc};

use fedgrid::{
    data::{Dataset, Features, Labels, Plan, Role, RowDraws, Task},
    model::Scales,
};

use super::{Graph, listed};
use crate::{
    error::{Error, Result},
    experiment::{DataKeys, Experiment, TaskKey, advice},
    source::{Holds, Table},
};

/// A target of more whole numbers than these is hardly one of classes.
const MOST_CLASSES: usize = 20;

/// The rows of every node.
#[derive(Debug, Clone)]
pub struct Rows {
    /// The rows.
    pub data: Vec<Dataset>,
    /// What each row is for.
    pub roles: Vec<Vec<Role>>,
    /// The names of the classes; none for numbers.
    pub classes: Vec<String>,
    /// The columns that are not used.
    pub left_out: LeftOut,
}

/// The columns of a table that are no features, and why.
#[derive(Debug, Clone, Default)]
pub struct LeftOut {
    /// Columns with what they hold, which no model can use.
    pub unusable: Vec<(String, String)>,
    /// Columns that the experiment does not list.
    pub unlisted: Vec<String>,
}

impl LeftOut {
    /// The columns that no model can use, in words: `promo (text), date (dates or times)`.
    #[must_use]
    pub fn unusable(&self) -> Option<String> {
        let named = |(name, holds): &(String, String)| format!("{name} ({holds})");
        let all: Vec<String> = self.unusable.iter().map(named).collect();
        (!all.is_empty()).then(|| all.join(", "))
    }

    /// What a reader should know of them.
    pub(super) fn note(&self) -> Option<String> {
        self.unusable().map(|columns| format!("Columns left out: {columns}."))
    }
}

/// A task of classes, however many there are.
const SOME_CLASSES: Task = Task::Classification { classes: 2 };

/// What is predicted: as the experiment says, or as the models and the target column tell.
pub(super) fn task(experiment: &Experiment, table: &Table) -> Result<Task> {
    let target = &experiment.data.target;
    if let Some(classes) = &experiment.data.classes {
        return Ok(Task::Classification { classes: classes.len() });
    }
    let classes = match experiment.data.task {
        Some(task) => task == TaskKey::Classification,
        None => {
            !experiment.model.predicts(Task::Regression) || {
                let is_text = table.has(target) && table.holds(target)? != Holds::Numbers;
                is_text && experiment.model.predicts(SOME_CLASSES)
            }
        }
    };
    if !classes {
        return Ok(Task::Regression);
    }
    let classes = class_names(&table.names_in(target)?);
    if classes.len() < 2 {
        return Err(Error::input(format!(
            "{}: column '{target}' holds one class, '{}', expected at least two",
            table.source, classes[0]
        )));
    }
    if 2 * classes.len() > table.rows() {
        return Err(Error::input(format!(
            "{}: column '{target}' holds {} classes in {} rows, expected fewer; use linear or tree \
             for numbers",
            table.source,
            classes.len(),
            table.rows()
        )));
    }
    Ok(Task::Classification { classes: classes.len() })
}

/// The names of classes in order, each once.
pub(super) fn class_names(labels: &[String]) -> Vec<String> {
    let mut names: Vec<String> = labels.to_vec();
    names.sort();
    names.dedup();
    names
}

impl Rows {
    pub(super) fn new(
        experiment: &Experiment,
        table: &Table,
        graph: &Graph,
        (task, known): (Task, Option<&[String]>),
    ) -> Result<Self> {
        let keys = &experiment.data;
        let mut by_node = rows_by_node(keys, table, graph)?;
        let (names, left_out) = feature_names(keys, table)?;
        let columns = names.iter().map(|name| table.numbers(name)).collect::<Result<Vec<_>>>()?;
        check_target(experiment, table, task)?;
        let (labels, classes) = labels(keys, table, task, known)?;
        let names: Arc<[String]> = names.into();
        let mut data = Vec::with_capacity(by_node.len());
        for rows in &mut by_node {
            let values = rows.iter().flat_map(|&row| columns.iter().map(move |c| c[row]));
            let features = if rows.is_empty() {
                Features::empty(names.clone())
            } else {
                Features::new(names.clone(), values.collect())?
            };
            let own = Dataset::new(features, labels.select(rows))?;
            // By what rows hold, so that nothing depends on where they stand.
            let ranked = own.ranked_rows().filter(|_| !experiment.is_of_row_order());
            data.push(ranked.map_or_else(
                || own.clone(),
                |ranked| {
                    *rows = ranked.iter().map(|&place| rows[place]).collect();
                    own.select(&ranked)
                },
            ));
        }
        let roles = stored_roles(keys, table, &by_node)?.unwrap_or_else(|| {
            // Without a split all rows train, and take turns to validate.
            let (train, validation) = (keys.train.unwrap_or(1.0), keys.validation.unwrap_or(0.0));
            let (names, rows, seed) = (graph.network.names(), &data[..], experiment.seed);
            Plan::draw(train, validation, &RowDraws { names, rows, seed })
        });
        Ok(Self { data, roles, classes, left_out })
    }

    /// How the rows are used.
    pub(super) fn plan(&self, experiment: &Experiment, graph: &Graph) -> Plan {
        let (names, rows, seed) = (graph.network.names(), &self.data[..], experiment.seed);
        Plan::new(&self.roles, experiment.data.folds, &RowDraws { names, rows, seed })
    }

    /// Gives all rows the units of a study.
    pub(super) fn scale(&mut self, scales: Option<&Scales>) -> Result<()> {
        for data in &mut self.data {
            if let Some(scales) = scales {
                *data = scales.rows(data)?;
            }
        }
        Ok(())
    }

    /// Names what is unusual: nodes with no or one row, one class, constant features.
    pub(super) fn describe(
        &self,
        (plan, needs_network): (&Plan, bool),
        graph: &Graph,
        training: &Features,
        notes: &mut Vec<String>,
    ) -> Vec<Option<String>> {
        let names = graph.network.names();
        let mut note = |nodes: &[usize], singular: &str, plural: &str, rest: &str| {
            if !nodes.is_empty() {
                let names: Vec<&str> = nodes.iter().map(|&node| names[node].as_str()).collect();
                notes.push(format!("{} {rest}", listed(names.into_iter(), singular, plural)));
            }
        };
        let with = |count: usize| -> Vec<usize> {
            (0..names.len()).filter(|&node| plan.train[node].len() == count).collect()
        };
        let (none, one) = (with(0), with(1));
        note(&one, "has", "have", "one training row.");
        let is_isolated = |node: &usize| graph.network.neighbours(*node).is_empty();
        let isolated: Vec<usize> =
            (0..names.len()).filter(|node| needs_network && is_isolated(node)).collect();
        note(&isolated, "has", "have", "no neighbour: the network cannot help there.");
        let single = self.single_class(plan);
        note(&single, "has", "have", "training rows of one class only.");
        let first = training.iter().next().unwrap_or_default();
        for (column, name) in training.names().iter().enumerate() {
            if training.iter().all(|row| row[column].to_bits() == first[column].to_bits()) {
                notes.push(format!("Feature '{name}' is constant over all training rows."));
            }
        }
        let mut about = vec![None; names.len()];
        for (nodes, words) in [
            (&single, "one class only"),
            (&one, "one training row"),
            (&none, "no training row"),
            (&isolated, "no neighbour"),
        ] {
            for &node in nodes {
                about[node] = Some(words.to_string());
            }
        }
        about
    }

    /// What is unusual about columns: those that no model can use, and whole numbers as a target.
    pub(super) fn describe_columns(&self, experiment: &Experiment, plan: &Plan) -> Vec<String> {
        let counts =
            experiment.model.models().any(|model| model.as_local().smallest_label() >= 0.0);
        let question = if self.classes.is_empty() && experiment.data.task.is_none() && !counts {
            let labels: Vec<f64> = (self.data.iter().zip(&plan.train))
                .flat_map(|(data, rows)| data.labels().select(rows).as_slice().to_vec())
                .collect();
            question_target(&experiment.data.target, &labels)
        } else {
            None
        };
        self.left_out.note().into_iter().chain(question).collect()
    }

    fn single_class(&self, plan: &Plan) -> Vec<usize> {
        let one_class = |node: &usize| {
            let labels = self.data[*node].labels().select(&plan.train[*node]);
            let classes = labels.most_probable();
            classes.len() > 1 && classes.windows(2).all(|pair| pair[0] == pair[1])
        };
        if self.classes.is_empty() {
            return Vec::new();
        }
        (0..self.data.len()).filter(one_class).collect()
    }
}

fn rows_by_node(keys: &DataKeys, table: &Table, graph: &Graph) -> Result<Vec<Vec<usize>>> {
    let ids: BTreeMap<&str, usize> =
        graph.network.names().iter().enumerate().map(|(id, name)| (name.as_str(), id)).collect();
    let mut rows = vec![Vec::new(); graph.network.len()];
    for (row, name) in table.names_in(&keys.node)?.iter().enumerate() {
        let id = ids.get(name.as_str()).ok_or_else(|| {
            let advice = advice(name, graph.network.names().iter().map(String::as_str));
            let found = format!("is '{name}', which is not a node of the network{advice}");
            table.at(row, &keys.node, &found)
        })?;
        rows[*id].push(row);
    }
    Ok(rows)
}

/// The feature columns, as given, or all of numbers but node, target and split; and the others.
fn feature_names(keys: &DataKeys, table: &Table) -> Result<(Vec<String>, LeftOut)> {
    let taken = |name: &str| {
        name == keys.node || name == keys.target || Some(name) == keys.split.as_deref()
    };
    let (mut names, mut left_out) = (Vec::new(), LeftOut::default());
    if let Some(listed) = &keys.features {
        names.clone_from(listed);
        let others = table.names().filter(|name| !taken(name) && !listed.iter().any(|l| l == name));
        left_out.unlisted = others.map(ToString::to_string).collect();
    } else {
        for name in table.names().filter(|name| !taken(name)) {
            match table.holds(name)? {
                Holds::Numbers | Holds::Truths => names.push(name.to_string()),
                other => left_out.unusable.push((name.to_string(), other.to_string())),
            }
        }
    }
    if let Some(name) = names.iter().find(|name| taken(name)) {
        return Err(Error::input(format!(
            "data.features: '{name}' is already the node, the target or the split"
        )));
    }
    if let Some(name) = names.iter().enumerate().find(|(at, name)| names[..*at].contains(name)) {
        let sentence = format!("data.features: '{}' is listed twice, expected each once", name.1);
        return Err(Error::input(sentence));
    }
    if names.is_empty() {
        let sentence = format!("{}: there is no numeric column besides", table.source);
        let others =
            left_out.unusable().map_or_else(String::new, |found| format!("; found {found}"));
        return Err(Error::input(format!(
            "{sentence} node, target and split, expected a feature{others}"
        )));
    }
    Ok((names, left_out))
}

/// Refuses a target without numbers where numbers are predicted.
fn check_target(experiment: &Experiment, table: &Table, task: Task) -> Result<()> {
    let (target, source) = (&experiment.data.target, &table.source);
    let holds = table.holds(target)?;
    let is_forced = holds == Holds::Truths && experiment.data.task == Some(TaskKey::Regression);
    if task != Task::Regression || holds == Holds::Numbers || is_forced {
        return Ok(());
    }
    if !matches!(holds, Holds::Text | Holds::Truths) {
        return Err(Error::input(format!(
            "{source}: column '{target}' holds {holds}, expected numbers, or names of classes"
        )));
    }
    let mut kinds = experiment
        .model
        .models()
        .filter(|model| !model.as_local().predicts(SOME_CLASSES))
        .map(fedgrid::model::Model::kind);
    let numbers_only = kinds.next().map_or_else(
        || "data.task is \"regression\"".into(),
        |kind| format!("model.kind = \"{kind}\" predicts numbers only"),
    );
    Err(Error::input(format!(
        "{source}: column '{target}' holds {holds}, and {numbers_only}; for classes use --model \
         logistic, or another that predicts them"
    )))
}

/// A whole-numbered target of few values may have been meant as classes.
fn question_target(target: &str, labels: &[f64]) -> Option<String> {
    let mut values: Vec<i64> = Vec::new();
    for label in labels {
        #[expect(clippy::cast_possible_truncation, reason = "it is whole and small")]
        let whole = (label.fract() == 0.0 && label.abs() < 1e15).then_some(*label as i64)?;
        if let Err(index) = values.binary_search(&whole) {
            values.insert(index, whole);
        }
        if values.len() > MOST_CLASSES {
            return None;
        }
    }
    let shown: Vec<String> = values.iter().take(3).map(ToString::to_string).collect();
    let more = if values.len() > 3 { ", …" } else { "" };
    (values.len() > 1 && 2 * values.len() <= labels.len()).then(|| {
        format!(
            "Target '{target}' holds {} whole numbers ({}{more}) and is predicted as a number; if \
             they are classes, set data.task = \"classification\" and a model for classes, such as \
             logistic.",
            values.len(),
            shown.join(", ")
        )
    })
}

/// The labels, and the names of classes: as they are known, or as the table has them.
fn labels(
    keys: &DataKeys,
    table: &Table,
    task: Task,
    known: Option<&[String]>,
) -> Result<(Labels, Vec<String>)> {
    match task {
        Task::Regression => Ok((Labels::values(table.numbers(&keys.target)?), Vec::new())),
        Task::Classification { classes } => {
            let cells = table.names_in(&keys.target)?;
            let names = known.map_or_else(|| class_names(&cells), <[String]>::to_vec);
            let index = |(row, cell): (usize, &String)| {
                names.binary_search(cell).map_err(|_| {
                    let found = format!("is '{cell}', expected one of {}", names.join(", "));
                    table.at(row, &keys.target, &found)
                })
            };
            let indices = cells.iter().enumerate().map(index).collect::<Result<Vec<usize>>>()?;
            Ok((Labels::classes(classes, &indices)?, names))
        }
    }
}

/// The roles that a column of the table tells; none without one.
fn stored_roles(
    keys: &DataKeys,
    table: &Table,
    by_node: &[Vec<usize>],
) -> Result<Option<Vec<Vec<Role>>>> {
    let Some(column) = &keys.split else { return Ok(None) };
    let cells = table.text(column)?;
    let role = |row: usize| match cells[row].to_lowercase().as_str() {
        "train" | "training" => Ok(Role::Train),
        "val" | "valid" | "validation" => Ok(Role::Validation),
        "test" => Ok(Role::Test),
        other => {
            let found = format!("is '{other}', expected train, val or test");
            Err(table.at(row, column, &found))
        }
    };
    let roles = by_node.iter().map(|rows| rows.iter().map(|&row| role(row)).collect());
    roles.collect::<Result<_>>().map(Some)
}
