//! The rows of a table, sorted by node, with their roles.

use std::{collections::BTreeMap, sync::Arc};

use fedgrid::{
    data::{Dataset, Features, Labels, Plan, Role, RowDraws, Task},
    model::Scales,
};

use super::{
    Graph, listed,
    target::{check_target, labels, question_target},
};
use crate::{
    columns::{ColumnPlan, Problems, Purpose, drops_rows, purposes, raw_values},
    error::Result,
    experiment::{DataKeys, Experiment, MissingRule, advice},
    number::{count, counted},
    source::{Column, Table},
};

/// The rows of every node.
#[derive(Debug, Clone)]
pub struct Rows {
    /// The rows.
    pub data: Vec<Dataset>,
    /// What each row is for.
    pub roles: Vec<Vec<Role>>,
    /// The names of the classes; none for numbers.
    pub classes: Vec<String>,
    /// What became of the columns.
    pub columns: ColumnPlan,
    /// What was filled, left out or not known, in words.
    pub notes: Vec<String>,
}

/// What is known of a table before it is read.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Known<'a> {
    /// The names of the classes.
    pub(super) classes: Option<&'a [String]>,
    /// The column plan of all sites.
    pub(super) plan: Option<&'a ColumnPlan>,
}

/// The rows of a table that no missing cell leaves out.
pub(super) fn used_rows(keys: &DataKeys, table: &Table) -> Vec<bool> {
    let mut ignored = Problems::new("");
    let purposes = purposes(keys, &described(table), &mut ignored, &table.source);
    let drops = |name: &String, purpose: &Purpose| match purpose {
        Purpose::Feature(_) => drops_rows(keys, name),
        Purpose::Target => keys.missing == MissingRule::Drop,
        _ => false,
    };
    let dropping = purposes.iter().filter(|(name, purpose)| drops(name, purpose));
    ColumnPlan::used_rows(table.rows(), dropping.filter_map(|(name, _)| table.column(name).ok()))
}

fn described(table: &Table) -> Vec<(&str, crate::source::Holds)> {
    table.columns().iter().map(|column| (column.name(), column.holds())).collect()
}

