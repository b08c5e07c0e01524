//! Where to draw nodes that have no coordinates.
//!
//! Distances to pivots give the shape, and a few rounds of springs between neighbours and repulsion
//! among near nodes (after Fruchterman and Reingold) even it out: with d the distance of two nodes,
//!
//! ```text
//! pull = min(d², 4)  between neighbours,   push = 1/d − d/r²  up to the reach r
//! ```
//!
//! Components are laid out alone and set side by side. Nothing is drawn at random: the same network
//! is always drawn the same.

use super::pivots::{pivot_scaling, spread};

/// A position, x to the right and y upwards.
pub(super) type Point = (f64, f64);

/// Rounds of springs, over which the heat falls to zero; the time of a layout is proportional to them.
const RELAXATION_ROUNDS: usize = 80;
/// Nodes repel each other up to this distance; the natural length of an edge is one.
const REPULSION_REACH: f64 = 2.5;
/// Longer edges pull no stronger than this length, so that hubs are not crushed.
const MAX_PULLING_LENGTH: f64 = 2.0;
/// At most so many nodes of a cell repel one by one; of more, some stand for the others, so that the time
/// of a round grows with the number of nodes and not with its square.
const MAX_REPELLING_PER_CELL: usize = 24;

/// A position for every node; ends of edges are positions among the nodes.
pub(super) fn layout(nodes: usize, edges: &[(usize, usize)]) -> Vec<Point> {
    let mut neighbours = vec![Vec::new(); nodes];
    for &(a, b) in edges.iter().filter(|(a, b)| a != b) {
        neighbours[a].push(b);
        neighbours[b].push(a);
    }
    let mut components = components(&neighbours);
    components.sort_by_key(|members| std::cmp::Reverse(members.len()));
    let drawn = components.iter().map(|members| component(members, &neighbours)).collect();
    let mut positions = vec![(0.0, 0.0); nodes];
    for (members, points) in components.iter().zip(side_by_side(drawn)) {
        for (&node, point) in members.iter().zip(points) {
            positions[node] = point;
        }
    }
    positions
}

fn components(neighbours: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let mut seen = vec![false; neighbours.len()];
    let mut found = Vec::new();
    for start in 0..neighbours.len() {
        if std::mem::replace(&mut seen[start], true) {
            continue;
        }
        let mut members = vec![start];
        let mut next = 0;
        while let Some(&node) = members.get(next) {
            next += 1;
            for &other in &neighbours[node] {
                if !std::mem::replace(&mut seen[other], true) {
                    members.push(other);
                }
            }
        }
        found.push(members);
    }
    found
}

/// One component, drawn alone, in the order of its members.
fn component(members: &[usize], neighbours: &[Vec<usize>]) -> Vec<Point> {
    let mut index_of = vec![usize::MAX; neighbours.len()];
    members.iter().enumerate().for_each(|(index, &node)| index_of[node] = index);
    let inside: Vec<Vec<usize>> = members
        .iter()
        .map(|&node| neighbours[node].iter().map(|&other| index_of[other]).collect())
        .collect();
    let mut points = pivot_scaling(&inside);
    to_scale(&mut points, &inside);
    for round in 0..RELAXATION_ROUNDS {
        // Cooling ends the swings that springs and repulsion would keep up.
        let heat = 0.6 * (1.0 - round as f64 / RELAXATION_ROUNDS as f64);
        relax(&mut points, &inside, heat);
    }
    points
}

