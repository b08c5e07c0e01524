//! How much a candidate gives away to one target.
//!
//! The gradient of a linear model is `2 (G w − b)`: one probe at a base point and min(m, d) more in
//! random directions Ω give the whole Gram matrix of m rows,
//!
//! ```text
//! G = GΩ (Ωᵀ GΩ)⁺ (GΩ)ᵀ      exactly, as soon as Ω has as many columns as G has rank
//! ```
//!
//! so a budget stops at half of that. It counts each target by itself and knows nothing of targets
//! that put their answers together.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::ProbeQuestion;
use crate::{
    error::{Result, positive},
    network::NodeId,
    random::{Purpose, Stream},
};

/// How many questions of one target a candidate answers, and how exactly.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Budget {
    /// All, exactly: for experiments in one process.
    #[default]
    Unlimited,
    /// At most min(m, d)/2 distinct ones, exactly, with m rows and d weights.
    Half,
    /// All, with normal noise added to every number. The same question gets the same noise, so
    /// asking again gains nothing.
    Noise {
        /// The standard deviation > 0.
        deviation: f64,
        /// What decides the noise: nobody else may know it.
        secret: u64,
    },
}

impl Budget {
    pub(super) fn check(self) -> Result<()> {
        match self {
            Self::Noise { deviation, .. } => positive("deviation", deviation),
            Self::Unlimited | Self::Half => Ok(()),
        }
    }

    /// Adds the noise that belongs to a question.
    pub(super) fn blur(self, candidate: NodeId, question: &ProbeQuestion, numbers: &mut [f64]) {
        if let Self::Noise { deviation, secret } = self {
            // The question itself addresses the noise: whoever asks twice gets the same answer twice, and
            // cannot average the noise away.
            #[expect(clippy::cast_possible_truncation, reason = "any bits do")]
            let round = question.fingerprint() as usize;
            let mut stream = Stream::new(secret, candidate, round, Purpose::ProbeNoise);
            for number in numbers {
                *number += deviation * stream.normal();
            }
        }
    }
}

/// What each target has asked so far.
#[derive(Debug, Clone, Default)]
pub(super) struct Spent {
    asked: BTreeMap<NodeId, Vec<ProbeQuestion>>,
    /// How many were answered in earlier runs.
    earlier: BTreeMap<NodeId, u64>,
}

impl Spent {
    /// How many questions of each target were answered in this run.
    pub(super) fn counts(&self) -> impl Iterator<Item = (NodeId, u64)> {
        self.asked.iter().map(|(target, asked)| (*target, asked.len() as u64))
    }

    /// So many questions of a target were answered in earlier runs.
    pub(super) fn charge(&mut self, target: NodeId, count: u64) {
        self.earlier.insert(target, count);
    }

    /// What was known before this run.
    pub(super) fn of_earlier_runs(&self) -> Self {
        Self { asked: BTreeMap::new(), earlier: self.earlier.clone() }
    }

    /// All questions that were answered, and who asked.
    pub(super) fn questions(&self) -> impl Iterator<Item = (NodeId, &ProbeQuestion)> {
        self.asked
            .iter()
            .flat_map(|(target, asked)| asked.iter().map(|question| (*target, question)))
    }

    /// Counts a question that was answered before.
    pub(super) fn recall(&mut self, target: NodeId, question: ProbeQuestion) {
        self.asked.entry(target).or_default().push(question);
    }

    /// Whether a question may be answered; if so it is counted.
    pub(super) fn allows(
        &mut self,
        budget: Budget,
        target: NodeId,
        question: &ProbeQuestion,
        [rows, weights]: [usize; 2],
    ) -> bool {
        if budget != Budget::Half {
            return true;
        }
        let earlier = self.earlier.get(&target).copied().unwrap_or(0);
        let asked = self.asked.entry(target).or_default();
        // What was answered before tells nothing new.
        if asked.contains(question) {
            return true;
        }
        let allowed = asked.len() as u64 + earlier < (rows.min(weights) / 2) as u64;
        if allowed {
            asked.push(question.clone());
        }
        allowed
    }
}
