//! The command `fedgrid`: from a table and a network to one model per node, an honest comparison
//! and a page to show.
//!
//! The modules are listed in the order data flows: an experiment file and tables are put together
//! to a study, a run fills its folder, its outcome becomes a report.

pub mod error;
mod number;
mod wording;
pub mod experiment;
pub mod source;
pub mod assembly;
pub mod theory;
pub mod outcome;
pub mod helping;
pub mod summary;
pub mod report;
pub mod run;
pub mod reproduce;
pub mod terminal;
pub mod command;

pub use error::{Error, Result};
