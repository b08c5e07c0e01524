//! Training in scaled coordinates,
//!
//! ```text
//! J(w) = Σ_p share_p L(y_p, h_w(x_p)) + Σ_k pull_k (w_k − centre_k)²      J = objective / total weight
//! ```
//!
//! over the distinct feature rows p. With batches, a step follows the gradient of an
//! unbiased estimate of J.

use super::{
    Perceptron,
    coordinates::Coordinates,
    layers::{Layers, RowPass},
};
use crate::{
    data::{Dataset, Scaling, Task},
    descent::Descent,
    error::{Error, Result},
    model::{
        check,
        solver::{DistinctRows, mean_of},
    },
    random::{Purpose, Stream},
};

/// A gain below this share of the loss does not renew the patience.
const SMALLEST_GAIN_SHARE: f64 = 1e-5;

/// The log-odds of a class without any label begin as if it had this probability.
const SMALLEST_PROBABILITY: f64 = 1e-6;

/// The objective of a fit, and how it is to be sought.
pub(super) struct Training<'a> {
    model: &'a Perceptron,
    layers: Layers,
    coordinates: Coordinates,
    /// Scaled features, one distinct row after the other.
    points: Vec<f64>,
    /// Scaled labels, one distinct row after the other.
    labels: Vec<f64>,
    shares: Vec<f64>,
    /// The pull on the square of each weight's distance to its centre.
    pulls: Vec<f64>,
    centre: Vec<f64>,
    /// The mean label, for the start.
    mean: Vec<f64>,
    /// The distinct rows that train, and those that tell when to stop.
    trained: Vec<usize>,
    held_back: Vec<usize>,
}

impl<'a> Training<'a> {
    /// Merges, scales and splits the rows.
    pub(super) fn new(
        model: &'a Perceptron,
        layers: Layers,
        data: &Dataset,
        centre: Option<&[f64]>,
    ) -> Result<Self> {
        let distinct = DistinctRows::new(data.features(), data.weights(), "a perceptron")?;
        let mut labels = distinct.labels(data.labels())?;
        let (shares, total) = (distinct.shares(), distinct.weights.iter().sum::<f64>());
        let mean = mean_of(&labels, layers.task().outputs(), &shares);
        let (scaling, points) = distinct.scaled(true);
        let mut coordinates = Coordinates { scaling, level: 0.0, spread: 1.0 };
        match layers.task() {
            Task::Regression => scale_labels(&mut labels, &shares, &mut coordinates),
            Task::Classification { classes } => {
                if !labels.chunks_exact(classes).all(check::is_distribution) {
                    let reason = "a label is not a list of probabilities".into();
                    return Err(Error::Fit { model: "a perceptron", reason });
                }
            }
        }
        // The objective is divided by total weight and label variance, and so is the ridge.
        let squared_spread = coordinates.spread * coordinates.spread;
        let strength = model.ridge / (total * squared_spread);
        let pulls = coordinates.squares(&layers).iter().map(|square| strength * square).collect();
        let centre = centre.map_or_else(
            || vec![0.0; layers.weight_count()],
            |centre| coordinates.scaled(&layers, centre.to_vec()),
        );
        // A stream of its own: holding rows back must not change the start.
        let order = Stream::new(model.seed, 0, 1, Purpose::Model).permutation(distinct.count());
        let kept = (distinct.count() as f64 * (1.0 - model.held_back)).ceil().max(1.0);
        let is_kept = |index: usize| (order[index] as f64) < kept;
        let (trained, held_back) = (0..distinct.count()).partition(|&index| is_kept(index));
        Ok(Self {
            model,
            layers,
            coordinates,
            points,
            labels,
            shares,
            pulls,
            centre,
            mean,
            trained,
            held_back,
        })
    }

