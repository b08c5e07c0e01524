//! Rows divided by time: the past trains, what follows validates, the rest tests.
//!
//! ```text
//! train  t < v      validation  v ≤ t < w      test  w ≤ t
//! ```
//!
//! The cuts v and w are dates, or the times at which shares of all rows, or of those of each node, end. Rows of equal
//! times are on one side of a cut.

use fedgrid::data::{Role, share};

use crate::{
    columns::Times,
    experiment::{CutKey, DataKeys, SplitBy, SplitKeys},
    number::{count, counted},
};

/// The rows of a table that a split by time does not leave out for being too late.
#[must_use]
pub fn is_in_time(keys: &DataKeys, times: Option<&Times>) -> Option<Result<Vec<bool>, String>> {
    let (text, times) = (keys.time_split()?.until.as_ref()?, times?);
    let until = times.axis.read("data.split.until", text);
    Some(until.map(|until| times.ticks.iter().map(|tick| *tick <= until).collect()))
}

/// What each row is for, by the rows of each node that are used; others test, which they do not.
pub fn time_roles(
    split: &SplitKeys,
    times: &Times,
    by_node: &[Vec<usize>],
) -> Result<Vec<Role>, String> {
    let mut roles = vec![Role::Test; times.ticks.len()];
    let mut give = |rows: &[usize], (validation, test): (i64, i64)| {
        for &row in rows {
            roles[row] = match times.ticks[row] {
                tick if tick < validation => Role::Train,
                tick if tick < test => Role::Validation,
                _ => Role::Test,
            };
        }
    };
    let Some(train) = split.train else {
        let cuts = dates(split, times)?;
        for rows in by_node {
            give(rows, cuts);
        }
        return Ok(roles);
    };
    // Cuts are times, not rows: rows of one time belong together.
    let shares = (train, train + split.validation.unwrap_or(0.0));
    if split.cut.unwrap_or_default() == CutKey::PerNode {
        for rows in by_node {
            give(rows, cuts(rows.iter(), times, shares));
        }
    } else {
        let cuts = cuts(by_node.iter().flatten(), times, shares);
        for rows in by_node {
            give(rows, cuts);
        }
    }
    Ok(roles)
}

/// The cuts that an experiment names.
fn dates(split: &SplitKeys, times: &Times) -> Result<(i64, i64), String> {
    let read = |key: &str, text: &Option<String>| {
        let tick = text.as_ref().map(|text| times.axis.read(&format!("data.split.{key}"), text));
        tick.transpose()
    };
    // Without test_from nothing tests, and without validation_from nothing validates.
    let test = read("test_from", &split.test_from)?.unwrap_or(i64::MAX);
    let validation = read("validation_from", &split.validation_from)?.unwrap_or(test);
    if validation > test {
        return Err(format!(
            "data.split.validation_from is {}, which is after test_from, {}; expected an earlier one",
            times.axis.written(validation),
            times.axis.written(test)
        ));
    }
    Ok((validation, test))
}

/// The cuts after shares of some rows.
fn cuts<'a>(
    rows: impl Iterator<Item = &'a usize>,
    times: &Times,
    (train, both): (f64, f64),
) -> (i64, i64) {
    let mut ticks: Vec<i64> = rows.map(|&row| times.ticks[row]).collect();
    ticks.sort_unstable();
    // The first row behind the share, and all of its time, is on the later side.
    let after = |part: f64| ticks.get(share(ticks.len(), part)).copied().unwrap_or(i64::MAX);
    (after(train), after(both.min(1.0)))
}

/// What was cut where, in words.
#[must_use]
pub fn time_note(
    keys: &DataKeys,
    times: &Times,
    (by_node, roles): (&[Vec<usize>], &[Role]),
) -> Option<String> {
    let split = keys.time_split().filter(|split| split.origins.is_none())?;
    let parts = [(Role::Train, "train"), (Role::Validation, "validate"), (Role::Test, "test")];
    let said = parts.into_iter().filter_map(|(role, word)| {
        let own = |rows: &Vec<usize>| -> Option<(usize, i64, i64)> {
            let ticks =
                || rows.iter().filter(|&&row| roles[row] == role).map(|&row| times.ticks[row]);
            Some((ticks().count(), ticks().min()?, ticks().max()?))
        };
        let nodes: Vec<(usize, i64, i64)> = by_node.iter().filter_map(own).collect();
        let rows = nodes.iter().map(|(rows, ..)| rows).sum();
        let first = nodes.iter().map(|(_, first, _)| *first).min()?;
        let last = nodes.iter().map(|(.., last)| *last).max()?;
        let (rows, nodes) = (counted(rows, "row"), counted(nodes.len(), "node"));
        let (first, last) = (times.axis.written(first), times.axis.written(last));
        Some(format!("{rows} of {nodes} {word} ({first} to {last})"))
    });
    let said: Vec<String> = said.collect();
    let cut = match split.cut.filter(|_| split.train.is_some()) {
        Some(CutKey::PerNode) => ", every node at cuts of its own",
        _ => ", all nodes at the same cuts",
    };
    // Other rows may be left out, too, for a missing cell or a weight of zero.
    let in_time = is_in_time(keys, Some(times)).and_then(Result::ok);
    let is_late = in_time.is_some_and(|all| all.contains(&false));
    let later = match split.until.as_ref().filter(|_| is_late) {
        Some(until) => format!("; rows after {until} are left out"),
        None => String::new(),
    };
    let turns = if roles_of(by_node, roles).any(|role| role == Role::Validation) {
        ""
    } else {
        "; no row validates, so that training rows take turns to, whatever their time"
    };
    Some(format!("Split by '{}'{cut}: {}{later}{turns}.", times.column, said.join(", ")))
}

