//! The laws that every implementation of a trait must keep, each put to use by one line.

mod local_model;
mod made;
mod parametric;

pub use local_model::{Yardstick, check_local_model, check_local_model_by};
pub use parametric::{check_parametric, check_parametric_by};
