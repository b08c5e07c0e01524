//! The learned network: who helps whom, from probes alone,
//!
//! ```text
//! s_ij = gain_ij / rest_i + gain_ji / rest_j
//! ```
//!
//! where `gain_ij` is what steps along j's gradient were worth to i on rows that had no part in the
//! choice, and `rest_i` the loss that i is left with at the end: a node that has found its helpers
//! judges others sharply, one that has not says little. While pairs are sought, scores say who is whose
//! peer. In the end a pair is joined if the peers of each end fit the other (`peer_groups`), every node
//! keeps at least one partner, and isolated groups join the larger one that fits them.
//!
//! Only a share of all pairs is probed, in a few phases (`pair_search`): the first draws at random, the
//! later ones follow the peers of peers, and nodes in doubt explore other groups. Probes are those of
//! Algorithm 1 of "Your Data, My Model" (`trial`).

mod distributions;
mod pair_search;
mod peer_groups;
mod pooling;
mod similarity;
mod trial;

use std::sync::Arc;

use distributions::student;
use pair_search::PairSearch;
use peer_groups::{
    LEAST_FIT_IN_SEARCH, excluded, final_peers, measure_fit, merge_isolated_groups, peers_in_search,
};
pub use pooling::pooling_network;
pub use similarity::{chosen_by_validation, gradient_network, model_network};
use trial::{Trial, TrialOutcome};

use crate::{
    data::{Dataset, Task, by_name},
    error::{Error, Result, at_least, positive, same_size},
    method::persfl::suitable_step,
    model::{Linear, LocalModel, Logistic},
    network::{Edge, Network, Node, NodeId},
};

/// So many partners each node has at least, on average: with fewer, small networks would fall apart.
const LEAST_MEAN_PARTNERS: usize = 8;

/// What is left of the loss counts as at least this share of the labels' mean square: noise-free rows
/// leave nothing but rounding, by which no gain should be divided.
const LEAST_REMAINING_SHARE: f64 = 1e-6;

/// The weight of an edge in which nobody has any confidence, but which holds a node in the network.
const LEAST_EDGE_WEIGHT: f64 = 0.001;

/// How a network is learned.
#[derive(Debug, Clone)]
pub struct NetworkLearning {
    /// The share in (0, 1] of all pairs that may be probed; in small networks, where it would be
    /// less, eight for each node.
    pub share: f64,
    /// In how many phases pairs are chosen, one or more; one draws all at random.
    pub phases: usize,
    /// How many iterations every node probes its partners in a phase.
    pub iterations: usize,
    /// In how many parts a node's rows take turns to measure; one lets all choose and measure.
    pub turns: usize,
    /// How many of its best partners each node asks to keep, one or more.
    pub neighbours: usize,
    /// The step η > 0; none suits it to the curvature of the losses.
    pub step: Option<f64>,
    /// The model of weights that probes are made with; none is the nodes' own where it is linear,
    /// otherwise a linear model, or a logistic one for classes.
    pub model: Option<Arc<dyn LocalModel>>,
    /// What decides the draws.
    pub seed: u64,
}

impl Default for NetworkLearning {
    fn default() -> Self {
        Self {
            share: 0.1,
            phases: 8,
            iterations: 40,
            turns: 1,
            neighbours: 8,
            step: None,
            model: None,
            seed: 0,
        }
    }
}

/// A pair that was probed in the end.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ProbedPair {
    /// The end with the smaller id.
    pub source: NodeId,
    /// The other end.
    pub target: NodeId,
    /// What the target was worth to the source, relative to the loss left there.
    pub forward: f64,
    /// What the source was worth to the target.
    pub backward: f64,
    /// How well the target's peer group fits the source, and the source's the target: the probability
    /// of so large a loss under the weights of the other's peers, against the best group known.
    pub fit_probability: [f64; 2],
    /// How probable it is that the two help each other: from the spread of gains over rows.
    pub confidence: f64,
    /// Whether the pair became an edge.
    pub kept: bool,
}

