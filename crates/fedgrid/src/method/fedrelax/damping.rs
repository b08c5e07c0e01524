//! Damping of what a node receives: with badly scaled public sets of their own, nodes can drive each
//! other apart. When the changes have grown for a while, only a part of what is new is taken in.

use std::collections::VecDeque;

use super::Target;
use crate::{
    bytes::{Reader, Writer},
    error::Result,
};

/// Over how many rounds growth is looked at. News from far nodes makes changes grow for a round or two
/// in a run that converges; ten rounds tell that from divergence.
const WINDOW_ROUNDS: usize = 10;
/// A change (a sum of squares) that has become so many times as large over a window has grown: the
/// predictions then move √2 times as far in a round as they did at its start.
const GROWTH_FACTOR: f64 = 2.0;

/// What a node remembers of earlier rounds.
#[derive(Debug)]
pub(super) struct Damping {
    /// The share of what is new that is taken in; one is all of it.
    pub(super) factor: f64,
    /// Whether the node has had to damp.
    pub(super) has_damped: bool,
    /// Whether growth is not looked for.
    is_off: bool,
    /// The targets of the round before.
    previous: Vec<Target>,
    /// The changes of the last rounds, the oldest first.
    changes: VecDeque<f64>,
}

impl Damping {
    /// Takes in this share of what is new from the beginning.
    pub(super) fn new(factor: f64) -> Self {
        let (previous, changes) = (Vec::new(), VecDeque::new());
        Self { factor, has_damped: false, is_off: false, previous, changes }
    }

    /// Goes on without looking for growth.
    pub(super) fn never_damp(&mut self) {
        self.is_off = true;
    }

    /// Writes all but the room for targets.
    pub(super) fn write(&self, to: &mut Writer) {
        to.number(self.factor);
        to.flag(self.has_damped);
        to.list(&self.changes.iter().copied().collect::<Vec<_>>());
    }

    pub(super) fn read(&mut self, from: &mut Reader<'_>) -> Result<()> {
        (self.factor, self.has_damped) = (from.number()?, from.flag()?);
        self.changes = from.list()?.into();
        Ok(())
    }

    /// Keeps the targets of the last round, and gives back older ones to be overwritten.
    pub(super) fn remember(&mut self, targets: &mut Vec<Target>) {
        std::mem::swap(&mut self.previous, targets);
    }

    /// Replaces targets by what is taken in of them.
    pub(super) fn apply(&self, targets: &mut [Target]) {
        if (self.factor - 1.0).abs() > f64::EPSILON {
            for (target, old) in targets.iter_mut().zip(&self.previous) {
                if old.total > 0.0 && target.total > 0.0 {
                    for (new, old) in target.labels.iter_mut().zip(&old.labels) {
                        *new = old + self.factor * (*new - old);
                    }
                }
            }
        }
    }

    /// Halves the share when the changes have been growing.
    pub(super) fn watch(&mut self, change: f64) {
        if self.is_off {
            return;
        }
        self.changes.push_back(change);
        if self.changes.len() <= WINDOW_ROUNDS {
            return;
        }
        let before = self.changes.pop_front().expect("the window is full");
        // The middle must have grown too: a single late jump is news, not divergence.
        let middle = self.changes[WINDOW_ROUNDS / 2];
        if before > 0.0 && middle > before && change > middle && change > GROWTH_FACTOR * before {
            self.factor /= 2.0;
            self.has_damped = true;
            // The effect of the new share shows only in rounds to come.
            self.changes.clear();
        }
    }
}
