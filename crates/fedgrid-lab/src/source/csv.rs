//! Tables from files of text with a header, in blocks of lines that are read in parallel.
//!
//! Blocks end where lines do, and their columns are put together in order: the number of threads changes nothing.

use std::{
    borrow::Cow,
    io::{self, Read},
};

use rayon::prelude::*;

use super::{cells::Cells, format::FileFormat, input::head, layout::CellLayout, letters::MARK};
use crate::error::Error;

/// How much of a file is read to tell what stands between its cells.
const HEAD: usize = 1 << 18;

/// About how long a block is: with its cells it fits beside others into the cache of a core.
const BLOCK: usize = 1 << 18;

/// How many blocks are read at once: so many that those who are done first wait for a small part of them.
const BATCH: usize = 64;

/// A table of text.
pub(super) struct TextTable {
    pub(super) names: Vec<String>,
    pub(super) cells: Vec<Cells>,
    pub(super) rows: usize,
    pub(super) layout: CellLayout,
}

/// Why a text is no table.
pub(super) enum TextRefusal {
    /// Its bytes are not UTF-8.
    NotUtf8,
    /// Its bytes cannot be had.
    Broken(io::Error),
    /// It is none; the sentence names the file.
    Refused(Error),
}

impl From<io::Error> for TextRefusal {
    fn from(error: io::Error) -> Self {
        Self::Broken(error)
    }
}

/// Reads a text with a header.
pub(super) fn table(
    mut stream: Box<dyn Read + Send + '_>,
    source: &str,
    format: &FileFormat,
) -> Result<TextTable, TextRefusal> {
    let refused = |sentence: String| TextRefusal::Refused(Error::input(sentence));
    let (mut text, is_whole) = first_lines(&mut stream)?;
    if is_whole && text.iter().all(u8::is_ascii_whitespace) {
        return Err(refused(format!("{source} is empty, expected a header and rows")));
    }
    let mut format = format.clone();
    take_marks(&mut text, &mut format);
    // What was read may end inside of a line, and even inside of a letter.
    let cut = text.iter().rposition(|byte| *byte == b'\n').filter(|_| !is_whole);
    let sample = &text[..cut.map_or(text.len(), |end| end + 1)];
    let sample = std::str::from_utf8(sample).map_err(|_| TextRefusal::NotUtf8)?;
    let layout = CellLayout::of(sample, &format)
        .map_err(|sentence| refused(format!("{source}{sentence}")))?;
    let (names, end) = header(sample, &layout);
    text.drain(..end);
    let blocks = Blocks { stream, layout: &layout, rest: text, is_done: is_whole };
    let (cells, rows) = columns(blocks, &names).map_err(|refusal| match refusal {
        RowRefusal::Text(refusal) => refusal,
        RowRefusal::Length { row, found } => refused(format!(
            "{source}: row {} has {found} cells, expected {} as in the header",
            row + 1,
            names.len()
        )),
        RowRefusal::TooMuch { column } => refused(format!(
            "{source}: column '{}' holds more than 4 GiB of text, expected less",
            names[column]
        )),
    })?;
    if rows == 0 && !format.may_be_empty {
        let sentence = format!("{source} has a header but no row, expected rows below it");
        return Err(refused(sentence));
    }
    Ok(TextTable { names, cells, rows, layout })
}

/// The beginning of a text with at least one line, and whether it is the whole.
fn first_lines(stream: &mut dyn Read) -> io::Result<(Vec<u8>, bool)> {
    let mut text = Vec::new();
    loop {
        let more = head(stream, HEAD)?;
        let is_whole = more.len() < HEAD;
        text.extend(more);
        if is_whole || text.contains(&b'\n') {
            return Ok((text, is_whole));
        }
    }
}

/// Takes off what spreadsheets put before a header: a mark of their own, and a line that names the delimiter.
fn take_marks(text: &mut Vec<u8>, format: &mut FileFormat) {
    if text.starts_with(MARK) {
        text.drain(..MARK.len());
    }
    if let [b's' | b'S', b'e' | b'E', b'p' | b'P', b'=', delimiter, rest @ ..] = &text[..]
        && let Some(end) = rest.iter().position(|byte| *byte == b'\n').filter(|end| *end < 2)
    {
        format.keys.delimiter.get_or_insert(char::from(*delimiter));
        text.drain(..=end + 5);
    }
}