/// Gives edges a mean length of one, or nodes a mean area of one if that is wider, and nodes that
/// fell together positions of their own.
fn to_scale(points: &mut [Point], neighbours: &[Vec<usize>]) {
    let lengths = neighbours.iter().enumerate().flat_map(|(node, others)| {
        others.iter().map(move |&other| (node, other)).filter(|(a, b)| a < b)
    });
    let (sum, edges) = lengths.fold((0.0, 0.0), |(sum, edges), (a, b)| {
        let (dx, dy) = (points[a].0 - points[b].0, points[a].1 - points[b].1);
        (sum + (dx * dx + dy * dy).sqrt(), edges + 1.0)
    });
    let count = points.len() as f64;
    let mut radii: Vec<f64> = points.iter().map(|(x, y)| (x * x + y * y).sqrt()).collect();
    let extent = (radii.iter().map(|radius| radius * radius).sum::<f64>() / count).sqrt();
    radii.sort_by(f64::total_cmp);
    let by_edges = if sum > 0.0 { edges / sum } else { 1.0 };
    let by_area = if extent > 0.0 { 0.4 * count.sqrt() / extent } else { 1.0 };
    let scale = by_edges.max(by_area);
    // Where most nodes fell together, as the leaves of a star, they are strewn over the whole.
    // Of a single node the quotient is not a number, which `max` takes for zero.
    let fallen = (1.0 - 2.0 * radii[radii.len() / 2] / extent).max(0.0);
    let jitter = 0.25 + (0.02 + fallen) * count.sqrt();
    for (index, point) in points.iter_mut().enumerate() {
        let (dx, dy) = spread(index);
        let radius = (point.0 * point.0 + point.1 * point.1).sqrt();
        let nearer = if radius > 3.0 * extent { 3.0 * extent / radius } else { 1.0 };
        let scale = scale * nearer;
        *point = (point.0 * scale + jitter * dx, point.1 * scale + jitter * dy);
    }
}

/// One round: every node moves along its forces, at most by the heat.
fn relax(points: &mut [Point], neighbours: &[Vec<usize>], heat: f64) {
    let cells = CellGrid::new(points);
    let forces: Vec<Point> = (0..points.len())
        .map(|node| {
            let (mut fx, mut fy) = cells.repulsion(node, points);
            // Of many neighbours each pulls less, so that hubs keep a distance.
            let share = (4.0 / neighbours[node].len().max(1) as f64).min(1.0);
            for &other in &neighbours[node] {
                let (dx, dy) = (points[other].0 - points[node].0, points[other].1 - points[node].1);
                let distance = (dx * dx + dy * dy).sqrt();
                let pull = share
                    * distance.min(
                        MAX_PULLING_LENGTH * MAX_PULLING_LENGTH / distance.max(MAX_PULLING_LENGTH),
                    );
                fx += pull * dx;
                fy += pull * dy;
            }
            (fx, fy)
        })
        .collect();
    for (point, (fx, fy)) in points.iter_mut().zip(forces) {
        let size = (fx * fx + fy * fy).sqrt();
        let step = if size > heat { heat / size } else { 1.0 };
        *point = (point.0 + step * fx, point.1 + step * fy);
    }
}

/// Nodes by square cells as wide as repulsion reaches.
struct CellGrid {
    low: Point,
    width: usize,
    members: Vec<Vec<usize>>,
}

impl CellGrid {
    fn new(points: &[Point]) -> Self {
        let (low, high) = bounds(points);
        let width = whole((high.0 - low.0) / REPULSION_REACH) + 1;
        let height = whole((high.1 - low.1) / REPULSION_REACH) + 1;
        let mut cells = Self { low, width, members: vec![Vec::new(); width * height] };
        for (node, point) in points.iter().enumerate() {
            let (column, row) = cells.at(*point);
            cells.members[row * width + column].push(node);
        }
        cells
    }

    fn at(&self, point: Point) -> (usize, usize) {
        (
            whole((point.0 - self.low.0) / REPULSION_REACH),
            whole((point.1 - self.low.1) / REPULSION_REACH),
        )
    }

    fn repulsion(&self, node: usize, points: &[Point]) -> Point {
        let here = points[node];
        let (column, row) = self.at(here);
        let (mut fx, mut fy) = (0.0, 0.0);
        let last_row = self.members.len() / self.width - 1;
        for y in row.saturating_sub(1)..=(row + 1).min(last_row) {
            for x in column.saturating_sub(1)..=(column + 1).min(self.width - 1) {
                let members = &self.members[y * self.width + x];
                let stride = members.len().div_ceil(MAX_REPELLING_PER_CELL).max(1);
                // Different nodes look at different ones, so that nobody in a crowd is passed over by all.
                for &other in members.iter().skip(node % stride).step_by(stride) {
                    let (dx, dy) = (here.0 - points[other].0, here.1 - points[other].1);
                    let square = dx * dx + dy * dy;
                    // Beyond the reach the push would turn into a pull.
                    if other != node && square < REPULSION_REACH * REPULSION_REACH {
                        // Each stands for the others that were passed over.
                        let push = stride as f64
                            * (1.0 / square.max(1e-4) - 1.0 / (REPULSION_REACH * REPULSION_REACH));
                        fx += push * dx;
                        fy += push * dy;
                    }
                }
            }
        }
        (fx, fy)
    }
}

