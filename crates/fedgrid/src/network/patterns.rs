//! The order in which a network's nodes are eliminated, found once for all systems on it.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use super::Network;
use crate::algebra::Pattern;

/// The most neighbours a node may have on average when it is eliminated: beyond that conjugate gradients
/// are faster.
const MAX_MEAN_DEGREE: usize = 20;
/// The same for factors of one number for every node, which are read as fast as a product with small blocks.
const MAX_MEAN_DEGREE_OF_NUMBERS: usize = 60;
/// Numbers in all blocks that are worth the time and memory: a quarter of a gigabyte.
const MAX_NUMBERS: usize = 1 << 25;

/// How many multiplications of a factor take as long as one of a product with a system, which is read from memory.
const FACTOR_MULTIPLICATIONS_PER_PRODUCTS: f64 = 8.0;

/// What a pattern is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    /// Blocks of this size.
    Blocks(usize),
    /// So many factors of one number for every node.
    Numbers(usize),
}

/// What has been found, by what it is for. It follows from the network, so all are equal.
#[derive(Debug, Clone, Default)]
pub(super) struct Patterns {
    found: Arc<Mutex<BTreeMap<Kind, Option<Arc<Pattern>>>>>,
    /// A network of the same shape, and the node that each of its nodes is here.
    like: Option<Arc<(Network, Vec<usize>)>>,
}

impl Patterns {
    /// Those of another network, whose node `i` is `order[i]` here.
    pub(super) fn like(network: Network, order: &[usize]) -> Self {
        Self { found: Arc::default(), like: Some(Arc::new((network, order.to_vec()))) }
    }
}

impl PartialEq for Patterns {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Network {
    /// The pattern of factors of a system with blocks of this size for nodes and edges; none where
    /// elimination fills in too many: on paths, grids and networks of near neighbours there are few.
    pub(crate) fn pattern(&self, size: usize) -> Option<Arc<Pattern>> {
        self.pattern_of(Kind::Blocks(size))
    }

    /// The pattern of so many factors with one number for every node and edge, which are less than blocks by a factor of
    /// their size.
    pub(crate) fn scalar_pattern(&self, factors: usize) -> Option<Arc<Pattern>> {
        self.pattern_of(Kind::Numbers(factors))
    }

    fn pattern_of(&self, kind: Kind) -> Option<Arc<Pattern>> {
        let mut found = self.patterns.found.lock().unwrap_or_else(PoisonError::into_inner);
        let make = || {
            if let Some((network, order)) = self.patterns.like.as_deref() {
                return network.pattern_of(kind).map(|pattern| pattern.moved(order).into());
            }
            let neighbours: Vec<_> =
                (0..self.len()).map(|node| self.neighbours(node).to_vec()).collect();
            let (size, most) = match kind {
                Kind::Blocks(size) => (size, MAX_MEAN_DEGREE * self.len() * size * size),
                Kind::Numbers(factors) => (
                    1,
                    MAX_MEAN_DEGREE_OF_NUMBERS
                        .min(MAX_NUMBERS / self.len().max(1) / factors.max(1))
                        * self.len(),
                ),
            };
            Pattern::new(&neighbours, size, MAX_NUMBERS.min(most)).map(Arc::new)
        };
        found.entry(kind).or_insert_with(make).clone()
    }

    /// How many products with a system of blocks of this size take as long as its factors; none where these are not to
    /// be had.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "some hundred products"
    )]
    pub(crate) fn products_of_factors(&self, size: usize) -> Option<usize> {
        let product = 2 * size * (self.len() * size + self.edges().len());
        let work = match self.pattern(size) {
            Some(pattern) => pattern.work(size),
            // One for each number of a block instead of blocks.
            None => size as f64 * self.scalar_pattern(size)?.work(1),
        };
        Some((work / (FACTOR_MULTIPLICATIONS_PER_PRODUCTS * product as f64)) as usize)
    }
}

#[cfg(test)]
mod tests {
    use crate::{
        algebra::BlockCholesky,
        network::grid,
        random::{Purpose, Stream},
    };

    #[test]
    fn factors_of_a_shuffled_network_are_those_of_its_own_pattern() {
        let network = grid(7, 5).unwrap();
        let order = Stream::new(1, 0, 0, Purpose::Shuffle).permutation(35);
        let shuffled = network.shuffled(&order);
        let alone = crate::network::Network::new(
            shuffled.names().to_vec(),
            shuffled.edges().iter().copied(),
        );
        let solved = |network: &crate::network::Network| {
            let diagonal: Vec<f64> = (0..35)
                .flat_map(|node| {
                    let own = network.degree(node) + 0.1 + 0.01 * node as f64;
                    [own, 0.02, 0.02, own]
                })
                .collect();
            let pattern = network.pattern(2).unwrap();
            let factor = BlockCholesky::new(&pattern, 2, &diagonal, (-1.0, 2)).unwrap();
            let mut v: Vec<f64> = (0..70).map(|k| f64::from(k).cos()).collect();
            factor.solve(&mut v, 1);
            v
        };
        for (a, b) in solved(&shuffled).iter().zip(solved(&alone.unwrap())) {
            assert!((a - b).abs() < 1e-10, "{a} {b}");
        }
        assert_eq!(shuffled.products_of_factors(2), network.products_of_factors(2));
    }
}
