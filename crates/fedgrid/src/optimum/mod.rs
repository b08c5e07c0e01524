//! The minimiser itself, when one process holds everything: what every distributed run is measured
//! against, and the fast path where the problem has one.

pub mod gtv;
mod krylov;
mod linear;

pub use krylov::{Krylov, Limit, conjugate_gradient, gmres};
pub use linear::{Anchor, LinearNetwork, Rounds, Solution};
