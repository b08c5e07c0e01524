//! Unknown keys and values of a wrong type are named, with what is known instead, before anything
//! else is read.

use fedgrid::{compare::MethodKind, model::ModelKind};
use schemars::SchemaGenerator;
use serde_json::Value as Json;

use super::{
    ModelSection,
    allowed::{Allowed, Range},
    method::AUTO,
};
use crate::error::{Error, Result};

/// How many known names are listed where none is near.
const MOST_LISTED_NAMES: usize = 8;

/// How many keys of a section are listed whole. No section has more; where no kind is named, those of all kinds are.
const MOST_LISTED_KEYS: usize = 40;

/// How much of a table is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Extent {
    /// Names and types: flags may still choose another kind, or replace a value that is out of range.
    NamesAndTypes,
    /// Ranges too, and which keys the kinds have.
    All,
}

/// Refuses the first key that the schema does not know, or whose value it does not allow.
pub(super) fn check(table: &toml::Table, source: &str, extent: Extent) -> Result<()> {
    let schema = super::Experiment::schema();
    // On a copy: what users wrote stays as it is for messages and for the stored file.
    let mut table = table.clone();
    ModelSection::in_full(&mut table);
    check_table(&table, (schema, schema), "", extent).map_err(|sentence| {
        Error::input(if source.is_empty() { sentence } else { format!("{source}: {sentence}") })
    })
}

fn check_table(
    table: &toml::Table,
    (schema, root): (&Json, &Json),
    prefix: &str,
    extent: Extent,
) -> std::result::Result<(), String> {
    let (all_kinds, schema) = (schema, of_kind(table, schema, prefix)?);
    let properties = schema.get("properties").and_then(Json::as_object);
    let other = schema.get("additionalProperties").filter(|other| other.is_object());
    for (key, value) in table {
        let path = format!("{prefix}{key}");
        let known = properties.and_then(|properties| properties.get(key));
        let known = known.or_else(|| of_some_node(table, all_kinds, key));
        let known = match extent {
            Extent::All => known,
            // The kind that flags choose may mean another type by this name.
            Extent::NamesAndTypes => {
                let fits = |one: &&Json| Allowed::of(resolved(one, root)).holds(value);
                of_kinds(key, all_kinds).find(fits).or(known)
            }
        };
        let Some(inner) = known.or(other) else {
            let found =
                renamed(&path, table).or_else(|| elsewhere(&path, value, all_kinds, schema));
            return Err(found.unwrap_or_else(|| unknown(&path, prefix, all_kinds, schema)));
        };
        let inner = resolved(inner, root);
        let allowed = Allowed::of(inner);
        if !allowed.holds(value) {
            let said = reported_only(&path, value);
            return Err(said.unwrap_or_else(|| format!("{path} is {value}, expected {allowed}")));
        }
        let range = Range::of(inner).filter(|_| extent == Extent::All);
        if let Some((found, expected)) = range.and_then(|range| range.broken(value)) {
            return Err(format!("{path} is {found}, expected {expected}"));
        }
        if let toml::Value::Table(table) = value {
            check_table(table, (inner, root), &format!("{path}."), extent)?;
        }
    }
    Ok(())
}

/// What to say of a word that people know for a measure that no comparison can be in.
fn reported_only(path: &str, value: &toml::Value) -> Option<String> {
    let word = value.as_str().filter(|_| path == "compare.metric")?;
    let instead = match word.replace('_', "-").as_str() {
        "auc" | "roc-auc" | "balanced-accuracy" => {
            "which is no mean over rows, so that nobody could say how sure a difference is; it is reported beside \
             the error: use log-loss or error-rate"
        }
        "accuracy" => "expected error-rate, which is one minus it: less is better",
        "rmse" | "r2" => {
            "expected mse, which puts methods in the same order; it is reported beside that"
        }
        "logloss" | "log-loss" => "expected log-loss",
        _ => return None,
    };
    Some(format!("{path} is {value}, {instead}"))
}

/// What to say of a key that other kinds than the one of a section have.
fn elsewhere(path: &str, value: &toml::Value, all_kinds: &Json, schema: &Json) -> Option<String> {
    let key = path.rsplit('.').next()?;
    let kind = &schema["properties"]["kind"];
    let name = kind["const"].as_str()?;
    let others = all_kinds.get("oneOf").and_then(Json::as_array).into_iter().flatten();
    let others = others.filter(|other| other["properties"].get(key).is_some());
    let others: Vec<&str> =
        others.filter_map(|other| other["properties"]["kind"]["const"].as_str()).collect();
    if others.is_empty() {
        return None;
    }
    if name == AUTO {
        let others = Allowed::Word(others);
        return Some(format!(
            "{path} is {value}, but kind \"{name}\", the default, has no such key; name a kind that has: {others}"
        ));
    }
    let own = schema["properties"].as_object().into_iter().flat_map(|keys| keys.keys());
    let own: Vec<&str> =
        own.map(String::as_str).filter(|key| !["kind", "nodes"].contains(key)).collect();
    let own = if own.is_empty() { "none".into() } else { own.join(", ") };
    Some(format!("{path} is {value}, but kind \"{name}\" has no such key; its keys are {own}"))
}

