//! From the cells of a sweep to its means.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{CellFound, CellOutcome, CellRecord, Sweep, keys::text};
use crate::outcome::Entry;

/// A sweep in numbers: the shape of its `result.json` and of `--json`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SweepResult {
    /// What it is called.
    pub title: String,
    /// The keys that vary, with their values.
    pub keys: Vec<(String, Vec<String>)>,
    /// The seeds of each case.
    pub seeds: Vec<u64>,
    /// The cases, the last key's value changing fastest.
    pub cases: Vec<CaseResult>,
    /// What the seeds vary, and what else a reader must know.
    pub notes: Vec<String>,
    /// The version of fedgrid.
    pub version: String,
}

/// A case in numbers.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CaseResult {
    /// The value of each key.
    pub values: Vec<String>,
    /// What errors are; none if no seed could be run.
    pub metric: Option<String>,
    /// The row of the case's own method.
    pub own: Option<String>,
    /// The errors of each method over seeds, in the order of tables.
    pub errors: Vec<(String, SeedMean)>,
    /// Which share of the seeds that could be run has which verdict, the most frequent first.
    pub verdicts: Vec<(String, f64)>,
    /// Which method was chosen at how many seeds, where it was left to choose.
    pub methods: BTreeMap<String, usize>,
    /// Why some seeds could not be run.
    pub failed: Vec<FailedSeeds>,
}

/// Seeds that could not be run for one reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FailedSeeds {
    /// Which.
    pub seeds: Vec<u64>,
    /// Why.
    pub reason: String,
}

/// The mean of an error over seeds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct SeedMean {
    /// The mean.
    pub mean: f64,
    /// Its standard error; none with one seed.
    pub standard_error: Option<f64>,
    /// Over how many seeds.
    pub seeds: usize,
}

impl SeedMean {
    /// The mean of some values; none of none.
    #[must_use]
    pub fn of(values: &[f64]) -> Option<Self> {
        let (count, first) = (values.len() as f64, *values.first()?);
        // By differences, so that values which are all the same have that mean and no error, to the last bit.
        let mean = first + values.iter().map(|value| value - first).sum::<f64>() / count;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let standard_error = (values.len() > 1).then(|| (squares / (count - 1.0) / count).sqrt());
        Some(Self { mean, standard_error, seeds: values.len() })
    }
}

impl SweepResult {
    /// The means of a sweep; `varied` says what its seeds vary.
    #[must_use]
    pub fn new(sweep: &Sweep, records: &[CellRecord], varied: &str) -> Self {
        let of_case = |case: usize| -> Vec<&CellRecord> {
            records.iter().filter(|record| record.case == case).collect()
        };
        let keys = sweep.plan.vary.iter();
        let cases = sweep.cases.iter().enumerate();
        Self {
            title: sweep.plan.title.clone(),
            keys: keys
                .map(|one| (one.key.clone(), one.values.iter().map(text).collect()))
                .collect(),
            seeds: sweep.seeds(),
            cases: cases.map(|(at, case)| CaseResult::new(&case.values, &of_case(at))).collect(),
            notes: notes(sweep, records, varied),
            version: env!("CARGO_PKG_VERSION").into(),
        }
    }

    /// How many cells could not be run.
    #[must_use]
    pub fn failures(&self) -> usize {
        self.cases.iter().flat_map(|case| &case.failed).map(|one| one.seeds.len()).sum()
    }

    /// Which cells could not be run, and why, a line for each case and reason.
    #[must_use]
    pub fn failures_in_words(&self) -> Vec<String> {
        let line = |case: &CaseResult| {
            let values = self.keys.iter().zip(&case.values);
            let values = values.map(|((key, _), value)| format!("{key} = {value}, "));
            let (values, reasons) = (values.collect::<String>(), case.failed_in_words());
            (!reasons.is_empty()).then(|| format!("Failed: {values}{reasons}"))
        };
        self.cases.iter().filter_map(line).collect()
    }

    /// What errors are; none if that differs between cases.
    #[must_use]
    pub fn metric(&self) -> Option<&str> {
        let mut all: Vec<&str> =
            self.cases.iter().filter_map(|case| case.metric.as_deref()).collect();
        all.sort_unstable();
        all.dedup();
        match all[..] {
            [one] => Some(one),
            _ => None,
        }
    }
}

impl CaseResult {
    fn new(values: &[String], records: &[&CellRecord]) -> Self {
        let found: Vec<&CellFound> = records.iter().filter_map(|record| found_in(record)).collect();
        let first = found.first();
        let names: Vec<&str> = first.map_or_else(Vec::new, |one| {
            one.comparison.rows().into_iter().map(|(name, _)| name).collect()
        });
        // A mean over some of the seeds would not be comparable with the others.
        let mean = |name: &str| {
            SeedMean::of(&found.iter().map(|one| error_of(one, name)).collect::<Option<Vec<_>>>()?)
        };
        let own = first.and_then(|one| Some(one.comparison.own(&one.method)?.0.to_string()));
        let mut methods = BTreeMap::new();
        for one in &found {
            *methods.entry(one.method.clone()).or_insert(0) += 1;
        }
        Self {
            values: values.to_vec(),
            metric: first.map(|one| one.metric.clone()),
            own,
            errors: names
                .iter()
                .filter_map(|name| Some(((*name).to_string(), mean(name)?)))
                .collect(),
            verdicts: verdicts(&found),
            methods,
            failed: failed(records),
        }
    }

