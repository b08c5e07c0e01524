//! The text format of Prometheus.

use std::fmt::Write as _;

/// Begins a family of numbers: what it is called, of what kind it is, and what it means.
pub(crate) fn family(text: &mut String, name: &str, kind: &str, help: &str) {
    write!(text, "# HELP {name} {help}\n# TYPE {name} {kind}\n").expect("a string takes all");
}

/// A number, with its labels in its name.
pub(crate) fn line(text: &mut String, name: &str, value: impl std::fmt::Display) {
    writeln!(text, "{name} {value}").expect("a string takes all");
}
