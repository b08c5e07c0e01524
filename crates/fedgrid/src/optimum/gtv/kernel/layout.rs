//! Where nodes and edges lie in memory, so that a pass over all edges is fast and its bits depend on
//! no thread.
//!
//! Nodes are ordered by breadth-first search and cut into blocks. The edges between two blocks are
//! a tile; tiles are done in rounds in which every block is in one tile at most,
//!
//! ```text
//! diagonal:  (0,0) (1,1) (2,2) (3,3)      round 1:  (0,3) (1,2)      round 2:  (0,2) (1,3)   …
//! ```
//!
//! so the tiles of a round can be done at once, each node's terms are added in an order of their
//! own, and the rows of a tile's two blocks stay in the cache.

use crate::{
    algebra::add_scaled,
    network::{Network, NodeId},
};

/// How many bytes of node rows a block should have: the rows of two blocks, read and written, fit into the
/// second cache of a core.
const BLOCK_BYTES: usize = 1 << 19;
/// Enough blocks for any number of threads, few enough for tiles to have many edges.
const MAX_BLOCKS: usize = 64;
/// As few blocks as keep eight threads at work, where blocks of the cache's size would be fewer.
const MIN_BLOCKS: usize = 8;
/// Below so many numbers on edges a pass is done before a thread has woken up.
const MIN_SHARED_NUMBERS: usize = 1 << 18;

/// An edge within its tile: its ends as slots within the tile's two blocks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ends {
    pub(crate) source: u32,
    pub(crate) target: u32,
}

impl Ends {
    /// Where the rows of so many numbers of both ends begin in their blocks.
    pub(crate) fn offsets(self, width: usize) -> (usize, usize) {
        (self.source as usize * width, self.target as usize * width)
    }

    /// Adds Dᵀ of an edge's row to the rows of its ends; on the diagonal both lie in the first block.
    #[inline(always)]
    pub(crate) fn scatter(self, row: &[f64], p: &mut [f64], q: &mut [f64], diagonal: bool) {
        let (source, target) = self.offsets(row.len());
        add_scaled(&mut p[source..source + row.len()], 1.0, row);
        let q = if diagonal { p } else { q };
        add_scaled(&mut q[target..target + row.len()], -1.0, row);
    }
}

/// The edges between two blocks of nodes.
#[derive(Debug, Clone)]
pub(crate) struct Tile {
    /// The block of the sources.
    pub(crate) first: usize,
    /// The block of the targets; equal to the first on the diagonal.
    pub(crate) second: usize,
    /// Where its edges begin and end among all.
    pub(crate) edges: std::ops::Range<usize>,
}

impl Tile {
    pub(crate) fn is_diagonal(&self) -> bool {
        self.first == self.second
    }
}

/// The order of nodes and edges.
#[derive(Debug, Clone)]
pub(crate) struct TileLayout {
    /// The node at each slot.
    pub(crate) nodes: Vec<NodeId>,
    /// How many nodes a block has; the last one may have fewer.
    pub(crate) block: usize,
    /// The rounds of tiles; the diagonal is the first.
    pub(crate) rounds: Vec<Vec<Tile>>,
    /// The ends of each edge, in the order of tiles.
    pub(crate) ends: Vec<Ends>,
    /// Which edge of the network each one is, and whether its direction was turned.
    pub(crate) edges: Vec<(usize, bool)>,
    /// The number of neighbours at each slot.
    pub(crate) degrees: Vec<f64>,
}

