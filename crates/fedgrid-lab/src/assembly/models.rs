//! The model of each node.

use std::sync::Arc;

use fedgrid::{compare::ModelsInUse, data::Task, model::LocalModel};

use super::Graph;
use crate::{
    columns::{KnownKind, KnownPart},
    error::{Error, Result},
    experiment::{Experiment, MethodSection, ModelChoice, advice},
};

/// The models of all nodes with the names of their kinds.
pub(super) struct Models {
    pub(super) models: Vec<Arc<dyn LocalModel>>,
    pub(super) kinds: Vec<Arc<str>>,
}

/// A model that no experiment file can name.
#[derive(Debug, Clone)]
pub struct CustomModel {
    /// The node that trains it.
    pub node: usize,
    /// The model.
    pub model: Arc<dyn LocalModel>,
    /// What reports call its kind.
    pub kind: String,
}

impl Models {
    /// The models with others in the place of some.
    pub(super) fn with(mut self, own: Vec<CustomModel>) -> Self {
        for CustomModel { node, model, kind } in own {
            (self.models[node], self.kinds[node]) = (model, kind.into());
        }
        self
    }

    /// Refuses a method that cannot be used for this target or with these models.
    pub(super) fn check_method(
        &self,
        method: &MethodSection,
        (names, features): (&[String], &[String]),
        task: Task,
    ) -> Result<()> {
        let (models, kinds) = (&self.models, &self.kinds);
        let in_use = ModelsInUse { task, models, kinds, names, features };
        method.approach.check_models(&in_use).map_err(Error::input)
    }

    /// Refuses a known part of the target that some model cannot take.
    pub(super) fn check_known(&self, known: Option<&KnownPart>, names: &[String]) -> Result<()> {
        let Some(known) = known else { return Ok(()) };
        let of_counts = known.kind != KnownKind::Offset;
        let other = self.models.iter().position(|model| model.is_of_counts() != of_counts);
        let Some(node) = other else { return Ok(()) };
        let (role, kind, name) = (known.role(), &self.kinds[node], &names[node]);
        Err(Error::input(match known.kind {
            KnownKind::Exposure => format!(
                "data.{role} is for models of counts, and the {kind} model of node '{name}' is of numbers; use \
                 poisson, or data.offset for a known part of a number"
            ),
            _ => format!(
                "data.{role} is added to numbers or to logarithms of counts, and of the models some are of counts \
                 and some are not, such as the {kind} model of node '{name}'; expected one kind"
            ),
        }))
    }

    /// Whether all are linear, logistic or Poisson regressions, which a mixed model is too, and of one kind.
    pub(super) fn are_regressions(&self) -> bool {
        let counts = self.models.iter().filter(|model| model.is_of_counts()).count();
        let is_one_kind = counts == 0 || counts == self.models.len();
        is_one_kind && self.models.iter().all(|model| model.is_plain_regression())
    }

    /// Refuses models whose weights cannot be compared with their neighbours'.
    pub(super) fn check_weights(
        &self,
        method: &str,
        names: &[String],
        columns: usize,
        task: Task,
    ) -> Result<()> {
        let mut first = None;
        for (node, model) in self.models.iter().enumerate() {
            let (kind, name) = (&self.kinds[node], &names[node]);
            let Some(model) = model.as_parametric() else {
                return Err(Error::input(format!(
                    "method.kind is \"{method}\", which couples weights, and the {kind} model of node \
                     '{name}' has none; use linear, elastic-net, huber, quantile, poisson, logistic, \
                     graphical-lasso or perceptron models, or method.kind = \"fedrelax\""
                )));
            };
            // Models of one size may still have their intercepts in different places.
            let own = (model.size(columns, task), model.intercepts(columns, task));
            let common = first.get_or_insert_with(|| own.clone());
            if *common != own {
                return Err(Error::input(format!(
                    "method.kind is \"{method}\", which couples weights, and the {kind} model of node \
                     '{name}' has {} weights with {} intercepts, that of node '{}' {} with {}; give \
                     both the same kind, or use method.kind = \"fedrelax\"",
                    own.0,
                    own.1.len(),
                    names[0],
                    common.0,
                    common.1.len()
                )));
            }
        }
        Ok(())
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
    let common = model("model", &keys.common, task, experiment.seed)?;
    let named = |keys: &ModelChoice| -> Arc<str> { keys.model.kind().name().into() };
    let mut known = vec![(&keys.common, common, named(&keys.common))];
    let mut all = Models { models: Vec::new(), kinds: Vec::new() };
    for name in names {
        let own = keys.nodes.get(name).unwrap_or(&keys.common);
        let index = known.iter().position(|(other, ..)| *other == own).unwrap_or(known.len());
        if index == known.len() {
            let section = format!("model.nodes.{name}");
            known.push((own, model(&section, own, task, experiment.seed)?, named(own)));
        }
        let (_, made, kind) = &known[index];
        all.models.push(made.clone());
        all.kinds.push(kind.clone());
    }
    Ok(all)
}

/// The model of complete keys. A ridge that was given stays.
pub(super) fn model(
    section: &str,
    keys: &ModelChoice,
    task: Task,
    seed: u64,
) -> Result<Arc<dyn LocalModel>> {
    if keys.model.as_local().predicts(task) {
        return Ok(keys.made(seed));
    }
    let kind = keys.model.kind();
    let instead = match task {
        Task::Regression => "classes; use linear or tree for numbers",
        Task::Classification { .. } => "numbers; use logistic or tree for classes",
    };
    Err(Error::input(format!("{section}.kind = \"{kind}\" predicts {instead}")))
}
