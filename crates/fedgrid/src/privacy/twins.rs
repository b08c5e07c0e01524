//! Own models beside twins: a node's own rows stay with it as they are, and draw its model to what its neighbours have
//! published,
//!
//! ```text
//! published   h̃_j  learnt from releases alone, by any method and for any number of rounds
//! own         w | own rows,  w ~ N(Σ_j A_ij h̃_j / Σ_j A_ij, c T)          j ∈ N(i)
//! ```
//!
//! or to what everybody knows of the labels, their bounds, if that makes its rows likelier ([`OwnModel`]). The own model is
//! the only one that knows clean rows, and is never published.

use std::sync::Arc;

use super::{Anchor, Bits, Mechanism, OwnModel, PrivateKind, Release, forecast::gram};
use crate::{
    algebra::{Singular, add_scaled, dot},
    data::{Dataset, Features, Labels},
    model::LinearHypothesis,
    random::{Purpose, Stream},
};

/// What nodes publish of their rows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Privacy {
    /// What is private.
    pub kind: PrivateKind,
    /// How much may be told of a row; infinite for no noise.
    pub mu: f64,
    /// δ of the budget that μ is of.
    pub delta: f64,
    /// The middle of the bounds of labels, in multiples of half their range.
    pub middle: f64,
    /// The seed of the noise of rehearsals. Whoever knows it can take the noise away again.
    pub seed: u64,
}

impl Privacy {
    /// How rows become what is released.
    #[must_use]
    pub fn mechanism(&self) -> Mechanism {
        Mechanism { kind: self.kind, mu: self.mu, middle: self.middle }
    }

    /// The release of some rows of a node in a rehearsal. `place` is that of the node by name, and `part` tells the rows of a
    /// node apart that are released for themselves.
    #[must_use]
    pub fn rehearsed(&self, rows: &Dataset, place: usize, part: usize) -> Release {
        let bits: &mut dyn Bits = &mut Stream::new(self.seed, place, part, Purpose::Privacy);
        self.mechanism().release(rows, bits)
    }
}

/// What a node hears of its neighbours.
#[derive(Debug, Clone, Default)]
pub struct TwinsHeard {
    /// The weight of each edge with what is at its other end: coefficients of (1, x).
    pub twins: Vec<(f64, Vec<f64>)>,
}

impl TwinsHeard {
    /// The model of a node of its own rows and of what it hears. `public` are points that are no secret.
    #[must_use]
    pub fn own_model(&self, rows: &Dataset, middle: f64, public: &Features) -> OwnModel {
        let size = rows.features().columns() + 1;
        let gram = gram(public);
        let bounds = Anchor::of_bounds(&gram, size);
        let mut anchors = Vec::with_capacity(1 + SLOPE_SHARES.len());
        if let Some(mean) = self.mean(size, middle) {
            anchors.extend(SLOPE_SHARES.map(|share| Anchor {
                mean: mean.clone(),
                covariance: with_slopes(&bounds.covariance, size, share),
                scales: TWIN_SCALES.map(|step| 4.0_f64.powi(step)).collect(),
            }));
        }
        // Where no row tells them apart, what was published is worth more than the middle of the bounds.
        if rows.rows() > 0 || anchors.is_empty() {
            anchors.push(bounds);
        }
        OwnModel::new(rows, middle, &anchors, &gram)
    }

    /// The mean of the twins, labels measured from the middle of their bounds; none without any.
    fn mean(&self, size: usize, middle: f64) -> Option<Vec<f64>> {
        let total: f64 = self.twins.iter().map(|(weight, _)| weight).sum();
        if total <= 0.0 {
            return None;
        }
        let mut mean = vec![0.0; size];
        for (weight, twin) in &self.twins {
            add_scaled(&mut mean, weight / total, twin);
        }
        mean[0] -= middle;
        Some(mean)
    }
}

/// How far from its neighbours' twins a node may be, as powers of four of the variance that bounds allow.
const TWIN_SCALES: std::ops::RangeInclusive<i32> = -6..=0;
/// How much of that is the variance of slopes, beside that of levels: neighbours may differ in both, or hardly in slopes.
const SLOPE_SHARES: [f64; 4] = [1.0, 0.25, 0.0625, 0.015_625];

/// A covariance of (1, x) with this share of the variance of slopes.
fn with_slopes(covariance: &[f64], size: usize, share: f64) -> Vec<f64> {
    let factor = |k: usize| if k == 0 { 1.0 } else { share.sqrt() };
    let entry = |(at, entry): (usize, &f64)| factor(at / size) * factor(at % size) * entry;
    covariance.iter().enumerate().map(entry).collect()
}

impl OwnModel {
    /// The same as a model of rows.
    #[must_use]
    pub fn hypothesis(&self, names: Arc<[String]>, middle: f64) -> LinearHypothesis {
        let slopes = self.weights.iter().skip(1).copied().collect();
        let intercept = self.weights.first().copied().unwrap_or(0.0) + middle;
        LinearHypothesis { names, slopes, intercept }
    }
}

