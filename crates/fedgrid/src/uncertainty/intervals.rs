//! Intervals of all nodes, at any level, as a run keeps them.

use serde::{Deserialize, Serialize};

pub use super::calibration::Reach;
use super::{
    Predictive,
    calibration::{Scores, Walk, Weighed},
    distribution::student_size,
};
use crate::{
    error::{Error, Result, same_size},
    network::Network,
};

/// The rows whose errors calibrate intervals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CalibrationRows {
    /// Rows that no model is fitted to.
    Validation,
    /// Training rows, each by models that were fitted without it.
    Folds,
    /// There are none.
    None,
}

/// The errors on calibration rows, each over the deviation that its prediction has.
#[derive(Debug, Clone, PartialEq)]
pub struct Residuals {
    /// Which rows these are.
    pub rows: CalibrationRows,
    /// The residuals of each node, with their signs.
    pub nodes: Vec<Vec<f64>>,
    /// How many rows each of them stands for; none if for one.
    pub counts: Option<Vec<Vec<f64>>>,
}

/// What intervals are made of.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Intervals {
    /// Which rows calibrate them.
    pub calibration: CalibrationRows,
    /// How predictions spread, where a method says it.
    pub predictive: Option<Predictive>,
    /// The smallest label there is, such as zero for counts; none if there is none.
    pub smallest: Option<f64>,
    scores: Scores,
}

/// How wide the intervals of a node are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Band {
    /// As rows say that no model has seen.
    Calibrated {
        /// The half width over the deviation of the prediction.
        factor: f64,
        /// How many rows of the node calibrate them.
        own: usize,
        /// How many rows of other nodes do.
        others: usize,
        /// How far these are.
        reach: Reach,
    },
    /// As the model says that was fitted; no row checks it.
    Modelled {
        /// The half width over the deviation of the prediction.
        factor: f64,
    },
    /// There is no interval at this level.
    TooFew {
        /// How many rows there are to calibrate it, of all nodes.
        rows: usize,
        /// The largest level that these allow; zero without a row.
        largest_level: f64,
    },
}

impl Band {
    /// The half width over the deviation of a prediction.
    #[must_use]
    pub fn factor(&self) -> Option<f64> {
        match *self {
            Self::Calibrated { factor, .. } | Self::Modelled { factor } => Some(factor),
            Self::TooFew { .. } => None,
        }
    }
}

impl Intervals {
    /// From residuals of predictions that spread like this.
    #[must_use]
    pub fn new(residuals: &Residuals, predictive: Option<Predictive>, network: &Network) -> Self {
        let sizes = |own: &Vec<f64>| own.iter().map(|residual| residual.abs()).collect();
        let counts = residuals.counts.clone().unwrap_or_default();
        let scores = Scores::new(residuals.nodes.iter().map(sizes).collect(), counts, network);
        Self { calibration: residuals.rows, predictive, smallest: None, scores }
    }

    /// The residuals that they are made of, without their signs.
    #[must_use]
    pub fn residuals(&self) -> Residuals {
        let counts = Some(&self.scores.counts).filter(|counts| !counts.is_empty()).cloned();
        Residuals { rows: self.calibration, nodes: self.scores.nodes.clone(), counts }
    }

    /// How many nodes there are.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.scores.nodes.len()
    }

    /// Refuses what was not stored by this version for so many nodes and features.
    pub fn check(&self, nodes: usize, features: usize) -> Result<()> {
        same_size("nodes with scores", self.nodes(), nodes)?;
        self.scores.check()?;
        let Some(predictive) = &self.predictive else { return Ok(()) };
        same_size("nodes with covariances", predictive.covariances.len(), nodes)?;
        let entries = (features + 1) * (features + 2) / 2;
        let all = predictive.covariances.iter().chain(&predictive.unseen);
        let mut sizes = all.map(Vec::len);
        sizes.try_for_each(|found| same_size("entries of a covariance", found, entries))
    }

    /// How wide the intervals of every node are at a level between zero and one.
    pub fn bands(&self, level: f64) -> Result<Vec<Band>> {
        // Written so that not-a-number is refused as well.
        if !(level > 0.0 && level < 1.0) {
            let expected = "a share between zero and one, such as 0.9";
            return Err(Error::Parameter {
                name: "the level of intervals",
                value: level,
                expected,
            });
        }
        let mut walk = Walk::new(&self.scores);
        let band = |node: usize| {
            let own = self.scores.nodes[node].len();
            self.band_of(&self.scores.weighed(&mut walk, node, level), own, level)
        };
        Ok((0..self.nodes()).map(band).collect())
    }

    /// How wide the intervals of a node that nothing is known of are: the rows of all nodes say it, each as much.
    #[must_use]
    pub fn unseen_band(&self, level: f64) -> Band {
        self.band_of(&self.scores.of_all(), 0, level)
    }

    /// The ends of the interval around a prediction at a node that nothing is known of, for a band of this factor. None
    /// where predictions spread and nobody has told how much at such a node.
    #[must_use]
    pub fn unseen_interval(&self, factor: f64, row: &[f64], prediction: f64) -> Option<(f64, f64)> {
        let deviation = match &self.predictive {
            Some(predictive) => predictive.unseen_deviation(row, prediction)?,
            None => 1.0,
        };
        Some(self.around(prediction, factor * deviation))
    }

    /// The band that these rows lead to, of which so many are a node's own.
    fn band_of(&self, weighed: &Weighed, own: usize, level: f64) -> Band {
        if let Some(factor) = self.scores.quantile(weighed, level) {
            let all = weighed.weights.iter().map(|(node, _)| self.scores.nodes[*node].len());
            // The node itself is among those that count.
            let others = all.sum::<usize>() - own;
            return Band::Calibrated { factor, own, others, reach: weighed.reach };
        }
        if let Some(predictive) = &self.predictive {
            return Band::Modelled { factor: student_size(level, predictive.degrees_of_freedom) };
        }
        // At this level the largest score of all is the end of the interval.
        let largest_level = weighed.total / (1.0 + weighed.total);
        Band::TooFew { rows: self.scores.rows(), largest_level }
    }

    /// The ends of the interval around a prediction, for a band of this factor.
    #[must_use]
    pub fn interval(
        &self,
        (node, factor): (usize, f64),
        row: &[f64],
        prediction: f64,
    ) -> (f64, f64) {
        let spread = self.predictive.as_ref();
        let deviation = spread.map_or(1.0, |own| own.deviation(node, row, prediction));
        self.around(prediction, factor * deviation)
    }

    /// The ends of an interval of this half width.
    pub(crate) fn around(&self, prediction: f64, half_width: f64) -> (f64, f64) {
        let (lower, upper) = (prediction - half_width, prediction + half_width);
        (self.smallest.map_or(lower, |smallest| lower.max(smallest)), upper)
    }
}
