//! The rows of a table, sorted by node, with their roles.

use std::{collections::BTreeMap, sync::Arc};

use fedgrid::data::{Dataset, Features, Labels, Plan, Role, Scaling, Task};

use super::{Graph, listed};
use crate::{
    error::{Error, Result},
    experiment::{DataKeys, Experiment, ModelKind, TaskKey, advice},
    source::Table,
};

/// The rows of every node.
#[derive(Debug, Clone)]
pub struct Rows {
    /// The rows.
    pub data: Vec<Dataset>,
    /// What each row is for.
    pub roles: Vec<Vec<Role>>,
    /// The names of the classes; none for numbers.
    pub classes: Vec<String>,
}

/// What is predicted: as the experiment says, or as the models and the target column tell.
pub(super) fn task(experiment: &Experiment, table: &Table) -> Result<Task> {
    let target = &experiment.data.target;
    if let Some(classes) = &experiment.data.classes {
        return Ok(Task::Classification { classes: classes.len() });
    }
    let classes = match experiment.data.task {
        Some(task) => task == TaskKey::Classification,
        None => {
            experiment.model.kinds().any(|kind| !kind.predicts_numbers()) || {
                let text = table.has(target) && !table.is_numeric(target);
                text && experiment.model.kinds().all(ModelKind::predicts_classes)
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
        let by_node = rows_by_node(keys, table, graph)?;
        let names = feature_names(keys, table)?;
        let columns = names.iter().map(|name| table.numbers(name)).collect::<Result<Vec<_>>>()?;
        let (labels, classes) = labels(keys, table, task, known)?;
        let names: Arc<[String]> = names.into();
        let mut data = Vec::with_capacity(by_node.len());
        for rows in &by_node {
            let values = rows.iter().flat_map(|&row| columns.iter().map(move |c| c[row]));
            let features = if rows.is_empty() {
                Features::empty(names.clone())
            } else {
                Features::new(names.clone(), values.collect())?
            };
            data.push(Dataset::new(features, labels.select(rows))?);
        }
        Ok(Self { data, roles: roles(experiment, table, &by_node)?, classes })
    }

    /// Scales the features of all rows by what the training rows tell.
    pub(super) fn standardise(&mut self, plan: &Plan) -> Result<Scaling> {
        let features: Vec<&Features> = self.data.iter().map(Dataset::features).collect();
        let training = plan.training_features(&features)?;
        let scaling = Scaling::of(&training);
        for data in &mut self.data {
            if data.rows() > 0 {
                *data = Dataset::new(scaling.apply(data.features())?, data.labels().clone())?;
            }
        }
        Ok(scaling)
    }

    /// Names what is unusual: nodes with no or one row, one class, constant features.
    pub(super) fn describe(
        &self,
        plan: &Plan,
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
        let isolated: Vec<usize> =
            (0..names.len()).filter(|&node| graph.network.neighbours(node).is_empty()).collect();
        note(&isolated, "has", "have", "no neighbour and cannot be helped.");
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

/// The feature columns: as given, or all numeric ones but node, target and split.
fn feature_names(keys: &DataKeys, table: &Table) -> Result<Vec<String>> {
    let taken = |name: &str| {
        name == keys.node || name == keys.target || Some(name) == keys.split.as_deref()
    };
    let names: Vec<String> = match &keys.features {
        Some(names) => names.clone(),
        None => table
            .names()
            .filter(|name| !taken(name) && table.is_mostly_numeric(name))
            .map(ToString::to_string)
            .collect(),
    };
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
        return Err(Error::input(format!("{sentence} node, target and split, expected a feature")));
    }
    Ok(names)
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
            let place = |(row, cell): (usize, &String)| {
                names.binary_search(cell).map_err(|_| {
                    let found = format!("is '{cell}', expected one of {}", names.join(", "));
                    table.at(row, &keys.target, &found)
                })
            };
            let places = cells.iter().enumerate().map(place).collect::<Result<Vec<usize>>>()?;
            Ok((Labels::classes(classes, &places)?, names))
        }
    }
}

fn roles(experiment: &Experiment, table: &Table, by_node: &[Vec<usize>]) -> Result<Vec<Vec<Role>>> {
    let keys = &experiment.data;
    if let Some(column) = &keys.split {
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
        return by_node.iter().map(|rows| rows.iter().map(|&row| role(row)).collect()).collect();
    }
    let counts: Vec<usize> = by_node.iter().map(Vec::len).collect();
    // Without a split all rows train, and take turns to validate.
    let (train, validation) = (keys.train.unwrap_or(1.0), keys.validation.unwrap_or(0.0));
    Ok(Plan::draw(&counts, train, validation, experiment.seed))
}
