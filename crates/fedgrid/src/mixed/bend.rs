//! The second derivatives of the likelihood without a network.
//!
//! ```text
//! d²(−2ℓ)[dθ] = Σ_i tr(G_i dθ W_i dθ) − tr(B dS B dS) − (2/σ²) cᵀB c − h²/(σ⁴ (N − p))
//! W = −G + 2 G B G + (2/σ²) g gᵀ,   dS = Σ G dθ G,   c = Σ G dθ g,   h = Σ gᵀdθ g
//! by T:  dθ = D Tᵀ + T Dᵀ,   and  2 tr(∂/∂θ D Dᵀ)  more
//! ```
//!
//! with G, g, B and σ² of `apart.rs` (no term in B but that of c for ML). The second term is about one node's part of the
//! first: where covariances of many nodes are sought it would take longest, and is left out.

use super::{
    Likelihood,
    apart::{Apart, Whitened},
    bend_terms::{MeanTerms, Products, SchurTerms},
};
use crate::algebra::{add_scaled, simd, triangle};

/// Nodes whose products are added up at once.
const NODES_AT_ONCE: usize = 4;
/// Products of numbers that the second term is worth where covariances are sought: some tens of milliseconds.
const MOST_MEAN_PRODUCTS: f64 = 5e7;

/// The second derivatives by these entries of T, of which `slope` is the derivative by θ.
pub(super) fn bend(
    apart: &Apart,
    found: &Whitened,
    (factor, slope): (&[f64], &[f64]),
    entries: &[(usize, usize)],
) -> Vec<f64> {
    let q = apart.random;
    let is_diagonal = entries.len() == q;
    let mut bend = if is_diagonal {
        by_diagonal(apart, found, factor)
    } else {
        by_triangle(apart, found, factor, entries)
    };
    let size = entries.len();
    for (a, (row, column)) in entries.iter().enumerate() {
        for (b, (other, there)) in entries.iter().enumerate() {
            if column == there {
                bend[a * size + b] += 2.0 * slope[row * q + other];
            }
        }
    }
    bend
}

/// Without the derivative by θ, for a diagonal T.
fn by_diagonal(apart: &Apart, found: &Whitened, factor: &[f64]) -> Vec<f64> {
    let (q, p) = (apart.random, apart.fixed.len());
    let is_restricted = apart.likelihood == Likelihood::Restricted;
    // Products of G and W, then c, h and dS of every entry.
    let (moved, squares) = (q * p, if is_restricted { q * p * p } else { 0 });
    let sums = apart.summed_parts(found, q * q + moved + q + squares, |nodes, sum| {
        let (products, rest) = sum.split_at_mut(q * q);
        let (moved, rest) = rest.split_at_mut(moved);
        let (own, squares) = rest.split_at_mut(q);
        let (mut gram, mut weights) = (vec![0.0; triangle(q)], vec![0.0; triangle(q)]);
        let (mut cross, mut column) = (vec![0.0; p * q], vec![0.0; p]);
        nodes.each(|node| {
            node.gram(q, &mut gram);
            node.weights(q, &gram, found.noise, &mut weights);
            node.cross((p, q), &mut cross);
            for k in 0..q {
                let products = &mut products[k * q..=k * q + k];
                let lower = triangle(k)..=triangle(k) + k;
                for (to, (a, b)) in
                    products.iter_mut().zip(gram[lower.clone()].iter().zip(&weights[lower]))
                {
                    *to += a * b;
                }
                own[k] += node.slope[k] * node.slope[k];
                let entries = column.iter_mut().zip(cross.iter().skip(k).step_by(q));
                entries.for_each(|(to, from)| *to = *from);
                add_scaled(&mut moved[k * p..(k + 1) * p], node.slope[k], &column);
                if is_restricted {
                    let square = &mut squares[k * p * p..(k + 1) * p * p];
                    for (square, x) in square.chunks_exact_mut(p).zip(&column) {
                        add_scaled(square, *x, &column);
                    }
                }
            }
        });
    });
    let (products, rest) = sums.split_at(q * q);
    let (moved, rest) = rest.split_at(moved);
    let (own, squares) = rest.split_at(q);
    let changes = squares.chunks_exact((p * p).max(1)).map(<[f64]>::to_vec);
    let schur = is_restricted.then(|| SchurTerms::of(found, p, changes));
    let means = MeanTerms::new(apart, found, moved, own);
    let mut bend = vec![0.0; q * q];
    for k in 0..q {
        for l in 0..=k {
            let mut entry = products[k * q + l] + means.entry(k, l);
            entry -= schur.as_ref().map_or(0.0, |schur| schur.entry(k, l));
            // Both halves of D Tᵀ + T Dᵀ.
            entry *= 4.0 * factor[k * (q + 1)] * factor[l * (q + 1)];
            (bend[k * q + l], bend[l * q + k]) = (entry, entry);
        }
    }
    bend
}

