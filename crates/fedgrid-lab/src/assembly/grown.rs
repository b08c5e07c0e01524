//! A study that grows: further rows and nodes, read by the column plan of the run. Units and public points are made anew, so
//! that what it leads to is the study of all rows.

use std::{collections::BTreeMap, path::Path, sync::Arc};

use fedgrid::{
    compare::{Settings, Study, Unwatched},
    data::{CondensedRows, Dataset, Features, Role},
    model::Scales,
    network::Network,
};

use super::{
    Assembly, DataSchema, Files, Graph, NodePlaces, Rolling,
    grown_units::{GrownNodes, GrownUnits},
    learners,
    methods::{checked_methods, settings},
    models,
    rows::{Known, Rows},
    timed_table::TimedTable,
};
use crate::{
    columns::{ColumnPlan, drops_rows},
    error::{Error, Result},
    experiment::{DataKeys, Experiment, SplitKeys},
    number::counted,
    source::{Column, Table},
};

/// What rows that come later take from the run: how they are read, and in which units they are compared and summed.
#[derive(Debug, Clone)]
pub struct Frame {
    /// How rows are read.
    pub about: DataSchema,
    /// From the units of the table to those in which the rows of the run are summed; none if they are the same.
    pub scales: Option<Scales>,
}

/// Rows of every node with what each is for.
#[derive(Debug, Clone)]
pub struct GrownRows {
    /// The rows.
    pub data: Vec<Dataset>,
    /// What each is for.
    pub roles: Vec<Vec<Role>>,
}

/// The training rows of a table that a run has not seen, in the units of the table.
#[derive(Debug, Clone)]
pub struct FurtherRows {
    /// Those of every node.
    pub data: Vec<Dataset>,
    /// What a reader should know of them.
    pub notes: Vec<String>,
}

/// The rows that a run was trained on, read again.
#[derive(Debug)]
pub struct RereadRows {
    /// The study of the run.
    pub assembly: Assembly,
    /// Its rows in the units of the table.
    pub rows: GrownRows,
    /// The table that they are from.
    pub table: Table,
}

impl Frame {
    /// That of a study.
    #[must_use]
    pub fn of(assembly: &Assembly) -> Self {
        Self { about: assembly.about.clone(), scales: assembly.study.scales.clone() }
    }

    /// The training rows of a table, for the nodes of a network; their earlier values may be in tables of the time before.
    pub fn read(
        &self,
        experiment: &Experiment,
        network: &Network,
        (table, before): (Table, &[Table]),
    ) -> Result<FurtherRows> {
        let about = &self.about;
        let mut experiment = experiment.settled(about.task);
        // Rows that are given to train do so, unless a column of theirs says something else.
        let keys = &mut experiment.data;
        let column = keys.split_column().filter(|column| table.has(column)).map(String::from);
        keys.split =
            column.map(|column| SplitKeys { column: Some(column), ..SplitKeys::default() });
        (keys.train, keys.validation) = (None, None);
        if about.columns.lags.is_none() {
            keys.time = None;
        }
        let names: Arc<[String]> = Arc::from(about.features.clone());
        let nothing = |notes| {
            let nothing = Dataset::empty(names, about.task);
            FurtherRows { data: vec![nothing; network.len()], notes }
        };
        if table.rows() == 0 {
            for name in about.column_plan().sources().into_iter().chain([&*about.target]) {
                table.column(name)?;
            }
            return Ok(nothing(Vec::new()));
        }
        let described = table.described.clone();
        let table = TimedTable::of_later(table, before, about)?;
        if !some_look_back(&experiment.data, &table) {
            let rows = counted(table.rows(), "new row");
            return Ok(nothing(vec![format!(
                "{rows} left out: none has all of its earlier values (data.missing is drop)."
            )]));
        }
        let plan = about.column_plan();
        let classes = Some(&about.classes[..]).filter(|classes| !classes.is_empty());
        let known = Known { classes, plan: Some(&plan), is_of_run: true };
        let graph = Graph::from(network.clone());
        let Rows { data, roles, notes, .. } =
            Rows::new(&experiment, &table, &graph, (about.task, known))?;
        let mut left_out = 0;
        let train = |(data, roles): (&Dataset, &Vec<Role>)| {
            let rows: Vec<usize> =
                (0..data.rows()).filter(|&row| roles[row] == Role::Train).collect();
            left_out += data.rows() - rows.len();
            data.select(&rows)
        };
        let data = data.iter().zip(&roles).map(train).collect();
        let mut notes: Vec<String> = described.into_iter().chain(notes).collect();
        if left_out > 0 {
            let rows = counted(left_out, "new row");
            notes.push(format!("{rows} left out, because the split says that they do not train."));
        }
        Ok(FurtherRows { data, notes })
    }

