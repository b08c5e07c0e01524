//! PersFL in a comparison: every node probes those it is joined to and keeps the step that helps it most.
//! The strength that is tuned is the step η; none is local training.

mod keys;

use std::sync::Arc;

use keys::{BoundKeys, OnlineKeys};
pub use keys::{PersFlKeys, WhichCandidates};

use super::{
    AtSites, Bound, Contender, Facts, Federated, MessageSizes, ModelsInUse, Place, StrengthKey,
};
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
        persfl::{Budget, LinearPool, PersFlMessage, Probe, ProbeShape, RefitPool, suitable_step},
    },
    model::Hypothesis,
    network::{Network, Node, NodeId},
    network_learning::probing_model,
    observe::{Round, Stop},
    runtime::InProcess,
};

/// How many iterations tell steps apart where every probe is a refit, which takes long.
const REFIT_SEARCH_ITERATIONS: usize = 20;

impl PersFlKeys {
    /// What a step of one is worth: a tenth of one that suits the curvature of most losses; refits weigh
    /// rows against points and need no scale.
    fn unit(&self, study: &Study) -> f64 {
        if self.probe == Probe::Refit {
            return 1.0;
        }
        let data = study.training_data();
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
            is_of_row_order: self.online.is_some(),
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

    fn order_nodes(&mut self, order: &[NodeId]) {
        let BoundKeys { targets, clusters, .. } = &mut self.bound;
        if let Some(targets) = targets {
            let is_target = |place: &usize| targets.contains(&order[*place]);
            *targets = (0..order.len()).filter(is_target).collect();
        }
        if !clusters.is_empty() {
            *clusters = order.iter().map(|&node| clusters[node]).collect();
        }
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

    fn at_sites(&self) -> Option<&dyn AtSites> {
        Some(self)
    }
}

impl AtSites for PersFlKeys {
    fn federated(&self, strength: Option<f64>, _: Place) -> Result<Federated> {
        // Between sites a node gives away half of what would tell its rows, over all runs.
        let method = PersFl { budget: Budget::Half, ..self.method(strength.unwrap_or(0.0)) };
        Ok(Federated::PersFl(method))
    }

    fn largest_message(&self, sizes: &MessageSizes) -> usize {
        let MessageSizes { task, ref names, weights, points: (own, theirs), .. } = *sizes;
        let names = names.clone();
        PersFlMessage::most_bytes(&ProbeShape { task, weights: Some(weights), names, theirs, own })
    }

    fn check_keys(&self) -> Result<(), [String; 3]> {
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
