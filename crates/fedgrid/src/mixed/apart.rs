//! The likelihood of numbers without a network, where the rows of a node meet those of others in the mean
//! coefficients alone:
//!
//! ```text
//! V_i = I + X_i θ X_iᵀ = L Lᵀ,   θ = T Tᵀ          X̃ = L⁻¹X_i,   ỹ = L⁻¹y_i
//! S = Σ X̃ᵀX̃ = B⁻¹,   β = B Σ X̃ᵀỹ,   r² = Σ ‖ỹ − X̃β‖²
//! REML:  (N − p) (log(2π r²/(N − p)) + 1) + Σ log|V_i| + log|S|
//! ∂/∂θ:  Σ G_i − G_i B G_i − g_i g_iᵀ/σ²            G = X̃ᵀX̃,   g = X̃ᵀ(ỹ − X̃β)
//! ```
//!
//! (without log|S| and the term in B for ML). Rows are turned once so that deviations touch as many of a node's rows as
//! coefficients deviate at most; all others, of all nodes together, are a triangle of a few rows. A look then costs what
//! these few rows do, however many there were. `bend.rs` has the second derivatives.

use rayon::prelude::*;

use super::{
    Likelihood, NodeMoments,
    structure::{LEAST_NOISE_SHARE, Structure, inverse},
    whitening::{add_rest, whiten},
};
use crate::algebra::{Cholesky, add_outers, add_scaled, dot, triangle, triangularise};

/// Nodes that one thread works on at a time.
const NODES_PER_PART: usize = 64;
/// Numbers of all sums at most that every part has its own of, and how many there are beyond.
const MOST_SUMMED: usize = 1 << 20;
const FEW_SUMS: usize = 16;

/// Turned rows of all nodes: the columns that deviate, then others that have a mean, then the label.
#[derive(Debug)]
pub(super) struct Apart {
    parts: Vec<Part>,
    /// Rows that no deviation touches.
    rest: Vec<f64>,
    /// The numbers of a row.
    pub(super) width: usize,
    /// q.
    pub(super) random: usize,
    /// Where the columns with a mean are.
    pub(super) fixed: Vec<usize>,
    pub(super) likelihood: Likelihood,
    pub(super) freedom: f64,
    least_squares: f64,
}

/// The rows of some nodes.
#[derive(Debug)]
struct Part {
    rows: Vec<f64>,
    /// How many each node has.
    counts: Vec<usize>,
}

/// The likelihood at some T.
#[derive(Debug)]
pub(super) struct Whitened {
    pub(super) deviance: f64,
    pub(super) noise: f64,
    pub(super) mean: Vec<f64>,
    /// B.
    pub(super) mean_covariance: Vec<f64>,
    /// A triangle Λ with B = Λ Λᵀ, turned: row k has the column k.
    pub(super) mean_root: Vec<f64>,
    /// Rows times L⁻¹, part by part.
    parts: Vec<Vec<f64>>,
    /// Σ G, q × q.
    gram: Vec<f64>,
}

/// The whitened rows of a node with what gradient and second derivatives need of them.
#[derive(Default)]
pub(super) struct NodePart {
    /// Columns that deviate.
    pub(super) rows: Vec<f64>,
    /// Columns with a mean.
    pub(super) fixed: Vec<f64>,
    /// `H X̃` of the columns that deviate, `H = X̃ B X̃ᵀ`; empty for ML.
    pub(super) explained: Vec<f64>,
    /// g.
    pub(super) slope: Vec<f64>,
    /// `X̃Λ` of the columns with a mean.
    scaled: Vec<f64>,
}

