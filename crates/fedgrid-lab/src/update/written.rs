//! The folder of an updated run.

use std::{fs, path::Path};

use fedgrid::network::Edge;

use super::{AddedFiles, UpdatedRun, steps::UPDATES_FILE};
use crate::{
    assembly::edges_csv,
    card::CardParts,
    coefficients::Coefficients,
    error::{Error, Result},
    experiment::{Experiment, FileKeys},
    outcome::UpdatedBy,
    pipeline::{Found, card_parts},
    report::Page,
    run::{Existing, KeptMethods, RunFolder},
    source::csv_text,
};

const NODES_FILE: &str = "updated_nodes.csv";
const EDGES_FILE: &str = "updated_edges.csv";

impl UpdatedRun {
    /// Writes the folder of the run; `files` are what was added.
    pub fn write(
        &mut self,
        (folder, title): (&Path, &str),
        files: &AddedFiles,
        existing: Existing,
        seconds: f64,
    ) -> Result<()> {
        let steps = self.steps.with(files, folder);
        let mut experiment = steps.whole();
        let has_edges = steps.added.iter().any(|one| one.edges.is_some());
        let tables = self.join_nodes(&mut experiment, has_edges);
        let text = experiment.to_text();
        self.outcome.seconds = seconds;
        let is_nothing = self.added.rows == 0 && self.added.nodes.is_empty();
        let is_as_before = is_nothing && !self.outcome.updates.iter().any(|one| one.tuned);
        if is_as_before && let Some(last) = self.outcome.updates.last_mut() {
            last.by = UpdatedBy::Nothing;
        }
        let page = self.page(title, &text);
        let mut run = RunFolder::open(folder, (&text, title), self.fingerprint, existing)?;
        run.keep_all(&self.cards)?;
        run.write(UPDATES_FILE, &steps.text())?;
        for (name, table) in tables {
            run.write(name, &table)?;
        }
        if is_as_before {
            // What nothing was added to is the same to the bit.
            copy_models(&self.previous.folder, folder)?;
            return run.finish_as_before(&self.outcome, &page);
        }
        let kept = KeptMethods {
            own: &self.fitted,
            others: &self.others,
            advised: self.outcome.advised,
            statistics: self.statistics.as_ref(),
        };
        run.finish(&self.assembly, &kept, &self.outcome, &page)
    }

    fn page(&self, title: &str, text: &str) -> String {
        let edge = |edge: &Edge| (edge.source, edge.target, edge.weight);
        let edges: Vec<_> = self.assembly.study.network.edges().iter().map(edge).collect();
        let coefficients = &Coefficients::new(&self.assembly, &self.fitted);
        let found = Found {
            outcome: &self.outcome,
            cards: &self.cards,
            fitted: &self.fitted,
            others: &self.others,
            helps: &[],
        };
        // What is kept of old rows is no rows, which the importance of columns would need.
        let parts = CardParts { rows: None, ..card_parts(&self.assembly, &found, coefficients) };
        Page {
            title,
            source: None,
            date: None,
            outcome: &self.outcome,
            cards: &parts.all(),
            importance_left_out: true,
            edges: &edges,
            positions: self.assembly.positions.as_deref(),
            experiment: text,
            helps: &[],
            coefficients,
        }
        .render()
    }

    /// Where nodes have joined, now or before: tables of all nodes and edges, which the experiment of all rows then names.
    fn join_nodes(
        &self,
        experiment: &mut Experiment,
        has_edges: bool,
    ) -> Vec<(&'static str, String)> {
        if self.outcome.updates.iter().all(|update| update.new_nodes.is_empty()) {
            return Vec::new();
        }
        let network = &self.assembly.study.network;
        let has_edges = has_edges || experiment.network.edges.is_some();
        let keys = &mut experiment.network;
        let is_shape = keys.shape.is_some() && !has_edges;
        let is_by_rule = keys.candidates.is_empty() && (self.assembly.places.is_some() || is_shape);
        keys.format = FileKeys::default();
        let node = keys.node.clone().unwrap_or_else(|| experiment.data.node.clone());
        let places = self.assembly.places.as_ref();
        let columns = places.map_or(&[][..], |places| &places.columns);
        let head = std::iter::once(node).chain(columns.iter().cloned()).collect();
        let cells = |(id, name): (usize, &String)| {
            let own = places.map(|places| places.places.coordinates(id)).unwrap_or_default();
            std::iter::once(name.clone()).chain(own.iter().map(f64::to_string)).collect()
        };
        let rows = network.names().iter().enumerate().map(cells);
        let nodes = csv_text(std::iter::once(head).chain(rows));
        keys.file = Some(NODES_FILE.into());
        if is_by_rule {
            return vec![(NODES_FILE, nodes)];
        }
        (keys.nearest, keys.shape, keys.learn) = (None, None, None);
        keys.candidates.clear();
        keys.coordinates.clear();
        keys.edges_format = FileKeys::default();
        keys.edges = Some(EDGES_FILE.into());
        vec![(NODES_FILE, nodes), (EDGES_FILE, edges_csv(network, None))]
    }
}

/// Copies the files that models and what is known of them are in.
fn copy_models(from: &Path, to: &Path) -> Result<()> {
    let copy = |name: &Path| {
        let (source, target) = (from.join(name), to.join(name));
        if source.is_file() {
            let failed = |error: &std::io::Error| Error::file("write", &target, error);
            fs::copy(&source, &target).map_err(|error| failed(&error))?;
        }
        Ok::<(), Error>(())
    };
    let models = from.join("models");
    fs::create_dir_all(to.join("models")).map_err(|error| Error::file("make", to, &error))?;
    let entries = fs::read_dir(&models).map_err(|error| Error::file("read", &models, &error))?;
    for entry in entries.flatten() {
        copy(&Path::new("models").join(entry.file_name()))?;
    }
    ["uncertainty.json", "coefficients.csv", "statistics.json", "probes.csv"]
        .iter()
        .try_for_each(|name| copy(Path::new(name)))
}
