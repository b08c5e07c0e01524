//! The minimiser itself, when one process holds everything: what every distributed run is measured
//! against, and the fast path where the problem has one.

pub mod gtv;
mod krylov;
mod linear;
mod mean_block;
mod smooth;
mod tasks;

pub use krylov::Limit;
pub use linear::{Anchor, LinearNetwork, Rounds, Solution};
pub use smooth::{SmoothAnchor, SmoothCoupling, SmoothNetwork, SmoothSolution, SmoothStart};
