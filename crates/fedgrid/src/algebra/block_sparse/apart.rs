//! Systems without an edge: every block by itself, in the order of nodes and without memory of its own.
//!
//! ```text
//! D_i = L_i L_iᵀ,   Z_i = L_i⁻ᵀ L_i⁻¹
//! ```

use rayon::prelude::*;

use crate::algebra::{add_scaled, dot, scale};

/// Blocks that one thread works on at a time.
const BLOCKS_PER_PART: usize = 64;

/// Blocks of so many rows.
#[derive(Debug, PartialEq)]
pub(super) struct Apart {
    size: usize,
    /// L⁻¹ of each, row by row, with zeros above its diagonal.
    triangles: Vec<f64>,
}

impl Apart {
    /// Factors all blocks, and gives the logarithm of their determinant; none if one is not positive definite.
    pub(super) fn new(size: usize, diagonal: &[f64]) -> Option<(Self, f64)> {
        let block = (size * size).max(1);
        let mut triangles = diagonal.to_vec();
        let parts = triangles.par_chunks_mut(BLOCKS_PER_PART * block);
        let of_part = |part: &mut [f64]| -> Option<f64> {
            part.chunks_exact_mut(block).map(|block| inverted_triangle(block, size)).sum()
        };
        let logarithms = parts.map(of_part).collect::<Option<Vec<f64>>>()?;
        Some((Self { size, triangles }, logarithms.iter().sum()))
    }

    /// Solves for so many right-hand sides.
    pub(super) fn solve(&self, b: &mut [f64], width: usize) {
        let (size, block) = (self.size, self.size * self.size);
        let parts = b.par_chunks_mut(BLOCKS_PER_PART * size * width);
        parts.zip(self.triangles.par_chunks(BLOCKS_PER_PART * block)).for_each(
            |(part, triangles)| {
                let blocks = triangles.chunks_exact(block);
                for (x, triangle) in part.chunks_exact_mut(size * width).zip(blocks) {
                    solve_one(triangle, size, x, width);
                }
            },
        );
    }

    /// The inverses of all blocks.
    pub(super) fn inverses(&self) -> Vec<f64> {
        let (size, block) = (self.size, (self.size * self.size).max(1));
        let mut inverses = vec![0.0; self.triangles.len()];
        let parts = inverses.par_chunks_mut(BLOCKS_PER_PART * block);
        parts.zip(self.triangles.par_chunks(BLOCKS_PER_PART * block)).for_each(
            |(part, triangles)| {
                let blocks = triangles.chunks_exact(block);
                for (inverse, triangle) in part.chunks_exact_mut(block).zip(blocks) {
                    for (k, row) in triangle.chunks_exact(size).enumerate() {
                        for (to, factor) in inverse.chunks_exact_mut(size).zip(&row[..=k]) {
                            add_scaled(&mut to[..=k], *factor, &row[..=k]);
                        }
                    }
                }
            },
        );
        inverses
    }
}

/// Puts the inverse of its triangle in the place of a block, and gives the logarithm of its determinant.
fn inverted_triangle(block: &mut [f64], size: usize) -> Option<f64> {
    let mut logarithm = 0.0;
    for row in 0..size {
        let (before, own) = block.split_at_mut(row * size);
        let own = &mut own[..size];
        for (column, other) in before.chunks_exact(size).enumerate() {
            own[column] = (own[column] - dot(&own[..column], &other[..column])) * other[column];
        }
        let pivot = own[row] - dot(&own[..row], &own[..row]);
        if !(pivot > 0.0 && pivot.is_finite()) {
            return None;
        }
        logarithm += pivot.ln();
        own[row] = 1.0 / pivot.sqrt();
        own[row + 1..].fill(0.0);
    }
    for row in 1..size {
        let (known, own) = block.split_at_mut(row * size);
        let pivot = own[row];
        // Entries of the triangle from a column on are all that its inverse needs there.
        for column in 0..row {
            let above = known.chunks_exact(size).map(|known| known[column]);
            let sum: f64 =
                own[column..row].iter().zip(above.skip(column)).map(|(l, z)| l * z).sum();
            own[column] = -pivot * sum;
        }
    }
    Some(logarithm)
}

/// `x ← L⁻ᵀ L⁻¹ x`.
fn solve_one(triangle: &[f64], size: usize, x: &mut [f64], width: usize) {
    // The last row first, since it needs all others as they were.
    for (row, factors) in triangle.chunks_exact(size).enumerate().rev() {
        let (before, own) = x.split_at_mut(row * width);
        let own = &mut own[..width];
        scale(own, factors[row]);
        for (factor, from) in factors.iter().zip(before.chunks_exact(width)) {
            add_scaled(own, *factor, from);
        }
    }
    for (row, factors) in triangle.chunks_exact(size).enumerate() {
        let (above, own) = x.split_at_mut(row * width);
        let own = &mut own[..width];
        for (factor, to) in factors.iter().zip(above.chunks_exact_mut(width)) {
            add_scaled(to, *factor, own);
        }
        scale(own, factors[row]);
    }
}
