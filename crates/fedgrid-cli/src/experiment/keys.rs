//! Unknown keys are named, with the nearest known one, before anything else is read.

use serde_json::Value as Json;

use crate::error::{Error, Result};

/// Refuses the first key that the schema does not know.
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
    let schema = resolved(schema, root);
    let properties = schema.get("properties").and_then(Json::as_object);
    let other = schema.get("additionalProperties").filter(|other| other.is_object());
    for (key, value) in table {
        let known = properties.and_then(|properties| properties.get(key));
        let Some(inner) = known.or(other) else {
            let names = properties.into_iter().flat_map(|p| p.keys()).map(String::as_str);
            let hint = nearest(key, names)
                .map_or_else(String::new, |name| format!("; did you mean '{prefix}{name}'?"));
            return Err(format!("unknown key '{prefix}{key}'{hint}"));
        };
        if let toml::Value::Table(table) = value {
            check_table(table, inner, root, &format!("{prefix}{key}."))?;
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

/// The nearest of some names, if it is near enough to be meant.
pub(crate) fn nearest<'a>(word: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let far = 1 + word.chars().count() / 2;
    names
        .map(|name| (distance(word, name), name))
        .min_by_key(|(distance, _)| *distance)
        .filter(|(distance, _)| *distance <= far)
        .map(|(_, name)| name)
}

/// How many letters must be added, dropped or changed.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let changed = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
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
        assert_eq!(message("[quantum]\nx = 1"), "x.toml: unknown key 'quantum'");
    }

    #[test]
    fn free_names_are_no_unknown_keys() {
        let text =
            "[network.coordinates]\nanything = 3.0\n[model.nodes]\n'a b' = { kind = 'tree' }";
        assert!(check(&text.parse().unwrap(), "x.toml").is_ok());
    }
}
