//! Second moments of rows and of public points.

use crate::{
    algebra::{add_outer, add_scaled},
    data::Features,
    network::Node,
};

/// Q and q of a node's rows.
pub(super) fn data_moments(node: &Node, size: usize, intercept: bool) -> (Vec<f64>, Vec<f64>) {
    let (mut gram, mut right) = (vec![0.0; size * size], vec![0.0; size]);
    for (row, weight) in node.data.weights().iter().enumerate() {
        let mut x = node.data.features().row(row).to_vec();
        x.extend(intercept.then_some(1.0));
        add_outer(&mut gram, *weight, &x);
        add_scaled(&mut right, weight * node.data.labels().row(row)[0], &x);
    }
    (gram, right)
}

/// K of public points: their second moment, or their covariance if levels are free.
pub(super) fn public_moments(points: &Features, intercept: bool, level: bool) -> Vec<f64> {
    let size = points.columns() + usize::from(intercept);
    let share = 1.0 / points.rows().max(1) as f64;
    let mut mean = vec![0.0; points.columns()];
    if !level {
        points.iter().for_each(|x| add_scaled(&mut mean, share, x));
    }
    let mut moment = vec![0.0; size * size];
    for x in points.iter() {
        let mut x: Vec<f64> = x.iter().zip(&mean).map(|(x, m)| x - m).collect();
        x.extend(intercept.then_some(if level { 1.0 } else { 0.0 }));
        add_outer(&mut moment, share, &x);
    }
    moment
}
