//! A node's part of the system of all deviations, for rows that stay where they are.
//!
//! ```text
//! M = D − ρ/d̄ A ⊗ I = L (I − N) Lᵀ,     D_i = T A_i T + Ω_ii I = L_i L_iᵀ     T a diagonal
//! N_ij = ρ/d̄ A_ij L_i⁻¹ L_j⁻ᵀ,          eigenvalues of N in (−1, 1)
//! M⁻¹ v = L⁻ᵀ Σ_k c_k T_k(N/r) L⁻¹ v
//! log|M| = Σ_i log|D_i| + tr log(I − N)
//! ```
//!
//! A product with N takes one vector `L_j⁻ᵀ t_j` from each neighbour. Traces are those of probes z with
//! E[z zᵀ] = I, signs drawn by seed [Hutchinson 1990]. What the first
//! two terms have on the diagonal is known, I and zero, so that probes only tell the rest. What M adds
//! along edges is then known, too: `(1/d̄) Σ_j A_ij (M⁻¹v)_j = L_i (N x)_i/ρ`, `x = (I − N)⁻¹ L⁻¹ v`.

use super::{NodeMoments, Precision, chebyshev::Chebyshev};
use crate::{
    algebra::{Cholesky, add_scaled, dot},
    bytes::{Reader, Writer},
    error::Result,
};

/// Squarings of an inverse whose norm bounds the least eigenvalue: with four of them a bound is at most a
/// share of 1 − q^(1/32) too small.
const SQUARINGS: i32 = 4;

/// Variances and ρ to look at.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Question {
    /// The diagonal of T.
    pub(crate) factor: Vec<f64>,
    pub(crate) rho: f64,
    /// σ²; none if it is the best one for the others.
    pub(crate) noise: Option<f64>,
    /// The mean coefficients, where they do not follow from the others.
    pub(crate) mean: Vec<f64>,
}

impl Question {
    /// As numbers that travel.
    pub(crate) fn to_numbers(&self) -> Vec<f64> {
        [&[self.rho, self.noise.unwrap_or(0.0)], &self.factor[..], &self.mean].concat()
    }

    /// From such numbers, so many of T; none if ρ or σ² is none.
    pub(crate) fn from_numbers(numbers: &[f64], size: usize) -> Option<Self> {
        let (&[rho, noise], rest) = numbers.split_first_chunk()?;
        let (factor, mean) = rest.split_at_checked(size)?;
        let is_valid = (0.0..1.0).contains(&rho) && noise >= 0.0;
        let noise = (noise > 0.0).then_some(noise);
        is_valid.then(|| Self { factor: factor.to_vec(), rho, noise, mean: mean.to_vec() })
    }

    /// Writes it, or that there is none.
    pub(crate) fn write(question: Option<&Self>, to: &mut Writer) {
        to.count(question.map_or(0, |question| question.factor.len()));
        to.list(&question.map_or_else(Vec::new, Self::to_numbers));
    }

    /// Reads what was written.
    pub(crate) fn read(from: &mut Reader<'_>) -> Result<Option<Self>> {
        let size = from.count()?;
        Ok(Self::from_numbers(&from.list()?, size))
    }
}

/// Which columns deviate.
#[derive(Debug, Clone)]
pub(crate) struct Columns {
    /// How many there are.
    pub(crate) count: usize,
    /// Those with a mean coefficient.
    pub(crate) fixed: Vec<usize>,
    /// Those whose coefficients differ from node to node.
    pub(crate) random: Vec<usize>,
    /// How many of these, the last, are each node's own: there Ω = I.
    pub(crate) free: usize,
}

impl Columns {
    /// How many deviations belong together along the network.
    pub(crate) fn coupled(&self) -> usize {
        self.random.len() - self.free
    }
}

/// What a node knows of Ω.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OwnPrecision {
    slope: f64,
    per_weight: f64,
}

impl OwnPrecision {
    pub(crate) fn new(precision: &Precision, node: usize) -> Self {
        Self { slope: precision.slope(node), per_weight: precision.per_weight() }
    }

    /// What an edge of weight one puts beside the diagonal, but for its sign.
    pub(crate) fn coupling(&self, rho: f64) -> f64 {
        rho * self.per_weight
    }

    /// The node's diagonal entry of Ω.
    pub(super) fn diagonal(&self, rho: f64) -> f64 {
        1.0 + rho * self.slope
    }

