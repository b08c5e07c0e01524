//! The laws that every implementation of a trait must keep, each put to use by one line.

mod local_model;

pub use local_model::check_local_model;
