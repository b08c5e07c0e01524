//! What a site tells of its own training rows before a federation is made: counts and sums, in a file that people carry.

use std::{collections::BTreeMap, path::Path};

use fedgrid::data::{Role, Task};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    Files, Graph,
    class_weights::for_classes_only,
    read_rows::{ReadRows, check_known},
    target::{check_target, class_names, labels},
    timed_table::TimedTable,
};
use crate::{
    columns::{
        ColumnSummary, FeatureDeviations, FeatureProducts, KnownKind, KnownPart, Problems, Purpose,
        RowWeights, SummaryOptions, ToldRows, heaviest_part, would_tell,
    },
    error::{Error, Result},
    experiment::{ClassWeights, Experiment, TaskKey},
    number::{count, counted, significant, tick},
    source::{Column, Holds, Table},
};

/// The shape of the file.
pub(super) const SUMMARY_VERSION: u32 = 1;

/// The keys of `[data]` by which summaries are made; those that say how a file is written may differ.
const AGREED_KEYS: [&str; 19] = [
    "node",
    "target",
    "weight",
    "offset",
    "exposure",
    "class_weights",
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
    /// What they count for, where they do not count alike.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weighed: Option<WeighedRows>,
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

/// What training rows count for.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WeighedRows {
    /// How many rows they stand for.
    pub counted: f64,
    /// How much they count in training, by their classes and exposures, too.
    pub trained: f64,
}

/// What a site tells of the target, less what is known of it.
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
        /// How many rows those of each class stand for, where they do not stand for one each.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        weights: BTreeMap<String, f64>,
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
        told.check_heaviest(options)?;
        let mut deviations = FeatureDeviations::default();
        let columns = told.columns(experiment, options, &mut deviations);
        check_few(&table.source, &columns, options)?;
        let products = if options.products {
            check_rows(&table.source, rows, deviations.features())?;
            Some(
                deviations.products(told.weights.as_ref().map(|weights| told.of(&weights.trained))),
            )
        } else {
            None
        };
        Ok(Self {
            fedgrid_summary: SUMMARY_VERSION,
            keys: agreed_keys(experiment),
            nodes: told.nodes(experiment)?,
            rows,
            weighed: told.weights.as_ref().map(|weights| WeighedRows {
                counted: total(told.of(&weights.counts)),
                trained: total(told.of(&weights.trained)),
            }),
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
    /// What each row counts for; none if all count alike.
    weights: Option<TableWeights>,
}

/// What each row of a table counts for.
struct TableWeights {
    counts: Vec<f64>,
    trained: Vec<f64>,
}

impl<'a> ToldTable<'a> {
    /// Reads a table as `fit` would; all that is wrong with it is said at once.
    fn new(experiment: &Experiment, base: &Path, table: &'a TimedTable) -> Result<Self> {
        let keys = &experiment.data;
        let mut problems = Problems::of(table);
        // Roles are drawn by a node's place among all nodes of the network.
        let is_drawn = keys.split.is_none() && keys.train.is_some();
        let graph = is_drawn.then(|| Graph::new(experiment, Files::new(base, experiment), None));
        let graph = graph.transpose()?;
        let read = ReadRows::new(experiment, table, graph.as_ref(), &mut problems);
        // Where no network is read, nobody else looks whether every row names a node.
        problems.take(table.names_in(&keys.node));
        let labels = problems.take(site_labels(experiment, table, &read.is_used));
        let labels = labels.map(|labels| read.without_offsets(labels));
        if let Some(task) = labels.as_ref().map(fedgrid::data::Labels::task) {
            problems.take(check_known(&read, task));
            problems.take(for_classes_only(experiment, task));
        }
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
        // For its problems only: what cannot be read must be known before anything is told of it.
        let _ = plan.facts(column, &read.is_used, &mut problems);
        problems.into_result()?;
        let trains = |row: &usize| read.is_used[*row] && roles[*row] == Role::Train;
        let training = (0..table.rows()).filter(trains).collect();
        let weights = weighs_rows(experiment).then(|| table_weights(experiment, table, &read));
        Ok(Self { table, read, training, weights })
    }

    /// The training rows, with what they count for.
    fn rows(&self) -> ToldRows<'_> {
        let weights = self.weights.as_ref();
        let weights = weights.map(|own| RowWeights { counts: &own.counts, trained: &own.trained });
        ToldRows { rows: &self.training, weights }
    }

    /// The weights of the training rows.
    fn of(&self, weights: &[f64]) -> Vec<f64> {
        self.training.iter().map(|&row| weights[row]).collect()
    }

    /// Refuses rows of which one counts so much that sums over all of them, or over those with a value in some column,
    /// would tell it.
    fn check_heaviest(&self, options: SummaryOptions) -> Result<()> {
        let Some(weights) = &self.weights else { return Ok(()) };
        let most = tick(100.0 / options.least_count as f64);
        let refused = |rows: &[usize], of: &str, remedy: &str| {
            // Either of the two is what some sum goes by.
            for all in [&weights.counts, &weights.trained] {
                let own: Vec<f64> = rows.iter().map(|&row| all[row]).collect();
                // Fewer rows are refused elsewhere, with a remedy of their own.
                if rows.len() >= options.least_count && would_tell(&own, options.least_count) {
                    let part = significant(100.0 * heaviest_part(own.into_iter()));
                    return Err(Error::input(format!(
                        "{}: one training row has {part} % of the weight of all{of}, expected at most {most} %: sums \
                         would tell it; {remedy}let this site join without a summary",
                        self.table.source
                    )));
                }
            }
            Ok(())
        };
        refused(&self.training, "", "")?;
        for (name, purpose) in &self.read.purposes {
            if let (Purpose::Feature(_), Ok(column)) = (purpose, self.table.column(name)) {
                let present = self.rows().present(column);
                let of = format!(" that have a value of column '{name}'");
                refused(&present, &of, "leave it out at all sites with data.exclude, or ")?;
            }
        }
        Ok(())
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
            let rows = (self.rows(), options);
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
            let (counts, weights) = (BTreeMap::new(), BTreeMap::new());
            return TargetSummary::Classes { counts, rare_rows: 0, weights };
        };
        if !are_classes(experiment, column.holds()) {
            let seen = |&row: &usize| {
                let label = self.read.seen_label(row, column.number(row)?);
                Some((label, self.rows().trained(row)))
            };
            let mut numbers: Vec<(f64, f64)> = self.training.iter().filter_map(seen).collect();
            // Sorted, so that the same rows in another order give the same bits.
            numbers.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
            let all = numbers.iter().map(|(_, weight)| weight).sum::<f64>();
            let sum = numbers.iter().map(|(y, weight)| weight * y).sum::<f64>();
            let mean = if all > 0.0 { sum / all } else { 0.0 };
            // About the mean: a difference of large sums would lose what the target varies by.
            let squares = numbers.iter().map(|(y, weight)| weight * (y - mean).powi(2)).sum();
            return TargetSummary::Numbers { mean, squares };
        }
        let mut all: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for &row in &self.training {
            all.entry(column.cell(row).into_owned()).or_default().push(row);
        }
        all.retain(|_, rows| rows.len() >= options.least_count);
        let counts: BTreeMap<String, usize> =
            all.iter().map(|(class, rows)| (class.clone(), rows.len())).collect();
        let rare_rows = self.training.len() - counts.values().sum::<usize>();
        let weights = self.weights.iter().flat_map(|weights| {
            let own = |rows: &[usize]| rows.iter().map(|&row| weights.counts[row]).collect();
            all.iter().map(move |(class, rows)| (class.clone(), total(own(rows))))
        });
        TargetSummary::Classes { counts, rare_rows, weights: weights.collect() }
    }
}

