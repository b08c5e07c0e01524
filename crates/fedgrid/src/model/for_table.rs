//! What was learnt in the units of a study, for rows of the table.

use std::sync::Arc;

use super::{
    Constant, Hypothesis, LinearHypothesis, LogisticHypothesis, PoissonHypothesis,
    RescaledHypothesis, Scales,
};
use crate::data::Task;

impl Scales {
    /// What a model has learnt, for rows of the table.
    #[must_use]
    pub fn for_table(&self, learnt: &Arc<dyn Hypothesis>, task: Task) -> Arc<dyn Hypothesis> {
        if let Some(linear) = learnt.downcast_ref::<LinearHypothesis>() {
            return Arc::new(self.linear(linear, self.target()));
        }
        if let Some(PoissonHypothesis(linear)) = learnt.downcast_ref() {
            // The logarithm of a mean has no unit.
            return Arc::new(PoissonHypothesis(self.linear(linear, 1.0)));
        }
        if let Some(logistic) = learnt.downcast_ref::<LogisticHypothesis>() {
            return Arc::new(self.logistic(logistic));
        }
        if let Some(Constant { label, .. }) = learnt.downcast_ref() {
            let unit = if task == Task::Regression { self.target() } else { 1.0 };
            let label = label.iter().map(|label| unit * label).collect();
            return Arc::new(Constant { task, label });
        }
        Arc::new(RescaledHypothesis { scales: self.clone(), task, model: learnt.clone() })
    }

    fn linear(&self, learnt: &LinearHypothesis, target: f64) -> LinearHypothesis {
        let (slopes, intercept) = self.affine(&learnt.slopes, learnt.intercept, target);
        LinearHypothesis { names: self.names().into(), slopes, intercept }
    }

    fn logistic(&self, learnt: &LogisticHypothesis) -> LogisticHypothesis {
        let maps = learnt.slopes.iter().zip(&learnt.intercepts);
        let (slopes, intercepts) = maps.map(|(w, b)| self.affine(w, *b, 1.0)).unzip();
        LogisticHypothesis {
            names: self.names().into(),
            classes: learnt.classes,
            slopes,
            intercepts,
        }
    }
}
