//! PersFL in a comparison: every node probes those it is joined to and keeps the step that helps it most.
//! The strength that is tuned is the step η; none is local training.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Bound, Contender, Facts, Federated, MessageSizes, ModelsInUse, StrengthKey};
use crate::{
    compare::{
        Certificate, Fitted, Study,
        fitted::{Effort, FitRequest},
        strength::{Grid, Units},
        trainer::Trainer,
    },
    data::Plan,
    error::Result,
    method::{
        PersFl, Tally, Wire,
        persfl::{
            Adoption, Budget, CandidateChoice, LinearPool, Online, PersFlMessage, Probe,
            ProbeShape, RefitPool, Start, suitable_step,
        },
    },
    model::Hypothesis,
    network::{Network, Node, NodeId},
    network_learning::probing_model,
    observe::{Round, Stop},
    runtime::InProcess,
};

/// How many iterations tell steps apart where every probe is a refit, which takes long.
const REFIT_SEARCH_ITERATIONS: usize = 20;

/// How nodes probe each other; the iterations are method.rounds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct PersFlKeys {
    /// What is asked: the gradient of the loss, a proximal step (models of weights), or a refitted model (any
    /// kind).
    pub probe: Probe,
    /// How many neighbours are probed in an iteration.
    #[schemars(range(min = 1))]
    pub candidates: usize,
    /// Which ones: drawn evenly, mostly the best so far, the largest upper confidence bounds, or, as the
    /// papers' oracle, those of the node's own cluster.
    pub choice: WhichCandidates,
    /// For choice "oracle": the column of network.file that names each node's cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clusters: Option<String>,
    /// For choice "epsilon-greedy": the probability of drawing anyone.
    #[schemars(range(min = 0, max = 1))]
    pub epsilon: f64,
    /// For choice "ucb": the width of the bounds.
    #[schemars(range(min = 0))]
    pub width: f64,
    /// How many of the best steps are averaged; one takes the best alone.
    #[schemars(range(min = 1))]
    pub top: usize,
    /// Whether a step must have a positive reward to be taken; the papers always step.
    pub only_if_better: bool,
    /// Whether nodes start from weights of zero or from their own models; refits always start from their own.
    pub start: WhereToStart,
    /// The share of a node's rows that is held back for the reward.
    #[schemars(range(min = 0), extend("exclusiveMaximum" = 1))]
    pub held: f64,
    /// Whether a node may also draw itself and take the step of its own rows.
    pub own: bool,
    /// The nodes that learn, by name; by default all. The others only answer: they keep models of their own
    /// rows and are not scored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub targets: Option<Vec<String>>,
    /// Training rows that come one after the other, in the order of the table, instead of all at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub online: Option<OnlineKeys>,
    /// What the names above stand for.
    #[serde(skip)]
    bound: BoundKeys,
}

/// The nodes and clusters that keys name, and the seed.
#[derive(Debug, Clone, PartialEq, Default)]
struct BoundKeys {
    targets: Option<Arc<[NodeId]>>,
    clusters: Arc<[usize]>,
    seed: u64,
}

/// Rows that arrive: one in every iteration, in the order of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct OnlineKeys {
    /// With how many rows a node begins, and how many of the most recent ones count.
    #[schemars(range(min = 1))]
    pub batch: usize,
    /// How many rows must have come to a node before it asks again; zero never waits.
    pub enough: usize,
}

impl Default for OnlineKeys {
    fn default() -> Self {
        Self { batch: 10, enough: 0 }
    }
}

/// Which neighbours are probed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WhichCandidates {
    /// Drawn evenly.
    #[default]
    Uniform,
    /// The best so far, and now and then any.
    EpsilonGreedy,
    /// The largest upper confidence bounds.
    Ucb,
    /// Those of the node's own cluster, which must be told.
    Oracle,
}

/// Where nodes start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WhereToStart {
    /// At weights of zero.
    #[default]
    Zero,
    /// At their own models.
    Local,
}

