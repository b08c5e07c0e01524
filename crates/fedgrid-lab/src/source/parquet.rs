//! Tables from Parquet files.

use std::{
    panic,
    sync::{Arc, Mutex, PoisonError},
};

use parquet::{
    basic::{Compression, LogicalType, Repetition, TimeUnit, Type as PhysicalType},
    data_type::{ByteArray, ByteArrayType, DoubleType},
    errors::ParquetError,
    file::{
        properties::WriterProperties,
        reader::{FileReader, SerializedFileReader},
        writer::SerializedFileWriter,
    },
    record::Field,
    schema::types::Type,
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
    let fields = reader.metadata().file_metadata().schema().get_fields();
    let names: Vec<String> = fields.iter().map(|field| field.name().to_string()).collect();
    let in_nanoseconds: Vec<bool> = fields.iter().map(|field| is_in_nanoseconds(field)).collect();
    let mut cells: Vec<Option<Cells>> = vec![None; names.len()];
    let mut rows = 0;
    for record in reader.get_row_iter(None).map_err(sentence)? {
        let record = record.map_err(sentence)?;
        for (index, (name, field)) in record.get_column_iter().enumerate() {
            let micros = match field {
                Field::Long(nanos) if in_nanoseconds[index] => {
                    Some(Field::TimestampMicros(nanos.div_euclid(1000)))
                }
                _ => None,
            };
            push(&mut cells[index], micros.as_ref().unwrap_or(field), rows).map_err(|found| {
                Error::input(format!("{source}: row {}, column '{name}' {found}", rows + 1))
            })?;
        }
        rows += 1;
    }
    if rows == 0 {
        return Err(Error::input(format!("{source} has no row")));
    }
    let columns = names.into_iter().zip(cells).map(|(name, cells)| match cells {
        // Text is what it looks like, as in a CSV file.
        Some(Cells::Text(cells)) => Column::of_text(name, cells),
        cells => Column { name, cells: cells.unwrap_or(Cells::Numbers(Vec::new())) },
    });
    Ok(Table { source: source.to_string(), fingerprint: 0, columns: columns.collect(), rows })
}

/// Adds a value to its column; the first value says what kind of column it is. A gap is kept as
/// not-a-number or as empty text, and refused by name where a value is needed.
fn push(cells: &mut Option<Cells>, field: &Field, row: usize) -> std::result::Result<(), String> {
    let value = Value::of(field)?;
    let column = cells.get_or_insert_with(|| match value {
        Value::Text(_) => Cells::Text(Vec::new()),
        Value::Integer(_) => Cells::Integers(Vec::new()),
        Value::Truth(_) => Cells::Truths(Vec::new()),
        Value::Time(_) => Cells::Times(Vec::new()),
        Value::Number(_) | Value::Gap => Cells::Numbers(Vec::new()),
    });
    match (column, value) {
        (Cells::Text(cells), Value::Text(text))
        | (Cells::Truths(cells), Value::Truth(text))
        | (Cells::Times(cells), Value::Time(text)) => cells.push(text),
        (Cells::Text(cells) | Cells::Truths(cells) | Cells::Times(cells), Value::Gap) => {
            cells.push(String::new());
        }
        (Cells::Integers(cells), Value::Integer(value)) => cells.push(value),
        (Cells::Numbers(cells), Value::Number(value)) => cells.push(value),
        (Cells::Numbers(cells), Value::Gap) => cells.push(f64::NAN),
        #[expect(clippy::cast_precision_loss, reason = "a table's integers are small")]
        (Cells::Numbers(cells), Value::Integer(value)) => cells.push(value as f64),
        // Integers have no value for a gap, so the column becomes one of numbers.
        (column @ Cells::Integers(_), Value::Gap) => {
            let Cells::Integers(known) = column else { unreachable!("just matched") };
            #[expect(clippy::cast_precision_loss, reason = "a table's integers are small")]
            let mut numbers: Vec<f64> = known.iter().map(|&value| value as f64).collect();
            numbers.push(f64::NAN);
            *column = Cells::Numbers(numbers);
        }
        // Gaps came first, and now the kind shows.
        (column @ Cells::Numbers(_), value) if is_only_gaps(column) => {
            let (text, kind): (_, fn(Vec<String>) -> Cells) = match value {
                Value::Truth(text) => (text, Cells::Truths),
                Value::Time(text) => (text, Cells::Times),
                Value::Text(text) => (text, Cells::Text),
                Value::Integer(_) | Value::Number(_) | Value::Gap => unreachable!("matched above"),
            };
            let mut texts = vec![String::new(); row];
            texts.push(text);
            *column = kind(texts);
        }
        _ => return Err("is of another type than the rows above".into()),
    }
    Ok(())
}

