//! One column of a table: its cells, and what they look like.

use std::{
    borrow::Cow,
    collections::{BTreeSet, HashSet},
    sync::Arc,
};

use super::{
    cells::{Cells, is_usual_gap},
    moment::WrittenMoment,
};

/// One column.
#[derive(Debug, Clone)]
pub struct Column {
    name: String,
    cells: Cells,
    holds: Holds,
    /// What else stands for no value in this table.
    gaps: Arc<[String]>,
    /// Why its commas and points may mean one thing or another, if so.
    doubt: Option<Arc<str>>,
}

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holds {
    /// Numbers, or mostly: then the other cells are mistakes.
    Numbers,
    /// True and false.
    Truths,
    /// Dates or times, or mostly.
    Times,
    /// Other text.
    Text,
    /// Lists or records.
    Nested,
    /// Nothing.
    Nothing,
}

impl std::fmt::Display for Holds {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Numbers => "numbers",
            Self::Truths => "true and false",
            Self::Times => "dates or times",
            Self::Text => "text",
            Self::Nested => "lists or records",
            Self::Nothing => "nothing",
        })
    }
}

/// A cell of a row that is no line of a file, such as a value of JSON.
#[derive(Debug, Clone, PartialEq)]
pub enum JsonCell {
    /// No value.
    Gap,
    /// A number.
    Number(f64),
    /// A whole number.
    Integer(i64),
    /// Text.
    Text(String),
}

impl Column {
    /// A column by what its cells look like; `gaps` stand for no value, as usual words for that do.
    pub(super) fn new(name: String, cells: Cells, gaps: Arc<[String]>) -> Self {
        Self::doubtful(name, cells, gaps, None)
    }

    /// The same, with what is doubtful about its numbers.
    pub(super) fn doubtful(
        name: String,
        cells: Cells,
        gaps: Arc<[String]>,
        doubt: Option<Arc<str>>,
    ) -> Self {
        let mut column = Self { name, cells, holds: Holds::Nothing, gaps, doubt };
        // What may be one number or another is a number.
        column.holds = if column.doubt.is_some() { Holds::Numbers } else { column.look() };
        column
    }

    /// A column of numbers; not-a-number stands for no value.
    #[must_use]
    pub fn of_numbers(name: String, cells: Vec<f64>) -> Self {
        Self::new(name, Cells::Numbers(cells.into()), Arc::new([]))
    }

