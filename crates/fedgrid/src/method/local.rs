//! Every node alone: `hᵢ = argmin Lᵢ(h)`. The limit α = 0 of every method here.

use std::sync::Arc;

use super::{Message, Method, Participant, Report};
use crate::{
    error::Result,
    loss::Loss,
    model::Hypothesis,
    network::{NodeId, View},
};

/// Training without any help.
#[derive(Debug, Clone, Copy, Default)]
pub struct Local;

/// A node that sends nothing.
#[derive(Debug)]
pub struct LocalParticipant {
    hypothesis: Option<Arc<dyn Hypothesis>>,
    report: Report,
}

/// A message that cannot exist.
#[derive(Debug, Clone, Copy)]
pub enum NoMessage {}

impl Message for NoMessage {
    fn bytes(&self) -> usize {
        match *self {}
    }
}

impl Method for Local {
    type Participant = LocalParticipant;

    fn join(&self, view: View) -> Result<LocalParticipant> {
        let data = &view.node.data;
        if data.total_weight() == 0.0 {
            return Ok(LocalParticipant { hypothesis: None, report: Report::default() });
        }
        let hypothesis: Arc<dyn Hypothesis> = view.node.model.fit(data)?.into();
        let losses =
            Loss::of(data.task()).rows(data.labels(), &hypothesis.predict(data.features()));
        let loss = crate::algebra::dot(&losses, data.weights());
        Ok(LocalParticipant {
            hypothesis: Some(hypothesis),
            report: Report { loss, ..Report::default() },
        })
    }
}

impl Participant for LocalParticipant {
    type Message = NoMessage;

    fn send(&mut self) -> Vec<(NodeId, NoMessage)> {
        Vec::new()
    }

    fn receive(&mut self, _: &[(NodeId, NoMessage)]) -> Result<()> {
        Ok(())
    }

    fn hypothesis(&self) -> Option<&Arc<dyn Hypothesis>> {
        self.hypothesis.as_ref()
    }

    fn report(&self) -> Report {
        self.report
    }
}
