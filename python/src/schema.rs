//! What experiment files may hold, from which the classes of methods and models are made in Python.

use fedgrid::compare::MethodKind;
use fedgrid_lab::experiment::Experiment;
use pyo3::prelude::*;

/// The JSON schema of experiment files.
#[pyfunction]
pub(crate) fn schema() -> String {
    Experiment::schema().to_string()
}

/// Every method: its kind, the key of its strength, whether it depends on the network, and whether its nodes
/// may ask everyone where there is none.
#[pyfunction]
pub(crate) fn methods() -> Vec<(&'static str, Option<&'static str>, bool, bool)> {
    let about = |kind: &MethodKind| {
        // Whether there must be a network is asked before a method has any keys but the usual ones.
        let facts = kind.facts();
        let strength = kind.with_defaults().strength_key().map(|key| key.name);
        (kind.name(), strength, facts.uses_network, facts.is_blind_to_order)
    };
    MethodKind::ALL.iter().map(about).collect()
}
