//! Training one contestant at one strength on given training rows.

use std::{
    ops::ControlFlow,
    sync::{Arc, OnceLock},
};

use serde::{Deserialize, Serialize};

use super::{
    Contestant, Strength, Study, Watch,
    nodes::{mean_of, weigh, with_ridge},
    undetermined,
};
use crate::{
    data::Dataset,
    error::Result,
    method::{FedRelax, Hypotheses, Local, Method, PartialHypotheses, Pooled, Shrunk},
    model::{Hypothesis, LocalModel, Stored},
    network::{Network, Node},
    observe::{Observer, Round, Validation},
    optimum::{Anchor, Limit, LinearNetwork},
    runtime::InProcess,
};

/// How close a run has come to where it was going.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Certificate {
    /// What was measured.
    pub kind: String,
    /// Its value; zero is perfect.
    pub value: f64,
    /// Whether the value is within the tolerance that was asked for.
    pub converged: bool,
}

/// What training has left.
#[derive(Debug, Clone)]
pub struct Fitted {
    /// The model of each node.
    pub hypotheses: Vec<Arc<dyn Hypothesis>>,
    /// The rounds; none if it was solved directly.
    pub rounds: Vec<Round>,
    /// The residuals on the way, by round or by product of the direct solver.
    pub residuals: Vec<f64>,
    /// How good the answer is.
    pub certificate: Certificate,
    /// Whether it was solved directly rather than in rounds.
    pub direct: bool,
    /// The nodes that had to damp what they heard.
    pub damped: Vec<usize>,
    /// What the next strength of a path may start from.
    pub(super) warm: Warm,
}

/// A start for the next strength.
#[derive(Debug, Clone, Default)]
pub(super) enum Warm {
    #[default]
    Cold,
    Weights(Vec<f64>),
    Hypotheses(PartialHypotheses),
}

/// How strongly nodes are pulled: α, and the weight of the pooled hub.
#[derive(Debug, Clone, Copy)]
struct Pull {
    alpha: f64,
    hub: f64,
}

/// How accurately to train.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effort {
    /// Well enough to tell strengths apart.
    Search,
    /// As well as asked.
    Final,
}

/// The training rows of all nodes at one ridge, ready for every contestant.
pub(super) struct Trainer<'a> {
    study: &'a Study,
    watch: &'a dyn Watch,
    nodes: Vec<Node>,
    linear: Option<LinearNetwork>,
    mean: Arc<dyn Hypothesis>,
    anchor: OnceLock<Result<Hypotheses>>,
}

impl<'a> Trainer<'a> {
    pub(super) fn new(
        study: &'a Study,
        watch: &'a dyn Watch,
        rows: &[Vec<usize>],
        ridge: Option<f64>,
    ) -> Result<Self> {
        let models = with_ridge(&study.models, ridge);
        let mut data = study.select(rows);
        weigh(&mut data, study.settings.weighting);
        let nodes: Vec<Node> = data
            .into_iter()
            .enumerate()
            .zip(models)
            .map(|((id, data), model)| Node { id, data, model, public: study.public[id].clone() })
            .collect();
        let settings = &study.settings;
        let linear = if settings.solves_directly() {
            LinearNetwork::new(&nodes, settings.is_symmetric(), settings.method.couple_intercept)?
        } else {
            None
        };
        let mean = Arc::new(mean_of(&nodes));
        Ok(Self { study, watch, nodes, linear, mean, anchor: OnceLock::new() })
    }

    /// Trains a contestant at a strength.
    pub(super) fn train(
        &self,
        contestant: Contestant,
        network: &Network,
        alpha: f64,
        warm: Warm,
        effort: Effort,
    ) -> Result<Fitted> {
        match contestant {
            Contestant::Local => self.local(),
            Contestant::Pooled => Ok(exact(Pooled.fit(&self.nodes)?)),
            Contestant::Shrunk => self.shrunk(alpha, effort),
            Contestant::Network | Contestant::Shuffled(_) => {
                self.relaxed(network, alpha, warm, effort)
            }
        }
    }

    /// Every node alone. A node without rows predicts the mean of all training labels, a shared
    /// statistic: there is no honest local model to compare with.
    fn local(&self) -> Result<Fitted> {
        let views =
            Network::new(self.study.network.names().to_vec(), [])?.views(self.nodes.clone())?;
        let run = InProcess::default().run(&Local, views)?;
        let filled = run.hypotheses.into_iter().map(|h| h.unwrap_or_else(|| self.mean.clone()));
        Ok(exact(filled.collect()))
    }

