//! How far a minimiser can be: for every node a bound on `‖w_i − w_i*‖` for some minimiser w*.
//!
//! ```text
//! slack        S = P(w) − Σ_k min L_k ≥ L_j(w_j*) − min L_j          so w_j* lies in a level set of L_j
//! no rows      w_i* lies in the hull of the w_j* with rows            (projecting onto it raises no term)
//! across edges ‖w_i* − w_j*‖ ≤ S / (α min A)                           for a norm; √(2 ℓ S / α min A) over ℓ
//!                                                                    edges for the squared norm
//! pooled       ‖w̄‖ ≤ (√P + ‖y‖ + Δ √Σ‖H_j‖) / √λ_min(Σ H_j)            where single nodes are not determined,
//!                                                                    over the directions that rows reach
//! ```

use crate::{
    algebra::{add_scaled, dot, squared_distance},
    optimum::gtv::{
        losses::{NodeLoss, Reached},
        problem::GtvProblem,
    },
};

/// What rounding may hide of the slack, as a share of the objective.
const SLACK_ROUNDING: f64 = 1e-12;

/// The bounds of all slots.
#[derive(Debug)]
pub(crate) struct Radii {
    bounds: Vec<f64>,
    /// A ball around each node with rows that contains its minimiser: centre and radius.
    balls: Vec<Option<(Vec<f64>, f64)>>,
    slack: f64,
    objective: f64,
}

impl Radii {
    pub(crate) fn new(problem: &GtvProblem, w: &[f64], objective: f64) -> Self {
        let size = problem.losses.size;
        let least: Vec<f64> = (0..problem.len()).map(|slot| least(problem, slot)).collect();
        let floor: f64 = least.iter().sum();
        let slack = (objective - floor).max(0.0) + SLACK_ROUNDING * objective.abs();
        let ball = |slot: usize| match problem.loss(slot) {
            NodeLoss::Quadratic(quadratic) => {
                let curvature = quadratic.least_curvature(size);
                (curvature > 0.0).then(|| (quadratic.minimiser(size), (slack / curvature).sqrt()))
            }
            NodeLoss::Convex(convex) => {
                let radius = convex.model().radius(convex.data(), least[slot] + slack)?;
                Some((vec![0.0; size], radius))
            }
            NodeLoss::None => None,
        };
        let balls = (0..problem.len()).map(ball).collect();
        let mut all = Self { bounds: vec![f64::INFINITY; problem.len()], balls, slack, objective };
        all.spread(problem, w);
        all
    }

    /// The bound of a slot; infinite if there is none.
    pub(crate) fn of(&self, slot: usize) -> f64 {
        self.bounds[slot]
    }

