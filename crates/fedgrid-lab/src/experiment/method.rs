//! The section of the method: its kind with the keys of that kind, its strength, and how it runs.

use std::borrow::Cow;

use fedgrid::{
    compare::{Approach, MethodKind, Weighting},
    runtime::Order,
};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use serde_json::{Value as Json, json};

use super::Choice;

/// The method of an experiment that names none.
const USUAL: MethodKind = MethodKind::FedRelax;

/// How nodes learn together.
#[derive(Debug, Clone, Default)]
pub struct MethodSection {
    /// The method with its own keys.
    pub approach: Approach,
    /// The number that is chosen on validation rows, unless it is given.
    pub strength: Choice,
    /// How it runs.
    pub run: RunKeys,
}

/// The keys that methods have in common.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RunKeys {
    /// Whether nodes or rows count the same.
    pub weighting: Weighting,
    /// Whether what can be solved directly is ("auto"), or all runs in rounds of messages.
    pub solver: SolverKey,
    /// The largest number of rounds; for kinds with a hub, of its iterations. Most baselines beside another
    /// method get fewer.
    #[schemars(range(min = 1))]
    pub rounds: usize,
    /// The residual at which rounds stop; for kind "gtv" the certified relative gap.
    #[schemars(range(min = 0))]
    pub tolerance: f64,
    /// Whether all nodes learn at once from the round before, or in turn from the latest.
    pub order: Order,
}

impl Default for RunKeys {
    fn default() -> Self {
        Self {
            weighting: Weighting::Nodes,
            solver: SolverKey::Auto,
            rounds: 500,
            tolerance: 1e-6,
            order: Order::AtOnce,
        }
    }
}

/// How a network is solved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SolverKey {
    /// Directly where all models are linear, otherwise in rounds.
    #[default]
    Auto,
    /// Always in rounds.
    Rounds,
}

impl MethodSection {
    /// Which method it is.
    #[must_use]
    pub fn kind(&self) -> MethodKind {
        self.approach.kind()
    }

    /// The key of the strength as a file has it, such as `method.alpha`.
    #[must_use]
    pub fn strength_name(&self) -> String {
        self.approach.strength_key().map_or_else(String::new, |key| format!("method.{}", key.name))
    }

    /// The method that a table asks for.
    #[must_use]
    pub fn kind_in(experiment: &toml::Table) -> MethodKind {
        let kind = experiment.get("method").and_then(|method| method.get("kind"));
        kind.and_then(toml::Value::as_str).and_then(MethodKind::named).unwrap_or(USUAL)
    }

    /// Puts another method in the keys of an experiment, without those of the one before that would mean
    /// nothing, or something else, to it; gives the names of those that said something.
    pub fn choose(experiment: &mut toml::Table, kind: &str) -> Vec<String> {
        let before = Self::kind_in(experiment);
        let section = experiment.entry("method").or_insert_with(|| toml::Table::new().into());
        let Some(keys) = section.as_table_mut() else { return Vec::new() };
        keys.insert("kind".into(), kind.into());
        let Some(known) = MethodKind::named(kind).filter(|known| *known != before) else {
            return Vec::new();
        };
        let own = Self { approach: known.with_defaults(), ..Self::default() }.table();
        let usual = Self { approach: before.with_defaults(), ..Self::default() }.table();
        // What keys of a run mean does not depend on the method, so they stay.
        let common: toml::Table = toml::Table::try_from(RunKeys::default()).unwrap_or_default();
        let stays = |key: &str| {
            let is_common = common.contains_key(key) || key == "couple_intercept";
            key == "kind" || is_common && own.contains_key(key)
        };
        let mut unused = Vec::new();
        keys.retain(|key, value| {
            if !stays(key) && usual.get(key) != Some(value) {
                unused.push(format!("method.{key}"));
            }
            stays(key)
        });
        unused
    }

    /// Refuses what the schema cannot.
    pub(super) fn check(&self) -> Result<(), String> {
        if let (Some(key), Some(strength)) = (self.approach.strength_key(), self.strength.given()) {
            key.check(strength).map_err(|error| format!("method.{error}"))?;
        }
        self.approach.check()
    }

    /// All keys of the method with their values, its kind first.
    fn table(&self) -> toml::Table {
        let plain = "keys are plain values";
        let mut table = toml::Table::try_from(&self.approach).expect(plain);
        if let Some(key) = self.approach.strength_key() {
            let strength = toml::Value::try_from(self.strength).expect(plain);
            table.insert(key.name.into(), strength);
        }
        let without = self.approach.facts().without;
        let run = toml::Table::try_from(self.run).expect(plain);
        table.extend(run.into_iter().filter(|(key, _)| !without.contains(&key.as_str())));
        table
    }
}

impl Serialize for MethodSection {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.table().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for MethodSection {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut table = toml::Table::deserialize(deserializer)?;
        table.entry("kind").or_insert_with(|| USUAL.name().into());
        // Each part takes its own keys and skips the rest: the schema has refused what is nobody's.
        let run = RunKeys::deserialize(table.clone()).map_err(D::Error::custom)?;
        let kind = table["kind"].as_str().and_then(MethodKind::named);
        let key = kind.and_then(|kind| kind.with_defaults().strength_key());
        let strength = key.and_then(|key| table.remove(key.name)).map(Choice::deserialize);
        let strength = strength.transpose().map_err(D::Error::custom)?.unwrap_or_default();
        let approach = Approach::deserialize(table).map_err(D::Error::custom)?;
        Ok(Self { approach, strength, run })
    }
}

impl PartialEq for MethodSection {
    fn eq(&self, other: &Self) -> bool {
        self.table() == other.table()
    }
}

impl JsonSchema for MethodSection {
    fn schema_name() -> Cow<'static, str> {
        "MethodSection".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let strength = generator.subschema_for::<Choice>();
        let run = RunKeys::json_schema(generator).to_value();
        let mut schema = Approach::json_schema(generator).to_value();
        for variant in schema["oneOf"].as_array_mut().into_iter().flatten() {
            let name = variant["properties"]["kind"]["const"].as_str().unwrap_or_default();
            let Some(kind) = MethodKind::named(name) else { continue };
            let approach = kind.with_defaults();
            if let Some(key) = approach.strength_key() {
                let mut one = strength.clone().to_value();
                let chosen = if approach.estimates_strength() {
                    "estimate it from training rows"
                } else {
                    "choose it on validation rows"
                };
                let about = format!("{} Or \"auto\", to {chosen}.", key.about);
                (one["description"], one["default"]) = (about.into(), "auto".into());
                variant["properties"][key.name] = one;
            }
            super::keys::inline(variant, generator);
            let properties = &mut variant["properties"];
            for (key, one) in run["properties"].as_object().into_iter().flatten() {
                if !approach.facts().without.contains(&key.as_str()) {
                    properties[key] = one.clone();
                }
            }
            properties["kind"]["description"] = "The method.".into();
            if kind == USUAL {
                properties["kind"]["default"] = USUAL.name().into();
            }
            // A section without a kind is of the usual one, and of no other.
            variant["required"] = if kind == USUAL { json!([]) } else { json!(["kind"]) };
            variant["additionalProperties"] = Json::Bool(false);
        }
        schema.try_into().expect("an object is a schema")
    }
}
