//! Nearest neighbours on weighted rows: the mean label of the nearest rows that hold a budget of
//! weight,
//!
//! ```text
//! h(x) = Σ_p part_p weight_p y_p / Σ_p part_p weight_p      budget = k · Σ_p weight_p² / Σ_p weight_p
//! ```
//!
//! over the distinct feature rows p. These are taken by distance until their weights
//! reach the budget; the last ones, all at one distance, count in equal parts. The unit of the budget
//! is the mean weight of a distinct row, drawn by weight. It is one row for distinct rows of equal weight,
//! where this is the common rule of k nearest neighbours. It does not change when a row is split
//! into copies, scales with all weights, and hardly notices rows of little weight, so that weakly
//! weighted public points cannot crowd out a node's own rows.
//!
//! The hypothesis holds the rows it was learnt from: it is to stay at its node.

mod distance_order;

use std::sync::Arc;

use distance_order::{DistanceOrder, Near};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    Hypothesis, LocalModel, Prepared, Storable, Stored, Vanishing, check, solver::DistinctRows,
    vanishing::every_column_varies,
};
use crate::{
    algebra::{add_scaled, scale},
    data::{Dataset, Features, Labels, Task},
    error::{Error, Result, same_size},
};

/// Squared distances that differ by less than this share of themselves are the same.
const SAME_DISTANCE: f64 = 1e-9;

/// A model of k nearest neighbours.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Neighbours {
    /// How many neighbours k ≥ 1 count, in units of a typical distinct row's weight; as many as
    /// there are rows or more give the weighted mean.
    #[schemars(range(min = 1))]
    pub k: usize,
    /// Whether a neighbour's weight is divided by its distance; then rows are met exactly.
    pub by_distance: bool,
    /// Whether columns are divided by their weighted standard deviation before distances are taken.
    #[serde(skip)]
    pub standardise: bool,
}

impl Default for Neighbours {
    fn default() -> Self {
        Self { k: 5, by_distance: false, standardise: true }
    }
}

impl LocalModel for Neighbours {
    fn fit(&self, data: &Dataset) -> Result<Box<dyn Hypothesis>> {
        let (distinct, unlabelled) = self.unlabelled(data.features(), data.weights())?;
        Ok(Box::new(unlabelled.with_labels(&distinct, data.labels())?))
    }

    fn prepare(&self, rows: &Features, weights: &[f64]) -> Result<Option<Box<dyn Prepared>>> {
        let (distinct, unlabelled) = self.unlabelled(rows, weights)?;
        let mut order = unlabelled.order();
        let averages = rows.iter().map(|x| unlabelled.average(x, &mut order)).collect();
        Ok(Some(Box::new(PreparedNeighbours { distinct, unlabelled, averages })))
    }

    fn compares_rows(&self) -> bool {
        true
    }

    /// By distance, a row is met exactly where it lies, whatever it weighs.
    fn vanishing_rows(&self, own: &Dataset) -> Vanishing {
        if !self.by_distance && (!self.standardise || every_column_varies(own)) {
            Vanishing::Forgotten
        } else {
            Vanishing::Remembered
        }
    }
}

impl Neighbours {
    /// The distinct rows, and a hypothesis that has no labels yet.
    fn unlabelled(
        &self,
        rows: &Features,
        weights: &[f64],
    ) -> Result<(DistinctRows, NeighboursHypothesis)> {
        if self.k == 0 {
            return Err(Error::Parameter { name: "k", value: 0.0, expected: "one or more" });
        }
        let distinct = DistinctRows::new(rows, weights, "a model of nearest neighbours")?;
        let (scaling, _) = distinct.scaled(self.standardise);
        let shares = distinct.shares();
        let unit: f64 = shares.iter().map(|share| share * share).sum();
        let hypothesis = NeighboursHypothesis {
            names: rows.names().clone(),
            task: Task::Regression,
            deviations: scaling.deviations,
            points: distinct.features.values().to_vec(),
            labels: Vec::new(),
            budget: (self.k as f64 * unit).min(1.0),
            shares,
            by_distance: self.by_distance,
        };
        Ok((distinct, hypothesis))
    }
}