/// How coefficients of affine models are read off their predictions on some points.
#[derive(Debug, Clone)]
pub struct Reading {
    /// What a direction of coefficients does to predictions, and the direction.
    directions: Vec<(Vec<f64>, Vec<f64>)>,
    size: usize,
}

impl Reading {
    /// Off these points.
    #[must_use]
    pub fn off(points: &Features) -> Self {
        let size = points.columns() + 1;
        let design: Vec<f64> =
            points.iter().flat_map(|x| [1.0].into_iter().chain(x.iter().copied())).collect();
        let parts = Singular::thin(&design, size);
        let largest = parts.values.iter().copied().fold(0.0, f64::max);
        let kept = parts.values.into_iter().zip(parts.scaled_left).zip(parts.right);
        let kept = kept.filter(|((value, _), _)| *value > RANK_SHARE * largest);
        let scaled = |((value, mut left), right): ((f64, Vec<f64>), Vec<f64>)| {
            for entry in &mut left {
                *entry /= value * value;
            }
            (left, right)
        };
        Self { directions: kept.map(scaled).collect(), size }
    }

    /// The coefficients of (1, x): the shortest that predict this.
    #[must_use]
    pub fn coefficients(&self, predicted: &Labels) -> Vec<f64> {
        let mut coefficients = vec![0.0; self.size];
        for (left, right) in &self.directions {
            add_scaled(&mut coefficients, dot(left, predicted.as_slice()), right);
        }
        coefficients
    }
}

/// Points reach a direction if its singular value is at least this share of the largest.
const RANK_SHARE: f64 = 1e-9;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Hypothesis;

    fn rows(count: usize, seed: u64) -> Dataset {
        let mut stream = Stream::new(seed, 0, 0, Purpose::Data);
        let x: Vec<f64> = (0..count).map(|_| stream.normal()).collect();
        let labels = x.iter().map(|x| 2.3 - 0.2 * x + 0.05 * stream.normal()).collect();
        Dataset::new(Features::new(["x".to_string()].into(), x).unwrap(), Labels::values(labels))
            .unwrap()
    }

    fn points() -> Features {
        Features::from_rows(&["x"], &[[-1.0], [1.0]]).unwrap()
    }

    #[test]
    fn coefficients_are_those_of_the_map_as_far_as_points_tell_them() {
        let names: Arc<[String]> = ["a", "b"].map(String::from).into();
        let map =
            LinearHypothesis { names: names.clone(), slopes: vec![2.0, -3.0], intercept: 0.5 };
        let told = |points: &Features| Reading::off(points).coefficients(&map.predict(points));
        let all = [[0.0, 1.0], [1.0, 0.5], [-1.0, 0.0], [0.3, 0.3]];
        let found = told(&Features::from_rows(&["a", "b"], &all).unwrap());
        assert!(found.iter().zip([0.5, 2.0, -3.0]).all(|(a, b)| (a - b).abs() < 1e-12));
        // Where b is always zero nothing is told of it.
        let few = Features::from_rows(&["a", "b"], &[[0.0, 0.0], [1.0, 0.0]]).unwrap();
        let found = told(&few);
        assert!(found.iter().zip([0.5, 2.0, 0.0]).all(|(a, b)| (a - b).abs() < 1e-12), "{found:?}");
    }

    #[test]
    fn good_twins_pull_and_many_rows_or_bad_twins_do_not() {
        let far = |rows: &Dataset, twins: &[(f64, Vec<f64>)]| {
            let own = TwinsHeard { twins: twins.to_vec() }.own_model(rows, 2.0, &points());
            let model = own.hypothesis(rows.features().names().clone(), 2.0);
            (model.intercept - 2.3).hypot(model.slopes[0] + 0.2)
        };
        let good = [(1.0, vec![2.31, -0.21]), (3.0, vec![2.29, -0.19])];
        let bad = [(1.0, vec![-7.0, 5.0])];
        let (mut alone, mut helped, mut harmed) = (0.0, 0.0, 0.0);
        for seed in 0..40 {
            let rows = rows(2, seed);
            alone += far(&rows, &[]);
            helped += far(&rows, &good);
            harmed += far(&rows, &bad);
        }
        assert!(helped < 0.5 * alone && harmed < 1.1 * alone, "{alone} {helped} {harmed}");
        assert!((far(&rows(20_000, 1), &good) - far(&rows(20_000, 1), &bad)).abs() < 1e-3);
    }

    #[test]
    fn a_node_without_rows_is_what_it_hears_and_edges_without_weight_are_none() {
        let nothing = rows(0, 1);
        let heard = TwinsHeard { twins: vec![(1.0, vec![2.5, 0.1]), (0.0, vec![9.0, 9.0])] };
        let own = heard.own_model(&nothing, 2.0, &points());
        assert!((own.weights[0] - 0.5).abs() < 1e-9 && (own.weights[1] - 0.1).abs() < 1e-9);
        let deaf = TwinsHeard { twins: vec![(0.0, vec![9.0, 9.0])] };
        assert_eq!(deaf.own_model(&nothing, 2.0, &points()).shares.len(), 1);
    }
}
