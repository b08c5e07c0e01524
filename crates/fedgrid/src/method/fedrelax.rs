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

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Hypotheses, Message, Method, PartialHypotheses, Participant, Report};
use crate::{
    algebra::{add_scaled, dot, scale},
    data::{Dataset, Features, Labels, Task},
    error::{Error, Result, at_least_zero},
    loss::Loss,
    model::Hypothesis,
    network::{Node, NodeId, View},
    penalty::Discrepancy,
};

/// Whose public points a node is compared on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Coupling {
    /// The neighbour's, as in the papers' update.
    #[default]
    OneSided,
    /// The neighbour's and one's own, half and half.
    Symmetric,
}

/// Model-agnostic learning by exchange of predictions.
#[derive(Debug, Clone)]
pub struct FedRelax {
    /// The pull α ≥ 0 towards the neighbours; zero trains every node alone.
    pub alpha: f64,
    /// Whose public points count.
    pub coupling: Coupling,
    /// Whether the level of predictions is coupled, or only their shape.
    pub couple_intercept: bool,
    /// The weight ≥ 0 of the pooled hub as one more neighbour of every node; zero is no hub.
    pub hub: f64,
    /// The pooled hypothesis of each node; needed only with a hub.
    pub pooled: Option<Hypotheses>,
    /// The hypotheses to start from; local training where there is none.
    pub start: Option<PartialHypotheses>,
}

impl Default for FedRelax {
    fn default() -> Self {
        Self {
            alpha: 1.0,
            coupling: Coupling::OneSided,
            couple_intercept: true,
            hub: 0.0,
            pooled: None,
            start: None,
        }
    }
}

impl Method for FedRelax {
    type Participant = Relaxing;

    fn join(&self, view: View) -> Result<Relaxing> {
        at_least_zero("alpha", self.alpha)?;
        at_least_zero("hub", self.hub)?;
        let task = view.node.data.task();
        if self.coupling == Coupling::Symmetric && task != Task::Regression {
            return Err(Error::Unsupported {
                what: "symmetric coupling",
                needs: "a regression target; use one-sided coupling for classes",
            });
        }
        Relaxing::new(self, view)
    }

    fn alpha(&self) -> f64 {
        self.alpha
    }
}

/// Predictions on public points.
#[derive(Debug, Clone)]
pub struct Shared {
    /// The sender's predictions on its own public points.
    pub own: Arc<Labels>,
    /// The sender's predictions on the receiver's public points, for the symmetric coupling.
    pub yours: Option<Arc<Labels>>,
}

impl Message for Shared {
    fn bytes(&self) -> usize {
        let numbers = |labels: &Arc<Labels>| labels.as_slice().len();
        8 * (numbers(&self.own) + self.yours.as_ref().map_or(0, numbers))
    }
}

/// A public set on which a node is pulled, and the place of its rows in the augmented data.
#[derive(Debug)]
struct Ground {
    points: Arc<Features>,
    first_row: usize,
}

/// A node that takes part in FedRelax.
#[derive(Debug)]
pub struct Relaxing {
    alpha: f64,
    symmetric: bool,
    discrepancy: Discrepancy,
    node: Node,
    /// Id, weight and ground of each neighbour.
    neighbours: Vec<(NodeId, f64, usize)>,
    grounds: Vec<Ground>,
    own_ground: usize,
    hub: Option<(f64, Labels)>,
    augmented: Dataset,
    hypothesis: Option<Arc<dyn Hypothesis>>,
    /// Own predictions on each ground.
    predictions: Vec<Labels>,
    damping: Damping,
    report: Report,
}

