//! The cells of a column in little memory: a million rows of fifty columns fit where a string for each cell would not.

use std::borrow::Cow;

use super::numbers::{PointSense, WrittenForms, read_number};

/// Cells that stand for no value in any table, as programs and people write them.
const GAPS: [&str; 9] = ["", "NA", "na", "N/A", "n/a", "NaN", "nan", "null", "NULL"];

/// Whether a cell stands for no value in any table.
pub(super) fn is_usual_gap(cell: &str) -> bool {
    // Numbers are most cells, and no word for a gap begins like one.
    cell.as_bytes().first().is_none_or(u8::is_ascii_alphabetic) && GAPS.contains(&cell)
}

/// The cells of a column. Text is read as numbers, truths or times where these are wanted.
#[derive(Debug, Clone)]
pub(super) enum Cells {
    Text(TextCells),
    Numbers(NumberCells),
    Integers(Vec<i64>),
    /// So many lists or records, which no model can use.
    Nested(usize),
}

impl Default for Cells {
    fn default() -> Self {
        Self::Numbers(NumberCells::default())
    }
}

impl Cells {
    /// None yet, with room for so many.
    pub(super) fn with_capacity(rows: usize) -> Self {
        let values = Vec::with_capacity(rows);
        Self::Numbers(NumberCells { values, ..NumberCells::default() })
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Text(cells) => cells.len(),
            Self::Numbers(cells) => cells.values.len(),
            Self::Integers(cells) => cells.len(),
            Self::Nested(rows) => *rows,
        }
    }

    /// A cell as text; a number is written as it was, or as short as can be.
    pub(super) fn text(&self, row: usize) -> Cow<'_, str> {
        match self {
            Self::Text(cells) => Cow::from(cells.get(row)),
            Self::Numbers(cells) => cells.text(row),
            Self::Integers(cells) => Cow::from(cells[row].to_string()),
            Self::Nested(_) => Cow::from(""),
        }
    }

    /// Adds a cell of a file of text; false if a column of so much text cannot be kept.
    #[must_use]
    pub(super) fn push(&mut self, cell: &str) -> bool {
        if let Self::Numbers(cells) = self
            && cells.push(cell.as_bytes().trim_ascii())
        {
            return true;
        }
        let cell = cell.trim();
        if let Self::Numbers(cells) = self
            && is_usual_gap(cell)
            && cells.push_gap(cell)
        {
            return true;
        }
        self.as_text().is_some_and(|cells| cells.push(cell))
    }

    /// Adds the cells of another part of the column; false if a column of so much text cannot be kept.
    #[must_use]
    pub(super) fn append(&mut self, other: Self) -> bool {
        match (&mut *self, other) {
            // A part without cells has no kind, and must not make text of numbers.
            (_, other) if other.len() == 0 => true,
            (own, other) if own.len() == 0 => {
                *own = other;
                true
            }
            (Self::Text(own), Self::Text(other)) => own.append(&other),
            (Self::Integers(own), Self::Integers(mut other)) => {
                own.append(&mut other);
                true
            }
            (Self::Nested(own), Self::Nested(other)) => {
                *own += other;
                true
            }
            (own, mut other) => {
                own.integers_as_numbers();
                other.integers_as_numbers();
                if let (Self::Numbers(own), Self::Numbers(other)) = (&mut *own, &mut other)
                    && own.append(other)
                {
                    return true;
                }
                own.append_text(&other)
            }
        }
    }

    fn append_text(&mut self, other: &Self) -> bool {
        let cells = (0..other.len()).map(|row| other.text(row));
        self.as_text().is_some_and(|own| cells.into_iter().all(|cell| own.push(&cell)))
    }

    /// Integers have no value for a gap, so next to numbers they become such.
    fn integers_as_numbers(&mut self) {
        if let Self::Integers(cells) = self {
            #[expect(clippy::cast_precision_loss, reason = "a table's integers are small")]
            let values: Vec<f64> = cells.iter().map(|&value| value as f64).collect();
            *self = Self::Numbers(values.into());
        }
    }

    /// Keeps the cells as text from now on.
    pub(super) fn make_text(&mut self) {
        let is_kept = self.as_text().is_some();
        debug_assert!(is_kept, "numbers are short");
    }

    /// The cells as text from now on; none if there is too much of it.
    fn as_text(&mut self) -> Option<&mut TextCells> {
        if !matches!(self, Self::Text(_)) {
            let mut text = TextCells::default();
            let is_kept = (0..self.len()).all(|row| text.push(&self.text(row)));
            *self = Self::Text(text);
            is_kept.then_some(())?;
        }
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Cells by their places in these; none stands for no value.
    pub(super) fn chosen(&self, places: impl Iterator<Item = Option<usize>>) -> Option<Self> {
        Some(match self {
            Self::Text(cells) => {
                let mut text = TextCells::default();
                for place in places {
                    text.push(place.map_or("", |place| cells.get(place))).then_some(())?;
                }
                Self::Text(text)
            }
            Self::Nested(_) => Self::Nested(places.count()),
            _ => {
                let value = |place: usize| match self {
                    Self::Numbers(cells) => cells.values[place],
                    #[expect(clippy::cast_precision_loss, reason = "a table's integers are small")]
                    Self::Integers(cells) => cells[place] as f64,
                    _ => f64::NAN,
                };
                let values: Vec<f64> = places.map(|place| place.map_or(f64::NAN, value)).collect();
                Self::Numbers(values.into())
            }
        })
    }
}