/// Components in rows, the largest first, with a gap around each.
fn side_by_side(components: Vec<Vec<Point>>) -> Vec<Vec<Point>> {
    let sizes: Vec<Point> = components
        .iter()
        .map(|points| {
            let (low, high) = bounds(points);
            (high.0 - low.0 + 1.5, high.1 - low.1 + 1.5)
        })
        .collect();
    let area: f64 = sizes.iter().map(|(width, height)| width * height).sum();
    let widest = sizes.iter().map(|size| size.0).fold(0.0, f64::max);
    // Rows wide enough that the whole comes out somewhat wider than tall, as screens are.
    let limit = widest.max((1.6 * area).sqrt());
    let (mut left, mut top, mut row_height) = (0.0, 0.0, 0.0_f64);
    let mut placed = Vec::with_capacity(components.len());
    for (points, (width, height)) in components.into_iter().zip(sizes) {
        if left > 0.0 && left + width > limit {
            (left, top, row_height) = (0.0, top - row_height, 0.0);
        }
        let (low, high) = bounds(&points);
        let (dx, dy) = (left - low.0, top - high.1);
        placed.push(points.iter().map(|(x, y)| (x + dx, y + dy)).collect());
        left += width;
        row_height = row_height.max(height);
    }
    placed
}

/// The corners of the smallest box around all points.
pub(super) fn bounds(points: &[Point]) -> (Point, Point) {
    let start = ((f64::INFINITY, f64::INFINITY), (f64::NEG_INFINITY, f64::NEG_INFINITY));
    points.iter().fold(start, |(low, high), &(x, y)| {
        ((low.0.min(x), low.1.min(y)), (high.0.max(x), high.1.max(y)))
    })
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "cells are counted from the low corner, so the quotient is small and not negative"
)]
fn whole(value: f64) -> usize {
    value as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A grid of the given width with an edge between horizontal and vertical neighbours.
    fn grid(width: usize, nodes: usize) -> Vec<(usize, usize)> {
        let right = (0..nodes).filter(|i| (i + 1) % width > 0 && i + 1 < nodes).map(|i| (i, i + 1));
        right.chain((0..nodes.saturating_sub(width)).map(|i| (i, i + width))).collect()
    }

    fn distance(a: Point, b: Point) -> f64 {
        (a.0 - b.0).hypot(a.1 - b.1)
    }

    fn closest(points: &[Point]) -> f64 {
        let pairs = (0..points.len()).flat_map(|i| (0..i).map(move |j| (i, j)));
        pairs.map(|(i, j)| distance(points[i], points[j])).fold(f64::INFINITY, f64::min)
    }

    #[test]
    fn the_same_network_is_always_drawn_the_same() {
        let edges = grid(20, 400);
        assert_eq!(layout(400, &edges), layout(400, &edges));
    }

    #[test]
    fn no_two_nodes_fall_together() {
        let star: Vec<_> = (1..60).map(|leaf| (0, leaf)).collect();
        let complete: Vec<_> = (0..30).flat_map(|i| (0..i).map(move |j| (i, j))).collect();
        for (nodes, edges) in [(400, grid(20, 400)), (60, star), (30, complete), (25, Vec::new())] {
            assert!(closest(&layout(nodes, &edges)) > 0.1, "{nodes} nodes");
        }
    }

    #[test]
    fn neighbours_are_nearer_than_strangers() {
        let points = layout(400, &grid(20, 400));
        assert!(distance(points[0], points[1]) < 0.2 * distance(points[0], points[399]));
    }

    #[test]
    fn components_do_not_overlap() {
        let two: Vec<_> =
            grid(5, 25).into_iter().flat_map(|(a, b)| [(a, b), (a + 25, b + 25)]).collect();
        let points = layout(50, &two);
        let (first, second) = (bounds(&points[..25]), bounds(&points[25..]));
        let apart = |a: (Point, Point), b: (Point, Point)| a.1.0 < b.0.0 || a.1.1 < b.0.1;
        assert!(apart(first, second) || apart(second, first));
    }

    #[test]
    fn the_smallest_networks_have_a_place_too() {
        assert!(layout(0, &[]).is_empty());
        assert!(layout(1, &[(0, 0)])[0].0.is_finite());
        assert!(closest(&layout(2, &[(0, 1)])) > 0.1);
    }
}
