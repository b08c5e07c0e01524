//! Mixed models in a comparison: along the network, or without one as the rival of every verdict.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Contender, Facts, StrengthKey};
use crate::{
    compare::{
        Certificate, Fitted, Study,
        fitted::FitRequest,
        strength::{Grid, Units},
        trainer::Trainer,
    },
    data::{Dataset, Task},
    error::{Error, Result},
    mixed::{
        Design, Family, LaplaceModel, Likelihood, MixedEstimate, MixedModel, NodeMoments, NodeRows,
        Precision,
    },
    model::{Hypothesis, LinearHypothesis, LogisticHypothesis, PoissonHypothesis},
    network::Network,
};

/// Coefficients that differ from node to node by as much as the training rows say, more alike along edges.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Mixed {
    /// The features whose coefficient is the same at every node; "intercept" is the level.
    pub shared: Vec<String>,
    /// Whether a node's coefficients deviate together. "auto" decides by the likelihood where no edge joins
    /// nodes, and takes "no" along a network.
    pub correlated: Correlated,
    /// What the variances maximise.
    pub likelihood: Likelihood,
    /// What chooses ρ: the likelihood of the training rows, or the error on validation rows.
    pub choose: Choose,
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

/// The name of the level among features.
const INTERCEPT: &str = "intercept";
/// Nodes with rows for every variance and covariance at least: with fewer, covariances are mostly noise.
const NODES_PER_COVARIANCE: usize = 5;
/// The ρ that validation rows choose from: even steps of log(1 − ρ) beyond one half.
const RHOS: [f64; 10] = [0.9999, 0.999, 0.997, 0.99, 0.97, 0.9, 0.7, 0.5, 0.25, 0.0];

impl Mixed {
    /// The columns that deviate from node to node.
    fn random(&self, design: &Design, names: &[String]) -> Result<Vec<usize>> {
        let is_known = |shared: &&String| *shared == INTERCEPT || names.contains(*shared);
        if let Some(name) = self.shared.iter().find(|shared| !is_known(shared)) {
            return Err(Error::UnknownFeature { key: "method.shared", name: name.clone() });
        }
        let is_shared = |name: &str| self.shared.iter().any(|shared| shared == name);
        let level = (!is_shared(INTERCEPT)).then_some(0);
        let features = names.iter().enumerate().filter(|(_, name)| !is_shared(name));
        Ok(level.into_iter().chain(features.filter_map(|(k, _)| design.column_of(k))).collect())
    }

    /// Estimates the model with and without covariances, where there is a choice.
    fn estimate(
        &self,
        random: usize,
        (with_rows, has_edges): (usize, bool),
        fit: impl Fn(bool) -> Result<MixedEstimate>,
    ) -> Result<MixedEstimate> {
        let covariances = random * random.saturating_sub(1) / 2;
        match self.correlated {
            Correlated::Yes => fit(true),
            Correlated::No => fit(false),
            Correlated::Auto => {
                let plain = fit(false)?;
                let is_worth = NODES_PER_COVARIANCE * (random + covariances) <= with_rows;
                if has_edges || covariances == 0 || !is_worth {
                    return Ok(plain);
                }
                let full = fit(true)?;
                let price = 2.0 * covariances as f64;
                let is_better = full.deviance + price < plain.deviance;
                Ok(if is_better { full } else { plain })
            }
        }
    }

    /// The estimate for the rows of all nodes, with its columns.
    fn fitted(
        &self,
        rows: &[Dataset],
        family: Option<Family>,
        (network, rho): (&Network, Option<f64>),
    ) -> Result<(Design, MixedEstimate)> {
        let design = Design::new(rows, family.is_none())?;
        let (columns, precision) = (design.columns(), &Precision::along(network));
        let random = &self.random(&design, rows[0].features().names())?;
        let with_rows = rows.iter().filter(|data| data.rows() > 0).count();
        let choice = (with_rows, precision.has_edges());
        let estimate = if let Some(family) = family {
            let outputs = family.outputs();
            let nodes: Vec<NodeRows> = rows.iter().map(|data| design.rows(data, family)).collect();
            let nodes = &nodes[..];
            let each = |output: usize| random.iter().map(move |k| output * columns + k);
            let random: &[usize] = &(0..outputs).flat_map(each).collect::<Vec<_>>();
            let each = |output: usize| design.fixed().iter().map(move |k| output * columns + k);
            let fixed: &[usize] = &(0..outputs).flat_map(each).collect::<Vec<_>>();
            let columns = columns * outputs;
            self.estimate(random.len(), choice, |correlated| {
                LaplaceModel { nodes, columns, fixed, random, correlated, precision, rho }.fit()
            })?
        } else {
            let nodes: Vec<NodeMoments> = rows.iter().map(|data| design.moments(data)).collect();
            let (nodes, likelihood, factor) = (&nodes[..], self.likelihood, None);
            self.estimate(random.len(), choice, |correlated| {
                let model = MixedModel {
                    nodes,
                    columns,
                    fixed: design.fixed(),
                    random,
                    correlated,
                    likelihood,
                    precision,
                    rho,
                    factor,
                };
                model.fit()
            })?
        };
        Ok((design, estimate))
    }
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

/// The model of a node with these coefficients.
fn hypothesis(
    design: &Design,
    names: &Arc<[String]>,
    family: Option<Family>,
    own: &[f64],
) -> Arc<dyn Hypothesis> {
    let linear = |own: &[f64]| {
        let mut slopes = design.to_raw(own);
        let intercept = slopes.pop().unwrap_or_default();
        LinearHypothesis { names: names.clone(), slopes, intercept }
    };
    match family {
        None => Arc::new(linear(own)),
        Some(Family::Counts) => Arc::new(PoissonHypothesis(linear(own))),
        Some(Family::Classes(classes)) => {
            let outputs: Vec<LinearHypothesis> =
                own.chunks_exact(design.columns()).map(linear).collect();
            // Of two classes only the second has weights; of more the first has zeros.
            let first = (classes > 2).then(|| linear(&vec![0.0; design.columns()]));
            let all = || first.iter().chain(&outputs);
            Arc::new(LogisticHypothesis {
                names: names.clone(),
                classes,
                slopes: all().map(|linear| linear.slopes.clone()).collect(),
                intercepts: all().map(|linear| linear.intercept).collect(),
            })
        }
    }
}

impl Contender for Mixed {
    fn about(&self) -> &'static str {
        "coefficients of estimated spread"
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
        Facts { tunes_ridge: false, without: &["rounds", "tolerance", "order"], ..Facts::default() }
    }

    fn estimates_strength(&self) -> bool {
        self.choose == Choose::Likelihood
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
        let family = family(trainer.study);
        let rho = (!request.is_estimated).then_some(request.strength);
        let (design, estimate) = match self.fitted(&rows, family, (request.network, rho)) {
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
        let size = design.columns() * family.map_or(1, Family::outputs);
        let hypotheses = estimate
            .coefficients
            .chunks_exact(size)
            .map(|own| hypothesis(&design, &names, family, own))
            .collect();
        Ok(Fitted {
            certificate: Certificate {
                kind: "maximum of the likelihood".into(),
                value: 0.0,
                converged: estimate.converged,
                reason: None,
            },
            engine: "maximum likelihood".into(),
            strength: Some(estimate.rho),
            ..Fitted::exact(hypotheses)
        })
    }
}
