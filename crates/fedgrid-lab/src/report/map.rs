//! The network as a map: edges by weight, nodes by gain or by cluster.

use std::{collections::BTreeMap, fmt::Write};

use minijinja::HtmlEscape;

use super::{
    chart::shortened,
    frame::{Frame, MAP_AREA, fitted},
    layout::{Point, layout},
};
use crate::outcome::NodeOutcome;

/// Room for the circles of nodes at the border, in the same units.
const MARGIN_UNITS: f64 = 20.0;
/// Up to so many nodes have their names beside them, which need more room.
const MAX_NAMED_NODES: usize = 24;
const NAME_MARGIN_UNITS: f64 = 80.0;
/// More edges than these are a blot: the strongest are drawn.
const MAX_DRAWN_EDGES: usize = 10_000;
/// More nodes than these have thinner rims.
const MAX_THICK_RIM_NODES: usize = 1_000;
/// How many widths of edges and colours of gains there are.
const WIDTH_COUNT: usize = 5;
const SHADES_PER_SIDE: f64 = 4.0;
/// How many clusters have a colour of their own.
pub(super) const CLUSTER_COLOURS: usize = 8;

/// A network that can be drawn in several colourings.
pub(super) struct Map<'a> {
    nodes: &'a [NodeOutcome],
    positions: Vec<Point>,
    frame: Frame,
    edges: String,
    /// How many edges are drawn.
    pub(super) drawn: usize,
    /// Whether positions were computed, not given.
    pub(super) computed: bool,
    /// The nodes outside of what is shown at first.
    pub(super) far: Vec<usize>,
}

impl<'a> Map<'a> {
    /// Places nodes where they are, or lays them out.
    pub(super) fn new(
        nodes: &'a [NodeOutcome],
        edges: &[(usize, usize, f64)],
        positions: Option<&[Point]>,
    ) -> Self {
        let known = |&&(a, b, _): &&(usize, usize, f64)| a < nodes.len() && b < nodes.len();
        let edges: Vec<_> = edges.iter().filter(known).copied().collect();
        let given = positions.filter(|given| {
            let finite = given.iter().all(|(x, y)| x.is_finite() && y.is_finite());
            given.len() == nodes.len() && finite
        });
        let raw = given.map_or_else(
            || {
                let ends: Vec<_> = edges.iter().map(|&(a, b, _)| (a, b)).collect();
                layout(nodes.len(), &ends)
            },
            <[Point]>::to_vec,
        );
        let margin = if nodes.len() <= MAX_NAMED_NODES { NAME_MARGIN_UNITS } else { MARGIN_UNITS };
        let (positions, frame) = fitted(&raw, margin);
        let strongest = strongest(edges);
        let outside = |place: &usize| !frame.shows(positions[*place]);
        Self {
            nodes,
            edges: edge_paths(&strongest, &positions),
            drawn: strongest.len(),
            computed: given.is_none(),
            far: (0..positions.len()).filter(outside).collect(),
            positions,
            frame,
        }
    }

    /// How many nodes it has.
    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Where each node is, in the units of the map.
    pub(super) fn positions(&self) -> &[Point] {
        &self.positions
    }

    /// What all drawings of the map have in common, once for the page: edges, and the rims of dots.
    pub(super) fn shared(&self) -> String {
        let rims = dots(self.positions.iter());
        let edges = &self.edges;
        format!(
            r#"<svg class="store" aria-hidden="true"><defs><g id="map-edges">{edges}</g><path id="map-rims" d="{rims}"/></defs></svg>"#
        )
    }

    /// The map with each node coloured by its gain, on a scale that ends at `limit`.
    pub(super) fn by_gain(&self, limit: f64) -> String {
        let class = |place: usize| {
            finite_gain(&self.nodes[place])
                .map_or_else(|| "none".into(), |gain| format!("d{}", shade(gain, limit)))
        };
        self.draw("Map of the network, nodes coloured by gain", None, class)
    }

    /// The map with each node coloured by a coefficient, from a middle to both ends of a scale.
    pub(super) fn by_coefficient(
        &self,
        (name, index): (&str, usize),
        (middle, limit): (f64, f64),
        value: impl Fn(usize) -> Option<f64>,
    ) -> String {
        let class = |place: usize| {
            let value = value(place).filter(|value| value.is_finite());
            value
                .map_or_else(|| "none".into(), |value| format!("d{}", shade(value - middle, limit)))
        };
        let label = format!("Map of the network, nodes coloured by {name}");
        self.draw(&label, Some(index), class)
    }

    /// The map with each node coloured by its cluster.
    pub(super) fn by_cluster(&self) -> String {
        let class = |place: usize| cluster_class(self.nodes[place].cluster);
        self.draw("Map of the network, nodes coloured by cluster", None, class)
    }

