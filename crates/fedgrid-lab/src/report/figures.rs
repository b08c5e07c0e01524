//! The charts of the page, from what was found.

use minijinja::{Value, context};

use super::{
    axis::{Axis, AxisScale},
    chart::{self, Bar, ChartLine, HistogramColumn},
    map::finite_gain,
};
use crate::{
    number,
    outcome::{Comparison, Entry, Outcome, Spread},
};

/// More points on a line than these cannot be told apart at the width of the page.
const MAX_LINE_POINTS: usize = 400;
/// Up to so many points on the way have dots of their own; more would touch.
const MAX_DOTTED_POINTS: usize = 30;
/// Up to so many nodes have a bar of their own, about a screen full; more are counted in a histogram.
const MAX_NODE_BARS: usize = 24;
/// A bar may be so many times as long as the shortest before it is cut: one method that failed must not
/// make all others look alike.
const MAX_BAR_RATIO: f64 = 6.0;

/// The methods that were compared, by name.
pub(super) fn entries(comparison: &Comparison) -> Vec<(String, &Entry)> {
    let row = |name: &str, entry| Option::map(entry, |entry: &Entry| (name.to_string(), entry));
    let alone = [
        row("local", comparison.local.as_ref()),
        row("pooled", comparison.pooled.as_ref()),
        row("shrunk", comparison.shrunk.as_ref()),
        row("mixed", comparison.mixed.as_ref()),
        row("network", comparison.network.as_ref()),
    ];
    let members = comparison.members.iter().map(|(name, entry)| (format!("by {name}"), entry));
    let shuffled = row("shuffled", comparison.shuffled.as_ref());
    let baselines = comparison.baselines.iter().map(|(name, entry)| (name.clone(), entry));
    alone.into_iter().flatten().chain(members).chain(shuffled).chain(baselines).collect()
}

/// The class, and so the colour, of a method.
pub(super) fn class_of(method: &str) -> &'static str {
    let known = ["local", "pooled", "shrunk", "mixed", "network", "shuffled"];
    known.into_iter().find(|name| *name == method).unwrap_or("other")
}

/// Bars of the error that counts: on test rows, or else on validation rows.
pub(super) fn comparison(outcome: &Outcome, measured: &str) -> Option<Value> {
    let entries = entries(&outcome.comparison);
    let digits = outcome.comparison.digits();
    let bars: Vec<Bar> = entries
        .into_iter()
        .map(|(name, entry)| Bar {
            class: class_of(&name),
            name,
            value: entry.error(),
            text: digits.text(entry.error()),
            spread: several(entry).map(|spread| (spread.min, spread.max)),
        })
        .filter(|bar| bar.value.is_finite())
        .collect();
    let shortest = bars.iter().map(|bar| bar.value).fold(f64::INFINITY, f64::min);
    let label = format!("Bar chart of the {measured} of each method");
    let limit = MAX_BAR_RATIO * shortest;
    let spread = outcome.comparison.shuffled.as_ref().and_then(several);
    let whisker = spread.map(|spread| {
        let shuffles = number::counted(spread.repeats, "shuffle");
        format!("The whisker spans the smallest and largest error of {shuffles}.")
    });
    let cut = bars.iter().any(|bar| bar.value > limit).then(|| "Bars with // are cut.".into());
    let notes: Vec<String> = whisker.into_iter().chain(cut).collect();
    (bars.len() > 1).then(|| {
        context! {
            svg => chart::bars(&label, &bars, limit),
            y_label => format!("{measured}, lower is better"),
            note => notes.join(" "),
        }
    })
}

/// The spread of an error over repetitions, if there are several.
fn several(entry: &Entry) -> Option<&Spread> {
    entry.spread.as_ref().filter(|spread| spread.repeats > 1)
}

/// The gain of every node: bars of few, a histogram of many.
pub(super) fn gains(outcome: &Outcome) -> Option<Value> {
    let mut gains: Vec<(f64, &str)> =
        outcome.nodes.iter().filter_map(|node| Some((finite_gain(node)?, node.called()))).collect();
    gains.sort_by(|a, b| b.0.total_cmp(&a.0));
    if gains.is_empty() {
        return None;
    }
    if gains.len() <= MAX_NODE_BARS {
        let bar = |&(value, name): &(f64, &str)| Bar {
            class: sign(value),
            name: name.into(),
            value,
            text: number::significant(value),
            spread: None,
        };
        let bars: Vec<Bar> = gains.iter().map(bar).collect();
        let svg = chart::bars("Bar chart of the gain of each node", &bars, f64::INFINITY);
        return Some(context! { svg, y_label => "gain of each node", note => () });
    }
    // What neither gains nor is harmed belongs on neither side of zero.
    let changed: Vec<f64> =
        gains.iter().rev().map(|(gain, _)| *gain).filter(|gain| *gain != 0.0).collect();
    if changed.is_empty() {
        return None;
    }
    let (columns, beyond) = histogram(&changed);
    Some(context! {
        svg => chart::columns("Histogram of the gain of the nodes", &columns),
        y_label => "number of nodes",
        x_label => "gain (error alone minus error with the network)",
        note => not_shown(gains.len() - changed.len(), beyond),
    })
}

