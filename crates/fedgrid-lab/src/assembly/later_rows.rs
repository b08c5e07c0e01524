//! Earlier values of rows that come after those of a run: looked for among them and in tables of the time before, as a fit
//! of all rows has them.
//!
//! A row that stands in several tables, as a test row of the run that trains now, is the one of the last of them. What comes
//! after a run leaves the earlier values of its rows as they are, or is refused: models know these rows already.

use std::collections::HashMap;

use super::{DataSchema, timed_table::codes};
use crate::{
    columns::{LagPlan, LagValues, PastRows, Problems, Times, gap_note, numbers, same_time},
    error::{Error, Result},
    source::{Column, Table, place},
};

/// The rows of several tables, in the order of time before time.
struct TimedRows<'a> {
    tables: Vec<&'a Table>,
    /// The node of each row of each table, as a number.
    nodes: Vec<Vec<usize>>,
    /// The tick of each.
    ticks: Vec<Vec<i64>>,
    /// The names of nodes by their numbers.
    names: Vec<String>,
}

/// The columns of earlier values of the rows of a table, and what a reader should know of them. `before` are tables of the
/// time before, the latest last.
pub(super) fn later_lags(
    table: &Table,
    before: &[Table],
    (lags, about): (&LagPlan, &DataSchema),
) -> Result<(Vec<Column>, Option<String>)> {
    let mut problems = Problems::of_new_rows(table);
    lags.check(|name| table.column(name).ok(), &mut problems);
    problems.into_result()?;
    let rows = TimedRows::new(before.iter().chain([table]).collect(), (lags, about))?;
    let (chosen, mut found) = rows.values(lags, rows.tables.len())?;
    if !before.is_empty() {
        let (earlier, had) = rows.values(lags, before.len())?;
        rows.check_kept(lags, (&chosen, &found), (&earlier, &had))?;
    }
    let note = gap_note(lags, &found);
    let first = chosen.len() - table.rows();
    let column = |(feature, own): (&crate::columns::LagFeature, &mut LagValues)| {
        Column::of_numbers(feature.name.clone(), own.values.split_off(first))
    };
    Ok((lags.features.iter().zip(&mut found).map(column).collect(), note))
}

/// The places of rows in tables, and the values that they look back at.
type FoundRows = (Vec<(usize, usize)>, Vec<LagValues>);

impl<'a> TimedRows<'a> {
    fn new(tables: Vec<&'a Table>, (lags, about): (&LagPlan, &DataSchema)) -> Result<Self> {
        let (mut ticks, mut columns) = (Vec::new(), Vec::new());
        for table in &tables {
            let mut own = Problems::of_new_rows(table);
            let time = own.take(table.column(&lags.time));
            let times = time.and_then(|column| Times::by(lags.axis, column, &mut own));
            columns.extend(own.take(table.column(&about.node)));
            own.into_result()?;
            ticks.extend(times.map(|times| times.ticks));
        }
        let (mut all, names) = codes(columns.into_iter());
        let mut nodes = Vec::new();
        for table in &tables {
            let rest = all.split_off(table.rows());
            nodes.push(std::mem::replace(&mut all, rest));
        }
        Ok(Self { tables, nodes, ticks, names })
    }

    fn key(&self, (table, row): (usize, usize)) -> (usize, i64) {
        (self.nodes[table][row], self.ticks[table][row])
    }

    /// The rows of the first so many tables, and their earlier values. Of rows of one node at one time in several tables
    /// the last one is there.
    fn values(&self, lags: &LagPlan, count: usize) -> Result<FoundRows> {
        let all =
            || (0..count).flat_map(|at| (0..self.tables[at].rows()).map(move |row| (at, row)));
        let last: HashMap<(usize, i64), usize> = all().map(|at| (self.key(at), at.0)).collect();
        let chosen: Vec<(usize, usize)> = all().filter(|&at| last[&self.key(at)] == at.0).collect();
        let (nodes, ticks) = chosen.iter().map(|&at| self.key(at)).unzip();
        let known = chosen.partition_point(|(table, _)| table + 1 < count);
        let past = PastRows { nodes, ticks, known };
        let source = |name: &str| {
            // Rows of the time before may be given without what is no feature of theirs.
            let cells = |table: &&Table| table.column(name).map(numbers).ok();
            let cells: Vec<Option<Vec<f64>>> = self.tables[..count].iter().map(cells).collect();
            let cell = |&(table, row): &(usize, usize)| {
                cells[table].as_ref().map_or(f64::NAN, |own| own[row])
            };
            chosen.iter().map(cell).collect()
        };
        let found = lags.values(&past, source).map_err(|same| {
            let (axis, column) = (lags.axis, lags.time.clone());
            let times = Times { column, axis, ticks: past.ticks.clone() };
            let sentence = same_time(&times, same, |row| self.row(chosen[row]));
            Error::input(format!("{}: {sentence}", self.tables[chosen[same.second].0].source))
        })?;
        Ok((chosen, found))
    }

    /// Refuses rows by which those before would have other earlier values.
    fn check_kept(
        &self,
        lags: &LagPlan,
        (now, found): (&[(usize, usize)], &[LagValues]),
        (then, had): (&[(usize, usize)], &[LagValues]),
    ) -> Result<()> {
        let places: HashMap<(usize, usize), usize> =
            now.iter().enumerate().map(|(place, &at)| (at, place)).collect();
        for (feature, (found, had)) in lags.features.iter().zip(found.iter().zip(had)) {
            for (place, at) in then.iter().enumerate() {
                let Some(&now) = places.get(at) else { continue };
                if found.values[now].to_bits() == had.values[place].to_bits() {
                    continue;
                }
                let (node, tick) = self.key(*at);
                let (source, node) =
                    (self.tables.last().map_or("", |own| &own.source), &self.names[node]);
                return Err(Error::input(format!(
                    "{source}: by these rows '{}' of a row of the run would be another (node '{node}', {}), and its models \
                     know that row as it was; fit again with all rows",
                    feature.name,
                    lags.axis.written(tick)
                )));
            }
        }
        Ok(())
    }

    /// A row in words.
    fn row(&self, (table, row): (usize, usize)) -> String {
        let table = self.tables[table];
        let (file, row) = place(table.parts(), row).unwrap_or((&table.source, row));
        format!("row {} of {file}", row + 1)
    }
}
