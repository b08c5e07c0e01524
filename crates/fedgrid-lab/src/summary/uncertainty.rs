//! How sure predictions and coefficients are, as results tell it.

use fedgrid::{
    compare::{Fitted, NodeCoverage},
    uncertainty::{Band, CoefficientSpread, PredictorPosterior, Reach, Residuals, Response},
};

use crate::{
    assembly::Assembly,
    coefficients::{CoefficientName, names},
    number::{count, counted, tick},
    outcome::{
        CoefficientOutcome, Correlation, Coverage, NodeInterval, ResidualCheck, Uncertainty,
        Variances,
    },
};

/// The level of the intervals that results and pages show.
const SHOWN_LEVEL: f64 = 0.9;
/// A node whose intervals cover less than the level by this much is counted as left behind.
const LEFT_BEHIND: f64 = 0.1;
/// How many quantiles of residuals are kept: a chart shows no more.
const MOST_QUANTILES: usize = 100;

/// What is known of the spread of predictions; none for classes, and where nobody has looked at residuals.
pub(super) fn uncertainty(assembly: &Assembly, fitted: &Fitted) -> Option<Found> {
    let study = &assembly.study;
    let (intervals, residuals) = (study.intervals(fitted)?, fitted.unseen.as_ref()?);
    let level = SHOWN_LEVEL;
    let bands = intervals.bands(level).ok()?;
    let covered = study.coverage(fitted, &intervals, &bands);
    let of_node = |(node, band): (usize, &Band)| {
        node_interval(band, &covered[node], &counted_residuals(residuals, node))
    };
    Some(Found {
        nodes: bands.iter().enumerate().map(of_node).collect(),
        uncertainty: Uncertainty {
            level,
            calibration: intervals.calibration,
            has_posterior: intervals.predictive.is_some(),
            coverage: coverage(&covered, level),
            residuals: residual_check(residuals),
        },
    })
}

/// What was found of all nodes, and of each.
pub(super) struct Found {
    pub(super) uncertainty: Uncertainty,
    pub(super) nodes: Vec<NodeInterval>,
}

/// The residuals of a node, each with how many rows it stands for.
fn counted_residuals(residuals: &Residuals, node: usize) -> Vec<(f64, f64)> {
    let counts = residuals.counts.as_ref().map(|counts| &counts[node]);
    let count = |place: usize| counts.map_or(1.0, |counts| counts[place]);
    let own = residuals.nodes[node].iter().enumerate();
    own.map(|(place, residual)| (*residual, count(place))).collect()
}

fn row_count(residuals: &[(f64, f64)]) -> f64 {
    residuals.iter().map(|(_, count)| count).sum()
}

fn node_interval(band: &Band, covered: &NodeCoverage, residuals: &[(f64, f64)]) -> NodeInterval {
    let of_rows = |sum: f64| (covered.rows > 0).then(|| sum / covered.row_count);
    NodeInterval {
        basis: basis(band, SHOWN_LEVEL),
        width: of_rows(covered.width).filter(|width| width.is_finite()),
        covered: of_rows(covered.covered),
        residual: mean_and_deviation(residuals).map(|(mean, _)| mean),
        residual_error: mean_and_deviation(residuals)
            .filter(|_| row_count(residuals) > 1.0)
            .map(|(_, deviation)| deviation / row_count(residuals).sqrt()),
    }
}

/// What an interval of a node rests on, or why there is none.
#[must_use]
pub fn basis(band: &Band, level: f64) -> String {
    match *band {
        Band::Calibrated { own, others, reach, .. } => {
            let own = counted(own, "own row");
            match reach {
                Reach::Own => own,
                Reach::Edges(1) => format!("{own} and {} of its neighbours", count(others)),
                Reach::Edges(edges) => {
                    format!("{own} and {} of nodes up to {edges} edges away", count(others))
                }
                Reach::All => format!("{own} and {} of all other nodes", count(others)),
            }
        }
        Band::Modelled { .. } => "the model alone, which no other row checks".into(),
        Band::TooFew { rows, largest_level } => {
            let allowed = if rows == 0 {
                "no row is left to calibrate it".into()
            } else {
                let verb = if rows == 1 { "allows" } else { "allow" };
                // Rounded down, because it is a limit.
                let percent = tick((100.0 * largest_level).floor());
                format!("{} {verb} at most {percent} %", counted(rows, "row"))
            };
            format!("too few rows for a {} interval: {allowed}", level_in_words(level))
        }
    }
}

/// A level such as `90 %`.
#[must_use]
pub fn level_in_words(level: f64) -> String {
    format!("{} %", tick(100.0 * level))
}

