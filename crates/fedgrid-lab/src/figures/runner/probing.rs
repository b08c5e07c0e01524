//! Targets that probe who helps, with linear models, iteration by iteration,
//!
//! ```text
//! choosing   ŵ ← ŵ − η ∇L_j(ŵ)   for the j of S drawn clients that lowers the target's loss most
//! online     the same, every drawn client with m fresh rows
//! oracle     the same for a client drawn from the target's own cluster
//! IFCA       the target's choice of as many models as IFCA is told; S clients take part in a round
//! ```
//!
//! ["Your Data, My Model", Algorithm 1 and Figures 3 to 7; "PersFL via Active Sampling", Figures 1 to 3.]

use std::sync::Arc;

use fedgrid::{
    Result,
    algebra::{add_scaled, dot},
    data::{Dataset, Features},
    method::{
        PersFl,
        persfl::{CandidateChoice, LinearPool, Start},
    },
    model::{Hypothesis, Linear, LinearHypothesis, LocalModel},
    random::{Purpose, Stream},
    synthetic::{ClientPool, SyntheticClients, linear_rows},
};
use serde::Deserialize;

use super::super::{averaging::GradientAveraging, measured::Curve};

/// The keys of a line.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::figures) struct LinearProbing {
    pool: ClientPool,
    /// The dimension d.
    features: usize,
    /// The rows m of a client.
    rows: usize,
    /// The standard deviation σ of the noise.
    noise: f64,
    /// How many clients S are drawn in an iteration.
    candidates: usize,
    /// The step η on the gradient (2/m) Xᵀ(Xw − y).
    step: f64,
    rounds: usize,
    learn: ProbingLearner,
    measure: TargetMeasure,
    start: TargetStart,
    /// How many clients learn, evenly spread over all.
    targets: usize,
    /// How many clusters IFCA is told.
    #[serde(default)]
    told: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ProbingLearner {
    Choosing,
    Online,
    Oracle,
    Ifca,
}

/// What is measured of ŵ − w̄, the mean over targets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum TargetMeasure {
    /// ‖ŵ − w̄‖², as the papers define it.
    Sum,
    /// ‖ŵ − w̄‖² / d.
    PerDimension,
    /// ‖ŵ − w̄‖.
    Norm,
}

/// Where a target starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum TargetStart {
    Zero,
    /// Evenly drawn from [0, 1).
    Uniform,
    Normal,
}

impl TargetStart {
    fn weights(self, size: usize, seed: u64, node: usize) -> Vec<f64> {
        let mut stream = Stream::new(seed, node, 0, Purpose::Start);
        match self {
            Self::Zero => vec![0.0; size],
            Self::Uniform => (0..size).map(|_| stream.uniform()).collect(),
            Self::Normal => (0..size).map(|_| stream.normal()).collect(),
        }
    }
}

impl LinearProbing {
    /// One repeat.
    pub(super) fn run(&self, seed: u64) -> Result<Curve> {
        let clients = self.pool.make(self.features, self.rows, self.noise, seed)?;
        match self.learn {
            ProbingLearner::Choosing => {
                self.probe(&clients, CandidateChoice::Uniform, self.candidates, seed)
            }
            ProbingLearner::Oracle => self.probe(
                &clients,
                CandidateChoice::Oracle { clusters: clients.clusters.clone() },
                1,
                seed,
            ),
            ProbingLearner::Online => self.online(&clients, seed),
            ProbingLearner::Ifca => Ok(self.ifca(&clients, seed)),
        }
    }

    fn targets(&self, clients: &SyntheticClients) -> Vec<usize> {
        let apart = clients.data.len() / self.targets.max(1);
        (0..self.targets.max(1)).map(|target| target * apart).collect()
    }

