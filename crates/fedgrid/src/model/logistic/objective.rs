//! The logistic objective with its gradient and Hessian,
//!
//! ```text
//! f(θ) = Σ_r weight_r CE(p_r, q_r) + Σ_vk penalty_k θ_vk²,      q_r = softmax(θ u_r)
//! ∇_v f = Σ_r weight_r (q_rv − p_rv) u_r + 2 penalty θ_v
//! H_vw  = Σ_r weight_r (q_rv [v = w] − q_rv q_rw) u_r u_rᵀ + 2 [v = w] penalty
//! ```

use crate::{
    algebra::{add_scaled, dot},
    model::solver::add_block,
};

/// The objective f; all rows have positive weight and labels of sum one.
pub(super) struct LogisticProblem {
    /// The coordinates u of each row, `width` numbers per row.
    pub(super) rows: Vec<f64>,
    /// How many parameters a vector has.
    pub(super) width: usize,
    /// The class probabilities of each row.
    pub(super) labels: Vec<f64>,
    /// The weight of each row.
    pub(super) weights: Vec<f64>,
    /// How many classes there are.
    pub(super) classes: usize,
    /// Whether the first class has the logit zero and no vector.
    pub(super) reference: bool,
    /// The penalty of each parameter of a vector.
    pub(super) penalties: Vec<f64>,
}

/// Parameters with what they predict for every row.
pub(super) struct Estimate {
    /// One vector after the other.
    pub(super) parameters: Vec<f64>,
    /// The objective.
    pub(super) value: f64,
    /// Class probabilities q.
    probabilities: Vec<f64>,
    /// 1 − q, exact also where q rounds to one.
    complements: Vec<f64>,
}

impl LogisticProblem {
    pub(super) fn vectors(&self) -> usize {
        self.classes - usize::from(self.reference)
    }

    fn row(&self, row: usize) -> &[f64] {
        &self.rows[row * self.width..(row + 1) * self.width]
    }

