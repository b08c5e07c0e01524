//! What a site tells of its own training rows before a federation is made: counts and sums, in a file that people carry.

use std::{collections::BTreeMap, path::Path};

use fedgrid::data::{Role, Task};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    Files, Graph,
    rows::ReadRows,
    target::{check_target, class_names, labels},
    timed_table::TimedTable,
};
use crate::{
    columns::{
        ColumnSummary, FeatureDeviations, FeatureProducts, Problems, Purpose, SummaryOptions,
    },
    error::{Error, Result},
    experiment::{Experiment, TaskKey},
    number::{count, counted},
    source::{Holds, Table},
};

/// The shape of the file.
pub(super) const SUMMARY_VERSION: u32 = 1;

/// The keys of `[data]` by which summaries are made; those that say how a file is written may differ.
const AGREED_KEYS: [&str; 15] = [
    "node",
    "target",
    "features",
    "exclude",
    "columns",
    "most_levels",
    "missing",
    "missing_values",
    "time",
    "lags",
    "split",
    "train",
    "validation",
    "task",
    "classes",
];

/// What a site tells.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SiteSummary {
    /// The shape of this file.
    pub fedgrid_summary: u32,
    /// The keys of the experiment that it was made by.
    pub keys: BTreeMap<String, Value>,
    /// The nodes whose rows it is about.
    pub nodes: Vec<String>,
    /// How many rows train.
    pub rows: usize,
    /// How many rows a level must have to be named.
    pub least_count: usize,
    /// What is predicted.
    pub target: TargetSummary,
    /// The columns.
    pub columns: Vec<ColumnSummary>,
    /// Products of features, if they are told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub products: Option<FeatureProducts>,
}

/// What a site tells of the target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum TargetSummary {
    /// Of numbers.
    Numbers {
        /// Their mean.
        mean: f64,
        /// The sum of squares of what differs from it.
        squares: f64,
    },
    /// Of classes.
    Classes {
        /// How many rows have each.
        counts: BTreeMap<String, usize>,
        /// How many rows have one that is too rare to be named.
        rare_rows: usize,
    },
}

/// The keys by which summaries of an experiment are made.
pub(super) fn agreed_keys(experiment: &Experiment) -> BTreeMap<String, Value> {
    let data = serde_json::to_value(&experiment.data).unwrap_or_default();
    let given = |key: &str| Some((format!("data.{key}"), data.get(key)?.clone()));
    let mut keys: BTreeMap<String, Value> = AGREED_KEYS.into_iter().filter_map(given).collect();
    // Roles are drawn by it.
    if experiment.data.train.is_some() {
        keys.insert("seed".into(), experiment.seed.into());
    }
    keys
}

impl SiteSummary {
    /// What a table tells, as the experiment and the site's options say; files of the network are below `base`.
    pub fn of_table(
        experiment: &Experiment,
        base: &Path,
        data: &Path,
        options: SummaryOptions,
    ) -> Result<Self> {
        let table = Table::from_file(data, &experiment.data)?;
        let table = TimedTable::read(&experiment.data, table)?;
        let told = ToldTable::new(experiment, base, &table)?;
        let rows = told.training.len();
        if rows < options.least_count {
            return Err(Error::input(format!(
                "{}: {}, expected at least {}: sums over fewer would tell them; let this site join without a summary",
                table.source,
                counted(rows, "training row"),
                options.least_count
            )));
        }
        let mut deviations = FeatureDeviations::default();
        let columns = told.columns(experiment, options, &mut deviations);
        check_few(&table.source, &columns, options)?;
        let products = if options.products {
            check_rows(&table.source, rows, deviations.features())?;
            Some(deviations.products())
        } else {
            None
        };
        Ok(Self {
            fedgrid_summary: SUMMARY_VERSION,
            keys: agreed_keys(experiment),
            nodes: told.nodes(experiment)?,
            rows,
            least_count: options.least_count,
            target: told.target(experiment, options),
            columns,
            products,
        })
    }
}

/// Refuses a column of a few values.
fn check_few(source: &str, columns: &[ColumnSummary], options: SummaryOptions) -> Result<()> {
    let is_few = |column: &&ColumnSummary| {
        column.sums.as_ref().is_some_and(|own| (1..options.least_count).contains(&own.values))
    };
    let few: Vec<String> = (columns.iter().filter(is_few))
        .map(|column| {
            let values = column.sums.as_ref().map_or(0, |own| own.values);
            format!("'{}' ({})", column.name, counted(values, "value"))
        })
        .collect();
    if few.is_empty() {
        return Ok(());
    }
    Err(Error::input(format!(
        "{source}: of columns {} the training rows hold fewer than {} values, whose sums would tell them; leave them \
         out at all sites with data.exclude, or let this site join without a summary",
        few.join(", "),
        options.least_count
    )))
}

/// Refuses products of so many features over so few rows that the rows could be found again.
fn check_rows(source: &str, rows: usize, features: usize) -> Result<()> {
    let expected = 2 * features + 5;
    if rows >= expected {
        return Ok(());
    }
    Err(Error::input(format!(
        "{source}: {} and {features} features, expected at least {} rows (twice the features and five): products of \
         features over so few would tell the rows; add --without-products, or use fewer features",
        counted(rows, "training row"),
        count(expected)
    )))
}

/// A table that a site tells of.
struct ToldTable<'a> {
    table: &'a TimedTable,
    read: ReadRows<'a>,
    training: Vec<usize>,
}

