//! The fixed point of FedRelax on a network of models with smooth losses, by Newton's method,
//!
//! ```text
//! G_i(w) = ∇L_i(w_i) + α Σ_j A_ij (g(w_i) − g(w_j)) = 0       canonical links
//! G_i(w) = ∇L_i(w_i) + α T_i ∇D(w_i; w̄_i) = 0                 outputs that are predictions
//! ```
//!
//! where `g(w)` is the mean over the public points of `x · prediction(x)`, D the mean loss there, `T_i = Σ_j A_ij`
//! and `w̄_i` the neighbours' weighted mean. These are the equations of refits that no longer change. Newton's
//!
//! ```text
//! J_ii = H_i + α T_i K_i      J_ij = −α A_ij K_j   (canonical)   or   −α A_ij K_i   (identity)
//! ```
//!
//! with the second derivatives `H_i` of `L_i` and `K_i` of D are solved by GMRES, preconditioned by the blocks `J_ii`
//! and by what connected nodes have in common. Where no such step is any good, every node is visited: it goes down to
//! about its own minimum while its neighbours stay, as in a round. Classes that are told apart without error and
//! without a ridge have their minimum at infinity: as with a single model, the fit ends at a small gradient. Second
//! derivatives are kept from step to step and from strength to strength as long as steps with them do well.
//! ["Plug In and Learn", Algorithm 1 at its end; Knoll and Keyes 2004 on Newton–Krylov methods.]

mod coarse;
mod equations;
mod linearised;
mod rows;

use std::sync::Arc;

use rayon::prelude::*;

use equations::{Equations, Evaluation};
use linearised::Linearised;
use rows::Rows;

use super::krylov::Limit;
use crate::{
    algebra::{add_scaled, norm},
    data::{Features, Labels, Task},
    error::{Result, at_least_zero, same_size},
    model::{Hypothesis, LinearOutputs, Link, LocalModel},
    network::{Network, Node},
};

/// Numbers in all second derivatives that are worth the memory: half a gigabyte.
const MOST_NUMBERS: usize = 1 << 26;
/// Newton steps at most; a dozen are usual from a far start.
const MOST_STEPS: usize = 80;
/// Halvings of a step at most: where shorter ones are needed, nodes are better visited one by one.
const MOST_HALVINGS: usize = 3;
/// Rounds of visits at most.
const MOST_VISITS: usize = 12;
/// The same from a start that may be too far: one or two bring most starts near enough.
const FEW_VISITS: usize = 2;
/// The pulls that are solved up to the one that is asked for, relative to it, where its start is too far. Nodes at the
/// first are nearly equal; half a decade is near enough for Newton's method on three and seven classes.
const STRONGER_PULLS: [f64; 5] = [100.0, 31.6, 10.0, 3.16, 1.0];
/// How near their solutions are to be: they are starts.
const ROUGH_TOLERANCE: f64 = 1e-2;
/// Second derivatives are computed anew once a step leaves more than this share of the residual: another step with
/// the old ones costs a third of new ones.
const WORN_SHARE: f64 = 0.25;
/// The relative residual of Newton's equations: a little below what worn second derivatives leave.
const STEP_TOLERANCE: f64 = 0.03;
/// The same at most, where the steps before left so much of the equations that a better step would be wasted.
const ROUGH_STEP_TOLERANCE: f64 = 0.3;
/// Eisenstat and Walker's choice: this share of the square of what the last step left.
const FORCING_SHARE: f64 = 0.9;
/// A step of this size, relative to the weights, beside a gradient below the tolerance times the rows' weight leads to
/// infinity.
const FAR_STEP: f64 = 0.1;
/// Products for one step at most: where that is too few, the step is the best one of its space.
const STEP_PRODUCTS: usize = 120;

/// The residual of a solution at most, relative to the tolerance of steps: rounding leaves a hundred times as much.
const MOST_RESIDUAL: f64 = 1e3;

/// How near to its minimum a node gets by itself, where nobody else moves: beyond, values no longer tell points apart.
const APART_TOLERANCE: f64 = 1e-6;

