//! Hypotheses as plain values, to be kept in a file and checked when they come back.

use serde::{Deserialize, Serialize};

use super::{
    BoostingHypothesis, Constant, ForestHypothesis, GraphicalLassoHypothesis, Hypothesis,
    KernelRidgeHypothesis, LinearHypothesis, LogisticHypothesis, NeighboursHypothesis,
    PerceptronHypothesis, PoissonHypothesis, SmootherHypothesis, TreeHypothesis,
};
use crate::{data::Task, error::Result};

/// A hypothesis of any kind as plain values, to be kept in a file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[expect(missing_docs, reason = "each variant is the hypothesis it is named after")]
pub enum Stored {
    Constant(Constant),
    Linear(LinearHypothesis),
    Logistic(LogisticHypothesis),
    Poisson(PoissonHypothesis),
    Tree(TreeHypothesis),
    Forest(ForestHypothesis),
    Boosting(BoostingHypothesis),
    Neighbours(NeighboursHypothesis),
    KernelRidge(KernelRidgeHypothesis),
    Smoother(SmootherHypothesis),
    Perceptron(PerceptronHypothesis),
    GraphicalLasso(GraphicalLassoHypothesis),
}

impl Stored {
    /// Refuses values that no fit gives: lists of the wrong length, places that do not exist,
    /// numbers that are not finite. A hypothesis that passes predicts for every row.
    pub fn check(&self) -> Result<()> {
        match self {
            Self::Constant(hypothesis) => hypothesis.check(),
            Self::Linear(hypothesis) => hypothesis.check(),
            Self::Logistic(hypothesis) => hypothesis.check(),
            Self::Poisson(hypothesis) => hypothesis.check(),
            Self::Tree(hypothesis) => hypothesis.check(),
            Self::Forest(hypothesis) => hypothesis.check(),
            Self::Boosting(hypothesis) => hypothesis.check(),
            Self::Neighbours(hypothesis) => hypothesis.check(),
            Self::KernelRidge(hypothesis) => hypothesis.check(),
            Self::Smoother(hypothesis) => hypothesis.check(),
            Self::Perceptron(hypothesis) => hypothesis.check(),
            Self::GraphicalLasso(hypothesis) => hypothesis.check(),
        }
    }

    /// Whether this is a hypothesis for rows of these features and this task, and can predict them.
    #[must_use]
    pub fn fits(&self, names: &[String], task: Task) -> bool {
        let (own, predicts) = match self {
            Self::Constant(hypothesis) => (None, hypothesis.task),
            Self::Linear(hypothesis) => (Some(&hypothesis.names), Task::Regression),
            Self::Logistic(hypothesis) => {
                (Some(&hypothesis.names), Task::Classification { classes: hypothesis.classes })
            }
            Self::Poisson(hypothesis) => (Some(&hypothesis.names), Task::Regression),
            Self::Tree(hypothesis) => (Some(&hypothesis.names), hypothesis.task),
            Self::Forest(hypothesis) => (Some(&hypothesis.names), hypothesis.task),
            Self::Boosting(hypothesis) => (Some(&hypothesis.names), hypothesis.task),
            Self::Neighbours(hypothesis) => (Some(&hypothesis.names), hypothesis.task),
            Self::KernelRidge(hypothesis) => (Some(&hypothesis.names), hypothesis.task),
            Self::Smoother(hypothesis) => (Some(&hypothesis.names), hypothesis.task),
            Self::Perceptron(hypothesis) => (Some(&hypothesis.names), hypothesis.task),
            Self::GraphicalLasso(hypothesis) => (Some(&hypothesis.names), Task::Regression),
        };
        predicts == task && own.is_none_or(|own| **own == *names) && self.check().is_ok()
    }

