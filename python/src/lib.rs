//! The native part of the Python package `fedgrid`: conversions, and nothing else.

use pyo3::prelude::*;

/// The native module.
#[pymodule]
fn _fedgrid(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))
}
