//! One figure of a paper as a file: its axes, what is run for each of its lines, and the values that
//! the authors' code or figure gives.

use serde::Deserialize;
use toml::Table;

use super::{bands::Reference, runner::FigureCase};
use crate::{
    error::{Error, Result},
    wording::in_plain_words,
};

/// A figure: everything its file says.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// The title of the paper.
    pub paper: String,
    /// The number of the figure there, such as "Fig. 1a".
    pub number: String,
    /// What is shown.
    pub title: String,
    /// What our run and the paper do differently, and why it matters.
    pub differs: String,
    /// Why values lie outside of their bands, where they must.
    pub disagrees: Option<String>,
    /// How long the authors' code takes, as far as that is known.
    pub theirs: Option<String>,
    /// The horizontal axis.
    pub x: AxisText,
    /// The vertical axis.
    pub y: AxisText,
    /// The titles of the panels; a figure of one panel has one without a title.
    #[serde(default)]
    pub panels: Vec<String>,
    /// The seed of the first repeat; others count on from it.
    pub seed: u64,
    /// How much is run.
    pub full: RunEffort,
    /// How much is run with `--quick`.
    pub quick: RunEffort,
    /// What all lines have in common; `kind` names the runner.
    pub setting: Table,
    /// The lines.
    pub series: Vec<Series>,
    /// What the paper says in words.
    #[serde(default)]
    pub claims: Vec<Claim>,
}

/// One axis.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AxisText {
    /// What it measures.
    pub label: String,
    /// Whether it is logarithmic.
    #[serde(default)]
    pub log: bool,
    /// The smallest value drawn; none is that of the lines.
    pub from: Option<f64>,
}

/// How much is run.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunEffort {
    /// How many independent repeats.
    pub repeats: usize,
    /// Keys of the setting that are set for all lines.
    #[serde(default)]
    pub set: Table,
}

/// Whether a line does what the authors' code did, or what their paper says it does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LineMode {
    /// What the authors' code did, so that the numbers agree.
    #[default]
    PaperCompat,
    /// The formulas of the paper, run to their end.
    Corrected,
}

/// How a line is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Draw {
    /// Solid, or dotted if it is a corrected form.
    #[default]
    Line,
    /// Dashed: bounds and rivals.
    Dashed,
    /// Not at all: it is only there for others to be divided by.
    Hidden,
}

/// The middle of several repeats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Statistic {
    /// The mean.
    #[default]
    Mean,
    /// The median.
    Median,
}

/// One line of a figure.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Series {
    /// Its name, different from all others of the figure.
    pub name: String,
    /// The panel on which it is drawn, counted from zero.
    #[serde(default)]
    pub panel: usize,
    /// What the authors' code did, or the corrected form.
    #[serde(default)]
    pub mode: LineMode,
    /// Keys of the setting that are this line's own.
    #[serde(default)]
    pub set: Table,
    /// The name of the line by whose mean over repeats it is divided.
    pub relative_to: Option<String>,
    /// Whether each repeat is divided by its own instead.
    #[serde(default)]
    pub each: bool,
    /// How it is drawn.
    #[serde(default)]
    pub draw: Draw,
    /// Its colour, counted from zero; lines of one colour belong together.
    #[serde(default)]
    pub colour: usize,
    /// Whether it is left out of quick runs.
    #[serde(default)]
    pub slow: bool,
    /// How many repeats at most.
    pub repeats: Option<usize>,
    /// Which middle of the repeats is drawn.
    #[serde(default)]
    pub statistic: Statistic,
    /// What it is compared with.
    #[serde(default)]
    pub references: Vec<Reference>,
}

/// A sentence of the paper about two lines.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// The sentence.
    pub says: String,
    /// The line that should be lower.
    pub lower: String,
    /// The line that should be higher.
    pub higher: String,
    /// Where on the horizontal axis; the last point if that is missing.
    pub x: Option<f64>,
}

impl Figure {
    /// Reads a figure's file.
    pub fn from_text(text: &str, name: &str) -> Result<Self> {
        let figure: Self = toml::from_str(text).map_err(|error| {
            let before = error.span().map_or(0, |span| span.start);
            let line = text[..before].matches('\n').count() + 1;
            Error::input(format!("{name}, line {line}: {}", in_plain_words(error.message())))
        })?;
        figure.check(name)?;
        Ok(figure)
    }

    fn check(&self, name: &str) -> Result<()> {
        let known = |wanted: &str| self.series.iter().any(|series| series.name == wanted);
        let bases = self.series.iter().filter_map(|series| series.relative_to.as_deref());
        let claimed = self.claims.iter().flat_map(|claim| [&*claim.lower, &*claim.higher]);
        if let Some(missing) = bases.chain(claimed).find(|wanted| !known(wanted)) {
            return Err(Error::input(format!("{name}: there is no series '{missing}'")));
        }
        for series in &self.series {
            // All lines are read before the first is run: a wrong key must not end an hour's work.
            FigureCase::from_keys(self.keys(series, false)).map_err(|error| {
                Error::input(format!("{name}, series '{}': {error}", series.name))
            })?;
        }
        Ok(())
    }

    /// How much is run.
    #[must_use]
    pub fn effort(&self, quick: bool) -> &RunEffort {
        if quick { &self.quick } else { &self.full }
    }

    /// The lines that are run.
    pub fn lines(&self, quick: bool) -> impl Iterator<Item = &Series> {
        self.series.iter().filter(move |series| !(quick && series.slow))
    }

    /// The keys of one line, put together.
    pub(super) fn keys(&self, series: &Series, quick: bool) -> Table {
        let mut table = self.setting.clone();
        // The effort comes last, so that a quick run may shorten what a line sets.
        table.extend(series.set.clone());
        table.extend(self.effort(quick).set.clone());
        table
    }

    /// How many repeats of one line are run.
    #[must_use]
    pub fn repeats(&self, series: &Series, quick: bool) -> usize {
        let repeats = self.effort(quick).repeats;
        series.repeats.map_or(repeats, |most| most.min(repeats))
    }
}
