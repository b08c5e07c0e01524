//! Peers and their groups. A node that overfits its few rows overrates the helpers it used. The mean
//! weights of a helper's *other* peers do not depend on those rows, so they give an unbiased test,
//!
//! ```text
//! fit_ij = P( F ≥ L_i(c_j) / min_k L_i(c_k) ),      c_j = mean weights of the peers of j but i
//! ```
//!
//! over the partners k of i, with F of as many degrees of freedom as i has rows, above and below:
//! the probability of so much larger a loss where two peer groups fit equally well.

use super::{
    ProbedPair,
    distributions::fisher_tail,
    trial::{Trial, TrialOutcome},
};
use crate::{
    algebra::add_scaled,
    network::{Edge, Network, NodeId},
};

/// A peer group fits a node if the probability of its loss is above this while pairs are still sought:
/// almost all do, because many groups are not yet what they will be.
pub(super) const LEAST_FIT_IN_SEARCH: f64 = 1e-6;

/// The same in the end: one group in a hundred that fits is lost by chance.
const LEAST_FIT_IN_THE_END: f64 = 1e-2;

/// A node takes no steps of a partner whose peer group fits it worse than this. Such partners are still
/// measured, so nothing is lost by excluding too many, and the level can be far stricter.
const LEAST_FIT_TO_FOLLOW: f64 = 0.05;

/// The fit of a peer group with nobody in it, which cannot be tested: the partner is followed, but anyone
/// whose group fits better is preferred.
const UNTESTED_FIT: f64 = LEAST_FIT_TO_FOLLOW;

/// For each node its partners, those of largest score first, with what is known of the pair.
fn partners_by_score(pairs: &[ProbedPair], nodes: usize) -> Vec<Vec<(&ProbedPair, NodeId)>> {
    let mut partners = vec![Vec::new(); nodes];
    for pair in pairs {
        partners[pair.source].push((pair, pair.target));
        partners[pair.target].push((pair, pair.source));
    }
    for of_node in &mut partners {
        // The sort is stable: equal scores keep the order of ids, on every machine.
        of_node.sort_by(|a, b| b.0.score().total_cmp(&a.0.score()));
    }
    partners
}

/// Measures how well the peer group of each end fits the other. Returns for each node the doubt whether
/// it has found its group: the least loss under any group that it knows, as a share of its labels' size;
/// infinite where it knows none.
pub(super) fn measure_fit(
    pairs: &mut [ProbedPair],
    outcomes: &[TrialOutcome],
    trial: &Trial,
    peers: &[Vec<NodeId>],
) -> Vec<f64> {
    let loss = |node: NodeId, other: NodeId| {
        let group: Vec<NodeId> = peers[other].iter().copied().filter(|&id| id != node).collect();
        if group.is_empty() {
            return f64::NAN;
        }
        trial.mean_loss(node, &mean_weights(&group, outcomes))
    };
    let mut least = vec![f64::INFINITY; outcomes.len()];
    for pair in pairs.iter_mut() {
        let [source, target] = [pair.source, pair.target];
        pair.fit_probability = [loss(source, target), loss(target, source)];
        least[source] = least[source].min(pair.fit_probability[0]);
        least[target] = least[target].min(pair.fit_probability[1]);
    }
    for pair in pairs {
        for (fit, node) in pair.fit_probability.iter_mut().zip([pair.source, pair.target]) {
            let rows = trial.data[node].row_count();
            // Rows without noise leave no loss at all under the right group.
            let ratio = *fit / least[node].max(f64::MIN_POSITIVE);
            *fit = if ratio.is_nan() { UNTESTED_FIT } else { fisher_tail(ratio, rows, rows) };
        }
    }
    let size = |node: NodeId| trial.label_size(node).max(f64::MIN_POSITIVE);
    least.iter().enumerate().map(|(node, least)| least / size(node)).collect()
}

/// The partners of each node whose peer groups do not fit it, so that it does not follow them again: a
/// node that was misled by the wrong helpers finds out.
pub(super) fn excluded(pairs: &[ProbedPair], nodes: usize) -> Vec<Vec<NodeId>> {
    let mut excluded = vec![Vec::new(); nodes];
    for pair in pairs {
        let ends = [(pair.source, pair.target), (pair.target, pair.source)];
        for ((own, other), fit) in ends.into_iter().zip(pair.fit_probability) {
            if fit < LEAST_FIT_TO_FOLLOW {
                excluded[own].push(other);
            }
        }
    }
    excluded
}

/// The peers of each node while pairs are still sought, best first: at most so many partners of positive
/// score whose groups fit each other better than this.
pub(super) fn peers_in_search(
    pairs: &[ProbedPair],
    nodes: usize,
    most: usize,
    least_fit: f64,
) -> Vec<Vec<NodeId>> {
    let good = |pair: &ProbedPair| {
        pair.score() > 0.0 && pair.fit_probability.iter().all(|fit| *fit > least_fit)
    };
    let chosen = |partners: Vec<(&ProbedPair, NodeId)>| {
        let good = partners.into_iter().filter(|(pair, _)| good(pair));
        good.take(most).map(|(_, id)| id).collect()
    };
    partners_by_score(pairs, nodes).into_iter().map(chosen).collect()
}

