//! A table with what it says of time: when each row was, and columns of earlier values beside its own.

use std::{collections::BTreeMap, ops::Deref};

use fedgrid::data::Features;

use super::{DataSchema, later_rows::later_lags};
use crate::{
    columns::{
        LagPlan, NewRows, PastRows, PlannedFeatures, Problems, Times, gap_note, numbers, same_time,
    },
    error::{Error, Result},
    experiment::DataKeys,
    source::{Column, Table},
};

/// A table, its times and its columns of earlier values.
#[derive(Debug)]
pub(super) struct TimedTable {
    table: Table,
    /// When each row was; none if the experiment names no time, or it cannot be read.
    pub(super) times: Option<Times>,
    /// What is made of earlier values.
    pub(super) lags: Option<LagPlan>,
    /// What a reader should know of them.
    pub(super) notes: Vec<String>,
}

impl Deref for TimedTable {
    type Target = Table;

    fn deref(&self) -> &Table {
        &self.table
    }
}

impl TimedTable {
    /// Reads the times of a table; refuses what is wrong with them.
    pub(super) fn read(keys: &DataKeys, table: Table) -> Result<Self> {
        let mut problems = Problems::of(&table);
        let read = Self::new(keys, table, &mut problems);
        problems.into_result()?;
        Ok(read)
    }

    /// The same; what is wrong is added to the problems.
    pub(super) fn new(keys: &DataKeys, table: Table, problems: &mut Problems) -> Self {
        let column = keys.time.as_ref().and_then(|name| problems.take(table.column(name)));
        let times = column.and_then(|column| Times::new(keys, column, problems));
        let mut read = Self { table, times, lags: None, notes: Vec::new() };
        let plan = read.times.as_ref().map(|times| LagPlan::new(keys, &times.column, times.axis));
        match plan {
            // Earlier values are those of the same node, which `check` need not know yet.
            Some(Ok(Some(plan))) if !keys.node.is_empty() => read.add(keys, plan, problems),
            Some(Err(sentence)) => problems.add_of_keys(sentence),
            _ => {}
        }
        read
    }

    /// A table whose rows come after those of a run, with the columns of earlier values that the run has; these may be in
    /// tables of the time before.
    pub(super) fn of_later(table: Table, before: &[Table], about: &DataSchema) -> Result<Self> {
        let Some(lags) = about.columns.lags.clone() else {
            return Ok(Self { table, times: None, lags: None, notes: Vec::new() });
        };
        let (columns, note) = later_lags(&table, before, (&lags, about))?;
        let (table, notes) = (table.with_columns(columns), note.into_iter().collect());
        Ok(Self { table, times: None, lags: Some(lags), notes })
    }

    /// The table itself.
    pub(super) fn into_table(self) -> Table {
        self.table
    }

    /// Adds the columns of earlier values.
    fn add(&mut self, keys: &DataKeys, plan: LagPlan, problems: &mut Problems) {
        // Apart from other problems of the table, which do not keep lags from being made.
        let mut own = Problems::new(&self.source);
        plan.check(|name| self.table.column(name).ok(), &mut own);
        let node = own.take(self.table.column(&keys.node));
        let (Some(node), Some(times), true) = (node, &self.times, own.is_empty()) else {
            own.sentences().into_iter().for_each(|sentence| problems.add(sentence));
            return;
        };
        let (nodes, ticks) = (codes([node].into_iter()).0, times.ticks.clone());
        let past = PastRows { nodes, ticks, known: 0 };
        let source = |name: &str| self.table.column(name).map_or_else(|_| Vec::new(), numbers);
        match plan.values(&past, source) {
            Err(same) => {
                let row = |row: usize| format!("row {}", problems.place(row));
                problems.add(same_time(times, same, row));
            }
            Ok(found) => {
                self.notes.extend(gap_note(&plan, &found));
                let named = plan.features.iter().zip(found);
                let columns = named
                    .map(|(feature, own)| Column::of_numbers(feature.name.clone(), own.values));
                let columns = columns.collect();
                // A table cannot be moved out of a borrow, and is too large to be copied.
                let empty = Table::empty(&self.table.source);
                self.table = std::mem::replace(&mut self.table, empty).with_columns(columns);
                self.lags = Some(plan);
            }
        }
    }
}

