//! IFCA: the hub keeps K models, every node trains the one that suits its rows best, and the hub
//! averages each over those who chose it,
//!
//! ```text
//! k_i = argmin_k L_i(w_k),      w_k ← Σ_{i: k_i = k} p_i w_i / Σ_{i: k_i = k} p_i
//! ```
//!
//! [Ghosh et al., "An efficient framework for clustered federated learning", Algorithm 1.] It finds
//! the clusters only from a good start, so several starts run side by side for some iterations, and
//! the one of smallest training loss goes on.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    FedAvg,
    hub::{
        Client, ClientAnswer, ClientProfile, ClientState, HubMethod, ModelChange, Server,
        WeightedAnswer, Weights,
    },
};
use crate::{
    error::{Result, at_least, at_least_zero},
    network::NodeId,
    random::{Purpose, Stream},
};

/// Where the models of several clusters start. One cluster starts where FedAvg does.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Guess {
    /// Around FedAvg's start, as in the papers' experiments.
    Random {
        /// The standard deviation ≥ 0 of each weight.
        spread: f64,
    },
    /// At the local models of nodes drawn at random.
    Nodes,
}

/// Clustered learning by alternately choosing and averaging.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Ifca {
    /// How models are trained and averaged.
    #[serde(flatten)]
    pub fedavg: FedAvg,
    /// How many clusters K ≥ 1 there are; one is FedAvg.
    #[serde(skip)]
    pub clusters: usize,
    /// Where their models start.
    #[serde(skip)]
    pub guess: Guess,
    /// How many starts ≥ 1 run side by side.
    #[schemars(range(min = 1))]
    pub restarts: usize,
    /// After how many iterations the best of them goes on alone.
    #[serde(skip)]
    pub trial: usize,
}

impl Default for Ifca {
    fn default() -> Self {
        Self { fedavg: FedAvg::default(), clusters: 2, guess: Guess::Nodes, restarts: 5, trial: 20 }
    }
}

impl Ifca {
    /// The models of one start.
    fn start(&self, number: usize, centre: &Weights, locals: &[Weights]) -> Vec<Weights> {
        if self.clusters == 1 {
            return vec![centre.clone()];
        }
        let mut stream = Stream::new(self.fedavg.seed, number, 0, Purpose::Restarts);
        let around = |stream: &mut Stream, spread: f64| -> Weights {
            centre.iter().map(|w| w + spread * stream.normal()).collect()
        };
        match self.guess {
            Guess::Random { spread } => {
                (0..self.clusters).map(|_| around(&mut stream, spread)).collect()
            }
            Guess::Nodes => {
                let order = stream.permutation(locals.len());
                // With more clusters than nodes, some start alike and one of them is never chosen.
                let drawn = order.iter().cycle().take(self.clusters);
                drawn.map(|&node| locals[node].clone()).collect()
            }
        }
    }
}

impl HubMethod for Ifca {
    fn fedavg(&self) -> &FedAvg {
        &self.fedavg
    }

    fn check_own(&self) -> Result<()> {
        let counts =
            [("clusters", self.clusters), ("restarts", self.restarts), ("trial", self.trial)];
        for (name, value) in counts {
            at_least(value, name, 1, "one or more")?;
        }
        match self.guess {
            Guess::Random { spread } => at_least_zero("spread", spread),
            Guess::Nodes => Ok(()),
        }
    }

    fn server(&self, start: Weights) -> Box<dyn Server> {
        Box::new(IfcaServer { method: self.clone(), start, sets: Vec::new(), iteration: 0 })
    }

    fn client(&self) -> Box<dyn Client> {
        Box::new(IfcaClient { clusters: self.clusters })
    }

    fn wants_local(&self) -> bool {
        self.guess == Guess::Nodes && self.clusters > 1
    }
}

/// A hub with several models, from one start or more.
#[derive(Debug)]
struct IfcaServer {
    method: Ifca,
    start: Weights,
    /// The models of each start that has not been dropped.
    sets: Vec<Vec<Weights>>,
    iteration: usize,
}