    /// A column of text, where none stands for no value.
    pub fn of_text<'a>(name: String, cells: impl Iterator<Item = Option<&'a str>>) -> Self {
        let cells = cells.map(Option::unwrap_or_default).collect();
        Self::new(name, Cells::Text(cells), Arc::new([]))
    }

    /// A column of such cells; text makes all of them text, as in a file.
    #[must_use]
    pub fn of_json(name: String, cells: &[JsonCell]) -> Self {
        let whole = |cell: &JsonCell| match cell {
            JsonCell::Integer(value) => Some(*value),
            _ => None,
        };
        let number = |cell: &JsonCell| match cell {
            JsonCell::Gap => Some(f64::NAN),
            JsonCell::Number(value) => Some(*value),
            #[expect(clippy::cast_precision_loss, reason = "as in a file of such numbers")]
            JsonCell::Integer(value) => Some(*value as f64),
            JsonCell::Text(_) => None,
        };
        let text = |cell: &JsonCell| match cell {
            JsonCell::Gap => String::new(),
            JsonCell::Number(value) => value.to_string(),
            JsonCell::Integer(value) => value.to_string(),
            JsonCell::Text(text) => text.clone(),
        };
        let cells = if let Some(whole) = cells.iter().map(whole).collect() {
            Cells::Integers(whole)
        } else if let Some(numbers) = cells.iter().map(number).collect::<Option<Vec<f64>>>() {
            Cells::Numbers(numbers.into())
        } else {
            let texts: Vec<String> = cells.iter().map(text).collect();
            Cells::Text(texts.iter().map(String::as_str).collect())
        };
        Self::new(name, cells, Arc::new([]))
    }

    /// The same with more words for no value.
    #[must_use]
    pub fn with_missing_values(self, gaps: Arc<[String]>) -> Self {
        if gaps.is_empty() { self } else { Self::doubtful(self.name, self.cells, gaps, self.doubt) }
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How many rows there are.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.cells.len()
    }

    /// What it holds; gaps do not count.
    #[must_use]
    pub fn holds(&self) -> Holds {
        self.holds
    }

    /// A cell as text; a number is written as it was, or as it is.
    #[must_use]
    pub fn cell(&self, row: usize) -> Cow<'_, str> {
        self.cells.text(row)
    }

    /// Whether a cell stands for no value.
    #[must_use]
    pub fn is_gap(&self, row: usize) -> bool {
        match &self.cells {
            Cells::Text(cells) => self.is_gap_text(cells.get(row)),
            Cells::Numbers(cells) => {
                let value = cells.values[row];
                value.is_nan() || self.is_gap_number(value)
            }
            #[expect(clippy::cast_precision_loss, reason = "a table's integers are small")]
            Cells::Integers(cells) => self.is_gap_number(cells[row] as f64),
            Cells::Nested(_) => true,
        }
    }

    fn is_gap_text(&self, cell: &str) -> bool {
        is_usual_gap(cell) || self.gaps.iter().any(|gap| gap == cell)
    }

    /// Whether a number stands for no value: -9 does so as -9.0, too.
    fn is_gap_number(&self, value: f64) -> bool {
        self.gaps
            .iter()
            .any(|gap| gap.parse::<f64>().is_ok_and(|gap| gap.total_cmp(&value).is_eq()))
    }

    /// A cell as a number: not of a gap, or of other text.
    #[must_use]
    pub fn number(&self, row: usize) -> Option<f64> {
        let value = match &self.cells {
            Cells::Text(cells) => match self.holds {
                _ if self.doubt.is_some() && cells.get(row).contains(['.', ',']) => return None,
                Holds::Truths => f64::from(u8::from(truth(cells.get(row))?)),
                Holds::Times => return None,
                _ => cells.get(row).parse().ok()?,
            },
            Cells::Numbers(cells) => cells.values[row],
            #[expect(clippy::cast_precision_loss, reason = "a table's integers are small")]
            Cells::Integers(cells) => cells[row] as f64,
            Cells::Nested(_) => return None,
        };
        (!self.is_gap(row)).then_some(value)
    }

    /// Its numbers, not-a-number standing for no value; none if some are written, or stand for no value, in ways of their
    /// own.
    pub(crate) fn plain_numbers(&self) -> Option<&[f64]> {
        match &self.cells {
            Cells::Numbers(cells) if self.gaps.is_empty() => Some(&cells.values),
            _ => None,
        }
    }

    /// What is doubtful about its numbers, to be said behind one of them.
    pub(super) fn doubt(&self) -> Option<&str> {
        self.doubt.as_deref()
    }

    /// The different cells as text.
    pub(super) fn distinct(&self) -> BTreeSet<String> {
        let mut known: HashSet<Cow<'_, str>> = HashSet::new();
        match &self.cells {
            // Few of many numbers are different, and to write one takes longer than to look it up.
            Cells::Numbers(cells) => {
                let mut seen = HashSet::new();
                let is_new = |(_, value): &(usize, &f64)| seen.insert(value.to_bits());
                let rows = cells.values.iter().enumerate().filter(is_new);
                known.extend(rows.map(|(row, _)| cells.text(row)));
            }
            cells => known.extend((0..cells.len()).map(|row| cells.text(row))),
        }
        known.into_iter().map(Cow::into_owned).collect()
    }

    /// A cell as true or false: as words, or as one or zero.
    #[must_use]
    pub fn truth(&self, row: usize) -> Option<bool> {
        truth(&self.cell(row)).or_else(|| match self.number(row)? {
            0.0 => Some(false),
            1.0 => Some(true),
            _ => None,
        })
    }

    /// A cell as a date or time.
    pub(crate) fn written_moment(&self, row: usize) -> Option<WrittenMoment> {
        WrittenMoment::read(&self.cell(row))
    }

    /// A cell as the name of a category: whole numbers are the same with and without a decimal point.
    #[must_use]
    pub fn level(&self, row: usize) -> Option<Cow<'_, str>> {
        if self.is_gap(row) {
            return None;
        }
        let cell = self.cell(row);
        // A column of whole numbers with gaps is often written so, because its program has no other.
        let whole = cell.strip_suffix(".0").filter(|_| self.holds == Holds::Numbers);
        match whole.map(str::len) {
            None => Some(cell),
            Some(end) => Some(match cell {
                Cow::Borrowed(cell) => Cow::Borrowed(&cell[..end]),
                Cow::Owned(mut cell) => {
                    cell.truncate(end);
                    Cow::Owned(cell)
                }
            }),
        }
    }

    /// What most cells look like.
    fn look(&self) -> Holds {
        let texts = match &self.cells {
            Cells::Nested(_) => return Holds::Nested,
            Cells::Numbers(_) | Cells::Integers(_) => {
                let has_any = (0..self.rows()).any(|row| !self.is_gap(row));
                return if has_any { Holds::Numbers } else { Holds::Nothing };
            }
            Cells::Text(texts) => texts,
        };
        let (mut known, mut numbers, mut truths, mut times) = (0, 0, 0, 0);
        for cell in texts.iter().filter(|cell| !self.is_gap_text(cell)) {
            known += 1;
            if cell.parse::<f64>().is_ok() {
                numbers += 1;
            } else if truth(cell).is_some() {
                truths += 1;
            } else if WrittenMoment::read(cell).is_some() {
                times += 1;
            }
            // More than half of all rows decide, whatever follows.
            let others = known - numbers - truths - times;
            if 2 * others.max(times).max(numbers) > texts.len() {
                break;
            }
        }
        // One mistake among numbers must be reported as one, not turn its column into text.
        match known {
            0 => Holds::Nothing,
            // All or nothing: beside other words, true and false are words, too.
            known if truths == known => Holds::Truths,
            known if 2 * times > known => Holds::Times,
            known if 2 * numbers > known => Holds::Numbers,
            _ => Holds::Text,
        }
    }
}

