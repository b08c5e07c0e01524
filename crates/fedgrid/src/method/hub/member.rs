//! A node as one around a hub: it joins, answers, and keeps what the hub's models make of it.

use std::sync::Arc;

use super::{
    Client, Joined, Letter, Sides, Weights, Workplace, largest_curvature, message::Models,
    parametric,
};
use crate::{
    algebra::{dot, squared_distance},
    error::Result,
    method::{FedAvg, Report},
    model::Hypothesis,
    network::{NodeId, View},
};

/// A node around a hub.
#[derive(Debug)]
pub struct Member {
    place: Workplace,
    client: Box<dyn Client>,
    hub: NodeId,
    /// What it has to say.
    letter: Option<Letter>,
    /// The last iteration it has heard of.
    heard: Option<usize>,
    finished: bool,
    weights: Option<Weights>,
    pub(super) hypothesis: Option<Arc<dyn Hypothesis>>,
    pub(super) report: Report,
}

impl Member {
    pub(super) fn new(fedavg: &FedAvg, sides: &dyn Sides, view: View) -> Result<Self> {
        let View { node, neighbours } = view;
        let hub = neighbours.first().map_or(node.id, |neighbour| neighbour.id);
        let start = fedavg.start(&node)?;
        let size = parametric(&node)?.size(node.data.features().columns(), node.data.task());
        let weight = node.data.total_weight();
        let curvature = match fedavg.step {
            Some(_) => 0.0,
            None => largest_curvature(&node, &start)?,
        };
        let place = Workplace::new(fedavg, node)?;
        let wants = sides.wants_local() && place.has_rows();
        let local = if wants { Some(place.local()?) } else { None };
        Ok(Self {
            place,
            client: sides.client(),
            hub,
            letter: Some(Letter::Joined(Joined { weight, curvature, size, local })),
            heard: None,
            finished: false,
            weights: None,
            hypothesis: None,
            // Nothing has been heard yet, so nothing has come to rest.
            report: Report { change: 1.0, size: 1.0, ..Report::default() },
        })
    }

    pub(super) fn send(&mut self) -> Vec<(NodeId, Letter)> {
        self.letter.take().map(|letter| (self.hub, letter)).into_iter().collect()
    }

    pub(super) fn receive(&mut self, inbox: &[(NodeId, Letter)]) -> Result<()> {
        let heard = inbox.iter().find_map(|(_, letter)| match letter {
            Letter::Models(models) => Some(models),
            _ => None,
        });
        match heard {
            // What was heard before may be said again, and changes nothing.
            Some(models) if self.heard.is_none_or(|heard| heard < models.iteration) => {
                self.hear(models)
            }
            _ => {
                if self.finished {
                    self.report.change = 0.0;
                }
                Ok(())
            }
        }
    }

    fn hear(&mut self, said: &Models) -> Result<()> {
        self.heard = Some(said.iteration);
        self.finished = said.last;
        self.place.step = said.step;
        let own = self.client.own(&self.place, &said.weights, said.last)?;
        self.report = Report::default();
        if let Some(own) = &own {
            let node = &self.place.node;
            if self.place.has_rows() {
                self.report.loss = self.place.loss(own);
            }
            // The first models have come from nowhere: nothing has come to rest.
            (self.report.change, self.report.size) = match &self.weights {
                Some(before) => (squared_distance(before, own), dot(own, own)),
                None => (1.0, 1.0),
            };
            let (names, task) = (node.data.features().names(), node.data.task());
            self.hypothesis = Some(self.place.model().hypothesis(names, task, own).into());
        }
        self.weights = own;
        if said.asked && self.place.has_rows() {
            let answer = self.client.answer(&self.place, &said.weights)?;
            self.letter = Some(Letter::Answer { iteration: said.iteration, answer });
        }
        Ok(())
    }
}
