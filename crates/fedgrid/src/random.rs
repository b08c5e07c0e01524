//! Random numbers that do not depend on who draws first: one stream per
//! (seed, node, round, purpose),
//!
//! ```text
//! stream = ChaCha8( key = seed ‖ node ‖ round ‖ purpose )
//! ```
//!
//! so that any thread, process or resumed run draws the same numbers. The distributions are our
//! own few lines, so that a seed means the same numbers in every version.

use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};

/// What a stream is drawn for; streams of different purposes are independent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u64)]
pub enum Purpose {
    /// Edges and node properties of a made network.
    Network = 1,
    /// Features and labels of made data.
    Data = 2,
    /// Public points.
    Public = 3,
    /// Which rows train, validate and test.
    Split = 4,
    /// The permutation of a shuffled network.
    Shuffle = 5,
    /// Starting points of iterative solvers.
    Start = 6,
    /// The randomness of a local model.
    Model = 7,
    /// The candidates that a target probes.
    Candidates = 8,
    /// Which rows a target holds back for its rewards.
    Held = 9,
    /// The noise in answers to probes.
    ProbeNoise = 10,
    /// The pairs that are probed to learn a network.
    Pairs = 11,
    /// What goes wrong in a simulated federation.
    Faults = 12,
    /// Which rows are looked at together.
    Batches = 13,
    /// Who takes part in an iteration.
    Participants = 20,
    /// The starts that a method tries side by side.
    Restarts = 21,
    /// The signs of probes that estimate traces.
    Traces = 22,
    /// Which rows take part in a world of an audit.
    Coins = 23,
    /// The noise of what nodes publish, in rehearsals.
    Privacy = 24,
}

/// A stream of random numbers, addressed by seed, node, round and purpose.
///
/// ```
/// use fedgrid::random::{Purpose, Stream};
/// let draw = || Stream::new(1, 5, 0, Purpose::Data).normal();
/// assert_eq!(draw(), draw());
/// assert_ne!(draw(), Stream::new(1, 6, 0, Purpose::Data).normal());
/// ```
#[derive(Debug, Clone)]
pub struct Stream(ChaCha8Rng);

impl Stream {
    /// The stream of one node in one round for one purpose.
    #[must_use]
    pub fn new(seed: u64, node: usize, round: usize, purpose: Purpose) -> Self {
        let mut key = [0; 32];
        for (slot, word) in
            key.chunks_exact_mut(8).zip([seed, node as u64, round as u64, purpose as u64])
        {
            slot.copy_from_slice(&word.to_le_bytes());
        }
        Self(ChaCha8Rng::from_seed(key))
    }

    /// A number drawn uniformly from [0, 1).
    pub fn uniform(&mut self) -> f64 {
        // The upper 53 bits fill the mantissa exactly.
        (self.0.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A standard normal number (Box and Muller).
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }

    /// An index drawn uniformly from 0..count.
    ///
    /// # Panics
    ///
    /// If `count` is zero: there is no index to draw.
    pub fn index(&mut self, count: usize) -> usize {
        assert!(count > 0, "an index is drawn from at least one");
        let count = count as u64;
        // Draws from the last run of `count` numbers, which is cut, are rejected: no index is favoured.
        loop {
            let draw = self.0.next_u64();
            let index = draw % count;
            if (draw - index).checked_add(count).is_some() {
                return usize::try_from(index).expect("an index below a usize fits");
            }
        }
    }

    /// Draws so many of the items without replacement. They stay in their order, so that a draw depends
    /// on nothing but its stream.
    ///
    /// # Panics
    ///
    /// If there are fewer items.
    pub fn sample<T: Copy>(&mut self, items: &mut [T], count: usize, drawn: &mut Vec<T>) {
        drawn.clear();
        // The swaps of most draws fit on the stack: this runs in every iteration of every target.
        let mut swaps = [0; 64];
        let mut more_swaps = Vec::new();
        for index in 0..count {
            let other = index + self.index(items.len() - index);
            items.swap(index, other);
            drawn.push(items[index]);
            match swaps.get_mut(index) {
                Some(swap) => *swap = other,
                None => more_swaps.push(other),
            }
        }
        for index in (0..count).rev() {
            let stored = swaps.get(index).copied();
            items.swap(index, stored.unwrap_or_else(|| more_swaps[index - swaps.len()]));
        }
    }

    /// Puts the items in random order (Fisher and Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let other = self.index(last + 1);
            items.swap(last, other);
        }
    }

    /// A random order of 0..count.
    pub fn permutation(&mut self, count: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..count).collect();
        self.shuffle(&mut order);
        order
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_of_the_address_changes_the_stream() {
        let first = |seed, node, round, purpose| Stream::new(seed, node, round, purpose).uniform();
        let base = first(1, 2, 3, Purpose::Data);
        for other in [
            first(2, 2, 3, Purpose::Data),
            first(1, 3, 3, Purpose::Data),
            first(1, 2, 4, Purpose::Data),
            first(1, 2, 3, Purpose::Split),
        ] {
            assert!((base - other).abs() > 1e-12);
        }
    }

    #[test]
    fn normal_draws_have_mean_zero_variance_one_and_no_skew() {
        let mut stream = Stream::new(7, 0, 0, Purpose::Data);
        let draws: Vec<f64> = (0..200_000).map(|_| stream.normal()).collect();
        let moment = |k: i32| draws.iter().map(|x| x.powi(k)).sum::<f64>() / draws.len() as f64;
        assert!(moment(1).abs() < 0.01);
        assert!((moment(2) - 1.0).abs() < 0.02);
        assert!(moment(3).abs() < 0.05);
        assert!((moment(4) - 3.0).abs() < 0.15);
    }

    #[test]
    fn a_permutation_holds_every_index_once_and_indices_are_even() {
        let mut stream = Stream::new(3, 0, 0, Purpose::Shuffle);
        let mut order = stream.permutation(100);
        assert_ne!(order, (0..100).collect::<Vec<_>>());
        order.sort_unstable();
        assert_eq!(order, (0..100).collect::<Vec<_>>());

        let mut counts = [0_u32; 3];
        (0..30_000).for_each(|_| counts[stream.index(3)] += 1);
        assert!(counts.iter().all(|&count| count.abs_diff(10_000) < 400), "{counts:?}");
    }
}