    fn vector<'a>(&self, parameters: &'a [f64], vector: usize) -> &'a [f64] {
        &parameters[vector * self.width..(vector + 1) * self.width]
    }

    /// The inner products of a row with all vectors, zero for the reference class.
    fn logits(&self, parameters: &[f64], row: usize, logits: &mut [f64]) {
        let first = usize::from(self.reference);
        for vector in 0..self.vectors() {
            logits[first + vector] = dot(self.vector(parameters, vector), self.row(row));
        }
    }

    /// The part of a row's class values that belongs to the vectors.
    fn of_vectors<'a>(&self, values: &'a [f64], row: usize) -> &'a [f64] {
        &values[row * self.classes + usize::from(self.reference)..(row + 1) * self.classes]
    }

    pub(super) fn at(&self, parameters: Vec<f64>) -> Estimate {
        let size = self.labels.len();
        let (mut probabilities, mut complements) = (vec![0.0; size], vec![0.0; size]);
        let mut logits = vec![0.0; self.classes];
        let mut value = 0.0;
        for (row, weight) in self.weights.iter().enumerate() {
            self.logits(&parameters, row, &mut logits);
            let own = row * self.classes..(row + 1) * self.classes;
            let log_sum =
                softmax(&logits, &mut probabilities[own.clone()], &mut complements[own.clone()]);
            let largest = logits.iter().fold(f64::NEG_INFINITY, |a, b| a.max(*b));
            for (p, logit) in self.labels[own].iter().zip(&logits) {
                value += weight * p * (log_sum + (largest - logit));
            }
        }
        for vector in 0..self.vectors() {
            for (parameter, penalty) in self.vector(&parameters, vector).iter().zip(&self.penalties)
            {
                value += penalty * parameter * parameter;
            }
        }
        Estimate { parameters, value, probabilities, complements }
    }

    pub(super) fn gradient(&self, point: &Estimate) -> Vec<f64> {
        let mut gradient = self.penalty_product(&point.parameters);
        for (row, weight) in self.weights.iter().enumerate() {
            let labels = self.of_vectors(&self.labels, row);
            let probabilities = self.of_vectors(&point.probabilities, row);
            let complements = self.of_vectors(&point.complements, row);
            for (vector, ((p, q), rest)) in
                labels.iter().zip(probabilities).zip(complements).enumerate()
            {
                // This is q − p without cancellation where both are close to one.
                let residual = q * (1.0 - p) - p * rest;
                let own = &mut gradient[vector * self.width..(vector + 1) * self.width];
                add_scaled(own, weight * residual, self.row(row));
            }
        }
        gradient
    }

    fn penalty_product(&self, v: &[f64]) -> Vec<f64> {
        let repeated = self.penalties.iter().cycle();
        v.iter().zip(repeated).map(|(v, penalty)| 2.0 * penalty * v).collect()
    }

    /// The lower blocks of the Hessian, and its freedom filled with curvature of its own size.
    pub(super) fn hessian(&self, point: &Estimate) -> Vec<f64> {
        let (vectors, width) = (self.vectors(), self.width);
        let size = vectors * width;
        let mut hessian = vec![0.0; size * size];
        for (row, weight) in self.weights.iter().enumerate() {
            let q = self.of_vectors(&point.probabilities, row);
            let rest = self.of_vectors(&point.complements, row);
            for a in 0..vectors {
                for b in 0..=a {
                    let curvature = if a == b { q[a] * rest[a] } else { -q[a] * q[b] };
                    let corner = a * width * size + b * width;
                    add_block(&mut hessian, corner, weight * curvature, self.row(row));
                }
            }
        }
        for a in 0..vectors {
            for (k, penalty) in self.penalties.iter().enumerate() {
                hessian[(a * width + k) * (size + 1)] += 2.0 * penalty;
            }
        }
        if !self.reference {
            self.fill_freedom(&mut hessian);
        }
        hessian
    }

    /// The gradient has mean zero over the vectors, so this curvature does not change the step.
    fn fill_freedom(&self, hessian: &mut [f64]) {
        let (vectors, width) = (self.vectors(), self.width);
        let size = vectors * width;
        for k in 0..width {
            let diagonal = |a: usize| hessian[(a * width + k) * (size + 1)];
            let fill = (0..vectors).map(diagonal).sum::<f64>() / (vectors * vectors) as f64;
            for a in 0..vectors {
                (0..=a).for_each(|b| hessian[(a * width + k) * size + b * width + k] += fill);
            }
        }
    }

    pub(super) fn hessian_product(&self, point: &Estimate, v: &[f64]) -> Vec<f64> {
        let mut product = self.penalty_product(v);
        let mut slopes = vec![0.0; self.classes];
        for (row, weight) in self.weights.iter().enumerate() {
            self.logits(v, row, &mut slopes);
            let own = row * self.classes..(row + 1) * self.classes;
            let mean = dot(&point.probabilities[own], &slopes);
            let q = self.of_vectors(&point.probabilities, row);
            for (vector, (q, slope)) in
                q.iter().zip(&slopes[usize::from(self.reference)..]).enumerate()
            {
                let own = &mut product[vector * self.width..(vector + 1) * self.width];
                add_scaled(own, weight * q * (slope - mean), self.row(row));
            }
        }
        product
    }
}

/// Writes the probabilities q and 1 − q, and returns `log Σ_c exp(logit_c − largest logit)`.
pub(super) fn softmax(logits: &[f64], q: &mut [f64], complements: &mut [f64]) -> f64 {
    probabilities(logits, q, complements).ln_1p()
}