/// The models, rows and common public points of all nodes.
#[derive(Debug)]
pub struct SmoothNetwork {
    nodes: Vec<Part>,
    task: Task,
    names: Arc<[String]>,
    link: Link,
    /// How many weights a node has.
    size: usize,
    /// The outputs of a row, and how many weights each has.
    outputs: usize,
    width: usize,
    has_common_shift: bool,
    points: Arc<Features>,
    public: Rows,
}

/// What a node brings along.
#[derive(Debug)]
struct Part {
    model: Arc<dyn LocalModel>,
    rows: Rows,
    /// The labels of its rows that count.
    labels: Vec<f64>,
}

/// Who is coupled with whom, and how strongly.
#[derive(Debug, Clone, Copy)]
pub struct SmoothCoupling<'a> {
    /// Who is whose neighbour.
    pub network: &'a Network,
    /// The pull α ≥ 0.
    pub alpha: f64,
    /// One more neighbour of every node.
    pub anchor: Option<&'a SmoothAnchor>,
    /// Whether a node takes part; one that does not is no neighbour of one that does.
    pub is_coupled: &'a [bool],
}

/// A neighbour of every node that does not change: the pooled model.
#[derive(Debug, Clone)]
pub struct SmoothAnchor {
    /// The weight of the edge to it.
    pub weight: f64,
    /// Its weights for each node.
    pub weights: Vec<f64>,
}

/// Where to start from: weights, and second derivatives that were of use near them.
#[derive(Debug, Clone)]
pub struct SmoothStart {
    /// The weights of node i are `weights[i·size..(i+1)·size]`.
    pub weights: Vec<f64>,
    curvatures: Option<Arc<Curvatures>>,
}

/// The second derivatives H and K of every node.
type Curvatures = Vec<(Vec<f64>, Vec<f64>)>;

/// The weights of all nodes and how close they are.
#[derive(Debug, Clone)]
pub struct SmoothSolution {
    /// What the next strength may start from.
    pub end: SmoothStart,
    /// How far one more round would move the public predictions, relative to their size; where the minimum lies at
    /// infinity, the gradient as a share of the rows' weight.
    pub residual: f64,
    /// The norms of the equations on the way, relative to the first.
    pub history: Vec<f64>,
    /// Whether the steps have become as small as asked.
    pub converged: bool,
}

impl SmoothStart {
    /// From given weights.
    #[must_use]
    pub fn new(weights: Vec<f64>) -> Self {
        Self { weights, curvatures: None }
    }
}

impl SmoothNetwork {
    /// These nodes; none if a model is of another sort, their shapes differ, or nodes have public points of their own.
    #[must_use]
    pub fn new(nodes: &[Node]) -> Option<Self> {
        let first = nodes.first()?;
        let (task, columns) = (first.data.task(), first.data.features().columns());
        let shape = |node: &Node| {
            let model = node.model.as_parametric()?.as_linear_outputs()?;
            Some((model.link(), model.outputs(task), model.has_intercept()))
        };
        let own = shape(first)?;
        let (link, outputs, has_intercept) = own;
        let is_alike =
            |node: &Node| shape(node) == Some(own) && Arc::ptr_eq(&node.public, &first.public);
        let width = columns + usize::from(has_intercept);
        let size = outputs * width;
        let fits = nodes.len() * size * size <= MOST_NUMBERS / 2;
        if !fits || first.public.rows() == 0 || !nodes.iter().all(is_alike) {
            return None;
        }
        let part = |node: &Node| {
            let data = node.data.without_zero_weights();
            let rows = Rows::new(data.features(), data.weights(), has_intercept);
            let labels = data.labels().as_slice().to_vec();
            Part { model: node.model.clone(), rows, labels }
        };
        let share = 1.0 / first.public.rows() as f64;
        Some(Self {
            nodes: nodes.par_iter().map(part).collect(),
            task,
            names: first.data.features().names().clone(),
            link,
            size,
            outputs,
            width,
            has_common_shift: outputs_of(first)?.has_common_shift(task),
            points: first.public.clone(),
            public: Rows::new(&first.public, &vec![share; first.public.rows()], has_intercept),
        })
    }