    /// The pooled models that nodes may be pulled to, or fall back to. They have rows enough, so
    /// their ridge is what the models say, whatever is tried at single nodes.
    fn anchor(&self) -> Result<Hypotheses> {
        let fit = || {
            let own = |(node, model): (&Node, &Arc<dyn LocalModel>)| Node {
                model: model.clone(),
                ..node.clone()
            };
            let nodes: Vec<Node> = self.nodes.iter().zip(&self.study.models).map(own).collect();
            Pooled.fit(&nodes).map(Into::into)
        };
        self.anchor.get_or_init(fit).clone()
    }

    fn shrunk(&self, alpha: f64, effort: Effort) -> Result<Fitted> {
        let lonely = Network::new(self.study.network.names().to_vec(), [])?;
        let pooled = self.anchor()?;
        if let (Some(linear), Stored::Linear(centre)) = (&self.linear, pooled[0].stored()) {
            let linear = linear.clone().with_centre(&centre);
            if let Some(fitted) =
                self.solved(&linear, &lonely, Pull { alpha, hub: 1.0 }, &Warm::Cold, effort)?
            {
                return Ok(fitted);
            }
        }
        let couple_intercept = self.study.settings.method.couple_intercept;
        self.rounds(&Shrunk { alpha, couple_intercept, pooled }, &lonely, 1.0, effort)
    }

    fn relaxed(&self, network: &Network, alpha: f64, warm: Warm, effort: Effort) -> Result<Fitted> {
        let settings = &self.study.settings;
        let hub = settings.method.hub;
        let pull = Pull { alpha, hub };
        if let Some(linear) = &self.linear
            && let Some(fitted) = self.solved(linear, network, pull, &warm, effort)?
        {
            return Ok(fitted);
        }
        let method = FedRelax {
            alpha,
            pooled: if hub > 0.0 { Some(self.anchor()?) } else { None },
            start: if let Warm::Hypotheses(start) = warm { Some(start) } else { None },
            ..settings.method.clone()
        };
        self.rounds(&method, network, hub, effort)
    }

    /// The direct solution; alpha = 0 is left to local training, which knows what to do with fewer
    /// rows than features.
    fn solved(
        &self,
        linear: &LinearNetwork,
        network: &Network,
        pull: Pull,
        warm: &Warm,
        effort: Effort,
    ) -> Result<Option<Fitted>> {
        let Pull { alpha, hub } = pull;
        if alpha == 0.0 {
            return Ok(None);
        }
        let anchor = if hub > 0.0 {
            match self.anchor()?[0].stored() {
                Stored::Linear(hypothesis) => Some(Anchor { weight: hub, hypothesis }),
                _ => return Ok(None),
            }
        } else {
            None
        };
        let tolerance = if effort == Effort::Search { 1e-4 } else { 1e-11 };
        let limit = Limit { tolerance, products: 20_000 };
        let start = match warm {
            Warm::Weights(start) => start.clone(),
            // Strong pulls come first, and their limit is near the pooled model.
            _ => match self.anchor()?[0].stored() {
                Stored::Linear(pooled) => linear.weights_of(&pooled).repeat(network.len()),
                _ => return Ok(None),
            },
        };
        let solution = linear.solve(network, alpha, anchor.as_ref(), start, limit)?;
        let mut hypotheses: Vec<Option<Arc<dyn Hypothesis>>> =
            linear.hypotheses(&solution.weights).map(|h| Some(h.into())).collect();
        self.replace_lonely(network, hub, &mut hypotheses)?;
        Ok(Some(Fitted {
            rounds: Vec::new(),
            residuals: solution.history,
            certificate: Certificate {
                kind: "relative residual of the linear system".into(),
                value: solution.residual,
                // Rounding in products of size α limits what can be reached.
                converged: solution.residual <= (10.0 * tolerance).max(1e-14 * alpha),
            },
            direct: true,
            damped: Vec::new(),
            hypotheses: self.filled(network, hub, hypotheses)?,
            warm: Warm::Weights(solution.weights),
        }))
    }

