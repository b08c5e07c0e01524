//! The hub itself: it waits for all to join, sends models, waits for all whom it asked, and goes on.

use std::{collections::BTreeMap, sync::Arc};

use super::{
    Heard, Joined, Letter, Moved, Server, Sides, Weights,
    message::{Answer, Models},
    parametric,
};
use crate::{
    error::{Error, Result},
    method::FedAvg,
    model::Hypothesis,
    network::{Node, NodeId, View},
    random::{Purpose, Stream},
};

/// A hub.
#[derive(Debug)]
pub struct Centre {
    fedavg: FedAvg,
    node: Node,
    server: Box<dyn Server>,
    /// Who is expected to join, and who has.
    expected: Vec<NodeId>,
    joined: BTreeMap<NodeId, Joined>,
    step: f64,
    iteration: usize,
    /// Who is asked in this iteration, and what they have answered.
    asked: Vec<NodeId>,
    answers: BTreeMap<NodeId, Answer>,
    /// Whether the models are still to be sent.
    speaks: bool,
    finished: bool,
    pub(super) hypothesis: Option<Arc<dyn Hypothesis>>,
}

impl Centre {
    pub(super) fn new(fedavg: &FedAvg, sides: &dyn Sides, view: View) -> Result<Self> {
        let View { node, neighbours } = view;
        let start: Weights = fedavg.start(&node)?;
        Ok(Self {
            server: sides.server(start),
            fedavg: fedavg.clone(),
            node,
            expected: neighbours.iter().map(|neighbour| neighbour.id).collect(),
            joined: BTreeMap::new(),
            step: fedavg.step.unwrap_or(0.0),
            iteration: 0,
            asked: Vec::new(),
            answers: BTreeMap::new(),
            speaks: false,
            finished: false,
            hypothesis: None,
        })
    }

    pub(super) fn send(&mut self) -> Vec<(NodeId, Letter)> {
        if !std::mem::take(&mut self.speaks) {
            return Vec::new();
        }
        let told = |node: &&NodeId| {
            self.finished || self.fedavg.tells_all || self.asked.binary_search(node).is_ok()
        };
        let letter = |&node: &NodeId| {
            let models = Models {
                iteration: self.iteration,
                step: self.step,
                weights: self.server.models(node),
                asked: !self.finished && self.asked.binary_search(&node).is_ok(),
                last: self.finished,
            };
            (node, Letter::Models(models))
        };
        self.expected.iter().filter(told).map(letter).collect()
    }

    pub(super) fn receive(&mut self, inbox: &[(NodeId, Letter)]) -> Result<()> {
        for (from, letter) in inbox {
            match letter {
                Letter::Joined(joined) if self.asked.is_empty() => {
                    self.joined.insert(*from, joined.clone());
                }
                Letter::Answer { iteration, answer }
                    if *iteration == self.iteration && self.asked.binary_search(from).is_ok() =>
                {
                    self.answers.insert(*from, answer.clone());
                }
                _ => {}
            }
        }
        if self.finished {
            return Ok(());
        }
        if self.asked.is_empty() {
            // Whoever comes late would change who is drawn, so all are waited for.
            return if self.joined.len() == self.expected.len() { self.begin() } else { Ok(()) };
        }
        if self.answers.len() == self.asked.len() {
            self.gather()?;
        }
        Ok(())
    }

    fn begin(&mut self) -> Result<()> {
        let columns = self.node.data.features().columns();
        let own = parametric(&self.node)?.size(columns, self.node.data.task());
        for (&neighbour, joined) in &self.joined {
            if joined.size != own {
                let (node, other) = (self.node.id, joined.size);
                return Err(Error::MixedSizes { node, own, neighbour, other });
            }
        }
        if self.fedavg.step.is_none() {
            let largest = self.joined.values().map(|joined| joined.curvature).fold(0.0, f64::max);
            self.step = if largest > 0.0 { 1.0 / largest } else { 1.0 };
        }
        self.step *= self.fedavg.pace;
        let members: Vec<(NodeId, Joined)> =
            self.joined.iter().map(|(id, joined)| (*id, joined.clone())).collect();
        self.server.begin(&members);
        self.ask()
    }

    /// Draws who takes part in the next iteration.
    fn ask(&mut self) -> Result<()> {
        let with_rows = self.joined.iter().filter(|(_, joined)| joined.weight > 0.0);
        let mut able: Vec<NodeId> = with_rows.map(|(id, _)| *id).collect();
        if able.is_empty() {
            return Err(Error::NoData);
        }
        let count = self.fedavg.count(able.len());
        if count < able.len() {
            let hub = self.node.id;
            let mut stream =
                Stream::new(self.fedavg.seed, hub, self.iteration, Purpose::Participants);
            stream.shuffle(&mut able);
            able.truncate(count);
            able.sort_unstable();
        }
        self.asked = able;
        self.speaks = true;
        self.show()
    }

    fn gather(&mut self) -> Result<()> {
        let answers = std::mem::take(&mut self.answers);
        let heard: Vec<Heard> = answers
            .into_iter()
            .map(|(node, answer)| Heard { node, weight: self.joined[&node].weight, answer })
            .collect();
        let Moved { change, size } = self.server.gather(&heard, self.step);
        self.iteration += 1;
        let allowed = self.fedavg.tolerance.powi(2) * size;
        let rests = !change.is_finite() || change <= allowed;
        self.finished = rests || self.iteration >= self.fedavg.iterations;
        self.ask()
    }

    fn show(&mut self) -> Result<()> {
        if let Some(weights) = self.server.single() {
            let (names, task) = (self.node.data.features().names(), self.node.data.task());
            let hypothesis = parametric(&self.node)?.hypothesis(names, task, weights);
            self.hypothesis = Some(hypothesis.into());
        }
        Ok(())
    }
}
