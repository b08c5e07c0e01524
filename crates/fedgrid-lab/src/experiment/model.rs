//! The keys of models: for all nodes, and where single nodes differ.

use std::collections::BTreeMap;

use fedgrid::descent::Optimiser;
use fedgrid::model::{
    Boosting, ElasticNet, ExtraTrees, Forest, GraphicalLasso, Huber, Neighbours, Perceptron,
    Quantile, Tree,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ActivationKey, Choice, KernelKey, ModelKind};

/// What each node trains.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct ModelSection {
    /// The model of all nodes.
    #[serde(flatten)]
    pub common: ModelKeys,
    /// Other models for some nodes, by name: only the keys that differ.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub nodes: BTreeMap<String, ModelKeys>,
}

impl ModelSection {
    /// Fills in the defaults of the kinds chosen; nodes take what they leave open from all.
    pub(super) fn complete(&mut self) {
        for own in self.nodes.values_mut() {
            *own = own.over(&self.common).filled();
        }
        self.common = self.common.over(&ModelKeys::default()).filled();
    }

    /// Refuses values out of range, and keys of other kinds than the ones they are given for.
    pub(super) fn check(&self) -> Result<(), String> {
        self.common.check("model")?;
        // Nodes take from all what they leave open.
        let kinds = self.nodes.values().map(|own| own.over(&self.common).kind());
        self.common.check_kinds("model", self.common.kind(), kinds)?;
        for (name, own) in &self.nodes {
            let section = format!("model.nodes.{name}");
            own.check(&section)?;
            own.check_kinds(&section, own.over(&self.common).kind(), [].into_iter())?;
        }
        Ok(())
    }

    /// Makes a kind that of all nodes in the keys of an experiment; what is said there for another kind
    /// goes, unless some nodes have kinds of their own.
    pub fn choose(experiment: &mut toml::Table, kind: &str) {
        let section = experiment.entry("model").or_insert_with(|| toml::Table::new().into());
        let Some(keys) = section.as_table_mut() else { return };
        let before = keys.insert("kind".into(), kind.into());
        let known = ModelKind::deserialize(toml::Value::from(kind));
        if let (Ok(known), false) = (known, keys.contains_key("nodes"))
            && before.is_none_or(|before| before.as_str() != Some(kind))
        {
            let names = ModelKeys::names(known);
            keys.retain(|key, _| names.contains(&key));
        }
    }

    /// All kinds in use.
    pub fn kinds(&self) -> impl Iterator<Item = ModelKind> + '_ {
        self.nodes.values().chain([&self.common]).map(ModelKeys::kind)
    }

    /// Whether a ridge is chosen on validation rows.
    #[must_use]
    pub fn tunes_ridge(&self) -> bool {
        self.nodes.values().chain([&self.common]).any(|keys| keys.ridge == Some(Choice::Auto))
    }
}

