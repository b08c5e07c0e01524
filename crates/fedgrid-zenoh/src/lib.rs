//! The federation: the protocol of [`fedgrid::runtime`] between processes, over Zenoh.
//!
//! One process hosts one node or thousands. Processes whose nodes are neighbours exchange signed
//! frames; edges inside a process never touch the network. A project key signs who is who (the
//! manifest), every process has its state on disk before it sends, and Zenoh is the transport,
//! not the guarantee: what counts is checked end to end, frame by frame.
//!
//! The modules are listed in the order data flows, and a module uses only those above it.

pub mod frame;
pub mod error;
pub mod address;
pub mod disk;
pub mod identity;
pub mod signed_text;
pub mod departure;
pub mod manifest;
pub mod site_bundle;
pub mod checkpoint;
pub mod chain;
pub mod ledger;
pub mod releases;
pub mod audit;
pub mod transport;
pub mod provision;
pub mod members;
pub mod agent;

pub use error::{Error, Result};