    /// Its derivative by ρ.
    pub(super) fn slope(&self) -> f64 {
        self.slope
    }
}

/// A node's own block of the system and its right sides.
#[derive(Debug)]
pub(crate) struct NodeBlock {
    /// D, q × q.
    pub(crate) diagonal: Vec<f64>,
    /// `T A` of the fixed columns with `T Xᵀy` as the last column, q × (p + 1).
    pub(crate) sides: Vec<f64>,
}

impl NodeBlock {
    pub(crate) fn new(
        moments: &NodeMoments,
        columns: &Columns,
        own: OwnPrecision,
        question: &Question,
    ) -> Self {
        let (d, p, q) = (columns.count, columns.fixed.len(), columns.random.len());
        let mut diagonal = vec![0.0; q * q];
        let mut sides = vec![0.0; q * (p + 1)];
        for (a, (&row, t)) in columns.random.iter().zip(&question.factor).enumerate() {
            let gram = &moments.gram[row * d..(row + 1) * d];
            for (b, (&column, other)) in columns.random.iter().zip(&question.factor).enumerate() {
                diagonal[a * q + b] = t * gram[column] * other;
            }
            let rho = if a < columns.coupled() { question.rho } else { 0.0 };
            diagonal[a * q + a] += own.diagonal(rho);
            let side = &mut sides[a * (p + 1)..(a + 1) * (p + 1)];
            side.iter_mut().zip(&columns.fixed).for_each(|(side, &fixed)| *side = t * gram[fixed]);
            side[p] = t * moments.cross[row];
        }
        Self { diagonal, sides }
    }
}

/// What a node knows of its deviations at some mean coefficients, and of their errors.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct NodePart {
    /// u.
    pub(crate) deviations: Vec<f64>,
    /// P + W B Wᵀ of the node, q × q; P alone where B is left out.
    pub(crate) block: Vec<f64>,
    /// −W B, q × p.
    pub(crate) with_means: Vec<f64>,
    /// The node's share of `Σ_ij A_ij u_iᵀu_j/d̄`.
    pub(crate) along: f64,
    /// The same of the blocks of P + W B Wᵀ beside the diagonal.
    pub(crate) along_trace: f64,
}

/// The coefficients of a node.
pub(crate) fn weights(
    columns: &Columns,
    question: &Question,
    mean: &[f64],
    deviations: &[f64],
) -> Vec<f64> {
    let mut weights = vec![0.0; columns.count];
    columns.fixed.iter().zip(mean).for_each(|(&column, mean)| weights[column] = *mean);
    let deviations = columns.random.iter().zip(deviations).zip(&question.factor);
    deviations.for_each(|((&column, u), t)| weights[column] += t * u);
    weights
}

/// The node's parts of the penalised squares, of squared labels and of the gradient by ρ (of uᵀΩu and of
/// log-determinants) and by the factor (of log-determinants and of residuals), then the diagonal of its block.
pub(crate) fn slopes(
    moments: &NodeMoments,
    (columns, own, question): (&Columns, OwnPrecision, &Question),
    (mean, part): (&[f64], &NodePart),
) -> Vec<f64> {
    let (d, p, q) = (columns.count, columns.fixed.len(), columns.random.len());
    let weights = weights(columns, question, mean, &part.deviations);
    let coupled = &part.deviations[..columns.coupled()];
    let trace: f64 = part.block.iter().step_by(q + 1).take(columns.coupled()).sum();
    let by_rho = own.slope * dot(coupled, coupled) - part.along;
    let squares = dot(&part.deviations, &part.deviations) + question.rho * by_rho;
    // From rows rather than from sums of products, which would cancel where rows are fitted closely.
    let residuals = moments.squared_residuals(&weights);
    let labels = moments.squared_residuals(&vec![0.0; d]);
    let mut sums = vec![residuals + squares, labels, by_rho, own.slope * trace - part.along_trace];
    for (a, &row) in columns.random.iter().enumerate() {
        let gram = &moments.gram[row * d..(row + 1) * d];
        let places = columns.random.iter().zip(&question.factor).enumerate();
        let spread: f64 =
            places.map(|(k, (&column, t))| gram[column] * t * part.block[k * q + a]).sum();
        let fixed = columns.fixed.iter().zip(&part.with_means[a * p..(a + 1) * p]);
        let mixed: f64 = fixed.map(|(&column, x)| gram[column] * x).sum();
        sums.push(2.0 * (spread + mixed));
    }
    let cross = moments.cross_residuals(&weights);
    let deviations = columns.random.iter().zip(&part.deviations);
    sums.extend(deviations.map(|(&column, u)| cross[column] * u));
    sums.extend(part.block.iter().step_by(q + 1));
    sums.extend(&part.deviations);
    sums
}

