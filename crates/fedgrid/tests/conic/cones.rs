//! The same problems as cone programs, for a solver that shares nothing with ours,
//!
//! ```text
//! squared      t = η − y, t²                    Huber      u² + 2k |η − y − u|      (the infimal convolution)
//! quantile     t ≥ level (y − η), (level−1)(y − η)         Poisson    (η, 1, t) ∈ K_exp,  t − yη
//! cross-entropy (η_k − t, 1, u_k) ∈ K_exp, Σ u_k ≤ 1,      t − Σ p_k η_k
//! norm         (t, z) ∈ K_soc                   one-norm   t_k ≥ |z_k|
//! ```

use clarabel::{
    algebra::CscMatrix,
    solver::{
        DefaultSettings, DefaultSolver, IPSolver,
        SupportedConeT::{self, ExponentialConeT, NonnegativeConeT, SecondOrderConeT, ZeroConeT},
    },
};
use fedgrid::{data::Dataset, penalty::Penalty};

use crate::problem::{Problem, RowLoss};

/// A constant and the variables with their factors.
#[derive(Clone, Default)]
struct Term {
    constant: f64,
    factors: Vec<(usize, f64)>,
}

impl Term {
    fn variable(variable: usize) -> Self {
        Self { constant: 0.0, factors: vec![(variable, 1.0)] }
    }

    fn constant(constant: f64) -> Self {
        Self { constant, factors: Vec::new() }
    }

    /// `self + factor · other`.
    fn plus(mut self, factor: f64, other: &Self) -> Self {
        self.constant += factor * other.constant;
        self.factors.extend(other.factors.iter().map(|(k, value)| (*k, factor * value)));
        self
    }
}

/// Minimise `Σ quadratic x² + linear x` with terms in cones.
#[derive(Default)]
struct Program {
    quadratic: Vec<f64>,
    linear: Vec<f64>,
    rows: Vec<Term>,
    cones: Vec<SupportedConeT<f64>>,
}

impl Program {
    /// A variable with its costs.
    fn variable(&mut self, quadratic: f64, linear: f64) -> Term {
        self.quadratic.push(quadratic);
        self.linear.push(linear);
        Term::variable(self.linear.len() - 1)
    }

    fn within(&mut self, cone: SupportedConeT<f64>, terms: impl IntoIterator<Item = Term>) {
        self.cones.push(cone);
        self.rows.extend(terms);
    }

    /// Adds `factor · term` to what is minimised, but for its constant.
    fn cost(&mut self, factor: f64, term: &Term) {
        for (variable, value) in &term.factors {
            self.linear[*variable] += factor * value;
        }
    }

    /// Costs `factor · term²`.
    fn square(&mut self, factor: f64, term: &Term) {
        let size = self.variable(factor, 0.0);
        self.within(ZeroConeT(1), [size.plus(-1.0, term)]);
    }

    /// Costs `factor · |term|`.
    fn size(&mut self, factor: f64, term: &Term) {
        let size = self.variable(0.0, factor);
        self.within(NonnegativeConeT(2), [size.clone().plus(1.0, term), size.plus(-1.0, term)]);
    }

    /// A variable of at least exp(term), which costs `factor` times itself.
    fn exponential(&mut self, factor: f64, term: Term) -> Term {
        let value = self.variable(0.0, factor);
        self.within(ExponentialConeT(), [term, Term::constant(1.0), value.clone()]);
        value
    }

    fn solve(&self) -> Vec<f64> {
        let columns = self.linear.len();
        let diagonal: Vec<usize> = (0..columns).collect();
        let curvature = self.quadratic.iter().map(|q| 2.0 * q).collect();
        let p =
            CscMatrix::new_from_triplets(columns, columns, diagonal.clone(), diagonal, curvature);
        let (mut rows, mut places, mut values) = (Vec::new(), Vec::new(), Vec::new());
        for (row, term) in self.rows.iter().enumerate() {
            for (variable, factor) in &term.factors {
                rows.push(row);
                places.push(*variable);
                values.push(-factor);
            }
        }
        let a = CscMatrix::new_from_triplets(self.rows.len(), columns, rows, places, values);
        let right: Vec<f64> = self.rows.iter().map(|term| term.constant).collect();
        let settings = DefaultSettings {
            verbose: false,
            tol_gap_abs: 1e-12,
            tol_gap_rel: 1e-12,
            tol_feas: 1e-12,
            ..DefaultSettings::default()
        };
        let mut solver = DefaultSolver::new(&p, &self.linear, &a, &right, &self.cones, settings)
            .expect("the program is well formed");
        solver.solve();
        solver.solution.x.clone()
    }
}

