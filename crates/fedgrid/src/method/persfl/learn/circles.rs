//! Peers and their groups. A node that overfits its few rows overrates the helpers it used. The mean weights
//! of a helper's *other* peers do not depend on those rows, so they give an unbiased test,
//!
//! ```text
//! suits_ij = P( F ≥ L_i(c_j) / min_k L_i(c_k) ),      c_j = mean weights of the friends of j but i
//! ```
//!
//! over the partners k of i, with F of as many degrees of freedom as i has rows, above and below:
//! the chance of so much larger a loss where two circles suit equally well.

use super::{
    Kept,
    statistics::fisher_tail,
    trial::{Seen, Trial},
};
use crate::{algebra::add_scaled, network::NodeId};

/// A circle suits a node unless the chance of its loss is below this: while pairs are still sought,
/// when many circles are not what they will be, and in the end.
const LEVELS: [f64; 2] = [1e-6, 1e-2];

/// A node does not follow a partner whose circle suits it worse than this; it is still measured, so
/// nothing is lost by too much mistrust.
const TRUST: f64 = 0.05;

/// What a circle without anyone in it is taken to suit: it is followed, but anyone whose circle suits
/// better is preferred.
const UNJUDGED: f64 = TRUST;

/// For each node its partners, best first, with what is known of the pair.
type Sides<'a> = Vec<Vec<(&'a Kept, NodeId)>>;

fn sides(pairs: &[Kept], nodes: usize) -> Sides<'_> {
    let mut sides: Sides = vec![Vec::new(); nodes];
    for pair in pairs {
        sides[pair.source].push((pair, pair.target));
        sides[pair.target].push((pair, pair.source));
    }
    for partners in &mut sides {
        // Equal scores keep the order of ids.
        partners.sort_by(|a, b| b.0.score().total_cmp(&a.0.score()));
    }
    sides
}

/// Measures how the circle of each end suits the other, given who is thought to be whose friend. For
/// each node the doubt whether it has found its own: the least loss under a circle that it knows, as
/// a share of its labels' size; infinite where it knows none.
pub(super) fn measure(
    pairs: &mut [Kept],
    seen: &[Seen],
    trial: &Trial,
    friends: &[Vec<NodeId>],
) -> Vec<f64> {
    let loss = |node: NodeId, other: NodeId| {
        let circle: Vec<NodeId> = friends[other].iter().copied().filter(|&id| id != node).collect();
        let mut mean = vec![0.0; seen[other].weights.len()];
        for friend in &circle {
            add_scaled(&mut mean, 1.0 / circle.len() as f64, &seen[*friend].weights);
        }
        // Who has no friends yet cannot be judged by them.
        if circle.is_empty() { f64::NAN } else { trial.mean_loss(node, &mean) }
    };
    let mut least = vec![f64::INFINITY; seen.len()];
    for pair in pairs.iter_mut() {
        let [source, target] = [pair.source, pair.target];
        pair.suits = [loss(source, target), loss(target, source)];
        least[source] = least[source].min(pair.suits[0]);
        least[target] = least[target].min(pair.suits[1]);
    }
    for pair in pairs {
        for (suits, node) in pair.suits.iter_mut().zip([pair.source, pair.target]) {
            let rows = trial.data[node].rows() as f64;
            let ratio = *suits / least[node].max(f64::MIN_POSITIVE);
            *suits = if ratio.is_nan() { UNJUDGED } else { fisher_tail(ratio, rows, rows) };
        }
    }
    let size = |node: NodeId| trial.label_size(node).max(f64::MIN_POSITIVE);
    least.iter().enumerate().map(|(node, least)| least / size(node)).collect()
}

/// The partners of each node whose circles do not suit it, so that it does not follow them again: a
/// node that was taken in by wrong helpers finds out.
pub(super) fn mistrusted(pairs: &[Kept], nodes: usize) -> Vec<Vec<NodeId>> {
    let mut mistrusted = vec![Vec::new(); nodes];
    for pair in pairs {
        for (own, other, suits) in
            [(pair.source, pair.target, pair.suits[0]), (pair.target, pair.source, pair.suits[1])]
        {
            if suits < TRUST {
                mistrusted[own].push(other);
            }
        }
    }
    mistrusted
}

/// A first guess at the friends of each node, by score alone.
pub(super) fn guess(pairs: &[Kept], nodes: usize, most: usize) -> Vec<Vec<NodeId>> {
    let good = |partners: Vec<(&Kept, NodeId)>| {
        let good = partners.into_iter().filter(|(pair, _)| pair.score() > 0.0);
        good.take(most).map(|(_, id)| id).collect()
    };
    sides(pairs, nodes).into_iter().map(good).collect()
}

