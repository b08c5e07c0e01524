//! What a key may hold, as its schema has it, said in words of the experiment file.

use std::fmt;

use serde_json::Value as Json;
use toml::Value;

/// The values that one key allows.
#[derive(Debug, PartialEq)]
pub(super) enum Allowed<'a> {
    Section,
    Word(Vec<&'a str>),
    /// A number, or "auto".
    Strength,
    Whole,
    Number,
    Truth,
    List,
    Counts,
    Character,
    Text,
}

impl<'a> Allowed<'a> {
    pub(super) fn of(schema: &'a Json) -> Self {
        let list = |key: &str| schema.get(key).and_then(Json::as_array).into_iter().flatten();
        // Choices with a description of their own stand apart from those without.
        let apart = list("oneOf").flat_map(|one| {
            let several = one.get("enum").and_then(Json::as_array).into_iter().flatten();
            several.chain(one.get("const"))
        });
        let words: Vec<&str> = list("enum").chain(apart).filter_map(Json::as_str).collect();
        // An optional key also has the type null, which comes last and which TOML cannot write.
        let kind = schema.get("type").map(|kind| kind.get(0).unwrap_or(kind));
        match kind.and_then(Json::as_str) {
            _ if !words.is_empty() => Self::Word(words),
            Some("object") => Self::Section,
            Some("integer") => Self::Whole,
            Some("number") => Self::Number,
            Some("boolean") => Self::Truth,
            Some("array") if schema["items"]["type"] == "integer" => Self::Counts,
            Some("array") => Self::List,
            Some(_) if schema.get("maxLength").is_some() => Self::Character,
            Some(_) => Self::Text,
            None => Self::Strength,
        }
    }

    pub(super) fn holds(&self, value: &Value) -> bool {
        match (self, value) {
            (Self::Section, Value::Table(_))
            | (Self::Number | Self::Strength, Value::Integer(_) | Value::Float(_))
            | (Self::Truth, Value::Boolean(_))
            | (Self::Text, Value::String(_)) => true,
            (Self::Whole, Value::Integer(number)) => *number >= 0,
            (Self::Strength, Value::String(word)) => word == "auto",
            (Self::Character, Value::String(text)) => text.chars().count() == 1,
            (Self::Word(words), Value::String(word)) => words.contains(&word.as_str()),
            (Self::List, Value::Array(items)) => items.iter().all(Value::is_str),
            (Self::Counts, Value::Array(items)) => {
                items.iter().all(|item| item.as_integer().is_some_and(|count| count >= 0))
            }
            _ => false,
        }
    }
}

impl fmt::Display for Allowed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Section => "a section with keys",
            Self::Word(words) => {
                let (last, rest) = words.split_last().expect("a list of words is not empty");
                let rest = rest.join(", ");
                return if rest.is_empty() {
                    f.write_str(last)
                } else {
                    write!(f, "{rest} or {last}")
                };
            }
            Self::Strength => "a number or \"auto\"",
            Self::Whole => "a whole number, zero or more",
            Self::Number => "a number",
            Self::Truth => "true or false",
            Self::Counts => "a list of whole numbers, such as [16, 8]",
            Self::List => "a list of names, such as [\"a\", \"b\"]",
            Self::Character => "one character",
            Self::Text => "text",
        })
    }
}
