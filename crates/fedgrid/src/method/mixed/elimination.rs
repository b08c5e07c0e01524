//! A node's part in the elimination of all deviations along the tree.
//!
//! ```text
//! ↑  F_v = own block + own edges + Σ over children (what they left);   to the parent: F_v / pivots, Σ log|pivots|
//! ↓  to a child: x and the inverse at what it left, from which it finds both at all of its front
//! ```
//!
//! So one way up gives log|M| and the equations of the mean coefficients, and one way down the deviations of all
//! nodes with the blocks of the inverse at nodes and edges, exactly and whatever the condition of M is.

use super::fronts::Front;
use crate::{
    error::{Error, Result},
    mixed::{self, Eliminated, NodePart},
    network::NodeId,
};

/// What is sent where a system was singular in rounding.
const SINGULAR: [f64; 1] = [0.0];
/// Larger numbers are none: links refuse them.
const LARGEST: f64 = 1e11;

/// How many numbers belong to every node, and how many unknowns are never eliminated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Widths {
    /// q.
    pub(super) own: usize,
    /// How many of them edges couple, the first.
    pub(super) coupled: usize,
    /// p + 1: mean coefficients, and the right side.
    pub(super) tail: usize,
}

/// The symmetric parts that a node knows by itself.
#[derive(Debug)]
pub(super) struct OwnParts {
    /// q × q.
    pub(super) diagonal: Vec<f64>,
    /// q × tail.
    pub(super) sides: Vec<f64>,
    /// tail × tail.
    pub(super) corner: Vec<f64>,
    /// What edges add to the first side of all nodes of the front; empty if nothing.
    pub(super) edge_side: Vec<f64>,
    /// A number that is added up.
    pub(super) value: f64,
    /// What an edge of weight one takes off beside the diagonal.
    pub(super) coupling: f64,
}

/// What is known at all unknowns of a front.
#[derive(Debug)]
struct Known {
    inverse: Vec<f64>,
    solution: Vec<f64>,
}

/// A node's part.
#[derive(Debug)]
pub(super) struct Elimination {
    front: Front,
    /// The node's own place in the front.
    own: usize,
    /// The places of what each child leaves.
    places: Vec<Vec<usize>>,
    /// What each child has left, once it has told.
    pub(super) heard: Vec<Vec<f64>>,
    /// What the parent has told of what was left to it.
    pub(super) told: Vec<f64>,
    eliminated: Option<Eliminated>,
    known: Option<Known>,
}

impl Elimination {
    pub(super) fn new(fronts: &[Front], node: NodeId) -> Self {
        let front = fronts[node].clone();
        let of = |child: &NodeId| fronts[*child].rest().iter().map(|x| front.place(*x)).collect();
        let places: Vec<Vec<usize>> = front.children.iter().map(of).collect();
        Self {
            own: front.place(node),
            heard: vec![Vec::new(); places.len()],
            told: Vec::new(),
            eliminated: None,
            known: None,
            places,
            front,
        }
    }

    /// Before a new system.
    pub(super) fn clear(&mut self) {
        self.heard.iter_mut().for_each(Vec::clear);
        self.told.clear();
        (self.eliminated, self.known) = (None, None);
    }

    /// Whether all children have told.
    pub(super) fn is_complete(&self) -> bool {
        self.heard.iter().all(|told| !told.is_empty())
    }

    /// Takes what a child has left.
    pub(super) fn hear(&mut self, child: NodeId, told: &[f64], widths: Widths) -> Result<()> {
        let place = self.front.children.iter().position(|other| *other == child);
        let place = place.ok_or_else(|| missing("sums of no child"))?;
        let size = self.places[place].len() * widths.own + widths.tail;
        if told.len() != SINGULAR.len() && told.len() != 2 + size * (size + 1) / 2 {
            return Err(missing("another number of sums"));
        }
        self.heard[place] = told.to_vec();
        Ok(())
    }

