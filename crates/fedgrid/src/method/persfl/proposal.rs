//! What a candidate would make of a target: new weights, or a hypothesis of any kind of model.

use std::sync::Arc;

use super::start::{loss_of, parametric};
use crate::{
    algebra::add_scaled,
    data::{Dataset, Labels},
    error::Result,
    model::{Hypothesis, LinearHypothesis},
    network::Node,
};

/// What a candidate would make of a target.
#[derive(Debug)]
pub(super) enum Proposal {
    Weights(Arc<[f64]>),
    Hypothesis(Arc<dyn Hypothesis>),
}

impl Proposal {
    /// The loss on rows of the target.
    pub(super) fn loss(&self, target: &Node, data: &Dataset) -> Result<f64> {
        Ok(match self {
            Self::Weights(weights) => parametric(target.model.as_ref())?.loss(data, weights),
            Self::Hypothesis(hypothesis) => loss_of(hypothesis.as_ref(), data),
        })
    }
}

/// The target's model fitted to predictions on its public points: what another kind of model can tell
/// without travelling itself.
pub(super) fn distilled(target: &Node, labels: &Labels) -> Result<Arc<dyn Hypothesis>> {
    let points = target.public.as_ref();
    // The mean over public points, as in eq. 7, so that a ridge means the same for any number of them.
    let share = 1.0 / points.rows().max(1) as f64;
    let weights = vec![share; points.rows()];
    let data = Dataset::weighted(points.clone(), labels.clone(), weights)?;
    Ok(target.model.fit(&data)?.into())
}

/// The mean of hypotheses: of linear ones itself, of others a fit to their mean prediction.
pub(super) fn mean(
    target: &Node,
    several: &[(f64, &Arc<dyn Hypothesis>)],
) -> Result<Arc<dyn Hypothesis>> {
    let names = target.data.features().names().clone();
    let mut sum = LinearHypothesis { slopes: vec![0.0; names.len()], names, intercept: 0.0 };
    let mut all_linear = true;
    let mut labels = Labels::neutral(target.data.task(), target.public.rows());
    // Shares add up to one, so that a sum of probabilities is one, too.
    labels.as_mut_slice().fill(0.0);
    for (share, hypothesis) in several {
        match hypothesis.downcast_ref::<LinearHypothesis>() {
            Some(linear) => {
                add_scaled(&mut sum.slopes, *share, &linear.slopes);
                sum.intercept += share * linear.intercept;
            }
            None => all_linear = false,
        }
        let predicted = hypothesis.predict(&target.public);
        add_scaled(labels.as_mut_slice(), *share, predicted.as_slice());
    }
    if all_linear { Ok(Arc::new(sum)) } else { distilled(target, &labels) }
}
