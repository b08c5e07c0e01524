//! The model of each node.

use std::sync::Arc;

use fedgrid::{
    compare::ModelsInUse,
    data::Task,
    descent::Optimiser,
    model::{
        Activation, Boosting, ElasticNet, ExtraTrees, Fixed, Forest, GraphicalLasso, Huber, Kernel,
        KernelRidge, Linear, LocalModel, Logistic, Mean, Neighbours, Perceptron, Poisson, Quantile,
        Smoother, Tree, TriedFeatures,
    },
};

use super::Graph;
use crate::{
    error::{Error, Result},
    experiment::{
        ActivationKey, Choice, Experiment, KernelKey, MethodSection, ModelKeys, ModelKind, advice,
    },
};

/// The models of all nodes with the names of their kinds.
pub(super) struct Models {
    pub(super) models: Vec<Arc<dyn LocalModel>>,
    pub(super) kinds: Vec<Arc<str>>,
}

/// A model that no experiment file can name.
#[derive(Debug, Clone)]
pub struct OwnModel {
    /// The node that trains it.
    pub node: usize,
    /// The model.
    pub model: Arc<dyn LocalModel>,
    /// What reports call its kind.
    pub kind: String,
}

impl Models {
    /// The models with others in the place of some.
    pub(super) fn with(mut self, own: Vec<OwnModel>) -> Self {
        for OwnModel { node, model, kind } in own {
            (self.models[node], self.kinds[node]) = (model, kind.into());
        }
        self
    }

    /// Refuses a method that cannot be used for this target or with these models.
    pub(super) fn check_method(
        &self,
        method: &MethodSection,
        names: &[String],
        task: Task,
    ) -> Result<()> {
        let in_use = ModelsInUse { task, models: &self.models, kinds: &self.kinds, names };
        method.approach.check_models(&in_use).map_err(Error::input)
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
    let named = |keys: &ModelKeys| -> Arc<str> { keys.kind().to_string().into() };
    let mut known = vec![(&keys.common, common, named(&keys.common))];
    let mut all = Models { models: Vec::new(), kinds: Vec::new() };
    for name in names {
        let own = keys.nodes.get(name).unwrap_or(&keys.common);
        let place = known.iter().position(|(other, ..)| *other == own).unwrap_or(known.len());
        if place == known.len() {
            let section = format!("model.nodes.{name}");
            known.push((own, model(&section, own, task, experiment.seed)?, named(own)));
        }
        let (_, made, kind) = &known[place];
        all.models.push(made.clone());
        all.kinds.push(kind.clone());
    }
    Ok(all)
}

/// The model of complete keys. A ridge that was given stays.
pub(super) fn model(
    section: &str,
    keys: &ModelKeys,
    task: Task,
    seed: u64,
) -> Result<Arc<dyn LocalModel>> {
    use ModelKind as Kind;
    let kind = keys.kind();
    if task == Task::Regression && !kind.predicts_numbers() {
        let instead = "classes; use linear or tree for numbers";
        return Err(Error::input(format!("{section}.kind = \"{kind}\" predicts {instead}")));
    }
    if task != Task::Regression && !kind.predicts_classes() {
        let instead = "numbers; use logistic or tree for classes";
        return Err(Error::input(format!("{section}.kind = \"{kind}\" predicts {instead}")));
    }
    let given = keys.ridge.and_then(Choice::given);
    let ridge = |default: f64| given.unwrap_or(default);
    let intercept = keys.intercept.unwrap_or(true);
    Ok(match kind {
        Kind::Linear => settled(Linear { ridge: ridge(0.0), intercept }, given),
        Kind::ElasticNet => {
            let lasso = keys.lasso.unwrap_or(ElasticNet::default().lasso);
            settled(ElasticNet { ridge: ridge(0.0), lasso, intercept }, given)
        }
        Kind::Huber => {
            let threshold = keys.threshold.unwrap_or(Huber::default().threshold);
            settled(Huber { threshold, ridge: ridge(0.0), intercept }, given)
        }
        Kind::Quantile => {
            let level = keys.level.unwrap_or(Quantile::default().level);
            settled(Quantile { level, ridge: ridge(0.0), intercept }, given)
        }
        Kind::Poisson => {
            settled(Poisson { ridge: ridge(Poisson::default().ridge), intercept }, given)
        }
        Kind::Logistic => {
            let lasso = keys.lasso.unwrap_or(0.0);
            settled(Logistic { ridge: ridge(Logistic::default().ridge), lasso, intercept }, given)
        }
        Kind::GraphicalLasso => {
            let usual = GraphicalLasso::default();
            let lasso = keys.lasso.unwrap_or(usual.lasso);
            settled(GraphicalLasso { ridge: ridge(usual.ridge), lasso, intercept }, given)
        }
        Kind::KernelRidge => {
            let ridge = ridge(KernelRidge::default().ridge);
            let kernel = kernel(keys);
            settled(KernelRidge { kernel, ridge, intercept, ..KernelRidge::default() }, given)
        }
        Kind::Perceptron => {
            settled(perceptron(keys, ridge(Perceptron::default().ridge), seed), given)
        }
        _ => without_ridge(kind, keys, seed),
    })
}

/// A model whose ridge is chosen on validation rows, unless it was given.
fn settled<M: LocalModel + 'static>(model: M, given: Option<f64>) -> Arc<dyn LocalModel> {
    if given.is_some() { Arc::new(Fixed(model)) } else { Arc::new(model) }
}