    /// The weights of hypotheses; none if one is of another model.
    #[must_use]
    pub fn weights_of<'a>(
        &self,
        hypotheses: impl Iterator<Item = &'a dyn Hypothesis>,
    ) -> Option<Vec<f64>> {
        let own = |(part, hypothesis): (&Part, &dyn Hypothesis)| {
            part.model.as_parametric()?.weights(hypothesis).filter(|w| w.len() == self.size)
        };
        let all = self.nodes.iter().zip(hypotheses).map(own).collect::<Option<Vec<_>>>()?;
        Some(all.concat())
    }

    /// The learnt hypothesis of each node.
    pub fn hypotheses(&self, weights: &[f64]) -> impl Iterator<Item = Box<dyn Hypothesis>> {
        self.nodes.iter().zip(weights.chunks_exact(self.size.max(1))).map(|(part, weights)| {
            let model = part.model.as_parametric().expect("all models have linear outputs");
            model.hypothesis(&self.names, self.task, weights)
        })
    }

    /// Solves for the weights of the nodes that are coupled; the others keep theirs.
    pub fn solve(
        &self,
        coupling: &SmoothCoupling,
        start: SmoothStart,
        tolerance: f64,
    ) -> Result<SmoothSolution> {
        at_least_zero("alpha", coupling.alpha)?;
        same_size("starting weights", start.weights.len(), self.nodes.len() * self.size)?;
        // In the pool from first to last, because every entry into it costs as much as a small step.
        Ok(rayon::scope(|_| {
            if !coupling.network.edges().is_empty() {
                return self.solved_together(coupling, start, tolerance);
            }
            let equations = Equations::new(self, coupling);
            let near = equations.solved_apart(start, tolerance.max(APART_TOLERANCE));
            if near.converged && tolerance >= APART_TOLERANCE {
                return near;
            }
            Walk::new(&equations, near.end).run(tolerance, MOST_VISITS)
        }))
    }

    /// From a start that is too far, it begins anew where nothing is predicted: rows that a model tells apart without
    /// error have weights for which Newton's steps lead nowhere. If that is too far, too, stronger pulls are solved first:
    /// these keep nodes near to each other, and each solution is a near start for the next.
    fn solved_together(
        &self,
        coupling: &SmoothCoupling,
        start: SmoothStart,
        tolerance: f64,
    ) -> SmoothSolution {
        let mut zero = start.weights.clone();
        let own = zero.chunks_exact_mut(self.size.max(1)).zip(coupling.is_coupled);
        own.filter(|(_, is_coupled)| **is_coupled).for_each(|(own, _)| own.fill(0.0));
        let mut best = self.solved_along(coupling, &[1.0], start, tolerance);
        for pulls in [&[1.0][..], &STRONGER_PULLS] {
            if best.converged {
                break;
            }
            let anew = SmoothStart::new(zero.clone());
            let next = self.solved_along(coupling, pulls, anew, tolerance);
            if next.converged || next.residual < best.residual {
                best = next;
            }
        }
        best
    }

    /// The solution at the last of some pulls, relative to the one that is asked for.
    fn solved_along(
        &self,
        coupling: &SmoothCoupling,
        pulls: &[f64],
        mut from: SmoothStart,
        tolerance: f64,
    ) -> SmoothSolution {
        let (last, first) = pulls.split_last().expect("there is a pull");
        let at = |pull: f64| SmoothCoupling { alpha: pull * coupling.alpha, ..*coupling };
        for pull in first {
            let coupling = at(*pull);
            let equations = Equations::new(self, &coupling);
            from = Walk::new(&equations, from).run(tolerance.max(ROUGH_TOLERANCE), FEW_VISITS).end;
        }
        let coupling = at(*last);
        let equations = Equations::new(self, &coupling);
        let visits = if first.is_empty() { FEW_VISITS } else { MOST_VISITS };
        Walk::new(&equations, from).run(tolerance, visits)
    }

    fn model(&self, node: usize) -> &dyn LinearOutputs {
        let model = self.nodes[node].model.as_parametric();
        model.and_then(|model| model.as_linear_outputs()).expect("all models have linear outputs")
    }

    /// What a node with these weights predicts for the public points.
    fn predictions(&self, node: usize, weights: &[f64]) -> Labels {
        let model = self.nodes[node].model.as_parametric().expect("all models have linear outputs");
        model.hypothesis(&self.names, self.task, weights).predict(&self.points)
    }

    /// A label that says nothing: with canonical links it cancels.
    fn neutral_label(&self) -> Vec<f64> {
        Labels::neutral(self.task, 1).as_slice().to_vec()
    }
}

