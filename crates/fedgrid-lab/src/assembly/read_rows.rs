//! What a table says before its columns are planned: which rows are used, of which node, what they count for, their roles.

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

use fedgrid::data::{Dataset, Features, Labels, Plan, Role, RowDraws, Task};

use super::{
    Graph,
    target::{FILE_REMEDY, question_target},
    time_split::{OriginWindow, is_in_time, origin_windows, time_note, time_roles},
    timed_table::TimedTable,
};
use crate::{
    columns::{
        ColumnPlan, KnownKind, KnownPart, PlannedFeatures, Problems, Purpose, TrainingRows,
        drops_rows, purposes, raw_values, read_weights, weight_note,
    },
    error::{Error, Result},
    experiment::{ColumnKind, DataKeys, Experiment, UnknownNodes, advice},
    number::{count, counted},
    source::{Column, Holds, Table},
};

/// What a table says before its columns are planned.
pub(super) struct ReadRows<'a> {
    table: &'a TimedTable,
    /// What each column is for.
    pub(super) purposes: Vec<(String, Purpose)>,
    /// Whether each row is used.
    pub(super) is_used: Vec<bool>,
    /// The rows of each node that are.
    pub(super) by_node: Vec<Vec<usize>>,
    /// How many rows each one stands for, by this column.
    weights: Option<(String, Vec<f64>)>,
    /// What is known of each target, as it enters a prediction.
    known: Option<(KnownPart, Vec<f64>)>,
    /// How many rows a missing cell leaves out, and how many a weight of zero.
    left_out: [usize; 2],
    /// What nodes that the network does not have leave out, in words.
    unknown: Option<String>,
}

impl<'a> ReadRows<'a> {
    /// Reads a table; without a network, rows are of no node.
    pub(super) fn new(
        experiment: &Experiment,
        table: &'a TimedTable,
        graph: Option<&Graph>,
        problems: &mut Problems,
    ) -> Self {
        let keys = &experiment.data;
        let purposes = purposes(keys, &described(table), problems, &table.source);
        let in_time = is_in_time(keys, table.times.as_ref()).transpose();
        let in_time = in_time.unwrap_or_else(|sentence| {
            problems.add_of_keys(sentence);
            None
        });
        let in_time = in_time.unwrap_or_else(|| vec![true; table.rows()]);
        let mut is_complete = complete_rows(keys, table);
        // Rows that are too late are no part of this experiment, and their gaps leave nothing out.
        let incomplete = (0..table.rows()).filter(|&row| in_time[row] && !is_complete[row]).count();
        is_complete.iter_mut().zip(in_time).for_each(|(is_used, in_time)| *is_used &= in_time);
        let weights = keys.weight.as_ref().and_then(|name| {
            let column = problems.take(table.column(name))?;
            Some((name.clone(), read_weights(column, &is_complete, problems)))
        });
        let counts = |row: usize| weights.as_ref().is_none_or(|(_, all)| all[row] > 0.0);
        let complete = is_complete.iter().enumerate();
        let mut is_used: Vec<bool> = complete.map(|(row, all)| *all && counts(row)).collect();
        // Of the rows that count: where a weight is zero, an exposure may be zero, too.
        let known = KnownPart::of(experiment).and_then(|part| {
            let column = problems.take(table.column(&part.column))?;
            let numbers = part.read(column, &is_used, problems);
            Some((part, numbers))
        });
        let count = |rows: &[bool]| rows.iter().filter(|is_kept| **is_kept).count();
        let left_out = [incomplete, count(&is_complete) - count(&is_used)];
        // Without a network nodes are not known, and columns can be looked at all the same.
        let by_node = graph.map(|graph| rows_by_node(keys, table, graph, &is_used));
        let by_node = by_node.and_then(|found| problems.take(found));
        let unknown = by_node.as_ref().and_then(|rows| leave_out(keys, table, rows, &mut is_used));
        if unknown.is_some() && !is_used.contains(&true) {
            problems.add_of_keys(format!(
                "no row is left to train on: none is of a node of the network (column '{}', key data.unknown_nodes)",
                keys.node
            ));
        }
        let by_node = by_node.unwrap_or_default();
        Self { table, purposes, is_used, by_node, weights, known, left_out, unknown }
    }

