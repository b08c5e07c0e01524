//! A node's own model: its rows as they are, drawn to what others have published,
//!
//! ```text
//! y | w ~ N(X w, σ² I)          w ~ N(m, c T)          p(σ, c, m | y) ∝ N(y; X m, σ² I + c X T Xᵀ)
//! ```
//!
//! averaged over scatters σ, strengths 1/c and anchors (m, T), each as likely as it makes the node's own rows. That choice
//! looks at clean rows and never leaves the node, so that nothing is spent by it. One anchor is what everybody knows before
//! anything is published, so that twins that are mostly noise are not followed.

use super::spread::inverse;
use crate::{
    algebra::{Cholesky, Singular, add_scaled, dot},
    data::Dataset,
};

/// Scatters of labels about a model that are tried, as powers of two, in half ranges: from 1/64 to 1/2.
const SCATTERS: std::ops::RangeInclusive<i32> = -6..=-1;
/// Directions with less of the rows than this share are none.
const RANK_SHARE: f64 = 1e-12;

/// Where coefficients of (1, x) may be, and how sure that is.
#[derive(Debug, Clone)]
pub struct Anchor {
    /// m, labels measured from the middle of their bounds.
    pub mean: Vec<f64>,
    /// T.
    pub covariance: Vec<f64>,
    /// The factors c that are tried.
    pub scales: Vec<f64>,
}

impl Anchor {
    /// What a node knows without others: labels lie within their bounds. `gram` is Σ z zᵀ / n over points z = (1, x) that
    /// are no secret.
    #[must_use]
    pub fn of_bounds(gram: &[f64], size: usize) -> Self {
        let mut metric = gram.to_vec();
        // Features that are one and the same have no direction of their own.
        metric.iter_mut().step_by(size + 1).for_each(|entry| *entry += 1e-6);
        // Each coefficient moves predictions by as much as the next one; steps of four in variance.
        let share = 1.0 / size as f64;
        let covariance = inverse(metric, size).iter().map(|entry| share * entry).collect();
        let scales = (-5..=1).map(|step| 4.0_f64.powi(step)).collect();
        Self { mean: vec![0.0; size], covariance, scales }
    }

    /// What published models say.
    #[must_use]
    pub fn of_twins(mean: Vec<f64>, covariance: Vec<f64>) -> Self {
        // They may be as different as they look, thirty times more or thirty times less.
        let scales = (-3..=3).map(|step| 10.0_f64.powf(0.5 * f64::from(step))).collect();
        Self { mean, covariance, scales }
    }
}

/// A node's own model.
#[derive(Debug, Clone, PartialEq)]
pub struct OwnModel {
    /// The coefficients of (1, x), labels measured from the middle of their bounds.
    pub weights: Vec<f64>,
    /// How likely each anchor is after the node's rows; they sum to one.
    pub shares: Vec<f64>,
    /// The expected squared error of a prediction at points that are no secret, in squared half ranges of labels.
    pub expected_error: f64,
    /// The scatters σ² and factors c with their shares.
    pub(super) tried: Vec<[f64; 3]>,
}

/// One of the models that are averaged.
struct Candidate {
    anchor: usize,
    /// σ² and c.
    tried: [f64; 2],
    log_likelihood: f64,
    weights: Vec<f64>,
    error: f64,
}

/// The expected squared error of a site's model with an anchor, at a scatter σ² and a factor of one.
pub(super) fn expected_error(
    rows: &Dataset,
    middle: f64,
    anchor: &Anchor,
    scatter: f64,
    gram: &[f64],
) -> f64 {
    Drawn::new(rows, middle, anchor).candidate((0, anchor), (scatter, 1.0), gram).error
}