/// The probes of a node: its q rows, and what each product counts.
#[derive(Debug, Clone)]
pub(crate) struct Probes {
    /// q rows of a number for every probe.
    pub(crate) values: Vec<f64>,
    pub(crate) count: usize,
    /// One for unit vectors; one over their number for drawn signs.
    pub(crate) weight: f64,
}

/// A node's part of M.
#[derive(Debug)]
pub(crate) struct NodeSystem {
    columns: Columns,
    question: Question,
    own: OwnPrecision,
    /// L.
    lower: Vec<f64>,
    /// L⁻¹.
    inverse: Vec<f64>,
    log_determinant: f64,
    /// `T A` of the fixed columns with `T Xᵀy` as the last column, q × (p + 1).
    sides: Vec<f64>,
}

/// The terms of the series at a node, so far: p + 1 columns of the system, then the probes.
#[derive(Debug, Clone, Default)]
pub(crate) struct NodeSeries {
    /// Which term is the current one.
    pub(crate) term: usize,
    pub(crate) before: Vec<f64>,
    pub(crate) current: Vec<f64>,
    /// The sum of the series beyond what its first terms are known to be.
    pub(crate) beyond: Vec<f64>,
    /// The part of tr log(I − N) beyond its first two terms.
    pub(crate) logarithm: f64,
}

/// The mean coefficients with their covariance over σ².
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Means {
    /// β.
    pub(crate) values: Vec<f64>,
    /// B.
    pub(crate) covariance: Vec<f64>,
}

impl NodeSystem {
    /// None if it is singular in rounding.
    pub(crate) fn new(
        moments: &NodeMoments,
        columns: &Columns,
        own: OwnPrecision,
        question: &Question,
    ) -> Option<Self> {
        let NodeBlock { diagonal, sides } = NodeBlock::new(moments, columns, own, question);
        let q = columns.random.len();
        let factor = Cholesky::new(diagonal, q)?;
        Some(Self {
            columns: columns.clone(),
            question: question.clone(),
            own,
            lower: factor.lower(),
            inverse: factor.inverse_lower(),
            log_determinant: factor.log_determinant(),
            sides,
        })
    }

    fn size(&self) -> usize {
        self.columns.random.len()
    }

    fn means(&self) -> usize {
        self.columns.fixed.len()
    }

    /// What neighbours of weight one add up to at most: `ρ/d̄` over the least eigenvalue of D.
    pub(crate) fn reach(&self) -> f64 {
        let q = self.size();
        // D⁻¹ = L⁻ᵀ L⁻¹, squared ever again; its size is kept aside.
        let mut power = times(&self.inverse, &self.inverse, q, Side::Transposed);
        let mut logarithm = 0.0;
        for _ in 0..SQUARINGS {
            let size = dot(&power, &power).sqrt();
            for entry in &mut power {
                *entry /= size;
            }
            logarithm = 2.0 * (logarithm + size.ln());
            power = times(&power, &power, q, Side::Plain);
        }
        let norm = logarithm + 0.5 * dot(&power, &power).ln();
        let least = (-norm / 2.0_f64.powi(SQUARINGS)).exp();
        let diagonal = self.own.diagonal(self.question.rho);
        // Where a coefficient is each node's own, Ω is I.
        let diagonal = if self.columns.free > 0 { diagonal.min(1.0) } else { diagonal };
        // Without columns, and where rounding says less, D is at least its part of Ω.
        let least = if least.is_finite() { least.max(diagonal) } else { diagonal };
        self.question.rho * self.own.per_weight / least
    }

