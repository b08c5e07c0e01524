//! The system on one public set by sparse factors: with `K = L Lᵀ` and weights `Lᵀ w`, neighbours are coupled by
//! numbers instead of blocks,
//!
//! ```text
//! A = L (blockdiag(L⁻¹ U_i L⁻ᵀ + α Σ_j A_ij) − α A ⊗ I) Lᵀ          U_i: rows, ridge and anchor
//! ```
//!
//! which elimination fills in little on networks of near neighbours. What rounding leaves, conjugate gradients
//! mend in a product or two. Where it fills in more, all nodes have the mean block (`mean_block`), and conjugate
//! gradients do the rest.

use rayon::prelude::*;

use super::system::System;
use crate::{
    algebra::{BlockCholesky, Cholesky, add_scaled, dot, triangle},
    optimum::mean_block::MeanBlock,
};

/// Conjugate gradients that are always tried first: as many as settle weak pulls.
const LEAST_PRODUCTS: usize = 10;

/// What is added to diagonals, as a share of them, where rounding in a strong pull hides what all nodes have in common:
/// a thousand times as much as rounding may take, and so little that conjugate gradients mend it in a product or two.
const DEFINITE_SHARE: f64 = 1e-12;

/// The factors of a system.
pub(super) struct Factored {
    size: usize,
    /// L⁻¹, row by row.
    whitening: Vec<f64>,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Blocks(BlockCholesky),
    /// Where blocks fill in too much.
    Mean(MeanBlock),
}

impl Factored {
    /// After how many products factors would have been cheaper; none where they are not to be had.
    pub(super) fn worth_products(system: &System) -> Option<usize> {
        if !system.moments.one_set() {
            return None;
        }
        let products = system.network.products_of_factors(system.moments.size)?;
        Some(products.max(LEAST_PRODUCTS))
    }

    /// Factors a system on one public set; none if that is singular.
    pub(super) fn new(system: &System) -> Option<Self> {
        let (size, network) = (system.moments.size, system.network);
        let whitening =
            Cholesky::new(square(system.moments.moment(0), size), size)?.inverse_lower();
        let mut diagonal = vec![0.0; network.len() * size * size];
        let blocks = diagonal.par_chunks_mut((size * size).max(1)).enumerate().with_min_len(64);
        blocks.for_each_init(
            || vec![0.0; triangle(size)],
            |uncoupled, (node, block)| {
                uncoupled.fill(0.0);
                system.add_uncoupled(node, uncoupled);
                whiten(&whitening, &square(uncoupled, size), block, size);
            },
        );
        let Some(pattern) = network.pattern(size) else {
            let mut mean = vec![0.0; size * size];
            let share = 1.0 / network.len() as f64;
            diagonal.chunks_exact(size * size).for_each(|own| add_scaled(&mut mean, share, own));
            let mean = MeanBlock::new(network, system.alpha, &mean, size)?;
            return Some(Self { size, whitening, kind: Kind::Mean(mean) });
        };
        for (node, block) in diagonal.chunks_exact_mut((size * size).max(1)).enumerate() {
            let pull = system.alpha * network.degree(node);
            block.iter_mut().step_by(size + 1).for_each(|entry| *entry += pull);
        }
        let coupling = (-system.alpha, size);
        let factor = BlockCholesky::new(&pattern, size, &diagonal, coupling).or_else(|| {
            let blocks = diagonal.chunks_exact_mut((size * size).max(1));
            for entry in blocks.flat_map(|block| block.iter_mut().step_by(size + 1)) {
                *entry *= 1.0 + DEFINITE_SHARE;
            }
            BlockCholesky::new(&pattern, size, &diagonal, coupling)
        })?;
        Some(Self { size, whitening, kind: Kind::Blocks(factor) })
    }

    /// `out ← A⁻¹ v`, or about that with the mean block
    pub(super) fn solve(&self, v: &[f64], out: &mut [f64]) {
        let size = self.size;
        let rows = || self.whitening.chunks_exact(size).enumerate();
        for (v, out) in v.chunks_exact(size).zip(out.chunks_exact_mut(size)) {
            rows().for_each(|(k, row)| out[k] = dot(&row[..=k], &v[..=k]));
        }
        match &self.kind {
            Kind::Blocks(factor) => factor.solve(out, 1),
            Kind::Mean(mean) => mean.solve(out),
        }
        let mut turned = vec![0.0; size];
        for out in out.chunks_exact_mut(size) {
            turned.fill(0.0);
            rows().for_each(|(k, row)| add_scaled(&mut turned[..=k], out[k], &row[..=k]));
            out.copy_from_slice(&turned);
        }
    }
}

/// `L⁻¹ U L⁻ᵀ`
fn whiten(whitening: &[f64], uncoupled: &[f64], block: &mut [f64], size: usize) {
    // U is symmetric, so its rows are its columns.
    let mut half = vec![0.0; size];
    for (row, own) in whitening.chunks_exact(size).enumerate() {
        half.fill(0.0);
        for (factor, of_column) in own[..=row].iter().zip(uncoupled.chunks_exact(size)) {
            add_scaled(&mut half, *factor, of_column);
        }
        for (column, other) in whitening.chunks_exact(size).enumerate().take(row + 1) {
            let entry = dot(&half[..=column], &other[..=column]);
            (block[row * size + column], block[column * size + row]) = (entry, entry);
        }
    }
}

