//! Finished runs side by side: the errors of each method, strengths and verdicts, one row for each run.

use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::{
    error::{Error, Result},
    grid::{ColumnUse, Grid, GridCell, GridColumn},
    outcome::{Comparison, Entry},
    run::RunFolder,
    show::FinishedRun,
};

/// Some finished runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SideBySide {
    /// The runs, in the order in which they were named.
    pub runs: Vec<RunBeside>,
    /// What a reader must know before comparing them.
    pub notes: Vec<String>,
}

/// A run beside others.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunBeside {
    /// What tells it from the others: its title, with its folder where two have the same.
    pub name: String,
    /// Its title.
    pub title: String,
    /// Its folder, as it was named.
    pub folder: PathBuf,
    /// What its errors are.
    pub metric: String,
    /// Its method.
    pub method: String,
    /// The strength of it.
    pub strength: f64,
    /// Its seed.
    pub seed: u64,
    /// How many nodes it has.
    pub nodes: usize,
    /// How many edges.
    pub edges: usize,
    /// How many training rows.
    pub training_rows: usize,
    /// How many rows its errors are measured on.
    pub scored_rows: usize,
    /// The answer in one word; none without a comparison.
    pub verdict_kind: Option<String>,
    /// The answer in one sentence.
    pub verdict: String,
    /// The method that it advises.
    pub advised: Option<String>,
    /// How each method did.
    pub comparison: Comparison,
    /// The files that it was trained on, as a hash.
    #[serde(skip)]
    data: Option<String>,
    /// Whether its errors are on test rows.
    #[serde(skip)]
    is_tested: bool,
}

/// The name of a method, what of it is meant, and where its row has it.
type NamedStrength<'a> = (&'a str, &'static str, fn(&Entry) -> Option<f64>);

impl SideBySide {
    /// Reads the folders of finished runs.
    pub fn of_folders(folders: &[PathBuf]) -> Result<Self> {
        for (at, folder) in folders.iter().enumerate() {
            if folders[..at].contains(folder) {
                return Err(Error::input(format!("'{}' is given twice", folder.display())));
            }
        }
        let mut runs =
            folders.iter().map(|folder| RunBeside::read(folder)).collect::<Result<Vec<_>>>()?;
        for at in 0..runs.len() {
            let is_same = |other: &RunBeside| other.title == runs[at].title;
            let is_named_twice = runs.iter().filter(|other| is_same(other)).count() > 1;
            if is_named_twice {
                runs[at].name = runs[at].folder.display().to_string();
            }
        }
        let notes = notes(&runs);
        Ok(Self { runs, notes })
    }

    /// The table, one row for each run.
    #[must_use]
    pub fn grid(&self) -> Grid {
        let is_of_one_metric = self.runs.windows(2).all(|pair| pair[0].metric == pair[1].metric);
        let names = self.methods();
        let mut columns = vec![GridColumn::new("run", ColumnUse::Name)];
        let words = ["method", "verdict", "advised"];
        let numbers = ["seed", "nodes", "edges", "training rows", "scored rows"];
        if !is_of_one_metric {
            columns.push(GridColumn::new("metric", ColumnUse::Words));
        }
        columns.extend(words.map(|name| GridColumn::new(name, ColumnUse::Words)));
        columns.extend(names.iter().map(|name| GridColumn::new(*name, ColumnUse::Numbers)));
        let strengths = self.strengths(&names);
        let heads = strengths.iter().map(|(name, what, _)| format!("{what} of {name}"));
        columns.extend(heads.map(|head| GridColumn::new(head, ColumnUse::Numbers)));
        columns.extend(numbers.map(|name| GridColumn::new(name, ColumnUse::Numbers)));
        let row = |run: &RunBeside| {
            let text = |text: &str| GridCell::Text(text.into());
            let perhaps = |text: Option<&String>| {
                text.map_or(GridCell::Absent, |text| GridCell::Text(text.clone()))
            };
            let mut cells = vec![text(&run.name)];
            if !is_of_one_metric {
                cells.push(text(&run.metric));
            }
            cells.extend([
                text(&run.method),
                perhaps(run.verdict_kind.as_ref()),
                perhaps(run.advised.as_ref()),
            ]);
            cells.extend(names.iter().map(|name| GridCell::measured(run.error(name))));
            let whole = [run.nodes, run.edges, run.training_rows, run.scored_rows];
            let strength =
                |(name, _, of): &NamedStrength| GridCell::number(run.entry(name).and_then(*of));
            cells.extend(strengths.iter().map(strength));
            cells.push(GridCell::Text(run.seed.to_string()));
            cells.extend(whole.map(|count| GridCell::Text(count.to_string())));
            cells
        };
        let rows = self.runs.iter().map(row).collect();
        let mut notes = self.notes.clone();
        if is_of_one_metric {
            let metric = self.runs.first().map_or("error", |run| &run.metric);
            notes.insert(0, format!("Errors are {metric}."));
        }
        Grid { columns, rows, notes }
    }

