//! A process of a federation as a pure state machine: it is told what happens and answers what to do,
//!
//! ```text
//! step(event) → actions
//! ```
//!
//! with no clock, no socket, no thread, no file and no randomness of its own. The same code runs under
//! the seeded simulator and over a real network; whoever drives it does the actions in order.
//!
//! **Synchronous** rounds are those of one process: a round ends when the messages of every
//! neighbouring process are there, and they are taken in order of the senders' ids. So the bits are those
//! of [`InProcess`](super::InProcess) for any split of the nodes, whatever is lost, late, doubled or killed.
//! What is missing is asked for again at every tick, and a resend has the same payload.
//!
//! **Asynchronous** rounds take place at every tick with the latest message of each neighbour. They are
//! for methods that send whole states: FedRelax, and the conversations of the primal-dual method, in
//! which one end owns the dual and repeats its message until it is answered.
//!
//! The rules, and why each is there:
//!
//! - *Write before you send.* The epoch is durable before the first frame leaves, and a round with a
//!   checkpoint is durable before its messages leave. With a checkpoint every k rounds a process that
//!   crashes learns the rounds since then again: from frames that its neighbours hold until its durable
//!   round says that they will not be needed. Frames that it may have to send again are in its
//!   checkpoint, too.
//! - *Epochs fence.* A process counts its starts. No frame of a lower epoch is accepted, none of a copy
//!   with the same epoch but another nonce, and none whose durable round has fallen: that is an
//!   old backup. What a process knows of others' epochs is durable before it acts on it.
//! - *Agreement along a tree.* Every so many rounds sums travel to the root, and its verdict back. A
//!   verdict ends the run at the same round everywhere.
//! - *Members change between two rounds.* A change is a new run, of the same nodes among other neighbours. At
//!   each check a process keeps its state as a base before it tells its sums; in the new run the bases that
//!   all have are told up the tree, the newest of them is chosen at the root, and all take it up, durably,
//!   before they send. What was learnt after it is learnt again, among the new members.
//!
//! [`Process`] routes events between four parts, each of which alone changes its own state:
//!
//! ```text
//! peers       who the neighbours are, and what may have to be sent to them again
//! rounds      the hosted nodes, their messages, the number of the round
//! durability  what is being written, and the last durable round
//! agreement   the sums of the tree, and whether all have agreed to stop
//! bases       the states from which a run with other members can go on
//! ```
//!
//! # Driving it
//!
//! 1. `Process::new(method, views, assignment, settings)`, with `among(membership)` where members have changed, then
//!    [`Event::Started`] with the last durable bytes of each [`Slot`], if any, and a nonce that no other copy has.
//! 2. For [`Action::Persist`], make the bytes durable in place of the slot's former ones (all or
//!    nothing), then give [`Event::Persisted`] with its ticket. A failed write is the end: never report it
//!    as done. For [`Action::Send`], send; losing it is fine.
//! 3. Give [`Event::Received`] for every frame whose sender is proven, and [`Event::Tick`] now and then:
//!    what is missing is asked for again at ticks, and asynchronous rounds take place at them.
//! 4. After [`Action::Finished`] go on until [`Action::Settled`] or as long as patience lasts: others may
//!    still need a resend. [`Action::Halt`] is the end.

mod agreement;
mod bases;
mod bundle;
mod durability;
mod events;
pub(super) mod frame;
mod peers;
mod process;
mod rounds;
pub(super) mod rules;
mod settings;

pub use bases::BasePlace;
pub use bundle::EDGE_INDEX_BYTES;
pub use events::{Action, Event, Notice, Reason, Slot};
pub use frame::{FRAME_HEAD_BYTES, Frame, FrameKind};
pub use peers::PeerStatus;
pub use process::Process;
pub use settings::{DEFAULT_LARGEST_NUMBER, Membership, ProtocolSettings, RoundMode};