/// The names of the columns, and where the rows begin.
fn header(text: &str, layout: &CellLayout) -> (Vec<String>, usize) {
    let mut reader = layout.reader(text.as_bytes());
    let mut record = csv::StringRecord::new();
    // Any text has a first record.
    let _ = reader.read_record(&mut record);
    let name = |name: &str| name.trim().trim_start_matches('\u{feff}').to_string();
    let end = usize::try_from(reader.position().byte()).unwrap_or(usize::MAX);
    (record.iter().map(name).collect(), end.min(text.len()))
}

/// Why the rows of a text cannot be read.
enum RowRefusal {
    Text(TextRefusal),
    /// A row has another count of cells than the header; rows count from zero.
    Length {
        row: usize,
        found: usize,
    },
    /// A column has more text than can be kept.
    TooMuch {
        column: usize,
    },
}

/// The cells of all columns, and the number of rows.
fn columns(mut blocks: Blocks<'_>, names: &[String]) -> Result<(Vec<Cells>, usize), RowRefusal> {
    let broken = |error: io::Error| RowRefusal::Text(error.into());
    let (layout, width) = (blocks.layout, names.len());
    let (mut cells, mut rows) = (vec![Cells::default(); width], 0);
    let mut batch = blocks.batch().map_err(broken)?;
    while !batch.is_empty() {
        let read = |block: &Vec<u8>| rows_of(block, layout, width);
        // The next blocks are read from the file while these are taken apart.
        let (read, next) =
            rayon::join(|| batch.par_iter().map(read).collect::<Vec<_>>(), || blocks.batch());
        let mut parts: Vec<Vec<Cells>> = vec![Vec::new(); width];
        for block in read {
            let (own, count) = block.map_err(|refusal| match refusal {
                RowRefusal::Length { row, found } => RowRefusal::Length { row: row + rows, found },
                other => other,
            })?;
            parts.iter_mut().zip(own).for_each(|(parts, own)| parts.push(own));
            rows += count;
        }
        let join = |(cells, parts): (&mut Cells, Vec<Cells>)| {
            parts.into_iter().all(|part| cells.append(part))
        };
        let kept: Vec<bool> = cells.par_iter_mut().zip(parts).map(join).collect();
        if let Some(column) = kept.iter().position(|is_kept| !is_kept) {
            return Err(RowRefusal::TooMuch { column });
        }
        batch = next.map_err(broken)?;
    }
    Ok((cells, rows))
}

/// The cells of one block, and its number of rows.
fn rows_of(
    block: &[u8],
    layout: &CellLayout,
    width: usize,
) -> Result<(Vec<Cells>, usize), RowRefusal> {
    let text = std::str::from_utf8(block).map_err(|_| RowRefusal::Text(TextRefusal::NotUtf8))?;
    let mut block = BlockCells::new(text, width);
    if text.as_bytes().contains(&layout.quote) {
        block.read_quoted(text, layout)?;
    } else {
        block.read_plain(text, layout.delimiter)?;
    }
    Ok((block.cells, block.rows))
}

/// The cells of a block while it is read.
struct BlockCells {
    cells: Vec<Cells>,
    rows: usize,
}

impl BlockCells {
    /// No cell of so many columns yet, with room for the rows of a text.
    fn new(text: &str, width: usize) -> Self {
        let line = text.bytes().position(|byte| byte == b'\n').map_or(text.len(), |end| end + 1);
        // Lines are about as long as the first.
        let rows = text.len() / line.max(1) + text.len() / line.max(1) / 8 + 1;
        let column = || Cells::with_capacity(rows);
        Self { cells: std::iter::repeat_with(column).take(width).collect(), rows: 0 }
    }

