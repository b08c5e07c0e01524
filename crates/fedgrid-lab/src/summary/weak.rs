//! What a reader should know of a strength that is next to nothing at some nodes.

use fedgrid::compare::WeakPulls;

use crate::{assembly::listed, number::significant};

/// Names the nodes that a strength does not move, and those that it moves however weak it is.
pub(super) fn notes(weak: &WeakPulls, names: &[String]) -> Vec<String> {
    let name = |&node: &usize| names[node].as_str();
    let alpha = significant(weak.alpha);
    let mut notes = Vec::new();
    if !weak.deaf.is_empty() {
        notes.push(format!(
            "{} next to no pull at alpha {alpha}, less than a thousandth of the weight of own rows; it \
             would make such models jump instead of moving them a little, so there each is what local \
             training makes it (pulls count from alpha {} on).",
            listed(weak.deaf.iter().map(name), "has", "have"),
            significant(rounded_up(weak.listens_from))
        ));
    }
    if !weak.open.is_empty() {
        notes.push(format!(
            "{} rows that may leave open which model is best, and next to no pull at alpha {alpha}; \
             neighbours choose among the best, however weakly they pull, so this need not be close to \
             local training.",
            listed(weak.open.iter().map(name), "has", "have")
        ));
    }
    notes
}

/// The next number of three digits, so that what is advised does.
fn rounded_up(value: f64) -> f64 {
    let unit = 10_f64.powf(value.log10().floor() - 2.0);
    // A number that has three digits already must not be raised by its own rounding error.
    (value / unit - 1e-6).ceil() * unit
}
