//! A federation in which everything goes wrong, from one seed: the same seed gives the same trace.
//!
//! Processes run the [protocol](super::protocol) as they would over a real network. The network loses,
//! doubles, delays and reorders frames and splits in two; processes crash between any two of their
//! actions, are slow, come back as zombies or from old backups; writes are lost and torn; hostile frames
//! come in between; members come and go ([`Change`]). Invariants are watched: some things must never happen ([`Violation`]), whatever the faults.
//!
//! ```
//! use fedgrid::{data::*, method::FedRelax, model::Linear, network::{self, Node}};
//! use fedgrid::runtime::{Layout, protocol::ProtocolSettings, simulator::{Faults, Simulation}};
//! use std::sync::Arc;
//!
//! # fn main() -> fedgrid::Result<()> {
//! let public = Arc::new(Features::from_rows(&["x"], &[[-1.0], [1.0]])?);
//! let nodes = [1.0, 3.0].iter().enumerate().map(|(id, slope)| {
//!     let rows = Features::from_rows(&["x"], &[[1.0]])?;
//!     let data = Dataset::new(rows, Labels::values(vec![*slope]))?;
//!     let model = Arc::new(Linear { ridge: 0.0, intercept: false });
//!     Ok(Node { id, data, model, public: public.clone() })
//! });
//! let network = network::path(2)?;
//! let views = network.views(nodes.collect::<fedgrid::Result<_>>()?)?;
//! let faults = Faults { loss: 0.3, crash: 0.01, ..Faults::default() };
//! let (method, layout) = (FedRelax::default(), Layout::apart(&network)?);
//! let simulation =
//!     Simulation::new(&method, &views, &layout).with_settings(ProtocolSettings::default());
//! let outcome = Simulation { faults: &faults, ..simulation }.run(1)?;
//! assert!(outcome.violations.is_empty() && outcome.converged);
//! # Ok(())
//! # }
//! ```

mod change;
mod disk;
mod faults;
mod invariants;
mod network_faults;
mod outcome;
mod run;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

pub use change::Change;
use disk::Disk;
pub use faults::Faults;
pub use invariants::Violation;
pub use outcome::{FaultCounts, SimulationOutcome};
use run::SimulationRun;

use super::{
    layout::Layout,
    protocol::{ProtocolSettings, RoundMode, rules::SoundRules},
};
use crate::{
    error::Result,
    method::{Durable, Method},
    network::{NodeId, View},
};

/// What each node was after each round, as digests of its snapshot.
pub type Digests = BTreeMap<(u64, NodeId), u64>;

/// A federation to be simulated.
#[derive(Debug)]
pub struct Simulation<'a, M> {
    /// How nodes learn.
    pub method: &'a M,
    /// The nodes.
    pub views: &'a [View],
    /// Where they live.
    pub layout: &'a Layout,
    /// How processes take part.
    pub settings: ProtocolSettings,
    /// What goes wrong.
    pub faults: &'a Faults,
    /// After how many ticks whoever has not finished is stuck.
    pub deadline: u64,
    /// Whether every round of every node is digested.
    pub takes_digests: bool,
    /// What the digests must be.
    pub expected: Option<&'a Digests>,
    /// Whether the simulation ends when a promise is broken.
    pub stops_at_violation: bool,
    /// When members come and go, in order; processes and nodes keep their numbers, and new ones follow.
    pub changes: &'a [Change],
}

impl<M> Clone for Simulation<'_, M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M> Copy for Simulation<'_, M> {}

impl<'a, M: Method<Participant: Durable>> Simulation<'a, M> {
    /// A federation in which nothing goes wrong, with settings of the protocol's own.
    #[must_use]
    pub fn new(method: &'a M, views: &'a [View], layout: &'a Layout) -> Self {
        Self {
            method,
            views,
            layout,
            settings: ProtocolSettings::default(),
            faults: &Faults::NONE,
            deadline: 100_000,
            takes_digests: false,
            expected: None,
            stops_at_violation: false,
            changes: &[],
        }
    }

    /// The same with these settings.
    #[must_use]
    pub fn with_settings(self, settings: ProtocolSettings) -> Self {
        Self { settings, ..self }
    }

    /// Runs the federation to its end, or to the deadline.
    pub fn run(&self, seed: u64) -> Result<SimulationOutcome> {
        self.faults.check()?;
        change::check(self.layout, self.views, self.changes)?;
        SimulationRun::new(self, seed, SoundRules, Disk::default()).run()
    }

    /// Whether rounds wait for each other.
    #[must_use]
    pub fn is_synchronous(&self) -> bool {
        self.settings.mode == RoundMode::Synchronous
    }
}