/// A model of neighbours with its rows, and who is near to whom.
#[derive(Debug)]
struct PreparedNeighbours {
    distinct: DistinctRows,
    unlabelled: NeighboursHypothesis,
    /// What the label of each given row is the mean of.
    averages: Vec<Average>,
}

/// A weighted mean of the labels of distinct rows.
#[derive(Debug)]
struct Average {
    /// The distinct rows, from near to far, and how much of each counts.
    parts: Vec<(usize, f64)>,
    total: f64,
}

impl Average {
    fn write(&self, labels: &[f64], label: &mut [f64]) {
        let outputs = label.len();
        label.fill(0.0);
        for (index, part) in &self.parts {
            add_scaled(label, *part, &labels[index * outputs..(index + 1) * outputs]);
        }
        scale(label, 1.0 / self.total);
    }
}

impl Prepared for PreparedNeighbours {
    fn fit(&self, labels: &Labels) -> Result<Box<dyn Hypothesis>> {
        Ok(Box::new(self.unlabelled.with_labels(&self.distinct, labels)?))
    }

    fn fit_and_predict(
        &self,
        labels: &Labels,
        rows: &Features,
    ) -> Result<(Box<dyn Hypothesis>, Labels)> {
        same_size("rows", rows.rows(), self.averages.len())?;
        let hypothesis = self.unlabelled.with_labels(&self.distinct, labels)?;
        let mut predictions = Labels::neutral(labels.task(), rows.rows());
        let all = predictions.as_mut_slice().chunks_exact_mut(labels.task().outputs());
        for (label, average) in all.zip(&self.averages) {
            average.write(&hypothesis.labels, label);
        }
        Ok((Box::new(hypothesis), predictions))
    }
}

/// Rows to be near to, and how many of them count.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NeighboursHypothesis {
    /// The names of the features, in order.
    pub names: Arc<[String]>,
    /// What is predicted.
    pub task: Task,
    /// What the difference in each column is divided by.
    pub deviations: Vec<f64>,
    /// The features of the distinct rows, one after the other.
    pub points: Vec<f64>,
    /// The mean label of each distinct row, one after the other.
    pub labels: Vec<f64>,
    /// The share of each distinct row in the total weight.
    pub shares: Vec<f64>,
    /// The share of the total weight that the neighbours hold together, above zero and at most one.
    pub budget: f64,
    /// Whether a neighbour's weight is divided by its distance.
    pub by_distance: bool,
}

/// As many of the nearest rows are sorted first, which are enough for few neighbours of about equal weight.
const SORTED_FIRST: usize = 32;

impl NeighboursHypothesis {
    /// The same with the labels of its rows.
    fn with_labels(&self, distinct: &DistinctRows, labels: &Labels) -> Result<Self> {
        Ok(Self { task: labels.task(), labels: distinct.labels(labels)?, ..self.clone() })
    }

    /// Its rows, of which some are to be found near another.
    fn order(&self) -> DistanceOrder {
        DistanceOrder::new(&self.points, &self.deviations)
    }

    /// What the label of a row is the mean of.
    fn average(&self, x: &[f64], order: &mut DistanceOrder) -> Average {
        order.look_from(x);
        let mut sorted = SORTED_FIRST;
        loop {
            if let Some(average) = self.average_of(order.nearest(sorted)) {
                return average;
            }
            sorted *= 4;
        }
    }

    /// The same of the nearest rows, in their order; none if these are not enough.
    fn average_of(&self, nearest: &[Near]) -> Option<Average> {
        let is_all = nearest.len() == self.shares.len();
        let (mut left, mut passed) = (self.budget, 0);
        let mut average = Average { parts: Vec::new(), total: 0.0 };
        let same = |a: &Near, b: &Near| {
            b.squared_distance() <= a.squared_distance() * (1.0 + SAME_DISTANCE)
        };
        for group in nearest.chunk_by(same) {
            passed += group.len();
            // The last of these may have more at its distance.
            if passed == nearest.len() && !is_all {
                return None;
            }
            let held: f64 = group.iter().map(|near| self.shares[near.place()]).sum();
            // A row at no distance outweighs all others.
            let squared = group[0].squared_distance();
            let met = self.by_distance && squared == 0.0;
            let nearness = if self.by_distance && !met { 1.0 / squared.sqrt() } else { 1.0 };
            let part = (left / held).min(1.0) * nearness;
            for near in group {
                let own = part * self.shares[near.place()];
                average.parts.push((near.place(), own));
                average.total += own;
            }
            left -= held;
            if left <= 0.0 || met {
                return Some(average);
            }
        }
        Some(average)
    }
}

