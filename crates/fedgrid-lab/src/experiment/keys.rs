//! Unknown keys and values of a wrong type are named, with what is known instead, before anything
//! else is read.

use serde_json::Value as Json;

use super::allowed::Allowed;
use crate::error::{Error, Result};

/// How many known names are listed where none is near.
const LISTED: usize = 8;

/// Refuses the first key that the schema does not know, or whose value it does not allow.
pub(super) fn check(table: &toml::Table, source: &str) -> Result<()> {
    let schema = super::Experiment::schema();
    check_table(table, &schema, &schema, "").map_err(|sentence| {
        Error::input(if source.is_empty() { sentence } else { format!("{source}: {sentence}") })
    })
}

fn check_table(
    table: &toml::Table,
    schema: &Json,
    root: &Json,
    prefix: &str,
) -> std::result::Result<(), String> {
    let properties = schema.get("properties").and_then(Json::as_object);
    let other = schema.get("additionalProperties").filter(|other| other.is_object());
    for (key, value) in table {
        let path = format!("{prefix}{key}");
        let known = properties.and_then(|properties| properties.get(key));
        let Some(inner) = known.or(other) else {
            let names = properties.into_iter().flat_map(|p| p.keys()).map(String::as_str);
            let names: Vec<String> = names.map(|name| format!("{prefix}{name}")).collect();
            let advice = advice(&path, names.iter().map(String::as_str));
            return Err(format!("unknown key '{path}'{advice}"));
        };
        let inner = resolved(inner, root);
        let allowed = Allowed::of(inner);
        if !allowed.holds(value) {
            return Err(format!("{path} is {value}, expected {allowed}"));
        }
        if let toml::Value::Table(table) = value {
            check_table(table, inner, root, &format!("{path}."))?;
        }
    }
    Ok(())
}

/// Follows references, also through the alternatives that an optional key has.
fn resolved<'a>(schema: &'a Json, root: &'a Json) -> &'a Json {
    let reference = |schema: &'a Json| schema.get("$ref").and_then(Json::as_str);
    let inner = schema.get("anyOf").and_then(Json::as_array);
    let reference = reference(schema).or_else(|| inner?.iter().find_map(reference));
    reference
        .and_then(|path| root.pointer(path.trim_start_matches('#')))
        .map_or(schema, |schema| resolved(schema, root))
}

/// What follows a name that is not known: the nearest one that is, or those there are.
pub fn advice<'a>(word: &str, names: impl Iterator<Item = &'a str> + Clone) -> String {
    if let Some(near) = nearest(word, names.clone()) {
        return format!("; did you mean '{near}'?");
    }
    let more = if names.clone().count() > LISTED { ", …" } else { "" };
    let listed: Vec<&str> = names.take(LISTED).collect();
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
        check(&text.parse().unwrap(), "x.toml").unwrap_err().to_string()
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
            "x.toml: unknown key 'quantum'; known are seed, data, network, model, method, public, compare"
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
    fn free_names_are_no_unknown_keys() {
        let text =
            "[network.coordinates]\nanything = 3.0\n[model.nodes]\n'a b' = { kind = 'tree' }";
        assert!(check(&text.parse().unwrap(), "x.toml").is_ok());
    }
}
