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

/// How many multiplications of a factor take as long as one of a product with the system, which is read from memory.
const FACTOR_MULTIPLICATIONS_PER_PRODUCTS: f64 = 8.0;
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
        let (size, network) = (system.moments.size, system.network);
        if !system.moments.one_set() {
            return None;
        }
        let work = network.pattern(size)?.work(size);
        let product = 2 * size * (network.len() * size + network.edges().len());
        let products = work / (FACTOR_MULTIPLICATIONS_PER_PRODUCTS * product as f64);
        Some((products as usize).max(LEAST_PRODUCTS))
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
