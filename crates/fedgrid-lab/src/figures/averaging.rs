//! Gradients that a server averages, with one model (FedAvg) or several (IFCA),
//!
//! ```text
//! c_i = argmin_c L_i(θ_c)      θ_c ← θ_c − η (1/|M_c|) Σ_{i ∈ M_c} ∇L_i(θ_c),   M_c = { i : c_i = c }
//! ```
//!
//! [Ghosh, Chung, Yin and Ramchandran, "An efficient framework for clustered federated learning", with
//! gradient averaging.]
//!
//! `method::FedAvg` and `method::Ifca` take the same steps by messages (a test holds it to 1e-10), but not
//! to the bit: a hub adds up one gradient of each node, while here the rows of all nodes go into one sum,
//! as in the authors' code. The figures also measure after every round, which a hub does not report.

use fedgrid::{
    algebra::{add_scaled, dot},
    data::Dataset,
    random::{Purpose, Stream},
};

/// Models that several nodes train together.
#[derive(Debug)]
pub(super) struct GradientAveraging<'a> {
    data: &'a [Dataset],
    size: usize,
    weights: Vec<f64>,
}

impl<'a> GradientAveraging<'a> {
    /// Models that start at these weights, one after the other.
    pub(super) fn new(data: &'a [Dataset], weights: Vec<f64>) -> Self {
        let size = data.first().map_or(1, |data| data.features().columns());
        Self { data, size, weights }
    }

    /// The weights of all models, one after the other.
    pub(super) fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// The model that fits each of these nodes best; the first of equals.
    pub(super) fn choices(&self, nodes: &[usize]) -> Vec<usize> {
        nodes.iter().map(|&node| self.choice(node)).collect()
    }

    fn choice(&self, node: usize) -> usize {
        let losses = self
            .weights
            .chunks_exact(self.size)
            .map(|model| residuals(&self.data[node], model).iter().map(|r| r * r).sum::<f64>());
        let best = losses.enumerate().reduce(|a, b| if b.1 < a.1 { b } else { a });
        best.map_or(0, |(model, _)| model)
    }

    /// One round in which these nodes take part.
    pub(super) fn step(&mut self, nodes: &[usize], step: f64) {
        let choices = self.choices(nodes);
        let size = self.size;
        let models = self.weights.len() / size;
        let (mut sums, mut counts) = (vec![0.0; self.weights.len()], vec![0_usize; models]);
        for (&node, &model) in nodes.iter().zip(&choices) {
            let range = model * size..(model + 1) * size;
            let data = &self.data[node];
            // The gradient of the mean square, without the half that some put before it.
            let factor = 2.0 / data.rows() as f64;
            let residuals = residuals(data, &self.weights[range.clone()]);
            for (x, residual) in data.features().iter().zip(residuals) {
                add_scaled(&mut sums[range.clone()], factor * residual, x);
            }
            counts[model] += 1;
        }
        let parts = self.weights.chunks_exact_mut(size).zip(sums.chunks_exact(size)).zip(counts);
        // A model that nobody has chosen stays where it is.
        for ((weights, sum), count) in parts.filter(|(_, count)| *count > 0) {
            add_scaled(weights, -step / count as f64, sum);
        }
    }
}

fn residuals(data: &Dataset, weights: &[f64]) -> Vec<f64> {
    let rows = data.features().iter().zip(data.labels().as_slice());
    rows.map(|(x, y)| dot(weights, x) - y).collect()
}

/// Weights drawn evenly from ±1/√d for so many models.
pub(super) fn uniform_start(models: usize, features: usize, seed: u64) -> Vec<f64> {
    // As PyTorch starts a linear layer.
    let reach = 1.0 / (features as f64).sqrt();
    let draw = |model| {
        let mut stream = Stream::new(seed, model, 0, Purpose::Start);
        (0..features).map(|_| reach * (2.0 * stream.uniform() - 1.0)).collect::<Vec<_>>()
    };
    (0..models).flat_map(draw).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use fedgrid::{
        data::Features,
        method::{FedAvg, Ifca, Method, fedavg::Averaged, hub::around_hub, ifca::Guess},
        model::{Linear, LocalModel},
        observe::Stop,
        runtime::InProcess,
        synthetic::{ClientPool, SyntheticClients},
    };

    use super::*;

    const FEATURES: usize = 4;
    const ITERATIONS: usize = 30;

    fn clients() -> SyntheticClients {
        let pool = ClientPool { clusters: 3, clients: 24, guest: false, random: false, reach: 5.0 };
        pool.make(FEATURES, 6, 0.1, 2).unwrap()
    }

    /// The weights of all nodes when a method runs by messages.
    fn by_messages<M: Method>(method: &M, nodes: Vec<fedgrid::network::Node>) -> Vec<Vec<f64>> {
        let model = nodes[0].model.clone();
        let stop = Stop { tolerance: -1.0, rounds: 2 * ITERATIONS + 3 };
        let runtime = InProcess { stop, ..InProcess::default() };
        let run = runtime.run(method, around_hub(nodes).unwrap()).unwrap();
        let weights = |hypothesis: &Option<Arc<dyn fedgrid::model::Hypothesis>>| {
            let parametric = model.as_parametric().unwrap();
            parametric.weights(hypothesis.as_deref().unwrap()).unwrap()
        };
        run.hypotheses[..24].iter().map(weights).collect()
    }

    fn assert_same(averaging: &GradientAveraging, messages: &[Vec<f64>]) {
        let all: Vec<usize> = (0..24).collect();
        for (choice, theirs) in averaging.choices(&all).into_iter().zip(messages) {
            let ours = &averaging.weights()[choice * FEATURES..][..FEATURES];
            assert!(
                ours.iter().zip(theirs).all(|(a, b)| (a - b).abs() < 1e-10),
                "{ours:?} {theirs:?}"
            );
        }
    }

    #[test]
    fn one_model_is_fedavg_and_several_are_ifca_by_messages() {
        let clients = clients();
        let model: Arc<dyn LocalModel> = Arc::new(Linear { ridge: 0.0, intercept: false });
        let nodes = clients.nodes(&model, Features::empty(clients.names.clone()));
        let all: Vec<usize> = (0..24).collect();
        let fedavg = FedAvg {
            averaged: Averaged::Gradients,
            step: Some(0.05),
            iterations: ITERATIONS,
            tolerance: 0.0,
            seed: 9,
            ..FedAvg::default()
        };
        let mut one = GradientAveraging::new(&clients.data, vec![0.0; FEATURES]);
        (0..ITERATIONS).for_each(|_| one.step(&all, 0.05));
        assert_same(&one, &by_messages(&fedavg, nodes.clone()));
        // IFCA draws its models around zero from a stream of its own.
        let mut stream = Stream::new(9, 0, 0, Purpose::Restarts);
        let start = (0..2 * FEATURES).map(|_| stream.normal()).collect();
        let guess = Guess::Random { spread: 1.0 };
        let ifca = Ifca { fedavg, clusters: 2, guess, restarts: 1, trial: 1 };
        let mut several = GradientAveraging::new(&clients.data, start);
        (0..ITERATIONS).for_each(|_| several.step(&all, 0.05));
        assert_same(&several, &by_messages(&ifca, nodes));
    }
}
