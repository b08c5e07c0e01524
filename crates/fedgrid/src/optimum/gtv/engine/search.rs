//! From a start to a certified minimum: which engine runs, for how long, and what it hands on.

use super::{
    Engine, EngineKind, StepEnd, augmented::Augmented, curvatures::Curvatures, halpern::Halpern,
    linear_system::LinearSystem, merged_clusters::MergedClusters, newton_cg::NewtonCg,
    relaxed::Relaxed,
};
use crate::{
    error::{Error, Result},
    optimum::gtv::{
        certificate::{GapCertificate, certify},
        kernel::operators::project_duals,
        minimum::{Goal, Minimum, relative},
        problem::{GtvProblem, PrimalDualPoint},
        start::start_of,
    },
};

/// A certificate is looked at, or Newton steps begin, when the objective has changed by less than this
/// many times the tolerance since it was last looked at,
const NEAR_TOLERANCES: f64 = 10.0;
/// which counts as at least and at most so much of the objective: below the first rounding decides, and
/// above the second an iteration has hardly begun.
const NEAR_RANGE: (f64, f64) = (1e-7, 1e-3);
/// Newton steps begin at the latest after so many restarted steps, and after twice as many each next time.
const PATIENCE_STEPS: usize = 300;
/// A search ends when its gap has not been halved in so many steps: rounding is all that is left.
const STALL_STEPS: usize = 3000;
/// The share of the tolerance to which merged clusters are minimised, so that their gap adds nothing,
const MERGED_SHARE: f64 = 1e-2;
/// but not below what their certificate can tell.
const LEAST_MERGED_TOLERANCE: f64 = 1e-13;

/// The minimum of a problem, from one at another strength if there is one.
pub(crate) fn search(problem: &GtvProblem, start: Option<&Minimum>, goal: Goal) -> Result<Minimum> {
    let (losses, is_norm) = (problem.losses, problem.penalty.rule().is_norm());
    let mut point = start_of(problem, start)?;
    let mut search = MinimumSearch::new(problem, goal);
    if problem.alpha == 0.0 || problem.strengths.is_empty() {
        search.record(&point, EngineKind::Alone);
    } else if !is_norm && losses.is_quadratic() && losses.coupled == losses.size {
        search.run(&mut LinearSystem::new(problem, &point, goal.tolerance))?;
    } else {
        let scale = start.and_then(|start| start.scale).unwrap_or_else(|| problem.scale());
        let is_done = if is_norm {
            search.run_augmented(&mut point, scale)?
        } else {
            search.run_newton(&mut point)?
        };
        if !is_done {
            search.run_first_order(point, scale)?;
        }
    }
    search.finish()
}

/// What has been found so far.
struct MinimumSearch<'a> {
    problem: &'a GtvProblem<'a>,
    goal: Goal,
    steps: usize,
    history: Vec<(usize, f64)>,
    scale: Option<f64>,
    best: Option<BestPoint>,
    /// After how many steps the best gap had last been halved, and its value then.
    halved: (usize, f64),
}

/// The point with the smallest certified gap.
struct BestPoint {
    gap: f64,
    point: PrimalDualPoint,
    objective: f64,
    certificate: GapCertificate,
    engine: EngineKind,
}

/// How relaxed steps ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RelaxedEnd {
    /// The search can end.
    Done,
    /// The objective hardly changes: it is time for Newton steps.
    Near,
    /// Other steps may be faster.
    Slow,
}

impl<'a> MinimumSearch<'a> {
    fn new(problem: &'a GtvProblem<'a>, goal: Goal) -> Self {
        let (history, halved) = (Vec::new(), (0, f64::INFINITY));
        Self { problem, goal, steps: 0, history, scale: None, best: None, halved }
    }

    /// Records a point with its certified relative gap, or its residuals where there is no bound. Tells
    /// whether the search can end.
    fn record(&mut self, point: &PrimalDualPoint, engine: EngineKind) -> bool {
        let objective = self.problem.objective(&point.w);
        let certificate = certify(self.problem, point, objective);
        let gap = certificate.gap.map_or_else(
            || certificate.node_residual.max(certificate.edge_residual),
            |gap| relative(gap, objective),
        );
        // Relaxed steps may raise the gap, so the best point is kept and not the last.
        self.history.push((self.steps, gap));
        if self.best.as_ref().is_none_or(|best| gap < best.gap) {
            let point = point.clone();
            self.best = Some(BestPoint { gap, point, objective, certificate, engine });
        }
        if gap <= 0.5 * self.halved.1 {
            self.halved = (self.steps, gap);
        }
        gap <= self.goal.tolerance || self.is_over()
    }

