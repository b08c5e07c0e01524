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

use super::{Column, FileFormat, Table, cells::TextCells, column::Cells, moment};
use crate::error::{Error, Result};

/// Held while panics are kept quiet, so that the hook taken is the hook put back.
static QUIET: Mutex<()> = Mutex::new(());

/// Reads a Parquet file of plain columns: numbers, text, truth values, dates and times.
pub(super) fn table(bytes: Vec<u8>, source: &str, format: &FileFormat) -> Result<Table> {
    if bytes.is_empty() {
        return Err(Error::input(format!("{source} is empty, expected a Parquet file")));
    }
    // The reader asserts some of what a damaged file breaks; that is no fault of the program.
    let _quiet = QUIET.lock().unwrap_or_else(PoisonError::into_inner);
    let hook = panic::take_hook();
    panic::set_hook(Box::new(|_| {}));
    let read = panic::catch_unwind(|| whole_table(bytes, source, format));
    panic::set_hook(hook);
    read.unwrap_or_else(|_| {
        Err(Error::input(format!("{source} is not a whole Parquet file: it contradicts itself")))
    })
}

fn whole_table(bytes: Vec<u8>, source: &str, format: &FileFormat) -> Result<Table> {
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
    if let Some(nested) = fields.iter().find(|field| field.is_group()) {
        return Err(Error::input(format!(
            "{source}: column '{}' is nested, expected plain columns; take it out, or apart",
            nested.name()
        )));
    }
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
    let columns = names.into_iter().zip(cells).map(|(name, cells)| {
        // Text is what it looks like, as in a CSV file.
        let cells = cells.unwrap_or(Cells::Numbers(Vec::new()));
        Column::new(name, cells, format.missing_values.clone())
    });
    Ok(Table { source: source.to_string(), fingerprint: 0, columns: columns.collect(), rows })
}

/// Adds a value to its column; the first value says what kind of column it is. A gap is kept as
/// not-a-number or as empty text.
fn push(cells: &mut Option<Cells>, field: &Field, row: usize) -> std::result::Result<(), String> {
    let value = Value::of(field)?;
    let column = cells.get_or_insert_with(|| match value {
        Value::Text(_) => Cells::Text(TextCells::default()),
        Value::Integer(_) => Cells::Integers(Vec::new()),
        Value::Number(_) | Value::Gap => Cells::Numbers(Vec::new()),
    });
    let mut is_kept = true;
    match (column, value) {
        (Cells::Text(cells), Value::Text(text)) => is_kept = cells.push(&text),
        (Cells::Text(cells), Value::Gap) => is_kept = cells.push(""),
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
        (column @ Cells::Numbers(_), Value::Text(text)) if is_only_gaps(column) => {
            let gaps = std::iter::repeat_n("", row);
            *column = Cells::Text(gaps.chain([text.as_str()]).collect());
        }
        _ => return Err("is of another type than the rows above".into()),
    }
    if is_kept { Ok(()) } else { Err("is too much text for one column".into()) }
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
    Integer(i64),
    Number(f64),
    Gap,
}

impl Value {
    fn of(field: &Field) -> std::result::Result<Self, String> {
        Ok(match field {
            Field::Null => Self::Gap,
            Field::Bool(value) => Self::Text(value.to_string()),
            Field::Byte(value) => Self::Integer(i64::from(*value)),
            Field::Short(value) => Self::Integer(i64::from(*value)),
            Field::Int(value) => Self::Integer(i64::from(*value)),
            Field::Long(value) => Self::Integer(*value),
            // Ticks since some day are no quantity to learn from; files of text write days and hours.
            Field::Date(days) => Self::Text(moment::written(i64::from(*days) * moment::DAY)),
            Field::TimestampMillis(millis) => Self::moment(millis.checked_mul(1000))?,
            Field::TimestampMicros(micros) => Self::moment(Some(*micros))?,
            Field::TimeMillis(_) | Field::TimeMicros(_) => Self::Text(field.to_string()),
            Field::Decimal(_) => {
                let number = field
                    .to_string()
                    .parse()
                    .map_err(|_| format!("is '{field}', expected a number"));
                Self::Number(number?)
            }
            Field::UByte(value) => Self::Integer(i64::from(*value)),
            Field::UShort(value) => Self::Integer(i64::from(*value)),
            Field::UInt(value) => Self::Integer(i64::from(*value)),
            Field::Float(value) => Self::Number(f64::from(*value)),
            Field::Double(value) => Self::Number(*value),
            Field::Str(value) => Self::Text(value.clone()),
            Field::Bytes(value) => Self::Text(String::from_utf8_lossy(value.data()).into_owned()),
            Field::ULong(value) =>
            {
                #[expect(clippy::cast_precision_loss, reason = "a table's integers are small")]
                i64::try_from(*value).map_or(Self::Number(*value as f64), Self::Integer)
            }
            Field::Float16(value) => Self::Number(value.to_f64()),
            other => return Err(format!("holds {other}, expected a number or text")),
        })
    }

    /// A moment as text, if it is one of years with four digits.
    fn moment(micros: Option<i64>) -> std::result::Result<Self, String> {
        let text = micros.map(moment::written).filter(|text| text.find('-') == Some(4));
        text.map(Self::Text).ok_or_else(|| "is beyond the years 0 to 9999".into())
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

    fn read(bytes: Vec<u8>) -> Result<Table> {
        table(bytes, "rows.parquet", &','.into())
    }

    #[test]
    fn columns_keep_their_kinds() {
        let table = read(file()).unwrap();
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
                if let Err(error) = read(damaged) {
                    let sentence = error.to_string();
                    assert!(sentence.starts_with("rows.parquet"), "{sentence}");
                    assert!(!sentence.contains('\n'), "{sentence}");
                }
            }
            assert!(read(whole[..index].to_vec()).is_err());
        }
    }
}
