//! The columns of a mixed model: an intercept and every feature, centred and scaled.
//!
//! Uncorrelated deviations of slopes and intercepts depend on where zero is; with features centred at
//! the mean of the training rows nothing depends on units or zeros. Constant features determine nothing
//! and are left out; those that are combinations of others have deviations, but no mean of their own; and
//! those that are properties of nodes (equal in all rows of a node, where nodes have several) have a mean,
//! but no deviations: a node that knows one value of a feature has no slope of its own, only a level.

use std::sync::Arc;

use super::{Family, NodeMoments, NodeRows};
use crate::{
    algebra::dot,
    data::{Dataset, Features, Scaling},
    error::{Error, Result},
    model::{Hypothesis, LinearHypothesis, LogisticHypothesis, PoissonHypothesis},
};

/// The share of a column's square that must be its own, and not that of the columns before.
// Rounding of a Gram matrix leaves some 1e-15.
const OWN_SHARE: f64 = 1e-9;

/// A standard deviation that is no larger beside its mean is the rounding of a constant.
const CONSTANT_SHARE: f64 = 1e-12;

/// Sums over the training rows of all nodes that columns are made of.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ColumnSums {
    /// Of weights.
    pub(crate) weight: f64,
    /// The weighted mean of each feature.
    pub(crate) means: Vec<f64>,
    /// Of weighted products of features less their means.
    pub(crate) products: Vec<f64>,
    /// The weighted mean of labels.
    pub(crate) label_mean: f64,
    /// Of weighted squares of labels less their mean.
    pub(crate) label_squares: f64,
    /// For each feature whether slopes may differ: see [`may_deviate`].
    pub(crate) deviating: Vec<bool>,
}

/// How columns are made of features and labels.
#[derive(Debug, Clone)]
pub struct Design {
    scaling: Scaling,
    /// The features that are kept.
    kept: Vec<usize>,
    /// The columns that are no combinations of those before them, the intercept first.
    fixed: Vec<usize>,
    /// Whether the slopes of a feature may differ from node to node.
    deviating: Vec<bool>,
    features: usize,
    label_mean: f64,
    label_scale: f64,
}

/// Which coefficients differ from node to node, and what is known of how much.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pooling {
    /// The features whose coefficient is the same at every node.
    pub(crate) shared: Vec<String>,
    /// Those whose coefficient is each node's own.
    pub(crate) free: Vec<String>,
    /// The variances that are given, for raw features and labels.
    pub(crate) variances: Vec<(String, f64)>,
}

/// The columns whose coefficients differ from node to node.
#[derive(Debug, Clone, PartialEq)]
pub struct RandomColumns {
    /// Which these are; those of coefficients that are each node's own come last.
    pub places: Vec<usize>,
    /// The variance of each, where it is given.
    pub variances: Vec<Option<f64>>,
    /// How many are each node's own.
    pub free: usize,
}

impl Pooling {
    /// Refuses names that are neither a feature nor the intercept.
    pub(crate) fn check_names(&self, names: &[String]) -> Result<()> {
        let variances = self.variances.iter().map(|(name, _)| ("method.variances", name));
        let shared = self.shared.iter().map(|name| ("method.shared", name));
        let free = self.free.iter().map(|name| ("method.free", name));
        let is_known = |name: &String| name == Design::INTERCEPT || names.contains(name);
        match shared.chain(free).chain(variances).find(|(_, name)| !is_known(name)) {
            None => Ok(()),
            Some((key, name)) => {
                let known = names.iter().map(String::as_str).chain([Design::INTERCEPT]);
                let known = known.collect::<Vec<_>>().join(", ");
                Err(Error::UnknownFeature { key, name: name.clone(), known })
            }
        }
    }

    /// A variance of zero is that of a shared feature.
    fn is_shared(&self, name: &str) -> bool {
        self.shared.iter().any(|shared| shared == name) || self.variance(name) == Some(0.0)
    }

    fn is_free(&self, name: &str) -> bool {
        self.free.iter().any(|free| free == name)
    }

    fn variance(&self, name: &str) -> Option<f64> {
        self.variances.iter().find(|(given, _)| given == name).map(|(_, variance)| *variance)
    }
}

impl RandomColumns {
    /// How many have a variance that is estimated.
    #[must_use]
    pub fn sought(&self) -> usize {
        let pooled = &self.variances[..self.places.len() - self.free];
        pooled.iter().filter(|variance| variance.is_none()).count()
    }

