//! Where the nodes of a network of nearest neighbours are: by this, further nodes find the neighbours that the same rule
//! gives them,
//!
//! ```text
//! j is near i  if  j is among the k nearest of i,  or  d(i, j) < d(j, k-th nearest of j)
//! ```
//!
//! with the weights of [`Nearest`], relative to the median distance of the pairs that are kept among the known nodes.

use serde::{Deserialize, Serialize};

use super::{Edge, Nearest, Network, NodeId, nearest::squared_distance, statistics::median};
use crate::{
    data::by_name,
    error::{Error, Result, same_size},
};

/// The places of known nodes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Places {
    neighbours: usize,
    scales: Vec<f64>,
    floor: f64,
    /// The median distance of the pairs that are kept; none without a pair.
    median: Option<f64>,
    /// The coordinates of the nodes, each times its scale, row by row.
    points: Vec<f64>,
    /// The place of each node by name, which decides between equals.
    order: Vec<usize>,
    /// The distance of each node to its k-th nearest; none if it asks for all others.
    reaches: Vec<Option<f64>>,
}

impl Places {
    /// Of nodes whose coordinates are given row by row.
    pub fn new(nearest: &Nearest, names: &[String], coordinates: &[f64]) -> Result<Self> {
        let points = nearest.points(names, coordinates)?;
        let mut order = vec![0; names.len()];
        by_name(names).iter().enumerate().for_each(|(place, &node)| order[node] = place);
        let kept = nearest.kept(&points, &order);
        let mut distances: Vec<f64> = kept.iter().map(|edge: &Edge| edge.weight).collect();
        let Nearest { neighbours, scales, floor } = nearest.clone();
        let median = median(&mut distances);
        let mut places =
            Self { neighbours, scales, floor, median, points, order, reaches: Vec::new() };
        let reach = |node: NodeId| {
            let mut distances = places.distances(places.point(node));
            distances.retain(|(_, other)| *other != node);
            if distances.len() < neighbours {
                return None;
            }
            let by_distance = |a: &(f64, NodeId), b: &(f64, NodeId)| a.0.total_cmp(&b.0);
            let (_, last, _) = distances.select_nth_unstable_by(neighbours - 1, by_distance);
            Some(last.0)
        };
        places.reaches = (0..names.len()).map(reach).collect();
        Ok(places)
    }

    /// The coordinates of a node as they were given; zero for those that are left out.
    #[must_use]
    pub fn coordinates(&self, node: NodeId) -> Vec<f64> {
        let given = |(point, scale): (&f64, &f64)| if *scale == 0.0 { 0.0 } else { point / scale };
        self.point(node).iter().zip(&self.scales).map(given).collect()
    }

