//! Nodes whose models say nearly the same: clusters of learnt predictions.
//!
//! k-means on the predictions at some public points, from a start that takes the farthest point in
//! turn (so nothing is drawn), with the smallest k that explains four fifths of the variance.

use std::sync::Arc;

use rayon::prelude::*;

use super::Study;
use crate::{
    algebra::{add_scaled, squared_distance},
    model::Hypothesis,
};

// As many as colours on the map can be told apart.
const MOST_CLUSTERS: usize = 6;
// Distances between predictions settle with a few dozen points, and every node is asked at all of them.
const MOST_POINTS: usize = 64;
// The share of variance after which further clusters mostly divide noise.
const EXPLAINED_SHARE: f64 = 0.8;

impl Study {
    /// The cluster of each node, numbered by size, the largest first.
    #[must_use]
    pub fn clusters(&self, hypotheses: &[Arc<dyn Hypothesis>]) -> Vec<usize> {
        let Some(public) = self.public.first() else { return Vec::new() };
        let step = public.rows().div_ceil(MOST_POINTS).max(1);
        let points = public.select(&(0..public.rows()).step_by(step).collect::<Vec<_>>());
        let rows: Vec<Vec<f64>> = hypotheses
            .par_iter()
            .map(|hypothesis| hypothesis.predict(&points).as_slice().to_vec())
            .collect();
        by_size(&k_means(&rows))
    }
}

fn k_means(rows: &[Vec<f64>]) -> Vec<usize> {
    let mut centres = vec![mean(rows.iter(), rows[0].len())];
    let (mut nearest, mut spread) = assign(rows, &centres);
    let total: f64 = spread.iter().sum();
    while centres.len() < MOST_CLUSTERS.min(rows.len())
        && spread.iter().sum::<f64>() > (1.0 - EXPLAINED_SHARE) * total
    {
        let farthest = (0..rows.len()).fold(0, |a, b| if spread[b] > spread[a] { b } else { a });
        centres.push(rows[farthest].clone());
        // k-means ends after a handful of passes; the limit is for ties that move to and fro.
        for _ in 0..30 {
            let before = nearest;
            (nearest, spread) = assign(rows, &centres);
            if nearest == before {
                break;
            }
            for (cluster, centre) in centres.iter_mut().enumerate() {
                let members = rows.iter().zip(&nearest).filter(|(_, c)| **c == cluster);
                let members: Vec<&Vec<f64>> = members.map(|(row, _)| row).collect();
                if !members.is_empty() {
                    *centre = mean(members.into_iter(), centre.len());
                }
            }
        }
    }
    nearest
}

/// The nearest centre of each row, and its squared distance.
fn assign(rows: &[Vec<f64>], centres: &[Vec<f64>]) -> (Vec<usize>, Vec<f64>) {
    let nearest = |row: &Vec<f64>| {
        let distances = centres.iter().map(|centre| squared_distance(row, centre));
        let first = (0, f64::INFINITY);
        distances.enumerate().fold(first, |best, next| if next.1 < best.1 { next } else { best })
    };
    rows.par_iter().map(nearest).unzip()
}

fn mean<'a>(rows: impl ExactSizeIterator<Item = &'a Vec<f64>>, size: usize) -> Vec<f64> {
    let share = 1.0 / rows.len() as f64;
    let mut mean = vec![0.0; size];
    for row in rows {
        add_scaled(&mut mean, share, row);
    }
    mean
}

fn by_size(clusters: &[usize]) -> Vec<usize> {
    let mut sizes = [0; MOST_CLUSTERS];
    for &cluster in clusters {
        sizes[cluster] += 1;
    }
    let mut order: Vec<usize> = (0..MOST_CLUSTERS).collect();
    order.sort_by_key(|&cluster| std::cmp::Reverse(sizes[cluster]));
    let mut place = [0; MOST_CLUSTERS];
    order.iter().enumerate().for_each(|(new, &old)| place[old] = new);
    clusters.iter().map(|&cluster| place[cluster]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn well_separated_groups_are_found_and_the_largest_comes_first() {
        let group =
            |level: f64, count: usize| (0..count).map(move |k| vec![level, k as f64 * 1e-3]);
        let rows: Vec<Vec<f64>> =
            group(0.0, 3).chain(group(10.0, 5)).chain(group(-10.0, 4)).collect();
        let clusters = by_size(&k_means(&rows));
        assert_eq!(clusters, [2, 2, 2, 0, 0, 0, 0, 0, 1, 1, 1, 1]);
    }

    #[test]
    fn equal_predictions_are_one_cluster() {
        assert_eq!(k_means(&vec![vec![1.0, 2.0]; 5]), [0; 5]);
    }
}