    /// Rows of every node in the units in which they are summed.
    pub fn scaled(&self, data: &[Dataset]) -> Result<Vec<Dataset>> {
        let own = |data: &Dataset| match &self.scales {
            Some(scales) => scales.rows(data).map_err(Error::from),
            None => Ok(data.clone()),
        };
        data.iter().map(own).collect()
    }
}

/// Whether some row of a table has all earlier values that rows without them are left out for.
fn some_look_back(keys: &DataKeys, table: &TimedTable) -> bool {
    let names = keys.lag_names().into_iter().filter(|name| drops_rows(keys, name));
    let columns: Vec<&Column> = names.filter_map(|name| table.column(&name).ok()).collect();
    ColumnPlan::used_rows(table.rows(), columns.into_iter()).contains(&true)
}

impl RereadRows {
    /// Reads the files of an experiment again.
    pub fn new(experiment: &Experiment, base: &Path) -> Result<Self> {
        let rolling = Rolling::new(experiment, base)?;
        let assembly = rolling.assembly(rolling.count() - 1, &Unwatched)?;
        let (experiment, _, table) = rolling.last();
        let about = &assembly.about;
        let classes = Some(&about.classes[..]).filter(|classes| !classes.is_empty());
        let known = Known { classes, plan: Some(&about.columns), is_of_run: true };
        let graph = Graph::from(assembly.study.network.clone());
        let experiment = &experiment.settled(about.task);
        let Rows { data, roles, .. } = Rows::new(experiment, table, &graph, (about.task, known))?;
        let rows = GrownRows { data, roles };
        Ok(Self { rows, assembly, table: rolling.into_table() })
    }
}

impl GrownRows {
    /// Those of a study, in the units of its table.
    pub fn of(assembly: &Assembly) -> Result<Self> {
        let study = &assembly.study;
        let table = |data: &Dataset| match &study.scales {
            Some(scales) => scales.rows_for_table(data),
            None => Ok(data.clone()),
        };
        let data = study.rows.iter().map(table).collect::<fedgrid::Result<Vec<_>>>()?;
        let roles = data.iter().zip(&study.plan.train).zip(&study.plan.test);
        let roles = roles.map(|((data, train), test)| {
            let mut roles = vec![Role::Validation; data.rows()];
            for &row in train {
                roles[row] = Role::Train;
            }
            for &row in test {
                roles[row] = Role::Test;
            }
            roles
        });
        Ok(Self { roles: roles.collect(), data })
    }

    /// The same for the nodes of a larger network, in its order; new ones have no row.
    pub fn of_nodes(&self, own: &[String], network: &Network) -> Result<Self> {
        let Some(first) = self.data.first() else { return Ok(self.clone()) };
        let nothing = Dataset::empty(first.features().names().clone(), first.task());
        let places: BTreeMap<&str, usize> =
            own.iter().enumerate().map(|(place, name)| (name.as_str(), place)).collect();
        let (mut data, mut roles) = (Vec::new(), Vec::new());
        for name in network.names() {
            let place = places.get(name.as_str()).copied();
            data.push(place.map_or_else(|| nothing.clone(), |place| self.data[place].clone()));
            roles.push(place.map_or_else(Vec::new, |place| self.roles[place].clone()));
        }
        Ok(Self { data, roles })
    }

