//! What Python gives to make a study of: rows as columns of a frame, a network and models.

use std::{ops::Range, sync::Arc};

use fedgrid::data::{Dataset, Features, Labels, Plan, Role, RowDraws, Task};
use fedgrid_lab::{
    assembly::{
        CustomModel, Graph, OriginWindow, Rows, StudyInputs, describe_task, question_target,
    },
    columns::{ColumnPlan, Problems, Purpose, TrainingRows, drops_rows, purposes, raw_values},
    experiment::{ColumnKind, DataKeys, Experiment, MissingRule},
    number::{count, counted},
    source::Column,
};
use numpy::{
    PyReadonlyArray1,
    ndarray::{ArrayView1, CowArray, Ix1},
};
use pyo3::{exceptions::PyValueError, prelude::*};

use crate::{
    adapter::Adapter,
    convert::{ByNode, core_error, experiment_error, gather},
    frame::{Frame, HandedColumn, planned},
    known_rows::KnownRows,
    local_model::PythonModel,
    network::NetworkHandle,
    timed::{self, TimedFrame},
};

/// What whoever has a frame can do about numbers that may be classes.
const REMEDY: &str = "give task=\"classification\" or task=\"regression\"";

/// What Python gives.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Given<'py> {
    /// The experiment as JSON; its files are names only.
    pub(crate) experiment: String,
    network: PyRef<'py, NetworkHandle>,
    positions: Option<Vec<(f64, f64)>>,
    /// The node of each row.
    nodes: PyReadonlyArray1<'py, i64>,
    /// The columns that may be features.
    columns: Vec<HandedColumn<'py>>,
    /// The target of each row: a number, or the index of its class.
    target: PyReadonlyArray1<'py, f64>,
    classes: Vec<String>,
    /// How many rows each one stands for.
    weights: Option<PyReadonlyArray1<'py, f64>>,
    /// What is known of each target: an offset or an exposure.
    known: Option<PyReadonlyArray1<'py, f64>>,
    /// What each row is for: 0 trains, 1 validates, 2 tests; none draws it.
    roles: Option<PyReadonlyArray1<'py, i64>>,
    /// The nodes whose models are Python's.
    models: Vec<(usize, Bound<'py, PyAny>)>,
    /// Public points, column by column.
    public: Option<Vec<HandedColumn<'py>>>,
}

/// Rows by the column plan.
struct PlannedRows<'a> {
    plan: ColumnPlan,
    /// Feature by feature.
    columns: Vec<CowArray<'a, f64, Ix1>>,
    nodes: CowArray<'a, i64, Ix1>,
    target: CowArray<'a, f64, Ix1>,
    /// What each row is for, where that is known: 0 trains, 1 validates, 2 tests.
    roles: Option<CowArray<'a, i64, Ix1>>,
    /// How many rows each one stands for.
    counts: Option<Vec<f64>>,
    /// Over how much each label was counted.
    exposures: Option<Vec<f64>>,
    /// The rows of the frame that are used; none if all are.
    kept: Option<Vec<usize>>,
    /// What was filled, left out or not known, in words.
    notes: Vec<String>,
}

