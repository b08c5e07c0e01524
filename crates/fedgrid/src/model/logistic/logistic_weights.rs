//! A logistic model as a vector of weights: for each output its slopes, then its intercept. Two
//! classes have one output, more classes one each.

use std::sync::Arc;

use super::{Logistic, LogisticHypothesis, objective::probabilities, row_loss::CrossEntropy};
use crate::{
    algebra::{add_scaled, dot},
    data::{Dataset, Labels, Task},
    error::Result,
    model::{
        Curvature, Hypothesis, LinearOutputs, Link, LossShape, Parametric, SecondDerivative, Steps,
        solver::{PenalisedLoss, RowLoss, RowShape, check_proximal},
    },
};

/// Up to so many classes need no memory of their own.
const MOST_CLASSES_AT_ONCE: usize = 16;

/// How many outputs a task has.
fn outputs(task: Task) -> usize {
    match task {
        Task::Classification { classes } if classes > 2 => classes,
        _ => 1,
    }
}

impl Logistic {
    /// The outputs of one row.
    fn outputs(&self, x: &[f64], weights: &[f64]) -> Vec<f64> {
        let own = weights.chunks_exact(self.affine().size(x.len()).max(1));
        own.map(|own| dot(own, x) + own.get(x.len()).copied().unwrap_or(0.0)).collect()
    }
}

impl Parametric for Logistic {
    fn size(&self, columns: usize, task: Task) -> usize {
        outputs(task) * self.affine().size(columns)
    }

    fn loss(&self, data: &Dataset, weights: &[f64]) -> f64 {
        let columns = data.features().columns();
        let blocks = weights.chunks_exact(self.affine().size(columns).max(1));
        let mut loss: f64 = blocks.map(|own| self.affine().penalty(&own[..columns])).sum();
        let row_loss = CrossEntropy::new(data);
        for (row, (x, weight)) in data.features().iter().zip(data.weights()).enumerate() {
            if *weight > 0.0 {
                loss += weight * row_loss.value(row, &self.outputs(x, weights));
            }
        }
        loss
    }

    fn gradient(&self, data: &Dataset, weights: &[f64]) -> Vec<f64> {
        let columns = data.features().columns();
        let width = self.affine().size(columns);
        let mut gradient = Vec::with_capacity(weights.len());
        for own in weights.chunks_exact(width.max(1)) {
            gradient.extend(self.affine().penalty_gradient(&own[..columns]));
            gradient.extend(self.intercept.then_some(0.0));
        }
        let row_loss = CrossEntropy::new(data);
        let mut slopes = vec![0.0; row_loss.outputs()];
        for (row, (x, weight)) in data.features().iter().zip(data.weights()).enumerate() {
            if *weight > 0.0 {
                row_loss.slopes(row, &self.outputs(x, weights), &mut slopes);
                for (own, slope) in gradient.chunks_exact_mut(width.max(1)).zip(&slopes) {
                    add_scaled(&mut own[..columns], weight * slope, x);
                    own[columns..].iter_mut().for_each(|level| *level += weight * slope);
                }
            }
        }
        gradient
    }

    fn hessian(&self, data: &Dataset, weights: &[f64]) -> Option<SecondDerivative> {
        // Newton steps across the kinks of the lasso would be wrong steps.
        if self.lasso > 0.0 {
            return None;
        }
        let (columns, size) = (data.features().columns(), weights.len());
        let width = self.affine().size(columns).max(1);
        let entry = |k: usize| if k % width < columns { 2.0 * self.ridge } else { 0.0 };
        let diagonal = (0..size).map(entry).collect();
        let row_loss = CrossEntropy::new(data);
        let rows = self.affine().rows(data.features());
        let mut lines = Vec::new();
        for (row, (x, weight)) in rows.chunks_exact(width).zip(data.weights()).enumerate() {
            if *weight > 0.0 {
                let own = weight.sqrt();
                let root = row_loss.root(row, &self.outputs(&x[..columns], weights));
                for r in root {
                    lines.extend(x.iter().map(|x| own * r * x));
                }
            }
        }
        Some(SecondDerivative { diagonal, lines })
    }

    fn as_linear_outputs(&self) -> Option<&dyn LinearOutputs> {
        // The kinks of the lasso have no second derivative.
        (self.lasso == 0.0).then_some(self)
    }

    fn subgradient(&self, data: &Dataset, weights: &[f64], wanted: &[f64]) -> (Vec<f64>, f64) {
        let mut gradient = self.gradient(data, weights);
        let columns = data.features().columns();
        let width = self.affine().size(columns).max(1);
        let blocks = gradient.chunks_exact_mut(width).zip(wanted.chunks_exact(width));
        for (own, (gradient, wanted)) in weights.chunks_exact(width).zip(blocks) {
            self.affine().nearest_lasso(&own[..columns], gradient, wanted);
        }
        (gradient, 0.0)
    }

