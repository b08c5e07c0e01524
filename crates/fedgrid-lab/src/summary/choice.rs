//! Which method was chosen and why, in numbers and in words.

use fedgrid::compare::{MethodKind, Study};

use super::all_of;
use crate::{experiment::MethodSection, number::significant, outcome::MethodCandidate};

/// The methods that the study's own was chosen from.
pub(super) fn candidates(study: &Study) -> Vec<MethodCandidate> {
    let chosen = study.settings.method.kind();
    let members = study.settings.members.iter();
    members
        .map(|member| MethodCandidate {
            kind: member.method.kind().name().into(),
            // JSON has no infinity.
            validation: member.validation.filter(|error| error.is_finite()),
            chosen: member.method.kind() == chosen,
        })
        .collect()
}

/// What a reader should know of the choice; none without one.
pub(super) fn note(study: &Study) -> Option<String> {
    let candidates = candidates(study);
    let error = |one: &MethodCandidate| one.validation.map_or_else(|| "none".into(), significant);
    let chosen = candidates.iter().find(|one| one.chosen)?;
    let is_absent = |name: &&str| candidates.iter().all(|one| one.kind != *name);
    let absent: Vec<&str> =
        MethodSection::MEMBERS.map(MethodKind::name).into_iter().filter(is_absent).collect();
    let verb = if absent.len() == 1 { "does" } else { "do" };
    let absent = (!absent.is_empty())
        .then(|| format!("{} {verb} not suit these models", absent.join(" and ")));
    let others = candidates.iter().filter(|one| !one.chosen);
    let others: Vec<String> =
        others.map(|one| format!("{} for {}", error(one), one.kind)).collect();
    let kind = &chosen.kind;
    if others.is_empty() {
        return Some(format!("The method is {kind}: {}.", absent.unwrap_or_default()));
    }
    let rows = match study.plan.folds.len() {
        0 | 1 => "on validation rows".into(),
        folds => format!("in {folds} folds of the training rows"),
    };
    let absent = absent.map_or_else(String::new, |absent| format!("; {absent}"));
    Some(format!(
        "The method is {kind}, for the least error {rows}: {}, against {}{absent}. Test rows had no part in the \
         choice.",
        error(chosen),
        all_of(&others)
    ))
}
