//! PersFL and the network it learns, on the training rows of a study.

use std::{ops::ControlFlow, sync::Arc};

use fedgrid::{
    compare::Watch,
    data::Dataset,
    method::{Adoption, Budget, Choice, Learn, PersFl, Pooled, Probe, Start},
    model::Hypothesis,
    network::{self, Node},
    observe::{Observer, Round, Stop},
    runtime::{InProcess, Order},
};
use fedgrid_cli::assembly::Assembly;
use pyo3::prelude::*;
use serde::Deserialize;
use serde_json::json;

use crate::{
    convert::from_json,
    network::Network,
    study::{Fitted, Study},
    work::How,
};

/// The choices of PersFL as Python writes them.
#[derive(Deserialize)]
struct Keys {
    probe: Probe,
    step: f64,
    candidates: usize,
    choice: Choice,
    adoption: Adoption,
    only_if_better: bool,
    local_start: bool,
    held: f64,
    iterations: usize,
    seed: u64,
}

/// The choices of a learned network as Python writes them.
#[derive(Deserialize)]
struct LearnKeys {
    share: f64,
    phases: usize,
    iterations: usize,
    neighbours: usize,
    step: Option<f64>,
    seed: u64,
}

/// Every node asks others for a step and keeps the one that helps it most.
#[pyfunction]
pub(crate) fn persfl(py: Python<'_>, study: &Study, keys: &str, how: How) -> PyResult<Fitted> {
    let keys: Keys = from_json(keys)?;
    let assembly = study.assembly();
    how.run(py, &study.trouble, move |watch| probed(&assembly, &keys, watch))
}

/// The network that probes suggest, and the pairs that were probed, as JSON.
#[pyfunction]
pub(crate) fn learn(
    py: Python<'_>,
    study: &Study,
    keys: &str,
    how: How,
) -> PyResult<(Network, String)> {
    let LearnKeys { share, phases, iterations, neighbours, step, seed } = from_json(keys)?;
    let assembly = study.assembly();
    how.run(py, &study.trouble, move |_| {
        let usual = Learn::default();
        let learn = Learn { share, phases, iterations, neighbours, step, seed, ..usual };
        let names = assembly.study.network.names().to_vec();
        let learned = learn.learn(names, &training(&assembly))?;
        let pairs = learned.pairs.iter().map(|pair| {
            json!({
                "source": pair.source, "target": pair.target, "score": pair.score(),
                "confidence": pair.confidence, "kept": pair.kept,
            })
        });
        let about = json!({ "pairs": pairs.collect::<Vec<_>>(), "probes": learned.probes });
        Ok((Network(learned.network), about.to_string()))
    })
}

/// The nodes of a study with their training rows, every node counting the same.
pub(crate) fn training(assembly: &Assembly) -> Vec<Node> {
    let study = &assembly.study;
    let node = |(id, rows): (usize, &Dataset)| Node {
        id,
        data: rows.select(&study.plan.train[id]).with_total_weight(1.0),
        model: study.models[id].clone(),
        public: study.public[id].clone(),
    };
    study.rows.iter().enumerate().map(node).collect()
}

fn probed(assembly: &Assembly, keys: &Keys, watch: &dyn Watch) -> fedgrid::Result<Fitted> {
    let method = PersFl {
        probe: keys.probe,
        step: keys.step,
        candidates: keys.candidates,
        choice: keys.choice.clone(),
        adoption: keys.adoption,
        only_if_better: keys.only_if_better,
        start: if keys.local_start { Start::Local } else { Start::Zero },
        held: keys.held,
        budget: Budget::Unlimited,
        seed: keys.seed,
        ..PersFl::default()
    };
    let nodes = training(assembly);
    let network = &assembly.study.network;
    // All ask in one round and answer in the next.
    let stop = Stop { tolerance: 0.0, rounds: 2 * keys.iterations };
    let runtime = InProcess { stop, order: Order::AtOnce };
    let run = runtime.observed(&method, network.views(nodes.clone())?, &mut Patient(watch))?;
    let tallies: Vec<_> = run.tallies.iter().collect();
    let details = json!({
        "certificate": { "kind": "none", "value": 0.0, "converged": true, "reason": "iterations are counted" },
        "rounds": run.history, "residuals": [], "steps": [], "direct": false,
        "engine": "rounds of messages", "clusters": null, "damped": run.damped, "tallies": tallies,
    });
    let hypotheses = filled(run.hypotheses, &nodes)?;
    Ok(Fitted { hypotheses, details: details.to_string(), known: None })
}

/// Nodes without a row cannot score a step; they get the pooled model.
fn filled(
    learnt: Vec<Option<Arc<dyn Hypothesis>>>,
    nodes: &[network::Node],
) -> fedgrid::Result<Vec<Arc<dyn Hypothesis>>> {
    if learnt.iter().all(Option::is_some) {
        return Ok(learnt.into_iter().flatten().collect());
    }
    let pooled = Pooled.fit(nodes)?;
    Ok(learnt.into_iter().zip(pooled).map(|(own, pooled)| own.unwrap_or(pooled)).collect())
}

/// Stops a run when its caller wants to.
pub(crate) struct Patient<'a>(pub(crate) &'a dyn Watch);

impl Observer for Patient<'_> {
    fn round(&mut self, record: &mut Round, _: &[Option<Arc<dyn Hypothesis>>]) -> ControlFlow<()> {
        self.0.round(record);
        if self.0.interrupted() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}
