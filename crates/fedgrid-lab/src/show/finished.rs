//! The folder of a finished run, read again.

use std::{
    fs,
    path::{Path, PathBuf},
};

use fedgrid::compare::{
    Card, Contestant, MethodKind, NodeScore, PathPoint, RoleMeasures, Strength,
};
use serde::{Deserialize, de::DeserializeOwned};

use crate::{
    columns::ColumnPlan,
    error::{Error, Result},
    number::counted,
    outcome::Outcome,
    run::{RunFolder, RunModels},
    wording::in_plain_words,
};

/// What a finished run has left.
#[derive(Debug)]
pub struct FinishedRun {
    /// Its folder.
    pub folder: PathBuf,
    /// Its title.
    pub title: String,
    /// What it found.
    pub outcome: Outcome,
    /// How each method did; with rolling origins, at the last of them.
    pub cards: Vec<Card>,
    /// The models of its nodes by its own method, whose coefficients it has.
    pub models: RunModels,
}

/// A line of `metrics.jsonl` behind the first. What pairs of rows say, which is most of it, is passed over: it was for the
/// verdict.
#[derive(Deserialize)]
struct CardLine {
    #[serde(default)]
    origin: Option<usize>,
    contestant: Contestant,
    strength: Strength,
    validation: f64,
    test: Option<f64>,
    accuracy: Option<f64>,
    #[serde(default)]
    measures: RoleMeasures,
    path: Vec<PathPoint>,
    nodes: Vec<NodeScore>,
    converged: Option<bool>,
}

impl From<CardLine> for Card {
    fn from(line: CardLine) -> Self {
        let CardLine { contestant, strength, validation, test, accuracy, measures, path, .. } =
            line;
        let (nodes, converged) = (line.nodes, line.converged.unwrap_or(true));
        let evidence = Vec::new();
        Self {
            contestant,
            strength,
            validation,
            test,
            accuracy,
            measures,
            path,
            nodes,
            evidence,
            converged,
        }
    }
}

impl FinishedRun {
    /// Reads the folder of a run.
    pub fn from_folder(folder: &Path) -> Result<Self> {
        let models = RunModels::of_own_method(folder)?;
        let outcome: Outcome = from_json(&folder.join("result.json"))?;
        let title = RunFolder::title(folder).unwrap_or_else(|| {
            folder.file_name().unwrap_or_default().to_string_lossy().into_owned()
        });
        let mut cards = cards(&folder.join("metrics.jsonl"))?;
        // The method that was chosen goes on as the run's own.
        if cards.iter().any(|card| card.contestant == Contestant::Network) {
            let chosen = MethodKind::named(&outcome.method.kind).map(Contestant::Member);
            cards.retain(|card| Some(card.contestant) != chosen);
        }
        Ok(Self { folder: folder.to_path_buf(), title, outcome, cards, models })
    }

    /// How large it is, in a line.
    #[must_use]
    pub fn heading(&self) -> String {
        let (nodes, network) = (&self.outcome.nodes, &self.outcome.network);
        let trained = nodes.iter().map(|node| node.rows).sum();
        let scored = nodes.iter().map(|node| node.scored_rows).sum();
        [
            format!("{}: {}", self.title, counted(network.nodes, "node")),
            counted(network.edges, "edge"),
            counted(trained, "training row"),
            counted(scored, "scored row"),
            counted(self.models.about.features.len(), "feature"),
        ]
        .join(", ")
    }

    /// What became of the columns.
    #[must_use]
    pub fn columns(&self) -> ColumnPlan {
        self.models.about.column_plan().into_owned()
    }
}

/// The cards of the last origin that there are, without what pairs of rows say.
pub(crate) fn cards(path: &Path) -> Result<Vec<Card>> {
    let text = fs::read_to_string(path).map_err(|error| Error::file("read", path, &error))?;
    let lines: Vec<CardLine> =
        text.lines().skip(1).filter_map(|line| serde_json::from_str(line).ok()).collect();
    let last = lines.iter().map(|line| line.origin).max().flatten();
    let of_last = lines.into_iter().filter(|line| line.origin == last).map(Card::from);
    // A method that was chosen from has one card without test rows, and one with them behind it.
    let mut cards: Vec<Card> = Vec::new();
    for card in of_last {
        cards.retain(|known| known.contestant != card.contestant);
        cards.push(card);
    }
    Ok(cards)
}

pub(crate) fn from_json<T: DeserializeOwned>(path: &Path) -> Result<T> {
    let text = fs::read_to_string(path).map_err(|error| Error::file("read", path, &error))?;
    serde_json::from_str(&text).map_err(|error| {
        let (path, what) = (path.display(), in_plain_words(&error.to_string()));
        Error::input(format!("'{path}' is damaged: {what}; run the experiment again"))
    })
}
