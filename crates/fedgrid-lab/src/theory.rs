//! What the papers' theory says of a fitted network: how well its clusters hold together, how far their
//! nodes can be apart, and how far the weights can be from the clusters' optima,
//!
//! ```text
//! Σ_{i ∈ C} ‖ŵ_i − mean‖² ≤ E / (α λ₂)                       bound 25 of "Plug In and Learn"
//! Σ_edges A φ(e_i − e_j) ≤ 8 U L K √M / (C (L − 1)²)         bound 18 of "Networked Federated
//!                                                             Multi-Task Learning"
//! ```
//!
//! and why there is no number where there is none. [docs/mathematics.md, "Bounds".]

use std::collections::BTreeMap;

use fedgrid::{
    bound::{
        self, PointDifference, PooledModels, Variation, cohesion, recovery, sampling,
        variation_bound,
    },
    compare::{Approach, Fitted, Gtv, Objective, Strength, Study},
    loss::Loss,
    method::FedRelax,
    network::Node,
    optimum::gtv::{Losses, critical},
};
use serde::{Deserialize, Serialize};

use crate::number;

/// Networks with more nodes are left out: flows and eigenvalues would take longer than the fit.
const MAX_NODES: usize = 20_000;

/// What theory says of a fitted network.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Theory {
    /// What distances are measured in: `weights`, or `predictions` on the public points.
    pub norm: String,
    /// The clusters of the result that have several nodes, in the order of their numbers.
    pub clusters: Vec<ClusterTheory>,
    /// Theorem 1 of "Networked Federated Multi-Task Learning", for weights coupled by a norm.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub recovery: Option<RecoveryTheory>,
    /// Bounds on the critical α, from which on all weights of a component are equal; for smooth losses
    /// coupled by a norm.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub critical: Option<CriticalTheory>,
    /// What could not be checked, and why numbers are missing.
    pub warnings: Vec<String>,
}

/// The critical strength.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct CriticalTheory {
    /// Below this α the weights of some component differ.
    pub at_least: f64,
    /// From this α on they are equal.
    pub at_most: f64,
}

/// One cluster.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClusterTheory {
    /// Its number.
    pub cluster: usize,
    /// How many nodes it has.
    pub nodes: usize,
    /// λ₂ of its Laplacian; zero in several pieces.
    pub lambda2: f64,
    /// The weight of the edges to other clusters.
    pub outside: f64,
    /// Σ ‖ŵ − mean‖² as it is; none if it was not measured.
    pub variation: Option<f64>,
    /// What it cannot exceed; none where nothing is known.
    pub bound: Option<f64>,
    /// ε: the loss of the cluster's pooled model.
    pub epsilon: Option<f64>,
    /// The largest L of condition 17; none if any will do.
    pub largest_factor: Option<f64>,
}

/// Theorem 1 and its constants; a number that is missing is explained in the warnings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RecoveryTheory {
    /// M: how many nodes have rows.
    pub labelled: usize,
    /// U: the largest norm of a gradient at a cluster's optimum.
    pub gradient: f64,
    /// C: half the smallest curvature of a loss.
    pub curvature: Option<f64>,
    /// L of condition 17.
    pub factor: Option<f64>,
    /// K of condition 17.
    pub constant: Option<f64>,
    /// λ: the α for which the bound holds.
    pub alpha: Option<f64>,
    /// Bound 18 on the total variation of ŵ − w̄ at that α.
    pub bound: Option<f64>,
    /// That total variation as it is, at the α of the run.
    pub error: f64,
}

/// The sum that a method minimises over a network.
#[derive(Clone, Copy)]
enum Sum<'a> {
    /// Losses and differences of predictions.
    Predictions(&'a FedRelax),
    /// Losses and differences of weights.
    Weights(Gtv),
}

impl<'a> Sum<'a> {
    /// None for methods that minimise no such sum.
    fn of(method: &'a Approach) -> Option<Self> {
        Some(match method.objective()? {
            Objective::Predictions(method) => Self::Predictions(method),
            Objective::Weights(method) => Self::Weights(*method),
        })
    }
}

