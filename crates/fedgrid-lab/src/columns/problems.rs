//! All that is wrong with a table, said at once.

use std::sync::Arc;

use crate::{
    error::{Error, Result},
    number::counted,
    source::{FileParts, Table, place},
};

/// What was found wrong with a table so far.
#[derive(Debug, Clone)]
pub struct Problems {
    source: String,
    /// What is wrong with keys, which is said without the name of the table.
    about_keys: Vec<String>,
    sentences: Vec<String>,
    gaps: Vec<Gaps>,
    /// Whether the table is a frame of Python's, whose rows count from zero and whose keys are arguments.
    is_frame: bool,
    /// Whether the table is a site's, which cannot change the keys of its federation.
    is_at_site: bool,
    /// Whether the rows are new ones for a run, whose plan is made.
    is_of_run: bool,
    /// The files of a table that is in several.
    parts: FileParts,
}

/// The missing cells of a column.
#[derive(Debug, Clone)]
struct Gaps {
    column: String,
    count: usize,
    rows: usize,
    first: usize,
}

impl Problems {
    /// None yet of a table of this name.
    #[must_use]
    pub fn new(source: &str) -> Self {
        let source = source.to_string();
        let (about_keys, sentences, gaps) = (Vec::new(), Vec::new(), Vec::new());
        let (is_frame, is_at_site, is_of_run, parts) = (false, false, false, Arc::new([]));
        Self { source, about_keys, sentences, gaps, is_frame, is_at_site, is_of_run, parts }
    }

    /// None yet of a table, whose rows may be in several files.
    #[must_use]
    pub fn of(table: &Table) -> Self {
        let (parts, is_frame) = (table.parts().clone(), table.is_frame());
        Self { is_frame, parts, ..Self::new(&table.source) }
    }

    /// None yet of a table at a site.
    #[must_use]
    pub fn at_site(table: &Table) -> Self {
        Self { is_at_site: true, ..Self::of(table) }
    }

    /// Of new rows, which are read by the plan of a run that is trained.
    #[must_use]
    pub fn of_new_rows(table: &Table) -> Self {
        Self { is_of_run: true, ..Self::of(table) }
    }

    /// Of new rows in a frame in memory.
    #[must_use]
    pub fn of_new_frame() -> Self {
        Self { is_of_run: true, ..Self::of_frame() }
    }

    /// None yet of a frame in memory: its rows count from zero.
    #[must_use]
    pub fn of_frame() -> Self {
        Self { is_frame: true, ..Self::new("the frame") }
    }

    /// The number of a row as its reader counts, with its file where there are several.
    pub(crate) fn place(&self, row: usize) -> String {
        match place(&self.parts, row) {
            Some((file, row)) => format!("{} of {file}", row + 1),
            None => (row + usize::from(!self.is_frame)).to_string(),
        }
    }

    /// Whether they are those of a frame in memory.
    pub(super) fn is_of_frame(&self) -> bool {
        self.is_frame
    }

    /// The number of a row of another table as its reader counts.
    pub(super) fn row(&self, row: usize) -> usize {
        row + usize::from(!self.is_frame)
    }

    /// None yet of a part of the same table.
    pub(super) fn of_part(&self) -> Self {
        let Self { is_frame, is_at_site, is_of_run, .. } = *self;
        let parts = self.parts.clone();
        Self { is_frame, is_at_site, is_of_run, parts, ..Self::new(&self.source) }
    }

    /// Adds one, in words without the name of the table.
    pub fn add(&mut self, sentence: String) {
        // A column that is asked for twice is missing once.
        if !self.sentences.contains(&sentence) {
            self.sentences.push(sentence);
        }
    }

    /// Adds what is wrong with a key.
    pub fn add_of_keys(&mut self, sentence: String) {
        self.about_keys.push(sentence);
    }

    /// Adds what a part that can be refused says.
    pub fn take<T>(&mut self, found: Result<T>) -> Option<T> {
        let prefix = format!("{}: ", self.source);
        let refusal = |error: Error| {
            let sentence = error.to_string();
            // What begins with the name of the table is about it, and that name is said once for all.
            match sentence.strip_prefix(&prefix) {
                Some(sentence) => self.add(sentence.to_string()),
                None => self.about_keys.push(sentence),
            }
        };
        found.map_err(refusal).ok()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.about_keys.is_empty() && self.sentences.is_empty() && self.gaps.is_empty()
    }

