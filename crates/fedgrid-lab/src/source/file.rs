//! One file as a table: what it is, by its first bytes, and its columns.

use std::{
    io::{self, Read},
    path::Path,
};

use super::{
    arrow, csv,
    csv::{TextRefusal, TextTable},
    format::{FileFormat, Recognised},
    input::{Packing, TableInput, head},
    letters::Letters,
    parquet,
    separators::{ReadColumn, settle},
};
use crate::error::{Error, Result};

/// So many bytes tell what a file is.
const FIRST: usize = 1 << 12;

/// A table as it was read from one file.
pub(super) struct ReadTable {
    pub(super) source: String,
    pub(super) columns: Vec<ReadColumn>,
    pub(super) rows: usize,
    pub(super) fingerprint: u64,
    pub(super) recognised: Recognised,
}

/// What a file holds, by its first bytes and its ending.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Content {
    Text,
    Parquet,
    Arrow,
}

impl Content {
    fn of(first: &[u8], ending: &str) -> std::result::Result<Self, &'static str> {
        let begins = |mark: &[u8]| first.starts_with(mark);
        match ending {
            // The ending goes first: a damaged file of this name is not to be taken for text.
            "parquet" => Ok(Self::Parquet),
            _ if begins(b"PAR1") => Ok(Self::Parquet),
            _ if begins(arrow::FILE) || begins(arrow::STREAM) => Ok(Self::Arrow),
            _ if begins(b"FEA1") => Err("is a Feather file of version 1, expected version 2"),
            _ if begins(b"PK\x03\x04") => {
                Err("is a workbook or a zip archive, expected a table; save it as CSV")
            }
            _ if begins(b"BZh") || begins(b"\xfd7zXZ\0") => {
                Err("is compressed with bzip2 or xz, expected gzip or zstd")
            }
            "arrow" | "feather" | "ipc" => Err("is not an Arrow file (IPC)"),
            _ => Ok(Self::Text),
        }
    }
}

impl ReadTable {
    /// Reads a table; `source` is its name in messages, whose ending may say what it is.
    pub(super) fn new(input: &TableInput<'_>, source: &str, format: &FileFormat) -> Result<Self> {
        let ending = Path::new(source).extension().unwrap_or_default().to_ascii_lowercase();
        match Self::read(input, (source, &ending.to_string_lossy()), format, None) {
            // What is not UTF-8 is one of the letters that had a byte each before that.
            Err(TextRefusal::NotUtf8) if format.keys.encoding.is_none() => {
                let ending = ending.to_string_lossy();
                Self::read(input, (source, &ending), format, Some(Letters::Latin1))
            }
            other => other,
        }
        .map_err(|refusal| match refusal {
            TextRefusal::Refused(error) => error,
            TextRefusal::NotUtf8 => Error::input(format!(
                "{source} is not a text file in UTF-8; leave out {}encoding, or set it to \"latin-1\"",
                format.place
            )),
            TextRefusal::Broken(error) => match error.kind() {
                io::ErrorKind::InvalidData => Error::input(format!(
                    "{source} is not a text file (UTF-8, UTF-16 or Latin-1)"
                )),
                _ => Error::input(format!("cannot read {source}: {error}")),
            },
        })
    }

    fn read(
        input: &TableInput<'_>,
        (source, ending): (&str, &str),
        format: &FileFormat,
        letters: Option<Letters>,
    ) -> std::result::Result<Self, TextRefusal> {
        let refused = |sentence: String| TextRefusal::Refused(Error::input(sentence));
        let (mut stream, fingerprint) = input.open().map_err(TextRefusal::Refused)?;
        let first = head(&mut stream, FIRST)?;
        let packing = Packing::of(&first);
        let damaged = |error: io::Error| match packing.name() {
            Some(name) => refused(format!("{source} is not a whole {name} file: {error}")),
            None => TextRefusal::Broken(error),
        };
        let mut stream =
            packing.unpacked(Box::new(io::Cursor::new(first).chain(stream))).map_err(damaged)?;
        let first = head(&mut stream, FIRST).map_err(damaged)?;
        let content =
            Content::of(&first, ending).map_err(|found| refused(format!("{source} {found}")))?;
        let mut words: Vec<String> = packing.name().map(String::from).into_iter().collect();
        let letters = letters.unwrap_or_else(|| Letters::of(&first, format.keys.encoding));
        let mut stream = io::Cursor::new(first).chain(stream);
        let (mut columns, rows, delimiter) = if content == Content::Text {
            words.extend(letters.name().map(String::from));
            let read = csv::table(letters.as_utf8(stream), source, format);
            let TextTable { names, cells, rows, layout } =
                read.map_err(|refusal| match refusal {
                    // What is wrong with letters has no words of its own.
                    TextRefusal::Broken(error) if error.get_ref().is_some() => damaged(error),
                    other => other,
                })?;
            words.extend(layout.words);
            let column = |(name, cells)| ReadColumn { name, cells, doubt: None };
            (names.into_iter().zip(cells).map(column).collect(), rows, char::from(layout.delimiter))
        } else {
            let mut bytes = Vec::new();
            stream.read_to_end(&mut bytes).map_err(damaged)?;
            let columns = whole(content, bytes, source).map_err(TextRefusal::Refused)?;
            let rows = columns.first().map_or(0, |column| column.cells.len());
            if rows == 0 && !format.may_be_empty {
                return Err(refused(format!("{source} has no row")));
            }
            words.extend(content.unexpected(ending));
            (columns, rows, ',')
        };
        let found = settle(&mut columns, format, delimiter);
        words.extend(found.words);
        let (source, fingerprint) = (source.to_string(), fingerprint.value());
        let recognised = Recognised { words, by_file: Vec::new(), decimal: found.decimal };
        Ok(Self { source, columns, rows, fingerprint, recognised })
    }
}

impl Content {
    /// What a reader is told where the ending of a file says something else.
    fn unexpected(self, ending: &str) -> Option<String> {
        match self {
            Self::Parquet if ending != "parquet" => Some("a Parquet file".into()),
            Self::Arrow if !["arrow", "feather", "ipc"].contains(&ending) => {
                Some("an Arrow file".into())
            }
            _ => None,
        }
    }
}

/// The columns of a file that is read as a whole.
fn whole(content: Content, bytes: Vec<u8>, source: &str) -> Result<Vec<ReadColumn>> {
    match content {
        Content::Parquet => parquet::columns(bytes, source),
        _ => arrow::columns(&bytes, source),
    }
}
