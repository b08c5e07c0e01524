//! The values of a figure as text: a table for the screen, and tables for other programs.

use std::fmt::Write as _;

use super::{FigureOutcome, Row};
use crate::number::{duration, significant};

/// The comparison as a table for the screen.
#[must_use]
pub fn screen(outcome: &FigureOutcome) -> String {
    let figure = &outcome.figure;
    let mut lines = vec![format!("{}  {}, {}", outcome.name, figure.paper, figure.number)];
    lines.push(format!("  {}", figure.title));
    let width = outcome.rows.iter().map(|row| row.series.chars().count()).max().unwrap_or(0).max(6);
    let cells = |row: &Row| {
        let spread = format!("± {}", significant(row.sd));
        let band = format!("{} to {}", significant(row.low), significant(row.high));
        (significant(row.ours), spread, significant(row.reference), band)
    };
    if !outcome.rows.is_empty() {
        lines.push(format!(
            "  {:<width$} {:>9} {:>14} {:>16} {:>14}  {:<30}",
            "series", "at", "ours", "", "theirs", "band"
        ));
    }
    for row in &outcome.rows {
        let (ours, spread, theirs, band) = cells(row);
        let verdict = if row.agrees { "agrees" } else { "DIFFERS" };
        lines.push(format!(
            "  {:<width$} {:>9} {ours:>14} {spread:>16} {theirs:>14}  {band:<30} {verdict}",
            row.series, row.at
        ));
    }
    for (claim, holds) in &outcome.claims {
        let verdict = if *holds { "holds" } else { "does NOT hold" };
        lines.push(format!("  {claim}: {verdict}"));
    }
    if let Some(reason) = figure.disagrees.as_ref().filter(|_| !outcome.agrees()) {
        lines.push(format!("  {reason}"));
    }
    let agreeing = outcome.rows.iter().filter(|row| row.agrees).count();
    lines.push(format!(
        "  {agreeing} of {} in their bands, {}",
        outcome.rows.len(),
        duration(outcome.seconds)
    ));
    lines.join("\n")
}

/// The comparison as CSV.
#[must_use]
pub fn csv(outcome: &FigureOutcome) -> String {
    let heading = "series,at,ours,sd,runs,reference,reference_sd,reference_runs,origin,printed,low,high,agrees";
    let perhaps = |value: Option<f64>| value.map_or_else(String::new, |value| value.to_string());
    let row = |row: &Row| {
        [
            quoted(&row.series),
            quoted(&row.at),
            row.ours.to_string(),
            row.sd.to_string(),
            row.runs.to_string(),
            row.reference.to_string(),
            perhaps(row.reference_sd),
            row.reference_runs.to_string(),
            row.origin.to_string(),
            perhaps(row.printed),
            row.low.to_string(),
            row.high.to_string(),
            row.agrees.to_string(),
        ]
        .join(",")
    };
    let rows = outcome.rows.iter().map(row);
    std::iter::once(heading.to_string()).chain(rows).map(|line| line + "\n").collect()
}

/// Every point of every line as CSV.
#[must_use]
pub fn curves_csv(outcome: &FigureOutcome) -> String {
    let mut text = String::from("series,x,middle,low,high\n");
    for line in &outcome.lines {
        let points = line.measured.xs.iter().zip(line.measured.middle()).zip(line.measured.range());
        for ((x, middle), (low, high)) in points {
            let name = quoted(&line.series.name);
            writeln!(text, "{name},{x},{middle},{low},{high}").expect("a string takes all");
        }
    }
    text
}

fn quoted(text: &str) -> String {
    // Names of lines hold commas, and CSV doubles quotes.
    format!("\"{}\"", text.replace('"', "\"\""))
}
