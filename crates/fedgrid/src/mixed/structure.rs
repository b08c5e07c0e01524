//! The linear algebra that all mixed models share: the system of the deviations of all nodes.
//!
//! ```text
//! M = blockdiag(Tᵀ A_i T) + Ω ⊗ I          A_i the curvature of node i's rows, on the random columns
//! Q_i = Tᵀ A_i,   W = M⁻¹ Q,   S = Σ A_i − Qᵀ W,   B = S⁻¹
//! w_i = β + T u_i
//! cov(b_i | β)/σ² = T P_ii Tᵀ,   P = M⁻¹
//! cov(w_i)/σ²     = T P_ii Tᵀ + (I − T W_i) B (I − T W_i)ᵀ
//! ```

use std::sync::Arc;

use rayon::prelude::*;

use super::{Precision, precision::Width, search::Relative};
use crate::algebra::{BlockCholesky, Cholesky, Pattern, SelectedInverse, add_scaled, dot};

/// The share of its variance that a coefficient of a node's own keeps if the rows do not determine it.
pub(crate) const OPEN_SHARE: f64 = 0.5;

/// The share of the labels' squares that counts as noise in any case: rows that are fitted without any
/// error have no likelihood.
pub(super) const LEAST_NOISE_SHARE: f64 = 1e-16;

/// Nodes that one thread adds up at a time.
const NODES_PER_PART: usize = 64;

/// Which columns deviate, and how nodes belong together.
#[derive(Debug, Clone)]
pub(super) struct Structure<'a> {
    /// How many columns there are, the intercept among them.
    pub(super) columns: usize,
    /// The p columns that have a mean coefficient: a basis of all.
    pub(super) fixed: &'a [usize],
    /// The columns whose coefficients differ from node to node.
    pub(super) random: &'a [usize],
    /// How many of these, the last, have nothing to do with those of other nodes: there Ω = I.
    pub(super) free: usize,
    pub(super) precision: &'a Precision,
    pub(super) pattern: Arc<Pattern>,
}

/// What is left of the mean coefficients when deviations are eliminated.
#[derive(Debug)]
pub(super) struct Projection {
    /// W of each node with `M⁻¹ Tᵀ Xᵀy` as its last column, q × (p + 1).
    pub(super) projected: Vec<f64>,
    /// S.
    pub(super) schur: Vec<f64>,
    /// `Xᵀy − Qᵀ M⁻¹ Tᵀ Xᵀy`.
    pub(super) target: Vec<f64>,
}

/// The coefficients of all nodes, one after the other, with the covariances of their errors.
#[derive(Debug)]
pub(super) struct Posterior {
    pub(super) coefficients: Vec<f64>,
    pub(super) coefficient_covariances: Vec<f64>,
    pub(super) modes: Vec<f64>,
    pub(super) mode_covariances: Vec<f64>,
}

/// What the coefficients of all nodes are made of.
#[derive(Debug)]
pub(super) struct Solution<'a> {
    pub(super) noise: f64,
    /// β.
    pub(super) mean: &'a [f64],
    /// B.
    pub(super) mean_covariance: &'a [f64],
    /// u of each node.
    pub(super) deviations: &'a [f64],
    /// As in [`Projection`].
    pub(super) projected: &'a [f64],
}