    fn probe(
        &self,
        clients: &SyntheticClients,
        choice: CandidateChoice,
        candidates: usize,
        seed: u64,
    ) -> Result<Curve> {
        let model: Arc<dyn LocalModel> = Arc::new(Linear { ridge: 0.0, intercept: false });
        let nodes = clients.nodes(&model, Features::empty(clients.names.clone()));
        let targets = self.targets(clients);
        let start = |id: usize| -> Option<Arc<dyn Hypothesis>> {
            let slopes = targets.contains(&id).then(|| self.start.weights(self.features, seed, id));
            let names = clients.names.clone();
            Some(Arc::new(LinearHypothesis { names, slopes: slopes?, intercept: 0.0 }))
        };
        let method = PersFl {
            step: self.step,
            candidates,
            choice,
            start: Start::Given((0..nodes.len()).map(start).collect()),
            targets: Some(targets.clone().into()),
            seed,
            ..PersFl::default()
        };
        let mut pool = LinearPool::new(&method, &nodes)?.expect("the models are linear");
        let mut curve = Vec::with_capacity(self.rounds);
        for round in 1..=self.rounds {
            pool.step();
            let errors = pool.weights().map(|(id, weights)| self.measured(clients, id, weights));
            curve.push((round as f64, errors.sum::<f64>() / targets.len() as f64));
        }
        Ok(curve)
    }

    /// The same steps as by messages of a method with rows that arrive, for one target. By messages every
    /// client would need fresh rows in every iteration, a hundred times as many as are looked at; here
    /// only those that are drawn get any.
    fn online(&self, clients: &SyntheticClients, seed: u64) -> Result<Curve> {
        let own = &clients.data[0];
        let mut weights = self.start.weights(self.features, seed, 0);
        let mut order: Vec<usize> = (1..clients.data.len()).collect();
        let mut curve = Vec::with_capacity(self.rounds);
        for round in 0..self.rounds {
            let mut best: Option<(f64, Vec<f64>)> = None;
            for client in drawn(&mut order, self.candidates, seed, round) {
                let truth = &clients.truth[clients.clusters[client]];
                let mut stream = Stream::new(seed, client, round + 2, Purpose::Data);
                let fresh = linear_rows(&clients.names, truth, self.rows, self.noise, &mut stream)?;
                let mut next = weights.clone();
                descend(&mut next, &fresh, self.step);
                let loss = squares(own, &next);
                if best.as_ref().is_none_or(|(least, _)| loss < *least) {
                    best = Some((loss, next));
                }
            }
            // The best step is taken even if it does not help, as in the papers.
            weights = best.map_or(weights, |(_, next)| next);
            curve.push(((round + 1) as f64, self.measured(clients, 0, &weights)));
        }
        Ok(curve)
    }

    fn ifca(&self, clients: &SyntheticClients, seed: u64) -> Curve {
        let start = (0..self.told)
            .flat_map(|model| TargetStart::Normal.weights(self.features, seed, model));
        let mut averaging = GradientAveraging::new(&clients.data, start.collect());
        // A guest does not train the models: it only chooses among them.
        let mut order: Vec<usize> = (usize::from(self.pool.guest)..clients.data.len()).collect();
        let mut curve = Vec::with_capacity(self.rounds);
        for round in 0..self.rounds {
            averaging.step(&drawn(&mut order, self.candidates, seed, round), self.step);
            let chosen = averaging.choices(&[0])[0];
            let weights = &averaging.weights()[chosen * self.features..][..self.features];
            curve.push(((round + 1) as f64, self.measured(clients, 0, weights)));
        }
        curve
    }

    fn measured(&self, clients: &SyntheticClients, client: usize, weights: &[f64]) -> f64 {
        let squares = clients.error(client, weights);
        match self.measure {
            TargetMeasure::Sum => squares,
            TargetMeasure::PerDimension => squares / self.features as f64,
            TargetMeasure::Norm => squares.sqrt(),
        }
    }
}

/// So many of the clients, drawn as the method draws candidates.
fn drawn(clients: &mut [usize], count: usize, seed: u64, round: usize) -> Vec<usize> {
    let (count, mut drawn) = (count.min(clients.len()), Vec::new());
    Stream::new(seed, 0, round, Purpose::Candidates).sample(clients, count, &mut drawn);
    drawn
}