/// What a reader of the histogram cannot see.
fn not_shown(unchanged: usize, beyond: usize) -> Option<String> {
    let unchanged = (unchanged > 0)
        .then(|| format!("Not drawn: {} without any change.", number::counted(unchanged, "node")));
    let beyond = (beyond > 0).then(|| {
        format!("Outermost columns include {} beyond the axis.", number::counted(beyond, "node"))
    });
    let notes: Vec<String> = unchanged.into_iter().chain(beyond).collect();
    (!notes.is_empty()).then(|| notes.join(" "))
}

fn sign(gain: f64) -> &'static str {
    if gain < 0.0 { "worse" } else { "better" }
}

/// Columns of values other than zero, with an edge at zero, and how many lie beyond them.
fn histogram(sorted: &[f64]) -> (Vec<HistogramColumn>, usize) {
    // A single node far off would squeeze all others into one column.
    let (low, high) = (quantile(sorted, 0.01).min(0.0), quantile(sorted, 0.99).max(0.0));
    let width = if high > low { (high - low) / 24.0 } else { 1.0 };
    let (first, last) = ((low / width).floor(), (high / width).ceil().max(1.0));
    let starts = std::iter::successors(Some(first), |k| Some(k + 1.0)).take_while(|k| *k < last);
    let columns = starts.map(|k| {
        let (from, to) = (k * width, (k + 1.0) * width);
        // The outermost columns take what lies beyond them.
        let inside = |v: &&f64| (k <= first || **v >= from) && (k + 1.0 >= last || **v < to);
        let count = sorted.iter().filter(inside).count();
        let title = format!(
            "{}: {} to {}",
            number::counted(count, "node"),
            number::significant(from),
            number::significant(to)
        );
        HistogramColumn { class: if k < 0.0 { "worse" } else { "better" }, from, to, count, title }
    });
    let beyond = sorted.iter().filter(|v| **v < first * width || **v > last * width).count();
    (columns.collect(), beyond)
}

/// The value that a share of sorted values does not exceed.
pub(super) fn quantile(sorted: &[f64], share: f64) -> f64 {
    let last = sorted.len().saturating_sub(1);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a share of a length is a position"
    )]
    let index = (share * last as f64).round() as usize;
    sorted.get(index.min(last)).copied().unwrap_or(0.0)
}

/// The residual by round or by product of the direct solver, or the certified gap by step.
pub(super) fn residuals(outcome: &Outcome) -> Option<Value> {
    let of_rounds: Vec<f64> = outcome.history.iter().map(|round| round.residual).collect();
    let values = if outcome.residuals.is_empty() { &of_rounds } else { &outcome.residuals };
    let points: Vec<(f64, f64)> = if outcome.steps.len() == values.len() {
        let steps = outcome.steps.iter().map(|step| *step as f64);
        steps.zip(values.iter().copied()).filter(|(_, value)| value.is_finite()).collect()
    } else {
        numbered(values.iter().copied().filter(|value| value.is_finite()))
    };
    // A logarithmic axis has no place for zero, and one point makes no line.
    if points.iter().filter(|point| point.1 > 0.0).count() < 2 {
        return None;
    }
    let (what, steps) = (measured(outcome), steps(outcome));
    Some(context! {
        svg => over_rounds(&format!("Line chart of the {what} by {steps}"), points, AxisScale::Log),
        y_label => format!("{what} (log scale)"),
        x_label => steps,
    })
}

/// The objective by round.
pub(super) fn objective(outcome: &Outcome) -> Option<Value> {
    let values = outcome.history.iter().map(|round| round.objective);
    let points = numbered(values.filter(|value| value.is_finite()));
    (points.len() > 1).then(|| {
        context! {
            svg => over_rounds("Line chart of the objective by round", points, AxisScale::Linear),
            y_label => "objective (training loss + α × variation over edges)",
            x_label => "round",
        }
    })
}

/// What is measured on the way.
fn measured(outcome: &Outcome) -> &str {
    if outcome.steps.is_empty() { "residual" } else { &outcome.certificate.kind }
}

/// What the solver takes one of to come nearer.
fn steps(outcome: &Outcome) -> &'static str {
    match outcome.method.solver.as_str() {
        "direct" if outcome.steps.is_empty() => "matrix-vector products",
        "direct" => "step over all edges",
        _ => "round",
    }
}

fn numbered(values: impl Iterator<Item = f64>) -> Vec<(f64, f64)> {
    values.enumerate().map(|(index, value)| ((index + 1) as f64, value)).collect()
}

pub(super) fn over_rounds(label: &str, points: Vec<(f64, f64)>, scale: AxisScale) -> String {
    let x = Axis::within(points.iter().map(|point| point.0).chain([0.0]));
    let y = Axis::over(scale, points.iter().map(|point| point.1));
    let every = points.len().div_ceil(MAX_LINE_POINTS);
    let last = points.len() - 1;
    // The last point is where the solver has ended, and is kept whatever is left out.
    let kept = points.into_iter().enumerate().filter(|(i, _)| i % every == 0 || *i == last);
    let points = kept.map(|(_, point)| point).collect();
    // A line of few points is a guess between them.
    let dotted = last < MAX_DOTTED_POINTS;
    chart::lines(label, &x, &y, &[ChartLine { class: "network", points, dotted, mark: None }])
}

