//! What changed between two runs: errors, models, coefficients, nodes, and keys of their experiments.
//!
//! How far a node has moved is how far the predictions of its two models are apart,
//!
//! ```text
//! moved_i = √( mean over x of ‖h_i(x) − h′_i(x)‖² )      x drawn evenly between the least and the largest features of both runs
//! ```
//!
//! which any two models of the same features have, in the unit of the target (of classes, of their probabilities).

use std::{collections::BTreeMap, path::Path};

use fedgrid::{
    data::{Features, uniform_points},
    random::{Purpose, Stream},
};
use rayon::prelude::*;
use serde::Serialize;

use crate::{
    coefficients::CoefficientName,
    error::Result,
    experiment::Experiment,
    outcome::{Comparison, Entry, Outcome},
    run::RunModels,
    show::{FinishedRun, coefficients},
};

/// How many points models are compared on: the mean over them is then known to a few per cent.
const POINTS: usize = 1000;
/// The change of a coefficient that is told, in standard errors.
const TOLD_ERRORS: f64 = 2.0;

/// What changed from one run to another.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunDiff {
    /// Both runs in numbers.
    pub runs: [RunInShort; 2],
    /// What errors are; `errors` is empty if the runs have different ones.
    pub metric: [String; 2],
    /// The errors of each method in both.
    pub errors: Vec<ErrorChange>,
    /// Nodes that only the second has.
    pub new_nodes: Vec<String>,
    /// Nodes that only the first has.
    pub gone_nodes: Vec<String>,
    /// How far each node of both has moved, the farthest first; empty where features or targets differ.
    pub moved: Vec<NodeMove>,
    /// The coefficients that changed by more than two standard errors of the first run, most errors first.
    pub coefficients: Vec<CoefficientChange>,
    /// How many coefficients both have.
    pub coefficients_compared: usize,
    /// How many of these have a standard error in the first run.
    pub coefficients_with_error: usize,
    /// The keys of the experiments that differ.
    pub keys: Vec<KeyChange>,
    /// What a reader should know.
    pub notes: Vec<String>,
}

/// A run in numbers.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunInShort {
    /// Its title.
    pub title: String,
    /// How many nodes it has.
    pub nodes: usize,
    /// How many edges.
    pub edges: usize,
    /// How many training rows.
    pub training_rows: usize,
    /// How many rows its errors are measured on.
    pub scored_rows: usize,
    /// The name of its method.
    pub method: String,
    /// The strength of it.
    pub strength: f64,
    /// The method that its verdict advises, or its own.
    pub advised: String,
    /// The answer in one word; none without a comparison.
    pub verdict_kind: Option<String>,
    /// How often its models were updated since methods were compared.
    pub updates: usize,
}

/// The error of a method in both runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ErrorChange {
    /// Which method.
    pub method: String,
    /// Its mean error in each, on test rows or else on validation rows; none where it was not tried.
    pub errors: [Option<f64>; 2],
}

/// How far a node has moved.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NodeMove {
    /// Which one.
    pub node: String,
    /// The root mean square of the difference of predictions.
    pub moved: f64,
    /// How many training rows it has in each run.
    pub rows: [usize; 2],
}

/// A coefficient that changed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CoefficientChange {
    /// Whose.
    pub node: String,
    /// Which one.
    #[serde(flatten)]
    pub name: CoefficientName,
    /// Its values.
    pub values: [f64; 2],
    /// Its standard error in the first run.
    pub standard_error: f64,
    /// The change in such errors, with its sign.
    pub errors: f64,
}

/// A key of the experiments that differs, as text; none where it is not there.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct KeyChange {
    /// Which one.
    pub key: String,
    /// Its values.
    pub values: [Option<String>; 2],
}

