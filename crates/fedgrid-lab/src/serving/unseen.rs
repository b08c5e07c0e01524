//! Nodes that a run has never seen: the mean of their neighbours' models, or one model of all nodes.

use std::{collections::BTreeMap, sync::Arc};

use fedgrid::model::{Blended, Hypothesis};

use super::PredictedBy;
use crate::{
    error::{Error, Result},
    kept_models::RunModels,
    source::Table,
};

/// What becomes of rows whose node the run does not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnknownRule {
    /// They are refused.
    Refuse,
    /// One model of all nodes predicts them.
    Pooled,
    /// The models of their neighbours do.
    Neighbours,
}

impl UnknownRule {
    /// The rule of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "refuse" => Some(Self::Refuse),
            "pooled" => Some(Self::Pooled),
            "neighbours" => Some(Self::Neighbours),
            _ => None,
        }
    }
}

/// Who is near nodes that a run does not know.
#[derive(Debug, Clone)]
pub struct NewNodes {
    /// The known neighbours of each, with the weights of the edges to them.
    near: BTreeMap<String, Vec<(String, f64)>>,
    /// The table that says so.
    source: String,
}

impl NewNodes {
    /// By the coordinates of a table like that of the nodes which the run was trained with, and the rule that joined those.
    pub fn from_places(models: &RunModels, table: &Table) -> Result<Self> {
        let places = models.places()?;
        let columns = places.columns.iter().map(|name| table.numbers(name));
        let columns = columns.collect::<Result<Vec<Vec<f64>>>>()?;
        let mut near = BTreeMap::new();
        for (row, name) in table.names_in(&places.node)?.into_iter().enumerate() {
            let own: Vec<f64> = columns.iter().map(|column| column[row]).collect();
            let named = |(id, weight): (usize, f64)| (places.nodes[id].clone(), weight);
            let found = places.places.near(&own)?.into_iter().map(named).collect();
            if near.insert(name.clone(), found).is_some() {
                let found = format!("is '{name}', which is listed above, expected each node once");
                return Err(table.at(row, &places.node, &found));
            }
        }
        Ok(Self { near, source: table.source.clone() })
    }

    /// By edges between new and known nodes; those between two new or two known ones tell nothing.
    pub fn from_edges(models: &RunModels, table: &Table) -> Result<Self> {
        let (sources, targets) = (table.names_in("src")?, table.names_in("dst")?);
        let weights = if table.has("weight") { Some(table.numbers("weight")?) } else { None };
        let is_known = |name: &String| models.by_node.contains_key(name);
        let mut near: BTreeMap<String, Vec<(String, f64)>> = BTreeMap::new();
        for (row, (source, target)) in sources.into_iter().zip(targets).enumerate() {
            let weight = weights.as_ref().map_or(1.0, |weights| weights[row]);
            if weight <= 0.0 {
                let found = format!("is {weight}, expected a positive number");
                return Err(table.at(row, "weight", &found));
            }
            let (new, known) = match (is_known(&source), is_known(&target)) {
                (false, true) => (source, target),
                (true, false) => (target, source),
                _ => continue,
            };
            let own = near.entry(new).or_default();
            if own.iter().any(|(other, _)| *other == known) {
                let found = format!("is '{known}' once more, expected each edge once");
                return Err(table.at(row, "dst", &found));
            }
            own.push((known, weight));
        }
        Ok(Self { near, source: table.source.clone() })
    }
}

/// What predicts rows of unknown nodes.
pub(super) struct Unseen<'a> {
    models: &'a RunModels,
    rule: Option<UnknownRule>,
    near: Option<&'a NewNodes>,
    /// The one model of all nodes, once it was asked for.
    common: Option<Stand>,
}

/// What stands in for the model of a node.
#[derive(Clone)]
pub(super) struct Stand {
    pub(super) model: Arc<dyn Hypothesis>,
    pub(super) by: PredictedBy,
}

impl<'a> Unseen<'a> {
    pub(super) fn new(
        models: &'a RunModels,
        rule: Option<UnknownRule>,
        near: Option<&'a NewNodes>,
    ) -> Self {
        Self { models, rule, near, common: None }
    }

    /// The model for a node that the run does not know, and whose it is; or what follows "which is not a node of the run".
    pub(super) fn model(&mut self, node: &str) -> Result<std::result::Result<Stand, String>> {
        if self.rule == Some(UnknownRule::Refuse) {
            return Ok(Err(String::new()));
        }
        let near = self.near.filter(|_| self.rule != Some(UnknownRule::Pooled));
        // The mean of one model is that model.
        let is_pooled = self.models.used == "pooled";
        if let Some(own) = near.filter(|_| !is_pooled) {
            match self.blended(own, node)? {
                Some(model) => return Ok(Ok(Stand { model, by: PredictedBy::Neighbours })),
                None if self.rule.is_some() => {
                    let missing = format!(
                        " and has no neighbour by {}; add it there, or take --unknown pooled",
                        own.source
                    );
                    return Ok(Err(missing));
                }
                None => {}
            }
        }
        let Some(common) = self.common()? else {
            let advice = ", and the run keeps no pooled model; give its place with --nodes, or its edges with --edges";
            return Ok(Err(advice.into()));
        };
        Ok(Ok(common))
    }

    /// What predicts a node of the run that has no training row, by a method that knows of no network: the mean of its
    /// neighbours' models; none if its own model does.
    pub(super) fn without_rows(&self, node: &str) -> Result<Option<Stand>> {
        let is_asked = !matches!(self.rule, Some(UnknownRule::Pooled | UnknownRule::Refuse));
        let near = self.models.neighbours_without_rows(node).filter(|_| is_asked);
        let model = near.map(|near| self.mean_of(near)).transpose()?.flatten();
        Ok(model.map(|model| Stand { model, by: PredictedBy::Neighbours }))
    }

    /// The mean of its neighbours' models; none if it has none.
    fn blended(&self, near: &NewNodes, node: &str) -> Result<Option<Arc<dyn Hypothesis>>> {
        self.mean_of(near.near.get(node).map_or(&[][..], Vec::as_slice))
    }

    fn mean_of(&self, neighbours: &[(String, f64)]) -> Result<Option<Arc<dyn Hypothesis>>> {
        let part = |(name, weight): &(String, f64)| {
            Some((*weight, self.models.by_node.get(name)?.clone()))
        };
        let parts: Vec<_> = neighbours.iter().filter_map(part).collect();
        if parts.is_empty() {
            return Ok(None);
        }
        Ok(Some(Arc::new(Blended::new(parts)?)))
    }

    /// The mean coefficients of a mixed model, or the pooled model; none if neither is kept.
    fn common(&mut self) -> Result<Option<Stand>> {
        if self.common.is_none() {
            let fixed = self.models.common.clone();
            self.common = if let Some(model) = fixed {
                Some(Stand { model, by: PredictedBy::FixedEffects })
            } else {
                let pooled = if self.models.used == "pooled" {
                    self.models.most_common()
                } else {
                    self.models.pooled()?.and_then(|pooled| pooled.most_common())
                };
                pooled.map(|model| Stand { model, by: PredictedBy::Pooled })
            };
        }
        Ok(self.common.clone())
    }
}

/// What `--unknown` may be.
pub fn unknown_rule(word: &str) -> Result<UnknownRule> {
    UnknownRule::named(word).ok_or_else(|| {
        Error::input(format!("--unknown is '{word}', expected refuse, pooled or neighbours"))
    })
}
