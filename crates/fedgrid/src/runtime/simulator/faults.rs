//! What can go wrong, and how often.

use std::ops::Range;

use crate::error::{Error, Result};

/// What goes wrong in a simulated federation. Times are in ticks.
#[derive(Debug, Clone, PartialEq)]
pub struct Faults {
    /// The share of frames that are lost.
    pub loss: f64,
    /// The share of frames that arrive twice.
    pub duplicate: f64,
    /// By how many ticks a frame is late at most; frames overtake each other.
    pub delay: u64,
    /// The probability that a process crashes in a tick, between any two of its actions.
    pub crash: f64,
    /// For how many ticks a process that crashed is down at most.
    pub down: u64,
    /// The probability that the write that a crash interrupts is torn; otherwise it is lost.
    pub torn: f64,
    /// The probability that a process that is started again goes on as a zombie beside its successor.
    pub zombie: f64,
    /// The probability that a process is started from an old backup.
    pub backup: f64,
    /// The probability that a process gets a hostile frame in a tick: replayed, cut, stuffed with what
    /// is no number, from a stranger, or of random bytes.
    pub hostile: f64,
    /// When the processes are split in two halves that do not reach each other.
    pub partition: Option<Range<u64>>,
    /// Whether the partition lets one direction through.
    pub one_way: bool,
    /// The share of processes that are slow.
    pub slow: f64,
    /// How many times longer a slow process takes for everything.
    pub slowness: u64,
    /// When all of this ends, except loss, duplicates and delay, which last.
    pub until: u64,
}

impl Default for Faults {
    fn default() -> Self {
        Self::NONE
    }
}

impl Faults {
    /// Nothing goes wrong.
    pub const NONE: Self = Self {
        loss: 0.0,
        duplicate: 0.0,
        delay: 0,
        crash: 0.0,
        down: 10,
        torn: 0.5,
        zombie: 0.0,
        backup: 0.0,
        hostile: 0.0,
        partition: None,
        one_way: false,
        slow: 0.0,
        slowness: 10,
        until: u64::MAX,
    };

    /// Refuses shares outside of their range.
    pub fn check(&self) -> Result<()> {
        let shares = [
            ("loss", self.loss),
            ("duplicate", self.duplicate),
            ("crash", self.crash),
            ("torn", self.torn),
            ("zombie", self.zombie),
            ("backup", self.backup),
            ("hostile", self.hostile),
            ("slow", self.slow),
        ];
        let expected = "a share from zero to one";
        match shares.into_iter().find(|(_, value)| !(0.0..=1.0).contains(value)) {
            Some((name, value)) => Err(Error::Parameter { name, value, expected }),
            // Nothing would ever arrive, and every run would end at its deadline.
            None if self.loss >= 1.0 => {
                let (value, expected) = (self.loss, "a share below one: something must arrive");
                Err(Error::Parameter { name: "loss", value, expected })
            }
            None => Ok(()),
        }
    }
}
