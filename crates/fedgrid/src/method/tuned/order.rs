//! What travels along the tree: sums up, orders down.

use super::{MOST_SIDE_BY_SIDE, MOST_STRENGTHS, TriedStrength};
use crate::{
    bytes::{NUMBER_BYTES, Reader, Writer},
    error::{Error, Result},
};

/// Sums over some nodes, of one round at one strength.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct TreeSums {
    pub(super) change: f64,
    pub(super) size: f64,
    /// Of validation rows, in the round in which a strength is judged.
    pub(super) loss: f64,
    pub(super) rows: f64,
    /// How many nodes have no finite error.
    pub(super) lost: f64,
}

impl TreeSums {
    pub(super) const BYTES: usize = 5 * NUMBER_BYTES;

    pub(super) fn plus(self, other: &Self) -> Self {
        // What has grown beyond all numbers is as far from rest as a number can say.
        let sum = |a: f64, b: f64| (a + b).min(f64::MAX);
        Self {
            change: sum(self.change, other.change),
            size: sum(self.size, other.size),
            loss: sum(self.loss, other.loss),
            rows: sum(self.rows, other.rows),
            lost: sum(self.lost, other.lost),
        }
    }

    /// How far the round was from rest.
    pub(super) fn residual(&self) -> f64 {
        if self.size > 0.0 { (self.change / self.size).sqrt() } else { 0.0 }
    }

    /// The mean error of validation rows; none without any.
    pub(super) fn error(&self) -> Option<f64> {
        let error = if self.lost > 0.0 { f64::MAX } else { self.loss / self.rows };
        (self.rows > 0.0).then_some(if error.is_finite() { error } else { f64::MAX })
    }

    /// Not bounded by the limit for messages: what is summed up here moves no model.
    pub(super) fn write(&self, to: &mut Writer) {
        to.numbers(&[self.change, self.size, self.loss, self.rows, self.lost]);
    }

    pub(super) fn read(from: &mut Reader<'_>) -> Result<Self> {
        let numbers = from.numbers(5)?;
        if numbers.iter().any(|number| !number.is_finite() || *number < 0.0) {
            return Err(from.refusal("holds a sum that is no sum of squares, losses or rows"));
        }
        let [change, size, loss, rows, lost] = [0, 1, 2, 3, 4].map(|k| numbers[k]);
        Ok(Self { change, size, loss, rows, lost })
    }
}

/// What all nodes do in the same round.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Order {
    /// After this round.
    pub(super) at: u64,
    /// Which of the strengths of until now are judged first; none where it is empty.
    pub(super) judges: Vec<bool>,
    pub(super) then: Then,
}

/// What comes then.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Then {
    /// More rounds at the same strengths.
    Stay,
    /// Rounds at these strengths, side by side.
    Go(Vec<f64>),
    /// The end: this strength is taken, after these were tried.
    Take(f64, Vec<TriedStrength>),
    /// The end: nobody has validation rows.
    Fail,
}

impl Order {
    pub(super) const MOST_BYTES: usize =
        8 + 2 + MOST_SIDE_BY_SIDE + NUMBER_BYTES * (2 + 3 * MOST_STRENGTHS);

    pub(super) fn write(&self, to: &mut Writer) {
        to.word(self.at);
        to.mark(u8::try_from(self.judges.len()).unwrap_or(u8::MAX));
        self.judges.iter().for_each(|judges| to.flag(*judges));
        match &self.then {
            Then::Stay => to.mark(0),
            Then::Go(strengths) => {
                to.mark(1);
                write_strengths(strengths, to);
            }
            Then::Take(alpha, tried) => {
                to.mark(2);
                to.number(*alpha);
                write_tried(tried, to);
            }
            Then::Fail => to.mark(3),
        }
    }

    pub(super) fn read(from: &mut Reader<'_>) -> Result<Self> {
        let at = from.word()?;
        let judged = read_number_of_strengths(from)?;
        let judges = (0..judged).map(|_| from.flag()).collect::<Result<_>>()?;
        let then = match from.mark()? {
            0 => Then::Stay,
            1 => Then::Go(read_strengths(from)?),
            2 => Then::Take(strength(from)?, read_tried(from)?),
            3 => Then::Fail,
            _ => return Err(from.refusal("has an order that is unknown")),
        };
        Ok(Self { at, judges, then })
    }
}

fn strength(from: &mut Reader<'_>) -> Result<f64> {
    let alpha = from.finite(1)?[0];
    if alpha < 0.0 { Err(from.refusal("has a strength below zero")) } else { Ok(alpha) }
}

/// Writes the strengths that run side by side.
pub(super) fn write_strengths(strengths: &[f64], to: &mut Writer) {
    to.mark(u8::try_from(strengths.len()).unwrap_or(u8::MAX));
    to.numbers(strengths);
}

pub(super) fn read_strengths(from: &mut Reader<'_>) -> Result<Vec<f64>> {
    let count = read_number_of_strengths(from)?;
    if count == 0 {
        return Err(from.refusal("holds no strength"));
    }
    (0..count).map(|_| strength(from)).collect()
}

/// How many strengths are spoken of.
pub(super) fn read_number_of_strengths(from: &mut Reader<'_>) -> Result<usize> {
    let count = usize::from(from.mark()?);
    if count > MOST_SIDE_BY_SIDE {
        return Err(from.refusal("is of more strengths than run side by side"));
    }
    Ok(count)
}

pub(super) fn write_tried(tried: &[TriedStrength], to: &mut Writer) {
    to.count(tried.len());
    for TriedStrength { alpha, error, residual } in tried {
        to.numbers(&[*alpha, *error, *residual]);
    }
}

pub(super) fn read_tried(from: &mut Reader<'_>) -> Result<Vec<TriedStrength>> {
    let count = from.count()?;
    if count > MOST_STRENGTHS {
        return Err(from.refusal("holds more strengths than expected"));
    }
    let one = |numbers: &[f64]| TriedStrength {
        alpha: numbers[0],
        error: numbers[1],
        residual: numbers[2],
    };
    let numbers = from.numbers(3 * count)?;
    // As large as they may be: errors are in the units of the table, and move no model.
    if !numbers.iter().all(|number| number.is_finite()) {
        return Err(from.refusal("holds a number that is not finite"));
    }
    Ok(numbers.chunks_exact(3).map(one).collect())
}

/// Why an order of the node that leads ends a run.
pub(super) fn no_rows() -> Error {
    Error::Unsupported {
        what: super::WHAT,
        needs: "validation rows at some site: mark some in the column data.split, or leave out data.split",
    }
}