/// The validation error against the pull, the best over ridges.
pub(super) fn path(outcome: &Outcome, metric: &str) -> Option<Value> {
    let mut lines = Vec::new();
    // The network comes last, so that it is drawn over what it is compared with.
    for (class, start) in [("shuffled", "shuffled"), ("shrunk", "shrunk"), ("network", "network")] {
        let is_of = |name: &str| name == start || start == "shuffled" && name.starts_with(start);
        for points in outcome.path.iter().filter(|(name, _)| is_of(name)) {
            let points = best_by_pull(points.1);
            if !points.is_empty() {
                let chosen = points.iter().copied().reduce(|a, b| if b.1 < a.1 { b } else { a });
                // Shuffles are many and only a background: dots and marks would hide the lines that matter.
                let dotted = class != "shuffled";
                lines.push(ChartLine { class, points, dotted, mark: chosen.filter(|_| dotted) });
            }
        }
    }
    if lines.iter().all(|line| line.points.len() < 2) {
        return None;
    }
    let x =
        Axis::over(AxisScale::Log, lines.iter().flat_map(|line| &line.points).map(|point| point.0));
    let (left, right) = x.ends();
    let mut legend: Vec<&str> = lines.iter().rev().map(|line| line.class).collect();
    legend.dedup();
    let dashed = |class| if class == "local" { "dashed" } else { "dotted" };
    let mut legend: Vec<Value> =
        legend.into_iter().map(|class| context! { class, text => class }).collect();
    for (class, entry) in entries(&outcome.comparison).into_iter().take(2) {
        if matches!(class.as_str(), "local" | "pooled") && entry.validation.is_finite() {
            let points = vec![(left, entry.validation), (right, entry.validation)];
            let class = class_of(&class);
            lines.insert(0, ChartLine { class, points, dotted: false, mark: None });
            legend.push(context! { class, text => format!("{class} ({})", dashed(class)) });
        }
    }
    let values = || lines.iter().flat_map(|line| &line.points).map(|point| point.1);
    let (low, high) = (values().fold(f64::INFINITY, f64::min), values().fold(0.0, f64::max));
    // On a linear axis, errors that differ by a factor of eight hide the small ones.
    let scale = if low > 0.0 && high > 8.0 * low { AxisScale::Log } else { AxisScale::Linear };
    let label = format!("Line chart of the validation {metric} against the pull α");
    Some(context! {
        svg => chart::lines(&label, &x, &Axis::over(scale, values()), &lines),
        y_label => format!(
            "validation {metric}{}", if scale == AxisScale::Log { " (log scale)" } else { "" }
        ),
        x_label => "pull α (log scale)",
        legend,
    })
}

/// For each pull the smallest error over ridges, from weak to strong; no pull has no place on a
/// log axis.
fn best_by_pull(points: &[fedgrid::compare::PathPoint]) -> Vec<(f64, f64)> {
    let mut drawn: Vec<(f64, f64)> = points
        .iter()
        .map(|point| (point.alpha, point.validation))
        .filter(|(alpha, validation)| *alpha > 0.0 && alpha.is_finite() && validation.is_finite())
        .collect();
    drawn.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    // Strengths of two ridges come from two searches and may differ by rounding.
    drawn.dedup_by(|next, kept| next.0 <= kept.0 * (1.0 + 1e-9));
    drawn
}

#[cfg(test)]
mod tests {
    use fedgrid::compare::PathPoint;

    use super::*;

    #[test]
    fn of_each_pull_the_best_ridge_is_shown() {
        let point = |alpha, validation| PathPoint { alpha, ridge: Some(0.1), validation };
        let points = [point(1.0, 5.0), point(0.1, 7.0), point(1.0, 4.0), point(0.0, 1.0)];
        assert_eq!(best_by_pull(&points), [(0.1, 7.0), (1.0, 4.0)]);
    }

    #[test]
    fn a_histogram_counts_every_node_once_and_parts_gain_from_harm() {
        let gains: Vec<f64> = (0..200).map(|i| f64::from(i) / 100.0 - 0.505).collect();
        let (columns, _) = histogram(&gains);
        assert_eq!(columns.iter().map(|column| column.count).sum::<usize>(), gains.len());
        let worse = columns.iter().filter(|column| column.class == "worse");
        assert_eq!(worse.map(|column| column.count).sum::<usize>(), 51);
    }

    #[test]
    fn nodes_of_equal_gain_have_a_histogram_too() {
        for gain in [-2.0, 2.0] {
            let (columns, beyond) = histogram(&[gain; 30]);
            assert_eq!((columns.iter().map(|column| column.count).sum::<usize>(), beyond), (30, 0));
        }
    }
}