impl Given<'_> {
    pub(crate) fn parts(&self, py: Python<'_>, experiment: &Experiment) -> PyResult<StudyInputs> {
        let network = &self.network.0;
        let task = match self.classes.len() {
            0 => Task::Regression,
            classes => Task::Classification { classes },
        };
        let told = self.told(experiment, task)?;
        let timed = self.timed(experiment)?;
        let rows = self.planned_rows(py, experiment, (&timed, task))?;
        let mut by_node = ByNode::new(rows.nodes.view(), network.len())?;
        let names: Arc<[String]> = rows.plan.feature_names().into();
        let views: Vec<ArrayView1<'_, f64>> =
            rows.columns.iter().map(|column| column.view()).collect();
        let target = rows.target.view();
        // Models of Python's see rows as the frame has them: some mean something by their order.
        if self.models.is_empty() && !experiment.is_of_row_order() {
            let known = [rows.counts.as_deref(), rows.exposures.as_deref()];
            py.detach(|| by_node.rank(target, (&views, &names), known));
        }
        let known = [rows.counts.as_deref(), rows.exposures.as_deref()];
        let data = py.detach(|| datasets((&names, &views), (target, task), &by_node, known));
        let data = data.map_err(|error| self.located(&rows, &by_node, &error))?;
        let plan = self.plan(experiment, (&rows, &by_node), &data)?;
        let models = self.models.iter().map(|(node, object)| {
            let adapter = Adapter::new(object)?;
            let kind = adapter.kind.clone();
            Ok(CustomModel { node: *node, model: Arc::new(PythonModel(Arc::new(adapter))), kind })
        });
        let public =
            self.public.as_ref().map(|columns| points(py, &rows.plan, columns)).transpose()?;
        Ok(StudyInputs {
            source: experiment.data.file.display(),
            // Only runs in folders are resumed, and need to know their rows again.
            fingerprint: 0,
            graph: Graph { positions: self.positions.clone(), ..Graph::from(network.clone()) },
            task,
            // The plan says what each row is for.
            rows: Rows {
                data,
                roles: Vec::new(),
                classes: self.classes.clone(),
                columns: rows.plan,
                notes: rows.notes.into_iter().chain(told).collect(),
            },
            models: models.collect::<PyResult<_>>()?,
            public,
            plan,
        })
    }

    /// The columns with what they say of time.
    fn timed(&self, experiment: &Experiment) -> PyResult<TimedFrame<'_>> {
        let frame = Frame::new(&self.columns, self.nodes.as_array().len())?;
        // Classes have no earlier values that are numbers.
        let target = self.classes.is_empty().then(|| self.target.as_array());
        TimedFrame::new(frame, &experiment.data, self.nodes.as_array(), target)
    }

    /// The rolling origins that an experiment asks for.
    pub(crate) fn origins(&self, experiment: &Experiment) -> PyResult<Vec<OriginWindow>> {
        if !experiment.is_rolling() {
            return Ok(Vec::new());
        }
        let timed = self.timed(experiment)?;
        let keys = &of_features(experiment);
        let mut problems = Problems::of_frame();
        let all = purposes(keys, &timed.frame.described(), &mut problems, "the frame");
        problems.into_result().map_err(|error| experiment_error(&error))?;
        let names = all.iter().filter_map(of_feature).map(|(name, _)| name).collect::<Vec<_>>();
        let columns = timed.frame.columns(names.iter().map(String::as_str), &keys.missing_values);
        let dropping = columns.iter().filter(|column| drops_rows(keys, column.name()));
        let is_used = ColumnPlan::used_rows(timed.frame.rows(), dropping);
        let kept: Vec<usize> = (0..timed.frame.rows()).filter(|&row| is_used[row]).collect();
        timed.origins(&experiment.data, &self.by_node(&kept)?)
    }

    /// The rows of each node among those that are used.
    fn by_node(&self, kept: &[usize]) -> PyResult<Vec<Vec<usize>>> {
        timed::by_node(self.nodes.as_array(), kept, self.network.0.len())
    }

    /// What a reader should know of what is predicted; refuses numbers that may be classes.
    fn told(&self, experiment: &Experiment, task: Task) -> PyResult<Vec<String>> {
        let mut notes = Vec::new();
        if task == Task::Regression {
            let labels = self.target.as_array();
            let asked = question_target(experiment, labels.iter().copied(), REMEDY);
            notes.extend(asked.map_err(PyValueError::new_err)?);
        }
        notes.extend(describe_task(experiment, task));
        Ok(notes)
    }

    /// The rows by the column plan; columns that are plain numbers are not copied.
    #[expect(
        clippy::too_many_lines,
        reason = "two ways in one: plain numbers as they are, all else by the plan"
    )]
    fn planned_rows<'a>(
        &'a self,
        py: Python<'_>,
        experiment: &Experiment,
        (timed, task): (&'a TimedFrame<'_>, Task),
    ) -> PyResult<PlannedRows<'a>> {
        let frame = &timed.frame;
        let keys = &of_features(experiment);
        let mut problems = Problems::of_frame();
        let all = purposes(keys, &frame.described(), &mut problems, "the frame");
        let features: Vec<(String, ColumnKind)> = all.iter().filter_map(of_feature).collect();
        let names = || features.iter().map(|(name, _)| name.as_str());
        // Then nothing is learnt of columns from training rows, and roles can be drawn later.
        let is_simple = matches!(keys.missing, MissingRule::Refuse | MissingRule::Drop)
            && keys.columns.is_empty()
            && keys.missing_values.is_empty()
            && experiment.data.time_split().is_none();
        let known = KnownRows::new(experiment, (&self.weights, &self.known), frame.rows())?;
        let plain = frame.plain(names()).filter(|_| is_simple && !known.has_zeros());
        let columns = match &plain {
            // What remains to be said of such columns needs none of their cells.
            Some(_) => names().map(|name| Column::of_numbers(name.into(), Vec::new())).collect(),
            None => frame.columns(names(), &keys.missing_values),
        };
        let column = |name: &str| columns.iter().find(|column| column.name() == name);
        let (nodes, target) = (self.nodes.as_array(), known.targets(self.target.as_array()));
        let roles = self.roles.as_ref().map(PyReadonlyArray1::as_array);
        if let Some(views) = plain {
            let none = TrainingRows { rows: &[], counts: None };
            let plan = ColumnPlan::new(keys, all, column, none, &mut problems);
            check(problems, &plan)?;
            let notes = known.notes(experiment, |_| true);
            return Ok(PlannedRows {
                plan,
                columns: views.into_iter().map(CowArray::from).collect(),
                nodes: nodes.into(),
                target,
                roles: roles.map(CowArray::from),
                counts: known.weights,
                exposures: known.exposures,
                kept: None,
                notes,
            });
        }
        let dropping = columns.iter().filter(|column| drops_rows(keys, column.name()));
        let mut is_complete = ColumnPlan::used_rows(frame.rows(), dropping);
        let incomplete = timed.leave_out(&experiment.data, &mut is_complete)?;
        let complete = is_complete.iter().enumerate();
        let is_used: Vec<bool> =
            complete.map(|(row, all)| *all && known.weight(row) != 0.0).collect();
        let kept: Vec<usize> = (0..frame.rows()).filter(|&row| is_used[row]).collect();
        let by_time = timed.roles(&experiment.data, || self.by_node(&kept))?;
        let drawn = match (roles, by_time, keys.train) {
            (None, Some(by_time), _) => Some(by_time),
            (None, None, Some(_)) => {
                Some(self.drawn(py, experiment, (&columns, &features), (task, &kept, &known))?)
            }
            _ => None,
        };
        let trains = |row: &usize| match (&roles, &drawn) {
            (Some(roles), _) => roles[*row] == 0,
            (None, Some(drawn)) => drawn[*row] == 0,
            (None, None) => true,
        };
        let training: Vec<usize> = kept.iter().copied().filter(trains).collect();
        let lags = timed.lags.clone();
        let (plan, made) = py.detach(|| {
            let training = TrainingRows { rows: &training, counts: known.weights.as_deref() };
            let plan = ColumnPlan::new(keys, all, column, training, &mut problems);
            let plan = ColumnPlan { lags, ..plan };
            let made = plan.encode(column, &is_used, &mut problems);
            (plan, made)
        });
        check(problems, &plan)?;
        let mut notes = made.notes();
        let has_all = kept.len() == frame.rows();
        let complete = is_complete.iter().filter(|all| **all).count();
        let left_out = [(incomplete, "missing cells"), (complete - kept.len(), "a weight of zero")];
        for (rows, why) in left_out.into_iter().filter(|(rows, _)| *rows > 0) {
            let (left_out, all) = (counted(rows, "row"), count(frame.rows()));
            notes.push(format!("Left out for {why}: {left_out} of {all}."));
        }
        notes.extend(known.notes(experiment, |row| is_used[row]));
        notes.extend(timed.notes(&experiment.data, drawn.as_deref(), || self.by_node(&kept))?);
        let of_kept = |column: Vec<f64>| -> Vec<f64> {
            if has_all { column } else { kept.iter().map(|&row| column[row]).collect() }
        };
        let role = |row: &usize| match &drawn {
            Some(drawn) => Some(drawn[*row]),
            None => roles.map(|roles| roles[*row]),
        };
        Ok(PlannedRows {
            columns: made.columns.into_iter().map(|column| of_kept(column).into()).collect(),
            nodes: kept.iter().map(|&row| nodes[row]).collect::<Vec<i64>>().into(),
            target: kept.iter().map(|&row| target[row]).collect::<Vec<f64>>().into(),
            counts: known.weights.map(of_kept),
            exposures: known.exposures.map(of_kept),
            roles: kept.iter().map(role).collect::<Option<Vec<i64>>>().map(Into::into),
            kept: (!has_all).then_some(kept),
            plan,
            notes,
        })
    }

    /// Roles that are drawn before it is known what training rows say of columns, row by row of the frame.
    fn drawn(
        &self,
        py: Python<'_>,
        experiment: &Experiment,
        (columns, features): (&[Column], &[(String, ColumnKind)]),
        (task, kept, known): (Task, &[usize], &KnownRows),
    ) -> PyResult<Vec<i64>> {
        let keys = &experiment.data;
        let (nodes, target) = (self.nodes.as_array(), known.targets(self.target.as_array()));
        let own: Vec<i64> = kept.iter().map(|&row| nodes[row]).collect();
        let labels: Vec<f64> = kept.iter().map(|&row| target[row]).collect();
        let by_node = ByNode::new(ArrayView1::from(&own), self.network.0.len())?;
        let names: Arc<[String]> = features.iter().map(|(name, _)| name.clone()).collect();
        let values = |(name, kind): &(String, ColumnKind)| -> Vec<f64> {
            let column = columns.iter().find(|column| column.name() == name);
            let all = column.map_or_else(Vec::new, |column| raw_values(column, *kind));
            kept.iter().map(|&row| all[row]).collect()
        };
        let network = self.network.0.names();
        let drawn = py.detach(|| {
            let values: Vec<Vec<f64>> = features.iter().map(values).collect();
            let views: Vec<ArrayView1<'_, f64>> = values.iter().map(ArrayView1::from).collect();
            let of_kept = |all: &Option<Vec<f64>>| -> Option<Vec<f64>> {
                all.as_ref().map(|all| kept.iter().map(|&row| all[row]).collect())
            };
            let (counts, exposures) = (of_kept(&known.weights), of_kept(&known.exposures));
            let known = [counts.as_deref(), exposures.as_deref()];
            let labels = (ArrayView1::from(&labels), task);
            let rows = datasets((&names, &views), labels, &by_node, known)?;
            let draws = RowDraws { names: network, rows: &rows, seed: experiment.seed };
            let (train, validation) = (keys.train.unwrap_or(1.0), keys.validation.unwrap_or(0.0));
            Ok(Plan::draw(train, validation, &draws))
        });
        let drawn = drawn.map_err(|error: fedgrid::Error| core_error(&error))?;
        // Rows that are left out have a role that nobody asks for.
        let mut roles = vec![2; nodes.len()];
        for (slots, own) in by_node.slots().zip(drawn) {
            for (slot, role) in slots.zip(own) {
                let code = [Role::Train, Role::Validation].iter().position(|known| *known == role);
                roles[kept[by_node.row(slot)]] = code.map_or(2, |code| i64::from(code == 1));
            }
        }
        Ok(roles)
    }

    /// How rows are used. Folds of very many nodes take as much room as their rows: they are made
    /// when needed.
    fn plan(
        &self,
        experiment: &Experiment,
        (planned, by_node): (&PlannedRows<'_>, &ByNode),
        rows: &[Dataset],
    ) -> PyResult<Plan> {
        let Some(roles) = &planned.roles else {
            let keys = &experiment.data;
            let (Some(train), validation) = (keys.train, keys.validation.unwrap_or(0.0)) else {
                // Without a split all rows train, and take turns to validate.
                return Ok(Plan::whole(rows.iter().map(Dataset::rows)));
            };
            let draws = RowDraws { names: self.network.0.names(), rows, seed: experiment.seed };
            return Ok(Plan::unfolded(&Plan::draw(train, validation, &draws)));
        };
        let role = |slot: usize| match roles.get(by_node.row(slot)) {
            Some(0) => Ok(Role::Train),
            Some(1) => Ok(Role::Validation),
            Some(2) => Ok(Role::Test),
            _ => Err(PyValueError::new_err(format!("row {} has no role", by_node.row(slot)))),
        };
        let roles = by_node.slots().map(|slots| slots.map(role).collect());
        Ok(Plan::unfolded(&roles.collect::<PyResult<Vec<Vec<Role>>>>()?))
    }

    /// An error about a row in the order of nodes as one about the row of the frame.
    fn located(&self, rows: &PlannedRows<'_>, by_node: &ByNode, error: &fedgrid::Error) -> PyErr {
        let fedgrid::Error::NotFinite { what, value, row, column } = error else {
            return core_error(error);
        };
        let name = &self.network.0.names()[by_node.node_at(*row)];
        let column = if *what == "a label" { "the target".into() } else { format!("'{column}'") };
        let row = by_node.row(*row);
        let row = rows.kept.as_ref().map_or(row, |kept| kept[row]);
        PyValueError::new_err(format!(
            "{column} is {value} in row {row} (node '{name}'), expected a finite number"
        ))
    }
}

