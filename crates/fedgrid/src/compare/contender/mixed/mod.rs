//! Mixed models in a comparison: along the network, or without one as the rival of every verdict.

mod evidence;
mod kept;
mod rows;

use std::{collections::BTreeMap, sync::Arc};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::rows::{Ask, MixedRows};
pub use self::{
    evidence::NetworkEvidence,
    kept::{KeptEstimates, MixedStart},
};
use super::{
    Asking, AtSites, Bound, Contender, DataShape, Facts, Federated, MessageSizes, ModelsInUse,
    Place, StrengthKey, Told,
};
use crate::{
    compare::{
        Certificate, Fitted, Study,
        fitted::FitRequest,
        strength::{Grid, Units},
        trainer::Trainer,
    },
    data::Task,
    error::{Error, Result},
    method::{
        MixedRounds, Wire,
        mixed::{FrontSizes, MixedKeys, MixedMessage, MixedShape},
        tuned::tree_height,
    },
    mixed::{Family, Likelihood, MixedEstimate, Pooling, Precision},
    model::LocalModel,
    network::Network,
    uncertainty::{CovarianceChoice, Posterior},
};

/// Coefficients that differ from node to node by as much as the training rows say, more alike along edges.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Mixed {
    /// The features whose coefficient is the same at every node; "intercept" is the level. Features that are equal
    /// in all rows of every node are shared in any case.
    pub shared: Vec<String>,
    /// The features whose coefficient is each node's own, drawn neither to the mean nor to neighbours; "intercept"
    /// is the level. A node whose rows do not determine it has the mean of the others.
    pub free: Vec<String>,
    /// The variances over nodes that are given, by feature, in the squared units of its coefficient; that of
    /// "intercept" is the one of the level where all features are at their means. Zero is as good as `shared`; all
    /// others are estimated.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub variances: BTreeMap<String, f64>,
    /// Whether a node's coefficients deviate together. "auto" decides by the likelihood where no edge joins
    /// nodes, and takes "no" along a network.
    pub correlated: Correlated,
    /// What the variances maximise.
    pub likelihood: Likelihood,
    /// What chooses ρ: the likelihood of the training rows, or the error on validation rows.
    pub choose: Choose,
    /// The seed of what is drawn between sites.
    #[serde(skip)]
    pub seed: u64,
}

/// Whether a node's coefficients deviate together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Correlated {
    /// As the likelihood says, less two for every number that it takes.
    #[default]
    Auto,
    /// With covariances.
    Yes,
    /// One variance for each coefficient.
    No,
}

/// What chooses ρ.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Choose {
    /// The likelihood of the training rows.
    #[default]
    Likelihood,
    /// The error on validation rows.
    Validation,
}

/// Nodes with rows for every variance and covariance at least: with fewer, covariances are mostly noise.
const NODES_PER_COVARIANCE: usize = 5;
/// The ρ that validation rows choose from: even steps of log(1 − ρ) beyond one half.
const RHOS: [f64; 10] = [0.9999, 0.999, 0.997, 0.99, 0.97, 0.9, 0.7, 0.5, 0.25, 0.0];

impl Mixed {
    /// Which coefficients differ from node to node, with the variances that are given in units that `variance`
    /// makes of those of the table.
    fn pooling(&self, variance: &dyn Fn(&str, f64) -> f64) -> Pooling {
        let one = |(name, given): (&String, &f64)| (name.clone(), variance(name, *given));
        Pooling {
            shared: self.shared.clone(),
            free: self.free.clone(),
            variances: self.variances.iter().map(one).collect(),
        }
    }

    /// The model with and without covariances, where there is a choice, and the one that is taken.
    fn estimate(
        &self,
        (rows, kept): (&MixedRows, &KeptEstimates),
        precision: &Precision,
        rho: Option<f64>,
    ) -> Result<Estimated> {
        let fit = |correlated: bool| {
            let ask = Ask { precision, rho, correlated };
            let found = rows.fit(ask, kept)?;
            let starts = rows.start_of(ask, &found).into_iter().collect();
            Ok(Estimated { found, choice: None, starts })
        };
        match self.correlated {
            Correlated::Yes => fit(true),
            Correlated::No => fit(false),
            Correlated::Auto => {
                let plain = fit(false)?;
                if precision.has_edges() {
                    return Ok(plain);
                }
                let full = with_covariances((rows, kept), plain.found, precision)?;
                Ok(Estimated { starts: [plain.starts, full.starts].concat(), ..full })
            }
        }
    }
}