impl ProbedPair {
    /// The symmetric score.
    #[must_use]
    pub fn score(&self) -> f64 {
        self.forward + self.backward
    }
}

/// A learned network.
#[derive(Debug, Clone)]
pub struct LearnedNetwork {
    /// The kept pairs; the weight of an edge is its confidence.
    pub network: Network,
    /// All pairs that were probed, with the rewards of the last phase, in order of their ends.
    pub pairs: Vec<ProbedPair>,
    /// How many probes it took, in all phases.
    pub probes: usize,
}

impl LearnedNetwork {
    /// The same with its nodes where they were, of which the order is a list.
    fn put_back(mut self, order: &[NodeId]) -> Self {
        for pair in &mut self.pairs {
            (pair.source, pair.target) = (order[pair.source], order[pair.target]);
            if pair.source > pair.target {
                std::mem::swap(&mut pair.source, &mut pair.target);
                std::mem::swap(&mut pair.forward, &mut pair.backward);
                pair.fit_probability.reverse();
            }
        }
        self.pairs.sort_by_key(|pair| (pair.source, pair.target));
        let mut places = vec![0; order.len()];
        order.iter().enumerate().for_each(|(place, &node)| places[node] = place);
        Self { network: self.network.ordered(&places), ..self }
    }
}

impl NetworkLearning {
    /// Learns the network of these nodes; in which order they are makes no difference.
    pub fn learn(&self, names: Vec<String>, nodes: &[Node]) -> Result<LearnedNetwork> {
        self.check()?;
        same_size("names of nodes", names.len(), nodes.len())?;
        let order = by_name(&names);
        if !order.is_sorted() {
            let names = order.iter().map(|&node| names[node].clone()).collect();
            let nodes: Vec<Node> = order.iter().map(|&node| nodes[node].clone()).collect();
            return Ok(self.learn(names, &nodes)?.put_back(&order));
        }
        let Some(first) = nodes.first() else { return Err(Error::NoData) };
        let model = self.model.clone().unwrap_or_else(|| probing_model(first));
        let parametric = model.as_parametric().ok_or(Error::Unsupported {
            what: "learning a network",
            needs: "a model of weights to probe with",
        })?;
        let data: Vec<Dataset> =
            nodes.iter().map(|node| node.data.without_zero_weights()).collect();
        let step = self.step.unwrap_or_else(|| suitable_step(parametric, &data, data[0].task()));
        let trial = Trial {
            model: parametric,
            data: &data,
            step,
            iterations: self.iterations,
            turns: self.turns,
            seed: self.seed,
        };
        let (pairs, probes) = self.explore(&trial);
        let edges = pairs.iter().filter(|pair| pair.kept).map(|pair| Edge {
            source: pair.source,
            target: pair.target,
            weight: pair.confidence.max(LEAST_EDGE_WEIGHT),
        });
        Ok(LearnedNetwork { network: Network::new(names, edges)?, pairs, probes })
    }

