//! Decimal commas and separators of thousands, told by all cells of a file.
//!
//! ```text
//! 1,5   1234,5   1.234,5   0,125     a decimal comma
//! 1.5   1234.5   1,234.5   0.125     a decimal point
//! 1,234,567   1 234 567              separators of thousands
//! 1,234                              one or the other
//! ```
//!
//! A column is read by what its own cells tell; where they leave it open, by what the other columns of the file tell, and that
//! is said. Where nothing tells, the column is in doubt: its numbers are refused until a key settles it. A point alone is a
//! decimal point, as in most files, unless the file has decimal commas, or semicolons between its cells and nothing else to tell.

use std::sync::Arc;

use rayon::prelude::*;

use super::{
    cells::Cells,
    format::FileFormat,
    told::{NumberShape, ToldSeparators},
};

/// A column as it was read, before anything is made of its text.
#[derive(Debug, Clone)]
pub(super) struct ReadColumn {
    pub(super) name: String,
    pub(super) cells: Cells,
    /// Why its commas and points may mean one thing or another, if so.
    pub(super) doubt: Option<Arc<str>>,
}

/// What was found of the separators of a file.
#[derive(Debug, Clone, Default)]
pub(super) struct FoundSeparators {
    /// What a reader is told, in words.
    pub(super) words: Vec<String>,
    /// The character before decimals, if any number tells it.
    pub(super) decimal: Option<char>,
}

/// Gives columns of text that are numbers with other separators the form that programs write.
pub(super) fn settle(
    columns: &mut [ReadColumn],
    format: &FileFormat,
    delimiter: char,
) -> FoundSeparators {
    // Columns of text take long, and often stand together.
    let told: Vec<ToldSeparators> = columns
        .par_iter()
        .with_max_len(1)
        .map(|column| ToldSeparators::of(&column.cells))
        .collect();
    let keys = &format.keys;
    let given = keys.decimal.or(match keys.thousands {
        Some(',') => Some('.'),
        Some('.') => Some(','),
        _ => None,
    });
    let of_file = FileEvidence::new(&told, given, format.usual_decimal, delimiter);
    let settled: Vec<SettledColumn> = (columns.par_iter_mut().zip(&told))
        .map(|(column, told)| of_file.settle(column, told, format))
        .collect();
    let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
    let words = of_file.words(&names, &told, &settled);
    FoundSeparators { words, decimal: given.or(of_file.decimal) }
}

/// What became of a column.
enum SettledColumn {
    /// It is as it was.
    Plain,
    /// It was read with this character before decimals.
    Read(char),
    /// The same, though its own cells left it open.
    ByOthers(char),
}

/// What all columns of a file tell.
struct FileEvidence {
    given: Option<char>,
    /// The character before decimals, if one alone is told.
    decimal: Option<char>,
    /// That of the rows that a model was trained on, where this file tells nothing.
    of_training: Option<char>,
    delimiter: char,
}

impl FileEvidence {
    fn new(
        told: &[ToldSeparators],
        given: Option<char>,
        usual: Option<char>,
        delimiter: char,
    ) -> Self {
        let of_numbers = || told.iter().filter(|told| told.is_of_numbers());
        let has_point = of_numbers().any(|told| told.decimal() == Some('.'));
        let has_comma = of_numbers().any(|told| told.decimal() == Some(','));
        let decimal = match (has_point, has_comma) {
            (true, false) => Some('.'),
            (false, true) => Some(','),
            _ => None,
        };
        // What a file tells itself goes before the rows that a model was trained on.
        let of_training = usual.filter(|_| !has_point && !has_comma);
        Self { given, decimal, of_training, delimiter }
    }

    fn settle(
        &self,
        column: &mut ReadColumn,
        told: &ToldSeparators,
        format: &FileFormat,
    ) -> SettledColumn {
        let has_any = told.comma.is_some()
            || told.unclear_comma.is_some()
            || told.unclear_point.is_some()
            || !told.thousands.is_empty()
            || (self.given == Some(',') && told.point.is_some());
        if !has_any || !told.is_of_numbers() {
            return SettledColumn::Plain;
        }
        let contradicts = match self.given {
            Some(',') => told.point.is_some(),
            Some(_) => told.comma.is_some(),
            None => told.point.is_some() && told.comma.is_some(),
        };
        let is_open = self.given.is_none() && told.is_open();
        let is_point_alone = told.unclear_comma.is_none();
        // Semicolons are written by those who have decimal commas; elsewhere a point is what it is in plain files.
        let is_usual_point = is_point_alone && self.delimiter != ';';
        let of_file = self.given.or(told.decimal()).or(self.decimal);
        let told_by = of_file.or(self.of_training.filter(|_| !is_usual_point));
        // Decimal commas between commas are so odd that they do not settle what a point is.
        let is_odd = is_open && is_point_alone && self.delimiter == ',' && told_by == Some(',');
        let decimal = match told_by.or((!is_open).then_some('.')) {
            Some(decimal) if !contradicts && !is_odd => decimal,
            None if is_usual_point => return SettledColumn::Plain,
            _ => {
                column.doubt = Some(self.doubt(told, is_open && !contradicts, format).into());
                column.cells.make_text();
                return SettledColumn::Plain;
            }
        };
        if decimal == '.' && told.unclear_comma.is_none() && told.thousands.is_empty() {
            return SettledColumn::Plain;
        }
        column.cells = read_with(&column.cells, decimal);
        if is_open { SettledColumn::ByOthers(decimal) } else { SettledColumn::Read(decimal) }
    }

