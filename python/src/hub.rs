//! Methods around a hub, on the training rows of a study: the rivals that users know by name.

use fedgrid::{
    compare::Watch,
    method::{
        Apfl, ClusteredFl, Ditto, FedAvg, FedProx, FineTuned, Ifca, Method, Pooled, around_hub,
    },
    observe::Stop,
    runtime::{InProcess, Order, Run},
};
use fedgrid_cli::assembly::Assembly;
use pyo3::prelude::*;
use serde::Deserialize;
use serde_json::json;

use crate::{
    convert::from_json,
    persfl::{Patient, training},
    study::{Fitted, Study},
    work::How,
};

/// The choices of a method around a hub as Python writes them; a strength is its own.
#[derive(Deserialize)]
struct Keys {
    kind: Kind,
    steps: usize,
    step: Option<f64>,
    participation: f64,
    iterations: usize,
    tolerance: f64,
    seed: u64,
    /// The pull of FedProx and Ditto, the mixture of APFL.
    strength: Option<f64>,
    /// The clusters of IFCA, the last steps of fine-tuning.
    count: Option<usize>,
}

/// Which method.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Kind {
    Fedavg,
    Fedprox,
    Ditto,
    Apfl,
    Ifca,
    ClusteredFl,
    FineTuned,
}

/// Trains the nodes of a study around a hub.
#[pyfunction]
pub(crate) fn hub(py: Python<'_>, study: &Study, keys: &str, how: How) -> PyResult<Fitted> {
    let keys: Keys = from_json(keys)?;
    let assembly = study.assembly();
    how.run(py, &study.trouble, move |watch| trained(&assembly, &keys, watch))
}

fn trained(assembly: &Assembly, keys: &Keys, watch: &dyn Watch) -> fedgrid::Result<Fitted> {
    let Keys { steps, step, participation, iterations, tolerance, seed, .. } = *keys;
    let usual = FedAvg::default();
    let fedavg = FedAvg { steps, step, participation, iterations, tolerance, seed, ..usual };
    let conversation = Conversation { assembly, iterations, watch };
    let run = match keys.kind {
        Kind::Fedavg => conversation.run(&fedavg),
        Kind::Fedprox => conversation.run(&FedProx { fedavg, pull: keys.strength.unwrap_or(1.0) }),
        Kind::Ditto => conversation.run(&Ditto { fedavg, pull: keys.strength.unwrap_or(1.0) }),
        Kind::Apfl => conversation.run(&Apfl { fedavg, mixture: keys.strength.unwrap_or(0.5) }),
        Kind::Ifca => {
            let usual = Ifca::default();
            conversation.run(&Ifca { fedavg, clusters: keys.count.unwrap_or(2), ..usual })
        }
        Kind::ClusteredFl => conversation.run(&ClusteredFl { fedavg, ..ClusteredFl::default() }),
        Kind::FineTuned => conversation.run(&FineTuned { fedavg, steps: keys.count.unwrap_or(10) }),
    }?;
    let nodes = training(assembly);
    let pooled = if run.hypotheses[..nodes.len()].iter().all(Option::is_some) {
        None
    } else {
        Some(Pooled.fit(&nodes)?)
    };
    let own = run.hypotheses.iter().take(nodes.len()).enumerate();
    let hypotheses = own.map(|(node, own)| match (own, &pooled) {
        (Some(own), _) => own.clone(),
        (None, Some(pooled)) => pooled[node].clone(),
        (None, None) => unreachable!("all nodes have a model of their own"),
    });
    let last = run.history.last().map_or(0.0, |round| round.residual);
    let converged = run.history.len() < 2 * keys.iterations + 2;
    let details = json!({
        "certificate": { "kind": "change of the hub's models", "value": last, "converged": converged },
        "rounds": run.history, "residuals": [], "steps": [], "direct": false,
        "engine": "rounds of messages around a hub", "clusters": null, "damped": run.damped,
    });
    Ok(Fitted { hypotheses: hypotheses.collect(), details: details.to_string(), known: None })
}

/// Rounds of messages between a hub and the nodes of a study.
struct Conversation<'a> {
    assembly: &'a Assembly,
    iterations: usize,
    watch: &'a dyn Watch,
}

impl Conversation<'_> {
    fn run<M: Method>(&self, method: &M) -> fedgrid::Result<Run> {
        let stop = Stop { tolerance: 0.0, rounds: 2 * self.iterations + 2 };
        let runtime = InProcess { stop, order: Order::AtOnce };
        let views = around_hub(training(self.assembly))?;
        runtime.observed(method, views, &mut Patient(self.watch))
    }
}
