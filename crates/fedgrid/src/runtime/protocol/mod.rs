//! A process of a federation as a pure state machine: it is told what happens and says what to do,
//!
//! ```text
//! step(event) → actions
//! ```
//!
//! with no clock, no socket, no thread, no file and no randomness of its own. The same code runs under
//! the seeded simulator and over a real network; whoever drives it does the actions in order.
//!
//! **Synchronous** rounds are those of one process: a round ends when every neighbouring process has
//! been heard, messages are taken in order of the senders' ids, and so the bits are those of
//! [`InProcess`](super::InProcess) for any split of the nodes, whatever is lost, late, doubled or killed.
//! What is missing is asked for again at every tick, and a resend has the same payload.
//!
//! **Asynchronous** rounds take place at every tick with the latest word of each neighbour. They are for
//! methods that say whole states: FedRelax, and the conversations of the primal-dual method, in which
//! one end owns the dual and repeats itself until it is answered.
//!
//! The rules, and why each is there:
//!
//! - *Keep before you speak.* The epoch is durable before the first frame leaves, and a round that is to
//!   be kept is durable before its words leave. With a checkpoint every k rounds a process that falls
//!   learns the rounds since then again: from frames that its neighbours hold until its `floor` says that
//!   they will not be needed. Frames that it may have to say again are in its checkpoint, too.
//! - *Epochs fence.* A process counts its starts. No frame of a lower epoch is accepted, none of a copy
//!   with the same epoch but another nonce, and none whose floor has fallen: that is an old backup.
//!   What a process knows of others' epochs is durable before it acts on it.
//! - *Agreement along a tree.* Every so many rounds sums travel to the root, and its verdict back. A
//!   verdict ends the run at the same round everywhere.
//!
//! # Driving it
//!
//! 1. `Process::new(method, views, seat, settings)`, then [`Event::Started`] with the bytes last kept in
//!    each [`Slot`], if any, and a nonce that no other copy has.
//! 2. For [`Action::Persist`], make the bytes durable in place of the slot's former ones (all or
//!    nothing), then give [`Event::Persisted`] with its ticket. A failed write is the end: never report it
//!    as done. For [`Action::Send`], send; losing it is fine.
//! 3. Give [`Event::Received`] for every frame whose sender is proven, and [`Event::Tick`] now and then:
//!    what is missing is asked for again at ticks, and asynchronous rounds take place at them.
//! 4. After [`Action::Finished`] go on until [`Action::Settled`] or as long as patience lasts: others may
//!    still need a resend. [`Action::Halt`] is the end.

mod agreement;
mod checkpoint;
mod frame;
mod hearing;
mod identity;
mod link;
pub(super) mod mutant;
mod process;
mod rounds;
mod settings;
mod status;

pub use frame::{Frame, HEAD, Kind};
pub use process::Process;
pub use settings::{Action, Event, LARGEST, Mode, Notice, Reason, Settings, Slot};
pub use status::PeerStatus;
