//! Privacy of what a node publishes: its *twin*, a model of noised statistics that stands for the node wherever others can
//! look, while the node's own model keeps the rows as they are.
//!
//! ```text
//! released    S̃ = S(rows) + N_Z(0, σ²)            σ = Δ / μ        [Gaussian mechanism, on a grid]
//! published   the twin of S̃                        rounds, neighbours and tuning cost nothing more
//! own         w | own rows,  w ~ N(twins of the neighbours, c · spread)
//! ```
//!
//! Noise is drawn once for each row, so that all that follows from S̃ may be asked for ever. What is promised is a curve
//! of (ε, δ) by one number μ ([`Budget`]); releases of the same rows add up as μ² does. Bounds are declared, never read from
//! rows: what lies outside is moved to the bound and counted.

mod accounting;
mod bits;
mod discrete_gaussian;
mod forecast;
mod own_model;
mod release;
mod spread;
mod twins;

pub use accounting::{Budget, composed, delta_of, epsilon_of, mu_of, normal, rho_of};
pub use bits::Bits;
pub use discrete_gaussian::{DiscreteGaussian, noised};
pub use forecast::{Forecast, Public};
pub use own_model::{Anchor, OwnModel};
pub use release::{Clipped, Mechanism, PrivateKind, Queries, Release};
pub use spread::Spread;
pub use twins::{Privacy, Reading, TwinsHeard};
