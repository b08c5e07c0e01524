//! PersFL among neighbours: every node probes those it is joined to and keeps the step that helps it
//! most. The strength that is tuned is the step η; none is local training.

use std::sync::Arc;

use super::{
    Certificate, Fitted, Study,
    fitted::{Effort, Pulled},
    trainer::Trainer,
};
use crate::{
    error::Result,
    method::{LinearPool, PersFl, Probe, RefitPool, Tally, suitable_step},
    model::Hypothesis,
    network::{Network, Node},
    network_learning::probing_model,
    observe::{Round, Stop},
    runtime::InProcess,
};

/// Refits are dear: so many iterations tell steps apart.
const REFITS: usize = 20;

/// What probing has left.
struct Found {
    hypotheses: Vec<Option<Arc<dyn Hypothesis>>>,
    tallies: Vec<Tally>,
    engine: &'static str,
    direct: bool,
    /// The rounds, where messages were exchanged.
    rounds: Vec<Round>,
}

impl Trainer<'_> {
    /// Every node with the steps of its neighbours.
    pub(super) fn probed(&self, method: &PersFl, pulled: &Pulled) -> Result<Fitted> {
        if pulled.alpha == 0.0 {
            return self.alone();
        }
        let rounds = self.study.settings.runtime.stop.rounds;
        let iterations = match (method.probe, pulled.effort) {
            (Probe::Refit, Effort::Search) => rounds.min(REFITS),
            _ => rounds,
        };
        let method =
            PersFl { step: pulled.alpha, seed: self.study.settings.seed, ..method.clone() };
        let mut found = self.found(&method, pulled.network, iterations)?;
        self.replace_lonely(pulled.network, 0.0, &mut found.hypotheses)?;
        Ok(Fitted {
            certificate: Certificate::of_iterations(),
            direct: found.direct,
            engine: found.engine.into(),
            tallies: found.tallies,
            rounds: found.rounds,
            ..Fitted::exact(self.filled(pulled.network, 0.0, found.hypotheses)?)
        })
    }

    fn found(&self, method: &PersFl, network: &Network, iterations: usize) -> Result<Found> {
        let mut hypotheses: Vec<Option<Arc<dyn Hypothesis>>> = vec![None; self.nodes().len()];
        let direct = self.study.settings.direct;
        if let Some(mut pool) = LinearPool::among(method, self.nodes(), network)?.filter(|_| direct)
        {
            (0..iterations).for_each(|_| pool.step());
            for (id, hypothesis) in pool.hypotheses() {
                hypotheses[id] = Some(Arc::new(hypothesis));
            }
            let tallies = pool.tallies().copied().collect();
            let engine = "PersFL on linear models";
            return Ok(Found { hypotheses, tallies, engine, direct, rounds: Vec::new() });
        }
        if method.probe == Probe::Refit && direct {
            let mut pool = RefitPool::among(method, self.nodes(), network)?;
            for _ in 0..iterations {
                pool.step()?;
            }
            for (id, hypothesis) in pool.hypotheses() {
                hypotheses[id] = Some(hypothesis.clone());
            }
            let tallies = pool.tallies().copied().collect();
            let engine = "PersFL by refits";
            return Ok(Found { hypotheses, tallies, engine, direct, rounds: Vec::new() });
        }
        let runtime =
            InProcess { stop: Stop::after_probes(iterations), ..self.study.settings.runtime };
        let run = runtime.run(method, network.views(self.nodes().to_vec())?)?;
        Ok(Found {
            hypotheses: run.hypotheses,
            tallies: run.tallies,
            engine: "rounds of messages",
            direct: false,
            rounds: run.history,
        })
    }
}

/// What a step of one is worth: a tenth of one that suits the curvature of most losses; refits weigh
/// rows against points and need no scale.
pub(super) fn unit(study: &Study, method: &PersFl) -> f64 {
    if method.probe == Probe::Refit {
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
    0.1 * suitable_step(parametric, &data, study.task())
}
