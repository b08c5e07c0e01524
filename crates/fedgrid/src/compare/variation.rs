//! Total variation of weights: the minimum itself, and what a strength of one is worth there.

use super::{
    Certificate, Fitted, Gtv, Study, Unwatched,
    fitted::{Effort, Pulled, Warm},
    trainer::Trainer,
};
use crate::{
    bound::weights_of,
    error::Result,
    method::PrimalDual,
    network::{Network, Node},
    optimum::gtv::{Coupled, Goal, Losses, Minimum, clusters, clusters_of, minimise},
    penalty::Penalty,
};

/// A gap that tells strengths apart, and how many steps it is worth.
const SEARCH: Goal = Goal { tolerance: 1e-3, steps: 500 };
/// Neighbours are equal if they differ by less than this share of the largest weights.
const EQUAL: f64 = 1e-4;

impl Trainer<'_> {
    /// The weights of all nodes that minimise the losses and their total variation.
    pub(super) fn minimised(&self, method: Gtv, pulled: Pulled) -> Result<Fitted> {
        let Pulled { network, alpha, warm, effort } = pulled;
        let goal = match effort {
            Effort::Search => Goal {
                tolerance: SEARCH.tolerance.max(method.tolerance),
                steps: SEARCH.steps.min(method.steps),
            },
            Effort::Final => Goal { tolerance: method.tolerance, steps: method.steps },
        };
        if alpha == 0.0 {
            return self.alone();
        }
        if !self.study.settings.direct {
            let start = if let Warm::Hypotheses(start) = warm { Some(start) } else { None };
            let rounds = PrimalDual { start, ..method.rounds(alpha) };
            let fitted = self.rounds(&rounds, network, 0.0, effort)?;
            return Ok(Fitted { clusters: self.met(method, network, &fitted), ..fitted });
        }
        let losses = self.losses(method)?;
        let start = if let Warm::Minimum(start) = &warm { Some(&**start) } else { None };
        let coupled = Coupled { alpha, penalty: method.penalty };
        let minimum = minimise(losses, network, coupled, start, goal)?;
        let hypotheses = losses.hypotheses(network, &minimum.weights);
        let mut hypotheses: Vec<_> = hypotheses.into_iter().map(|h| Some(h.into())).collect();
        self.replace_lonely(network, 0.0, &mut hypotheses)?;
        Ok(Fitted {
            residuals: minimum.history.iter().map(|(_, gap)| *gap).collect(),
            steps: minimum.history.iter().map(|(step, _)| *step).collect(),
            certificate: certificate(&minimum, goal),
            engine: minimum.engine.to_string(),
            clusters: (method.penalty != Penalty::SquaredNorm)
                .then(|| clusters(losses, network, &minimum.weights, EQUAL)),
            warm: Warm::Minimum(Box::new(minimum)),
            ..Fitted::exact(self.filled(network, 0.0, hypotheses)?)
        })
    }

    /// Without a pull: local training, which knows what to do with fewer rows than features; nodes
    /// without rows get the pooled model.
    pub(super) fn alone(&self) -> Result<Fitted> {
        let network = self.without_edges()?;
        let mut hypotheses = vec![None; self.nodes().len()];
        self.replace_lonely(&network, 0.0, &mut hypotheses)?;
        Ok(Fitted::exact(self.filled(&network, 0.0, hypotheses)?))
    }

    /// The clusters of nodes with equal weights, where the penalty makes weights equal.
    fn met(&self, method: Gtv, network: &Network, fitted: &Fitted) -> Option<Vec<usize>> {
        if method.penalty == Penalty::SquaredNorm {
            return None;
        }
        let weights = weights_of(self.nodes(), &fitted.hypotheses, method.couple_intercept).ok()?;
        Some(clusters_of(network, |node| &weights[node], EQUAL))
    }

    fn losses(&self, method: Gtv) -> Result<&Losses> {
        let losses = self.losses.get_or_init(|| Losses::new(self.nodes(), method.couple_intercept));
        losses.as_ref().map_err(Clone::clone)
    }
}

fn certificate(minimum: &Minimum, goal: Goal) -> Certificate {
    let known = minimum.certificate;
    let gap = minimum.relative_gap().filter(|gap| gap.is_finite());
    let (kind, value) = gap.map_or_else(
        || ("optimality residual", known.node_residual.max(known.edge_residual)),
        |gap| ("certified relative gap", gap),
    );
    Certificate {
        kind: kind.into(),
        value,
        converged: value <= goal.tolerance,
        reason: known.unbounded.map(ToString::to_string),
    }
}

/// What a strength of one is worth. Where all nodes have the pooled weights w,
///
/// ```text
/// norms   mean ‖∇L_i(w)‖ / mean degree           what the duals of a node can balance
/// ½‖·‖²   2 × mean feature variance / mean degree      what differences of predictions would count
/// ```
pub(super) fn unit(study: &Study, method: Gtv, variance: f64, mean_degree: f64) -> Result<f64> {
    if method.penalty == Penalty::SquaredNorm {
        return Ok(2.0 * variance / mean_degree);
    }
    let trainer = Trainer::new(study, &Unwatched, &study.plan.train, None)?;
    let pooled = trainer.anchor()?;
    let gradient = |node: &Node| {
        let model = node.model.as_parametric()?;
        let weights = model.weights(pooled[node.id].as_ref())?;
        let mut gradient = model.gradient(&node.data, &weights);
        if !method.couple_intercept {
            let columns = node.data.features().columns();
            model.intercepts(columns, node.data.task()).iter().for_each(|&k| gradient[k] = 0.0);
        }
        Some(method.penalty.dual_size(&gradient))
    };
    let with_rows = || trainer.nodes().iter().filter(|node| node.data.total_weight() > 0.0);
    let total: f64 = with_rows().filter_map(gradient).sum();
    let mean = total / with_rows().count().max(1) as f64;
    Ok(if mean > 0.0 && mean.is_finite() { mean / mean_degree } else { 1.0 / mean_degree })
}
