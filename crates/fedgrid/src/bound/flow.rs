//! The largest flow between two nodes of a network with capacities, and the cut that limits it,
//!
//! ```text
//! max Σ_arcs of the source f  subject to 0 ≤ f ≤ capacity, in = out elsewhere  =  min capacity of a cut
//! ```
//!
//! by blocking flows in layered networks. [Dinic, "Algorithm for solution of a problem of maximum flow
//! in networks with power estimation", 1970.]

/// What is left of a capacity counts as nothing below this share of the largest one: subtractions leave
/// so much of what should be zero, and augmenting by it would never end.
const NEGLIGIBLE_SHARE: f64 = 1e-14;

/// A network of arcs in pairs: arc `a ^ 1` leads back.
#[derive(Debug, Clone)]
pub(super) struct FlowNetwork {
    heads: Vec<usize>,
    left: Vec<f64>,
    arcs: Vec<Vec<usize>>,
    negligible: f64,
}

impl FlowNetwork {
    /// Nodes without arcs.
    pub(super) fn new(nodes: usize) -> Self {
        let arcs = vec![Vec::new(); nodes];
        Self { heads: Vec::new(), left: Vec::new(), arcs, negligible: 0.0 }
    }

    /// Joins two nodes with a capacity there and one back; the number of the arc there.
    pub(super) fn join(&mut self, from: usize, to: usize, there: f64, back: f64) -> usize {
        let arc = self.heads.len();
        self.heads.extend([to, from]);
        self.left.extend([there, back]);
        self.arcs[from].push(arc);
        self.arcs[to].push(arc + 1);
        for capacity in [there, back].into_iter().filter(|capacity| capacity.is_finite()) {
            self.negligible = self.negligible.max(NEGLIGIBLE_SHARE * capacity);
        }
        arc
    }

    /// Sends as much as possible and says how much; every way must pass a finite capacity.
    pub(super) fn send(&mut self, source: usize, sink: usize) -> f64 {
        let mut total = 0.0;
        loop {
            let levels = self.levels(source);
            if levels[sink].is_none() {
                return total;
            }
            // An arc that led nowhere in this layering will not lead anywhere in it again.
            let mut next = vec![0; self.arcs.len()];
            loop {
                let amount = self.along_one_way(source, sink, &levels, &mut next);
                if amount == 0.0 {
                    break;
                }
                total += amount;
            }
        }
    }

    /// What flows over an arc that had no capacity back.
    pub(super) fn over(&self, arc: usize) -> f64 {
        self.left[arc ^ 1]
    }

    /// The nodes that more could be sent to from the source: one side of the smallest cut.
    pub(super) fn reached(&self, source: usize) -> Vec<bool> {
        self.levels(source).iter().map(Option::is_some).collect()
    }

    fn levels(&self, source: usize) -> Vec<Option<usize>> {
        let mut levels = vec![None; self.arcs.len()];
        levels[source] = Some(0);
        let mut layer = vec![source];
        for level in 1.. {
            let mut following = Vec::new();
            for &arc in layer.iter().flat_map(|&node| &self.arcs[node]) {
                let head = self.heads[arc];
                if levels[head].is_none() && self.left[arc] > self.negligible {
                    levels[head] = Some(level);
                    following.push(head);
                }
            }
            if following.is_empty() {
                break;
            }
            layer = following;
        }
        levels
    }

    /// Sends along one shortest way what its narrowest arc lets through; zero if there is no way.
    fn along_one_way(
        &mut self,
        source: usize,
        sink: usize,
        levels: &[Option<usize>],
        next: &mut [usize],
    ) -> f64 {
        // With a stack of its own: long paths would overflow the thread's.
        let (mut way, mut node) = (Vec::new(), source);
        while node != sink {
            let arc = self.arcs[node].get(next[node]).copied();
            let deeper =
                |arc: usize| levels[self.heads[arc]] == levels[node].map(|level| level + 1);
            match arc {
                Some(arc) if self.left[arc] > self.negligible && deeper(arc) => {
                    way.push(arc);
                    node = self.heads[arc];
                }
                Some(_) => next[node] += 1,
                None => {
                    let Some(arc) = way.pop() else { return 0.0 };
                    node = self.heads[arc ^ 1];
                    next[node] += 1;
                }
            }
        }
        let amount = way.iter().map(|&arc| self.left[arc]).fold(f64::INFINITY, f64::min);
        for arc in way {
            self.left[arc] -= amount;
            self.left[arc ^ 1] += amount;
        }
        amount
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, Stream};