impl Rows {
    pub(super) fn new(
        experiment: &Experiment,
        table: &Table,
        graph: &Graph,
        (task, known): (Task, Known<'_>),
    ) -> Result<Self> {
        let mut problems = Problems::new(&table.source);
        let read = ReadRows::new(experiment, table, Some(graph), &mut problems);
        let target = problems.take(check_target(experiment, table, task));
        let labels = target.and_then(|()| {
            let classes = (task, known.classes);
            problems.take(labels(&experiment.data, table, classes, &read.is_used))
        });
        let is_sound = problems.is_empty();
        let stored = problems.take(read.stored_roles(&experiment.data)).flatten();
        let draws = labels.as_ref().filter(|_| is_sound);
        let roles = match (stored, draws) {
            (Some(stored), _) => stored,
            (None, Some((labels, _))) => read.drawn_roles(experiment, graph, labels)?,
            (None, None) => vec![Role::Train; table.rows()],
        };
        let columns = read.plan(experiment, &roles, known.plan, &mut problems);
        let column = |name: &str| table.column(name).ok();
        let made = columns.encode(column, &read.is_used, &mut problems);
        if made.names.is_empty() && problems.is_empty() {
            problems.add(columns.no_feature());
        }
        problems.into_result()?;
        let (labels, classes) = labels.expect("labels that cannot be read are a problem");
        let (mut by_node, mut data) =
            (read.by_node.clone(), Vec::with_capacity(graph.network.len()));
        for rows in &mut by_node {
            let own = Dataset::new(made.rows(rows)?, labels.select(rows))?;
            // By what rows hold, so that nothing depends on where they stand.
            let ranked = own.ranked_rows().filter(|_| !experiment.is_of_row_order());
            data.push(ranked.map_or_else(
                || own.clone(),
                |ranked| {
                    *rows = ranked.iter().map(|&place| rows[place]).collect();
                    own.select(&ranked)
                },
            ));
        }
        let of_node = |rows: &Vec<usize>| rows.iter().map(|&row| roles[row]).collect();
        let roles = by_node.iter().map(of_node).collect();
        let notes = made.notes().into_iter().chain(read.left_out_note()).collect();
        Ok(Self { data, roles, classes, columns, notes })
    }

    /// How the rows are used.
    pub(super) fn plan(&self, experiment: &Experiment, graph: &Graph) -> Plan {
        let (names, rows, seed) = (graph.network.names(), &self.data[..], experiment.seed);
        Plan::new(&self.roles, experiment.data.folds, &RowDraws { names, rows, seed })
    }

    /// Gives all rows the units of a study.
    pub(super) fn scale(&mut self, scales: Option<&Scales>) -> Result<()> {
        for data in &mut self.data {
            if let Some(scales) = scales {
                *data = scales.rows(data)?;
            }
        }
        Ok(())
    }

    /// Names what is unusual: nodes with no or one row, one class, constant features.
    pub(super) fn describe(
        &self,
        (plan, needs_network): (&Plan, bool),
        graph: &Graph,
        training: &Features,
        notes: &mut Vec<String>,
    ) -> Vec<Option<String>> {
        let names = graph.network.names();
        let mut note = |nodes: &[usize], singular: &str, plural: &str, rest: &str| {
            if !nodes.is_empty() {
                let names: Vec<&str> = nodes.iter().map(|&node| names[node].as_str()).collect();
                notes.push(format!("{} {rest}", listed(names.into_iter(), singular, plural)));
            }
        };
        let with = |count: usize| -> Vec<usize> {
            (0..names.len()).filter(|&node| plan.train[node].len() == count).collect()
        };
        let (none, one) = (with(0), with(1));
        note(&one, "has", "have", "one training row.");
        let is_isolated = |node: &usize| graph.network.neighbours(*node).is_empty();
        let isolated: Vec<usize> =
            (0..names.len()).filter(|node| needs_network && is_isolated(node)).collect();
        note(&isolated, "has", "have", "no neighbour: the network cannot help there.");
        let single = self.single_class(plan);
        note(&single, "has", "have", "training rows of one class only.");
        let first = training.iter().next().unwrap_or_default();
        for (column, name) in training.names().iter().enumerate() {
            if training.iter().all(|row| row[column].to_bits() == first[column].to_bits()) {
                notes.push(format!("Feature '{name}' is constant over all training rows."));
            }
        }
        let mut about = vec![None; names.len()];
        for (nodes, words) in [
            (&single, "one class only"),
            (&one, "one training row"),
            (&none, "no training row"),
            (&isolated, "no neighbour"),
        ] {
            for &node in nodes {
                about[node] = Some(words.to_string());
            }
        }
        about
    }

    /// What is unusual about columns: those that no model can use, and whole numbers as a target.
    pub(super) fn describe_columns(&self, experiment: &Experiment, plan: &Plan) -> Vec<String> {
        let counts =
            experiment.model.models().any(|model| model.as_local().smallest_label() >= 0.0);
        let question = if self.classes.is_empty() && experiment.data.task.is_none() && !counts {
            let labels: Vec<f64> = (self.data.iter().zip(&plan.train))
                .flat_map(|(data, rows)| data.labels().select(rows).as_slice().to_vec())
                .collect();
            question_target(&experiment.data.target, &labels)
        } else {
            None
        };
        let ignored = self.columns.ignored();
        let left_out =
            (!ignored.is_empty()).then(|| format!("Columns left out: {}.", ignored.join(", ")));
        left_out.into_iter().chain(self.notes.iter().cloned()).chain(question).collect()
    }

    fn single_class(&self, plan: &Plan) -> Vec<usize> {
        let one_class = |node: &usize| {
            let labels = self.data[*node].labels().select(&plan.train[*node]);
            let classes = labels.most_probable();
            classes.len() > 1 && classes.windows(2).all(|pair| pair[0] == pair[1])
        };
        if self.classes.is_empty() {
            return Vec::new();
        }
        (0..self.data.len()).filter(one_class).collect()
    }
}

/// What a table says before its columns are planned.
pub(super) struct ReadRows<'a> {
    table: &'a Table,
    purposes: Vec<(String, Purpose)>,
    /// Whether each row is used.
    pub(super) is_used: Vec<bool>,
    /// The rows of each node that are.
    pub(super) by_node: Vec<Vec<usize>>,
}

