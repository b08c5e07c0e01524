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
    FedAvg, Method,
    hub::{Answer, Client, Heard, Hubbed, Joined, Moved, Server, Sides, Weights, Workplace},
};
use crate::{
    error::{Result, at_least, at_least_zero},
    network::{NodeId, View},
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
    fn check(&self) -> Result<()> {
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

impl Method for Ifca {
    type Participant = Hubbed;

    fn join(&self, view: View) -> Result<Hubbed> {
        self.check()?;
        Hubbed::new(&self.fedavg, self, view)
    }
}

impl Sides for Ifca {
    fn server(&self, start: Weights) -> Box<dyn Server> {
        Box::new(Several { method: self.clone(), start, sets: Vec::new(), iteration: 0 })
    }

    fn client(&self) -> Box<dyn Client> {
        Box::new(Choosing { clusters: self.clusters })
    }

    fn wants_local(&self) -> bool {
        self.guess == Guess::Nodes && self.clusters > 1
    }
}

/// A hub with several models, from one start or more.
#[derive(Debug)]
struct Several {
    method: Ifca,
    start: Weights,
    /// The models of each start that is still in the race.
    sets: Vec<Vec<Weights>>,
    iteration: usize,
}

impl Several {
    /// Keeps the start of smallest loss.
    fn choose(&mut self, answers: &[Heard]) {
        let loss = |set: usize| -> f64 {
            answers.iter().map(|heard| heard.weight * heard.answer.losses[set]).sum()
        };
        let better = |a: usize, b: usize| if loss(b) < loss(a) { b } else { a };
        let best = (0..self.sets.len()).reduce(better).unwrap_or(0);
        self.sets = vec![self.sets.swap_remove(best)];
    }
}

impl Server for Several {
    fn begin(&mut self, members: &[(NodeId, Joined)]) {
        let locals: Vec<Weights> =
            members.iter().filter_map(|(_, joined)| joined.local.clone()).collect();
        // One cluster has one start only.
        let restarts = if self.method.clusters == 1 { 1 } else { self.method.restarts };
        let set = |number| self.method.start(number, &self.start, &locals);
        self.sets = (0..restarts).map(set).collect();
    }

    fn models(&self, _: NodeId) -> Arc<[Weights]> {
        self.sets.iter().flatten().cloned().collect()
    }

    fn gather(&mut self, answers: &[Heard], step: f64) -> Moved {
        let heard: Vec<&Heard> = answers.iter().collect();
        let mut moved = Moved::default();
        for (place, model) in self.sets.iter_mut().flatten().enumerate() {
            let averaged = self.method.fedavg.averaged;
            if let Some(new) = FedAvg::merged(averaged, model, (&heard, place), step) {
                moved = moved.and(Moved::between(model, &new));
                *model = new;
            }
        }
        self.iteration += 1;
        if self.sets.len() > 1 {
            if self.iteration >= self.method.trial {
                self.choose(answers);
            }
            return Moved::ANEW;
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
struct Choosing {
    clusters: usize,
}

/// The place and the loss of the best of some models; the first of equals.
fn best(place: &Workplace, models: &[Weights]) -> (usize, f64) {
    let losses = models.iter().map(|weights| place.loss(weights)).enumerate();
    let smaller = |a: (usize, f64), b: (usize, f64)| if b.1 < a.1 { b } else { a };
    losses.reduce(smaller).unwrap_or((0, f64::INFINITY))
}

impl Client for Choosing {
    fn answer(&mut self, place: &Workplace, models: &[Weights]) -> Result<Answer> {
        let (mut parts, mut losses) = (Vec::new(), Vec::new());
        for (set, models) in models.chunks(self.clusters).enumerate() {
            let (chosen, loss) = best(place, models);
            parts.push((set * self.clusters + chosen, place.trained(&models[chosen], 0.0)));
            losses.push(loss);
        }
        Ok(Answer { parts, losses })
    }

    /// The best of all models; without rows nothing tells which.
    fn own(&mut self, place: &Workplace, models: &[Weights], _: bool) -> Result<Option<Weights>> {
        if !place.has_rows() && self.clusters > 1 {
            return Ok(None);
        }
        Ok(Some(models[best(place, models).0].clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_parameters_are_named() {
        let message = |method: Ifca| method.check().unwrap_err().to_string();
        let ifca = Ifca::default;
        assert_eq!(message(Ifca { clusters: 0, ..ifca() }), "clusters is 0, expected one or more");
        assert_eq!(message(Ifca { restarts: 0, ..ifca() }), "restarts is 0, expected one or more");
        assert_eq!(message(Ifca { trial: 0, ..ifca() }), "trial is 0, expected one or more");
        let guess = Guess::Random { spread: f64::NAN };
        assert_eq!(message(Ifca { guess, ..ifca() }), "spread is NaN, expected zero or more");
    }
}
