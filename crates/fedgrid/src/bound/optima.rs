//! What a fitted network is measured by: the pooled model of each cluster, what it costs at every node,
//!
//! ```text
//! w̄ = argmin Σ_{i ∈ C} L_i(w)      ε_i = L_i(w̄) − (what L_i never falls below)
//! ```
//!
//! and the points that a method holds together: weights, or predictions in the public norm.
//! ["Plug In and Learn", eq. 24; "Networked Federated Multi-Task Learning", eq. 13.]

use std::sync::Arc;

use crate::{
    data::Task,
    error::{Error, Result, same_size},
    loss::Loss,
    method::Oracle,
    model::{Hypothesis, kind_of},
    network::Node,
};

/// The pooled model of every node's cluster.
#[derive(Debug, Clone)]
pub struct PooledModels {
    /// The hypothesis of each node, the same at all nodes of a cluster that have the same model.
    pub hypotheses: Vec<Arc<dyn Hypothesis>>,
    /// What it costs at each node above what the loss never falls below: `L_i(w̄)` for most losses.
    pub losses: Vec<f64>,
}

impl PooledModels {
    /// Fits the rows of each cluster together; a cluster without rows takes the model of all rows.
    pub fn fit(nodes: &[Node], clusters: &[usize]) -> Result<Self> {
        same_size("clusters of nodes", clusters.len(), nodes.len())?;
        let has_rows = |node: &Node| node.data.total_weight() > 0.0;
        let mut known: Vec<usize> = nodes
            .iter()
            .zip(clusters)
            .filter(|(node, _)| has_rows(node))
            .map(|(_, c)| *c)
            .collect();
        // A cluster without rows has no optimum of its own to be compared with.
        known.sort_unstable();
        let (with, without): (Vec<usize>, Vec<usize>) =
            (0..nodes.len()).partition(|&node| known.binary_search(&clusters[node]).is_ok());
        let some = |ids: &[usize]| ids.iter().map(|&id| nodes[id].clone()).collect::<Vec<_>>();
        // A cluster without rows has no optimum of its own to be compared with.
        let of_clusters = Oracle { clusters: with.iter().map(|&id| clusters[id]).collect() };
        let mut found: Vec<_> = with.iter().copied().zip(of_clusters.fit(&some(&with))?).collect();
        if !without.is_empty() {
            let of_all = Oracle { clusters: vec![0; nodes.len()] }.fit(nodes)?;
            found.extend(without.into_iter().map(|id| (id, of_all[id].clone())));
        }
        found.sort_by_key(|(id, _)| *id);
        let hypotheses: Vec<Arc<dyn Hypothesis>> = found.into_iter().map(|(_, h)| h).collect();
        let losses = nodes.iter().zip(&hypotheses).map(|(node, h)| cost(node, &**h)).collect();
        Ok(Self { hypotheses, losses })
    }
}

/// What a hypothesis costs at a node above what the loss never falls below.
fn cost(node: &Node, hypothesis: &dyn Hypothesis) -> f64 {
    let parametric = node.model.as_parametric();
    let weights = parametric.and_then(|model| Some((model, model.weights(hypothesis)?)));
    if let Some((model, weights)) = weights {
        return model.loss(&node.data, &weights) - model.least_loss(&node.data);
    }
    let loss = match node.data.task() {
        Task::Regression => Loss::Squared,
        Task::Classification { .. } => Loss::CrossEntropy,
    };
    let predictions = hypothesis.predict(node.data.features());
    let row = |(row, weight): (usize, &f64)| {
        weight * loss.row(node.data.labels().row(row), predictions.row(row))
    };
    node.data.weights().iter().enumerate().map(row).sum()
}

/// The weights of every node's hypothesis that neighbours share.
pub fn weights_of(
    nodes: &[Node],
    hypotheses: &[Arc<dyn Hypothesis>],
    couple_intercept: bool,
) -> Result<Vec<Vec<f64>>> {
    same_size("hypotheses", hypotheses.len(), nodes.len())?;
    let one = |(node, hypothesis): (&Node, &Arc<dyn Hypothesis>)| {
        let model = node.model.as_parametric();
        let weights = model.and_then(|model| Some((model, model.weights(&**hypothesis)?)));
        let (model, weights) = weights.ok_or_else(|| Error::NotParametric {
            node: node.id,
            model: kind_of(node.model.as_ref()),
        })?;
        if couple_intercept {
            return Ok(weights);
        }
        let free = model.intercepts(node.data.features().columns(), node.data.task());
        let kept = weights.into_iter().enumerate().filter(|(index, _)| !free.contains(index));
        Ok(kept.map(|(_, weight)| weight).collect())
    };
    nodes.iter().zip(hypotheses).map(one).collect()
}

