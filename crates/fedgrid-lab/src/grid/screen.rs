//! A table for a terminal: what does not fit beside the rest stands below it, behind the names of its rows.

use super::{ColumnUse, Grid};

/// Between two columns.
const GAP: &str = "  ";
/// The most letters of a name; the rest is cut, and files have it.
const MOST_NAME_CHARS: usize = 28;

/// A column ready to print: all cells of one width.
struct Block {
    kind: ColumnUse,
    cells: Vec<String>,
    width: usize,
}

impl Grid {
    /// The table in lines of at most so many characters; a single cell that is wider is not cut.
    #[must_use]
    pub fn screen(&self, width: usize) -> String {
        let texts = self.texts();
        let block = |(place, column): (usize, &super::GridColumn)| {
            let cells = texts.iter().map(|row| row[place].clone());
            let cells = std::iter::once(column.head.clone()).chain(cells);
            let is_name = column.kind == ColumnUse::Name;
            let cells: Vec<String> =
                cells.map(|cell| if is_name { cut(&cell) } else { cell }).collect();
            let width = cells.iter().map(|cell| cell.chars().count()).max().unwrap_or(0);
            Block { kind: column.kind, cells, width }
        };
        let blocks: Vec<Block> = self.columns.iter().enumerate().map(block).collect();
        let (names, others): (Vec<&Block>, Vec<&Block>) =
            blocks.iter().partition(|block| block.kind == ColumnUse::Name);
        let named: usize = names.iter().map(|block| block.width + GAP.len()).sum();
        let mut parts: Vec<Vec<&Block>> = vec![Vec::new()];
        let mut used = named;
        for block in others {
            let part = parts.last_mut().expect("there is always a part");
            if !part.is_empty() && used + block.width > width {
                parts.push(vec![block]);
                used = named + block.width + GAP.len();
            } else {
                part.push(block);
                used += block.width + GAP.len();
            }
        }
        let part = |others: Vec<&Block>| lines(&[names.clone(), others].concat());
        parts.into_iter().map(part).collect::<Vec<_>>().join("\n\n")
    }
}

fn lines(blocks: &[&Block]) -> String {
    let count = blocks.first().map_or(0, |block| block.cells.len());
    let cell = |block: &&Block, line: usize| {
        let (text, width) = (&block.cells[line], block.width);
        match block.kind {
            ColumnUse::Name | ColumnUse::Words => format!("{text:<width$}"),
            ColumnUse::Numbers | ColumnUse::Means => format!("{text:>width$}"),
        }
    };
    let line = |line: usize| {
        let cells: Vec<String> = blocks.iter().map(|block| cell(block, line)).collect();
        cells.join(GAP).trim_end().to_string()
    };
    (0..count).map(line).collect::<Vec<_>>().join("\n")
}

fn cut(name: &str) -> String {
    if name.chars().count() <= MOST_NAME_CHARS {
        return name.into();
    }
    name.chars().take(MOST_NAME_CHARS - 1).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::super::{
        ColumnUse::{Means, Name, Numbers, Words},
        Grid, GridCell, GridColumn,
    };

    fn sample() -> Grid {
        let row = |name: &str, value: f64, error: Option<f64>| {
            vec![
                GridCell::Text(name.into()),
                GridCell::Measured(value, error),
                GridCell::Number(0.5),
                GridCell::Text("as it is".into()),
            ]
        };
        let columns = [("run", Name), ("network", Means), ("alpha", Numbers), ("verdict", Words)];
        Grid {
            columns: columns.map(|(head, kind)| GridColumn::new(head, kind)).to_vec(),
            rows: vec![row("a", 5.59, Some(0.03)), row("longer", 12.1, None)],
            notes: Vec::new(),
        }
    }

    #[test]
    fn a_table_that_fits_is_in_one_piece() {
        assert_eq!(
            sample().screen(80),
            "run           network  alpha  verdict\n\
             a       5.590 ± 0.030  0.500  as it is\n\
             longer           12.1  0.500  as it is"
        );
    }

    #[test]
    fn what_does_not_fit_stands_below_with_the_names_of_its_rows() {
        assert_eq!(
            sample().screen(29),
            "run           network  alpha\n\
             a       5.590 ± 0.030  0.500\n\
             longer           12.1  0.500\n\n\
             run     verdict\n\
             a       as it is\n\
             longer  as it is"
        );
    }
}
