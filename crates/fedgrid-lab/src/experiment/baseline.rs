//! The names of methods that others are compared with.

use std::borrow::Cow;

use fedgrid::compare::MethodKind;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

/// A method that the network is compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BaselineKey {
    /// All that the models allow.
    All,
    /// This one.
    One(MethodKind),
}

impl BaselineKey {
    fn names() -> Vec<&'static str> {
        ["all"].into_iter().chain(MethodKind::baselines().map(MethodKind::name)).collect()
    }
}

impl Serialize for BaselineKey {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(match self {
            Self::All => "all",
            Self::One(kind) => kind.name(),
        })
    }
}

impl<'de> Deserialize<'de> for BaselineKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        if name == "all" {
            return Ok(Self::All);
        }
        let known = MethodKind::baselines().find(|kind| kind.name() == name);
        known.map(Self::One).ok_or_else(|| {
            // In the words of serde, which are put in those of the file with all others.
            let names: Vec<String> = Self::names().iter().map(|name| format!("`{name}`")).collect();
            let names = names.join(", ");
            D::Error::custom(format!("unknown variant `{name}`, expected one of {names}"))
        })
    }
}

impl JsonSchema for BaselineKey {
    fn schema_name() -> Cow<'static, str> {
        "BaselineKey".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "enum": Self::names() })
    }
}