impl TileLayout {
    /// The order for rows of so many numbers.
    pub(crate) fn new(network: &Network, width: usize) -> Self {
        let nodes = network.components().concat();
        let mut slots = vec![0; nodes.len()];
        for (slot, &node) in nodes.iter().enumerate() {
            slots[node] = slot;
        }
        let block = block_size(nodes.len(), network.edges().len(), width);
        let blocks = nodes.len().div_ceil(block).max(1);
        let mut rounds = schedule(blocks);
        let mut order = vec![0; blocks * blocks];
        for (number, tile) in rounds.iter().flatten().enumerate() {
            order[tile.first * blocks + tile.second] = number;
        }
        let mut sorted: Vec<(usize, usize, usize, usize, bool)> = network
            .edges()
            .iter()
            .enumerate()
            .map(|(edge, ends)| {
                let (a, b) = (slots[ends.source], slots[ends.target]);
                let (source, target) = (a.min(b), a.max(b));
                let tile = order[(source / block) * blocks + target / block];
                (tile, source, target, edge, a > b)
            })
            .collect();
        // By source within a tile, so that its rows are read one after the other.
        sorted.sort_unstable();
        let mut start = 0;
        for (number, tile) in rounds.iter_mut().flatten().enumerate() {
            let end = start + sorted[start..].partition_point(|edge| edge.0 <= number);
            tile.edges = start..end;
            start = end;
        }
        // A round may have lost all its tiles: two far blocks need not touch.
        rounds.iter_mut().skip(1).for_each(|round| round.retain(|tile| !tile.edges.is_empty()));
        rounds.retain(|round| !round.is_empty());
        let inside = |slot: usize| u32::try_from(slot % block).expect("a block is small");
        let ends = |&(_, source, target, ..): &(usize, usize, usize, usize, bool)| Ends {
            source: inside(source),
            target: inside(target),
        };
        Self {
            block,
            rounds,
            ends: sorted.iter().map(ends).collect(),
            edges: sorted.iter().map(|&(.., edge, turned)| (edge, turned)).collect(),
            degrees: nodes.iter().map(|&node| network.neighbours(node).len() as f64).collect(),
            nodes,
        }
    }

    /// All edges with the slots of their ends.
    pub(crate) fn edge_ends(&self) -> impl Iterator<Item = (usize, usize, usize)> {
        self.rounds.iter().flatten().flat_map(move |tile| {
            let (first, second) = (tile.first * self.block, tile.second * self.block);
            let ends = self.ends[tile.edges.clone()].iter().zip(tile.edges.clone());
            ends.map(move |(ends, edge)| {
                (edge, first + ends.source as usize, second + ends.target as usize)
            })
        })
    }

    /// The rows of all nodes in this order, padded with zeros to a width.
    pub(crate) fn rows_in(&self, rows: &[f64], size: usize, width: usize) -> Vec<f64> {
        sorted_in(self.nodes.iter().map(|&node| (node, 1.0)), rows, size, width)
    }

    /// The rows of all nodes in the network's order again.
    pub(crate) fn rows_out(&self, rows: &[f64], size: usize, width: usize) -> Vec<f64> {
        sorted_out(self.nodes.iter().map(|&node| (node, 1.0)), rows, size, width)
    }

    /// The rows of all edges in this order and direction.
    pub(crate) fn edges_in(&self, rows: &[f64], size: usize, width: usize) -> Vec<f64> {
        sorted_in(self.signed_edges(), rows, size, width)
    }

    /// The rows of all edges in the network's order and direction again.
    pub(crate) fn edges_out(&self, rows: &[f64], size: usize, width: usize) -> Vec<f64> {
        sorted_out(self.signed_edges(), rows, size, width)
    }

    fn signed_edges(&self) -> impl ExactSizeIterator<Item = (usize, f64)> {
        self.edges.iter().map(|&(edge, turned)| (edge, if turned { -1.0 } else { 1.0 }))
    }
}

/// Rows in an order, each with the sign that it has there.
fn sorted_in(
    order: impl ExactSizeIterator<Item = (usize, f64)>,
    rows: &[f64],
    size: usize,
    width: usize,
) -> Vec<f64> {
    let mut out = vec![0.0; order.len() * width];
    for (row, (from, sign)) in out.chunks_exact_mut(width).zip(order) {
        let given = &rows[from * size..(from + 1) * size];
        row.iter_mut().zip(given).for_each(|(out, given)| *out = sign * given);
    }
    out
}

