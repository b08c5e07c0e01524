//! Methods that a network may be compared with, each with one strength that is chosen on validation
//! rows as the pull of the network is.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{
    Approach, Certificate, Fitted, Settings, Study,
    fitted::{Effort, Pulled, Warm},
    trainer::Trainer,
    tuning::Grid,
};
use crate::{
    error::{Error, Result},
    method::{
        Apfl, ClusteredFl, Ditto, FedAvg, FedMd, FedProx, FineTuned, Gossip, Ifca, Method,
        UpdateOrder, around_hub, common_step,
    },
    model::Hypothesis,
    network::{Network, View},
    observe::Stop,
    runtime::Run,
};

/// Iteration limit and tolerance of a baseline that is shown beside another method; one that is the
/// study's own method uses the study's. The result of some methods depends on when they stop, so a
/// strength is used exactly as it was tried.
const ITERATIONS: usize = 100;
const TOLERANCE: f64 = 1e-4;

/// A method that everyone asks to be compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Baseline {
    /// One model, averaged at a hub; its strength is a factor of the step size.
    Fedavg,
    /// The same with a proximal term of this weight μ.
    Fedprox,
    /// A model of each node, pulled by this λ to the averaged one.
    Ditto,
    /// A mixture with this share of a node's own model.
    Apfl,
    /// This many models at the hub, of which each node trains the best.
    Ifca,
    /// Clusters split in two where their mean step is below this share of the largest.
    Clustered,
    /// The averaged model after this many steps of each node alone.
    FineTuned,
    /// Averaging with neighbours; its strength is a factor of the step size.
    Gossip,
    /// Every node pulled by this α to the mean prediction on public points.
    Fedmd,
}

impl Baseline {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Fedavg,
        Self::Fedprox,
        Self::Ditto,
        Self::Apfl,
        Self::Ifca,
        Self::Clustered,
        Self::FineTuned,
        Self::Gossip,
        Self::Fedmd,
    ];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Fedavg => "fedavg",
            Self::Fedprox => "fedprox",
            Self::Ditto => "ditto",
            Self::Apfl => "apfl",
            Self::Ifca => "ifca",
            Self::Clustered => "clustered",
            Self::FineTuned => "fine-tuned",
            Self::Gossip => "gossip",
            Self::Fedmd => "fedmd",
        }
    }

    /// What it does, in at most 31 letters.
    #[must_use]
    pub fn about(self) -> &'static str {
        match self {
            Self::Fedavg => "one model, averaged at a hub",
            Self::Fedprox => "averaged, steps held near it",
            Self::Ditto => "own model, pulled to averaged",
            Self::Apfl => "mixture of own and averaged",
            Self::Ifca => "α averaged models, choose one",
            Self::Clustered => "averaged in clusters, by splits",
            Self::FineTuned => "averaged, then α steps alone",
            Self::Gossip => "averaged with its neighbours",
            Self::Fedmd => "pulled to the mean prediction",
        }
    }

    /// Whether models must have weights.
    #[must_use]
    pub fn needs_weights(self) -> bool {
        self != Self::Fedmd
    }

    /// Whether it knows who is whose neighbour.
    #[must_use]
    pub fn uses_network(self) -> bool {
        self == Self::Gossip
    }

    /// Refuses a strength that makes no sense.
    pub fn check_strength(self, alpha: f64) -> Result<()> {
        let whole = alpha.fract() == 0.0;
        let (fits, expected) = match self {
            Self::Fedavg | Self::Gossip => (alpha > 0.0, "a positive factor of the step size"),
            Self::Apfl => (alpha <= 1.0, "a share from zero to one"),
            Self::Ifca => (alpha >= 1.0 && whole, "a number of clusters, one or more"),
            Self::FineTuned => (whole, "a whole number of steps, zero or more"),
            _ => (true, "zero or more"),
        };
        let (name, value) = ("alpha", alpha);
        if fits && alpha >= 0.0 { Ok(()) } else { Err(Error::Parameter { name, value, expected }) }
    }

    /// The strengths that are tried, the simpler model first.
    pub(super) fn grid(self, study: &Study, variance: f64) -> Grid {
        let with_rows = study.plan.train.iter().filter(|rows| !rows.is_empty()).count();
        let listed = |list: &[f64]| Grid::Listed(list.to_vec());
        match self {
            Self::Fedavg => listed(&[1.0, 0.3, 0.1]),
            // A pull of one on weights counts as much as one on predictions.
            Self::Fedprox | Self::Ditto => Grid::Decades(2.0 * variance),
            Self::Apfl => listed(&[0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0]),
            Self::Ifca => {
                let counts = [1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0];
                Grid::Listed(counts.into_iter().filter(|k| *k <= with_rows as f64).collect())
            }
            Self::Clustered => listed(&[0.0, 0.05, 0.1, 0.2, 0.4, 0.8]),
            Self::FineTuned => listed(&[0.0, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0]),
            Self::Gossip => listed(&[0.01, 0.03, 0.1, 0.3, 1.0]),
            Self::Fedmd => Grid::Decades(1.0),
        }
    }
}