/// Writes the probabilities q and 1 − q, and returns `Σ_c exp(logit_c − largest logit)` over all classes but the top one.
pub(super) fn probabilities(logits: &[f64], q: &mut [f64], complements: &mut [f64]) -> f64 {
    let larger = |a: usize, b: usize| if logits[b] > logits[a] { b } else { a };
    let top = (0..logits.len()).fold(0, larger);
    let mut others = 0.0;
    for (class, (q, logit)) in q.iter_mut().zip(logits).enumerate() {
        *q = if class == top { 1.0 } else { (logit - logits[top]).exp() };
        others += if class == top { 0.0 } else { *q };
    }
    for (q, rest) in q.iter_mut().zip(complements.iter_mut()) {
        *q /= 1.0 + others;
        *rest = 1.0 - *q;
    }
    complements[top] = others / (1.0 + others);
    others
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, Stream};

    #[test]
    fn a_probability_that_rounds_to_one_keeps_its_complement() {
        let (mut q, mut rest) = ([0.0; 3], [0.0; 3]);
        let log_sum = softmax(&[50.0, 0.0, -10.0], &mut q, &mut rest);
        let expected = (-50_f64).exp() + (-60_f64).exp();
        assert!((rest[0] / expected - 1.0).abs() < 1e-12);
        assert!((log_sum / expected - 1.0).abs() < 1e-12);
        assert!((q.iter().sum::<f64>() - 1.0).abs() < 1e-15);
    }
    /// Five random rows of two coordinates, with soft labels.
    fn random_problem(classes: usize, reference: bool, penalty: f64) -> LogisticProblem {
        let mut stream = Stream::new(classes as u64, 0, 0, Purpose::Data);
        let rows = (0..10).map(|_| stream.normal()).collect();
        let mut labels: Vec<f64> = (0..5 * classes).map(|_| stream.uniform()).collect();
        for label in labels.chunks_exact_mut(classes) {
            let sum: f64 = label.iter().sum();
            for p in label {
                *p /= sum;
            }
        }
        let weights = (0..5).map(|_| stream.uniform()).collect();
        let penalties = vec![penalty, 0.5 * penalty];
        LogisticProblem { rows, width: 2, labels, weights, classes, reference, penalties }
    }

    /// Parameters and a direction, both of mean zero over the vectors unless there is a reference.
    fn point_and_direction(problem: &LogisticProblem) -> (Vec<f64>, Vec<f64>) {
        let mut stream = Stream::new(9, 0, 0, Purpose::Start);
        let mut draw = || {
            let mut v: Vec<f64> = (0..problem.vectors() * 2).map(|_| stream.normal()).collect();
            problem.remove_mean(&mut v);
            v
        };
        (draw(), draw())
    }

    fn moved(problem: &LogisticProblem, point: &[f64], step: f64, direction: &[f64]) -> Estimate {
        let mut parameters = point.to_vec();
        add_scaled(&mut parameters, step, direction);
        problem.at(parameters)
    }

    const CASES: [(usize, bool); 4] = [(2, true), (2, false), (3, false), (4, false)];

    #[test]
    fn the_gradient_is_the_derivative_of_the_value() {
        for (classes, reference) in CASES {
            let problem = random_problem(classes, reference, 0.3);
            let (point, direction) = point_and_direction(&problem);
            let value = |step| moved(&problem, &point, step, &direction).value;
            let slope = dot(&problem.gradient(&problem.at(point.clone())), &direction);
            assert!(((value(1e-5) - value(-1e-5)) / 2e-5 - slope).abs() < 1e-8);
        }
    }

    #[test]
    fn the_hessian_and_its_product_are_the_derivative_of_the_gradient() {
        for (classes, reference) in CASES {
            let problem = random_problem(classes, reference, 0.3);
            let (point, direction) = point_and_direction(&problem);
            let gradient = |step| problem.gradient(&moved(&problem, &point, step, &direction));
            let (after, before) = (gradient(1e-5), gradient(-1e-5));
            let at = problem.at(point.clone());
            let product = problem.hessian_product(&at, &direction);
            let (hessian, size) = (problem.hessian(&at), direction.len());
            for row in 0..size {
                let difference = (after[row] - before[row]) / 2e-5;
                // Only the lower triangle counts; what fills the freedom has no part in a
                // direction of mean zero.
                let entry = |column: usize| hessian[row.max(column) * size + row.min(column)];
                let dense: f64 = (0..size).map(|k| entry(k) * direction[k]).sum();
                assert!((product[row] - difference).abs() < 1e-8, "{classes} classes");
                assert!((dense - difference).abs() < 1e-8, "{classes} classes");
            }
        }
    }

    #[test]
    fn the_freedom_of_the_softmax_is_filled_with_curvature() {
        let problem = random_problem(3, false, 0.0);
        let (point, _) = point_and_direction(&problem);
        let (hessian, shift) = (problem.hessian(&problem.at(point)), [1.0, 0.0].repeat(3));
        let size = shift.len();
        let entry = |row: usize, column: usize| hessian[row.max(column) * size + row.min(column)];
        let row = |row: usize| (0..size).map(|k| entry(row, k) * shift[k]).sum::<f64>();
        let curvature: f64 = (0..size).map(|k| shift[k] * row(k)).sum();
        assert!(curvature > 0.01, "{curvature}");
    }
}
