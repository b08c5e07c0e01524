//! How each method did at each rolling origin, as the page shows it.

use minijinja::{Value, context};

use crate::{
    number::{count, perhaps, significant},
    outcome::{OriginOutcome, Outcome},
};

/// The errors on test rows at all origins; none if there is one study.
pub(super) fn origins(outcome: &Outcome) -> Option<Value> {
    let methods = outcome.comparison.plain_rows();
    let names: Vec<&str> = methods.iter().map(|(name, _)| *name).collect();
    let row = |origin: &OriginOutcome| {
        let own = origin.comparison.plain_rows();
        let error = |name: &&str| {
            let entry = own.iter().find(|(known, _)| known == name);
            perhaps(entry.map(|(_, entry)| entry.error()))
        };
        context! {
            from => &origin.test_from,
            until => &origin.until,
            training => count(origin.train_rows),
            rows => count(origin.test_rows),
            errors => names.iter().map(error).collect::<Vec<_>>(),
        }
    };
    let rows: Vec<Value> = outcome.origins.iter().map(row).collect();
    let spreads: Vec<(f64, f64)> =
        names.iter().map(|name| OriginOutcome::spread(&outcome.origins, name)).collect();
    let means: Vec<String> = spreads.iter().map(|(mean, _)| significant(*mean)).collect();
    let errors: Vec<String> = spreads.iter().map(|(_, error)| significant(*error)).collect();
    (!rows.is_empty()).then(|| context! { names, rows, means, errors })
}
