//! What is predicted: numbers or classes, and the labels of rows.

use fedgrid::{
    data::{Dataset, Labels, Task},
    metric::Metric,
};

use super::{read_rows::check_some_used, timed_table::TimedTable};
use crate::{
    error::{Error, Result},
    experiment::{DataKeys, Experiment, TaskKey},
    source::{Holds, Table, finite},
};

/// A target of more whole numbers than these is hardly one of classes.
const MOST_CLASSES: usize = 20;

/// What whoever has a file can do about numbers that may be classes.
pub(super) const FILE_REMEDY: &str = "set data.task (--task classification or --task regression)";

/// A task of classes, however many there are.
const SOME_CLASSES: Task = Task::Classification { classes: 2 };

/// What is predicted: as the experiment says, or as the models and the target column tell. A table of which no row is
/// used tells nothing, and is refused.
pub(super) fn task(experiment: &Experiment, table: &TimedTable, is_used: &[bool]) -> Result<Task> {
    let target = &experiment.data.target;
    check_some_used(&experiment.data, table, is_used)?;
    if let Some(classes) = &experiment.data.classes {
        return Ok(Task::Classification { classes: classes.len() });
    }
    let classes = match experiment.data.task {
        Some(TaskKey::Regression) => false,
        Some(TaskKey::Classification) => true,
        Some(TaskKey::Auto) | None => {
            !experiment.model.predicts(Task::Regression)
                || table.has(target) && looks_like_classes(experiment, table, is_used)?
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
    if 2 * classes.len() > table.rows() && table.holds(target)? == Holds::Text {
        return Err(Error::input(format!(
            "{}: column '{target}' holds text, {} values in {} rows: too many for classes, expected fewer, or numbers",
            table.source,
            classes.len(),
            table.rows()
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

/// Whether a target is one of classes, where the models allow them and nothing else says it.
fn looks_like_classes(experiment: &Experiment, table: &Table, is_used: &[bool]) -> Result<bool> {
    let target = &experiment.data.target;
    Ok(match table.holds(target)? {
        Holds::Numbers if experiment.data.task == Some(TaskKey::Auto) => {
            let column = table.column(target)?;
            let used = (0..table.rows()).filter(|&row| is_used[row]);
            takes_classes(experiment, used.filter_map(|row| finite(column, row).ok()))
        }
        Holds::Numbers => false,
        Holds::Text | Holds::Truths => {
            experiment.model.for_task(SOME_CLASSES).predicts(SOME_CLASSES)
        }
        // Whoever names a model of classes may mean dates by them.
        _ => experiment.model.predicts(SOME_CLASSES),
    })
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

/// The values of a target of few whole numbers, which may be classes or counts; none of another.
fn few_values(labels: impl Iterator<Item = f64>) -> Option<Vec<i64>> {
    let (mut values, mut rows) = (Vec::new(), 0);
    for label in labels {
        rows += 1;
        // Below 2⁵³ whole numbers are exact, so that two of them are equal only if their labels are.
        #[expect(clippy::cast_possible_truncation, reason = "it is whole and small")]
        let whole = (label.fract() == 0.0 && label.abs() < 1e15).then_some(label as i64)?;
        if let Err(index) = values.binary_search(&whole) {
            values.insert(index, whole);
        }
        if values.len() > MOST_CLASSES {
            return None;
        }
    }
    (values.len() > 1 && 2 * values.len() <= rows).then_some(values)
}

/// Whether an experiment that leaves it to the table takes these numbers as classes.
#[must_use]
pub fn takes_classes(experiment: &Experiment, labels: impl Iterator<Item = f64>) -> bool {
    let models = experiment.model.for_task(SOME_CLASSES);
    models.predicts(SOME_CLASSES) && few_values(labels).is_some()
}

/// Asks whether numbers of few values are classes, where neither a key nor a model says it: a refusal, with what
/// would do. Where a model of numbers was named, that is what is said of it.
pub fn question_target(
    experiment: &Experiment,
    labels: impl Iterator<Item = f64>,
    remedy: &str,
) -> std::result::Result<Option<String>, String> {
    // Whoever names a model of counts has said what few whole numbers are.
    let counts = experiment.model.models().any(|model| model.as_local().smallest_label() >= 0.0);
    if experiment.data.task.is_some() || counts {
        return Ok(None);
    }
    let Some(values) = few_values(labels) else { return Ok(None) };
    let (target, count) = (&experiment.data.target, values.len());
    let shown: Vec<String> = values.iter().take(3).map(ToString::to_string).collect();
    if experiment.model.predicts_both() {
        let shown = match (shown.as_slice(), count) {
            ([first, second], 2) => format!("{first} and {second}"),
            ([first, second, third], 3) => format!("{first}, {second} and {third}"),
            _ => format!("{}, …", shown.join(", ")),
        };
        return Err(format!(
            "'{target}' has the {count} values {shown}: classes or numbers? {remedy}"
        ));
    }
    let more = if count > 3 { ", …" } else { "" };
    Ok(Some(format!(
        "Target '{target}' holds {count} whole numbers ({}{more}) and is predicted as a number; if they \
         are classes, set data.task = \"classification\" and a model for classes, such as logistic.",
        shown.join(", ")
    )))
}

/// What a reader should know of how it was found out what is predicted, and of the models that follow from it.
#[must_use]
pub fn describe_task(experiment: &Experiment, task: Task) -> Vec<String> {
    let target = &experiment.data.target;
    let mut notes = Vec::new();
    if experiment.data.task == Some(TaskKey::Auto) {
        notes.push(match task {
            Task::Regression => {
                format!("data.task is \"auto\": '{target}' is predicted as a number.")
            }
            Task::Classification { classes } => {
                format!("data.task is \"auto\": the {classes} values of '{target}' are classes.")
            }
        });
    }
    let models = experiment.model.for_task(task);
    if *models != experiment.model {
        let (own, usual) = (models.common.model.kind(), experiment.model.common.model.kind());
        notes.push(format!(
            "'{target}' holds classes, so that models are {own} where none is named; {usual}, the usual kind, is \
             for numbers."
        ));
    }
    notes
}

/// Refuses an error that does not measure what is predicted.
pub(super) fn check_metric(experiment: &Experiment, task: Task, rows: &[Dataset]) -> Result<()> {
    let Some(metric) = experiment.compare.metric else { return Ok(()) };
    let target = &experiment.data.target;
    let key = serde_json::to_value(metric).unwrap_or_default();
    if !metric.suits(task) {
        let (of, what, instead) = match task {
            Task::Regression => ("classes", "numbers", "mse, mae or deviance"),
            Task::Classification { .. } => ("numbers", "classes", "log-loss or error-rate"),
        };
        return Err(Error::input(format!(
            "compare.metric is {key}, which is for {of}, and '{target}' holds {what}; use {instead}"
        )));
    }
    let labels = rows.iter().flat_map(|data| data.labels().as_slice());
    match labels.copied().find(|label| *label < 0.0) {
        Some(label) if metric == Metric::Deviance => Err(Error::input(format!(
            "compare.metric is {key}, which is for counts, and '{target}' holds {label}, expected zero or more; \
             use mse or mae"
        ))),
        _ => Ok(()),
    }
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
                    // A row that is left out keeps its place, so that labels go by the rows of the table.
                    return Ok(0.0);
                }
                if column.is_gap(row) {
                    return Err(table.at(
                        row,
                        &keys.target,
                        &without_label(&keys.target, "a number"),
                    ));
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
                // Names are sorted, whether they were known or found.
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

/// What is wrong with a row without a label, and what would do.
fn without_label(target: &str, expected: &str) -> String {
    format!(
        "is empty, expected {expected}; fill it in, or leave such rows out by --set data.columns.{target}.missing=drop"
    )
}

/// The names of classes in the rows that are used.
fn used_names(table: &Table, target: &str, is_used: &[bool]) -> Result<Vec<String>> {
    let column = table.column(target)?;
    let mut names = Vec::new();
    for row in (0..table.rows()).filter(|&row| is_used[row]) {
        let cell = column.cell(row);
        if cell.is_empty() {
            return Err(table.at(row, target, &without_label(target, "a name")));
        }
        names.push(cell.into_owned());
    }
    Ok(names)
}