    /// The strengths and ridges that some run has chosen, method by method.
    fn strengths<'a>(&self, names: &[&'a str]) -> Vec<NamedStrength<'a>> {
        let of = |name: &'a str| {
            let both: [NamedStrength; 2] =
                [(name, "strength", |entry| entry.alpha), (name, "ridge", |entry| entry.ridge)];
            both
        };
        let is_there = |(name, _, of): &NamedStrength| {
            self.runs.iter().any(|run| run.entry(name).and_then(*of).is_some())
        };
        names.iter().flat_map(|name| of(name)).filter(is_there).collect()
    }

    /// The methods that some run has, in the order of tables.
    fn methods(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for (name, _) in self.runs.iter().flat_map(|run| run.comparison.rows()) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }
}

impl RunBeside {
    fn read(folder: &Path) -> Result<Self> {
        if crate::sweep::SweepFolder::is_sweep(folder) {
            let name = folder.display();
            return Err(Error::input(format!(
                "'{name}' is the folder of a sweep, expected that of a run; its own table is {name}/table.md"
            )));
        }
        let run = FinishedRun::from_folder(folder)?;
        let outcome = run.outcome;
        let rows =
            |of: fn(&crate::outcome::NodeOutcome) -> usize| outcome.nodes.iter().map(of).sum();
        Ok(Self {
            name: run.title.clone(),
            title: run.title,
            folder: folder.to_path_buf(),
            metric: outcome.metric.clone(),
            method: outcome.method.kind.clone(),
            strength: outcome.method.alpha,
            seed: outcome.seed,
            nodes: outcome.network.nodes,
            edges: outcome.network.edges,
            training_rows: rows(|node| node.rows),
            scored_rows: rows(|node| node.scored_rows),
            verdict_kind: outcome.verdict_kind.map(|kind| kind.name().into()),
            verdict: outcome.verdict.clone(),
            advised: outcome.advised.map(|advised| advised.to_string()),
            is_tested: outcome.own().is_some_and(|(_, entry)| entry.test.is_some()),
            comparison: outcome.comparison,
            data: RunFolder::data(folder),
        })
    }

    fn entry(&self, name: &str) -> Option<&Entry> {
        self.comparison.rows().into_iter().find(|(known, _)| *known == name).map(|(_, entry)| entry)
    }

    fn error(&self, name: &str) -> Option<f64> {
        self.entry(name).map(Entry::error)
    }
}

/// Why some numbers may not be compared.
fn notes(runs: &[RunBeside]) -> Vec<String> {
    let differs = |is_same: &dyn Fn(&RunBeside, &RunBeside) -> bool| {
        runs.windows(2).any(|pair| !is_same(&pair[0], &pair[1]))
    };
    let mut notes = Vec::new();
    let mut note = |is: bool, sentence: &str| notes.extend(is.then(|| sentence.to_string()));
    note(
        differs(&|a, b| a.metric == b.metric),
        "The runs have different metrics: errors of one metric cannot be compared with those of another.",
    );
    note(
        differs(&|a, b| a.is_tested == b.is_tested),
        "Some runs have test rows, others only validation rows: their errors cannot be compared.",
    );
    note(
        differs(&|a, b| a.data == b.data),
        "The runs were trained on different files: their errors can be compared only as far as test rows are the same.",
    );
    note(
        differs(&|a, b| a.scored_rows == b.scored_rows),
        "The errors of the runs are on different numbers of rows.",
    );
    notes
}
