//! What a site can expect, before anything is published: from its own rows, and what everybody knows,
//!
//! ```text
//! alone      E |ŷ − y|² of its own model, by its rows
//! best       the same if twins of n sites are published that are all alike, each as noised as its own: w ~ N(·, Λ⁻¹ / (n − 1))
//! twins      the same if sites differ as they usually do, by an eighth of half the range of labels
//! ```
//!
//! Sites are never quite alike, so that `best` is a bound: where it is no gain, there is none to be had. How much they differ
//! is no public fact, so that `twins` is a guess, and a rehearsal with rows that may be pooled says more.

use super::{
    Mechanism,
    own_model::{Anchor, OwnModel, expected_error},
    spread::inverse,
};
use crate::{
    algebra::{add_outer, add_scaled},
    data::{Dataset, Features},
    random::{Purpose, Stream},
};

/// What is expected to be gained at least, as a share of the error alone: less is not worth that anything is told.
const LEAST_GAIN: f64 = 0.1;

/// How much predictions of two sites usually differ: the square of an eighth of half the range.
const USUAL_SPREAD: f64 = 1.0 / 64.0;
/// Models that are less likely have no say.
const LEAST_SHARE: f64 = 1e-4;

/// What everybody knows.
#[derive(Debug, Clone)]
pub struct Public {
    /// How many sites publish a twin.
    pub sites: usize,
    /// Σ z zᵀ / n over points z = (1, x).
    pub gram: Vec<f64>,
}

/// Expected squared errors of a site's own model, in squared half ranges of the labels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Forecast {
    /// With its own rows alone.
    pub alone: f64,
    /// With the twins of all others, if sites differ as they usually do.
    pub twins: f64,
    /// The same if all sites are alike.
    pub best: f64,
}

impl Public {
    /// Of so many sites, and the points on which models are compared.
    #[must_use]
    pub fn of(sites: usize, points: &Features) -> Self {
        Self { sites, gram: gram(points) }
    }
}

/// Σ z zᵀ / n over points z = (1, x).
pub(super) fn gram(points: &Features) -> Vec<f64> {
    let size = points.columns() + 1;
    let mut sum = vec![0.0; size * size];
    let share = 1.0 / points.rows().max(1) as f64;
    for x in points.iter() {
        let z: Vec<f64> = [1.0].into_iter().chain(x.iter().copied()).collect();
        add_outer(&mut sum, share, &z);
    }
    sum
}

impl Forecast {
    /// Of a site's training rows, and all rows that it would release by a mechanism.
    #[must_use]
    pub fn new(
        (rows, released): (&Dataset, &Dataset),
        mechanism: &Mechanism,
        public: &Public,
    ) -> Self {
        let size = rows.features().columns() + 1;
        let own = Anchor::of_bounds(&public.gram, size);
        let middle = mechanism.middle;
        let alone = OwnModel::new(rows, middle, std::slice::from_ref(&own), &public.gram);
        // How sure a release is depends on features and noise, not on which noise was drawn: nothing is released here.
        let clean = Mechanism { mu: f64::INFINITY, ..*mechanism };
        let deviation = mechanism.queries(released).sensitivity / mechanism.mu;
        let mut released = clean.release(released, &mut Stream::new(0, 0, 0, Purpose::Privacy));
        released.take_deviation(deviation);
        let others = public.sites.saturating_sub(1) as f64;
        let with_others = |spread: f64, [scatter, scale, share]: &[f64; 3]| {
            let (precision, _) = released.information(scatter.sqrt());
            let bounds = own.covariance.iter().map(|entry| scale * entry).collect();
            let mut sum = inverse(bounds, size);
            sum.iter_mut().zip(&precision).for_each(|(sum, own)| *sum += others * own);
            let mut covariance = inverse(sum, size);
            add_scaled(&mut covariance, spread, &own.covariance);
            let anchor = Anchor { mean: own.mean.clone(), covariance, scales: Vec::new() };
            share * expected_error(rows, middle, &anchor, *scatter, &public.gram)
        };
        let likely: Vec<&[f64; 3]> =
            alone.tried.iter().filter(|tried| tried[2] > LEAST_SHARE).collect();
        let left: f64 = likely.iter().map(|tried| tried[2]).sum();
        // Who is better off alone does not follow twins.
        let error = |spread: f64| {
            let sum: f64 = likely.iter().map(|tried| with_others(spread, tried)).sum();
            (sum / left).min(alone.expected_error)
        };
        let (twins, best) = (error(USUAL_SPREAD), error(0.0));
        Self { alone: alone.expected_error, twins, best }
    }

    /// The share of the error alone that is usually gained.
    #[must_use]
    pub fn gain(self) -> f64 {
        if self.alone > 0.0 { 1.0 - self.twins / self.alone } else { 0.0 }
    }

    /// Whether it is better to stay out.
    #[must_use]
    pub fn stays_out(self) -> bool {
        self.gain() < LEAST_GAIN
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{data::Labels, privacy::PrivateKind};

    fn forecast(rows: usize, sites: usize, mu: f64) -> Forecast {
        let mut stream = Stream::new(8, 0, 0, Purpose::Data);
        let x: Vec<f64> = (0..rows).map(|_| 2.0 * stream.uniform() - 1.0).collect();
        let labels = x.iter().map(|x| 0.3 - 0.2 * x + 0.1 * stream.normal()).collect();
        let features = Features::new(["x".to_string()].into(), x).unwrap();
        let rows = Dataset::new(features, Labels::values(labels)).unwrap();
        let mechanism = Mechanism { kind: PrivateKind::Labels, mu, middle: 0.0 };
        let public = Public { sites, gram: vec![1.0, 0.0, 0.0, 0.33] };
        Forecast::new((&rows, &rows), &mechanism, &public)
    }

    #[test]
    fn few_rows_and_much_noise_are_better_off_alone_and_rows_and_sites_pay() {
        assert!(forecast(4, 20, 0.1).stays_out());
        assert!(forecast(1000, 200, 3.0).stays_out(), "who has rows enough needs nobody");
        assert!(!forecast(4, 2000, 3.0).stays_out());
        let gains = [0.05, 0.5, 5.0, f64::INFINITY].map(|mu| forecast(4, 100, mu).gain());
        assert!(gains.is_sorted() && gains[3] > 0.1, "{gains:?}");
        assert!(forecast(4, 1, 1.0).gain() < 1e-9, "without others there is nothing to gain");
    }
}