impl<'a> ToldTable<'a> {
    /// Reads a table as `fit` would; all that is wrong with it is said at once.
    fn new(experiment: &Experiment, base: &Path, table: &'a TimedTable) -> Result<Self> {
        let keys = &experiment.data;
        let mut problems = Problems::new(&table.source);
        // Roles are drawn by a node's place among all nodes of the network.
        let is_drawn = keys.split.is_none() && keys.train.is_some();
        let graph = is_drawn.then(|| Graph::new(experiment, Files::new(base, experiment), None));
        let graph = graph.transpose()?;
        let read = ReadRows::new(experiment, table, graph.as_ref(), &mut problems);
        problems.take(table.names_in(&keys.node));
        let labels = problems.take(site_labels(experiment, table, &read.is_used));
        let numbers = labels.as_ref().filter(|labels| labels.task() == Task::Regression);
        if let Some(Err(asked)) = numbers.map(|labels| read.question(experiment, labels)) {
            problems.add(asked);
        }
        let stored = problems.take(read.stored_roles(keys)).flatten();
        let drawn = match (&graph, &labels) {
            (Some(graph), Some(labels)) if problems.is_empty() => {
                problems.take(read.drawn_roles(experiment, graph, labels))
            }
            _ => None,
        };
        // Without roles all rows train, in turn.
        let roles = stored.or(drawn).unwrap_or_else(|| vec![Role::Train; table.rows()]);
        let plan = read.plan(experiment, &roles, None, &mut problems);
        let column = |name: &str| table.column(name).ok();
        let _ = plan.facts(column, &read.is_used, &mut problems);
        problems.into_result()?;
        let trains = |row: &usize| read.is_used[*row] && roles[*row] == Role::Train;
        let training = (0..table.rows()).filter(trains).collect();
        Ok(Self { table, read, training })
    }

    /// The columns that others need to know of: features, and those that could be some at other sites.
    fn columns(
        &self,
        experiment: &Experiment,
        options: SummaryOptions,
        deviations: &mut FeatureDeviations,
    ) -> Vec<ColumnSummary> {
        let of = |(name, purpose): &(String, Purpose)| {
            let column = self.table.column(name).ok()?;
            let is_told = match purpose {
                Purpose::Unlisted => false,
                Purpose::Ignored(_) => column.holds() == Holds::Nothing,
                _ => true,
            };
            let rows = (self.training.as_slice(), options);
            is_told.then(|| {
                ColumnSummary::of(column, purpose.clone(), &experiment.data, rows, deviations)
            })
        };
        self.read.purposes.iter().filter_map(of).collect()
    }

    fn nodes(&self, experiment: &Experiment) -> Result<Vec<String>> {
        let names = self.table.names_in(&experiment.data.node)?;
        Ok(class_names(&names))
    }

    fn target(&self, experiment: &Experiment, options: SummaryOptions) -> TargetSummary {
        let keys = &experiment.data;
        let Ok(column) = self.table.column(&keys.target) else {
            return TargetSummary::Classes { counts: BTreeMap::new(), rare_rows: 0 };
        };
        if !are_classes(experiment, column.holds()) {
            let mut numbers: Vec<f64> =
                self.training.iter().filter_map(|&row| column.number(row)).collect();
            numbers.sort_by(f64::total_cmp);
            let mean = numbers.iter().sum::<f64>() / numbers.len().max(1) as f64;
            let squares = numbers.iter().map(|y| (y - mean).powi(2)).sum();
            return TargetSummary::Numbers { mean, squares };
        }
        let mut all: BTreeMap<String, usize> = BTreeMap::new();
        for &row in &self.training {
            *all.entry(column.cell(row).into_owned()).or_default() += 1;
        }
        let rows: usize = all.values().sum();
        all.retain(|_, count| *count >= options.least_count);
        let rare_rows = rows - all.values().sum::<usize>();
        TargetSummary::Classes { counts: all, rare_rows }
    }
}

/// Whether classes are predicted, by what the experiment says and a site's target holds.
fn are_classes(experiment: &Experiment, holds: Holds) -> bool {
    let (data, model) = (&experiment.data, &experiment.model);
    data.classes.is_some()
        || match data.task {
            Some(TaskKey::Regression) => false,
            Some(TaskKey::Classification) => true,
            Some(TaskKey::Auto) | None => {
                let classes = Task::Classification { classes: 2 };
                !model.predicts(Task::Regression)
                    || (matches!(holds, Holds::Text | Holds::Truths)
                        && model.for_task(classes).predicts(classes))
            }
        }
}

/// The labels of a site, which may have one class only.
fn site_labels(
    experiment: &Experiment,
    table: &Table,
    is_used: &[bool],
) -> Result<fedgrid::data::Labels> {
    let keys = &experiment.data;
    let column = table.column(&keys.target)?;
    if !are_classes(experiment, column.holds()) {
        check_target(experiment, table, Task::Regression)?;
        return Ok(labels(keys, table, (Task::Regression, None), is_used)?.0);
    }
    let used = || (0..table.rows()).filter(|&row| is_used[row]);
    if let Some(row) = used().find(|&row| column.cell(row).is_empty()) {
        return Err(table.at(row, &keys.target, "is empty, expected a name"));
    }
    let own: Vec<String> = used().map(|row| column.cell(row).into_owned()).collect();
    let names = class_names(keys.classes.as_deref().unwrap_or(&own));
    let task = Task::Classification { classes: names.len().max(2) };
    Ok(labels(keys, table, (task, Some(&names)), is_used)?.0)
}
