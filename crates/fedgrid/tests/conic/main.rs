//! The minimum of losses and total variation of weights against an independent conic solver, and the
//! certificates of fine, rough and first points against the least objective that either has found.

mod cones;
mod problem;

use fedgrid::optimum::gtv::{Coupled, Goal, Losses, Minimum, minimise};
use problem::Problem;

/// Seven of each penalty and loss.
const PROBLEMS: usize = 210;

/// What rounding may change of an objective near one.
const ROUNDING: f64 = 1e-14;

/// Checks one problem; tells whether it has no certificate.
fn check(problem: &Problem) -> Result<bool, String> {
    let losses = Losses::new(&problem.nodes, problem.couple_intercept).unwrap();
    let run = |tolerance: f64, steps: usize| {
        let coupled = Coupled { alpha: problem.alpha, penalty: problem.penalty };
        let goal = Goal { tolerance, steps };
        minimise(&losses, &problem.network, coupled, None, goal).map_err(|error| error.to_string())
    };
    // Both are objectives of real weights, so the minimum is at most the smaller of them.
    let (conic, fine) = (problem.objective(&cones::solve(problem)), run(1e-8, 20_000)?);
    let least = conic.min(fine.objective);
    let scale = least.abs().max(1.0);
    let own = problem.objective(&weights(problem, &losses, &fine));
    if (own - fine.objective).abs() > 1e-12 * scale {
        return Err(format!("P is {own}, not {}", fine.objective));
    }
    // A minimum of zero lies at infinity: a component has rows of one class, and no solver arrives.
    if (fine.objective - conic).abs() > if least < 1e-6 { 1e-4 } else { 1e-7 * scale } {
        return Err(format!("the conic solver finds {conic}: {:?}", describe(&fine)));
    }
    if fine.certificate.gap.is_some_and(|gap| gap > 1e-8 * fine.objective.abs().max(1e-6)) {
        return Err(format!("the goal is not reached: {}", describe(&fine)));
    }
    for minimum in [&fine, &run(1e-2, 20_000)?, &run(1e-2, 10)?, &run(1e-2, 1)?] {
        let excess = minimum.objective - least;
        match minimum.certificate.gap {
            Some(gap) if gap < excess - ROUNDING * scale => {
                return Err(format!("{excess:e} above the minimum: {}", describe(minimum)));
            }
            None if problem.is_bounded(least) || minimum.certificate.unbounded.is_none() => {
                return Err(format!("a bound exists: {}", describe(minimum)));
            }
            _ => {}
        }
    }
    Ok(fine.certificate.gap.is_none())
}

/// The weights of all nodes as their models have them.
fn weights(problem: &Problem, losses: &Losses, minimum: &Minimum) -> Vec<Vec<f64>> {
    let hypotheses = losses.hypotheses(&problem.network, &minimum.weights);
    let weights = problem.nodes.iter().zip(&hypotheses).map(|(node, hypothesis)| {
        node.model.as_parametric().unwrap().weights(hypothesis.as_ref()).unwrap()
    });
    weights.collect()
}

fn describe(minimum: &Minimum) -> String {
    let Minimum { objective, certificate, engine, steps, .. } = minimum;
    format!("{engine} at {objective} after {steps} steps, {certificate:?}")
}

#[test]
fn minima_agree_with_a_conic_solver_and_certificates_hold() {
    let mut failures = Vec::new();
    let mut uncertified = 0;
    for number in 0..PROBLEMS {
        let problem = Problem::new(number);
        match check(&problem) {
            Ok(without) => uncertified += usize::from(without),
            Err(failure) => failures.push(format!("{number}: {}: {failure}", problem.name())),
        }
    }
    assert!(failures.is_empty(), "{} fail\n{}", failures.len(), failures.join("\n"));
    assert!(uncertified <= PROBLEMS / 5, "{uncertified} problems have no certificate");
}

/// Problems that were not chosen: some converge slowly, but none ends with an error or a wrong bound.
#[test]
fn other_problems_end_with_certificates_that_hold() {
    let mut failures = Vec::new();
    let mut short = 0;
    for number in PROBLEMS..4 * PROBLEMS {
        let problem = Problem::new(number);
        let losses = Losses::new(&problem.nodes, problem.couple_intercept).unwrap();
        let coupled = Coupled { alpha: problem.alpha, penalty: problem.penalty };
        let conic = problem.objective(&cones::solve(&problem));
        match minimise(&losses, &problem.network, coupled, None, Goal::default()) {
            Err(error) => failures.push(format!("{number}: {}: {error}", problem.name())),
            Ok(minimum) => {
                let excess = minimum.objective - conic;
                let gap = minimum.certificate.gap.unwrap_or(f64::INFINITY);
                if gap < excess - ROUNDING * conic.abs().max(1.0) {
                    failures.push(format!("{number}: {excess:e}: {}", describe(&minimum)));
                }
                short += usize::from(excess > 1e-5 * conic.abs().max(1e-3));
            }
        }
    }
    assert!(failures.is_empty(), "{} fail\n{}", failures.len(), failures.join("\n"));
    assert!(short <= PROBLEMS / 50, "{short} problems end far from their minimum");
}
