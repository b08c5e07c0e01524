//! The laws of parametric models: weights, gradients and proximal steps belong to one loss.

use super::law_data::{self, ROWS, dataset, features, names};
use crate::{
    algebra::{add_scaled, dot, norm, scale},
    data::{Dataset, Task},
    model::{Hypothesis, Parametric},
    random::{Purpose, Stream},
};

/// Puts a model of weights for the given task under the laws of parametric models.
///
/// The laws hold for any convex loss, with and without kinks.
///
/// # Panics
///
/// If the model breaks a law; the message says which.
///
/// ```
/// use fedgrid::{data::Task, model::Linear, testing};
/// testing::check_parametric(&Linear::default(), Task::Regression);
/// ```
pub fn check_parametric(model: &dyn Parametric, task: Task) {
    check_parametric_by(model, task, std::convert::identity);
}

/// The same for a model that takes only some targets: `target` makes one of any number.
///
/// # Panics
///
/// If the model breaks a law; the message says which.
pub fn check_parametric_by(model: &dyn Parametric, task: Task, target: fn(f64) -> f64) {
    let laws = ParametricLaws { model, task, target };
    laws.weights_and_hypotheses_are_the_same_thing();
    laws.the_gradient_is_that_of_the_loss();
    laws.the_hessian_is_that_of_the_gradient();
    laws.a_proximal_step_minimises_its_definition();
    laws.a_tight_search_finds_nothing_better();
    laws.a_short_step_stays_at_its_centre();
    laws.a_long_step_ends_at_the_fit();
    laws.the_fit_stays_where_it_is();
    laws.wrong_steps_and_sizes_are_refused();
}

struct ParametricLaws<'a> {
    model: &'a dyn Parametric,
    task: Task,
    target: fn(f64) -> f64,
}