    pub(crate) fn reason(&self) -> &'static str {
        if self.slack.is_finite() {
            "some node's rows do not bound its weights, so no finite bound on the gap is known"
        } else {
            "the objective is not finite, so no bound on the gap is known"
        }
    }

    /// Uses a bound on the gap: `Σ δ_jᵀ H_j δ_j ≤ gap`.
    pub(crate) fn tighten(&mut self, problem: &GtvProblem, w: &[f64], gap: f64) {
        if !gap.is_finite() {
            return;
        }
        for (slot, ball) in self.balls.iter_mut().enumerate() {
            if let (Some((centre, radius)), NodeLoss::Quadratic(quadratic)) =
                (ball, problem.loss(slot))
            {
                let smaller = (gap / quadratic.least_curvature(problem.losses.size)).sqrt();
                if smaller < *radius {
                    *radius = smaller;
                    *centre = problem.row(w, slot).to_vec();
                }
            }
        }
        self.spread(problem, w);
    }

    /// Bounds for all nodes of each component from those with a ball.
    fn spread(&mut self, problem: &GtvProblem, w: &[f64]) {
        let mut slots = vec![Vec::new(); problem.components];
        for (slot, &component) in problem.component.iter().enumerate() {
            slots[component].push(slot);
        }
        for slots in slots {
            let labelled: Vec<usize> = slots
                .iter()
                .copied()
                .filter(|&slot| !matches!(problem.loss(slot), NodeLoss::None))
                .collect();
            let (centre, radius) = if labelled.is_empty() {
                // Nothing pulls there: any common weights are a minimiser, so take one's own.
                (problem.row(w, slots[0]).to_vec(), 0.0)
            } else {
                self.component(problem, w, &slots, &labelled)
            };
            for slot in slots {
                let own = self.balls[slot].as_ref().map_or(f64::INFINITY, |(centre, radius)| {
                    squared_distance(problem.row(w, slot), centre).sqrt() + radius
                });
                let common = squared_distance(problem.row(w, slot), &centre).sqrt() + radius;
                self.bounds[slot] = own.min(common);
            }
        }
    }

    /// A ball that contains the minimisers of all nodes of a component.
    fn component(
        &self,
        problem: &GtvProblem,
        w: &[f64],
        slots: &[usize],
        labelled: &[usize],
    ) -> (Vec<f64>, f64) {
        let size = problem.losses.size;
        let balls: Vec<&(Vec<f64>, f64)> =
            labelled.iter().filter_map(|&slot| self.balls[slot].as_ref()).collect();
        if balls.len() == labelled.len() {
            let mut centre = vec![0.0; size];
            for (ball, _) in &balls {
                add_scaled(&mut centre, 1.0 / balls.len() as f64, ball);
            }
            let reach =
                |ball: &&(Vec<f64>, f64)| squared_distance(&ball.0, &centre).sqrt() + ball.1;
            let radius = balls.iter().map(reach).fold(0.0, f64::max);
            // The hull in which projections raise no penalty is a ball of the dual norm.
            return (centre, problem.penalty.rule().dual_ratio(size) * radius);
        }
        let apart = self.apart(problem, slots);
        if let Some(best) = balls.iter().min_by(|a, b| a.1.total_cmp(&b.1)) {
            return (best.0.clone(), best.1 + apart);
        }
        let (centre, radius) = self.pooled(problem, w, labelled, apart);
        (centre, radius + apart)
    }

    /// How far apart the minimisers of two nodes of a component can be.
    fn apart(&self, problem: &GtvProblem, slots: &[usize]) -> f64 {
        if slots.len() == 1 {
            return 0.0;
        }
        if problem.losses.coupled < problem.losses.size {
            return f64::INFINITY;
        }
        let component = problem.component[slots[0]];
        let inside = problem.layout.edge_ends().filter(|e| problem.component[e.1] == component);
        let weakest =
            inside.map(|(edge, ..)| problem.strengths[edge]).fold(f64::INFINITY, f64::min);
        problem.penalty.rule().largest_distance(self.slack, weakest, slots.len())
    }

    /// A ball that contains the minimiser of any one node of a component of quadratic losses.
    ///
    /// Directions that no row of the component reaches can be added to all its weights for nothing, so
    /// there is a minimiser that agrees with w there.
    fn pooled(
        &self,
        problem: &GtvProblem,
        w: &[f64],
        labelled: &[usize],
        apart: f64,
    ) -> (Vec<f64>, f64) {
        let mut centre = problem.row(w, labelled[0]).to_vec();
        let mut nodes: Vec<usize> =
            labelled.iter().map(|&slot| problem.layout.nodes[slot]).collect();
        nodes.sort_unstable();
        let Some(reached) = problem.losses.reached(&nodes) else { return (centre, f64::INFINITY) };
        for direction in &reached.directions {
            let part = dot(direction, &centre);
            add_scaled(&mut centre, -part, direction);
        }
        let Reached { least, labels, largest, .. } = *reached;
        let objective = self.objective.max(0.0);
        (centre, (objective.sqrt() + labels.sqrt() + apart * largest.sqrt()) / least)
    }
}

/// The least value of the loss at a slot, or something below it.
fn least(problem: &GtvProblem, slot: usize) -> f64 {
    match problem.loss(slot) {
        NodeLoss::None => 0.0,
        NodeLoss::Quadratic(quadratic) => quadratic.least().max(0.0),
        NodeLoss::Convex(convex) => convex.model().least_loss(convex.data()),
    }
}
