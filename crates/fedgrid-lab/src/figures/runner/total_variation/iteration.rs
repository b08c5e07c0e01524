//! Algorithm 1 of "Networked Federated Multi-Task Learning" for nodes with two weights, on plain arrays.
//!
//! `method::PrimalDual` takes the same steps (a test holds it to 1e-11), but not to the bit: the inverse
//! (I + 2τ Q)⁻¹ is formed here once and multiplied with, as the authors' code does, where the core solves
//! with factors of Q; and one of the authors' slips, τ of node 0 or 1 for a whole cluster, is no rule that
//! a node could follow with what it knows. The dual update is the core's.

use fedgrid::{data::Dataset, network::Network, penalty::Penalty, synthetic::LabelledNetwork};

use super::{NodeWeights, TotalVariation};

/// The iteration on plain arrays, without messages.
pub(super) struct PaperIteration<'a> {
    network: &'a Network,
    penalty: Penalty,
    /// `α A_e` of every edge, or what the authors' printed dual update makes of it.
    strengths: Vec<f64>,
    sigma: f64,
    /// The steps `τ_i`.
    steps: Vec<f64>,
    /// Of every node (I + 2τ Q)⁻¹ and 2τ q, or nothing without labels.
    proximal: Vec<Option<([f64; 4], [f64; 2])>>,
}

impl<'a> PaperIteration<'a> {
    pub(super) fn new(case: &TotalVariation, made: &'a LabelledNetwork) -> Self {
        let network = &made.network;
        let step = |node: usize| 1.0 / network.neighbours(node).len().max(1) as f64;
        let proximal = |(id, rows): (usize, &Dataset)| {
            // Their code indexes the steps by the cluster of a node instead of the node.
            let tau = if case.paper_compat { step(made.clusters[id]) } else { step(id) };
            let share = if case.paper_compat { 1.0 } else { 1.0 / case.rows as f64 };
            made.labelled[id].then(|| proximal(rows, tau * share))
        };
        let penalty = case.penalty;
        let share = if case.paper_compat { penalty.rule().printed_share() } else { 1.0 };
        let strength = case.alpha * share;
        Self {
            network,
            penalty,
            strengths: network.edges().iter().map(|edge| strength * edge.weight).collect(),
            sigma: if case.paper_compat { 0.45 } else { 0.5 },
            steps: (0..network.len()).map(step).collect(),
            proximal: made.rows.iter().enumerate().map(proximal).collect(),
        }
    }

    /// The weights after so many iterations from zero.
    pub(super) fn after(&self, iterations: usize) -> NodeWeights {
        let edges = self.network.edges();
        let ends: Vec<(usize, usize)> = edges.iter().map(|e| (e.source, e.target)).collect();
        let mut weights = vec![[0.0; 2]; self.steps.len()];
        let mut duals = vec![[0.0; 2]; edges.len()];
        let mut pulls = vec![[0.0; 2]; self.steps.len()];
        let mut reflected = weights.clone();
        for _ in 0..iterations {
            for (node, weights) in weights.iter_mut().enumerate() {
                let next = self.next(node, *weights, pulls[node]);
                reflected[node] = [2.0 * next[0] - weights[0], 2.0 * next[1] - weights[1]];
                *weights = next;
            }
            pulls.fill([0.0; 2]);
            for ((&(source, target), dual), &strength) in
                ends.iter().zip(&mut duals).zip(&self.strengths)
            {
                let (a, b) = (reflected[source], reflected[target]);
                let moved =
                    [dual[0] + self.sigma * (a[0] - b[0]), dual[1] + self.sigma * (a[1] - b[1])];
                *dual = moved;
                self.penalty.dual_update(dual, strength, self.sigma);
                pulls[source] = [pulls[source][0] + dual[0], pulls[source][1] + dual[1]];
                pulls[target] = [pulls[target][0] - dual[0], pulls[target][1] - dual[1]];
            }
        }
        weights
    }

    /// The next weights of a node under the sum of its duals.
    fn next(&self, node: usize, weights: [f64; 2], pull: [f64; 2]) -> [f64; 2] {
        let step = self.steps[node];
        let centre = [weights[0] - step * pull[0], weights[1] - step * pull[1]];
        match &self.proximal[node] {
            None => centre,
            Some((inverse, right)) => {
                let v = [centre[0] + right[0], centre[1] + right[1]];
                [inverse[0] * v[0] + inverse[1] * v[1], inverse[2] * v[0] + inverse[3] * v[1]]
            }
        }
    }
}

/// (I + 2t XᵀX)⁻¹ and 2t Xᵀy.
fn proximal(rows: &Dataset, t: f64) -> ([f64; 4], [f64; 2]) {
    let (mut gram, mut right) = ([0.0; 3], [0.0; 2]);
    for (x, y) in rows.features().iter().zip(rows.labels().as_slice()) {
        gram = [gram[0] + x[0] * x[0], gram[1] + x[0] * x[1], gram[2] + x[1] * x[1]];
        right = [right[0] + x[0] * y, right[1] + x[1] * y];
    }
    let [a, b, c] = [1.0 + 2.0 * t * gram[0], 2.0 * t * gram[1], 1.0 + 2.0 * t * gram[2]];
    let determinant = a * c - b * b;
    let inverse = [c, -b, -b, a].map(|entry| entry / determinant);
    (inverse, right.map(|entry| 2.0 * t * entry))
}