/// A model that was estimated.
struct Estimated {
    found: MixedEstimate,
    /// Whether it has covariances, where that was chosen.
    choice: Option<CovarianceChoice>,
    /// Where models were found on the way.
    starts: Vec<MixedStart>,
}

/// The same model with covariances, if the likelihood says so; both are told.
fn with_covariances(
    (rows, kept): (&MixedRows, &KeptEstimates),
    plain: MixedEstimate,
    precision: &Precision,
) -> Result<Estimated> {
    let sought = rows.random.sought();
    let covariances = sought * sought.saturating_sub(1) / 2;
    let is_worth = NODES_PER_COVARIANCE * (sought + covariances) <= rows.with_rows;
    if covariances == 0 || !is_worth {
        return Ok(Estimated { found: plain, choice: None, starts: Vec::new() });
    }
    let ask = Ask { precision, rho: Some(0.0), correlated: true };
    let full = rows.fit(ask, kept)?;
    let starts = rows.start_of(ask, &full).into_iter().collect();
    let price = 2.0 * covariances as f64;
    let choice = CovarianceChoice {
        without: rows.deviance(plain.deviance),
        with: rows.deviance(full.deviance),
        covariances,
        price,
        taken: full.deviance + price < plain.deviance,
    };
    let found = if choice.taken { full } else { plain };
    Ok(Estimated { found, choice: Some(choice), starts })
}

/// What labels are, if their errors are not normal.
fn family(study: &Study) -> Option<Family> {
    match study.task() {
        Task::Classification { classes } => Some(Family::Classes(classes)),
        Task::Regression if study.models.iter().all(|model| model.is_of_counts()) => {
            Some(Family::Counts)
        }
        Task::Regression => None,
    }
}

impl Contender for Mixed {
    fn about(&self) -> &'static str {
        "mixed model along the network"
    }

    fn strength_key(&self) -> Option<StrengthKey> {
        Some(StrengthKey {
            name: "rho",
            about: "How much nodes resemble their neighbours: zero not at all, one as much as can be.",
            expected: "zero or more and below one",
            fits: |rho| rho < 1.0,
        })
    }

    fn facts(&self) -> Facts {
        Facts {
            tunes_ridge: false,
            // It trains from the rows themselves, in which features are as they are.
            knows_lengths_only: true,
            is_led: true,
            without: &["rounds", "tolerance", "order"],
            ..Facts::default()
        }
    }

    fn estimates_strength(&self) -> bool {
        self.choose == Choose::Likelihood
    }

    fn told(&self) -> Option<Told> {
        Some(Told::Moments)
    }

    fn grid(&self, _: &Units) -> Result<Grid> {
        Ok(match self.choose {
            Choose::Likelihood => Grid::Fixed(0.0),
            Choose::Validation => Grid::listed(&RHOS),
        })
    }

    fn fit(&self, trainer: &Trainer, request: FitRequest) -> Result<Fitted> {
        let rows = trainer.raw_rows();
        let names = rows[0].features().names().clone();
        let (family, scales) = (family(trainer.study), trainer.study.scales.as_ref());
        let rho = (!request.is_estimated).then_some(request.strength);
        let precision = &Precision::along(request.network);
        let mixed = MixedRows::new(self, &rows, family, scales)?;
        let kept = &trainer.study.settings.kept;
        let found = self.estimate((&mixed, kept), precision, rho);
        let Estimated { found: estimate, choice, starts } = match found {
            Ok(found) => found,
            // Too little to estimate from: what all nodes have in common is left.
            Err(Error::Fit { reason, .. }) => {
                let mut fitted = Fitted::exact(trainer.anchor()?.iter().cloned().collect());
                fitted.certificate.converged = false;
                fitted.certificate.reason = Some(format!(
                    "a mixed model cannot be fitted: {reason}; the pooled model is used"
                ));
                return Ok(fitted);
            }
            Err(error) => return Err(error),
        };
        let hypotheses = estimate
            .coefficients
            .chunks_exact(mixed.size())
            .map(|own| mixed.design.hypothesis(&names, family, own))
            .collect();
        let common =
            mixed.design.hypothesis(&names, family, &estimate.mean_coefficients(mixed.size()));
        let posterior = Posterior::new(&mixed.design, (&estimate, &mixed.random), family, &rows);
        Ok(Fitted {
            certificate: Certificate {
                kind: "maximum of the likelihood".into(),
                value: 0.0,
                converged: estimate.converged,
                reason: None,
            },
            engine: "maximum likelihood".into(),
            common: Some(common),
            strength: Some(estimate.rho),
            starts,
            posterior: Some(Posterior {
                deviance: mixed.deviance(estimate.deviance),
                covariances: choice,
                ..posterior
            }),
            ..Fitted::exact(hypotheses)
        })
    }

    fn check(&self) -> Result<(), String> {
        for (name, variance) in &self.variances {
            if !(*variance >= 0.0 && variance.is_finite()) {
                let expected = "expected zero or a positive number";
                return Err(format!("method.variances.{name} is {variance}, {expected}"));
            }
        }
        let given: Vec<String> = self.variances.keys().cloned().collect();
        let lists = [("shared", &self.shared), ("free", &self.free), ("variances", &given)];
        for (place, (key, names)) in lists.iter().enumerate() {
            for (other, others) in &lists[..place] {
                if let Some(name) = names.iter().find(|name| others.contains(name)) {
                    return Err(format!(
                        "method.{key} and method.{other} both name '{name}', expected it in one of them"
                    ));
                }
            }
        }
        Ok(())
    }

    fn check_models(&self, models: &ModelsInUse) -> Result<(), String> {
        let pooling = self.pooling(&|_, variance| variance);
        pooling.check_names(models.features).map_err(|error| error.to_string())
    }

    fn bind(&mut self, bound: &Bound) {
        self.seed = bound.seed;
    }

    fn at_sites(&self) -> Option<&dyn AtSites> {
        Some(self)
    }
}