    /// The same for every linear predictor of a family, in as many columns each.
    #[must_use]
    pub(crate) fn of_each(&self, family: Option<Family>, columns: usize) -> Self {
        let outputs = family.map_or(1, Family::outputs);
        let (pooled, free) = self.places.split_at(self.places.len() - self.free);
        let (known, none) = self.variances.split_at(pooled.len());
        Self {
            places: [of_each(family, columns, pooled), of_each(family, columns, free)].concat(),
            variances: [known.repeat(outputs), none.repeat(outputs)].concat(),
            free: self.free * outputs,
        }
    }
}

/// The places of columns in each linear predictor of a family.
fn of_each(family: Option<Family>, columns: usize, places: &[usize]) -> Vec<usize> {
    let of = |output: usize| places.iter().map(move |place| output * columns + place);
    (0..family.map_or(1, Family::outputs)).flat_map(of).collect()
}

impl Design {
    /// From the training rows of all nodes; labels are scaled only if they are numbers with a normal error.
    pub fn new(rows: &[Dataset], scales_labels: bool) -> Result<Self> {
        let used = || rows.iter().filter(|data| data.rows() > 0);
        let names = rows[0].features().names().clone();
        let values: Vec<f64> =
            used().flat_map(|data| data.features().values().iter().copied()).collect();
        let weights: Vec<f64> = used().flat_map(|data| data.weights().iter().copied()).collect();
        let all = Features::new(names, values)?;
        let scaling = Scaling::weighted(&all, &weights);
        let mut gram = vec![0.0; all.columns() * all.columns()];
        for (row, weight) in all.iter().zip(&weights) {
            let scaled: Vec<f64> = scaling.row(row).collect();
            crate::algebra::add_outer(&mut gram, *weight, &scaled);
        }
        let (kept, fixed) = independent(&gram, all.columns());
        let mut ranges = vec![0.0; all.columns()];
        used().for_each(|data| add_ranges(&mut ranges, data.features()));
        let mut design = Self {
            kept,
            fixed,
            deviating: may_deviate(
                &ranges,
                used().any(|data| data.rows() > 1 || data.row_count() > 1.0),
            ),
            features: all.columns(),
            scaling,
            label_mean: 0.0,
            label_scale: 1.0,
        };
        if scales_labels {
            let total: f64 = weights.iter().sum();
            let labels: Vec<f64> =
                used().flat_map(|data| data.labels().as_slice().iter().copied()).collect();
            let weighted = || labels.iter().zip(&weights);
            let mean = weighted().map(|(y, weight)| y * weight).sum::<f64>() / total;
            let square =
                weighted().map(|(y, weight)| weight * (y - mean).powi(2)).sum::<f64>() / total;
            design.label_mean = mean;
            // Labels that are all equal have no unit of their own.
            design.label_scale = if square > 0.0 { square.sqrt() } else { 1.0 };
        }
        Ok(design)
    }

    /// From sums over the training rows of all nodes, whose labels are numbers with a normal error.
    pub(crate) fn of_sums(sums: &ColumnSums) -> Self {
        let size = sums.means.len();
        let mut scaling = Scaling::identity(size);
        scaling.means.copy_from_slice(&sums.means);
        let mut shares = vec![0.0; size];
        for (k, share) in shares.iter_mut().enumerate() {
            let deviation = (sums.products[k * size + k] / sums.weight).sqrt();
            if deviation > CONSTANT_SHARE * sums.means[k].abs() {
                scaling.deviations[k] = deviation;
                *share = 1.0 / deviation;
            }
        }
        let gram: Vec<f64> = (0..size * size)
            .map(|at| sums.products[at] * shares[at / size] * shares[at % size])
            .collect();
        let (kept, fixed) = independent(&gram, size);
        let square = sums.label_squares / sums.weight;
        Self {
            scaling,
            kept,
            fixed,
            deviating: sums.deviating.clone(),
            features: size,
            label_mean: sums.label_mean,
            label_scale: if square > 0.0 { square.sqrt() } else { 1.0 },
        }
    }

