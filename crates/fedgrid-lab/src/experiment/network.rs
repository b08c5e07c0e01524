//! The keys of the network: given by coordinates, edges or a shape, or learned from the training
//! rows; or several candidates, among which validation rows choose.

use std::{collections::BTreeMap, path::PathBuf};

use fedgrid::network_learning::NetworkLearning;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use toml::{Table, Value};

use super::FileKeys;

/// Who is whose neighbour: coordinates with `nearest`, or `edges`, or a `shape`, or `learn`; or
/// several of them as `candidates`. In an experiment file `network = "learn"` means `learn = true`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NetworkKeys {
    /// A table with one row per node, with its coordinates; also names nodes without any row.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<PathBuf>,
    /// How that file is written, where it is not as it looks.
    #[serde(default, skip_serializing_if = "FileKeys::is_empty")]
    pub format: FileKeys,
    /// The column of that table that names the node; by default as in the data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// The columns of that table by which reports call a node, such as `["county", "state"]`; a single one may be given
    /// without a list. By default nodes are called as in the data.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "one_or_several")]
    #[schemars(schema_with = "label_schema")]
    pub label: Vec<String>,
    /// How many nearest neighbours each node chooses; both ends of a choice become neighbours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub nearest: Option<usize>,
    /// The columns that place a node, each with its length per unit, such as kilometres per degree.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub coordinates: BTreeMap<String, f64>,
    /// The smallest weight of an edge between nearest neighbours.
    #[serde(default = "floor")]
    #[schemars(range(min = 0))]
    pub floor: f64,
    /// A table of edges with the columns src, dst and, if they differ, weight.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edges: Option<PathBuf>,
    /// How that file is written, where it is not as it looks.
    #[serde(default, skip_serializing_if = "FileKeys::is_empty")]
    pub edges_format: FileKeys,
    /// A plain shape over the nodes in their order, where nothing is known about them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shape: Option<ShapeKey>,
    /// Who helps whom is learned from the training rows by probes: true, or a section of keys.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "learn_schema")]
    pub learn: Option<LearnKeys>,
    /// Networks to choose from by the error on validation rows: coordinates, edges, shape, learned,
    /// gradients, models, pooling.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub candidates: Vec<CandidateKey>,
}

/// A plain shape of a network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "the shapes are their names")]
pub enum ShapeKey {
    Complete,
    Ring,
    Path,
    Star,
    /// No edge at all.
    None,
}

/// How a network is learned.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LearnKeys {
    /// The share of all pairs of nodes that may be probed, above zero and at most one; in small
    /// networks, where it would be less, eight for each node.
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1))]
    pub share: f64,
    /// In how many phases pairs are chosen; one draws all at random.
    #[schemars(range(min = 1))]
    pub phases: usize,
    /// How many iterations every node probes its partners in a phase.
    #[schemars(range(min = 1))]
    pub iterations: usize,
    /// In how many parts a node's rows take turns to measure; one lets all choose and measure.
    #[schemars(range(min = 1))]
    pub turns: usize,
    /// How many of its best partners each node asks to keep; of the similarity networks, too.
    #[schemars(range(min = 1))]
    pub neighbours: usize,
    /// The step of probes; by default it suits the curvature of the losses.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub step: Option<f64>,
}

impl Default for LearnKeys {
    fn default() -> Self {
        let NetworkLearning { share, phases, iterations, turns, neighbours, step, .. } =
            NetworkLearning::default();
        Self { share, phases, iterations, turns, neighbours, step }
    }
}

impl LearnKeys {
    /// The learner of these keys.
    #[must_use]
    pub fn learner(&self, seed: u64) -> NetworkLearning {
        let Self { share, phases, iterations, turns, neighbours, step } = *self;
        NetworkLearning { share, phases, iterations, turns, neighbours, step, model: None, seed }
    }
}

/// A network that may be chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CandidateKey {
    /// The nearest neighbours by coordinates.
    Coordinates,
    /// The given edges.
    Edges,
    /// The plain shape.
    Shape,
    /// Learned by probes.
    Learned,
    /// Nodes whose losses have similar gradients.
    Gradients,
    /// Nodes whose own models have close weights.
    Models,
    /// Nodes for which one regression does as well as two.
    Pooling,
}

impl CandidateKey {
    const ALL: [Self; 7] = [
        Self::Coordinates,
        Self::Edges,
        Self::Shape,
        Self::Learned,
        Self::Gradients,
        Self::Models,
        Self::Pooling,
    ];

    /// Its name in the experiment file.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Coordinates => "coordinates",
            Self::Edges => "edges",
            Self::Shape => "shape",
            Self::Learned => "learned",
            Self::Gradients => "gradients",
            Self::Models => "models",
            Self::Pooling => "pooling",
        }
    }

    /// Whether it is made from training rows.
    #[must_use]
    pub fn is_from_rows(self) -> bool {
        !matches!(self, Self::Coordinates | Self::Edges | Self::Shape)
    }
}