impl Relaxing {
    fn new(method: &FedRelax, view: View) -> Result<Self> {
        let View { node, neighbours } = view;
        let task = node.data.task();
        let mut sets = vec![node.public.clone()];
        let mut place = |set: &Arc<Features>| {
            sets.iter().position(|known| Arc::ptr_eq(known, set)).unwrap_or_else(|| {
                sets.push(set.clone());
                sets.len() - 1
            })
        };
        let neighbours: Vec<_> =
            neighbours.iter().map(|n| (n.id, n.weight, place(&n.public))).collect();
        let mut augmented = node.data.clone();
        let mut grounds = Vec::new();
        for points in sets {
            let (first_row, rows) = (augmented.rows(), points.rows());
            let labels = Labels::neutral(task, rows);
            augmented = augmented.stacked(&Dataset::weighted(
                points.as_ref().clone(),
                labels,
                vec![0.0; rows],
            )?)?;
            grounds.push(Ground { points, first_row });
        }
        let hub = match &method.pooled {
            Some(pooled) if method.hub > 0.0 => {
                Some((method.hub, pooled[node.id].predict(&node.public)))
            }
            _ => None,
        };
        let start = method.start.as_ref().and_then(|start| start[node.id].clone());
        let hypothesis = match start {
            Some(start) => Some(start),
            None if node.data.total_weight() > 0.0 => Some(node.model.fit(&node.data)?.into()),
            None => None,
        };
        let mut participant = Self {
            alpha: method.alpha,
            symmetric: method.coupling == Coupling::Symmetric,
            discrepancy: Discrepancy { loss: Loss::of(task), level: method.couple_intercept },
            node,
            neighbours,
            grounds,
            own_ground: 0,
            hub,
            augmented,
            hypothesis,
            predictions: Vec::new(),
            damping: Damping::default(),
            report: Report::default(),
        };
        participant.predict();
        Ok(participant)
    }

    /// Refreshes the predictions on all grounds.
    fn predict(&mut self) {
        if let Some(hypothesis) = &self.hypothesis {
            self.predictions =
                self.grounds.iter().map(|ground| hypothesis.predict(&ground.points)).collect();
        }
    }

    /// All pulls of this round: ground, weight, labels.
    fn pulls<'a>(
        &'a self,
        inbox: &'a [(NodeId, Shared)],
    ) -> impl Iterator<Item = (usize, f64, &'a Labels)> + 'a {
        // A silent neighbour exerts no pull, so lost messages only slow learning down.
        let spoken = inbox.iter().filter_map(|(from, message)| {
            let place = self.neighbours.binary_search_by_key(from, |(id, ..)| *id).ok()?;
            Some((&self.neighbours[place], message))
        });
        let from_neighbours = spoken.flat_map(move |((_, weight, ground), message)| {
            let theirs = message.own.as_ref();
            let mirror = message.yours.as_deref().filter(|_| self.symmetric);
            let weight = if self.symmetric { weight / 2.0 } else { *weight };
            let mirror = mirror.map(|labels| (self.own_ground, weight, labels));
            std::iter::once((*ground, weight, theirs)).chain(mirror)
        });
        let from_hub = self.hub.iter().map(|(weight, labels)| (self.own_ground, *weight, labels));
        from_neighbours.chain(from_hub)
    }

    /// The weighted mean pull on each ground, and how strong it is.
    fn targets(&self, inbox: &[(NodeId, Shared)]) -> Vec<(f64, Vec<f64>)> {
        let outputs = self.node.data.task().outputs();
        let mut targets: Vec<(f64, Vec<f64>)> = self
            .grounds
            .iter()
            .map(|ground| (0.0, vec![0.0; ground.points.rows() * outputs]))
            .collect();
        for (ground, weight, labels) in self.pulls(inbox) {
            let (total, sum) = &mut targets[ground];
            *total += weight;
            if self.discrepancy.level {
                add_scaled(sum, weight, labels.as_slice());
            } else {
                let pull = self.discrepancy.pull(self.predictions.get(ground), labels);
                add_scaled(sum, weight, pull.as_slice());
            }
        }
        for (total, sum) in &mut targets {
            scale(sum, 1.0 / total.max(f64::MIN_POSITIVE));
        }
        targets
    }

    /// Writes the pulls into the augmented data; false if nothing pulls.
    fn augment(&mut self, mut targets: Vec<(f64, Vec<f64>)>) -> bool {
        self.damping.apply(&mut targets);
        let outputs = self.node.data.task().outputs();
        let mut pulled = false;
        for (ground, (total, target)) in self.grounds.iter().zip(&targets) {
            let rows = ground.points.rows();
            let (labels, weights) = self.augmented.labels_and_weights_mut();
            labels[ground.first_row * outputs..][..rows * outputs].copy_from_slice(target);
            let weight = self.alpha * total / rows.max(1) as f64;
            weights[ground.first_row..][..rows].fill(weight);
            pulled |= weight > 0.0;
        }
        pulled
    }

    /// Loss and variation before the round changes them.
    fn measure(&self, inbox: &[(NodeId, Shared)]) -> Report {
        let Some(hypothesis) = &self.hypothesis else { return Report::default() };
        let data = &self.node.data;
        let losses =
            self.discrepancy.loss.rows(data.labels(), &hypothesis.predict(data.features()));
        let variation = |(ground, weight, labels): (usize, f64, &Labels)| {
            weight * self.discrepancy.between(&self.predictions[ground], labels)
        };
        // Both ends report an edge; the hub reports nothing, so its edge counts double here.
        let hub = self.hub.iter().map(|(weight, labels)| (self.own_ground, *weight, labels));
        Report {
            loss: dot(&losses, data.weights()),
            variation: self.pulls(inbox).chain(hub).map(variation).sum(),
            ..Report::default()
        }
    }
}