    /// What a reader is told.
    fn words(
        &self,
        names: &[&str],
        told: &[ToldSeparators],
        settled: &[SettledColumn],
    ) -> Vec<String> {
        let all =
            || names.iter().zip(told).zip(settled).map(|((name, told), how)| (name, told, how));
        let of_decimal = |how: &SettledColumn| match how {
            SettledColumn::Plain => None,
            SettledColumn::Read(decimal) | SettledColumn::ByOthers(decimal) => Some(*decimal),
        };
        let mut words = Vec::new();
        let with_comma: Vec<&str> = all()
            .filter(|(_, told, how)| {
                of_decimal(how) == Some(',')
                    && (told.comma.is_some() || told.unclear_comma.is_some())
            })
            .map(|(name, ..)| *name)
            .collect();
        let has_points = all().any(|(_, told, how)| {
            of_decimal(how) != Some(',') && told.is_of_numbers() && told.point.is_some()
        });
        if !with_comma.is_empty() && has_points {
            words.push(format!("decimal commas in {}", quoted(&with_comma)));
        } else if !with_comma.is_empty() {
            words.push("decimal commas".into());
        }
        let mut between: Vec<char> = Vec::new();
        for (_, told, how) in all() {
            let Some(decimal) = of_decimal(how) else { continue };
            let other = if decimal == ',' { '.' } else { ',' };
            let unclear = if decimal == ',' { &told.unclear_point } else { &told.unclear_comma };
            let own = told.thousands.iter().copied().chain(unclear.as_ref().map(|_| other));
            own.for_each(|one| {
                if !between.contains(&one) {
                    between.push(one);
                }
            });
        }
        words.extend(between.into_iter().map(|one| format!("{} between thousands", plural(one))));
        words.extend(all().filter_map(|(name, told, how)| match how {
            SettledColumn::ByOthers(decimal) => self.reason(name, told, *decimal),
            _ => None,
        }));
        words
    }

    /// Why a column was read as it was, where its own cells left that open.
    fn reason(&self, name: &str, told: &ToldSeparators, decimal: char) -> Option<String> {
        let example = told.unclear_comma.as_ref().or(told.unclear_point.as_ref())?;
        let number = NumberShape::read(example)?.plain(decimal)?;
        let is_of_file = self.decimal.is_some();
        let who = if is_of_file { "other columns have" } else { "the training rows have" };
        let what = if decimal == ',' { "decimal commas" } else { "decimal points" };
        Some(format!("'{example}' in '{name}' is {number} because {who} {what}"))
    }

    /// Why the numbers of a column are in doubt, to be said behind one of them.
    fn doubt(&self, told: &ToldSeparators, is_open: bool, format: &FileFormat) -> String {
        let place = &format.place;
        let example = told.unclear_comma.as_ref().or(told.unclear_point.as_ref());
        if let Some((cell, shape)) =
            example.filter(|_| is_open).and_then(|cell| Some((cell, NumberShape::read(cell)?)))
        {
            let [between, other] = if cell.contains(',') { [',', '.'] } else { ['.', ','] };
            let [one, two] =
                [between, other].map(|decimal| shape.plain(decimal).unwrap_or_default());
            return format!(
                "and '{cell}' may be {one} or {two}; set {place}decimal or {place}thousands to '{between}'"
            );
        }
        if let Some(given) = self.given {
            return format!("and {place}decimal is '{given}'");
        }
        let [point, comma] =
            [&told.point, &told.comma].map(|example| example.as_deref().unwrap_or_default());
        format!("and the column has both '{point}' and '{comma}'; set {place}decimal")
    }
}

/// The cells of a column, read with a character before decimals; what is no number stays as it is.
fn read_with(cells: &Cells, decimal: char) -> Cells {
    let mut read = Cells::default();
    for row in 0..cells.len() {
        let cell = cells.text(row);
        let plain = NumberShape::read(&cell).and_then(|shape| shape.plain(decimal));
        let is_kept = read.push(plain.as_deref().unwrap_or(&cell));
        debug_assert!(is_kept, "what is read again takes no more room");
    }
    read
}

fn quoted(names: &[&str]) -> String {
    const MOST: usize = 3;
    let shown: Vec<String> = names.iter().take(MOST).map(|name| format!("'{name}'")).collect();
    let more = names.len().saturating_sub(MOST);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    shown.join(", ") + &more
}

