//! What training rows say of the network, as the page shows it.

use fedgrid::compare::NetworkEvidence;
use minijinja::{Value, context};

use super::coefficients;
use crate::{number, outcome::Outcome};

/// The likelihoods of the training rows; none without a comparison along a network.
pub(super) fn evidence(outcome: &Outcome) -> Option<Value> {
    let evidence = outcome.evidence.as_ref()?;
    let found = &evidence.numbers;
    let row = |what: &str, deviance: Option<f64>, ratio: String| {
        context! { what, deviance => deviance.map_or_else(String::new, number::decimal), ratio }
    };
    let look = if found.is_first_look { "first look at " } else { "" };
    let along = format!("along the network, {look}ρ = {}", number::significant(found.rho));
    let mut rows = vec![row("without a network", Some(found.without), String::new())];
    if let Some(choice) = &found.covariances {
        let covariances = number::counted(choice.covariances, "covariance");
        let what = format!("without a network, with {covariances}");
        rows.push(row(&what, Some(choice.with), String::new()));
    }
    rows.push(row(&along, Some(found.with), number::significant(found.ratio)));
    if let Some(range) = range(found) {
        let shuffles = number::counted(found.shuffled.len(), "shuffled network");
        rows.push(row(&format!("along {shuffles}"), None, range));
    }
    let covariances = found.covariances.as_ref().map(coefficients::covariances);
    Some(context! { sentence => &evidence.sentence, rows, covariances })
}

/// Λ of the shuffles, from the least to the largest.
fn range(found: &NetworkEvidence) -> Option<String> {
    let least = found.shuffled.iter().copied().reduce(f64::min)?;
    let most = found.shuffled.iter().copied().reduce(f64::max)?;
    Some(format!("{} to {}", number::significant(least), number::significant(most)))
}
