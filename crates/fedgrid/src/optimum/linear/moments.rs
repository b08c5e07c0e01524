//! Second moments of rows and of public points, as lower triangles.

use crate::{
    algebra::{add_scaled, triangle},
    data::Features,
    network::Node,
};

/// Adds Q of a node's rows.
pub(super) fn add_gram(node: &Node, intercept: bool, gram: &mut [f64]) {
    each_row(node, intercept, |_, weight, x| add_outer(gram, weight, x));
}

/// Adds q of a node's rows.
pub(super) fn add_right(node: &Node, intercept: bool, right: &mut [f64]) {
    let labels = node.data.labels();
    each_row(node, intercept, |row, weight, x| add_scaled(right, weight * labels.row(row)[0], x));
}

/// Does something with every row: its number, its weight, and its features with a one.
fn each_row(node: &Node, intercept: bool, mut work: impl FnMut(usize, f64, &[f64])) {
    let mut x = Vec::with_capacity(node.data.features().columns() + 1);
    for (row, weight) in node.data.weights().iter().enumerate() {
        x.clear();
        x.extend_from_slice(node.data.features().row(row));
        x.extend(intercept.then_some(1.0));
        work(row, *weight, &x);
    }
}

/// Adds K of public points: their second moment, or their covariance if levels are free.
pub(super) fn public_moments(points: &Features, intercept: bool, level: bool, moment: &mut [f64]) {
    let share = 1.0 / points.rows().max(1) as f64;
    let mut mean = vec![0.0; points.columns()];
    if !level {
        points.iter().for_each(|x| add_scaled(&mut mean, share, x));
    }
    let mut row = Vec::with_capacity(points.columns() + 1);
    for x in points.iter() {
        row.clear();
        row.extend(x.iter().zip(&mean).map(|(x, m)| x - m));
        row.extend(intercept.then_some(if level { 1.0 } else { 0.0 }));
        add_outer(moment, share, &row);
    }
}

/// Adds the lower triangle of `factor · x xᵀ`.
fn add_outer(sum: &mut [f64], factor: f64, x: &[f64]) {
    for (k, a) in x.iter().enumerate() {
        add_scaled(&mut sum[triangle(k)..=triangle(k) + k], factor * a, x);
    }
}
