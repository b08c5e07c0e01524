//! The losses of all nodes as functions of the weights that neighbours share.
//!
//! Least squares is kept as its spectrum ([`Quadratic`]); every other loss is asked for its proximal
//! steps, and keeps its uncoupled weights beside.

use std::sync::OnceLock;

use rayon::prelude::*;

mod quadratic;
mod reached;

use crate::{
    algebra::{Batch, add_scaled, dot, scale, triangle},
    data::{Dataset, Task},
    error::{Error, Result},
    model::{Hypothesis, Parametric, SecondDerivative, kind_of},
    network::{Network, Node},
};
pub(super) use quadratic::Quadratic;
use reached::KeptReached;
pub(super) use reached::Reached;

/// The losses of all nodes, ready to be coupled by any network and strength.
///
/// A node's weights stand in a row, first those that are coupled.
#[derive(Debug)]
pub struct Losses {
    /// How many weights a row has.
    pub(super) size: usize,
    /// How many of them are coupled.
    pub(super) coupled: usize,
    /// The index of each of a row's weights in the model.
    order: Vec<usize>,
    /// The indices of the weights that are not coupled.
    levels: Vec<usize>,
    /// Whether each of a row's weights is an intercept.
    intercepts: Vec<bool>,
    pub(super) each: Vec<NodeLoss>,
    nodes: Vec<Node>,
    reached: KeptReached,
    /// `∇²L` of quadratic losses, once it is needed.
    curvatures: OnceLock<Batch>,
}

/// The loss of one node.
#[derive(Debug)]
pub(super) enum NodeLoss {
    /// A node without rows.
    None,
    Quadratic(Quadratic),
    Convex(Convex),
}

impl NodeLoss {
    /// `out ← (shift I + ∇²L)⁻¹ v` of a quadratic loss, and zero along directions without curvature.
    pub(super) fn shifted_inverse(&self, shift: f64, v: &[f64], out: &mut [f64]) {
        // An isolated node without ridge has no curvature outside its rows' span; nothing pulls there.
        let inverse = |curvature: f64| if curvature > 0.0 { 1.0 / curvature } else { 0.0 };
        let quadratic = if let Self::Quadratic(quadratic) = self { Some(quadratic) } else { None };
        let outside = inverse(shift + 2.0 * quadratic.map_or(0.0, |own| own.ridge));
        out.iter_mut().zip(v).for_each(|(out, v)| *out = outside * v);
        for (direction, h, _) in quadratic.iter().flat_map(|own| own.terms(v.len())) {
            add_scaled(out, dot(direction, v) * (inverse(shift + 2.0 * h) - outside), direction);
        }
    }
}

/// Any other convex loss.
#[derive(Debug)]
pub(super) struct Convex(Node);

impl Convex {
    pub(super) fn model(&self) -> &dyn Parametric {
        parametric(&self.0)
    }

    pub(super) fn data(&self) -> &Dataset {
        &self.0.data
    }
}

/// The model of a node whose losses have been made.
fn parametric(node: &Node) -> &dyn Parametric {
    node.model.as_parametric().expect("only parametric models are coupled")
}

impl Losses {
    /// The losses of these nodes.
    ///
    /// With `couple_intercept` false the intercepts are left uncoupled. A model without weights, or
    /// with other weights than the first node's, cannot be coupled.
    pub fn new(nodes: &[Node], couple_intercept: bool) -> Result<Self> {
        Self::beside(None, nodes, couple_intercept)
    }

