//! FedAvg: nodes train the hub's model on their own rows, and the hub averages,
//!
//! ```text
//! models      w_i = w after E steps  w ← w − η ∇L_i(w),      w ← Σ_i p_i w_i
//! gradients   w ← w − η Σ_i p_i ∇L_i(w)
//! ```
//!
//! over a drawn share of the nodes, each counting as its rows weigh. ["Communication-efficient
//! learning of deep networks from decentralized data", 2017.] One step of models is one of gradients.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::hub::{
    Client, ClientAnswer, ClientState, HubMethod, ModelChange, Server, WeightedAnswer, Weights,
    parametric,
};
use crate::{
    algebra::add_scaled,
    error::{Error, Result, at_least, at_least_zero, positive, same_size},
    network::{Node, NodeId},
};

/// What a hub averages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Averaged {
    /// The weights after local steps.
    #[default]
    Models,
    /// Gradients.
    Gradients,
}

/// One model for all, averaged at a hub; also what other methods with a hub are built on.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct FedAvg {
    /// What is averaged.
    #[serde(rename = "averaging")]
    pub averaged: Averaged,
    /// How many local steps E ≥ 1 make up an iteration, where models are averaged.
    #[serde(rename = "local_steps")]
    #[schemars(range(min = 1))]
    pub steps: usize,
    /// The step size η > 0; none takes one over the largest curvature of any node's loss.
    #[serde(skip)]
    pub step: Option<f64>,
    /// A factor > 0 of the step size.
    #[serde(skip)]
    pub pace: f64,
    /// The share of nodes in (0, 1] that train in an iteration; at least one does.
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1))]
    pub participation: f64,
    /// Whether nodes that do not train in an iteration receive its models too; all receive the last.
    #[serde(skip)]
    pub tells_all: bool,
    /// How many iterations there are at most.
    #[serde(skip)]
    pub iterations: usize,
    /// The change of the hub's models, relative to them, at which it stops. The tolerance of the
    /// runtime must not be larger, or it stops before nodes know that these were the last models.
    #[serde(skip)]
    pub tolerance: f64,
    /// Where to start; none is where the model starts.
    #[serde(skip)]
    pub start: Option<Arc<[f64]>>,
    /// What decides the draws.
    #[serde(skip)]
    pub seed: u64,
}

impl Default for FedAvg {
    fn default() -> Self {
        Self {
            averaged: Averaged::Models,
            steps: 5,
            step: None,
            pace: 1.0,
            participation: 1.0,
            tells_all: true,
            iterations: 500,
            tolerance: 1e-6,
            start: None,
            seed: 0,
        }
    }
}

impl FedAvg {
    pub(super) fn check(&self) -> Result<()> {
        for (name, value) in [("step", self.step.unwrap_or(1.0)), ("pace", self.pace)] {
            positive(name, value)?;
        }
        if !(self.participation > 0.0 && self.participation <= 1.0) {
            let expected = "a share above zero and up to one";
            return Err(Error::Parameter {
                name: "participation",
                value: self.participation,
                expected,
            });
        }
        for (name, value) in [("steps", self.steps), ("iterations", self.iterations)] {
            at_least(value, name, 1, "one or more")?;
        }
        at_least_zero("tolerance", self.tolerance)
    }

