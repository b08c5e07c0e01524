//! Nodes whose rows come from a common set of K linear models, each node with its own shares,
//!
//! ```text
//! ρ⁽ⁱ⁾ = softmax(s⁽ⁱ⁾), s⁽ⁱ⁾ ~ N(0, I_K)      m⁽ⁱᵏ⁾ = m ρ⁽ⁱᵏ⁾ rows with y = (w̄⁽ᵏ⁾)ᵀ x + ε
//! Aᵢᵢ' = Σ_k min(ρ⁽ⁱᵏ⁾, ρ⁽ⁱ'ᵏ⁾)
//! ```
//!
//! so that the weight of an edge is the share of rows that two nodes have in common.
//! ["Plug In and Learn", Algorithm 3 and eq. 21.]

use super::{dataset, feature_names, linear_row, similarity, true_weights};
use crate::{
    data::Dataset,
    error::{Result, at_least, at_least_zero},
    network::Network,
    random::{Purpose, Stream},
};

/// A network of nodes that mix the same components in different shares; all pairs are joined.
///
/// ```
/// use fedgrid::synthetic::Mixture;
/// let mixture =
///     Mixture { nodes: 150, components: 3, features: 10, rows: 10, noise: 0.0, seed: 1 };
/// let made = mixture.make()?;
/// assert_eq!((made.data.len(), made.data[0].rows()), (150, 10));
/// # Ok::<(), fedgrid::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mixture {
    /// How many nodes there are, one or more.
    pub nodes: usize,
    /// How many linear models K ≥ 1 are mixed; one makes all nodes alike.
    pub components: usize,
    /// The dimension d ≥ 1 of the features.
    pub features: usize,
    /// How many rows m each node has.
    pub rows: usize,
    /// The standard deviation σ ≥ 0 of the label noise.
    pub noise: f64,
    /// What decides the draws.
    pub seed: u64,
}

/// A mixture network, its truth and its data.
#[derive(Debug, Clone, PartialEq)]
pub struct MixtureData {
    /// All pairs of nodes, weighted by what they have in common.
    pub network: Network,
    /// The shares ρ of the components at each node.
    pub shares: Vec<Vec<f64>>,
    /// The true weights w̄ of each component.
    pub weights: Vec<Vec<f64>>,
    /// The rows of each node, in random order: any part of them is a mixture too.
    pub data: Vec<Dataset>,
}

impl Mixture {
    /// Draws the shares, the weights and the rows.
    pub fn make(&self) -> Result<MixtureData> {
        at_least(self.nodes, "nodes", 1, "one or more")?;
        at_least(self.components, "components", 1, "one or more")?;
        at_least(self.features, "features", 1, "one or more")?;
        at_least_zero("noise", self.noise)?;
        let weights = true_weights(self.components, self.features, self.seed);
        let names = feature_names(self.features);
        let mut shares = Vec::with_capacity(self.nodes);
        let mut data = Vec::with_capacity(self.nodes);
        for node in 0..self.nodes {
            let stream = &mut Stream::new(self.seed, node, 0, Purpose::Data);
            let mixing =
                softmax(&(0..self.components).map(|_| stream.normal()).collect::<Vec<_>>());
            data.push(dataset(names.clone(), self.rows(&mixing, &weights, stream))?);
            shares.push(mixing);
        }
        Ok(MixtureData { network: similarity(&shares)?, shares, weights, data })
    }

    fn rows(
        &self,
        mixing: &[f64],
        weights: &[Vec<f64>],
        stream: &mut Stream,
    ) -> Vec<(Vec<f64>, f64)> {
        let mut rows = Vec::with_capacity(self.rows);
        for (weights, count) in weights.iter().zip(counts(mixing, self.rows)) {
            rows.extend((0..count).map(|_| linear_row(weights, self.noise, stream)));
        }
        // Rows come component by component, and a split of them must not.
        stream.shuffle(&mut rows);
        rows
    }
}

fn softmax(scores: &[f64]) -> Vec<f64> {
    // Taken off first, so that no power overflows.
    let largest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let powers: Vec<f64> = scores.iter().map(|score| (score - largest).exp()).collect();
    let total: f64 = powers.iter().sum();
    powers.into_iter().map(|power| power / total).collect()
}

