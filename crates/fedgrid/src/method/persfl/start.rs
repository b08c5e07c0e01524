//! Where targets start, and how a hypothesis is scored.

use std::sync::Arc;

use super::{PersFl, Start};
use crate::{
    algebra::dot,
    data::Dataset,
    error::{Error, Result},
    loss::Loss,
    model::{Hypothesis, LocalModel, Parametric},
    network::Node,
};

/// The loss of a hypothesis on weighted rows.
pub(super) fn loss_of(hypothesis: &dyn Hypothesis, data: &Dataset) -> f64 {
    let losses = Loss::of(data.task()).rows(data.labels(), &hypothesis.predict(data.features()));
    dot(&losses, data.weights())
}

/// A model as one of weights, or the refusal of probes that need one.
pub(super) fn parametric(model: &dyn LocalModel) -> Result<&dyn Parametric> {
    model.as_parametric().ok_or(Error::Unsupported {
        what: "a gradient or proximal probe",
        needs: "a model of weights at every target; use the refit probe for the others",
    })
}

/// The weights that a target starts from.
pub(super) fn first_weights(method: &PersFl, node: &Node, train: &Dataset) -> Result<Arc<[f64]>> {
    let model = parametric(node.model.as_ref())?;
    // As in the papers, whatever the model's own start is.
    if let Start::Zero = method.start {
        return Ok(vec![0.0; model.size(train.features().columns(), train.task())].into());
    }
    let hypothesis = first_hypothesis(method, node, train)?;
    let weights = model.weights(hypothesis.as_ref()).ok_or(Error::Unsupported {
        what: "a start from given hypotheses",
        needs: "hypotheses of the nodes' own models",
    })?;
    Ok(weights.into())
}

/// The hypothesis that a target starts from: a given one, or local training.
pub(super) fn first_hypothesis(
    method: &PersFl,
    node: &Node,
    train: &Dataset,
) -> Result<Arc<dyn Hypothesis>> {
    let given = match &method.start {
        Start::Given(hypotheses) => hypotheses.get(node.id).cloned().flatten(),
        _ => None,
    };
    match given {
        Some(hypothesis) => Ok(hypothesis),
        None => Ok(node.model.fit(train)?.into()),
    }
}
