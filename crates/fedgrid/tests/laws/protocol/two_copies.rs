//! Total variation with the dual of each edge kept at both ends: right as long as nothing is lost, and
//! here to show that it is wrong when something is.

use std::sync::Arc;

use fedgrid::{
    bytes::{Reader, Writer},
    error::Result,
    method::{Durable, Memory, Method, Participant, Report, primal_dual::EdgeMessage},
    model::{Hypothesis, Linear, LinearHypothesis, LinearProximal},
    network::{NodeId, View},
    penalty::Penalty,
};

pub(crate) struct TwoCopies {
    pub(crate) alpha: f64,
}

pub(crate) struct Copies {
    id: NodeId,
    alpha: f64,
    names: Arc<[String]>,
    proximal: LinearProximal,
    /// Neighbour, weight of the edge and the own copy of its dual.
    edges: Vec<(NodeId, f64, Vec<f64>)>,
    before: Vec<f64>,
    weights: Vec<f64>,
    hypothesis: Option<Arc<dyn Hypothesis>>,
}

impl Method for TwoCopies {
    type Participant = Copies;

    fn join(&self, view: View) -> Result<Copies> {
        let model = view.node.model.as_linear().expect("a linear node").clone();
        let data = &view.node.data;
        let size = data.features().columns();
        let edges = view.neighbours.iter().map(|other| (other.id, other.weight, vec![0.0; size]));
        Ok(Copies {
            id: view.node.id,
            alpha: self.alpha,
            names: data.features().names().clone(),
            proximal: LinearProximal::new(&Linear { ..model }, data)?,
            edges: edges.collect(),
            before: vec![0.0; size],
            weights: vec![0.0; size],
            hypothesis: None,
        })
    }
}

impl Participant for Copies {
    type Message = EdgeMessage;

    fn send(&mut self) -> Vec<(NodeId, EdgeMessage)> {
        let told: Arc<[f64]> =
            self.weights.iter().zip(&self.before).map(|(now, then)| 2.0 * now - then).collect();
        let turn = |&(to, ..): &(NodeId, f64, Vec<f64>)| {
            (to, EdgeMessage { turn: 0, values: told.clone(), scale: 1.0, informed: true })
        };
        self.edges.iter().map(turn).collect()
    }

    fn receive(&mut self, inbox: &[(NodeId, EdgeMessage)]) -> Result<()> {
        let step = 1.0 / self.edges.len() as f64;
        let mut pull = vec![0.0; self.weights.len()];
        for (other, weight, dual) in &mut self.edges {
            let sign = if self.id < *other { 1.0 } else { -1.0 };
            if let Ok(place) = inbox.binary_search_by_key(other, |(from, _)| *from) {
                for (k, theirs) in inbox[place].1.values.iter().enumerate() {
                    let own = 2.0 * self.weights[k] - self.before[k];
                    dual[k] += 0.5 * sign * (own - theirs);
                }
                Penalty::Norm.dual_update(dual, self.alpha * *weight, 0.5);
            }
            pull.iter_mut().zip(dual.iter()).for_each(|(sum, dual)| *sum += sign * dual);
        }
        let centre: Vec<f64> = self.weights.iter().zip(&pull).map(|(w, p)| w - step * p).collect();
        self.before = std::mem::replace(&mut self.weights, self.proximal.step(&centre, step)?);
        let (names, slopes) = (self.names.clone(), self.weights.clone());
        self.hypothesis = Some(Arc::new(LinearHypothesis { names, slopes, intercept: 0.0 }));
        Ok(())
    }

    fn hypothesis(&self) -> Option<&Arc<dyn Hypothesis>> {
        self.hypothesis.as_ref()
    }

    fn report(&self) -> Report {
        Report::default()
    }
}

impl Durable for Copies {
    fn shape(&self, _: NodeId) -> Option<usize> {
        Some(self.weights.len())
    }

    fn snapshot(&self, to: &mut Writer) -> Result<()> {
        to.numbers(&self.before);
        to.numbers(&self.weights);
        self.edges.iter().for_each(|(.., dual)| to.numbers(dual));
        Ok(())
    }

    fn restore(&mut self, from: &mut Reader<'_>) -> Result<()> {
        let size = self.weights.len();
        (self.before, self.weights) = (from.numbers(size)?, from.numbers(size)?);
        for (.., dual) in &mut self.edges {
            *dual = from.numbers(size)?;
        }
        Ok(())
    }

    fn memory(&self) -> Memory {
        Memory::Conversation
    }
}