    /// Reads a text in which some cells may be quoted.
    fn read_quoted(&mut self, text: &str, layout: &CellLayout) -> Result<(), RowRefusal> {
        let mut reader = layout.reader(text.as_bytes());
        let mut record = csv::ByteRecord::new();
        let broken = |error: csv::Error| RowRefusal::Text(io::Error::other(error).into());
        while reader.read_byte_record(&mut record).map_err(broken)? {
            let found = record.len();
            if found != self.cells.len() {
                return Err(RowRefusal::Length { row: self.rows, found });
            }
            for (column, cell) in record.iter().enumerate() {
                self.add(column, &String::from_utf8_lossy(cell))?;
            }
            self.rows += 1;
        }
        Ok(())
    }

    /// Reads a text without quotes, as the reader of quoted ones would: lines end with a line feed, a carriage return or
    /// both, and empty ones are no rows. Most files have no quotes, and so are read in a third of the time.
    fn read_plain(&mut self, text: &str, delimiter: u8) -> Result<(), RowRefusal> {
        let (bytes, ends) = (text.as_bytes(), CellEnds::new(delimiter));
        let mut start = 0;
        while start < bytes.len() {
            if matches!(bytes[start], b'\n' | b'\r') {
                start += 1;
                continue;
            }
            let mut column = 0;
            loop {
                let end = ends.next(bytes, start);
                // What is beyond the header is only counted, to be reported.
                if column < self.cells.len() {
                    self.add(column, &text[start..end])?;
                }
                (column, start) = (column + 1, end + 1);
                if bytes.get(end) != Some(&delimiter) {
                    break;
                }
            }
            if column != self.cells.len() {
                return Err(RowRefusal::Length { row: self.rows, found: column });
            }
            self.rows += 1;
        }
        Ok(())
    }

    fn add(&mut self, column: usize, cell: &str) -> Result<(), RowRefusal> {
        if self.cells[column].push(cell) { Ok(()) } else { Err(RowRefusal::TooMuch { column }) }
    }
}

/// Finds where cells end, eight bytes at a time.
struct CellEnds {
    /// Each of the bytes that end a cell, eight times.
    bytes: [u64; 3],
    delimiter: u8,
}

impl CellEnds {
    const ONES: u64 = u64::from_le_bytes([1; 8]);
    const TOPS: u64 = u64::from_le_bytes([0x80; 8]);

    fn new(delimiter: u8) -> Self {
        let bytes = [delimiter, b'\n', b'\r'].map(|byte| u64::from_le_bytes([byte; 8]));
        Self { bytes, delimiter }
    }

    /// Where the cell ends that begins at a place.
    fn next(&self, bytes: &[u8], start: usize) -> usize {
        let mut at = start;
        while let Some(word) = bytes[at..].first_chunk::<8>() {
            let word = u64::from_le_bytes(*word);
            // Of the bytes that are zero, the first has its top bit set; behind it some may be set by a borrow.
            let zeros = |word: u64| word.wrapping_sub(Self::ONES) & !word & Self::TOPS;
            let found = self.bytes.iter().fold(0, |found, byte| found | zeros(word ^ byte));
            if found != 0 {
                return at + found.trailing_zeros() as usize / 8;
            }
            at += 8;
        }
        let is_end = |byte: &u8| *byte == self.delimiter || matches!(byte, b'\n' | b'\r');
        bytes[at..].iter().position(is_end).map_or(bytes.len(), |rest| at + rest)
    }
}

/// A text in blocks that end where a line does.
struct Blocks<'a> {
    stream: Box<dyn Read + Send + 'a>,
    layout: &'a CellLayout,
    /// What was read behind the end of the last block.
    rest: Vec<u8>,
    is_done: bool,
}

