//! A node that takes part: it does what the orders say, and passes orders and sums on.

use std::sync::Arc;

use super::{
    Plan,
    lead::Lead,
    order::{Order, Sizes},
    wire::MixedMessage,
};
use crate::{
    algebra::{add_outer, add_scaled},
    data::{Dataset, Task},
    error::{Error, Result},
    method::{Participant, Report},
    mixed::{
        Chebyshev, ColumnSums, Columns, Design, Means, NodeMoments, NodeSeries, NodeSystem,
        OwnPrecision, Pooling, Probes, Question, add_ranges,
    },
    model::{Hypothesis, LinearHypothesis},
    network::{NodeId, View},
    random::{Purpose, Stream},
};

/// Probes with drawn signs: traces have a standard error of an eighth of what edges add to one entry,
/// over the square root of the number of entries.
const DRAWN_PROBES: usize = 64;
/// Up to so many coefficients of all nodes every one has a probe, and traces are exact: messages are then at
/// most twice as long as with drawn probes.
pub(super) const MOST_UNIT_PROBES: usize = 2 * DRAWN_PROBES;

/// Where a node is between two orders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// The order travels down.
    Down,
    /// Neighbours work.
    Work,
    /// Sums travel up.
    Up,
    /// The last order was obeyed.
    Done,
}

impl Phase {
    pub(super) const ALL: [Self; 4] = [Self::Down, Self::Work, Self::Up, Self::Done];
}

/// A number of every node that neighbours pass around to bound what edges add.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Scalar {
    pub(super) value: f64,
    /// What the neighbours' numbers add, over the own.
    pub(super) ratio: f64,
}

/// What was estimated, on centred and scaled columns and labels.
#[derive(Debug, Clone, PartialEq)]
pub struct Strengths {
    /// ρ.
    pub rho: f64,
    /// σ².
    pub noise: f64,
    /// `τ_k` of each coefficient that differs from node to node.
    pub variances: Vec<f64>,
    /// β.
    pub mean: Vec<f64>,
}

/// A node that takes part in the estimation of a mixed model.
#[derive(Debug)]
pub struct MixedParticipant {
    plan: Arc<Plan>,
    id: NodeId,
    pub(super) data: Dataset,
    /// The neighbours with the weights of their edges, in order of their ids.
    pub(super) neighbours: Vec<(NodeId, f64)>,
    pub(super) phase: Phase,
    /// Rounds that are left of the phase.
    pub(super) left: usize,
    /// The order as it travels; empty while it is not known.
    pub(super) order: Vec<f64>,
    /// The own sums and those of the children that have come.
    pub(super) sums: Vec<f64>,
    /// The means of the label and of the features, once they are known.
    pub(super) means: Vec<f64>,
    /// The sum of weights, of squares of labels, and of products of features.
    pub(super) scales: Vec<f64>,
    /// For each feature whether its slopes may differ.
    pub(super) deviating: Vec<bool>,
    pub(super) question: Option<Question>,
    pub(super) radius: f64,
    pub(super) scalar: Scalar,
    pub(super) series: NodeSeries,
    /// σ² and β, at the end.
    pub(super) ending: Vec<f64>,
    /// What leads; at one node only.
    pub(super) lead: Option<Lead>,
    /// What follows from the sums of all rows.
    basis: Option<Basis>,
    /// What follows from the question.
    system: Option<NodeSystem>,
    hypothesis: Option<Arc<dyn Hypothesis>>,
}

/// The own rows as columns, and the own probes.
#[derive(Debug)]
struct Basis {
    design: Design,
    columns: Columns,
    moments: NodeMoments,
    probes: Probes,
}

impl MixedParticipant {
    pub(super) fn new(plan: &Arc<Plan>, view: View) -> Result<Self> {
        let View { node, neighbours } = view;
        if node.data.task() != Task::Regression || node.model.is_of_counts() {
            let (what, needs) = ("a mixed model in rounds of messages", "numbers to predict");
            return Err(Error::Unsupported { what, needs });
        }
        let keys = &plan.keys;
        let leads = plan.tree.parents[node.id].is_none();
        // Every row counts once, whatever other methods weigh it by.
        let rows = node.data.rows() as f64;
        let mut participant = Self {
            id: node.id,
            data: node.data.with_total_weight(rows),
            neighbours: neighbours.iter().map(|other| (other.id, other.weight)).collect(),
            phase: Phase::Down,
            left: plan.tree.height,
            order: if leads { Order::Levels.to_numbers() } else { Vec::new() },
            sums: Vec::new(),
            means: Vec::new(),
            scales: Vec::new(),
            deviating: Vec::new(),
            question: None,
            radius: 0.0,
            scalar: Scalar::default(),
            series: NodeSeries::default(),
            ending: Vec::new(),
            lead: leads.then(|| Lead::new(&plan.precision, keys.likelihood, keys.rho)),
            basis: None,
            system: None,
            hypothesis: None,
            plan: plan.clone(),
        };
        participant.go_on()?;
        Ok(participant)
    }

