//! FedRelax: every node refits its model, pulled towards its neighbours' predictions,
//!
//! ```text
//! hᵢ ← argmin  Lᵢ(h) + α Σⱼ Aᵢⱼ δⱼ(h, hⱼ)      over h ∈ Hᵢ, with j ∈ N(i)
//! ```
//!
//! where δⱼ is the discrepancy on node j's public points. With squared loss or cross-entropy it is
//! one fit on augmented data: neighbours that share one public set become one copy of it with their
//! weighted mean prediction as label. ["Plug In and Learn", Algorithm 1 with eq. 10 and 19.]
//!
//! The one-sided update is the papers'. The symmetric one also counts the neighbours on one's own
//! public points, half and half, and so is the block minimiser of `Σ_i L_i + α Σ_edges A δ`; on one
//! common public set the two are the same.

mod damping;
mod discrepancy;
mod growth;
mod pull;
mod step;
mod weak;
mod wire;

use std::sync::Arc;

use damping::Damping;
use growth::Growth;
use pull::{PublicSet, Pulls, Target};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
pub use step::LocalStep;
use step::Stepper;
pub use weak::{SMALLEST_PULL, is_weak};
pub use wire::PredictionShape;

use super::{Hypotheses, Message, Method, PartialHypotheses, Participant, Report};
use crate::{
    algebra::{dot, squared_distance},
    bytes::NUMBER_BYTES,
    data::{Dataset, Labels, Task},
    error::{Error, Result, at_least_zero},
    loss::Loss,
    model::{Hypothesis, Vanishing},
    network::{Node, NodeId, View},
    penalty::Discrepancy,
};

/// Whose public points a node is compared on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Coupling {
    /// The neighbour's, as in the papers' update.
    #[default]
    OneSided,
    /// The neighbour's and one's own, half and half.
    Symmetric,
}

/// Model-agnostic learning by exchange of predictions.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct FedRelax {
    /// The pull α ≥ 0 towards the neighbours; zero trains every node alone, and so does, at nodes
    /// whose models would jump, next to nothing ([`SMALLEST_PULL`]).
    #[serde(skip)]
    pub alpha: f64,
    /// How predictions are compared; none is the loss of the task.
    #[serde(flatten, with = "discrepancy")]
    #[schemars(with = "discrepancy::DiscrepancyKeys")]
    pub discrepancy: Option<Loss>,
    /// Whose public points count: the neighbour's, or both ends'.
    pub coupling: Coupling,
    /// Whether the level of predictions is coupled, or only their shape.
    pub couple_intercept: bool,
    /// The largest root-mean-square distance from one's own predictions at which a neighbour's
    /// predictions pull; farther ones are moved in. Without it there is no limit.
    /// Bounds the harm that a lying neighbour can do to the model; it protects no row.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub clip: Option<f64>,
    /// The share ω of what is new in the neighbours' predictions that is taken in each round, in
    /// (0, 2); one is the plain update.
    #[schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 2))]
    pub relaxation: f64,
    /// What a node does with its pulls.
    #[serde(flatten)]
    #[schemars(with = "step::StepKeys")]
    pub step: LocalStep,
    /// The weight ≥ 0 of the pooled model as one more neighbour of every node; zero is no hub.
    #[schemars(range(min = 0))]
    pub hub: f64,
    /// The pooled hypothesis of each node; needed only with a hub.
    #[serde(skip)]
    pub pooled: Option<Hypotheses>,
    /// What these predict for the public points of each node, where it is known already.
    #[serde(skip)]
    pub pooled_predictions: Option<Arc<[Arc<Labels>]>>,
    /// The hypotheses to start from; local training where there is none.
    #[serde(skip)]
    pub start: Option<PartialHypotheses>,
    /// Whether trees are grown in rounds 1, 4, 16, … only (in the first only, from a start), and keep their splits in
    /// between: a small part of the time where strengths are compared.
    #[serde(skip)]
    pub keep_splits: bool,
    /// Whether the first round pulls towards zero, as the authors' code does.
    #[serde(skip)]
    pub zero_first: bool,
}

impl Default for FedRelax {
    fn default() -> Self {
        Self {
            alpha: 1.0,
            discrepancy: None,
            coupling: Coupling::OneSided,
            couple_intercept: true,
            clip: None,
            relaxation: 1.0,
            step: LocalStep::Refit,
            hub: 0.0,
            pooled: None,
            pooled_predictions: None,
            start: None,
            keep_splits: false,
            zero_first: false,
        }
    }
}

