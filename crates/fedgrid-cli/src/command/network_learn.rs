//! `fedgrid network learn`: who helps whom, from a table of rows alone.

use std::path::{Path, PathBuf};

use clap::Args;
use fedgrid::network_learning::{LearnedNetwork, ProbedPair};
use serde_json::json;
use toml::{Table, Value};

use super::flags::{ColumnFlags, put};
use crate::terminal::Terminal;
use fedgrid_lab::{
    assembly::{edges_csv, learned},
    error::{Error, Result},
    experiment::Experiment,
    number::{count, counted, percent, significant},
    run::to_json_pretty,
};

/// How many components are listed; their sizes fall quickly, and more would not fit a line.
const LISTED_COMPONENTS: usize = 10;

#[derive(Debug, Args)]
pub(super) struct Learn {
    /// A CSV, Parquet or Arrow table of rows, or an experiment file.
    data: PathBuf,

    /// The column that names each row's node (key data.node).
    #[arg(long, value_name = "COLUMN")]
    node: Option<String>,

    /// The column to predict (key data.target).
    #[arg(long, value_name = "COLUMN")]
    target: Option<String>,

    #[command(flatten)]
    columns: ColumnFlags,

    /// The column that says train, val or test; only training rows are used (key data.split).
    #[arg(long, value_name = "COLUMN")]
    split: Option<String>,

    /// The kind of model, such as linear or logistic (key model.kind).
    #[arg(long, value_name = "KIND")]
    model: Option<String>,

    /// The share of all pairs that may be probed (key network.learn.share).
    #[arg(long, value_name = "SHARE")]
    share: Option<f64>,

    /// How many of its best partners each node asks to keep (key network.learn.neighbours).
    #[arg(long, value_name = "K")]
    neighbours: Option<usize>,

    /// The seed of everything drawn (key seed).
    #[arg(long, value_name = "NUMBER")]
    seed: Option<u64>,

    /// Override any key of the experiment, such as network.learn.phases=4.
    #[arg(long, value_name = "KEY=VALUE", allow_hyphen_values = true)]
    set: Vec<String>,

    /// Where to write the edges, with the columns src, dst, weight, confidence.
    #[arg(long, value_name = "FILE", default_value = "edges.csv")]
    out: PathBuf,

    /// Replace an existing file.
    #[arg(long)]
    force: bool,
}

impl Learn {
    pub(super) fn run(self, terminal: Terminal) -> Result<()> {
        let (experiment, base) = self.experiment()?;
        // Before the probes, which take long.
        super::network::refuse_existing(&self.out, self.force)?;
        let learned = learned(&experiment, &base)?;
        std::fs::write(&self.out, edges_csv(&learned.network, Some(&learned)))
            .map_err(|error| Error::file("write", &self.out, &error))?;
        let found = LearnedReport::of(&learned);
        terminal.say(&found.lines(&learned, &self.out));
        terminal.give(&to_json_pretty(&json!({
            "nodes": learned.network.len(),
            "pairs_probed": learned.pairs.len(),
            "pairs": found.pairs,
            "share": found.share,
            "probes": learned.probes,
            "edges": learned.network.edges().len(),
            "confidence": found.confidence.map(|[least, median, most]| {
                json!({ "min": least, "median": median, "max": most })
            }),
            "components": found.components,
            "isolated": found.isolated,
        })));
        Ok(())
    }

    fn experiment(&self) -> Result<(Experiment, PathBuf)> {
        let is_experiment = self.data.extension().is_some_and(|extension| extension == "toml");
        let (mut table, base, source) =
            Experiment::opened(is_experiment.then_some(self.data.as_path()))?;
        let given = table.to_string();
        let text = |value: &String| Value::String(value.clone());
        if !is_experiment {
            let path = self.data.to_string_lossy().into_owned();
            put(&mut table, "data", "file", Some(Value::String(path)));
        }
        put(&mut table, "data", "node", self.node.as_ref().map(text));
        put(&mut table, "data", "target", self.target.as_ref().map(text));
        self.columns.apply(&mut table);
        put(&mut table, "data", "split", self.split.as_ref().map(text));
        put(&mut table, "model", "kind", self.model.as_ref().map(text));
        if let Some(seed) = self.seed {
            Experiment::set(&mut table, &format!("seed={seed}"))?;
        }
        for assignment in &self.set {
            Experiment::set(&mut table, assignment)?;
        }
        self.only_learned(&mut table);
        let source = if table.to_string() == given { source } else { String::new() };
        Ok((Experiment::from_table(table, &source)?, base))
    }

