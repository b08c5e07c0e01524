//! What a run has found as tables of text, for terminals and notebooks.

use crate::{
    number::{Apart, count, percent, perhaps, significant},
    outcome::{self, CandidateOutcome, Entry, FederationOutcome, OriginOutcome, Outcome},
};

/// The comparison as a table of at most 80 columns.
#[must_use]
pub fn table(outcome: &Outcome) -> String {
    let c = &outcome.comparison;
    let chosen = format!("by {}, chosen", outcome.method.kind);
    let is_named = outcome.method.candidates.is_empty();
    let network = if is_named { outcome::about(&outcome.method.kind) } else { &chosen };
    let alone = [
        ("local", "every node alone", &c.local),
        ("pooled", "one model for all", &c.pooled),
        ("shrunk", "pulled to pooled, no network", &c.shrunk),
        ("mixed", "mixed model, no network", &c.mixed),
        ("network", network, &c.network),
    ];
    let digits = c.digits();
    let row = |name: &str, what: &str, entry: &Entry| {
        row(name, what, entry, (digits, outcome.at_site.is_some()))
    };
    let has_accuracy = outcome.own().is_some_and(|(_, entry)| entry.accuracy.is_some());
    let extra = if has_accuracy { "accuracy" } else { "" };
    // A site has one error of each, on the rows that both could be measured on.
    let errors = outcome.at_site.map_or_else(
        || format!("{:>11}{:>9}", "validation", "test"),
        |measured| format!("{measured:>20}"),
    );
    let heading = format!("{:<42}{errors}{extra:>10}", outcome.metric);
    let mut lines = vec![heading.trim_end().to_string()];
    let rows = alone.iter().filter_map(|(name, what, entry)| Some((name, what, entry.as_ref()?)));
    lines.extend(rows.map(|(name, what, entry)| row(name, what, entry)));
    // Below the network, because they are other ways to use it.
    let members = c.members.iter();
    lines.extend(members.map(|(name, entry)| row(&format!("  {name}"), "not chosen", entry)));
    let shuffled = c.shuffled.iter();
    lines.extend(shuffled.map(|entry| row("shuffled", "the network with shuffled nodes", entry)));
    let baselines = c.baselines.iter();
    lines.extend(baselines.map(|(name, entry)| row(name, outcome::about(name), entry)));
    lines.join("\n")
}

/// What all sites of a federation have found together, beside this site, as a table of at most 80 columns; none where they
/// have not judged.
#[must_use]
pub fn federation(outcome: &Outcome) -> Option<String> {
    let found = outcome.federation.as_ref()?;
    let methods = found.methods();
    let digits = Apart::new(methods.iter().map(|(.., error)| *error));
    let heading = format!("{:<42}{:>11}{:>11}", outcome.metric, "all sites", "this site");
    let line = |(name, what, error): &(&str, &str, f64)| {
        let own = FederationOutcome::error_of(&found.nodes, name);
        let own = own.map_or_else(|| "-".into(), significant);
        format!("{name:<11}{what:<31} {:>10} {own:>10}", digits.text(*error))
    };
    let lines: Vec<String> = std::iter::once(heading).chain(methods.iter().map(line)).collect();
    (!methods.is_empty()).then(|| lines.join("\n"))
}

/// The networks there were to choose from as a table; none without a choice.
#[must_use]
pub fn candidates(outcome: &Outcome) -> Option<String> {
    let candidates = &outcome.network.candidates;
    let heading = format!("{:<32}{:>10}{:>11}", "network candidates", "edges", "validation");
    let line = |one: &CandidateOutcome| {
        let mark = if one.chosen { "  chosen" } else { "" };
        let validation = significant(one.validation);
        format!("{:<32}{:>10}{validation:>11}{mark}", one.name, count(one.edges))
    };
    let lines: Vec<String> = std::iter::once(heading).chain(candidates.iter().map(line)).collect();
    (!candidates.is_empty()).then(|| lines.join("\n"))
}

/// The errors on test rows at each rolling origin as a table of at most 80 columns; none if there is one study.
#[must_use]
pub fn origins(outcome: &Outcome) -> Option<String> {
    let names: Vec<&str> =
        outcome.comparison.plain_rows().into_iter().map(|(name, _)| name).collect();
    let cells = |heading: String, cell: &dyn Fn(&str) -> String| {
        names.iter().fold(heading, |line, name| line + &format!(" {:>8}", cell(name)))
    };
    let mut lines =
        vec![cells(format!("{:<20}{:>8}", "test error from", "rows"), &|name| name.into())];
    for origin in &outcome.origins {
        let rows = origin.comparison.plain_rows();
        let error = |name: &str| {
            let entry = rows.iter().find(|(known, _)| *known == name);
            perhaps(entry.map(|(_, entry)| entry.error()))
        };
        let heading = format!("{:<20}{:>8}", origin.test_from, count(origin.test_rows));
        lines.push(cells(heading, &error));
    }
    let spread = |name: &str| OriginOutcome::spread(&outcome.origins, name);
    let mean = |name: &str| significant(spread(name).0);
    let error = |name: &str| significant(spread(name).1);
    lines.push(cells(format!("{:<28}", "mean of origins"), &mean));
    lines.push(cells(format!("{:<28}", "its standard error"), &error));
    (!outcome.origins.is_empty()).then(|| lines.join("\n"))
}

fn row(name: &str, what: &str, entry: &Entry, (digits, is_single): (Apart, bool)) -> String {
    let accuracy = entry.accuracy.map_or_else(String::new, percent);
    let several = entry.spread.as_ref().filter(|spread| spread.repeats > 1);
    let spread = several.map_or_else(String::new, |s| {
        format!("  ({} to {})", digits.text(s.min), digits.text(s.max))
    });
    let errors = if is_single {
        format!(" {:>19}", digits.text(entry.error()))
    } else {
        format!(" {:>10} {:>8}", digits.text(entry.validation), digits.perhaps(entry.test))
    };
    let line = format!("{name:<10} {what:<31}{errors}{accuracy:>10}");
    let line = if accuracy.is_empty() { line.trim_end() } else { &line };
    let width = line.chars().count() + spread.chars().count();
    // What does not fit beside it stands below.
    if width > LINE_CHARS { format!("{line}\n{spread:>62}") } else { format!("{line}{spread}") }
}

/// The width of a terminal that nobody has made larger.
const LINE_CHARS: usize = 80;
