//! What all sites of a federation have found together, as a site's page shows it.

use minijinja::{Value, context};

use crate::{
    number::{Apart, count, perhaps, significant},
    outcome::{FederationOutcome, JudgedNode, Outcome},
};

/// The verdict of all sites; none where they have not judged.
pub(super) fn federation(outcome: &Outcome) -> Option<Value> {
    let found = outcome.federation.as_ref()?;
    let methods = found.methods();
    let digits = Apart::new(methods.iter().map(|(.., error)| *error));
    let gain = |name: &str| {
        let joint = &found.joint;
        let places = [("local", 0), ("mean", 1), ("shrunk", 2)];
        let (_, place) = places.into_iter().find(|(known, _)| *known == name)?;
        let (_, gain) = joint.gains.get(place)?;
        Some(format!("{} ± {}", significant(gain.gain), significant(gain.standard_error)))
    };
    let row = |(name, what, error): &(&str, &str, f64)| {
        context! {
            name => *name,
            what => *what,
            all => digits.text(*error),
            own => perhaps(FederationOutcome::error_of(&found.nodes, name)),
            gain => gain(name).unwrap_or_default(),
        }
    };
    let node = |node: &JudgedNode| {
        let errors = methods.iter().map(|(name, ..)| perhaps(node.error(name)));
        context! { name => &node.name, rows => count(node.rows), errors => errors.collect::<Vec<_>>() }
    };
    let with_rows = found.nodes.iter().filter(|node| node.rows > 0);
    Some(context! {
        unjudged => &found.unjudged,
        verdict => &found.verdict,
        rows => methods.iter().map(row).collect::<Vec<_>>(),
        names => methods.iter().map(|(name, ..)| *name).collect::<Vec<_>>(),
        nodes => with_rows.map(node).collect::<Vec<_>>(),
    })
}
