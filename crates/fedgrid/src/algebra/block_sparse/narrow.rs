//! Solutions for a few right-hand sides, one supernode after the other in one vector,
//!
//! ```text
//! forward    x₁ ← L₁₁⁻¹ x₁,   x₂ ← x₂ − L₂₁ x₁
//! backward   x₁ ← L₁₁⁻ᵀ (x₁ − L₂₁ᵀ x₂)
//! ```
//!
//! with x in the order of elimination. Every number of the factor is read twice and met by so few others that memory
//! for fronts and other threads would cost more than all of it; `solve` is for more right-hand sides.

#![expect(clippy::inline_always, reason = "what is not inlined is not compiled for wide vectors")]

use super::{
    factor::{Columns, panels},
    pattern::{Pattern, Supernode},
};
use crate::algebra::{SimdTask, simd};

/// How many right-hand sides are few: their sums for several rows stay in registers.
pub(super) const MOST_SIDES: usize = 8;
/// Rows that are met together, so that sums need not wait for one another.
const ROWS: usize = 4;

/// Solves for `width` right-hand sides, with `size` rows of so many numbers per node.
pub(super) fn solve(
    pattern: &Pattern,
    supernodes: &[Columns],
    b: &mut [f64],
    (size, width): (usize, usize),
) {
    let own = size * width;
    let mut x = Vec::with_capacity(b.len());
    for &node in &pattern.nodes {
        x.extend_from_slice(&b[node * own..(node + 1) * own]);
    }
    let work = (pattern, supernodes, size);
    match width {
        1 => simd::dispatch(Both::<1> { work, x: &mut x }),
        2 => simd::dispatch(Both::<2> { work, x: &mut x }),
        3 => simd::dispatch(Both::<3> { work, x: &mut x }),
        4 => simd::dispatch(Both::<4> { work, x: &mut x }),
        5 => simd::dispatch(Both::<5> { work, x: &mut x }),
        6 => simd::dispatch(Both::<6> { work, x: &mut x }),
        7 => simd::dispatch(Both::<7> { work, x: &mut x }),
        _ => simd::dispatch(Both::<MOST_SIDES> { work, x: &mut x }),
    }
    for (&node, x) in pattern.nodes.iter().zip(x.chunks_exact(own)) {
        b[node * own..(node + 1) * own].copy_from_slice(x);
    }
}

/// Both ways for W right-hand sides.
struct Both<'a, const W: usize> {
    work: (&'a Pattern, &'a [Columns], usize),
    x: &'a mut [f64],
}

impl<const W: usize> SimdTask for Both<'_, W> {
    #[inline(always)]
    fn run(self) {
        let (pattern, supernodes, size) = self.work;
        let (x, _) = self.x.as_chunks_mut::<W>();
        for (own, columns) in pattern.supernodes.iter().zip(supernodes) {
            let (x, later) = x[own.columns.start * size..].split_at_mut(columns.width);
            forward(own, columns, (x, later), size);
        }
        for (own, columns) in pattern.supernodes.iter().zip(supernodes).rev() {
            let (x, later) = x[own.columns.start * size..].split_at_mut(columns.width);
            backward(own, columns, (x, later), size);
        }
    }
}

/// Rows of a supernode's columns, from one of its columns on.
#[derive(Clone, Copy)]
struct Lower<'a> {
    rows: &'a [f64],
    stride: usize,
    at: usize,
}

impl<'a> Lower<'a> {
    #[inline(always)]
    fn new(columns: &'a Columns, row: usize, at: usize) -> Self {
        Self { rows: &columns.entries[row * columns.width..], stride: columns.width, at }
    }

    /// So many numbers of a row.
    #[inline(always)]
    fn row(self, row: usize, count: usize) -> &'a [f64] {
        &self.rows[row * self.stride + self.at..][..count]
    }
}