/// The theory for the clusters of a result; none without a pull or edges, and for methods that
/// minimise no sum over edges.
pub(crate) fn theory(
    study: &Study,
    strength: Strength,
    fitted: &Fitted,
    clusters: &[usize],
) -> Option<Theory> {
    // It is about rows as they are, of which private nodes hear nothing.
    let is_private = study.settings.privacy.is_some();
    if is_private || strength.alpha <= 0.0 || study.network.edges().is_empty() {
        return None;
    }
    let sum = Sum::of(&study.settings.method)?;
    let norm = match sum {
        Sum::Predictions(_) => "predictions",
        Sum::Weights(_) => "weights",
    };
    let mut theory = Theory { norm: norm.into(), ..Theory::default() };
    if study.network.len() > MAX_NODES {
        theory.warnings.push(format!("not computed for more than {MAX_NODES} nodes"));
        return Some(theory);
    }
    let nodes = study.nodes(strength.ridge);
    // Each part is reported by itself: where one does not apply, the others still may.
    let inputs = TheoryInputs { study, sum, strength, fitted, clusters, nodes };
    if let Err(error) = inputs.cohesion(&mut theory) {
        theory.warnings.push(error.to_string());
    }
    match inputs.variation() {
        Ok((variations, warnings)) => {
            theory.add_variations(&variations);
            theory.warnings.extend(warnings);
        }
        Err(reason) => theory.warnings.push(format!("bound (25) does not apply: {reason}")),
    }
    if let Sum::Weights(method) = sum {
        match inputs.recovery(method) {
            Ok((recovery, warnings)) => {
                theory.recovery = Some(recovery);
                theory.warnings.extend(warnings);
            }
            Err(reason) => theory.warnings.push(format!("Theorem 1 does not apply: {reason}")),
        }
        theory.critical = inputs.critical(method);
    }
    Some(theory)
}

impl Theory {
    fn add_variations(&mut self, variations: &[Variation]) {
        let by_number: BTreeMap<usize, &Variation> =
            variations.iter().map(|variation| (variation.cluster, variation)).collect();
        for cluster in &mut self.clusters {
            if let Some(found) = by_number.get(&cluster.cluster) {
                cluster.variation = Some(found.measured);
                // A cluster in several pieces has λ₂ = 0 and so no finite bound.
                cluster.bound = found.bound.filter(|bound| bound.is_finite());
                cluster.epsilon = Some(found.epsilon);
            }
        }
        let pieces = self.clusters.iter().filter(|cluster| cluster.lambda2 == 0.0).count();
        if pieces > 0 {
            self.warnings.push(format!(
                "{pieces} of {} clusters {} not connected by their own edges: λ₂ is zero, and bound (25) \
                 does not apply",
                self.clusters.len(),
                if pieces == 1 { "is" } else { "are" }
            ));
        }
    }
}

/// What everything is computed from.
struct TheoryInputs<'a> {
    study: &'a Study,
    sum: Sum<'a>,
    strength: Strength,
    fitted: &'a Fitted,
    clusters: &'a [usize],
    nodes: Vec<Node>,
}