impl NetworkKeys {
    /// The networks to choose from; one if there is no choice.
    #[must_use]
    pub fn choices(&self) -> Vec<CandidateKey> {
        if !self.candidates.is_empty() {
            return self.candidates.clone();
        }
        let ways = [
            (self.nearest.is_some(), CandidateKey::Coordinates),
            (self.edges.is_some(), CandidateKey::Edges),
            (self.shape.is_some(), CandidateKey::Shape),
            (self.learn.is_some(), CandidateKey::Learned),
        ];
        ways.into_iter().filter(|(given, _)| *given).map(|(_, key)| key).collect()
    }

    /// Whether training rows are needed to make the network.
    #[must_use]
    pub fn needs_rows(&self) -> bool {
        let choices = self.choices();
        choices.len() > 1 || choices.iter().any(|key| key.is_from_rows())
    }

    pub(super) fn check(&self) -> Result<(), String> {
        let choices = self.choices();
        match (choices.len(), self.candidates.is_empty()) {
            (0, _) => return Err("[network] needs one of nearest, edges, shape, learn".into()),
            (1, _) | (_, false) => {}
            _ => {
                return Err(
                    "[network] has more than one of nearest, edges, shape, learn; list them in \
                     network.candidates to choose"
                        .into(),
                );
            }
        }
        for (place, key) in choices.iter().enumerate() {
            if choices[..place].contains(key) {
                let name = key.name();
                return Err(format!("network.candidates lists '{name}' twice, expected each once"));
            }
        }
        let needs = [
            (CandidateKey::Coordinates, "nearest", self.nearest.is_some()),
            (CandidateKey::Edges, "edges", self.edges.is_some()),
            (CandidateKey::Shape, "shape", self.shape.is_some()),
        ];
        for (key, needed, given) in needs {
            // Both ways: what is given and not listed would silently not be tried.
            if choices.contains(&key) != given {
                let (name, verb) = (key.name(), if given { "lacks" } else { "lists" });
                let found = if given { "is given" } else { "is not" };
                return Err(format!(
                    "network.candidates {verb} '{name}', but network.{needed} {found}"
                ));
            }
        }
        for (name, scale) in &self.coordinates {
            if !(*scale > 0.0 && scale.is_finite()) {
                let key = format!("network.coordinates.{name}");
                return Err(format!("{key} is {scale}, expected a positive number"));
            }
        }
        if self.nearest.is_some() && (self.file.is_none() || self.coordinates.is_empty()) {
            let missing = match (self.file.is_none(), self.coordinates.is_empty()) {
                (true, true) => {
                    "network.file (--nodes FILE) and network.coordinates (--coordinates X,Y)"
                }
                (true, false) => "network.file (--nodes FILE), the table of nodes",
                _ => "network.coordinates (--coordinates X,Y), the columns of that table",
            };
            return Err(format!("network.nearest needs {missing}"));
        }
        Ok(())
    }
}

/// Writes the short forms of a learned network in full: `network = "learn"` and `learn = true`.
pub(super) fn in_full(table: &mut Table) {
    if table.get("network").and_then(Value::as_str) == Some("learn") {
        let learn = Table::from_iter([("learn".to_string(), Value::Boolean(true))]);
        table.insert("network".into(), Value::Table(learn));
    }
    let Some(network) = table.get_mut("network").and_then(Value::as_table_mut) else { return };
    match network.get("learn").and_then(Value::as_bool) {
        Some(true) => {
            network.insert("learn".into(), Value::Table(Table::new()));
        }
        Some(false) => {
            network.remove("learn");
        }
        None => {}
    }
}

/// Known words of a list of candidates are checked before it is read, as those of single keys are.
pub(super) fn check_candidates(table: &Table) -> Result<(), String> {
    let listed = table.get("network").and_then(|network| network.get("candidates"));
    let words = listed.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    let known = CandidateKey::ALL.map(CandidateKey::name);
    for word in words {
        if !known.contains(&word) {
            let advice = super::advice(word, known.iter().copied());
            return Err(format!("network.candidates: '{word}' is no network{advice}"));
        }
    }
    Ok(())
}

fn learn_schema(generator: &mut SchemaGenerator) -> Schema {
    let keys = generator.subschema_for::<LearnKeys>();
    json_schema!({ "anyOf": [keys, { "type": "boolean" }] })
}

fn label_schema(_: &mut SchemaGenerator) -> Schema {
    let name = json_schema!({ "type": "string" });
    json_schema!({ "anyOf": [name, { "type": "array", "items": { "type": "string" } }] })
}

/// A name, or a list of names.
fn one_or_several<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "expected the name of a column, or a list of names")]
    enum Names {
        One(String),
        Several(Vec<String>),
    }
    Ok(match Names::deserialize(from)? {
        Names::One(name) => vec![name],
        Names::Several(names) => names,
    })
}

fn floor() -> f64 {
    0.001
}
