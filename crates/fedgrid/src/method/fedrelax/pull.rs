//! What pulls at a node: its neighbours' predictions, and the pooled hub's, gathered on the public
//! sets that they are made on.

use std::sync::Arc;

use super::{Coupling, FedRelax, PredictionMessage};
use crate::{
    algebra::add_scaled,
    bytes::{Reader, Writer},
    data::{Dataset, Features, Labels},
    error::{Result, same_size},
    network::{Neighbour, Node, NodeId},
    penalty::{Discrepancy, clipped},
};

/// A public set on which a node is pulled, and where its rows begin in the augmented data.
#[derive(Debug)]
pub(super) struct PublicSet {
    pub(super) points: Arc<Features>,
    pub(super) first_row: usize,
}

/// The joint pull of all on one public set.
#[derive(Debug, Clone, Default)]
pub(super) struct Target {
    /// The sum of the edge weights that pull.
    pub(super) total: f64,
    /// The weighted mean prediction at each point.
    pub(super) labels: Vec<f64>,
    /// How strongly each point pulls.
    pub(super) weights: Vec<f64>,
    /// Whether some points pull more than others.
    uneven: bool,
}

/// Who pulls at a node, and where. The first public set is the node's own.
#[derive(Debug)]
pub(super) struct Pulls {
    pub(super) public_sets: Vec<PublicSet>,
    /// Id, weight and index of the public set of each neighbour, in order of their ids.
    neighbours: Vec<(NodeId, f64, usize)>,
    hub: Option<(f64, Arc<Labels>)>,
    symmetric: bool,
    discrepancy: Discrepancy,
    clip: Option<f64>,
    /// Whether the next pulls are towards zero.
    towards_zero: bool,
}

impl Pulls {
    pub(super) fn new(
        method: &FedRelax,
        node: &Node,
        neighbours: &[Neighbour],
        discrepancy: Discrepancy,
    ) -> Self {
        let mut public_sets: Vec<PublicSet> = Vec::new();
        // Sets are compared by address: a common set is shared by all, and becomes one copy of its rows;
        // equal sets held twice only cost rows and change no fit.
        let mut index_of = |points: &Arc<Features>| {
            let known = public_sets.iter().position(|set| Arc::ptr_eq(&set.points, points));
            known.unwrap_or_else(|| {
                let above = public_sets.last().map(|set| set.first_row + set.points.rows());
                let first_row = above.unwrap_or(node.data.rows());
                public_sets.push(PublicSet { points: points.clone(), first_row });
                public_sets.len() - 1
            })
        };
        index_of(&node.public);
        let neighbours = neighbours.iter().map(|n| (n.id, n.weight, index_of(&n.public))).collect();
        let hub = method.pooled.as_ref().filter(|_| method.hub > 0.0).map(|pooled| {
            let known = method.pooled_predictions.as_ref().map(|known| known[node.id].clone());
            (method.hub, known.unwrap_or_else(|| pooled[node.id].predict(&node.public).into()))
        });
        Self {
            public_sets,
            neighbours,
            hub,
            symmetric: method.coupling == Coupling::Symmetric,
            discrepancy,
            clip: method.clip,
            towards_zero: method.zero_first,
        }
    }

    /// The public points of a neighbour; none of a node that is not one.
    pub(super) fn points_of(&self, id: NodeId) -> Option<&Features> {
        let index = self.neighbours.binary_search_by_key(&id, |(id, ..)| *id).ok()?;
        Some(&self.public_sets[self.neighbours[index].2].points)
    }

    /// The weight of all that may pull, whether or not anything was received from them.
    pub(super) fn total(&self) -> f64 {
        let neighbours: f64 = self.neighbours.iter().map(|(_, weight, _)| weight).sum();
        neighbours + self.hub.as_ref().map_or(0.0, |(weight, _)| *weight)
    }

    /// Whether the neighbours predict the node's own points, too.
    pub(super) fn is_symmetric(&self) -> bool {
        self.symmetric
    }

    /// Whether the next pulls are towards zero.
    pub(super) fn towards_zero(&self) -> bool {
        self.towards_zero
    }

    pub(super) fn set_towards_zero(&mut self, towards_zero: bool) {
        self.towards_zero = towards_zero;
    }

    /// A node's rows, then the points of all public sets at weight zero.
    pub(super) fn augmented(&self, data: &Dataset) -> Result<Dataset> {
        let public_sets = &self.public_sets;
        let points = public_sets.iter().map(|set| set.points.rows()).sum();
        let given = data.features();
        let mut values = Vec::with_capacity((given.rows() + points) * given.columns());
        values.extend_from_slice(given.values());
        for set in public_sets {
            same_size("feature columns", set.points.columns(), given.columns())?;
            values.extend_from_slice(set.points.values());
        }
        let mut labels = data.labels().as_slice().to_vec();
        labels.extend_from_slice(Labels::neutral(data.task(), points).as_slice());
        let weights = [data.weights(), &vec![0.0; points]].concat();
        let features = Features::new(given.names().clone(), values)?;
        let all = Dataset::weighted(features, Labels::new(data.task(), labels)?, weights)?;
        Ok(all.counting_as(data))
    }

