//! Intervals of updated models: by their own errors where rows that validate are at hand, otherwise by those of the run
//! before.

use std::path::Path;

use fedgrid::{data::Task, uncertainty::Residuals};

use crate::{
    assembly::Assembly,
    error::Result,
    run::{RunIntervals, RunModels},
};

/// Whether there are rows that no model is trained on, so that intervals can be made anew at no cost.
pub(super) fn is_refreshed(assembly: &Assembly) -> bool {
    let plan = &assembly.study.plan;
    assembly.study.task() == Task::Regression
        && matches!(&plan.folds[..], [fold] if fold.train == plan.train)
}

/// The residuals of a method in the run before, for the nodes of a larger network; none for classes.
pub(super) fn carried(
    folder: &Path,
    method: &str,
    assembly: &Assembly,
) -> Result<Option<Residuals>> {
    if assembly.study.task() != Task::Regression {
        return Ok(None);
    }
    let models = RunModels::of_method(folder, Some(method))?;
    let RunIntervals { intervals, places } = RunIntervals::of(&models)?;
    let Residuals { rows, nodes, counts } = intervals.residuals();
    let names = assembly.study.network.names();
    let moved = |all: &[Vec<f64>]| -> Vec<Vec<f64>> {
        let own = |name: &String| places.get(name).map(|&place| all[place].clone());
        names.iter().map(|name| own(name).unwrap_or_default()).collect()
    };
    let counts = counts.map(|counts| moved(&counts));
    Ok(Some(Residuals { rows, nodes: moved(&nodes), counts }))
}
