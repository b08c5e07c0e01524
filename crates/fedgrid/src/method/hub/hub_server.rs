//! The hub itself: it waits until all have joined, sends models, and averages once all whom it asked
//! have answered.

use std::{collections::BTreeMap, sync::Arc};

use super::{
    ClientProfile, HubMessage, HubMethod, ModelChange, Server, WeightedAnswer, Weights,
    message::{ClientAnswer, HubModels},
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
pub struct HubServer {
    fedavg: FedAvg,
    node: Node,
    server: Box<dyn Server>,
    /// Who is expected to join, and who has.
    expected: Vec<NodeId>,
    joined: BTreeMap<NodeId, ClientProfile>,
    step: f64,
    iteration: usize,
    /// Who is asked in this iteration, and what they have answered.
    asked: Vec<NodeId>,
    answers: BTreeMap<NodeId, ClientAnswer>,
    /// Whether the models are still to be sent.
    has_news: bool,
    finished: bool,
    pub(super) hypothesis: Option<Arc<dyn Hypothesis>>,
}

impl HubServer {
    pub(super) fn new(method: &dyn HubMethod, view: View) -> Result<Self> {
        let fedavg = method.fedavg();
        let View { node, neighbours } = view;
        let start: Weights = fedavg.start(&node)?;
        Ok(Self {
            server: method.server(start),
            fedavg: fedavg.clone(),
            node,
            expected: neighbours.iter().map(|neighbour| neighbour.id).collect(),
            joined: BTreeMap::new(),
            step: fedavg.step.unwrap_or(0.0),
            iteration: 0,
            asked: Vec::new(),
            answers: BTreeMap::new(),
            has_news: false,
            finished: false,
            hypothesis: None,
        })
    }

    pub(super) fn send(&mut self) -> Vec<(NodeId, HubMessage)> {
        if !std::mem::take(&mut self.has_news) {
            return Vec::new();
        }
        let is_recipient = |node: &&NodeId| {
            self.finished || self.fedavg.tells_all || self.asked.binary_search(node).is_ok()
        };
        let message = |&node: &NodeId| {
            let models = HubModels {
                iteration: self.iteration,
                step: self.step,
                weights: self.server.models(node),
                asked: !self.finished && self.asked.binary_search(&node).is_ok(),
                last: self.finished,
            };
            (node, HubMessage::Models(models))
        };
        self.expected.iter().filter(is_recipient).map(message).collect()
    }

    pub(super) fn receive(&mut self, inbox: &[(NodeId, HubMessage)]) -> Result<()> {
        for (from, message) in inbox {
            match message {
                HubMessage::Joined(joined) if self.asked.is_empty() => {
                    self.joined.insert(*from, joined.clone());
                }
                HubMessage::Answer { iteration, answer }
                    if *iteration == self.iteration && self.asked.binary_search(from).is_ok() =>
                {
                    self.answers.insert(*from, answer.clone());
                }
                // Messages that arrive twice and answers to older models change nothing.
                _ => {}
            }
        }
        if self.finished {
            return Ok(());
        }
        if self.asked.is_empty() {
            // A node that joins late would change who is drawn, so the hub waits for all.
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
            // Gradient steps on the steepest of the losses must not diverge: one step size serves all.
            let largest = self.joined.values().map(|joined| joined.curvature).fold(0.0, f64::max);
            self.step = if largest > 0.0 { 1.0 / largest } else { 1.0 };
        }
        self.step *= self.fedavg.pace;
        let clients: Vec<(NodeId, ClientProfile)> =
            self.joined.iter().map(|(id, joined)| (*id, joined.clone())).collect();
        self.server.begin(&clients);
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
            // Answers are added up in order of ids, so that sums do not depend on the draw's order.
            able.sort_unstable();
        }
        self.asked = able;
        self.has_news = true;
        self.update_hypothesis()
    }

    fn gather(&mut self) -> Result<()> {
        let answers = std::mem::take(&mut self.answers);
        let weighted: Vec<WeightedAnswer> = answers
            .into_iter()
            .map(|(node, answer)| WeightedAnswer {
                node,
                weight: self.joined[&node].weight,
                answer,
            })
            .collect();
        let ModelChange { change, size } = self.server.gather(&weighted, self.step);
        self.iteration += 1;
        let FedAvg { tolerance, .. } = self.fedavg;
        // Without a tolerance iterations are counted: rounding would decide when the last bit rests.
        let is_at_rest = tolerance > 0.0 && change <= tolerance.powi(2) * size;
        // A model that has diverged gets no better by further iterations.
        let ends = !change.is_finite() || is_at_rest;
        self.finished = ends || self.iteration >= self.fedavg.iterations;
        self.ask()
    }

    fn update_hypothesis(&mut self) -> Result<()> {
        if let Some(weights) = self.server.single() {
            let (names, task) = (self.node.data.features().names(), self.node.data.task());
            let hypothesis = parametric(&self.node)?.hypothesis(names, task, weights);
            self.hypothesis = Some(hypothesis.into());
        }
        Ok(())
    }
}
