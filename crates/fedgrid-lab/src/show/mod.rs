//! A finished run as a person asks for it: the whole, or one of its nodes.
//!
//! What the folder holds is read from there: errors of each method by node, coefficients, models. Neighbours, the
//! pooled model and the importance of columns need the run's tables, which the folder does not hold; where these
//! cannot be found, it is said instead.

mod finished;
mod importance;
mod node;
mod rules;
mod tables;

pub use finished::FinishedRun;
pub(crate) use finished::{cards, from_json};
pub use importance::{Importance, ImportantColumn};
pub(crate) use node::coefficients;
pub use node::{NeighbourView, NodeCoefficient, NodeError, NodeView};
pub use rules::{Rules, rules};
pub(crate) use tables::stored_experiment;
