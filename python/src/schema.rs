//! What experiment files may hold, from which the classes of methods and models are made in Python.

use fedgrid::compare::MethodKind;
use fedgrid_lab::experiment::{Experiment, MethodSection};
use pyo3::prelude::*;

/// The JSON schema of experiment files.
#[pyfunction]
pub(crate) fn schema() -> String {
    Experiment::schema().to_string()
}

/// Every kind of method: its name, the key of its strength, whether it depends on the network, and whether its
/// nodes may ask everyone where there is none.
#[pyfunction]
pub(crate) fn methods() -> Vec<(&'static str, Option<&'static str>, bool, bool)> {
    let about = |(name, kind): (&'static str, Option<MethodKind>)| {
        // What chooses has no strength, and all that it chooses from depend on the network.
        let Some(kind) = kind else { return (name, None, true, false) };
        // Whether there must be a network is asked before a method has any keys but the usual ones.
        let facts = kind.facts();
        let strength = kind.with_defaults().strength_key().map(|key| key.name);
        (name, strength, facts.uses_network, facts.is_blind_to_order)
    };
    MethodSection::kinds().map(about).collect()
}