fn roles_of<'a>(by_node: &'a [Vec<usize>], roles: &'a [Role]) -> impl Iterator<Item = Role> + 'a {
    by_node.iter().flatten().map(|&row| roles[row])
}

/// What a rolling origin trains, validates and tests on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OriginWindow {
    /// The first time that validates.
    pub validation_from: String,
    /// The first time that tests.
    pub test_from: String,
    /// The last time that tests.
    pub until: String,
    /// How many rows train, validate and test.
    pub rows: [usize; 3],
    /// Whether the next origin tests some of these rows, too.
    pub overlaps: bool,
}

impl OriginWindow {
    /// The keys of a split at this origin.
    #[must_use]
    pub fn split(&self, rolling: &SplitKeys) -> SplitKeys {
        SplitKeys {
            by: Some(SplitBy::Time),
            validation_from: Some(self.validation_from.clone()),
            test_from: Some(self.test_from.clone()),
            until: Some(self.until.clone()),
            // Lags depend on how far ahead is predicted.
            horizon: rolling.horizon.clone(),
            ..SplitKeys::default()
        }
    }

    /// It in words.
    #[must_use]
    pub fn words(&self) -> String {
        let [train, validation, test] = self.rows.map(count);
        format!(
            "{train} rows before {} train, {validation} from then on validate, {test} from {} to {} test",
            self.validation_from, self.test_from, self.until
        )
    }
}

/// The origins of some rows; the horizon of the last ends with the last row.
pub fn origin_windows(
    split: &SplitKeys,
    times: &Times,
    by_node: &[Vec<usize>],
) -> Result<Vec<OriginWindow>, String> {
    let (Some(origins), Some(horizon)) = (split.origins, &split.horizon) else {
        return Ok(Vec::new());
    };
    let axis = times.axis;
    let ahead = axis.span("data.split.horizon", horizon)?;
    let step = split.step.as_ref().map(|step| axis.span("data.split.step", step)).transpose()?;
    let step = step.unwrap_or(ahead);
    let mut ticks: Vec<i64> = by_node.iter().flatten().map(|&row| times.ticks[row]).collect();
    ticks.sort_unstable();
    let Some(&last) = ticks.last() else { return Err("there is no row".into()) };
    let window = |origin: usize| {
        // Counted from the last row backwards: the latest forecasts are those that matter.
        let steps = i64::try_from(origins - 1 - origin).unwrap_or(i64::MAX);
        // Rows up to this time are known when the forecast is made.
        let known = last.saturating_sub(ahead).saturating_sub(step.saturating_mul(steps));
        let after = |tick: i64| ticks.partition_point(|other| *other <= tick);
        let cuts = [after(known.saturating_sub(ahead)), after(known), after(known + ahead)];
        let rows = [cuts[0], cuts[1] - cuts[0], cuts[2] - cuts[1]];
        if let Some(empty) = rows.iter().position(|rows| *rows == 0) {
            let part = ["to train on", "to validate with", "to test"][empty];
            return Err(format!(
                "data.split: origin {} of {origins}, at {}, has no row {part}; expected fewer origins, or another \
                 horizon or step",
                origin + 1,
                axis.written(known)
            ));
        }
        // No part is empty, so that every cut is the place of a row.
        let at = |place: usize| axis.written(ticks[place]);
        let (validation_from, test_from, until) = (at(cuts[0]), at(cuts[1]), at(cuts[2] - 1));
        let overlaps = step < ahead;
        Ok(OriginWindow { validation_from, test_from, until, rows, overlaps })
    };
    (0..origins).map(window).collect()
}