    /// The first terms: `L⁻¹` of the sides, and the probes.
    pub(crate) fn series(&self, probes: &Probes) -> NodeSeries {
        let (q, p) = (self.size(), self.means());
        let sides = times(&self.inverse, &self.sides, q, Side::Plain);
        let mut current = Vec::with_capacity(q * (p + 1 + probes.count));
        for row in 0..q {
            current.extend(&sides[row * (p + 1)..(row + 1) * (p + 1)]);
            current.extend(&probes.values[row * probes.count..(row + 1) * probes.count]);
        }
        let zeros = vec![0.0; current.len()];
        NodeSeries { term: 0, before: zeros.clone(), beyond: zeros, current, logarithm: 0.0 }
    }

    /// What neighbours need of a term: `L⁻ᵀ t`, without what is each node's own.
    pub(crate) fn told(&self, series: &NodeSeries) -> Vec<f64> {
        let (q, coupled) = (self.size(), self.columns.coupled());
        let mut told = times(&self.inverse, &series.current, q, Side::Transposed);
        let width = told.len() / q.max(1);
        told[coupled * width..].fill(0.0);
        told
    }

    /// Adds a term to the series and makes the next of what the neighbours tell, `Σ_j A_ij L_j⁻ᵀ t_j`.
    pub(crate) fn step(
        &self,
        series: &mut NodeSeries,
        (chebyshev, probes): (&Chebyshev, &Probes),
        neighbours: &[f64],
    ) {
        let (q, k) = (self.size(), series.term);
        let (own, width) = (self.means() + 1, self.means() + 1 + probes.count);
        let known = match k {
            0 => [1.0, 1.0],
            // What N has on its diagonal is zero.
            1 => [0.0, chebyshev.radius],
            _ => [0.0, 0.0],
        };
        for row in 0..q {
            let term = &series.current[row * width..(row + 1) * width];
            let sum = &mut series.beyond[row * width..(row + 1) * width];
            add_scaled(&mut sum[..own], chebyshev.inverse(k) - known[0], &term[..own]);
            add_scaled(&mut sum[own..], chebyshev.inverse(k) - known[1], &term[own..]);
            if k > 1 {
                let probe = &probes.values[row * probes.count..(row + 1) * probes.count];
                let product = probes.weight * dot(&term[own..], probe);
                series.logarithm += chebyshev.logarithm(k) * product;
            }
        }
        series.term += 1;
        // Without edges the first term is the whole series.
        if chebyshev.radius > 0.0 {
            let share = self.question.rho * self.own.per_weight / chebyshev.radius;
            let mut next = times(&self.inverse, neighbours, q, Side::Plain);
            let twice = if k == 0 { 1.0 } else { 2.0 };
            next.iter_mut().zip(&series.before).for_each(|(next, before)| {
                *next = twice * share * *next - before;
            });
            series.before = std::mem::replace(&mut series.current, next);
        }
    }

    /// The columns of M⁻¹ of the sides, q × (p + 1), and `(1/d̄) Σ_j A_ij` of the neighbours' times ρ.
    fn solved(&self, series: &NodeSeries, probes: &Probes) -> (Vec<f64>, Vec<f64>) {
        let (q, own) = (self.size(), self.means() + 1);
        let width = own + probes.count;
        let beyond: Vec<f64> =
            series.beyond.chunks_exact(width).flat_map(|row| row[..own].to_vec()).collect();
        let mut solved = times(&self.inverse, &self.sides, q, Side::Plain);
        add_scaled(&mut solved, 1.0, &beyond);
        (
            times(&self.inverse, &solved, q, Side::Transposed),
            times(&self.lower, &beyond, q, Side::Plain),
        )
    }

    /// The node's part of S, of what the mean coefficients are made of, and of log|M|.
    pub(crate) fn elimination(
        &self,
        moments: &NodeMoments,
        (series, chebyshev, probes): (&NodeSeries, &Chebyshev, &Probes),
    ) -> Vec<f64> {
        let (d, p) = (self.columns.count, self.means());
        let (solved, _) = self.solved(series, probes);
        let mut answer = Vec::with_capacity(p * (p + 1) + 1);
        for &row in &self.columns.fixed {
            answer.extend(self.columns.fixed.iter().map(|column| moments.gram[row * d + column]));
            answer.push(moments.cross[row]);
        }
        for (side, solved) in self.sides.chunks_exact(p + 1).zip(solved.chunks_exact(p + 1)) {
            for (row, answer) in answer.chunks_exact_mut(p + 1).enumerate() {
                add_scaled(answer, -side[row], solved);
            }
        }
        let first = self.size() as f64 * chebyshev.logarithm(0);
        answer.push(self.log_determinant + first + series.logarithm);
        answer
    }

