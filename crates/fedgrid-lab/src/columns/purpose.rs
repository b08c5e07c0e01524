//! What each column of a table is for, before any row is looked at.

use serde::{Deserialize, Serialize};

use super::{glob::chosen, problems::Problems};
use crate::{
    error::{Error, Result},
    experiment::{ColumnKeys, ColumnKind, DataKeys, MissingRule, advice},
    source::Holds,
};

/// What a column is for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Purpose {
    /// It names the node of each row.
    Node,
    /// It is predicted.
    Target,
    /// It says what each row is for.
    Split,
    /// It orders rows in time.
    Time,
    /// It says how many rows each one stands for.
    Weight,
    /// It is a known part of the target.
    Offset,
    /// It says over how much each row has counted.
    Exposure,
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
    let mut listed = listed.and_then(|found| problems.take(found));
    // What is made of earlier values was asked for, too.
    let made = keys.lag_names().into_iter().filter(|name| names.contains(&name.as_str()));
    if let Some(listed) = &mut listed {
        let made: Vec<String> = made.filter(|name| !listed.contains(name)).collect();
        listed.extend(made);
    }
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
    // A time that is a feature too has both roles.
    let time = keys.time.iter().filter(|name| names.contains(&name.as_str()));
    all.extend(
        time.filter(|name| is_feature_too(keys, name)).map(|name| (name.clone(), Purpose::Time)),
    );
    if let Some(listed) = listed {
        check_listed(keys, &listed, problems);
        let place = |name: &String| listed.iter().position(|known| known == name);
        // Those that are not listed stay before or behind all that are.
        all.sort_by_key(|(name, purpose)| match purpose {
            Purpose::Feature(_) | Purpose::Ignored(_) | Purpose::Unlisted => {
                Some(place(name).unwrap_or(usize::MAX))
            }
            _ => None,
        });
    }
    all
}

fn own_purpose(keys: &DataKeys, name: &str) -> Option<Purpose> {
    let time = keys.time.as_deref().filter(|_| !is_feature_too(keys, name));
    let known = [
        (Some(keys.node.as_str()), Purpose::Node),
        (Some(keys.target.as_str()), Purpose::Target),
        (keys.split_column(), Purpose::Split),
        (keys.weight.as_deref(), Purpose::Weight),
        (keys.offset.as_deref(), Purpose::Offset),
        (keys.exposure.as_deref(), Purpose::Exposure),
        (time, Purpose::Time),
    ];
    let own = known.into_iter().find(|(column, _)| *column == Some(name));
    own.map(|(_, purpose)| purpose)
}

/// Whether the column of times is named as a feature, or declared as one.
fn is_feature_too(keys: &DataKeys, name: &str) -> bool {
    let is_listed = keys.features.iter().flatten().any(|one| one == name);
    let is_declared = keys.columns.get(name).is_some_and(|own| match own.kind {
        Some(kind) => kind != ColumnKind::Ignore,
        // To say which of day and month comes first is to say how it is read.
        None => own.parts.is_some() || own.calendar.is_some() || own.start.is_some(),
    });
    is_listed || is_declared
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
        Holds::Nested | Holds::Nothing => None,
    });
    // A plan that says what missing cells are taken for reads an empty column, too, as sites may have one.
    let is_filled = declared.is_some_and(|own| {
        own.kind.is_some() && (own.fill.is_some() || own.missing == Some(MissingRule::Indicator))
    });
    match kind {
        Some(ColumnKind::Ignore) => Purpose::Ignored("declared".into()),
        Some(kind) if !matches!(holds, Holds::Nested | Holds::Nothing) || is_filled => {
            Purpose::Feature(kind)
        }
        _ if is_listed => {
            problems.add(format!(
                "column '{name}' holds {holds}, expected values, or another list of features"
            ));
            Purpose::Ignored(holds.to_string())
        }
        _ => Purpose::Ignored(holds.to_string()),
    }
}

fn check_listed(keys: &DataKeys, listed: &[String], problems: &mut Problems) {
    // A pattern may well match them; a name may not.
    let is_named = |name: &&String| keys.features.iter().flatten().any(|one| one == *name);
    let taken = |name: &&String| own_purpose(keys, name).is_some();
    if let Some(name) = listed.iter().filter(is_named).find(taken) {
        let what = taken_as(keys, name);
        problems.add_of_keys(format!("data.features: '{name}' is already {what}"));
    }
}

/// What a column is that is no feature.
fn taken_as(keys: &DataKeys, name: &str) -> &'static str {
    match own_purpose(keys, name) {
        Some(Purpose::Weight) => "the weight",
        Some(Purpose::Offset) => "the offset",
        Some(Purpose::Exposure) => "the exposure",
        _ => "the node, the target or the split",
    }
}

fn check_declared(keys: &DataKeys, source: &str, names: &[&str]) -> Result<()> {
    for (name, own) in &keys.columns {
        if !names.contains(&name.as_str()) {
            let advice = advice(name, names.iter().copied());
            return Err(Error::input(format!(
                "data.columns: {source} has no column '{name}'{advice}"
            )));
        }
        // A time may be declared, to say how its dates are written; gaps of labels and weights are not filled, but may leave
        // out rows.
        let is_allowed = match own_purpose(keys, name) {
            None | Some(Purpose::Time) => true,
            Some(Purpose::Target | Purpose::Weight | Purpose::Offset | Purpose::Exposure) => {
                let drop = ColumnKeys { missing: Some(MissingRule::Drop), ..ColumnKeys::default() };
                *own == drop
            }
            _ => false,
        };
        if !is_allowed {
            let what = taken_as(keys, name);
            return Err(Error::input(format!(
                "data.columns: '{name}' is {what}, expected a feature"
            )));
        }
    }
    Ok(())
}
