//! How much neighbours disagree: on predictions ([`Discrepancy`] and their sum [`gtv`]), or on weights
//! ([`Penalty`], with one file for each penalty).

#![expect(
    clippy::inline_always,
    reason = "dual updates are compiled for the processor's registers inside the passes that use them"
)]

mod discrepancy;
mod edge_penalty;
mod norm;
mod one_norm;
mod squared_norm;
mod weights;

pub use discrepancy::{Discrepancy, clipped, gtv};
pub use edge_penalty::{EdgePenalty, PenaltyTask};
pub use weights::Penalty;