/// Every node's predictions on the common public set as points whose squared distance is the squared
/// discrepancy: divided by √m, and moved to mean zero if levels are free.
pub fn predictions_of(
    nodes: &[Node],
    hypotheses: &[Arc<dyn Hypothesis>],
    level: bool,
) -> Result<Vec<Vec<f64>>> {
    same_size("hypotheses", hypotheses.len(), nodes.len())?;
    let Some(first) = nodes.first() else { return Ok(Vec::new()) };
    let common =
        |node: &Node| Arc::ptr_eq(&node.public, &first.public) || node.public == first.public;
    let squared = |node: &Node| node.data.task() == Task::Regression;
    if !nodes.iter().all(|node| common(node) && squared(node)) {
        return Err(Error::Unsupported {
            what: "the public norm",
            needs: "numbers as labels and one public set for all nodes",
        });
    }
    // Divided by √m each, so that a squared distance is a mean over points.
    let share = 1.0 / first.public.rows().max(1) as f64;
    let one = |hypothesis: &Arc<dyn Hypothesis>| {
        let mut point = hypothesis.predict(&first.public).as_slice().to_vec();
        let mean = if level { 0.0 } else { point.iter().sum::<f64>() * share };
        for value in &mut point {
            *value = (*value - mean) * share.sqrt();
        }
        point
    };
    Ok(hypotheses.iter().map(one).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        data::{Dataset, Features, Labels},
        model::{Linear, LocalModel, Mean},
    };

    /// Nodes with the rows (1, y), or without rows.
    fn nodes(labels: &[Option<f64>], model: &Arc<dyn LocalModel>) -> Vec<Node> {
        let public = Arc::new(Features::from_rows(&["x"], &[[-1.0], [3.0]]).unwrap());
        let node = |(id, y): (usize, &Option<f64>)| {
            let rows: Vec<[f64; 1]> = y.iter().map(|_| [1.0]).collect();
            let features = Features::from_rows(&["x"], &rows).unwrap();
            let data = Dataset::new(features, Labels::values(y.iter().copied().collect())).unwrap();
            Node { id, data, model: model.clone(), public: public.clone() }
        };
        labels.iter().enumerate().map(node).collect()
    }

    #[test]
    fn a_cluster_is_pooled_and_one_without_rows_takes_the_model_of_all() {
        let model: Arc<dyn LocalModel> = Arc::new(Linear { ridge: 0.0, intercept: false });
        let nodes = nodes(&[Some(1.0), Some(3.0), Some(8.0), None], &model);
        let pooled = PooledModels::fit(&nodes, &[4, 4, 2, 9]).unwrap();
        let weights = weights_of(&nodes, &pooled.hypotheses, true).unwrap().concat();
        for (found, expected) in weights.iter().zip([2.0, 2.0, 8.0, 4.0]) {
            assert!((found - expected).abs() < 1e-12, "{weights:?}");
        }
        for (found, expected) in pooled.losses.iter().zip([1.0, 1.0, 0.0, 0.0]) {
            assert!((found - expected).abs() < 1e-12, "{:?}", pooled.losses);
        }
    }

    #[test]
    fn the_distance_of_predictions_is_the_discrepancy() {
        let model: Arc<dyn LocalModel> = Arc::new(Linear { ridge: 0.0, intercept: false });
        let nodes = nodes(&[Some(1.0), Some(3.0)], &model);
        let pooled = PooledModels::fit(&nodes, &[0, 1]).unwrap();
        let distance = |level| {
            let points = predictions_of(&nodes, &pooled.hypotheses, level).unwrap();
            crate::algebra::squared_distance(&points[0], &points[1])
        };
        // y = x and y = 3 x on x = −1 and 3: differences −2 and 6, around their mean ±4.
        assert!((distance(true) - 20.0).abs() < 1e-12);
        assert!((distance(false) - 16.0).abs() < 1e-12);
    }

    #[test]
    fn models_without_weights_have_losses_and_predictions_only() {
        let model: Arc<dyn LocalModel> = Arc::new(Mean);
        let nodes = nodes(&[Some(1.0), Some(3.0)], &model);
        let pooled = PooledModels::fit(&nodes, &[0, 0]).unwrap();
        assert!((pooled.losses.iter().sum::<f64>() - 2.0).abs() < 1e-12);
        assert!(predictions_of(&nodes, &pooled.hypotheses, true).is_ok());
        let error = weights_of(&nodes, &pooled.hypotheses, true).unwrap_err();
        assert!(matches!(error, Error::NotParametric { node: 0, .. }));
    }
}
