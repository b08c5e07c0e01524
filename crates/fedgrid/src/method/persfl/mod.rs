//! PersFL: a node asks others for a step and keeps the one that helps it most,
//!
//! ```text
//! w̃_j = ŵ − η ∇L_j(ŵ)                                       gradient      eq. 1
//! w̃_j = argmin  η L_j(w) + ‖w − ŵ‖²                         proximal      eq. 5
//! h̃_j = argmin  η L_j(h) + (1/|D|) Σ_{x ∈ D} L(ĥ(x), h(x))  refit         eq. 7
//! r_j = L_i(ŵ) − L_i(w̃_j),      ŵ ← w̃_{j₀},  j₀ = argmax r_j over a drawn set of S candidates
//! ```
//!
//! where `L_i` is the loss on the target's own rows, `L_j` that on the candidate's, and D are public
//! points. ["Your Data, My Model", Algorithms 1 and 2; "Personalized Federated Learning via Active
//! Sampling".] The linearisation of eq. 5 is eq. 1 with η/2, not η.
//!
//! As messages an iteration takes two rounds: all ask, then all answer. Where one process has all rows,
//! [`LinearPool`] and [`RefitPool`] take the same steps without messages. Both roads choose candidates,
//! count probes and adopt steps by the same `Chooser`, and start in the same way.

mod adoption;
mod budget;
mod candidate;
mod choice;
mod in_one_place;
mod message;
mod online;
mod participant;
mod proposal;
mod start;
mod step;
mod tally;
mod target;
mod wire;

use std::sync::Arc;

pub use adoption::Adoption;
pub use budget::Budget;
pub use choice::CandidateChoice;
pub use in_one_place::{LinearPool, RefitPool};
pub use message::{PersFlMessage, ProbeAnswer, ProbeQuestion, ProbeRefusal};
pub use online::{Feed, Online};
pub use participant::PersFlParticipant;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
pub(crate) use step::{gradient_step, suitable_step};
pub use tally::Tally;
pub use wire::ProbeShape;

use super::{Method, PartialHypotheses};
use crate::{
    data::Dataset,
    error::{Error, Result, at_least, positive},
    network::{NodeId, View},
    random::{Purpose, Stream},
};

/// What a target asks of a candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Probe {
    /// The gradient of its loss, or a subgradient where there is a kink (Algorithm 1).
    #[default]
    Gradient,
    /// The minimiser of its loss near the target's weights.
    Proximal,
    /// Its model refitted near the target's predictions, for any kind of model (Algorithm 2).
    Refit,
}

/// Where a target starts.
#[derive(Debug, Clone, Default)]
pub enum Start {
    /// At weights of zero. Refits start from local training instead, and a neural network should:
    /// at zero its gradient vanishes.
    #[default]
    Zero,
    /// At the minimiser of its own loss.
    Local,
    /// At given hypotheses; local training where there is none.
    Given(PartialHypotheses),
}

/// Personalised learning by probing who helps.
#[derive(Debug, Clone)]
pub struct PersFl {
    /// What is asked.
    pub probe: Probe,
    /// The step η > 0.
    pub step: f64,
    /// How many candidates S ≥ 1 are probed in an iteration.
    pub candidates: usize,
    /// Which ones.
    pub choice: CandidateChoice,
    /// Which steps are taken.
    pub adoption: Adoption,
    /// Whether a step must have a positive reward to be taken; the papers always step.
    pub only_if_better: bool,
    /// Where targets start.
    pub start: Start,
    /// The share in [0, 1) of a target's rows that are held back for the reward: the others train
    /// its start and its probes of itself. With zero, all rows do both.
    pub held: f64,
    /// Whether a target may be drawn as its own candidate.
    pub own: bool,
    /// The nodes that learn; none is all. The others only answer.
    pub targets: Option<Arc<[NodeId]>>,
    /// How much a node gives away.
    pub budget: Budget,
    /// Rows that arrive over time; none means all are there.
    pub online: Option<Online>,
    /// What decides the draws.
    pub seed: u64,
}

impl Default for PersFl {
    fn default() -> Self {
        Self {
            probe: Probe::Gradient,
            step: 0.05,
            candidates: 20,
            choice: CandidateChoice::Uniform,
            adoption: Adoption::Best,
            only_if_better: false,
            start: Start::Zero,
            held: 0.0,
            own: false,
            targets: None,
            budget: Budget::Unlimited,
            online: None,
            seed: 0,
        }
    }
}

impl PersFl {
    fn check(&self) -> Result<()> {
        positive("step", self.step)?;
        at_least(self.candidates, "candidates", 1, "one or more")?;
        if !(0.0..1.0).contains(&self.held) {
            let expected = "zero or more and below one";
            return Err(Error::Parameter { name: "held", value: self.held, expected });
        }
        self.choice.check()?;
        self.adoption.check()?;
        self.budget.check()
    }

    /// Whether a node with these rows learns: without a row nothing can be scored.
    fn is_target(&self, node: NodeId, data: &Dataset) -> bool {
        let asked = self.targets.as_ref().is_none_or(|targets| targets.contains(&node));
        asked && data.total_weight() > 0.0
    }

    /// A target's rows that train and those that score. They are the same if none is held back;
    /// otherwise at least one is of each kind.
    fn divided(&self, node: NodeId, data: &Dataset) -> Result<(Dataset, Dataset)> {
        let data = data.without_zero_weights();
        if self.held == 0.0 {
            return Ok((data.clone(), data));
        }
        if data.rows() < 2 {
            return Err(Error::Unsupported {
                what: "holding rows back",
                needs: "two rows or more at every target",
            });
        }
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 ≤ held < 1")]
        let held = (self.held * data.rows() as f64).round() as usize;
        let held = held.clamp(1, data.rows() - 1);
        let mut order = Stream::new(self.seed, node, 0, Purpose::Held).permutation(data.rows());
        order[..held].sort_unstable();
        order[held..].sort_unstable();
        // Both parts weigh as much as all rows, or a ridge and the step would mean something else.
        let part = |rows: &[usize]| data.select(rows).with_total_weight(data.total_weight());
        Ok((part(&order[held..]), part(&order[..held])))
    }
}

impl Method for PersFl {
    type Participant = PersFlParticipant;

    fn join(&self, view: View) -> Result<PersFlParticipant> {
        self.check()?;
        PersFlParticipant::new(self, view)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_parameters_are_named() {
        let message = |method: PersFl| method.check().unwrap_err().to_string();
        let persfl = PersFl::default;
        assert_eq!(
            message(PersFl { step: 0.0, ..persfl() }),
            "step is 0, expected a positive number"
        );
        assert_eq!(
            message(PersFl { candidates: 0, ..persfl() }),
            "candidates is 0, expected one or more"
        );
        assert_eq!(
            message(PersFl { held: 1.0, ..persfl() }),
            "held is 1, expected zero or more and below one"
        );
        let choice = CandidateChoice::EpsilonGreedy { epsilon: 2.0 };
        assert_eq!(
            message(PersFl { choice, ..persfl() }),
            "epsilon is 2, expected a probability from zero to one"
        );
        let adoption = Adoption::Top { count: 0, by_reward: true };
        assert_eq!(message(PersFl { adoption, ..persfl() }), "count is 0, expected one or more");
    }
}
