//! In which order the nodes of a network are eliminated: next the one that joins the fewest pairs of its
//! neighbours anew.
//!
//! ```text
//! deficiency of v = pairs of neighbours of v that are not neighbours = d(d − 1)/2 − pairs that are
//! ```
//!
//! It is counted where a node has few neighbours, and bounded elsewhere by the pairs that the last
//! elimination has joined. [Rothberg and Eisenstat, "Node selection strategies for bottom-up sparse matrix
//! ordering", 1998.]

use std::collections::BTreeSet;

/// Up to so many neighbours pairs are counted: more takes longer than it saves.
const MOST_COUNTED: usize = 32;
/// From how many times as long a list on its entries are looked up one by one.
const MUCH_LONGER: usize = 8;

/// The order of elimination.
pub(super) struct Elimination {
    /// The nodes, first to last.
    pub(super) order: Vec<usize>,
    /// The nodes still there that each is joined to when it goes, in that order.
    pub(super) filled: Vec<Vec<usize>>,
}

/// Eliminates all nodes; none if there would be more blocks than that.
pub(super) fn eliminate(
    neighbours: &[Vec<(usize, f64)>],
    most_blocks: usize,
) -> Option<Elimination> {
    let mut open: Vec<Vec<usize>> = neighbours.iter().map(|own| distinct(own)).collect();
    let mut keys: Vec<(usize, usize)> =
        (0..open.len()).map(|node| (deficiency(&open, node, 0), open[node].len())).collect();
    // An ordered set, so that ties are broken by nodes and every run has the same bits.
    let mut queue: BTreeSet<((usize, usize), usize)> =
        keys.iter().enumerate().map(|(node, key)| (*key, node)).collect();
    let mut found = Elimination { order: Vec::new(), filled: Vec::new() };
    let mut blocks = 0;
    while let Some((_, node)) = queue.pop_first() {
        let own = std::mem::take(&mut open[node]);
        let degree = own.len();
        blocks += degree + 1;
        // A dense rest costs its square; stop before it is built.
        if blocks + degree * queue.len().min(degree) / 2 > most_blocks {
            return None;
        }
        for &other in &own {
            join(&mut open[other], &own, (node, other));
        }
        for &other in &own {
            queue.remove(&(keys[other], other));
            keys[other] = (deficiency(&open, other, degree - 1), open[other].len());
            queue.insert((keys[other], other));
        }
        found.order.push(node);
        found.filled.push(own);
    }
    Some(found)
}

fn distinct(neighbours: &[(usize, f64)]) -> Vec<usize> {
    let mut own: Vec<usize> = neighbours.iter().map(|&(node, _)| node).collect();
    own.sort_unstable();
    own.dedup();
    own
}

/// The pairs of neighbours that are not joined, of which so many neighbours are known to be joined all.
fn deficiency(open: &[Vec<usize>], node: usize, joined: usize) -> usize {
    let own = &open[node];
    let pairs = |count: usize| count * count.saturating_sub(1) / 2;
    // An upper bound: pairs may be joined that nobody has counted.
    if own.len() > MOST_COUNTED {
        return pairs(own.len()) - pairs(joined);
    }
    // Every pair is seen from both of its ends.
    let seen: usize = own.iter().map(|&other| common(own, &open[other])).sum();
    pairs(own.len()) - seen / 2
}

/// How many entries two ascending lists have in common.
fn common(short: &[usize], long: &[usize]) -> usize {
    if long.len() > MUCH_LONGER * short.len() {
        return short.iter().filter(|entry| long.binary_search(entry).is_ok()).count();
    }
    let (mut i, mut j, mut count) = (0, 0, 0);
    while i < short.len() && j < long.len() {
        let (x, y) = (short[i], long[j]);
        count += usize::from(x == y);
        i += usize::from(x <= y);
        j += usize::from(y <= x);
    }
    count
}

/// Adds one ascending list to another, without two nodes.
fn join(to: &mut Vec<usize>, from: &[usize], without: (usize, usize)) {
    if from.len() == 1 {
        // Leaves of a hub, each of which would copy its whole list.
        if let Ok(place) = to.binary_search(&without.0) {
            to.remove(place);
        }
        return;
    }
    let mut all = Vec::with_capacity(to.len() + from.len());
    let (mut i, mut j) = (0, 0);
    while i < to.len() || j < from.len() {
        let next = match (to.get(i), from.get(j)) {
            (Some(&x), Some(&y)) => x.min(y),
            (Some(&x), None) | (None, Some(&x)) => x,
            (None, None) => break,
        };
        i += usize::from(to.get(i) == Some(&next));
        j += usize::from(from.get(j) == Some(&next));
        if next != without.0 && next != without.1 {
            all.push(next);
        }
    }
    *to = all;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit_weights(lists: &[&[usize]]) -> Vec<Vec<(usize, f64)>> {
        lists.iter().map(|own| own.iter().map(|&node| (node, 1.0)).collect()).collect()
    }

    #[test]
    fn a_tree_and_a_complete_network_fill_nothing_in() {
        let star = unit_weights(&[&[1, 2, 3, 4], &[0], &[0], &[0], &[0]]);
        let found = eliminate(&star, usize::MAX).unwrap();
        let hub = found.order.iter().position(|node| *node == 0).unwrap();
        // With one leaf left, the hub is a leaf itself.
        assert!(hub >= 3);
        assert_eq!(found.filled.iter().map(Vec::len).sum::<usize>(), 4);
        let complete = unit_weights(&[&[1, 2, 3], &[0, 2, 3], &[0, 1, 3], &[0, 1, 2]]);
        let found = eliminate(&complete, usize::MAX).unwrap();
        assert_eq!(found.filled.iter().map(Vec::len).sum::<usize>(), 6);
    }

    #[test]
    fn a_node_that_joins_no_pair_goes_first_whatever_its_degree() {
        // Node 0 has three neighbours that are all joined; every other node would join a pair.
        let network = unit_weights(&[
            &[1, 2, 3],
            &[0, 2, 3, 4],
            &[0, 1, 3, 5],
            &[0, 1, 2, 6],
            &[1, 5, 6],
            &[2, 4],
            &[3, 4],
        ]);
        assert_eq!(eliminate(&network, usize::MAX).unwrap().order[0], 0);
    }

    #[test]
    fn pairs_are_counted_in_lists_of_any_length() {
        let long: Vec<usize> = (0..100).map(|k| 2 * k).collect();
        for short in [vec![2, 3, 4], (0..60).collect::<Vec<usize>>()] {
            let expected = short.iter().filter(|entry| long.contains(entry)).count();
            assert_eq!(common(&short, &long), expected);
        }
    }
}
