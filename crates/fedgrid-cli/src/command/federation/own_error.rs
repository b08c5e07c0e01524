//! The error of a site's models on its own validation rows, while the federation is at work.

use std::sync::Arc;

use fedgrid::{compare::NodeScore, model::Hypothesis, network::NodeId};

use fedgrid_lab::assembly::Assembly;

/// Gives the mean over validation rows of the site's own nodes, by models in the order of these; none where no rows
/// validate, or take turns.
pub(super) fn own_error(
    assembly: &Assembly,
    own: &[NodeId],
) -> impl FnMut(&[Arc<dyn Hypothesis>]) -> Option<f64> + use<> {
    let site = assembly.of_nodes(own).ok().filter(|site| {
        // Rows that were held back in turn are training rows of the models that are looked at.
        matches!(site.study.plan.folds.as_slice(), [fold] if fold.train == site.study.plan.train)
    });
    move |hypotheses| {
        let study = &site.as_ref()?.study;
        let nodes = study.score(hypotheses, &study.plan.folds[0].validation);
        NodeScore::total(&nodes).mean()
    }
}
