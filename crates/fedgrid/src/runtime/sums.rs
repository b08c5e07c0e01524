//! What the reports of all nodes make up together,
//!
//! ```text
//! objective = Σ_i L_i + α · ½ Σ_i Σ_j A_ij δ_ij,      residual² = Σ_i change / Σ_i size
//! gap = Σ_i gap_i      if the parts of all nodes are of one iterate
//! ```
//!
//! Both ends report an edge, so half the sum counts it once.

use crate::{
    bytes::{Reader, Writer},
    error::Result,
    method::{Gap, Report, StopOn},
    observe::{Round, Stop},
};

/// Over how many rounds the objective must hardly change where its decrease ends a run: rounds of
/// damped or asynchronous methods may stand still for a few before they go on.
const WINDOW_ROUNDS: usize = 10;

/// Sums over the reports of nodes. Floats are added in the order of the calls.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Sums {
    loss: f64,
    variation: f64,
    change: f64,
    size: f64,
    /// The bound that these nodes make up; none if one has none, or their parts are of different iterates.
    gap: Option<Gap>,
    /// How many bytes the edges carried.
    bytes: u64,
}

impl Sums {
    /// How many bytes they take.
    pub(super) const BYTES: usize = 4 * 8 + 2 + 8 + 8 + 8;

    /// The sums of no node.
    pub(super) fn none() -> Self {
        let gap = Some(Gap { iterate: None, bound: 0.0 });
        Self { loss: 0.0, variation: 0.0, change: 0.0, size: 0.0, gap, bytes: 0 }
    }

    /// The sums over nodes whose messages took so many bytes.
    pub(super) fn of<'a>(reports: impl IntoIterator<Item = &'a Report>, bytes: usize) -> Self {
        let mut sums = Self { bytes: bytes as u64, ..Self::none() };
        for Report { loss, variation, change, size, gap, .. } in reports {
            sums.add(&Self {
                loss: *loss,
                variation: *variation,
                change: *change,
                size: *size,
                gap: *gap,
                bytes: 0,
            });
        }
        sums
    }

    /// Adds the sums over other nodes.
    pub(super) fn add(&mut self, other: &Self) {
        self.loss += other.loss;
        self.variation += other.variation;
        self.change += other.change;
        self.size += other.size;
        self.bytes += other.bytes;
        self.gap = self.gap.zip(other.gap).and_then(|(a, b)| {
            // Bounds of different iterates do not add up to a bound of any.
            let is_of_one = a.iterate.zip(b.iterate).is_none_or(|(a, b)| a == b);
            let iterate = a.iterate.or(b.iterate);
            is_of_one.then_some(Gap { iterate, bound: a.bound + b.bound })
        });
    }

    /// The record of a round.
    pub(super) fn round(&self, round: usize, alpha: f64) -> Round {
        let gtv = 0.5 * self.variation;
        // All zero: nothing has changed, and nothing is left to divide by.
        let residual = if self.size > 0.0 { (self.change / self.size).sqrt() } else { 0.0 };
        Round {
            round,
            objective: self.loss + alpha * gtv,
            loss: self.loss,
            gtv,
            residual,
            gap: self.gap.map(|gap| gap.bound),
            bytes: usize::try_from(self.bytes).unwrap_or(usize::MAX),
            validation: None,
        }
    }

    pub(super) fn to_bytes(self) -> Vec<u8> {
        let mut to = Writer::default();
        to.numbers(&[self.loss, self.variation, self.change, self.size]);
        to.flag(self.gap.is_some());
        let gap = self.gap.unwrap_or(Gap { iterate: None, bound: 0.0 });
        to.flag(gap.iterate.is_some());
        to.count(gap.iterate.unwrap_or(0));
        to.number(gap.bound);
        to.word(self.bytes);
        to.into_bytes()
    }

    pub(super) fn read(from: &mut Reader<'_>) -> Result<Self> {
        let numbers = from.numbers(4)?;
        let (has_gap, is_of_one, iterate) = (from.flag()?, from.flag()?, from.count()?);
        let gap = Gap { iterate: is_of_one.then_some(iterate), bound: from.number()? };
        Ok(Self {
            loss: numbers[0],
            variation: numbers[1],
            change: numbers[2],
            size: numbers[3],
            gap: has_gap.then_some(gap),
            bytes: from.word()?,
        })
    }
}

/// Whether the number that matters has fallen to the tolerance; earlier objectives come oldest first.
pub(super) fn is_reached(stop: &Stop, stop_on: StopOn, record: &Round, earlier: &[f64]) -> bool {
    let allowed = stop.tolerance * record.objective.abs();
    match stop_on {
        StopOn::Residual => record.residual <= stop.tolerance,
        StopOn::Gap => record.gap.map_or(record.residual <= stop.tolerance, |gap| gap <= allowed),
        StopOn::Decrease => {
            let last = earlier.iter().rev().take(WINDOW_ROUNDS);
            let furthest = last.map(|then| (then - record.objective).abs()).fold(0.0, f64::max);
            earlier.len() >= WINDOW_ROUNDS && furthest <= allowed
        }
    }
}

/// Remembers an objective for as long as it matters.
pub(super) fn remember(objective: f64, earlier: &mut Vec<f64>) {
    if earlier.len() >= WINDOW_ROUNDS {
        earlier.remove(0);
    }
    earlier.push(objective);
}
