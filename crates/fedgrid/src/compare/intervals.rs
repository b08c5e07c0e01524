//! Intervals around the predictions of what was fitted: calibrated on rows that no model has seen, checked on
//! test rows.

use rayon::prelude::*;

use super::{
    Contestant, Fitted, Strength, Study, Watch,
    fitted::{Effort, FitRequest, StartingPoint},
    trainer::Trainer,
};
use crate::{
    data::{Fold, Task},
    error::Result,
    uncertainty::{Band, CalibrationRows, Intervals, Posterior, Residuals},
};

/// How often the intervals of a node cover its test rows.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct NodeCoverage {
    /// How many rows lie in their interval, each as many as it stands for.
    pub covered: f64,
    /// How many rows have an interval.
    pub rows: usize,
    /// How many these stand for.
    pub row_count: f64,
    /// The sum of the widths, each as often as its row stands for.
    pub width: f64,
}

impl Study {
    /// The residuals of what was fitted on rows that it has not seen; none for classes. Where training rows
    /// take turns to validate, `refit` says who is fitted without them at which strength; without it,
    /// there is no row.
    pub fn residuals(
        &self,
        fitted: &Fitted,
        refit: Option<(Contestant, Strength, &dyn Watch)>,
    ) -> Result<Option<Residuals>> {
        if self.task() != Task::Regression {
            return Ok(None);
        }
        let mut nodes = vec![Vec::new(); self.network.len()];
        let has_counts = self.rows.iter().any(|data| data.counts().is_some());
        let mut counts = has_counts.then(|| nodes.clone());
        let mut add = |fitted: &Fitted, rows: &[Vec<usize>]| {
            self.add_residuals(fitted, rows, &mut nodes);
            for (node, counts) in counts.iter_mut().flatten().enumerate() {
                counts.extend(rows[node].iter().map(|&row| self.rows[node].count(row)));
            }
        };
        let rows = match (&self.plan.folds[..], refit) {
            // Released validation rows have taught the twins: these residuals are of models beside twins that they have not.
            ([fold], Some((contestant, strength, watch)))
                if fold.train == self.plan.train && self.privacy_of(contestant).is_some() =>
            {
                let privacy = self.privacy_of(contestant).expect("the guard has seen it");
                let of = (contestant, strength);
                let unseen = self.fit_beside_untaught_twins(of, &fold.train, privacy, watch)?;
                add(&unseen, &fold.validation);
                CalibrationRows::Validation
            }
            ([fold], _) if fold.train == self.plan.train => {
                add(fitted, &fold.validation);
                CalibrationRows::Validation
            }
            ([], _) | (_, None) => CalibrationRows::None,
            (folds, Some((contestant, strength, watch))) => {
                let without = |fold| self.fit_without(fold, (contestant, strength), watch);
                for fold in folds {
                    let fitted = without(fold)?;
                    add(&fitted, &fold.validation);
                }
                CalibrationRows::Folds
            }
        };
        Ok(Some(Residuals { rows, nodes, counts }))
    }

    fn fit_without(
        &self,
        fold: &Fold,
        (contestant, strength): (Contestant, Strength),
        watch: &dyn Watch,
    ) -> Result<Fitted> {
        let trainer = Trainer::new(self, watch, &fold.train, strength.ridge)?;
        let network = &self.network_of(contestant);
        let (start, effort) = (StartingPoint::Cold, Effort::Search);
        trainer.train(contestant, FitRequest::new(network, strength.alpha, start, effort))
    }

    /// Appends the residuals on the given rows of each node.
    fn add_residuals(&self, fitted: &Fitted, rows: &[Vec<usize>], nodes: &mut [Vec<f64>]) {
        let of_node = |(node, rows): (usize, &Vec<usize>)| -> Vec<f64> {
            let data = self.rows[node].select(rows);
            let predictions = fitted.hypotheses[node].predict(data.features());
            let predictions = data.over_exposures(predictions);
            let pairs = data.labels().as_slice().iter().zip(predictions.as_slice());
            let unit = self.target_unit();
            let residual = |(x, (y, prediction)): (&[f64], (&f64, &f64))| {
                let deviation = self.deviation(fitted, (node, x, *prediction));
                let residual = unit * (y - prediction) / deviation;
                // Of steps that were too long no number is left: the row is as far off as can be.
                if residual.is_finite() { residual } else { f64::MAX }
            };
            data.features().iter().zip(pairs).map(residual).collect()
        };
        let found: Vec<Vec<f64>> = rows.par_iter().enumerate().map(of_node).collect();
        nodes.iter_mut().zip(found).for_each(|(own, found)| own.extend(found));
    }

    /// The deviation of a prediction in the units of the table; one if nothing is known of it.
    fn deviation(&self, fitted: &Fitted, (node, x, prediction): (usize, &[f64], f64)) -> f64 {
        fitted.posterior.as_ref().map_or(1.0, |posterior| {
            self.target_unit() * posterior.predictive.deviation(node, x, prediction)
        })
    }

    /// The intervals of what was fitted, in the units of the table; none for classes, and where nobody has looked for residuals.
    #[must_use]
    pub fn intervals(&self, fitted: &Fitted) -> Option<Intervals> {
        let residuals = fitted.unseen.as_ref()?;
        let predictive = self.posterior(fitted).map(Posterior::into_predictive);
        let mut intervals = Intervals::new(residuals, predictive, &self.network);
        let labels = self.models.iter().map(|model| model.smallest_label());
        intervals.smallest = labels.reduce(f64::min).filter(|smallest| smallest.is_finite());
        Some(intervals)
    }

    /// How often intervals of these bands, one for each node, cover its test rows.
    #[must_use]
    pub fn coverage(
        &self,
        fitted: &Fitted,
        intervals: &Intervals,
        bands: &[Band],
    ) -> Vec<NodeCoverage> {
        let of_node = |(node, band): (usize, &Band)| {
            let rows = &self.plan.test[node];
            let Some(factor) = band.factor() else { return NodeCoverage::default() };
            let data = self.rows[node].select(rows);
            let predictions = fitted.hypotheses[node].predict(data.features());
            let predictions = data.over_exposures(predictions);
            let pairs = data.labels().as_slice().iter().zip(predictions.as_slice());
            let unit = self.target_unit();
            let (rows, row_count) = (rows.len(), data.row_count());
            let mut coverage = NodeCoverage { rows, row_count, ..NodeCoverage::default() };
            for (row, (x, (y, prediction))) in data.features().iter().zip(pairs).enumerate() {
                let deviation = self.deviation(fitted, (node, x, *prediction));
                let (lower, upper) = intervals.around(unit * prediction, factor * deviation);
                let is_covered = (lower..=upper).contains(&(unit * y));
                coverage.covered += if is_covered { data.count(row) } else { 0.0 };
                coverage.width += data.count(row) * (upper - lower);
            }
            coverage
        };
        bands.par_iter().enumerate().map(of_node).collect()
    }
}