    /// The same, with what others of the same rows and models at other ridges have found.
    pub(crate) fn beside(
        like: Option<&Self>,
        nodes: &[Node],
        couple_intercept: bool,
    ) -> Result<Self> {
        let first = nodes.first().ok_or(Error::NoData)?;
        let (columns, task) = (first.data.features().columns(), first.data.task());
        let (size, intercepts) = shape(nodes, columns, task)?;
        let is_free = |index: &usize| !couple_intercept && intercepts.contains(index);
        let (free, coupled): (Vec<usize>, Vec<usize>) = (0..size).partition(is_free);
        // Least squares are minimised over free intercepts in closed form, which leaves shorter rows.
        let profile = !free.is_empty() && nodes.iter().all(|node| node.model.as_linear().is_some());
        let loss = |(id, node): (usize, &Node)| match like.map(|like| &like.each[id]) {
            Some(NodeLoss::Quadratic(known)) => {
                let ridge = node.model.as_linear().map(|model| model.ridge);
                let again = ridge.and_then(|ridge| known.with_ridge(ridge));
                again.map_or_else(|| loss(node, profile), |own| own.map(NodeLoss::Quadratic))
            }
            _ => loss(node, profile),
        };
        let each = nodes.par_iter().enumerate().map(loss).collect::<Result<_>>()?;
        let order =
            if profile { coupled.clone() } else { [coupled.as_slice(), free.as_slice()].concat() };
        let intercepts = order.iter().map(|index| intercepts.contains(index)).collect();
        Ok(Self {
            size: order.len(),
            coupled: coupled.len(),
            order,
            levels: free,
            intercepts,
            each,
            nodes: nodes.to_vec(),
            reached: KeptReached::default(),
            curvatures: OnceLock::new(),
        })
    }

    /// The sums of the losses of clusters, each with the model of its first node.
    pub(super) fn merged(&self, clusters: &[usize], count: usize) -> Self {
        let mut members = vec![Vec::new(); count];
        clusters.iter().enumerate().for_each(|(node, &cluster)| members[cluster].push(node));
        let loss = |members: &Vec<usize>| {
            let own = members.iter().filter_map(|&node| match &self.each[node] {
                NodeLoss::Quadratic(quadratic) => Some(quadratic),
                _ => None,
            });
            Quadratic::sum(&own.collect::<Vec<_>>(), self.size)
                .map_or(NodeLoss::None, NodeLoss::Quadratic)
        };
        Self {
            order: self.order.clone(),
            levels: self.levels.clone(),
            intercepts: self.intercepts.clone(),
            each: members.iter().map(loss).collect(),
            nodes: members.iter().map(|members| self.nodes[members[0]].clone()).collect(),
            reached: KeptReached::default(),
            curvatures: OnceLock::new(),
            ..*self
        }
    }

