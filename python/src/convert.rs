//! Errors, numbers and JSON, between the two languages.

use std::{cmp::Ordering, ops::Range, sync::Arc};

use fedgrid::data::{Features, by_name};
use numpy::ndarray::ArrayView1;
use pyo3::{
    exceptions::{PyKeyboardInterrupt, PyRuntimeError, PyValueError},
    prelude::*,
};
use serde::{Serialize, de::DeserializeOwned};

/// A refusal of the mathematics as the exception that a user would expect, with the same message.
pub(crate) fn core_error(error: &fedgrid::Error) -> PyErr {
    use fedgrid::Error;
    match error {
        Error::Interrupted => PyKeyboardInterrupt::new_err("interrupted"),
        Error::NotConverged { .. } => PyRuntimeError::new_err(error.to_string()),
        _ => PyValueError::new_err(error.to_string()),
    }
}

/// A refusal of the experiment.
pub(crate) fn experiment_error(error: &fedgrid_lab::Error) -> PyErr {
    match error {
        fedgrid_lab::Error::Core(error) => core_error(error),
        fedgrid_lab::Error::Interrupted | fedgrid_lab::Error::Stopped => {
            PyKeyboardInterrupt::new_err("interrupted")
        }
        fedgrid_lab::Error::Input(sentence)
        | fedgrid_lab::Error::InPart(sentence)
        | fedgrid_lab::Error::Later(sentence) => PyValueError::new_err(sentence.clone()),
    }
}

/// A value from the JSON that the Python side has written.
pub(crate) fn from_json<T: DeserializeOwned>(text: &str) -> PyResult<T> {
    serde_json::from_str(text).map_err(|error| PyValueError::new_err(error.to_string()))
}

/// A value as JSON for the Python side to read.
pub(crate) fn to_json<T: Serialize>(value: &T) -> String {
    serde_json::to_string(value).expect("plain values become JSON")
}

/// A value as Python's own dicts, lists and numbers, which are those that JSON has.
pub(crate) fn plain<T: Serialize>(py: Python<'_>, value: &T) -> PyResult<Py<PyAny>> {
    // By way of text, so that Python reads exactly what the command writes.
    Ok(py.import("json")?.call_method1("loads", (to_json(value),))?.unbind())
}

/// Some rows of columns as features.
pub(crate) fn gather(
    names: &Arc<[String]>,
    columns: &[ArrayView1<'_, f64>],
    rows: impl ExactSizeIterator<Item = usize>,
) -> fedgrid::Result<Features> {
    if rows.len() == 0 {
        return Ok(Features::empty(names.clone()));
    }
    let mut values = Vec::with_capacity(rows.len() * columns.len());
    for row in rows {
        values.extend(columns.iter().map(|column| column[row]));
    }
    Features::new(names.clone(), values)
}

/// The rows of each node, in the order of the frame unless they are ranked.
pub(crate) struct ByNode {
    /// All rows, node after node; none if the frame has them so.
    rows: Option<Vec<usize>>,
    /// Where the rows of a node end; those of the next begin there.
    ends: Vec<usize>,
}

impl ByNode {
    /// Sorts rows by the numbers of their nodes.
    pub(crate) fn new(nodes: ArrayView1<'_, i64>, count: usize) -> PyResult<Self> {
        let mut ends = vec![0_usize; count];
        for &node in nodes {
            *of_node(&mut ends, node)? += 1;
        }
        let mut sum = 0;
        for end in &mut ends {
            // First where a node's rows begin; each row moves it on, so that it ends up at their end.
            sum += std::mem::replace(end, sum);
        }
        // Most frames come sorted by node; an order of their rows would take as much room as a column.
        let is_sorted = nodes.iter().is_sorted();
        let mut rows = if is_sorted { Vec::new() } else { vec![0; nodes.len()] };
        for (row, &node) in nodes.iter().enumerate() {
            let next = of_node(&mut ends, node)?;
            if !is_sorted {
                rows[*next] = row;
            }
            *next += 1;
        }
        Ok(Self { rows: (!is_sorted).then_some(rows), ends })
    }

    /// Puts the rows of every node in the order of what they hold, as `Dataset::ranked_rows` has it, so that
    /// nothing depends on where they stand: by target, then by features in the order of their names, then by what
    /// else is known of them.
    pub(crate) fn rank(
        &mut self,
        target: ArrayView1<'_, f64>,
        (columns, names): (&[ArrayView1<'_, f64>], &[String]),
        known: [Option<&[f64]>; 2],
    ) {
        let order = by_name(names);
        let compare = |a: &usize, b: &usize| {
            let features = order.iter().map(|&k| (columns[k][*a], columns[k][*b]));
            let known = known.iter().flatten().map(|numbers| (numbers[*a], numbers[*b]));
            let mut pairs = std::iter::once((target[*a], target[*b])).chain(features).chain(known);
            // Labels are checked later: what is no number has a place, too, or sorting would panic. Adding zero takes
            // the sign from a zero, which numbers of a size do not differ by.
            let order = |(a, b): (f64, f64)| (a + 0.0).total_cmp(&(b + 0.0));
            pairs
                .find_map(|pair| Some(order(pair)).filter(|one| one.is_ne()))
                .unwrap_or(Ordering::Equal)
        };
        let slots: Vec<Range<usize>> = self.slots().collect();
        let own = |slot: usize| self.row(slot);
        let is_ranked = |slots: &Range<usize>| {
            slots.clone().map(own).is_sorted_by(|a, b| compare(a, b).is_le())
        };
        // An order of rows takes as much room as a column, and some frames have it.
        if slots.iter().all(is_ranked) {
            return;
        }
        let rows = self.rows.get_or_insert_with(|| (0..target.len()).collect());
        for slots in slots {
            rows[slots].sort_by(compare);
        }
    }

    /// The row of the frame at a slot among all rows.
    pub(crate) fn row(&self, slot: usize) -> usize {
        self.rows.as_ref().map_or(slot, |rows| rows[slot])
    }

    /// The node that a slot among all rows belongs to.
    pub(crate) fn node_at(&self, slot: usize) -> usize {
        self.ends.partition_point(|&end| end <= slot)
    }

    /// The slots of the rows of every node.
    pub(crate) fn slots(&self) -> impl Iterator<Item = Range<usize>> + Clone {
        let starts = std::iter::once(&0).chain(&self.ends);
        starts.zip(&self.ends).map(|(&start, &end)| start..end)
    }
}

fn of_node<T>(of_nodes: &mut [T], node: i64) -> PyResult<&mut T> {
    let found = usize::try_from(node).ok().and_then(|node| of_nodes.get_mut(node));
    found.ok_or_else(|| PyValueError::new_err(format!("there is no node number {node}")))
}