    /// u and `(1/d̄) Σ_j A_ij u_j` times ρ.
    fn deviations(&self, solved: &(Vec<f64>, Vec<f64>), mean: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let p = self.means();
        let of = |all: &[f64]| -> Vec<f64> {
            all.chunks_exact(p + 1).map(|row| row[p] - dot(&row[..p], mean)).collect()
        };
        (of(&solved.0), of(&solved.1))
    }

    /// `P_ii` and `tr(Σ_j A_ij P_ji)/d̄`.
    fn inverse_block(&self, series: &NodeSeries, probes: &Probes) -> (Vec<f64>, f64) {
        let (q, own) = (self.size(), self.means() + 1);
        let width = own + probes.count;
        // E − I = Σ over probes of what is beyond I and N.
        let mut middle = vec![0.0; q * q];
        for a in 0..q {
            for b in 0..q {
                let beyond = &series.beyond[a * width + own..(a + 1) * width];
                let probe = &probes.values[b * probes.count..(b + 1) * probes.count];
                // Half to either side: what drawn probes give is symmetric only on average.
                let entry = 0.5 * probes.weight * dot(beyond, probe);
                middle[a * q + b] += entry;
                middle[b * q + a] += entry;
            }
        }
        let along: f64 = middle.iter().step_by(q + 1).sum();
        (0..q).for_each(|k| middle[k * q + k] += 1.0);
        let half = times(&self.inverse, &middle, q, Side::Transposed);
        // (L⁻ᵀ E) L⁻¹ = (L⁻ᵀ (L⁻ᵀ E)ᵀ)ᵀ.
        let block =
            transposed(&times(&self.inverse, &transposed(&half, q), q, Side::Transposed), q);
        (block, self.over_rho(along))
    }

    /// Something that is in ρ at least, over ρ.
    fn over_rho(&self, value: f64) -> f64 {
        // At ρ = 0 nodes have nothing to do with each other, and all that is divided here is zero.
        if self.question.rho > 0.0 { value / self.question.rho } else { 0.0 }
    }

    /// What is known at some mean coefficients.
    pub(crate) fn part(&self, (series, probes): (&NodeSeries, &Probes), means: &Means) -> NodePart {
        let (p, q) = (self.means(), self.size());
        let solved = self.solved(series, probes);
        let (deviations, along) = self.deviations(&solved, &means.values);
        let (mut block, mut along_trace) = self.inverse_block(series, probes);
        let row = |from: &'_ [f64], k: usize| from[k * (p + 1)..k * (p + 1) + p].to_vec();
        let mut with_means = Vec::with_capacity(q * p);
        for k in 0..q {
            let own = row(&solved.0, k);
            let scaled: Vec<f64> = means.covariance.chunks_exact(p).map(|b| dot(b, &own)).collect();
            for a in 0..q {
                block[a * q + k] += dot(&row(&solved.0, a), &scaled);
            }
            along_trace += self.over_rho(dot(&row(&solved.1, k), &scaled));
            with_means.extend(scaled.iter().map(|x| -x));
        }
        let along = self.over_rho(dot(&deviations, &along));
        NodePart { deviations, block, with_means, along, along_trace }
    }
}

/// Whether a matrix is taken as it is or transposed.
#[derive(Clone, Copy)]
enum Side {
    Plain,
    Transposed,
}

/// The product of a q × q matrix, or its transpose, with one of q rows.
fn times(matrix: &[f64], rows: &[f64], q: usize, side: Side) -> Vec<f64> {
    let width = rows.len() / q.max(1);
    let mut out = vec![0.0; rows.len()];
    for row in 0..q {
        for k in 0..q {
            let entry = match side {
                Side::Plain => matrix[row * q + k],
                Side::Transposed => matrix[k * q + row],
            };
            // Most matrices are triangles.
            if entry != 0.0 {
                let from = &rows[k * width..(k + 1) * width];
                add_scaled(&mut out[row * width..(row + 1) * width], entry, from);
            }
        }
    }
    out
}

fn transposed(matrix: &[f64], q: usize) -> Vec<f64> {
    (0..q * q).map(|at| matrix[at % q * q + at / q]).collect()
}