    /// The columns whose coefficients differ from node to node, the free ones last: all but those of shared features
    /// and of properties of nodes, unless these are named.
    pub(crate) fn random_columns(
        &self,
        pooling: &Pooling,
        names: &[String],
    ) -> Result<RandomColumns> {
        pooling.check_names(names)?;
        let variance = |column: usize| {
            let variance = pooling.variance(self.name_of(column, names))?;
            Some(variance / self.coefficient_unit(column).powi(2))
        };
        let is_free = |column: &usize| pooling.is_free(self.name_of(*column, names));
        let is_shared = |column: &usize| pooling.is_shared(self.name_of(*column, names));
        let differs = |column: &usize| {
            // The intercept, which is no feature, always may.
            let may = column.checked_sub(1).is_none_or(|place| self.deviating[self.kept[place]]);
            (may || is_free(column) || variance(*column).is_some()) && !is_shared(column)
        };
        let (free, pooled): (Vec<usize>, Vec<usize>) =
            (0..self.columns()).filter(differs).partition(is_free);
        // Blocks of Ω begin with what is coupled along the network.
        let places: Vec<usize> = pooled.iter().chain(&free).copied().collect();
        let variances = places.iter().map(|&column| variance(column)).collect();
        Ok(RandomColumns { places, variances, free: free.len() })
    }

    /// The name of the level among features.
    pub(crate) const INTERCEPT: &'static str = "intercept";

    /// The feature of a column, or the intercept.
    pub(crate) fn name_of<'n>(&self, column: usize, names: &'n [String]) -> &'n str {
        column.checked_sub(1).map_or(Self::INTERCEPT, |place| &names[self.kept[place]])
    }

    /// What a coefficient of one is worth for raw features and labels; the intercept at the features' means.
    pub(crate) fn coefficient_unit(&self, column: usize) -> f64 {
        let place = column.checked_sub(1);
        self.label_scale / place.map_or(1.0, |place| self.scaling.deviations[self.kept[place]])
    }

    /// The columns that have a mean coefficient, of each linear predictor.
    pub(crate) fn fixed_of_each(&self, family: Option<Family>) -> Vec<usize> {
        of_each(family, self.columns(), &self.fixed)
    }

    /// How many columns there are: the intercept first, then the features that were kept.
    #[must_use]
    pub fn columns(&self) -> usize {
        1 + self.kept.len()
    }

    /// The columns that have a mean coefficient: a basis of all.
    #[must_use]
    pub fn fixed(&self) -> &[usize] {
        &self.fixed
    }

    /// The column of a feature; none if it was left out.
    #[must_use]
    pub fn column_of(&self, feature: usize) -> Option<usize> {
        self.kept.iter().position(|kept| *kept == feature).map(|place| place + 1)
    }

    /// The features that were left out.
    pub fn left_out(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.features).filter(|feature| !self.kept.contains(feature))
    }

    /// A row of columns.
    fn row<'a>(&'a self, row: &'a [f64]) -> impl Iterator<Item = f64> + 'a {
        let scaled = |&k: &usize| (row[k] - self.scaling.means[k]) / self.scaling.deviations[k];
        std::iter::once(1.0).chain(self.kept.iter().map(scaled))
    }

    /// What the likelihood needs of a node's rows.
    #[must_use]
    pub fn moments(&self, data: &Dataset) -> NodeMoments {
        let columns: Vec<f64> = data.features().iter().flat_map(|row| self.row(row)).collect();
        let labels = data.labels().as_slice().iter().zip(data.weights());
        let rows = columns.chunks_exact(self.columns()).zip(labels);
        let moments = NodeMoments::new(
            self.columns(),
            rows.map(|(x, (y, weight))| (x, (y - self.label_mean) / self.label_scale, *weight)),
        );
        // Weights are how precise rows are, unless these say how many they stand for.
        match data.counts() {
            Some(_) => moments.counting(data.row_count()),
            None => moments,
        }
    }

    /// The rows of a node whose labels are classes or counts.
    #[must_use]
    pub fn rows(&self, data: &Dataset, family: Family) -> NodeRows {
        let columns = data.features().iter().flat_map(|row| self.row(row)).collect();
        let labels = data.labels().as_slice().to_vec();
        NodeRows::new(family, self.columns(), columns, labels, data.weights().to_vec())
    }

    /// The model of a node with these coefficients.
    pub(crate) fn hypothesis(
        &self,
        names: &Arc<[String]>,
        family: Option<Family>,
        own: &[f64],
    ) -> Arc<dyn Hypothesis> {
        let linear = |own: &[f64]| {
            let mut slopes = self.to_raw(own);
            let intercept = slopes.pop().unwrap_or_default();
            LinearHypothesis { names: names.clone(), slopes, intercept }
        };
        match family {
            None => Arc::new(linear(own)),
            Some(Family::Counts) => Arc::new(PoissonHypothesis(linear(own))),
            Some(Family::Classes(classes)) => {
                let outputs: Vec<LinearHypothesis> =
                    own.chunks_exact(self.columns()).map(linear).collect();
                // Of two classes only the second has weights; of more the first has zeros.
                let first = (classes > 2).then(|| linear(&vec![0.0; self.columns()]));
                let all = || first.iter().chain(&outputs);
                Arc::new(LogisticHypothesis {
                    names: names.clone(),
                    classes,
                    slopes: all().map(|linear| linear.slopes.clone()).collect(),
                    intercepts: all().map(|linear| linear.intercept).collect(),
                })
            }
        }
    }

    /// The slope of every feature and then the intercept, for raw features and labels.
    #[must_use]
    pub fn to_raw(&self, coefficients: &[f64]) -> Vec<f64> {
        let mut raw = self.map(coefficients);
        raw[self.features] += self.label_mean;
        raw
    }

    /// The linear part of [`Self::to_raw`].
    fn map(&self, coefficients: &[f64]) -> Vec<f64> {
        let mut raw = vec![0.0; self.features + 1];
        raw[self.features] = self.label_scale * coefficients[0];
        for (coefficient, &k) in coefficients[1..].iter().zip(&self.kept) {
            raw[k] = self.label_scale * coefficient / self.scaling.deviations[k];
            raw[self.features] -= raw[k] * self.scaling.means[k];
        }
        raw
    }

    /// The covariance of raw coefficients, in the order of [`Self::to_raw`].
    #[must_use]
    pub fn covariance_to_raw(&self, covariance: &[f64]) -> Vec<f64> {
        let (d, size) = (self.columns(), self.features + 1);
        // J C Jᵀ: first the rows, then the columns.
        let half: Vec<Vec<f64>> = covariance.chunks_exact(d).map(|row| self.map(row)).collect();
        let mut raw = vec![0.0; size * size];
        for column in 0..size {
            let along: Vec<f64> = half.iter().map(|row| row[column]).collect();
            for (row, value) in self.map(&along).into_iter().enumerate() {
                raw[row * size + column] = value;
            }
        }
        raw
    }

    /// The variance of a raw label over that of a scaled one.
    #[must_use]
    pub fn label_variance(&self) -> f64 {
        self.label_scale * self.label_scale
    }

    /// The standard deviation of a raw feature, in which its slope is measured.
    #[must_use]
    pub fn feature_scale(&self, feature: usize) -> f64 {
        self.scaling.deviations[feature]
    }
}

