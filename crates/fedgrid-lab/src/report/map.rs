//! The network as a map: edges by weight, nodes by gain or by cluster.

use std::fmt::Write;

use minijinja::HtmlEscape;

use super::{
    chart::shortened,
    layout::{Point, bounds, layout},
};
use crate::{number, outcome::NodeOutcome};

/// The area of a map in its own units; its shape follows the network's.
const MAP_AREA: f64 = 640_000.0;
/// Room for the circles of nodes at the border, in the same units.
const MARGIN_UNITS: f64 = 20.0;
/// Up to so many nodes have their names beside them, which need more room.
const MAX_NAMED_NODES: usize = 24;
const NAME_MARGIN_UNITS: f64 = 80.0;
/// More edges than these are a blot: the strongest are drawn.
const MAX_DRAWN_EDGES: usize = 6_000;
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
    size: Point,
    edges: String,
    /// How many edges are drawn.
    pub(super) drawn: usize,
    /// Whether positions were computed, not given.
    pub(super) computed: bool,
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
        let (positions, size) = fitted(&raw, margin);
        let strongest = strongest(edges);
        Self {
            nodes,
            edges: edge_paths(&strongest, &positions),
            positions,
            size,
            drawn: strongest.len(),
            computed: given.is_none(),
        }
    }

    /// How many nodes it has.
    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// The map with each node coloured by its gain, on a scale that ends at `limit`.
    pub(super) fn by_gain(&self, limit: f64) -> String {
        let class = |place: usize| {
            finite_gain(&self.nodes[place])
                .map_or_else(|| "none".into(), |gain| format!("d{}", shade(gain, limit)))
        };
        let label = "Map of the network, nodes coloured by gain";
        self.draw(label, class, |place| tooltip(&self.nodes[place]))
    }

    /// The map with each node coloured by a value of its own, from a middle to both ends of a scale.
    pub(super) fn by_value(
        &self,
        label: &str,
        (middle, limit): (f64, f64),
        value: impl Fn(usize) -> Option<f64>,
        told: impl Fn(usize) -> String,
    ) -> String {
        let class = |place: usize| {
            let value = value(place).filter(|value| value.is_finite());
            value
                .map_or_else(|| "none".into(), |value| format!("d{}", shade(value - middle, limit)))
        };
        let tooltip = |place: usize| format!("{}\n{}", self.nodes[place].name, told(place));
        self.draw(label, class, tooltip)
    }

    /// The map with each node coloured by its cluster.
    pub(super) fn by_cluster(&self) -> String {
        let class = |place: usize| cluster_class(self.nodes[place].cluster);
        let label = "Map of the network, nodes coloured by cluster";
        self.draw(label, class, |place| tooltip(&self.nodes[place]))
    }

    fn draw(
        &self,
        label: &str,
        class: impl Fn(usize) -> String,
        tooltip: impl Fn(usize) -> String,
    ) -> String {
        let ((width, height), label) = (self.size, HtmlEscape(label));
        let crowd = match self.nodes.len() {
            count if count <= MAX_NAMED_NODES => " few",
            count if count <= MAX_THICK_RIM_NODES => "",
            _ => " many",
        };
        let mut svg = format!(
            r#"<svg class="map{crowd}" role="img" aria-label="{label}" viewBox="0 0 {width:.0} {height:.0}">{}"#,
            self.edges
        );
        // Circles cover the same share of the map however many they are, within what can be seen and pointed at.
        let radius = (0.13 * (MAP_AREA / self.nodes.len().max(1) as f64).sqrt()).clamp(3.1, 12.0);
        for (place, (x, y)) in self.positions.iter().enumerate() {
            write!(
                svg,
                r#"<circle class="{}" cx="{x:.1}" cy="{y:.1}" r="{radius:.1}"><title>{}</title></circle>"#,
                class(place),
                HtmlEscape(&tooltip(place))
            )
            .expect("a string takes all that is written");
        }
        if self.nodes.len() <= MAX_NAMED_NODES {
            svg.push_str(&self.names(radius));
        }
        svg.push_str("</svg>");
        svg
    }

    fn names(&self, radius: f64) -> String {
        let names = self.nodes.iter().zip(&self.positions).map(|(node, (x, y))| {
            let name = shortened(&node.name);
            let below = y + radius + 28.0;
            format!(r#"<text x="{x:.1}" y="{below:.1}">{}</text>"#, HtmlEscape(&name))
        });
        names.collect::<Vec<_>>().concat()
    }
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

fn tooltip(node: &NodeOutcome) -> String {
    let mut lines = vec![node.name.clone()];
    if let Some(local) = node.local {
        lines.push(format!("error alone {}", number::significant(local)));
    }
    if let Some(network) = node.network {
        lines.push(format!("error with the network {}", number::significant(network)));
    }
    if let Some(gain) = node.gain {
        lines.push(format!("gain {}", number::significant(gain)));
    }
    lines.push(format!("cluster {}", node.cluster));
    lines.push(format!(
        "{}, {}",
        number::counted(node.rows, "row"),
        number::counted(node.neighbours, "neighbour")
    ));
    lines.join("\n")
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
    // Where edges cross everywhere, fainter ones leave the nodes visible.
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
        .map(|(width, path)| format!(r#"<path class="e{width}{dense}" d="{path}"/>"#))
        .collect();
    drawn.concat()
}

/// The positions in the units of the map, y downwards, and its size.
fn fitted(points: &[Point], margin: f64) -> (Vec<Point>, Point) {
    if points.is_empty() {
        return (Vec::new(), (MAP_AREA.sqrt(), MAP_AREA.sqrt()));
    }
    let (low, high) = bounds(points);
    let (wide, tall) = (high.0 - low.0, high.1 - low.1);
    let extent = wide.max(tall);
    let shape = if extent > 0.0 { (tall / extent) / (wide / extent).max(1e-9) } else { 0.6 };
    // A path laid out as a line would be a page high or invisibly thin.
    let shape = shape.clamp(0.4, 1.6);
    let size = ((MAP_AREA / shape).sqrt(), (MAP_AREA * shape).sqrt());
    let room = (size.0 - 2.0 * margin, size.1 - 2.0 * margin);
    let scale = (room.0 / wide).min(room.1 / tall);
    // Nodes that are all in one place have no extent to be scaled.
    let scale = if scale.is_finite() { scale } else { 1.0 };
    let middle = (low.0.midpoint(high.0), low.1.midpoint(high.1));
    let to_map = |&(x, y): &Point| {
        (size.0 / 2.0 + scale * (x - middle.0), size.1 / 2.0 - scale * (y - middle.1))
    };
    (points.iter().map(to_map).collect(), size)
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
    fn a_map_fits_its_frame_and_keeps_north_up() {
        let (positions, (width, height)) =
            fitted(&[(-109.0, 37.0), (-102.0, 41.0), (-105.0, 39.0)], MARGIN_UNITS);
        assert!(
            positions.iter().all(|(x, y)| (0.0..=width).contains(x) && (0.0..=height).contains(y))
        );
        assert!(positions[1].1 < positions[0].1 && positions[1].0 > positions[0].0);
    }

    #[test]
    fn points_on_a_line_or_in_one_place_fit_too() {
        for points in [vec![(1.0, 1.0)], vec![(0.0, 0.0), (1.0, 0.0)], vec![(2.0, 0.0), (2.0, 5.0)]]
        {
            assert!(
                fitted(&points, MARGIN_UNITS).0.iter().all(|(x, y)| x.is_finite() && y.is_finite())
            );
        }
    }

    #[test]
    fn only_the_strongest_edges_are_drawn() {
        let edges: Vec<_> = (0..10_000_u32).map(|i| (0, 1, f64::from(i))).collect();
        let drawn = strongest(edges);
        assert_eq!(drawn.len(), MAX_DRAWN_EDGES);
        assert!(drawn.iter().all(|edge| edge.2 >= 4_000.0));
    }
}
