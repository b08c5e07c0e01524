//! What is predicted: numbers or classes, and the labels of rows.

use fedgrid::data::{Labels, Task};

use crate::{
    error::{Error, Result},
    experiment::{DataKeys, Experiment, TaskKey},
    source::{Holds, Table, finite},
};

/// A target of more whole numbers than these is hardly one of classes.
const MOST_CLASSES: usize = 20;

/// A task of classes, however many there are.
const SOME_CLASSES: Task = Task::Classification { classes: 2 };

/// What is predicted: as the experiment says, or as the models and the target column tell.
pub(super) fn task(experiment: &Experiment, table: &Table, is_used: &[bool]) -> Result<Task> {
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
    let classes = class_names(&used_names(table, target, is_used)?);
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

/// Refuses a target without numbers where numbers are predicted.
pub(super) fn check_target(experiment: &Experiment, table: &Table, task: Task) -> Result<()> {
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
pub(super) fn question_target(target: &str, labels: &[f64]) -> Option<String> {
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

/// The labels of the rows that are used, and the names of classes: as they are known, or as the table has them.
pub(super) fn labels(
    keys: &DataKeys,
    table: &Table,
    (task, known): (Task, Option<&[String]>),
    is_used: &[bool],
) -> Result<(Labels, Vec<String>)> {
    let column = table.column(&keys.target)?;
    match task {
        Task::Regression => {
            let number = |row: usize| {
                if !is_used[row] {
                    return Ok(0.0);
                }
                finite(column, row).map_err(|found| table.at(row, &keys.target, &found))
            };
            let numbers = (0..table.rows()).map(number).collect::<Result<Vec<f64>>>()?;
            Ok((Labels::values(numbers), Vec::new()))
        }
        Task::Classification { classes } => {
            let names = match known {
                Some(known) => known.to_vec(),
                None => class_names(&used_names(table, &keys.target, is_used)?),
            };
            let index = |row: usize| {
                let cell = column.cell(row);
                if !is_used[row] {
                    return Ok(0);
                }
                names.binary_search_by(|name| (**name).cmp(&cell)).map_err(|_| {
                    let found = format!("is '{cell}', expected one of {}", names.join(", "));
                    table.at(row, &keys.target, &found)
                })
            };
            let indices = (0..table.rows()).map(index).collect::<Result<Vec<usize>>>()?;
            Ok((Labels::classes(classes, &indices)?, names))
        }
    }
}

/// The names of classes in the rows that are used.
fn used_names(table: &Table, target: &str, is_used: &[bool]) -> Result<Vec<String>> {
    let column = table.column(target)?;
    let mut names = Vec::new();
    for row in (0..table.rows()).filter(|&row| is_used[row]) {
        let cell = column.cell(row);
        if cell.is_empty() {
            return Err(table.at(row, target, "is empty, expected a name"));
        }
        names.push(cell.into_owned());
    }
    Ok(names)
}
