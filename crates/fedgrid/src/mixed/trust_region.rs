//! The minimum of a smooth function of a few numbers whose second derivatives are known: Newton's steps, in a region
//! where the quadratic function that they come from was seen to be right.
//!
//! ```text
//! s = −(H + μ I)⁻¹ g,   μ the least of some for which H + μ I is positive definite and |s| at most the radius
//! ```

use super::quasi_newton::{Limits, Point};
use crate::algebra::{Cholesky, add_scaled, dot};

/// A smooth function with its second derivatives.
pub(super) trait Curved {
    /// What is computed on the way.
    type Extra;

    /// Looks at a point; none where it has no value.
    fn look(&self, at: &[f64]) -> Option<Point<Self::Extra>>;

    /// Its second derivatives at a point, row by row.
    fn bend(&self, point: &Point<Self::Extra>) -> Vec<f64>;
}

/// The radius to begin with, in units of the coordinates or of the largest of them.
const FIRST_RADIUS: f64 = 1.0;
/// A radius at which rounding decides.
const LEAST_RADIUS: f64 = 1e-9;
/// The share of the expected decrease that a step must have, and those at which the radius changes.
const SUFFICIENT_SHARE: f64 = 1e-4;
const POOR_SHARE: f64 = 0.25;
const GOOD_SHARE: f64 = 0.75;
/// By how much μ grows, and the share of the second derivatives that it begins with.
const GROWTH: f64 = 4.0;
const FIRST_SHIFT_SHARE: f64 = 1e-4;
/// How often the range of μ is halved, unless the step has this share of the radius before.
const MOST_HALVINGS: usize = 6;
const LONG_SHARE: f64 = 0.5;
/// Added to every second derivative: rows may say nothing about a direction, where the slope is zero, too.
const LEAST_CURVATURE: f64 = 1e-6;
/// The share of a value that is rounding.
const ROUNDING_SHARE: f64 = 1e-14;
/// Steps at most that only the gradient tells to be better.
const MOST_FINE_STEPS: usize = 8;
/// An expected decrease that is good enough, as in `quasi_newton.rs`.
const FINEST_DECREASE: f64 = 1e-17;

/// A step, and what it is expected to gain.
struct Step {
    by: Vec<f64>,
    decrease: f64,
    /// Whether it is Newton's own.
    is_full: bool,
}

/// Walks down from a point, and says whether the minimum was reached.
pub(super) fn minimise<C: Curved>(
    start: Point<C::Extra>,
    limits: Limits,
    function: &C,
) -> (Point<C::Extra>, bool) {
    let (mut best, mut radius) = (start, FIRST_RADIUS);
    let mut bend = function.bend(&best);
    for _ in 0..limits.looks {
        // Far out, where a coordinate has no end, steps grow with it.
        let unit = longest(&best.at).max(1.0);
        let Some(step) = step(&bend, &best.gradient, (radius, unit)) else { return (best, false) };
        let least = limits.decrease.max(ROUNDING_SHARE * best.value.abs());
        if step.decrease <= least {
            return (if limits.refines { refined(best, step, function) } else { best }, true);
        }
        let next = function.look(&moved(&best.at, &step.by));
        let share = next
            .as_ref()
            .map_or(f64::NEG_INFINITY, |next| (best.value - next.value) / step.decrease);
        if share < POOR_SHARE {
            radius = longest(&step.by) / (GROWTH * unit);
        } else if share > GOOD_SHARE && !step.is_full {
            radius = radius.max(2.0 * longest(&step.by) / unit);
        }
        if let Some(next) = next.filter(|_| share > SUFFICIENT_SHARE) {
            best = next;
            bend = function.bend(&best);
        } else if radius < LEAST_RADIUS {
            return (best, false);
        }
    }
    (best, false)
}