impl Apart {
    /// From the rows of each node, the columns of a structure and the rows that determine the noise.
    pub(super) fn new(
        structure: &Structure,
        nodes: &[NodeMoments],
        (likelihood, freedom): (Likelihood, f64),
    ) -> Self {
        let q = structure.size();
        let mut columns = structure.random.to_vec();
        columns.extend(structure.fixed.iter().filter(|column| !structure.random.contains(column)));
        let place = |column: &usize| columns.iter().position(|own| own == column);
        let fixed = structure.fixed.iter().filter_map(place).collect();
        let width = columns.len() + 1;
        let label = structure.columns;
        let turned = |nodes: &[NodeMoments]| {
            let (mut part, mut rest) = (Part { rows: Vec::new(), counts: Vec::new() }, Vec::new());
            for node in nodes {
                let mut rows = Vec::new();
                for row in node.rows().chunks_exact(label + 1) {
                    rows.extend(columns.iter().chain([&label]).map(|&column| row[column]));
                }
                if rows.len() > q * width {
                    let mut sides = vec![0.0; rows.len() / width];
                    triangularise(&mut rows, width, &mut sides);
                }
                let count = (rows.len() / width).min(q);
                part.counts.push(count);
                part.rows.extend_from_slice(&rows[..count * width]);
                add_rest(&mut rest, &rows[count * width..], width);
            }
            (part, rest)
        };
        let all: Vec<(Part, Vec<f64>)> = nodes.par_chunks(NODES_PER_PART).map(turned).collect();
        let (mut parts, mut rest) = (Vec::with_capacity(all.len()), Vec::new());
        for (part, own) in all {
            parts.push(part);
            add_rest(&mut rest, &own, width);
        }
        let squares: f64 = nodes.iter().map(|node| node.label_squares).sum();
        let least_squares = LEAST_NOISE_SHARE * squares;
        Self { parts, rest, width, random: q, fixed, likelihood, freedom, least_squares }
    }

    /// The likelihood; none where the mean coefficients are not determined.
    pub(super) fn whitened(&self, factor: &[f64]) -> Option<Whitened> {
        let (width, p) = (self.width, self.fixed.len());
        let of_part = |part: &Part| {
            let mut rows = part.rows.clone();
            let mut logarithm = 0.0;
            let (mut rest, mut scratch) = (&mut rows[..], Vec::new());
            for &count in &part.counts {
                let (own, others) = rest.split_at_mut(count * width);
                logarithm += whiten(own, width, factor, self.random, &mut scratch);
                rest = others;
            }
            let mut sum = vec![0.0; triangle(width)];
            add_outers(&mut sum, &vec![1.0; rows.len() / width], &rows, width);
            (rows, logarithm, sum)
        };
        let found: Vec<(Vec<f64>, f64, Vec<f64>)> = self.parts.par_iter().map(of_part).collect();
        let mut total = vec![0.0; triangle(width)];
        let mut deviance = 0.0;
        for (_, logarithm, sum) in &found {
            deviance += logarithm;
            add_scaled(&mut total, 1.0, sum);
        }
        let parts: Vec<Vec<f64>> = found.into_iter().map(|(rows, ..)| rows).collect();
        let rest = &self.rest;
        add_outers(&mut total, &vec![1.0; rest.len() / width], rest, width);
        let entry = |a: usize, b: usize| total[triangle(a.max(b)) + a.min(b)];
        let fixed = &self.fixed;
        let schur = fixed.iter().flat_map(|&a| fixed.iter().map(move |&b| entry(a, b))).collect();
        let schur = Cholesky::new(schur, p)?;
        let mut mean: Vec<f64> = fixed.iter().map(|&a| entry(width - 1, a)).collect();
        schur.solve(&mut mean);
        let square = |row: &[f64]| self.residual(row, &mean).powi(2);
        let squares = |rows: &Vec<f64>| rows.chunks_exact(width).map(square).sum::<f64>();
        let of_parts: Vec<f64> = parts.par_iter().map(squares).collect();
        let penalised = of_parts.iter().sum::<f64>() + squares(rest) + self.least_squares;
        let noise = penalised / self.freedom;
        deviance += self.freedom * (1.0 + (2.0 * std::f64::consts::PI * noise).ln());
        if self.likelihood == Likelihood::Restricted {
            deviance += schur.log_determinant();
        }
        let q = self.random;
        let gram = (0..q * q).map(|at| entry(at / q, at % q)).collect();
        let (mean_covariance, mean_root) = (inverse(&schur, p), schur.inverse_lower());
        let found = Whitened { deviance, noise, mean, mean_covariance, mean_root, parts, gram };
        // A system that is singular in rounding gives no finite number rather than an error.
        deviance.is_finite().then_some(found)
    }

    /// What mean coefficients leave of the label of a row.
    fn residual(&self, row: &[f64], mean: &[f64]) -> f64 {
        let explained: f64 =
            self.fixed.iter().zip(mean).map(|(&column, mean)| row[column] * mean).sum();
        row[self.width - 1] - explained
    }

