//! Every node is joined to the nodes nearest to it, the more strongly the nearer,
//!
//! ```text
//! d(i, j)² = Σ_c (scale_c (x_ic − x_jc))²
//! A_ij = max( floor, exp(−½ (d(i, j) / median kept distance)²) )
//! ```
//!
//! where {i, j} is kept if one of them is among the k nearest of the other. [The Gaussian weights
//! of nearest neighbours: von Luxburg, "A tutorial on spectral clustering", section 2.2.]

use rayon::prelude::*;

use super::{Edge, Network, NodeId, statistics::median};
use crate::{
    data::by_name,
    error::{Error, Result, at_least, same_size},
};

/// A network of nearest neighbours.
///
/// ```
/// use fedgrid::network::Nearest;
/// let names = ["a", "b", "c"].map(String::from).to_vec();
/// let nearest = Nearest { neighbours: 1, scales: vec![1.0], ..Nearest::default() };
/// let network = nearest.make(names, &[0.0, 1.0, 3.0])?;
/// assert_eq!(network.edges().len(), 2); // a – b and b – c
/// # Ok::<(), fedgrid::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Nearest {
    /// How many nearest nodes k ≥ 1 each node asks for; with as many as there are nodes, all pairs
    /// are joined.
    pub neighbours: usize,
    /// What one unit of each coordinate counts; zero leaves a coordinate out.
    pub scales: Vec<f64>,
    /// The smallest weight, above zero; one makes all weights equal.
    pub floor: f64,
}

impl Default for Nearest {
    fn default() -> Self {
        Self { neighbours: 8, scales: Vec::new(), floor: 0.001 }
    }
}

impl Nearest {
    /// The network of these nodes, whose coordinates are given row by row, one row per node.
    pub fn make(&self, names: Vec<String>, coordinates: &[f64]) -> Result<Network> {
        let points = self.points(&names, coordinates)?;
        let mut places = vec![0; names.len()];
        by_name(&names).iter().enumerate().for_each(|(place, &node)| places[node] = place);
        let kept = self.kept(&points, &places);
        let mut distances: Vec<f64> = kept.iter().map(|edge| edge.weight).collect();
        let scale = median(&mut distances).unwrap_or(0.0);
        let weighted = |edge: Edge| Edge { weight: self.weight(edge.weight, scale), ..edge };
        Network::new(names, kept.into_iter().map(weighted))
    }

    /// The coordinates of these nodes, each times its scale.
    pub(super) fn points(&self, names: &[String], coordinates: &[f64]) -> Result<Vec<f64>> {
        self.check()?;
        let columns = self.scales.len();
        same_size("coordinates", coordinates.len(), names.len() * columns)?;
        let scales = self.scales.iter().cycle();
        let points: Vec<f64> = coordinates.iter().zip(scales).map(|(x, scale)| x * scale).collect();
        if let Some(position) = points.iter().position(|value| !value.is_finite()) {
            return Err(Error::NodeValue {
                what: "coordinate",
                column: position % columns,
                name: names[position / columns].clone(),
                value: coordinates[position],
            });
        }
        Ok(points)
    }

    /// The kept pairs, with their distances as weights. Of those that are equally near, names decide.
    pub(super) fn kept(&self, points: &[f64], places: &[usize]) -> Vec<Edge> {
        let columns = self.scales.len();
        let count = points.len() / columns;
        let point = |node: NodeId| &points[node * columns..(node + 1) * columns];
        let keep = self.neighbours.min(count.saturating_sub(1));
        let mut pairs: Vec<(NodeId, NodeId)> = (0..count)
            .into_par_iter()
            .flat_map_iter(|node| {
                let others = (0..count).filter(|&other| other != node);
                let mut near: Vec<(f64, NodeId)> = others
                    .map(|other| (squared_distance(point(node), point(other)), other))
                    .collect();
                // A selection, not a sort: all others of every node are looked at.
                if keep < near.len() {
                    near.select_nth_unstable_by(keep, |a, b| {
                        a.0.total_cmp(&b.0).then(places[a.1].cmp(&places[b.1]))
                    });
                    near.truncate(keep);
                }
                near.into_iter().map(move |(_, other)| (node.min(other), node.max(other)))
            })
            .collect();
        pairs.par_sort_unstable();
        pairs.dedup();
        let distance = |i, j| squared_distance(point(i), point(j)).sqrt();
        let edge = |(source, target)| Edge { source, target, weight: distance(source, target) };
        pairs.into_iter().map(edge).collect()
    }

    pub(super) fn weight(&self, distance: f64, median: f64) -> f64 {
        // Coinciding points are as near as can be, even where half of all pairs coincide.
        if distance == 0.0 {
            return 1.0;
        }
        (-0.5 * (distance / median).powi(2)).exp().max(self.floor)
    }

    pub(super) fn check(&self) -> Result<()> {
        at_least(self.neighbours, "neighbours", 1, "one or more")?;
        at_least(self.scales.len(), "the number of coordinates", 1, "one or more")?;
        if let Some(&value) = self.scales.iter().find(|scale| !scale.is_finite()) {
            return Err(Error::Parameter { name: "scale", value, expected: "a finite number" });
        }
        if !(self.floor > 0.0 && self.floor <= 1.0) {
            let expected = "above zero and at most one";
            return Err(Error::Parameter { name: "floor", value: self.floor, expected });
        }
        Ok(())
    }
}