impl AtSites for Mixed {
    fn federated(&self, strength: Option<f64>, place: Place) -> Result<Federated> {
        let unit = |name: &str| place.scales.map_or(1.0, |scales| scales.coefficient_unit(name));
        let Pooling { shared, free, variances } =
            self.pooling(&|name, variance| variance / unit(name).powi(2));
        let (likelihood, seed, rho) = (self.likelihood, self.seed, strength);
        let keys = MixedKeys { shared, free, variances, likelihood, rho, seed };
        Ok(Federated::Mixed(MixedRounds::new(place.network, keys)?))
    }

    fn asking(&self, network: &Network, shape: &DataShape) -> Option<Asking> {
        let is_exact =
            FrontSizes::along(network)?.are_eliminated(columns(shape.task, shape.features));
        let height = tree_height(network)? as u64;
        Some(if is_exact { Asking::Rounds(4 * height) } else { Asking::Series })
    }

    fn largest_message(&self, sizes: &MessageSizes) -> usize {
        let columns = columns(sizes.task, sizes.names.len());
        MixedMessage::most_bytes(&MixedShape::new(columns, &sizes.fronts, sizes.edge))
    }

    fn check_keys(&self) -> Result<(), [String; 3]> {
        if self.correlated == Correlated::Yes {
            return Err(["method.correlated".into(), "\"yes\"".into(), "\"no\"".into()]);
        }
        Ok(())
    }

    fn check_models(&self, task: Task, models: &[Arc<dyn LocalModel>]) -> Result<(), String> {
        let counts = models.iter().filter(|model| model.is_of_counts()).count();
        if task != Task::Regression || counts == 0 || counts == models.len() {
            return Ok(());
        }
        Err("method.kind is \"mixed\", which predicts either numbers or counts in a federation, and some models \
             are of counts; expected the same kind of model at every node"
            .into())
    }
}

/// The coefficients of a node.
fn columns(task: Task, features: usize) -> usize {
    let outputs = match task {
        Task::Classification { classes } => Family::Classes(classes).outputs(),
        Task::Regression => 1,
    };
    outputs * (1 + features)
}