/// The keys by which columns are read: what Python hands over are features, whatever node and target are called.
fn of_features(experiment: &Experiment) -> DataKeys {
    let (node, target, split) = (String::new(), String::new(), None);
    let (weight, offset, exposure) = (None, None, None);
    DataKeys { node, target, split, weight, offset, exposure, ..experiment.data.clone() }
}

fn of_feature((name, purpose): &(String, Purpose)) -> Option<(String, ColumnKind)> {
    match purpose {
        Purpose::Feature(kind) => Some((name.clone(), *kind)),
        _ => None,
    }
}

/// Refuses a frame that has problems, or no feature.
fn check(mut problems: Problems, plan: &ColumnPlan) -> PyResult<()> {
    if problems.is_empty() && plan.feature_names().is_empty() {
        problems.add(plan.no_feature());
    }
    problems.into_result().map_err(|error| experiment_error(&error))
}

/// The rows of every node, all in one place.
fn datasets(
    (names, columns): (&Arc<[String]>, &[ArrayView1<'_, f64>]),
    (target, task): (ArrayView1<'_, f64>, Task),
    by_node: &ByNode,
    [counts, exposures]: [Option<&[f64]>; 2],
) -> fedgrid::Result<Vec<Dataset>> {
    let order = (0..target.len()).map(|slot| by_node.row(slot));
    let features = gather(names, columns, order.clone())?;
    let labels = match task {
        Task::Regression => Labels::new(task, order.map(|row| target[row]).collect())?,
        Task::Classification { classes } => {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "the index of a class is a small whole number"
            )]
            let indices: Vec<usize> = order.map(|row| target[row] as usize).collect();
            Labels::classes(classes, &indices)?
        }
    };
    let parts = Dataset::parted(&features, &labels, by_node.slots().map(|slots| slots.len()))?;
    let of = |all: &[f64], slots: Range<usize>| -> Vec<f64> {
        slots.map(|slot| all[by_node.row(slot)]).collect()
    };
    let known = |(mut data, slots): (Dataset, Range<usize>)| {
        if let Some(counts) = counts {
            let (features, labels) = (data.features().clone(), data.labels().clone());
            data = Dataset::counted(features, labels, of(counts, slots.clone()))?;
        }
        match exposures {
            Some(exposures) => data.with_exposures(of(exposures, slots)),
            None => Ok(data),
        }
    };
    parts.into_iter().zip(by_node.slots()).map(known).collect()
}

/// Public points by the plan of the rows.
fn points(py: Python<'_>, plan: &ColumnPlan, columns: &[HandedColumn<'_>]) -> PyResult<Features> {
    let rows = columns.first().map_or(Ok(0), |(_, _, cells)| cells.len())?;
    if let Some((name, _)) =
        plan.features().find(|(name, _)| !columns.iter().any(|(known, ..)| known == name))
    {
        let sources: Vec<&str> = plan.features().map(|(name, _)| name).collect();
        let expected = sources.join("', '");
        let sentence = format!("public has no column '{name}', expected '{expected}'");
        return Err(PyValueError::new_err(sentence));
    }
    let made = planned(py, &Frame::new(columns, rows)?, plan)?;
    let all: Vec<usize> = (0..rows).collect();
    made.rows(&all).map_err(|error| core_error(&error))
}
