//! How often rows of each class count in training.

use std::{borrow::Cow, collections::BTreeMap, fmt};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// `"balanced"`, or a number for every class.
#[derive(Debug, Clone, PartialEq)]
pub enum ClassWeights {
    /// All classes count the same in total.
    Balanced,
    /// As often as these numbers say; classes that are not listed count once.
    Given(BTreeMap<String, f64>),
}

const BALANCED: &str = "balanced";

impl Serialize for ClassWeights {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Balanced => serializer.serialize_str(BALANCED),
            Self::Given(weights) => weights.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for ClassWeights {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> de::Visitor<'de> for Visitor {
            type Value = ClassWeights;

            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("\"balanced\" or a number for each class")
            }

            fn visit_str<E: de::Error>(self, value: &str) -> Result<ClassWeights, E> {
                match value {
                    BALANCED => Ok(ClassWeights::Balanced),
                    _ => Err(E::invalid_value(de::Unexpected::Str(value), &self)),
                }
            }

            fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<ClassWeights, A::Error> {
                let weights = BTreeMap::deserialize(de::value::MapAccessDeserializer::new(map))?;
                Ok(ClassWeights::Given(weights))
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

impl JsonSchema for ClassWeights {
    fn schema_name() -> Cow<'static, str> {
        "ClassWeights".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "anyOf": [{ "type": "object" }, { "const": BALANCED }],
            "additionalProperties": { "type": "number", "exclusiveMinimum": 0 },
        })
    }
}