/// Without the derivative by θ, for entries of a triangle T.
fn by_triangle(
    apart: &Apart,
    found: &Whitened,
    factor: &[f64],
    entries: &[(usize, usize)],
) -> Vec<f64> {
    let q = apart.random;
    let by_covariances = by_covariances(apart, found);
    let (pairs, size) = (triangle(q), entries.len());
    // What an entry of T changes of θ, pair by pair.
    let changes = |&(row, column): &(usize, usize)| -> Vec<(usize, f64)> {
        let twice = |other: usize| if other == row { 2.0 } else { 1.0 };
        (0..q)
            .map(|other| (pair(row, other), twice(other) * factor[other * q + column]))
            .filter(|(_, change)| *change != 0.0)
            .collect()
    };
    let changes: Vec<Vec<(usize, f64)>> = entries.iter().map(changes).collect();
    let mut bend = vec![0.0; size * size];
    let mut row = vec![0.0; pairs];
    for (a, own) in changes.iter().enumerate() {
        row.fill(0.0);
        for &(at, change) in own {
            add_scaled(&mut row, change, &by_covariances[at * pairs..(at + 1) * pairs]);
        }
        for (b, other) in changes.iter().enumerate().take(a + 1) {
            let entry = other.iter().map(|&(at, change)| change * row[at]).sum();
            (bend[a * size + b], bend[b * size + a]) = (entry, entry);
        }
    }
    bend
}

/// The place of an entry in a lower triangle, row by row.
fn pair(a: usize, b: usize) -> usize {
    triangle(a.max(b)) + a.min(b)
}

/// The second derivatives by the entries of θ, each of which stands for both of its places.
fn by_covariances(apart: &Apart, found: &Whitened) -> Vec<f64> {
    let (sums, with_means) = covariance_sums(apart, found);
    let (q, p) = (apart.random, apart.fixed.len());
    let (pairs, crosses) = (triangle(q), q * q * p);
    let (products, rest) = sums.split_at(pairs * pairs);
    let (crosses, rest) = rest.split_at(crosses);
    let (own, squares) = rest.split_at(pairs);
    let places: Vec<(usize, usize)> =
        (0..q).flat_map(|row| (0..=row).map(move |column| (row, column))).collect();
    let (mut moved, mut both) = (vec![0.0; pairs * p], own.to_vec());
    for (at, &(b, c)) in places.iter().enumerate() {
        for (row, moved) in moved[at * p..(at + 1) * p].iter_mut().enumerate() {
            *moved = crosses[(c * p + row) * q + b];
            if b != c {
                *moved += crosses[(b * p + row) * q + c];
            }
        }
        if b != c {
            both[at] *= 2.0;
        }
    }
    let means = MeanTerms::new(apart, found, &moved, &both);
    let schur = with_means.then(|| SchurTerms::new(found, squares, (p, q), &places));
    let mut bend = vec![0.0; pairs * pairs];
    let product =
        |a: usize, b: usize, c: usize, d: usize| products[pair(a, b) * pairs + pair(c, d)];
    for (at, &(b, c)) in places.iter().enumerate() {
        for (other, &(a, d)) in places.iter().enumerate().take(at + 1) {
            let mut entry = product(a, b, c, d);
            if b != c {
                entry += product(a, c, b, d);
            }
            if a != d {
                entry += product(d, b, c, a);
            }
            if b != c && a != d {
                entry += product(d, c, b, a);
            }
            entry += means.entry(at, other);
            entry -= schur.as_ref().map_or(0.0, |schur| schur.entry(at, other));
            (bend[at * pairs + other], bend[other * pairs + at]) = (entry, entry);
        }
    }
    bend
}

/// Products of G and W, `G_fb g_c`, products of g and, if they are worth it, products of `G_fb` and `G_gc`, over all nodes.
fn covariance_sums(apart: &Apart, found: &Whitened) -> (Vec<f64>, bool) {
    let (q, p) = (apart.random, apart.fixed.len());
    let (pairs, crosses) = (triangle(q), q * q * p);
    let with_means = apart.likelihood == Likelihood::Restricted
        && (apart.nodes() * (p * q).pow(2)) as f64 <= MOST_MEAN_PRODUCTS;
    let squares = if with_means { (p * q).pow(2) } else { 0 };
    let sums =
        apart.summed_parts(found, pairs * pairs + crosses + pairs + squares, |nodes, sum| {
            let (products, rest) = sum.split_at_mut(pairs * pairs);
            let (crosses, rest) = rest.split_at_mut(crosses);
            let (own, squares) = rest.split_at_mut(pairs);
            let mut left = vec![0.0; NODES_AT_ONCE * pairs];
            let mut right = vec![0.0; NODES_AT_ONCE * pairs];
            let mut cross = vec![0.0; p * q];
            let mut count = 0;
            nodes.each(|node| {
                let range = count * pairs..(count + 1) * pairs;
                node.gram(q, &mut left[range.clone()]);
                node.weights(q, &left[range.clone()], found.noise, &mut right[range]);
                node.cross((p, q), &mut cross);
                for (k, slope) in node.slope.iter().enumerate() {
                    add_scaled(&mut crosses[k * p * q..(k + 1) * p * q], *slope, &cross);
                    add_scaled(&mut own[triangle(k)..=triangle(k) + k], *slope, &node.slope);
                }
                for (squares, x) in squares.chunks_exact_mut(p * q).zip(&cross) {
                    add_scaled(squares, *x, &cross);
                }
                count += 1;
                if count == NODES_AT_ONCE {
                    simd::dispatch(Products {
                        sum: &mut *products,
                        left: &left,
                        right: &right,
                        pairs,
                    });
                    count = 0;
                }
            });
            left[count * pairs..].fill(0.0);
            simd::dispatch(Products { sum: products, left: &left, right: &right, pairs });
        });
    (sums, with_means)
}
