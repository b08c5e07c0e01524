//! A strength that is given, or chosen on validation rows.

use std::{borrow::Cow, fmt};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// A number, or `"auto"`.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Choice {
    /// Chosen on validation rows.
    #[default]
    Auto,
    /// Given.
    Given(f64),
}

impl Choice {
    /// The number, if it is given.
    #[must_use]
    pub fn given(self) -> Option<f64> {
        match self {
            Self::Auto => None,
            Self::Given(value) => Some(value),
        }
    }
}

impl Serialize for Choice {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Auto => serializer.serialize_str("auto"),
            Self::Given(value) => serializer.serialize_f64(*value),
        }
    }
}

impl<'de> Deserialize<'de> for Choice {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = Choice;

            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a number or \"auto\"")
            }

            // TOML tells 1 from 1.0, and a strength may be either.
            fn visit_f64<E: de::Error>(self, value: f64) -> Result<Choice, E> {
                Ok(Choice::Given(value))
            }

            #[expect(clippy::cast_precision_loss, reason = "a strength is a small number")]
            fn visit_i64<E: de::Error>(self, value: i64) -> Result<Choice, E> {
                Ok(Choice::Given(value as f64))
            }

            fn visit_str<E: de::Error>(self, value: &str) -> Result<Choice, E> {
                match value {
                    "auto" => Ok(Choice::Auto),
                    _ => Err(E::invalid_value(de::Unexpected::Str(value), &self)),
                }
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

impl JsonSchema for Choice {
    fn schema_name() -> Cow<'static, str> {
        "Choice".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [{ "type": "number", "minimum": 0 }, { "const": "auto" }] })
    }
}
