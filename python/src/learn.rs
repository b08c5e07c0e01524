//! The network that probes suggest, from the training rows of a study.

use fedgrid::{data::Dataset, network::Node, network_learning::NetworkLearning};
use fedgrid_lab::assembly::Assembly;
use pyo3::prelude::*;
use serde::Deserialize;
use serde_json::json;

use crate::{convert::from_json, network::NetworkHandle, study::StudyHandle, work::How};

/// The choices of a learned network as Python writes them.
#[derive(Deserialize)]
struct LearnChoices {
    share: f64,
    phases: usize,
    iterations: usize,
    neighbours: usize,
    step: Option<f64>,
    seed: u64,
}

/// The network, and the pairs that were probed, as JSON.
#[pyfunction]
pub(crate) fn learn(
    py: Python<'_>,
    study: &StudyHandle,
    keys: &str,
    how: How,
) -> PyResult<(NetworkHandle, String)> {
    let LearnChoices { share, phases, iterations, neighbours, step, seed } = from_json(keys)?;
    let assembly = study.assembly();
    how.run(py, move |_| {
        let usual = NetworkLearning::default();
        let learn = NetworkLearning { share, phases, iterations, neighbours, step, seed, ..usual };
        let names = assembly.study.network.names().to_vec();
        let learned = learn.learn(names, &training(&assembly))?;
        let pairs = learned.pairs.iter().map(|pair| {
            json!({
                "source": pair.source, "target": pair.target, "score": pair.score(),
                "confidence": pair.confidence, "kept": pair.kept,
            })
        });
        let about = json!({ "pairs": pairs.collect::<Vec<_>>(), "probes": learned.probes });
        Ok((NetworkHandle(learned.network), about.to_string()))
    })
}

/// The nodes of a study with their training rows, every node counting the same.
fn training(assembly: &Assembly) -> Vec<Node> {
    let study = &assembly.study;
    let node = |(id, data): (usize, Dataset)| Node {
        id,
        // Of one weight: a node with many rows shall not look more helpful for that alone.
        data,
        model: study.models[id].clone(),
        public: study.public[id].clone(),
    };
    study.training_data().into_iter().enumerate().map(node).collect()
}
