//! Rows that arrive over time: a loss is estimated from the most recent batch,
//!
//! ```text
//! L_i⁽ᵏ⁾(w) = (1/|B|) Σ_{(x, y) ∈ B} L(y, h_w(x))      B = the last rows at iteration k
//! ```
//!
//! and a target begins a new iteration when enough new rows have come to it. ["Your Data, My Model",
//! section 3.3.]

use std::{fmt::Debug, sync::Arc};

use crate::{data::Dataset, error::Result, network::NodeId};

/// Where new rows come from.
pub trait Feed: Debug + Send + Sync {
    /// The rows that have come to a node since the last tick; none if none have. Ticks count from
    /// zero, one for every iteration that a target could begin.
    fn arrived(&self, node: NodeId, tick: usize) -> Option<Dataset>;
}

/// How rows that arrive are used.
#[derive(Debug, Clone)]
pub struct Online {
    /// Where they come from. With none a node's own rows come to it in their order: it begins with
    /// the first batch of them, and every tick brings one more.
    pub feed: Option<Arc<dyn Feed>>,
    /// How many of the most recent rows make a loss, one or more; a node's first rows stay until
    /// newer ones push them out.
    pub batch: usize,
    /// How many rows must have come to a target before its next iteration; zero never waits.
    pub enough: usize,
}

/// The most recent rows of a node.
#[derive(Debug, Clone)]
pub(super) struct Recent {
    online: Option<Online>,
    /// The rows that are still to come, where a node's own rows do.
    waiting: Option<Dataset>,
    /// How often was looked for new rows.
    pub(super) tick: usize,
    /// How many rows have come since the last iteration began.
    pub(super) fresh: usize,
    pub(super) rows: Dataset,
}

impl Recent {
    pub(super) fn new(online: Option<&Online>, rows: Dataset) -> Result<Self> {
        let mut recent = Self { online: online.cloned(), waiting: None, tick: 0, fresh: 0, rows };
        // With a feed the node's own rows are its first batch; without one they are the feed.
        let Some(Online { feed: None, batch, .. }) = online else { return Ok(recent) };
        let (all, first) = (recent.rows.without_zero_weights(), (*batch).max(1));
        let part = |rows: std::ops::Range<usize>| all.select(&rows.collect::<Vec<_>>());
        if first < all.rows() {
            let begin = part(0..first);
            recent.rows = Dataset::new(begin.features().clone(), begin.labels().clone())?;
            recent.waiting = Some(part(first..all.rows()));
        }
        Ok(recent)
    }

    /// What has come to a node since the last tick.
    fn arrived(&self, node: NodeId) -> Option<Dataset> {
        let feed = self.online.as_ref().and_then(|online| online.feed.as_ref());
        match (feed, &self.waiting) {
            (Some(feed), _) => feed.arrived(node, self.tick),
            (None, Some(waiting)) if self.tick < waiting.rows() => {
                Some(waiting.select(&[self.tick]))
            }
            _ => None,
        }
    }

    /// Takes in what has come; whether anything has.
    pub(super) fn tick(&mut self, node: NodeId) -> Result<bool> {
        let Some(online) = &self.online else { return Ok(false) };
        let (arrived, batch) = (self.arrived(node), online.batch.max(1));
        self.tick += 1;
        let Some(arrived) = arrived.filter(|rows| rows.rows() > 0) else { return Ok(false) };
        self.fresh += arrived.rows();
        let all = std::mem::replace(&mut self.rows, arrived.clone());
        let all = all.stacked(&arrived)?;
        let first = all.rows().saturating_sub(batch);
        let recent = all.select(&(first..all.rows()).collect::<Vec<_>>());
        // A new dataset has equal weights that add up to one, whatever the rows weighed before.
        self.rows = Dataset::new(recent.features().clone(), recent.labels().clone())?;
        Ok(true)
    }

    /// Whether enough has come for a new iteration; if so, counting begins anew.
    pub(super) fn is_enough(&mut self) -> bool {
        let enough = self.online.as_ref().is_none_or(|online| self.fresh >= online.enough);
        if enough {
            self.fresh = 0;
        }
        enough
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Features, Labels};

    fn rows(values: &[f64]) -> Dataset {
        let rows: Vec<[f64; 1]> = values.iter().map(|value| [*value]).collect();
        let features = Features::from_rows(&["x"], &rows).unwrap();
        Dataset::new(features, Labels::values(values.to_vec())).unwrap()
    }

    /// Two rows in every tick but the second.
    #[derive(Debug)]
    struct Pairs;

    impl Feed for Pairs {
        fn arrived(&self, _: NodeId, tick: usize) -> Option<Dataset> {
            (tick != 1).then(|| rows(&[tick as f64, tick as f64 + 0.5]))
        }
    }

    #[test]
    fn the_most_recent_rows_make_a_mean_and_iterations_wait_for_enough() {
        let online = Online { feed: Some(Arc::new(Pairs)), batch: 3, enough: 4 };
        let mut recent = Recent::new(Some(&online), rows(&[9.0])).unwrap();
        assert!(recent.tick(0).unwrap());
        assert_eq!(recent.rows.labels().as_slice(), [9.0, 0.0, 0.5]);
        assert!(!recent.is_enough());
        assert!(!recent.tick(0).unwrap());
        assert!(!recent.is_enough());
        assert!(recent.tick(0).unwrap());
        assert_eq!(recent.rows.labels().as_slice(), [0.5, 2.0, 2.5]);
        assert_eq!(recent.rows.weights(), [1.0 / 3.0; 3]);
        assert!(recent.is_enough());
        assert!(!recent.is_enough());
    }

    #[test]
    fn own_rows_come_one_by_one_in_their_order_until_none_is_left() {
        let online = Online { feed: None, batch: 2, enough: 1 };
        let mut recent = Recent::new(Some(&online), rows(&[1.0, 2.0, 3.0, 4.0])).unwrap();
        assert_eq!(recent.rows, rows(&[1.0, 2.0]));
        assert!(!recent.is_enough());
        for last in [3.0, 4.0] {
            assert!(recent.tick(0).unwrap() && recent.is_enough());
            assert_eq!(recent.rows, rows(&[last - 1.0, last]));
        }
        assert!(!recent.tick(0).unwrap() && !recent.is_enough());

        let all = Online { batch: 4, ..online };
        let mut recent = Recent::new(Some(&all), rows(&[1.0, 2.0])).unwrap();
        assert!(!recent.tick(0).unwrap());
        assert_eq!(recent.rows, rows(&[1.0, 2.0]));
    }

    #[test]
    fn without_a_feed_rows_stay_and_no_one_waits() {
        let mut recent = Recent::new(None, rows(&[1.0])).unwrap();
        assert!(!recent.tick(0).unwrap() && recent.is_enough());
        assert_eq!(recent.rows, rows(&[1.0]));
    }
}