    /// One path per colour, so that a page of thousands of nodes stays light; the script finds the node that the reader
    /// points at.
    fn draw(
        &self,
        label: &str,
        coefficient: Option<usize>,
        class: impl Fn(usize) -> String,
    ) -> String {
        let label = HtmlEscape(label);
        let crowd = if self.nodes.len() <= MAX_NAMED_NODES { " few" } else { "" };
        let (radius, thin) = (self.radius(), self.nodes.len() > MAX_THICK_RIM_NODES);
        let rim = if thin { 0.4 } else { 1.2 };
        let coefficient =
            coefficient.map_or_else(String::new, |k| format!(r#" data-coefficient="{k}""#));
        let mut svg = format!(
            r#"<svg class="map{crowd}" role="img" aria-label="{label}" viewBox="{}" data-whole="{}"{coefficient} style="--dot:{:.1}px;--rim-width:{rim}px"><use href="{}"/><use class="rims" href="{}"/>"#,
            self.frame.text(),
            Frame::around(&self.positions, MARGIN_UNITS).text(),
            2.0 * radius,
            "#map-edges",
            "#map-rims",
        );
        let mut by_class: BTreeMap<String, Vec<&Point>> = BTreeMap::new();
        for (place, position) in self.positions.iter().enumerate() {
            by_class.entry(class(place)).or_default().push(position);
        }
        for (class, positions) in by_class {
            let path = dots(positions.into_iter());
            write!(svg, r#"<path class="dots {class}" d="{path}"/>"#)
                .expect("a string takes all that is written");
            if class == "none" {
                write!(svg, r#"<path class="dots hollow" d="{path}"/>"#)
                    .expect("a string takes all that is written");
            }
        }
        if self.nodes.len() <= MAX_NAMED_NODES {
            svg.push_str(&self.names(radius));
        }
        svg.push_str("</svg>");
        svg
    }

    /// Circles cover the same share of the map however many they are, within what can be seen and pointed at.
    fn radius(&self) -> f64 {
        (0.13 * (MAP_AREA / self.nodes.len().max(1) as f64).sqrt()).clamp(2.3, 12.0)
    }

    fn names(&self, radius: f64) -> String {
        let names = self.nodes.iter().zip(&self.positions).map(|(node, (x, y))| {
            let name = shortened(node.called());
            let below = y + radius + 28.0;
            format!(r#"<text x="{x:.1}" y="{below:.1}">{}</text>"#, HtmlEscape(&name))
        });
        names.collect::<Vec<_>>().concat()
    }
}

/// Dots as the round ends of lines without a length.
fn dots<'p>(positions: impl Iterator<Item = &'p Point>) -> String {
    positions.fold(String::new(), |mut path, (x, y)| {
        write!(path, "M{x:.1} {y:.1}h0").expect("a string takes all that is written");
        path
    })
}

/// The gain of a node, if it was measured and can be drawn.
pub(super) fn finite_gain(node: &NodeOutcome) -> Option<f64> {
    node.gain.filter(|gain| gain.is_finite())
}

/// The colour of a cluster; those beyond the last colour share one.
pub(super) fn cluster_class(cluster: usize) -> String {
    if cluster < CLUSTER_COLOURS { format!("c{cluster}") } else { "other".into() }
}

/// A shade from 0 (harmed) by 4 (the same) to 8 (gains).
pub(super) fn shade(gain: f64, limit: f64) -> i8 {
    let share = if limit > 0.0 { (gain / limit).clamp(-1.0, 1.0) } else { 0.0 };
    #[expect(clippy::cast_possible_truncation, reason = "a rounded number between 0 and 8")]
    let shade = (SHADES_PER_SIDE + (SHADES_PER_SIDE * share).round()) as i8;
    shade
}

/// The strongest edges, the strongest last so that they are drawn on top.
fn strongest(edges: Vec<(usize, usize, f64)>) -> Vec<(usize, usize, f64)> {
    // Among edges of one weight, those that are kept are spread over the whole list.
    let order = |index: usize| index.wrapping_mul(0x9E37_79B9) % (1 << 32);
    let mut numbered: Vec<_> = edges.into_iter().enumerate().collect();
    numbered.sort_by(|(i, a), (j, b)| b.2.total_cmp(&a.2).then_with(|| order(*i).cmp(&order(*j))));
    numbered.truncate(MAX_DRAWN_EDGES);
    numbered.into_iter().rev().map(|(_, edge)| edge).collect()
}

/// One path per width, so that a page of thousands of edges stays light.
fn edge_paths(edges: &[(usize, usize, f64)], positions: &[Point]) -> String {
    let weights = || edges.iter().map(|edge| edge.2);
    let (least, largest) = (weights().fold(f64::INFINITY, f64::min), weights().fold(0.0, f64::max));
    // Where edges cross everywhere, thinner ones leave the nodes visible.
    let dense = if edges.len() > 2_500 { " dense" } else { "" };
    let mut paths = vec![String::new(); WIDTH_COUNT];
    for &(a, b, weight) in edges {
        let ((x1, y1), (x2, y2)) = (positions[a], positions[b]);
        let stronger = [0.2, 0.4, 0.6, 0.8].iter().filter(|limit| weight > **limit * largest);
        let width = if least < largest { stronger.count() } else { WIDTH_COUNT / 2 };
        write!(paths[width], "M{x1:.1} {y1:.1}L{x2:.1} {y2:.1}")
            .expect("a string takes all that is written");
    }
    let drawn = paths.iter().enumerate().filter(|(_, path)| !path.is_empty());
    let drawn: Vec<String> = drawn
        .map(|(width, path)| format!(r#"<path class="edge e{width}{dense}" d="{path}"/>"#))
        .collect();
    drawn.concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shades_are_symmetric_around_no_gain() {
        assert_eq!(
            [-9.0, -1.0, -0.1, 0.0, 0.1, 0.5, 1.0].map(|gain| shade(gain, 1.0)),
            [0, 0, 4, 4, 4, 6, 8]
        );
        assert_eq!(shade(0.0, 0.0), 4);
    }

    #[test]
    fn only_the_strongest_edges_are_drawn() {
        let edges: Vec<_> = (0..20_000_u32).map(|i| (0, 1, f64::from(i))).collect();
        let drawn = strongest(edges);
        assert_eq!(drawn.len(), MAX_DRAWN_EDGES);
        assert!(drawn.iter().all(|edge| edge.2 >= 10_000.0));
    }
}