impl Default for PersFlKeys {
    fn default() -> Self {
        Self {
            probe: Probe::Gradient,
            candidates: 20,
            choice: WhichCandidates::default(),
            clusters: None,
            epsilon: 0.1,
            width: 1.0,
            top: 1,
            only_if_better: false,
            start: WhereToStart::default(),
            held: 0.0,
            own: false,
            targets: None,
            online: None,
            bound: BoundKeys::default(),
        }
    }
}

impl PersFlKeys {
    /// The method that these keys stand for.
    #[must_use]
    pub fn method(&self, step: f64) -> PersFl {
        PersFl {
            probe: self.probe,
            step,
            candidates: self.candidates,
            choice: match self.choice {
                WhichCandidates::Uniform => CandidateChoice::Uniform,
                WhichCandidates::EpsilonGreedy => {
                    CandidateChoice::EpsilonGreedy { epsilon: self.epsilon }
                }
                WhichCandidates::Ucb => CandidateChoice::Ucb { width: self.width },
                WhichCandidates::Oracle => {
                    CandidateChoice::Oracle { clusters: self.bound.clusters.clone() }
                }
            },
            adoption: match self.top {
                1 => Adoption::Best,
                count => Adoption::Top { count, by_reward: true },
            },
            only_if_better: self.only_if_better,
            start: match self.start {
                WhereToStart::Zero => Start::Zero,
                WhereToStart::Local => Start::Local,
            },
            held: self.held,
            own: self.own,
            targets: self.bound.targets.clone(),
            online: self.online.map(|OnlineKeys { batch, enough }| Online {
                feed: None,
                batch,
                enough,
            }),
            seed: self.bound.seed,
            ..PersFl::default()
        }
    }

    /// What a step of one is worth: a tenth of one that suits the curvature of most losses; refits weigh
    /// rows against points and need no scale.
    fn unit(&self, study: &Study) -> f64 {
        if self.probe == Probe::Refit {
            return 1.0;
        }
        let data = study.select(&study.plan.train);
        let data: Vec<_> = data.into_iter().map(|data| data.with_total_weight(1.0)).collect();
        let Some((first, own)) = study.models.iter().zip(&data).find(|(_, data)| data.rows() > 0)
        else {
            return 1.0;
        };
        let public = study.public[0].clone();
        let node = Node { id: 0, data: own.clone(), model: first.clone(), public };
        let model = probing_model(&node);
        let Some(parametric) = model.as_parametric() else { return 1.0 };
        // The grid spans two decades on each side, of which the upper one must not diverge at every node.
        0.1 * suitable_step(parametric, &data, study.task())
    }
}

