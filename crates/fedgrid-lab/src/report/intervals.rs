//! Intervals and residuals, as the page prints them.

use fedgrid::uncertainty::{CalibrationRows, normal_quantile};
use minijinja::{Value, context};

use super::{
    axis::{Axis, AxisScale},
    chart::{self, ChartLine, HistogramColumn, Segment},
};
use crate::{
    assembly::listed,
    number,
    outcome::{Coverage, NodeInterval, NodeOutcome, Outcome, ResidualCheck, Uncertainty},
    summary::level_in_words,
};

/// How wide a column of the chart of coverage is, in per cent.
const COLUMN_PERCENT: f64 = 5.0;

/// What intervals rest on and how often they cover test rows; none without any.
pub(super) fn intervals(outcome: &Outcome) -> Option<Value> {
    let uncertainty = outcome.uncertainty.as_ref()?;
    let level = level_in_words(uncertainty.level);
    let without: Vec<&NodeOutcome> = outcome.nodes.iter().filter(|node| has_none(node)).collect();
    let missing = without.first().and_then(|first| {
        let names = without.iter().map(|node| node.called());
        let who = listed(names, "has", "have");
        Some(format!("{who} no interval: {}.", first.interval.as_ref()?.basis))
    });
    Some(context! {
        rests => rests(uncertainty),
        promise => promise(uncertainty.calibration),
        figures => uncertainty.coverage.as_ref().map(figures),
        chart => uncertainty.coverage.as_ref().and_then(|_| shares(&outcome.nodes, uncertainty.level)),
        level, missing,
    })
}

fn has_none(node: &NodeOutcome) -> bool {
    node.interval.as_ref().is_some_and(|interval| interval.basis.starts_with("too few rows"))
}

/// What intervals are made of, in a sentence.
fn rests(uncertainty: &Uncertainty) -> &'static str {
    match (uncertainty.has_posterior, uncertainty.calibration) {
        (true, CalibrationRows::None) => {
            "Their widths are those of the fitted model, and no other row checks them."
        }
        (true, _) => {
            "The errors of coefficients say which are wider than others, and the rows below how wide all are."
        }
        (false, _) => "At each node all are equally wide.",
    }
}

/// How sure the level is.
fn promise(calibration: CalibrationRows) -> &'static str {
    match calibration {
        CalibrationRows::Validation => {
            "Widths are chosen on the validation rows of a node and, where these are few, of its neighbours, which count \
             less. For rows that are like those the level is a lower bound, however few they are; where a strength was \
             chosen on the same rows, slightly less is to be expected."
        }
        CalibrationRows::Folds => {
            "Widths are chosen on the training rows of a node and, where these are few, of its neighbours, which count \
             less, each with models that were fitted without it. The level then holds by experience, not by a proof."
        }
        CalibrationRows::None => "There are no rows to choose widths on.",
    }
}

/// The numbers about coverage.
fn figures(coverage: &Coverage) -> Vec<Value> {
    let percent = |share: f64| format!("{:.1} %", 100.0 * share);
    let line = |name: String, value: String| context! { name, value };
    let rows = number::counted(coverage.rows, "test row");
    let below = level_in_words(coverage.below);
    let nodes = number::counted(coverage.nodes, "node");
    let mut lines = vec![
        line(format!("Covered, of {rows}"), percent(coverage.covered)),
        line("In the worst tenth of the nodes, at most".into(), percent(coverage.worst_tenth)),
        line(
            format!("Nodes of which less than {below} are covered"),
            format!("{} of {nodes}", number::count(coverage.nodes_below)),
        ),
    ];
    let width = coverage.mean_width;
    lines.extend(width.map(|width| line("Mean width".into(), number::significant(width))));
    lines
}

