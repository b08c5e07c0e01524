//! A node as a candidate: it answers what targets ask, from rows that stay with it.

use std::sync::Arc;

use super::{Budget, ProbeAnswer, ProbeQuestion, ProbeRefusal, budget::Spent};
use crate::{
    data::{Dataset, Features, Labels},
    error::Result,
    model::{Hypothesis, LinearHypothesis, LocalModel},
    network::NodeId,
};

/// The minimiser of `η L_j(h) + (1/|D|) Σ_{x ∈ D} L(ĥ(x), h(x))`, which is one fit on the rows and
/// the public points, labelled with the target's predictions.
///
/// Eq. 15 of "Your Data, My Model" prints predicted labels for the rows too; its text, figure 2 and
/// eq. 7 mean the true ones, which are used here.
pub(super) fn refitted(
    model: &dyn LocalModel,
    data: &Dataset,
    (points, predictions): (&Features, &Labels),
    step: f64,
) -> Result<Box<dyn Hypothesis>> {
    let mut labels = predictions.clone();
    // Another node's model may predict what this one cannot fit, such as a negative count.
    let smallest = model.smallest_label();
    labels.as_mut_slice().iter_mut().for_each(|label| *label = label.max(smallest));
    let share = 1.0 / points.rows().max(1) as f64;
    let public = Dataset::weighted(points.clone(), labels, vec![share; points.rows()])?;
    let own = data.clone().with_total_weight(step * data.total_weight());
    model.fit(&own.stacked(&public)?)
}

/// A node that answers.
#[derive(Debug)]
pub(super) struct ProbedCandidate {
    id: NodeId,
    pub(super) model: Arc<dyn LocalModel>,
    budget: Budget,
    /// What was asked so far.
    pub(super) spent: Spent,
}

impl ProbedCandidate {
    pub(super) fn new(id: NodeId, model: &Arc<dyn LocalModel>, budget: Budget) -> Self {
        Self { id, model: model.clone(), budget, spent: Spent::default() }
    }

    /// The answer to a target whose public points are known.
    pub(super) fn answer(
        &mut self,
        data: &Dataset,
        (target, points): (NodeId, &Features),
        question: &ProbeQuestion,
    ) -> Result<ProbeAnswer> {
        let rows = data.weights().iter().filter(|weight| **weight > 0.0).count();
        if rows == 0 {
            return Ok(ProbeAnswer::Refused(ProbeRefusal::NoRows));
        }
        if !self.fits(data, points, question) {
            return Ok(ProbeAnswer::Refused(ProbeRefusal::OtherModel));
        }
        // A question that makes no sense is refused above, so that it costs its asker nothing.
        let columns = data.features().columns();
        let weights = self.model.as_parametric().map(|model| model.size(columns, data.task()));
        let sizes = [rows, weights.unwrap_or(columns)];
        if !self.spent.allows(self.budget, target, question, sizes) {
            return Ok(ProbeAnswer::Refused(ProbeRefusal::BudgetSpent));
        }
        self.computed(data, points, question)
    }

    /// Whether a question has the shape of this node's model.
    fn fits(&self, data: &Dataset, points: &Features, question: &ProbeQuestion) -> bool {
        let fits = match question {
            ProbeQuestion::Gradient { weights } | ProbeQuestion::Proximal { weights, .. } => {
                self.model.as_parametric().is_some_and(|model| {
                    model.size(data.features().columns(), data.task()) == weights.len()
                })
            }
            ProbeQuestion::Refit { predictions, .. } => {
                predictions.task() == data.task() && predictions.rows() == points.rows()
            }
        };
        fits && question.is_finite()
    }

    fn computed(
        &self,
        data: &Dataset,
        points: &Features,
        question: &ProbeQuestion,
    ) -> Result<ProbeAnswer> {
        let blurred = |mut numbers: Vec<f64>| {
            self.budget.blur(self.id, question, &mut numbers);
            numbers
        };
        if let Some(numbers) = own_step(self.model.as_ref(), data, question)? {
            return Ok(ProbeAnswer::Numbers(blurred(numbers).into()));
        }
        let ProbeQuestion::Refit { predictions, step } = question else {
            return Ok(ProbeAnswer::Refused(ProbeRefusal::OtherModel));
        };
        let fitted = refitted(self.model.as_ref(), data, (points, predictions), *step)?;
        if let Some(linear) = fitted.downcast_ref::<LinearHypothesis>() {
            let mut linear = linear.clone();
            // The intercept gives away as much as any slope: it gets its noise from the same stream.
            linear.slopes.push(linear.intercept);
            linear.slopes = blurred(linear.slopes);
            linear.intercept = linear.slopes.pop().unwrap_or(0.0);
            return Ok(ProbeAnswer::Linear(Arc::new(linear)));
        }
        let labels = blurred(fitted.predict(points).as_slice().to_vec());
        Ok(ProbeAnswer::Predictions(Arc::new(Labels::new(data.task(), labels)?)))
    }
}

/// The gradient or the proximal step; none for a refit or a model without weights.
pub(super) fn own_step(
    model: &dyn LocalModel,
    data: &Dataset,
    question: &ProbeQuestion,
) -> Result<Option<Vec<f64>>> {
    let Some(model) = model.as_parametric() else { return Ok(None) };
    match question {
        ProbeQuestion::Gradient { weights } => Ok(Some(model.gradient(data, weights))),
        // argmin η L(w) + ‖w − ŵ‖² is the proximal step with τ = η/2.
        ProbeQuestion::Proximal { weights, step } => {
            Ok(Some(model.proximal(data, weights, step / 2.0)?))
        }
        ProbeQuestion::Refit { .. } => Ok(None),
    }
}