impl Contender for PersFlKeys {
    fn about(&self) -> &'static str {
        "steps that neighbours offer"
    }

    fn strength_key(&self) -> Option<StrengthKey> {
        Some(StrengthKey {
            name: "step",
            about: "The step of a probe; zero trains every node alone.",
            expected: "zero or more",
            fits: |_| true,
        })
    }

    fn facts(&self) -> Facts {
        Facts {
            uses_public: self.probe == Probe::Refit,
            asks_for_rounds: self.online.is_some(),
            is_blind_to_order: true,
            asks_and_answers: true,
            without: &["tolerance", "order"],
            ..Facts::default()
        }
    }

    fn grid(&self, units: &Units) -> Result<Grid> {
        if units.mean_degree == 0.0 {
            return Ok(Grid::Fixed(0.0));
        }
        Ok(Grid::Decades(self.unit(units.study)))
    }

    fn fit(&self, trainer: &Trainer, request: FitRequest) -> Result<Fitted> {
        if request.strength == 0.0 {
            return trainer.alone();
        }
        let rounds = trainer.study.settings.runtime.stop.rounds;
        let iterations = match (self.probe, request.effort) {
            (Probe::Refit, Effort::Search) => rounds.min(REFIT_SEARCH_ITERATIONS),
            _ => rounds,
        };
        let method = PersFl { seed: trainer.study.settings.seed, ..self.method(request.strength) };
        let mut probed = Probed::new(trainer, &method, request.network, iterations)?;
        trainer.fit_isolated(request.network, 0.0, &mut probed.hypotheses)?;
        Ok(Fitted {
            certificate: Certificate::of_iterations(),
            direct: probed.direct,
            engine: probed.engine.into(),
            tallies: probed.tallies,
            rounds: probed.rounds,
            ..Fitted::exact(trainer.fill_undetermined(request.network, 0.0, probed.hypotheses)?)
        })
    }

    fn bind(&mut self, bound: &Bound) {
        let Bound { names, clusters, seed, .. } = *bound;
        let named = |targets: &Vec<String>| {
            (0..names.len()).filter(|&node| targets.contains(&names[node])).collect()
        };
        self.bound = BoundKeys {
            targets: self.targets.as_ref().map(named),
            clusters: clusters.unwrap_or(&[]).into(),
            seed,
        };
    }

    fn check(&self) -> Result<(), String> {
        if self.targets.as_ref().is_some_and(Vec::is_empty) {
            let expected = "names of nodes; all learn without this key";
            return Err(format!("method.targets is empty, expected {expected}"));
        }
        // Rows that are held back and rows that train both need one.
        let least = if self.held > 0.0 { 2 } else { 1 };
        if let Some(OnlineKeys { batch, .. }) = self.online.filter(|online| online.batch < least) {
            let reason = if least == 2 { ", since method.held divides it" } else { "" };
            let found = format!("method.online.batch is {batch}");
            return Err(format!("{found}, expected at least {least}{reason}"));
        }
        match (self.choice == WhichCandidates::Oracle, &self.clusters) {
            (true, None) => {
                let found = "method.choice is \"oracle\", which is told the clusters";
                return Err(format!("{found}, expected method.clusters, a column of network.file"));
            }
            (false, Some(column)) => {
                let expected = "no such key without choice = \"oracle\"";
                return Err(format!("method.clusters is \"{column}\", expected {expected}"));
            }
            _ => {}
        }
        if self.probe == Probe::Refit && self.top > 1 {
            return Err("method.top averages weights; probe \"refit\" needs top = 1".into());
        }
        Ok(())
    }

    fn check_models(&self, models: &ModelsInUse) -> Result<(), String> {
        match models.without_weights().filter(|_| self.probe != Probe::Refit) {
            Some(model) => Err(format!(
                "method.probe needs models with weights, and {model} has none; use method.probe = \
                 \"refit\""
            )),
            None => Ok(()),
        }
    }

    fn cluster_column(&self) -> Option<&str> {
        self.clusters.as_deref().filter(|_| self.choice == WhichCandidates::Oracle)
    }

    fn learners(&self) -> Option<&[String]> {
        self.targets.as_deref()
    }

    fn bystanders(&self, nodes: usize) -> Vec<NodeId> {
        self.bound.targets.as_ref().map_or_else(Vec::new, |targets| {
            (0..nodes).filter(|node| !targets.contains(node)).collect()
        })
    }

    fn check_rows(&self, names: &[String], plan: &Plan) -> Result<(), String> {
        let targets = self.targets.as_deref().unwrap_or_default();
        let without_rows = |name: &&String| {
            names
                .iter()
                .position(|known| known == *name)
                .is_some_and(|node| plan.train[node].is_empty())
        };
        if let Some(name) = targets.iter().find(without_rows) {
            return Err(format!(
                "method.targets: node '{name}' has no training row, expected some, by which answers are \
                 scored"
            ));
        }
        let Some(online) = self.online.filter(|online| online.enough > 0) else { return Ok(()) };
        let least = online.batch.saturating_add(online.enough);
        let few = (0..names.len())
            .filter(|&node| targets.is_empty() || targets.contains(&names[node]))
            .map(|node| {
                let folds = plan.folds.iter().map(|fold| fold.train[node].len());
                (node, folds.chain([plan.train[node].len()]).min().unwrap_or(0))
            })
            .find(|&(node, rows)| !plan.train[node].is_empty() && rows < least);
        match few {
            Some((node, rows)) => Err(format!(
                "method.online: node '{}' trains on {rows} rows, expected at least {least}, the batch and \
                 enough that come after it",
                names[node]
            )),
            None => Ok(()),
        }
    }

    fn note_on_rows(&self) -> Option<&'static str> {
        self.online.map(|_| {
            "Rows arrive at the network and its shuffles only; what they are compared with has all \
             training rows at once."
        })
    }

    fn note_on_fit(&self, fitted: &Fitted) -> Option<String> {
        let note = "This process holds all rows, so probes were made in one place instead of in \
                    messages, and without a budget; between sites a node would answer each other one only \
                    so often.";
        fitted.direct.then(|| note.into())
    }

    fn federated(&self, strength: f64, _: &[Node]) -> Result<Option<Federated>> {
        // Between sites a node gives away half of what would tell its rows, over all runs.
        let method = PersFl { budget: Budget::Half, ..self.method(strength) };
        Ok(Some(Federated::PersFl(method)))
    }

    fn check_at_sites(&self) -> Result<(), [String; 3]> {
        let refused = |key: &str, found: &str, expected: &str| {
            Err([format!("method.{key}"), found.into(), expected.into()])
        };
        if self.targets.is_some() {
            return refused("targets", "given", "no such key: every site learns");
        }
        if self.choice == WhichCandidates::Oracle {
            let expected = "one that need not be told the clusters";
            return refused("choice", "\"oracle\"", expected);
        }
        if self.online.is_some() {
            // A budget counts questions about rows that stay.
            return refused("online", "given", "no such key: rows stay");
        }
        Ok(())
    }

    fn is_federated(&self) -> bool {
        true
    }

    fn largest_message(&self, sizes: &MessageSizes) -> Option<usize> {
        let MessageSizes { task, ref names, weights, points: (own, theirs) } = *sizes;
        let names = names.clone();
        Some(PersFlMessage::most_bytes(&ProbeShape {
            task,
            weights: Some(weights),
            names,
            theirs,
            own,
        }))
    }
}

