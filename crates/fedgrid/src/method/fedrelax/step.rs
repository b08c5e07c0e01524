//! What a node does with its pulls: refit exactly, take a few optimiser steps, or refit on labels of
//! its own making as well.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::growth::Growth;
use crate::{
    bytes::{Reader, Writer},
    data::{Dataset, Labels, normal_points},
    descent::{Descent, Optimiser},
    error::{Error, Result},
    model::{Hypothesis, Prepared, Splits},
    network::{Node, NodeId},
    random::{Purpose, Stream},
};

/// How a node answers its pulls.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(from = "StepKeys", into = "StepKeys")]
pub enum LocalStep {
    /// The minimiser itself.
    #[default]
    Refit,
    /// Some optimiser steps from the current weights, for parametric models: one RMSprop step per
    /// round is what the papers' linear experiments do.
    Descend {
        /// How many steps, at least one.
        steps: usize,
        /// Which steps.
        optimiser: Optimiser,
        /// Their size η > 0.
        size: f64,
    },
    /// A refit on fresh points with the current own predictions as labels too, so that models
    /// without incremental training remember. ["Plug In and Learn", eq. 20.] Every point weighs as
    /// much as a row of the node's own; points are drawn with the moments of its public set.
    Distil {
        /// How many points are drawn each round.
        points: usize,
        /// The seed of the draws.
        seed: u64,
    },
}

/// The same as keys of a file, which stand side by side.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub(super) struct StepKeys {
    /// What a node does with its pulls: refit, descend (some optimiser steps, models of weights only) or
    /// distil (refit on labels of its own making as well).
    step: StepName,
    /// For step "descend": how many optimiser steps each round.
    #[schemars(range(min = 1))]
    steps: usize,
    /// For step "descend": which optimiser.
    optimiser: Optimiser,
    /// For step "descend": the step size.
    #[schemars(extend("exclusiveMinimum" = 0))]
    step_size: f64,
    /// For step "distil": how many points each round.
    #[schemars(range(min = 1))]
    distil_points: usize,
}

#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum StepName {
    #[default]
    Refit,
    Descend,
    Distil,
}

impl Default for StepKeys {
    fn default() -> Self {
        let optimiser = Optimiser::RmsProp;
        Self { step: StepName::Refit, steps: 1, optimiser, step_size: 0.01, distil_points: 100 }
    }
}

impl From<StepKeys> for LocalStep {
    fn from(keys: StepKeys) -> Self {
        let StepKeys { step, steps, optimiser, step_size: size, distil_points: points } = keys;
        match step {
            StepName::Refit => Self::Refit,
            StepName::Descend => Self::Descend { steps, optimiser, size },
            StepName::Distil => Self::Distil { points, seed: 0 },
        }
    }
}

impl From<LocalStep> for StepKeys {
    fn from(step: LocalStep) -> Self {
        let usual = Self::default();
        match step {
            LocalStep::Refit => usual,
            LocalStep::Descend { steps, optimiser, size: step_size } => {
                Self { step: StepName::Descend, steps, optimiser, step_size, ..usual }
            }
            LocalStep::Distil { points: distil_points, .. } => {
                Self { step: StepName::Distil, distil_points, ..usual }
            }
        }
    }
}

/// Takes local steps and keeps what can be used again.
#[derive(Debug)]
pub(super) struct Stepper {
    step: LocalStep,
    node: NodeId,
    round: usize,
    descent: Option<Descent>,
    /// A prepared model, and the row weights that it was prepared for.
    prepared: Option<(Vec<f64>, Box<dyn Prepared>)>,
    /// The labels of its last fit, and what that predicts.
    last: Option<(Labels, Labels)>,
    /// When trees grow, where they keep their splits in most rounds, and those that they keep.
    growth: Option<Growth>,
    splits: Option<Splits>,
    /// Whether the last round was one with kept splits.
    has_kept_splits: bool,
}

impl Stepper {
    pub(super) fn new(step: LocalStep, node: NodeId, growth: Option<Growth>) -> Self {
        Self {
            step,
            node,
            round: 0,
            descent: None,
            prepared: None,
            last: None,
            growth,
            splits: None,
            has_kept_splits: false,
        }
    }

    /// Whether trees have kept their splits in the last round.
    pub(super) fn has_kept_splits(&self) -> bool {
        self.has_kept_splits
    }

    /// Writes all but what can be prepared again.
    pub(super) fn write(&self, to: &mut Writer) -> Result<()> {
        to.count(self.round);
        to.flag(self.descent.is_some());
        self.descent.as_ref().map_or(Ok(()), |descent| descent.write(to))
    }

    pub(super) fn read(&mut self, from: &mut Reader<'_>) -> Result<()> {
        self.round = from.count()?;
        (self.prepared, self.last, self.splits) = (None, None, None);
        self.descent = if from.flag()? { Some(Descent::read(from)?) } else { None };
        Ok(())
    }

