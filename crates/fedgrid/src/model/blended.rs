//! The mean of several hypotheses, for a node without a model of its own,
//!
//! ```text
//! h(x) = Σ_j A_j h_j(x) / Σ_j A_j
//! ```
//!
//! over its neighbours j. Of linear hypotheses it is the one of the mean weights; of classes probabilities are averaged.

use std::sync::Arc;

use super::Hypothesis;
use crate::{
    data::{Features, Labels},
    error::{Error, Result},
};

/// A weighted mean of hypotheses.
#[derive(Debug, Clone)]
pub struct Blended {
    /// Each with its share; they add up to one.
    parts: Vec<(f64, Arc<dyn Hypothesis>)>,
}

impl Blended {
    /// The mean of these, which count in proportion to their positive weights; at least one is needed.
    pub fn new(weighted: Vec<(f64, Arc<dyn Hypothesis>)>) -> Result<Self> {
        let total: f64 = weighted.iter().map(|(weight, _)| weight).sum();
        if !(total > 0.0 && total.is_finite()) {
            let expected = "a positive number";
            return Err(Error::Parameter {
                name: "the weight of neighbours",
                value: total,
                expected,
            });
        }
        let parts = weighted.into_iter().map(|(weight, part)| (weight / total, part)).collect();
        Ok(Self { parts })
    }

    /// Each with its share; they add up to one.
    #[must_use]
    pub fn parts(&self) -> &[(f64, Arc<dyn Hypothesis>)] {
        &self.parts
    }
}

impl Hypothesis for Blended {
    fn predict(&self, features: &Features) -> Labels {
        let mut parts = self.parts.iter();
        let (share, first) = parts.next().expect("a mean is of one hypothesis at least");
        let mut mean = first.predict(features);
        mean.as_mut_slice().iter_mut().for_each(|value| *value *= share);
        for (share, part) in parts {
            let own = part.predict(features);
            let sums = mean.as_mut_slice().iter_mut().zip(own.as_slice());
            sums.for_each(|(sum, value)| *sum += share * value);
        }
        mean
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::LinearHypothesis;

    #[test]
    fn the_mean_of_linear_hypotheses_has_their_mean_weights() {
        let names: Arc<[String]> = ["x".to_string()].into();
        let line = |slope: f64, intercept: f64| LinearHypothesis {
            names: names.clone(),
            slopes: vec![slope],
            intercept,
        };
        let parts: [(f64, Arc<dyn Hypothesis>); 2] =
            [(3.0, Arc::new(line(1.0, 2.0))), (1.0, Arc::new(line(5.0, -2.0)))];
        let mean = Blended::new(parts.to_vec()).unwrap();
        let rows = Features::new(names.clone(), vec![-1.0, 0.5, 7.0]).unwrap();
        let (found, expected) = (mean.predict(&rows), line(2.0, 1.0).predict(&rows));
        let pairs = found.as_slice().iter().zip(expected.as_slice());
        assert!(pairs.into_iter().all(|(a, b)| (a - b).abs() < 1e-12));
        assert!(Blended::new(Vec::new()).is_err());
    }
}
