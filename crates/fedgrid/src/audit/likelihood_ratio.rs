//! How much likelier what was told of a row is if the row took part, by normal distributions learnt from worlds in
//! which the truth is known,
//!
//! ```text
//! score = log N(z; μ_in, S_in) − log N(z; μ_out, S_out)
//! ```
//!
//! with the means of each row, and covariances of each row drawn to those of all rows of the node.

use super::membership::Scored;
use crate::algebra::{Cholesky, dot};

/// So many worlds the covariance of all rows of a node is worth beside those of a row: with a quarter of as many, the
/// usual number of each kind, a row's own would be a rough guess.
const PRIOR_WORLDS: f64 = 8.0;
/// A spread is at least this share of that over all worlds: what rounding makes of none.
const LEAST_SPREAD: f64 = 1e-9;
/// A spread below this share of the mean is rounding.
const ROUNDING_SHARE: f64 = 1e-14;

/// A world, as a neighbour of one node sees it.
#[derive(Debug)]
pub(super) struct World {
    /// Whether each candidate took part.
    pub(super) took_part: Vec<bool>,
    /// What was told of each candidate: a number of each model.
    pub(super) told: Vec<Vec<f64>>,
}

/// What a neighbour of one node sees in all worlds.
#[derive(Debug, Default)]
pub(super) struct Seen {
    pub(super) worlds: Vec<World>,
}

impl Seen {
    /// The scores of all candidates in the second half of the worlds, by what the first half teaches.
    pub(super) fn scored(mut self) -> Vec<Vec<Scored>> {
        let half = self.worlds.len() / 2;
        let count = self.worlds.first().map_or(0, |world| world.took_part.len());
        (0..count).for_each(|row| self.standardise(row, half));
        let (known, guessed) = self.worlds.split_at(half);
        let [inside, outside] = [true, false].map(|took_part| Side::of(known, took_part, count));
        let score = |world: &World| {
            let own = |row: usize| {
                let z = &world.told[row];
                let score = inside.log_density(row, z) - outside.log_density(row, z);
                Scored { score, took_part: world.took_part[row] }
            };
            (0..count).map(own).collect()
        };
        guessed.iter().map(score).collect()
    }

    /// Measures what is told of a row in its spread over the worlds that teach.
    fn standardise(&mut self, row: usize, half: usize) {
        let told: Vec<&[f64]> =
            self.worlds[..half].iter().map(|world| world.told[row].as_slice()).collect();
        let (mean, share) = (mean(&told), 1.0 / half.max(1) as f64);
        let square = |k: usize| told.iter().map(|z| share * (z[k] - mean[k]).powi(2)).sum::<f64>();
        let spreads: Vec<f64> = (0..mean.len()).map(|k| square(k).sqrt()).collect();
        for world in &mut self.worlds {
            for ((z, mean), spread) in world.told[row].iter_mut().zip(&mean).zip(&spreads) {
                // What never moves tells nothing, and rounding of its mean is no move.
                let moves = *spread > ROUNDING_SHARE * mean.abs();
                *z = if moves { (*z - mean) / spread } else { 0.0 };
            }
        }
    }
}

fn mean(told: &[&[f64]]) -> Vec<f64> {
    let size = told.first().map_or(0, |z| z.len());
    let share = 1.0 / told.len().max(1) as f64;
    (0..size).map(|k| told.iter().map(|z| share * z[k]).sum()).collect()
}

/// What is told of rows in the worlds with them, or without them.
struct Side {
    rows: Vec<RowSide>,
    /// The covariance over all rows, by row and column.
    common: Vec<f64>,
}

struct RowSide {
    worlds: f64,
    mean: Vec<f64>,
    /// Sums of products of deviations, by row and column.
    products: Vec<f64>,
}