/// Whole numbers that add up to `rows`, as close to `rows · shares` as they can be (largest
/// remainder; the first of equals).
///
/// The paper leaves the rounding of m ρ open; the authors' code only comes near to it.
fn counts(shares: &[f64], rows: usize) -> Vec<usize> {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a share of the rows is a number from zero to the number of rows"
    )]
    let mut counts: Vec<usize> =
        shares.iter().map(|share| (share * rows as f64) as usize).collect();
    let remainder = |k: usize| shares[k] * rows as f64 - counts[k] as f64;
    let mut order: Vec<usize> = (0..shares.len()).collect();
    order.sort_by(|&a, &b| remainder(b).total_cmp(&remainder(a)));
    // Rounded down, counts never add up to more than all rows.
    let missing = rows - counts.iter().sum::<usize>();
    order.into_iter().take(missing).for_each(|k| counts[k] += 1);
    counts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algebra::dot;

    const SMALL: Mixture =
        Mixture { nodes: 20, components: 3, features: 4, rows: 10, noise: 0.0, seed: 2 };

    #[test]
    fn counts_add_up_and_are_within_one_of_their_share() {
        assert_eq!(counts(&[0.5, 0.3, 0.2], 10), [5, 3, 2]);
        assert_eq!(counts(&[0.45, 0.35, 0.2], 10), [5, 3, 2]);
        assert_eq!(counts(&[1.0 / 3.0; 3], 10), [4, 3, 3]);
        assert_eq!(counts(&[1.0], 0), [0]);
        for shares in SMALL.make().unwrap().shares {
            let counts = counts(&shares, 7);
            assert_eq!(counts.iter().sum::<usize>(), 7);
            let near = |(count, share): (&usize, &f64)| (*count as f64 - 7.0 * share).abs() < 1.0;
            assert!(counts.iter().zip(&shares).all(near));
        }
    }

    #[test]
    fn every_row_is_of_one_component_and_there_are_as_many_as_the_shares_say() {
        let made = SMALL.make().unwrap();
        for (data, shares) in made.data.iter().zip(&made.shares) {
            assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-14);
            let mut found = [0; 3];
            for (x, y) in data.features().iter().zip(data.labels().as_slice()) {
                let component = made.weights.iter().position(|w| (dot(w, x) - y).abs() < 1e-13);
                found[component.unwrap()] += 1;
            }
            assert_eq!(found.to_vec(), counts(shares, 10));
        }
    }

    #[test]
    fn an_edge_weighs_what_two_nodes_have_in_common() {
        let made = SMALL.make().unwrap();
        assert_eq!(made.network.edges().len(), 190);
        let edge = made.network.edges()[0];
        let (a, b) = (&made.shares[edge.source], &made.shares[edge.target]);
        // min(a, b) = (a + b − |a − b|) / 2, and shares add up to one.
        let apart: f64 = a.iter().zip(b).map(|(a, b)| (a - b).abs()).sum();
        assert!((edge.weight - (1.0 - apart / 2.0)).abs() < 1e-14);
        let alike = Mixture { components: 1, ..SMALL }.make().unwrap();
        assert!(alike.network.edges().iter().all(|edge| (edge.weight - 1.0).abs() < 1e-15));
    }

    #[test]
    fn the_seed_decides_and_more_rows_leave_shares_and_weights_as_they_are() {
        let (few, many) = (SMALL.make().unwrap(), Mixture { rows: 50, ..SMALL }.make().unwrap());
        assert_eq!(few, SMALL.make().unwrap());
        assert_eq!((&few.shares, &few.weights), (&many.shares, &many.weights));
        assert_ne!(few.shares, Mixture { seed: 3, ..SMALL }.make().unwrap().shares);
    }

    #[test]
    fn wrong_parameters_are_named() {
        let message = |mixture: Mixture| mixture.make().unwrap_err().to_string();
        let expected = "components is 0, expected one or more";
        assert_eq!(message(Mixture { components: 0, ..SMALL }), expected);
        let expected = "nodes is 0, expected one or more";
        assert_eq!(message(Mixture { nodes: 0, ..SMALL }), expected);
        let expected = "features is 0, expected one or more";
        assert_eq!(message(Mixture { features: 0, ..SMALL }), expected);
        let expected = "noise is NaN, expected zero or more";
        assert_eq!(message(Mixture { noise: f64::NAN, ..SMALL }), expected);
    }
}
