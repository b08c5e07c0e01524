//! Sums over a node's rows that columns are made of.

use crate::{
    algebra::{add_outer, add_scaled},
    data::Dataset,
    mixed::add_ranges,
};

/// Sums of weights, of rows that count, of nodes that have any, of labels and of features.
pub(super) fn levels(data: &Dataset, with_labels: bool) -> Vec<f64> {
    let mut sums = vec![0.0; 4 + data.features().columns()];
    for (place, ((row, label), weight)) in rows(data).enumerate() {
        sums[0] += weight;
        sums[1] += if weight > 0.0 { data.count(place) } else { 0.0 };
        sums[3] += if with_labels { weight * label } else { 0.0 };
        add_scaled(&mut sums[4..], weight, row);
    }
    sums[2] = f64::from(sums[1] > 0.0);
    sums
}

/// Sums of squares of labels and of products of features about their means, and the range of each feature.
pub(super) fn spreads(data: &Dataset, means: &[f64], label_mean: Option<f64>) -> Vec<f64> {
    let products = 1 + means.len() * means.len();
    let mut sums = vec![0.0; products + means.len()];
    add_ranges(&mut sums[products..], data.features());
    for ((row, label), weight) in rows(data) {
        sums[0] += label_mean.map_or(0.0, |mean| weight * (label - mean).powi(2));
        let centred: Vec<f64> = row.iter().zip(means).map(|(x, mean)| x - mean).collect();
        add_outer(&mut sums[1..products], weight, &centred);
    }
    sums
}

fn rows(data: &Dataset) -> impl Iterator<Item = ((&[f64], f64), f64)> {
    let labels = data.labels().as_slice().iter().copied();
    data.features().iter().zip(labels).zip(data.weights().iter().copied())
}