fn outputs_of(node: &Node) -> Option<&dyn LinearOutputs> {
    node.model.as_parametric()?.as_linear_outputs()
}

/// A walk to the solution.
struct Walk<'a> {
    equations: &'a Equations<'a>,
    weights: Vec<f64>,
    at: Evaluation,
    curvatures: Arc<Curvatures>,
    linearised: Linearised<'a>,
    /// Whether the second derivatives are those of the weights.
    is_fresh: bool,
}

impl<'a> Walk<'a> {
    fn new(equations: &'a Equations<'a>, start: SmoothStart) -> Self {
        let SmoothStart { weights, curvatures } = start;
        let is_fresh = curvatures.is_none();
        let at = equations.at(&weights);
        let curvatures = curvatures.unwrap_or_else(|| Arc::new(equations.curvatures(&at)));
        let linearised = Linearised::new(equations, &curvatures);
        Self { equations, weights, at, curvatures, linearised, is_fresh }
    }

    fn run(mut self, tolerance: f64, most_visits: usize) -> SmoothSolution {
        let first = norm(&self.at.left);
        let flat = self.equations.flat_gradient(tolerance);
        let mut history = vec![1.0];
        let (mut converged, mut visits, mut forcing) = (first == 0.0, 0, STEP_TOLERANCE);
        for _ in 0..MOST_STEPS {
            if converged {
                break;
            }
            let limit = Limit { tolerance: forcing, products: STEP_PRODUCTS };
            let step = self.linearised.step(&self.at.left, limit);
            let (before, size) = (norm(&self.at.left), self.linearised.size(&step, &self.weights));
            if before <= flat && size > FAR_STEP {
                let residual = before / self.equations.row_weight();
                return self.ended(history, residual, true);
            }
            let Some(length) = self.advance(&step) else {
                if self.is_fresh {
                    // No step along Newton's direction is better: what is left is rounding, or the start was far.
                    converged = size <= tolerance;
                    if converged || visits == most_visits {
                        break;
                    }
                    visits += 1;
                    self.weights = self.equations.visited(&self.weights);
                    self.at = self.equations.at(&self.weights);
                }
                self.refresh();
                forcing = STEP_TOLERANCE;
                continue;
            };
            let share = norm(&self.at.left) / before;
            history.push(norm(&self.at.left) / first);
            forcing = (FORCING_SHARE * share * share).clamp(STEP_TOLERANCE, ROUGH_STEP_TOLERANCE);
            // What is left to go is about the share of the step that the residual has kept.
            let left = share * length * self.linearised.size(&step, &self.weights);
            converged = length >= 1.0 && left <= tolerance || norm(&self.at.left) == 0.0;
            if !converged && share > WORN_SHARE {
                self.refresh();
            }
        }
        let residual = self.linearised.round_residual(&self.at.left, &self.weights);
        // On straight parts of a loss there is no curvature to measure steps by, and any step is small.
        self.ended(history, residual, converged && residual <= MOST_RESIDUAL * tolerance)
    }

    fn ended(self, history: Vec<f64>, residual: f64, converged: bool) -> SmoothSolution {
        let end = SmoothStart { weights: self.weights, curvatures: Some(self.curvatures) };
        SmoothSolution { end, residual, history, converged }
    }

    /// Takes the longest of the steps 1, ½, ¼, … that makes the residual smaller, and says which.
    fn advance(&mut self, step: &[f64]) -> Option<f64> {
        let (mut length, before) = (1.0, norm(&self.at.left));
        let halvings = if self.is_fresh { MOST_HALVINGS } else { 1 };
        for _ in 0..halvings {
            let mut weights = self.weights.clone();
            add_scaled(&mut weights, length, step);
            let at = self.equations.at(&weights);
            // Armijo's rule for the norm, with his usual share.
            if norm(&at.left) <= (1.0 - 1e-4 * length) * before {
                (self.weights, self.at, self.is_fresh) = (weights, at, false);
                return Some(length);
            }
            length *= 0.5;
        }
        None
    }

    fn refresh(&mut self) {
        self.curvatures = Arc::new(self.equations.curvatures(&self.at));
        self.linearised = Linearised::new(self.equations, &self.curvatures);
        self.is_fresh = true;
    }
}