    /// The best weights met, in the coordinates of the given features and labels.
    pub(super) fn run(&self, start: Option<&[f64]>) -> Vec<f64> {
        let mut weights = start.map_or_else(
            || self.start(),
            |start| self.coordinates.scaled(&self.layers, start.to_vec()),
        );
        let mut pass = RowPass::new(&self.layers);
        let mut descent = Descent::new(self.model.optimiser, self.model.step, weights.len());
        let mut gradient = vec![0.0; weights.len()];
        let mut best = weights.clone();
        let (mut least, mut goal, mut waited) = (f64::INFINITY, f64::INFINITY, 0);
        // One score more than epochs: the last step may be the best.
        for epoch in 0..=self.model.epochs {
            let score = self.score(&weights, &mut pass);
            if score < least {
                least = score;
                best.copy_from_slice(&weights);
            }
            waited += 1;
            if score < goal {
                (goal, waited) = (score - SMALLEST_GAIN_SHARE * score.abs(), 0);
            }
            let impatient = self.model.patience > 0 && waited >= self.model.patience;
            if epoch == self.model.epochs || impatient || !score.is_finite() {
                break;
            }
            for batch in self.batches(epoch) {
                self.gradient(&weights, &batch, &mut pass, &mut gradient);
                descent.step(&mut weights, &gradient);
            }
        }
        self.coordinates.given(&self.layers, best)
    }

    /// Random hidden layers, none for features that never vary, and the mean label as outcome.
    fn start(&self) -> Vec<f64> {
        let mut stream = Stream::new(self.model.seed, 0, 0, Purpose::Model);
        let mut weights = self.layers.start(&mut stream);
        let columns = self.layers.width(0) - 1;
        // A random slope of a constant feature would be a random bias wherever it is not constant.
        let varies: Vec<bool> = (0..columns)
            .map(|column| self.points.iter().skip(column).step_by(columns).any(|x| *x != 0.0))
            .collect();
        for unit in weights[self.layers.range(0)].chunks_exact_mut(columns + 1) {
            for (slope, _) in unit.iter_mut().zip(&varies).filter(|(_, varies)| !**varies) {
                *slope = 0.0;
            }
        }
        if self.layers.task() != Task::Regression {
            let last = self.layers.count() - 1;
            let units = weights[self.layers.range(last)].chunks_exact_mut(self.layers.width(last));
            for (unit, p) in units.zip(&self.mean) {
                *unit.last_mut().expect("a unit has a bias") = p.max(SMALLEST_PROBABILITY).ln();
            }
        }
        weights
    }

    /// The distinct rows of each step of an epoch.
    fn batches(&self, epoch: usize) -> Vec<Vec<usize>> {
        let batch = self.model.batch;
        if batch == 0 || batch >= self.trained.len() {
            return vec![self.trained.clone()];
        }
        let mut order = self.trained.clone();
        Stream::new(self.model.seed, 0, 2 + epoch, Purpose::Model).shuffle(&mut order);
        order.chunks(batch).map(<[usize]>::to_vec).collect()
    }

    /// What training tries to lower: the loss of the held-back rows, or J where there are none.
    fn score(&self, weights: &[f64], pass: &mut RowPass) -> f64 {
        let loss = |rows: &[usize], pass: &mut RowPass| {
            let of_row = |&index: &usize| {
                let (x, label, share) = self.row(index);
                share * self.layers.loss(weights, x, label, pass)
            };
            rows.iter().map(of_row).sum::<f64>()
        };
        if self.held_back.is_empty() {
            loss(&self.trained, pass) + self.penalty(weights)
        } else {
            loss(&self.held_back, pass)
        }
    }

    fn penalty(&self, weights: &[f64]) -> f64 {
        let distances = weights.iter().zip(&self.centre).map(|(w, c)| (w - c).powi(2));
        distances.zip(&self.pulls).map(|(square, pull)| pull * square).sum()
    }

    /// The gradient of J, its sum over rows estimated from a batch.
    fn gradient(&self, weights: &[f64], batch: &[usize], pass: &mut RowPass, gradient: &mut [f64]) {
        let pulls = self.pulls.iter().zip(&self.centre);
        for ((g, w), (pull, centre)) in gradient.iter_mut().zip(weights).zip(pulls) {
            *g = 2.0 * pull * (w - centre);
        }
        let factor = self.trained.len() as f64 / batch.len() as f64;
        for &index in batch {
            let (x, label, share) = self.row(index);
            self.layers.add_gradient(weights, (x, label, factor * share), pass, gradient);
        }
    }

    fn row(&self, index: usize) -> (&[f64], &[f64], f64) {
        let (columns, outputs) = (self.layers.width(0) - 1, self.layers.task().outputs());
        let x = &self.points[index * columns..(index + 1) * columns];
        (x, &self.labels[index * outputs..(index + 1) * outputs], self.shares[index])
    }
}