/// How many nodes have which share of their test rows covered.
fn shares(nodes: &[NodeOutcome], level: f64) -> Option<Value> {
    let covered = |node: &NodeOutcome| node.interval.as_ref()?.covered;
    let shares: Vec<f64> = nodes.iter().filter_map(covered).map(|share| 100.0 * share).collect();
    let least = shares.iter().copied().reduce(f64::min)?;
    // Where all rows of all nodes are covered, one column is still drawn.
    let first = (least / COLUMN_PERCENT).floor().min(95.0 / COLUMN_PERCENT);
    let starts = std::iter::successors(Some(first), |k| Some(k + 1.0));
    let columns: Vec<HistogramColumn> = starts
        .map(|k| (COLUMN_PERCENT * k, COLUMN_PERCENT * (k + 1.0)))
        .take_while(|(from, _)| *from < 100.0)
        .map(|(from, to)| {
            // All rows belong to the last column.
            let inside = |share: &&f64| **share >= from && (**share < to || to >= 100.0);
            let count = shares.iter().filter(inside).count();
            let class = if to <= 100.0 * level - 5.0 { "worse" } else { "better" };
            let title = format!("{}: {from} % to {to} %", number::counted(count, "node"));
            HistogramColumn { class, from, to, count, title }
        })
        .collect();
    Some(context! {
        svg => chart::columns("Histogram of the share of test rows that are covered, by node", &columns),
        y_label => "number of nodes",
        x_label => "test rows of the node that are covered (%)",
    })
}

/// Residuals against the normal distribution, and node by node; none without any.
pub(super) fn residuals(outcome: &Outcome) -> Option<Value> {
    let uncertainty = outcome.uncertainty.as_ref()?;
    let check = uncertainty.residuals.as_ref()?;
    let rows = match uncertainty.calibration {
        CalibrationRows::Folds => "training rows, each with models that were fitted without it",
        _ => "validation rows",
    };
    let unit = if uncertainty.has_posterior {
        "in standard deviations of the prediction"
    } else {
        "in units of the target"
    };
    Some(context! {
        rows => format!("{} {rows}", number::count(check.rows)),
        unit,
        mean => number::significant(check.mean),
        deviation => number::significant(check.deviation),
        has_posterior => uncertainty.has_posterior,
        quantiles => quantiles(check, uncertainty.has_posterior),
        by_node => by_node(&outcome.nodes, unit),
    })
}

/// The quantiles of residuals against those of the normal distribution.
fn quantiles(check: &ResidualCheck, has_posterior: bool) -> Option<Value> {
    // A model that says how far residuals should be is held to it; otherwise only their shape can be looked at.
    let (middle, scale) = if has_posterior { (0.0, 1.0) } else { (check.mean, check.deviation) };
    let count = check.quantiles.len();
    if count < 2 || scale <= 0.0 {
        return None;
    }
    // The middle of each of so many equal parts: at their ends quantiles are infinite.
    let expected = |k: usize| normal_quantile((k as f64 + 0.5) / count as f64);
    let points: Vec<(f64, f64)> = check
        .quantiles
        .iter()
        .enumerate()
        .map(|(k, quantile)| (expected(k), (quantile - middle) / scale))
        .collect();
    let end = expected(count - 1);
    let plain =
        |points: Vec<(f64, f64)>, class, dotted| ChartLine { class, points, dotted, mark: None };
    let x = Axis::within(points.iter().map(|point| point.0));
    let y = Axis::over(AxisScale::Linear, points.iter().map(|point| point.1).chain([end, -end]));
    let lines =
        [plain(vec![(-end, -end), (end, end)], "shuffled", false), plain(points, "network", true)];
    Some(context! {
        svg => chart::lines("Quantiles of residuals against those of the normal distribution", &x, &y, &lines),
        y_label => "quantiles of residuals",
        x_label => "quantiles of the normal distribution",
        note => "On the grey line the residuals are normal; steeper ends mean more large errors than that.",
    })
}

/// The mean residual of every node.
fn by_node(nodes: &[NodeOutcome], unit: &str) -> Option<Value> {
    let segment = |(place, node): (usize, &NodeOutcome)| {
        let NodeInterval { residual, residual_error, .. } = node.interval.as_ref()?;
        let value = residual.filter(|value| value.is_finite())?;
        let range = residual_error.map(|error| (value - 2.0 * error, value + 2.0 * error));
        let told = format!("mean residual {}", number::significant(value));
        Some(Segment { node: place, value, range, told })
    };
    let mut segments: Vec<Segment> = nodes.iter().enumerate().filter_map(segment).collect();
    segments.sort_by(|a, b| a.value.total_cmp(&b.value));
    let (every, segments) = chart::thinned(segments);
    let part = if every > 1 { format!(" One of {every} nodes is drawn.") } else { String::new() };
    (segments.len() > 1).then(|| {
        context! {
            svg => chart::caterpillar("Mean residual of each node with two standard errors", &segments, 0.0),
            y_label => format!("mean residual of each node, {unit}"),
            x_label => "nodes, by mean residual",
            note => format!("Bars are two standard errors to each side, from the few rows of the node.{part}"),
        }
    })
}
