//! Friends and their circles. A node that has fitted its few rows with wrong helpers praises them; the
//! weights of a helper's *other* friends know nothing of its rows and tell the truth,
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
const LEVELS: [f64; 2] = [1e-6, 1e-3];

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

/// Measures how the circle of each end suits the other, from a first guess at friends by score.
pub(super) fn measure(pairs: &mut [Kept], seen: &[Seen], trial: &Trial, most: usize) {
    let guess: Vec<Vec<NodeId>> = sides(pairs, seen.len())
        .into_iter()
        .map(|partners| {
            let good = partners.into_iter().filter(|(pair, _)| pair.score() > 0.0);
            good.take(most).map(|(_, id)| id).collect()
        })
        .collect();
    let loss = |node: NodeId, other: NodeId| {
        let circle: Vec<NodeId> = guess[other].iter().copied().filter(|&id| id != node).collect();
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
            *suits = if ratio.is_nan() { 1.0 } else { fisher_tail(ratio, rows, rows) };
        }
    }
}

/// The friends of each node, best first: at most so many partners of positive score whose circles
/// suit each other. In the end every node has one: where there is none, the partner whose circle
/// suits it best.
pub(super) fn friends(pairs: &[Kept], nodes: usize, most: usize, end: bool) -> Vec<Vec<NodeId>> {
    let level = LEVELS[usize::from(end)];
    let chosen = |(node, partners): (NodeId, Vec<(&Kept, NodeId)>)| -> Vec<NodeId> {
        let suit = |pair: &Kept| pair.score() > 0.0 && pair.suits.iter().all(|p| *p > level);
        let good = partners.iter().filter(|(pair, _)| suit(pair)).take(most);
        let found: Vec<NodeId> = good.map(|(_, id)| *id).collect();
        if !found.is_empty() {
            return found;
        }
        let own = |pair: &Kept| pair.suits[usize::from(pair.target == node)];
        let better = |a: (f64, NodeId), b: (f64, NodeId)| if b.0 > a.0 { b } else { a };
        let suiting = partners.iter().map(|(pair, id)| (own(pair), *id)).reduce(better);
        suiting.filter(|_| end).map(|(_, id)| id).into_iter().collect()
    };
    sides(pairs, nodes).into_iter().enumerate().map(chosen).collect()
}
