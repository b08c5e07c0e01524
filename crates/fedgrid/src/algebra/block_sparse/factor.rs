//! The factor of a supernode, panel by panel of a few columns.
//!
//! ```text
//! F = [ F₁₁      ]      own entries and what the supernodes below hand up
//!     [ F₂₁  F₂₂ ]
//! L₁₁ L₁₁ᵀ = F₁₁     L₂₁ = F₂₁ L₁₁⁻ᵀ     handed up: F₂₂ − L₂₁ L₂₁ᵀ
//! ```

use super::{
    kernel::{Part, Place, Strips, add_product, add_product_within},
    pattern::{Pattern, Supernode},
    triangle,
};
use crate::algebra::add_scaled;

/// How many columns are factored at once: their triangle is small work, and products with so many columns
/// are fast.
pub(super) const PANEL: usize = triangle::MOST_COLUMNS;

/// The columns of the factor that belong to a supernode, row by row: the rows of its own columns, and then
/// those below. The triangles of panels are there as their inverses.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Columns {
    pub(super) entries: Vec<f64>,
    /// How many columns there are.
    pub(super) width: usize,
    /// How many rows there are below.
    pub(super) below: usize,
    pub(super) log_determinant: f64,
}

/// The first and last column of every panel.
pub(super) fn panels(width: usize) -> impl DoubleEndedIterator<Item = (usize, usize)> {
    (0..width.div_ceil(PANEL)).map(move |k| (k * PANEL, width.min((k + 1) * PANEL)))
}

/// The entries of a matrix: blocks of nodes, and what an edge of weight one puts beside them.
#[derive(Clone, Copy)]
pub(super) struct Entries<'a> {
    pub(super) size: usize,
    pub(super) diagonal: &'a [f64],
    pub(super) coupling: f64,
    /// The rows of a block that edges touch, from the first on.
    pub(super) coupled: usize,
}

/// The columns of a supernode and what it hands up, below the diagonal; none if the matrix is not positive
/// definite.
pub(super) fn eliminated(
    pattern: &Pattern,
    index: usize,
    entries: Entries,
    handed: Vec<Vec<f64>>,
) -> Option<(Columns, Vec<f64>)> {
    let (own, size) = (&pattern.supernodes[index], entries.size);
    let (width, below) = (own.columns.len() * size, own.rows.len() * size);
    let mut columns =
        Columns { entries: vec![0.0; (width + below) * width], width, below, log_determinant: 0.0 };
    columns.fill(pattern, own, entries);
    let mut rest = vec![0.0; below * below];
    for (&child, update) in own.children.iter().zip(handed) {
        columns.take(&mut rest, &pattern.supernodes[child], &update, size);
    }
    for (first, end) in panels(width) {
        columns.factor(first, end)?;
    }
    if below > 0 {
        let lower = &columns.entries[width * width..];
        let strips = Strips::of_turned(width, below, |row| &lower[row * width..]);
        let from = Place { stride: width, at: 0 };
        let to = (&mut rest[..], Place { stride: below, at: 0 });
        add_product(to, (lower, from), &strips, -1.0, Part::Lower);
    }
    Some((columns, rest))
}

impl Columns {
    /// The entries of the matrix.
    fn fill(&mut self, pattern: &Pattern, own: &Supernode, entries: Entries) {
        let (size, width) = (entries.size, self.width);
        for (place, &node) in pattern.nodes[own.columns.clone()].iter().enumerate() {
            let block = &entries.diagonal[node * size * size..(node + 1) * size * size];
            for (row, from) in block.chunks_exact(size).enumerate() {
                let at = (place * size + row) * width + place * size;
                self.entries[at..at + size].copy_from_slice(from);
            }
        }
        for edge in &own.edges {
            for k in 0..entries.coupled {
                let at = (edge.row * size + k) * width + edge.column * size + k;
                self.entries[at] += entries.coupling * edge.weight;
            }
        }
    }

    /// Adds what a child hands up.
    fn take(&mut self, rest: &mut [f64], child: &Supernode, update: &[f64], size: usize) {
        let (width, below) = (self.width, self.below);
        let stride = child.rows.len() * size;
        for (at, run) in child.runs.iter().enumerate() {
            for k in 0..run.length * size {
                let from = &update[(run.from * size + k) * stride..][..stride];
                let row = run.to * size + k;
                for (before, other) in child.runs[..=at].iter().enumerate() {
                    // Up to the diagonal.
                    let count = if before == at { k + 1 } else { other.length * size };
                    let (first, to) = (other.from * size, other.to * size);
                    let target = if to < width {
                        &mut self.entries[row * width + to..][..count]
                    } else {
                        &mut rest[(row - width) * below + to - width..][..count]
                    };
                    add_scaled(target, 1.0, &from[first..first + count]);
                }
            }
        }
    }

    /// The factor of a panel, given those before it.
    fn factor(&mut self, first: usize, end: usize) -> Option<()> {
        let (width, count) = (self.width, end - first);
        if first > 0 {
            let row = |row: usize| &self.entries[(first + row) * width..];
            let strips = Strips::of_turned(first, count, row);
            let rows = &mut self.entries[first * width..];
            add_product_within(rows, width, (first, 0), &strips, -1.0);
        }
        let place = Place { stride: width, at: first };
        self.log_determinant += triangle::invert(&mut self.entries[first * width..], place, count)?;
        if end < width + self.below {
            let (panel, below) = self.entries.split_at_mut(end * width);
            let mut numerators = Vec::with_capacity(below.len() / width * count);
            for row in below.chunks_exact_mut(width) {
                numerators.extend_from_slice(&row[first..end]);
                // Products are added to what is there.
                row[first..end].fill(0.0);
            }
            let inverse = |row: usize| &panel[(first + row) * width + first..];
            let strips = Strips::of_turned(count, count, inverse);
            let from = (&numerators[..], Place { stride: count, at: 0 });
            add_product((below, place), from, &strips, 1.0, Part::All);
        }
        Some(())
    }

    /// The inverse of the triangle of a panel, row by row.
    pub(super) fn inverse(&self, first: usize, end: usize) -> impl Iterator<Item = &[f64]> {
        (first..end).map(move |row| &self.entries[row * self.width + first..row * self.width + end])
    }
}
