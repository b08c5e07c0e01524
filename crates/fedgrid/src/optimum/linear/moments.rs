//! Second moments of rows and of public points, as lower triangles.

use std::borrow::Cow;

use crate::{
    algebra::{add_outers, add_scaled},
    data::Features,
    network::Node,
};

/// Adds Q of a node's rows.
pub(super) fn add_gram(node: &Node, intercept: bool, gram: &mut [f64]) {
    let (features, weights) = (node.data.features(), node.data.weights());
    let rows = with_last(features, intercept.then_some(1.0));
    add_outers(gram, weights, &rows, features.columns() + usize::from(intercept));
}

/// Adds q of a node's rows.
pub(super) fn add_right(node: &Node, intercept: bool, right: &mut [f64]) {
    let (labels, columns) = (node.data.labels(), node.data.features().columns());
    for (row, weight) in node.data.weights().iter().enumerate() {
        let factor = weight * labels.row(row)[0];
        add_scaled(&mut right[..columns], factor, node.data.features().row(row));
        right[columns..].iter_mut().for_each(|right| *right += factor);
    }
    debug_assert_eq!(right.len(), columns + usize::from(intercept));
}

/// Adds K of public points: their second moment, or their covariance if levels are free.
pub(super) fn public_moments(points: &Features, intercept: bool, level: bool, moment: &mut [f64]) {
    let share = 1.0 / points.rows().max(1) as f64;
    let mut rows = with_last(points, intercept.then_some(if level { 1.0 } else { 0.0 }));
    let size = points.columns() + usize::from(intercept);
    // Without levels only differences from the mean count: the covariance.
    if !level {
        let mut mean = vec![0.0; points.columns()];
        points.iter().for_each(|x| add_scaled(&mut mean, share, x));
        for row in rows.to_mut().chunks_exact_mut(size.max(1)) {
            row.iter_mut().zip(&mean).for_each(|(x, mean)| *x -= mean);
        }
    }
    add_outers(moment, &vec![share; points.rows()], &rows, size);
}

/// The rows of features, each with one more number if there is one.
fn with_last(features: &Features, last: Option<f64>) -> Cow<'_, [f64]> {
    if last.is_none() {
        return features.values().into();
    }
    features.iter().flat_map(|x| x.iter().copied().chain(last)).collect()
}