impl Hypothesis for NeighboursHypothesis {
    fn predict(&self, features: &Features) -> Labels {
        let mut labels = Labels::neutral(self.task, features.rows());
        let mut order = self.order();
        let rows = labels.as_mut_slice().chunks_exact_mut(self.task.outputs());
        for (label, x) in rows.zip(features.iter()) {
            self.average(x, &mut order).write(&self.labels, label);
        }
        labels
    }

    fn save(&self) -> Option<Stored> {
        Stored::of(self)
    }
}

impl Storable for NeighboursHypothesis {
    const KIND: &'static str = "neighbours";

    fn domain(&self) -> (Option<&[String]>, Task) {
        (Some(&self.names), self.task)
    }

    /// Refuses lengths that disagree and numbers out of range, as a file may hold.
    fn check(&self) -> Result<()> {
        let (columns, count) = (self.names.len(), self.shares.len());
        same_size("deviations of neighbours", self.deviations.len(), columns)?;
        check::positive("deviation", &self.deviations)?;
        check::shares(&self.shares)?;
        same_size("features of neighbours", self.points.len(), columns * count)?;
        same_size("labels of neighbours", self.labels.len(), self.task.outputs() * count)?;
        check::finite("a feature of a neighbour", &self.points)?;
        check::finite("a label of a neighbour", &self.labels)?;
        if self.budget > 0.0 && self.budget <= 1.0 {
            return Ok(());
        }
        let expected = "a number above 0, at most 1";
        Err(Error::Parameter { name: "budget", value: self.budget, expected })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        random::{Purpose, Stream},
        testing,
    };

    fn line(xs: &[f64], ys: &[f64], weights: &[f64]) -> Dataset {
        let features = Features::new(["x".to_string()].into(), xs.to_vec()).unwrap();
        Dataset::weighted(features, Labels::values(ys.to_vec()), weights.to_vec()).unwrap()
    }

    fn at(model: &Neighbours, data: &Dataset, x: f64) -> f64 {
        let features = Features::from_rows(&["x"], &[[x]]).unwrap();
        model.fit(data).unwrap().predict(&features).as_slice()[0]
    }

    #[test]
    fn neighbours_keep_the_laws_of_local_models() {
        for (k, by_distance, standardise) in [
            (5, false, true),
            (1, false, true),
            (5, true, true),
            (3, false, false),
            (99, false, true),
        ] {
            let model = Neighbours { k, by_distance, standardise };
            testing::check_local_model(&model, Task::Regression);
            testing::check_local_model(&model, Task::Classification { classes: 2 });
            testing::check_local_model(&model, Task::Classification { classes: 3 });
        }
    }

    #[test]
    fn distinct_rows_of_equal_weight_give_the_mean_of_the_k_nearest() {
        let mut stream = Stream::new(1, 0, 0, Purpose::Data);
        let xs: Vec<f64> = (0..30).map(|_| stream.normal()).collect();
        let ys: Vec<f64> = (0..30).map(|_| stream.normal()).collect();
        let data = line(&xs, &ys, &[0.3; 30]);
        for k in [1, 4, 30] {
            let model = Neighbours { k, ..Neighbours::default() };
            let x = stream.normal();
            let mut order: Vec<usize> = (0..30).collect();
            order.sort_by(|&a, &b| (xs[a] - x).abs().total_cmp(&(xs[b] - x).abs()));
            let mean = order[..k].iter().map(|&row| ys[row]).sum::<f64>() / k as f64;
            assert!((at(&model, &data, x) - mean).abs() < 1e-12);
        }
    }

