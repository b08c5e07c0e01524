//! Tables from CSV files.

use rayon::prelude::*;

use super::{Column, FileFormat, Table, cells::TextCells, column::Cells};
use crate::error::{Error, Result};

/// Reads a CSV file with a header.
pub(super) fn table(bytes: &[u8], source: &str, format: &FileFormat) -> Result<Table> {
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Err(Error::input(format!("{source} is empty, expected a header and rows")));
    }
    let delimiter = u8::try_from(format.delimiter).map_err(|_| {
        let found = format.delimiter;
        Error::input(format!("data.delimiter is '{found}', expected one plain character"))
    })?;
    let mut reader = csv::ReaderBuilder::new()
        .delimiter(delimiter)
        .trim(csv::Trim::All)
        // Rows of another length are reported below, with their number.
        .flexible(true)
        .from_reader(bytes);
    let sentence = |error: csv::Error| match error.kind() {
        csv::ErrorKind::Utf8 { .. } => Error::input(format!("{source} is not a text file (UTF-8)")),
        _ => Error::input(format!("{source}: {error}")),
    };
    let header = reader.headers().map_err(sentence)?.clone();
    check_header(&header, source, delimiter)?;
    let mut cells = vec![TextCells::default(); header.len()];
    let (mut record, mut row) = (csv::StringRecord::new(), 0);
    while reader.read_record(&mut record).map_err(sentence)? {
        if record.len() != header.len() {
            return Err(Error::input(format!(
                "{source}: row {} has {} cells, expected {} as in the header",
                row + 1,
                record.len(),
                header.len()
            )));
        }
        for (at, (column, cell)) in cells.iter_mut().zip(&record).enumerate() {
            if !column.push(cell) {
                return Err(Error::input(format!(
                    "{source}: column '{}' holds more than 4 GiB of text, expected less",
                    &header[at]
                )));
            }
        }
        row += 1;
    }
    if row == 0 {
        return Err(Error::input(format!(
            "{source} has a header but no row, expected rows below it"
        )));
    }
    // Spreadsheets put a mark of their own before the first name.
    let names = header.iter().map(|name| name.trim_start_matches('\u{feff}').to_string());
    let named: Vec<(String, TextCells)> = names.zip(cells).collect();
    // To look at every cell takes longer than to read it.
    let column =
        |(name, cells)| Column::new(name, Cells::Text(cells), format.missing_values.clone());
    let columns = named.into_par_iter().map(column).collect();
    Ok(Table { source: source.to_string(), fingerprint: 0, columns, rows: row })
}

/// One column whose name holds another usual delimiter was written with that one.
fn check_header(header: &csv::StringRecord, source: &str, delimiter: u8) -> Result<()> {
    if header.len() != 1 {
        return Ok(());
    }
    let other = [',', ';', '\t', '|']
        .into_iter()
        .find(|other| u32::from(*other) != u32::from(delimiter) && header[0].contains(*other));
    match other {
        Some(other) => Err(Error::input(format!(
            "{source} has one column, '{}'; the delimiter looks like {other:?}: add --set \
             'data.delimiter=\"{}\"' (for predict: --delimiter)",
            &header[0],
            other.escape_default()
        ))),
        None => Ok(()),
    }
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