impl<'a> ReadRows<'a> {
    /// Reads a table; without a network, rows are of no node.
    pub(super) fn new(
        experiment: &Experiment,
        table: &'a Table,
        graph: Option<&Graph>,
        problems: &mut Problems,
    ) -> Self {
        let keys = &experiment.data;
        let purposes = purposes(keys, &described(table), problems, &table.source);
        let is_used = used_rows(keys, table);
        let by_node = graph.map(|graph| rows_by_node(keys, table, graph, &is_used));
        let by_node = by_node.and_then(|found| problems.take(found)).unwrap_or_default();
        Self { table, purposes, is_used, by_node }
    }

    /// The features as one column each, before training rows are known.
    fn features(&self) -> impl Iterator<Item = (&'a Column, crate::experiment::ColumnKind)> {
        self.purposes.iter().filter_map(|(name, purpose)| match purpose {
            Purpose::Feature(kind) => Some((self.table.column(name).ok()?, *kind)),
            _ => None,
        })
    }

    /// The roles that a column of the table tells; none without one.
    pub(super) fn stored_roles(&self, keys: &DataKeys) -> Result<Option<Vec<Role>>> {
        let Some(column) = &keys.split else { return Ok(None) };
        let cells = self.table.column(column)?;
        let role = |row: usize| match cells.cell(row).to_lowercase().as_str() {
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
            let rows = if columns.is_empty() { &[][..] } else { rows };
            Dataset::new(features, labels.select(rows))
        };
        let data = self.by_node.iter().map(of_node).collect::<fedgrid::Result<Vec<_>>>()?;
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
        let trains = |row: &usize| self.is_used[*row] && roles[*row] == Role::Train;
        let training: Vec<usize> = (0..self.table.rows()).filter(trains).collect();
        let column = |name: &str| self.table.column(name).ok();
        ColumnPlan::new(&experiment.data, self.purposes.clone(), column, &training, problems)
    }

    pub(super) fn left_out_note(&self) -> Option<String> {
        let left_out = self.is_used.iter().filter(|is_used| !**is_used).count();
        (left_out > 0).then(|| {
            let rows = counted(left_out, "row");
            format!("Left out for missing cells: {rows} of {}.", count(self.is_used.len()))
        })
    }
}

fn rows_by_node(
    keys: &DataKeys,
    table: &Table,
    graph: &Graph,
    is_used: &[bool],
) -> Result<Vec<Vec<usize>>> {
    let ids: BTreeMap<&str, usize> =
        graph.network.names().iter().enumerate().map(|(id, name)| (name.as_str(), id)).collect();
    let mut rows = vec![Vec::new(); graph.network.len()];
    let column = table.column(&keys.node)?;
    for row in (0..table.rows()).filter(|&row| is_used[row]) {
        let name = column.cell(row);
        if name.is_empty() {
            return Err(table.at(row, &keys.node, "is empty, expected a name"));
        }
        let id = ids.get(&*name).ok_or_else(|| {
            let advice = advice(&name, graph.network.names().iter().map(String::as_str));
            let found = format!("is '{name}', which is not a node of the network{advice}");
            table.at(row, &keys.node, &found)
        })?;
        rows[*id].push(row);
    }
    Ok(rows)
}
