//! Tables from Parquet files.

use std::sync::Arc;

use bytes::Bytes;
use parquet::{
    arrow::{
        ProjectionMask,
        arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder},
    },
    basic::{Compression, LogicalType, Repetition, Type as PhysicalType},
    data_type::{ByteArray, ByteArrayType, DoubleType},
    errors::ParquetError,
    file::{properties::WriterProperties, writer::SerializedFileWriter},
    schema::types::Type,
};
use rayon::prelude::*;

use super::{
    arrow::{add_array, guarded, refused},
    cells::Cells,
    separators::ReadColumn,
};
use crate::error::{Error, Result};

/// How many rows of a column are read at once.
const ROWS_AT_ONCE: usize = 1 << 16;

/// Reads a Parquet file: numbers, text, truth values, dates and times; nested columns keep their name only.
pub(super) fn columns(bytes: Vec<u8>, source: &str) -> Result<Vec<ReadColumn>> {
    let kind = "Parquet file";
    if bytes.is_empty() {
        return Err(Error::input(format!("{source} is empty, expected a {kind}")));
    }
    let bytes = Bytes::from(bytes);
    guarded(source, kind, || {
        let metadata = ArrowReaderMetadata::load(&bytes, ArrowReaderOptions::new());
        let metadata = metadata.map_err(|error| refused(source, kind, error))?;
        let count = metadata.schema().fields().len();
        // A reader for each column, so that all cores have one.
        let columns: Vec<Result<ReadColumn>> =
            (0..count).into_par_iter().map(|at| column(&bytes, &metadata, at, source)).collect();
        columns.into_iter().collect()
    })
}

/// One column of all row groups.
fn column(
    bytes: &Bytes,
    metadata: &ArrowReaderMetadata,
    at: usize,
    source: &str,
) -> Result<ReadColumn> {
    let field = metadata.schema().field(at);
    let mut column =
        ReadColumn { name: field.name().clone(), cells: Cells::default(), doubt: None };
    if field.data_type().is_nested() {
        let rows = metadata.metadata().file_metadata().num_rows();
        column.cells = Cells::Nested(usize::try_from(rows).unwrap_or_default());
        return Ok(column);
    }
    let builder =
        ParquetRecordBatchReaderBuilder::new_with_metadata(bytes.clone(), metadata.clone());
    let reader = builder
        .with_projection(ProjectionMask::roots(metadata.parquet_schema(), [at]))
        .with_batch_size(ROWS_AT_ONCE)
        .build()
        .map_err(|error| refused(source, "Parquet file", error))?;
    for batch in reader {
        let batch = batch.map_err(|error| refused(source, "Parquet file", error))?;
        add_array(&mut column, batch.column(0).as_ref(), source)?;
    }
    Ok(column)
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

    fn read(bytes: Vec<u8>) -> Result<Vec<ReadColumn>> {
        columns(bytes, "rows.parquet")
    }

    #[test]
    fn columns_keep_their_kinds() {
        let columns = read(file()).unwrap();
        let texts = |at: usize| [0, 1].map(|row| columns[at].cells.text(row).into_owned());
        assert_eq!((columns[0].name.as_str(), texts(0)), ("node", ["a".into(), "b".into()]));
        assert_eq!((columns[1].name.as_str(), texts(1)), ("x", ["1.5".into(), "-2".into()]));
        assert!(matches!(columns[1].cells, Cells::Numbers(_)));
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