impl IfcaServer {
    /// Keeps the start of smallest loss.
    fn choose(&mut self, answers: &[WeightedAnswer]) {
        let loss = |set: usize| -> f64 {
            answers.iter().map(|given| given.weight * given.answer.losses[set]).sum()
        };
        let better = |a: usize, b: usize| if loss(b) < loss(a) { b } else { a };
        let best = (0..self.sets.len()).reduce(better).unwrap_or(0);
        self.sets = vec![self.sets.swap_remove(best)];
    }
}

impl Server for IfcaServer {
    fn begin(&mut self, clients: &[(NodeId, ClientProfile)]) {
        let locals: Vec<Weights> =
            clients.iter().filter_map(|(_, joined)| joined.local.clone()).collect();
        // All starts of a single cluster are FedAvg's, so more than one would repeat it.
        let restarts = if self.method.clusters == 1 { 1 } else { self.method.restarts };
        let set = |number| self.method.start(number, &self.start, &locals);
        self.sets = (0..restarts).map(set).collect();
    }

    fn models(&self, _: NodeId) -> Arc<[Weights]> {
        self.sets.iter().flatten().cloned().collect()
    }

    fn gather(&mut self, answers: &[WeightedAnswer], step: f64) -> ModelChange {
        let all: Vec<&WeightedAnswer> = answers.iter().collect();
        let mut moved = ModelChange::default();
        for (index, model) in self.sets.iter_mut().flatten().enumerate() {
            let averaged = self.method.fedavg.averaged;
            if let Some(new) = FedAvg::merged(averaged, model, (&all, index), step) {
                moved = moved.plus(ModelChange::between(model, &new));
                *model = new;
            }
        }
        self.iteration += 1;
        if self.sets.len() > 1 {
            if self.iteration >= self.method.trial {
                self.choose(answers);
            }
            // Starts that have converged may still be dropped, so the run goes on until one is chosen.
            return ModelChange::RESTARTED;
        }
        moved
    }

    fn single(&self) -> Option<&Weights> {
        match self.sets.as_slice() {
            [set] if set.len() == 1 => set.first(),
            _ => None,
        }
    }
}

/// A node that chooses among the models of each start.
#[derive(Debug)]
struct IfcaClient {
    clusters: usize,
}

/// The index and the loss of the best of some models; the first of equals.
fn best(state: &ClientState, models: &[Weights]) -> (usize, f64) {
    let losses = models.iter().map(|weights| state.loss(weights)).enumerate();
    let smaller = |a: (usize, f64), b: (usize, f64)| if b.1 < a.1 { b } else { a };
    losses.reduce(smaller).unwrap_or((0, f64::INFINITY))
}

impl Client for IfcaClient {
    fn answer(&mut self, state: &ClientState, models: &[Weights]) -> Result<ClientAnswer> {
        let (mut parts, mut losses) = (Vec::new(), Vec::new());
        for (set, models) in models.chunks(self.clusters).enumerate() {
            let (chosen, loss) = best(state, models);
            parts.push((set * self.clusters + chosen, state.trained(&models[chosen], 0.0)));
            losses.push(loss);
        }
        Ok(ClientAnswer { parts, losses })
    }

    /// The best of all models; without rows no model can be chosen.
    fn own(&mut self, state: &ClientState, models: &[Weights], _: bool) -> Result<Option<Weights>> {
        if !state.has_rows() && self.clusters > 1 {
            return Ok(None);
        }
        Ok(Some(models[best(state, models).0].clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_parameters_are_named() {
        let message = |method: Ifca| method.check_own().unwrap_err().to_string();
        let ifca = Ifca::default;
        assert_eq!(message(Ifca { clusters: 0, ..ifca() }), "clusters is 0, expected one or more");
        assert_eq!(message(Ifca { restarts: 0, ..ifca() }), "restarts is 0, expected one or more");
        assert_eq!(message(Ifca { trial: 0, ..ifca() }), "trial is 0, expected one or more");
        let guess = Guess::Random { spread: f64::NAN };
        assert_eq!(message(Ifca { guess, ..ifca() }), "spread is NaN, expected zero or more");
    }
}
