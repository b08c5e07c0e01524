//! Which files hold a table, and how they are written where that is not as it looks.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toml::{Table, Value};

/// The sections that name files, each with the keys that say how one is written.
const FORMATS: [(&str, &str); 4] =
    [("data", "format"), ("network", "format"), ("network", "edges_format"), ("public", "format")];

/// The file of a table, or several whose rows are one table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum TableFiles {
    /// One file, `-` for standard input, or a name with `*` and `?` for any letters.
    One(PathBuf),
    /// A list of such names.
    Several(Vec<PathBuf>),
}

impl TableFiles {
    /// The names as they are given.
    #[must_use]
    pub fn names(&self) -> &[PathBuf] {
        match self {
            Self::One(name) => std::slice::from_ref(name),
            Self::Several(names) => names,
        }
    }

    /// The same, to be changed.
    pub fn names_mut(&mut self) -> &mut [PathBuf] {
        match self {
            Self::One(name) => std::slice::from_mut(name),
            Self::Several(names) => names,
        }
    }

    /// Whether no file is named.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.names().iter().all(|name| name.as_os_str().is_empty())
    }

    /// The names for a message.
    #[must_use]
    pub fn display(&self) -> String {
        let names: Vec<String> =
            self.names().iter().map(|name| name.display().to_string()).collect();
        names.join(", ")
    }

    /// What a run of this table is called: the first name without its ending.
    #[must_use]
    pub fn title(&self) -> String {
        let name = self.names().first().map_or(Path::new(""), PathBuf::as_path);
        if is_standard_input(name) {
            return "standard-input".into();
        }
        let mut stem = Path::new(name.file_stem().unwrap_or_default());
        // What is compressed has two endings.
        if name.extension().is_some_and(|ending| ending == "gz" || ending == "zst") {
            stem = Path::new(stem.file_stem().unwrap_or_default());
        }
        let title = stem.to_string_lossy().replace(['*', '?'], "");
        let title = title.trim_matches(['-', '_', '.', ' ']);
        if title.is_empty() { "table".into() } else { title.into() }
    }
}

impl From<PathBuf> for TableFiles {
    fn from(name: PathBuf) -> Self {
        Self::One(name)
    }
}

/// Whether a name stands for standard input.
#[must_use]
pub fn is_standard_input(name: &Path) -> bool {
    name.as_os_str() == "-"
}

/// How a file of text is written; what is not given is recognised.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FileKeys {
    /// The character between cells, such as "," or ";" or "\t".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delimiter: Option<char>,
    /// The character before the decimals of a number: "." or ",".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decimal: Option<char>,
    /// The character between the thousands of a number: ",", ".", " " or "'".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thousands: Option<char>,
    /// The character around cells that hold delimiters or line breaks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quote: Option<char>,
    /// How letters are written as bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub encoding: Option<EncodingKey>,
}

/// How letters are written as bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum EncodingKey {
    /// UTF-8, as most files.
    #[serde(rename = "utf-8")]
    Utf8,
    /// UTF-16; the bytes themselves tell their order.
    #[serde(rename = "utf-16")]
    Utf16,
    /// ISO 8859-1 with the letters that Windows adds to it.
    #[serde(rename = "latin-1")]
    Latin1,
}

impl FileKeys {
    /// Whether all is to be recognised.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Refuses characters that cannot be what they are given for; `place` is the name of the section.
    pub fn check(&self, place: &str) -> Result<(), String> {
        for (key, character) in [("delimiter", self.delimiter), ("quote", self.quote)] {
            // The reader of CSV takes single bytes.
            if let Some(found) = character.filter(|character| !character.is_ascii()) {
                return Err(format!("{place}{key} is '{found}', expected one plain character"));
            }
        }
        if let Some(found) = self.decimal.filter(|decimal| !['.', ','].contains(decimal)) {
            return Err(format!("{place}decimal is '{found}', expected \".\" or \",\""));
        }
        // The last two are spaces that do not break a line, which some programs write between thousands.
        let known = [',', '.', ' ', '\'', '\u{a0}', '\u{202f}'];
        if let Some(found) = self.thousands.filter(|thousands| !known.contains(thousands)) {
            let expected = "\",\", \".\", a space or an apostrophe";
            return Err(format!("{place}thousands is '{found}', expected {expected}"));
        }
        let pairs = [
            ("decimal", self.decimal, "thousands", self.thousands),
            ("delimiter", self.delimiter, "quote", self.quote),
        ];
        for (one, first, other, second) in pairs {
            if let Some(found) = first.filter(|first| Some(*first) == second) {
                return Err(format!("{place}{one} and {place}{other} are both '{found}'"));
            }
        }
        Ok(())
    }
}

/// Writes short forms in full: `data.delimiter` for `data.format.delimiter`, and `\t` or `tab` for a tab.
pub(super) fn in_full(table: &mut Table) {
    if let Some(data) = table.get_mut("data").and_then(Value::as_table_mut) {
        let is_in_format = data.get("format").is_some_and(|keys| keys.get("delimiter").is_some());
        // Where both are given, the old key stays where it is, and is refused with the new one's name.
        let delimiter = if is_in_format { None } else { data.remove("delimiter") };
        if let Some(delimiter) = delimiter {
            let format = data.entry("format").or_insert_with(|| Value::Table(Table::new()));
            if let Some(format) = format.as_table_mut() {
                format.insert("delimiter".into(), delimiter);
            }
        }
    }
    for (section, key) in FORMATS {
        let keys = table.get_mut(section).and_then(|section| section.get_mut(key));
        let delimiter = keys.and_then(|keys| keys.get_mut("delimiter"));
        if let Some(delimiter) = delimiter
            && matches!(delimiter.as_str(), Some("\\t" | "tab"))
        {
            *delimiter = Value::String("\t".into());
        }
    }
}
