//! Faults that are planted on purpose, to see that the simulator finds them.
//!
//! Outside of this crate's own tests a process has none: the switch is the constant `false` there.

/// A planted fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mutant {
    /// Frames of older epochs are accepted.
    OldEpochs,
    /// Frames of a copy with the same epoch are accepted.
    Copies,
    /// A floor that has fallen is not noticed.
    Rollbacks,
    /// The epoch is the same at every start.
    SameEpoch,
    /// Frames leave before the epoch is durable.
    SpeakBeforeEpoch,
    /// Frames of a round leave before the round is durable.
    SpeakBeforeKept,
    /// A round is said to be durable before it is.
    EarlyFloor,
    /// Messages are taken in the order in which they came.
    ArrivalOrder,
    /// What is said again is said a little differently.
    FreshNoise,
    /// The last frame that came counts, of whatever round.
    AnyRound,
    /// Frames are forgotten when the own round is durable, though a neighbour may need them.
    EarlyForgetting,
    /// Checkpoints do not hold what may have to be said again.
    NoOutbox,
    /// Whoever has little change in its own nodes stops.
    StopAlone,
    /// Sums that come twice count twice.
    SumsTwice,
    /// A restored node has forgotten its damping and its targets, its duals, or its ledger.
    Forgetful,
    /// A word that comes late replaces a newer one.
    AnyAge,
}
