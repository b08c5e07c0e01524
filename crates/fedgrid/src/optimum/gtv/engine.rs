//! From a start to a certified minimum: which iteration runs, for how long, and what it hands on.

use super::{
    Engine, Goal,
    augmented::Augmented,
    certificate::{Certificate, certify},
    contract::Contracted,
    direct::Factors,
    frame::Frame,
    halpern::Halpern,
    newton::Newton,
    relative,
    relaxed::Relaxed,
    squared,
    start::into_balls,
    sweep::Point,
};
use crate::{
    error::{Error, Result},
    optimum::krylov::Limit,
    penalty::Penalty,
};

/// What has been found so far.
pub(super) struct Search<'a> {
    frame: &'a Frame<'a>,
    goal: Goal,
    pub(super) steps: usize,
    pub(super) history: Vec<(usize, f64)>,
    pub(super) scale: Option<f64>,
    pub(super) best: Option<Best>,
    /// After how many steps the best gap had last been halved, and its value then.
    halved: (usize, f64),
}

/// The point with the smallest certified gap.
pub(super) struct Best {
    gap: f64,
    pub(super) point: Point,
    pub(super) objective: f64,
    pub(super) certificate: Certificate,
    pub(super) engine: Engine,
}

/// How relaxed steps ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// The search can end.
    Done,
    /// The objective hardly changes: it is time for Newton steps.
    Near,
    /// Other steps may be faster.
    Slow,
}

/// After how many changes of the scales the objective is looked at.
const CHANGES: usize = 3;
/// How many rounds of Newton steps are tried in a row.
const NEWTON_ROUNDS: usize = 12;
/// Newton's method is left after so many steps.
const DESCENT_STEPS: usize = 60;
/// A certificate is looked at, or Newton steps begin, when a restart changes the objective by less
/// than this many times the tolerance,
const NEAR: f64 = 10.0;
/// and Newton steps at the latest after this many.
const PATIENCE: usize = 300;
/// A search ends when its gap has not been halved in so many steps: rounding is all that is left.
const STALL: usize = 3000;

impl<'a> Search<'a> {
    pub(super) fn new(frame: &'a Frame<'a>, goal: Goal) -> Self {
        let (history, halved) = (Vec::new(), (0, f64::INFINITY));
        Self { frame, goal, steps: 0, history, scale: None, best: None, halved }
    }

    /// Looks at a point: its certified relative gap, or its residuals where there is no bound. Tells
    /// whether the search can end.
    pub(super) fn look(&mut self, point: &Point, engine: Engine) -> bool {
        let frame = self.frame;
        let objective = frame.objective(&point.w);
        let certificate = certify(frame, point, objective);
        let gap = certificate.gap.map_or_else(
            || certificate.node_residual.max(certificate.edge_residual),
            |gap| relative(gap, objective),
        );
        self.history.push((self.steps, gap));
        if self.best.as_ref().is_none_or(|best| gap < best.gap) {
            let point = point.clone();
            self.best = Some(Best { gap, point, objective, certificate, engine });
        }
        if gap <= 0.5 * self.halved.1 {
            self.halved = (self.steps, gap);
        }
        gap <= self.goal.tolerance || self.is_over()
    }

    fn is_over(&self) -> bool {
        self.steps >= self.goal.steps || self.steps > self.halved.0 + STALL
    }

    /// Sparse factors where there are few, else conjugate gradients, to ever smaller residuals until
    /// the certificate is good enough.
    pub(super) fn solve_linear(&mut self, mut point: Point) {
        if let Some(factors) = Factors::new(self.frame) {
            point = squared::solve_by(self.frame, &factors);
            self.steps += 1;
            if self.look(&point, Engine::SparseFactors) {
                return;
            }
        }
        let mut tolerance = (1e-2 * self.goal.tolerance).clamp(1e-14, 1e-6);
        loop {
            let limit = Limit { tolerance, products: self.goal.steps.saturating_sub(self.steps) };
            let (solved, products) = squared::solve(self.frame, point.w, limit);
            point = solved;
            self.steps += products;
            if self.look(&point, Engine::ConjugateGradients) || tolerance <= 1e-14 {
                return;
            }
            tolerance = (1e-2 * tolerance).max(1e-14);
        }
    }

    /// Newton's method for the squared norm; tells whether the search can end. Else the point is where
    /// it has come to.
    pub(super) fn descend(&mut self, point: &mut Point) -> bool {
        let Some(mut newton) = Newton::new(self.frame, &point.w) else { return false };
        for _ in 0..DESCENT_STEPS {
            let Some(fall) = newton.step(self.goal.steps.saturating_sub(self.steps)) else { break };
            self.steps = newton.products;
            let is_time = fall <= self.goal.tolerance || self.is_over();
            if is_time && self.look(&newton.point(), Engine::NewtonCg) {
                return true;
            }
        }
        *point = newton.point();
        self.look(point, Engine::NewtonCg)
    }

