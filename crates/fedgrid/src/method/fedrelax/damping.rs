//! Damping of what a node hears: with badly scaled public sets of their own, nodes can drive each
//! other apart. When the changes have grown for a while, only a part of what is new is taken in.

use super::Target;

/// Rounds in a row that must have grown before a node damps.
const PATIENCE: usize = 10;
/// A change (a sum of squares) counts as grown above so many times the smallest so far.
const GROWTH: f64 = 16.0;

/// What a node remembers of what it heard.
#[derive(Debug)]
pub(super) struct Damping {
    /// The share of what is new that is taken in; one is all of it.
    pub(super) factor: f64,
    /// Whether the node has had to damp.
    pub(super) has_damped: bool,
    heard: Vec<Target>,
    smallest: f64,
    grown: usize,
}

impl Damping {
    /// Takes in this share of what is new from the beginning.
    pub(super) fn new(factor: f64) -> Self {
        Self { factor, has_damped: false, heard: Vec::new(), smallest: f64::INFINITY, grown: 0 }
    }

    /// Replaces targets by what is taken in of them.
    pub(super) fn apply(&mut self, targets: &mut Vec<Target>) {
        if (self.factor - 1.0).abs() > f64::EPSILON {
            for (target, old) in targets.iter_mut().zip(&self.heard) {
                if old.total > 0.0 && target.total > 0.0 {
                    for (new, old) in target.labels.iter_mut().zip(&old.labels) {
                        *new = old + self.factor * (*new - old);
                    }
                }
            }
        }
        self.heard.clone_from(targets);
    }

    /// Halves the share when the changes have been growing.
    pub(super) fn watch(&mut self, change: f64) {
        self.smallest = self.smallest.min(change.max(f64::MIN_POSITIVE));
        self.grown = if change > GROWTH * self.smallest { self.grown + 1 } else { 0 };
        if self.grown >= PATIENCE {
            self.factor /= 2.0;
            self.has_damped = true;
            (self.smallest, self.grown) = (f64::INFINITY, 0);
        }
    }
}
