//! Rows of named features.

use std::sync::Arc;

use crate::error::{Error, Result, same_size};

/// Rows of named, finite features, row by row.
#[derive(Debug, Clone, PartialEq)]
pub struct Features {
    pub(super) names: Arc<[String]>,
    pub(super) rows: usize,
    pub(super) values: Vec<f64>,
}

impl Features {
    /// Features from values given row by row.
    pub fn new(names: Arc<[String]>, values: Vec<f64>) -> Result<Self> {
        let columns = names.len();
        let rows = values.len().checked_div(columns).unwrap_or(0);
        same_size("feature values", values.len(), rows * columns)?;
        if let Some(position) = values.iter().position(|value| !value.is_finite()) {
            return Err(Error::NotFinite {
                what: "a feature",
                value: values[position],
                row: position / columns,
                column: names[position % columns].clone(),
            });
        }
        Ok(Self { names, rows, values })
    }

    /// Features from a slice of equally long rows.
    pub fn from_rows<const COLUMNS: usize>(
        names: &[&str; COLUMNS],
        rows: &[[f64; COLUMNS]],
    ) -> Result<Self> {
        Self::new(names.iter().map(ToString::to_string).collect(), rows.concat())
    }

    /// No row, under the same names.
    #[must_use]
    pub fn empty(names: Arc<[String]>) -> Self {
        Self { names, rows: 0, values: Vec::new() }
    }

    /// The names of the columns.
    #[must_use]
    pub fn names(&self) -> &Arc<[String]> {
        &self.names
    }

    /// How many rows there are.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// How many columns there are.
    #[must_use]
    pub fn columns(&self) -> usize {
        self.names.len()
    }

    /// All values, row by row.
    #[must_use]
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// One row.
    #[must_use]
    pub fn row(&self, row: usize) -> &[f64] {
        &self.values[row * self.columns()..(row + 1) * self.columns()]
    }

    /// The rows in order.
    #[must_use]
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[f64]> + '_ {
        (0..self.rows).map(|row| self.row(row))
    }

    /// The given rows, in the given order.
    #[must_use]
    pub fn select(&self, rows: &[usize]) -> Self {
        let values = rows.iter().flat_map(|&row| self.row(row)).copied().collect();
        Self { names: self.names.clone(), rows: rows.len(), values }
    }

    /// These rows followed by others of the same columns.
    pub fn stacked(mut self, below: &Self) -> Result<Self> {
        same_size("feature columns", below.columns(), self.columns())?;
        self.values.extend_from_slice(&below.values);
        self.rows += below.rows;
        Ok(self)
    }
}
