//! Intervals of updated models: by their own errors where rows that validate are at hand, otherwise by those of the run
//! before.

use std::collections::BTreeMap;

use fedgrid::{data::Task, uncertainty::Residuals};

use crate::{assembly::Assembly, error::Result, run::RunModels};

/// Whether there are rows that no model is trained on, so that intervals can be made anew at no cost.
pub(super) fn is_refreshed(assembly: &Assembly) -> bool {
    let plan = &assembly.study.plan;
    assembly.study.task() == Task::Regression
        && matches!(&plan.folds[..], [fold] if fold.train == plan.train)
}

/// The residuals of a method in the run before, for the nodes of a larger network; none for classes.
pub(super) fn carried(
    run: &RunModels,
    method: &str,
    assembly: &Assembly,
) -> Result<Option<Residuals>> {
    if assembly.study.task() != Task::Regression {
        return Ok(None);
    }
    let (known, Residuals { rows, mut nodes, counts }) = run.residuals_of(method)?;
    let places: BTreeMap<&str, usize> =
        known.iter().enumerate().map(|(place, name)| (name.as_str(), place)).collect();
    let names = assembly.study.network.names();
    let moved = |all: &mut [Vec<f64>]| -> Vec<Vec<f64>> {
        let own = |name: &String| all.get_mut(*places.get(name.as_str())?).map(std::mem::take);
        names.iter().map(own).map(Option::unwrap_or_default).collect()
    };
    let counts = counts.map(|mut counts| moved(&mut counts));
    Ok(Some(Residuals { rows, nodes: moved(&mut nodes), counts }))
}