/// Whether all rows so far were gaps.
fn is_only_gaps(cells: &Cells) -> bool {
    matches!(cells, Cells::Numbers(cells) if cells.iter().all(|cell| cell.is_nan()))
}

/// Whether a column holds nanoseconds, which the reader gives as plain integers.
fn is_in_nanoseconds(field: &Type) -> bool {
    let kind = field.get_basic_info().logical_type_ref();
    matches!(kind, Some(LogicalType::Timestamp(time)) if time.unit == TimeUnit::NANOS)
}

enum Value {
    Text(String),
    Truth(String),
    Time(String),
    Integer(i64),
    Number(f64),
    Gap,
}

impl Value {
    fn of(field: &Field) -> std::result::Result<Self, String> {
        Ok(match field {
            Field::Null => Self::Gap,
            Field::Bool(value) => Self::Truth(value.to_string()),
            Field::Byte(value) => Self::Integer(i64::from(*value)),
            Field::Short(value) => Self::Integer(i64::from(*value)),
            Field::Int(value) => Self::Integer(i64::from(*value)),
            Field::Long(value) => Self::Integer(*value),
            // Ticks since some day are no quantity to learn from.
            Field::Date(_)
            | Field::TimeMillis(_)
            | Field::TimeMicros(_)
            | Field::TimestampMillis(_)
            | Field::TimestampMicros(_) => Self::Time(field.to_string()),
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

/// A column to be written.
#[derive(Debug)]
pub enum Written {
    /// Cells of text.
    Text(Vec<String>),
    /// Cells of numbers.
    Numbers(Vec<f64>),
}

/// A Parquet file of these columns, all of one length.
#[must_use]
pub fn parquet_bytes(columns: &[(String, Written)]) -> Vec<u8> {
    let written = || -> std::result::Result<Vec<u8>, ParquetError> {
        let field = |(name, column): &(String, Written)| {
            let (kind, logical) = match column {
                Written::Text(_) => (PhysicalType::BYTE_ARRAY, Some(LogicalType::String)),
                Written::Numbers(_) => (PhysicalType::DOUBLE, None),
            };
            let field = Type::primitive_type_builder(name, kind).with_logical_type(logical);
            field.with_repetition(Repetition::REQUIRED).build().map(Arc::new)
        };
        let fields = columns.iter().map(field).collect::<std::result::Result<Vec<_>, _>>()?;
        let schema = Type::group_type_builder("predictions").with_fields(fields).build()?;
        let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
        let mut file = SerializedFileWriter::new(Vec::new(), schema.into(), properties.into())?;
        let mut group = file.next_row_group()?;
        for (_, column) in columns {
            let mut writer = group.next_column()?.expect("the schema has a field for each column");
            match column {
                Written::Text(cells) => {
                    let cells: Vec<ByteArray> =
                        cells.iter().map(|cell| cell.as_str().into()).collect();
                    writer.typed::<ByteArrayType>().write_batch(&cells, None, None)?;
                }
                Written::Numbers(cells) => {
                    writer.typed::<DoubleType>().write_batch(cells, None, None)?;
                }
            }
            writer.close()?;
        }
        group.close()?;
        file.into_inner()
    };
    written().expect("memory takes all")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two rows of a name and a number.
    fn file() -> Vec<u8> {
        parquet_bytes(&[
            ("node".into(), Written::Text(vec!["a".into(), "b".into()])),
            ("x".into(), Written::Numbers(vec![1.5, -2.0])),
        ])
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
        for index in 0..whole.len() {
            for flip in [0x01, 0x10, 0x80, 0xff] {
                let mut damaged = whole.clone();
                damaged[index] ^= flip;
                if let Err(error) = table(damaged, "rows.parquet") {
                    let sentence = error.to_string();
                    assert!(sentence.starts_with("rows.parquet"), "{sentence}");
                    assert!(!sentence.contains('\n'), "{sentence}");
                }
            }
            assert!(table(whole[..index].to_vec(), "rows.parquet").is_err());
        }
    }
}