    fn proximal_by(&self, data: &Dataset, centre: &[f64], steps: Steps) -> Result<Vec<f64>> {
        self.check(data)?;
        let columns = data.features().columns();
        check_proximal(centre, self.size(columns, data.task()), steps.slopes)?;
        let data = data.without_zero_weights();
        let width = self.affine().size(columns);
        let (mut centres, mut strengths) = (Vec::new(), Vec::new());
        for own in centre.chunks_exact(width.max(1)) {
            let pulls = self.affine().proximal_pulls(columns, own, steps);
            centres.extend(pulls.centres);
            strengths = pulls.strengths;
        }
        let problem = PenalisedLoss {
            loss: &CrossEntropy::new(&data),
            rows: &self.affine().rows(data.features()),
            width,
            weights: data.weights(),
            strengths: &strengths,
            centres: &centres,
            lassos: &self.affine().lassos(columns),
        };
        problem.minimise_near(centre)
    }

    fn shape(&self) -> LossShape {
        LossShape { convex: true, smooth: self.lasso == 0.0, ridge: self.ridge }
    }

    fn radius(&self, data: &Dataset, bound: f64) -> Option<f64> {
        if outputs(data.task()) > 1 {
            // A common shift of the intercepts changes nothing, so only slopes can be bounded.
            return (!self.intercept)
                .then(|| self.affine().by_penalty(bound))
                .filter(|r| r.is_finite());
        }
        let shares: Vec<f64> = data.labels().as_slice().chunks_exact(2).map(|p| p[1]).collect();
        let labelled = Dataset::weighted(
            data.features().clone(),
            Labels::values(shares),
            data.weights().to_vec(),
        );
        let shape = RowShape {
            loss: |y: f64, output: f64| {
                output.max(0.0) + (-output.abs()).exp().ln_1p() - y * output
            },
            least: |_| 0.0,
            // Certain labels have their least loss at infinity.
            inside: |y: f64| (y.clamp(1e-9, 1.0 - 1e-9) / (1.0 - y.clamp(1e-9, 1.0 - 1e-9))).ln(),
        };
        self.affine().radius(&labelled.ok()?, bound, &shape)
    }

    fn hypothesis(&self, names: &Arc<[String]>, task: Task, w: &[f64]) -> Box<dyn Hypothesis> {
        let (mut slopes, mut intercepts) = (Vec::new(), Vec::new());
        for own in w.chunks_exact(self.affine().size(names.len()).max(1)) {
            slopes.push(own[..names.len()].to_vec());
            intercepts.push(own.get(names.len()).copied().unwrap_or(0.0));
        }
        let (names, classes) = (names.clone(), task.outputs());
        Box::new(LogisticHypothesis { names, classes, slopes, intercepts })
    }

    fn weights(&self, hypothesis: &dyn Hypothesis) -> Option<Vec<f64>> {
        let hypothesis = hypothesis.downcast_ref::<LogisticHypothesis>()?;
        let mut weights = Vec::new();
        for (slopes, intercept) in hypothesis.slopes.iter().zip(&hypothesis.intercepts) {
            weights.extend_from_slice(slopes);
            weights.extend(self.intercept.then_some(*intercept));
        }
        Some(weights)
    }

    fn intercepts(&self, columns: usize, task: Task) -> Vec<usize> {
        self.affine().intercepts(columns, outputs(task))
    }
}

impl LinearOutputs for Logistic {
    fn link(&self) -> Link {
        Link::Canonical
    }

    fn outputs(&self, task: Task) -> usize {
        outputs(task)
    }

    fn has_intercept(&self) -> bool {
        self.intercept
    }

    fn ridge(&self) -> f64 {
        self.ridge
    }

    fn row_value(&self, label: &[f64], outputs: &[f64]) -> f64 {
        if let [output] = outputs {
            return output.max(0.0) + (-output.abs()).exp().ln_1p() - label[1] * output;
        }
        let largest = outputs.iter().fold(f64::NEG_INFINITY, |a, b| a.max(*b));
        let sum: f64 = outputs.iter().map(|output| (output - largest).exp()).sum();
        let rows = label.iter().zip(outputs);
        rows.map(|(p, output)| p * (sum.ln() + (largest - output))).sum()
    }

    fn derivatives(
        &self,
        label: &[f64],
        outputs: &[f64],
        slopes: &mut [f64],
        curvatures: &mut [f64],
        _kind: Curvature,
    ) {
        if let [output] = outputs {
            // The smaller of both probabilities is exact also where the other rounds to one.
            let odds = (-output.abs()).exp();
            let (large, small) = (1.0 / (1.0 + odds), odds / (1.0 + odds));
            let (q, rest) = if *output >= 0.0 { (large, small) } else { (small, large) };
            slopes[0] = q * label[0] - label[1] * rest;
            curvatures[0] = q * rest;
            return;
        }
        let mut few = [0.0; MOST_CLASSES_AT_ONCE];
        let mut many = Vec::new();
        let rests = if outputs.len() <= MOST_CLASSES_AT_ONCE {
            &mut few[..outputs.len()]
        } else {
            many.resize(outputs.len(), 0.0);
            &mut many[..]
        };
        // The slopes hold the probabilities until the curvatures are known.
        probabilities(outputs, slopes, rests);
        let mut entry = 0;
        for a in 0..outputs.len() {
            for b in 0..=a {
                curvatures[entry] = slopes[a] * if a == b { rests[a] } else { -slopes[b] };
                entry += 1;
            }
        }
        for ((slope, rest), p) in slopes.iter_mut().zip(rests.iter()).zip(label) {
            // This is q − p without cancellation where both are close to one.
            *slope = *slope * (1.0 - p) - p * rest;
        }
    }

    fn has_common_shift(&self, task: Task) -> bool {
        outputs(task) > 1
    }
}
