//! The native part of the Python package `fedgrid`: conversions, and nothing else. Mathematics is in
//! the crate `fedgrid`, experiments and reports are in `fedgrid-cli`.
//!
//! The modules are listed in the order data flows, and a module uses only those above it.

#![expect(clippy::needless_pass_by_value, reason = "Python hands its arguments over")]

mod convert;
mod work;
mod adapter;
mod local_model;
mod network;
mod models;
mod study;
mod learn;
mod reproduce;

use pyo3::prelude::*;

/// The native module.
#[pymodule]
fn _fedgrid(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<network::Network>()?;
    module.add_class::<models::Models>()?;
    module.add_class::<study::Study>()?;
    module.add_class::<study::Fitted>()?;
    module.add_function(wrap_pyfunction!(study::page, module)?)?;
    module.add_function(wrap_pyfunction!(learn::learn, module)?)?;
    module.add_function(wrap_pyfunction!(reproduce::figures, module)?)?;
    module.add_function(wrap_pyfunction!(reproduce::run_figures, module)?)?;
    let leave = wrap_pyfunction!(work::leave, module)?;
    module.py().import("atexit")?.call_method1("register", (leave,))?;
    Ok(())
}