    /// Some rows with what they stand for and were counted over.
    pub(super) fn dataset(
        &self,
        features: Features,
        labels: &Labels,
        rows: &[usize],
    ) -> Result<Dataset> {
        let of = |all: &[f64]| -> Vec<f64> { rows.iter().map(|&row| all[row]).collect() };
        let labels = labels.select(rows);
        let data = match &self.weights {
            Some((_, weights)) => Dataset::counted(features, labels, of(weights))?,
            None => Dataset::new(features, labels)?,
        };
        Ok(match &self.known {
            Some((part, exposures)) if part.kind != KnownKind::Offset => {
                data.with_exposures(of(exposures))?
            }
            _ => data,
        })
    }

    /// The labels less what is known of them.
    pub(super) fn without_offsets(&self, mut labels: Labels) -> Labels {
        if let Some((part, offsets)) = &self.known
            && part.kind == KnownKind::Offset
        {
            let all = labels.as_mut_slice().iter_mut().zip(offsets).zip(&self.is_used);
            all.filter(|(_, is_used)| **is_used).for_each(|((label, known), _)| *label -= known);
        }
        labels
    }

    /// How many rows one stands for.
    pub(super) fn count(&self, row: usize) -> f64 {
        self.weights.as_ref().map_or(1.0, |(_, all)| all[row])
    }

    /// Over how much the label of a row was counted.
    pub(super) fn exposure(&self, row: usize) -> f64 {
        match &self.known {
            Some((part, exposures)) if part.kind != KnownKind::Offset => exposures[row],
            _ => 1.0,
        }
    }

    /// A label as models see it: less its offset, or as a rate.
    pub(super) fn seen_label(&self, row: usize, label: f64) -> f64 {
        match &self.known {
            Some((part, offsets)) if part.kind == KnownKind::Offset => label - offsets[row],
            _ => label / self.exposure(row),
        }
    }

    /// The features as one column each, before training rows are known.
    fn features(&self) -> impl Iterator<Item = (&'a Column, ColumnKind)> {
        self.purposes.iter().filter_map(|(name, purpose)| match purpose {
            Purpose::Feature(kind) => Some((self.table.column(name).ok()?, *kind)),
            _ => None,
        })
    }

    /// The rows of each node that are used; all as of one node where nodes are not known.
    fn used_by_node(&self) -> Vec<Vec<usize>> {
        if self.by_node.is_empty() {
            vec![(0..self.table.rows()).filter(|&row| self.is_used[row]).collect()]
        } else {
            self.by_node.clone()
        }
    }

    /// The rolling origins that an experiment asks for.
    pub(super) fn origins(&self, keys: &DataKeys) -> Result<Vec<OriginWindow>> {
        let (Some(split), Some(times)) = (keys.time_split(), &self.table.times) else {
            return Ok(Vec::new());
        };
        check_some_used(keys, self.table, &self.is_used)?;
        origin_windows(split, times, &self.used_by_node()).map_err(Error::input)
    }

    /// What was cut where, and what is missing of earlier values, in words.
    pub(super) fn split_notes(&self, keys: &DataKeys, roles: &[Role]) -> Vec<String> {
        let times = self.table.times.as_ref();
        let cut = times.and_then(|times| time_note(keys, times, (&self.used_by_node(), roles)));
        self.table.notes.iter().cloned().chain(cut).collect()
    }