    /// Relaxed steps, the restarted Halpern iteration where these are slow, and Newton steps where there
    /// are any.
    pub(super) fn iterate(&mut self, point: Point, scale: Option<f64>) -> Result<()> {
        let frame = self.frame;
        let newton = frame.penalty == Penalty::Norm && frame.losses.is_quadratic();
        let mut relaxed = Relaxed::new(frame, point, scale.unwrap_or_else(|| frame.scale()));
        // A proximal step that fails at one scale may succeed at another.
        let end = match self.relaxed(&mut relaxed, newton) {
            Err(Error::NotConverged { .. }) => {
                // The step that failed has left p unfinished.
                into_balls(frame, &mut relaxed.point);
                End::Slow
            }
            end => end?,
        };
        let mut scale = relaxed.scale();
        self.scale = Some(scale);
        let mut point = relaxed.point;
        let is_near = end == End::Near;
        if end == End::Done || is_near && (self.contract(&point) || self.polish(&mut point, scale))
        {
            return Ok(());
        }
        let mut patience = PATIENCE;
        loop {
            let mut halpern = Halpern::new(frame, point, scale);
            let done = match self.restarts(&mut halpern, newton.then_some(patience)) {
                Err(Error::NotConverged { .. }) => {
                    self.give_up(halpern.point);
                    return Ok(());
                }
                done => done?,
            };
            scale = halpern.scale;
            self.scale = Some(scale);
            point = halpern.point;
            if done || self.polish(&mut point, scale) {
                return Ok(());
            }
            patience *= 2;
        }
    }

    /// Looks at a point from which no step could be taken, with its duals brought into their balls: what
    /// is known of it is told.
    fn give_up(&mut self, mut point: Point) {
        into_balls(self.frame, &mut point);
        self.look(&point, Engine::Halpern);
    }

    /// Relaxed steps until the search can end, or until it is time for others.
    fn relaxed(&mut self, relaxed: &mut Relaxed, newton: bool) -> Result<End> {
        let near = (NEAR * self.goal.tolerance).clamp(1e-7, 1e-3);
        let mut last = f64::INFINITY;
        let (mut changes, mut contracted, mut others) = (0, 0, self.steps);
        loop {
            changes += usize::from(relaxed.step()?);
            self.steps = relaxed.steps + others;
            if relaxed.is_slow() {
                return Ok(End::Slow);
            }
            let is_over = self.is_over();
            if changes < CHANGES && !is_over {
                continue;
            }
            changes = 0;
            relaxed.settle()?;
            let objective = self.frame.objective(&relaxed.point.w);
            let is_near = (last - objective).abs() <= near * objective.abs();
            last = objective;
            if is_near && newton {
                return Ok(End::Near);
            }
            if (is_over || is_near) && self.look(&relaxed.point, Engine::Relaxed) {
                return Ok(End::Done);
            }
            if is_near && relaxed.steps >= 2 * contracted {
                contracted = relaxed.steps;
                let before = self.steps;
                if self.contract(&relaxed.point) {
                    return Ok(End::Done);
                }
                others += self.steps - before;
            }
        }
    }

    /// Steps and restarts until the search can end, or until it is time for Newton steps.
    fn restarts(&mut self, halpern: &mut Halpern, patience: Option<usize>) -> Result<bool> {
        let near = (NEAR * self.goal.tolerance).clamp(1e-7, 1e-3);
        let before = self.steps;
        let mut last = f64::INFINITY;
        loop {
            if !halpern.step()? {
                continue;
            }
            halpern.restart()?;
            self.steps = before + halpern.steps;
            let objective = self.frame.objective(&halpern.point.w);
            let is_near = (last - objective).abs() <= near * objective.abs();
            last = objective;
            if self.is_over() || is_near && patience.is_none() {
                let done = self.look(&halpern.point, Engine::Halpern);
                if done {
                    return Ok(true);
                }
            } else if patience.is_some_and(|patience| is_near || halpern.steps >= patience) {
                return Ok(false);
            }
        }
    }

    /// The minimum of the clusters of a point, if these are few; tells whether the search can end.
    fn contract(&mut self, point: &Point) -> bool {
        let Some(contracted) = Contracted::new(self.frame, point) else { return false };
        let tolerance = (1e-2 * self.goal.tolerance).max(1e-13);
        let steps = self.goal.steps.saturating_sub(self.steps);
        let Some(minimum) = contracted.minimum(Goal { tolerance, steps }) else { return false };
        self.steps += contracted.cost(minimum.steps);
        self.look(&contracted.expanded(&minimum, point), Engine::Clusters)
    }

    /// Rounds of Newton steps; tells whether the search can end.
    fn polish(&mut self, point: &mut Point, scale: f64) -> bool {
        let mut augmented = Augmented::new(self.frame, std::mem::take(point), 2.5 / scale);
        let before = self.steps;
        let mut done = false;
        for round in 0..NEWTON_ROUNDS {
            let last = self.history.last().map_or(f64::INFINITY, |(_, gap)| *gap);
            augmented.round(self.goal.steps.saturating_sub(before));
            self.steps = before + augmented.products;
            done = self.look(&augmented.point, Engine::Newton);
            let gap = self.history.last().map_or(f64::INFINITY, |(_, gap)| *gap);
            if done || round > 4 && gap > 0.5 * last {
                break;
            }
        }
        *point = augmented.point;
        done
    }
}