fn plural(between: char) -> &'static str {
    match between {
        ',' => "commas",
        '.' => "points",
        '\'' => "apostrophes",
        _ => "spaces",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn format(decimal: Option<char>) -> FileFormat {
        let mut format: FileFormat = ','.into();
        format.keys = crate::experiment::FileKeys { decimal, ..Default::default() };
        format
    }

    fn column(name: &str, cells: &[&str]) -> ReadColumn {
        let mut read = Cells::default();
        assert!(cells.iter().all(|cell| read.push(cell)));
        ReadColumn { name: name.into(), cells: read, doubt: None }
    }

    /// The texts of columns once they are settled, and what is said.
    fn settled(columns: &[&[&str]], delimiter: char) -> (Vec<Vec<String>>, String) {
        let mut columns: Vec<ReadColumn> = columns.iter().map(|cells| column("x", cells)).collect();
        let found = settle(&mut columns, &format(None), delimiter);
        let texts = |column: &ReadColumn| -> Vec<String> {
            match &column.doubt {
                Some(doubt) => vec![doubt.to_string()],
                None => (0..column.cells.len()).map(|row| column.cells.text(row).into()).collect(),
            }
        };
        (columns.iter().map(texts).collect(), found.words.join(", "))
    }

    #[test]
    fn a_column_is_read_by_what_its_own_cells_tell() {
        let cases: [(&[&str], &[&str], &str); 9] = [
            (&["1,5", "1234", "-0,25"], &["1.5", "1234", "-0.25"], "decimal commas"),
            (&["1.234,5", "12"], &["1234.5", "12"], "decimal commas, points between thousands"),
            (&["1,234.5", "12"], &["1234.5", "12"], "commas between thousands"),
            (&["1,234,567", "1,234"], &["1234567", "1234"], "commas between thousands"),
            (&["1,234", "0,5"], &["1.234", "0.5"], "decimal commas"),
            (&["1 234,5", "7"], &["1234.5", "7"], "decimal commas, spaces between thousands"),
            (&["1'234.5", "7"], &["1234.5", "7"], "apostrophes between thousands"),
            (&["1,5e-05", "2,5"], &["0.000015", "2.5"], "decimal commas"),
            (&["1,5", "NA", "x", "2,5"], &["1.5", "NA", "x", "2.5"], "decimal commas"),
        ];
        for (cells, expected, words) in cases {
            let (found, said) = settled(&[cells], ';');
            assert_eq!(
                (&found[0][..], said.as_str()),
                (&expected.iter().map(ToString::to_string).collect::<Vec<_>>()[..], words),
                "{cells:?}"
            );
        }
    }

    #[test]
    fn text_and_plain_numbers_stay_as_they_are() {
        for cells in [
            &["31.01.2024", "01.02.2024"][..],
            &["10.0.0.1", "10.0.0.2"],
            &["2024-01-01", "2024-01-02"],
            &["a,b", "c"],
            &["0.5", "1.25"],
            &["0100", "100"],
            &["1,2,3", "4,5,6"],
            &["12:30", "x"],
        ] {
            let (found, said) = settled(&[cells], ',');
            assert_eq!(
                (&found[0][..], said.as_str()),
                (&cells.iter().map(ToString::to_string).collect::<Vec<_>>()[..], "")
            );
        }
    }

    #[test]
    fn other_columns_settle_what_one_leaves_open() {
        let (found, said) = settled(&[&["1,234", "5"], &["0.5", "1"]], ';');
        assert_eq!(found[0], ["1234", "5"]);
        assert_eq!(
            said,
            "commas between thousands, '1,234' in 'x' is 1234 because other columns have decimal points"
        );
        let (found, said) = settled(&[&["1.234", "5"], &["0,5", "1"]], ';');
        assert_eq!(found[0], ["1234", "5"]);
        assert!(
            said.starts_with("decimal commas, points between thousands, '1.234' in 'x' is 1234"),
            "{said}"
        );
        // Both ways in one file tell nothing of a third column.
        let (found, said) = settled(&[&["1,234", "5"], &["0.5", "1"], &["0,5", "1"]], ';');
        assert_eq!(
            found[0],
            [
                "and '1,234' may be 1.234 or 1234; set data.format.decimal or data.format.thousands to ','"
            ]
        );
        assert_eq!(
            (&found[1], &found[2]),
            (&vec!["0.5".to_string(), "1".into()], &vec!["0.5".to_string(), "1".into()])
        );
        assert_eq!(said, "decimal commas in 'x'");
    }

    #[test]
    fn a_point_alone_is_a_decimal_point_but_for_files_with_semicolons() {
        assert_eq!(settled(&[&["1.234", "2.500"]], ',').0[0], ["1.234", "2.500"]);
        assert!(settled(&[&["1.234", "2.500"]], ';').0[0][0].starts_with("and '1.234' may be"));
        assert_eq!(settled(&[&["1.234", "2.500"], &["0.5", "1"]], ';').0[0], ["1.234", "2.500"]);
        // One odd column between commas makes no thousands of points.
        assert!(
            settled(&[&["1.234", "2.500"], &["0,5", "1"]], ',').0[0][0]
                .starts_with("and '1.234' may be")
        );
    }
}
