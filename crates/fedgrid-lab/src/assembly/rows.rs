//! The rows of a table, sorted by node, with their roles.

use fedgrid::{
    data::{Dataset, Features, Plan, Role, RowDraws, Task},
    model::Scales,
};

use super::{
    Graph, listed,
    read_rows::{ReadRows, check_known},
    target::{check_target, labels},
    timed_table::TimedTable,
};
use crate::{
    columns::{ColumnPlan, Problems, question_weight},
    error::Result,
    experiment::{DataKeys, Experiment},
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
    /// The column plan of all sites, or of a run.
    pub(super) plan: Option<&'a ColumnPlan>,
    /// Whether it is that of a run that is trained.
    pub(super) is_of_run: bool,
}

impl Rows {
    pub(super) fn new(
        experiment: &Experiment,
        table: &TimedTable,
        graph: &Graph,
        (task, known): (Task, Known<'_>),
    ) -> Result<Self> {
        let mut problems = match known {
            Known { is_of_run: true, .. } => Problems::of_new_rows(table),
            Known { plan: Some(_), .. } => Problems::at_site(table),
            _ => Problems::of(table),
        };
        let read = ReadRows::new(experiment, table, Some(graph), &mut problems);
        problems.take(check_known(&read, task));
        let target = problems.take(check_target(experiment, table, task));
        let labels = target.and_then(|()| {
            let classes = (task, known.classes);
            problems.take(labels(&experiment.data, table, classes, &read.is_used))
        });
        let labels = labels.map(|(labels, classes)| (read.without_offsets(labels), classes));
        // Before it is asked whether numbers are classes, which keeps no row from being read.
        let is_sound = problems.is_empty();
        let numbers = labels.as_ref().filter(|_| task == Task::Regression);
        let question = numbers.and_then(|(labels, _)| {
            read.question(experiment, labels).map_err(|asked| problems.add(asked)).ok().flatten()
        });
        let stored = problems.take(read.stored_roles(&experiment.data)).flatten();
        // Roles are drawn by what rows hold, which is not known while some cannot be read.
        let draws = labels.as_ref().filter(|_| is_sound);
        let roles = match (stored, draws) {
            (Some(stored), _) => stored,
            (None, Some((labels, _))) => read.drawn_roles(experiment, graph, labels)?,
            (None, None) => vec![Role::Train; table.rows()],
        };
        let columns = read.plan(experiment, &roles, known.plan, &mut problems);
        let column = |name: &str| table.column(name).ok();
        let made = columns.encode(column, &read.is_used, &mut problems);
        // Where columns have problems, these are why none is left.
        if made.names.is_empty() && problems.is_empty() {
            problems.add(columns.no_feature());
        }
        problems.into_result()?;
        let kept =
            if known.is_of_run { read.kept_plan(&columns, &roles, &made) } else { Vec::new() };
        let (labels, classes) = labels.expect("labels that cannot be read are a problem");
        let (mut by_node, mut data) =
            (read.by_node.clone(), Vec::with_capacity(graph.network.len()));
        for rows in &mut by_node {
            let own = read.dataset(made.rows(rows)?, &labels, rows)?;
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
        let by_time = read.split_notes(&experiment.data, &roles);
        let roles = by_node.iter().map(of_node).collect();
        let told = read.notes().into_iter().chain(by_time);
        let notes = made.notes().into_iter().chain(kept).chain(told).chain(question).collect();
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
        // A node has one note: what comes later here goes over what comes before.
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

    /// What is unusual about columns: those that no model can use, and what was done with others.
    pub(super) fn describe_columns(&self, keys: &DataKeys) -> Vec<String> {
        let ignored = self.columns.ignored();
        let left_out =
            (!ignored.is_empty()).then(|| format!("Columns left out: {}.", ignored.join(", ")));
        let features: Vec<&str> = self.columns.features().map(|(name, _)| name).collect();
        let weight = question_weight(keys, &features);
        left_out.into_iter().chain(self.notes.iter().cloned()).chain(weight).collect()
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
