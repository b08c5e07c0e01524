//! What the leader asks of all nodes, as numbers that travel along the tree.

use crate::{
    error::{Error, Result},
    mixed::{Means, Question, TOLD_APART},
};

/// Rounds of scalars between neighbours that bound what edges add: with so many, a node without rows
/// among others with rows hardly slows the series down.
pub(super) const REACH_ROUNDS: usize = 8;

/// What the leader asks of all nodes, and tells them.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Order {
    /// Counts, and sums of features and labels.
    Levels,
    /// These are the means: sums of products about them, and of ranges within nodes.
    Spreads { means: Vec<f64>, label_mean: f64 },
    /// These are the sums of weights, of products and of squared labels, and which slopes may differ: squares of
    /// columns.
    Scales { weight: f64, products: Vec<f64>, label_squares: f64, deviating: Vec<bool> },
    /// The largest share that edges add to the diagonal at some variances and ρ.
    Reach(Question),
    /// The elimination of all deviations at some variances and ρ.
    Look(Question),
    /// The likelihood of all rows with these mean coefficients alone.
    Total(Vec<f64>),
    /// The objective of deviations and Newton's step, from where they are or from zeros.
    Start { question: Question, is_fresh: bool },
    /// The same after so much of the step from the point before; again if it is another share of the same step.
    Move { length: f64, is_again: bool },
    /// How the minimum turns log|M|: v.
    Turn,
    /// The gradient, with v.
    Bend,
    /// The mean of deviations that are each node's own, where rows determine them.
    Centre,
    /// So many terms of the series within a radius.
    Series { question: Question, radius: f64, terms: usize },
    /// The gradient at these mean coefficients.
    Slopes(Means),
    /// The end: σ² and β at the last question.
    Finish { noise: f64, mean: Vec<f64> },
    /// The end: there is nothing to estimate.
    Fail(Failure),
}

/// Why there is nothing to estimate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Failure {
    FewRows,
    Singular,
    Dense,
    ToldApart,
}

impl Failure {
    const ALL: [Self; 4] = [Self::FewRows, Self::Singular, Self::Dense, Self::ToldApart];

    pub(super) fn error(self) -> Error {
        let reason = match self {
            Self::FewRows => "there are no more training rows than coefficients",
            Self::Singular => "its columns are combinations of each other",
            Self::Dense => "the network is too dense for a sparse factor",
            Self::ToldApart => TOLD_APART,
        };
        Error::Fit { model: "a mixed model", reason: reason.into() }
    }
}

/// How many features there are, and how many columns of each kind once that is known.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Sizes {
    pub(super) features: usize,
    pub(super) fixed: usize,
    pub(super) random: usize,
    /// The mean coefficients that a question names.
    pub(super) means: usize,
}

impl Order {
    /// How many rounds between neighbours it takes.
    pub(super) fn rounds(&self) -> usize {
        match self {
            Self::Reach(_) => REACH_ROUNDS,
            Self::Series { terms, .. } => *terms,
            _ => 0,
        }
    }

    /// Whether it is answered by an elimination on the way up.
    pub(super) fn eliminates(&self) -> bool {
        matches!(self, Self::Look(_) | Self::Start { .. } | Self::Move { .. } | Self::Turn)
    }

    /// Whether it begins with what the last elimination has found, on the way down.
    pub(super) fn tells(&self) -> bool {
        match self {
            Self::Slopes(_) | Self::Turn | Self::Bend | Self::Centre | Self::Finish { .. } => true,
            Self::Move { is_again, .. } => !is_again,
            _ => false,
        }
    }

    /// The order as numbers.
    pub(super) fn to_numbers(&self) -> Vec<f64> {
        match self {
            Self::Levels => vec![0.0],
            Self::Spreads { means, label_mean } => [&[1.0, *label_mean], &means[..]].concat(),
            Self::Scales { weight, products, label_squares, deviating } => {
                let flags: Vec<f64> =
                    deviating.iter().map(|&flag| f64::from(u8::from(flag))).collect();
                [&[2.0, *weight, *label_squares], &products[..], &flags].concat()
            }
            Self::Reach(asked) => [vec![3.0], asked.to_numbers()].concat(),
            Self::Series { question: asked, radius, terms } => {
                [vec![4.0, *radius, *terms as f64], asked.to_numbers()].concat()
            }
            Self::Slopes(Means { values, covariance }) => {
                [&[5.0], &values[..], &covariance[..]].concat()
            }
            Self::Finish { noise, mean } => [&[6.0, *noise], &mean[..]].concat(),
            Self::Fail(failure) => vec![7.0, f64::from(*failure as u8)],
            Self::Look(asked) => [vec![8.0], asked.to_numbers()].concat(),
            Self::Total(mean) => [&[9.0], &mean[..]].concat(),
            Self::Start { question, is_fresh } => {
                [vec![10.0, flag(*is_fresh)], question.to_numbers()].concat()
            }
            Self::Move { length, is_again } => vec![11.0, *length, flag(*is_again)],
            Self::Turn => vec![12.0],
            Self::Bend => vec![13.0],
            Self::Centre => vec![14.0],
        }
    }

