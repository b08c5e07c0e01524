//! Intervals of predictions at a level, at nodes that the run knows and at others.

use std::sync::Arc;

use fedgrid::{data::Features, uncertainty::Band};

use super::{NodeRows, PredictedBy};
use crate::{
    error::Result,
    kept_models::{RunIntervals, RunModels},
};

/// Intervals of a level.
#[derive(Debug)]
pub struct LevelIntervals {
    pub(super) level: f64,
    bands: Vec<Band>,
    known: Arc<RunIntervals>,
    /// Those of the pooled model, for rows of nodes that it predicts.
    pooled: Option<Arc<RunIntervals>>,
}

impl LevelIntervals {
    /// Those of a method's models, at a level between zero and one.
    pub fn new(models: &RunModels, level: f64) -> Result<Self> {
        let known = models.intervals()?;
        let bands = known.intervals.bands(level)?;
        let pooled = models.pooled()?.map(|pooled| pooled.intervals()).transpose()?;
        Ok(Self { level, bands, known, pooled })
    }

    /// The ends of the interval of a row whose node the run does not know; none if nobody knows how far predictions are off
    /// at such nodes.
    fn unseen(&self, by: PredictedBy, row: &[f64], prediction: f64) -> Option<(f64, f64)> {
        let intervals = match by {
            PredictedBy::Pooled => &self.pooled.as_ref()?.intervals,
            // Without a spread over nodes, errors are those of nodes with a model of their own.
            _ => Some(&self.known.intervals).filter(|own| own.predictive.is_some())?,
        };
        let factor = intervals.unseen_band(self.level).factor()?;
        intervals.unseen_interval(factor, row, prediction)
    }

    /// The band of a node that the run knows.
    pub(super) fn band(&self, node: &str) -> Option<&Band> {
        self.known.places.get(node).map(|place| &self.bands[*place])
    }

    /// The ends of the intervals of a node's rows, whose predictions are numbers.
    pub(super) fn ends(
        &self,
        group: &NodeRows,
        features: &Features,
        predictions: &[f64],
    ) -> Vec<Option<(f64, f64)>> {
        let rows = features.iter().zip(predictions);
        if !group.is_known {
            return rows.map(|(row, own)| self.unseen(group.by, row, *own)).collect();
        }
        let place = self.known.places.get(group.node).copied();
        let at = place.and_then(|place| Some((place, self.bands[place].factor()?)));
        let end = |(row, own): (&[f64], &f64)| Some(self.known.intervals.interval(at?, row, *own));
        rows.map(end).collect()
    }
}