/// What to say of a key that nothing has.
fn unknown(path: &str, prefix: &str, all_kinds: &Json, schema: &Json) -> String {
    let keys = |schema: &Json| -> Vec<String> {
        let own = schema["properties"].as_object().into_iter().flat_map(|keys| keys.keys());
        own.map(|key| format!("{prefix}{key}")).collect()
    };
    let mut names = keys(schema);
    // Where no kind is named, the key may be meant for any.
    if schema["properties"]["kind"]["const"] == AUTO {
        let all = all_kinds["oneOf"].as_array().into_iter().flatten().flat_map(keys);
        let others: Vec<String> = all.filter(|name| !names.contains(name)).collect();
        names.extend(others);
    }
    // A section has few keys, and one that is not listed is taken for one that there is not.
    let most = if names.len() > MOST_LISTED_KEYS { MOST_LISTED_NAMES } else { names.len() };
    format!("unknown key '{path}'{}", advice_of(path, names.iter().map(String::as_str), most))
}

/// Puts the keys of a definition in the place of a reference to it, behind those that are there.
pub(super) fn inline(schema: &mut Json, generator: &mut SchemaGenerator) {
    let reference = schema.as_object_mut().and_then(|schema| schema.remove("$ref"));
    let name = reference.as_ref().and_then(Json::as_str).and_then(|path| path.rsplit('/').next());
    // Taken out, so that the schema has the keys in one place only.
    let Some(defined) = name.and_then(|name| generator.definitions_mut().remove(name)) else {
        return;
    };
    for (key, one) in defined["properties"].as_object().into_iter().flatten() {
        schema["properties"][key] = one.clone();
    }
}

/// The keys of the kind that a table names, where they depend on it; without a name, of the usual one.
fn of_kind<'a>(
    table: &toml::Table,
    schema: &'a Json,
    prefix: &str,
) -> std::result::Result<&'a Json, String> {
    let kind_of = |variant: &'a Json| &variant["properties"]["kind"];
    let variants = schema.get("oneOf").and_then(Json::as_array);
    let Some(variants) = variants.filter(|all| kind_of(&all[0]).is_object()) else {
        return Ok(schema);
    };
    let asked = table.get("kind");
    // Of models and methods alike, the usual kind is listed first and is the only one with a default.
    let usual = kind_of(&variants[0])["default"].as_str();
    let name = asked.map_or(usual, toml::Value::as_str);
    variants.iter().find(|variant| kind_of(variant)["const"].as_str() == name).ok_or_else(|| {
        let names = variants.iter().filter_map(|variant| kind_of(variant)["const"].as_str());
        let asked = asked.map_or_else(String::new, ToString::to_string);
        format!("{prefix}kind is {asked}, expected {}", Allowed::Word(names.collect()))
    })
}

/// A key of all nodes that the kind of some node has.
fn of_some_node<'a>(table: &toml::Table, schema: &'a Json, key: &str) -> Option<&'a Json> {
    let nodes = table.get("nodes").and_then(toml::Value::as_table)?;
    let kinds: Vec<&str> = nodes.values().filter_map(|node| node.get("kind")?.as_str()).collect();
    let variants = schema.get("oneOf").and_then(Json::as_array)?;
    let is_used = |variant: &&Json| {
        variant["properties"]["kind"]["const"].as_str().is_some_and(|kind| kinds.contains(&kind))
    };
    variants.iter().filter(is_used).find_map(|variant| variant["properties"].get(key))
}

/// The names of the keys that a kind of model has.
pub(super) fn of_model(kind: ModelKind) -> Vec<String> {
    let schema = super::Experiment::schema();
    let variants = schema["$defs"]["ModelSection"]["oneOf"].as_array().into_iter().flatten();
    let own = variants
        .filter(|variant| variant["properties"]["kind"]["const"].as_str() == Some(kind.name()))
        .find_map(|variant| variant["properties"].as_object());
    own.into_iter().flat_map(|keys| keys.keys().cloned()).collect()
}

/// A key as each of the kinds has it that do.
fn of_kinds<'a>(key: &str, schema: &'a Json) -> impl Iterator<Item = &'a Json> {
    let variants = schema.get("oneOf").and_then(Json::as_array).into_iter().flatten();
    variants.filter_map(move |variant| variant["properties"].get(key))
}

