//! Products of features over the training rows of a site: all that tells how columns go together.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

/// Sums of products of features, each less its mean, over rows as they count in training.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FeatureProducts {
    /// The features, and columns that say which cells are missing.
    pub names: Vec<String>,
    /// Of each with itself and those before it.
    pub sums: Vec<Vec<f64>>,
}

impl FeatureProducts {
    /// Whether there is a finite product for each pair.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        let is_row = |(at, row): (usize, &Vec<f64>)| row.len() == at + 1;
        self.sums.len() == self.names.len()
            && self.sums.iter().enumerate().all(is_row)
            && self.sums.iter().flatten().all(|sum| sum.is_finite())
    }
}

/// What features differ from their means by, in the training rows.
#[derive(Debug, Default)]
pub struct FeatureDeviations {
    names: Vec<String>,
    columns: Vec<Vec<f64>>,
}

impl FeatureDeviations {
    pub(super) fn add(&mut self, name: String, column: Vec<f64>) {
        self.names.push(name);
        self.columns.push(column);
    }

    /// How many features there are.
    #[must_use]
    pub fn features(&self) -> usize {
        self.names.len()
    }

    /// Their products over rows that count so much, or once each; to the same bit in whatever order rows come.
    #[must_use]
    pub fn products(mut self, weights: Option<Vec<f64>>) -> FeatureProducts {
        // Rows of the same features are told apart by what they count.
        let is_weighed = weights.is_some();
        self.columns.extend(weights);
        let rows = self.columns.first().map_or(0, Vec::len);
        let mut order: Vec<usize> = (0..rows).collect();
        let compare = |a: &usize, b: &usize| {
            let mut pairs = self.columns.iter().map(|column| column[*a].total_cmp(&column[*b]));
            pairs.find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
        };
        order.sort_by(compare);
        let ordered = |column: &Vec<f64>| order.iter().map(|&row| column[row]).collect();
        let mut columns: Vec<Vec<f64>> = self.columns.iter().map(ordered).collect();
        let weights = if is_weighed { columns.pop() } else { None };
        let product = |a: &[f64], b: &[f64]| -> f64 {
            let products = a.iter().zip(b).map(|(a, b)| a * b);
            match &weights {
                Some(weights) => products.zip(weights).map(|(ab, weight)| weight * ab).sum(),
                None => products.sum(),
            }
        };
        let row =
            |at: usize| (0..=at).map(|other| product(&columns[at], &columns[other])).collect();
        FeatureProducts { sums: (0..columns.len()).map(row).collect(), names: self.names }
    }
}