/// What probing has left.
struct Probed {
    hypotheses: Vec<Option<Arc<dyn Hypothesis>>>,
    tallies: Vec<Tally>,
    engine: &'static str,
    direct: bool,
    /// The rounds, where messages were exchanged.
    rounds: Vec<Round>,
}

impl Probed {
    fn new(
        trainer: &Trainer,
        method: &PersFl,
        network: &Network,
        iterations: usize,
    ) -> Result<Self> {
        let mut hypotheses: Vec<Option<Arc<dyn Hypothesis>>> = vec![None; trainer.nodes().len()];
        let direct = trainer.study.settings.direct;
        if let Some(mut pool) =
            LinearPool::among(method, trainer.nodes(), network)?.filter(|_| direct)
        {
            (0..iterations).for_each(|_| pool.step());
            for (id, hypothesis) in pool.hypotheses() {
                hypotheses[id] = Some(Arc::new(hypothesis));
            }
            let tallies = pool.tallies().copied().collect();
            let engine = "PersFL on linear models";
            return Ok(Self { hypotheses, tallies, engine, direct, rounds: Vec::new() });
        }
        if method.probe == Probe::Refit && direct {
            let mut pool = RefitPool::among(method, trainer.nodes(), network)?;
            for _ in 0..iterations {
                pool.step()?;
            }
            for (id, hypothesis) in pool.hypotheses() {
                hypotheses[id] = Some(hypothesis.clone());
            }
            let tallies = pool.tallies().copied().collect();
            let engine = "PersFL by refits";
            return Ok(Self { hypotheses, tallies, engine, direct, rounds: Vec::new() });
        }
        let runtime =
            InProcess { stop: Stop::after_probes(iterations), ..trainer.study.settings.runtime };
        let run = runtime.run(method, network.views(trainer.nodes().to_vec())?)?;
        Ok(Self {
            hypotheses: run.hypotheses,
            tallies: run.tallies,
            engine: "rounds of messages",
            direct: false,
            rounds: run.history,
        })
    }
}
