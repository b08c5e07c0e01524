//! The section of models: for all nodes, and where single nodes differ.

use std::{borrow::Cow, collections::BTreeMap, sync::Arc};

use fedgrid::{
    data::Task,
    model::{LocalModel, Model, ModelKind},
};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use serde_json::{Value as Json, json};

use super::{Choice, keys};

/// The model of an experiment that names none.
const USUAL: ModelKind = ModelKind::Linear;
/// The same where classes are predicted.
const USUAL_OF_CLASSES: ModelKind = ModelKind::Logistic;

/// What each node trains.
#[derive(Debug, Clone, Default)]
pub struct ModelSection {
    /// The model of all nodes.
    pub common: ModelChoice,
    /// Other models for some nodes, by name: only the keys that differ.
    pub nodes: BTreeMap<String, ModelChoice>,
    /// Whether somebody has named the kind of all nodes; otherwise it is the usual one.
    is_named: bool,
}

impl PartialEq for ModelSection {
    fn eq(&self, other: &Self) -> bool {
        // A file that is written names what it has.
        (&self.common, &self.nodes) == (&other.common, &other.nodes)
    }
}

/// A model with its keys.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelChoice {
    /// The model; its ridge is the default one, unless another is given.
    pub model: Model,
    /// The ridge of a model that has one.
    pub ridge: Option<Choice>,
}

impl Default for ModelChoice {
    fn default() -> Self {
        Self::of(USUAL)
    }
}

impl ModelChoice {
    fn of(kind: ModelKind) -> Self {
        let model = kind.with_defaults();
        let ridge = model.as_local().as_tunable().map(|_| Choice::Auto);
        Self { model, ridge }
    }

    /// The model as nodes train it, with the experiment's seed where it draws something.
    #[must_use]
    pub fn made(&self, seed: u64) -> Arc<dyn LocalModel> {
        let mut table = toml::Table::try_from(&self.model).expect(PLAIN);
        // A model takes what it has of these, and neither is a key of its own.
        // TOML has no larger whole numbers.
        let seed = i64::try_from(seed).unwrap_or(i64::MAX);
        table.insert("seed".into(), seed.into());
        let given = self.ridge.and_then(Choice::given);
        if let Some(ridge) = given {
            table.insert("ridge".into(), ridge.into());
        }
        // A ridge that was given must not be chosen again at nodes that share the search with others.
        Model::deserialize(table).expect(PLAIN).shared(given.is_some())
    }

    /// All keys with their values, the kind first.
    fn table(&self) -> toml::Table {
        let mut table = toml::Table::try_from(&self.model).expect(PLAIN);
        if let Some(ridge) = self.ridge {
            table.insert("ridge".into(), toml::Value::try_from(ridge).expect(PLAIN));
        }
        table
    }

    /// The model that keys stand for, some of which may be of other kinds.
    fn read(mut table: toml::Table) -> Result<Self, toml::de::Error> {
        table.entry("kind").or_insert_with(|| USUAL.name().into());
        let ridge = table.remove("ridge").map(Choice::deserialize).transpose()?;
        let model = Model::deserialize(table)?;
        let usual = Self::of(model.kind()).ridge;
        Ok(Self { model, ridge: usual.map(|usual| ridge.unwrap_or(usual)) })
    }
}

const PLAIN: &str = "keys are plain values";

impl ModelSection {
    /// Gives nodes the kind of all where they name none, so that their keys can be checked.
    pub(super) fn in_full(experiment: &mut toml::Table) {
        let Some(section) = experiment.get_mut("model").and_then(toml::Value::as_table_mut) else {
            return;
        };
        let common = section.get("kind").cloned().unwrap_or_else(|| USUAL.name().into());
        let nodes = section.get_mut("nodes").and_then(toml::Value::as_table_mut);
        for (_, node) in nodes.into_iter().flatten() {
            if let Some(keys) = node.as_table_mut() {
                keys.entry("kind").or_insert_with(|| common.clone());
            }
        }
    }

    /// Makes a kind that of all nodes in the keys of an experiment; what is said there for another kind
    /// goes, unless some nodes have kinds of their own.
    pub fn choose(experiment: &mut toml::Table, kind: &str) {
        let section = experiment.entry("model").or_insert_with(|| toml::Table::new().into());
        let Some(keys) = section.as_table_mut() else { return };
        let before = keys.insert("kind".into(), kind.into());
        if let (Some(known), false) = (ModelKind::named(kind), keys.contains_key("nodes"))
            && before.is_none_or(|before| before.as_str() != Some(kind))
        {
            let own = keys::of_model(known);
            keys.retain(|key, _| own.iter().any(|own| own == key));
        }
    }

