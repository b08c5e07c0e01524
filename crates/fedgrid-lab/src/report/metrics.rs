//! What people read of predictions beside the error, as the page shows it: a table of all methods, and of the run's
//! own which classes are taken for which and whether probabilities are kept.

use fedgrid::metric::{ClassMeasures, Reliability, ReliabilityBin};
use minijinja::{Value, context};

use super::{
    axis::Axis,
    chart::{self, ChartLine},
    figures, view,
};
use crate::{
    number,
    outcome::{Entry, Outcome},
    readings::readings,
};

/// How many classes have a table of which is taken for which; more do not fit on a page.
const MOST_CLASSES: usize = 24;

/// The measures of all methods; none if nothing was measured.
pub(super) fn metrics(outcome: &Outcome) -> Option<Value> {
    let entries = figures::entries(&outcome.comparison);
    let first = entries.iter().find_map(|(_, entry)| entry.metrics.counting())?;
    let headings: Vec<&str> = readings(first).iter().map(|one| one.heading).collect();
    let row = |(name, entry): &(String, &Entry)| {
        let own = readings(entry.metrics.counting()?);
        let cells: Vec<String> = own.into_iter().map(|one| one.value).collect();
        Some(context! { name, cells, class => figures::class_of(name) })
    };
    let rows: Vec<Value> = entries.iter().filter_map(row).collect();
    let own = outcome.own().and_then(|(_, entry)| entry.metrics.counting());
    let classes = own.and_then(|own| own.classes());
    Some(context! {
        headings, rows,
        measured => view::rows_measured(outcome),
        who => view::who(outcome),
        of_classes => first.classes().is_some(),
        of_counts => first.numbers().is_some_and(|own| own.deviance.is_some()),
        class_count => outcome.classes.len(),
        confusion => classes.and_then(|own| confusion(own, &outcome.classes)),
        calibration => classes.and_then(|own| calibration(own.calibration.as_ref()?, &outcome.classes)),
    })
}

/// Which classes are taken for which.
fn confusion(own: &ClassMeasures, names: &[String]) -> Option<Value> {
    // Older results have no names of classes.
    if names.len() != own.confusion.len() || names.len() > MOST_CLASSES {
        return None;
    }
    let rows: Vec<Value> = names
        .iter()
        .zip(&own.confusion)
        .enumerate()
        .map(|(truth, (name, cells))| {
            let total: f64 = cells.iter().sum();
            let recall = if total > 0.0 {
                number::percent(cells[truth] / total)
            } else {
                number::ABSENT.into()
            };
            let cells: Vec<Value> = cells
                .iter()
                .enumerate()
                .map(|(given, cell)| context! { value => amount(*cell), own => given == truth })
                .collect();
            context! { name, cells, recall }
        })
        .collect();
    Some(context! { names => names.to_vec(), rows })
}

/// A number of rows, or what rows of other weights than one come to.
fn amount(weight: f64) -> String {
    if weight.fract() == 0.0 && weight < 1e15 {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "it is whole and no less than zero"
        )]
        return number::count(weight as usize);
    }
    number::significant(weight)
}

/// Shares that came out against probabilities.
fn calibration(own: &Reliability, names: &[String]) -> Option<Value> {
    let plain =
        |points: Vec<(f64, f64)>, class, dotted| ChartLine { class, points, dotted, mark: None };
    let points: Vec<(f64, f64)> =
        own.bins.iter().map(|bin| (bin.predicted, bin.observed)).collect();
    let (x, y) = (Axis::within([0.0, 1.0]), Axis::within([0.0, 1.0]));
    let lines =
        [plain(vec![(0.0, 0.0), (1.0, 1.0)], "shuffled", false), plain(points, "network", true)];
    let of = match names {
        [_, second] => format!("'{second}'"),
        _ => "the class that is predicted".into(),
    };
    let part = |bin: &ReliabilityBin| {
        context! {
            range => format!("{} to {}", number::tick(bin.from), number::tick(bin.to)),
            rows => amount(bin.weight),
            predicted => number::significant(bin.predicted),
            observed => number::significant(bin.observed),
        }
    };
    (!own.bins.is_empty()).then(|| {
        context! {
            error => number::significant(own.expected_error),
            bins => own.bins.iter().map(part).collect::<Vec<_>>(),
            svg => chart::lines("Share of rows that came out so, against their probability", &x, &y, &lines),
            y_label => format!("share of rows that are {of}"),
            x_label => format!("probability of {of}"),
        }
    })
}