/// What to say of a key that had another name, or stood elsewhere, in earlier versions.
fn renamed(path: &str, table: &toml::Table) -> Option<String> {
    if path == "data.standardise" {
        let now =
            "every study scales features by their training rows now, and no unit changes a result";
        return Some(format!("data.standardise is gone: {now}; delete this key"));
    }
    if path == "data.delimiter" {
        return Some("data.delimiter is data.format.delimiter now, which is given, too".into());
    }
    let key = path.strip_prefix("method.")?;
    if ["persfl", "gtv"].contains(&key) {
        return Some(format!(
            "the section [method.{key}] is gone: the keys of kind \"{key}\" stand in [method]"
        ));
    }
    let kind = table.get("kind").and_then(toml::Value::as_str).and_then(MethodKind::named)?;
    let strength = kind.with_defaults().strength_key().filter(|_| key == "alpha")?;
    let about = strength.about.trim_end_matches('.');
    let (first, rest) = about.split_at(1);
    let about = first.to_lowercase() + rest;
    Some(format!(
        "method.alpha is for methods that pull; kind \"{kind}\" has method.{} instead: {about}",
        strength.name
    ))
}

/// Follows references, also through the alternatives that an optional key has.
pub(super) fn resolved<'a>(schema: &'a Json, root: &'a Json) -> &'a Json {
    let reference = |schema: &'a Json| schema.get("$ref").and_then(Json::as_str);
    let inner = schema.get("anyOf").and_then(Json::as_array);
    let reference = reference(schema).or_else(|| inner?.iter().find_map(reference));
    reference
        .and_then(|path| root.pointer(path.trim_start_matches('#')))
        .map_or(schema, |schema| resolved(schema, root))
}

/// What follows a name that is not known: the nearest one that is, or those there are.
pub fn advice<'a>(word: &str, names: impl Iterator<Item = &'a str> + Clone) -> String {
    advice_of(word, names, MOST_LISTED_NAMES)
}

/// The same with so many names at most.
fn advice_of<'a>(word: &str, names: impl Iterator<Item = &'a str> + Clone, most: usize) -> String {
    if let Some(near) = nearest(word, names.clone()) {
        return format!("; did you mean '{near}'?");
    }
    let more = if names.clone().count() > most { ", …" } else { "" };
    let listed: Vec<&str> = names.take(most).collect();
    format!("; known are {}{more}", listed.join(", "))
}

/// The nearest of some names, if it is near enough to be meant: one letter in four may be wrong,
/// missing, added or swapped with its neighbour.
fn nearest<'a>(word: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    // Only the last part of a key is guessed at, and some letter of it must be right.
    let last = word.rsplit('.').next().unwrap_or(word);
    let length = last.chars().count();
    // Every number is near some other number, which tells nothing.
    if last.bytes().all(|letter| letter.is_ascii_digit()) {
        return None;
    }
    let far = length.div_ceil(4).min(length.saturating_sub(1));
    let distance = |name: &str| strsim::osa_distance(&word.to_lowercase(), &name.to_lowercase());
    names
        .map(|name| (distance(name), name))
        .min_by_key(|(distance, _)| *distance)
        .filter(|(distance, _)| *distance <= far)
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(text: &str) -> String {
        check(&text.parse().unwrap(), "x.toml", Extent::All).unwrap_err().to_string()
    }

    #[test]
    fn unknown_keys_are_named_with_the_nearest_known_one() {
        assert_eq!(
            message("[method]\nalhpa = 1"),
            "x.toml: unknown key 'method.alhpa'; did you mean 'method.alpha'?"
        );
        assert_eq!(message("sed = 1"), "x.toml: unknown key 'sed'; did you mean 'seed'?");
        assert_eq!(
            message("[model.nodes.x]\nkinds = 'tree'"),
            "x.toml: unknown key 'model.nodes.x.kinds'; did you mean 'model.nodes.x.kind'?"
        );
        assert_eq!(
            message("[quantum]\nx = 1"),
            "x.toml: unknown key 'quantum'; known are title, seed, data, network, model, method, public, compare, \
             privacy, federation"
        );
    }

    #[test]
    fn a_name_that_is_not_near_is_not_suggested() {
        let advised = |word, names: &[&'static str]| advice(word, names.iter().copied());
        assert_eq!(advised("temp", &["shop", "price"]), "; known are shop, price");
        assert_eq!(advised("9999", &["1009", "1999"]), "; known are 1009, 1999");
        assert_eq!(advised("Price", &["shop", "price"]), "; did you mean 'price'?");
        assert_eq!(advised("statoin", &["station", "tmax"]), "; did you mean 'station'?");
    }

    #[test]
    fn a_key_that_is_gone_says_what_happens_instead() {
        assert_eq!(
            message("[data]\nstandardise = true"),
            "x.toml: data.standardise is gone: every study scales features by their training rows now, and no \
             unit changes a result; delete this key"
        );
    }

    #[test]
    fn free_names_are_no_unknown_keys() {
        let text =
            "[network.coordinates]\nanything = 3.0\n[model.nodes]\n'a b' = { kind = 'tree' }";
        assert!(check(&text.parse().unwrap(), "x.toml", Extent::All).is_ok());
    }
}