    /// How many nodes there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.each.len()
    }

    /// Whether there is no node.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.each.is_empty()
    }

    /// How many weights the row of a node has.
    #[must_use]
    pub fn size(&self) -> usize {
        self.size
    }

    /// Whether a node has rows.
    #[must_use]
    pub fn has_rows(&self, node: usize) -> bool {
        !matches!(self.each[node], NodeLoss::None)
    }

    /// The rows of weights to begin with: zero for most models.
    pub(super) fn start(&self) -> Vec<f64> {
        let row = |node: &Node| {
            let (columns, task) = (node.data.features().columns(), node.data.task());
            self.row_of_model(&parametric(node).start(columns, task))
        };
        self.nodes.iter().flat_map(row).collect()
    }

    /// Whether all losses are least squares.
    pub(super) fn is_quadratic(&self) -> bool {
        !self.each.iter().any(|loss| matches!(loss, NodeLoss::Convex(_)))
    }

    /// `∇²L` of every node, eight side by side; zero where a loss is not quadratic.
    pub(super) fn curvatures(&self) -> &Batch {
        let size = self.size;
        let make = || {
            Batch::new(self.len(), size, |first, triangles| {
                let own = triangles.chunks_exact_mut(triangle(size).max(1));
                for (loss, own) in self.each[first..].iter().zip(own) {
                    if let NodeLoss::Quadratic(quadratic) = loss {
                        quadratic.add_hessian(own, size);
                    }
                }
            })
        };
        self.curvatures.get_or_init(make)
    }

    /// The squares of all labels that quadratic losses are differences of.
    pub(super) fn squares(&self) -> f64 {
        let own =
            |loss: &NodeLoss| if let NodeLoss::Quadratic(own) = loss { own.constant } else { 0.0 };
        self.each.iter().map(own).sum()
    }

    /// Whether a weight of a row is an intercept.
    pub(super) fn is_intercept(&self, index: usize) -> bool {
        self.intercepts[index]
    }

    /// Why no minimum can be certified, if a loss is not convex.
    pub(super) fn not_convex(&self) -> Option<&'static str> {
        let convex = |loss: &NodeLoss| match loss {
            NodeLoss::Convex(convex) => convex.model().shape().convex,
            _ => true,
        };
        (!self.each.iter().all(convex))
            .then_some("a loss is not convex, so no bound on the gap exists")
    }

    /// The loss of a node.
    pub(super) fn value(&self, node: usize, w: &[f64]) -> f64 {
        match &self.each[node] {
            NodeLoss::None => 0.0,
            NodeLoss::Quadratic(quadratic) => quadratic.value(w),
            NodeLoss::Convex(convex) => convex.model().loss(convex.data(), &self.model_of_row(w)),
        }
    }

    /// Adds the gradient of a node's loss to a row.
    pub(super) fn add_gradient(&self, node: usize, out: &mut [f64], w: &[f64]) {
        match &self.each[node] {
            NodeLoss::None => {}
            NodeLoss::Quadratic(quadratic) => quadratic.add_gradient(out, w),
            NodeLoss::Convex(convex) => {
                let gradient = convex.model().gradient(convex.data(), &self.model_of_row(w));
                add_scaled(out, 1.0, &self.row_of_model(&gradient));
            }
        }
    }

    /// The second derivative of a node's loss; none where its model does not tell it.
    pub(super) fn hessian(&self, node: usize, w: &[f64]) -> Option<SecondDerivative> {
        match &self.each[node] {
            NodeLoss::None => {
                Some(SecondDerivative { diagonal: vec![0.0; self.size], lines: Vec::new() })
            }
            NodeLoss::Quadratic(quadratic) => Some(quadratic.hessian(self.size)),
            NodeLoss::Convex(convex) => {
                let own = convex.model().hessian(convex.data(), &self.model_of_row(w))?;
                let lines = own.lines.chunks_exact(self.size.max(1));
                Some(SecondDerivative {
                    diagonal: self.row_of_model(&own.diagonal),
                    lines: lines.flat_map(|line| self.row_of_model(line)).collect(),
                })
            }
        }
    }

    /// Adds a subgradient of a node's loss near a wanted one to a row; returns its excess.
    pub(super) fn add_subgradient(
        &self,
        node: usize,
        out: &mut [f64],
        w: &[f64],
        wanted: &[f64],
    ) -> f64 {
        let NodeLoss::Convex(convex) = &self.each[node] else {
            self.add_gradient(node, out, w);
            return 0.0;
        };
        let (w, wanted) = (self.model_of_row(w), self.model_of_row(wanted));
        let (slopes, excess) = convex.model().subgradient(convex.data(), &w, &wanted);
        add_scaled(out, 1.0, &self.row_of_model(&slopes));
        excess
    }

    /// A row's weights in the order of the model.
    pub(super) fn model_of_row(&self, w: &[f64]) -> Vec<f64> {
        let mut all = vec![0.0; w.len()];
        self.order.iter().zip(w).for_each(|(index, w)| all[*index] = *w);
        all
    }

    /// A model's weights in the order of a row.
    pub(super) fn row_of_model(&self, all: &[f64]) -> Vec<f64> {
        self.order.iter().map(|index| all[*index]).collect()
    }

    /// The hypotheses of all nodes with these rows of weights.
    ///
    /// Intercepts that are not coupled come from the node's own rows; a node without rows takes the mean
    /// of its neighbours', weighted by the edges, and zero if none can reach it.
    #[must_use]
    pub fn hypotheses(&self, network: &Network, weights: &[f64]) -> Vec<Box<dyn Hypothesis>> {
        let mut models: Vec<Option<Vec<f64>>> = (0..self.len())
            .map(|node| {
                let row = &weights[node * self.size..(node + 1) * self.size];
                (self.has_rows(node) || self.coupled == self.all()).then(|| self.model(node, row))
            })
            .collect();
        // Outwards from the nodes with rows, one ring of neighbours after the other.
        loop {
            let ring: Vec<(usize, Vec<f64>)> = (0..self.len())
                .filter(|&node| models[node].is_none())
                .filter_map(|node| Some((node, self.mean_levels(network, node, &models)?)))
                .collect();
            if ring.is_empty() {
                break;
            }
            for (node, levels) in ring {
                let row = &weights[node * self.size..(node + 1) * self.size];
                models[node] = Some(self.with_levels(row, &levels));
            }
        }
        let hypothesis = |(node, weights): (&Node, Option<Vec<f64>>)| {
            let weights = weights.unwrap_or_else(|| vec![0.0; self.all()]);
            let names = node.data.features().names();
            parametric(node).hypothesis(names, node.data.task(), &weights)
        };
        self.nodes.iter().zip(models).map(hypothesis).collect()
    }

    /// How many weights a model has, coupled or not.
    fn all(&self) -> usize {
        self.coupled + self.levels.len()
    }

    /// All weights of a model with a node's row.
    fn model(&self, node: usize, row: &[f64]) -> Vec<f64> {
        match &self.each[node] {
            NodeLoss::Quadratic(Quadratic { centre: Some((x, y)), .. }) => {
                self.with_levels(row, &[y - dot(x, row)])
            }
            _ => self.model_of_row(row),
        }
    }

    fn with_levels(&self, row: &[f64], levels: &[f64]) -> Vec<f64> {
        let mut all = vec![0.0; self.all()];
        self.order.iter().zip(row).for_each(|(index, w)| all[*index] = *w);
        self.levels.iter().zip(levels).for_each(|(index, level)| all[*index] = *level);
        all
    }

    fn mean_levels(
        &self,
        network: &Network,
        node: usize,
        models: &[Option<Vec<f64>>],
    ) -> Option<Vec<f64>> {
        let mut total = 0.0;
        let mut levels = vec![0.0; self.levels.len()];
        for &(neighbour, weight) in network.neighbours(node) {
            if let Some(model) = &models[neighbour] {
                total += weight;
                levels.iter_mut().zip(&self.levels).for_each(|(l, at)| *l += weight * model[*at]);
            }
        }
        scale(&mut levels, 1.0 / total);
        (total > 0.0).then_some(levels)
    }
}

/// How many weights all models have, and which of them are intercepts.
fn shape(nodes: &[Node], columns: usize, task: Task) -> Result<(usize, Vec<usize>)> {
    let mut shape = None;
    for node in nodes {
        let model = node.model.as_parametric().ok_or_else(|| Error::NotParametric {
            node: node.id,
            model: kind_of(node.model.as_ref()),
        })?;
        let own = (model.size(columns, task), model.intercepts(columns, task));
        let first = shape.get_or_insert_with(|| own.clone());
        if *first != own {
            let (own, other) = (own.0, first.0);
            return Err(Error::MixedSizes { node: node.id, own, neighbour: nodes[0].id, other });
        }
    }
    shape.ok_or(Error::NoData)
}

fn loss(node: &Node, profile: bool) -> Result<NodeLoss> {
    if node.data.total_weight() == 0.0 {
        return Ok(NodeLoss::None);
    }
    match node.model.as_linear() {
        Some(model) => Ok(NodeLoss::Quadratic(Quadratic::new(model, &node.data, profile)?)),
        None => Ok(NodeLoss::Convex(Convex(node.clone()))),
    }
}