/// One gradient step on the mean squared error of rows.
fn descend(weights: &mut [f64], data: &Dataset, step: f64) {
    let labels = data.features().iter().zip(data.labels().as_slice());
    let residuals: Vec<f64> = labels.map(|(x, y)| dot(weights, x) - y).collect();
    let factor = -2.0 * step / data.rows() as f64;
    for (x, residual) in data.features().iter().zip(residuals) {
        add_scaled(weights, factor * residual, x);
    }
}

fn squares(data: &Dataset, weights: &[f64]) -> f64 {
    let rows = data.features().iter().zip(data.labels().as_slice());
    rows.map(|(x, y)| (dot(weights, x) - y).powi(2)).sum()
}

#[cfg(test)]
mod tests {
    use fedgrid::{
        method::persfl::{Feed, Online},
        model::LinearHypothesis,
        network::{NodeId, complete},
        observe::Stop,
        runtime::InProcess,
    };

    use super::*;

    fn case() -> LinearProbing {
        LinearProbing {
            pool: ClientPool { clusters: 2, clients: 12, guest: true, random: false, reach: 5.0 },
            features: 4,
            rows: 6,
            noise: 0.2,
            candidates: 5,
            step: 0.05,
            rounds: 20,
            learn: ProbingLearner::Online,
            measure: TargetMeasure::Sum,
            start: TargetStart::Zero,
            targets: 1,
            told: 2,
        }
    }

    /// The rows that the runner makes for a client in an iteration.
    fn fresh(clients: &SyntheticClients, client: usize, round: usize, seed: u64) -> Dataset {
        let truth = &clients.truth[clients.clusters[client]];
        let mut stream = Stream::new(seed, client, round + 2, Purpose::Data);
        linear_rows(&clients.names, truth, 6, 0.2, &mut stream).unwrap()
    }

    #[derive(Debug)]
    struct Fresh(SyntheticClients, u64);

    impl Feed for Fresh {
        fn arrived(&self, node: NodeId, tick: usize) -> Option<Dataset> {
            // What arrives after an iteration is there for the next.
            (node > 0).then(|| fresh(&self.0, node, tick + 1, self.1))
        }
    }

    #[test]
    fn rows_that_arrive_give_the_steps_of_the_method_by_messages() {
        let (case, seed) = (case(), 3);
        let clients = case.pool.make(4, 6, 0.2, seed).unwrap();
        let curve = case.online(&clients, seed).unwrap();
        let model: Arc<dyn LocalModel> = Arc::new(Linear { ridge: 0.0, intercept: false });
        let mut nodes = clients.nodes(&model, Features::empty(clients.names.clone()));
        nodes[1..].iter_mut().for_each(|node| node.data = fresh(&clients, node.id, 0, seed));
        let feed = Arc::new(Fresh(case.pool.make(4, 6, 0.2, seed).unwrap(), seed));
        let method = PersFl {
            candidates: 5,
            online: Some(Online { feed: Some(feed), batch: 6, enough: 0 }),
            targets: Some([0].into()),
            seed,
            ..PersFl::default()
        };
        let views = complete(13).unwrap().views(nodes).unwrap();
        let run = InProcess { stop: Stop::after_probes(20), ..InProcess::default() }
            .run(&method, views)
            .unwrap();
        let found = run.hypotheses[0]
            .as_ref()
            .unwrap()
            .downcast_ref::<LinearHypothesis>()
            .expect("a linear model")
            .clone();
        let (_, expected) = curve[19];
        let error = clients.error(0, &found.slopes);
        assert!((error / expected - 1.0).abs() < 1e-9, "{error} {expected}");
    }

    #[test]
    fn the_measures_differ_as_their_names_say() {
        let last = |measure| {
            let curve = LinearProbing { measure, learn: ProbingLearner::Choosing, ..case() }
                .run(1)
                .unwrap();
            curve[19].1
        };
        let sum = last(TargetMeasure::Sum);
        assert!((last(TargetMeasure::PerDimension) - sum / 4.0).abs() < 1e-12 * sum);
        assert!((last(TargetMeasure::Norm) - sum.sqrt()).abs() < 1e-12 * sum);
    }
}
