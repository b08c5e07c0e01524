//! The order in which a network's nodes are eliminated, found once for all systems on it.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use super::Network;
use crate::algebra::Pattern;

/// The most neighbours a node may have on average when it is eliminated: beyond that conjugate gradients
/// are faster.
const MAX_MEAN_DEGREE: usize = 20;
/// Numbers in all blocks that are worth the time and memory: a quarter of a gigabyte.
const MAX_NUMBERS: usize = 1 << 25;

/// What has been found, by the size of blocks. It follows from the network, so all are equal.
#[derive(Debug, Clone, Default)]
pub(super) struct Patterns(Arc<Mutex<BTreeMap<usize, Option<Arc<Pattern>>>>>);

impl PartialEq for Patterns {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Network {
    /// The pattern of factors of a system with blocks of this size for nodes and edges; none where
    /// elimination fills in too many: on paths, grids and networks of near neighbours there are few.
    pub(crate) fn pattern(&self, size: usize) -> Option<Arc<Pattern>> {
        let mut found = self.patterns.0.lock().unwrap_or_else(PoisonError::into_inner);
        let make = || {
            let neighbours: Vec<_> =
                (0..self.len()).map(|node| self.neighbours(node).to_vec()).collect();
            let most = MAX_NUMBERS.min(MAX_MEAN_DEGREE * self.len() * size * size);
            Pattern::new(&neighbours, size, most).map(Arc::new)
        };
        found.entry(size).or_insert_with(make).clone()
    }
}
