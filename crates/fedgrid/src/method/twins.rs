//! Twins between nodes: FedRelax of releases, and beside it at each node a model of its own rows,
//!
//! ```text
//! sent      predictions of the twin, which has seen releases and what neighbours have sent, and nothing else
//! learnt    w | own rows,  w ~ N(Σ_j A_ij h̃_j / Σ_j A_ij, c T)
//! ```
//!
//! so that whatever neighbours ask, and however often, the answers follow from what was released once.

use std::{
    collections::BTreeMap,
    sync::{Arc, OnceLock},
};

use super::{
    Durable, FedRelax, Memory, Method, Participant, Report,
    fedrelax::{FedRelaxParticipant, PredictionMessage, PredictionShape},
};
use crate::{
    bytes::{Reader, Writer},
    data::{Dataset, Features, Labels, Task},
    error::{Error, Result},
    model::Hypothesis,
    network::{Node, NodeId, View},
    privacy::{Reading, TwinsHeard},
};

/// FedRelax of what was released, with an own model beside each twin.
#[derive(Debug, Clone)]
pub struct Twins {
    /// How twins learn of each other.
    pub relax: FedRelax,
    /// What the nodes that are here have released, in the place of rows.
    pub released: Arc<BTreeMap<NodeId, Dataset>>,
    /// The middle of the bounds of labels.
    pub middle: f64,
}

impl Method for Twins {
    type Participant = TwinsParticipant;

    fn join(&self, view: View) -> Result<TwinsParticipant> {
        let released = self.released.get(&view.node.id).ok_or(Error::Unsupported {
            what: "a node beside twins",
            needs: "a release of its rows",
        })?;
        let (rows, public) = (view.node.data.clone(), view.node.public.clone());
        let mut heard: Vec<Heard> = Vec::with_capacity(view.neighbours.len());
        for neighbour in &view.neighbours {
            let is_same = |other: &&Heard| Arc::ptr_eq(&other.public, &neighbour.public);
            let known = heard.iter().find(is_same).map(|other| other.reading.clone());
            heard.push(Heard {
                id: neighbour.id,
                weight: neighbour.weight,
                reading: known.unwrap_or_else(|| Arc::new(Reading::off(&neighbour.public))),
                public: neighbour.public.clone(),
                predicted: None,
            });
        }
        let middle = self.middle;
        let node = Node { data: released.clone(), ..view.node };
        let twin = self.relax.join(View { node, ..view })?;
        Ok(TwinsParticipant { twin, rows, public, middle, heard, own: OnceLock::new() })
    }

    fn alpha(&self) -> f64 {
        self.relax.alpha
    }
}

/// What a neighbour has said last.
#[derive(Debug)]
struct Heard {
    id: NodeId,
    weight: f64,
    public: Arc<Features>,
    reading: Arc<Reading>,
    /// Its predictions on its public points.
    predicted: Option<Arc<Labels>>,
}

/// A node with its twin.
#[derive(Debug)]
pub struct TwinsParticipant {
    /// All that others ever hear of.
    twin: FedRelaxParticipant,
    rows: Dataset,
    public: Arc<Features>,
    middle: f64,
    heard: Vec<Heard>,
    /// The own model, once somebody asks for it.
    own: OnceLock<Arc<dyn Hypothesis>>,
}

impl TwinsParticipant {
    fn own_model(&self) -> Arc<dyn Hypothesis> {
        let twin = |heard: &Heard| {
            let predicted = heard.predicted.as_ref()?;
            Some((heard.weight, heard.reading.coefficients(predicted)))
        };
        let heard = TwinsHeard { twins: self.heard.iter().filter_map(twin).collect() };
        let names = self.rows.features().names().clone();
        let model = heard.own_model(&self.rows, self.middle, &self.public);
        Arc::new(model.hypothesis(names, self.middle))
    }
}

impl Participant for TwinsParticipant {
    type Message = PredictionMessage;

    fn send(&mut self) -> Vec<(NodeId, PredictionMessage)> {
        self.twin.send()
    }

    fn receive(&mut self, inbox: &[(NodeId, PredictionMessage)]) -> Result<()> {
        for (from, message) in inbox {
            if let Some(heard) = self.heard.iter_mut().find(|heard| heard.id == *from) {
                heard.predicted = Some(message.own.clone());
            }
        }
        self.own = OnceLock::new();
        self.twin.receive(inbox)
    }

    fn hypothesis(&self) -> Option<&Arc<dyn Hypothesis>> {
        let is_nothing = self.rows.rows() == 0 && self.heard.iter().all(|h| h.predicted.is_none());
        (!is_nothing).then(|| self.own.get_or_init(|| self.own_model()))
    }

    /// That of the twin: numbers of reports travel.
    fn report(&self) -> Report {
        self.twin.report()
    }
}

impl Durable for TwinsParticipant {
    fn shape(&self, from: NodeId) -> Option<PredictionShape> {
        self.twin.shape(from)
    }

    fn snapshot(&self, to: &mut Writer) -> Result<()> {
        for heard in &self.heard {
            to.flag(heard.predicted.is_some());
            if let Some(predicted) = &heard.predicted {
                to.numbers(predicted.as_slice());
            }
        }
        self.twin.snapshot(to)
    }

    fn restore(&mut self, from: &mut Reader<'_>) -> Result<()> {
        for heard in &mut self.heard {
            heard.predicted = if from.flag()? {
                let values = from.numbers(heard.public.rows())?;
                Some(Arc::new(Labels::new(Task::Regression, values)?))
            } else {
                None
            };
        }
        self.own = OnceLock::new();
        self.twin.restore(from)
    }

    fn memory(&self) -> Memory {
        self.twin.memory()
    }

    fn expect_late_messages(&mut self) {
        self.twin.expect_late_messages();
    }
}