impl OwnModel {
    /// Of a node's rows, with anchors as likely as each other before they are seen.
    #[must_use]
    pub fn new(rows: &Dataset, middle: f64, anchors: &[Anchor], gram: &[f64]) -> Self {
        let mut candidates = Vec::new();
        for (place, anchor) in anchors.iter().enumerate() {
            candidates.extend(Drawn::new(rows, middle, anchor).candidates(place, anchor, gram));
        }
        let most =
            candidates.iter().map(|one| one.log_likelihood).fold(f64::NEG_INFINITY, f64::max);
        let size = anchors.first().map_or(0, |anchor| anchor.mean.len());
        let (weights, shares) = (vec![0.0; size], vec![0.0; anchors.len()]);
        let mut model = Self { weights, shares, expected_error: 0.0, tried: Vec::new() };
        // Of an anchor that is tried at more scales each counts for less.
        let weight = |one: &Candidate| {
            (one.log_likelihood - most).exp() / anchors[one.anchor].scales.len() as f64
        };
        let total: f64 = candidates.iter().map(weight).sum();
        for one in &candidates {
            let share = weight(one) / total;
            add_scaled(&mut model.weights, share, &one.weights);
            model.shares[one.anchor] += share;
            model.expected_error += share * one.error;
            model.tried.push([one.tried[0], one.tried[1], share]);
        }
        model
    }
}

/// Rows as an anchor sees them: along the directions in which they move its coefficients.
struct Drawn {
    rows: usize,
    /// The square of what the mean of the anchor leaves.
    rest: f64,
    /// L, with T = L Lᵀ.
    factor: Vec<f64>,
    directions: Vec<Direction>,
}

struct Direction {
    /// d² of Z = X L.
    square: f64,
    /// v.
    vector: Vec<f64>,
    /// vᵀZᵀr.
    moved: f64,
}

impl Drawn {
    fn new(rows: &Dataset, middle: f64, anchor: &Anchor) -> Self {
        let size = anchor.mean.len();
        let mut covariance = anchor.covariance.clone();
        let largest = covariance.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
        covariance.iter_mut().step_by(size + 1).for_each(|entry| *entry += 1e-12 * largest);
        let factor = Cholesky::new(covariance, size)
            .map_or_else(|| vec![0.0; size * size], |factor| factor.lower());
        let mut turned = Vec::with_capacity(rows.rows() * size);
        let mut rests = Vec::with_capacity(rows.rows());
        for (x, label) in rows.features().iter().zip(rows.labels().as_slice()) {
            let z: Vec<f64> = [1.0].into_iter().chain(x.iter().copied()).collect();
            rests.push(label - middle - dot(&z, &anchor.mean));
            turned.extend(
                (0..size).map(|k| (0..size).map(|l| z[l] * factor[l * size + k]).sum::<f64>()),
            );
        }
        let parts = Singular::thin(&turned, size);
        let largest = parts.values.iter().copied().fold(0.0, f64::max);
        let kept = parts.values.iter().zip(&parts.scaled_left).zip(parts.right);
        let kept = kept.filter(|((value, _), _)| **value > RANK_SHARE * largest);
        let direction = |((value, left), vector): ((&f64, &Vec<f64>), Vec<f64>)| Direction {
            square: value * value,
            vector,
            moved: dot(left, &rests),
        };
        let directions = kept.map(direction).collect();
        Self { rows: rows.rows(), rest: dot(&rests, &rests), factor, directions }
    }

    fn candidates(&self, place: usize, anchor: &Anchor, gram: &[f64]) -> Vec<Candidate> {
        let scatters = SCATTERS.map(|power| 4.0_f64.powi(power));
        let all =
            scatters.flat_map(|scatter| anchor.scales.iter().map(move |scale| (scatter, *scale)));
        all.map(|(scatter, scale)| self.candidate((place, anchor), (scatter, scale), gram))
            .collect()
    }