/// Adds how far each feature ranges over the rows of a node: exactly zero if it is the same in all.
pub(crate) fn add_ranges(sums: &mut [f64], rows: &Features) {
    for (k, sum) in sums.iter_mut().enumerate() {
        let values = || rows.iter().map(move |row| row[k]);
        let (low, high) = (values().reduce(f64::min), values().reduce(f64::max));
        *sum += high.zip(low).map_or(0.0, |(high, low)| high - low);
    }
}

/// Which features' slopes may differ from node to node, by the sums of their ranges: those that are no properties
/// of nodes. Where no node has two rows nothing is known of that, and all may.
pub(crate) fn may_deviate(ranges: &[f64], has_pairs: bool) -> Vec<bool> {
    ranges.iter().map(|range| *range > 0.0 || !has_pairs).collect()
}

/// The features that are not constant, and the columns among them and the intercept that are no combinations
/// of those before them, by Gram and Schmidt on their squares.
fn independent(gram: &[f64], size: usize) -> (Vec<usize>, Vec<usize>) {
    let (mut kept, mut basis, mut fixed) = (Vec::new(), Vec::new(), vec![0]);
    // Row k of the triangle of the basis.
    let mut triangle: Vec<Vec<f64>> = Vec::new();
    for feature in (0..size).filter(|feature| gram[feature * size + feature] > 0.0) {
        kept.push(feature);
        let mut row: Vec<f64> = basis.iter().map(|&k: &usize| gram[feature * size + k]).collect();
        for k in 0..row.len() {
            let known = dot(&triangle[k][..k], &row[..k]);
            row[k] = (row[k] - known) / triangle[k][k];
        }
        let square = gram[feature * size + feature];
        let own = square - dot(&row, &row);
        if own > OWN_SHARE * square {
            row.push(own.sqrt());
            triangle.push(row);
            basis.push(feature);
            fixed.push(kept.len());
        }
    }
    (kept, fixed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Labels;

    fn data() -> Dataset {
        let rows: Vec<[f64; 4]> = (0..12)
            .map(|k| {
                let x = f64::from(k);
                [x, 3.0, 2.0 * x + (x * 1.7).sin(), 5.0 - x]
            })
            .collect();
        let features = Features::from_rows(&["a", "constant", "b", "minus a"], &rows).unwrap();
        Dataset::new(features, Labels::values((0..12).map(|k| f64::from(k * k)).collect())).unwrap()
    }

    #[test]
    fn constants_are_left_out_and_combinations_have_no_mean() {
        let design = Design::new(&[data()], true).unwrap();
        assert_eq!(design.left_out().collect::<Vec<_>>(), [1]);
        assert_eq!((design.columns(), design.column_of(3)), (4, Some(3)));
        assert_eq!(design.fixed(), [0, 1, 2]);
    }

    #[test]
    fn properties_of_nodes_have_a_mean_and_no_deviations() {
        let columns = ["x", "size", "height"];
        let names = columns.map(String::from);
        let node = |size: f64, rows: u32| {
            let row = |k: u32| [f64::from(k), size, 0.1 * size];
            let rows: Vec<[f64; 3]> = (0..rows).map(row).collect();
            let labels = Labels::values(rows.iter().map(|row| row[0] + row[1].sin()).collect());
            Dataset::new(Features::from_rows(&columns, &rows).unwrap(), labels).unwrap()
        };
        let random = |rows: &[Dataset]| {
            let design = Design::new(rows, true).unwrap();
            assert!(design.fixed().contains(&2), "a property has a mean");
            design.random_columns(&Pooling::default(), &names).unwrap().places
        };
        // The middle node's one row says nothing of its features.
        let nodes = [node(0.3, 3), node(2.0, 1), node(5.7, 4)];
        assert_eq!(random(&nodes), [0, 1]);
        let mut differs = nodes.to_vec();
        differs.push(node(1.0, 1).stacked(&node(1.5, 1)).unwrap());
        assert_eq!(random(&differs), [0, 1, 2, 3]);
        // With one row each all features look like properties, and none need be; x is a constant here.
        let single = [node(0.3, 1), node(2.0, 1), node(5.7, 1)];
        let design = Design::new(&single, true).unwrap();
        let found = design.random_columns(&Pooling::default(), &names).unwrap();
        assert_eq!(found.places, [0, 1, 2]);
    }

    #[test]
    fn raw_coefficients_predict_what_scaled_ones_do_with_the_same_errors() {
        let data = data();
        let design = Design::new(std::slice::from_ref(&data), true).unwrap();
        let (w, mut covariance) = ([0.3, -1.0, 2.0, 0.5], vec![0.0; 16]);
        for x in [[1.0, 0.4, 0.2, 0.1], [0.1, -1.0, 0.7, 0.2], [0.0, 0.2, 1.0, -0.4]] {
            crate::algebra::add_outer(&mut covariance, 1.0, &x);
        }
        let raw = design.to_raw(&w);
        let raw_covariance = design.covariance_to_raw(&covariance);
        for row in data.features().iter() {
            let scaled: Vec<f64> = design.row(row).collect();
            let extended: Vec<f64> = row.iter().copied().chain([1.0]).collect();
            let prediction = design.label_mean + design.label_scale * dot(&w, &scaled);
            assert!((dot(&raw, &extended) - prediction).abs() < 1e-12);
            let variance = |covariance: &[f64], x: &[f64]| -> f64 {
                covariance.chunks_exact(x.len()).zip(x).map(|(row, x_k)| x_k * dot(row, x)).sum()
            };
            let expected = design.label_variance() * variance(&covariance, &scaled);
            assert!((variance(&raw_covariance, &extended) - expected).abs() < 1e-9 * expected);
        }
    }
}
