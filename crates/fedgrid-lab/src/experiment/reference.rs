//! The reference of all keys as Markdown, from the schema: what files may say is written down once.

use std::fmt::Write;

use fedgrid::compare::MethodKind;
use serde_json::Value as Json;

use super::{
    Experiment,
    allowed::{Allowed, Range},
    keys::resolved,
};

impl Experiment {
    /// All keys with their defaults, values and meaning, one table for each section and kind.
    #[must_use]
    pub fn reference() -> String {
        let schema = Self::schema();
        let mut text = String::from(
            "# Every key of an experiment file\n\nThis page is what `fedgrid schema --markdown` prints. A key \
             without a default is needed, or its absence means something of its own.\n",
        );
        let sections = schema["properties"].as_object().into_iter().flatten();
        for (name, section) in sections {
            let inner = resolved(section, schema);
            let about = words(section);
            let heading = if inner.get("properties").is_some() || inner.get("oneOf").is_some() {
                format!("[{name}]")
            } else {
                name.clone()
            };
            let default = section.get("default").filter(|default| default.is_number());
            let default =
                default.map_or_else(String::new, |default| format!(" The default is {default}."));
            write!(text, "\n## `{heading}`\n\n{about}{default}\n").expect(MEMORY);
            // The same for all kinds, so it is said once.
            if let Some(nodes) = inner.pointer("/oneOf/0/properties/nodes") {
                write!(text, "\n`[{name}.nodes.<name>]`: {}\n", words(nodes)).expect(MEMORY);
            }
            table(&mut text, inner, schema);
            subsections(&mut text, name, inner, schema);
            for variant in inner.get("oneOf").and_then(Json::as_array).into_iter().flatten() {
                if let Some(kind) = variant["properties"]["kind"]["const"].as_str() {
                    let is_usual = variant["properties"]["kind"].get("default").is_some();
                    let usual = if is_usual { " This is the default kind." } else { "" };
                    let about = words(variant);
                    write!(text, "\n### `kind = \"{kind}\"`\n\n{about}{usual}\n").expect(MEMORY);
                    table(&mut text, variant, schema);
                    subsections(&mut text, name, variant, schema);
                }
            }
        }
        text
    }
}

/// What a write to memory expects.
const MEMORY: &str = "memory takes all";

fn words(schema: &Json) -> String {
    let text = schema.get("description").and_then(Json::as_str).unwrap_or_default();
    text.replace('\n', " ").replace('|', "\\|")
}

/// The sections inside of one.
fn subsections(text: &mut String, name: &str, section: &Json, root: &Json) {
    for (key, inner) in section["properties"].as_object().into_iter().flatten() {
        let inner = resolved(inner, root);
        if inner.get("properties").is_some() {
            write!(text, "\n#### `[{name}.{key}]`\n\n{}\n", words(inner)).expect(MEMORY);
            table(text, inner, root);
        }
        // Keys of a map are names that the user has, and what is said of each has keys of its own.
        let each = resolved(&inner["additionalProperties"], root);
        if key != "nodes" && each.get("properties").is_some() {
            write!(text, "\n#### `[{name}.{key}.<name>]`\n\n{}\n", words(each)).expect(MEMORY);
            table(text, each, root);
        }
    }
}

/// The keys of one section or kind.
fn table(text: &mut String, section: &Json, root: &Json) {
    let keys: Vec<_> = section["properties"].as_object().into_iter().flatten().collect();
    let is_listed = |name: &str, key: &Json| key.get("const").is_none() && name != "nodes";
    let keys = keys.into_iter().filter(|(name, key)| is_listed(name, key));
    let kind = section["properties"]["kind"]["const"].as_str().and_then(MethodKind::named);
    let strength = kind.and_then(|kind| kind.with_defaults().strength_key());
    let mut is_first = true;
    for (name, key) in keys {
        if std::mem::take(&mut is_first) {
            text.push_str("\n| key | default | values | meaning |\n|---|---|---|---|\n");
        }
        let inner = resolved(key, root);
        let allowed = Allowed::of(inner);
        let values = match (&strength, Range::of(inner), allowed) {
            (Some(strength), ..) if strength.name == name => {
                format!("{}, or \"auto\"", strength.expected)
            }
            (_, Some(range), Allowed::Counts) => format!("a list of whole numbers, each {range}"),
            (_, Some(range), _) => range.to_string(),
            (_, None, allowed) => allowed.to_string(),
        };
        let default = key.get("default").filter(|default| !default.is_null());
        let default = default.map_or_else(String::new, |default| format!("`{default}`"));
        writeln!(text, "| `{name}` | {default} | {values} | {} |", words(key)).expect(MEMORY);
    }
}
