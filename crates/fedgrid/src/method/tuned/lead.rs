//! The node that leads: from sums over all nodes to the next order.
//!
//! It looks at errors once strengths are at rest. An order takes rounds to all nodes, so it goes out for the round in
//! which they will be if changes go on to shrink by the same share. Strong pulls take many times the rounds of weak
//! ones; where these are at rest long before, strong ones are looked at as they are, twice, and
//!
//! ```text
//! e∞ = e₂ + (e₂ − e₁) q / (1 − q),   q = residual₂ / residual₁
//! ```
//!
//! is where the error of one is bound. If twice that way leads to nothing better than the best of those at rest, it is
//! out; if it may, all wait for it.

use std::collections::VecDeque;

use super::{
    MOST_SIDE_BY_SIDE, MOST_STRENGTHS, TriedStrength, Tuning,
    order::{Order, Then, TreeSums, read_tried, write_tried},
};
use crate::{
    bytes::{Reader, Writer},
    error::Result,
};

/// What the leader knows beside what all nodes do.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Lead {
    tried: Vec<TriedStrength>,
    /// How many of the strengths that run side by side were tried before: the first of them.
    known: usize,
    /// After which round the present ones were.
    since: u64,
    /// How far the last rounds were from rest, oldest first, each with all strengths.
    residuals: VecDeque<Vec<f64>>,
    /// After which round errors were measured that are on their way.
    judged: Option<u64>,
    /// What was measured of each strength that was not tried before, oldest first.
    looks: Vec<Vec<Look>>,
}

/// A strength in the round in which its error was measured.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Look {
    error: f64,
    residual: f64,
}

/// From how many rounds it is foretold when strengths are at rest.
const FORECAST_ROUNDS: usize = 3;
/// How far from rest a strength may be in units of the tolerance for a forecast: changes shrink by a constant share
/// in each round, but not for ever.
const FORECAST_RANGE: f64 = 100.0;
/// How many times the way that an error is bound to go it may go.
const CAUTION: f64 = 2.0;

/// When the leader decides.
#[derive(Debug, Clone, Copy)]
pub(super) struct Moment {
    /// The round that has ended.
    pub(super) now: u64,
    /// The round of the sums.
    pub(super) of: u64,
    /// How many rounds an order takes to all nodes.
    pub(super) lag: u64,
}

impl Lead {
    /// The order that follows from the sums of a round, while nodes run at some strengths and no order is on its way.
    pub(super) fn next(
        &mut self,
        moment: Moment,
        sums: &[TreeSums],
        (tuning, strengths): (&Tuning, &[f64]),
    ) -> Option<Order> {
        let Moment { now, of, lag } = moment;
        // The sums of rounds before say nothing of these strengths.
        if of <= self.since {
            return None;
        }
        self.looks.resize(strengths.len().saturating_sub(self.known), Vec::new());
        if self.residuals.len() == FORECAST_ROUNDS {
            self.residuals.pop_front();
        }
        self.residuals.push_back(sums.iter().map(TreeSums::residual).collect());
        let is_last =
            now + lag >= self.since + tuning.rounds_each || now + 3 * lag + 1 >= tuning.most_rounds;
        if let Some(at) = self.judged {
            if of < at {
                return None;
            }
            self.judged = None;
            if !self.look(sums, tuning.tolerance) {
                return Some(order(now + lag, Then::Fail));
            }
            let is_late =
                at >= self.since + tuning.rounds_each || now + 4 * lag + 1 >= tuning.most_rounds;
            if is_late || self.open(tuning.tolerance).next().is_none() {
                return Some(self.decide(moment, (tuning, strengths)));
            }
        }
        if !(is_last || self.is_time(moment, tuning.tolerance)) {
            return None;
        }
        self.judged = Some(now + lag);
        let mut judges = vec![false; strengths.len()];
        self.open(tuning.tolerance).for_each(|place| judges[self.known + place] = true);
        Some(Order { at: now + lag, judges, then: Then::Stay })
    }

    /// Takes in what was measured of strengths that are open; false where nobody has validation rows.
    fn look(&mut self, sums: &[TreeSums], tolerance: f64) -> bool {
        for place in self.open(tolerance).collect::<Vec<_>>() {
            let sums = sums[self.known + place];
            let looks = &mut self.looks[place];
            let Some(error) = sums.error() else { return false };
            let residual = sums.residual();
            let residual = if residual.is_finite() { residual } else { f64::MAX };
            looks.push(Look { error, residual });
        }
        true
    }

    /// The strengths, by place, of which it is not known yet whether they are the best.
    fn open(&self, tolerance: f64) -> impl Iterator<Item = usize> + use<> {
        let at_rest = self.looks.iter().filter(|looks| is_at_rest(looks, tolerance));
        let errors = at_rest.filter_map(|looks| looks.last()).map(|look| look.error);
        let known = self.tried.iter().map(|tried| tried.error);
        let best = errors.chain(known).fold(f64::INFINITY, f64::min);
        let is_open = |looks: &[Look]| !is_at_rest(looks, tolerance) && least(looks) <= best;
        let open = self.looks.iter().map(|looks| is_open(looks)).collect::<Vec<_>>();
        open.into_iter().enumerate().filter_map(|(place, is_open)| is_open.then_some(place))
    }