impl Side {
    fn of(worlds: &[World], took_part: bool, count: usize) -> Self {
        let of_row = |row: usize| {
            let told: Vec<&[f64]> = worlds
                .iter()
                .filter(|world| world.took_part[row] == took_part)
                .map(|world| world.told[row].as_slice())
                .collect();
            // Rows that were always on one side have no distribution on the other: no score, whatever is told.
            let all: Vec<&[f64]> = worlds.iter().map(|world| world.told[row].as_slice()).collect();
            let mean = mean(if told.is_empty() { &all } else { &told });
            let size = mean.len();
            let mut products = vec![0.0; size * size];
            for z in &told {
                for (at, product) in products.iter_mut().enumerate() {
                    *product += (z[at / size] - mean[at / size]) * (z[at % size] - mean[at % size]);
                }
            }
            RowSide { worlds: told.len() as f64, mean, products }
        };
        let rows: Vec<RowSide> = (0..count).map(of_row).collect();
        // One degree of freedom of each row is its mean.
        let degrees: f64 = rows.iter().map(|row| (row.worlds - 1.0).max(0.0)).sum();
        let size = rows.first().map_or(0, |row| row.products.len());
        let sum = |at: usize| rows.iter().map(|row| row.products[at]).sum::<f64>();
        let common = (0..size).map(|at| sum(at) / degrees.max(1.0)).collect();
        Self { rows, common }
    }

    /// The log-density of what was told of a row, up to what is the same on both sides.
    fn log_density(&self, row: usize, z: &[f64]) -> f64 {
        let (own, size) = (&self.rows[row], z.len());
        let worlds = (own.worlds - 1.0).max(0.0) + PRIOR_WORLDS;
        let sums = own.products.iter().zip(&self.common);
        let mut covariance: Vec<f64> =
            sums.map(|(own, common)| (own + PRIOR_WORLDS * common) / worlds).collect();
        // Relative, too: numbers that always move together leave nothing beside each other but rounding.
        for entry in covariance.iter_mut().step_by(size + 1) {
            *entry = *entry * (1.0 + LEAST_SPREAD) + LEAST_SPREAD * LEAST_SPREAD;
        }
        let Some(factor) = Cholesky::new(covariance, size) else { return 0.0 };
        let deviation: Vec<f64> = z.iter().zip(&own.mean).map(|(z, mean)| z - mean).collect();
        let mut solved = deviation.clone();
        factor.solve(&mut solved);
        -0.5 * (dot(&deviation, &solved) + factor.log_determinant())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        audit::Membership,
        random::{Purpose, Stream},
    };

    /// Worlds in which what is told of a row is its number if it took part, and noise of a given spread.
    fn told(shift: f64, noise: f64, numbers: usize) -> Membership {
        let world = |world: usize| {
            let mut stream = Stream::new(9, 0, world, Purpose::Data);
            let took_part: Vec<bool> = (0..20).map(|_| stream.uniform() < 0.5).collect();
            let told = took_part.iter().map(|is_in| {
                let mean = if *is_in { shift } else { 0.0 };
                (0..numbers).map(|_| mean + noise * stream.normal()).collect()
            });
            World { told: told.collect(), took_part }
        };
        Membership::of(&Seen { worlds: (0..200).map(world).collect() }.scored(), 0.0)
    }

    #[test]
    fn noise_tells_nothing_and_shifts_what_normal_distributions_say() {
        for numbers in [1, 2] {
            let found = told(0.0, 1.0, numbers);
            // Two standard errors of 2,000 scores.
            assert!((found.auc - 0.5).abs() < 0.03, "{numbers}: {found:?}");
            assert!(found.epsilon_at_least < 0.2, "{found:?}");
        }
        // Φ(d / √2) and Φ(d / 2), with d = shift · √numbers / noise.
        let found = told(1.0, 1.0, 1);
        assert!((found.auc - 0.760_25).abs() < 0.02, "{found:?}");
        assert!((found.right_share - 0.691_46).abs() < 0.025, "{found:?}");
        let both = told(1.0, 1.0, 2);
        assert!((both.auc - 0.841_34).abs() < 0.02, "{both:?}");
        let certain = told(1.0, 0.0, 2);
        let Membership { auc, found_at_1_percent, right_share, epsilon_at_least } = certain;
        assert_eq!((auc, found_at_1_percent, right_share), (1.0, 1.0, 1.0));
        assert!(epsilon_at_least > 4.0, "{certain:?}");
        let never = told(0.0, 0.0, 1);
        assert_eq!((never.auc, never.epsilon_at_least), (0.5, 0.0));
    }
}
