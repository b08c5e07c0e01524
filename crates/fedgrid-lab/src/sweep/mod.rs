//! An experiment at several values of its keys and at several seeds, as one table and one plot.
//!
//! ```text
//! experiment × values of keys = cases      case × seeds = cells ─▶ errors and verdicts ─▶ means, standard errors, shares
//!
//! mean = Σ e_s / n      standard error = √( Σ (e_s − mean)² / (n − 1) / n )      over the n seeds s of a case
//! ```
//!
//! A cell has the errors and the verdict that `fit` has of its experiment and seed; no models are kept. Cells depend on nothing
//! but their experiment, so that neither threads nor interruptions change a bit. The standard error says how much the mean
//! depends on what seeds draw (`varied.rs`), and not how much it would change with other rows.

mod cell;
mod engine;
mod folder;
mod keys;
mod plan;
mod plot;
mod result;
mod tables;
mod varied;

pub use cell::{CellFound, CellOutcome, CellRecord};
pub use engine::{Ready, SweepWatch};
pub use folder::SweepFolder;
pub use keys::SweptKey;
pub use plan::{Sweep, SweepCase, SweepPlan};
pub use plot::plot;
pub use result::{CaseResult, FailedSeeds, SeedMean, SweepResult};
pub use tables::{cells_csv, grid};
