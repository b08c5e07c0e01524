//! Rows that are turned or multiplied so that they count as many as they tell.

use crate::algebra::{add_scaled, dot, scale, triangularise};

/// Rows without deviations that are made a triangle at a time, in triangles.
const MOST_TRIANGLES: usize = 8;

/// Adds rows to a triangle.
pub(super) fn add_rest(rest: &mut Vec<f64>, rows: &[f64], width: usize) {
    rest.extend_from_slice(rows);
    if rest.len() > MOST_TRIANGLES * width * width {
        let mut sides = vec![0.0; rest.len() / width];
        triangularise(rest, width, &mut sides);
    }
}

/// Multiplies the rows of a node by L⁻¹, and gives log|V|.
pub(super) fn whiten(
    rows: &mut [f64],
    width: usize,
    factor: &[f64],
    q: usize,
    scratch: &mut Vec<f64>,
) -> f64 {
    let count = rows.len() / width;
    scratch.clear();
    scratch.resize(count * q, 0.0);
    // X T, of a triangle T.
    for (row, spread) in rows.chunks_exact(width).zip(scratch.chunks_exact_mut(q)) {
        for (k, x) in row[..q].iter().enumerate() {
            add_scaled(&mut spread[..=k], *x, &factor[k * q..=k * (q + 1)]);
        }
    }
    let mut logarithm = 0.0;
    // Each row with those before it, of which `known` has the factors.
    let mut lower = vec![0.0; count * count];
    for row in 0..count {
        let own = &scratch[row * q..(row + 1) * q];
        let (before, rest) = rows.split_at_mut(row * width);
        let (known, entries) = lower.split_at_mut(row * count);
        for (column, whitened) in before.chunks_exact(width).enumerate() {
            let other = &known[column * count..(column + 1) * count];
            let product = dot(own, &scratch[column * q..(column + 1) * q]);
            let entry = (product - dot(&entries[..column], &other[..column])) * other[column];
            entries[column] = entry;
            add_scaled(&mut rest[..width], -entry, whitened);
        }
        let pivot = 1.0 + dot(own, own) - dot(&entries[..row], &entries[..row]);
        logarithm += pivot.ln();
        // One over it, as all rows after it need it.
        entries[row] = 1.0 / pivot.sqrt();
        scale(&mut rest[..width], entries[row]);
    }
    logarithm
}