/// Numbers, with what is needed to write them as they were.
#[derive(Debug, Clone)]
pub(super) struct NumberCells {
    /// Not-a-number stands for no value.
    pub(super) values: Vec<f64>,
    forms: WrittenForms,
    /// What stands for no value here.
    gap: Option<Box<str>>,
    /// Whether some number has a point that can only be a decimal one.
    pub(super) has_clear_point: bool,
    /// Whether some number has a point that others write between thousands.
    pub(super) has_unclear_point: bool,
}

impl Default for NumberCells {
    fn default() -> Self {
        Self {
            values: Vec::new(),
            forms: WrittenForms::ALL,
            gap: None,
            has_clear_point: false,
            has_unclear_point: false,
        }
    }
}

impl From<Vec<f64>> for NumberCells {
    /// Numbers that were never text.
    fn from(values: Vec<f64>) -> Self {
        Self { values, ..Self::default() }
    }
}

impl NumberCells {
    /// A cell as it was written.
    pub(super) fn text(&self, row: usize) -> Cow<'_, str> {
        match self.values[row] {
            value if value.is_nan() => Cow::from(self.gap.as_deref().unwrap_or_default()),
            value => Cow::from(self.forms.text(value)),
        }
    }

    /// Adds a cell if it is a number that can be written again like the others.
    fn push(&mut self, cell: &[u8]) -> bool {
        let Some(read) = read_number(cell) else { return false };
        let forms = self.forms.and(read.forms);
        if forms.is_none() {
            return false;
        }
        self.forms = forms;
        self.has_clear_point |= read.point == PointSense::Clear;
        self.has_unclear_point |= read.point == PointSense::Unclear;
        self.values.push(read.value);
        true
    }

    /// Adds a gap if it is written like those above.
    fn push_gap(&mut self, cell: &str) -> bool {
        if **self.gap.get_or_insert_with(|| cell.into()) != *cell {
            return false;
        }
        self.values.push(f64::NAN);
        true
    }

    /// Adds other cells if they are written like these.
    fn append(&mut self, other: &mut Self) -> bool {
        let forms = self.forms.and(other.forms);
        let is_same_gap = match (&self.gap, &other.gap) {
            (Some(own), Some(other)) => own == other,
            _ => true,
        };
        if forms.is_none() || !is_same_gap {
            return false;
        }
        self.forms = forms;
        self.gap = self.gap.take().or(other.gap.take());
        self.has_clear_point |= other.has_clear_point;
        self.has_unclear_point |= other.has_unclear_point;
        self.values.append(&mut other.values);
        true
    }
}

