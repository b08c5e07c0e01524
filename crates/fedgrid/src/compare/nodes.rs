//! Getting nodes ready for training: ridges, row weights, and the mean that nodes without rows
//! predict.

use std::sync::Arc;

use super::{Study, Weighting};
use crate::{
    data::{Dataset, Features},
    model::{Constant, LocalModel},
    network::Node,
};

/// The models with another ridge where they have one.
pub(super) fn with_ridge(
    models: &[Arc<dyn LocalModel>],
    ridge: Option<f64>,
) -> Vec<Arc<dyn LocalModel>> {
    let Some(ridge) = ridge else { return models.to_vec() };
    changed(models, |model| Some(model.as_tunable()?.with_ridge(ridge)))
}

/// Public points that a search asks models for at most which compare all rows with each other: half of the usual
/// number takes a third of the time, and the best strength is the same or next to it.
const SEARCH_POINTS: usize = 50;

impl Study {
    /// A cheaper study by which strengths are told apart; none if this one is cheap.
    pub(super) fn for_search(&self) -> Option<Self> {
        let models = changed(&self.models, |model| model.for_search());
        let compares_rows = self.models.iter().any(|model| model.compares_rows());
        let public = if compares_rows { fewer_points(&self.public) } else { self.public.clone() };
        let is_changed = differ(&self.models, &models) || differ(&self.public, &public);
        is_changed.then(|| Self { models, public, ..self.clone() })
    }
}

fn differ<T: ?Sized>(some: &[Arc<T>], others: &[Arc<T>]) -> bool {
    some.iter().zip(others).any(|(a, b)| !Arc::ptr_eq(a, b))
}

/// The first points of every set; a common set stays one.
fn fewer_points(public: &[Arc<Features>]) -> Vec<Arc<Features>> {
    let mut fewer: Vec<Arc<Features>> = Vec::with_capacity(public.len());
    for (node, points) in public.iter().enumerate() {
        let is_common = node > 0 && Arc::ptr_eq(points, &public[0]);
        fewer.push(match points.rows() {
            _ if is_common => fewer[0].clone(),
            ..=SEARCH_POINTS => points.clone(),
            _ => Arc::new(points.select(&(0..SEARCH_POINTS).collect::<Vec<_>>())),
        });
    }
    fewer
}

/// The models with those that can be changed; equal models stay one.
fn changed(
    models: &[Arc<dyn LocalModel>],
    change: impl Fn(&dyn LocalModel) -> Option<Box<dyn LocalModel>>,
) -> Vec<Arc<dyn LocalModel>> {
    // Which nodes share a model decides what is pooled and prepared once, so sharing must survive.
    let mut changed: Vec<Arc<dyn LocalModel>> = Vec::with_capacity(models.len());
    for (place, model) in models.iter().enumerate() {
        let known = models[..place].iter().position(|other| Arc::ptr_eq(other, model));
        changed.push(match known {
            Some(known) => changed[known].clone(),
            None => change(&**model).map_or_else(|| model.clone(), Arc::from),
        });
    }
    changed
}

/// Scales row weights so that every node, or every row, counts the same.
pub(super) fn weigh(data: &mut [Dataset], weighting: Weighting) {
    let rows: Vec<f64> = data.iter().map(Dataset::row_count).collect();
    let mean_rows = mean_rows(&rows);
    Dataset::weigh_all(data, |data| weight(data.row_count(), mean_rows, weighting));
}

/// The total weight of each node by its number of rows; zero for nodes without any.
pub(super) fn own_weights(rows: &[f64], weighting: Weighting) -> Vec<f64> {
    let mean_rows = mean_rows(rows);
    let own = |&rows: &f64| if rows == 0.0 { 0.0 } else { weight(rows, mean_rows, weighting) };
    rows.iter().map(own).collect()
}

fn mean_rows(rows: &[f64]) -> f64 {
    let with_rows = rows.iter().filter(|rows| **rows > 0.0).count();
    rows.iter().sum::<f64>() / with_rows.max(1) as f64
}

fn weight(rows: f64, mean_rows: f64, weighting: Weighting) -> f64 {
    match weighting {
        Weighting::Nodes => 1.0,
        Weighting::Rows => rows / mean_rows,
    }
}

/// The mean label of all rows, each node counting as its rows weigh.
pub(super) fn mean_of(nodes: &[Node]) -> Constant {
    let task = nodes[0].data.task();
    let mut label = vec![0.0; task.outputs()];
    let total: f64 = nodes.iter().map(|node| node.data.total_weight()).sum();
    for node in nodes {
        let share = node.data.total_weight() / total;
        label.iter_mut().zip(node.data.mean_label()).for_each(|(sum, mean)| *sum += share * mean);
    }
    Constant { task, label }
}
