//! What travels between a target and a candidate: questions and answers, never a row.
//!
//! A refitted model answers as a linear model or, of any other kind, as predictions on the target's
//! public points: trees and neighbour lists hold the rows they were made from.

use std::sync::Arc;

use super::super::Message;
use crate::{bytes::NUMBER_BYTES, data::Labels, model::LinearHypothesis};

/// One message of an iteration.
#[derive(Debug, Clone)]
pub enum PersFlMessage {
    /// A target asks.
    Question(ProbeQuestion),
    /// A candidate answers.
    Answer(ProbeAnswer),
}

/// What a target asks.
#[derive(Debug, Clone, PartialEq)]
pub enum ProbeQuestion {
    /// The gradient at these weights.
    Gradient {
        /// The target's weights.
        weights: Arc<[f64]>,
    },
    /// The proximal step from these weights.
    Proximal {
        /// The target's weights.
        weights: Arc<[f64]>,
        /// The step η of eq. 5.
        step: f64,
    },
    /// A refit near these predictions on the target's public points.
    Refit {
        /// The target's predictions.
        predictions: Arc<Labels>,
        /// The step η of eq. 7.
        step: f64,
    },
}

/// What a candidate answers.
#[derive(Debug, Clone)]
pub enum ProbeAnswer {
    /// The gradient, or the weights after a proximal step.
    Numbers(Arc<[f64]>),
    /// A refitted linear model.
    Linear(Arc<LinearHypothesis>),
    /// A refitted model's predictions on the target's public points.
    Predictions(Arc<Labels>),
    /// Nothing, and why.
    Refused(ProbeRefusal),
}

/// Why a candidate does not answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProbeRefusal {
    /// The target has asked as many distinct questions as the budget allows.
    BudgetSpent,
    /// The candidate has no row.
    NoRows,
    /// The question does not fit the candidate's model.
    OtherModel,
}

impl ProbeQuestion {
    fn numbers(&self) -> &[f64] {
        match self {
            Self::Gradient { weights } | Self::Proximal { weights, .. } => weights,
            Self::Refit { predictions, .. } => predictions.as_slice(),
        }
    }

    pub(super) fn bytes(&self) -> usize {
        NUMBER_BYTES * (self.numbers().len() + usize::from(!matches!(self, Self::Gradient { .. })))
    }

    /// Whether every number in it is one.
    pub(super) fn is_finite(&self) -> bool {
        let step = match self {
            Self::Gradient { .. } => 1.0,
            Self::Proximal { step, .. } | Self::Refit { step, .. } => *step,
        };
        step > 0.0 && step.is_finite() && self.numbers().iter().all(|number| number.is_finite())
    }

    /// A number that depends on every bit of the question (FNV-1a).
    pub(super) fn fingerprint(&self) -> u64 {
        let bytes = self.numbers().iter().flat_map(|number| number.to_bits().to_le_bytes());
        let mix = |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        bytes.fold(0xcbf2_9ce4_8422_2325, mix)
    }
}

impl ProbeAnswer {
    pub(super) fn bytes(&self) -> usize {
        NUMBER_BYTES
            * match self {
                Self::Numbers(numbers) => numbers.len(),
                Self::Linear(linear) => linear.slopes.len() + 1,
                Self::Predictions(labels) => labels.as_slice().len(),
                Self::Refused(_) => 1,
            }
    }
}

impl Message for PersFlMessage {
    fn bytes(&self) -> usize {
        match self {
            Self::Question(question) => question.bytes(),
            Self::Answer(answer) => answer.bytes(),
        }
    }
}