    /// A node without neighbours is trained alone, exactly as local training does it.
    fn replace_lonely(
        &self,
        network: &Network,
        hub: f64,
        hypotheses: &mut [Option<Arc<dyn Hypothesis>>],
    ) -> Result<()> {
        for node in self.nodes.iter().filter(|node| network.neighbours(node.id).is_empty()) {
            if hub == 0.0 && node.data.total_weight() > 0.0 {
                hypotheses[node.id] = Some(node.model.fit(&node.data)?.into());
            }
        }
        Ok(())
    }

    /// Nodes that nothing determines get the pooled model.
    fn filled(
        &self,
        network: &Network,
        hub: f64,
        mut hypotheses: Vec<Option<Arc<dyn Hypothesis>>>,
    ) -> Result<Vec<Arc<dyn Hypothesis>>> {
        if hub == 0.0 {
            for node in undetermined(network, |node| self.nodes[node].data.total_weight() > 0.0) {
                hypotheses[node] = None;
            }
        }
        if hypotheses.iter().all(Option::is_some) {
            return Ok(hypotheses.into_iter().flatten().collect());
        }
        let pooled = self.anchor()?;
        let filled = hypotheses.into_iter().zip(pooled.iter());
        Ok(filled.map(|(own, pooled)| own.unwrap_or_else(|| pooled.clone())).collect())
    }

    fn rounds<M: Method>(
        &self,
        method: &M,
        network: &Network,
        hub: f64,
        effort: Effort,
    ) -> Result<Fitted> {
        let mut runtime = self.study.settings.runtime;
        if effort == Effort::Search {
            runtime.stop.tolerance = runtime.stop.tolerance.max(1e-4);
            runtime.stop.rounds = runtime.stop.rounds.min(50);
        }
        let views = network.views(self.nodes.clone())?;
        let validation = match (effort, self.study.plan.folds.as_slice()) {
            (Effort::Final, [fold]) => self.study.select(&fold.validation),
            _ => Vec::new(),
        };
        let mut observer = Patience { watch: self.watch, validation: Validation::new(&validation) };
        let run = runtime.observed(method, views, &mut observer)?;
        let last = run.history.last().map_or(0.0, |round| round.residual);
        Ok(Fitted {
            certificate: Certificate {
                kind: "fixed-point residual".into(),
                value: last,
                converged: run.converged,
            },
            warm: Warm::Hypotheses(run.hypotheses.clone().into()),
            hypotheses: self.filled(network, hub, run.hypotheses)?,
            residuals: run.history.iter().map(|round| round.residual).collect(),
            rounds: run.history,
            direct: false,
            damped: run.damped,
        })
    }
}

/// Measures on validation rows and stops a run when its study is interrupted.
struct Patience<'a> {
    watch: &'a dyn Watch,
    validation: Validation<'a>,
}

impl Observer for Patience<'_> {
    fn round(
        &mut self,
        record: &mut Round,
        hypotheses: &[Option<Arc<dyn Hypothesis>>],
    ) -> ControlFlow<()> {
        if self.watch.interrupted() {
            return ControlFlow::Break(());
        }
        self.validation.round(record, hypotheses)
    }
}

/// A result without iterations.
fn exact(hypotheses: Vec<Arc<dyn Hypothesis>>) -> Fitted {
    Fitted {
        hypotheses,
        rounds: Vec::new(),
        residuals: Vec::new(),
        certificate: Certificate { kind: "exact".into(), value: 0.0, converged: true },
        direct: true,
        damped: Vec::new(),
        warm: Warm::Cold,
    }
}

impl Study {
    /// The given rows of each node.
    fn select(&self, rows: &[Vec<usize>]) -> Vec<Dataset> {
        self.rows.iter().zip(rows).map(|(all, rows)| all.select(rows)).collect()
    }

    /// Fits the network at a given strength to the final training rows.
    pub fn fit(&self, strength: Strength, watch: &dyn Watch) -> Result<Fitted> {
        self.fit_contestant(Contestant::Network, strength, watch)
    }

    pub(super) fn fit_contestant(
        &self,
        contestant: Contestant,
        strength: Strength,
        watch: &dyn Watch,
    ) -> Result<Fitted> {
        let trainer = Trainer::new(self, watch, &self.plan.train, strength.ridge)?;
        let network = self.network_of(contestant);
        trainer.train(contestant, &network, strength.alpha, Warm::Cold, Effort::Final)
    }
}