    /// What was estimated, at the end.
    #[must_use]
    pub fn strengths(&self) -> Option<Strengths> {
        let (noise, mean) = self.ending.split_first()?;
        let Question { rho, factor } = self.question.as_ref()?;
        let variances = factor.iter().map(|t| noise * t * t).collect();
        Some(Strengths { rho: *rho, noise: *noise, variances, mean: mean.to_vec() })
    }

    fn sizes(&self) -> Sizes {
        let columns = self.basis.as_ref().map(|basis| &basis.columns);
        Sizes {
            features: self.data.features().columns(),
            fixed: columns.map_or(0, |columns| columns.fixed.len()),
            random: columns.map_or(0, |columns| columns.random.len()),
        }
    }

    fn order(&self) -> Result<Order> {
        Order::from_numbers(&self.order, self.sizes())
    }

    fn chebyshev(&self) -> Chebyshev {
        Chebyshev::new(self.radius)
    }

    /// Which end of a phase that lasts as long as the tree is high it is a node's turn.
    fn is_turn(&self, depth: usize) -> bool {
        self.plan.tree.height - self.left == depth
    }

    /// Enters the next phases, as far as they need no further message.
    fn go_on(&mut self) -> Result<()> {
        while self.left == 0 && self.phase != Phase::Done {
            let order = self.order()?;
            (self.phase, self.left) = match self.phase {
                Phase::Down => {
                    let rounds = order.rounds();
                    self.begin(order)?;
                    (if self.ending.is_empty() { Phase::Work } else { Phase::Done }, rounds)
                }
                Phase::Work => {
                    self.sums = self.own_sums(&order)?;
                    (Phase::Up, self.plan.tree.height)
                }
                Phase::Up | Phase::Done => {
                    self.order.clear();
                    let (sizes, is_noisy) = (self.sizes(), self.is_noisy());
                    if let Some(lead) = &mut self.lead {
                        let next = lead.next(&order, &self.sums, (sizes, is_noisy));
                        self.order = next.to_numbers();
                    }
                    (Phase::Down, self.plan.tree.height)
                }
            };
        }
        Ok(())
    }

    fn is_noisy(&self) -> bool {
        self.basis.as_ref().is_some_and(|basis| basis.probes.weight < 1.0)
    }

    /// Takes note of an order that all have got.
    fn begin(&mut self, order: Order) -> Result<()> {
        match order {
            Order::Spreads { means, label_mean } => {
                self.means = [&[label_mean], &means[..]].concat();
            }
            Order::Scales { weight, products, label_squares, deviating } => {
                self.scales = [&[weight, label_squares], &products[..]].concat();
                self.deviating = deviating;
                self.remember()?;
            }
            Order::Reach(question) => {
                self.ask(question)?;
                self.scalar = Scalar { value: 1.0, ratio: 0.0 };
            }
            Order::Series { question, radius, .. } => {
                self.ask(question)?;
                self.radius = radius;
                let (system, basis) = self.known()?;
                self.series = system.series(&basis.probes);
            }
            Order::Finish { noise, mean } => {
                self.ending = [&[noise], &mean[..]].concat();
                self.remember()?;
            }
            Order::Fail(failure) => return Err(failure.error()),
            Order::Levels | Order::Slopes(_) => {}
        }
        Ok(())
    }

    fn ask(&mut self, question: Question) -> Result<()> {
        // The bound and the series of a question have the same system.
        if self.question.as_ref() != Some(&question) || self.system.is_none() {
            self.question = Some(question);
            self.remember()?;
        }
        Ok(())
    }

    /// Makes what follows from what the node was told.
    pub(super) fn remember(&mut self) -> Result<()> {
        if self.basis.is_none() && !self.scales.is_empty() {
            self.basis = Some(self.columns()?);
        }
        if let (Some(basis), Some(question)) = (&self.basis, &self.question) {
            let own = OwnPrecision::new(&self.plan.precision, self.id);
            let system = NodeSystem::new(&basis.moments, &basis.columns, own, question);
            self.system = Some(system.ok_or_else(|| missing("no finite numbers"))?);
        }
        if let Some((_, mean)) = self.ending.split_first() {
            let (system, basis) = self.known()?;
            let own = system.coefficients((&self.series, &basis.probes), mean);
            let mut slopes = basis.design.to_raw(&own);
            let intercept = slopes.pop().unwrap_or_default();
            let names = self.data.features().names().clone();
            self.hypothesis = Some(Arc::new(LinearHypothesis { names, slopes, intercept }));
        }
        Ok(())
    }

