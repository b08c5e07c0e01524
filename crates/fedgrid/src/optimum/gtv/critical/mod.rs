//! The critical strength above which all weights of a component are equal, for the norms.
//!
//! At the pooled minimiser ŵ with gradients `g_i = ∇L_i(ŵ)`, equal weights are the minimum if a flow u
//! with Dᵀu = −g fits into the edges, so
//!
//! ```text
//! critical α = min_u max_e ‖u_e‖* / A_e   over Dᵀu = −g      = max_z −gᵀz / Σ_e A_e φ((Dz)_e)
//! ```
//!
//! Any flow bounds it from above and any potentials z from below. Both come from one Laplacian system,
//! whose edges are weighted anew by the potentials of the last one, until the bounds meet.
//! ["Networked Federated Multi-Task Learning", section 2.2.]

mod pooled_gradients;

use super::losses::Losses;
use crate::{
    algebra::{add_scaled, dot},
    error::{Error, Result, same_size},
    network::Network,
    optimum::krylov::{Limit, conjugate_gradient},
    penalty::Penalty,
};

/// Bounds on a critical strength.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Critical {
    /// Below this strength the weights of some component differ.
    pub at_least: f64,
    /// From this strength on the weights of every component are equal.
    pub at_most: f64,
}

/// How close the bounds have to come, relative to each other: a strength is not needed more exactly.
const BOUNDS_TOLERANCE: f64 = 1e-3;
/// Systems that are solved at most: what has not met by then is told as the two bounds that it is.
const MAX_ROUNDS: usize = 60;
/// Differences below this share of the largest weigh as if they were this: where nodes agree weights would
/// be infinite.
const LEAST_DIFFERENCE: f64 = 1e-7;

/// The critical strength of a network, or none for the squared norm, which never makes weights equal.
pub fn critical(losses: &Losses, network: &Network, penalty: Penalty) -> Result<Option<Critical>> {
    same_size("nodes", network.len(), losses.len())?;
    if !penalty.rule().is_norm() {
        return Ok(None);
    }
    let gradients = gradients_at_pooled(losses, network).filter(|_| losses.not_convex().is_none());
    let needs = "convex losses that tell their second derivative";
    let gradients = gradients.ok_or(Error::Unsupported { what: "the critical strength", needs })?;
    let size = losses.coupled;
    let mut weights: Vec<f64> =
        network.edges().iter().flat_map(|edge| vec![edge.weight; size]).collect();
    let mut bounds = Critical { at_least: 0.0, at_most: f64::INFINITY };
    if dot(&gradients, &gradients) == 0.0 {
        return Ok(Some(Critical { at_least: 0.0, at_most: 0.0 }));
    }
    // Iteratively reweighted least squares: at its fixed point the quadratic and the norm have one minimiser.
    for _ in 0..MAX_ROUNDS {
        let z = potentials(network, &weights, &gradients, size);
        let rows = Potentials { network, z: &z, size };
        bounds.at_most = bounds.at_most.min(rows.fullest(&weights, penalty));
        bounds.at_least = bounds.at_least.max(-dot(&gradients, &z) / rows.variation(penalty));
        if bounds.at_most <= (1.0 + BOUNDS_TOLERANCE) * bounds.at_least {
            break;
        }
        rows.weigh(&mut weights, penalty);
    }
    Ok(Some(bounds))
}

/// The gradients of all nodes at the pooled minimiser of their component.
fn gradients_at_pooled(losses: &Losses, network: &Network) -> Option<Vec<f64>> {
    let size = losses.coupled;
    let mut all = vec![0.0; network.len() * size];
    for component in network.components() {
        let gradients = pooled_gradients::gradients(losses, &component)?;
        for (node, own) in component.iter().zip(gradients.chunks_exact(size)) {
            all[node * size..(node + 1) * size].copy_from_slice(own);
        }
        balance(&mut all, &component, size);
    }
    Some(all)
}

/// Makes the rows of a component add up to zero, as they would without rounding.
fn balance(rows: &mut [f64], component: &[usize], size: usize) {
    for k in 0..size {
        let mean = component.iter().map(|node| rows[node * size + k]).sum::<f64>()
            / component.len() as f64;
        for node in component {
            rows[node * size + k] -= mean;
        }
    }
}

/// The z with `Dᵀ ω D z = −g`.
fn potentials(network: &Network, weights: &[f64], gradients: &[f64], size: usize) -> Vec<f64> {
    let edges = || network.edges().iter().zip(weights.chunks_exact(size));
    let mut diagonal = vec![0.0; gradients.len()];
    for (edge, weights) in edges() {
        for node in [edge.source, edge.target] {
            add_scaled(&mut diagonal[node * size..(node + 1) * size], 1.0, weights);
        }
    }
    let apply = |v: &[f64], out: &mut [f64]| {
        out.fill(0.0);
        for (edge, weights) in edges() {
            for (k, weight) in weights.iter().enumerate() {
                let (i, j) = (edge.source * size + k, edge.target * size + k);
                let pull = weight * (v[i] - v[j]);
                out[i] += pull;
                out[j] -= pull;
            }
        }
    };
    let precondition = |v: &[f64], out: &mut [f64]| {
        for ((out, v), d) in out.iter_mut().zip(v).zip(&diagonal) {
            *out = if *d > 0.0 { v / d } else { 0.0 };
        }
    };
    let right: Vec<f64> = gradients.iter().map(|g| -g).collect();
    // The flow must balance at every node, or the upper bound is none; the Laplacian is singular, but the
    // gradients add up to zero.
    let limit = Limit { tolerance: 1e-12, products: 5000 };
    conjugate_gradient(&apply, &precondition, &right, vec![0.0; gradients.len()], limit).x
}

/// Potentials of all nodes.
struct Potentials<'a> {
    network: &'a Network,
    z: &'a [f64],
    size: usize,
}

impl Potentials<'_> {
    fn differences(&self) -> impl Iterator<Item = (f64, Vec<f64>)> {
        let row = |node: usize| &self.z[node * self.size..(node + 1) * self.size];
        self.network.edges().iter().map(move |edge| {
            let difference = row(edge.source).iter().zip(row(edge.target)).map(|(a, b)| a - b);
            (edge.weight, difference.collect())
        })
    }

    /// `Σ A φ(Dz)`.
    fn variation(&self, penalty: Penalty) -> f64 {
        self.differences().map(|(weight, z)| weight * penalty.value(&z)).sum()
    }

    /// The largest `‖u_e‖* / A_e` of the flow u = ω Dz.
    fn fullest(&self, weights: &[f64], penalty: Penalty) -> f64 {
        let flows = self.differences().zip(weights.chunks_exact(self.size));
        flows
            .map(|((weight, mut z), own)| {
                z.iter_mut().zip(own).for_each(|(z, own)| *z *= own);
                penalty.dual_size(&z) / weight
            })
            .fold(0.0, f64::max)
    }

    /// Weights ω = A / ‖Dz‖, with which z is where the sum of norms would have it.
    fn weigh(&self, weights: &mut [f64], penalty: Penalty) {
        let largest = self.differences().flat_map(|(_, z)| z).fold(0.0, |a: f64, z| a.max(z.abs()));
        let least = LEAST_DIFFERENCE * largest;
        for ((weight, mut z), own) in self.differences().zip(weights.chunks_exact_mut(self.size)) {
            penalty.rule().spread_sizes(&mut z);
            own.iter_mut().zip(&z).for_each(|(own, size)| *own = weight / size.max(least));
        }
    }
}
