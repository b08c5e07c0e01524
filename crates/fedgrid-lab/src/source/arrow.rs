//! Columns of Arrow, in which Parquet files are read, too; and tables from Arrow files and streams (IPC).
//!
//! Whatever the type of a column, its cells are those of the same table as text: dates and times as they are written, truths as
//! words, numbers as numbers.

use std::{
    fmt::Display,
    io::Cursor,
    panic::{self, AssertUnwindSafe},
    sync::{Mutex, PoisonError},
};

use arrow_array::{Array, Int32Array, Int64Array, RecordBatch, cast::AsArray, types};
use arrow_ipc::reader::{FileReader, StreamReader};
use arrow_schema::{ArrowError, DataType, TimeUnit};
use rayon::prelude::*;

use super::{
    cells::{Cells, TextCells},
    moment,
    separators::ReadColumn,
};
use crate::error::{Error, Result};

/// Held while panics are kept quiet, so that the hook taken is the hook put back.
static QUIET: Mutex<()> = Mutex::new(());

/// The first bytes of a file of Arrow, and of a stream.
pub(super) const FILE: &[u8] = b"ARROW1";
pub(super) const STREAM: &[u8] = b"\xff\xff\xff\xff";

/// What is wrong with a cell: its row, and what it is.
pub(super) type WrongCell = (usize, String);

/// Reads the bytes of a file by libraries that assert some of what a damaged one breaks; that is no fault of the program.
pub(super) fn guarded<T>(source: &str, kind: &str, read: impl FnOnce() -> Result<T>) -> Result<T> {
    let _quiet = QUIET.lock().unwrap_or_else(PoisonError::into_inner);
    // The usual hook would print a trace of what becomes one sentence.
    let hook = panic::take_hook();
    panic::set_hook(Box::new(|_| {}));
    let read = panic::catch_unwind(AssertUnwindSafe(read));
    panic::set_hook(hook);
    read.unwrap_or_else(|_| {
        Err(Error::input(format!("{source} is not a whole {kind}: it contradicts itself")))
    })
}

/// A sentence about a file that a library refuses.
pub(super) fn refused(source: &str, kind: &str, reason: impl Display) -> Error {
    let reason = reason.to_string();
    let reason = reason.lines().next().unwrap_or_default();
    let prefixes = ["Parquet error: ", "Ipc error: ", "Parser error: ", "Io error: ", "EOF: "];
    let reason = prefixes.iter().fold(reason, |rest, one| rest.strip_prefix(one).unwrap_or(rest));
    let reason = reason.trim_end_matches('.').replace(". ", ", ").to_lowercase();
    Error::input(format!("{source} is not a whole {kind}: {reason}"))
}

/// Reads an Arrow file or stream.
pub(super) fn columns(bytes: &[u8], source: &str) -> Result<Vec<ReadColumn>> {
    let kind = "Arrow file";
    let broken = |error: ArrowError| refused(source, kind, error);
    guarded(source, kind, || {
        let mut columns: Vec<ReadColumn> = Vec::new();
        let mut add = |batch: std::result::Result<RecordBatch, ArrowError>| {
            add_batch(&mut columns, &batch.map_err(broken)?, source)
        };
        if bytes.starts_with(FILE) {
            let mut reader = FileReader::try_new(Cursor::new(bytes), None).map_err(broken)?;
            // A file without any batch has columns all the same.
            let empty = RecordBatch::new_empty(reader.schema());
            add(Ok(empty))?;
            reader.try_for_each(add)?;
        } else {
            let mut reader = StreamReader::try_new(Cursor::new(bytes), None).map_err(broken)?;
            let empty = RecordBatch::new_empty(reader.schema());
            add(Ok(empty))?;
            reader.try_for_each(add)?;
        }
        Ok(columns)
    })
}

/// Adds the rows of a batch; the first says which columns there are.
fn add_batch(columns: &mut Vec<ReadColumn>, batch: &RecordBatch, source: &str) -> Result<()> {
    if columns.is_empty() {
        let fields = batch.schema();
        let names = fields.fields().iter().map(|field| field.name().clone());
        columns.extend(names.map(|name| ReadColumn { name, cells: Cells::default(), doubt: None }));
    }
    let all = columns.par_iter_mut().zip(batch.columns());
    let added: Vec<Result<()>> =
        all.map(|(column, array)| add_array(column, array.as_ref(), source)).collect();
    added.into_iter().collect()
}

