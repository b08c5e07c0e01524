//! The figures that the command knows; their files are part of it. A file of one's own is one more.

use std::{borrow::Cow, ffi::OsStr, fs, path::Path};

use super::figure::Figure;
use crate::error::{Error, Result};

/// A figure of the catalogue, or of a file.
#[derive(Debug, Clone)]
pub struct FigureEntry {
    /// Its name, such as `plug-in-and-learn/fig1a`.
    pub name: Cow<'static, str>,
    text: Cow<'static, str>,
}

macro_rules! figures {
    ($($name:literal),* $(,)?) => {
        &[$(FigureEntry {
            name: Cow::Borrowed($name),
            text: Cow::Borrowed(include_str!(concat!("../../figures/", $name, ".toml"))),
        }),*]
    };
}

const FIGURES: &[FigureEntry] = figures![
    "plug-in-and-learn/fig1a",
    "plug-in-and-learn/fig1b",
    "plug-in-and-learn/fig1c",
    "plug-in-and-learn/fig2a",
    "plug-in-and-learn/fig2b",
    "plug-in-and-learn/fig3",
    "plug-in-and-learn/fig4",
    "plug-in-and-learn/fig5a",
    "plug-in-and-learn/fig5b",
    "your-data-my-model/fig3a",
    "your-data-my-model/fig3b",
    "your-data-my-model/fig3c",
    "your-data-my-model/fig4",
    "your-data-my-model/fig5",
    "your-data-my-model/fig6",
    "your-data-my-model/fig7",
    "your-data-my-model/fig8",
    "networked-multi-task-learning/fig2",
    "networked-multi-task-learning/fig3",
    "persfl-active-sampling/fig1a",
    "persfl-active-sampling/fig1b",
    "persfl-active-sampling/fig1c",
    "persfl-active-sampling/fig2",
    "persfl-active-sampling/fig3",
];

impl FigureEntry {
    fn from_file(path: &Path) -> Result<Self> {
        let text = fs::read_to_string(path).map_err(|error| Error::file("read", path, &error))?;
        // A wrong file is refused under its own name, before anything is run.
        Figure::from_text(&text, &path.display().to_string())?;
        let name = path.with_extension("");
        let part = |part: Option<&OsStr>| part.map(|part| part.to_string_lossy().into_owned());
        let folder = part(path.parent().and_then(Path::file_name));
        let parts = [folder, part(name.file_name())].into_iter().flatten();
        let name = parts.collect::<Vec<_>>().join("/");
        Ok(Self { name: name.into(), text: text.into() })
    }

    /// What its file says.
    pub fn figure(&self) -> Result<Figure> {
        Figure::from_text(&self.text, &self.name)
    }
}

/// All figures, paper by paper.
#[must_use]
pub fn all() -> &'static [FigureEntry] {
    FIGURES
}

/// The figure of this name, all figures of a paper, or the figure of a file.
pub fn find(name: &str) -> Result<Vec<FigureEntry>> {
    let path = Path::new(name);
    if path.extension().is_some_and(|ending| ending == "toml") {
        return Ok(vec![FigureEntry::from_file(path)?]);
    }
    let wanted = name.trim_end_matches('/');
    let is_wanted =
        |entry: &&FigureEntry| entry.name == wanted || entry.name.split('/').next() == Some(wanted);
    let found: Vec<FigureEntry> = FIGURES.iter().filter(is_wanted).cloned().collect();
    if found.is_empty() {
        let advice = "`fedgrid reproduce` lists all figures";
        return Err(Error::input(format!("there is no figure '{name}'; {advice}")));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_can_be_read_and_names_are_unique() {
        for entry in all() {
            let figure = entry.figure().unwrap();
            let mut names: Vec<&str> = figure.series.iter().map(|series| &*series.name).collect();
            let panels = figure.panels.len().max(1);
            assert!(figure.series.iter().all(|series| series.panel < panels), "{}", entry.name);
            names.sort_unstable();
            let count = names.len();
            names.dedup();
            assert_eq!(names.len(), count, "{}", entry.name);
        }
    }

    #[test]
    fn a_paper_stands_for_all_of_its_figures_and_a_wrong_name_is_refused() {
        assert_eq!(find("persfl-active-sampling").unwrap().len(), 5);
        assert_eq!(find("plug-in-and-learn/fig1a").unwrap().len(), 1);
        assert!(find("plug-in").unwrap_err().to_string().contains("lists all figures"));
    }
}