#[inline(always)]
fn forward<const W: usize>(
    own: &Supernode,
    columns: &Columns,
    (x, later): (&mut [[f64; W]], &mut [[f64; W]]),
    size: usize,
) {
    for (first, end) in panels(columns.width) {
        let triangle = Lower::new(columns, first, first);
        // The last row first, since it needs all others as they were.
        for row in (0..end - first).rev() {
            x[first + row] = row_sum(triangle.row(row, row + 1), &x[first..=first + row]);
        }
        let (known, open) = x.split_at_mut(end);
        take(Lower::new(columns, end, first), &known[first..], open);
    }
    for (place, row) in own.rows.iter().enumerate() {
        let to = &mut later[(row - own.columns.end) * size..][..size];
        take(Lower::new(columns, columns.width + place * size, 0), x, to);
    }
}

#[inline(always)]
fn backward<const W: usize>(
    own: &Supernode,
    columns: &Columns,
    (x, later): (&mut [[f64; W]], &mut [[f64; W]]),
    size: usize,
) {
    for (place, row) in own.rows.iter().enumerate() {
        let from = &later[(row - own.columns.end) * size..][..size];
        take_turned(Lower::new(columns, columns.width + place * size, 0), from, x);
    }
    for (first, end) in panels(columns.width).rev() {
        let (open, known) = x.split_at_mut(end);
        let open = &mut open[first..];
        take_turned(Lower::new(columns, end, first), known, open);
        let triangle = Lower::new(columns, first, first);
        // Row by row: what is above needs this one as it was.
        for row in 0..open.len() {
            let (above, rest) = open.split_at_mut(row);
            let factors = triangle.row(row, row + 1);
            let from = rest[0];
            for (to, factor) in above.iter_mut().zip(factors) {
                add(to, *factor, &from);
            }
            rest[0] = from.map(|x| factors[row] * x);
        }
    }
}

#[inline(always)]
fn add<const W: usize>(to: &mut [f64; W], factor: f64, from: &[f64; W]) {
    for c in 0..W {
        to[c] += factor * from[c];
    }
}

/// The sum over a row's numbers, in four partial sums.
#[inline(always)]
fn row_sum<const W: usize>(row: &[f64], from: &[[f64; W]]) -> [f64; W] {
    let mut sums = [[0.0; W]; 4];
    let ((row, rest_row), (from, rest_from)) = (row.as_chunks::<4>(), from.as_chunks::<4>());
    for (factors, from) in row.iter().zip(from) {
        for k in 0..4 {
            add(&mut sums[k], factors[k], &from[k]);
        }
    }
    for (factor, from) in rest_row.iter().zip(rest_from) {
        add(&mut sums[0], *factor, from);
    }
    std::array::from_fn(|c| (sums[0][c] + sums[1][c]) + (sums[2][c] + sums[3][c]))
}

/// `to_r ← to_r − Σ_k L_rk from_k`
#[inline(always)]
fn take<const W: usize>(lower: Lower, from: &[[f64; W]], to: &mut [[f64; W]]) {
    for (row, to) in to.iter_mut().enumerate() {
        add(to, -1.0, &row_sum(lower.row(row, from.len()), from));
    }
}

/// `to_k ← to_k − Σ_r L_rk from_r`
#[inline(always)]
fn take_turned<const W: usize>(lower: Lower, from: &[[f64; W]], to: &mut [[f64; W]]) {
    let (groups, rest) = from.as_chunks::<ROWS>();
    for (group, from) in groups.iter().enumerate() {
        let [a, b, c, d] = [0, 1, 2, 3].map(|row| lower.row(group * ROWS + row, to.len()));
        for ((((to, a), b), c), d) in to.iter_mut().zip(a).zip(b).zip(c).zip(d) {
            for (factor, from) in [a, b, c, d].into_iter().zip(from) {
                add(to, -factor, from);
            }
        }
    }
    for (row, from) in rest.iter().enumerate() {
        let factors = lower.row(groups.len() * ROWS + row, to.len());
        for (to, factor) in to.iter_mut().zip(factors) {
            add(to, -factor, from);
        }
    }
}
