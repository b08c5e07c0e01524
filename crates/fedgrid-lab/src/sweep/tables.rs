//! The table of a sweep, and all its numbers for other programs.

use super::{CaseResult, CellOutcome, CellRecord, SeedMean, Sweep, SweepResult, result::found_in};
use crate::{
    grid::{ColumnUse, Grid, GridCell, GridColumn, quoted},
    number::{counted, percent},
    outcome::Entry,
};

/// The order of methods in tables; baselines come behind them.
const METHODS: [&str; 6] = ["local", "pooled", "shrunk", "mixed", "network", "shuffled"];

/// One row per case: the values of keys, the mean error of each method with its standard error over seeds, the share of
/// seeds with each verdict, and which seeds failed.
#[must_use]
pub fn grid(result: &SweepResult) -> Grid {
    let names = methods(result);
    let has_failed = result.failures() > 0;
    let is_chosen = result.cases.iter().any(|case| case.methods.len() > 1);
    let metric = result.metric();
    let mut columns: Vec<GridColumn> =
        result.keys.iter().map(|(key, _)| GridColumn::new(key, ColumnUse::Name)).collect();
    // A row needs something that it is called by.
    if result.keys.is_empty() {
        columns.push(GridColumn::new("sweep", ColumnUse::Name));
    }
    if metric.is_none() {
        columns.push(GridColumn::new("metric", ColumnUse::Name));
    }
    columns.extend(names.iter().map(|name| GridColumn::new(*name, ColumnUse::Means)));
    columns.push(GridColumn::new("verdict", ColumnUse::Words));
    let more = [(is_chosen, "method"), (has_failed, "failed")];
    let more = more.iter().filter(|(is, _)| *is);
    columns.extend(more.map(|(_, name)| GridColumn::new(*name, ColumnUse::Words)));
    let row = |case: &CaseResult| {
        let title = result.keys.is_empty().then_some(&result.title);
        let values = case.values.iter().chain(title);
        let mut cells: Vec<GridCell> = values.cloned().map(GridCell::Text).collect();
        if metric.is_none() {
            cells.push(case.metric.clone().map_or(GridCell::Absent, GridCell::Text));
        }
        cells.extend(names.iter().map(|name| measured(case.error(name))));
        cells.push(worded(&verdict(case)));
        if is_chosen {
            cells.push(worded(&chosen(case)));
        }
        if has_failed {
            cells.push(worded(&case.failed_in_words()));
        }
        cells
    };
    let mut notes = result.notes.clone();
    notes.insert(0, what(metric, result.seeds.len()));
    Grid { columns, rows: result.cases.iter().map(row).collect(), notes }
}

/// What the numbers of the table are.
fn what(metric: Option<&str>, seeds: usize) -> String {
    let Some(metric) = metric else {
        return "Cases have different metrics, whose errors cannot be compared with each other."
            .into();
    };
    match seeds {
        1 => format!("Errors are {metric}."),
        _ => format!("Mean {metric} over {} ± its standard error.", counted(seeds, "seed")),
    }
}

/// The methods that some case has, in the order of tables.
pub(super) fn methods(result: &SweepResult) -> Vec<&str> {
    let all: Vec<&str> = result
        .cases
        .iter()
        .flat_map(|case| case.errors.iter().map(|(name, _)| name.as_str()))
        .collect();
    let mut others: Vec<&str> =
        all.iter().copied().filter(|name| !METHODS.contains(name)).collect();
    others.sort_unstable();
    others.dedup();
    METHODS.into_iter().filter(|name| all.contains(name)).chain(others).collect()
}

fn measured(error: Option<SeedMean>) -> GridCell {
    error.map_or(GridCell::Absent, |one| GridCell::Measured(one.mean, one.standard_error))
}

fn worded(text: &str) -> GridCell {
    if text.is_empty() { GridCell::Absent } else { GridCell::Text(text.into()) }
}

/// The verdicts with their shares, such as `network 80 %, coupling 20 %`; of one seed without.
fn verdict(case: &CaseResult) -> String {
    let is_one = case.methods.values().sum::<usize>() == 1;
    let text = |(name, share): &(String, f64)| {
        if is_one { name.clone() } else { format!("{name} {}", whole_percent(*share)) }
    };
    case.verdicts.iter().map(text).collect::<Vec<_>>().join(", ")
}

/// A share without decimals that say nothing.
fn whole_percent(share: f64) -> String {
    let whole = (100.0 * share).round();
    if (100.0 * share - whole).abs() < 1e-9 { format!("{whole} %") } else { percent(share) }
}

/// Which method was chosen at how many seeds.
fn chosen(case: &CaseResult) -> String {
    let text = |(name, count): (&String, &usize)| format!("{name} {count}");
    case.methods.iter().map(text).collect::<Vec<_>>().join(", ")
}

/// All numbers of all cells, one row per cell and method; of a cell that failed one row with the reason.
#[must_use]
pub fn cells_csv(sweep: &Sweep, records: &[CellRecord]) -> String {
    let keys = sweep.plan.vary.iter().map(|one| quoted(&one.key));
    let rest = [
        "seed",
        "metric",
        "method",
        "verdict",
        "contestant",
        "validation",
        "test",
        "strength",
        "ridge",
        "converged",
        "failed",
    ];
    let heads: Vec<String> = keys.chain(rest.map(Into::into)).collect();
    let mut lines = vec![heads.join(",")];
    for record in records {
        let values = sweep.cases[record.case].values.iter().map(|value| quoted(value));
        let before: Vec<String> = values.chain([record.seed.to_string()]).collect();
        lines.extend(
            cell_rows(record).into_iter().map(|row| [&before[..], &row[..]].concat().join(",")),
        );
    }
    lines.join("\n") + "\n"
}

/// The rows of a cell behind its seed.
fn cell_rows(record: &CellRecord) -> Vec<Vec<String>> {
    let Some(found) = found_in(record) else {
        let CellOutcome::Failed(reason) = &record.outcome else { return Vec::new() };
        return vec![[vec![String::new(); 9], vec![quoted(reason)]].concat()];
    };
    let text = |value: Option<f64>| value.map_or_else(String::new, |value| value.to_string());
    let verdict = found.verdict.map_or("", fedgrid::compare::Kind::name);
    let row = |name: &str, entry: &Entry| {
        // Shuffles are many: the row is over all of them.
        let is_open = found
            .unconverged
            .iter()
            .any(|open| open == name || name == "shuffled" && open.starts_with(name));
        vec![
            found.metric.clone(),
            found.method.clone(),
            verdict.into(),
            quoted(name),
            entry.validation.to_string(),
            text(entry.test),
            text(entry.alpha),
            text(entry.ridge),
            (!is_open).to_string(),
            String::new(),
        ]
    };
    let members = found.comparison.members.iter();
    let members = members.map(|(name, entry)| row(&format!("network ({name})"), entry));
    let rows = found.comparison.rows().into_iter().map(|(name, entry)| row(name, entry));
    rows.chain(members).collect()
}
