//! The model of each node.

use std::sync::Arc;

use fedgrid::{
    data::Task,
    model::{Linear, LocalModel, Logistic, Tree},
};

use super::Graph;
use crate::{
    error::{Error, Result},
    experiment::{Experiment, ModelKeys, ModelKind, NodeModelKeys, advice},
};

/// The models of all nodes with the names of their kinds.
pub(super) struct Models {
    pub(super) models: Vec<Arc<dyn LocalModel>>,
    pub(super) kinds: Vec<String>,
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
            Arc::new(Logistic { ridge, intercept })
        }
        ModelKind::Tree => Arc::new(Tree {
            max_depth: own.max_depth.unwrap_or(keys.max_depth),
            min_leaf_weight: own.min_leaf_weight.unwrap_or(keys.min_leaf_weight),
        }),
    })
}
