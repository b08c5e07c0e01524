//! How well each cluster of a network holds together by itself,
//!
//! ```text
//! λ₂(C) = min  Σ_{edges inside C} A (xᵢ − xⱼ)² / Σ_{i ∈ C} xᵢ²      over x ≠ 0 with Σ_i xᵢ = 0
//! ```
//!
//! ["Plug In and Learn", section V: the second smallest eigenvalue of the cluster's Laplacian.]

use super::{cluster_indices, members};
use crate::{error::Result, network::Network};

/// A cluster and the edges inside it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cohesion {
    /// The number of the cluster.
    pub cluster: usize,
    /// How many nodes it has.
    pub nodes: usize,
    /// In how many pieces it falls if only the edges inside it count; one if it holds together.
    pub pieces: usize,
    /// λ₂; zero in several pieces, none for a single node.
    pub lambda2: Option<f64>,
    /// The weight of the edges inside.
    pub inside: f64,
    /// The weight of the edges to other clusters.
    pub outside: f64,
}

/// The cohesion of each cluster, in the order of their numbers; `clusters` has one for every node.
///
/// ```
/// use fedgrid::{bound::cohesion, network::path};
/// let halves = cohesion(&path(4)?, &[0, 0, 1, 1])?;
/// assert!((halves[0].lambda2.unwrap() - 2.0).abs() < 1e-8);
/// assert_eq!(halves[1].outside, 1.0);
/// # Ok::<(), fedgrid::Error>(())
/// ```
pub fn cohesion(network: &Network, clusters: &[usize]) -> Result<Vec<Cohesion>> {
    let members = members(network, clusters)?;
    let indices = cluster_indices(&members, network.len());
    let new = |members: &Vec<usize>| Cohesion {
        cluster: clusters[members[0]],
        nodes: members.len(),
        pieces: 0,
        lambda2: None,
        inside: 0.0,
        outside: 0.0,
    };
    let mut found: Vec<Cohesion> = members.iter().map(new).collect();
    for edge in network.edges() {
        let [a, b] = [edge.source, edge.target].map(|end| indices[end]);
        if a == b {
            found[a].inside += edge.weight;
        } else {
            found[a].outside += edge.weight;
            found[b].outside += edge.weight;
        }
    }
    // A component of the edges inside clusters is a piece of one cluster.
    let inside = network.inside(&indices)?;
    let pieces = inside.statistics().components;
    let connectivity = inside.connectivity()?;
    let mut seen = vec![false; connectivity.len()];
    for (&piece, &index) in pieces.iter().zip(&indices) {
        if !seen[piece] {
            seen[piece] = true;
            let cluster = &mut found[index];
            cluster.pieces += 1;
            // A second piece can be moved against the first at no cost, which makes λ₂ zero.
            cluster.lambda2 = if cluster.pieces == 1 { connectivity[piece] } else { Some(0.0) };
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::{Clustered, complete, path};

    #[test]
    fn the_components_as_clusters_have_the_connectivity_of_the_network() {
        let islands = Clustered { clusters: 3, nodes: 20, inside: 0.3, between: 0.0, seed: 2 };
        let (network, _) = islands.make().unwrap();
        let statistics = network.statistics();
        let cohesion = cohesion(&network, &statistics.components).unwrap();
        let connectivity = network.connectivity().unwrap();
        assert_eq!(cohesion.len(), connectivity.len());
        for (cluster, lambda2) in cohesion.iter().zip(connectivity) {
            match (cluster.lambda2, lambda2) {
                (Some(a), Some(b)) => assert!((a / b - 1.0).abs() < 1e-7),
                (a, b) => assert_eq!(a, b),
            }
            assert_eq!((cluster.pieces, cluster.outside), (1, 0.0));
        }
    }

    #[test]
    fn only_edges_inside_a_cluster_count() {
        // Every second node: the clusters of a complete network are complete, those of a path are dust.
        let clusters = [7, 3, 7, 3, 7, 3];
        let whole = cohesion(&complete(6).unwrap(), &clusters).unwrap();
        assert_eq!((whole[0].cluster, whole[1].cluster), (3, 7));
        assert!((whole[0].lambda2.unwrap() - 3.0).abs() < 1e-8);
        assert_eq!((whole[0].inside, whole[0].outside), (3.0, 9.0));
        let dust = cohesion(&path(6).unwrap(), &clusters).unwrap();
        assert_eq!((dust[0].pieces, dust[0].lambda2), (3, Some(0.0)));
        let single = cohesion(&path(2).unwrap(), &[0, 1]).unwrap();
        assert_eq!((single[1].pieces, single[1].lambda2), (1, None));
    }

    #[test]
    fn a_missing_cluster_is_named() {
        let error = cohesion(&path(3).unwrap(), &[0]).unwrap_err().to_string();
        assert_eq!(error, "clusters of nodes: found 1, expected 3");
    }
}
