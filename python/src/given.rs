//! What Python gives to make a study of: rows as columns of a frame, a network and models.

use std::sync::Arc;

use fedgrid::data::{Dataset, Features, Labels, Plan, Role, RowDraws, Task};
use fedgrid_lab::{
    assembly::{CustomModel, Graph, Rows, StudyInputs},
    columns::{ColumnPlan, Problems, Purpose, drops_rows, purposes, raw_values},
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
    local_model::PythonModel,
    network::NetworkHandle,
};

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
        let frame = Frame::new(&self.columns, self.nodes.as_array().len())?;
        let rows = self.planned_rows(py, experiment, (&frame, task))?;
        let mut by_node = ByNode::new(rows.nodes.view(), network.len())?;
        let names: Arc<[String]> = rows.plan.feature_names().into();
        let views: Vec<ArrayView1<'_, f64>> =
            rows.columns.iter().map(|column| column.view()).collect();
        let target = rows.target.view();
        // Models of Python's see rows as the frame has them: some mean something by their order.
        if self.models.is_empty() && !experiment.is_of_row_order() {
            py.detach(|| by_node.rank(target, &views, &names));
        }
        let data = py.detach(|| datasets(&names, &views, target, task, &by_node));
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
            source: experiment.data.file.display().to_string(),
            fingerprint: 0,
            graph: Graph { positions: self.positions.clone(), ..Graph::from(network.clone()) },
            task,
            // The plan says what each row is for.
            rows: Rows {
                data,
                roles: Vec::new(),
                classes: self.classes.clone(),
                columns: rows.plan,
                notes: rows.notes,
            },
            models: models.collect::<PyResult<_>>()?,
            public,
            plan,
        })
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
        (frame, task): (&'a Frame<'_>, Task),
    ) -> PyResult<PlannedRows<'a>> {
        // What Python hands over are features only, whatever node and target are called.
        let (node, target, split) = (String::new(), String::new(), None);
        let keys = &DataKeys { node, target, split, ..experiment.data.clone() };
        let mut problems = Problems::of_frame();
        let all = purposes(keys, &frame.described(), &mut problems, "the frame");
        let features: Vec<(String, ColumnKind)> = all.iter().filter_map(of_feature).collect();
        let names = || features.iter().map(|(name, _)| name.as_str());
        let is_simple = matches!(keys.missing, MissingRule::Refuse | MissingRule::Drop)
            && keys.columns.is_empty()
            && keys.missing_values.is_empty();
        let plain = frame.plain(names()).filter(|_| is_simple);
        let columns = match &plain {
            // What remains to be said of such columns needs none of their cells.
            Some(_) => names().map(|name| Column::of_numbers(name.into(), Vec::new())).collect(),
            None => frame.columns(names(), &keys.missing_values),
        };
        let column = |name: &str| columns.iter().find(|column| column.name() == name);
        let (nodes, target) = (self.nodes.as_array(), self.target.as_array());
        let roles = self.roles.as_ref().map(PyReadonlyArray1::as_array);
        if let Some(views) = plain {
            let plan = ColumnPlan::new(keys, all, column, &[], &mut problems);
            check(problems, &plan)?;
            return Ok(PlannedRows {
                plan,
                columns: views.into_iter().map(CowArray::from).collect(),
                nodes: nodes.into(),
                target: target.into(),
                roles: roles.map(CowArray::from),
                kept: None,
                notes: Vec::new(),
            });
        }
        let dropping = columns.iter().filter(|column| drops_rows(keys, column.name()));
        let is_used = ColumnPlan::used_rows(frame.rows(), dropping);
        let kept: Vec<usize> = (0..frame.rows()).filter(|&row| is_used[row]).collect();
        let drawn = match (roles, keys.train) {
            (None, Some(_)) => {
                Some(self.drawn(py, experiment, (&columns, &features), (task, &kept))?)
            }
            _ => None,
        };
        let trains = |row: &usize| match (&roles, &drawn) {
            (Some(roles), _) => roles[*row] == 0,
            (None, Some(drawn)) => drawn[*row] == 0,
            (None, None) => true,
        };
        let training: Vec<usize> = kept.iter().copied().filter(trains).collect();
        let (plan, made) = py.detach(|| {
            let plan = ColumnPlan::new(keys, all, column, &training, &mut problems);
            let made = plan.encode(column, &is_used, &mut problems);
            (plan, made)
        });
        check(problems, &plan)?;
        let mut notes = made.notes();
        let has_all = kept.len() == frame.rows();
        if !has_all {
            let left_out = counted(frame.rows() - kept.len(), "row");
            notes.push(format!(
                "Left out for missing cells: {left_out} of {}.",
                count(frame.rows())
            ));
        }
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
        (task, kept): (Task, &[usize]),
    ) -> PyResult<Vec<i64>> {
        let keys = &experiment.data;
        let (nodes, target) = (self.nodes.as_array(), self.target.as_array());
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
            let rows = datasets(&names, &views, ArrayView1::from(&labels), task, &by_node)?;
            let draws = RowDraws { names: network, rows: &rows, seed: experiment.seed };
            let (train, validation) = (keys.train.unwrap_or(1.0), keys.validation.unwrap_or(0.0));
            Ok(Plan::draw(train, validation, &draws))
        });
        let drawn = drawn.map_err(|error: fedgrid::Error| core_error(&error))?;
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
    names: &Arc<[String]>,
    columns: &[ArrayView1<'_, f64>],
    target: ArrayView1<'_, f64>,
    task: Task,
    by_node: &ByNode,
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
    Dataset::parted(&features, &labels, by_node.slots().map(|slots| slots.len()))
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
