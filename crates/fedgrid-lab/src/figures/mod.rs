//! Every figure of the papers again: each is a file under `figures/`, and comes out as a table with
//! the authors' values beside ours, a plot, and a page of all.
//!
//! ```text
//! file ─▶ cases ─▶ repeats in parallel ─▶ middle and spread ─▶ bands ─▶ table, plot, page
//! ```
//!
//! The repeats are independent and seeded, so the numbers do not depend on the number of threads.

pub mod bands;
mod catalogue;
pub mod figure;
pub mod measured;
mod page;
mod plot;
mod runner;
mod averaging;
mod table;

use std::time::Instant;

use rayon::prelude::*;
use serde::Serialize;

use bands::Band;
pub use catalogue::{FigureEntry, all, find};
use figure::{Draw, Figure, Series};
use measured::{Curve, RepeatedLine};
pub use page::{html, markdown};
pub use plot::draw as plot;
use runner::FigureCase;
pub use table::{csv, curves_csv, screen};
use toml::Table;

use crate::error::{Error, Result};

/// A figure that has been run.
#[derive(Debug)]
pub struct FigureOutcome {
    /// Its name, such as `plug-in-and-learn/fig1a`.
    pub name: String,
    /// Its file.
    pub figure: Figure,
    /// Whether the run was a quick one.
    pub quick: bool,
    /// The lines that are drawn.
    pub lines: Vec<FigureLine>,
    /// What was compared.
    pub rows: Vec<Row>,
    /// What the paper says in words, and whether it holds here.
    pub claims: Vec<(String, bool)>,
    /// How long it took.
    pub seconds: f64,
}

/// A line with its values.
#[derive(Debug)]
pub struct FigureLine {
    /// What its file says.
    pub series: Series,
    /// What its repeats gave.
    pub measured: RepeatedLine,
}

/// One value beside the authors'.
#[derive(Debug, Clone, Serialize)]
pub struct Row {
    /// The name of the line.
    pub series: String,
    /// Where on the horizontal axis, or at which level.
    pub at: String,
    /// Our value.
    pub ours: f64,
    /// The standard deviation of our repeats.
    pub sd: f64,
    /// How many repeats.
    pub runs: usize,
    /// The authors' value.
    pub reference: f64,
    /// The standard deviation of their repeats, where it is known.
    pub reference_sd: Option<f64>,
    /// How many repeats they had.
    pub reference_runs: usize,
    /// Where it is from.
    pub origin: &'static str,
    /// The value of the printed figure, shown beside one from code.
    pub printed: Option<f64>,
    /// The lower end of the band.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
    /// Whether ours lies in it.
    pub agrees: bool,
}

impl FigureOutcome {
    /// Whether all values lie in their bands and all claims hold.
    #[must_use]
    pub fn agrees(&self) -> bool {
        self.rows.iter().all(|row| row.agrees) && self.claims.iter().all(|(_, holds)| *holds)
    }
}

/// Runs one figure, unless it is told to stop on the way.
pub fn run(
    entry: &FigureEntry,
    quick: bool,
    stops: &(dyn Fn() -> bool + Sync),
) -> Result<FigureOutcome> {
    let begun = Instant::now();
    let figure = entry.figure()?;
    let lines = measure(&figure, quick, stops)?;
    let rows = lines.iter().flat_map(compared).collect();
    let claims = judged(&figure, &lines);
    // Hidden lines have served as bases and in claims; nobody is to see them.
    let lines = lines.into_iter().filter(|line| line.series.draw != Draw::Hidden).collect();
    let seconds = begun.elapsed().as_secs_f64();
    Ok(FigureOutcome { name: entry.name.to_string(), figure, quick, lines, rows, claims, seconds })
}

/// All repeats of all lines, and what becomes of them. Lines with the same keys share their repeats.
fn measure(
    figure: &Figure,
    quick: bool,
    stops: &(dyn Fn() -> bool + Sync),
) -> Result<Vec<FigureLine>> {
    let wanted: Vec<&Series> = figure.lines(quick).collect();
    let keys: Vec<Table> = wanted.iter().map(|series| figure.keys(series, quick)).collect();
    // Many figures draw one run in several ways, or divide by it.
    let first = |line: usize| keys.iter().position(|other| *other == keys[line]).unwrap_or(line);
    let repeats = |line: usize| figure.repeats(wanted[line], quick);
    let most = |line: usize| {
        let same = (0..wanted.len()).filter(|&other| first(other) == line);
        if first(line) == line { same.map(repeats).max().unwrap_or(0) } else { 0 }
    };
    let cases = keys.iter().cloned().map(FigureCase::from_keys).collect::<Result<Vec<_>>>()?;
    let jobs: Vec<(usize, u64)> = (0..wanted.len())
        .flat_map(|line| (0..most(line) as u64).map(move |repeat| (line, repeat)))
        .collect();
    let curves: Vec<Curve> = jobs
        .par_iter()
        // Repeats of different lines differ widely in length: each is a job of its own.
        .with_max_len(1)
        .map(|&(line, repeat)| {
            if stops() {
                return Err(Error::Interrupted);
            }
            cases[line].run(figure.seed + repeat)
        })
        .collect::<Result<_>>()?;
    let mut of_line = vec![Vec::new(); wanted.len()];
    for ((line, _), curve) in jobs.into_iter().zip(curves) {
        of_line[line].push(curve);
    }
    let measured = |(line, series): (usize, &&Series)| {
        let curves = &of_line[first(line)][..repeats(line)];
        RepeatedLine::new(curves, series.statistic)
    };
    let measured: Vec<RepeatedLine> = wanted.iter().enumerate().map(measured).collect();
    let index_of = |name: &str| wanted.iter().position(|series| series.name == name);
    let line = |(series, own): (&&Series, &RepeatedLine)| {
        let base = series.relative_to.as_deref().and_then(index_of);
        let measured =
            base.map_or_else(|| own.clone(), |base| own.relative_to(&measured[base], series.each));
        FigureLine { series: (*series).clone(), measured }
    };
    Ok(wanted.iter().zip(&measured).map(line).collect())
}

/// The values of a line beside the authors'; those that this run does not reach are left out.
fn compared(line: &FigureLine) -> impl Iterator<Item = Row> {
    line.series.references.iter().filter_map(|reference| {
        let ours = line.measured.ours(reference)?;
        let Band { low, high } = Band::around(reference, ours);
        let at = match (reference.x, reference.below) {
            (Some(x), _) => crate::number::tick(x),
            (None, level) => format!("≤ {}", crate::number::tick(level.unwrap_or(0.0))),
        };
        Some(Row {
            series: line.series.name.clone(),
            at,
            ours: ours.value,
            sd: ours.sd,
            runs: ours.runs,
            reference: reference.value,
            reference_sd: reference.sd,
            reference_runs: reference.runs,
            origin: reference.origin.name(),
            printed: reference.printed,
            low,
            high,
            agrees: Band { low, high }.contains(ours.value),
        })
    })
}

fn judged(figure: &Figure, lines: &[FigureLine]) -> Vec<(String, bool)> {
    let at =
        |name: &str, x| lines.iter().find(|line| line.series.name == name)?.measured.middle_at(x);
    let holds = |claim: &figure::Claim| {
        let (lower, higher) = (at(&claim.lower, claim.x)?, at(&claim.higher, claim.x)?);
        Some((claim.says.clone(), lower < higher))
    };
    figure.claims.iter().filter_map(holds).collect()
}