    /// How many nodes there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.order.len()
    }

    /// Whether there is no node.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// Refuses what was not stored by this version for so many nodes.
    pub fn check(&self, nodes: usize) -> Result<()> {
        same_size("nodes with a place", self.len(), nodes)?;
        same_size("nodes with a reach", self.reaches.len(), nodes)?;
        same_size("coordinates", self.points.len(), nodes * self.scales.len())?;
        self.nearest().check()?;
        if self.points.iter().all(|value| value.is_finite()) {
            return Ok(());
        }
        Err(Error::Malformed { what: "a place", reason: "is no finite number" })
    }

    fn nearest(&self) -> Nearest {
        Nearest { neighbours: self.neighbours, scales: self.scales.clone(), floor: self.floor }
    }

    fn point(&self, node: NodeId) -> &[f64] {
        &self.points[node * self.scales.len()..][..self.scales.len()]
    }

    /// How far each node is from a point.
    fn distances(&self, point: &[f64]) -> Vec<(f64, NodeId)> {
        let distance = |node| (squared_distance(point, self.point(node)).sqrt(), node);
        (0..self.len()).map(distance).collect()
    }

    /// The network of these nodes, whose names are given, and of further ones with their coordinates, by the same rule; all
    /// in the order of their names, with their places.
    pub fn grown(
        &self,
        names: &[String],
        further: &[(String, Vec<f64>)],
    ) -> Result<(Network, Self)> {
        let nearest = self.nearest();
        let mut all: Vec<(&String, Vec<f64>)> = Vec::with_capacity(names.len() + further.len());
        same_size("nodes with a place", self.len(), names.len())?;
        all.extend(names.iter().enumerate().map(|(node, name)| (name, self.point(node).to_vec())));
        for (name, coordinates) in further {
            all.push((name, nearest.points(std::slice::from_ref(name), coordinates)?));
        }
        let listed: Vec<String> = all.iter().map(|(name, _)| (*name).clone()).collect();
        let order = by_name(&listed);
        let names: Vec<String> = order.iter().map(|&place| listed[place].clone()).collect();
        let points: Vec<f64> = order.iter().flat_map(|&place| all[place].1.clone()).collect();
        // Points have their scales already.
        let unscaled = Nearest { scales: vec![1.0; self.scales.len()], ..nearest };
        let places = Self::new(&unscaled, &names, &points)?;
        let network = unscaled.make(names, &points)?;
        Ok((network, Self { scales: self.scales.clone(), ..places }))
    }

    /// The neighbours of a further node with these coordinates, and the weights of the edges to them, in order of their
    /// ids.
    pub fn near(&self, coordinates: &[f64]) -> Result<Vec<(NodeId, f64)>> {
        let nearest = self.nearest();
        let point = nearest.points(&["the new node".to_string()], coordinates)?;
        let mut all = self.distances(&point);
        all.sort_by(|a, b| a.0.total_cmp(&b.0).then(self.order[a.1].cmp(&self.order[b.1])));
        let is_asked =
            |distance: f64, node: NodeId| self.reaches[node].is_none_or(|reach| distance < reach);
        let near = all.iter().enumerate().filter(|(rank, (distance, node))| {
            *rank < self.neighbours || is_asked(*distance, *node)
        });
        // Without a pair there is one node at most, and any weight will do.
        let scale = self.median.unwrap_or(1.0);
        let weighed = |(_, &(distance, node))| (node, nearest.weight(distance, scale));
        let mut found: Vec<(NodeId, f64)> = near.map(weighed).collect();
        found.sort_by_key(|(node, _)| *node);
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        network::shapes::numbered,
        random::{Purpose, Stream},
    };

    #[test]
    fn further_nodes_join_as_if_they_had_been_there() {
        let mut stream = Stream::new(4, 0, 0, Purpose::Data);
        let points: Vec<f64> = (0..60).map(|_| stream.normal()).collect();
        let nearest = Nearest { neighbours: 3, scales: vec![85.0, 111.0], ..Nearest::default() };
        let whole = nearest.make(numbered(30), &points).unwrap();
        let hidden = [3, 17, 29];
        let known: Vec<usize> = (0..30).filter(|node| !hidden.contains(node)).collect();
        let names: Vec<String> = known.iter().map(|&node| numbered(30)[node].clone()).collect();
        let of = |node: usize| points[2 * node..2 * node + 2].to_vec();
        let coordinates: Vec<f64> = known.iter().flat_map(|&node| of(node)).collect();
        let places = Places::new(&nearest, &names, &coordinates).unwrap();
        let further: Vec<_> =
            hidden.iter().map(|&node| (numbered(30)[node].clone(), of(node))).collect();
        let (network, places) = places.grown(&names, &further).unwrap();
        assert_eq!(network, whole);
        assert_eq!(places, Places::new(&nearest, &numbered(30), &points).unwrap());
    }

    #[test]
    fn a_hidden_node_finds_the_neighbours_that_it_had() {
        let mut stream = Stream::new(9, 0, 0, Purpose::Data);
        let points: Vec<f64> = (0..120).map(|_| stream.normal()).collect();
        let nearest = Nearest { neighbours: 4, scales: vec![1.0, 0.5], ..Nearest::default() };
        let whole = nearest.make(numbered(60), &points).unwrap();
        for hidden in 0..60 {
            let mut names = numbered(60);
            names.remove(hidden);
            let mut others = points.clone();
            let own: Vec<f64> = others.drain(2 * hidden..2 * hidden + 2).collect();
            let places = Places::new(&nearest, &names, &others).unwrap();
            places.check(59).unwrap();
            let found = places.near(&own).unwrap();
            let back = |id: NodeId| if id >= hidden { id + 1 } else { id };
            let ids: Vec<NodeId> = found.iter().map(|(id, _)| back(*id)).collect();
            let had: Vec<NodeId> = whole.neighbours(hidden).iter().map(|(id, _)| *id).collect();
            assert_eq!(ids, had, "{hidden}");
            // Weights are relative to a median that one node hardly changes.
            let pairs = found.iter().zip(whole.neighbours(hidden));
            assert!(pairs.into_iter().all(|(a, b)| (a.1 - b.1).abs() < 0.05));
        }
    }

    #[test]
    fn places_are_for_as_many_coordinates() {
        let nearest = Nearest { neighbours: 1, scales: vec![1.0], ..Nearest::default() };
        let places = Places::new(&nearest, &numbered(2), &[0.0, 1.0]).unwrap();
        assert!(places.near(&[0.0, 1.0]).is_err() && places.near(&[f64::NAN]).is_err());
        assert!(places.check(3).is_err());
        let ids = |at: f64| -> Vec<NodeId> {
            places.near(&[at]).unwrap().into_iter().map(|(id, _)| id).collect()
        };
        // From afar the nearest; from in between those, too, that have nobody nearer.
        assert_eq!(ids(-9.0), [0]);
        assert_eq!(ids(0.4), [0, 1]);
    }
}
