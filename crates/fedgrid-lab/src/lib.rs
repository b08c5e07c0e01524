//! From a table and a network to one model per node, an honest comparison and a page to show: what the
//! command, the agent of a site and the Python wheel all run.
//!
//! The modules are listed in the order data flows: an experiment and tables are put together to a study,
//! a pipeline tunes and fits it, its outcome becomes a report, and a run folder keeps all of it.

pub mod error;
pub mod number;
pub mod wording;
pub mod grid;
pub mod drawing;
pub mod experiment;
pub mod source;
pub mod columns;
pub mod assembly;
pub mod coefficients;
pub mod audit;
pub mod forecast;
pub mod theory;
pub mod outcome;
pub mod readings;
pub mod printed;
pub mod probes;
pub mod summary;
pub mod card;
pub mod report;
pub mod pipeline;
pub mod statistics;
mod kept_models;
pub mod run;
pub mod serving;
pub mod onnx;
pub mod show;
pub mod update;
pub mod diff;
pub mod sweep;
pub mod side_by_side;
pub mod figures;

pub use error::{Error, Result};
