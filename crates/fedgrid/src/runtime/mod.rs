//! Where participants live and how their messages travel.

mod in_process;

pub use in_process::{InProcess, Order, Run, Traffic};
