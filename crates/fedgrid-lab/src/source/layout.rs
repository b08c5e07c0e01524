//! What stands between and around the cells of a text, told by its first lines.

use super::format::FileFormat;

/// Characters that usually stand between cells, with what they are called.
const DELIMITERS: [(u8, &str); 4] =
    [(b',', "commas"), (b';', "semicolons"), (b'\t', "tabs"), (b'|', "bars")];

/// How many lines are looked at.
const LOOKED_AT: usize = 200;

/// What stands between and around cells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CellLayout {
    pub(super) delimiter: u8,
    pub(super) quote: u8,
    /// What a reader is told of them.
    pub(super) words: Vec<String>,
}

impl CellLayout {
    /// Told by the first lines. The error is what follows the name of the file.
    pub(super) fn of(head: &str, format: &FileFormat) -> Result<Self, String> {
        let keys = &format.keys;
        let given = |character: Option<char>| character.and_then(|one| u8::try_from(one).ok());
        let quote = given(keys.quote).unwrap_or_else(|| quote_of(head));
        let delimiter = match given(keys.delimiter) {
            Some(delimiter) => {
                check_given(head, (delimiter, quote), format)?;
                delimiter
            }
            None => recognised(head, quote, format)?,
        };
        let mut words = Vec::new();
        if delimiter != b',' {
            words.push(format!("{} between cells", called(delimiter)));
        }
        if quote == b'\'' {
            words.push("single quotes around cells".into());
        }
        Ok(Self { delimiter, quote, words })
    }

    /// A reader of some records.
    pub(super) fn reader<'a>(&self, text: &'a [u8]) -> csv::Reader<&'a [u8]> {
        reader(text, (self.delimiter, self.quote))
    }
}

fn reader(text: &[u8], (delimiter, quote): (u8, u8)) -> csv::Reader<&[u8]> {
    csv::ReaderBuilder::new()
        .has_headers(false)
        // Rows of another length are reported with their number.
        .flexible(true)
        .delimiter(delimiter)
        .quote(quote)
        .from_reader(text)
}

/// Single quotes only if a header begins and ends with them and there are no others.
fn quote_of(head: &str) -> u8 {
    let line = head.lines().next().unwrap_or_default().trim();
    let is_single = line.len() > 1 && line.starts_with('\'') && line.ends_with('\'');
    if is_single && !head.contains('"') { b'\'' } else { b'"' }
}

/// The character between cells: one that parts the header, and all lines into as many cells.
fn recognised(head: &str, quote: u8, format: &FileFormat) -> Result<u8, String> {
    let known = DELIMITERS.map(|(delimiter, _)| (delimiter, counts(head, delimiter, quote)));
    let parts = known.iter().filter(|(_, counts)| counts.first().is_some_and(|cells| *cells > 1));
    let parts: Vec<&(u8, Vec<usize>)> = parts.collect();
    let is_even = |(_, counts): &&&(u8, Vec<usize>)| counts.iter().all(|cells| *cells == counts[0]);
    let even: Vec<u8> = parts.iter().filter(is_even).map(|(delimiter, _)| *delimiter).collect();
    match (&parts[..], &even[..]) {
        // A single column has nothing between its cells.
        ([], _) => Ok(b','),
        ([(one, _)], _) | (_, [one]) => Ok(*one),
        // A line is too long or too short, which is reported with its number.
        (_, []) => {
            Ok(parts.iter().max_by_key(|(_, counts)| counts[0]).map_or(b',', |(one, _)| *one))
        }
        (_, [one, other, ..]) => Err(format!(
            ": {} or {} may stand between cells; set {}delimiter",
            called(*one),
            called(*other),
            format.place
        )),
    }
}

/// How many cells the first lines have.
fn counts(head: &str, delimiter: u8, quote: u8) -> Vec<usize> {
    let mut reader = reader(head.as_bytes(), (delimiter, quote));
    let mut counts = Vec::new();
    let mut record = csv::ByteRecord::new();
    while counts.len() < LOOKED_AT && reader.read_byte_record(&mut record).unwrap_or(false) {
        // A quote in the middle of a name: this character is inside of quoted ones.
        if counts.is_empty() && record.iter().any(|name| name.contains(&quote)) {
            return vec![1];
        }
        counts.push(record.len());
    }
    counts
}

/// One column whose name holds another usual delimiter was written with that one.
fn check_given(
    head: &str,
    (delimiter, quote): (u8, u8),
    format: &FileFormat,
) -> Result<(), String> {
    let mut record = csv::StringRecord::new();
    let is_read = reader(head.as_bytes(), (delimiter, quote)).read_record(&mut record);
    if !is_read.unwrap_or(false) || record.len() != 1 {
        return Ok(());
    }
    let others = DELIMITERS.iter().filter(|(other, _)| *other != delimiter);
    match others.into_iter().find(|(other, _)| record[0].contains(char::from(*other))) {
        Some((other, _)) => Err(format!(
            " has one column, '{}'; the delimiter looks like {:?}: leave out {}delimiter, or set it to that",
            record[0].trim(),
            char::from(*other),
            format.place
        )),
        None => Ok(()),
    }
}

fn called(delimiter: u8) -> String {
    let known = DELIMITERS.iter().find(|(known, _)| *known == delimiter);
    known.map_or_else(|| format!("'{}'", char::from(delimiter)), |(_, name)| (*name).into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::FileKeys;

    fn of(head: &str) -> Result<CellLayout, String> {
        let format = FileFormat { keys: FileKeys::default(), ..','.into() };
        CellLayout::of(head, &format)
    }

    fn between(head: &str) -> char {
        char::from(of(head).unwrap().delimiter)
    }

    #[test]
    fn the_character_that_parts_all_lines_alike_stands_between_cells() {
        assert_eq!(between("a,b\n1,2\n"), ',');
        assert_eq!(between("a;b\n1,5;2,5\n3,5;4\n"), ';');
        assert_eq!(between("a\tb c\n1\t2,5\n"), '\t');
        assert_eq!(between("a|b\n1|2\n"), '|');
        assert_eq!(between("a,\"b;c;d\"\n1,\"2;3;4\"\n"), ',');
        // The header has both, and one of them fits all lines.
        assert_eq!(between("a;b,c;d\n1;2;3\n4;5;6\n"), ';');
        assert_eq!(between("a\n1\n"), ',');
        // A short line does not change it.
        assert_eq!(between("a;b;c\n1;2;3\n1;2\n"), ';');
    }

    #[test]
    fn two_characters_that_fit_are_a_question() {
        assert_eq!(
            of("a;b,c;d\n1;2,5;3\n4;5,5;6\n").unwrap_err(),
            ": commas or semicolons may stand between cells; set data.format.delimiter"
        );
    }

    #[test]
    fn single_quotes_are_those_of_a_whole_header() {
        assert_eq!(of("'a','b'\n'x, y',1\n").unwrap().quote, b'\'');
        assert_eq!(of("'a','b'\n\"x, y\",1\n").unwrap().quote, b'"');
        assert_eq!(of("'a',b\n1,2\n").unwrap().quote, b'"');
    }
}
