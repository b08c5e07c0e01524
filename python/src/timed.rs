//! A frame with what it says of time: when each row was, and columns of earlier values beside its own.

use fedgrid::data::Role;
use fedgrid_lab::{
    assembly::{OriginWindow, is_in_time, origin_windows, time_note, time_roles},
    columns::{
        ColumnPlan, LagPlan, NewRows, PastRows, Problems, Times, gap_note, numbers, same_time,
    },
    experiment::DataKeys,
    source::{Column, FileParts},
};
use numpy::ndarray::ArrayView1;
use pyo3::{exceptions::PyValueError, prelude::*};

use crate::{convert::experiment_error, frame::Frame};

/// A frame, its times and what is made of earlier values.
pub(crate) struct TimedFrame<'py> {
    pub(crate) frame: Frame<'py>,
    times: Option<Times>,
    pub(crate) lags: Option<LagPlan>,
    gaps: Option<String>,
}

impl<'py> TimedFrame<'py> {
    /// Reads the times of a frame, and adds columns of earlier values; the target is none if it is of classes.
    pub(crate) fn new(
        frame: Frame<'py>,
        keys: &DataKeys,
        nodes: ArrayView1<'_, i64>,
        target: Option<ArrayView1<'_, f64>>,
    ) -> PyResult<Self> {
        let mut made = Self { frame, times: None, lags: None, gaps: None };
        let Some(name) = &keys.time else { return Ok(made) };
        let mut problems = Problems::of_frame();
        let time = made.frame.columns([name.as_str()].into_iter(), &keys.missing_values).pop();
        match &time {
            Some(time) => made.times = Times::new(keys, time, &mut problems),
            None => problems.add(format!("there is no column '{name}'")),
        }
        problems.into_result().map_err(|error| experiment_error(&error))?;
        let axis = made.times.as_ref().map(|times| times.axis);
        let plan = axis.map(|axis| LagPlan::new(keys, name, axis)).transpose();
        if let Some(plan) = plan.map_err(PyValueError::new_err)?.flatten() {
            made.add(plan, keys, (nodes, target))?;
        }
        Ok(made)
    }

    /// Adds the columns of earlier values.
    fn add(
        &mut self,
        plan: LagPlan,
        keys: &DataKeys,
        (nodes, target): (ArrayView1<'_, i64>, Option<ArrayView1<'_, f64>>),
    ) -> PyResult<()> {
        let names = plan.sources().into_iter().chain(plan.features.iter().map(|one| &*one.name));
        let mut columns = self.frame.columns(names, &keys.missing_values);
        let own = target.map(|target| Column::of_numbers(keys.target.clone(), target.to_vec()));
        // The target is handed over apart from other columns.
        columns.retain(|column| column.name() != keys.target);
        columns.extend(own);
        let column = |name: &str| columns.iter().find(|column| column.name() == name);
        let mut problems = Problems::of_frame();
        plan.check(column, &mut problems);
        problems.into_result().map_err(|error| experiment_error(&error))?;
        let times = self.times.as_ref().expect("lags have times");
        let past = PastRows { nodes: codes(nodes)?, ticks: times.ticks.clone(), known: 0 };
        let source = |name: &str| column(name).map_or_else(Vec::new, numbers);
        let found = plan.values(&past, source).map_err(|same| {
            PyValueError::new_err(same_time(times, same, |row| format!("row {row}")))
        })?;
        self.gaps = gap_note(&plan, &found);
        let named = plan.features.iter().zip(found);
        let made = named.map(|(one, own)| Column::of_numbers(one.name.clone(), own.values));
        self.frame.extend(made.collect());
        self.lags = Some(plan);
        Ok(())
    }

    /// The rolling origins of the rows that are used.
    pub(crate) fn origins(
        &self,
        keys: &DataKeys,
        by_node: &[Vec<usize>],
    ) -> PyResult<Vec<OriginWindow>> {
        let (Some(split), Some(times)) = (keys.time_split(), &self.times) else {
            return Ok(Vec::new());
        };
        origin_windows(split, times, by_node).map_err(PyValueError::new_err)
    }

    /// Leaves out rows that are too late; gives how many of the others were left out before.
    pub(crate) fn leave_out(&self, keys: &DataKeys, is_used: &mut [bool]) -> PyResult<usize> {
        let in_time = is_in_time(keys, self.times.as_ref()).transpose();
        let in_time = in_time.map_err(PyValueError::new_err)?;
        let in_time = in_time.unwrap_or_else(|| vec![true; is_used.len()]);
        let left_out = in_time.iter().zip(is_used.iter()).filter(|(now, used)| **now && !**used);
        let left_out = left_out.count();
        is_used.iter_mut().zip(in_time).for_each(|(is_used, in_time)| *is_used &= in_time);
        Ok(left_out)
    }