/// Gives numbers mean zero and variance one; equal ones become zero.
fn scale_labels(labels: &mut [f64], shares: &[f64], coordinates: &mut Coordinates) {
    let names = ["label".to_string()].into();
    let column = crate::data::Features::new(names, labels.to_vec()).expect("labels are finite");
    let Scaling { means, deviations } = Scaling::weighted(&column, shares);
    (coordinates.level, coordinates.spread) = (means[0], deviations[0]);
    for label in labels {
        *label = (*label - means[0]) / deviations[0];
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::{
            Activation,
            samples::{CLASSES, mean_loss, small, wave},
        },
        *,
    };
    use crate::{
        descent::Optimiser,
        loss::Loss,
        model::{Linear, LocalModel},
        testing,
    };

    #[test]
    fn without_hidden_layers_it_is_linear_regression() {
        let data = wave(40, Task::Regression);
        let steps = Perceptron { epochs: 5000, patience: 0, step: 0.003, ..Perceptron::default() };
        let model = Perceptron { ridge: 2.0, ..Perceptron { layers: vec![], ..steps } };
        let exact =
            Linear { ridge: 2.0, intercept: true }.fit(&data).unwrap().predict(data.features());
        let own = model.fit(&data).unwrap().predict(data.features());
        let close = |(p, q): (&f64, &f64)| (p - q).abs() < 1e-4;
        assert!(own.as_slice().iter().zip(exact.as_slice()).all(close));
    }

    #[test]
    fn every_optimiser_learns_a_wave_in_whole_and_in_batches() {
        let data = wave(60, Task::Regression);
        let line = mean_loss(&data, Linear::default().fit(&data).unwrap().as_ref());
        for (optimiser, step) in
            [(Optimiser::Adam, 0.02), (Optimiser::RmsProp, 0.005), (Optimiser::Plain, 0.1)]
        {
            for batch in [0, 16] {
                let model =
                    Perceptron { optimiser, step, batch, epochs: 600, ..Perceptron::default() };
                let loss = mean_loss(&data, model.fit(&data).unwrap().as_ref());
                assert!(loss < 0.5 * line, "{optimiser:?} {batch}: {loss}, a line has {line}");
            }
        }
    }

    /// In Python, with the same rows and weights, features X and labels y standardised:
    ///
    /// ```text
    /// MLPRegressor(hidden_layer_sizes=(16,), activation="tanh", alpha=0, learning_rate_init=0.01,
    ///              batch_size=60, max_iter=1000, tol=0, n_iter_no_change=1000, random_state=seed)
    /// ```
    ///
    /// has the mean loss 1.1e-3 over ten seeds; it begins with random outputs, not at the mean.
    #[test]
    fn a_wave_is_learnt_about_as_well_as_by_scikit_learn() {
        let data = wave(60, Task::Regression);
        let loss = |seed| {
            let model = Perceptron { ridge: 0.0, patience: 0, seed, ..Perceptron::default() };
            mean_loss(&data, model.fit(&data).unwrap().as_ref())
        };
        let mean = (0..10).map(loss).sum::<f64>() / 10.0;
        assert!(mean < 1.1e-3, "{mean}");
    }

    #[test]
    fn soft_classes_are_learnt() {
        let data = wave(60, CLASSES);
        let labels = data.labels();
        let entropy = Loss::CrossEntropy.rows(labels, labels);
        let entropy: f64 = entropy.iter().zip(data.weights()).map(|(e, w)| e * w).sum();
        let model = Perceptron { ridge: 0.0, ..Perceptron::default() };
        let excess =
            mean_loss(&data, model.fit(&data).unwrap().as_ref()) - entropy / data.total_weight();
        assert!((0.0..0.01).contains(&excess), "{excess}");
    }

    #[test]
    fn held_back_rows_can_end_training() {
        let data = wave(40, Task::Regression);
        let model = Perceptron { held_back: 0.3, patience: 5, ..small(&[8], Activation::Tanh) };
        let (fitted, all) = (model.fit(&data).unwrap(), small(&[8], Activation::Tanh));
        assert_ne!(fitted.save(), all.fit(&data).unwrap().save());
        testing::check_local_model(&model, Task::Classification { classes: 2 });
    }
}
