//! How well scores tell who took part.

use serde::{Deserialize, Serialize};

use super::lower_bound::{Guesses, epsilon_at_least};
use crate::metric::area_under_curve;

/// One of so many candidates of a world is guessed, the surest: which is best is not known beforehand.
const CANDIDATES_PER_GUESS: [usize; 4] = [8, 4, 2, 1];
/// How often a lower bound of ε may be wrong.
const ERROR_RATE: f64 = 0.05;
/// Of one of so many rows that did not take part an attack may say that it did.
const ROWS_PER_FALSE_POSITIVE: usize = 100;

/// A row's score in a world, higher where it looks as if it took part; and the truth.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scored {
    /// The log-likelihood ratio.
    pub score: f64,
    /// Whether it took part.
    pub took_part: bool,
}

/// How well it can be told who took part.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Membership {
    /// How often a row that took part has a higher score than one that did not: 0.5 is chance, 1 is certainty.
    pub auc: f64,
    /// The share of rows that took part which are found, if one of a hundred of the others may be named wrongly.
    pub found_at_1_percent: f64,
    /// The share of rows of which it is guessed rightly whether they took part: 0.5 is chance.
    pub right_share: f64,
    /// Messages keep no differential privacy with an ε below this, by 95 %; zero says nothing.
    pub epsilon_at_least: f64,
}

impl Membership {
    /// What scores in several worlds show, of (ε, δ) with this δ.
    #[must_use]
    pub fn of(worlds: &[Vec<Scored>], delta: f64) -> Self {
        let all: Vec<Scored> = worlds.iter().flatten().copied().collect();
        let scores: Vec<f64> = all.iter().map(|row| row.score).collect();
        let took_part: Vec<bool> = all.iter().map(|row| row.took_part).collect();
        // A score of zero is no guess, and half of these are right.
        let right = |row: &Scored| match row.score {
            0.0 => 0.5,
            score => f64::from(u8::from((score > 0.0) == row.took_part)),
        };
        Self {
            auc: area_under_curve(&scores, &took_part, &vec![1.0; all.len()]).unwrap_or(0.5),
            found_at_1_percent: found(&all),
            right_share: all.iter().map(right).sum::<f64>() / all.len().max(1) as f64,
            epsilon_at_least: epsilon(worlds, delta),
        }
    }
}

/// The share of rows that took part above the score that one of a hundred of the others exceeds.
fn found(all: &[Scored]) -> f64 {
    let of = |took_part: bool| {
        all.iter().filter(move |row| row.took_part == took_part).map(|row| row.score)
    };
    let mut outside: Vec<f64> = of(false).collect();
    outside.sort_by(|a, b| b.total_cmp(a));
    // The first of those that may not be exceeded.
    let allowed = outside.len() / ROWS_PER_FALSE_POSITIVE;
    let level = outside.get(allowed).copied().unwrap_or(f64::NEG_INFINITY);
    let inside = of(true).count();
    of(true).filter(|score| *score > level).count() as f64 / inside.max(1) as f64
}

/// The best of the lower bounds by so many of the surest guesses, each with its part of the error rate.
fn epsilon(worlds: &[Vec<Scored>], delta: f64) -> f64 {
    let bound = |per_guess: &usize| {
        let mut guesses = Guesses::default();
        for world in worlds {
            let mut order: Vec<&Scored> = world.iter().filter(|row| row.score != 0.0).collect();
            order.sort_by(|a, b| b.score.abs().total_cmp(&a.score.abs()));
            let most = world.len().div_ceil(*per_guess);
            let made = &order[..most.min(order.len())];
            guesses.candidates += world.len() as u64;
            guesses.made += made.len() as u64;
            let is_right = |row: &&&Scored| (row.score > 0.0) == row.took_part;
            guesses.right += made.iter().filter(is_right).count() as u64;
        }
        epsilon_at_least(guesses, delta, ERROR_RATE / CANDIDATES_PER_GUESS.len() as f64)
    };
    CANDIDATES_PER_GUESS.iter().map(bound).fold(0.0, f64::max)
}
