//! The node that leads, where labels are classes or counts: first the mean coefficients without deviations, then for
//! every question the minimum over all deviations by Newton's method, and the gradient there.
//!
//! ```text
//! total …                the mean coefficients to start from
//! start, move …          Newton's steps: on the way up the system of the next step and the objective
//! turn, bend             v = M⁻¹ Tᵀt and the gradient
//! ```

use super::{
    lead::{Common, Lead},
    order::{Failure, Order},
};
use crate::{
    bytes::{Reader, Writer},
    error::Result,
    mixed::{ModeNext, PooledNext, Question, Setting, mode, pooled},
};

/// What the answers so far have been.
#[derive(Debug, Default)]
pub(super) struct Climb {
    /// Of the likelihood with mean coefficients alone.
    pub(super) totals: Vec<Vec<f64>>,
    /// Of the minimum over deviations at the question: the objective, its expected decrease and log|M|, or nothing.
    looks: Vec<Vec<f64>>,
    /// Whether mean coefficients that are each node's own are where they shall be.
    is_centred: bool,
}

impl Climb {
    /// The objective with log|M| at the last look.
    fn last(&self) -> Option<(f64, f64)> {
        self.looks.last().and_then(|look| Some((*look.first()?, *look.last()?)))
    }

    pub(super) fn write(&self, to: &mut Writer) {
        for lists in [&self.totals, &self.looks] {
            to.count(lists.len());
            for list in lists {
                to.list(list);
            }
        }
        to.flag(self.is_centred);
    }

    pub(super) fn read(&mut self, from: &mut Reader<'_>) -> Result<()> {
        for lists in [&mut self.totals, &mut self.looks] {
            *lists = (0..from.count()?).map(|_| from.list()).collect::<Result<_>>()?;
        }
        self.is_centred = from.flag()?;
        Ok(())
    }
}

impl Lead {
    /// The mean coefficients without deviations, and then the first question.
    pub(super) fn climb(&mut self, common: &Common) -> Order {
        let (Some(columns), Some(family)) = (&common.columns, common.family) else {
            return Order::Fail(Failure::Singular);
        };
        match pooled(family, (&columns.fixed, columns.count), &self.climb.totals) {
            PooledNext::Ask(mean) => Order::Total(mean),
            PooledNext::Singular => Order::Fail(Failure::Singular),
            PooledNext::ToldApart => Order::Fail(Failure::ToldApart),
            PooledNext::Found(mean, curvature) => {
                let with_rows = self.with_rows().max(1.0);
                let unit = |&k: &usize| (with_rows / curvature[k * columns.count + k]).sqrt();
                let units = columns.random.iter().map(unit).collect();
                self.setting = Setting { units, mean, ..Setting::default() };
                self.climb.totals.clear();
                self.ask(common)
            }
        }
    }

    /// Begins the search for the minimum at a question.
    pub(super) fn start(&mut self, question: Question, is_fresh: bool) -> Order {
        if !is_fresh {
            self.climb.looks.clear();
        }
        Order::Start { question, is_fresh }
    }

    /// What comes after a look at the objective.
    pub(super) fn looked(&mut self, sums: &[f64], common: &Common) -> Order {
        // What is left of the right side is minus the expected decrease.
        let look = match sums {
            [logarithm, value, left] => vec![*value, -left, *logarithm],
            _ => Vec::new(),
        };
        self.climb.looks.push(look);
        let pair = |look: &Vec<f64>| Some((*look.first()?, *look.get(1)?));
        let looks: Vec<_> = self.climb.looks.iter().map(pair).collect();
        match (mode(&looks), self.question.clone()) {
            (ModeNext::Start { is_fresh }, Some(question)) => self.start(question, is_fresh),
            (ModeNext::Move { length, is_again }, _) => Order::Move { length, is_again },
            (ModeNext::Found, Some(question)) => self.at_minimum(question, common),
            (ModeNext::Failed | ModeNext::Start { .. } | ModeNext::Found, _) => {
                self.without(common)
            }
        }
    }

    /// The gradient at a minimum, or the end.
    fn at_minimum(&self, question: Question, common: &Common) -> Order {
        match self.noise {
            None => Order::Turn,
            Some(_) if common.known.free > 0 && !self.climb.is_centred => Order::Centre,
            Some(noise) => Order::Finish { noise, mean: question.mean },
        }
    }

    /// The likelihood has no value at the question.
    fn without(&mut self, common: &Common) -> Order {
        if self.noise.is_some() {
            return Order::Fail(Failure::Singular);
        }
        self.answers.push(None);
        self.ask(common)
    }

    pub(super) fn turned(&mut self, sums: &[f64], common: &Common) -> Order {
        if sums.len() == 3 { Order::Bend } else { self.without(common) }
    }

    /// The answer to a question.
    pub(super) fn bent(&mut self, sums: &[f64], common: &Common) -> Order {
        let known = self.leader.as_ref().zip(self.question.as_ref()).zip(self.climb.last());
        let answer = known.and_then(|((leader, question), minimum)| {
            leader.laplace_answer(question, &common.known, (minimum, sums))
        });
        self.answers.push(answer);
        self.ask(common)
    }

    /// Puts the mean of a coefficient that is each node's own at the mean of the nodes that determine it: nodes whose
    /// rows say nothing have it.
    pub(super) fn centred(&mut self, sums: &[f64], common: &Common) -> Order {
        let (Some(columns), Some(mut question)) = (&common.columns, self.question.clone()) else {
            return Order::Fail(Failure::Singular);
        };
        let own = &columns.random[columns.coupled()..];
        for (&column, sums) in own.iter().zip(sums.chunks_exact(2)) {
            let place = columns.fixed.iter().position(|fixed| *fixed == column);
            if let Some(place) = place {
                question.mean[place] += sums[0] / sums[1].max(1.0);
            }
        }
        self.climb.is_centred = true;
        self.question = Some(question.clone());
        self.start(question, false)
    }
}
