//! Gradients that a server averages, with one model (FedAvg) or several (IFCA),
//!
//! ```text
//! c_i = argmin_c L_i(θ_c)      θ_c ← θ_c − η (1/|M_c|) Σ_{i ∈ M_c} ∇L_i(θ_c),   M_c = { i : c_i = c }
//! ```
//!
//! [Ghosh, Chung, Yin and Ramchandran, "An efficient framework for clustered federated learning", with
//! gradient averaging.]

use fedgrid::{
    algebra::{add_scaled, dot},
    data::Dataset,
    random::{Purpose, Stream},
};

/// Models that several nodes train together.
#[derive(Debug)]
pub(super) struct Averaging<'a> {
    data: &'a [Dataset],
    size: usize,
    weights: Vec<f64>,
}

impl<'a> Averaging<'a> {
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
            let place = model * size..(model + 1) * size;
            let data = &self.data[node];
            let factor = 2.0 / data.rows() as f64;
            let residuals = residuals(data, &self.weights[place.clone()]);
            for (x, residual) in data.features().iter().zip(residuals) {
                add_scaled(&mut sums[place.clone()], factor * residual, x);
            }
            counts[model] += 1;
        }
        let parts = self.weights.chunks_exact_mut(size).zip(sums.chunks_exact(size)).zip(counts);
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
    let reach = 1.0 / (features as f64).sqrt();
    let draw = |model| {
        let mut stream = Stream::new(seed, model, 0, Purpose::Start);
        (0..features).map(|_| reach * (2.0 * stream.uniform() - 1.0)).collect::<Vec<_>>()
    };
    (0..models).flat_map(draw).collect()
}