    /// Whether errors are to be measured when an order that goes out now is there.
    fn is_time(&self, Moment { now, of, lag }: Moment, tolerance: f64) -> bool {
        let open: Vec<usize> = self.open(tolerance).collect();
        let rest: Vec<f64> = open.iter().map(|&place| self.rest_in(place, tolerance)).collect();
        let ahead = (now + lag - of) as f64;
        if rest.iter().all(|rounds| *rounds <= ahead) {
            return true;
        }
        let seen = |at: usize| open.iter().all(|&place| self.looks[place].len() == at);
        // A second look tells where errors are bound; a first one costs two ways along the tree, which is worth it where
        // rest is farther away than that for some and there for others.
        let at_rest = rest.iter().filter(|rounds| **rounds <= ahead).count();
        let is_far = rest.iter().any(|rounds| *rounds > ahead + 2.0 * lag as f64);
        seen(1) || seen(0) && 2 * at_rest >= rest.len() && is_far
    }

    /// In how many rounds after the last sums a strength is at rest; infinite if that cannot be foretold.
    fn rest_in(&self, place: usize, tolerance: f64) -> f64 {
        let [Some(first), Some(last)] = [self.residuals.front(), self.residuals.back()] else {
            return f64::INFINITY;
        };
        let (before, now) = (first[self.known + place], last[self.known + place]);
        if now <= tolerance {
            return 0.0;
        }
        let is_near = now <= FORECAST_RANGE * tolerance && now < before;
        // Where a forecast has failed before, rest is waited for.
        if !is_near || self.residuals.len() < FORECAST_ROUNDS || self.looks[place].len() > 1 {
            return f64::INFINITY;
        }
        let share = (now / before).ln() / (FORECAST_ROUNDS - 1) as f64;
        (tolerance / now).ln() / share
    }

    /// What follows from errors: the next strengths, or the one that is taken.
    fn decide(&mut self, moment: Moment, (tuning, strengths): (&Tuning, &[f64])) -> Order {
        let Moment { now, lag, .. } = moment;
        let own = strengths.iter().skip(self.known).zip(std::mem::take(&mut self.looks));
        for (alpha, looks) in own {
            let Some(Look { error, residual }) = looks.last().copied() else { continue };
            self.tried.push(TriedStrength { alpha: *alpha, error, residual });
        }
        let room = MOST_STRENGTHS.saturating_sub(self.tried.len()).min(MOST_SIDE_BY_SIDE - 1);
        let mut next = tuning.path.next(&self.tried);
        next.truncate(room);
        let best = tuning.path.best(&self.tried);
        if next.is_empty() || !has_time(moment, tuning) {
            let tried = std::mem::take(&mut self.tried);
            return order(now + lag, Then::Take(best, tried));
        }
        // The best of until now goes on beside them: it may be the one that is taken.
        next.insert(0, best);
        (self.known, self.since) = (1, now + lag);
        self.residuals.clear();
        order(now + lag, Then::Go(next))
    }

    pub(super) fn write(&self, to: &mut Writer) {
        write_tried(&self.tried, to);
        to.count(self.known);
        to.word(self.since);
        to.count(self.residuals.len());
        self.residuals.iter().for_each(|residuals| to.list(residuals));
        to.flag(self.judged.is_some());
        to.word(self.judged.unwrap_or(0));
        to.count(self.looks.len());
        for looks in &self.looks {
            let numbers = looks.iter().flat_map(|look| [look.error, look.residual]);
            to.list(&numbers.collect::<Vec<_>>());
        }
    }

    pub(super) fn read(from: &mut Reader<'_>) -> Result<Self> {
        let (tried, known, since) = (read_tried(from)?, from.count()?, from.word()?);
        let rounds = from.count()?;
        if rounds > FORECAST_ROUNDS || known > MOST_SIDE_BY_SIDE {
            return Err(from.refusal("holds more rounds than a node that leads keeps"));
        }
        let residuals = (0..rounds).map(|_| from.list()).collect::<Result<_>>()?;
        let judged = (from.flag()?, from.word()?);
        let judged = judged.0.then_some(judged.1);
        let strengths = from.count()?;
        if strengths > MOST_SIDE_BY_SIDE {
            return Err(from.refusal("is of more strengths than run side by side"));
        }
        let look = |pair: &[f64]| Look { error: pair[0], residual: pair[1] };
        let looks = |from: &mut Reader<'_>| -> Result<Vec<Look>> {
            Ok(from.list()?.chunks_exact(2).map(look).collect())
        };
        let looks = (0..strengths).map(|_| looks(from)).collect::<Result<_>>()?;
        Ok(Self { tried, known, since, residuals, judged, looks })
    }
}

/// Whether a strength was at rest when it was last looked at.
fn is_at_rest(looks: &[Look], tolerance: f64) -> bool {
    looks.last().is_some_and(|look| look.residual <= tolerance)
}

/// The least error that a strength may still come to; of one that was looked at once, nobody knows.
fn least(looks: &[Look]) -> f64 {
    let [.., before, last] = looks else { return f64::NEG_INFINITY };
    let share = last.residual / before.residual;
    if share >= 1.0 || !share.is_finite() {
        return f64::NEG_INFINITY;
    }
    let bound = last.error + CAUTION * (last.error - before.error) * share / (1.0 - share);
    bound.min(last.error)
}

fn order(at: u64, then: Then) -> Order {
    Order { at, judges: Vec::new(), then }
}

/// Whether further strengths can begin and be judged before rounds are used up: an order down, sums up, an order
/// down, errors up, the last order down.
fn has_time(Moment { now, lag, .. }: Moment, tuning: &Tuning) -> bool {
    now + 5 * lag + 2 <= tuning.most_rounds
}