impl FedRelax {
    fn check(&self, task: Task) -> Result<()> {
        at_least_zero("alpha", self.alpha)?;
        at_least_zero("hub", self.hub)?;
        at_least_zero("clip", self.clip.unwrap_or(0.0))?;
        if !(self.relaxation > 0.0 && self.relaxation < 2.0) {
            let (value, expected) = (self.relaxation, "a number between zero and two");
            return Err(Error::Parameter { name: "relaxation", value, expected });
        }
        if self.coupling == Coupling::Symmetric && task != Task::Regression {
            return Err(Error::Unsupported {
                what: "symmetric coupling",
                needs: "a regression target; use one-sided coupling for classes",
            });
        }
        let discrepancy = self.discrepancy(task).loss;
        if discrepancy.is_of_classes() != (task != Task::Regression) {
            return Err(Error::Unsupported {
                what: "this discrepancy",
                needs: "another target: squared, absolute and huber compare numbers, \
                        cross-entropy and kullback-leibler compare classes",
            });
        }
        if let Loss::Huber { threshold } = discrepancy
            && !(threshold > 0.0 && threshold.is_finite())
        {
            let expected = "a positive number";
            return Err(Error::Parameter { name: "threshold", value: threshold, expected });
        }
        Ok(())
    }

    /// One node takes part from a hypothesis, or from local training.
    fn join_at(
        &self,
        view: View,
        start: Option<Arc<dyn Hypothesis>>,
    ) -> Result<FedRelaxParticipant> {
        self.check(view.node.data.task())?;
        FedRelaxParticipant::new(self, view, start)
    }

    /// One node takes part from where another strength has led it.
    pub(super) fn join_from(
        &self,
        view: View,
        before: &FedRelaxParticipant,
    ) -> Result<FedRelaxParticipant> {
        self.join_at(view, before.hypothesis.clone())
    }

    fn discrepancy(&self, task: Task) -> Discrepancy {
        let loss = self.discrepancy.unwrap_or(Loss::of(task));
        Discrepancy { loss, level: self.couple_intercept }
    }
}

impl Method for FedRelax {
    type Participant = FedRelaxParticipant;

    fn join(&self, view: View) -> Result<FedRelaxParticipant> {
        let start = self.start.as_ref().and_then(|start| start[view.node.id].clone());
        self.join_at(view, start)
    }

    fn alpha(&self) -> f64 {
        self.alpha
    }
}

/// Predictions on public points.
#[derive(Debug, Clone)]
pub struct PredictionMessage {
    /// The sender's predictions on its own public points.
    pub own: Arc<Labels>,
    /// The sender's predictions on the receiver's public points, for the symmetric coupling.
    pub yours: Option<Arc<Labels>>,
}

impl Message for PredictionMessage {
    fn bytes(&self) -> usize {
        let numbers = |labels: &Arc<Labels>| labels.as_slice().len();
        NUMBER_BYTES * (numbers(&self.own) + self.yours.as_ref().map_or(0, numbers))
    }
}

/// A node that takes part in FedRelax.
#[derive(Debug)]
pub struct FedRelaxParticipant {
    alpha: f64,
    node: Node,
    pulls: Pulls,
    /// Whether the pulls are too weak to count, so that the model stays that of local training.
    ignores_pulls: bool,
    /// Own rows, then the points of each public set, labelled anew every round.
    augmented: Dataset,
    hypothesis: Option<Arc<dyn Hypothesis>>,
    /// Own predictions on each public set; none without a hypothesis.
    predictions: Vec<Labels>,
    /// The loss of the hypothesis on the node's own rows.
    loss: f64,
    /// What pulls in this round.
    targets: Vec<Target>,
    stepper: Stepper,
    /// By how much predictions changed in the last round in which trees were free to grow.
    grown_change: f64,
    damping: Damping,
    report: Report,
}

impl FedRelaxParticipant {
    fn new(method: &FedRelax, view: View, start: Option<Arc<dyn Hypothesis>>) -> Result<Self> {
        let View { node, neighbours } = view;
        let task = node.data.task();
        let pulls = Pulls::new(method, &node, &neighbours, method.discrepancy(task));
        let augmented = pulls.augmented(&node.data)?;
        let ignores_pulls = method.weak_pull(&node, pulls.total()) == Some(Vanishing::Remembered);
        // Local training is the result where pulls are ignored, whatever start is given.
        let start = start.filter(|_| !ignores_pulls);
        let growth = method.keep_splits.then(|| Growth::new(start.is_some()));
        let hypothesis = match start {
            Some(start) => Some(start),
            None if node.data.total_weight() > 0.0 => Some(node.model.fit(&node.data)?.into()),
            None => None,
        };
        let mut participant = Self {
            alpha: method.alpha,
            stepper: Stepper::new(method.step, node.id, growth),
            grown_change: 0.0,
            node,
            pulls,
            ignores_pulls,
            augmented,
            hypothesis,
            predictions: Vec::new(),
            loss: 0.0,
            targets: Vec::new(),
            damping: Damping::new(method.relaxation),
            report: Report::default(),
        };
        let start = participant.hypothesis.take();
        participant.begin_from(start);
        Ok(participant)
    }