/// The cells of some columns as numbers of names, and these names.
pub(super) fn codes<'a>(columns: impl Iterator<Item = &'a Column>) -> (Vec<usize>, Vec<String>) {
    let (mut known, mut names, mut codes) = (BTreeMap::new(), Vec::new(), Vec::new());
    for column in columns {
        for row in 0..column.rows() {
            let name = column.cell(row);
            let code = *known.entry(name.to_string()).or_insert_with(|| {
                names.push(name.into_owned());
                names.len() - 1
            });
            codes.push(code);
        }
    }
    (codes, names)
}

/// The features of new rows, for the models of a run, and what a reader should know of them; earlier values are
/// looked for among these rows and those of the time before.
pub fn features_of_new(
    table: &Table,
    history: Option<&Table>,
    about: &DataSchema,
) -> Result<(Features, Vec<String>)> {
    let made = planned_of_new(table, history, about)?;
    let all: Vec<usize> = (0..table.rows()).collect();
    Ok((made.rows(&all)?, made.notes()))
}

/// The same feature by feature, of which parts can be taken: a table may have millions of rows.
pub fn planned_of_new(
    table: &Table,
    history: Option<&Table>,
    about: &DataSchema,
) -> Result<PlannedFeatures> {
    let plan = about.column_plan();
    let Some(lags) = &plan.lags else {
        if history.is_some() {
            return Err(Error::input("--history is for runs with lags, and this run has none"));
        }
        return plan.apply(table);
    };
    let mut problems = Problems::of_new_rows(table);
    for name in plan.sources() {
        problems.take(table.column(name));
    }
    let (mut ticks, mut nodes) = (Vec::new(), Vec::new());
    for one in history.into_iter().chain([table]) {
        let mut own = Problems::of_new_rows(one);
        let time = own.take(one.column(&lags.time));
        let times = time.and_then(|column| Times::by(lags.axis, column, &mut own));
        nodes.extend(own.take(one.column(&about.node)));
        own.into_result()?;
        ticks.extend(times.into_iter().flat_map(|times| times.ticks));
    }
    let (nodes, names) = codes(nodes.into_iter());
    // Rows of the time before come first, so that places of new rows are behind them.
    let known = history.map_or(0, Table::rows);
    let (past, remedy) = (PastRows { nodes, ticks, known }, "earlier rows with --history");
    let before = history.map(|table| table.parts().clone()).unwrap_or_default();
    let new = NewRows { past, before, names: &names, remedy };
    for source in lags.sources() {
        if !history.into_iter().chain([table]).any(|one| one.has(source)) {
            problems.add(format!(
                "there is no column '{source}', of which lags are features; give {remedy}"
            ));
        }
    }
    problems.into_result()?;
    let mut problems = Problems::of_new_rows(table);
    // New rows need not have what is predicted.
    let cells = |one: &Table, name: &str| {
        one.column(name).map_or_else(|_| vec![f64::NAN; one.rows()], numbers)
    };
    let source = |name: &str| {
        history.into_iter().chain([table]).flat_map(|one| cells(one, name)).collect::<Vec<_>>()
    };
    let made = new.columns((lags, |name| plan.missing_rule(name)), source, &mut problems);
    problems.into_result()?;
    let mut problems = Problems::of_new_rows(table);
    let column =
        |name: &str| made.iter().find(|own| own.name() == name).or_else(|| table.column(name).ok());
    let made = plan.encode(column, &vec![true; table.rows()], &mut problems);
    problems.into_result()?;
    Ok(made)
}