    fn known(&self) -> Result<(&NodeSystem, &Basis)> {
        self.system
            .as_ref()
            .zip(self.basis.as_ref())
            .ok_or_else(|| missing("no question before it"))
    }

    /// The columns, from sums over the rows of all nodes.
    fn columns(&self) -> Result<Basis> {
        let sums = ColumnSums {
            weight: self.scales[0],
            label_squares: self.scales[1],
            products: self.scales[2..].to_vec(),
            deviating: self.deviating.clone(),
            label_mean: self.means[0],
            means: self.means[1..].to_vec(),
        };
        let design = Design::of_sums(&sums);
        let pooling = Pooling { shared: self.plan.keys.shared.clone(), ..Pooling::default() };
        let random = design.random_columns(&pooling, self.data.features().names())?.places;
        let moments = design.moments(&self.data);
        let probes = self.probes(random.len());
        let (count, fixed) = (design.columns(), design.fixed().to_vec());
        Ok(Basis { columns: Columns { count, fixed, random }, design, moments, probes })
    }

    /// The probes for so many coefficients of the node.
    fn probes(&self, size: usize) -> Probes {
        let all = self.plan.nodes * size;
        if all > MOST_UNIT_PROBES {
            let mut stream = Stream::new(self.plan.keys.seed, self.id, 0, Purpose::Traces);
            let mut sign = || if stream.index(2) == 0 { -1.0 } else { 1.0 };
            let values = (0..size * DRAWN_PROBES).map(|_| sign()).collect();
            return Probes { values, count: DRAWN_PROBES, weight: 1.0 / DRAWN_PROBES as f64 };
        }
        let mut values = vec![0.0; size * all];
        (0..size).for_each(|row| values[row * all + self.id * size + row] = 1.0);
        Probes { values, count: all, weight: 1.0 }
    }

    /// The own part of what an order asks for.
    fn own_sums(&self, order: &Order) -> Result<Vec<f64>> {
        Ok(match order {
            Order::Levels => levels(&self.data),
            Order::Spreads { means, label_mean } => spreads(&self.data, means, *label_mean),
            Order::Scales { .. } => {
                let basis = self.basis.as_ref().ok_or_else(|| missing("no columns before it"))?;
                let d = basis.columns.count;
                let square = |&column: &usize| basis.moments.gram_entry(column * d + column);
                basis.columns.random.iter().map(square).collect()
            }
            Order::Reach(_) => vec![self.scalar.ratio],
            Order::Series { .. } => {
                let (system, basis) = self.known()?;
                let series = (&self.series, &self.chebyshev(), &basis.probes);
                system.elimination(&basis.moments, series)
            }
            Order::Slopes(means) => self.slopes(means)?,
            Order::Finish { .. } | Order::Fail(_) => Vec::new(),
        })
    }

    fn slopes(&self, means: &Means) -> Result<Vec<f64>> {
        let (system, basis) = self.known()?;
        let what = (means, self.plan.keys.likelihood);
        Ok(system.slopes(&basis.moments, (&self.series, &basis.probes), what))
    }

    /// What neighbours tell each other in this round of an order's work.
    fn vectors(&self) -> Vec<f64> {
        match (self.order(), self.known()) {
            (Ok(Order::Reach(_)), _) => vec![self.scalar.value],
            (Ok(Order::Series { .. }), Ok((system, _))) => system.told(&self.series),
            _ => Vec::new(),
        }
    }

    /// A round of an order's work.
    fn work(&mut self, inbox: &[(NodeId, MixedMessage)]) -> Result<()> {
        let order = self.order()?;
        let size =
            if matches!(order, Order::Series { .. }) { self.series.current.len() } else { 1 };
        let mut sum = vec![0.0; size];
        for (from, message) in inbox {
            let Ok(place) = self.neighbours.binary_search_by_key(from, |(id, _)| *id) else {
                continue;
            };
            if message.vectors.len() != size {
                return Err(missing("another number of vectors"));
            }
            add_scaled(&mut sum, self.neighbours[place].1, &message.vectors);
        }
        if matches!(order, Order::Series { .. }) {
            let chebyshev = self.chebyshev();
            let (Some(system), Some(basis)) = (&self.system, &self.basis) else {
                return Err(missing("no question before it"));
            };
            system.step(&mut self.series, (&chebyshev, &basis.probes), &sum);
        } else {
            let reach = self.known()?.0.reach();
            // For any positive numbers x the largest (Bx)_i/x_i bounds all eigenvalues of B. [Collatz]
            self.scalar.ratio = reach * sum[0] / self.scalar.value;
            self.scalar.value += reach * sum[0];
        }
        Ok(())
    }