impl Trainer<'_> {
    /// Trains a baseline at a strength.
    pub(super) fn baseline(&self, baseline: Baseline, pulled: Pulled) -> Result<Fitted> {
        let Pulled { network, alpha, warm, effort } = pulled;
        baseline.check_strength(alpha)?;
        // Where the end depends on the start, every strength starts anew.
        let start = match (baseline, warm) {
            (Baseline::Ditto | Baseline::FineTuned, Warm::Common(start)) => Some(start),
            _ => None,
        };
        let fedavg = self.fedavg(start);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is whole")]
        let count = alpha as usize;
        match baseline {
            Baseline::Fedavg => {
                let pace = alpha * fedavg.pace;
                self.hubbed(&FedAvg { pace, ..fedavg }, effort)
            }
            Baseline::Fedprox => self.hubbed(&FedProx { fedavg, pull: alpha }, effort),
            Baseline::Ditto => self.hubbed(&Ditto { fedavg, pull: alpha }, effort),
            Baseline::Apfl => {
                // That the common model rests says nothing of the nodes' own.
                let fedavg = FedAvg { tolerance: 0.0, ..fedavg };
                self.hubbed(&Apfl { fedavg, mixture: alpha }, effort)
            }
            Baseline::FineTuned => self.hubbed(&FineTuned { fedavg, steps: count }, effort),
            Baseline::Ifca => {
                let restarts = self.study.settings.restarts;
                let ifca = Ifca { fedavg, clusters: count, restarts, ..Ifca::default() };
                self.hubbed(&ifca, effort)
            }
            Baseline::Clustered => {
                let gap = ClusteredFl::default().gap;
                self.hubbed(&ClusteredFl { fedavg, rest: alpha, gap }, effort)
            }
            Baseline::Gossip => self.gossiped(alpha, network, effort),
            Baseline::Fedmd => self.distilled(alpha, effort),
        }
    }

    fn fedavg(&self, start: Option<Arc<[f64]>>) -> FedAvg {
        let settings = &self.study.settings;
        let Stop { tolerance, rounds: iterations } = self.patience(ITERATIONS, TOLERANCE);
        let base = FedAvg { start, seed: settings.seed, ..settings.fedavg.clone() };
        FedAvg { iterations, tolerance, ..base }
    }

    /// When a baseline stops.
    fn patience(&self, rounds: usize, tolerance: f64) -> Stop {
        let Settings { runtime, method, .. } = &self.study.settings;
        let stop = runtime.stop;
        match method {
            Approach::Baseline(_) => stop,
            _ => Stop { rounds: stop.rounds.min(rounds), tolerance: stop.tolerance.max(tolerance) },
        }
    }

    /// A method that averages weights at a hub, to its end.
    fn hubbed<M: Method>(&self, method: &M, effort: Effort) -> Result<Fitted> {
        // The hub counts its iterations and says when it is done.
        let iterations = self.fedavg(None).iterations;
        let stop = Stop { tolerance: 0.0, rounds: 2 * iterations + 3 };
        let mut run = self.played(method, around_hub(self.nodes().to_vec())?, stop, effort)?;
        let hub = run.hypotheses.pop().flatten();
        let model = self.nodes()[0].model.as_parametric();
        let common = hub.zip(model).and_then(|(hub, model)| model.weights(hub.as_ref()));
        let warm = common.map_or(Warm::Cold, |weights| Warm::Common(weights.into()));
        // In the last round nothing is left to say.
        run.history.pop();
        self.through_hub(run, warm)
    }

    fn distilled(&self, alpha: f64, effort: Effort) -> Result<Fitted> {
        let mut stop = self.study.settings.runtime.stop;
        if effort == Effort::Search {
            stop = Stop { tolerance: stop.tolerance.max(1e-3), rounds: stop.rounds.min(40) };
        }
        let views = around_hub(self.nodes().to_vec())?;
        let mut run = self.played(&FedMd { alpha }, views, stop, effort)?;
        run.hypotheses.pop();
        self.through_hub(run, Warm::Cold)
    }

    fn through_hub(&self, run: Run, warm: Warm) -> Result<Fitted> {
        let network = self.without_edges()?;
        let fitted = self.ended(run, &network, 1.0)?;
        Ok(Fitted { engine: "rounds of messages through a hub".into(), warm, ..fitted })
    }

    fn gossiped(&self, pace: f64, network: &Network, effort: Effort) -> Result<Fitted> {
        let step = pace * common_step(self.nodes())?;
        let method = Gossip { step, order: UpdateOrder::CombineThenAdapt, start: None };
        let stop = self.patience(2 * ITERATIONS, 0.1 * TOLERANCE);
        let views: Vec<View> = network.views(self.nodes().to_vec())?;
        let run = self.played(&method, views, stop, effort)?;
        self.ended(run, network, 0.0)
    }

    /// What is left of a run of messages.
    pub(super) fn ended(&self, run: Run, network: &Network, hub: f64) -> Result<Fitted> {
        let last = run.history.last();
        let gap = last.and_then(|round| Some((round.gap?, round.objective)));
        let (kind, value) = match gap {
            Some((gap, objective)) if gap.is_finite() => {
                ("certified relative gap", gap / objective.abs().max(f64::MIN_POSITIVE))
            }
            _ => ("fixed-point residual", last.map_or(0.0, |round| round.residual)),
        };
        let hypotheses: Vec<Option<Arc<dyn Hypothesis>>> = run.hypotheses;
        Ok(Fitted {
            certificate: Certificate {
                kind: kind.into(),
                value,
                converged: run.converged,
                reason: None,
            },
            warm: Warm::Hypotheses(hypotheses.clone().into()),
            residuals: run.history.iter().map(|round| round.residual).collect(),
            rounds: run.history,
            direct: false,
            engine: "rounds of messages".into(),
            damped: run.damped,
            ..Fitted::exact(self.filled(network, hub, hypotheses)?)
        })
    }
}