impl TheoryInputs<'_> {
    /// The clusters with several nodes, λ₂ and condition 17.
    fn cohesion(&self, theory: &mut Theory) -> fedgrid::Result<()> {
        let network = &self.study.network;
        let labelled: Vec<bool> =
            self.nodes.iter().map(|node| node.data.total_weight() > 0.0).collect();
        let condition = sampling(network, self.clusters, &labelled)?;
        for (found, largest) in cohesion(network, self.clusters)?.iter().zip(condition.largest) {
            if let Some(lambda2) = found.lambda2 {
                theory.clusters.push(ClusterTheory {
                    cluster: found.cluster,
                    nodes: found.nodes,
                    lambda2,
                    outside: found.outside,
                    variation: None,
                    bound: None,
                    epsilon: None,
                    largest_factor: largest.filter(|largest| largest.is_finite()),
                });
            }
        }
        Ok(())
    }

    /// Bound 25, and what it rests on without having been checked; or why there is none.
    fn variation(&self) -> Result<(Vec<Variation>, Vec<String>), String> {
        let message = |error: fedgrid::Error| error.to_string();
        let pooled = PooledModels::fit(&self.nodes, self.clusters).map_err(message)?;
        let points = |hypotheses| match self.sum {
            Sum::Predictions(method) => {
                bound::predictions_of(&self.nodes, hypotheses, method.couple_intercept)
            }
            Sum::Weights(method) => {
                bound::weights_of(&self.nodes, hypotheses, method.couple_intercept)
            }
        };
        let fitted = points(&self.fitted.hypotheses).map_err(message)?;
        let centres = points(&pooled.hypotheses).map_err(message)?;
        let (difference, gap, warnings) = match self.sum {
            Sum::Predictions(method) => {
                (PointDifference::Squared, 0.0, self.of_predictions(method)?)
            }
            Sum::Weights(method) => {
                (PointDifference::Weights(method.penalty), self.gap(method, &fitted)?, Vec::new())
            }
        };
        let variations = variation_bound(&bound::FittedNetwork {
            network: &self.study.network,
            clusters: self.clusters,
            alpha: self.strength.alpha,
            difference,
            points: &fitted,
            pooled: &centres,
            losses: &pooled.losses,
            gap,
        });
        Ok((variations.map_err(message)?, warnings))
    }

    /// What a bound on predictions rests on; an error where FedRelax minimises something else.
    fn of_predictions(&self, method: &FedRelax) -> Result<Vec<String>, String> {
        if method.hub > 0.0 || method.clip.is_some() {
            return Err("a hub or a message radius changes what is minimised".into());
        }
        if method.discrepancy.is_some_and(|discrepancy| discrepancy != Loss::Squared) {
            return Err("predictions are not compared by squares".into());
        }
        if !self.fitted.certificate.converged {
            return Err("the run has not converged to a minimum".into());
        }
        let parametric = |node: &Node| node.model.as_parametric().is_some();
        // Fits of weights end at a minimum over all weights; greedy ones, as of trees, need not.
        if self.fitted.direct || self.nodes.iter().all(parametric) {
            return Ok(Vec::new());
        }
        let warning = "bound 25 assumes a minimum over all models, which fits of trees, forests and the like \
                       need not reach";
        Ok(vec![warning.into()])
    }

    /// The certified distance from the minimum.
    fn gap(&self, method: Gtv, weights: &[Vec<f64>]) -> Result<f64, String> {
        let certificate = &self.fitted.certificate;
        // Bound 25 compares objectives with the minimum, which a residual says nothing about.
        if certificate.kind != "certified relative gap" {
            return Err("the gap to the minimum is not certified".into());
        }
        let loss = |node: &Node| {
            let model = node.model.as_parametric()?;
            let weights = model.weights(self.fitted.hypotheses[node.id].as_ref())?;
            Some(model.loss(&node.data, &weights))
        };
        let losses: f64 = self.nodes.iter().filter_map(loss).sum();
        let term = |edge: &fedgrid::network::Edge| {
            let ends = weights[edge.source].iter().zip(&weights[edge.target]);
            edge.weight * method.penalty.value(&ends.map(|(a, b)| a - b).collect::<Vec<_>>())
        };
        let variation: f64 = self.study.network.edges().iter().map(term).sum();
        // The certificate is relative to the objective, the bound needs the gap itself.
        Ok(certificate.value * (losses + self.strength.alpha * variation).abs())
    }

    /// The critical strength; none where it is not known.
    fn critical(&self, method: Gtv) -> Option<CriticalTheory> {
        let losses = Losses::new(&self.nodes, method.couple_intercept).ok()?;
        let found = critical(&losses, &self.study.network, method.penalty).ok()??;
        Some(CriticalTheory { at_least: found.at_least, at_most: found.at_most })
    }

    /// Theorem 1, and why its numbers are missing.
    fn recovery(&self, method: Gtv) -> Result<(RecoveryTheory, Vec<String>), String> {
        let message = |error: fedgrid::Error| error.to_string();
        if !method.couple_intercept {
            return Err("it is about weights that are all coupled, and intercepts are free".into());
        }
        let network = &self.study.network;
        let found =
            recovery(&self.nodes, network, self.clusters, method.penalty).map_err(message)?;
        let weights =
            bound::weights_of(&self.nodes, &self.fitted.hypotheses, true).map_err(message)?;
        let constants = found.sampling.constants;
        let numbers = RecoveryTheory {
            labelled: found.labelled,
            gradient: found.gradient,
            curvature: Some(found.curvature).filter(|curvature| curvature.is_finite()),
            factor: constants.map(|(factor, _)| factor),
            constant: constants.map(|(_, constant)| constant),
            alpha: found.alpha,
            bound: found.bound,
            error: found.error(network, method.penalty, &weights).map_err(message)?,
        };
        let mut warnings = found.warnings;
        if let Some(alpha) = found.alpha
            // Strengths come from a grid and hardly ever meet λ exactly; within a per cent they are the same.
            && (alpha - self.strength.alpha).abs() > 0.01 * alpha
        {
            warnings.push(format!(
                "bound 18 holds at α = {}, and the run has {}: what was measured need not keep to it",
                number::significant(alpha),
                number::significant(self.strength.alpha)
            ));
        }
        Ok((numbers, warnings))
    }
}