    #[test]
    fn prepared_neighbours_give_the_bits_of_a_fit() {
        let mut stream = Stream::new(2, 0, 0, Purpose::Data);
        let names = ["a", "b"].map(String::from).into();
        // Few values, so that there are equal rows and equal distances; some rows do not count.
        let values = (0..400).map(|_| stream.index(9) as f64).collect();
        let features = Features::new(names, values).unwrap();
        let weights: Vec<f64> = (0..200).map(|row| f64::from(row % 4) * stream.uniform()).collect();
        let labels = Labels::values((0..200).map(|_| stream.normal()).collect());
        for (k, by_distance) in [(1, false), (5, false), (60, false), (5, true)] {
            let model = Neighbours { k, by_distance, standardise: true };
            let data =
                Dataset::weighted(features.clone(), labels.clone(), weights.clone()).unwrap();
            let fitted = model.fit(&data).unwrap();
            let prepared = model.prepare(&features, &weights).unwrap().unwrap();
            let (same, known) = prepared.fit_and_predict(&labels, &features).unwrap();
            assert_eq!(same.save(), fitted.save());
            assert_eq!(known, fitted.predict(&features));
        }
    }

    #[test]
    fn rows_at_one_distance_count_in_equal_parts() {
        let data = line(&[0.1, 0.3, 5.0], &[0.0, 6.0, 100.0], &[1.0; 3]);
        let model = Neighbours { k: 1, ..Neighbours::default() };
        assert!((at(&model, &data, 0.2) - 3.0).abs() < 1e-12);
    }

    #[test]
    fn rows_of_vanishing_weight_leave_the_neighbours_as_they_were() {
        let own: Vec<f64> = (0..10).map(f64::from).collect();
        let alone = line(&own, &own, &[0.1; 10]);
        let public: Vec<f64> = (0..1000).map(|i| f64::from(i) / 100.0 + 1e-3).collect();
        let pulled = alone.clone().stacked(&line(&public, &[77.0; 1000], &[1e-13; 1000])).unwrap();
        let model = Neighbours { k: 3, standardise: false, ..Neighbours::default() };
        for x in [0.2, 4.4, 8.7] {
            assert!((at(&model, &alone, x) - at(&model, &pulled, x)).abs() < 1e-6);
        }
    }

    #[test]
    fn the_scale_of_all_weights_does_not_matter() {
        let xs = [0.0, 1.0, 2.5, 4.0, 7.0];
        let weights = [1.0, 0.2, 3.0, 0.7, 1.1];
        let light = line(&xs, &xs, &weights.map(|w| 1e-3 * w));
        let model = Neighbours { k: 2, ..Neighbours::default() };
        for x in [0.3, 2.0, 5.0] {
            let heavy = line(&xs, &xs, &weights);
            assert!((at(&model, &heavy, x) - at(&model, &light, x)).abs() < 1e-12);
        }
    }

    #[test]
    fn divided_by_distance_a_known_row_is_met_and_a_near_one_counts_most() {
        let data = line(&[0.0, 3.0], &[1.0, 4.0], &[1.0; 2]);
        let model = Neighbours { k: 2, by_distance: true, standardise: false };
        assert!((at(&model, &data, 3.0) - 4.0).abs() < 1e-15);
        assert!((at(&model, &data, 1.0) - 2.0).abs() < 1e-12);
    }

    #[test]
    fn damaged_neighbours_and_no_neighbours_are_refused() {
        let data = line(&[0.0, 3.0], &[1.0, 4.0], &[1.0; 2]);
        let error = Neighbours { k: 0, ..Neighbours::default() }.fit(&data).unwrap_err();
        assert_eq!(error.to_string(), "k is 0, expected one or more");
        let sound = Neighbours::default()
            .fit(&data)
            .unwrap()
            .downcast_ref::<NeighboursHypothesis>()
            .expect("neighbours store neighbours")
            .clone();
        assert!(sound.check().is_ok());
        assert!(NeighboursHypothesis { labels: vec![1.0], ..sound.clone() }.check().is_err());
        assert!(NeighboursHypothesis { budget: 0.0, ..sound.clone() }.check().is_err());
        assert!(NeighboursHypothesis { shares: vec![0.0; 2], ..sound }.check().is_err());
    }
}
