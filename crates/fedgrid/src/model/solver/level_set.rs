//! How large the weights of an affine model can be when its loss is at most a bound,
//!
//! ```text
//! weight_r loss(y_r, η_r) ≤ bound − what the other rows cost at least      for every row, so η_r is in an interval
//! ridge ‖w‖² + lasso ‖w‖₁ ≤ bound − what all rows cost at least            so ‖w‖ is bounded
//! ```
//!
//! Either the penalty bounds the slopes and the intervals then the intercept, or the intervals
//! bound all weights because the rows determine them. Certificates of networks stand on it.

use super::affine::Affine;
use crate::{
    algebra::{Singular, dot, norm, triangularise},
    data::Dataset,
};

/// The loss of one row as a function of its output: convex, with a point in every level set.
pub(crate) struct RowShape<L, M, I> {
    /// The loss of label and output.
    pub(crate) loss: L,
    /// The least loss for a label.
    pub(crate) least: M,
    /// An output near where the loss is least.
    pub(crate) inside: I,
}

/// Outputs beyond this count as unbounded.
const UNBOUNDED_OUTPUT: f64 = 1e12;

impl Affine {
    /// What the loss is at least.
    pub(crate) fn least_loss(data: &Dataset, least: impl Fn(f64) -> f64) -> f64 {
        let rows = data.labels().as_slice().iter().zip(data.weights());
        rows.filter(|(_, weight)| **weight > 0.0).map(|(y, weight)| weight * least(*y)).sum()
    }

    /// A radius around zero that contains all weights whose loss is at most the bound.
    pub(crate) fn radius(
        self,
        data: &Dataset,
        bound: f64,
        shape: &RowShape<impl Fn(f64, f64) -> f64, impl Fn(f64) -> f64, impl Fn(f64) -> f64>,
    ) -> Option<f64> {
        let data = data.without_zero_weights();
        let left = bound - Self::least_loss(&data, &shape.least);
        // A little more than is left, so that rounding cuts off no weights that just reach the
        // bound.
        let left = left.max(0.0) + 1e-12 * bound.abs();
        let rows = data.labels().as_slice().iter().zip(data.weights());
        let intervals: Vec<(f64, f64)> = rows
            .map(|(y, weight)| {
                let level = (shape.least)(*y) + left / weight;
                interval(|output| (shape.loss)(*y, output), (shape.inside)(*y), level)
            })
            .collect();
        let by_penalty = self.penalised(&data, left, &intervals);
        let by_rows = self.determined(&data, &intervals);
        let radius = by_penalty.min(by_rows);
        radius.is_finite().then_some(radius)
    }

    /// The length of slopes whose penalty is at most so much.
    pub(crate) fn by_penalty(self, left: f64) -> f64 {
        let by_ridge = if self.ridge > 0.0 { (left / self.ridge).sqrt() } else { f64::INFINITY };
        let by_lasso = if self.lasso > 0.0 { left / self.lasso } else { f64::INFINITY };
        by_ridge.min(by_lasso)
    }

    /// The penalty bounds the slopes, and then the intervals bound the intercept.
    fn penalised(self, data: &Dataset, left: f64, intervals: &[(f64, f64)]) -> f64 {
        let slopes = self.by_penalty(left);
        if !self.intercept || slopes.is_infinite() {
            return slopes;
        }
        let (mut low, mut high) = (f64::NEG_INFINITY, f64::INFINITY);
        for (x, (from, to)) in data.features().iter().zip(intervals) {
            low = low.max(from - slopes * norm(x));
            high = high.min(to + slopes * norm(x));
        }
        slopes.hypot(low.abs().max(high.abs()))
    }

    /// The rows determine the weights: ‖w‖ ≤ ‖η‖ / least singular value.
    fn determined(self, data: &Dataset, intervals: &[(f64, f64)]) -> f64 {
        let width = self.size(data.features().columns());
        let mut rows = self.rows(data.features());
        if intervals.len() < width || width == 0 {
            return f64::INFINITY;
        }
        triangularise(&mut rows, width, &mut vec![0.0; intervals.len()]);
        let values = Singular::new(&rows, width).values;
        let least = values.iter().fold(f64::INFINITY, |a: f64, b| a.min(*b));
        // A least singular value of the size of rounding may be too large, and the radius then too
        // small.
        if values.len() < width || least <= 1e-10 * values.iter().fold(0.0, |a: f64, b| a.max(*b)) {
            return f64::INFINITY;
        }
        let ends: Vec<f64> =
            intervals.iter().map(|(low, high)| low.abs().max(high.abs())).collect();
        dot(&ends, &ends).sqrt() / least
    }
}

