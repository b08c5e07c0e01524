//! Where exported models are written.

use std::{collections::BTreeSet, fs, path::Path};

use serde_json::json;

use super::NodeModels;
use crate::{
    error::{Error, Result},
    experiment::advice,
    number::counted,
    run::to_json_pretty,
};

/// Which files are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form<'a> {
    /// One file of one node.
    OneNode(&'a str),
    /// One file of all nodes.
    AllNodes,
    /// A folder with a file of each node, and `nodes.json`, which says whose is whose.
    EachNode,
}

impl<'a> Form<'a> {
    /// As the node that is asked for, or else the ending of the name, says: a name that ends with `.onnx` is a file,
    /// any other a folder.
    #[must_use]
    pub fn of(node: Option<&'a str>, out: &Path) -> Self {
        let is_file = out.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("onnx"));
        match node {
            Some(node) => Self::OneNode(node),
            None if is_file => Self::AllNodes,
            None => Self::EachNode,
        }
    }
}

/// Writes the models and says what was written. All bytes are made before the first file, so that a model that cannot
/// be exported leaves nothing.
pub fn write(models: &NodeModels<'_>, form: Form<'_>, out: &Path, force: bool) -> Result<String> {
    if out.exists() && !force {
        return Err(Error::input(format!("'{}' exists: replace it with --force", out.display())));
    }
    let place = out.display();
    match form {
        Form::OneNode(name) => {
            let names = || models.models.iter().map(|(name, _)| *name);
            let node = names().position(|own| own == name).ok_or_else(|| {
                let advice = advice(name, names());
                Error::input(format!("there is no node '{name}' in the run{advice}"))
            })?;
            write_file(out, &models.file_of_node(node)?)?;
            Ok(format!("the model of node '{name}' in {place}"))
        }
        Form::AllNodes => {
            write_file(out, &models.file_of_all()?)?;
            Ok(format!("{} in {place}", counted(models.models.len(), "model")))
        }
        Form::EachNode => {
            let files = (0..models.models.len()).map(|node| models.file_of_node(node));
            let files = files.collect::<Result<Vec<_>>>()?;
            fs::create_dir_all(out).map_err(|error| Error::folder(out, &error))?;
            let names = file_names(models.models.iter().map(|(name, _)| *name));
            for (name, bytes) in names.iter().zip(&files) {
                write_file(&out.join(name), bytes)?;
            }
            let pairs = models.models.iter().zip(&names);
            let index: Vec<_> =
                pairs.map(|((node, _), file)| json!({ "node": node, "file": file })).collect();
            write_file(&out.join("nodes.json"), (to_json_pretty(&index) + "\n").as_bytes())?;
            Ok(format!("{} and nodes.json in {place}", counted(files.len(), "file")))
        }
    }
}

fn write_file(path: &Path, bytes: &[u8]) -> Result<()> {
    fs::write(path, bytes).map_err(|error| Error::file("write", path, &error))
}

/// A name of a file for each node, which any system can have, and no two of which are the same anywhere.
fn file_names<'a>(nodes: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut known = BTreeSet::new();
    let plain =
        |letter: char| if letter.is_alphanumeric() || "-_".contains(letter) { letter } else { '_' };
    let name = |node: &str| {
        let stem: String = node.chars().map(plain).take(60).collect();
        let others = (2..).map(|number| format!("{stem}-{number}"));
        let mut all = std::iter::once(stem.clone()).chain(others);
        // Some systems take `A` and `a` for one name.
        let free = all.find(|name| known.insert(name.to_lowercase()));
        format!("{}.onnx", free.expect("numbers do not end"))
    };
    nodes.map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_are_plain_and_distinct() {
        let names = file_names(["a/b", "a.b", "A_B", "ä 1", "../x"].into_iter());
        assert_eq!(names, ["a_b.onnx", "a_b-2.onnx", "A_B-3.onnx", "ä_1.onnx", "___x.onnx"]);
    }
}