/// Cells of text in one piece of memory.
#[derive(Debug, Clone, Default)]
pub(super) struct TextCells {
    text: String,
    /// Where each cell ends; the next begins there.
    ends: Vec<u32>,
}

impl TextCells {
    /// Adds a cell; false if a column of so much text cannot be kept.
    #[must_use]
    pub(super) fn push(&mut self, cell: &str) -> bool {
        self.text.push_str(cell);
        // Four bytes instead of eight, because there is an end for every cell.
        let end = u32::try_from(self.text.len());
        self.ends.push(end.unwrap_or(u32::MAX));
        end.is_ok()
    }

    /// Adds other cells; false if a column of so much text cannot be kept.
    fn append(&mut self, other: &Self) -> bool {
        let Ok(start) = u32::try_from(self.text.len()) else { return false };
        if u32::try_from(self.text.len() + other.text.len()).is_err() {
            return false;
        }
        self.text.push_str(&other.text);
        self.ends.extend(other.ends.iter().map(|end| start + end));
        true
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// One of them.
    pub(super) fn get(&self, row: usize) -> &str {
        let start = if row == 0 { 0 } else { self.ends[row - 1] as usize };
        &self.text[start..self.ends[row] as usize]
    }

    /// All of them in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &str> + Clone {
        (0..self.len()).map(|row| self.get(row))
    }
}

impl<'a> FromIterator<&'a str> for TextCells {
    fn from_iter<I: IntoIterator<Item = &'a str>>(cells: I) -> Self {
        let mut all = Self::default();
        for cell in cells {
            assert!(all.push(cell), "what is already in memory is small");
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(cells: &[&str]) -> Cells {
        let mut read = Cells::default();
        assert!(cells.iter().all(|cell| read.push(cell)));
        read
    }

    fn texts(cells: &Cells) -> Vec<String> {
        (0..cells.len()).map(|row| cells.text(row).into_owned()).collect()
    }

    #[test]
    fn cells_come_back_as_they_were() {
        let cells: TextCells = ["", "a b", "", "é"].into_iter().collect();
        assert_eq!(cells.iter().collect::<Vec<_>>(), ["", "a b", "", "é"]);
        assert_eq!((cells.len(), cells.get(3)), (4, "é"));
    }

    #[test]
    fn numbers_are_kept_as_numbers_only_if_their_text_comes_back() {
        let cases: [(&[&str], bool); 9] = [
            (&["1", "2", "", "-3"], true),
            (&["1.0", "NA", "2.5"], true),
            (&["1.50", "2.25"], true),
            (&["1", "NA", ""], false),
            (&["1", "01"], false),
            (&["1", "x"], false),
            (&["x", "1"], false),
            (&["1", "2.50"], false),
            (&["", ""], true),
        ];
        for (cells, is_of_numbers) in cases {
            let read = read(cells);
            assert_eq!(matches!(read, Cells::Numbers(_)), is_of_numbers, "{cells:?}");
            assert_eq!(texts(&read), cells);
        }
    }

    #[test]
    fn parts_in_a_row_are_the_whole() {
        let parts: [&[&str]; 9] = [
            &["1", "2"],
            &["1.5", ""],
            &["1.50", "2.25"],
            &["2.0", "1.25"],
            &["NA"],
            &["x", "é"],
            &[""],
            &[],
            &["007", "1e5"],
        ];
        for first in parts {
            for second in parts {
                for third in parts {
                    let mut joined = read(first);
                    assert!(joined.append(read(second)) && joined.append(read(third)));
                    let whole = [first, second, third].concat();
                    assert_eq!(texts(&joined), whole);
                    let is_of_numbers = |cells: &Cells| matches!(cells, Cells::Numbers(_));
                    assert_eq!(is_of_numbers(&joined), is_of_numbers(&read(&whole)), "{whole:?}");
                }
            }
        }
    }
}