    /// What a node with these predictions sends to each neighbour.
    pub(super) fn messages(&self, predictions: &[Labels]) -> Vec<(NodeId, PredictionMessage)> {
        let own = Arc::new(predictions[0].clone());
        let message = |&(id, _, set): &(NodeId, f64, usize)| {
            let yours = self.symmetric.then(|| match set {
                0 => own.clone(),
                _ => Arc::new(predictions[set].clone()),
            });
            (id, PredictionMessage { own: own.clone(), yours })
        };
        self.neighbours.iter().map(message).collect()
    }

    /// All pulls of a round: index of the public set, weight, predictions.
    fn all<'a>(
        &'a self,
        inbox: &'a [(NodeId, PredictionMessage)],
    ) -> impl Iterator<Item = (usize, f64, &'a Labels)> + 'a {
        // A silent neighbour exerts no pull, so lost messages only slow learning down.
        let received = inbox.iter().filter_map(|(from, message)| {
            let index = self.neighbours.binary_search_by_key(from, |(id, ..)| *id).ok()?;
            Some((&self.neighbours[index], message))
        });
        let from_neighbours = received.flat_map(move |((_, weight, set), message)| {
            let weight = if self.symmetric { weight / 2.0 } else { *weight };
            let mirror = message.yours.as_deref().filter(|_| self.symmetric);
            let mirror = mirror.map(|labels| (0, weight, labels));
            std::iter::once((*set, weight, message.own.as_ref())).chain(mirror)
        });
        from_neighbours.chain(self.hub())
    }

    fn hub(&self) -> impl Iterator<Item = (usize, f64, &Labels)> {
        self.hub.iter().map(|(weight, labels)| (0, *weight, labels.as_ref()))
    }

    /// The variation of own predictions from all that pull. Both ends report an edge; the hub
    /// reports nothing, so its edge counts double here.
    pub(super) fn variation(&self, inbox: &[(NodeId, PredictionMessage)], own: &[Labels]) -> f64 {
        let term = |(set, weight, labels): (usize, f64, &Labels)| {
            weight * self.discrepancy.between(&own[set], labels)
        };
        self.all(inbox).chain(self.hub()).map(term).sum()
    }

    /// Gathers the joint pull on each public set, given own predictions where there are any.
    pub(super) fn gather(
        &mut self,
        inbox: &[(NodeId, PredictionMessage)],
        own: &[Labels],
        targets: &mut Vec<Target>,
    ) {
        targets.resize_with(self.public_sets.len(), Target::default);
        for (target, set) in targets.iter_mut().zip(&self.public_sets) {
            target.begin(set.points.rows());
        }
        for (set, weight, labels) in self.all(inbox) {
            let own = own.get(set);
            if self.towards_zero {
                let zero = Labels::neutral(labels.task(), labels.rows());
                targets[set].add(weight, own, &zero, self.discrepancy);
            } else if self.discrepancy.level && self.clip.is_none() {
                // The default settings take this branch, which needs no copy of the predictions.
                targets[set].add(weight, own, labels, self.discrepancy);
            } else {
                let mut pull = self.discrepancy.pull(own, labels);
                if let (Some(radius), Some(own)) = (self.clip, own) {
                    pull = clipped(own, &pull, radius);
                }
                targets[set].add(weight, own, &pull, self.discrepancy);
            }
        }
        self.towards_zero = false;
        targets.iter_mut().for_each(Target::finish);
    }
}

impl Target {
    pub(super) fn write(&self, to: &mut Writer) {
        to.number(self.total);
        to.flag(self.uneven);
        to.flag(self.labels.is_empty());
        to.numbers(&self.labels);
        to.numbers(&self.weights);
    }

    pub(super) fn read(points: usize, outputs: usize, from: &mut Reader<'_>) -> Result<Self> {
        let (total, uneven, is_silent) = (from.number()?, from.flag()?, from.flag()?);
        let labels = from.numbers(if is_silent { 0 } else { points * outputs })?;
        Ok(Self { total, labels, weights: from.numbers(points)?, uneven })
    }

    /// Forgets all pulls.
    fn begin(&mut self, points: usize) {
        (self.total, self.uneven) = (0.0, false);
        self.labels.clear();
        self.weights.clear();
        self.weights.resize(points, 0.0);
    }

    /// Adds the pull of one neighbour; labels are sums until `finish`.
    fn add(&mut self, weight: f64, own: Option<&Labels>, pull: &Labels, how: Discrepancy) {
        self.total += weight;
        if self.labels.is_empty() {
            self.labels.resize(pull.as_slice().len(), 0.0);
        }
        let uneven = own.filter(|_| !how.is_even());
        let Some(own) = uneven else {
            return add_scaled(&mut self.labels, weight, pull.as_slice());
        };
        self.uneven = true;
        let outputs = pull.task().outputs();
        for (row, sum) in self.weights.iter_mut().enumerate() {
            let weight = weight * how.strength(own.row(row), pull.row(row));
            *sum += weight;
            add_scaled(&mut self.labels[row * outputs..][..outputs], weight, pull.row(row));
        }
    }

    /// Turns sums into means.
    fn finish(&mut self) {
        if !self.uneven {
            self.weights.fill(self.total);
        }
        if self.labels.is_empty() {
            return;
        }
        let outputs = self.labels.len() / self.weights.len().max(1);
        for (labels, weight) in self.labels.chunks_exact_mut(outputs).zip(&self.weights) {
            for label in labels {
                // A point that nobody pulls at has sums of zero, which stay zero.
                *label /= weight.max(f64::MIN_POSITIVE);
            }
        }
    }
}