/// The same back again.
fn sorted_out(
    order: impl ExactSizeIterator<Item = (usize, f64)>,
    rows: &[f64],
    size: usize,
    width: usize,
) -> Vec<f64> {
    let mut out = vec![0.0; order.len() * size];
    for (row, (to, sign)) in rows.chunks_exact(width).zip(order) {
        let taken = &mut out[to * size..(to + 1) * size];
        taken.iter_mut().zip(row).for_each(|(out, row)| *out = sign * row);
    }
    out
}

/// How many nodes go into a block.
fn block_size(nodes: usize, edges: usize, width: usize) -> usize {
    if edges * width < MIN_SHARED_NUMBERS {
        return nodes.max(1);
    }
    // A pass reads one row of eight-byte numbers of each node and adds to another.
    let cached = BLOCK_BYTES / (16 * width);
    cached.max(nodes.div_ceil(MAX_BLOCKS)).min(nodes.div_ceil(MIN_BLOCKS)).max(1)
}

/// All pairs of blocks, in rounds that use no block twice: the circle method.
fn schedule(blocks: usize) -> Vec<Vec<Tile>> {
    let tile = |a: usize, b: usize| Tile { first: a.min(b), second: a.max(b), edges: 0..0 };
    let diagonal = (0..blocks).map(|block| tile(block, block)).collect();
    let even = blocks + blocks % 2;
    let turn = even.saturating_sub(1);
    let round = |number: usize| {
        // One block keeps its seat, and all others move on by one seat a round.
        let pairs = (0..even / 2).map(|k| match k {
            0 => (turn, number),
            _ => ((number + k) % turn, (number + turn - k) % turn),
        });
        pairs.filter(|&(a, b)| a < blocks && b < blocks).map(|(a, b)| tile(a, b)).collect()
    };
    std::iter::once(diagonal).chain((0..turn).map(round)).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::network::Clustered;

    #[test]
    fn a_schedule_has_every_pair_once_and_no_block_twice_in_a_round() {
        for blocks in 1..12 {
            let rounds = schedule(blocks);
            let pairs: BTreeSet<_> =
                rounds.iter().flatten().map(|tile| (tile.first, tile.second)).collect();
            assert_eq!(pairs.len(), blocks * (blocks + 1) / 2);
            assert_eq!(rounds.iter().flatten().count(), pairs.len());
            for round in rounds.iter().skip(1) {
                let used: BTreeSet<_> = round.iter().flat_map(|t| [t.first, t.second]).collect();
                assert_eq!(used.len(), 2 * round.len(), "{round:?}");
            }
        }
    }

    #[test]
    fn rows_and_edges_go_in_and_come_out_unchanged() {
        let clustered = Clustered { clusters: 2, nodes: 400, inside: 0.2, between: 0.01, seed: 1 };
        let (network, _) = clustered.make().unwrap();
        let layout = TileLayout::new(&network, 16);
        assert!(layout.rounds.len() > 1);
        let rows: Vec<f64> = (0..network.len() * 3).map(|k| k as f64).collect();
        let edges: Vec<f64> = (0..network.edges().len() * 3).map(|k| k as f64).collect();
        assert_eq!(layout.rows_out(&layout.rows_in(&rows, 3, 16), 3, 16), rows);
        assert_eq!(layout.edges_out(&layout.edges_in(&edges, 3, 16), 3, 16), edges);
        for tile in layout.rounds.iter().flatten() {
            for slot in tile.edges.clone() {
                let (edge, turned) = layout.edges[slot];
                let ends = &network.edges()[edge];
                let at = |block: usize, inside: u32| {
                    layout.nodes[block * layout.block + inside as usize]
                };
                let (source, target) = (
                    at(tile.first, layout.ends[slot].source),
                    at(tile.second, layout.ends[slot].target),
                );
                let expected =
                    if turned { (ends.target, ends.source) } else { (ends.source, ends.target) };
                assert_eq!((source, target), expected);
            }
        }
    }
}