    /// Of the experiment's network, only the nodes and how to learn are kept.
    fn only_learned(&self, table: &mut Table) {
        let mut network = match table.remove("network") {
            Some(Value::Table(network)) => network,
            _ => Table::new(),
        };
        // Given edges or shapes would take the place of what is to be learned.
        network.retain(|key, _| ["file", "node", "learn"].contains(&key));
        let learn = network.entry("learn").or_insert_with(|| Value::Table(Table::new()));
        // `learn = true` is short for the section with its defaults.
        if learn.as_bool().is_some() {
            *learn = Value::Table(Table::new());
        }
        if let Some(keys) = learn.as_table_mut() {
            let share = self.share.map(Value::Float);
            let whole = |k: usize| Value::Integer(i64::try_from(k).unwrap_or(i64::MAX));
            let neighbours = self.neighbours.map(whole);
            keys.extend(share.map(|share| ("share".to_string(), share)));
            keys.extend(neighbours.map(|count| ("neighbours".to_string(), count)));
        }
        table.insert("network".into(), Value::Table(network));
    }
}

/// A learned network in numbers.
struct LearnedReport {
    pairs: usize,
    share: f64,
    /// The least, median and largest confidence of kept pairs.
    confidence: Option<[f64; 3]>,
    components: Vec<usize>,
    isolated: usize,
}

impl LearnedReport {
    fn of(learned: &LearnedNetwork) -> Self {
        let nodes = learned.network.len();
        let pairs = nodes * nodes.saturating_sub(1) / 2;
        let kept = learned.pairs.iter().filter(|pair| pair.kept);
        let mut confidence: Vec<f64> = kept.map(|pair: &ProbedPair| pair.confidence).collect();
        confidence.sort_by(f64::total_cmp);
        // None if no pair was kept, and then nobody asks for the ends.
        let middle = confidence.get(confidence.len() / 2).copied();
        let statistics = learned.network.statistics();
        let mut components = statistics.sizes;
        components.sort_unstable_by(|a, b| b.cmp(a));
        Self {
            pairs,
            share: learned.pairs.len() as f64 / pairs.max(1) as f64,
            confidence: middle.map(|m| [confidence[0], m, confidence[confidence.len() - 1]]),
            components,
            isolated: statistics.isolated.len(),
        }
    }

    fn lines(&self, learned: &LearnedNetwork, out: &Path) -> String {
        let (probed, pairs) = (count(learned.pairs.len()), count(self.pairs));
        let (share, probes) = (percent(self.share), count(learned.probes));
        let edges = counted(learned.network.edges().len(), "edge");
        let confidence = self.confidence.map_or_else(String::new, |values| {
            let [least, median, most] = values.map(significant);
            format!(", confidence {least} to {most}, median {median}")
        });
        let listed: Vec<String> =
            self.components.iter().take(LISTED_COMPONENTS).map(|n| count(*n)).collect();
        let more = if self.components.len() > LISTED_COMPONENTS { ", …" } else { "" };
        [
            format!(
                "nodes       {}, {} without a neighbour",
                count(learned.network.len()),
                count(self.isolated)
            ),
            format!("pairs       {probed} of {pairs} probed ({share}), {probes} probes"),
            format!("kept        {edges}{confidence}"),
            format!("components  {}: {}{more} nodes", self.components.len(), listed.join(", ")),
            format!("written     {}", out.display()),
        ]
        .join("\n")
    }
}
