//! A table of names and numbers that people print, read in a terminal and put in papers: the same cells as text, CSV,
//! Markdown and LaTeX.

mod screen;
mod written;

pub(crate) use written::quoted;

use crate::number::{ABSENT, Apart, significant, with_error};

/// A table.
#[derive(Debug, Clone, PartialEq)]
pub struct Grid {
    /// What its columns are.
    pub columns: Vec<GridColumn>,
    /// Its rows, each with a cell for every column.
    pub rows: Vec<Vec<GridCell>>,
    /// What a reader must know of it, a sentence each.
    pub notes: Vec<String>,
}

/// A column of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GridColumn {
    /// What stands above it.
    pub head: String,
    /// What it holds.
    pub kind: ColumnUse,
}

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnUse {
    /// What a row is called by; repeated where a table is broken.
    Name,
    /// Words.
    Words,
    /// Numbers.
    Numbers,
    /// Numbers with standard errors, which are a column of their own in CSV.
    Means,
}

/// A cell of a table.
#[derive(Debug, Clone, PartialEq)]
pub enum GridCell {
    /// A word or a sentence.
    Text(String),
    /// A number with three digits.
    Number(f64),
    /// A number that others of the table are compared with, with as many digits as tell them apart; with its standard
    /// error, if that is known.
    Measured(f64, Option<f64>),
    /// Nothing.
    Absent,
}

impl GridCell {
    /// A number that may be missing.
    #[must_use]
    pub fn number(value: Option<f64>) -> Self {
        value.map_or(Self::Absent, Self::Number)
    }

    /// A number to be compared that may be missing.
    #[must_use]
    pub fn measured(value: Option<f64>) -> Self {
        value.map_or(Self::Absent, |value| Self::Measured(value, None))
    }
}

impl GridColumn {
    /// A column with its head.
    pub fn new(head: impl Into<String>, kind: ColumnUse) -> Self {
        Self { head: head.into(), kind }
    }
}

impl Grid {
    /// The same with a column for every row; the first column's cells stand above them.
    #[must_use]
    pub fn transposed(&self) -> Self {
        let texts = self.texts();
        let heads = texts.iter().map(|row| row.first().cloned().unwrap_or_default());
        let first = self.columns.first().map_or("", |column| &column.head);
        let columns = heads.map(|head| GridColumn::new(head, ColumnUse::Numbers));
        let columns = std::iter::once(GridColumn::new(first, ColumnUse::Name)).chain(columns);
        let row = |(place, column): (usize, &GridColumn)| {
            let own = self.rows.iter().map(|row| row[place].clone());
            std::iter::once(GridCell::Text(column.head.clone())).chain(own).collect()
        };
        Self {
            columns: columns.collect(),
            rows: self.columns.iter().enumerate().skip(1).map(row).collect(),
            notes: self.notes.clone(),
        }
    }

    /// The digits that tell measured numbers apart.
    fn digits(&self) -> Apart {
        let measured = |cell: &GridCell| match cell {
            GridCell::Measured(value, None) => Some(*value),
            _ => None,
        };
        Apart::new(self.rows.iter().flatten().filter_map(measured))
    }

    /// All cells as people read them.
    fn texts(&self) -> Vec<Vec<String>> {
        let digits = self.digits();
        let text = |cell: &GridCell| match cell {
            GridCell::Text(text) => text.clone(),
            GridCell::Number(value) => significant(*value),
            GridCell::Measured(value, None) => digits.text(*value),
            GridCell::Measured(value, Some(error)) => with_error(*value, *error),
            GridCell::Absent => ABSENT.into(),
        };
        self.rows.iter().map(|row| row.iter().map(text).collect()).collect()
    }
}
