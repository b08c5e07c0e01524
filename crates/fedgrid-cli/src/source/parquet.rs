//! Tables from Parquet files.

use parquet::{
    file::reader::{FileReader, SerializedFileReader},
    record::Field,
};

use super::{Cells, Column, Table};
use crate::error::{Error, Result};

/// Reads a Parquet file of plain columns: numbers, text, truth values.
pub(super) fn table(bytes: Vec<u8>, source: &str) -> Result<Table> {
    if bytes.is_empty() {
        return Err(Error::input(format!("{source} is empty, expected a Parquet file")));
    }
    let sentence = |error: parquet::errors::ParquetError| {
        Error::input(format!("{source} cannot be read as Parquet: {error}"))
    };
    let reader = SerializedFileReader::new(bytes::Bytes::from(bytes)).map_err(sentence)?;
    let names: Vec<String> = reader
        .metadata()
        .file_metadata()
        .schema()
        .get_fields()
        .iter()
        .map(|field| field.name().to_string())
        .collect();
    let mut cells: Vec<Option<Cells>> = vec![None; names.len()];
    let mut rows = 0;
    for record in reader.get_row_iter(None).map_err(sentence)? {
        let record = record.map_err(sentence)?;
        for (place, (name, field)) in record.get_column_iter().enumerate() {
            push(&mut cells[place], field, rows).map_err(|found| {
                Error::input(format!("{source}: row {}, column '{name}' {found}", rows + 1))
            })?;
        }
        rows += 1;
    }
    if rows == 0 {
        return Err(Error::input(format!("{source} has no row")));
    }
    let columns = names
        .into_iter()
        .zip(cells)
        .map(|(name, cells)| Column { name, cells: cells.unwrap_or(Cells::Numbers(Vec::new())) });
    Ok(Table { source: source.to_string(), fingerprint: 0, columns: columns.collect(), rows })
}

/// Adds a value to its column; the first value says what kind of column it is. A gap is kept as
/// not-a-number or as empty text, and refused by name where a value is needed.
fn push(cells: &mut Option<Cells>, field: &Field, row: usize) -> std::result::Result<(), String> {
    let value = Value::of(field)?;
    let column = cells.get_or_insert_with(|| match value {
        Value::Text(_) => Cells::Text(Vec::new()),
        Value::Integer(_) => Cells::Integers(Vec::new()),
        Value::Number(_) | Value::Gap => Cells::Numbers(Vec::new()),
    });
    match (column, value) {
        (Cells::Text(cells), Value::Text(text)) => cells.push(text),
        (Cells::Text(cells), Value::Gap) => cells.push(String::new()),
        (Cells::Integers(cells), Value::Integer(value)) => cells.push(value),
        (Cells::Numbers(cells), Value::Number(value)) => cells.push(value),
        (Cells::Numbers(cells), Value::Gap) => cells.push(f64::NAN),
        #[expect(clippy::cast_precision_loss, reason = "a table's integers are small")]
        (Cells::Numbers(cells), Value::Integer(value)) => cells.push(value as f64),
        (column @ Cells::Integers(_), Value::Gap) => {
            let Cells::Integers(known) = column else { unreachable!("just matched") };
            #[expect(clippy::cast_precision_loss, reason = "a table's integers are small")]
            let mut numbers: Vec<f64> = known.iter().map(|&value| value as f64).collect();
            numbers.push(f64::NAN);
            *column = Cells::Numbers(numbers);
        }
        // Gaps came first, and now the kind shows.
        (column @ Cells::Numbers(_), Value::Text(text)) => {
            let mut texts = vec![String::new(); row];
            texts.push(text);
            *column = Cells::Text(texts);
        }
        _ => return Err("is of another type than the rows above".into()),
    }
    Ok(())
}

enum Value {
    Text(String),
    Integer(i64),
    Number(f64),
    Gap,
}

impl Value {
    fn of(field: &Field) -> std::result::Result<Self, String> {
        Ok(match field {
            Field::Null => Self::Gap,
            Field::Bool(value) => Self::Integer(i64::from(*value)),
            Field::Byte(value) => Self::Integer(i64::from(*value)),
            Field::Short(value) => Self::Integer(i64::from(*value)),
            Field::Int(value) | Field::Date(value) => Self::Integer(i64::from(*value)),
            Field::Long(value) | Field::TimestampMillis(value) | Field::TimestampMicros(value) => {
                Self::Integer(*value)
            }
            Field::UByte(value) => Self::Integer(i64::from(*value)),
            Field::UShort(value) => Self::Integer(i64::from(*value)),
            Field::UInt(value) => Self::Integer(i64::from(*value)),
            Field::Float(value) => Self::Number(f64::from(*value)),
            Field::Double(value) => Self::Number(*value),
            Field::Str(value) => Self::Text(value.clone()),
            Field::Bytes(value) => Self::Text(String::from_utf8_lossy(value.data()).into_owned()),
            other => return Err(format!("holds {other}, expected a number or text")),
        })
    }
}