    /// The roles that a column of the table or the order of time tells; none without either.
    pub(super) fn stored_roles(&self, keys: &DataKeys) -> Result<Option<Vec<Role>>> {
        if let (Some(split), Some(times)) = (keys.time_split(), &self.table.times) {
            let roles = time_roles(split, times, &self.used_by_node());
            return roles.map(Some).map_err(Error::input);
        }
        let Some(column) = keys.split_column() else { return Ok(None) };
        let cells = self.table.column(column)?;
        let role = |row: usize| match cells.cell(row).to_lowercase().as_str() {
            // A row that is left out may hold anything.
            _ if !self.is_used[row] => Ok(Role::Test),
            "train" | "training" => Ok(Role::Train),
            "val" | "valid" | "validation" => Ok(Role::Validation),
            "test" => Ok(Role::Test),
            other => {
                let found = format!("is '{other}', expected train, val or test");
                Err(self.table.at(row, column, &found))
            }
        };
        (0..self.table.rows()).map(role).collect::<Result<_>>().map(Some)
    }

    /// Roles that are drawn by what rows hold; without shares all rows train, and take turns to validate.
    pub(super) fn drawn_roles(
        &self,
        experiment: &Experiment,
        graph: &Graph,
        labels: &Labels,
    ) -> Result<Vec<Role>> {
        let keys = &experiment.data;
        let mut roles = vec![Role::Train; self.table.rows()];
        let Some(train) = keys.train else { return Ok(roles) };
        let names: Arc<[String]> =
            self.features().map(|(column, _)| column.name().into()).collect();
        let columns: Vec<Vec<f64>> =
            self.features().map(|(column, kind)| raw_values(column, kind)).collect();
        let of_node = |rows: &Vec<usize>| {
            let values = rows.iter().flat_map(|&row| columns.iter().map(move |column| column[row]));
            let features = if rows.is_empty() || columns.is_empty() {
                Features::empty(names.clone())
            } else {
                Features::new(names.clone(), values.collect())?
            };
            // Without a column nothing tells rows apart; that there is no feature is said with all other problems.
            let rows = if columns.is_empty() { &[][..] } else { rows };
            self.dataset(features, labels, rows)
        };
        let data = self.by_node.iter().map(of_node).collect::<Result<Vec<_>>>()?;
        let draws = RowDraws { names: graph.network.names(), rows: &data, seed: experiment.seed };
        let drawn = Plan::draw(train, keys.validation.unwrap_or(0.0), &draws);
        for (rows, own) in self.by_node.iter().zip(drawn) {
            rows.iter().zip(own).for_each(|(&row, role)| roles[row] = role);
        }
        Ok(roles)
    }

    /// What becomes of the columns: as is known, or as the training rows say.
    pub(super) fn plan(
        &self,
        experiment: &Experiment,
        roles: &[Role],
        known: Option<&ColumnPlan>,
        problems: &mut Problems,
    ) -> ColumnPlan {
        if let Some(known) = known {
            for (name, _) in known.features() {
                problems.take(self.table.column(name));
            }
            return known.clone();
        }
        let training = self.training(roles);
        let column = |name: &str| self.table.column(name).ok();
        let training = TrainingRows { rows: &training, counts: self.counts() };
        let purposes = self.purposes.clone();
        let plan = ColumnPlan::new(&experiment.data, purposes, column, training, problems);
        ColumnPlan { lags: self.table.lags.clone(), ..plan }
    }

    /// The rows that train.
    fn training(&self, roles: &[Role]) -> Vec<usize> {
        let trains = |row: &usize| self.is_used[*row] && roles[*row] == Role::Train;
        (0..self.table.rows()).filter(trains).collect()
    }

    /// How many rows each stands for; none if for one.
    fn counts(&self) -> Option<&[f64]> {
        self.weights.as_ref().map(|(_, weights)| &weights[..])
    }

    /// Where the plan of a run stays as it is, and a plan of all rows might not, in words.
    pub(super) fn kept_plan(
        &self,
        plan: &ColumnPlan,
        roles: &[Role],
        made: &PlannedFeatures,
    ) -> Vec<String> {
        let training = self.training(roles);
        let training = TrainingRows { rows: &training, counts: self.counts() };
        plan.kept_for(|name| self.table.column(name).ok(), training, made)
    }