/// Adds cells to a column.
pub(super) fn add_array(column: &mut ReadColumn, array: &dyn Array, source: &str) -> Result<()> {
    let before = column.cells.len();
    let wrong = |(row, found): WrongCell| {
        Error::input(format!("{source}: row {}, column '{}' {found}", row + 1, column.name))
    };
    let more = cells(array).map_err(|(row, found)| wrong((before + row, found)))?;
    if column.cells.append(more) {
        return Ok(());
    }
    let name = &column.name;
    Err(Error::input(format!(
        "{source}: column '{name}' holds more than 4 GiB of text, expected less"
    )))
}

/// The cells of a column.
fn cells(array: &dyn Array) -> std::result::Result<Cells, WrongCell> {
    if let Some(numbers) = number_cells(array) {
        return Ok(numbers);
    }
    Ok(match array.data_type() {
        DataType::Null => Cells::Numbers(vec![f64::NAN; array.len()].into()),
        DataType::Boolean => {
            let word = |truth: bool| if truth { "true" } else { "false" };
            text(array.as_boolean().iter().map(|cell| cell.map(word)))?
        }
        DataType::Utf8 => text(array.as_string::<i32>().iter())?,
        DataType::LargeUtf8 => text(array.as_string::<i64>().iter())?,
        DataType::Utf8View => text(array.as_string_view().iter())?,
        DataType::Binary => bytes(array.as_binary::<i32>().iter())?,
        DataType::LargeBinary => bytes(array.as_binary::<i64>().iter())?,
        DataType::BinaryView => bytes(array.as_binary_view().iter())?,
        DataType::FixedSizeBinary(_) => bytes(array.as_fixed_size_binary().iter())?,
        DataType::Date32
        | DataType::Date64
        | DataType::Timestamp(..)
        | DataType::Time32(_)
        | DataType::Time64(_)
        | DataType::Duration(_) => clock(array)?,
        DataType::Dictionary(..) => {
            let dictionary = array.as_any_dictionary();
            let known = cells(dictionary.values())?;
            // An empty dictionary has no key either.
            let is_empty = known.len() == 0;
            let keys = if is_empty { vec![0; array.len()] } else { dictionary.normalized_keys() };
            let places = keys.into_iter().enumerate();
            let places = places.map(|(row, key)| array.is_valid(row).then_some(key));
            known.chosen(places).ok_or((0, TOO_MUCH.into()))?
        }
        _ => Cells::Nested(array.len()),
    })
}

/// The cells of a column of numbers; none if it is another.
fn number_cells(array: &dyn Array) -> Option<Cells> {
    use types::{
        Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type, Float16Type, Float32Type,
        Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type,
        UInt64Type,
    };
    macro_rules! integers {
        ($kind:ty) => {
            integers(array.as_primitive::<$kind>().iter().map(|cell| cell.map(i64::from)))
        };
    }
    macro_rules! numbers {
        ($kind:ty) => {
            numbers(array.as_primitive::<$kind>().iter().map(|cell| cell.map(f64::from)))
        };
    }
    macro_rules! decimals {
        ($kind:ty) => {{
            let array = array.as_primitive::<$kind>();
            // By its text, so that it is the number that is nearest to it.
            let number = |row| array.value_as_string(row).parse().unwrap_or(f64::NAN);
            numbers((0..array.len()).map(|row| array.is_valid(row).then(|| number(row))))
        }};
    }
    Some(match array.data_type() {
        DataType::Int8 => integers!(Int8Type),
        DataType::Int16 => integers!(Int16Type),
        DataType::Int32 => integers!(Int32Type),
        DataType::Int64 => integers!(Int64Type),
        DataType::UInt8 => integers!(UInt8Type),
        DataType::UInt16 => integers!(UInt16Type),
        DataType::UInt32 => integers!(UInt32Type),
        DataType::UInt64 => large_integers(array.as_primitive::<UInt64Type>().iter()),
        DataType::Float16 => numbers!(Float16Type),
        DataType::Float32 => numbers!(Float32Type),
        DataType::Float64 => numbers!(Float64Type),
        DataType::Decimal32(..) => decimals!(Decimal32Type),
        DataType::Decimal64(..) => decimals!(Decimal64Type),
        DataType::Decimal128(..) => decimals!(Decimal128Type),
        DataType::Decimal256(..) => decimals!(Decimal256Type),
        _ => return None,
    })
}

const TOO_MUCH: &str = "is too much text for one column";

fn integers(cells: impl Iterator<Item = Option<i64>> + Clone) -> Cells {
    match cells.clone().collect::<Option<Vec<i64>>>() {
        Some(cells) => Cells::Integers(cells),
        // Integers have no value for a gap.
        #[expect(clippy::cast_precision_loss, reason = "a table's integers are small")]
        None => numbers(cells.map(|cell| cell.map(|cell| cell as f64))),
    }
}

