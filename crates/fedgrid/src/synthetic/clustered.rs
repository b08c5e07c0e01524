//! Linear data of the stochastic block model: the true weights of a node are those of its cluster,
//!
//! ```text
//! y⁽ⁱʳ⁾ = (w̄⁽ᶜ⁽ⁱ⁾⁾)ᵀ x⁽ⁱʳ⁾ + ε⁽ⁱʳ⁾      x ~ N(0, I), w̄ ~ N(0, I), ε ~ N(0, σ²)
//! ```
//!
//! ["Plug In and Learn", eq. 17.]

use super::{dataset, feature_names, linear_row, true_weights};
use crate::{
    data::Dataset,
    error::{Result, at_least, at_least_zero},
    network::{Clustered, NodeId},
    random::{Purpose, Stream},
};

/// Linear data of a network whose truth is known.
#[derive(Debug, Clone, PartialEq)]
pub struct LinearData {
    /// The true weights w̄ of each cluster.
    pub weights: Vec<Vec<f64>>,
    /// The rows of each node.
    pub data: Vec<Dataset>,
}

impl Clustered {
    /// True weights for each cluster, and rows for each node: σ = `noise` is a standard deviation.
    pub fn linear_data(&self, features: usize, rows: usize, noise: f64) -> Result<LinearData> {
        self.check()?;
        at_least(features, "features", 1, "one or more")?;
        at_least_zero("noise", noise)?;
        let weights = true_weights(self.clusters, features, self.seed);
        let names = feature_names(features);
        let node = |(id, cluster): (NodeId, usize)| {
            let stream = &mut Stream::new(self.seed, id, 0, Purpose::Data);
            let rows = (0..rows).map(|_| linear_row(&weights[cluster], noise, stream)).collect();
            dataset(names.clone(), rows)
        };
        let data = self.assignment().into_iter().enumerate().map(node).collect::<Result<_>>()?;
        Ok(LinearData { weights, data })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algebra::dot;

    fn clustered() -> Clustered {
        Clustered { clusters: 3, nodes: 50, inside: 0.8, between: 0.2, seed: 5 }
    }

    #[test]
    fn without_noise_labels_are_those_of_the_clusters_weights() {
        let LinearData { weights, data } = clustered().linear_data(4, 6, 0.0).unwrap();
        for (node, data) in data.iter().enumerate() {
            assert_eq!(data.rows(), 6);
            for (x, y) in data.features().iter().zip(data.labels().as_slice()) {
                assert!((dot(&weights[node / 50], x) - y).abs() < 1e-14);
            }
        }
        assert_ne!(weights[0], weights[1]);
        assert_ne!(data[0].features(), data[1].features());
    }

    #[test]
    fn noise_is_a_standard_deviation() {
        let LinearData { weights, data } = clustered().linear_data(2, 100, 3.0).unwrap();
        let square = |(node, data): (usize, &Dataset)| {
            let error = |(x, y): (&[f64], &f64)| (dot(&weights[node / 50], x) - y).powi(2);
            data.features().iter().zip(data.labels().as_slice()).map(error).sum::<f64>()
        };
        let mean = data.iter().enumerate().map(square).sum::<f64>() / 15_000.0;
        assert!((mean / 9.0 - 1.0).abs() < 0.05);
    }

    #[test]
    fn wrong_parameters_are_named() {
        let message =
            |features, noise| clustered().linear_data(features, 1, noise).unwrap_err().to_string();
        assert_eq!(message(0, 0.0), "features is 0, expected one or more");
        assert_eq!(message(1, -1.0), "noise is -1, expected zero or more");
    }
}