/// The friends of each node while pairs are still sought, best first: at most so many partners of
/// positive score whose circles are not quite unsuitable to each other.
pub(super) fn friends(pairs: &[Kept], nodes: usize, most: usize) -> Vec<Vec<NodeId>> {
    let suit = |pair: &Kept| pair.score() > 0.0 && pair.suits.iter().all(|p| *p > LEVELS[0]);
    let chosen = |partners: Vec<(&Kept, NodeId)>| {
        let good = partners.into_iter().filter(|(pair, _)| suit(pair));
        good.take(most).map(|(_, id)| id).collect()
    };
    sides(pairs, nodes).into_iter().map(chosen).collect()
}

/// The friends of each node in the end: at most so many partners, those first whose circles suit it
/// best. With `mutual` its own circle must suit them, too; where it suits no one, the node has the
/// one partner whose circle suits it best.
pub(super) fn suiting(pairs: &[Kept], nodes: usize, most: usize, mutual: bool) -> Vec<Vec<NodeId>> {
    let chosen = |(node, mut partners): (NodeId, Vec<(&Kept, NodeId)>)| -> Vec<NodeId> {
        let own = |pair: &Kept| pair.suits[usize::from(pair.target == node)];
        let suits = |pair: &Kept| if mutual { pair.suits[0].min(pair.suits[1]) } else { own(pair) };
        // Equal ones keep the order of scores.
        partners.sort_by(|a, b| own(b.0).total_cmp(&own(a.0)));
        let good = partners.iter().filter(|(pair, _)| suits(pair) > LEVELS[1]).take(most);
        let found: Vec<NodeId> = good.map(|(_, id)| *id).collect();
        if found.is_empty() { partners.iter().take(1).map(|(_, id)| *id).collect() } else { found }
    };
    sides(pairs, nodes).into_iter().enumerate().map(chosen).collect()
}

/// Joins groups of nodes that keep to themselves to the larger group whose mean weights suit their rows
/// as well as its own, by the pairs between them: few rows of few nodes fit each other by chance.
pub(super) fn reunite(pairs: &mut [Kept], seen: &[Seen], trial: &Trial) {
    let mut groups = groups(pairs, seen.len());
    groups.sort_by_key(|group| (group.len(), group[0]));
    for place in 0..groups.len() {
        let (small, larger) = (&groups[place], &groups[place + 1..]);
        let best = larger
            .iter()
            .filter(|group| group.len() > small.len())
            .map(|group| (group, chance(small, group, seen, trial)))
            .reduce(|best, next| if next.1 > best.1 { next } else { best });
        let Some((group, chance)) = best.filter(|(_, chance)| *chance > LEVELS[1]) else {
            continue;
        };
        for pair in pairs.iter_mut() {
            let [source, target] = [pair.source, pair.target];
            let is_in = |group: &[NodeId], node| group.binary_search(&node).is_ok();
            if is_in(small, source) && is_in(group, target)
                || is_in(small, target) && is_in(group, source)
            {
                pair.kept = true;
                pair.confidence = pair.confidence.max(chance);
            }
        }
    }
}

/// The chance of so large a loss of a group's rows under another's mean weights, where they suit both.
fn chance(small: &[NodeId], group: &[NodeId], seen: &[Seen], trial: &Trial) -> f64 {
    let mut mean = vec![0.0; seen[group[0]].weights.len()];
    for &node in group {
        add_scaled(&mut mean, 1.0 / group.len() as f64, &seen[node].weights);
    }
    let rows = |nodes: &[NodeId]| nodes.iter().map(|&node| trial.data[node].rows()).sum::<usize>();
    let loss = |nodes: &[NodeId]| {
        let part = |&node: &NodeId| trial.data[node].rows() as f64 * trial.mean_loss(node, &mean);
        nodes.iter().map(part).sum::<f64>() / rows(nodes) as f64
    };
    let ratio = loss(small) / loss(group).max(f64::MIN_POSITIVE);
    fisher_tail(ratio, rows(small) as f64, rows(group) as f64)
}

/// The nodes with rows that are joined by kept pairs, each group in order of ids.
fn groups(pairs: &[Kept], nodes: usize) -> Vec<Vec<NodeId>> {
    let mut first: Vec<NodeId> = (0..nodes).collect();
    let mut is_paired = vec![false; nodes];
    for pair in pairs {
        (is_paired[pair.source], is_paired[pair.target]) = (true, true);
    }
    // Every node takes the least id that it can reach, until nothing changes.
    loop {
        let before = first.clone();
        for pair in pairs.iter().filter(|pair| pair.kept) {
            let least = first[pair.source].min(first[pair.target]);
            (first[pair.source], first[pair.target]) = (least, least);
        }
        if first == before {
            break;
        }
    }
    let mut groups = vec![Vec::new(); nodes];
    for node in (0..nodes).filter(|&node| is_paired[node]) {
        groups[first[node]].push(node);
    }
    groups.retain(|group| !group.is_empty());
    groups
}