impl Blocks<'_> {
    /// The next blocks; none at the end.
    fn batch(&mut self) -> io::Result<Vec<Vec<u8>>> {
        let mut batch = Vec::with_capacity(BATCH);
        while batch.len() < BATCH
            && let Some(block) = self.next()?
        {
            batch.push(block);
        }
        Ok(batch)
    }

    fn next(&mut self) -> io::Result<Option<Vec<u8>>> {
        let mut block = std::mem::take(&mut self.rest);
        loop {
            if self.is_done {
                return Ok((!block.is_empty()).then_some(block));
            }
            // A record that is longer than a block is read until its end is found.
            let wanted = if block.len() < BLOCK { BLOCK - block.len() } else { block.len() };
            block.reserve_exact(wanted);
            let read = self.stream.by_ref().take(wanted as u64).read_to_end(&mut block)?;
            // `read_to_end` gives less than was allowed only at the end.
            self.is_done = read < wanted;
            if !self.is_done
                && let Some(end) = last_end(&block, self.layout)
            {
                self.rest = block.split_off(end);
                return Ok(Some(block));
            }
        }
    }
}

/// Where the last record of a block ends that is whole for sure; none if there is none.
fn last_end(block: &[u8], layout: &CellLayout) -> Option<usize> {
    if !block.contains(&layout.quote) {
        let line = block.iter().rposition(|byte| *byte == b'\n');
        // Old files end lines with a carriage return alone; one at the very end may have a line feed behind it.
        let line =
            line.or_else(|| block[..block.len() - 1].iter().rposition(|byte| *byte == b'\r'));
        return line.map(|line| line + 1);
    }
    // A line break may be inside a quoted cell, so records are followed from the beginning.
    let mut reader = layout.reader(block);
    let mut record = csv::ByteRecord::new();
    let mut ends = [0, 0];
    while reader.read_byte_record(&mut record).ok()? {
        ends = [ends[1], usize::try_from(reader.position().byte()).ok()?];
    }
    // The last one may go on behind the block.
    Some(ends[0]).filter(|end| *end > 0)
}

/// The same cell by cell, for many records: a part of a file, without its header.
pub fn csv_bytes<'a, Record: Iterator<Item = Cow<'a, str>>>(
    records: impl Iterator<Item = Record>,
) -> Vec<u8> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for record in records {
        record.for_each(|cell| writer.write_field(cell.as_bytes()).expect("memory takes all"));
        writer.write_record(None::<&[u8]>).expect("records of one length go to memory");
    }
    writer.into_inner().expect("memory takes all")
}

/// The text of a CSV file of these records, all of one length.
#[must_use]
pub fn csv_text(records: impl Iterator<Item = Vec<String>>) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for record in records {
        writer.write_record(&record).expect("records of one length go to memory");
    }
    writer.flush().expect("memory takes all");
    String::from_utf8(writer.into_inner().expect("memory takes all")).expect("text stays text")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts((cells, rows): (Vec<Cells>, usize)) -> Vec<Vec<String>> {
        let row = |row| cells.iter().map(|own| own.text(row).into_owned()).collect();
        (0..rows).map(row).collect()
    }

    #[test]
    fn a_text_without_quotes_is_read_as_one_with_quotes() {
        let layout = CellLayout { delimiter: b';', quote: b'"', words: Vec::new() };
        let pieces = [
            "1", "2.50", "", ";", ";", ";", "\n", "\n", "\r", "\r\n", " x ", "é;", "abcdefgh", "-7",
        ];
        let mut state = 1_u64;
        let mut draw = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) as usize
        };
        for _ in 0..3000 {
            let count = draw() % 24;
            let text: String = (0..count).map(|_| pieces[draw() % pieces.len()]).collect();
            for width in [1, 2, 3] {
                let (mut plain, mut quoted) =
                    (BlockCells::new(&text, width), BlockCells::new(&text, width));
                let said = |found: Result<(), RowRefusal>| match found {
                    Ok(()) => None,
                    Err(RowRefusal::Length { row, found }) => Some((row, found)),
                    Err(RowRefusal::Text(_) | RowRefusal::TooMuch { .. }) => panic!("{text:?}"),
                };
                let found = said(plain.read_plain(&text, layout.delimiter));
                assert_eq!(found, said(quoted.read_quoted(&text, &layout)), "{text:?}");
                if found.is_none() {
                    let [plain, quoted] = [plain, quoted].map(|own| texts((own.cells, own.rows)));
                    assert_eq!(plain, quoted, "{text:?}");
                }
            }
        }
    }
}