    fn undirected(nodes: usize, edges: &[(usize, usize, f64)]) -> FlowNetwork {
        let mut flow = FlowNetwork::new(nodes);
        for &(a, b, capacity) in edges {
            flow.join(a, b, capacity, capacity);
        }
        flow
    }

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-12
    }

    #[test]
    fn a_path_carries_what_its_narrowest_edge_does() {
        let mut flow = undirected(4, &[(0, 1, 3.0), (2, 1, 0.5), (2, 3, 2.0)]);
        assert!(close(flow.send(0, 3), 0.5));
        assert_eq!(flow.reached(0), [true, true, false, false]);
    }

    #[test]
    fn a_path_of_a_hundred_thousand_nodes_needs_no_deep_stack() {
        let edges: Vec<_> = (1..100_000).map(|node| (node - 1, node, 1.0)).collect();
        assert!(close(undirected(100_000, &edges).send(0, 99_999), 1.0));
    }

    #[test]
    fn two_cliques_are_limited_by_their_bridge() {
        let clique = |first: usize| {
            (0..5).flat_map(move |a| (a + 1..5).map(move |b| (first + a, first + b, 1.0)))
        };
        let edges: Vec<_> = clique(0).chain(clique(5)).chain([(4, 5, 1.75)]).collect();
        let mut flow = undirected(10, &edges);
        assert!(close(flow.send(0, 9), 1.75));
        assert_eq!(flow.reached(0).iter().filter(|reached| **reached).count(), 5);
        // Inside a clique the four edges of a node are the limit.
        assert!(close(undirected(10, &edges).send(0, 3), 4.0));
    }

    #[test]
    fn what_was_sent_wrongly_is_sent_back() {
        // The shortest way 0-1-4-5 takes what 0-2-4 needs; the largest flow goes 0-1-3-5 instead.
        let arcs = [(0, 1, 1.0), (0, 2, 1.0), (1, 4, 1.0), (2, 4, 1.0), (4, 5, 1.0), (1, 3, 1.0)];
        let mut flow = FlowNetwork::new(7);
        for (from, to, capacity) in arcs.into_iter().chain([(3, 6, 1.0), (6, 5, 1.0)]) {
            flow.join(from, to, capacity, 0.0);
        }
        assert!(close(flow.send(0, 5), 2.0));
        assert!(close(flow.over(10), 1.0));
    }

    #[test]
    fn the_largest_flow_is_the_smallest_of_all_cuts() {
        for seed in 0..50 {
            let mut stream = Stream::new(seed, 0, 0, Purpose::Data);
            let mut edges = Vec::new();
            for a in 0..8 {
                for b in a + 1..8 {
                    if stream.uniform() < 0.4 {
                        edges.push((a, b, stream.uniform()));
                    }
                }
            }
            let cut = |side: usize| {
                let crosses = |node: usize| side >> node & 1;
                edges.iter().filter(|(a, b, _)| crosses(*a) != crosses(*b)).map(|e| e.2).sum()
            };
            let cuts = (0..256_usize).filter(|side| side & 1 == 1 && side >> 7 & 1 == 0).map(cut);
            let smallest = cuts.fold(f64::INFINITY, f64::min);
            let mut flow = undirected(8, &edges);
            let sent = flow.send(0, 7);
            assert!(close(sent, smallest), "seed {seed}: {sent} and {smallest}");
            let side = flow.reached(0).iter().enumerate().map(|(i, r)| usize::from(*r) << i).sum();
            assert!(close(sent, cut(side)), "seed {seed}");
        }
    }
}