fn without_ridge(kind: ModelKind, keys: &ModelKeys, seed: u64) -> Arc<dyn LocalModel> {
    use ModelKind as Kind;
    let min_leaf_weight = keys.min_leaf_weight.unwrap_or(0.0);
    let max_depth = |default: usize| keys.max_depth.unwrap_or(default);
    let trees = |default: usize| keys.trees.unwrap_or(default);
    let features = keys.features_tried.map_or(TriedFeatures::Auto, TriedFeatures::Share);
    match kind {
        Kind::Tree => Arc::new(Tree { max_depth: max_depth(5), min_leaf_weight }),
        Kind::Forest => {
            let usual = Forest::default();
            let (trees, max_depth) = (trees(usual.trees), max_depth(usual.max_depth));
            Arc::new(Forest { trees, max_depth, min_leaf_weight, features, seed, ..usual })
        }
        Kind::ExtraTrees => {
            let ExtraTrees(usual) = ExtraTrees::default();
            let (trees, max_depth) = (trees(usual.trees), max_depth(usual.max_depth));
            let forest = Forest { trees, max_depth, min_leaf_weight, features, seed, ..usual };
            Arc::new(ExtraTrees(forest))
        }
        Kind::Boosting => {
            let usual = Boosting::default();
            let (trees, max_depth) = (trees(usual.trees), max_depth(usual.max_depth));
            let (rate, subsample) =
                (keys.rate.unwrap_or(usual.rate), keys.subsample.unwrap_or(usual.subsample));
            Arc::new(Boosting { trees, rate, max_depth, min_leaf_weight, subsample, seed })
        }
        Kind::Neighbours => {
            let usual = Neighbours::default();
            let (k, by_distance) = (keys.k.unwrap_or(usual.k), keys.by_distance.unwrap_or(false));
            Arc::new(Neighbours { k, by_distance, ..usual })
        }
        Kind::Smoother => Arc::new(Smoother { kernel: kernel(keys), ..Smoother::default() }),
        _ => Arc::new(Mean),
    }
}

fn kernel(keys: &ModelKeys) -> Kernel {
    let width = keys.width.unwrap_or(0.0);
    match keys.kernel.unwrap_or_default() {
        KernelKey::Gaussian => Kernel::Gaussian { width },
        KernelKey::Laplace => Kernel::Laplace { width },
        KernelKey::Polynomial => {
            let degree = u32::try_from(keys.degree.unwrap_or(2)).unwrap_or(u32::MAX);
            Kernel::Polynomial { degree, offset: 1.0 }
        }
    }
}

fn perceptron(keys: &ModelKeys, ridge: f64, seed: u64) -> Perceptron {
    let usual = Perceptron::default();
    Perceptron {
        layers: keys.layers.clone().unwrap_or(usual.layers),
        activation: match keys.activation.unwrap_or_default() {
            ActivationKey::Tanh => Activation::Tanh,
            ActivationKey::Relu => Activation::Relu,
        },
        optimiser: keys.optimiser.unwrap_or(Optimiser::Adam),
        step: keys.step_size.unwrap_or(usual.step),
        epochs: keys.epochs.unwrap_or(usual.epochs),
        batch: keys.batch.unwrap_or(usual.batch),
        ridge,
        patience: keys.patience.unwrap_or(usual.patience),
        held_back: keys.held_back.unwrap_or(usual.held_back),
        seed,
    }
}
