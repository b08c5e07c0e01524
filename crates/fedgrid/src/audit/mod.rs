//! What messages tell of single rows: attacks on a study's own run, in one process, before anything is shared.
//!
//! ```text
//! world     each candidate row of each node takes part or not, by the toss of a coin; all nodes learn anew
//! told      what a neighbour computes from the messages of a node: models, and what they predict for a row
//! score     log-likelihood ratio of these predictions, in worlds with the row and in worlds without it
//! ```
//!
//! The neighbour follows the protocol, keeps all messages, knows the method, its strength, the kind of model and
//! everything about a row but whether it took part (Carlini et al., "Membership inference attacks from first
//! principles", 2022). Half of the worlds tell it what rows do to messages; in the other half it guesses. From how often
//! it is right in these follows how large ε of any differential privacy must at least be (Steinke, Nasr and
//! Jagielski, "Privacy auditing with one (1) training run", 2023).
//!
//! Of private studies all that is told follows from releases, and what is told are the twins. Where labels are private, the
//! coin says whether a row has its own label or that at the farther bound.
//!
//! An attack that fails proves nothing: there may be a better one.

mod likelihood_ratio;
mod lower_bound;
mod membership;
mod queries;
mod worlds;

pub use lower_bound::{Guesses, epsilon_at_least, mu_at_least};
pub use membership::{Membership, Scored};
pub use queries::{Recovered, recover_moments};
use serde::{Deserialize, Serialize};
use worlds::{Worlds, candidates, hides_labels};

use crate::{
    compare::{Strength, Study, Watch},
    error::{Error, Result},
    network::NodeId,
};

/// Four worlds teach and four are guessed in: fewer tell nothing.
const LEAST_WORLDS: usize = 8;

/// How an audit goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AuditSettings {
    /// How many worlds are drawn. Half of them teach the neighbour what rows do to messages.
    pub worlds: usize,
    /// The seed of the coins.
    pub seed: u64,
}

impl Default for AuditSettings {
    fn default() -> Self {
        // Sixteen worlds with a row and sixteen without tell what it does to a message to a quarter of its spread;
        // errors of areas under curves are below 0.01 with ten candidates.
        Self { worlds: 64, seed: 1 }
    }
}

/// What the messages of a study tell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Audit {
    /// How many worlds were drawn.
    pub worlds: usize,
    /// Of each node that has candidate rows.
    pub nodes: Vec<NodeAudit>,
}

/// What the messages of a node tell its neighbours of its rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NodeAudit {
    /// The node.
    pub node: NodeId,
    /// Its training rows.
    pub rows: usize,
    /// The rows that took part or not: its training rows, and at most as many that it holds back.
    pub candidates: usize,
    /// How many of these took part on average: fewer than its training rows, where it holds back too few.
    pub mean_rows: f64,
    /// How well a neighbour tells who took part.
    pub membership: Membership,
}

impl Study {
    /// Attacks the messages of the study's own method at a strength.
    pub fn audit(
        &self,
        strength: Strength,
        settings: AuditSettings,
        watch: &dyn Watch,
    ) -> Result<Audit> {
        let Some(told) = self.settings.method.told() else {
            return Err(Error::Unsupported {
                what: "an audit of this method",
                needs: "a method of whose messages is known what they tell: fedrelax, gtv or mixed",
            });
        };
        if settings.worlds < LEAST_WORLDS {
            let (value, expected) = (settings.worlds as f64, "8 or more");
            return Err(Error::Parameter { name: "worlds", value, expected });
        }
        let (all, privacy) = (candidates(self, settings.seed), self.settings.privacy);
        // Where labels are private all rows are there, with their own labels or others.
        let share = if hides_labels(self) { 1.0 } else { 0.5 };
        let seen = Worlds { study: self, all: &all, told, settings }.seen(strength, watch)?;
        let nodes = all.iter().zip(seen).map(|(own, seen)| NodeAudit {
            node: own.node,
            rows: self.plan.train[own.node].len(),
            candidates: own.rows.len(),
            mean_rows: share * own.rows.len() as f64,
            membership: Membership::of(&seen.scored(), privacy.map_or(0.0, |own| own.delta)),
        });
        Ok(Audit { worlds: settings.worlds, nodes: nodes.collect() })
    }
}
