//! The entries of the inverse in the front of a supernode, panel by panel from the last to the first.
//!
//! ```text
//! Y = L_Rp L_pp⁻¹       R the rows after panel p, whose part of the inverse is known
//! Z_Rp = −Z_RR Y        Z_pp = L_pp⁻ᵀ L_pp⁻¹ − Z_pR Y
//! ```
//!
//! [Takahashi, Fagan and Chin 1973; Erisman and Tinney 1975.] The part of every child's rows is handed down.

use super::{
    factor::{Columns, panels},
    kernel::{Part, Place, Strips, add_product, add_product_within},
    pattern::{Pattern, Supernode},
};
use crate::algebra::add_scaled;

/// What is kept of the inverse in a front.
pub(super) struct Selected {
    /// The blocks of its columns.
    pub(super) blocks: Vec<f64>,
    /// The sum over its edges of their weight times the trace of their block, in the rows that they touch.
    pub(super) weighted_traces: f64,
}

/// The entries of a supernode's columns, given those of its rows in a front that is else zero, and the same for every
/// child.
pub(super) fn inverted(
    pattern: &Pattern,
    index: usize,
    columns: &Columns,
    (size, coupled): (usize, usize),
    of_rows: Option<Vec<f64>>,
) -> (Selected, Vec<Vec<f64>>) {
    let own = &pattern.supernodes[index];
    let front = Front::new(columns, of_rows);
    let children = own.children.iter();
    let below = children.map(|&child| front.of_rows(&pattern.supernodes[child], size)).collect();
    (front.selected(own, size, coupled), below)
}

/// A square of the inverse.
struct Front {
    entries: Vec<f64>,
    side: usize,
}

impl Front {
    fn new(columns: &Columns, of_rows: Option<Vec<f64>>) -> Self {
        let (width, side) = (columns.width, columns.width + columns.below);
        let entries = of_rows.unwrap_or_else(|| vec![0.0; side * side]);
        let mut front = Self { entries, side };
        for (first, end) in panels(width).rev() {
            front.panel(columns, first, end);
        }
        front
    }

    fn panel(&mut self, columns: &Columns, first: usize, end: usize) {
        let (side, count) = (self.side, end - first);
        let rows: Vec<&[f64]> = columns.inverse(first, end).collect();
        for (k, row) in rows.iter().enumerate() {
            for i in 0..=k {
                let to = (first + i) * side + first;
                add_scaled(&mut self.entries[to..=to + i], row[i], &row[..=i]);
            }
        }
        if end < side {
            let strips = Strips::of_rows(count, count, |k| rows[k]);
            let lower = &columns.entries[end * columns.width..];
            let from = Place { stride: columns.width, at: first };
            let mut scaled = vec![0.0; (side - end) * count];
            let to = (&mut scaled[..], Place { stride: count, at: 0 });
            add_product(to, (lower, from), &strips, 1.0, Part::All);
            let strips = Strips::of_rows(side - end, count, |k| &scaled[k * count..]);
            let (before, after) = self.entries.split_at_mut(end * side);
            add_product_within(after, side, (first, end), &strips, -1.0);
            let own = &mut before[first * side..];
            for (row, from) in after.chunks_exact(side).enumerate() {
                for (k, entry) in from[first..end].iter().enumerate() {
                    own[k * side + end + row] = *entry;
                }
            }
            add_product_within(own, side, (first, end), &strips, -1.0);
        }
        // Children are handed whole rows, so that both triangles are needed.
        for row in first..end {
            for column in first..row {
                self.entries[column * side + row] = self.entries[row * side + column];
            }
        }
    }

    /// The entries of a child's rows in its front, with zeros for its columns.
    fn of_rows(&self, child: &Supernode, size: usize) -> Vec<f64> {
        let (width, side) =
            (child.columns.len() * size, (child.columns.len() + child.rows.len()) * size);
        let mut out = Vec::with_capacity(side * side);
        out.resize(width * side, 0.0);
        for run in &child.runs {
            for row in run.to * size..(run.to + run.length) * size {
                out.resize(out.len() + width, 0.0);
                let from = &self.entries[row * self.side..(row + 1) * self.side];
                for run in &child.runs {
                    out.extend_from_slice(&from[run.to * size..(run.to + run.length) * size]);
                }
            }
        }
        out
    }

    fn selected(&self, own: &Supernode, size: usize, coupled: usize) -> Selected {
        let mut blocks = Vec::with_capacity(own.columns.len() * size * size);
        for first in (0..own.columns.len()).map(|place| place * size) {
            for row in first..first + size {
                blocks.extend_from_slice(&self.entries[row * self.side + first..][..size]);
            }
        }
        let trace = |row: usize, column: usize| -> f64 {
            (0..coupled)
                .map(|k| self.entries[(row * size + k) * self.side + column * size + k])
                .sum()
        };
        let weighted_traces =
            own.edges.iter().map(|edge| edge.weight * trace(edge.row, edge.column)).sum();
        Selected { blocks, weighted_traces }
    }
}
