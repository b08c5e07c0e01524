//! The table of a site as the plan of its federation reads it: all that does not fit at once, before anything is sent.

use fedgrid::network::NodeId;

use super::{
    Checked, Common, DataSchema,
    read_rows::ReadRows,
    site::check_own,
    target::{check_target, labels},
    timed_table::TimedTable,
};
use crate::{
    columns::{ColumnPlan, Problems},
    error::Result,
    experiment::{DataKeys, Experiment, MissingRule},
    source::Table,
};

/// Looks at the table of a site that hosts these nodes.
#[must_use]
pub fn check_at_site(
    experiment: &Experiment,
    table: &Table,
    common: &Common,
    own: &[NodeId],
) -> Checked {
    let (keys, about) = (&experiment.data, &common.about);
    let plan = about.column_plan();
    let mut problems = Problems::at_site(table);
    // Lags are columns that a site does not have, but makes.
    let table = &TimedTable::new(keys, table.clone(), &mut problems);
    let is_whole = add_missing((keys, about), &plan, table, &mut problems);
    // Lists of columns would only repeat what is missing.
    let mut of_keys = problems.clone();
    let read = ReadRows::new(experiment, table, None, &mut of_keys);
    if is_whole {
        problems = of_keys;
    }
    problems.take(check_own(table, about, &common.network, own));
    problems.take(read_labels(experiment, table, about, &read.is_used));
    problems.take(read.stored_roles(keys));
    let made = plan.encode(|name| table.column(name).ok(), &read.is_used, &mut problems);
    let notes = made.notes().into_iter().chain(read.notes()).chain(unused(about, table, keys));
    Checked {
        table: table.source.clone(),
        files: table.described.clone(),
        rows: table.rows(),
        nodes: Some(own.len()),
        features: plan.feature_names(),
        notes: notes.collect(),
        plan: plan.into_owned(),
        problems: problems.sentences(),
    }
}

impl Checked {
    /// Refuses a table with problems, in one sentence with all of them.
    pub fn refuse(&self) -> Result<()> {
        if self.problems.is_empty() {
            return Ok(());
        }
        let all = self.problems.join("; ");
        Err(crate::Error::input(format!("{}: {all}", self.table)))
    }
}

/// Names the columns that are not there; whether there are none.
fn add_missing(
    (keys, about): (&DataKeys, &DataSchema),
    plan: &ColumnPlan,
    table: &Table,
    problems: &mut Problems,
) -> bool {
    for (name, role) in counting(keys, about).filter(|(name, _)| !table.has(name)) {
        problems.add(format!(
            "there is no column '{name}', which is the {role} at all sites of the federation; add it"
        ));
    }
    for (name, keys) in plan.features().filter(|(name, _)| !table.has(name)) {
        let is_filled =
            !matches!(keys.missing, None | Some(MissingRule::Refuse | MissingRule::Drop));
        let remedy = if is_filled { "add it, if need be without values" } else { "add it" };
        problems.add(format!(
            "there is no column '{name}', which all sites of the federation have; {remedy}"
        ));
    }
    problems.is_empty()
}

/// The columns that say what rows count for, and what they are.
fn counting<'a>(
    keys: &'a DataKeys,
    about: &'a DataSchema,
) -> impl Iterator<Item = (&'a str, &'static str)> {
    let weight = keys.weight.as_deref().map(|name| (name, "weight"));
    let known = about.known.as_ref().map(|part| (part.column.as_str(), part.role()));
    weight.into_iter().chain(known)
}

fn read_labels(
    experiment: &Experiment,
    table: &Table,
    about: &DataSchema,
    is_used: &[bool],
) -> Result<()> {
    check_target(experiment, table, about.task)?;
    let classes = (about.task, Some(about.classes.as_slice()));
    labels(&experiment.data, table, classes, is_used).map(|_| ())
}

/// Columns that the site has and the federation does not use.
fn unused(about: &DataSchema, table: &Table, keys: &DataKeys) -> Option<String> {
    let plan = about.column_plan();
    let is_used = |name: &&str| {
        [keys.node.as_str(), keys.target.as_str()].contains(name)
            || keys.split_column() == Some(name)
            || keys.time.as_deref() == Some(name)
            // Lags are made of columns that need not be features themselves.
            || keys.lags.contains_key(*name)
            || counting(keys, about).any(|(known, _)| known == *name)
            || plan.features().any(|(known, _)| known == *name)
    };
    let unused: Vec<&str> = table.names().filter(|name| !is_used(name)).collect();
    (!unused.is_empty())
        .then(|| format!("Columns that the federation does not use: {}.", unused.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Column;

    #[test]
    fn the_time_and_what_lags_are_made_of_are_used() {
        let text = "[data]\nfile = \"rows.csv\"\nnode = \"node\"\ntarget = \"y\"\ntime = \"day\"\n\
            [data.lags]\nsales = { lags = [1] }\n[network]\nshape = \"none\"\n";
        let keys = Experiment::table_from_text(text, "e.toml").unwrap();
        let experiment = Experiment::from_table(keys, "e.toml").unwrap();
        let plan = ColumnPlan::of_numbers(&["x".into(), "sales_lag_1".into()]);
        let about =
            DataSchema::new(&experiment, (fedgrid::data::Task::Regression, Vec::new()), plan);
        let note = |names: &[&str]| {
            let columns = names.iter().map(|name| Column::of_numbers((*name).into(), Vec::new()));
            let table = Table::empty("rows.csv").with_columns(columns.collect());
            unused(&about, &table, &experiment.data)
        };
        let used = ["node", "day", "sales", "x", "y", "sales_lag_1"];
        assert_eq!(note(&used), None);
        let said = note(&[&used[..], &["memo"]].concat()).unwrap();
        assert_eq!(said, "Columns that the federation does not use: memo.");
    }
}
