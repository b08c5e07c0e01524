//! Federations of processes under the simulator: the same bits as one process, whatever goes wrong in
//! synchronous rounds, and the same minimum in asynchronous ones.

mod asynchronous;
mod changes;
mod federation;
pub(crate) mod setting;
mod slow;
mod split;
mod sweep;
mod synchronous;
mod two_copies;