    /// Eliminates, and says what is left: the logarithm of all determinants and the value so far, and the lower triangle.
    pub(super) fn condense(&mut self, own: &OwnParts, widths: Widths) -> Vec<f64> {
        let (mut logarithm, mut value) = (0.0, own.value);
        let mut front = self.assembled(own, widths);
        for (places, told) in self.places.iter().zip(&self.heard) {
            if told.len() == SINGULAR.len() {
                return SINGULAR.to_vec();
            }
            logarithm += told[0];
            value += told[1];
            let places = self.numbers(places, widths);
            front.add_at(&places, &unpacked(&told[2..], places.len()));
        }
        self.eliminated = front.eliminated();
        let Some(eliminated) = &self.eliminated else { return SINGULAR.to_vec() };
        let mut left = vec![logarithm + eliminated.log_determinant, value];
        left.extend(packed(&eliminated.left));
        // What cannot be told has no value.
        if left.iter().all(|x| x.abs() < LARGEST) { left } else { SINGULAR.to_vec() }
    }

    /// The own block and the own edges.
    fn assembled(&self, own: &OwnParts, widths: Widths) -> mixed::Front {
        let Widths { own: q, coupled, tail } = widths;
        let size = self.front.nodes.len() * q + tail;
        let mut front = mixed::Front::new(self.front.pivots * q, size);
        let places: Vec<usize> = (self.own * q..(self.own + 1) * q).collect();
        front.add_at(&places, &own.diagonal);
        let last: Vec<usize> = (size - tail..size).collect();
        front.add_at(&last, &own.corner);
        for (place, side) in places.iter().zip(own.sides.chunks_exact(tail)) {
            last.iter().zip(side).for_each(|(column, value)| front.add(*place, *column, *value));
        }
        let sides = own.edge_side.iter().enumerate();
        sides.for_each(|(place, value)| front.add(place, size - tail, *value));
        for &(a, b, weight) in &self.front.edges {
            (0..coupled).for_each(|k| front.add(a * q + k, b * q + k, -own.coupling * weight));
        }
        front
    }

    /// The places of the numbers of some nodes, and of what is never eliminated.
    fn numbers(&self, places: &[usize], widths: Widths) -> Vec<usize> {
        let (q, all) = (widths.own, self.front.nodes.len() * widths.own);
        let own = places.iter().flat_map(|place| place * q..(place + 1) * q);
        own.chain(all..all + widths.tail).collect()
    }

    /// Finds the solution and the inverse at all of the front, with these at what is never eliminated.
    pub(super) fn expand(
        &mut self,
        (inverse, solution): (&[f64], &[f64]),
        widths: Widths,
    ) -> Result<()> {
        let tail = widths.tail;
        let left = self.front.rest().len() * widths.own;
        let (size, width) = (left + tail, left + tail + 1);
        if self.told.len() != left * width {
            return Err(missing("another number of solutions"));
        }
        let eliminated = self.eliminated.as_ref().ok_or_else(|| missing("no system before it"))?;
        let mut known = vec![0.0; size * size];
        let mut values = Vec::with_capacity(size);
        for (row, told) in self.told.chunks_exact(width).enumerate() {
            known[row * size..(row + 1) * size].copy_from_slice(&told[..size]);
            (left..size).for_each(|column| known[column * size + row] = told[column]);
            values.push(told[size]);
        }
        for (row, own) in inverse.chunks_exact(tail).enumerate() {
            known[(left + row) * size + left..(left + row + 1) * size].copy_from_slice(own);
        }
        values.extend(solution);
        let (inverse, solution) = (eliminated.inverse(&known), eliminated.solution(&values));
        self.known = Some(Known { inverse, solution });
        Ok(())
    }

    /// What a child is told: rows of the inverse at what it left, each with its part of the solution.
    pub(super) fn part_of(&self, child: NodeId, widths: Widths) -> Vec<f64> {
        let place = self.front.children.iter().position(|other| *other == child);
        let Some((place, known)) = place.zip(self.known.as_ref()) else { return Vec::new() };
        let places = self.numbers(&self.places[place], widths);
        let size = known.solution.len();
        let mut told = Vec::new();
        for &row in &places[..places.len() - widths.tail] {
            told.extend(places.iter().map(|column| known.inverse[row * size + column]));
            told.push(known.solution[row]);
        }
        told
    }

