//! The system on one public set by sparse factors: with `K = L Lᵀ` and weights `Lᵀ w`, neighbours are coupled by
//! numbers instead of blocks,
//!
//! ```text
//! A = L (blockdiag(L⁻¹ U_i L⁻ᵀ + α Σ_j A_ij) − α A ⊗ I) Lᵀ          U_i: rows, ridge and anchor
//! ```
//!
//! which elimination fills in little on networks of near neighbours. What rounding leaves, conjugate gradients
//! mend in a product or two.

use rayon::prelude::*;

use super::system::System;
use crate::algebra::{BlockCholesky, Cholesky, add_scaled, dot, triangle};

/// Conjugate gradients that are always tried first: as many as settle weak pulls.
const LEAST_PRODUCTS: usize = 10;

/// The factors of a system.
pub(super) struct Factored {
    size: usize,
    /// L⁻¹, row by row.
    whitening: Vec<f64>,
    factor: BlockCholesky,
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
        let pattern = network.pattern(size)?;
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
                let pull = system.alpha * network.degree(node);
                block.iter_mut().step_by(size + 1).for_each(|entry| *entry += pull);
            },
        );
        let factor = BlockCholesky::new(&pattern, size, &diagonal, (-system.alpha, size))?;
        Some(Self { size, whitening, factor })
    }

    /// `out ← A⁻¹ v`
    pub(super) fn solve(&self, v: &[f64], out: &mut [f64]) {
        let size = self.size;
        let rows = || self.whitening.chunks_exact(size).enumerate();
        for (v, out) in v.chunks_exact(size).zip(out.chunks_exact_mut(size)) {
            rows().for_each(|(k, row)| out[k] = dot(&row[..=k], &v[..=k]));
        }
        self.factor.solve(out, 1);
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
        optimum::{Anchor, Limit, LinearNetwork},
        random::{Purpose, Stream},
    };

    /// One row at each node of a grid, less than its weights need.
    fn made(public_columns: usize) -> LinearNetwork {
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
        let nodes: Vec<Node> = (0..144).map(node).collect();
        LinearNetwork::new(&nodes, false, true).unwrap().unwrap()
    }

    #[test]
    fn factors_invert_the_system_and_save_products_under_strong_pulls() {
        let (network, linear) = (grid(12, 12).unwrap(), made(3));
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
        let (network, linear) = (grid(12, 12).unwrap(), made(2));
        let system = System::new(&linear, &network, 1e3, None).definite();
        assert!(Factored::new(&system).is_none());
        let limit = Limit { tolerance: 1e-9, products: 20_000 };
        let solution = linear.solve(&network, 1e3, None, vec![0.0; 144 * 4], limit).unwrap();
        assert!(solution.residual <= limit.tolerance, "{}", solution.residual);
    }
}