    fn record_engine(&mut self, engine: &impl Engine) -> bool {
        let (point, kind) = engine.point();
        self.record(&point, kind)
    }

    fn is_over(&self) -> bool {
        self.steps >= self.goal.steps || self.steps > self.halved.0 + STALL_STEPS
    }

    fn last_gap(&self) -> f64 {
        self.history.last().map_or(f64::INFINITY, |(_, gap)| *gap)
    }

    /// The best point, in the network's order.
    fn finish(self) -> Result<Minimum> {
        let Self { problem, steps, history, scale, best, .. } = self;
        let (layout, losses, width) = (&problem.layout, problem.losses, problem.width);
        let best = best
            .filter(|best| best.objective.is_finite())
            .ok_or(Error::NotConverged { what: "the minimisation of total variation", steps })?;
        Ok(Minimum {
            weights: layout.rows_out(&best.point.w, losses.size, width),
            duals: layout.edges_out(&best.point.u, losses.coupled, width),
            objective: best.objective,
            certificate: best.certificate,
            engine: best.engine,
            steps,
            history,
            scale,
        })
    }

    /// Runs an engine and records each point that is due; tells whether the search can end.
    fn run(&mut self, engine: &mut impl Engine) -> Result<bool> {
        let before = self.steps;
        loop {
            let gap = self.last_gap();
            let end = engine.step(self.goal.steps.saturating_sub(self.steps))?;
            self.steps = before + engine.steps();
            if end == StepEnd::Running && !self.is_over() {
                continue;
            }
            let is_done = self.record_engine(engine);
            if is_done || end == StepEnd::Exhausted || engine.is_stalled(gap, self.last_gap()) {
                return Ok(is_done);
            }
        }
    }

    /// Newton's method for the squared norm; tells whether the search can end. Else the point is where
    /// it has come to.
    fn run_newton(&mut self, point: &mut PrimalDualPoint) -> Result<bool> {
        let Some(mut newton) = NewtonCg::new(self.problem, &point.w, self.goal.tolerance) else {
            return Ok(false);
        };
        let is_done = self.run(&mut newton)?;
        *point = newton.point().0.into_owned();
        Ok(is_done)
    }

    /// Newton steps for the norm from the start, where first-order steps cost more than they bring: each minimises
    /// at every node whose loss is not quadratic. Tells whether the search can end; else the point is where it
    /// has come to.
    fn run_augmented(&mut self, point: &mut PrimalDualPoint, scale: f64) -> Result<bool> {
        if !self.has_newton(&point.w) || self.problem.losses.is_quadratic() {
            return Ok(false);
        }
        let steps = self.goal.steps;
        // Where Newton steps come to nothing, first-order steps have the other half.
        self.goal.steps = steps.div_ceil(2);
        self.refine_newton(point, scale, EngineKind::Augmented)?;
        self.goal.steps = steps;
        self.halved.0 = self.steps;
        Ok(self.best.as_ref().is_some_and(|best| best.gap <= self.goal.tolerance))
    }

    /// Whether there are Newton steps for the penalty and the losses.
    fn has_newton(&self, w: &[f64]) -> bool {
        self.problem.penalty.rule().is_euclidean()
            && self.problem.losses.not_convex().is_none()
            && Curvatures::are_known(self.problem, w)
    }