    /// Adds what has come from the children: sums, or the largest of bounds.
    fn gather(&mut self, inbox: &[(NodeId, MixedMessage)]) -> Result<()> {
        let is_bound = matches!(self.order()?, Order::Reach(_));
        for (from, message) in inbox {
            let is_child = self.plan.tree.parents[*from] == Some(self.id);
            if !is_child || message.tree.is_empty() {
                continue;
            }
            if message.tree.len() != self.sums.len() {
                return Err(missing("another number of sums"));
            }
            for (own, other) in self.sums.iter_mut().zip(message.tree.iter()) {
                *own = if is_bound { own.max(*other) } else { *own + other };
            }
        }
        Ok(())
    }
}

impl Participant for MixedParticipant {
    type Message = MixedMessage;

    fn send(&mut self) -> Vec<(NodeId, MixedMessage)> {
        let depth = self.plan.tree.depths[self.id];
        let none: Arc<[f64]> = Arc::from([]);
        let tree = &self.plan.tree;
        let to = |tree: &Arc<[f64]>, is_for: &dyn Fn(NodeId) -> bool| {
            let message = MixedMessage { vectors: none.clone(), tree: tree.clone() };
            let chosen = self.neighbours.iter().filter(|(other, _)| is_for(*other));
            chosen.map(|(other, _)| (*other, message.clone())).collect()
        };
        match self.phase {
            Phase::Down if self.is_turn(depth) => {
                to(&Arc::from(&self.order[..]), &|other| tree.parents[other] == Some(self.id))
            }
            // The deepest begin.
            Phase::Up if self.is_turn(tree.height - depth) => {
                to(&Arc::from(&self.sums[..]), &|other| tree.parents[self.id] == Some(other))
            }
            Phase::Work => {
                let message = MixedMessage { vectors: self.vectors().into(), tree: none.clone() };
                self.neighbours.iter().map(|(other, _)| (*other, message.clone())).collect()
            }
            Phase::Down | Phase::Up | Phase::Done => Vec::new(),
        }
    }

    fn receive(&mut self, inbox: &[(NodeId, MixedMessage)]) -> Result<()> {
        match self.phase {
            Phase::Down => {
                let parent = self.plan.tree.parents[self.id];
                let from_parent = inbox.iter().find(|(from, _)| Some(*from) == parent);
                if let Some((_, message)) = from_parent.filter(|(_, told)| !told.tree.is_empty()) {
                    self.order = message.tree.to_vec();
                }
            }
            Phase::Work => self.work(inbox)?,
            Phase::Up => self.gather(inbox)?,
            Phase::Done => return Ok(()),
        }
        self.left -= 1;
        self.go_on()
    }

    fn hypothesis(&self) -> Option<&Arc<dyn Hypothesis>> {
        self.hypothesis.as_ref()
    }

    fn strength(&self) -> Option<f64> {
        self.strengths().map(|found| found.rho)
    }

    fn report(&self) -> Report {
        // All are done in the same round: until then nothing has come to rest.
        let change = if self.phase == Phase::Done { 0.0 } else { 1.0 };
        Report { change, size: 1.0, ..Report::default() }
    }
}

/// Sums of weights, of rows that count, of nodes that have any, of labels and of features.
fn levels(data: &Dataset) -> Vec<f64> {
    let mut sums = vec![0.0; 4 + data.features().columns()];
    for ((row, label), weight) in rows(data) {
        sums[0] += weight;
        sums[1] += f64::from(weight > 0.0);
        sums[3] += weight * label;
        add_scaled(&mut sums[4..], weight, row);
    }
    sums[2] = f64::from(sums[1] > 0.0);
    sums
}

/// Sums of squares of labels and of products of features about their means, and the range of each feature.
fn spreads(data: &Dataset, means: &[f64], label_mean: f64) -> Vec<f64> {
    let products = 1 + means.len() * means.len();
    let mut sums = vec![0.0; products + means.len()];
    add_ranges(&mut sums[products..], data.features());
    for ((row, label), weight) in rows(data) {
        sums[0] += weight * (label - label_mean).powi(2);
        let centred: Vec<f64> = row.iter().zip(means).map(|(x, mean)| x - mean).collect();
        add_outer(&mut sums[1..products], weight, &centred);
    }
    sums
}

fn rows(data: &Dataset) -> impl Iterator<Item = ((&[f64], f64), f64)> {
    let labels = data.labels().as_slice().iter().copied();
    data.features().iter().zip(labels).zip(data.weights().iter().copied())
}

fn missing(reason: &'static str) -> Error {
    Error::Malformed { what: "what a node was told has", reason }
}
