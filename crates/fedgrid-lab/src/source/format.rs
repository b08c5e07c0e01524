//! How a file is written: what the experiment says of it, and what was recognised.

use std::sync::Arc;

use crate::experiment::{DataKeys, FileKeys};

/// How a file is to be read, where that is said.
#[derive(Debug, Clone)]
pub struct FileFormat {
    /// What is given; the rest is recognised.
    pub keys: FileKeys,
    /// What stands before the names of these keys in messages, such as `data.format.`, or `--` for flags.
    pub place: &'static str,
    /// The character before decimals in the rows that a model was trained on, where the file leaves it open.
    pub usual_decimal: Option<char>,
    /// Cells that stand for no value, besides those that do in every table.
    pub missing_values: Arc<[String]>,
    /// Whether a table without rows is one.
    pub may_be_empty: bool,
}

impl From<&DataKeys> for FileFormat {
    /// As the table of rows is to be read.
    fn from(keys: &DataKeys) -> Self {
        Self::new(&keys.format, "data.format.", keys)
    }
}

impl From<char> for FileFormat {
    /// Text with this character between cells.
    fn from(delimiter: char) -> Self {
        let keys = FileKeys { delimiter: Some(delimiter), ..FileKeys::default() };
        let missing_values = Arc::new([]);
        let may_be_empty = false;
        Self { keys, place: "data.format.", usual_decimal: None, missing_values, may_be_empty }
    }
}

impl FileFormat {
    /// A file beside the table of rows, with the same words for no value.
    #[must_use]
    pub fn new(keys: &FileKeys, place: &'static str, data: &DataKeys) -> Self {
        let missing_values = data.missing_values.clone().into();
        let (keys, may_be_empty) = (keys.clone(), false);
        Self { keys, place, usual_decimal: None, missing_values, may_be_empty }
    }
}

/// What a file turned out to be.
#[derive(Debug, Clone, Default)]
pub(super) struct Recognised {
    /// What is unusual about it, in a few words each.
    pub(super) words: Vec<String>,
    /// The same for each of several files, by their names.
    pub(super) by_file: Vec<(String, Vec<String>)>,
    /// The character before decimals, if any number tells it.
    pub(super) decimal: Option<char>,
}

impl Recognised {
    /// A line for each way of writing, with the files that are written so; none for plain files.
    pub(super) fn lines(&self, source: &str) -> Vec<String> {
        let own = (source.to_string(), self.words.clone());
        let files = self.by_file.iter().chain([&own]).filter(|(_, words)| !words.is_empty());
        let mut ways: Vec<(&[String], Vec<&str>)> = Vec::new();
        for (name, words) in files {
            match ways.iter_mut().find(|(known, _)| known == words) {
                Some((_, names)) => names.push(name),
                None => ways.push((words, vec![name])),
            }
        }
        let line = |(words, names): &(&[String], Vec<&str>)| {
            let words = words.join(", ");
            match &names[..] {
                [first, .., last] => format!("{first} to {last} ({} files): {words}", names.len()),
                names => format!("{}: {words}", names.join("")),
            }
        };
        ways.iter().map(line).collect()
    }
}