/// The weights of all nodes at the minimum, in the order of the models.
pub(crate) fn solve(problem: &Problem) -> Vec<Vec<f64>> {
    let mut program = Program::default();
    let size = problem.size();
    let weights: Vec<Vec<Term>> = (0..problem.nodes.len())
        .map(|_| (0..size).map(|_| program.variable(0.0, 0.0)).collect())
        .collect();
    for (node, weights) in problem.nodes.iter().zip(&weights) {
        if node.data.rows() > 0 {
            node_loss(&mut program, problem, &node.data, weights);
        }
    }
    for edge in problem.network.edges().iter().filter(|_| problem.alpha > 0.0) {
        let strength = problem.alpha * edge.weight;
        let (from, to) = (&weights[edge.source], &weights[edge.target]);
        let z: Vec<Term> =
            problem.coupled().into_iter().map(|k| from[k].clone().plus(-1.0, &to[k])).collect();
        match problem.penalty {
            Penalty::Norm => {
                let length = program.variable(0.0, strength);
                program.within(SecondOrderConeT(z.len() + 1), [vec![length], z].concat());
            }
            Penalty::SquaredNorm => z.iter().for_each(|z| program.square(0.5 * strength, z)),
            Penalty::OneNorm => z.iter().for_each(|z| program.size(strength, z)),
        }
    }
    let x = program.solve();
    weights.iter().map(|own| own.iter().map(|w| x[w.factors[0].0]).collect()).collect()
}

fn node_loss(program: &mut Program, problem: &Problem, data: &Dataset, weights: &[Term]) {
    let (columns, kind) = (data.features().columns(), problem.kind);
    let width = columns + usize::from(kind.intercept);
    for own in weights.chunks_exact(width) {
        for slope in &own[..columns] {
            program.quadratic[slope.factors[0].0] += kind.ridge;
            if kind.lasso > 0.0 {
                program.size(kind.lasso, slope);
            }
        }
    }
    for (row, (x, weight)) in data.features().iter().zip(data.weights()).enumerate() {
        let output = |own: &[Term]| {
            let level = own.get(columns).cloned().unwrap_or_default();
            own.iter().zip(x).fold(level, |sum, (w, x)| sum.plus(*x, w))
        };
        let outputs: Vec<Term> = weights.chunks_exact(width).map(output).collect();
        row_loss(program, kind.rows, *weight, data.labels().row(row), &outputs);
    }
}

fn row_loss(program: &mut Program, loss: RowLoss, weight: f64, label: &[f64], outputs: &[Term]) {
    let residual = || outputs[0].clone().plus(-1.0, &Term::constant(label[0]));
    match loss {
        RowLoss::Squared => program.square(weight, &residual()),
        RowLoss::Huber(threshold) => {
            let inside = program.variable(weight, 0.0);
            program.size(2.0 * threshold * weight, &residual().plus(-1.0, &inside));
        }
        RowLoss::Quantile(level) => {
            let value = program.variable(0.0, weight);
            let below = value.clone().plus(level, &residual());
            program.within(NonnegativeConeT(2), [below, value.plus(level - 1.0, &residual())]);
        }
        RowLoss::Poisson => {
            program.exponential(weight, outputs[0].clone());
            program.cost(-weight * label[0], &outputs[0]);
        }
        RowLoss::CrossEntropy(classes) => {
            let log_sum = program.variable(0.0, weight);
            let mut room = Term::constant(1.0);
            for class in 0..classes {
                // Of two classes the first has the logit zero.
                let absent = classes - outputs.len();
                let logit =
                    if class < absent { Term::default() } else { outputs[class - absent].clone() };
                program.cost(-weight * label[class], &logit);
                let share = program.exponential(0.0, logit.plus(-1.0, &log_sum));
                room = room.plus(-1.0, &share);
            }
            program.within(NonnegativeConeT(1), [room]);
        }
    }
}
