//! The laws that every implementation of a trait must keep, each put to use by one line.

mod local_model_laws;
mod law_data;
mod parametric_laws;

pub use local_model_laws::{Yardstick, check_local_model, check_local_model_by};
pub use parametric_laws::{check_parametric, check_parametric_by};
