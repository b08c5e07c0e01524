//! Cells of text in one piece of memory: a million rows of fifty columns fit where a string for each cell would not.

/// The cells of a column as text.
#[derive(Debug, Clone, Default)]
pub(crate) struct TextCells {
    text: String,
    /// Where each cell ends; the next begins there.
    ends: Vec<u32>,
}

impl TextCells {
    /// Adds a cell; false if a column of so much text cannot be kept.
    #[must_use]
    pub(crate) fn push(&mut self, cell: &str) -> bool {
        self.text.push_str(cell);
        let end = u32::try_from(self.text.len());
        self.ends.push(end.unwrap_or(u32::MAX));
        end.is_ok()
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// One of them.
    pub(crate) fn get(&self, row: usize) -> &str {
        let start = if row == 0 { 0 } else { self.ends[row - 1] as usize };
        &self.text[start..self.ends[row] as usize]
    }

    /// All of them in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &str> + Clone {
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

    #[test]
    fn cells_come_back_as_they_were() {
        let cells: TextCells = ["", "a b", "", "é"].into_iter().collect();
        assert_eq!(cells.iter().collect::<Vec<_>>(), ["", "a b", "", "é"]);
        assert_eq!((cells.len(), cells.get(3)), (4, "é"));
    }
}