fn large_integers(cells: impl Iterator<Item = Option<u64>> + Clone) -> Cells {
    let is_small = |cell: &Option<u64>| cell.is_none_or(|cell| i64::try_from(cell).is_ok());
    if cells.clone().all(|cell| is_small(&cell)) {
        return integers(cells.map(|cell| cell.and_then(|cell| i64::try_from(cell).ok())));
    }
    #[expect(clippy::cast_precision_loss, reason = "a table's integers are small")]
    numbers(cells.map(|cell| cell.map(|cell| cell as f64)))
}

fn numbers(cells: impl Iterator<Item = Option<f64>>) -> Cells {
    Cells::Numbers(cells.map(|cell| cell.unwrap_or(f64::NAN)).collect::<Vec<f64>>().into())
}

fn text<T: AsRef<str>>(
    cells: impl Iterator<Item = Option<T>>,
) -> std::result::Result<Cells, WrongCell> {
    let mut text = TextCells::default();
    for (row, cell) in cells.enumerate() {
        let cell = cell.as_ref().map_or("", AsRef::as_ref);
        text.push(cell).then_some(()).ok_or((row, TOO_MUCH.into()))?;
    }
    Ok(Cells::Text(text))
}

fn bytes<'a>(
    cells: impl Iterator<Item = Option<&'a [u8]>>,
) -> std::result::Result<Cells, WrongCell> {
    text(cells.map(|cell| cell.map(String::from_utf8_lossy)))
}

/// Dates, times and durations: never ticks.
fn clock(array: &dyn Array) -> std::result::Result<Cells, WrongCell> {
    let rows = || 0..array.len();
    let raw = array.to_data().into_builder();
    let broken = |error: ArrowError| (0, format!("cannot be read: {error}"));
    let ticks: Vec<i64> = match array.data_type() {
        DataType::Date32 | DataType::Time32(_) => {
            let raw = raw.data_type(DataType::Int32).build().map_err(broken)?;
            let raw = Int32Array::from(raw);
            rows().map(|row| i64::from(raw.value(row))).collect()
        }
        _ => {
            let raw = raw.data_type(DataType::Int64).build().map_err(broken)?;
            Int64Array::from(raw).values().to_vec()
        }
    };
    let valid = |row: usize| array.is_valid(row).then(|| ticks[row]);
    if let DataType::Duration(unit) = array.data_type() {
        #[expect(clippy::cast_precision_loss, reason = "as Python divides durations, too")]
        let days = |ticks: i64| ticks as f64 / (86_400 * per_second(*unit)) as f64;
        return Ok(numbers(rows().map(|row| valid(row).map(days))));
    }
    let written = |row: usize| -> std::result::Result<Option<String>, WrongCell> {
        let Some(ticks) = valid(row) else { return Ok(None) };
        let micros = match array.data_type() {
            DataType::Date32 => ticks.checked_mul(moment::DAY),
            DataType::Date64 => micros(ticks, TimeUnit::Millisecond),
            DataType::Timestamp(unit, _) | DataType::Time32(unit) | DataType::Time64(unit) => {
                micros(ticks, *unit)
            }
            _ => None,
        };
        // Other years have more digits or a sign, and would not be read as dates again.
        let text = micros.map(moment::written).filter(|text| text.find('-') == Some(4));
        let text = text.ok_or_else(|| (row, "is beyond the years 0 to 9999".to_string()))?;
        let is_time = matches!(array.data_type(), DataType::Time32(_) | DataType::Time64(_));
        // Midnight of the first day has no time, as dates have none.
        Ok(Some(match text.split_once(' ').filter(|_| is_time) {
            Some((_, time)) => time.to_string(),
            None if is_time => "00:00:00".into(),
            None => text,
        }))
    };
    let cells = rows().map(written).collect::<std::result::Result<Vec<_>, _>>()?;
    text(cells.into_iter())
}

fn per_second(unit: TimeUnit) -> i64 {
    match unit {
        TimeUnit::Second => 1,
        TimeUnit::Millisecond => 1_000,
        TimeUnit::Microsecond => 1_000_000,
        TimeUnit::Nanosecond => 1_000_000_000,
    }
}

/// Microseconds; what is finer is cut off.
fn micros(ticks: i64, unit: TimeUnit) -> Option<i64> {
    match unit {
        TimeUnit::Nanosecond => Some(ticks.div_euclid(1000)),
        _ => ticks.checked_mul(1_000_000 / per_second(unit)),
    }
}