/// The peers of each node in the end: at most so many partners, those first whose groups fit it best.
/// With `mutual` its own group must fit them, too; where it fits no one, the node has the one partner
/// whose group fits it best.
pub(super) fn final_peers(
    pairs: &[ProbedPair],
    nodes: usize,
    most: usize,
    mutual: bool,
) -> Vec<Vec<NodeId>> {
    let chosen = |(node, mut partners): (NodeId, Vec<(&ProbedPair, NodeId)>)| -> Vec<NodeId> {
        let own = |pair: &ProbedPair| pair.fit_probability[usize::from(pair.target == node)];
        let fit = |pair: &ProbedPair| {
            let [a, b] = pair.fit_probability;
            if mutual { a.min(b) } else { own(pair) }
        };
        // The sort is stable: equal fits keep the order of scores.
        partners.sort_by(|a, b| own(b.0).total_cmp(&own(a.0)));
        let good = partners.iter().filter(|(pair, _)| fit(pair) > LEAST_FIT_IN_THE_END).take(most);
        let found: Vec<NodeId> = good.map(|(_, id)| *id).collect();
        if found.is_empty() { partners.iter().take(1).map(|(_, id)| *id).collect() } else { found }
    };
    partners_by_score(pairs, nodes).into_iter().enumerate().map(chosen).collect()
}

/// Joins each isolated group of nodes to the larger group whose mean weights fit its rows as well as
/// those of the larger one, by the pairs between them: few rows of few nodes fit each other by chance.
pub(super) fn merge_isolated_groups(
    pairs: &mut [ProbedPair],
    outcomes: &[TrialOutcome],
    trial: &Trial,
) {
    let mut groups = connected_groups(pairs, outcomes);
    groups.sort_by_key(|group| (group.len(), group[0]));
    for (index, small) in groups.iter().enumerate() {
        let best = groups[index + 1..]
            .iter()
            .filter(|group| group.len() > small.len())
            .map(|group| (group, group_fit(small, group, outcomes, trial)))
            .reduce(|best, next| if next.1 > best.1 { next } else { best });
        let Some((group, fit)) = best.filter(|(_, fit)| *fit > LEAST_FIT_IN_THE_END) else {
            continue;
        };
        for pair in pairs.iter_mut() {
            let [source, target] = [pair.source, pair.target];
            let is_in = |group: &[NodeId], node| group.binary_search(&node).is_ok();
            if is_in(small, source) && is_in(group, target)
                || is_in(small, target) && is_in(group, source)
            {
                pair.kept = true;
                pair.confidence = pair.confidence.max(fit);
            }
        }
    }
}

/// The probability of so large a loss of a group's rows under another's mean weights, where they fit
/// both.
fn group_fit(small: &[NodeId], group: &[NodeId], outcomes: &[TrialOutcome], trial: &Trial) -> f64 {
    let mean = mean_weights(group, outcomes);
    let rows =
        |nodes: &[NodeId]| nodes.iter().map(|&node| trial.data[node].row_count()).sum::<f64>();
    let loss = |nodes: &[NodeId]| {
        let part = |&node: &NodeId| trial.data[node].row_count() * trial.mean_loss(node, &mean);
        nodes.iter().map(part).sum::<f64>() / rows(nodes)
    };
    let ratio = loss(small) / loss(group).max(f64::MIN_POSITIVE);
    fisher_tail(ratio, rows(small), rows(group))
}

/// The mean of the weights that the nodes of a group have ended with.
fn mean_weights(group: &[NodeId], outcomes: &[TrialOutcome]) -> Vec<f64> {
    let mut mean = vec![0.0; outcomes[group[0]].weights.len()];
    for &node in group {
        add_scaled(&mut mean, 1.0 / group.len() as f64, &outcomes[node].weights);
    }
    mean
}

/// The nodes with partners that are joined by kept pairs, each group in order of ids.
fn connected_groups(pairs: &[ProbedPair], outcomes: &[TrialOutcome]) -> Vec<Vec<NodeId>> {
    let names = (0..outcomes.len()).map(|node| node.to_string()).collect();
    let edge = |pair: &ProbedPair| Edge { source: pair.source, target: pair.target, weight: 1.0 };
    let edges = pairs.iter().filter(|pair| pair.kept).map(edge);
    let network = Network::new(names, edges).expect("no pair is probed twice or with itself");
    let mut groups = network.components();
    groups.retain(|group| !outcomes[group[0]].gains.is_empty());
    for group in &mut groups {
        group.sort_unstable();
    }
    groups
}
