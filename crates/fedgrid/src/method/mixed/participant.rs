//! A node that takes part: it does what the orders say, and passes orders and sums on.

use std::sync::Arc;

use super::{
    MOST_FRONT, MixedKeys, Plan,
    elimination::{Elimination, OwnParts, Widths},
    lead::{Common, Lead},
    order::{Order, Sizes},
    sums::{levels, spreads},
    wire::MixedMessage,
};
use crate::{
    algebra::add_scaled,
    data::{Dataset, Task},
    error::{Error, Result},
    method::{Participant, Report},
    mixed::{
        Chebyshev, ColumnSums, Columns, Design, Known, Means, NodeBlock, NodeMoments, NodePart,
        NodeSeries, NodeSystem, OwnPrecision, Pooling, Probes, Question, slopes, weights,
    },
    model::{Hypothesis, LinearHypothesis},
    network::{NodeId, View},
    random::{Purpose, Stream},
};

/// Probes with drawn signs: traces have a standard error of an eighth of what edges add to one entry,
/// over the square root of the number of entries.
pub(super) const DRAWN_PROBES: usize = 64;

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
    /// What eliminates the deviations of all nodes; none where a series takes its place.
    pub(super) elimination: Option<Elimination>,
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
    known: Known,
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
        let columns = node.data.features().columns() + 1;
        let is_exact = plan.largest_front * columns <= MOST_FRONT;
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
            elimination: is_exact.then(|| Elimination::new(&plan.fronts, node.id)),
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
        let Question { rho, factor, .. } = self.question.as_ref()?;
        let variances = factor.iter().map(|t| noise * t * t).collect();
        Some(Strengths { rho: *rho, noise: *noise, variances, mean: mean.to_vec() })
    }

    /// The nodes of the largest front.
    pub(super) fn largest_front(&self) -> usize {
        self.plan.largest_front
    }

    fn sizes(&self) -> Sizes {
        let columns = self.basis.as_ref().map(|basis| &basis.columns);
        Sizes {
            features: self.data.features().columns(),
            fixed: columns.map_or(0, |columns| columns.fixed.len()),
            random: columns.map_or(0, |columns| columns.random.len()),
        }
    }

    /// How wide the parts of the elimination are.
    fn widths(&self) -> Widths {
        let columns = self.basis.as_ref().map(|basis| &basis.columns);
        let Sizes { fixed, random, .. } = self.sizes();
        Widths { own: random, coupled: columns.map_or(0, Columns::coupled), tail: fixed + 1 }
    }

    fn common(&self) -> Common {
        let known = self.basis.as_ref().map_or_else(Known::default, |basis| basis.known.clone());
        let (sizes, nodes) = (self.sizes(), self.plan.nodes);
        Common { sizes, known, nodes, is_exact: self.elimination.is_some() }
    }

    fn own_precision(&self) -> OwnPrecision {
        OwnPrecision::new(&self.plan.precision, self.id)
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
                    self.condense(self.plan.tree.height)?;
                    (Phase::Up, self.plan.tree.height)
                }
                Phase::Up | Phase::Done => {
                    self.order.clear();
                    let common = self.common();
                    if let Some(lead) = &mut self.lead {
                        self.order = lead.next(&order, &self.sums, &common).to_numbers();
                        self.expand()?;
                    }
                    (Phase::Down, self.plan.tree.height)
                }
            };
        }
        Ok(())
    }

    /// Eliminates what there is to, once all children have told: with so many rounds of the phase left.
    fn condense(&mut self, left: usize) -> Result<()> {
        let is_turn = left == self.plan.tree.depths[self.id];
        if is_turn && matches!(self.order()?, Order::Look(_)) {
            self.sums = self.eliminate()?;
        }
        Ok(())
    }

    /// Eliminates, and says what is left to the parent.
    fn eliminate(&mut self) -> Result<Vec<f64>> {
        let (own, widths) = (self.own_parts()?, self.widths());
        let elimination = self.elimination.as_mut().ok_or_else(|| missing("no elimination"))?;
        Ok(elimination.condense(&own, widths))
    }

    /// The own block of the system at the question, and the own part of the equations of the mean coefficients.
    fn own_parts(&self) -> Result<OwnParts> {
        let asked = self.basis.as_ref().zip(self.question.as_ref());
        let (basis, question) = asked.ok_or_else(|| missing("no question before it"))?;
        let own = self.own_precision();
        let NodeBlock { diagonal, sides } =
            NodeBlock::new(&basis.moments, &basis.columns, own, question);
        let corner = basis.moments.corner(&basis.columns.fixed);
        Ok(OwnParts { diagonal, sides, corner, coupling: own.coupling(question.rho) })
    }

    /// Finds the own part of the solution, if the order is one that tells it.
    fn expand(&mut self) -> Result<()> {
        let (values, covariance) = match self.order()? {
            Order::Slopes(Means { values, covariance }) => (values, covariance),
            Order::Finish { mean, .. } => (mean.clone(), vec![0.0; mean.len() * mean.len()]),
            _ => return Ok(()),
        };
        let widths = self.widths();
        let Some(elimination) = &mut self.elimination else { return Ok(()) };
        // The right side is an unknown of minus one that has no error.
        let (p, solution) = (values.len(), [&values[..], &[-1.0]].concat());
        let mut inverse = vec![0.0; widths.tail * widths.tail];
        for (row, from) in covariance.chunks_exact(p).enumerate() {
            inverse[row * widths.tail..row * widths.tail + p].copy_from_slice(from);
        }
        elimination.expand((&inverse, &solution), widths)
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
            Order::Look(question) => {
                self.question = Some(question);
                self.elimination.as_mut().ok_or_else(|| missing("no elimination"))?.clear();
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
        let asked = self.basis.as_ref().zip(self.question.as_ref());
        if let Some((basis, question)) = asked.filter(|_| self.elimination.is_none()) {
            let own = self.own_precision();
            let system = NodeSystem::new(&basis.moments, &basis.columns, own, question);
            self.system = Some(system.ok_or_else(|| missing("no finite numbers"))?);
        }
        if let (Some((_, mean)), Some((basis, question))) = (self.ending.split_first(), asked) {
            let covariance = vec![0.0; mean.len() * mean.len()];
            let part = self.part(&Means { values: mean.to_vec(), covariance })?;
            let own = weights(&basis.columns, question, mean, &part.deviations);
            let mut slopes = basis.design.to_raw(&own);
            let intercept = slopes.pop().unwrap_or_default();
            let names = self.data.features().names().clone();
            self.hypothesis = Some(Arc::new(LinearHypothesis { names, slopes, intercept }));
        }
        Ok(())
    }

    /// Makes what the elimination has come to, after a restart.
    pub(super) fn recall(&mut self) -> Result<()> {
        let is_complete = self.elimination.as_ref().is_some_and(Elimination::is_complete);
        if is_complete && self.question.is_some() {
            self.eliminate()?;
        }
        if self.order.is_empty() { Ok(()) } else { self.expand() }
    }

    /// What is known of the own deviations at some mean coefficients.
    fn part(&self, means: &Means) -> Result<NodePart> {
        if let Some(elimination) = &self.elimination {
            return elimination.own_part(self.own_precision().coupling(1.0), self.widths());
        }
        let (system, basis) = self.known()?;
        Ok(system.part((&self.series, &basis.probes), means))
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
        let MixedKeys { shared, free, variances, .. } = &self.plan.keys;
        let (shared, free, variances) = (shared.clone(), free.clone(), variances.clone());
        let pooling = Pooling { shared, free, variances };
        let random = design.random_columns(&pooling, self.data.features().names())?;
        let known = Known { variances: random.variances, free: random.free };
        let (moments, probes) = (design.moments(&self.data), self.probes(random.places.len()));
        let (count, fixed) = (design.columns(), design.fixed().to_vec());
        let columns = Columns { count, fixed, random: random.places, free: random.free };
        Ok(Basis { columns, known, design, moments, probes })
    }

    /// The probes for so many coefficients of the node, where a series needs them.
    fn probes(&self, size: usize) -> Probes {
        let count = if self.elimination.is_some() { 0 } else { DRAWN_PROBES };
        let mut stream = Stream::new(self.plan.keys.seed, self.id, 0, Purpose::Traces);
        let mut sign = || if stream.index(2) == 0 { -1.0 } else { 1.0 };
        let values = (0..size * count).map(|_| sign()).collect();
        Probes { values, count, weight: 1.0 / DRAWN_PROBES as f64 }
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
            // What is left is known once the children have told.
            Order::Look(_) | Order::Finish { .. } | Order::Fail(_) => Vec::new(),
        })
    }

    fn slopes(&self, means: &Means) -> Result<Vec<f64>> {
        let asked = self.basis.as_ref().zip(self.question.as_ref());
        let (basis, question) = asked.ok_or_else(|| missing("no question before it"))?;
        let at = (&basis.columns, self.own_precision(), question);
        Ok(slopes(&basis.moments, at, (&means.values, &self.part(means)?)))
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

    /// Takes what has come from the children: adds sums, or the largest of bounds.
    fn gather(&mut self, inbox: &[(NodeId, MixedMessage)]) -> Result<()> {
        let order = self.order()?;
        let (is_bound, widths) = (matches!(order, Order::Reach(_)), self.widths());
        let of_child = |(from, message): &&(NodeId, MixedMessage)| {
            self.plan.tree.parents[*from] == Some(self.id) && !message.tree.is_empty()
        };
        for (from, message) in inbox.iter().filter(of_child) {
            if let (Order::Look(_), Some(elimination)) = (&order, &mut self.elimination) {
                elimination.hear(*from, &message.tree, widths)?;
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

    /// What a child is told beside an order: its part of a solution.
    fn part_of(&self, child: NodeId) -> Vec<f64> {
        let tells = matches!(self.order(), Ok(Order::Slopes(_) | Order::Finish { .. }));
        let elimination = self.elimination.as_ref().filter(|_| tells);
        elimination.map_or_else(Vec::new, |all| all.part_of(child, self.widths()))
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
                let order: Arc<[f64]> = Arc::from(&self.order[..]);
                let one = |child: NodeId| {
                    let vectors = self.part_of(child).into();
                    (child, MixedMessage { vectors, tree: order.clone() })
                };
                let all = self.neighbours.iter().map(|(other, _)| *other);
                all.filter(|other| tree.parents[*other] == Some(self.id)).map(one).collect()
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
                    if let Some(elimination) = &mut self.elimination {
                        elimination.told = message.vectors.to_vec();
                    }
                    self.expand()?;
                }
            }
            Phase::Work => self.work(inbox)?,
            Phase::Up => {
                self.gather(inbox)?;
                self.condense(self.left - 1)?;
            }
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

fn missing(reason: &'static str) -> Error {
    Error::Malformed { what: "what a node was told has", reason }
}