/// An interval that contains all outputs of at most a loss.
fn interval(loss: impl Fn(f64) -> f64, inside: f64, level: f64) -> (f64, f64) {
    // A loss that is least at infinity may exceed a low level where the search begins.
    let level = level.max(loss(inside));
    let end = |direction: f64| {
        // Doubling goes too far by a factor of two at most: that costs tightness, never truth.
        let mut reach = 1e-3;
        while loss(inside + direction * reach) <= level {
            reach *= 2.0;
            if reach > UNBOUNDED_OUTPUT {
                return direction * f64::INFINITY;
            }
        }
        inside + direction * reach
    };
    (end(-1.0), end(1.0))
}

#[cfg(test)]
mod tests {
    use crate::{
        data::{Dataset, Features, Labels, Task},
        model::{ElasticNet, Huber, Logistic, Parametric, Poisson, Quantile},
        random::{Purpose, Stream},
    };

    /// The largest weights on rays from zero whose loss is at most the bound.
    fn farthest(model: &dyn Parametric, data: &Dataset, bound: f64) -> f64 {
        let stream = &mut Stream::new(1, 0, 0, Purpose::Data);
        let size = model.size(2, data.task());
        let mut farthest = 0.0_f64;
        for _ in 0..2000 {
            let direction: Vec<f64> = (0..size).map(|_| stream.normal()).collect();
            let length = direction.iter().map(|d| d * d).sum::<f64>().sqrt();
            for step in 0..60 {
                let reach = 1e-2 * 1.3_f64.powi(step);
                let w: Vec<f64> = direction.iter().map(|d| reach * d / length).collect();
                if model.loss(data, &w) <= bound {
                    farthest = farthest.max(reach);
                }
            }
        }
        farthest
    }

    #[test]
    fn no_weights_of_small_loss_lie_beyond_the_radius() {
        let stream = &mut Stream::new(2, 0, 0, Purpose::Data);
        let rows: Vec<[f64; 2]> = (0..8).map(|_| [stream.normal(), stream.normal()]).collect();
        let features = Features::from_rows(&["a", "b"], &rows).unwrap();
        let numbers = Labels::values((0..8).map(|_| stream.normal()).collect());
        let counts = Labels::values((0..8).map(|k| f64::from(k % 3)).collect());
        let classes = Labels::classes(2, &[0, 1, 1, 0, 1, 0, 0, 1]).unwrap();
        let data =
            |labels: Labels| Dataset::weighted(features.clone(), labels, vec![0.125; 8]).unwrap();
        let cases: [(Box<dyn Parametric>, Dataset); 6] = [
            (
                Box::new(ElasticNet { ridge: 0.1, lasso: 0.0, intercept: true }),
                data(numbers.clone()),
            ),
            (
                Box::new(ElasticNet { ridge: 0.0, lasso: 0.1, intercept: true }),
                data(numbers.clone()),
            ),
            (Box::new(Huber { ridge: 0.0, ..Huber::default() }), data(numbers.clone())),
            (Box::new(Quantile { level: 0.3, ridge: 0.0, intercept: true }), data(numbers)),
            (Box::new(Poisson { ridge: 0.1, intercept: true }), data(counts)),
            (Box::new(Logistic { ridge: 0.05, lasso: 0.0, intercept: true }), data(classes)),
        ];
        for (model, data) in &cases {
            let size = model.size(2, data.task());
            let bound = model.loss(data, &vec![0.1; size]) + 0.3;
            let radius = model.radius(data, bound).expect("these losses bound their weights");
            let farthest = farthest(model.as_ref(), data, bound);
            assert!(farthest > 0.0 && farthest <= radius, "{model:?}: {farthest} beyond {radius}");
        }
        assert!(matches!(cases[5].1.task(), Task::Classification { .. }));
    }

    #[test]
    fn a_loss_that_falls_for_ever_bounds_no_weights_however_small_it_is() {
        let features = Features::from_rows(&["a"], &[[1.0], [2.0]]).unwrap();
        let zeros = Dataset::new(features.clone(), Labels::values(vec![0.0, 0.0])).unwrap();
        assert_eq!(Poisson { ridge: 0.1, intercept: true }.radius(&zeros, 1e-9), None);
        let ones = Dataset::new(features, Labels::classes(2, &[1, 1]).unwrap()).unwrap();
        let logistic = Logistic { ridge: 0.1, lasso: 0.0, intercept: true };
        assert_eq!(logistic.radius(&ones, 1e-12), None);
    }

    #[test]
    fn separable_classes_without_penalty_have_no_radius() {
        let features = Features::from_rows(&["a"], &[[-1.0], [1.0]]).unwrap();
        let data = Dataset::new(features, Labels::classes(2, &[0, 1]).unwrap()).unwrap();
        let free = Logistic { ridge: 0.0, lasso: 0.0, intercept: true };
        assert_eq!(free.radius(&data, 1.0), None);
    }
}
