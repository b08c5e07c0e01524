//! What may be told of a row, and what that has bought, as the page shows it.

use minijinja::{Value, context};

use crate::{
    number::{counted, percent, perhaps, significant},
    outcome::Outcome,
};

/// The budget of a private run; none of others.
pub(super) fn privacy(outcome: &Outcome) -> Option<Value> {
    let found = outcome.privacy.as_ref()?;
    let bought = found.bought;
    let row = |what: &str, error: Option<f64>| context! { what, error => perhaps(error) };
    let errors = [
        row("alone: own rows and declared bounds", bought.alone),
        row(&format!("beside twins at ε = {}", significant(found.epsilon)), bought.with_twins),
        row("beside twins without noise", bought.without_noise),
    ];
    let facts = [
        ("ε and δ", format!("{} and {}", significant(found.epsilon), significant(found.delta))),
        ("μ", significant(found.mu)),
        ("told rightly at most (chance 50 %)", percent(found.right_share)),
        ("AUC at most (chance 0.5)", significant(found.auc)),
        ("noised", counted(bought.rows, "row")),
        ("noise on each number, as a deviation", significant(found.noise)),
    ];
    let facts = facts.map(|(what, number)| context! { what, number });
    Some(
        context! { sentence => &found.sentence, errors => errors.to_vec(), facts => facts.to_vec() },
    )
}