impl RunDiff {
    /// From the folders of two finished runs.
    pub fn of_folders(first: &Path, second: &Path) -> Result<Self> {
        let runs = [FinishedRun::from_folder(first)?, FinishedRun::from_folder(second)?];
        let [a, b] = &runs;
        let mut notes = Vec::new();
        let names = |run: &FinishedRun| -> Vec<String> {
            run.outcome.nodes.iter().map(|node| node.name.clone()).collect()
        };
        let without = |own: &FinishedRun, other: &FinishedRun| -> Vec<String> {
            let known = names(other);
            names(own).into_iter().filter(|name| !known.contains(name)).collect()
        };
        let metric = [a, b].map(|run| run.outcome.metric.clone());
        let errors =
            if metric[0] == metric[1] { errors(&a.outcome, &b.outcome) } else { Vec::new() };
        if metric[0] != metric[1] {
            notes
                .push(format!("Errors are {} and {}, which do not compare.", metric[0], metric[1]));
        }
        for run in [a, b].into_iter().filter(|run| !run.outcome.updates.is_empty()) {
            notes.push(format!(
                "The errors of {} are those before its update: nobody has compared its methods since.",
                run.title
            ));
        }
        let moved = moved(&runs, &mut notes);
        let changes = Changes::of(&runs)?;
        Ok(Self {
            metric,
            errors,
            new_nodes: without(b, a),
            gone_nodes: without(a, b),
            moved,
            coefficients: changes.told,
            coefficients_compared: changes.compared,
            coefficients_with_error: changes.with_error,
            keys: keys(&runs)?,
            notes,
            runs: [a, b].map(RunInShort::of),
        })
    }
}

impl RunInShort {
    fn of(run: &FinishedRun) -> Self {
        let outcome = &run.outcome;
        let rows =
            |of: fn(&crate::outcome::NodeOutcome) -> usize| outcome.nodes.iter().map(of).sum();
        let word = |kind: &fedgrid::compare::Kind| {
            serde_json::to_value(kind).ok().and_then(|word| word.as_str().map(String::from))
        };
        Self {
            title: run.title.clone(),
            nodes: outcome.network.nodes,
            edges: outcome.network.edges,
            training_rows: rows(|node| node.rows),
            scored_rows: rows(|node| node.scored_rows),
            method: outcome.method.kind.clone(),
            strength: outcome.method.alpha,
            advised: run.models.advised.clone(),
            verdict_kind: outcome.verdict_kind.as_ref().and_then(word),
            updates: outcome.updates.len(),
        }
    }
}

/// The errors of all methods that one of two runs has tried.
fn errors(first: &Outcome, second: &Outcome) -> Vec<ErrorChange> {
    let of = |comparison: &Comparison| -> Vec<(String, f64)> {
        let named = |(name, entry): (&String, &Entry)| (name.clone(), entry.error());
        let plain = comparison.plain_rows().into_iter();
        let plain = plain.map(|(name, entry)| (name.to_string(), entry.error()));
        plain
            .chain(comparison.members.iter().map(named))
            .chain(comparison.baselines.iter().map(named))
            .collect()
    };
    let both = [of(&first.comparison), of(&second.comparison)];
    let mut methods: Vec<&String> = Vec::new();
    for (name, _) in both.iter().flatten() {
        if !methods.contains(&name) {
            methods.push(name);
        }
    }
    let error = |run: usize, method: &String| {
        both[run].iter().find(|(name, _)| name == method).map(|(_, error)| *error)
    };
    let change = |method: &String| ErrorChange {
        method: method.clone(),
        errors: [error(0, method), error(1, method)],
    };
    methods.into_iter().map(change).collect()
}

/// How far the nodes of both runs have moved, the farthest first.
fn moved(runs: &[FinishedRun; 2], notes: &mut Vec<String>) -> Vec<NodeMove> {
    let [a, b] = [&runs[0].models, &runs[1].models];
    let is_same = a.about.features == b.about.features
        && (a.about.task, &a.about.classes) == (b.about.task, &b.about.classes);
    let Some(points) = points(a, b).filter(|_| is_same) else {
        notes.push(
            "The runs have different features or targets: their models do not compare.".into(),
        );
        return Vec::new();
    };
    let rows = |run: &FinishedRun, name: &str| {
        run.outcome.nodes.iter().find(|node| node.name == name).map_or(0, |node| node.rows)
    };
    let far = |(name, own): (&String, &std::sync::Arc<dyn fedgrid::model::Hypothesis>)| {
        let other = b.by_node.get(name)?;
        let (own, other) = (own.predict(&points), other.predict(&points));
        let pairs = own.as_slice().iter().zip(other.as_slice());
        let squares: f64 = pairs.map(|(a, b)| (a - b).powi(2)).sum();
        Some(NodeMove {
            node: name.clone(),
            moved: (squares / points.rows() as f64).sqrt(),
            rows: [rows(&runs[0], name), rows(&runs[1], name)],
        })
    };
    let both: Vec<_> = a.by_node.iter().collect();
    let mut moved: Vec<NodeMove> = both.into_par_iter().filter_map(far).collect();
    moved.sort_by(|a, b| b.moved.total_cmp(&a.moved).then_with(|| a.node.cmp(&b.node)));
    moved
}

