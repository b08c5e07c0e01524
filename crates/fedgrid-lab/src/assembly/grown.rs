//! A study that grows: further rows and nodes, read by the column plan, in the units and with the public points that a run
//! has. What it leads to is the study of all rows with these of the first.

use std::{path::Path, sync::Arc};

use fedgrid::{
    compare::{Settings, Study, Unwatched},
    data::{Dataset, Features, Plan, Role, RowDraws},
    model::Scales,
    network::Network,
};

use super::{
    Assembly, DataSchema, Graph, NodePlaces, Rolling, learners,
    methods::{checked_methods, settings},
    models,
    rows::{Known, Rows},
    timed_table::TimedTable,
};
use crate::{
    error::{Error, Result},
    experiment::{Experiment, SplitKeys},
    number::counted,
    source::Table,
};

/// What rows that come later take from the run: how they are read, and in which units models see them.
#[derive(Debug, Clone)]
pub struct Frame {
    /// How rows are read.
    pub about: DataSchema,
    /// From the units of the table to those of models; none if they are the same.
    pub scales: Option<Scales>,
    /// How often training rows of each class count; none if all count alike.
    pub class_weights: Option<Vec<f64>>,
    /// The public points of these nodes; one set if all have the same.
    pub public: Vec<Arc<Features>>,
    /// The nodes whose points these are.
    pub nodes: Vec<String>,
    /// How the points were chosen, in words.
    pub words: String,
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
}

impl Frame {
    /// That of a study.
    #[must_use]
    pub fn of(assembly: &Assembly) -> Self {
        let study = &assembly.study;
        let is_one = study.public.windows(2).all(|pair| Arc::ptr_eq(&pair[0], &pair[1]));
        let points = if is_one { 1 } else { study.public.len() };
        Self {
            about: assembly.about.clone(),
            scales: study.scales.clone(),
            class_weights: study.settings.class_weights.clone(),
            public: study.public.iter().take(points).cloned().collect(),
            nodes: study.network.names().to_vec(),
            words: assembly.public.clone(),
        }
    }

    /// The public points of the nodes of a network.
    fn points(&self, network: &Network) -> Result<Vec<Arc<Features>>> {
        if let [one] = &self.public[..] {
            return Ok(vec![one.clone(); network.len()]);
        }
        let own = |name: &String| {
            let place = self.nodes.iter().position(|known| known == name);
            let points = place.and_then(|place| self.public.get(place).cloned());
            points.ok_or_else(|| {
                Error::input(format!(
                    "public.per_node is true, and node '{name}' has no public points; new nodes join runs whose nodes \
                     have them in common, so fit again with all rows"
                ))
            })
        };
        network.names().iter().map(own).collect()
    }

    /// The training rows of a table, for the nodes of a network.
    pub fn read(
        &self,
        experiment: &Experiment,
        network: &Network,
        table: Table,
    ) -> Result<FurtherRows> {
        let about = &self.about;
        let mut experiment = experiment.settled(about.task);
        if !experiment.data.lags.is_empty() {
            return Err(Error::input(
                "the run has lags (data.lags), whose rows need those before them; fit again with all rows",
            ));
        }
        // Rows that are given to train do so, unless a column of theirs says something else.
        let keys = &mut experiment.data;
        let column = keys.split_column().filter(|column| table.has(column)).map(String::from);
        keys.split =
            column.map(|column| SplitKeys { column: Some(column), ..SplitKeys::default() });
        (keys.train, keys.validation, keys.time) = (None, None, None);
        let names = Arc::from(about.features.clone());
        if table.rows() == 0 {
            for name in about.column_plan().sources().into_iter().chain([&*about.target]) {
                table.column(name)?;
            }
            let nothing = Dataset::empty(names, about.task);
            return Ok(FurtherRows { data: vec![nothing; network.len()], notes: Vec::new() });
        }
        let described = table.described.clone();
        let table = TimedTable::read(&experiment.data, table)?;
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

    /// Rows of every node in the units of models.
    pub fn scaled(&self, data: &[Dataset]) -> Result<Vec<Dataset>> {
        let own = |data: &Dataset| match &self.scales {
            Some(scales) => scales.rows(data).map_err(Error::from),
            None => Ok(data.clone()),
        };
        data.iter().map(own).collect()
    }
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
        Ok(Self { rows: GrownRows { data, roles }, assembly })
    }
}

impl GrownRows {
    /// Rows that all train.
    #[must_use]
    pub fn training(data: Vec<Dataset>) -> Self {
        let roles = data.iter().map(|data| vec![Role::Train; data.rows()]).collect();
        Self { data, roles }
    }

    /// The same for the nodes of a larger network, in its order; new ones have no row.
    pub fn of_nodes(&self, own: &[String], network: &Network) -> Result<Self> {
        let Some(first) = self.data.first() else { return Ok(self.clone()) };
        let nothing = Dataset::empty(first.features().names().clone(), first.task());
        let place = |name: &String| own.iter().position(|known| known == name);
        let (mut data, mut roles) = (Vec::new(), Vec::new());
        for name in network.names() {
            let place = place(name);
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

impl Assembly {
    /// The study of rows that are in the units of models already, over a network of all nodes.
    pub fn grown(
        experiment: &Experiment,
        frame: &Frame,
        (graph, places): (Graph, Option<NodePlaces>),
        rows: GrownRows,
    ) -> Result<Self> {
        let about = frame.about.clone();
        let experiment = &experiment.settled(about.task);
        let (names, task) = (graph.network.names(), about.task);
        let models = models::models(experiment, &graph, task)?;
        models.check_method(&experiment.method, (names, &about.features), task)?;
        let columns = about.features.len();
        let check = |kind: &str| models.check_weights(kind, names, columns, task);
        let methods = checked_methods(experiment, (&models, check), &mut Vec::new())?;
        let GrownRows { data, roles } = rows;
        let draws = RowDraws { names, rows: &data, seed: experiment.seed };
        let plan = Plan::new(&roles, experiment.data.folds, &draws);
        let class_weights = frame.class_weights.clone();
        let mut study = Study {
            network: graph.network.clone(),
            rows: data,
            models: models.models,
            public: frame.points(&graph.network)?,
            plan,
            scales: frame.scales.clone(),
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
            public: frame.words.clone(),
            fingerprint: 0,
            chosen: None,
            row_notes: Vec::new(),
            places,
            labels: graph.labels,
        })
    }
}