    /// With further rows of the same nodes, which train.
    pub fn with(mut self, further: &[Dataset]) -> Result<Self> {
        for (node, more) in further.iter().enumerate().filter(|(_, more)| more.rows() > 0) {
            let joined = joined(&self.data[node], more)?;
            self.roles[node].extend(vec![Role::Train; more.rows()]);
            // By what rows hold, as a table of all of them has them.
            if let Some(ranked) = joined.ranked_rows() {
                let roles = &self.roles[node];
                self.roles[node] = ranked.iter().map(|&row| roles[row]).collect();
                self.data[node] = joined.select(&ranked);
            } else {
                self.data[node] = joined;
            }
        }
        Ok(self)
    }
}

/// Rows of a node and further ones, each counting as before.
fn joined(own: &Dataset, more: &Dataset) -> Result<Dataset> {
    let both = own.clone().stacked(more)?;
    let (features, labels) = (both.features().clone(), both.labels().clone());
    let data = match both.counts() {
        Some(counts) => Dataset::counted(features, labels, counts.to_vec())?,
        None => Dataset::new(features, labels)?,
    };
    Ok(match both.exposures() {
        Some(exposures) => data.with_exposures(exposures.to_vec())?,
        None => data,
    })
}

/// All rows of a study that has grown.
#[derive(Debug)]
pub enum AllRows<'a> {
    /// The rows, in the units of the table.
    Rows(GrownRows),
    /// Their sums, one for each node.
    Sums {
        /// These sums.
        sums: &'a [CondensedRows],
        /// Their units, from those of the table.
        units: Option<&'a Scales>,
        /// Public points that were given, in the units of the table.
        points: Option<Features>,
    },
}

/// What a study that has grown is made of, but for its rows.
#[derive(Debug, Clone, Copy)]
pub struct GrownStudy<'a> {
    /// What is asked for.
    pub experiment: &'a Experiment,
    /// The folder that its paths begin at.
    pub folder: &'a Path,
    /// How rows are read.
    pub about: &'a DataSchema,
}

impl Assembly {
    /// The study of all rows over a network of all nodes, in the units and with the public points that a fit of them has.
    pub fn grown(
        study: GrownStudy<'_>,
        (graph, places): (Graph, Option<NodePlaces>),
        rows: AllRows<'_>,
    ) -> Result<Self> {
        let GrownStudy { experiment, folder, about } = study;
        let mut about = about.clone();
        let experiment = &experiment.settled(about.task);
        let (names, task) = (graph.network.names(), about.task);
        let models = models::models(experiment, &graph, task)?;
        models.check_method(&experiment.method, (names, &about.features), task)?;
        let columns = about.features.len();
        let check = |kind: &str| models.check_weights(kind, names, columns, task);
        let methods = checked_methods(experiment, (&models, check), &mut Vec::new())?;
        let files = Files::new(folder, experiment);
        let nodes = GrownNodes { experiment, files, about: &about, names, models: &models.models };
        let GrownUnits { data, plan, scales, class_weights, public, ranges, means } =
            nodes.units(rows)?;
        (about.ranges, about.means) = (ranges, means);
        let mut study = Study {
            network: graph.network.clone(),
            rows: data,
            models: models.models,
            public: public.points,
            plan,
            scales,
            settings: Settings { class_weights, ..settings(experiment, &graph, methods) },
        };
        study.check()?;
        learners::score_targets(&mut study)?;
        let nodes = study.network.len();
        Ok(Self {
            study,
            about,
            model_kinds: models.kinds,
            positions: graph.positions,
            notes: Vec::new(),
            node_notes: vec![None; nodes],
            public: public.words,
            fingerprint: 0,
            rows_fingerprint: None,
            chosen: None,
            row_notes: Vec::new(),
            places,
            labels: graph.labels,
        })
    }
}