// In the order of the columns, not in four lanes as in `algebra`: weights of networks keep their bits.
pub(super) fn squared_distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| (x - y).powi(2)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        network::shapes::numbered,
        random::{Purpose, Stream},
    };

    fn nearest(neighbours: usize, scales: &[f64]) -> Nearest {
        Nearest { neighbours, scales: scales.to_vec(), ..Nearest::default() }
    }

    fn ends(network: &Network) -> Vec<(usize, usize)> {
        network.edges().iter().map(|edge| (edge.source, edge.target)).collect()
    }

    #[test]
    fn an_edge_is_kept_if_either_end_asks_for_it() {
        let network = nearest(1, &[1.0]).make(numbered(4), &[0.0, 1.0, 3.0, 7.0]).unwrap();
        assert_eq!(ends(&network), [(0, 1), (1, 2), (2, 3)]);
        // The distances are 1, 2 and 4, so their median is 2.
        let weights: Vec<f64> = network.edges().iter().map(|edge| edge.weight).collect();
        for (weight, ratio) in weights.iter().zip([0.5_f64, 1.0, 2.0]) {
            assert!((weight - (-0.5 * ratio * ratio).exp()).abs() < 1e-15);
        }
    }

    #[test]
    fn equal_distances_go_to_the_smaller_id() {
        let square = [0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 1.0, 1.0];
        let network = nearest(1, &[1.0, 1.0]).make(numbered(4), &square).unwrap();
        assert_eq!(ends(&network), [(0, 1), (0, 2), (1, 3)]);
    }

    #[test]
    fn scales_say_how_much_a_coordinate_counts() {
        let points = [0.0, 0.0, 1.0, 5.0, 9.0, 0.0];
        let edges = |scales| ends(&nearest(1, scales).make(numbered(3), &points).unwrap());
        assert_eq!(edges(&[1.0, 0.0]), [(0, 1), (1, 2)]);
        assert_eq!(edges(&[0.0, 1.0]), [(0, 1), (0, 2)]);
    }

    #[test]
    fn far_pairs_keep_the_floor_and_coinciding_points_weigh_one() {
        let far = nearest(9, &[1.0]).make(numbered(4), &[0.0, 0.1, 0.2, 100.0]).unwrap();
        assert_eq!(far.edges().len(), 6);
        let line = nearest(1, &[1.0]).make(numbered(5), &[0.0, 1.0, 2.0, 3.0, 90.0]).unwrap();
        assert!((line.neighbours(4)[0].1 - 0.001).abs() < 1e-18);
        let twins = nearest(1, &[1.0]).make(numbered(5), &[2.0, 2.0, 2.0, 2.0, 3.0]).unwrap();
        assert!((twins.neighbours(1)[0].1 - 1.0).abs() < 1e-15);
        assert!((twins.neighbours(4)[0].1 - 0.001).abs() < 1e-18);
        assert_eq!(nearest(3, &[1.0]).make(numbered(1), &[2.0]).unwrap().edges(), []);
    }

    #[test]
    fn every_node_gets_its_nearest_by_a_plain_sort() {
        let mut stream = Stream::new(4, 0, 0, Purpose::Data);
        let points: Vec<f64> = (0..400).map(|_| stream.normal()).collect();
        let network = nearest(5, &[1.0, 2.0]).make(numbered(200), &points).unwrap();
        let distance = |i: usize, j: usize| {
            let [x, y] = [0, 1].map(|c| points[2 * i + c] - points[2 * j + c]);
            x.hypot(2.0 * y)
        };
        let mut expected = Vec::new();
        for i in 0..200 {
            let mut others: Vec<usize> = (0..200).filter(|&j| j != i).collect();
            others.sort_by(|&a, &b| distance(i, a).total_cmp(&distance(i, b)));
            expected.extend(others[..5].iter().map(|&j| (i.min(j), i.max(j))));
        }
        expected.sort_unstable();
        expected.dedup();
        assert_eq!(ends(&network), expected);
    }

    #[test]
    fn wrong_parameters_and_coordinates_are_named() {
        let message = |nearest: Nearest, points: &[f64]| {
            nearest.make(numbered(2), points).unwrap_err().to_string()
        };
        let points = [0.0, 1.0, 2.0, f64::NAN];
        assert_eq!(
            message(nearest(1, &[1.0, 1.0]), &points),
            "coordinate 1 of node '1' is NaN, expected a finite number"
        );
        assert_eq!(message(nearest(1, &[1.0]), &points), "coordinates: found 4, expected 2");
        assert_eq!(message(nearest(0, &[1.0]), &[]), "neighbours is 0, expected one or more");
        let expected = "the number of coordinates is 0, expected one or more";
        assert_eq!(message(nearest(1, &[]), &[]), expected);
        assert_eq!(
            message(nearest(1, &[f64::NAN]), &[0.0, 1.0]),
            "scale is NaN, expected a finite number"
        );
        let floor = Nearest { floor: 0.0, ..nearest(1, &[1.0]) };
        assert_eq!(message(floor, &[0.0, 1.0]), "floor is 0, expected above zero and at most one");
    }
}