/// A struct of optional keys, and how one set of them lies over another.
macro_rules! model_keys {
    ($($(#[doc = $doc:literal])+ $key:ident: $type:ty,)*) => {
        /// The keys of a model; which of them it has depends on its kind.
        #[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
        pub struct ModelKeys {
            $(
                $(#[doc = $doc])+
                #[serde(default, skip_serializing_if = "Option::is_none")]
                pub $key: Option<$type>,
            )*
        }

        impl ModelKeys {
            fn over(&self, common: &Self) -> Self {
                Self { $($key: self.$key.clone().or_else(|| common.$key.clone()),)* }
            }

            /// The names of the keys that are given.
            fn given(&self) -> Vec<&'static str> {
                let all = [$((stringify!($key), self.$key.is_some()),)*];
                all.into_iter().filter(|(_, given)| *given).map(|(key, _)| key).collect()
            }

            /// The same without the keys of other names.
            fn only(self, names: &[&str]) -> Self {
                Self { $($key: self.$key.filter(|_| names.contains(&stringify!($key))),)* }
            }
        }
    };
}

model_keys! {
    /// The kind of model.
    kind: ModelKind,
    /// The pull of slopes (or of a function) to zero, or "auto" to choose it on validation rows.
    ridge: Choice,
    /// elastic-net, logistic: the pull of slopes to exactly zero; graphical-lasso: that of pairs.
    lasso: f64,
    /// Whether linear models, kernel ridge and their kin have an intercept.
    intercept: bool,
    /// huber: the error from which on it counts linearly, in units of the target.
    threshold: f64,
    /// quantile: which quantile is predicted, between zero and one.
    level: f64,
    /// tree, forest, extra-trees, boosting: how deep a tree may grow.
    max_depth: usize,
    /// tree, forest, extra-trees, boosting: the smallest share of the row weight in a leaf.
    min_leaf_weight: f64,
    /// forest, extra-trees, boosting: how many trees.
    trees: usize,
    /// forest, extra-trees: the share of features tried at each split; by default a usual number.
    features_tried: f64,
    /// boosting: the share of each tree that is added.
    rate: f64,
    /// boosting: the share of rows that each tree sees.
    subsample: f64,
    /// neighbours: how many.
    k: usize,
    /// neighbours: whether near ones count more.
    by_distance: bool,
    /// kernel-ridge, smoother: gaussian, laplace or polynomial.
    kernel: KernelKey,
    /// kernel-ridge, smoother: the width of the kernel on scaled features; zero takes it from the
    /// rows.
    width: f64,
    /// kernel-ridge with the polynomial kernel: its degree.
    degree: usize,
    /// perceptron: the number of units in each hidden layer.
    layers: Vec<usize>,
    /// perceptron: tanh or relu.
    activation: ActivationKey,
    /// perceptron: adam, rmsprop or plain.
    optimiser: Optimiser,
    /// perceptron: the step size.
    step_size: f64,
    /// perceptron: how many passes over the rows at most.
    epochs: usize,
    /// perceptron: rows per step; zero is all of them.
    batch: usize,
    /// perceptron: after how many epochs without gain training ends; zero never.
    patience: usize,
    /// perceptron: the share of a node's rows that do not train but tell when to stop; with none the
    /// training loss tells.
    held_back: f64,
}

/// A key, its value, what it must fulfil, and that in words.
type Range<'a> = (&'a str, Option<f64>, &'a dyn Fn(f64) -> bool, &'a str);

impl ModelKeys {
    /// The kind of model.
    #[must_use]
    pub fn kind(&self) -> ModelKind {
        self.kind.unwrap_or_default()
    }

    /// The same keys with the defaults of their kind filled in, and without those of other kinds.
    fn filled(&self) -> Self {
        self.over(&Self::usual(self.kind())).only(&Self::names(self.kind()))
    }

    /// The names of the keys that a kind has.
    fn names(kind: ModelKind) -> Vec<&'static str> {
        let mut names = Self::usual(kind).given();
        if matches!(kind, ModelKind::Forest | ModelKind::ExtraTrees) {
            names.push("features_tried");
        }
        names
    }

    /// The defaults of a kind.
    fn usual(kind: ModelKind) -> Self {
        use ModelKind as Kind;
        let mut default = Self { kind: Some(kind), ..Self::default() };
        let ridge = Some(Choice::Auto);
        match kind {
            Kind::Linear | Kind::Poisson => {
                (default.ridge, default.intercept) = (ridge, Some(true));
            }
            Kind::ElasticNet | Kind::Logistic | Kind::GraphicalLasso => {
                let lasso = match kind {
                    Kind::ElasticNet => ElasticNet::default().lasso,
                    Kind::GraphicalLasso => GraphicalLasso::default().lasso,
                    _ => 0.0,
                };
                (default.ridge, default.intercept) = (ridge, Some(true));
                default.lasso = Some(lasso);
            }
            Kind::Huber => {
                (default.ridge, default.intercept) = (ridge, Some(true));
                default.threshold = Some(Huber::default().threshold);
            }
            Kind::Quantile => {
                (default.ridge, default.intercept) = (ridge, Some(true));
                default.level = Some(Quantile::default().level);
            }
            Kind::Tree => default.max_depth = Some(Tree::default().max_depth),
            Kind::Forest => {
                default.fill_trees(Forest::default().trees, Forest::default().max_depth);
            }
            Kind::ExtraTrees => {
                let ExtraTrees(usual) = ExtraTrees::default();
                default.fill_trees(usual.trees, usual.max_depth);
            }
            Kind::Boosting => {
                default.fill_trees(Boosting::default().trees, Boosting::default().max_depth);
                default.rate = Some(Boosting::default().rate);
                default.subsample = Some(Boosting::default().subsample);
            }
            Kind::Neighbours => {
                (default.k, default.by_distance) = (Some(Neighbours::default().k), Some(false));
            }
            Kind::KernelRidge => {
                default.fill_kernel();
                (default.ridge, default.intercept) = (ridge, Some(true));
            }
            Kind::Smoother => default.fill_kernel(),
            Kind::Perceptron => default.fill_perceptron(ridge),
            Kind::Constant => {}
        }
        if matches!(kind, Kind::Tree | Kind::Forest | Kind::ExtraTrees | Kind::Boosting) {
            default.min_leaf_weight = Some(0.0);
        }
        default
    }

    fn fill_trees(&mut self, trees: usize, max_depth: usize) {
        (self.trees, self.max_depth) = (Some(trees), Some(max_depth));
    }

    fn fill_kernel(&mut self) {
        (self.kernel, self.width) = (Some(KernelKey::default()), Some(0.0));
        self.degree = Some(2);
    }

    fn fill_perceptron(&mut self, ridge: Option<Choice>) {
        let default = Perceptron::default();
        self.ridge = ridge;
        self.layers = Some(default.layers);
        self.activation = Some(ActivationKey::default());
        self.optimiser = Some(Optimiser::Adam);
        (self.step_size, self.epochs) = (Some(default.step), Some(default.epochs));
        self.batch = Some(default.batch);
        (self.patience, self.held_back) = (Some(default.patience), Some(default.held_back));
    }

    /// Refuses keys that neither the kind has nor any of the others that they are given for.
    fn check_kinds(
        &self,
        section: &str,
        kind: ModelKind,
        others: impl Iterator<Item = ModelKind>,
    ) -> Result<(), String> {
        let known: Vec<&str> = others.flat_map(Self::names).chain(Self::names(kind)).collect();
        let Some(key) = self.given().into_iter().find(|key| !known.contains(key)) else {
            return Ok(());
        };
        let given = serde_json::to_value(self).unwrap_or_default();
        let own: Vec<&str> = Self::names(kind).into_iter().filter(|name| *name != "kind").collect();
        let own = if own.is_empty() { "none".into() } else { own.join(", ") };
        Err(format!(
            "{section}.{key} is {}, expected no such key for {section}.kind = \"{kind}\", whose keys are {own}",
            given[key]
        ))
    }

    /// Refuses values out of range; `section` is named.
    fn check(&self, section: &str) -> Result<(), String> {
        let at_least_zero = |value: f64| value >= 0.0 && value.is_finite();
        let positive = |value: f64| value > 0.0 && value.is_finite();
        let share = |value: f64| value > 0.0 && value <= 1.0;
        let ridge = self.ridge.and_then(Choice::given);
        let strength =
            if section == "model" { "zero or more, or \"auto\"" } else { "zero or more" };
        let leaf = |value: f64| (0.0..=0.5).contains(&value);
        let between = |value: f64| value > 0.0 && value < 1.0;
        let below_one = |value: f64| (0.0..1.0).contains(&value);
        let numbers: [Range; 11] = [
            ("ridge", ridge, &at_least_zero, strength),
            ("lasso", self.lasso, &at_least_zero, "zero or more"),
            ("threshold", self.threshold, &positive, "a positive number"),
            ("level", self.level, &between, "a number between zero and one"),
            ("min_leaf_weight", self.min_leaf_weight, &leaf, "zero to one half"),
            ("features_tried", self.features_tried, &share, "a share above 0 and at most 1"),
            ("rate", self.rate, &share, "a share above 0 and at most 1"),
            ("subsample", self.subsample, &share, "a share above 0 and at most 1"),
            ("width", self.width, &at_least_zero, "zero or more"),
            ("step_size", self.step_size, &positive, "a positive number"),
            ("held_back", self.held_back, &below_one, "zero or more and below one"),
        ];
        for (key, value, holds, expected) in numbers {
            if let Some(value) = value.filter(|value| !holds(*value)) {
                return Err(format!("{section}.{key} is {value}, expected {expected}"));
            }
        }
        let smallest_layer = self.layers.as_ref().and_then(|layers| layers.iter().min().copied());
        let counts = [
            ("trees", self.trees),
            ("k", self.k),
            ("degree", self.degree),
            ("epochs", self.epochs),
            ("layers", smallest_layer),
        ];
        match counts.iter().find(|(_, count)| *count == Some(0)) {
            Some((key, _)) => Err(format!("{section}.{key} is 0, expected at least 1")),
            None => Ok(()),
        }
    }
}
