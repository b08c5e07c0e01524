//! The methods that run between sites, and how much they send.

use std::{collections::BTreeMap, sync::Arc};

use super::Contender;
use crate::{
    compare::{
        PathPoint, Study,
        path_at_sites::PathAtSites,
        strength::{Grid, PULL_EXPONENTS, Units},
        tuning::MOST_DECADES,
    },
    data::{Dataset, Task},
    error::{Error, Result},
    method::{
        Durable, FedRelax, Method, MixedRounds, PersFl, PrimalDual, TriedStrength, TunedAtSites,
        Twins, Wire,
        mixed::FrontSizes,
        tuned::{TunedMessage, TunedShape, Tuning, fewest_rounds, rounds_beside, tree_height},
    },
    model::{LocalModel, Scales},
    network::{Network, Node, NodeId},
    observe::Stop,
};

/// The residual at which strengths can be told from one another, and after how many rounds each is judged as it is:
/// those of a search in one process.
const SEARCH_STOP: Stop = Stop { tolerance: 1e-4, rounds: 50 };

/// Where a method runs.
#[derive(Debug, Clone, Copy)]
pub struct Place<'a> {
    /// All nodes.
    pub network: &'a Network,
    /// Those that are here.
    pub nodes: &'a [Node],
    /// The units of their features and labels, if these are not those of the table.
    pub scales: Option<&'a Scales>,
}

/// A method that can run between sites.
pub trait AtSites {
    /// The method at a strength as these nodes of a network run it; without one it is what the method
    /// estimates, or zero.
    fn federated(&self, strength: Option<f64>, place: Place) -> Result<Federated>;

    /// The method as these nodes choose its strength; none if it cannot be chosen between sites.
    fn tuned(&self, _: &Network, _: Tuning) -> Result<Option<Federated>> {
        Ok(None)
    }

    /// Whether its strength can be chosen between sites.
    fn can_be_tuned(&self) -> bool {
        false
    }

    /// The residual at which its strengths can be told from one another, and after how many rounds each is judged as
    /// it is.
    fn search_stop(&self) -> Stop {
        SEARCH_STOP
    }

    /// The strengths that sites try, of which each must find the same without the rows of the others; none leaves it
    /// to the grid of one process.
    fn grid_at_sites(&self, _: &Units) -> Option<Grid> {
        None
    }

    /// What its questions take, where it asks along the tree of nodes until it has its answer; none where rounds end it.
    fn asking(&self, _: &Network, _: &DataShape) -> Option<Asking> {
        None
    }

    /// The most bytes that a message along an edge takes.
    fn largest_message(&self, sizes: &MessageSizes) -> usize;

    /// The key, its value and what is expected instead, if keys ask for what sites cannot do.
    fn check_keys(&self) -> Result<(), [String; 3]> {
        Ok(())
    }

    /// Refuses what it cannot predict between sites, though it can in one place.
    fn check_models(&self, _: Task, _: &[Arc<dyn LocalModel>]) -> Result<(), String> {
        Ok(())
    }
}

/// A method at a strength as it runs between sites.
#[derive(Debug, Clone)]
pub enum Federated {
    /// Exchange of predictions.
    FedRelax(FedRelax),
    /// Total variation of weights.
    PrimalDual(PrimalDual),
    /// Probes.
    PersFl(PersFl),
    /// A mixed model.
    Mixed(MixedRounds),
    /// Exchange of predictions at the strength that sites choose.
    TunedFedRelax(TunedAtSites<FedRelax>),
    /// Total variation of weights at the strength that sites choose.
    TunedPrimalDual(TunedAtSites<PrimalDual>),
    /// Exchange of predictions of twins, which have seen releases only.
    Twins(Twins),
}

/// Something that can be done with any method whose messages and state can leave a process.
pub trait RunsFederated {
    /// What comes of it.
    type Output;

    /// Does it with one method.
    fn run<M: Method<Participant: Durable>>(self, method: &M) -> Self::Output;
}

impl Federated {
    /// Does something with the method, whichever it is.
    pub fn apply<R: RunsFederated>(&self, work: R) -> R::Output {
        match self {
            Self::FedRelax(method) => work.run(method),
            Self::PrimalDual(method) => work.run(method),
            Self::PersFl(method) => work.run(method),
            Self::Mixed(method) => work.run(method),
            Self::TunedFedRelax(method) => work.run(method),
            Self::TunedPrimalDual(method) => work.run(method),
            Self::Twins(method) => work.run(method),
        }
    }
}

/// What choosing a strength between sites takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TuningBudget {
    /// How far the farthest node is from the one that leads.
    pub height: usize,
    /// How many strengths are tried, usually.
    pub strengths: usize,
    /// The rounds that are needed to compare the coarse grid.
    pub fewest_rounds: u64,
    /// The rounds that the coarse and the finer grid take if no strength is at rest before it is judged as it is.
    pub usual_rounds: u64,
    /// The same if the grid gets as wide as it may.
    pub most_rounds: u64,
}

/// Strengths of a coarse grid, and of that and a finer one.
const COARSE_STRENGTHS: usize = 5;
const USUAL_STRENGTHS: usize = 9;
/// How often the grid gets wider at most.
const WIDER_STAGES: u64 =
    (MOST_DECADES - (*PULL_EXPONENTS.end() - *PULL_EXPONENTS.start())).unsigned_abs() as u64;

/// How often strengths are tried side by side if the coarse grid is wide enough.
fn stages(is_quick: bool) -> u64 {
    if is_quick { 1 } else { 2 }
}

