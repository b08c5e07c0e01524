//! Which features a node tries: all of them, or drawn ones.

use super::split_search::{NodeScene, SplitSearch};
use crate::random::Stream;

/// The random choices of a tree.
#[derive(Debug)]
pub(crate) struct Draws {
    /// Where they come from.
    pub(crate) stream: Stream,
    /// How many features that vary are tried per split.
    pub(crate) tried: usize,
    /// Whether features are tried in random order, so that none is favoured among equal splits.
    pub(crate) shuffled: bool,
    /// Whether one threshold per feature is drawn, instead of trying all.
    pub(crate) thresholds: bool,
}

/// Tries all features.
pub(super) fn try_every(scene: &NodeScene, search: &mut SplitSearch, features: &[usize]) {
    // Four independent sums keep the processor busy; what is left over goes by two and by one.
    let (fours, rest) = features.as_chunks::<4>();
    for four in fours {
        search.try_all(scene, *four);
    }
    let (twos, rest) = rest.as_chunks::<2>();
    for two in twos {
        search.try_all(scene, *two);
    }
    for &one in rest {
        search.try_all(scene, [one]);
    }
}

/// Tries drawn features until enough of them vary and one gives a split.
pub(super) fn try_drawn(
    scene: &NodeScene,
    search: &mut SplitSearch,
    draws: &mut Draws,
    features: &mut [usize],
) {
    let mut tried = 0;
    for slot in 0..features.len() {
        // A node that can be split is no leaf because the drawn features happen to be useless.
        if tried >= draws.tried && search.found.is_some() {
            break;
        }
        if draws.shuffled {
            // One step of a shuffle: no more is drawn than is tried.
            features.swap(slot, slot + draws.stream.index(features.len() - slot));
        }
        if scene.is_constant(features[slot]) {
            continue;
        }
        tried += 1;
        if draws.thresholds {
            search.try_random(scene, features[slot], &mut draws.stream);
        } else {
            search.try_all(scene, [features[slot]]);
        }
    }
}