impl ParametricLaws<'_> {
    fn weights_and_hypotheses_are_the_same_thing(&self) {
        let model = self.model;
        let known = self.centre(1);
        let hypothesis = model.hypothesis(&names(), self.task, &known);
        let back = model.weights(hypothesis.as_ref()).expect("a hypothesis of its own model");
        assert_eq!(back, known, "{model:?}: weights change on their way through a hypothesis");
        let fitted = self.fit();
        let weights = model.weights(fitted.as_ref()).expect("a fit of its own model");
        assert_eq!(weights.len(), self.size(), "{model:?}: a fit of another size");
        let again = model.hypothesis(&names(), self.task, &weights);
        assert_eq!(again.save(), fitted.save(), "{model:?}: a fit changes with its weights");
    }

    fn the_gradient_is_that_of_the_loss(&self) {
        let data = self.data();
        for seed in 0..5 {
            let point = self.centre(seed);
            let gradient = self.model.gradient(&data, &point);
            for k in 0..self.size() {
                let loss = |step: f64| {
                    let mut moved = point.clone();
                    moved[k] += step;
                    self.model.loss(&data, &moved)
                };
                let (g, quotient) = (gradient[k], (loss(1e-6) - loss(-1e-6)) / 2e-6);
                // At steps of 1e-6 rounding leaves some 1e-10 of the loss, far below this bound.
                let close = (g - quotient).abs() <= 1e-5 * (1.0 + g.abs() + loss(0.0).abs());
                assert!(close, "{:?}: the gradient is {g}, the slope {quotient}", self.model);
            }
        }
    }

    fn the_hessian_is_that_of_the_gradient(&self) {
        let (data, size) = (self.data(), self.size());
        for point in (0..5).map(|seed| self.centre(seed)) {
            let Some(hessian) = self.model.hessian(&data, &point) else { return };
            let hessian = hessian.matrix();
            for k in 0..size {
                let gradient = |step: f64| {
                    let mut moved = point.clone();
                    moved[k] += step;
                    self.model.gradient(&data, &moved)
                };
                let (after, before) = (gradient(1e-6), gradient(-1e-6));
                for (row, (after, before)) in after.iter().zip(&before).enumerate() {
                    let (h, quotient) = (hessian[row * size + k], (after - before) / 2e-6);
                    let close = (h - quotient).abs() <= 1e-5 * (1.0 + h.abs() + after.abs());
                    assert!(close, "{:?}: the Hessian is {h}, not {quotient}", self.model);
                }
            }
        }
    }

    /// A loss plus ‖w − v‖² / 2τ grows from its minimum by at least ‖u − w‖² / 2τ.
    fn a_proximal_step_minimises_its_definition(&self) {
        for (data, centre, step) in self.cases() {
            let minimum = self.proximal(&data, &centre, step);
            let lowest = self.objective(&data, &centre, step, &minimum);
            // Differences of objectives are known to their rounding only.
            let rounding = 1e-11 * (1.0 + lowest.abs());
            for (seed, distance) in (0..20).flat_map(|seed| [1e-4, 1e-2, 1.0].map(|d| (seed, d))) {
                let mut moved = minimum.clone();
                add_scaled(&mut moved, distance, &self.centre(100 + seed));
                let growth = self.objective(&data, &centre, step, &moved) - lowest;
                add_scaled(&mut moved, -1.0, &minimum);
                let owed = dot(&moved, &moved) / (2.0 * step);
                assert!(
                    growth >= owed - rounding - 1e-7 * norm(&moved) / step.min(1.0),
                    "{:?}, step {step}: the proximal step is no minimum, {growth} below {owed}",
                    self.model
                );
            }
        }
    }

    fn a_tight_search_finds_nothing_better(&self) {
        for (data, centre, step) in self.cases() {
            let minimum = self.proximal(&data, &centre, step);
            let found = self.search(&data, &centre, step, &minimum);
            let of = |weights: &[f64]| self.objective(&data, &centre, step, weights);
            let (own, other) = (of(&minimum), of(&found));
            let model = self.model;
            let rounding = 1e-10 * (1.0 + other.abs());
            assert!(own <= other + rounding, "{model:?}, step {step}: {own} above {other}");
            let missed = other - own <= 1e-6 * (1.0 + own.abs());
            assert!(missed, "{model:?}, step {step}: {own} is out of reach, {other} was found");
        }
    }

    /// No proximal step is longer than τ times a gradient at its centre.
    fn a_short_step_stays_at_its_centre(&self) {
        for (data, centre, step) in self.cases() {
            // Short beside any curvature, long beside rounding.
            let step = 1e-6 * step;
            let longest = step * norm(&self.model.gradient(&data, &centre));
            let mut moved = self.proximal(&data, &centre, step);
            add_scaled(&mut moved, -1.0, &centre);
            let short = norm(&moved) <= longest * (1.0 + 1e-6) + 1e-9 * norm(&centre);
            assert!(short, "{:?}: a step of {step} goes {}", self.model, norm(&moved));
        }
    }

    fn a_long_step_ends_at_the_fit(&self) {
        let (data, fitted) = (self.data(), self.fit());
        for seed in 0..3 {
            let weights = self.proximal(&data, &self.centre(seed), 1e9);
            let ended = self.model.hypothesis(&names(), self.task, &weights);
            let (p, q) = (ended.predict(data.features()), fitted.predict(data.features()));
            for (p, q) in p.as_slice().iter().zip(q.as_slice()) {
                let close = (p - q).abs() <= 1e-5 * (1.0 + q.abs());
                assert!(close, "{:?}: a long step predicts {p}, the fit {q}", self.model);
            }
        }
    }

    /// This holds exactly where zero is a slope of the loss, kinks included.
    fn the_fit_stays_where_it_is(&self) {
        let data = self.data();
        let fitted = self.model.weights(self.fit().as_ref()).expect("a fit of its own model");
        for step in [0.1, 10.0] {
            let mut moved = self.proximal(&data, &fitted, step);
            add_scaled(&mut moved, -1.0, &fitted);
            let stays = norm(&moved) <= 1e-6 * (1.0 + norm(&fitted));
            assert!(stays, "{:?}: a step from the fit goes {}", self.model, norm(&moved));
        }
    }

    fn wrong_steps_and_sizes_are_refused(&self) {
        let (data, centre) = (self.data(), self.centre(1));
        for step in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let refused = self.model.proximal(&data, &centre, step).is_err();
            assert!(refused, "{:?}: a proximal step of {step} is taken", self.model);
        }
        let refused = self.model.proximal(&data, &centre[1..], 1.0).is_err();
        assert!(refused, "{:?}: a centre of another size is taken", self.model);
    }

    /// Tall, wide and no data, rows without weight among them, with short and long steps.
    fn cases(&self) -> Vec<(Dataset, Vec<f64>, f64)> {
        let silent =
            dataset(features(2, 3), law_data::labels(self.task, 2, 4, self.target), vec![0.0; 2]);
        let wide = self.data().select(&[2, 7]).stacked(&silent).expect("the same columns");
        let mut cases = Vec::new();
        for (seed, step) in [(1, 0.01), (2, 1.0), (3, 30.0)] {
            for data in [&self.data(), &wide, &silent] {
                cases.push((data.clone(), self.centre(seed), step));
            }
        }
        cases
    }

    /// The ellipsoid method: slow, but it needs nothing except slopes of a convex function.
    fn search(&self, data: &Dataset, centre: &[f64], step: f64, minimum: &[f64]) -> Vec<f64> {
        let size = centre.len();
        let n = size as f64;
        // If there is anything better than the minimum, there is some close to it.
        let mut distance = minimum.to_vec();
        add_scaled(&mut distance, -1.0, centre);
        let radius = 2.0 * norm(&distance) + 0.1;
        // The ellipsoid is the image of a ball under the matrix of these columns, which stays
        // exact where the matrix of its quadratic form would lose its sign.
        let mut columns: Vec<Vec<f64>> = (0..size)
            .map(|k| (0..size).map(|j| if j == k { radius } else { 0.0 }).collect())
            .collect();
        let (mut point, mut best) = (centre.to_vec(), centre.to_vec());
        let of = |weights: &[f64]| self.objective(data, centre, step, weights);
        // A step shrinks the volume by e^(−1/(2(n + 1))) at least: all of them sides by e⁻⁵⁰ on average.
        for _ in 0..100 * size * (size + 1) {
            let mut gradient = self.model.gradient(data, &point);
            add_scaled(&mut gradient, 1.0 / step, &point);
            add_scaled(&mut gradient, -1.0 / step, centre);
            let mut shares: Vec<f64> = columns.iter().map(|c| dot(c, &gradient)).collect();
            let depth = norm(&shares);
            if depth <= 1e-12 {
                break;
            }
            scale(&mut shares, 1.0 / depth);
            let mut cut = vec![0.0; size];
            columns.iter().zip(&shares).for_each(|(c, share)| add_scaled(&mut cut, *share, c));
            add_scaled(&mut point, -1.0 / (n + 1.0), &cut);
            for (column, share) in columns.iter_mut().zip(&shares) {
                add_scaled(column, (((n - 1.0) / (n + 1.0)).sqrt() - 1.0) * share, &cut);
                scale(column, n / (n * n - 1.0).sqrt());
            }
            if of(&point) < of(&best) {
                best.clone_from(&point);
            }
        }
        best
    }

    fn objective(&self, data: &Dataset, centre: &[f64], step: f64, weights: &[f64]) -> f64 {
        let mut moved = weights.to_vec();
        add_scaled(&mut moved, -1.0, centre);
        self.model.loss(data, weights) + dot(&moved, &moved) / (2.0 * step)
    }

    fn proximal(&self, data: &Dataset, centre: &[f64], step: f64) -> Vec<f64> {
        let problem = |error| panic!("{:?} refuses a step of {step}: {error}", self.model);
        self.model.proximal(data, centre, step).unwrap_or_else(problem)
    }

    fn size(&self) -> usize {
        self.model.size(names().len(), self.task)
    }

    /// Random weights.
    fn centre(&self, seed: u64) -> Vec<f64> {
        let mut stream = Stream::new(seed, 0, 0, Purpose::Start);
        (0..self.size()).map(|_| 0.3 * stream.normal()).collect()
    }

    fn data(&self) -> Dataset {
        let labels = law_data::labels(self.task, ROWS, 2, self.target);
        dataset(features(ROWS, 1), labels, law_data::weights(ROWS))
    }

    fn fit(&self) -> Box<dyn Hypothesis> {
        let problem = |error| panic!("{:?} refuses sound data: {error}", self.model);
        self.model.fit(&self.data()).unwrap_or_else(problem)
    }
}