/// True or false, as usual programs write it.
fn truth(cell: &str) -> Option<bool> {
    match cell {
        "true" | "True" | "TRUE" => Some(true),
        "false" | "False" | "FALSE" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(cells: &[&str]) -> Column {
        Column::of_text("x".into(), cells.iter().map(|cell| Some(*cell)))
    }

    #[test]
    fn a_column_holds_what_most_of_its_cells_are_and_gaps_do_not_count() {
        let cases: [(&[&str], Holds); 8] = [
            (&["1", "", "NA", "2.5", "x"], Holds::Numbers),
            (&["x", "1"], Holds::Text),
            (&["True", "", "false"], Holds::Truths),
            (&["True", "1"], Holds::Text),
            (&["2024-01-01", "NaN", "31.12.2024 12:00"], Holds::Times),
            (&["2024-01-01", "2024-01-02", "later"], Holds::Times),
            (&["", "NA", "null"], Holds::Nothing),
            (&["inf", "1e300"], Holds::Numbers),
        ];
        for (cells, holds) in cases {
            assert_eq!(of(cells).holds(), holds, "{cells:?}");
        }
    }

    #[test]
    fn cells_are_read_as_what_is_wanted() {
        let column = of(&["1", "2.0", "NA", "x"]);
        assert_eq!(column.number(1), Some(2.0));
        assert_eq!((column.number(2), column.number(3)), (None, None));
        assert!(column.is_gap(2) && !column.is_gap(3));
        assert_eq!(
            (column.level(1).as_deref(), column.level(2)),
            (Some("2"), Some("x").filter(|_| false).map(Cow::from))
        );
        assert_eq!((column.truth(0), column.truth(1)), (Some(true), None));
        let numbers = Column::of_numbers("x".into(), vec![2.0, f64::NAN]);
        assert_eq!((numbers.level(0).as_deref(), numbers.level(1)), (Some("2"), None));
    }

    #[test]
    fn a_table_may_have_words_of_its_own_for_no_value() {
        let gaps: Arc<[String]> = ["?".to_string(), "-9".to_string()].into();
        let cells = Cells::Text(["1", "?", "-9", "3"].into_iter().collect());
        let column = Column::new("x".into(), cells, gaps.clone());
        assert_eq!(column.holds(), Holds::Numbers);
        assert_eq!(
            (0..4).map(|row| column.number(row)).collect::<Vec<_>>(),
            [Some(1.0), None, None, Some(3.0)]
        );
        let column = Column::new("x".into(), Cells::Integers(vec![-9, 3]), gaps);
        assert_eq!((column.number(0), column.number(1)), (None, Some(3.0)));
    }
}