    /// Relaxed steps, the restarted Halpern iteration where these are slow, and Newton steps where there
    /// are any.
    fn run_first_order(&mut self, point: PrimalDualPoint, scale: f64) -> Result<()> {
        let problem = self.problem;
        // Newton steps certify themselves, so first-order steps need no certificate before them.
        let newton = self.has_newton(&point.w);
        let mut relaxed = Relaxed::new(problem, point, scale);
        let end = match self.run_relaxed(&mut relaxed, newton) {
            // A proximal step that fails at one scale may succeed at another.
            Err(Error::NotConverged { .. }) => {
                // The step that failed has left p unfinished.
                project_duals(problem, &mut relaxed.point);
                RelaxedEnd::Slow
            }
            end => end?,
        };
        let mut scale = relaxed.scale();
        self.scale = Some(scale);
        let mut point = relaxed.point;
        let is_done = match end {
            RelaxedEnd::Done => true,
            RelaxedEnd::Near => {
                self.merge_clusters(&point)
                    || self.refine_newton(&mut point, scale, EngineKind::Newton)?
            }
            RelaxedEnd::Slow => false,
        };
        if is_done {
            return Ok(());
        }
        let mut patience = PATIENCE_STEPS;
        loop {
            let mut halpern = Halpern::new(problem, point, scale);
            let is_done = match self.run_restarts(&mut halpern, newton.then_some(patience)) {
                // No step can be taken from here: what is known of the point is told.
                Err(Error::NotConverged { .. }) => {
                    project_duals(problem, &mut halpern.point);
                    self.record_engine(&halpern);
                    return Ok(());
                }
                is_done => is_done?,
            };
            scale = halpern.scale;
            self.scale = Some(scale);
            point = halpern.point;
            if is_done || self.refine_newton(&mut point, scale, EngineKind::Newton)? {
                return Ok(());
            }
            patience *= 2;
        }
    }

    /// Relaxed steps until the search can end, or until it is time for others.
    fn run_relaxed(&mut self, relaxed: &mut Relaxed, newton: bool) -> Result<RelaxedEnd> {
        let mut last = f64::INFINITY;
        let (mut merged, mut others) = (0, self.steps);
        loop {
            let end = relaxed.step(0)?;
            self.steps = relaxed.steps + others;
            if end == StepEnd::Exhausted {
                return Ok(RelaxedEnd::Slow);
            }
            let is_over = self.is_over();
            if end == StepEnd::Running && !is_over {
                continue;
            }
            relaxed.settle()?;
            let is_near = self.is_near(&mut last, &relaxed.point);
            if is_near && newton {
                return Ok(RelaxedEnd::Near);
            }
            if (is_over || is_near) && self.record_engine(relaxed) {
                return Ok(RelaxedEnd::Done);
            }
            // Ever more seldom, so that attempts in vain cost a share of the steps only.
            if is_near && relaxed.steps >= 2 * merged {
                merged = relaxed.steps;
                let before = self.steps;
                if self.merge_clusters(&relaxed.point) {
                    return Ok(RelaxedEnd::Done);
                }
                others += self.steps - before;
            }
        }
    }

    /// Steps and restarts until the search can end, or until it is time for Newton steps.
    fn run_restarts(&mut self, halpern: &mut Halpern, patience: Option<usize>) -> Result<bool> {
        let before = self.steps;
        let mut last = f64::INFINITY;
        loop {
            halpern.step(0)?;
            self.steps = before + halpern.steps;
            let is_near = self.is_near(&mut last, &halpern.point);
            if self.is_over() || is_near && patience.is_none() {
                if self.record_engine(halpern) {
                    return Ok(true);
                }
            } else if patience.is_some_and(|patience| is_near || halpern.steps >= patience) {
                return Ok(false);
            }
        }
    }

    /// Whether the objective has hardly changed since it was last looked at.
    fn is_near(&self, last: &mut f64, point: &PrimalDualPoint) -> bool {
        let near = (NEAR_TOLERANCES * self.goal.tolerance).clamp(NEAR_RANGE.0, NEAR_RANGE.1);
        let objective = self.problem.objective(&point.w);
        let before = std::mem::replace(last, objective);
        (before - objective).abs() <= near * objective.abs()
    }

    /// The minimum of the clusters of a point, if these are few; tells whether the search can end.
    fn merge_clusters(&mut self, point: &PrimalDualPoint) -> bool {
        let Some(merged) = MergedClusters::new(self.problem, point) else { return false };
        let tolerance = (MERGED_SHARE * self.goal.tolerance).max(LEAST_MERGED_TOLERANCE);
        let goal = Goal { tolerance, steps: self.goal.steps.saturating_sub(self.steps) };
        let Ok(minimum) = search(&merged.problem(), None, goal) else { return false };
        self.steps += merged.cost(minimum.steps);
        self.record(&merged.expanded(&minimum, point), EngineKind::Clusters)
    }

    /// Rounds of semismooth Newton steps; tells whether the search can end.
    fn refine_newton(
        &mut self,
        point: &mut PrimalDualPoint,
        scale: f64,
        kind: EngineKind,
    ) -> Result<bool> {
        let mut augmented = Augmented::new(self.problem, std::mem::take(point), scale, kind);
        let is_done = self.run(&mut augmented)?;
        *point = augmented.point;
        Ok(is_done)
    }
}