impl Structure<'_> {
    /// p.
    pub(super) fn means(&self) -> usize {
        self.fixed.len()
    }

    /// q.
    pub(super) fn size(&self) -> usize {
        self.random.len()
    }

    /// The deviations of a node.
    pub(super) fn width(&self) -> Width {
        Width { all: self.size(), coupled: self.size() - self.free }
    }

    pub(super) fn nodes(&self) -> usize {
        self.pattern.len()
    }

    /// How many products of numbers a factor of M, its selected inverse and solutions for the mean take, about.
    pub(super) fn work(&self) -> f64 {
        let (q, p) = (self.size() as f64, self.means() as f64);
        let (blocks, pairs) = self.pattern.blocks();
        3.0 * pairs as f64 * q.powi(3) + 2.0 * blocks as f64 * q * q * (p + 1.0)
    }

    /// The factor of M; none if it is singular in rounding.
    pub(super) fn factor<'g>(
        &self,
        relative: &Relative,
        gram: impl Fn(usize) -> &'g [f64] + Sync,
    ) -> Option<BlockCholesky> {
        let q = self.size();
        let mut diagonal = vec![0.0; self.nodes() * q * q];
        diagonal.par_chunks_exact_mut((q * q).max(1)).enumerate().for_each(|(i, block)| {
            let product = self.times_factor(gram(i), relative);
            for a in 0..q {
                // T is often a diagonal.
                for k in (0..q).filter(|k| relative.factor[k * q + a] != 0.0) {
                    let entry = relative.factor[k * q + a];
                    add_scaled(&mut block[a * q..(a + 1) * q], entry, &product[k * q..(k + 1) * q]);
                }
                let rho = if a < q - self.free { relative.rho } else { 0.0 };
                block[a * q + a] += self.precision.diagonal(i, rho);
            }
        });
        let coupling = self.precision.coupling(relative.rho);
        BlockCholesky::new(&self.pattern, q, &diagonal, (coupling, q - self.free))
    }

    /// `A T` on the random columns, q × q.
    pub(super) fn times_factor(&self, gram: &[f64], relative: &Relative) -> Vec<f64> {
        let (d, q) = (self.columns, self.size());
        let mut product = vec![0.0; q * q];
        if let Some(diagonal) = relative.diagonal() {
            for (row, out) in self.random.iter().zip(product.chunks_exact_mut(q)) {
                for (out, (&column, scale)) in out.iter_mut().zip(self.random.iter().zip(&diagonal))
                {
                    *out = gram[row * d + column] * scale;
                }
            }
            return product;
        }
        for (a, &row) in self.random.iter().enumerate() {
            for (k, &column) in self.random.iter().enumerate() {
                let out = &mut product[a * q..(a + 1) * q];
                add_scaled(out, gram[row * d + column], &relative.factor[k * q..(k + 1) * q]);
            }
        }
        product
    }

    /// `Tᵀ x` of numbers for all columns.
    pub(super) fn pulled_back(&self, x: &[f64], relative: &Relative) -> Vec<f64> {
        let q = self.size();
        let mut out = vec![0.0; q];
        for (k, &column) in self.random.iter().enumerate() {
            add_scaled(&mut out, x[column], &relative.factor[k * q..(k + 1) * q]);
        }
        out
    }

    /// The coefficients of a node with deviations u.
    pub(super) fn coefficients(&self, relative: &Relative, mean: &[f64], own: &[f64]) -> Vec<f64> {
        let q = self.size();
        let mut weights = vec![0.0; self.columns];
        self.fixed.iter().zip(mean).for_each(|(&column, mean)| weights[column] = *mean);
        for (k, &column) in self.random.iter().enumerate() {
            weights[column] += dot(&relative.factor[k * q..(k + 1) * q], own);
        }
        weights
    }

    /// Moves what all nodes deviate by to the mean coefficients, which changes no node's coefficients.
    ///
    /// At the best β nothing is left to move: `(Ω ⊗ I)u` is the gradient of deviations, β moves all of them at once,
    /// and Ω1 = (1 − ρ)1, so that Σu = 0. Where ρ is next to one, β hardly counts beside deviations and comes out of a
    /// difference of nearly equal numbers; deviations do not.
    pub(super) fn centre(&self, factor: &[f64], mean: &mut [f64], deviations: &mut [f64]) {
        let (q, nodes) = (self.size(), self.nodes() as f64);
        let places: Vec<Option<usize>> = mean_places(self.random, self.fixed);
        for k in 0..self.width().coupled {
            let column = || factor.iter().skip(k).step_by(q).zip(&places);
            if column().any(|(t, place)| t.abs() > 0.0 && place.is_none()) {
                continue;
            }
            let common = deviations.iter().skip(k).step_by(q).sum::<f64>() / nodes;
            deviations.iter_mut().skip(k).step_by(q).for_each(|u| *u -= common);
            for (t, place) in column() {
                if let Some(place) = *place {
                    mean[place] += t * common;
                }
            }
        }
    }

    /// Eliminates the deviations.
    pub(super) fn project<'g>(
        &self,
        relative: &Relative,
        factor: &BlockCholesky,
        gram: impl Fn(usize) -> &'g [f64] + Sync,
        cross: impl Fn(usize) -> &'g [f64] + Sync,
    ) -> Projection {
        let (d, p, q) = (self.columns, self.means(), self.size());
        let width = p + 1;
        let own = q * width;
        let mut sides = vec![0.0; self.nodes() * own];
        sides.par_chunks_exact_mut(own.max(1)).enumerate().for_each(|(i, side)| {
            for (row, side) in side.chunks_exact_mut(width).enumerate() {
                for (k, &column) in self.random.iter().enumerate() {
                    let entry = relative.factor[k * q + row];
                    if entry == 0.0 {
                        continue;
                    }
                    let row = &gram(i)[column * d..(column + 1) * d];
                    for (side, &fixed) in side.iter_mut().zip(self.fixed) {
                        *side += entry * row[fixed];
                    }
                    side[p] += entry * cross(i)[column];
                }
            }
        });
        let mut projected = sides.clone();
        factor.solve(&mut projected, width);
        // S and the target as one matrix of p rows, with the target as its last column.
        let both = self.summed(p * width, |i, sum| {
            for (sum, &row) in sum.chunks_exact_mut(width).zip(self.fixed) {
                let entries = &gram(i)[row * d..(row + 1) * d];
                sum.iter_mut().zip(self.fixed).for_each(|(sum, &column)| *sum += entries[column]);
                sum[p] += cross(i)[row];
            }
            let range = i * own..(i + 1) * own;
            let rows = sides[range.clone()].chunks_exact(width);
            for (side, solved) in rows.zip(projected[range].chunks_exact(width)) {
                for (sum, side) in sum.chunks_exact_mut(width).zip(side) {
                    add_scaled(sum, -side, solved);
                }
            }
        });
        let (mut schur, mut target) = (Vec::with_capacity(p * p), Vec::with_capacity(p));
        for row in both.chunks_exact(width) {
            schur.extend_from_slice(&row[..p]);
            target.push(row[p]);
        }
        Projection { projected, schur, target }
    }

    /// A sum over all nodes of so many numbers, of which `add` adds those of a node.
    pub(super) fn summed(
        &self,
        numbers: usize,
        add: impl Fn(usize, &mut [f64]) + Sync,
    ) -> Vec<f64> {
        let of_part = |part: usize| {
            let mut sum = vec![0.0; numbers];
            let nodes = part * NODES_PER_PART..self.nodes().min((part + 1) * NODES_PER_PART);
            nodes.for_each(|node| add(node, &mut sum));
            sum
        };
        // In parts of the same nodes and in their order: the number of threads changes no bit.
        let parts: Vec<Vec<f64>> =
            (0..self.nodes().div_ceil(NODES_PER_PART)).into_par_iter().map(of_part).collect();
        let mut total = vec![0.0; numbers];
        for part in &parts {
            add_scaled(&mut total, 1.0, part);
        }
        total
    }

    /// The nodes whose rows leave more than half of the variance of a coefficient of their own.
    pub(super) fn undetermined(&self, inverse: &SelectedInverse) -> Vec<usize> {
        let free = self.width().coupled..self.size();
        let is_open = |node: &usize| {
            free.clone().any(|k| inverse.node(*node)[k * (self.size() + 1)] > OPEN_SHARE)
        };
        (0..self.nodes()).filter(is_open).collect()
    }

    /// Takes out the errors of mean coefficients that are no more than a place to start from.
    pub(super) fn without_free(&self, mut mean_covariance: Vec<f64>) -> Vec<f64> {
        let (p, free) = (self.means(), &self.random[self.width().coupled..]);
        for k in (0..p).filter(|&k| free.contains(&self.fixed[k])) {
            for other in 0..p {
                mean_covariance[k * p + other] = 0.0;
                mean_covariance[other * p + k] = 0.0;
            }
        }
        mean_covariance
    }

    /// A row of W.
    pub(super) fn w<'p>(&self, projected: &'p [f64], node: usize, row: usize) -> &'p [f64] {
        &projected[(node * self.size() + row) * (self.means() + 1)..][..self.means()]
    }

    /// `T P Tᵀ`, q × q.
    pub(super) fn spread(&self, relative: &Relative, p: &[f64]) -> Vec<f64> {
        let q = self.size();
        let mut left = vec![0.0; q * q];
        for a in 0..q {
            for k in 0..q {
                let entry = relative.factor[a * q + k];
                add_scaled(&mut left[a * q..(a + 1) * q], entry, &p[k * q..(k + 1) * q]);
            }
        }
        let row = |from: &[f64], k: usize| from[k * q..(k + 1) * q].to_vec();
        (0..q * q).map(|at| dot(&row(&left, at / q), &row(&relative.factor, at % q))).collect()
    }

    /// The part of a matrix of all columns that belongs to the fixed ones.
    pub(super) fn fixed_part(&self, large: &[f64]) -> Vec<f64> {
        let d = self.columns;
        let row = |&row: &usize| self.fixed.iter().map(move |column| large[row * d + column]);
        self.fixed.iter().flat_map(row).collect()
    }

    /// A matrix of the random columns as one of all.
    pub(super) fn embedded(&self, small: &[f64]) -> Vec<f64> {
        let (d, q) = (self.columns, self.size());
        let mut large = vec![0.0; d * d];
        for (a, &row) in self.random.iter().enumerate() {
            for (b, &column) in self.random.iter().enumerate() {
                large[row * d + column] = small[a * q + b];
            }
        }
        large
    }

    /// The coefficients of all nodes with their errors.
    pub(super) fn posterior(
        &self,
        relative: &Relative,
        solution: &Solution,
        inverse: &SelectedInverse,
    ) -> Posterior {
        let q = self.size();
        let of_node = |i: usize| {
            let own = &solution.deviations[i * q..(i + 1) * q];
            let mode: Vec<f64> =
                (0..q).map(|k| dot(&relative.factor[k * q..(k + 1) * q], own)).collect();
            let mut spread = self.spread(relative, inverse.node(i));
            for entry in &mut spread {
                *entry *= solution.noise;
            }
            let mut covariance = self.embedded(&spread);
            self.add_mean_errors(&mut covariance, relative, solution, i);
            (self.coefficients(relative, solution.mean, own), covariance, mode, spread)
        };
        let all: Vec<_> = (0..self.nodes()).into_par_iter().map(of_node).collect();
        let (mut coefficients, mut coefficient_covariances) = (Vec::new(), Vec::new());
        let (mut modes, mut mode_covariances) = (Vec::new(), Vec::new());
        for (own, covariance, mode, spread) in all {
            coefficients.extend(own);
            coefficient_covariances.extend(covariance);
            modes.extend(mode);
            mode_covariances.extend(spread);
        }
        Posterior { coefficients, coefficient_covariances, modes, mode_covariances }
    }

    /// Adds `σ² (I − T W_i) B (I − T W_i)ᵀ`.
    fn add_mean_errors(
        &self,
        covariance: &mut [f64],
        relative: &Relative,
        solution: &Solution,
        i: usize,
    ) {
        let (d, p, q) = (self.columns, self.means(), self.size());
        let mut part = vec![0.0; d * p];
        self.fixed.iter().enumerate().for_each(|(k, &column)| part[column * p + k] = 1.0);
        for (a, &row) in self.random.iter().enumerate() {
            for k in 0..q {
                let entry = -relative.factor[a * q + k];
                let w = self.w(solution.projected, i, k);
                add_scaled(&mut part[row * p..(row + 1) * p], entry, w);
            }
        }
        for a in 0..d {
            let own = &part[a * p..(a + 1) * p];
            let left: Vec<f64> =
                solution.mean_covariance.chunks_exact(p).map(|b| dot(own, b)).collect();
            for b in 0..d {
                let there = &part[b * p..(b + 1) * p];
                covariance[a * d + b] += solution.noise * dot(&left, there);
            }
        }
    }
}

/// The inverse of a factored matrix.
pub(super) fn inverse(factor: &Cholesky, size: usize) -> Vec<f64> {
    let mut inverse = vec![0.0; size * size];
    for (k, row) in inverse.chunks_exact_mut(size).enumerate() {
        row[k] = 1.0;
        factor.solve(row);
    }
    inverse
}

/// Where the mean coefficient of each column that deviates is.
pub(crate) fn mean_places(random: &[usize], fixed: &[usize]) -> Vec<Option<usize>> {
    random.iter().map(|column| fixed.iter().position(|fixed| fixed == column)).collect()
}