    /// What each row is for by its time, where that divides them: 0 trains, 1 validates, 2 tests.
    pub(crate) fn roles(
        &self,
        keys: &DataKeys,
        by_node: impl FnOnce() -> PyResult<Vec<Vec<usize>>>,
    ) -> PyResult<Option<Vec<i64>>> {
        let (Some(split), Some(times)) = (keys.time_split(), &self.times) else { return Ok(None) };
        let roles = time_roles(split, times, &by_node()?).map_err(PyValueError::new_err)?;
        let code = |role: &Role| match role {
            Role::Train => 0,
            Role::Validation => 1,
            Role::Test => 2,
        };
        Ok(Some(roles.iter().map(code).collect()))
    }

    /// What was cut where, and what is missing of earlier values, in words.
    pub(crate) fn notes(
        &self,
        keys: &DataKeys,
        roles: Option<&[i64]>,
        by_node: impl FnOnce() -> PyResult<Vec<Vec<usize>>>,
    ) -> PyResult<Vec<String>> {
        let (Some(times), Some(codes)) = (&self.times, roles) else {
            return Ok(Vec::from_iter(self.gaps.clone()));
        };
        let role = |code: &i64| match code {
            0 => Role::Train,
            1 => Role::Validation,
            _ => Role::Test,
        };
        let roles: Vec<Role> = codes.iter().map(role).collect();
        let cut = time_note(keys, times, (&by_node()?, &roles));
        Ok(self.gaps.iter().cloned().chain(cut).collect())
    }
}

/// The columns of earlier values of new rows, looked for among them and the rows of the time before.
pub(crate) fn lags_of_new(
    plan: &ColumnPlan,
    (frame, nodes): (&Frame<'_>, ArrayView1<'_, i64>),
    before: Option<&(Frame<'_>, Vec<usize>)>,
) -> PyResult<Vec<Column>> {
    let Some(lags) = &plan.lags else { return Ok(Vec::new()) };
    let frames = || before.map(|(frame, _)| frame).into_iter().chain([frame]);
    let mut problems = Problems::of_frame();
    let mut ticks = Vec::new();
    for one in frames() {
        let time = one.columns([lags.time.as_str()].into_iter(), &plan.missing_values).pop();
        match time {
            Some(time) => {
                let times = Times::by(lags.axis, &time, &mut problems);
                ticks.extend(times.into_iter().flat_map(|times| times.ticks));
            }
            None => problems.add(format!("there is no column '{}'", lags.time)),
        }
    }
    problems.into_result().map_err(|error| experiment_error(&error))?;
    let mut all = before.map_or_else(Vec::new, |(_, nodes)| nodes.clone());
    let known = all.len();
    all.extend(codes(nodes)?);
    let past = PastRows { nodes: all, ticks, known };
    // New rows need not have what is predicted.
    let source = |name: &str| -> Vec<f64> {
        let cells = |one: &Frame<'_>| {
            let column = one.columns([name].into_iter(), &plan.missing_values).pop();
            column.map_or_else(|| vec![f64::NAN; one.rows()], |column| numbers(&column))
        };
        frames().flat_map(cells).collect()
    };
    let mut problems = Problems::of_frame();
    let (before, remedy) = (FileParts::default(), "earlier rows as history=");
    let new = NewRows { past, before, names: &[], remedy };
    let made = new.columns((lags, |name| plan.missing_rule(name)), source, &mut problems);
    problems.into_result().map_err(|error| experiment_error(&error))?;
    Ok(made)
}

/// Nodes as numbers from zero.
pub(crate) fn codes(nodes: ArrayView1<'_, i64>) -> PyResult<Vec<usize>> {
    let code = |&node: &i64| {
        let wrong = || PyValueError::new_err(format!("there is no node number {node}"));
        usize::try_from(node).map_err(|_| wrong())
    };
    nodes.iter().map(code).collect()
}

/// Some rows by the numbers of their nodes.
pub(crate) fn by_node(
    nodes: ArrayView1<'_, i64>,
    rows: &[usize],
    count: usize,
) -> PyResult<Vec<Vec<usize>>> {
    let codes = codes(nodes)?;
    let mut all = vec![Vec::new(); count];
    for &row in rows {
        let own = all.get_mut(codes[row]);
        own.ok_or_else(|| {
            PyValueError::new_err(format!("there is no node number {}", codes[row]))
        })?
        .push(row);
    }
    Ok(all)
}