    /// The next hypothesis of a node for its augmented data, and its predictions there.
    pub(super) fn step(
        &mut self,
        node: &Node,
        augmented: &Dataset,
        current: Option<&Arc<dyn Hypothesis>>,
    ) -> Result<(Arc<dyn Hypothesis>, Labels)> {
        self.round += 1;
        let next = match (self.step, current) {
            (LocalStep::Descend { steps, optimiser, size }, Some(current)) => {
                let begin = |count| Descent::new(optimiser, size, count);
                self.descend(node, augmented, current.as_ref(), steps, begin)?
            }
            (LocalStep::Distil { points, seed }, Some(current)) => {
                self.distil(node, augmented, current.as_ref(), points, seed)?
            }
            (_, current) => return self.refit(node, augmented, current),
        };
        let predictions = next.predict(augmented.features());
        Ok((next, predictions))
    }

    fn refit(
        &mut self,
        node: &Node,
        augmented: &Dataset,
        current: Option<&Arc<dyn Hypothesis>>,
    ) -> Result<(Arc<dyn Hypothesis>, Labels)> {
        // Once all neighbours have sent predictions the weights stay, and only labels change.
        let ready = self.prepared.as_ref().is_some_and(|(known, _)| known == augmented.weights());
        if !ready {
            let prepared = node.model.prepare(augmented.features(), augmented.weights())?;
            self.prepared = prepared.map(|prepared| (augmented.weights().to_vec(), prepared));
            (self.last, self.splits) = (None, None);
        }
        self.has_kept_splits = false;
        // A prepared model has no memory of its own: the same labels give the same bits.
        if let (Some((labels, predictions)), Some(current)) = (&self.last, current)
            && labels == augmented.labels()
        {
            return Ok((current.clone(), predictions.clone()));
        }
        if self.prepared.is_some() {
            let (next, predictions) = self.refit_prepared(augmented)?;
            self.last = Some((augmented.labels().clone(), predictions.clone()));
            return Ok((next, predictions));
        }
        let next = match (node.model.as_warm_start(), current) {
            (Some(model), Some(current)) => model.refit(augmented, current.as_ref())?,
            _ => node.model.fit(augmented)?,
        };
        let predictions = next.predict(augmented.features());
        Ok((next.into(), predictions))
    }

    /// The prepared model for the labels of this round.
    fn refit_prepared(&mut self, augmented: &Dataset) -> Result<(Arc<dyn Hypothesis>, Labels)> {
        let (_, prepared) = self.prepared.as_ref().expect("a model was prepared");
        let (labels, rows) = (augmented.labels(), augmented.features());
        let trees = self.growth.and_then(|growth| Some((growth, prepared.as_keeping_splits()?)));
        let Some((growth, trees)) = trees else {
            let (next, predictions) = prepared.fit_and_predict(labels, rows)?;
            return Ok((next.into(), predictions));
        };
        if let Some(splits) = self.splits.as_ref().filter(|_| !growth.grows_in(self.round)) {
            let (next, predictions) = trees.refit(splits, labels, rows)?;
            self.has_kept_splits = true;
            return Ok((next.into(), predictions));
        }
        let (next, predictions, splits) = trees.grow(labels, rows)?;
        self.splits = Some(splits);
        Ok((next.into(), predictions))
    }

    fn descend(
        &mut self,
        node: &Node,
        augmented: &Dataset,
        current: &dyn Hypothesis,
        steps: usize,
        begin: impl FnOnce(usize) -> Descent,
    ) -> Result<Arc<dyn Hypothesis>> {
        let parametric = node.model.as_parametric();
        let weights = parametric.and_then(|model| model.weights(current));
        let (Some(model), Some(mut weights)) = (parametric, weights) else {
            return Err(Error::Unsupported {
                what: "a number of optimiser steps",
                needs: "a model of weights at every node; use refit for the others",
            });
        };
        let descent = self.descent.get_or_insert_with(|| begin(weights.len()));
        for _ in 0..steps {
            let gradient = model.gradient(augmented, &weights);
            descent.step(&mut weights, &gradient);
        }
        Ok(model.hypothesis(augmented.features().names(), augmented.task(), &weights).into())
    }

    fn distil(
        &self,
        node: &Node,
        augmented: &Dataset,
        current: &dyn Hypothesis,
        points: usize,
        seed: u64,
    ) -> Result<Arc<dyn Hypothesis>> {
        let mut stream = Stream::new(seed, self.node, self.round, Purpose::Public);
        let features = normal_points(&node.public, points, &mut stream)?;
        let labels: Labels = current.predict(&features);
        // A remembered point weighs as much as a row, whatever the scale of the weights.
        let weight = node.data.total_weight() / node.data.row_count().max(f64::MIN_POSITIVE);
        let memory = Dataset::weighted(features, labels, vec![weight; points])?;
        Ok(node.model.fit(&augmented.clone().stacked(&memory)?)?.into())
    }
}