    pub(super) fn nodes(&self) -> usize {
        self.parts.iter().map(|part| part.counts.len()).sum()
    }

    /// The derivative by θ, q × q.
    pub(super) fn slope(&self, found: &Whitened) -> Vec<f64> {
        let q = self.random;
        let sums = self.summed(found, q * q, |node, sum| {
            for (row, explained) in node.rows.chunks_exact(q).zip(node.explained.chunks_exact(q)) {
                for (sum, x) in sum.chunks_exact_mut(q).zip(row) {
                    add_scaled(sum, -x, explained);
                }
            }
            for (sum, own) in sum.chunks_exact_mut(q).zip(&node.slope) {
                add_scaled(sum, -own / found.noise, &node.slope);
            }
        });
        found.gram.iter().zip(&sums).map(|(gram, sum)| gram + sum).collect()
    }

    /// A sum over all nodes of so many numbers, in parts of the same nodes and in their order.
    pub(super) fn summed(
        &self,
        found: &Whitened,
        numbers: usize,
        add: impl Fn(&NodePart, &mut [f64]) + Sync,
    ) -> Vec<f64> {
        self.summed_parts(found, numbers, |nodes, sum| nodes.each(|node| add(node, sum)))
    }

    /// The same, given the nodes of a part.
    pub(super) fn summed_parts(
        &self,
        found: &Whitened,
        numbers: usize,
        add: impl Fn(PartNodes, &mut [f64]) + Sync,
    ) -> Vec<f64> {
        // Where sums are large, fewer of them.
        let is_large = self.parts.len() * numbers > MOST_SUMMED;
        let together = if is_large { self.parts.len().div_ceil(FEW_SUMS) } else { 1 };
        let of_parts = |(parts, rows): (&[Part], &[Vec<f64>])| {
            let mut sum = vec![0.0; numbers];
            for (part, rows) in parts.iter().zip(rows) {
                add(PartNodes { apart: self, found, counts: &part.counts, rows }, &mut sum);
            }
            sum
        };
        let rows = found.parts.par_chunks(together.max(1));
        let parts: Vec<Vec<f64>> =
            self.parts.par_chunks(together.max(1)).zip(rows).map(of_parts).collect();
        let mut total = vec![0.0; numbers];
        for part in &parts {
            add_scaled(&mut total, 1.0, part);
        }
        total
    }

    fn fill(&self, found: &Whitened, own: &[f64], node: &mut NodePart) {
        let (q, p, count) = (self.random, self.fixed.len(), own.len() / self.width);
        let NodePart { rows, fixed, explained, slope, scaled } = node;
        for all in [&mut *rows, fixed, explained, slope, scaled] {
            all.clear();
        }
        slope.resize(q, 0.0);
        for row in own.chunks_exact(self.width) {
            rows.extend_from_slice(&row[..q]);
            fixed.extend(self.fixed.iter().map(|&column| row[column]));
            let residual = row[self.width - 1] - dot(&fixed[fixed.len() - p..], &found.mean);
            add_scaled(slope, residual, &row[..q]);
        }
        if self.likelihood == Likelihood::Full {
            return;
        }
        for row in fixed.chunks_exact(p) {
            let roots = found.mean_root.chunks_exact(p).enumerate();
            scaled.extend(roots.map(|(k, root)| dot(&root[..=k], &row[..=k])));
        }
        explained.resize(count * q, 0.0);
        for (a, explained) in scaled.chunks_exact(p).zip(explained.chunks_exact_mut(q)) {
            for (b, row) in scaled.chunks_exact(p).zip(rows.chunks_exact(q)) {
                add_scaled(explained, dot(a, b), row);
            }
        }
    }
}

/// The nodes of a part.
pub(super) struct PartNodes<'a> {
    apart: &'a Apart,
    found: &'a Whitened,
    counts: &'a [usize],
    rows: &'a [f64],
}

impl PartNodes<'_> {
    /// Visits all nodes that have rows.
    pub(super) fn each(&self, mut visit: impl FnMut(&NodePart)) {
        let (mut node, mut rest) = (NodePart::default(), self.rows);
        for count in self.counts.iter().filter(|count| **count > 0) {
            let own;
            (own, rest) = rest.split_at(count * self.apart.width);
            self.apart.fill(self.found, own, &mut node);
            visit(&node);
        }
    }
}