impl TuningBudget {
    /// That of a network; none if it falls apart.
    #[must_use]
    pub fn of(network: &Network, method: &dyn Contender, is_quick: bool) -> Option<Self> {
        let height = tree_height(network)?;
        let strengths = if is_quick { COARSE_STRENGTHS } else { USUAL_STRENGTHS };
        let stop = method.at_sites().map_or(SEARCH_STOP, AtSites::search_stop);
        let each = stop.rounds as u64 + rounds_beside(height);
        Some(Self {
            height,
            strengths,
            fewest_rounds: fewest_rounds(height),
            usual_rounds: stages(is_quick) * each,
            most_rounds: (stages(is_quick) + WIDER_STAGES) * each,
        })
    }
}

impl Study {
    /// The study's own method between sites, at its strength, or such that the sites choose one on the validation
    /// rows of these nodes and of all others, in so many rounds at most.
    pub fn at_sites(&self, own: &[NodeId], most_tuning_rounds: u64) -> Result<Federated> {
        let method = &self.settings.method;
        let (network, scales) = (&self.network, self.scales.as_ref());
        let unknown = Error::Unsupported {
            what: "a federation",
            needs: "fedrelax, gtv, mixed or persfl, which exchange messages without a hub",
        };
        let at_sites = method.at_sites().ok_or(unknown)?;
        if self.settings.alpha.is_some() || method.estimates_strength() {
            return at_sites.federated(self.settings.alpha, Place { network, nodes: &[], scales });
        }
        let height = tree_height(network).unwrap_or(0);
        let tuning = self.tuning(at_sites, own, (most_tuning_rounds, height))?;
        let unknown = Error::Unsupported {
            what: "this method in a federation",
            needs: "a strength that is given; only those of fedrelax and gtv are chosen between sites",
        };
        at_sites.tuned(network, tuning)?.ok_or(unknown)
    }

    /// The strengths that sites have tried, with errors in the units of the table.
    #[must_use]
    pub fn path_of(&self, tried: &[TriedStrength]) -> Vec<PathPoint> {
        let unit = self.error_unit();
        let finite = tried.iter().filter(|tried| tried.error < f64::MAX);
        let point = |tried: &TriedStrength| PathPoint {
            alpha: tried.alpha,
            ridge: None,
            validation: unit * tried.error,
        };
        finite.map(point).collect()
    }

    /// The validation rows of these nodes. Without any of their own the rows here would take turns, which train in a
    /// federation.
    fn held_out(&self, own: &[NodeId]) -> BTreeMap<NodeId, Dataset> {
        let held = match self.plan.folds.as_slice() {
            [fold] if fold.train == self.plan.train => Some(&fold.validation),
            _ => None,
        };
        let validation = own.iter().map(|&node| {
            let rows = held.map_or(&[][..], |rows| &rows[node]);
            (node, self.rows[node].select(rows))
        });
        validation.collect()
    }

    fn tuning(
        &self,
        at_sites: &dyn AtSites,
        own: &[NodeId],
        (most_rounds, height): (u64, usize),
    ) -> Result<Tuning> {
        let network = &self.network;
        let degrees: f64 = (0..network.len()).map(|node| network.degree(node)).sum();
        let mean_degree = degrees / network.len() as f64;
        // The rows of all sites are not known here; in the units of models their variance is about one.
        let units = Units { study: self, variance: 1.0, mean_degree };
        let grid = match at_sites.grid_at_sites(&units) {
            Some(grid) => grid,
            None => self.settings.method.grid(&units)?,
        };
        let is_quick = self.settings.is_quick;
        let stop = at_sites.search_stop();
        // With few rounds each stage gets its share.
        let share = (most_rounds / stages(is_quick)).saturating_sub(rounds_beside(height));
        Ok(Tuning {
            path: Arc::new(PathAtSites { grid, is_quick }),
            metric: self.metric(),
            validation: self.held_out(own),
            tolerance: self.settings.runtime.stop.tolerance.max(stop.tolerance),
            rounds_each: share.clamp(1, stop.rounds as u64),
            most_rounds,
        })
    }
}

/// What is known of data before any row: how many features, and what is predicted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DataShape {
    /// What is predicted.
    pub task: Task,
    /// How many features.
    pub features: usize,
}

/// What the questions of a method take that asks until it has its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asking {
    /// So many rounds each, at most.
    Rounds(u64),
    /// As many as a series has terms, tens of thousands at the limit.
    Series,
}

/// What the size of a message depends on.
#[derive(Debug, Clone)]
pub struct MessageSizes {
    /// What is predicted.
    pub task: Task,
    /// The features.
    pub names: Arc<[String]>,
    /// The most weights of any model.
    pub weights: usize,
    /// How many public points the sender and the receiver have.
    pub points: (usize, usize),
    /// How large the fronts of an elimination along the network are.
    pub fronts: Arc<FrontSizes>,
    /// The ends of the edge.
    pub edge: (NodeId, NodeId),
    /// What goes with it while sites choose the strength.
    pub tuning: MessageTuning,
}

/// What a message says beside the method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageTuning {
    /// Nothing: the strength is given, or estimated.
    None,
    /// The method at all strengths that run side by side, and what goes along the tree.
    Choosing,
    /// That the strength is chosen.
    Chosen,
}

impl MessageSizes {
    /// The most bytes of messages that also say what choosing a strength needs.
    pub(super) fn with_tuning<N: Wire>(&self, method: N::Shape) -> usize {
        match self.tuning {
            MessageTuning::None => N::most_bytes(&method),
            MessageTuning::Chosen => TunedMessage::<N>::HEAD_BYTES + N::most_bytes(&method),
            MessageTuning::Choosing => {
                let shape = TunedShape { method: Some(method), is_below: true, is_above: true };
                TunedMessage::<N>::most_bytes(&shape)
            }
        }
    }
}