    /// How many of some nodes train in an iteration.
    pub(super) fn count(&self, nodes: usize) -> usize {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "the share is between zero and one"
        )]
        let count = (self.participation * nodes as f64).round() as usize;
        count.clamp(1, nodes)
    }

    /// The weights that all start from.
    pub(super) fn start(&self, node: &Node) -> Result<Weights> {
        let usual = parametric(node)?.start(node.data.features().columns(), node.data.task());
        let Some(given) = &self.start else { return Ok(usual.into()) };
        same_size("weights to start from", given.len(), usual.len())?;
        Ok(given.clone())
    }

    /// The mean of what was answered for one model, in order of ids; none if nothing was.
    pub(super) fn merged(
        averaged: Averaged,
        old: &[f64],
        (answers, model): (&[&WeightedAnswer], usize),
        step: f64,
    ) -> Option<Weights> {
        let parts = || {
            answers.iter().flat_map(|given| {
                let of_model = given.answer.parts.iter().filter(move |part| part.0 == model);
                of_model.map(|part| (given.weight, &part.1))
            })
        };
        let total: f64 = parts().map(|(weight, _)| weight).sum();
        // No node chose this model, or none of its rows weigh anything: the hub keeps it as it is.
        if total == 0.0 {
            return None;
        }
        let mut mean = match averaged {
            Averaged::Models => vec![0.0; old.len()],
            Averaged::Gradients => old.to_vec(),
        };
        for (weight, part) in parts() {
            let share = weight / total;
            let factor = if averaged == Averaged::Models { share } else { -step * share };
            add_scaled(&mut mean, factor, part);
        }
        Some(mean.into())
    }
}

impl HubMethod for FedAvg {
    fn fedavg(&self) -> &FedAvg {
        self
    }

    fn client(&self) -> Box<dyn Client> {
        Box::new(AveragingClient { pull: 0.0 })
    }
}

/// A hub with one model.
#[derive(Debug)]
pub(super) struct AveragingServer {
    averaged: Averaged,
    models: Arc<[Weights]>,
}

impl AveragingServer {
    pub(super) fn new(averaged: Averaged, start: Weights) -> Self {
        Self { averaged, models: [start].into() }
    }
}

impl Server for AveragingServer {
    fn models(&self, _: NodeId) -> Arc<[Weights]> {
        self.models.clone()
    }

    fn gather(&mut self, answers: &[WeightedAnswer], step: f64) -> ModelChange {
        let (old, answers) = (&self.models[0], answers.iter().collect::<Vec<_>>());
        let Some(new) = FedAvg::merged(self.averaged, old, (&answers, 0), step) else {
            return ModelChange::default();
        };
        let change = ModelChange::between(old, &new);
        self.models = [new].into();
        change
    }

    fn single(&self) -> Option<&Weights> {
        self.models.first()
    }
}

/// A node that trains the hub's model, pulled by μ to where it began, and uses it as it is.
#[derive(Debug)]
pub(super) struct AveragingClient {
    pub(super) pull: f64,
}

impl Client for AveragingClient {
    fn answer(&mut self, state: &ClientState, models: &[Weights]) -> Result<ClientAnswer> {
        let parts = vec![(0, state.trained(&models[0], self.pull))];
        Ok(ClientAnswer { parts, losses: Vec::new() })
    }

    fn own(&mut self, _: &ClientState, models: &[Weights], _: bool) -> Result<Option<Weights>> {
        Ok(models.first().cloned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_parameters_are_named() {
        let message = |method: FedAvg| method.check().unwrap_err().to_string();
        let fedavg = FedAvg::default;
        assert_eq!(
            message(FedAvg { step: Some(-1.0), ..fedavg() }),
            "step is -1, expected a positive number"
        );
        assert_eq!(
            message(FedAvg { pace: 0.0, ..fedavg() }),
            "pace is 0, expected a positive number"
        );
        assert_eq!(
            message(FedAvg { participation: 0.0, ..fedavg() }),
            "participation is 0, expected a share above zero and up to one"
        );
        assert_eq!(message(FedAvg { steps: 0, ..fedavg() }), "steps is 0, expected one or more");
        assert_eq!(
            message(FedAvg { iterations: 0, ..fedavg() }),
            "iterations is 0, expected one or more"
        );
        assert_eq!(
            message(FedAvg { tolerance: -1.0, ..fedavg() }),
            "tolerance is -1, expected zero or more"
        );
    }

    #[test]
    fn a_share_of_the_nodes_is_at_least_one() {
        let count =
            |participation, nodes| FedAvg { participation, ..FedAvg::default() }.count(nodes);
        assert_eq!([count(0.2, 100), count(0.01, 10), count(1.0, 7)], [20, 1, 7]);
    }
}
