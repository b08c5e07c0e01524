//! The section of the method: its kind with the keys of that kind, its strength, and how it runs. The kind
//! "auto", which is no method of its own, leaves the choice of one to the validation rows.

use std::borrow::Cow;

use fedgrid::{
    compare::{Approach, MethodKind, Weighting},
    runtime::Order,
};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use serde_json::{Value as Json, json};

use super::Choice;

/// The kind that chooses, which is also that of an experiment that names none.
pub(super) const AUTO: &str = "auto";
/// What it does.
const ABOUT_AUTO: &str = "The best of several methods: each that suits the models (fedrelax any; gtv those with weights of one \
    size; mixed linear, logistic and Poisson regressions with an intercept and no lasso) is tuned alone, and the \
    one of least error on validation rows, or on folds without such rows, is taken.";
/// The method of a file that names none, between sites.
const AT_SITES: MethodKind = MethodKind::FedRelax;

/// How nodes learn together.
#[derive(Debug, Clone)]
pub struct MethodSection {
    /// The method with its own keys; if it is chosen, the first of those that it is chosen from.
    pub approach: Approach,
    /// Whether validation rows choose it.
    pub is_chosen: bool,
    /// The number that is chosen on validation rows, unless it is given.
    pub strength: Choice,
    /// How it runs.
    pub run: RunKeys,
}

impl Default for MethodSection {
    fn default() -> Self {
        let (strength, run) = (Choice::Auto, RunKeys::default());
        Self { approach: Self::MEMBERS[0].with_defaults(), is_chosen: true, strength, run }
    }
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
    /// The residual at which rounds stop; for kind "gtv" the certified relative gap. Zero asks for every round.
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
    /// The methods that "auto" chooses from, the simpler first.
    pub const MEMBERS: [MethodKind; 3] = [MethodKind::FedRelax, MethodKind::Gtv, MethodKind::Mixed];

    /// A method with the defaults of all its keys.
    fn of(kind: MethodKind) -> Self {
        Self { approach: kind.with_defaults(), is_chosen: false, ..Self::default() }
    }

    /// The name of its kind.
    #[must_use]
    pub fn name(&self) -> &'static str {
        if self.is_chosen { AUTO } else { self.approach.kind().name() }
    }

    /// Every kind by name, with its method; "auto" has none.
    pub fn kinds() -> impl Iterator<Item = (&'static str, Option<MethodKind>)> {
        let named = MethodKind::ALL.iter().map(|kind| (kind.name(), Some(*kind)));
        std::iter::once((AUTO, None)).chain(named)
    }

    /// The key of the strength as a file has it, such as `method.alpha`.
    #[must_use]
    pub fn strength_name(&self) -> String {
        self.approach.strength_key().map_or_else(String::new, |key| format!("method.{}", key.name))
    }

    /// The method that a table names.
    #[must_use]
    pub fn kind_in(experiment: &toml::Table) -> Option<MethodKind> {
        let kind = experiment.get("method").and_then(|method| method.get("kind"));
        kind.and_then(toml::Value::as_str).and_then(MethodKind::named)
    }

    /// Names the method of a table that names none, between sites, which cannot compare errors on pooled rows;
    /// gives what to say of it.
    pub fn name_at_sites(experiment: &mut toml::Table) -> Option<String> {
        let section = experiment.entry("method").or_insert_with(|| toml::Table::new().into());
        let keys = section.as_table_mut().filter(|keys| !keys.contains_key("kind"))?;
        keys.insert("kind".into(), AT_SITES.name().into());
        Some(format!("method.kind is not given; between sites it is \"{AT_SITES}\""))
    }

    /// Puts another method in the keys of an experiment, without those of the one before that would mean
    /// nothing, or something else, to it; gives the names of those that said something.
    pub fn choose(experiment: &mut toml::Table, kind: &str) -> Vec<String> {
        let section = experiment.entry("method").or_insert_with(|| toml::Table::new().into());
        let Some(keys) = section.as_table_mut() else { return Vec::new() };
        let before = keys.insert("kind".into(), kind.into());
        let table = |name: &str| {
            let (_, kind) = Self::kinds().find(|(known, _)| *known == name)?;
            Some(kind.map_or_else(Self::default, Self::of).table())
        };
        // Keys without a kind may be meant for the one that is named now.
        let before = before.as_ref().and_then(toml::Value::as_str).filter(|before| *before != kind);
        let (Some(own), Some(usual)) = (table(kind), before.and_then(table)) else {
            return Vec::new();
        };
        // What keys of a run mean does not depend on the method, so they stay.
        let common: toml::Table = toml::Table::try_from(RunKeys::default()).unwrap_or_default();
        let stays = |key: &str| {
            // This key is of several methods, and means the same to all of them.
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
        let run = toml::Table::try_from(self.run).expect(plain);
        if self.is_chosen {
            return [("kind".into(), AUTO.into())].into_iter().chain(run).collect();
        }
        let mut table = toml::Table::try_from(&self.approach).expect(plain);
        if let Some(key) = self.approach.strength_key() {
            let strength = toml::Value::try_from(self.strength).expect(plain);
            table.insert(key.name.into(), strength);
        }
        let without = self.approach.facts().without;
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
        // Each part takes its own keys and skips the rest: the schema has refused what is nobody's.
        let run = RunKeys::deserialize(table.clone()).map_err(D::Error::custom)?;
        let kind = table.get("kind").and_then(toml::Value::as_str);
        if kind.is_none_or(|kind| kind == AUTO) {
            return Ok(Self { run, ..Self::default() });
        }
        let kind = kind.and_then(MethodKind::named);
        let key = kind.and_then(|kind| kind.with_defaults().strength_key());
        let strength = key.and_then(|key| table.remove(key.name)).map(Choice::deserialize);
        let strength = strength.transpose().map_err(D::Error::custom)?.unwrap_or_default();
        let approach = Approach::deserialize(table).map_err(D::Error::custom)?;
        Ok(Self { approach, is_chosen: false, strength, run })
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
        let kind = json!({ "type": "string", "const": AUTO, "default": AUTO });
        let auto =
            json!({ "type": "object", "description": ABOUT_AUTO, "properties": { "kind": kind } });
        let mut kinds = vec![auto];
        kinds.extend(schema["oneOf"].as_array().into_iter().flatten().cloned());
        for variant in &mut kinds {
            let name = variant["properties"]["kind"]["const"].as_str().unwrap_or_default();
            let approach = MethodKind::named(name).map(MethodKind::with_defaults);
            if let Some(key) = approach.as_ref().and_then(|approach| approach.strength_key()) {
                let mut one = strength.clone().to_value();
                let is_estimated = approach.as_ref().is_some_and(|own| own.estimates_strength());
                let chosen = if is_estimated {
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
            let without = approach.as_ref().map_or(&[][..], |approach| approach.facts().without);
            for (key, one) in run["properties"].as_object().into_iter().flatten() {
                if !without.contains(&key.as_str()) {
                    properties[key] = one.clone();
                }
            }
            properties["kind"]["description"] = "The method.".into();
            // A section without a kind is of the one that chooses, and of no other.
            variant["required"] = if approach.is_none() { json!([]) } else { json!(["kind"]) };
            variant["additionalProperties"] = Json::Bool(false);
        }
        schema["oneOf"] = kinds.into();
        schema.try_into().expect("an object is a schema")
    }
}