/// Goes on by Newton's steps from where the value is known to too few digits to tell a better point.
fn refined<C: Curved>(mut best: Point<C::Extra>, mut step: Step, function: &C) -> Point<C::Extra> {
    let finest = FINEST_DECREASE.max((ROUNDING_SHARE * best.value).powi(2));
    for _ in 0..MOST_FINE_STEPS {
        if step.decrease <= finest || !step.is_full {
            break;
        }
        let Some(next) = function.look(&moved(&best.at, &step.by)) else { break };
        let unit = longest(&next.at).max(1.0);
        let after = self::step(&function.bend(&next), &next.gradient, (FIRST_RADIUS, unit));
        let Some(after) = after else { break };
        if after.decrease >= step.decrease {
            break;
        }
        (best, step) = (next, after);
    }
    best
}

fn moved(at: &[f64], by: &[f64]) -> Vec<f64> {
    let mut at = at.to_vec();
    add_scaled(&mut at, 1.0, by);
    at
}

fn longest(by: &[f64]) -> f64 {
    by.iter().fold(0.0, |most, x| x.abs().max(most))
}

/// The step within a radius, both in this unit; none if a second derivative is no number.
fn step(bend: &[f64], gradient: &[f64], (radius, unit): (f64, f64)) -> Option<Step> {
    let (size, radius) = (gradient.len(), radius * unit);
    let least = LEAST_CURVATURE / (unit * unit);
    let within = |shift: f64| {
        let mut shifted = bend.to_vec();
        let more = shift + least;
        shifted.iter_mut().step_by(size + 1).for_each(|entry| *entry += more);
        let factor = Cholesky::new(shifted, size)?;
        let mut by: Vec<f64> = gradient.iter().map(|slope| -slope).collect();
        factor.solve(&mut by);
        (longest(&by) <= radius).then_some(by)
    };
    let diagonal = bend.iter().step_by(size + 1).map(|entry| entry.abs());
    let first = FIRST_SHIFT_SHARE * diagonal.fold(least, f64::max);
    let (mut low, mut high, mut found) = (0.0, 0.0, within(0.0));
    let is_full = found.is_some();
    while found.is_none() {
        (low, high) = (high, if high == 0.0 { first } else { GROWTH * high });
        if !high.is_finite() {
            return None;
        }
        found = within(high);
    }
    let mut by = found?;
    // A μ that is too large makes the step too short.
    for _ in 0..MOST_HALVINGS {
        if is_full || longest(&by) > LONG_SHARE * radius {
            break;
        }
        let middle = if low == 0.0 { 0.5 * high } else { (low * high).sqrt() };
        match within(middle) {
            Some(longer) => (by, high) = (longer, middle),
            None => low = middle,
        }
    }
    let curved: f64 =
        bend.chunks_exact(size.max(1)).zip(&by).map(|(row, x)| x * dot(row, &by)).sum();
    let decrease = -dot(gradient, &by) - 0.5 * curved;
    Some(Step { by, decrease, is_full })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rosenbrock's.
    struct Valley;

    impl Curved for Valley {
        type Extra = ();

        fn look(&self, at: &[f64]) -> Option<Point<()>> {
            let (x, y) = (at[0], at[1]);
            let value = (1.0 - x).powi(2) + 100.0 * (y - x * x).powi(2);
            let gradient = vec![-2.0 * (1.0 - x) - 400.0 * x * (y - x * x), 200.0 * (y - x * x)];
            Some(Point { at: at.to_vec(), value, gradient, extra: () })
        }

        fn bend(&self, point: &Point<()>) -> Vec<f64> {
            let (x, y) = (point.at[0], point.at[1]);
            vec![2.0 - 400.0 * (y - 3.0 * x * x), -400.0 * x, -400.0 * x, 200.0]
        }
    }

    #[test]
    fn the_minimum_of_a_curved_valley_is_found_also_from_where_it_bends_down() {
        let limits = Limits { looks: 100, decrease: 1e-10, is_noisy: false, refines: true };
        for start in [[-1.2, 1.0], [0.0, 3.0]] {
            let (found, is_reached) = minimise(Valley.look(&start).unwrap(), limits, &Valley);
            assert!(is_reached && found.at.iter().all(|x| (x - 1.0).abs() < 1e-8), "{found:?}");
        }
    }
}