    /// The order in these numbers, for nodes of these sizes.
    pub(super) fn from_numbers(numbers: &[f64], sizes: Sizes) -> Result<Self> {
        let Sizes { features, fixed, random, means } = sizes;
        let refused = |reason| Error::Malformed { what: "an order", reason };
        let (&kind, rest) = numbers.split_first().ok_or_else(|| refused("is missing"))?;
        let list = |skip: usize, count: usize| {
            let list = rest.get(skip..).filter(|list| list.len() == count);
            list.map(<[f64]>::to_vec).ok_or_else(|| refused("is of another size"))
        };
        let question = |skip: usize| {
            let question = Question::from_numbers(&list(skip, 2 + random + means)?, random);
            question.ok_or_else(|| refused("has a wrong rho or noise"))
        };
        Ok(match whole(kind) {
            0 => Self::Levels,
            1 => Self::Spreads { means: list(1, features)?, label_mean: rest[0] },
            2 => {
                let mut products = list(2, features * features + features)?;
                let flags = products.split_off(features * features);
                let deviating = flags.iter().map(|flag| *flag > 0.0).collect();
                Self::Scales { weight: rest[0], products, label_squares: rest[1], deviating }
            }
            3 => Self::Reach(question(0)?),
            4 => {
                let question = question(2)?;
                let (radius, terms) = (rest[0], rest[1]);
                if !(0.0..1.0).contains(&radius) || terms < 1.0 {
                    return Err(refused("has a wrong radius"));
                }
                Self::Series { question, radius, terms: whole(terms) }
            }
            5 => {
                let mut values = list(0, fixed * (fixed + 1))?;
                let covariance = values.split_off(fixed);
                Self::Slopes(Means { values, covariance })
            }
            6 => Self::Finish { mean: list(1, fixed)?, noise: rest[0] },
            7 => {
                let failure = Failure::ALL.get(whole(list(0, 1)?[0])).copied();
                Self::Fail(failure.ok_or_else(|| refused("is of an unknown kind"))?)
            }
            8 => Self::Look(question(0)?),
            9 => Self::Total(list(0, fixed)?),
            10 => Self::Start { question: question(1)?, is_fresh: rest[0] > 0.0 },
            11 => {
                let numbers = list(0, 2)?;
                Self::Move { length: numbers[0], is_again: numbers[1] > 0.0 }
            }
            12 => list(0, 0).map(|_| Self::Turn)?,
            13 => list(0, 0).map(|_| Self::Bend)?,
            14 => list(0, 0).map(|_| Self::Centre)?,
            _ => return Err(refused("is of an unknown kind")),
        })
    }
}

fn flag(flag: bool) -> f64 {
    f64::from(u8::from(flag))
}

/// A kind or a count, which travels as a number.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "it was written as a whole number; what is none becomes one that is refused or used as it is"
)]
fn whole(number: f64) -> usize {
    number as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_order_comes_back_from_its_numbers_and_no_other_does() {
        let sizes = Sizes { features: 2, fixed: 2, random: 3, means: 0 };
        let question =
            Question { factor: vec![0.1, 0.2, 0.3], rho: 0.9, noise: None, mean: Vec::new() };
        let noisy = Question { noise: Some(0.4), ..question.clone() };
        let means = Means { values: vec![1.0, 2.0], covariance: vec![1.0, 0.5, 0.5, 2.0] };
        let orders = [
            Order::Levels,
            Order::Spreads { means: vec![1.0, 2.0], label_mean: 3.0 },
            Order::Scales {
                weight: 4.0,
                products: vec![1.0; 4],
                label_squares: 2.0,
                deviating: vec![true, false],
            },
            Order::Reach(question.clone()),
            Order::Look(noisy.clone()),
            Order::Total(vec![0.1, -0.2]),
            Order::Start { question: noisy, is_fresh: true },
            Order::Move { length: 0.25, is_again: true },
            Order::Turn,
            Order::Bend,
            Order::Centre,
            Order::Series { question, radius: 0.5, terms: 30 },
            Order::Slopes(means),
            Order::Finish { noise: 0.3, mean: vec![1.0, 2.0] },
            Order::Fail(Failure::Dense),
        ];
        for order in orders {
            let numbers = order.to_numbers();
            assert_eq!(Order::from_numbers(&numbers, sizes).unwrap(), order);
            let longer = [&numbers[..], &[0.0]].concat();
            assert!(order == Order::Levels || Order::from_numbers(&longer, sizes).is_err());
        }
        for numbers in [&[][..], &[9.0], &[1.0], &[3.0, 1.5, 0.0, 0.1, 0.1, 0.1], &[7.0, 8.0]] {
            assert!(Order::from_numbers(numbers, sizes).is_err(), "{numbers:?}");
        }
    }
}
