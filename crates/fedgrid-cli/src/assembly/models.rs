//! The model of each node.

use std::sync::Arc;

use fedgrid::{
    data::Task,
    model::{Linear, LocalModel, Logistic, Tree},
};

use super::Graph;
use crate::{
    error::{Error, Result},
    experiment::{
        CouplingKey, DiscrepancyKey, Experiment, MethodKeys, ModelKeys, ModelKind, NodeModelKeys,
        StepKey, advice,
    },
};

/// The models of all nodes with the names of their kinds.
pub(super) struct Models {
    pub(super) models: Vec<Arc<dyn LocalModel>>,
    pub(super) kinds: Vec<String>,
}

impl Models {
    /// Refuses a method that cannot be used for this target or with these models.
    pub(super) fn check_method(
        &self,
        keys: &MethodKeys,
        names: &[String],
        task: Task,
    ) -> Result<()> {
        use DiscrepancyKey as Key;
        let classes = task != Task::Regression;
        if keys.coupling == CouplingKey::Symmetric && classes {
            let found = "method.coupling is \"symmetric\"";
            return Err(Error::input(format!("{found}, expected \"one-sided\" for classes")));
        }
        // Beyond one, steps leave the range of probabilities.
        if keys.relaxation > 1.0 && classes {
            let found = format!("method.relaxation is {}", keys.relaxation);
            return Err(Error::input(format!("{found}, expected at most one for classes")));
        }
        let (compares, expected) = match keys.discrepancy {
            Key::Auto => (classes, ""),
            Key::Squared | Key::Absolute | Key::Huber => {
                (false, "numbers, expected auto, cross-entropy or kullback-leibler for classes")
            }
            Key::CrossEntropy | Key::KullbackLeibler => {
                (true, "classes, expected auto, squared, absolute or huber for numbers")
            }
        };
        if compares != classes {
            return Err(Error::input(format!("method.discrepancy compares {expected}")));
        }
        let without_weights = self.models.iter().position(|model| model.as_parametric().is_none());
        match without_weights.filter(|_| keys.step == StepKey::Descend) {
            Some(node) => Err(Error::input(format!(
                "method.step is \"descend\", expected refit or distil for the {} model of node '{}'",
                self.kinds[node], names[node]
            ))),
            None => Ok(()),
        }
    }
}

/// The models of an experiment; nodes with the same keys share one.
pub(super) fn models(experiment: &Experiment, graph: &Graph, task: Task) -> Result<Models> {
    let keys = &experiment.model;
    let names = graph.network.names();
    for name in keys.nodes.keys() {
        if !names.contains(name) {
            let advice = advice(name, names.iter().map(String::as_str));
            let sentence = format!("model.nodes: '{name}' is not a node of the network{advice}");
            return Err(Error::input(sentence));
        }
    }
    let common = model("model", keys, &NodeModelKeys::default(), task)?;
    let mut known: Vec<(&NodeModelKeys, Arc<dyn LocalModel>)> = Vec::new();
    let mut all = Models { models: Vec::new(), kinds: Vec::new() };
    for name in names {
        let Some(own) = keys.nodes.get(name) else {
            all.models.push(common.clone());
            all.kinds.push(keys.kind.to_string());
            continue;
        };
        let model = if let Some((_, model)) = known.iter().find(|(other, _)| *other == own) {
            model.clone()
        } else {
            let made = model(&format!("model.nodes.{name}"), keys, own, task)?;
            known.push((own, made.clone()));
            made
        };
        all.models.push(model);
        all.kinds.push(own.kind.unwrap_or(keys.kind).to_string());
    }
    Ok(all)
}

fn model(
    section: &str,
    keys: &ModelKeys,
    own: &NodeModelKeys,
    task: Task,
) -> Result<Arc<dyn LocalModel>> {
    let kind = own.kind.unwrap_or(keys.kind);
    let intercept = own.intercept.unwrap_or(keys.intercept);
    let ridge = own.ridge.or(keys.ridge.given());
    let fits = match kind {
        ModelKind::Linear => task == Task::Regression,
        ModelKind::Logistic => task != Task::Regression,
        ModelKind::Tree => true,
    };
    if !fits {
        let (wants, use_instead) = match kind {
            ModelKind::Linear => ("numbers", "logistic or tree for classes"),
            _ => ("classes", "linear or tree for numbers"),
        };
        let sentence = format!("{section}.kind = \"{kind}\" predicts {wants}; use {use_instead}");
        return Err(Error::input(sentence));
    }
    Ok(match kind {
        ModelKind::Linear => Arc::new(Linear { ridge: ridge.unwrap_or(0.0), intercept }),
        ModelKind::Logistic => {
            let ridge = ridge.unwrap_or(Logistic::default().ridge);
            Arc::new(Logistic { ridge, lasso: 0.0, intercept })
        }
        ModelKind::Tree => Arc::new(Tree {
            max_depth: own.max_depth.unwrap_or(keys.max_depth),
            min_leaf_weight: own.min_leaf_weight.unwrap_or(keys.min_leaf_weight),
        }),
    })
}
