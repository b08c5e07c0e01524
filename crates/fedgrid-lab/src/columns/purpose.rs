//! What each column of a table is for, before any row is looked at.

use super::{glob::chosen, problems::Problems};
use crate::{
    error::{Error, Result},
    experiment::{ColumnKind, DataKeys, advice},
    source::Holds,
};

/// What a column is for.
#[derive(Debug, Clone, PartialEq)]
pub enum Purpose {
    /// It names the node of each row.
    Node,
    /// It is predicted.
    Target,
    /// It says what each row is for.
    Split,
    /// It is predicted from, as something of this kind.
    Feature(ColumnKind),
    /// It is not used, for this reason.
    Ignored(String),
    /// It is not used because it is not listed.
    Unlisted,
}

/// What every column is for: features in the order in which they are listed, otherwise that of the table.
#[must_use]
pub fn purposes(
    keys: &DataKeys,
    columns: &[(&str, Holds)],
    problems: &mut Problems,
    source: &str,
) -> Vec<(String, Purpose)> {
    let names: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
    problems.take(check_declared(keys, source, &names));
    let listed =
        keys.features.as_ref().map(|patterns| chosen("data.features", patterns, source, &names));
    let listed = listed.and_then(|found| problems.take(found));
    let excluded =
        problems.take(chosen("data.exclude", &keys.exclude, source, &names)).unwrap_or_default();
    let purpose = |(name, holds): &(&str, Holds)| {
        let name = name.to_string();
        let purpose = match own_purpose(keys, &name) {
            Some(own) => own,
            None if excluded.contains(&name) => Purpose::Ignored("excluded".into()),
            None if listed.as_ref().is_some_and(|listed| !listed.contains(&name)) => {
                Purpose::Unlisted
            }
            None => as_feature(keys, &name, *holds, (listed.is_some(), problems)),
        };
        (name, purpose)
    };
    let mut all: Vec<(String, Purpose)> = columns.iter().map(purpose).collect();
    if let Some(listed) = listed {
        check_listed(keys, &listed, problems);
        let place = |name: &String| listed.iter().position(|known| known == name);
        // Those that are not listed stay before or behind all that are.
        all.sort_by_key(|(name, purpose)| match purpose {
            Purpose::Node | Purpose::Target | Purpose::Split => None,
            _ => Some(place(name).unwrap_or(usize::MAX)),
        });
    }
    all
}

fn own_purpose(keys: &DataKeys, name: &str) -> Option<Purpose> {
    if name == keys.node {
        Some(Purpose::Node)
    } else if name == keys.target {
        Some(Purpose::Target)
    } else if Some(name) == keys.split.as_deref() {
        Some(Purpose::Split)
    } else {
        None
    }
}

/// A column as it was declared, or as it looks.
fn as_feature(
    keys: &DataKeys,
    name: &str,
    holds: Holds,
    (is_listed, problems): (bool, &mut Problems),
) -> Purpose {
    let declared = keys.columns.get(name);
    // Keys of one kind of column say which it is.
    let implied = declared.and_then(|own| {
        let is_category = own.levels.is_some() || own.other.is_some() || own.ordered;
        let is_time = own.order.is_some()
            || own.parts.is_some()
            || own.calendar.is_some()
            || own.start.is_some();
        is_category.then_some(ColumnKind::Category).or(is_time.then_some(ColumnKind::Time))
    });
    let kind = declared.and_then(|own| own.kind).or(implied).or(match holds {
        Holds::Numbers => Some(ColumnKind::Number),
        Holds::Truths => Some(ColumnKind::Truth),
        Holds::Times => Some(ColumnKind::Time),
        Holds::Text => Some(ColumnKind::Category),
        Holds::Nothing => None,
    });
    match kind {
        Some(ColumnKind::Ignore) => Purpose::Ignored("declared".into()),
        Some(kind) if holds != Holds::Nothing => Purpose::Feature(kind),
        _ if is_listed => {
            problems.add(format!(
                "column '{name}' holds nothing, expected values, or another list of features"
            ));
            Purpose::Ignored("nothing".into())
        }
        _ => Purpose::Ignored("nothing".into()),
    }
}

fn check_listed(keys: &DataKeys, listed: &[String], problems: &mut Problems) {
    // A pattern may well match them; a name may not.
    let is_named = |name: &&String| keys.features.iter().flatten().any(|one| one == *name);
    let taken = |name: &&String| own_purpose(keys, name).is_some();
    if let Some(name) = listed.iter().filter(is_named).find(taken) {
        problems.add_of_keys(format!(
            "data.features: '{name}' is already the node, the target or the split"
        ));
    }
}

fn check_declared(keys: &DataKeys, source: &str, names: &[&str]) -> Result<()> {
    for name in keys.columns.keys() {
        if !names.contains(&name.as_str()) {
            let advice = advice(name, names.iter().copied());
            return Err(Error::input(format!(
                "data.columns: {source} has no column '{name}'{advice}"
            )));
        }
        if own_purpose(keys, name).is_some() {
            let sentence = "is the node, the target or the split, expected a feature";
            return Err(Error::input(format!("data.columns: '{name}' {sentence}")));
        }
    }
    Ok(())
}
