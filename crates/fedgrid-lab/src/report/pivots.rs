//! The rough shape of a network from hop distances to a few pivots (pivot MDS, after Brandes and
//! Pich): with dᵢₚ the hops from node i to pivot p and C the doubly centred −½ d²,
//!
//! ```text
//! x = C v₁,   y = C v₂        with v₁, v₂ the leading eigenvectors of Cᵀ C
//! ```

use std::collections::VecDeque;

use super::layout::Point;

/// More pivots hardly change the shape, and each costs a breadth-first search of the network.
const MAX_PIVOTS: usize = 40;
/// Enough for two axes that point roughly along the network; springs do the rest.
const POWER_STEPS: usize = 60;

/// Multidimensional scaling of the hop distances to pivots, each the farthest from those before.
pub(super) fn pivot_scaling(neighbours: &[Vec<usize>]) -> Vec<Point> {
    let count = neighbours.len();
    let mut nearest = vec![f64::INFINITY; count];
    let mut columns = Vec::new();
    let mut pivot = 0;
    for _ in 0..MAX_PIVOTS.min(count) {
        let hops = hops_from(pivot, neighbours);
        nearest.iter_mut().zip(&hops).for_each(|(least, hop)| *least = least.min(*hop));
        pivot = (0..count).fold(0, |a, b| if nearest[b] > nearest[a] { b } else { a });
        columns.push(hops.iter().map(|hop| -0.5 * hop * hop).collect::<Vec<f64>>());
    }
    centre(&mut columns);
    let first = leading(&columns, None);
    let second = leading(&columns, Some(&first));
    let along = |v: &[f64], i: usize| columns.iter().zip(v).map(|(c, w)| c[i] * w).sum::<f64>();
    (0..count).map(|i| (along(&first, i), along(&second, i))).collect()
}

fn hops_from(start: usize, neighbours: &[Vec<usize>]) -> Vec<f64> {
    let mut hops = vec![f64::INFINITY; neighbours.len()];
    hops[start] = 0.0;
    let mut open = VecDeque::from([start]);
    while let Some(node) = open.pop_front() {
        for &other in &neighbours[node] {
            if hops[other].is_infinite() {
                hops[other] = hops[node] + 1.0;
                open.push_back(other);
            }
        }
    }
    hops
}

/// Takes the mean of every row and of every column away.
fn centre(columns: &mut [Vec<f64>]) {
    let (width, height) = (columns.len() as f64, columns.first().map_or(0, Vec::len));
    for row in 0..height {
        let mean = columns.iter().map(|column| column[row]).sum::<f64>() / width;
        for column in columns.iter_mut() {
            column[row] -= mean;
        }
    }
    for column in columns {
        let mean = column.iter().sum::<f64>() / height as f64;
        for value in column {
            *value -= mean;
        }
    }
}

/// The leading eigenvector of `CᵀC`, orthogonal to one already found.
fn leading(columns: &[Vec<f64>], found: Option<&[f64]>) -> Vec<f64> {
    let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>();
    let gram: Vec<Vec<f64>> =
        columns.iter().map(|a| columns.iter().map(|b| product(a, b)).collect()).collect();
    // Not all ones: rows of C add up to zero, so that C would take them to nothing.
    let mut vector: Vec<f64> = (0..columns.len()).map(|i| spread(i).0).collect();
    for _ in 0..POWER_STEPS {
        // Rounding brings the first direction back, so it is taken out in every step.
        if let Some(found) = found {
            let part = product(&vector, found);
            vector.iter_mut().zip(found).for_each(|(v, f)| *v -= part * f);
        }
        let length = product(&vector, &vector).sqrt();
        if length > 0.0 {
            vector = vector.iter().map(|v| v / length).collect();
        }
        let next: Vec<f64> = gram.iter().map(|row| product(row, &vector)).collect();
        if product(&next, &next) > 0.0 {
            vector = next;
        }
    }
    let length = product(&vector, &vector).sqrt().max(f64::MIN_POSITIVE);
    vector.iter().map(|v| v / length).collect()
}

/// A point in the unit square around the origin that is far from those of other numbers
/// (multiples of the plastic ratio's powers).
pub(super) fn spread(number: usize) -> Point {
    let turn = (number + 1) as f64;
    ((turn * 0.754_877_666_246_692_8).fract() - 0.5, (turn * 0.569_840_290_998_053_3).fract() - 0.5)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_drawn_as_a_line_in_its_order() {
        let path: Vec<Vec<usize>> = (0..30_usize)
            .map(|i| [i.wrapping_sub(1), i + 1].into_iter().filter(|j| *j < 30).collect())
            .collect();
        let points = pivot_scaling(&path);
        let steps: Vec<f64> = points.windows(2).map(|pair| pair[1].0 - pair[0].0).collect();
        assert!(steps.iter().all(|step| step * steps[0] > 0.0));
    }
}
