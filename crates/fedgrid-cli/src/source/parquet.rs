//! Tables from Parquet files.

use std::{
    panic,
    sync::{Mutex, PoisonError},
};

use parquet::{
    errors::ParquetError,
    file::reader::{FileReader, SerializedFileReader},
    record::Field,
};

use super::{Cells, Column, Table};
use crate::error::{Error, Result};

/// Held while panics are kept quiet, so that the hook taken is the hook put back.
static QUIET: Mutex<()> = Mutex::new(());

/// Reads a Parquet file of plain columns: numbers, text, truth values.
pub(super) fn table(bytes: Vec<u8>, source: &str) -> Result<Table> {
    if bytes.is_empty() {
        return Err(Error::input(format!("{source} is empty, expected a Parquet file")));
    }
    // The reader asserts some of what a damaged file breaks; that is no fault of the program.
    let _quiet = QUIET.lock().unwrap_or_else(PoisonError::into_inner);
    let hook = panic::take_hook();
    panic::set_hook(Box::new(|_| {}));
    let read = panic::catch_unwind(|| whole_table(bytes, source));
    panic::set_hook(hook);
    read.unwrap_or_else(|_| {
        Err(Error::input(format!("{source} is not a whole Parquet file: it contradicts itself")))
    })
}

fn whole_table(bytes: Vec<u8>, source: &str) -> Result<Table> {
    let sentence = |error: ParquetError| {
        let reason = match error {
            ParquetError::General(reason) | ParquetError::EOF(reason) => reason,
            other => other.to_string(),
        };
        let reason = reason.replace(". ", ", ").to_lowercase();
        Error::input(format!("{source} is not a whole Parquet file: {reason}"))
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use parquet::{
        data_type::{ByteArray, ByteArrayType, DoubleType},
        file::{properties::WriterProperties, writer::SerializedFileWriter},
        schema::parser::parse_message_type,
    };

    use super::*;

    /// Two rows of a name and a number.
    fn file() -> Vec<u8> {
        let schema = "message rows { REQUIRED BINARY node (UTF8); REQUIRED DOUBLE x; }";
        let schema = Arc::new(parse_message_type(schema).unwrap());
        let mut bytes = Vec::new();
        let properties = Arc::new(WriterProperties::default());
        let mut writer = SerializedFileWriter::new(&mut bytes, schema, properties).unwrap();
        let mut group = writer.next_row_group().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        let names = [ByteArray::from("a"), ByteArray::from("b")];
        column.typed::<ByteArrayType>().write_batch(&names, None, None).unwrap();
        column.close().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        column.typed::<DoubleType>().write_batch(&[1.5, -2.0], None, None).unwrap();
        column.close().unwrap();
        group.close().unwrap();
        writer.close().unwrap();
        bytes
    }

    #[test]
    fn columns_keep_their_kinds() {
        let table = table(file(), "rows.parquet").unwrap();
        assert_eq!(table.names_in("node").unwrap(), ["a", "b"]);
        assert_eq!(table.numbers("x").unwrap(), [1.5, -2.0]);
    }

    #[test]
    fn a_damaged_file_is_refused_or_read_but_never_ends_the_program() {
        let whole = file();
        for place in 0..whole.len() {
            for flip in [0x01, 0x10, 0x80, 0xff] {
                let mut damaged = whole.clone();
                damaged[place] ^= flip;
                if let Err(error) = table(damaged, "rows.parquet") {
                    let sentence = error.to_string();
                    assert!(sentence.starts_with("rows.parquet"), "{sentence}");
                    assert!(!sentence.contains('\n'), "{sentence}");
                }
            }
            assert!(table(whole[..place].to_vec(), "rows.parquet").is_err());
        }
    }
}