/// Whether training rows of an experiment may count differently, as far as it says itself.
pub(super) fn weighs_rows(experiment: &Experiment) -> bool {
    let data = &experiment.data;
    let has_exposures =
        KnownPart::of(experiment).is_some_and(|part| part.kind != KnownKind::Offset);
    data.weight.is_some()
        || has_exposures
        || matches!(data.class_weights, Some(ClassWeights::Given(_)))
}

/// What each row of a table counts for: as its weight says, and in training as its class and exposure do, too.
fn table_weights(experiment: &Experiment, table: &Table, read: &ReadRows<'_>) -> TableWeights {
    let given = match &experiment.data.class_weights {
        Some(ClassWeights::Given(given)) => Some(given),
        _ => None,
    };
    let classes = given.zip(table.column(&experiment.data.target).ok());
    let class = |row: usize| {
        let own = |(given, column): (&BTreeMap<String, f64>, &Column)| {
            given.get(&*column.cell(row)).copied()
        };
        classes.and_then(own).unwrap_or(1.0)
    };
    let counts: Vec<f64> = (0..table.rows()).map(|row| read.count(row)).collect();
    let trained = |(row, count): (usize, &f64)| count * class(row) * read.exposure(row);
    let trained = counts.iter().enumerate().map(trained).collect();
    TableWeights { counts, trained }
}

/// A sum to the same bit in whatever order its parts come.
fn total(mut weights: Vec<f64>) -> f64 {
    weights.sort_by(f64::total_cmp);
    weights.iter().sum()
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
    // A site may have seen one class; a task has two at least.
    let task = Task::Classification { classes: names.len().max(2) };
    Ok(labels(keys, table, (task, Some(&names)), is_used)?.0)
}
