//! A node around a hub: it joins, answers, and derives its own model from the hub's.

use std::sync::Arc;

use super::{
    Client, ClientProfile, ClientState, HubMessage, HubMethod, Weights, largest_curvature,
    message::HubModels, parametric,
};
use crate::{
    algebra::{dot, squared_distance},
    error::Result,
    method::Report,
    model::Hypothesis,
    network::{NodeId, View},
};

/// A node around a hub.
#[derive(Debug)]
pub struct HubClient {
    state: ClientState,
    client: Box<dyn Client>,
    hub: NodeId,
    /// What is to be sent next.
    outgoing: Option<HubMessage>,
    /// The last iteration whose models were received.
    last_iteration: Option<usize>,
    finished: bool,
    weights: Option<Weights>,
    pub(super) hypothesis: Option<Arc<dyn Hypothesis>>,
    pub(super) report: Report,
}

impl HubClient {
    pub(super) fn new(method: &dyn HubMethod, view: View) -> Result<Self> {
        let fedavg = method.fedavg();
        let View { node, neighbours } = view;
        let hub = neighbours.first().map_or(node.id, |neighbour| neighbour.id);
        let start = fedavg.start(&node)?;
        let size = parametric(&node)?.size(node.data.features().columns(), node.data.task());
        let weight = node.data.total_weight();
        let curvature = match fedavg.step {
            // The hub needs no curvatures where the step is given, and they cost a fit.
            Some(_) => 0.0,
            None => largest_curvature(&node, &start)?,
        };
        let state = ClientState::new(fedavg, node)?;
        let wants = method.wants_local() && state.has_rows();
        let local = if wants { Some(state.local()?) } else { None };
        Ok(Self {
            state,
            client: method.client(),
            hub,
            outgoing: Some(HubMessage::Joined(ClientProfile { weight, curvature, size, local })),
            last_iteration: None,
            finished: false,
            weights: None,
            hypothesis: None,
            // Change and size are alike: a run must not stop before the first models have come.
            report: Report { change: 1.0, size: 1.0, ..Report::default() },
        })
    }

    pub(super) fn send(&mut self) -> Vec<(NodeId, HubMessage)> {
        self.outgoing.take().map(|message| (self.hub, message)).into_iter().collect()
    }

    pub(super) fn receive(&mut self, inbox: &[(NodeId, HubMessage)]) -> Result<()> {
        let received = inbox.iter().find_map(|(_, message)| match message {
            HubMessage::Models(models) => Some(models),
            _ => None,
        });
        match received {
            // A runtime may deliver a message twice; the second changes nothing.
            Some(models) if self.last_iteration.is_none_or(|last| last < models.iteration) => {
                self.receive_models(models)
            }
            _ => {
                // Until the last models are here silence means waiting, not convergence.
                if self.finished {
                    self.report.change = 0.0;
                }
                Ok(())
            }
        }
    }

    fn receive_models(&mut self, models: &HubModels) -> Result<()> {
        self.last_iteration = Some(models.iteration);
        self.finished = models.last;
        self.state.step = models.step;
        let own = self.client.own(&self.state, &models.weights, models.last)?;
        self.report = Report::default();
        if let Some(own) = &own {
            let node = &self.state.node;
            if self.state.has_rows() {
                self.report.loss = self.state.loss(own);
            }
            // The first models have nothing to be compared with, which must not count as convergence.
            (self.report.change, self.report.size) = match &self.weights {
                Some(before) => (squared_distance(before, own), dot(own, own)),
                None => (1.0, 1.0),
            };
            let (names, task) = (node.data.features().names(), node.data.task());
            self.hypothesis = Some(self.state.model().hypothesis(names, task, own).into());
        }
        self.weights = own;
        if models.asked && self.state.has_rows() {
            let answer = self.client.answer(&self.state, &models.weights)?;
            self.outgoing = Some(HubMessage::Answer { iteration: models.iteration, answer });
        }
        Ok(())
    }
}