    /// Asks whether the numbers of the rows that are used are classes.
    pub(super) fn question(
        &self,
        experiment: &Experiment,
        labels: &Labels,
    ) -> std::result::Result<Option<String>, String> {
        let used = labels.as_slice().iter().zip(&self.is_used).filter(|(_, is_used)| **is_used);
        question_target(experiment, used.map(|(label, _)| *label), FILE_REMEDY)
    }

    /// What is left out, and what rows stand for.
    pub(super) fn notes(&self) -> Vec<String> {
        let all = self.is_used.len();
        let [missing, without_weight] = self.left_out;
        let left_out = |rows: usize, why: &str| {
            let sentence =
                format!("Left out for {why}: {} of {}.", counted(rows, "row"), count(all));
            (rows > 0).then_some(sentence)
        };
        let weights = self.weights.as_ref().map(|(name, weights)| {
            let used = || weights.iter().zip(&self.is_used).filter(|(_, is_used)| **is_used);
            let total = used().map(|(weight, _)| weight).sum::<f64>();
            weight_note(name, total, used().count())
        });
        let known = self.known.as_ref().map(|(part, _)| part.note());
        left_out(missing, "missing cells")
            .into_iter()
            .chain(left_out(without_weight, "a weight of zero"))
            .chain(self.unknown.clone())
            .chain(weights)
            .chain(known)
            .collect()
    }
}

/// Refuses a known part of classes, which have none.
pub(super) fn check_known(read: &ReadRows<'_>, task: Task) -> Result<()> {
    match &read.known {
        Some((part, _)) if task != Task::Regression => Err(Error::input(format!(
            "data.{} is for numbers and counts, and the target is of classes",
            part.role()
        ))),
        _ => Ok(()),
    }
}

fn rows_by_node(
    keys: &DataKeys,
    table: &Table,
    graph: &Graph,
    is_used: &[bool],
) -> Result<Vec<Vec<usize>>> {
    // Looked up for each row.
    let ids: HashMap<&str, usize> =
        graph.network.names().iter().enumerate().map(|(id, name)| (name.as_str(), id)).collect();
    let mut rows = vec![Vec::new(); graph.network.len()];
    let column = table.column(&keys.node)?;
    let drops = keys.unknown_nodes == UnknownNodes::Drop;
    let id_of = |row: usize| {
        let name = column.cell(row);
        let known = ids.get(&*name).copied();
        if known.is_some() || drops {
            return Ok(known);
        }
        let remedy = "leave such rows out by --set data.unknown_nodes=drop";
        let found = if name.is_empty() {
            format!("is empty, expected a name; or {remedy}")
        } else {
            let advice = advice(&name, graph.network.names().iter().map(String::as_str));
            format!(
                "is '{name}', which is not a node of the network{advice}; add it there, or {remedy}"
            )
        };
        Err(table.at(row, &keys.node, &found))
    };
    // A name that is a number takes longer to write than to look up.
    let (numbers, mut known) = (column.plain_numbers(), HashMap::new());
    for row in (0..table.rows()).filter(|&row| is_used[row]) {
        let id = match numbers.map(|numbers| numbers[row].to_bits()) {
            None => id_of(row)?,
            Some(bits) => match known.get(&bits) {
                Some(&id) => id,
                None => *known.entry(bits).or_insert(id_of(row)?),
            },
        };
        if let Some(id) = id {
            rows[id].push(row);
        }
    }
    Ok(rows)
}

/// Leaves rows out that are of none of the nodes; how many these are, in words.
fn leave_out(
    keys: &DataKeys,
    table: &Table,
    by_node: &[Vec<usize>],
    is_used: &mut [bool],
) -> Option<String> {
    if keys.unknown_nodes != UnknownNodes::Drop {
        return None;
    }
    let mut is_unknown = is_used.to_vec();
    by_node.iter().flatten().for_each(|&row| is_unknown[row] = false);
    is_used.iter_mut().zip(&is_unknown).for_each(|(is_used, is_unknown)| *is_used &= !is_unknown);
    let rows: Vec<usize> = (0..is_used.len()).filter(|&row| is_unknown[row]).collect();
    let column = table.column(&keys.node).ok()?;
    let names: BTreeSet<String> = rows.iter().map(|&row| column.cell(row).into_owned()).collect();
    let shown: Vec<String> = names.iter().take(3).map(|name| format!("'{name}'")).collect();
    let more = if names.len() > 3 { ", …" } else { "" };
    (!rows.is_empty()).then(|| {
        format!(
            "Left out for nodes that the network does not have ({}{more}): {} of {}.",
            shown.join(", "),
            counted(rows.len(), "row"),
            count(is_used.len())
        )
    })
}