    /// The hypothesis that was stored; [`Stored::check`] says whether it can be used.
    #[must_use]
    pub fn restore(self) -> Box<dyn Hypothesis> {
        match self {
            Self::Constant(hypothesis) => Box::new(hypothesis),
            Self::Linear(hypothesis) => Box::new(hypothesis),
            Self::Logistic(hypothesis) => Box::new(hypothesis),
            Self::Poisson(hypothesis) => Box::new(hypothesis),
            Self::Tree(hypothesis) => Box::new(hypothesis),
            Self::Forest(hypothesis) => Box::new(hypothesis),
            Self::Boosting(hypothesis) => Box::new(hypothesis),
            Self::Neighbours(hypothesis) => Box::new(hypothesis),
            Self::KernelRidge(hypothesis) => Box::new(hypothesis),
            Self::Smoother(hypothesis) => Box::new(hypothesis),
            Self::Perceptron(hypothesis) => Box::new(hypothesis),
            Self::GraphicalLasso(hypothesis) => Box::new(hypothesis),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        data::{Dataset, Features, Labels},
        model::{Boosting, ExtraTrees, Forest, Linear, LocalModel, Logistic, Tree},
        random::{Purpose, Stream},
    };
    use serde_json::{Value, json};

    fn data(task: Task) -> Dataset {
        let mut stream = Stream::new(1, 0, 0, Purpose::Data);
        let names = ["a", "b"].map(String::from).into();
        let features = Features::new(names, (0..60).map(|_| stream.normal()).collect()).unwrap();
        let labels = match task {
            Task::Regression => Labels::values((0..30).map(|_| stream.normal()).collect()),
            Task::Classification { classes } => {
                let labels: Vec<usize> = (0..30).map(|_| stream.index(classes)).collect();
                Labels::classes(classes, &labels).unwrap()
            }
        };
        Dataset::new(features, labels).unwrap()
    }

    fn stored(task: Task) -> Vec<Value> {
        let forest = Forest { trees: 3, ..Forest::default() };
        let boosting = Boosting { trees: 3, ..Boosting::default() };
        let extra = ExtraTrees(Forest { trees: 3, ..ExtraTrees::default().0 });
        let own: Box<dyn LocalModel> = match task {
            Task::Regression => Box::new(Linear::default()),
            Task::Classification { .. } => Box::new(Logistic::default()),
        };
        let tree = Box::new(Tree::default());
        let models = [own, tree, Box::new(forest), Box::new(boosting), Box::new(extra)];
        let fitted = models.iter().map(|model| model.fit(&data(task)).unwrap().stored());
        fitted.map(|stored| serde_json::to_value(stored).unwrap()).collect()
    }

    fn accepted(value: Value) -> bool {
        serde_json::from_value::<Stored>(value).is_ok_and(|stored| stored.check().is_ok())
    }

    /// All places in nested lists and objects.
    fn places(value: &Value, at: &str, all: &mut Vec<String>) {
        all.push(at.to_string());
        match value {
            Value::Array(items) => items
                .iter()
                .enumerate()
                .take(4)
                .for_each(|(k, item)| places(item, &format!("{at}/{k}"), all)),
            Value::Object(items) => {
                items.iter().for_each(|(k, item)| places(item, &format!("{at}/{k}"), all));
            }
            _ => {}
        }
    }

    #[test]
    fn what_a_fit_gives_is_accepted() {
        let classes = |classes| Task::Classification { classes };
        for task in [Task::Regression, classes(2), classes(3)] {
            assert!(stored(task).into_iter().all(accepted));
        }
    }

    #[test]
    fn a_stored_hypothesis_that_was_changed_is_refused_or_still_predicts() {
        let classes = |classes| Task::Classification { classes };
        let changes =
            [json!(0), json!(1), json!(7), json!(4_000_000_000_u32), json!(1e308), json!([])];
        let mut refused = 0;
        for task in [Task::Regression, classes(2), classes(3)] {
            for value in stored(task) {
                let mut all = Vec::new();
                places(&value, "", &mut all);
                for (at, change) in all.iter().flat_map(|at| changes.iter().map(move |c| (at, c))) {
                    let mut changed = value.clone();
                    *changed.pointer_mut(at).unwrap() = change.clone();
                    let Ok(changed) = serde_json::from_value::<Stored>(changed) else { continue };
                    if changed.check().is_ok() {
                        changed.restore().predict(data(task).features());
                    } else {
                        refused += 1;
                    }
                }
            }
        }
        assert!(refused > 50, "{refused}");
    }

    #[test]
    fn a_branch_that_leads_back_is_refused() {
        let mut value = stored(Task::Regression).remove(2);
        value["nodes"]["right"][0] = json!(1);
        let error = serde_json::from_value::<Stored>(value).unwrap().check().unwrap_err();
        assert_eq!(error.to_string(), "the right branch: found 1, expected 2");
    }

    #[test]
    fn hypotheses_fit_their_own_features_and_task() {
        let classes = Task::Classification { classes: 2 };
        let names = ["a", "b"].map(String::from);
        for (task, other) in [(Task::Regression, classes), (classes, Task::Regression)] {
            for value in stored(task) {
                let stored: Stored = serde_json::from_value(value).unwrap();
                assert!(stored.fits(&names, task), "{stored:?}");
                assert!(!stored.fits(&names[..1], task) && !stored.fits(&names, other));
            }
        }
    }
}
