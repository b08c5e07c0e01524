//! Where participants live and how their messages travel.

mod in_process;
mod layout;
pub mod protocol;
pub mod simulator;
mod sums;

pub use in_process::{InProcess, Order, Run, Traffic};
pub use layout::{Assignment, Layout, Peer, ProcessId};
