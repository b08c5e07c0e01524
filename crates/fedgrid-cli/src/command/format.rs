//! Flags that say how a table is written, where it is not as it looks.

use std::path::PathBuf;

use clap::Args;
use fedgrid_lab::{
    error::{Error, Result},
    experiment::{EncodingKey, FileKeys, TableFiles},
};
use toml::{Table, Value};

#[derive(Debug, Args)]
pub(super) struct FormatFlags {
    /// The character between cells, or tab, where it is not the one that is recognised (key data.format.delimiter).
    #[arg(long, value_name = "CHARACTER")]
    delimiter: Option<String>,

    /// The character before decimals, . or , (key data.format.decimal).
    #[arg(long, value_name = "CHARACTER")]
    decimal: Option<String>,

    /// The character between thousands (key data.format.thousands).
    #[arg(long, value_name = "CHARACTER")]
    thousands: Option<String>,

    /// The character around cells that hold delimiters (key data.format.quote).
    #[arg(long, value_name = "CHARACTER")]
    quote: Option<String>,

    /// How letters are written: utf-8, utf-16 or latin-1 (key data.format.encoding).
    #[arg(long, value_name = "NAME")]
    encoding: Option<String>,
}

impl FormatFlags {
    fn given(&self) -> impl Iterator<Item = (&'static str, &String)> {
        let all = [
            ("delimiter", &self.delimiter),
            ("decimal", &self.decimal),
            ("thousands", &self.thousands),
            ("quote", &self.quote),
            ("encoding", &self.encoding),
        ];
        all.into_iter().filter_map(|(key, value)| Some((key, value.as_ref()?)))
    }

    /// Puts the flags in place of keys.
    pub(super) fn apply(&self, table: &mut Table) {
        for (key, value) in self.given() {
            let data = table.entry("data").or_insert_with(|| Value::Table(Table::new()));
            let Some(data) = data.as_table_mut() else { return };
            let format = data.entry("format").or_insert_with(|| Value::Table(Table::new()));
            if let Some(format) = format.as_table_mut() {
                format.insert(key.into(), Value::String(value.clone()));
            }
        }
    }

    /// The same for a table that is no part of an experiment.
    pub(super) fn keys(&self) -> Result<FileKeys> {
        let mut keys = FileKeys::default();
        for (key, value) in self.given() {
            let place = match key {
                "delimiter" => &mut keys.delimiter,
                "decimal" => &mut keys.decimal,
                "thousands" => &mut keys.thousands,
                "quote" => &mut keys.quote,
                _ => {
                    keys.encoding = Some(encoding(value)?);
                    continue;
                }
            };
            *place = Some(character(key, value)?);
        }
        keys.check("--").map_err(Error::input)?;
        Ok(keys)
    }
}

fn character(key: &str, value: &str) -> Result<char> {
    let mut letters = value.chars();
    match (value, letters.next(), letters.next()) {
        // A shell takes the key for itself, to complete names.
        ("\\t" | "tab", ..) => Ok('\t'),
        (_, Some(one), None) => Ok(one),
        _ => Err(Error::input(format!("--{key} is \"{value}\", expected one character"))),
    }
}

fn encoding(value: &str) -> Result<EncodingKey> {
    match value {
        "utf-8" => Ok(EncodingKey::Utf8),
        "utf-16" => Ok(EncodingKey::Utf16),
        "latin-1" => Ok(EncodingKey::Latin1),
        _ => Err(Error::input(format!(
            "--encoding is \"{value}\", expected utf-8, utf-16 or latin-1"
        ))),
    }
}

/// Files that flags name; none if there are none.
pub(super) fn files(names: &[PathBuf]) -> Option<TableFiles> {
    match names {
        [] => None,
        [one] => Some(one.clone().into()),
        several => Some(TableFiles::Several(several.to_vec())),
    }
}

/// The same as a value of the key data.file, each name as a function gives it.
pub(super) fn files_value(names: &[PathBuf], value: impl Fn(&PathBuf) -> Value) -> Option<Value> {
    match names {
        [] => None,
        [one] => Some(value(one)),
        several => Some(Value::Array(several.iter().map(value).collect())),
    }
}