    /// Which seeds could not be run, and why; empty if all could.
    #[must_use]
    pub fn failed_in_words(&self) -> String {
        let text = |one: &FailedSeeds| {
            let seeds: Vec<String> = one.seeds.iter().map(ToString::to_string).collect();
            let plural = if seeds.len() == 1 { "" } else { "s" };
            format!("seed{plural} {}: {}", seeds.join(", "), one.reason)
        };
        self.failed.iter().map(text).collect::<Vec<_>>().join("; ")
    }

    /// The errors of a method.
    #[must_use]
    pub fn error(&self, name: &str) -> Option<SeedMean> {
        self.errors.iter().find(|(known, _)| known == name).map(|(_, error)| *error)
    }
}

pub(super) fn found_in(record: &CellRecord) -> Option<&CellFound> {
    match &record.outcome {
        CellOutcome::Found(found) => Some(found),
        CellOutcome::Failed(_) => None,
    }
}

fn error_of(found: &CellFound, name: &str) -> Option<f64> {
    let rows = found.comparison.rows();
    rows.iter().find(|(known, _)| *known == name).map(|(_, entry)| Entry::error(entry))
}

fn verdicts(found: &[&CellFound]) -> Vec<(String, f64)> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for verdict in found.iter().filter_map(|one| one.verdict) {
        *counts.entry(verdict.name().to_string()).or_default() += 1;
    }
    let mut all: Vec<(String, usize)> = counts.into_iter().collect();
    // Stable, so that of equals the first by name comes first.
    all.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    all.into_iter().map(|(name, count)| (name, count as f64 / found.len() as f64)).collect()
}

fn failed(records: &[&CellRecord]) -> Vec<FailedSeeds> {
    let mut all: Vec<FailedSeeds> = Vec::new();
    for record in records {
        let CellOutcome::Failed(reason) = &record.outcome else { continue };
        match all.iter_mut().find(|known| known.reason == *reason) {
            Some(known) => known.seeds.push(record.seed),
            None => all.push(FailedSeeds { seeds: vec![record.seed], reason: reason.clone() }),
        }
    }
    all
}

/// What a reader must know of the numbers.
fn notes(sweep: &Sweep, records: &[CellRecord], varied: &str) -> Vec<String> {
    let found: Vec<&CellFound> = records.iter().filter_map(found_in).collect();
    let mut notes = vec![varied.to_string()];
    if sweep.plan.seeds > 1 && !found.is_empty() && all_alike(records) {
        notes.push("All seeds gave the same errors: nothing that counts is drawn.".into());
    }
    notes.extend(sweep.notes.iter().cloned());
    let has_test =
        |one: &CellFound| one.comparison.rows().iter().all(|(_, entry)| entry.test.is_some());
    if !found.iter().copied().all(has_test) {
        notes.push(
            "Errors are on validation rows where there are no test rows; strengths were chosen on the same rows.".into(),
        );
    }
    if sweep.cases.iter().any(|case| case.experiment.compare.quick) {
        notes.push("This is a first look (--quick): strengths are on a coarse grid, with few shuffled networks.".into());
    }
    let open = found.iter().filter(|one| !one.unconverged.is_empty()).count();
    if open > 0 {
        notes.push(format!(
            "In {open} of {} cells some fit did not converge; cells.csv names it.",
            found.len()
        ));
    }
    notes
}

/// Whether the seeds of every case have the same errors.
fn all_alike(records: &[CellRecord]) -> bool {
    let errors = |record: &CellRecord| -> Option<Vec<f64>> {
        Some(found_in(record)?.comparison.rows().iter().map(|(_, entry)| entry.error()).collect())
    };
    let is_alike =
        |pair: &[CellRecord]| pair[0].case != pair[1].case || errors(&pair[0]) == errors(&pair[1]);
    records.windows(2).all(is_alike)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_standard_error_is_that_of_the_mean_and_absent_with_one_seed() {
        let of = |values: &[f64]| SeedMean::of(values).unwrap();
        // The standard deviation of 1, 2, 3, 4 is √(5/3).
        let four = of(&[1.0, 2.0, 3.0, 4.0]);
        assert!((four.mean - 2.5).abs() < 1e-15);
        assert!((four.standard_error.unwrap() - (5.0_f64 / 3.0).sqrt() / 2.0).abs() < 1e-15);
        assert_eq!(of(&[3.0]), SeedMean { mean: 3.0, standard_error: None, seeds: 1 });
        assert_eq!(SeedMean::of(&[]), None);
        // Seven times 0.1 add up to 0.7 but for rounding, which is no spread.
        assert_eq!(of(&[0.1; 7]), SeedMean { mean: 0.1, standard_error: Some(0.0), seeds: 7 });
    }

    #[test]
    fn seeds_that_failed_for_one_reason_are_told_together() {
        let record = |seed, reason: &str| CellRecord {
            case: 0,
            seed,
            outcome: CellOutcome::Failed(reason.into()),
        };
        let records = [record(1, "a"), record(2, "b"), record(3, "a")];
        let case = CaseResult::new(&[], &records.iter().collect::<Vec<_>>());
        let told: Vec<(&[u64], &str)> =
            case.failed.iter().map(|one| (&one.seeds[..], one.reason.as_str())).collect();
        assert_eq!(told, [(&[1, 3][..], "a"), (&[2], "b")]);
        assert!(case.errors.is_empty() && case.metric.is_none());
    }
}
