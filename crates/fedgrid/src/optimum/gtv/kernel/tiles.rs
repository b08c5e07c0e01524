//! Passes over all edges that add to the rows of their ends, tile by tile in the rounds of the
//! layout.

use rayon::prelude::*;

use super::layout::{Tile, TileLayout};

/// What a tile writes about the nodes of a block.
#[derive(Debug, Default)]
pub(crate) struct BlockRows<'a> {
    /// A row of each node.
    pub(crate) rows: &'a mut [f64],
    /// A number of each node; empty if there are none.
    pub(crate) counts: &'a mut [f64],
}

/// Gives each tile the rows of its edges and the rows of its two blocks of ends to write to, and
/// adds up what it answers. On the diagonal the second block is empty: it is the first. Without rows of
/// edges each tile gets none.
pub(crate) fn over_tiles(
    layout: &TileLayout,
    width: usize,
    edges: &mut [f64],
    ends: &mut [f64],
    pass: impl Fn(&Tile, &mut [f64], &mut [f64], &mut [f64]) -> f64 + Sync,
) -> f64 {
    let ends = BlockRows { rows: ends, counts: &mut [] };
    over_counted_tiles(layout, width, edges, ends, |tile, own, first, second| {
        pass(tile, own, first.rows, second.rows)
    })
}

/// The same with a number of each end to write to as well, if there are any.
pub(crate) fn over_counted_tiles(
    layout: &TileLayout,
    width: usize,
    edges: &mut [f64],
    ends: BlockRows,
    pass: impl Fn(&Tile, &mut [f64], BlockRows, BlockRows) -> f64 + Sync,
) -> f64 {
    let BlockRows { rows: all, counts: numbers } = ends;
    let rows = (layout.block * width).max(1);
    let mut total = 0.0;
    let mut left = edges;
    for round in &layout.rounds {
        let mut counts = numbers.chunks_mut(layout.block);
        let block = |rows| Some(BlockRows { rows, counts: counts.next().unwrap_or_default() });
        let mut blocks: Vec<Option<BlockRows>> = all.chunks_mut(rows).map(block).collect();
        let mut work = Vec::with_capacity(round.len());
        for tile in round {
            let (own, rest) = left.split_at_mut((tile.edges.len() * width).min(left.len()));
            left = rest;
            let first = blocks.get_mut(tile.first).and_then(Option::take).unwrap_or_default();
            let second = blocks.get_mut(tile.second).and_then(Option::take).unwrap_or_default();
            work.push((tile, own, first, second));
        }
        let each = |(tile, own, first, second): (&Tile, &mut [f64], BlockRows, BlockRows)| {
            pass(tile, own, first, second)
        };
        // A single tile is not worth waking a thread for.
        let parts: Vec<f64> = if work.len() == 1 {
            work.into_iter().map(each).collect()
        } else {
            work.into_par_iter().map(each).collect()
        };
        // In the order of tiles, whichever thread was first.
        total += parts.iter().sum::<f64>();
    }
    total
}

/// Adds up a number over all edges, in fixed order; `term` gets an edge and the slots of its ends.
pub(crate) fn over_edges(
    layout: &TileLayout,
    term: impl Fn(usize, (usize, usize), &mut Vec<f64>) -> f64 + Sync,
) -> f64 {
    let tiles: Vec<&Tile> = layout.rounds.iter().flatten().collect();
    let parts: Vec<f64> = tiles
        .par_iter()
        .map(|tile| {
            let (first, second) = (tile.first * layout.block, tile.second * layout.block);
            let ends = layout.ends[tile.edges.clone()].iter().zip(tile.edges.clone());
            let mut room = Vec::new();
            ends.map(|(ends, edge)| {
                let (from, to) = (first + ends.source as usize, second + ends.target as usize);
                term(edge, (from, to), &mut room)
            })
            .sum::<f64>()
        })
        .collect();
    parts.iter().sum()
}