    /// Probes in phases; the pairs as the last phase saw them, and the number of probes.
    fn explore(&self, trial: &Trial) -> (Vec<ProbedPair>, usize) {
        let nodes = trial.data.len();
        let members: Vec<NodeId> = (0..nodes).filter(|&node| trial.data[node].rows() > 0).collect();
        let mut search = PairSearch::new(nodes, members);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "0 < share ≤ 1"
        )]
        let most = (self.share * search.all() as f64).floor() as usize;
        let most = most.max(LEAST_MEAN_PARTNERS * nodes / 2).min(search.all());
        // Draws find the first peer, peers the others: two of three pairs are for draws.
        search.draw(if self.phases == 1 { most } else { most * 2 / 3 }, self.seed);
        let (mut probes, mut not_followed) = (0, vec![Vec::new(); nodes]);
        for phase in 1.. {
            let outcomes = trial.run(&search.partners, &not_followed);
            probes += 2 * search.count * self.iterations * self.turns;
            let mut pairs = scored(&search.partners, &outcomes, trial);
            let last = phase == self.phases;
            let peers = |pairs: &[ProbedPair], mutual: bool| {
                if last {
                    final_peers(pairs, nodes, self.neighbours, mutual)
                } else {
                    peers_in_search(pairs, nodes, self.neighbours, LEAST_FIT_IN_SEARCH)
                }
            };
            // Groups are measured twice: those of the best scores may hold the very helpers that misled
            // a node, those of the best fit do not.
            // No fit is known before the first measure, so the guess goes by scores alone.
            let guess = peers_in_search(&pairs, nodes, self.neighbours, f64::NEG_INFINITY);
            measure_fit(&mut pairs, &outcomes, trial, &guess);
            let guess = peers(&pairs, false);
            let doubt = measure_fit(&mut pairs, &outcomes, trial, &guess);
            let peers = peers(&pairs, true);
            if last {
                for pair in &mut pairs {
                    pair.kept = peers[pair.source].contains(&pair.target)
                        || peers[pair.target].contains(&pair.source);
                }
                merge_isolated_groups(&mut pairs, &outcomes, trial);
                return (pairs, probes);
            }
            not_followed = excluded(&pairs, nodes);
            // The pairs that are left are spread evenly over the phases; a quarter of them explores,
            // because peers of peers never lead out of a group.
            let room = (most - search.count) / (self.phases - phase);
            let goal = search.count + room;
            search.explore(&peers, &doubt, search.count + room / 4);
            search.follow_peers(&peers, goal, self.seed);
        }
        (Vec::new(), probes)
    }

    fn check(&self) -> Result<()> {
        if !(self.share > 0.0 && self.share <= 1.0) {
            let expected = "above zero and at most one";
            return Err(Error::Parameter { name: "share", value: self.share, expected });
        }
        let counts = [
            ("phases", self.phases),
            ("iterations", self.iterations),
            ("turns", self.turns),
            ("neighbours", self.neighbours),
        ];
        for (name, count) in counts {
            at_least(count, name, 1, "one or more")?;
        }
        self.step.map_or(Ok(()), |step| positive("step", step))
    }
}

/// The model that probes are made with: the node's own where it is linear, otherwise a linear model,
/// or a logistic one for classes.
#[must_use]
pub fn probing_model(node: &Node) -> Arc<dyn LocalModel> {
    match node.data.task() {
        Task::Regression if node.model.as_linear().is_some() => node.model.clone(),
        Task::Regression => Arc::new(Linear::default()),
        Task::Classification { .. } => Arc::new(Logistic::default()),
    }
}

/// The scores of all pairs, in order of their ends.
fn scored(partners: &[Vec<NodeId>], outcomes: &[TrialOutcome], trial: &Trial) -> Vec<ProbedPair> {
    let side = |node: NodeId, other: NodeId| {
        let index = partners[node].partition_point(|&known| known < other);
        let gain = outcomes[node].gains[index];
        let floor = LEAST_REMAINING_SHARE * trial.label_size(node);
        let rest = outcomes[node].remaining_loss.max(floor).max(f64::MIN_POSITIVE);
        (gain.mean / rest, gain.variance / (rest * rest))
    };
    let mut pairs = Vec::new();
    for (source, known) in partners.iter().enumerate() {
        for &target in known.iter().filter(|&&target| target > source) {
            let ((forward, v), (backward, u)) = (side(source, target), side(target, source));
            let rows = trial.data[source].row_count() + trial.data[target].row_count();
            let deviation = (u + v).sqrt().max(f64::MIN_POSITIVE);
            // Each end has spent one degree of freedom on its mean.
            let freedom = (rows - 2.0).max(1.0);
            let confidence = student((forward + backward) / deviation, freedom);
            let unjudged = ProbedPair::default();
            pairs.push(ProbedPair { source, target, forward, backward, confidence, ..unjudged });
        }
    }
    pairs
}