impl Participant for Relaxing {
    type Message = Shared;

    fn send(&mut self) -> Vec<(NodeId, Shared)> {
        // A node that has neither rows nor heard anything has nothing to say.
        if self.hypothesis.is_none() {
            return Vec::new();
        }
        let own = Arc::new(self.predictions[self.own_ground].clone());
        let message = |&(id, _, ground): &(NodeId, f64, usize)| {
            let yours = self.symmetric.then(|| {
                if ground == self.own_ground {
                    own.clone()
                } else {
                    Arc::new(self.predictions[ground].clone())
                }
            });
            (id, Shared { own: own.clone(), yours })
        };
        self.neighbours.iter().map(message).collect()
    }

    fn receive(&mut self, inbox: &[(NodeId, Shared)]) -> Result<()> {
        self.report = self.measure(inbox);
        let targets = self.targets(inbox);
        // Without a pull the model stays what local training made it.
        if self.augment(targets) {
            self.hypothesis = Some(self.node.model.fit(&self.augmented)?.into());
            let before = std::mem::take(&mut self.predictions);
            self.predict();
            let now = self.predictions[self.own_ground].as_slice();
            self.report.size = dot(now, now);
            self.report.change = before.get(self.own_ground).map_or(self.report.size, |before| {
                before.as_slice().iter().zip(now).map(|(a, b)| (a - b).powi(2)).sum()
            });
        }
        self.damping.watch(self.report.change);
        self.report.damped = self.damping.factor < 1.0;
        Ok(())
    }

    fn hypothesis(&self) -> Option<&Arc<dyn Hypothesis>> {
        self.hypothesis.as_ref()
    }

    fn report(&self) -> Report {
        self.report
    }
}

/// Damping of what a node hears: with badly scaled public sets of their own, nodes can drive each
/// other apart. When the changes have grown for a while, only a part of what is new is taken in.
#[derive(Debug)]
struct Damping {
    factor: f64,
    heard: Vec<(f64, Vec<f64>)>,
    smallest: f64,
    grown: usize,
}

impl Default for Damping {
    fn default() -> Self {
        Self { factor: 1.0, heard: Vec::new(), smallest: f64::INFINITY, grown: 0 }
    }
}

impl Damping {
    fn apply(&mut self, targets: &mut Vec<(f64, Vec<f64>)>) {
        if self.factor < 1.0 {
            for ((total, target), (known, old)) in targets.iter_mut().zip(&self.heard) {
                if *known > 0.0 && *total > 0.0 {
                    for (new, old) in target.iter_mut().zip(old) {
                        *new = old + self.factor * (*new - old);
                    }
                }
            }
        }
        self.heard.clone_from(targets);
    }

    /// Ten rounds in a row that all change more than four times the smallest so far are growth.
    fn watch(&mut self, change: f64) {
        self.smallest = self.smallest.min(change.max(f64::MIN_POSITIVE));
        self.grown = if change > 16.0 * self.smallest { self.grown + 1 } else { 0 };
        if self.grown >= 10 {
            self.factor /= 2.0;
            (self.smallest, self.grown) = (f64::INFINITY, 0);
        }
    }
}