    /// Begins from a hypothesis, or from none.
    fn begin_from(&mut self, start: Option<Arc<dyn Hypothesis>>) {
        (self.hypothesis, self.report, self.loss) = (start, Report::default(), 0.0);
        self.predictions.clear();
        if let Some(hypothesis) = &self.hypothesis {
            let predictions = hypothesis.predict(self.augmented.features());
            self.set_predictions(&predictions);
        }
    }

    /// Stores the hypothesis's predictions for the augmented data, and how they have changed.
    fn set_predictions(&mut self, predictions: &Labels) {
        let (data, task, all) = (&self.node.data, predictions.task(), predictions.as_slice());
        let (labels, loss) = (data.labels(), Loss::of(data.task()));
        let of_row = |row| loss.row(labels.row(row), predictions.row(row));
        let losses: Vec<f64> = (0..data.rows()).map(of_row).collect();
        self.loss = dot(&losses, data.weights());
        let public_sets = &self.pulls.public_sets;
        let on = |set: &PublicSet| {
            &all[set.first_row * task.outputs()..][..set.points.rows() * task.outputs()]
        };
        let public = on(&public_sets[0]);
        self.report.size = dot(public, public);
        let before = self.predictions.first().map(Labels::as_slice);
        // Without earlier predictions all of them count as change: the first fit is no convergence.
        self.report.change =
            before.map_or(self.report.size, |before| squared_distance(before, public));
        if before.is_none() {
            let neutral = |set: &PublicSet| Labels::neutral(task, set.points.rows());
            self.predictions = public_sets.iter().map(neutral).collect();
        }
        for (own, set) in self.predictions.iter_mut().zip(public_sets) {
            own.as_mut_slice().copy_from_slice(on(set));
        }
    }

    /// Writes the pulls into the augmented data; false if nothing pulls.
    fn augment(&mut self) -> bool {
        let outputs = self.node.data.task().outputs();
        let mut pulled = false;
        for (set, target) in self.pulls.public_sets.iter().zip(&self.targets) {
            let PublicSet { points, first_row } = set;
            let rows = points.rows();
            let share = self.alpha / rows.max(1) as f64;
            let (labels, weights) = self.augmented.labels_and_weights_mut();
            // A set without predictions this round keeps its labels, at weight zero: the rows stay the same
            // in every round, so that a prepared model stays valid.
            let smallest = self.node.model.smallest_label();
            let labels = labels[first_row * outputs..].iter_mut();
            for (label, pull) in labels.zip(&target.labels) {
                *label = pull.max(smallest);
            }
            for (weight, pull) in weights[*first_row..][..rows].iter_mut().zip(&target.weights) {
                *weight = share * pull;
            }
            pulled |= share * target.total > 0.0;
        }
        pulled
    }
}

impl Participant for FedRelaxParticipant {
    type Message = PredictionMessage;

    fn send(&mut self) -> Vec<(NodeId, PredictionMessage)> {
        // A node without rows has no predictions before it has received some.
        if self.hypothesis.is_none() {
            return Vec::new();
        }
        self.pulls.messages(&self.predictions)
    }

    fn receive(&mut self, inbox: &[(NodeId, PredictionMessage)]) -> Result<()> {
        // Loss and variation are those before the round changes them.
        self.report = Report { loss: self.loss, ..Report::default() };
        if self.hypothesis.is_some() {
            self.report.variation = self.pulls.variation(inbox, &self.predictions);
        }
        self.damping.remember(&mut self.targets);
        self.pulls.gather(inbox, &self.predictions, &mut self.targets);
        self.damping.apply(&mut self.targets);
        // Without a pull that counts the model stays what local training made it.
        if !self.ignores_pulls && self.augment() {
            let (next, predictions) =
                self.stepper.step(&self.node, &self.augmented, self.hypothesis.as_ref())?;
            self.hypothesis = Some(next);
            self.set_predictions(&predictions);
            // Rounds in which splits stay move less than others would: they are no sign of rest.
            if self.stepper.has_kept_splits() {
                self.report.change = self.report.change.max(self.grown_change);
            } else {
                self.grown_change = self.report.change;
            }
        } else if self.hypothesis.is_none() && self.node.data.total_weight() > 0.0 {
            // New, among neighbours that are new, too: somebody must speak first.
            let own = self.node.model.fit(&self.node.data)?;
            self.begin_from(Some(own.into()));
        }
        self.damping.watch(self.report.change);
        self.report.damped = self.damping.has_damped;
        Ok(())
    }

    fn hypothesis(&self) -> Option<&Arc<dyn Hypothesis>> {
        self.hypothesis.as_ref()
    }

    fn report(&self) -> Report {
        self.report
    }
}
