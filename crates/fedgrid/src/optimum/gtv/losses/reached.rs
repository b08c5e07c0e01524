//! What the rows of several nodes tell together of weights that all of them have, where all losses are quadratic:
//! the spectrum of `Σ H_j`.

use std::sync::{Arc, Mutex, PoisonError};

use super::{
    Losses, NodeLoss,
    quadratic::{REACHED_SHARE, reduce},
};
use crate::algebra::Singular;

/// The directions that the rows of some nodes reach.
#[derive(Debug)]
pub(in crate::optimum::gtv) struct Reached {
    pub(in crate::optimum::gtv) directions: Vec<Vec<f64>>,
    /// The root of the least curvature of `Σ H_j` along these.
    pub(in crate::optimum::gtv) least: f64,
    /// The sum of the squares of all labels.
    pub(in crate::optimum::gtv) labels: f64,
    /// The sum of the largest curvatures of single nodes.
    pub(in crate::optimum::gtv) largest: f64,
}

/// The nodes of the last question and its answer: every certificate of a network asks for that of its largest component.
#[derive(Debug, Default)]
pub(super) struct KeptReached(Mutex<(Vec<usize>, Option<Arc<Reached>>)>);

impl Losses {
    /// What the rows of these nodes reach, which are given in ascending order; none if there are none, or a
    /// loss is not quadratic.
    pub(in crate::optimum::gtv) fn reached(&self, nodes: &[usize]) -> Option<Arc<Reached>> {
        let mut kept = self.reached.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.0 != nodes {
            *kept = (nodes.to_vec(), self.reach(nodes).map(Arc::new));
        }
        kept.1.clone()
    }

    fn reach(&self, nodes: &[usize]) -> Option<Reached> {
        let size = self.size;
        let (mut rows, mut labels, mut largest) = (Vec::new(), 0.0, 0.0);
        for &node in nodes {
            let NodeLoss::Quadratic(quadratic) = &self.each[node] else { return None };
            for (direction, h, _) in quadratic.terms(size) {
                rows.extend(direction.iter().map(|v| v * h.sqrt()));
            }
            if rows.len() > 4 * size * size {
                reduce(&mut rows, size);
            }
            labels += quadratic.constant;
            largest += quadratic.curvatures.iter().fold(0.0, |a: f64, b| a.max(*b));
        }
        reduce(&mut rows, size);
        let spectrum = Singular::new(&rows, size);
        let most = spectrum.values.iter().fold(0.0, |a: f64, b| a.max(*b));
        let (mut directions, mut least) = (Vec::new(), f64::INFINITY);
        for (value, direction) in spectrum.values.into_iter().zip(spectrum.right) {
            if value > REACHED_SHARE * most {
                least = least.min(value);
                directions.push(direction);
            }
        }
        Some(Reached { directions, least, labels, largest })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        data::{Dataset, Features, Labels},
        model::Linear,
        network::Node,
        random::{Purpose, Stream},
    };

    #[test]
    fn what_is_kept_is_that_of_the_nodes_that_are_asked_for() {
        let mut stream = Stream::new(1, 0, 0, Purpose::Data);
        let node = |id: usize| {
            let values = (0..3).map(|k| if k == id % 3 { stream.normal() } else { 0.0 }).collect();
            let features = Features::new(["a", "b", "c"].map(String::from).into(), values).unwrap();
            let labels = Labels::values(vec![1.0 + id as f64]);
            Node {
                id,
                data: Dataset::new(features.clone(), labels).unwrap(),
                model: Arc::new(Linear { ridge: 0.0, intercept: false }),
                public: Arc::new(features),
            }
        };
        let nodes: Vec<Node> = (0..5).map(node).collect();
        let losses = Losses::new(&nodes, true).unwrap();
        for (asked, directions) in
            [(&[0, 1, 2, 3, 4][..], 3), (&[0, 3], 1), (&[0, 1, 2, 3, 4], 3), (&[1], 1)]
        {
            let (kept, anew) = (losses.reached(asked).unwrap(), losses.reach(asked).unwrap());
            assert_eq!(kept.directions, anew.directions);
            assert_eq!(kept.directions.len(), directions);
            assert_eq!((kept.least, kept.largest), (anew.least, anew.largest));
            let squares: f64 = asked.iter().map(|id| (1.0 + *id as f64).powi(2)).sum();
            assert!((kept.labels - squares).abs() < 1e-12);
        }
    }
}
