//! A finished run as a person asks for it: the whole, or one of its nodes.
//!
//! What the folder holds is read from there: errors of each method by node, coefficients, models. Neighbours and the
//! importance of columns need the run's tables, which the folder does not hold; where these cannot be found, it is said
//! instead.

mod finished;
mod node;
mod tables;

pub use finished::FinishedRun;

pub use crate::card::{
    Importance, ImportantColumn, NeighbourView, NodeCoefficient, NodeError, NodeView, Rules, rules,
};
pub(crate) use finished::{cards, from_json};
pub(crate) use node::coefficients;
pub(crate) use tables::stored_experiment;
