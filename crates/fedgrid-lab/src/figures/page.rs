//! One page of all figures: what differs from the paper, the plot, and the table of values; it opens
//! offline, in light and dark.

use minijinja::{Environment, UndefinedBehavior, Value, context};

use super::{FigureOutcome, Row, plot};
use crate::{
    number::{counted, duration, perhaps, significant},
    report,
};

const PAGE: &str = include_str!("page.html");
const MARKDOWN: &str = include_str!("markdown.md");

/// The page as HTML.
#[must_use]
pub fn html(outcomes: &[FigureOutcome], seconds: f64) -> String {
    // The name's ending turns escaping on.
    rendered("page.html", PAGE, outcomes, seconds)
}

/// The same in words and tables, as Markdown.
#[must_use]
pub fn markdown(outcomes: &[FigureOutcome], seconds: f64) -> String {
    rendered("page.md", MARKDOWN, outcomes, seconds)
}

fn rendered(name: &str, template: &str, outcomes: &[FigureOutcome], seconds: f64) -> String {
    let mut environment = Environment::new();
    let syntax = environment.syntax().to_builder().trim_blocks(true).lstrip_blocks(true).build();
    environment.set_syntax(syntax.expect("the usual syntax"));
    // A key that the template misspells is an error of ours, found by the first test.
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    let rows = || outcomes.iter().flat_map(|outcome| &outcome.rows);
    let apart = outcomes.iter().filter(|outcome| !outcome.agrees());
    let quick = outcomes.iter().any(|outcome| outcome.quick);
    let values = context! {
        style => report::STYLE,
        plot_style => plot::STYLE,
        figures => outcomes.iter().map(figure).collect::<Vec<_>>(),
        inside => rows().filter(|row| row.agrees).count(),
        values => counted(rows().count(), "value"),
        count => counted(outcomes.len(), "figure"),
        apart => apart.map(|outcome| outcome.name.clone()).collect::<Vec<_>>(),
        duration => duration(seconds),
        threads => counted(rayon::current_num_threads(), "thread"),
        repeats => if quick { "quick run" } else { "full repeats" },
        version => env!("CARGO_PKG_VERSION"),
    };
    environment
        .render_named_str(name, template, values)
        .expect("the template asks only for what it is given")
}

fn figure(outcome: &FigureOutcome) -> Value {
    let file = &outcome.figure;
    let claims = outcome.claims.iter().map(|(says, holds)| context! { says, holds });
    let repeats = outcome.lines.iter().map(|line| line.measured.runs.len()).max().unwrap_or(0);
    context! {
        name => &outcome.name,
        id => outcome.name.replace('/', "-"),
        paper => &file.paper,
        number => &file.number,
        title => &file.title,
        differs => &file.differs,
        disagrees => file.disagrees.as_ref().filter(|_| !outcome.agrees()),
        agrees => outcome.agrees(),
        svg => plot::drawing(outcome, ""),
        rows => outcome.rows.iter().map(row).collect::<Vec<_>>(),
        claims => claims.collect::<Vec<_>>(),
        holding => outcome.claims.iter().filter(|(_, holds)| *holds).count(),
        inside => outcome.rows.iter().filter(|row| row.agrees).count(),
        duration => duration(outcome.seconds),
        theirs => &file.theirs,
        repeats => counted(repeats, "repeat"),
    }
}

fn row(row: &Row) -> Value {
    context! {
        series => &row.series,
        at => &row.at,
        ours => significant(row.ours),
        sd => significant(row.sd),
        runs => row.runs,
        theirs => significant(row.reference),
        their_sd => perhaps(row.reference_sd),
        their_runs => row.reference_runs,
        origin => row.origin,
        printed => perhaps(row.printed),
        band => format!("{} to {}", significant(row.low), significant(row.high)),
        agrees => row.agrees,
    }
}
