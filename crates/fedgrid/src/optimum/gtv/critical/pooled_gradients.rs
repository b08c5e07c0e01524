//! The gradients of all nodes where the weights of a component are equal and best,
//!
//! ```text
//! min_{v, f} Σ_i L_i(v, f_i)
//! ```
//!
//! with the coupled weights v in common and uncoupled ones `f_i` of each node's own, by Newton's method;
//! from each node's second derivative its own weights are eliminated.

use crate::{
    algebra::{Cholesky, add_scaled, dot},
    optimum::gtv::losses::Losses,
};

/// Newton steps at most: near a minimum few are needed, and a loss that needs more has none.
const MAX_STEPS: usize = 100;
/// Halvings of a step at most: below 2⁻⁴⁰ rounding is all that changes.
const MAX_HALVINGS: usize = 40;
/// The share of what its slope promises that a step has to win (Armijo's rule, with his usual share).
const SUFFICIENT_SHARE: f64 = 1e-4;
/// The share of the loss that a step must promise to be worth taking: gradients go with its root, and are
/// wanted to ten digits.
const LEAST_PROMISE: f64 = 1e-20;
/// What is added to diagonals relative to their sum: where rows leave a direction open any minimiser
/// will do, and this one is short.
const DIAGONAL_SHIFT: f64 = 1e-13;

/// The gradients by the coupled weights of the nodes of a component; none where a model does not tell its
/// second derivative.
pub(crate) fn gradients(losses: &Losses, component: &[usize]) -> Option<Vec<f64>> {
    let (size, coupled) = (losses.size, losses.coupled);
    let mut point = PooledWeights { losses, component, rows: vec![0.0; component.len() * size] };
    let mut value = point.value();
    for _ in 0..MAX_STEPS {
        let (step, slope) = point.step()?;
        // What rounding leaves of a slope promises nothing.
        if slope.is_nan() || -slope <= LEAST_PROMISE * value.abs() {
            break;
        }
        let mut share = 1.0;
        let better = (0..MAX_HALVINGS).find_map(|_| {
            let mut next = PooledWeights { rows: point.rows.clone(), ..point };
            add_scaled(&mut next.rows, share, &step);
            let reached = next.value();
            let is_enough = reached <= value + SUFFICIENT_SHARE * share * slope;
            share *= 0.5;
            is_enough.then_some((next, reached))
        });
        let Some(better) = better else { break };
        (point, value) = better;
    }
    let each = component.iter().zip(point.rows.chunks_exact(size));
    Some(each.flat_map(|(&node, row)| point.gradient(node, row)[..coupled].to_vec()).collect())
}

/// Rows of weights of a component's nodes, whose coupled weights are equal.
struct PooledWeights<'a> {
    losses: &'a Losses,
    component: &'a [usize],
    rows: Vec<f64>,
}

impl PooledWeights<'_> {
    fn each(&self) -> impl Iterator<Item = (usize, &[f64])> {
        self.component.iter().copied().zip(self.rows.chunks_exact(self.losses.size))
    }

    fn value(&self) -> f64 {
        self.each().map(|(node, row)| self.losses.value(node, row)).sum()
    }

    fn gradient(&self, node: usize, row: &[f64]) -> Vec<f64> {
        let mut gradient = vec![0.0; row.len()];
        self.losses.add_gradient(node, &mut gradient, row);
        gradient
    }

    /// Newton's step, and how much the loss falls along it.
    fn step(&self) -> Option<(Vec<f64>, f64)> {
        let (size, coupled) = (self.losses.size, self.losses.coupled);
        let mut matrix = vec![0.0; coupled * coupled];
        let mut right = vec![0.0; coupled];
        let mut each = Vec::with_capacity(self.component.len());
        for (node, row) in self.each() {
            let own = ReducedNode::new(
                self.losses.hessian(node, row)?.matrix(),
                self.gradient(node, row),
                coupled,
            )?;
            add_scaled(&mut matrix, 1.0, &own.matrix);
            add_scaled(&mut right, -1.0, &own.slope);
            each.push(own);
        }
        // Schur complements add up, so the common weights need one small system.
        factor(matrix, coupled)?.solve(&mut right);
        let mut step = Vec::with_capacity(self.component.len() * size);
        let mut slope = 0.0;
        for own in &each {
            let row = own.step(&right);
            slope += dot(&row, &own.gradient);
            step.extend(row);
        }
        Some((step, slope))
    }
}

/// What a node adds to the system of the common weights, and what its own follow from.
struct ReducedNode {
    /// The second derivative without the node's own weights.
    matrix: Vec<f64>,
    slope: Vec<f64>,
    gradient: Vec<f64>,
    /// Of each of the node's own weights, by how much it follows each common one, and where it goes
    /// by itself.
    follows: Vec<(Vec<f64>, f64)>,
}

impl ReducedNode {
    fn new(hessian: Vec<f64>, gradient: Vec<f64>, coupled: usize) -> Option<Self> {
        let size = gradient.len();
        if coupled == size {
            return Some(Self {
                matrix: hessian,
                slope: gradient.clone(),
                gradient,
                follows: vec![],
            });
        }
        let free = size - coupled;
        let entry = |a: usize, b: usize| hessian[a * size + b];
        let inner = (0..free * free).map(|k| entry(coupled + k / free, coupled + k % free));
        let inner = factor(inner.collect(), free)?;
        // The columns F⁻¹ H_fc and F⁻¹ g_f.
        let solved = |column: Vec<f64>| {
            let mut column = column;
            inner.solve(&mut column);
            column
        };
        let column = |c: usize| solved((coupled..size).map(|f| entry(f, c)).collect());
        let columns: Vec<Vec<f64>> = (0..coupled).map(column).collect();
        let alone = solved(gradient[coupled..].to_vec());
        let across = |a: usize, of: &[f64]| -> f64 {
            (coupled..size).zip(of).map(|(f, own)| entry(a, f) * own).sum()
        };
        let reduced = |k: usize| {
            let (a, b) = (k / coupled, k % coupled);
            entry(a, b) - across(a, &columns[b])
        };
        let matrix = (0..coupled * coupled).map(reduced).collect();
        let slope = (0..coupled).map(|a| gradient[a] - across(a, &alone)).collect();
        let follow = |f: usize| (columns.iter().map(|column| column[f]).collect(), alone[f]);
        let follows = (0..free).map(follow).collect();
        Some(Self { matrix, slope, gradient, follows })
    }

    /// The step of all of the node's weights with one of the common ones.
    fn step(&self, common: &[f64]) -> Vec<f64> {
        let own = self.follows.iter().map(|(by, alone)| -alone - dot(by, common));
        common.iter().copied().chain(own).collect()
    }
}

fn factor(mut matrix: Vec<f64>, size: usize) -> Option<Cholesky> {
    let trace: f64 = (0..size).map(|k| matrix[k * (size + 1)]).sum();
    let shift = if trace > 0.0 { DIAGONAL_SHIFT * trace } else { 1.0 };
    (0..size).for_each(|k| matrix[k * (size + 1)] += shift);
    Cholesky::new(matrix, size)
}
