//! Tables from files of text with a header, in blocks of lines that are read in parallel.
//!
//! Blocks end where lines do, and their columns are put together in order: the number of threads changes nothing.

use std::io::{self, Read};

use rayon::prelude::*;

use super::{cells::Cells, format::FileFormat, input::head, layout::CellLayout, letters::MARK};
use crate::error::Error;

/// How much of a file is read to tell what stands between its cells.
const HEAD: usize = 1 << 18;

/// About how long a block is.
const BLOCK: usize = 1 << 20;

/// How many blocks are read at once.
const BATCH: usize = 16;

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
    if rows == 0 {
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
    if std::str::from_utf8(block).is_err() {
        return Err(RowRefusal::Text(TextRefusal::NotUtf8));
    }
    let mut reader = layout.reader(block);
    let (mut record, mut row) = (csv::ByteRecord::new(), 0);
    let mut cells = vec![Cells::default(); width];
    let broken = |error: csv::Error| RowRefusal::Text(io::Error::other(error).into());
    while reader.read_byte_record(&mut record).map_err(broken)? {
        if record.len() != width {
            return Err(RowRefusal::Length { row, found: record.len() });
        }
        for (column, (own, cell)) in cells.iter_mut().zip(&record).enumerate() {
            if !own.push(cell) {
                return Err(RowRefusal::TooMuch { column });
            }
        }
        row += 1;
    }
    Ok((cells, row))
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
