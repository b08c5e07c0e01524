//! A node that takes part: it does what the orders say, and passes orders and sums on.

use std::sync::Arc;

use super::{
    FrontSizes, Plan,
    elimination::{Elimination, Widths},
    lead::{Common, Lead},
    modes::Modes,
    order::{Order, Sizes},
    wire::MixedMessage,
};
use crate::{
    data::{Dataset, Task},
    error::{Error, Result},
    method::{Participant, Report},
    mixed::{
        Chebyshev, Columns, Design, Family, Known, NodeMoments, NodeRows, NodeSeries, NodeSystem,
        OwnPrecision, Probes, Question, mean_places,
    },
    model::Hypothesis,
    network::{NodeId, View},
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
    pub(super) plan: Arc<Plan>,
    pub(super) id: NodeId,
    /// What labels are, if they are no numbers.
    pub(super) family: Option<Family>,
    /// The most coefficients of a node.
    most_columns: usize,
    pub(super) modes: Modes,
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
    pub(super) basis: Option<Basis>,
    /// What follows from the question.
    pub(super) system: Option<NodeSystem>,
    pub(super) hypothesis: Option<Arc<dyn Hypothesis>>,
}

/// The own rows as columns, and the own probes.
#[derive(Debug)]
pub(super) struct Basis {
    pub(super) design: Design,
    pub(super) columns: Columns,
    pub(super) known: Known,
    pub(super) moments: NodeMoments,
    /// The rows, if labels are classes or counts.
    pub(super) others: Option<NodeRows>,
    pub(super) probes: Probes,
}

impl MixedParticipant {
    pub(super) fn new(plan: &Arc<Plan>, view: View) -> Result<Self> {
        let View { node, neighbours } = view;
        let family = match node.data.task() {
            Task::Classification { classes } => Some(Family::Classes(classes)),
            Task::Regression if node.model.is_of_counts() => Some(Family::Counts),
            Task::Regression => None,
        };
        let keys = &plan.keys;
        let leads = plan.tree.parents[node.id].is_none();
        let most_columns = family.map_or(1, Family::outputs) * (node.data.features().columns() + 1);
        let is_exact = plan.front_sizes.are_eliminated(most_columns);
        if family.is_some() && !is_exact {
            return Err(Error::Unsupported {
                what: "a mixed model of classes or counts in rounds of messages",
                needs: "fewer features or a sparser network: fronts have at most 1024 coefficients and leave at most 320",
            });
        }
        // Every row counts once, or as often as it stands for, whatever other methods weigh it by.
        let rows = node.data.row_count();
        let mut participant = Self {
            id: node.id,
            family,
            most_columns,
            modes: Modes::default(),
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

    /// The most coefficients of a node.
    pub(super) fn most_columns(&self) -> usize {
        self.most_columns
    }

    pub(super) fn front_sizes(&self) -> &FrontSizes {
        &self.plan.front_sizes
    }

    pub(super) fn sizes(&self) -> Sizes {
        let columns = self.basis.as_ref().map(|basis| &basis.columns);
        let fixed = columns.map_or(0, |columns| columns.fixed.len());
        Sizes {
            features: self.data.features().columns(),
            fixed,
            random: columns.map_or(0, |columns| columns.random.len()),
            means: if self.family.is_some() { fixed } else { 0 },
        }
    }

    /// How wide the parts of the elimination are.
    pub(super) fn widths(&self) -> Widths {
        let columns = self.basis.as_ref().map(|basis| &basis.columns);
        let Sizes { fixed, random, means, .. } = self.sizes();
        // Mean coefficients that are sought are none of the unknowns.
        let tail = fixed - means + 1;
        Widths { own: random, coupled: columns.map_or(0, Columns::coupled), tail }
    }

    pub(super) fn common(&self) -> Common {
        let known = self.basis.as_ref().map_or_else(Known::default, |basis| basis.known.clone());
        let (sizes, nodes) = (self.sizes(), self.plan.nodes);
        let of_others = self.basis.as_ref().filter(|_| self.family.is_some());
        let columns = of_others.map(|basis| basis.columns.clone());
        let mut places = self.basis.as_ref().map_or_else(Vec::new, |basis| {
            mean_places(&basis.columns.random, &basis.columns.fixed)
        });
        places.truncate(self.widths().coupled);
        let is_exact = self.elimination.is_some();
        let family = self.family;
        Common { sizes, known, nodes, mean_places: places, is_exact, family, columns }
    }

    pub(super) fn own_precision(&self) -> OwnPrecision {
        OwnPrecision::new(&self.plan.precision, self.id)
    }

    pub(super) fn order(&self) -> Result<Order> {
        Order::from_numbers(&self.order, self.sizes())
    }

    pub(super) fn chebyshev(&self) -> Chebyshev {
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
            Order::Start { question, is_fresh } => {
                self.question = Some(question);
                let q = self.widths().own;
                let all = self.elimination.as_mut().ok_or_else(|| missing("no elimination"))?;
                all.clear();
                self.modes.start(all.nodes() * q, is_fresh);
            }
            Order::Move { length, is_again } => {
                let widths = self.widths();
                let all = self.elimination.as_mut().ok_or_else(|| missing("no elimination"))?;
                let step = if is_again { None } else { Some(all.solution(widths)?) };
                self.modes.go(length, step);
                all.clear();
            }
            Order::Turn => {
                let (widths, per_weight) = (self.widths(), self.own_precision().coupling(1.0));
                let all = self.elimination.as_mut().ok_or_else(|| missing("no elimination"))?;
                let part = all.own_part(per_weight, widths)?;
                self.modes.block = [&part.block[..], &[part.along_trace]].concat();
                self.modes.is_turned = true;
                all.clear();
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
            Order::Levels | Order::Slopes(_) | Order::Total(_) | Order::Bend | Order::Centre => {}
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

pub(super) fn missing(reason: &'static str) -> Error {
    Error::Malformed { what: "what a node was told has", reason }
}
