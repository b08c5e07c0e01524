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

/// A node that says nothing.
#[derive(Debug)]
pub struct Alone {
    hypothesis: Option<Arc<dyn Hypothesis>>,
    report: Report,
}

/// Nothing to say.
#[derive(Debug, Clone, Copy)]
pub enum Nothing {}

impl Message for Nothing {
    fn bytes(&self) -> usize {
        match *self {}
    }
}

impl Method for Local {
    type Participant = Alone;

    fn join(&self, view: View) -> Result<Alone> {
        let data = &view.node.data;
        if data.total_weight() == 0.0 {
            return Ok(Alone { hypothesis: None, report: Report::default() });
        }
        let hypothesis: Arc<dyn Hypothesis> = view.node.model.fit(data)?.into();
        let losses =
            Loss::of(data.task()).rows(data.labels(), &hypothesis.predict(data.features()));
        let loss = crate::algebra::dot(&losses, data.weights());
        Ok(Alone { hypothesis: Some(hypothesis), report: Report { loss, ..Report::default() } })
    }
}

impl Participant for Alone {
    type Message = Nothing;

    fn send(&mut self) -> Vec<(NodeId, Nothing)> {
        Vec::new()
    }

    fn receive(&mut self, _: &[(NodeId, Nothing)]) -> Result<()> {
        Ok(())
    }

    fn hypothesis(&self) -> Option<&Arc<dyn Hypothesis>> {
        self.hypothesis.as_ref()
    }

    fn report(&self) -> Report {
        self.report
    }
}