/// The symmetric matrix of a triangle.
fn square(lower: &[f64], size: usize) -> Vec<f64> {
    let entry = |row: usize, column: usize| lower[triangle(row.max(column)) + row.min(column)];
    (0..size * size).map(|index| entry(index / size, index % size)).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{
        algebra::{norm, squared_distance},
        data::{Dataset, Features, Labels},
        model::Linear,
        network::{Node, grid},
        optimum::{Anchor, Limit, LinearNetwork, krylov::conjugate_gradient},
        random::{Purpose, Stream},
    };

    /// One row at each of so many nodes, less than its weights need.
    fn made(nodes: usize, public_columns: usize) -> LinearNetwork {
        let mut stream = Stream::new(3, 0, 0, Purpose::Data);
        let names: Arc<[String]> = ["a", "b", "c"].map(String::from).into();
        let mut draw = |rows: usize, columns: usize| {
            let value = |index: usize| if index % 3 < columns { stream.normal() } else { 0.0 };
            Features::new(names.clone(), (0..3 * rows).map(value).collect()).unwrap()
        };
        let public = Arc::new(draw(40, public_columns));
        let node = |id: usize| Node {
            id,
            data: Dataset::new(draw(1, 3), Labels::values(vec![(id as f64).sin()])).unwrap(),
            model: Arc::new(Linear { ridge: 0.01, intercept: true }),
            public: public.clone(),
        };
        let nodes: Vec<Node> = (0..nodes).map(node).collect();
        LinearNetwork::new(&nodes, false, true).unwrap().unwrap()
    }

    #[test]
    fn factors_invert_the_system_and_save_products_under_strong_pulls() {
        let (network, linear) = (grid(12, 12).unwrap(), made(144, 3));
        let hypothesis = linear.hypotheses(&linear.common_weights()).next().unwrap();
        for anchor in [None, Some(Anchor { weight: 0.5, hypothesis })] {
            for alpha in [0.1, 10.0, 1e4] {
                let system = System::new(&linear, &network, alpha, anchor.as_ref()).definite();
                let v: Vec<f64> = (0..144 * 4).map(|k| f64::from(k).cos()).collect();
                let (mut solved, mut again) = (vec![0.0; v.len()], vec![0.0; v.len()]);
                Factored::new(&system).unwrap().solve(&v, &mut solved);
                system.apply(&solved, &mut again);
                let far = squared_distance(&v, &again).sqrt() / norm(&v);
                assert!(far < 1e-13 * (1.0 + alpha), "{alpha}: {far}");
                let limit = Limit { tolerance: 1e-11, products: 20_000 };
                let start = vec![0.0; v.len()];
                let solution =
                    linear.solve(&network, alpha, anchor.as_ref(), start, limit).unwrap();
                let most = Factored::worth_products(&system).unwrap() + 5;
                assert!(solution.residual <= limit.tolerance.max(1e-14 * alpha), "{alpha}");
                // Weak pulls go by sweeps.
                let is_few = alpha < 1.0 || solution.products <= most;
                assert!(is_few, "{alpha}: {} {most}", solution.products);
            }
        }
    }

    #[test]
    fn public_points_without_a_column_leave_the_system_to_conjugate_gradients() {
        let (network, linear) = (grid(12, 12).unwrap(), made(144, 2));
        let system = System::new(&linear, &network, 1e3, None).definite();
        assert!(Factored::new(&system).is_none());
        let limit = Limit { tolerance: 1e-9, products: 20_000 };
        let solution = linear.solve(&network, 1e3, None, vec![0.0; 144 * 4], limit).unwrap();
        assert!(solution.residual <= limit.tolerance, "{}", solution.residual);
    }

    #[test]
    fn the_mean_block_saves_products_where_blocks_fill_in_too_much() {
        let (network, linear) = (grid(110, 110).unwrap(), made(110 * 110, 3));
        assert!(network.pattern(4).is_none() && network.scalar_pattern(4).is_some());
        let limit = Limit { tolerance: 1e-9, products: 20_000 };
        for alpha in [10.0, 1e3] {
            let system = System::new(&linear, &network, alpha, None).definite();
            let right = system.right.to_vec();
            let start = vec![0.0; right.len()];
            let factored = Factored::new(&system).unwrap();
            let apply = |v: &[f64], out: &mut [f64]| system.apply(v, out);
            let blocks = system.factors();
            let by_node = |v: &[f64], out: &mut [f64]| {
                out.copy_from_slice(v);
                blocks.solve(0, out);
            };
            let by_mean = |v: &[f64], out: &mut [f64]| factored.solve(v, out);
            let with = conjugate_gradient(&apply, &by_mean, &right, start.clone(), limit);
            let without = conjugate_gradient(&apply, &by_node, &right, start.clone(), limit);
            assert!(5 * with.products < without.products, "{alpha}: {}", with.products);
            let solution = linear.solve(&network, alpha, None, start, limit).unwrap();
            assert!(solution.residual <= limit.tolerance, "{alpha}: {}", solution.residual);
            assert!(
                squared_distance(&solution.weights, &without.x) < 1e-10 * dot(&with.x, &with.x)
            );
        }
    }
}
