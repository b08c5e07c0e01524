//! How a process takes part.

use crate::{
    error::{Error, Result},
    observe::Stop,
};

/// The usual largest magnitude of a number in a message: far above any scaled feature, and far enough
/// below the largest float that sums of squares stay finite.
pub const DEFAULT_LARGEST_NUMBER: f64 = 1e12;

/// How rounds of different processes go together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RoundMode {
    /// A round ends when the messages of all neighbours are there.
    #[default]
    Synchronous,
    /// A round takes place at every tick, with the latest message of each neighbour.
    Asynchronous {
        /// For how many rounds a message may be used before the next must have come; none is no limit.
        staleness: Option<u64>,
    },
}

/// How a process takes part. All processes of a federation have the same settings.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ProtocolSettings {
    /// How rounds go together.
    pub mode: RoundMode,
    /// When to stop: the number of rounds always ends a run.
    pub stop: Stop,
    /// After how many rounds all check together whether to stop; zero never does, and then only the
    /// number of rounds ends a run.
    pub check_every: u64,
    /// After how many rounds the state is made durable, at least one. Where nothing may be forgotten,
    /// every round is, whatever this says.
    pub checkpoint_every: u64,
    /// After how many ticks of waiting those waited for are named.
    pub patience_ticks: u64,
    /// The largest magnitude of a number in a message. What is beyond it is neither sent nor accepted,
    /// so that one finite but absurd number cannot carry a neighbour's model off.
    pub largest_number: f64,
    /// Whether every round reports what its nodes are, as digests of their snapshots: to compare runs.
    pub digests: bool,
    /// Whether members may change: then the state at each check is kept, from which a run with others goes on. Without
    /// checks, with asynchronous rounds or with a method whose nodes cannot take their state over, none is.
    pub keeps_bases: bool,
}

/// Which of a project's members take part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Membership {
    /// How often members have changed before this run; zero where a run begins.
    pub change: u64,
    /// The change by which this process became a member; zero for those of the beginning.
    pub since: u64,
    /// Whether rounds are counted anew, from what the nodes had learnt at the end of the run before: rows have changed.
    pub anew: bool,
}

impl Default for ProtocolSettings {
    fn default() -> Self {
        Self {
            mode: RoundMode::Synchronous,
            stop: Stop::default(),
            check_every: 10,
            checkpoint_every: 1,
            patience_ticks: 20,
            largest_number: DEFAULT_LARGEST_NUMBER,
            digests: false,
            keeps_bases: false,
        }
    }
}

impl ProtocolSettings {
    pub(super) fn check(&self) -> Result<()> {
        if self.checkpoint_every == 0 {
            let expected = "one or more";
            return Err(Error::Parameter { name: "checkpoint_every", value: 0.0, expected });
        }
        if self.largest_number.is_nan() || self.largest_number <= 0.0 {
            let (value, expected) = (self.largest_number, "a positive number");
            return Err(Error::Parameter { name: "largest_number", value, expected });
        }
        Ok(())
    }
}