/// Points between the least and the largest features of both runs; none where a run does not know them.
fn points(a: &RunModels, b: &RunModels) -> Option<Features> {
    let (own, other) = (&a.about.ranges, &b.about.ranges);
    if own.is_empty() || own.len() != other.len() {
        return None;
    }
    let both = own.iter().zip(other).map(|(a, b)| (a.0.min(b.0), a.1.max(b.1)));
    let bounds: Vec<(f64, f64)> = both.collect();
    let mut stream = Stream::new(1, 0, 0, Purpose::Public);
    uniform_points(a.about.features.clone().into(), &bounds, POINTS, &mut stream).ok()
}

/// Coefficients of both runs.
struct Changes {
    told: Vec<CoefficientChange>,
    compared: usize,
    with_error: usize,
}

impl Changes {
    fn of(runs: &[FinishedRun; 2]) -> Result<Self> {
        let (own, other) = (coefficients(&runs[0])?, coefficients(&runs[1])?);
        let mut changes = Self { told: Vec::new(), compared: 0, with_error: 0 };
        let name = |run: &FinishedRun, node: usize| run.outcome.nodes[node].name.clone();
        for before in &own.nodes {
            let node = name(&runs[0], before.node);
            let same = other.nodes.iter().find(|now| name(&runs[1], now.node) == node);
            let Some(now) = same else { continue };
            for (k, coefficient) in own.names.iter().enumerate() {
                let place = other.names.iter().position(|known| known == coefficient);
                let Some(place) = place else { continue };
                let values = [before.values[k], now.values[place]];
                changes.compared += 1;
                let Some(error) = before.errors[k].filter(|error| *error > 0.0) else { continue };
                changes.with_error += 1;
                let errors = (values[1] - values[0]) / error;
                if errors.abs() > TOLD_ERRORS {
                    changes.told.push(CoefficientChange {
                        node: node.clone(),
                        name: coefficient.clone(),
                        values,
                        standard_error: error,
                        errors,
                    });
                }
            }
        }
        // Of equals the first node goes first, because the sort is stable.
        changes.told.sort_by(|a, b| b.errors.abs().total_cmp(&a.errors.abs()));
        Ok(changes)
    }
}

/// The keys of the experiments that differ.
fn keys(runs: &[FinishedRun; 2]) -> Result<Vec<KeyChange>> {
    let mut both: [BTreeMap<String, String>; 2] = Default::default();
    for (run, keys) in runs.iter().zip(&mut both) {
        let table = Experiment::table_from_file(&run.folder.join("experiment.toml"))?;
        flatten("", &toml::Value::Table(table), keys);
    }
    let [a, b] = &both;
    let names: std::collections::BTreeSet<&String> = a.keys().chain(b.keys()).collect();
    let change = |key: &String| KeyChange {
        key: key.clone(),
        values: [a.get(key).cloned(), b.get(key).cloned()],
    };
    Ok(names.into_iter().filter(|key| a.get(*key) != b.get(*key)).map(change).collect())
}

/// All keys below a value, with their places.
fn flatten(place: &str, value: &toml::Value, keys: &mut BTreeMap<String, String>) {
    match value {
        toml::Value::Table(table) => {
            for (name, value) in table {
                let place = if place.is_empty() { name.clone() } else { format!("{place}.{name}") };
                flatten(&place, value, keys);
            }
        }
        other => drop(keys.insert(place.to_string(), other.to_string())),
    }
}