    /// Adds cells of a column that hold something else than is expected, `found` being said of the first.
    pub(super) fn add_cells(&mut self, column: &str, cells: &WrongCells) {
        let Some((row, found)) = &cells.first else { return };
        let more = match cells.count - 1 {
            0 => String::new(),
            more => format!(" (and {} of this column)", counted(more, "more cell")),
        };
        self.sentences.push(format!("row {}, column '{column}' {found}{more}", self.place(*row)));
    }

    /// Adds missing cells that no rule was given for.
    pub(super) fn add_gaps(&mut self, column: &str, (count, rows): (usize, usize), first: usize) {
        self.gaps.push(Gaps { column: column.to_string(), count, rows, first });
    }

    /// Adds those of a part of the table.
    pub(super) fn join(&mut self, other: Self) {
        self.about_keys.extend(other.about_keys);
        self.sentences.extend(other.sentences);
        self.gaps.extend(other.gaps);
    }

    /// All of them, one sentence each.
    #[must_use]
    pub fn sentences(&self) -> Vec<String> {
        self.about_keys.iter().cloned().chain(self.of_table()).collect()
    }

    /// Those of the table.
    fn of_table(&self) -> Vec<String> {
        let mut all = self.sentences.clone();
        let of = |gaps: &Gaps| {
            let cells = counted(gaps.count, "missing cell");
            format!(
                "'{}' has {cells} of {} (first in row {})",
                gaps.column,
                gaps.rows,
                self.place(gaps.first)
            )
        };
        if !self.gaps.is_empty() {
            let columns: Vec<String> = self.gaps.iter().map(of).collect();
            let first = &self.gaps[0].column;
            let remedy = if self.is_of_run {
                let again = if self.is_frame {
                    "missing=\"mean\", \"most-frequent\" or \"indicator\""
                } else {
                    "--missing mean, most-frequent or indicator"
                };
                format!(
                    "the run was trained without a rule that fills them: fill them in, leave these rows out, or \
                     train again with {again}"
                )
            } else if self.is_frame {
                format!(
                    "give missing=\"mean\", \"most-frequent\", \"indicator\" or \"drop\" (or \
                     columns={{\"{first}\": {{\"missing\": \"mean\"}}}} for one column)"
                )
            } else if self.is_at_site {
                "the plan of the federation has no rule for them: fill them in, or ask for a plan with data.missing"
                    .into()
            } else {
                // A name with a point in it is one key.
                let key = if first.contains('.') { format!("\"{first}\"") } else { first.clone() };
                format!(
                    "add --missing mean, most-frequent, indicator or drop (key data.missing, or \
                     data.columns.{key}.missing for one column)"
                )
            };
            all.push(format!("column {}; {remedy}", columns.join(", column ")));
        }
        all
    }

    /// Refuses a table that has any, in one sentence.
    pub fn into_result(self) -> Result<()> {
        if self.is_empty() {
            return Ok(());
        }
        let of_table = self.of_table().join("; ");
        let of_table = (!of_table.is_empty())
            .then(|| if self.is_frame { of_table } else { format!("{}: {of_table}", self.source) });
        let all: Vec<String> = self.about_keys.into_iter().chain(of_table).collect();
        Err(Error::input(all.join("; ")))
    }
}

/// Cells that hold something else than is expected.
#[derive(Debug, Default)]
pub(super) struct WrongCells {
    count: usize,
    /// The first, by its row, and what it is.
    first: Option<(usize, String)>,
}

impl WrongCells {
    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Adds a cell; rows come in order.
    pub(super) fn add(&mut self, row: usize, found: impl FnOnce() -> String) {
        self.count += 1;
        self.first.get_or_insert_with(|| (row, found()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_problems_of_a_table_are_one_sentence() {
        let mut problems = Problems::new("t.csv");
        let mut cells = WrongCells::default();
        cells.add(3, || "is 'warm', expected a number".into());
        cells.add(5, || unreachable!("only the first is quoted"));
        problems.add_cells("x", &cells);
        problems.add_gaps("z", (1, 48), 0);
        problems.add_gaps("w", (20, 48), 6);
        assert_eq!(
            problems.into_result().unwrap_err().to_string(),
            "t.csv: row 4, column 'x' is 'warm', expected a number (and 1 more cell of this column); column 'z' \
             has 1 missing cell of 48 (first in row 1), column 'w' has 20 missing cells of 48 (first in row 7); add \
             --missing mean, most-frequent, indicator or drop (key data.missing, or data.columns.z.missing for one \
             column)"
        );
        assert!(Problems::new("t.csv").into_result().is_ok());
    }
}
