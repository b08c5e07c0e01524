//! Solutions for several right-hand sides at once: forward up the tree, and back down.
//!
//! ```text
//! x₁ ← L₁₁⁻¹ (b₁ − what is handed up)       handed up: L₂₁ x₁
//! x₁ ← L₁₁⁻ᵀ (x₁ − L₂₁ᵀ x₂)                 x₂ of later columns, handed down
//! ```

use super::{
    factor::{Columns, panels},
    kernel::{Part, Place, Strips, add_product, add_turned_product},
    pattern::{Pattern, Supernode},
};
use crate::algebra::{add_scaled, scale};

/// x₁ of a supernode on the way up, from its part of the right-hand sides, and what it hands up: what is
/// taken from those of its rows, with a minus.
pub(super) fn forward(
    pattern: &Pattern,
    index: usize,
    columns: &Columns,
    (mut x, width): (Vec<f64>, usize),
    handed: Vec<Vec<f64>>,
) -> (Vec<f64>, Vec<f64>) {
    let own = &pattern.supernodes[index];
    let size = columns.width / own.columns.len().max(1);
    let mut rest = vec![0.0; columns.below * width];
    for (&child, update) in own.children.iter().zip(handed) {
        for run in &pattern.supernodes[child].runs {
            let from = &update[run.from * size * width..][..run.length * size * width];
            let to = run.to * size * width;
            // No run reaches from columns into rows, so that its first place tells where all of it goes.
            if let Some(to) = to.checked_sub(x.len()) {
                add_scaled(&mut rest[to..], 1.0, from);
            } else {
                add_scaled(&mut x[to..], 1.0, from);
            }
        }
    }
    let place = Place { stride: width, at: 0 };
    for (first, end) in panels(columns.width) {
        times_triangle(columns, (first, end), &mut x[first * width..end * width], width);
        if end < columns.width {
            let (known, later) = x.split_at_mut(end * width);
            let known = &known[first * width..];
            let strips = Strips::of_rows(end - first, width, |k| &known[k * width..]);
            let lower = &columns.entries[end * columns.width..columns.width * columns.width];
            let from = Place { stride: columns.width, at: first };
            add_product((later, place), (lower, from), &strips, -1.0, Part::All);
        }
    }
    if columns.below > 0 {
        let strips = Strips::of_rows(columns.width, width, |k| &x[k * width..]);
        let lower = &columns.entries[columns.width * columns.width..];
        let from = Place { stride: columns.width, at: 0 };
        add_product((&mut rest, place), (lower, from), &strips, -1.0, Part::All);
    }
    (x, rest)
}

/// The solution of a supernode's columns, given that of its rows, and that of the rows of every child.
pub(super) fn backward(
    pattern: &Pattern,
    index: usize,
    columns: &Columns,
    (x, width): (&[f64], usize),
    of_rows: Option<Vec<f64>>,
) -> (Vec<f64>, Vec<Vec<f64>>) {
    let own = &pattern.supernodes[index];
    let size = columns.width / own.columns.len().max(1);
    let mut x = x.to_vec();
    let place = Place { stride: width, at: 0 };
    if let Some(rows) = &of_rows {
        let strips = Strips::of_rows(columns.below, width, |k| &rows[k * width..]);
        let lower = &columns.entries[columns.width * columns.width..];
        let from = Place { stride: columns.width, at: 0 };
        add_turned_product((&mut x, place), (lower, from), &strips, -1.0);
    }
    for (first, end) in panels(columns.width).rev() {
        if end < columns.width {
            let (open, known) = x.split_at_mut(end * width);
            let strips = Strips::of_rows(columns.width - end, width, |k| &known[k * width..]);
            let lower = &columns.entries[end * columns.width..columns.width * columns.width];
            let from = Place { stride: columns.width, at: first };
            let open = &mut open[first * width..];
            add_turned_product((open, place), (lower, from), &strips, -1.0);
        }
        times_turned_triangle(columns, (first, end), &mut x[first * width..end * width], width);
    }
    let rows = of_rows.unwrap_or_default();
    let of_child = |child: &Supernode| {
        let mut out = Vec::with_capacity(child.rows.len() * size * width);
        for run in &child.runs {
            let (to, count) = (run.to * size * width, run.length * size * width);
            out.extend_from_slice(match to.checked_sub(x.len()) {
                Some(to) => &rows[to..to + count],
                None => &x[to..to + count],
            });
        }
        out
    };
    let below = own.children.iter().map(|&child| of_child(&pattern.supernodes[child])).collect();
    (x, below)
}

/// `x ← L⁻¹ x` for the triangle of a panel.
fn times_triangle(columns: &Columns, (first, end): (usize, usize), x: &mut [f64], width: usize) {
    let rows: Vec<&[f64]> = columns.inverse(first, end).collect();
    // The last row first, since it needs all others as they were.
    for (row, factors) in rows.iter().enumerate().rev() {
        let (before, own) = x.split_at_mut(row * width);
        let own = &mut own[..width];
        scale(own, factors[row]);
        for (factor, from) in factors[..row].iter().zip(before.chunks_exact(width)) {
            add_scaled(own, *factor, from);
        }
    }
}

/// `x ← L⁻ᵀ x` for the triangle of a panel.
fn times_turned_triangle(
    columns: &Columns,
    (first, end): (usize, usize),
    x: &mut [f64],
    width: usize,
) {
    for (row, factors) in columns.inverse(first, end).enumerate() {
        // Row by row: what is above needs this one as it was.
        let (above, own) = x.split_at_mut(row * width);
        let own = &mut own[..width];
        for (factor, to) in factors[..row].iter().zip(above.chunks_exact_mut(width)) {
            add_scaled(to, *factor, own);
        }
        scale(own, factors[row]);
    }
}
