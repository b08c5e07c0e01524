//! The columns of a frame, by the column plan: numbers as NumPy holds them, everything else as text.

use std::sync::Arc;

use fedgrid_lab::{
    columns::{ColumnPlan, PlannedFeatures, Problems},
    source::{Column, Holds},
};
use numpy::{PyReadonlyArray1, ndarray::ArrayView1};
use pyo3::{exceptions::PyValueError, prelude::*};

use crate::convert::experiment_error;

/// A column as Python hands it over: its name, "number", "truth" or "text", and its cells.
pub(crate) type HandedColumn<'py> = (String, String, Bound<'py, PyAny>);

/// The columns of a frame.
pub(crate) struct Frame<'py> {
    columns: Vec<(String, FrameCells<'py>)>,
    rows: usize,
}

enum FrameCells<'py> {
    /// Whole, strided or reversed, never copied; not-a-number stands for no value.
    Numbers(PyReadonlyArray1<'py, f64>),
    /// One and zero; not-a-number stands for no value.
    Truths(PyReadonlyArray1<'py, f64>),
    /// As the plan reads columns of files: what looks like dates is one of dates.
    Text(Column),
}

impl FrameCells<'_> {
    fn len(&self) -> usize {
        match self {
            Self::Numbers(cells) | Self::Truths(cells) => cells.as_array().len(),
            Self::Text(column) => column.rows(),
        }
    }

    fn holds(&self) -> Holds {
        let is_empty =
            |cells: &PyReadonlyArray1<'_, f64>| cells.as_array().iter().all(|cell| cell.is_nan());
        match self {
            // As a column of a file without any value, so that both have one plan.
            Self::Numbers(cells) | Self::Truths(cells) if is_empty(cells) => Holds::Nothing,
            Self::Numbers(_) => Holds::Numbers,
            Self::Truths(_) => Holds::Truths,
            Self::Text(column) => column.holds(),
        }
    }

    /// The cells as the plan reads those of files.
    fn column(&self, name: &str) -> Column {
        match self {
            Self::Numbers(cells) => Column::of_numbers(name.into(), cells.as_array().to_vec()),
            Self::Truths(cells) => {
                let truth = |cell: &f64| match *cell {
                    0.0 => Some("false"),
                    cell if cell.is_nan() => None,
                    _ => Some("true"),
                };
                Column::of_text(name.into(), cells.as_array().iter().map(truth))
            }
            Self::Text(column) => column.clone(),
        }
    }
}

impl<'py> Frame<'py> {
    /// Takes columns of one length.
    pub(crate) fn new(columns: &[HandedColumn<'py>], rows: usize) -> PyResult<Self> {
        let cells =
            |(name, kind, cells): &HandedColumn<'py>| -> PyResult<(String, FrameCells<'py>)> {
                let cells = match kind.as_str() {
                    "number" => FrameCells::Numbers(cells.extract()?),
                    "truth" => FrameCells::Truths(cells.extract()?),
                    _ => {
                        let cells: Vec<Option<String>> = cells.extract()?;
                        FrameCells::Text(Column::of_text(
                            name.clone(),
                            cells.iter().map(Option::as_deref),
                        ))
                    }
                };
                if cells.len() != rows {
                    let found = cells.len();
                    return Err(PyValueError::new_err(format!(
                        "column '{name}' has {found} rows, expected {rows}"
                    )));
                }
                Ok((name.clone(), cells))
            };
        Ok(Self { columns: columns.iter().map(cells).collect::<PyResult<_>>()?, rows })
    }

    /// Adds columns of as many rows, such as those of earlier values.
    pub(crate) fn extend(&mut self, columns: Vec<Column>) {
        let named = columns.into_iter().map(|own| (own.name().to_string(), FrameCells::Text(own)));
        self.columns.extend(named);
    }

    /// How many rows there are.
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// What the columns hold.
    pub(crate) fn described(&self) -> Vec<(&str, Holds)> {
        self.columns.iter().map(|(name, cells)| (name.as_str(), cells.holds())).collect()
    }

    /// Numbers of some columns without a copy; none if one has a gap, or holds something else.
    pub(crate) fn plain<'a>(
        &self,
        names: impl Iterator<Item = &'a str>,
    ) -> Option<Vec<ArrayView1<'_, f64>>> {
        let view = |name: &str| {
            let (_, cells) = self.columns.iter().find(|(known, _)| known == name)?;
            let (FrameCells::Numbers(cells) | FrameCells::Truths(cells)) = cells else {
                return None;
            };
            let view = cells.as_array();
            (!view.iter().any(|cell| cell.is_nan())).then_some(view)
        };
        names.map(view).collect()
    }

    /// Some columns as the plan reads those of files.
    pub(crate) fn columns<'a>(
        &self,
        names: impl Iterator<Item = &'a str>,
        missing_values: &[String],
    ) -> Vec<Column> {
        let gaps: Arc<[String]> = missing_values.into();
        let known = names.filter_map(|name| self.columns.iter().find(|(known, _)| known == name));
        known.map(|(name, cells)| cells.column(name).with_missing_values(gaps.clone())).collect()
    }
}

/// The features of new rows by a plan, one column after the other; refuses what the plan does.
pub(crate) fn planned(
    py: Python<'_>,
    frame: &Frame<'_>,
    plan: &ColumnPlan,
) -> PyResult<PlannedFeatures> {
    let sources = plan.features().map(|(name, _)| name);
    let columns = frame.columns(sources, &plan.missing_values);
    let mut problems = Problems::of_new_frame();
    for (name, _) in plan.features() {
        if !columns.iter().any(|column| column.name() == name) {
            problems.add(format!("there is no column '{name}'"));
        }
    }
    let is_used = vec![true; frame.rows()];
    let made = py.detach(|| {
        let column = |name: &str| columns.iter().find(|column| column.name() == name);
        plan.encode(column, &is_used, &mut problems)
    });
    problems.into_result().map_err(|error| experiment_error(&error))?;
    Ok(made)
}