/// The rows of a table that neither a missing cell, nor a weight of zero, nor a split by time leaves out.
pub(super) fn used_rows(keys: &DataKeys, table: &TimedTable) -> Vec<bool> {
    let mut is_used = complete_rows(keys, table);
    let weight = keys.weight.as_ref().and_then(|name| table.column(name).ok());
    if let Some(weight) = weight {
        // A weight that is no number is left for whoever reads weights to refuse.
        let rows = is_used.iter_mut().enumerate();
        rows.for_each(|(row, is_used)| *is_used &= weight.number(row) != Some(0.0));
    }
    // A date that cannot be read is refused where rows are read.
    if let Some(Ok(in_time)) = is_in_time(keys, table.times.as_ref()) {
        is_used.iter_mut().zip(in_time).for_each(|(is_used, in_time)| *is_used &= in_time);
    }
    is_used
}

/// Refuses a table of which no row is used, with what leaves out how many.
pub(super) fn check_some_used(keys: &DataKeys, table: &TimedTable, is_used: &[bool]) -> Result<()> {
    if is_used.contains(&true) {
        return Ok(());
    }
    let in_time = is_in_time(keys, table.times.as_ref()).and_then(std::result::Result::ok);
    let in_time = in_time.unwrap_or_else(|| vec![true; table.rows()]);
    let is_complete = complete_rows(keys, table);
    // A row is left out for one reason: the first that it meets.
    let late = in_time.iter().filter(|in_time| !**in_time).count();
    let incomplete = in_time.iter().zip(&is_complete).filter(|(in_time, all)| **in_time && !**all);
    let incomplete = incomplete.count();
    let weightless = table.rows() - late - incomplete;
    let until = keys.time_split().and_then(|split| split.until.as_deref()).unwrap_or_default();
    let weight = keys.weight.as_deref().unwrap_or_default();
    let reasons = [
        (late, format!("for a time after {until} (key data.split.until)")),
        (incomplete, "for missing cells (key data.missing)".into()),
        (weightless, format!("for a weight of zero (column '{weight}')")),
    ];
    let reasons = reasons.into_iter().filter(|(rows, _)| *rows > 0);
    let reasons: Vec<String> =
        reasons.map(|(rows, why)| format!("{} {why}", counted(rows, "row"))).collect();
    Err(Error::input(format!(
        "{}: no row is left to train on, expected some; left out are {}",
        table.source,
        reasons.join(", ")
    )))
}

/// The rows of a table that no missing cell leaves out.
fn complete_rows(keys: &DataKeys, table: &Table) -> Vec<bool> {
    // What is wrong with the keys of columns is said where rows are read, and once is enough.
    let mut ignored = Problems::new("");
    let purposes = purposes(keys, &described(table), &mut ignored, &table.source);
    let drops = |name: &String, purpose: &Purpose| match purpose {
        Purpose::Feature(_)
        | Purpose::Target
        | Purpose::Weight
        | Purpose::Offset
        | Purpose::Exposure => drops_rows(keys, name),
        _ => false,
    };
    let dropping = purposes.iter().filter(|(name, purpose)| drops(name, purpose));
    ColumnPlan::used_rows(table.rows(), dropping.filter_map(|(name, _)| table.column(name).ok()))
}

fn described(table: &Table) -> Vec<(&str, Holds)> {
    table.columns().iter().map(|column| (column.name(), column.holds())).collect()
}