    /// The model of a scatter σ² and a factor c.
    fn candidate(
        &self,
        (place, anchor): (usize, &Anchor),
        (scatter, scale): (f64, f64),
        gram: &[f64],
    ) -> Candidate {
        let size = anchor.mean.len();
        let mut determinant = self.rows as f64 * scatter.ln();
        let mut square = self.rest / scatter;
        let mut turned = vec![0.0; size];
        // What stays open along each direction, and all of it along those that no row moves.
        let mut open = vec![0.0; size * size];
        open.iter_mut().step_by(size + 1).for_each(|entry| *entry = scale);
        for Direction { square: d, vector, moved } in &self.directions {
            let all = scatter + scale * d;
            determinant += (all / scatter).ln();
            square -= moved * moved * scale / (all * scatter);
            add_scaled(&mut turned, scale * moved / all, vector);
            let known = scale * scale * d / all;
            for row in 0..size {
                add_scaled(&mut open[row * size..][..size], -known * vector[row], vector);
            }
        }
        let back = |row: usize, turned: &[f64]| dot(&self.factor[row * size..][..size], turned);
        let weights = (0..size).map(|k| anchor.mean[k] + back(k, &turned)).collect();
        // tr(G L O Lᵀ)
        let mut error = scatter;
        for row in 0..size {
            let of_row: Vec<f64> = (0..size)
                .map(|k| dot(&open[k * size..][..size], &self.factor[row * size..][..size]))
                .collect();
            error += (0..size)
                .map(|column| gram[row * size + column] * back(column, &of_row))
                .sum::<f64>();
        }
        let log_likelihood = -0.5 * (determinant + square);
        Candidate { anchor: place, tried: [scatter, scale], log_likelihood, weights, error }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        data::{Features, Labels},
        random::{Purpose, Stream},
    };

    const GRAM: [f64; 4] = [1.0, 0.0, 0.0, 1.0];

    fn rows(count: usize, seed: u64) -> Dataset {
        let mut stream = Stream::new(seed, 0, 0, Purpose::Data);
        let x: Vec<f64> = (0..count).map(|_| stream.normal()).collect();
        let labels = x.iter().map(|x| 2.0 + 0.3 - 0.2 * x + 0.0625 * stream.normal()).collect();
        Dataset::new(Features::new(["x".to_string()].into(), x).unwrap(), Labels::values(labels))
            .unwrap()
    }

    fn twins(mean: [f64; 2], size: f64) -> Anchor {
        Anchor::of_twins(mean.to_vec(), vec![size, 0.0, 0.0, size])
    }

    #[test]
    fn many_rows_are_least_squares_and_none_are_the_anchor() {
        let anchors = [Anchor::of_bounds(&GRAM, 2), twins([-1.0, 1.0], 1e-4)];
        let model = OwnModel::new(&rows(5000, 1), 2.0, &anchors, &GRAM);
        assert!(
            (model.weights[0] - 0.3).abs() < 0.01 && (model.weights[1] + 0.2).abs() < 0.01,
            "{model:?}"
        );
        // Labels scatter by 1/16, and little else is open.
        assert!((model.expected_error / 0.0625_f64.powi(2) - 1.0).abs() < 0.1, "{model:?}");
        let nothing = OwnModel::new(&rows(0, 1), 2.0, &anchors[1..], &GRAM);
        assert!(
            (nothing.weights[0] + 1.0).abs() < 1e-12 && (nothing.weights[1] - 1.0).abs() < 1e-12
        );
    }

    #[test]
    fn good_twins_are_followed_and_noise_is_not() {
        let (mut gain, mut lost) = (0.0, 0.0);
        for seed in 0..40 {
            let rows = rows(4, seed);
            let error = |anchors: &[Anchor]| {
                let model = OwnModel::new(&rows, 2.0, anchors, &GRAM);
                let error = (model.weights[0] - 0.3).powi(2) + (model.weights[1] + 0.2).powi(2);
                (error, model.shares.last().copied().unwrap_or(0.0))
            };
            let alone = Anchor::of_bounds(&GRAM, 2);
            let (by_itself, _) = error(std::slice::from_ref(&alone));
            let (with_good, share) = error(&[alone.clone(), twins([0.31, -0.21], 4e-4)]);
            assert!(share > 0.5, "{share}");
            let (with_noise, _) = error(&[alone, twins([9.0, -7.0], 0.01)]);
            gain += by_itself - with_good;
            lost += with_noise - by_itself;
        }
        assert!(gain > 0.0 && lost < 0.2 * gain, "{gain} {lost}");
    }
}