fn mean_and_deviation(values: &[(f64, f64)]) -> Option<(f64, f64)> {
    let count = row_count(values);
    let mean = values.iter().map(|(value, own)| own * value).sum::<f64>() / count;
    let squares: f64 = values.iter().map(|(value, own)| own * (value - mean).powi(2)).sum();
    // Rows of small weights may stand for less than one in all.
    let deviation = (squares / (count - 1.0).max(1.0)).sqrt();
    // A model that has diverged leaves sums that are no numbers.
    (!values.is_empty() && deviation.is_finite()).then_some((mean, deviation))
}

/// How often intervals cover the test rows; none without any.
fn coverage(nodes: &[NodeCoverage], level: f64) -> Option<Coverage> {
    let share = |node: &NodeCoverage| node.covered / node.row_count;
    let mut shares: Vec<f64> = nodes.iter().filter(|node| node.rows > 0).map(share).collect();
    shares.sort_by(f64::total_cmp);
    let sum = |value: &dyn Fn(&NodeCoverage) -> f64| nodes.iter().map(value).sum::<f64>();
    let rows = sum(&|node| node.row_count);
    // The tenth of the nodes with the least coverage ends here.
    let tenth = shares.get((shares.len().div_ceil(10)).checked_sub(1)?)?;
    let behind = shares.iter().filter(|share| **share < level - LEFT_BEHIND).count();
    Some(Coverage {
        rows: nodes.iter().map(|node| node.rows).sum(),
        nodes: shares.len(),
        covered: sum(&|node| node.covered) / rows,
        worst_tenth: *tenth,
        nodes_below: behind,
        below: level - LEFT_BEHIND,
        mean_width: Some(sum(&|node| node.width) / rows).filter(|width| width.is_finite()),
    })
}

/// Residuals of all nodes as a distribution; none without any.
fn residual_check(residuals: &Residuals) -> Option<ResidualCheck> {
    let mut all: Vec<(f64, f64)> =
        (0..residuals.nodes.len()).flat_map(|node| counted_residuals(residuals, node)).collect();
    let (mean, deviation) = mean_and_deviation(&all)?;
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    let count = all.len().min(MOST_QUANTILES);
    let total = row_count(&all);
    // The middle of each of so many equal parts.
    let quantile = |k: usize| {
        if residuals.counts.is_none() {
            return all[(2 * k + 1) * all.len() / (2 * count)].0;
        }
        let (wanted, mut sum) = ((2 * k + 1) as f64 * total / (2 * count) as f64, 0.0);
        let reaches = |(_, own): &&(f64, f64)| {
            sum += own;
            sum > wanted
        };
        all.iter().find(reaches).or(all.last()).map_or(0.0, |(residual, _)| *residual)
    };
    Some(ResidualCheck {
        rows: all.len(),
        mean,
        deviation,
        quantiles: (0..count).map(quantile).collect(),
    })
}

/// How much nodes differ, coefficient by coefficient; none without a posterior.
#[must_use]
pub fn variances(assembly: &Assembly, fitted: &Fitted) -> Option<Variances> {
    let posterior = assembly.study.posterior(fitted)?;
    // Classes have as many maps as linear predictors here: the first has none to be estimated.
    let names = names(assembly, posterior.predictors.len());
    let spreads = posterior.predictors.iter().flat_map(PredictorPosterior::spreads);
    let one = |(name, spread): (&CoefficientName, CoefficientSpread)| CoefficientOutcome {
        name: name.clone(),
        mean: spread.mean,
        standard_error: spread.standard_error,
        variance: spread.variance,
        source: spread.source,
        deviation: spread.deviation,
        effect: spread.effect,
    };
    let size = names.len();
    let correlation = |all: &Vec<f64>, a: usize, b: usize| Correlation {
        between: [names[b].to_string(), names[a].to_string()],
        value: all[a * size + b],
    };
    let mut correlations = Vec::new();
    if let Some(all) = &posterior.correlations {
        let pairs = (0..size).flat_map(|a| (0..a).map(move |b| (a, b)));
        correlations.extend(pairs.map(|(a, b)| correlation(all, a, b)));
    }
    Some(Variances {
        coefficients: names.iter().zip(spreads).map(one).collect(),
        correlations,
        noise: match posterior.predictive.response {
            Response::Normal(variance) => Some(variance),
            Response::Counts | Response::Classes => None,
        },
        rho: posterior.rho,
        deviance: posterior.deviance,
        covariances: posterior.covariances,
    })
}
