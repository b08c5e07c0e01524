//! What travels between a node and its hub: weights and gradients, never a row.

use std::sync::Arc;

use crate::{bytes::NUMBER_BYTES, method::Message};

/// The weights of one model.
pub(crate) type Weights = Arc<[f64]>;

/// One message.
#[derive(Debug, Clone)]
pub enum HubMessage {
    /// A node takes part.
    Joined(ClientProfile),
    /// The hub's models.
    Models(HubModels),
    /// What a node answers to them.
    Answer {
        /// In which iteration.
        iteration: usize,
        /// Its content.
        answer: ClientAnswer,
    },
}

/// What the hub must know of a node before it begins.
#[derive(Debug, Clone)]
pub struct ClientProfile {
    /// How much its rows weigh.
    pub weight: f64,
    /// The largest curvature of its loss at the start, from which the step size follows.
    pub curvature: f64,
    /// How many weights its model has.
    pub size: usize,
    /// The weights of local training, for methods that ask for them.
    pub local: Option<Weights>,
}

/// The hub's models in one iteration.
#[derive(Debug, Clone)]
pub struct HubModels {
    /// Which iteration, from zero.
    pub iteration: usize,
    /// The step size η.
    pub step: f64,
    /// The weights of each.
    pub weights: Arc<[Weights]>,
    /// Whether an answer is asked for.
    pub asked: bool,
    /// Whether these are the final models.
    pub last: bool,
}

/// What a node answers to the hub's models.
#[derive(Debug, Clone)]
pub struct ClientAnswer {
    /// New weights, or a gradient, each for one of the models.
    pub parts: Vec<(usize, Weights)>,
    /// The node's losses, where the method compares models by them.
    pub losses: Vec<f64>,
}

impl Message for HubMessage {
    fn bytes(&self) -> usize {
        let numbers = match self {
            Self::Joined(joined) => 3 + joined.local.as_ref().map_or(0, |local| local.len()),
            Self::Models(models) => 2 + models.weights.iter().map(|w| w.len()).sum::<usize>(),
            Self::Answer { answer, .. } => {
                let parts = answer.parts.iter().map(|(_, weights)| 1 + weights.len());
                1 + parts.sum::<usize>() + answer.losses.len()
            }
        };
        NUMBER_BYTES * numbers
    }
}
