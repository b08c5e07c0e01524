//! The native part of the Python package `fedgrid`: conversions, and nothing else. Mathematics is in
//! the crate `fedgrid`, experiments and reports are in `fedgrid-lab`.
//!
//! The modules are listed in the order data flows, and a module uses only those above it.

#![expect(clippy::needless_pass_by_value, reason = "Python hands its arguments over")]

mod convert;
mod frame;
mod timed;
mod work;
mod adapter;
mod local_model;
mod network;
mod handle;
mod known_rows;
mod models;
mod kept;
mod given;
mod study;
mod update;
mod show;
mod learn;
mod schema;
mod reproduce;
mod sweep;
#[cfg(feature = "federation")]
mod federation;

use pyo3::prelude::*;

/// The native module.
#[pymodule]
fn _fedgrid(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<network::NetworkHandle>()?;
    module.add_class::<models::ModelsHandle>()?;
    module.add_class::<kept::KeptHandle>()?;
    module.add_class::<study::StudyHandle>()?;
    module.add_class::<study::FittedHandle>()?;
    module.add_class::<handle::CardHandle>()?;
    module.add_class::<handle::OutcomeHandle>()?;
    module.add_class::<handle::HelpsHandle>()?;
    module.add_class::<handle::CoefficientsHandle>()?;
    module.add_class::<handle::IntervalsHandle>()?;
    module.add_function(wrap_pyfunction!(schema::schema, module)?)?;
    module.add_function(wrap_pyfunction!(schema::methods, module)?)?;
    module.add_function(wrap_pyfunction!(study::page, module)?)?;
    module.add_function(wrap_pyfunction!(study::takes_classes, module)?)?;
    module.add_function(wrap_pyfunction!(update::update, module)?)?;
    module.add_function(wrap_pyfunction!(learn::learn, module)?)?;
    module.add_function(wrap_pyfunction!(sweep::sweep, module)?)?;
    module.add_function(wrap_pyfunction!(sweep::compare_runs, module)?)?;
    module.add_function(wrap_pyfunction!(show::node, module)?)?;
    module.add_function(wrap_pyfunction!(reproduce::figures, module)?)?;
    module.add_function(wrap_pyfunction!(reproduce::run_figures, module)?)?;
    #[cfg(feature = "federation")]
    module.add_function(wrap_pyfunction!(federation::federation, module)?)?;
    // Called while the interpreter is still whole: later it would end our threads inside of Rust.
    let leave = wrap_pyfunction!(work::leave, module)?;
    module.py().import("atexit")?.call_method1("register", (leave,))?;
    Ok(())
}
