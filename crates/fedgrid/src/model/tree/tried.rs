//! Which features a node tries: all of them, or drawn ones.

use super::split::{Scene, Search};
use crate::random::Stream;

/// The random choices of a tree.
#[derive(Debug)]
pub(in crate::model) struct Draws {
    /// Where they come from.
    pub(in crate::model) stream: Stream,
    /// How many features that vary are tried per split.
    pub(in crate::model) tried: usize,
    /// Whether features are tried in random order, so that none is favoured among equal splits.
    pub(in crate::model) shuffled: bool,
    /// Whether one threshold per feature is drawn, instead of trying all.
    pub(in crate::model) thresholds: bool,
}

/// Tries all features.
pub(super) fn try_every(scene: &Scene, search: &mut Search, features: &[usize]) {
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
    scene: &Scene,
    search: &mut Search,
    draws: &mut Draws,
    features: &mut [usize],
) {
    let mut tried = 0;
    for place in 0..features.len() {
        if tried >= draws.tried && search.found.is_some() {
            break;
        }
        if draws.shuffled {
            features.swap(place, place + draws.stream.index(features.len() - place));
        }
        if scene.is_constant(features[place]) {
            continue;
        }
        tried += 1;
        if draws.thresholds {
            search.try_random(scene, features[place], &mut draws.stream);
        } else {
            search.try_all(scene, [features[place]]);
        }
    }
}
