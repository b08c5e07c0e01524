//! Rows of named features.

use std::sync::Arc;

use super::shared_numbers::SharedNumbers;
use crate::error::{Error, Result, same_size};

/// Rows of named, finite features, row by row. Clones and neighbouring rows share their numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct Features {
    names: Arc<[String]>,
    rows: usize,
    values: SharedNumbers,
}

impl Features {
    /// Features from values given row by row.
    pub fn new(names: Arc<[String]>, values: Vec<f64>) -> Result<Self> {
        let columns = names.len();
        // Without columns no rows can be told apart.
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
        Ok(Self { names, rows, values: values.into() })
    }

    /// Splits the rows into consecutive parts of the given sizes, without a copy; refused if there are
    /// too few.
    pub fn parted(&self, counts: impl IntoIterator<Item = usize>) -> Result<Vec<Self>> {
        let mut next = 0;
        let mut part = |rows: usize| {
            let first = next;
            next += rows;
            // Equal unless more rows are asked for than there are; fewer are fine.
            same_size("rows to part", next.max(self.rows), self.rows)?;
            Ok(self.window(first, rows))
        };
        counts.into_iter().map(&mut part).collect()
    }

    /// Some neighbouring rows, without a copy.
    fn window(&self, first: usize, rows: usize) -> Self {
        let values = self.values.part(first * self.columns(), rows * self.columns());
        Self { names: self.names.clone(), rows, values }
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
        Self { names, rows: 0, values: SharedNumbers::default() }
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
        let values = self.values.select(rows, self.columns());
        Self { names: self.names.clone(), rows: rows.len(), values }
    }

    /// These rows followed by others of the same columns.
    pub fn stacked(mut self, below: &Self) -> Result<Self> {
        same_size("feature columns", below.columns(), self.columns())?;
        self.values.extend(&below.values);
        self.rows += below.rows;
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn four() -> Features {
        Features::from_rows(&["a"], &[[1.0], [2.0], [3.0], [4.0]]).unwrap()
    }

    #[test]
    fn neighbouring_rows_are_shared_and_others_are_copied_with_the_same_numbers() {
        let all = four();
        let middle = all.select(&[1, 2]);
        assert!(middle.values.is(&all.values.part(1, 2)) && middle.values() == [2.0, 3.0]);
        assert_eq!((middle.row(1), middle.select(&[1]).values()), (&[3.0][..], &[3.0][..]));
        assert_eq!(all.select(&[3, 0]).values(), [4.0, 1.0]);
        assert_eq!(all.select(&[]).rows(), 0);
        let parts = all.parted([1, 0, 3]).unwrap();
        assert_eq!(parts.iter().map(Features::rows).collect::<Vec<_>>(), [1, 0, 3]);
        assert_eq!(parts[2], all.select(&[1, 2, 3]));
        assert!(all.parted([5]).is_err());
    }

    #[test]
    fn stacking_under_shared_rows_leaves_the_others_alone() {
        let all = four();
        let stacked = all.select(&[1]).stacked(&all.select(&[3])).unwrap();
        assert_eq!(stacked.values(), [2.0, 4.0]);
        let whole = all.select(&[0, 1]).stacked(&all.select(&[2, 3])).unwrap();
        assert!(whole.values.is(&all.values) && whole == all);
        let below = all.select(&[0, 1]).stacked(&all.select(&[0])).unwrap();
        assert_eq!(
            (below.values(), all.values()),
            (&[1.0, 2.0, 1.0][..], &[1.0, 2.0, 3.0, 4.0][..])
        );
    }
}