    /// The models of all nodes, each once for all that share it.
    pub fn models(&self) -> impl Iterator<Item = &Model> {
        self.nodes.values().chain([&self.common]).map(|choice| &choice.model)
    }

    /// Whether all models can predict what is asked for.
    #[must_use]
    pub fn predicts(&self, task: Task) -> bool {
        self.models().all(|model| model.as_local().predicts(task))
    }

    /// The models for a task: where nobody has named the model of all nodes, and the usual one cannot predict it,
    /// there is one that can.
    #[must_use]
    pub fn for_task(&self, task: Task) -> Cow<'_, Self> {
        if self.is_named || self.common.model.as_local().predicts(task) {
            return Cow::Borrowed(self);
        }
        let mut table = self.common.table();
        table.insert("kind".into(), USUAL_OF_CLASSES.name().into());
        let own = keys::of_model(USUAL_OF_CLASSES);
        table.retain(|key, _| own.iter().any(|own| own == key));
        let common = ModelChoice::read(table).expect(PLAIN);
        Cow::Owned(Self { common, ..self.clone() })
    }

    /// Whether the models leave open whether classes or numbers are predicted.
    #[must_use]
    pub fn predicts_both(&self) -> bool {
        let classes = Task::Classification { classes: 2 };
        self.predicts(Task::Regression) && self.for_task(classes).predicts(classes)
    }

    /// Whether a ridge is chosen on validation rows.
    #[must_use]
    pub fn tunes_ridge(&self) -> bool {
        self.nodes.values().chain([&self.common]).any(|keys| keys.ridge == Some(Choice::Auto))
    }
}

impl Serialize for ModelSection {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut table = self.common.table();
        if !self.nodes.is_empty() {
            let nodes = self.nodes.iter().map(|(name, keys)| (name.clone(), keys.table().into()));
            table.insert("nodes".into(), nodes.collect::<toml::Table>().into());
        }
        table.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for ModelSection {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut common = toml::Table::deserialize(deserializer)?;
        let nodes = common.remove("nodes").map(BTreeMap::<String, toml::Table>::deserialize);
        let nodes = nodes.transpose().map_err(D::Error::custom)?.unwrap_or_default();
        // Nodes take what they leave open from all.
        let over =
            |own: toml::Table| ModelChoice::read(common.clone().into_iter().chain(own).collect());
        let nodes = nodes.into_iter().map(|(name, own)| Ok((name, over(own)?)));
        let nodes = nodes.collect::<Result<_, toml::de::Error>>().map_err(D::Error::custom)?;
        let is_named = common.contains_key("kind");
        let common = ModelChoice::read(common).map_err(D::Error::custom)?;
        Ok(Self { common, nodes, is_named })
    }
}

/// The kinds of models with the keys of each.
struct ModelKeys;

impl JsonSchema for ModelKeys {
    fn schema_name() -> Cow<'static, str> {
        "ModelKeys".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let choice = generator.subschema_for::<Choice>().to_value();
        let mut schema = Model::json_schema(generator).to_value();
        for variant in schema["oneOf"].as_array_mut().into_iter().flatten() {
            let name = variant["properties"]["kind"]["const"].as_str().unwrap_or_default();
            let Some(kind) = ModelKind::named(name) else { continue };
            variant["properties"]["kind"]["description"] = "The kind of model.".into();
            if kind == USUAL {
                variant["properties"]["kind"]["default"] = USUAL.name().into();
            }
            if kind.with_defaults().as_local().as_tunable().is_some() {
                let mut ridge = choice.clone();
                let about = "The pull of slopes (or of a function) to zero, or \"auto\", to choose it on \
                             validation rows.";
                (ridge["description"], ridge["default"]) = (about.into(), "auto".into());
                variant["properties"]["ridge"] = ridge;
            }
            keys::inline(variant, generator);
            // A section without a kind is of the usual one, and of no other.
            variant["required"] = if kind == USUAL { json!([]) } else { json!(["kind"]) };
            variant["additionalProperties"] = Json::Bool(false);
        }
        schema.try_into().expect("an object is a schema")
    }
}

impl JsonSchema for ModelSection {
    fn schema_name() -> Cow<'static, str> {
        "ModelSection".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let one = generator.subschema_for::<ModelKeys>().to_value();
        let mut schema = ModelKeys::json_schema(generator).to_value();
        let nodes = json!({
            "description": "Other models for some nodes, by name: only the keys that differ.",
            "type": "object",
            "additionalProperties": one,
        });
        for variant in schema["oneOf"].as_array_mut().into_iter().flatten() {
            variant["properties"]["nodes"] = nodes.clone();
        }
        schema.try_into().expect("an object is a schema")
    }
}
