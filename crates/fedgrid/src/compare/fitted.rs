//! What training leaves, and what it is asked for.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Bought, MixedStart, NetworkEvidence, WeakPulls};
use crate::{
    method::{PartialHypotheses, Tally},
    model::Hypothesis,
    network::Network,
    observe::Round,
    optimum::{SmoothStart, gtv::Minimum},
    uncertainty::{Posterior, Residuals},
};

/// How close a run has come to where it was going.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Certificate {
    /// What was measured.
    pub kind: String,
    /// Its value; zero is perfect.
    pub value: f64,
    /// Whether the value is within the tolerance that was asked for.
    pub converged: bool,
    /// Why nothing better is known, where that is so.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub reason: Option<String>,
}

impl Certificate {
    /// Of a method that minimises no common objective.
    #[must_use]
    pub fn of_iterations() -> Self {
        let reason = "PersFL takes a given number of steps and minimises no common objective";
        Self {
            kind: "a given number of iterations".into(),
            value: 0.0,
            converged: true,
            reason: Some(reason.into()),
        }
    }
}

/// What training has left.
#[derive(Debug, Clone)]
pub struct Fitted {
    /// The model of each node.
    pub hypotheses: Vec<Arc<dyn Hypothesis>>,
    /// The rounds; none if it was solved directly.
    pub rounds: Vec<Round>,
    /// The residuals or certified gaps on the way.
    pub residuals: Vec<f64>,
    /// After how many steps each of them was measured; none if after each step.
    pub steps: Vec<usize>,
    /// How good the answer is.
    pub certificate: Certificate,
    /// Whether it was solved directly rather than in rounds.
    pub direct: bool,
    /// What has found it, in words.
    pub engine: String,
    /// The cluster of each node, from zero for the largest, where the method makes neighbours equal:
    /// nodes joined by edges without a difference.
    pub clusters: Option<Vec<usize>>,
    /// What nodes remember of those they probed, where they did.
    pub tallies: Vec<Tally>,
    /// The nodes that had to damp what they heard.
    pub damped: Vec<usize>,
    /// The nodes at which the pull of the study's own method was next to nothing.
    pub weak: WeakPulls,
    /// What all nodes have in common, where the method says it: the mean coefficients of a mixed model.
    pub common: Option<Arc<dyn Hypothesis>>,
    /// The strength, where it was estimated.
    pub strength: Option<f64>,
    /// Where mixed models were found, for whoever looks for those of more rows.
    pub starts: Vec<MixedStart>,
    /// What is known of the coefficients, where the method says it.
    pub posterior: Option<Posterior>,
    /// The residuals on rows that the models have not seen, once [`super::Study::residuals`] has looked at them.
    pub unseen: Option<Residuals>,
    /// What training rows say of the network, once [`super::Study::network_evidence`] was asked for it.
    pub evidence: Option<NetworkEvidence>,
    /// What a budget has bought, once [`super::Study::bought`] was asked for it.
    pub bought: Option<Bought>,
    /// What the next strength of a path may start from.
    pub(super) next_start: StartingPoint,
}

impl Fitted {
    /// What was learnt elsewhere, such as in a federation.
    #[must_use]
    pub fn elsewhere(
        hypotheses: Vec<Arc<dyn Hypothesis>>,
        certificate: Certificate,
        engine: &str,
    ) -> Self {
        Self { certificate, direct: false, engine: engine.into(), ..Self::exact(hypotheses) }
    }

    /// Whether rounds were ended before so many because they came no nearer to rest, as those of trees and the like may.
    #[must_use]
    pub fn came_no_nearer(&self, allowed_rounds: usize) -> bool {
        !self.certificate.converged && !self.direct && self.rounds.len() < allowed_rounds
    }

    /// A result without iterations.
    pub(super) fn exact(hypotheses: Vec<Arc<dyn Hypothesis>>) -> Self {
        let certificate =
            Certificate { kind: "exact".into(), value: 0.0, converged: true, reason: None };
        Self {
            hypotheses,
            rounds: Vec::new(),
            residuals: Vec::new(),
            steps: Vec::new(),
            certificate,
            direct: true,
            engine: "fits of single models".into(),
            clusters: None,
            tallies: Vec::new(),
            damped: Vec::new(),
            weak: WeakPulls::default(),
            common: None,
            strength: None,
            starts: Vec::new(),
            posterior: None,
            unseen: None,
            evidence: None,
            bought: None,
            next_start: StartingPoint::Cold,
        }
    }
}

/// A start for the next strength.
#[derive(Debug, Clone, Default)]
pub(super) enum StartingPoint {
    #[default]
    Cold,
    Weights(Vec<f64>),
    /// Weights of models with smooth losses, and what is known of their curvature.
    Smooth(SmoothStart),
    Hypotheses(PartialHypotheses),
    Minimum(Box<Minimum>),
    /// The weights of the one model of all nodes.
    Common(Arc<[f64]>),
}

/// How accurately to train.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effort {
    /// Well enough to tell strengths apart.
    Search,
    /// As well as asked.
    Final,
}

/// What a method is asked to train.
#[derive(Debug)]
pub struct FitRequest<'a> {
    /// Who is whose neighbour.
    pub network: &'a Network,
    /// The strength.
    pub strength: f64,
    /// Whether the strength is estimated instead.
    pub is_estimated: bool,
    /// What the strength before has left.
    pub(super) start: StartingPoint,
    /// How accurately.
    pub(super) effort: Effort,
}

impl<'a> FitRequest<'a> {
    pub(super) fn new(
        network: &'a Network,
        strength: f64,
        start: StartingPoint,
        effort: Effort,
    ) -> Self {
        Self { network, strength, is_estimated: false, start, effort }
    }
}

/// A strength that counts something.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is whole")]
pub(super) fn whole(strength: f64) -> usize {
    strength as usize
}