    /// How many nodes the front has.
    pub(super) fn nodes(&self) -> usize {
        self.front.nodes.len()
    }

    /// The node's own of numbers of all nodes of the front.
    pub(super) fn own<'n>(&self, numbers: &'n [f64], q: usize) -> &'n [f64] {
        &numbers[self.own * q..(self.own + 1) * q]
    }

    /// The solution at all nodes of the front.
    pub(super) fn solution(&self, widths: Widths) -> Result<&[f64]> {
        let known = self.known.as_ref().ok_or_else(|| missing("no solution before it"))?;
        Ok(&known.solution[..known.solution.len() - widths.tail])
    }

    /// `Σ A_ij u_jᵀv_i` over both directions of the own edges.
    pub(super) fn edge_product(&self, u: &[f64], v: &[f64], widths: Widths) -> f64 {
        let q = widths.own;
        let of_edge = |&(a, b, weight): &(usize, usize, f64)| -> f64 {
            let pairs = (0..widths.coupled).map(|k| (a * q + k, b * q + k));
            pairs.map(|(x, y)| weight * (u[x] * v[y] + u[y] * v[x])).sum()
        };
        self.front.edges.iter().map(of_edge).sum()
    }

    /// `Σ_j A_ij u_j` of the own edges at all nodes of the front.
    pub(super) fn edge_sums(&self, u: &[f64], widths: Widths) -> Vec<f64> {
        let q = widths.own;
        let mut sums = vec![0.0; u.len()];
        for &(a, b, weight) in &self.front.edges {
            for (x, y) in (0..widths.coupled).map(|k| (a * q + k, b * q + k)) {
                sums[x] += weight * u[y];
                sums[y] += weight * u[x];
            }
        }
        sums
    }

    /// What the node knows of its own deviations; `per_weight` is 1/d̄.
    pub(super) fn own_part(&self, per_weight: f64, widths: Widths) -> Result<NodePart> {
        let known = self.known.as_ref().ok_or_else(|| missing("no solution before it"))?;
        let Widths { own: q, coupled, tail } = widths;
        let size = known.solution.len();
        let first = self.own * q;
        let rows = |from: usize, count: usize| -> Vec<f64> {
            let row = |row: usize| known.inverse[row * size + from..][..count].to_vec();
            (first..first + q).flat_map(row).collect()
        };
        let (mut along, mut along_trace) = (0.0, 0.0);
        for &(a, b, weight) in &self.front.edges {
            for (x, y) in (0..coupled).map(|k| (a * q + k, b * q + k)) {
                along += 2.0 * per_weight * weight * known.solution[x] * known.solution[y];
                along_trace += 2.0 * per_weight * weight * known.inverse[x * size + y];
            }
        }
        Ok(NodePart {
            deviations: known.solution[first..first + q].to_vec(),
            block: rows(first, q),
            with_means: rows(size - tail, tail - 1),
            along,
            along_trace,
        })
    }
}

/// The lower triangle of a symmetric matrix.
fn packed(matrix: &[f64]) -> Vec<f64> {
    let size = matrix.len().isqrt();
    (0..size).flat_map(|row| matrix[row * size..=row * size + row].to_vec()).collect()
}

/// The symmetric matrix of a lower triangle.
pub(super) fn unpacked(lower: &[f64], size: usize) -> Vec<f64> {
    let mut matrix = vec![0.0; size * size];
    let mut from = lower.iter();
    for row in 0..size {
        for (column, value) in (0..=row).zip(&mut from) {
            matrix[row * size + column] = *value;
            matrix[column * size + row] = *value;
        }
    }
    matrix
}

fn missing(reason: &'static str) -> Error {
    Error::Malformed { what: "what a node was told has", reason }
}
