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
    /// Numbers by name, or a word.
    Weights(&'a str),
    Whole,
    Number,
    Truth,
    List,
    Counts,
    Character,
    Text,
    TextOrList,
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
        let is_one_or_many = list("anyOf").map(|one| &one["type"]).eq(["string", "array"]);
        let depends_on_kind = list("oneOf").any(|one| one.get("properties").is_some());
        let numbers_by_name = schema.get("additionalProperties").is_some();
        let word = list("anyOf").find_map(|one| one.get("const")?.as_str());
        match kind.and_then(Json::as_str) {
            None if numbers_by_name => Self::Weights(word.unwrap_or_default()),
            _ if depends_on_kind => Self::Section,
            _ if !words.is_empty() => Self::Word(words),
            _ if is_one_or_many => Self::TextOrList,
            Some("object") => Self::Section,
            Some("integer") => Self::Whole,
            Some("number") => Self::Number,
            Some("boolean") => Self::Truth,
            Some("array") if schema["items"]["type"] == "integer" => Self::Counts,
            Some("array") => Self::List,
            // Of all text, characters alone have a largest length in the schema.
            Some(_) if schema.get("maxLength").is_some() => Self::Character,
            Some(_) => Self::Text,
            None => Self::Strength,
        }
    }

    pub(super) fn holds(&self, value: &Value) -> bool {
        match (self, value) {
            (Self::Section | Self::Weights(_), Value::Table(_))
            | (Self::Number | Self::Strength, Value::Integer(_) | Value::Float(_))
            | (Self::Truth, Value::Boolean(_))
            | (Self::Text | Self::TextOrList, Value::String(_)) => true,
            (Self::Whole, Value::Integer(number)) => *number >= 0,
            (Self::Strength, Value::String(word)) => word == "auto",
            (Self::Weights(known), Value::String(word)) => word == known,
            (Self::Character, Value::String(text)) => text.chars().count() == 1,
            (Self::Word(words), Value::String(word)) => words.contains(&word.as_str()),
            (Self::List | Self::TextOrList, Value::Array(items)) => items.iter().all(Value::is_str),
            (Self::Counts, Value::Array(items)) => {
                items.iter().all(|item| item.as_integer().is_some_and(|count| count >= 0))
            }
            _ => false,
        }
    }
}

/// Between which numbers a value must be.
#[derive(Debug)]
pub(super) struct Range {
    least: Option<f64>,
    above: Option<f64>,
    most: Option<f64>,
    below: Option<f64>,
    is_whole: bool,
    is_strength: bool,
}

impl Range {
    /// The range of a key, or of the items of a list; none if it has none.
    pub(super) fn of(schema: &Json) -> Option<Self> {
        let items = schema.get("items");
        let schema = items.unwrap_or(schema);
        // A strength is a number or a word; its range is that of the number, which comes first.
        let numbers = schema.get("anyOf").and_then(Json::as_array).map_or(schema, |all| &all[0]);
        let number = |key: &str| numbers.get(key).and_then(Json::as_f64);
        let kind = numbers.get("type").map(|kind| kind.get(0).unwrap_or(kind));
        let range = Self {
            least: number("minimum"),
            above: number("exclusiveMinimum"),
            most: number("maximum"),
            below: number("exclusiveMaximum"),
            is_whole: kind.and_then(Json::as_str) == Some("integer"),
            is_strength: schema.get("anyOf").is_some(),
        };
        let has_any =
            [range.least, range.above, range.most, range.below].iter().any(Option::is_some);
        has_any.then_some(range)
    }

    /// The first number of a value that is out of range, and what was expected; none if all are inside.
    pub(super) fn broken(&self, value: &Value) -> Option<(String, String)> {
        match value {
            Value::Array(items) => items.iter().find_map(|item| self.broken(item)),
            Value::Integer(number) => self.broken_by(*number as f64),
            Value::Float(number) => self.broken_by(*number),
            _ => None,
        }
    }

    fn broken_by(&self, value: f64) -> Option<(String, String)> {
        let holds = value.is_finite()
            && self.least.is_none_or(|least| value >= least)
            && self.above.is_none_or(|above| value > above)
            && self.most.is_none_or(|most| value <= most)
            && self.below.is_none_or(|below| value < below);
        (!holds).then(|| (value.to_string(), self.to_string()))
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = |number: f64| match number {
            0.0 => "zero".into(),
            0.5 => "one half".into(),
            1.0 => "one".into(),
            2.0 => "two".into(),
            other => other.to_string(),
        };
        match (self.least, self.above, self.most, self.below) {
            (Some(least), None, None, None) if self.is_whole => write!(f, "at least {least}"),
            (Some(least), None, None, None) => write!(f, "{} or more", word(least)),
            (None, Some(0.0), None, None) => f.write_str("a positive number"),
            (Some(least), _, Some(most), _) => write!(f, "{} to {}", word(least), word(most)),
            (_, Some(above), _, Some(below)) => {
                write!(f, "a number between {} and {}", word(above), word(below))
            }
            (_, Some(above), Some(most), _) => {
                write!(f, "a share above {} and up to {}", word(above), word(most))
            }
            (Some(least), _, _, Some(below)) => {
                write!(f, "{} or more and below {}", word(least), word(below))
            }
            _ => f.write_str("another number"),
        }?;
        if self.is_strength { f.write_str(", or \"auto\"") } else { Ok(()) }
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
            Self::Weights(word) => return write!(f, "\"{word}\", or a number for each name"),
            Self::Whole => "a whole number, zero or more",
            Self::Number => "a number",
            Self::Truth => "true or false",
            Self::Counts => "a list of whole numbers, such as [16, 8]",
            Self::List => "a list of names, such as [\"a\", \"b\"]",
            Self::Character => "one character",
            Self::Text => "text",
            Self::TextOrList => "text, or a list of names, such as [\"a\", \"b\"]",
        })
    }
}
