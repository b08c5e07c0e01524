//! The node that leads: from sums over all nodes to the next order.

use super::{
    MOST_STRENGTHS, TriedStrength, Tuning,
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
    /// How many strengths were begun.
    begun: usize,
    /// After which round the present one was.
    since: u64,
    /// A strength whose errors are on their way: after which round they were measured.
    judged: Option<(u64, TriedStrength)>,
    /// Whether nodes stay until they are here.
    stays: bool,
}

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
    pub(super) fn new() -> Self {
        Self { begun: 1, ..Self::default() }
    }

    /// The order that follows from the sums of a round, while nodes run at a strength and no order is on its way.
    pub(super) fn next(
        &mut self,
        moment: Moment,
        sums: &TreeSums,
        (tuning, alpha): (&Tuning, f64),
    ) -> Option<Order> {
        let Moment { now, of, lag } = moment;
        if let Some((at, judged)) = self.judged
            && at == of
        {
            self.judged = None;
            let Some(error) = sums.error() else { return Some(self.end(now + lag, Then::Fail)) };
            self.tried.push(TriedStrength { error, ..judged });
        }
        let at = now + lag;
        if self.stays {
            if self.judged.is_some() {
                return None;
            }
            let next = tuning.path.next(&self.tried);
            let next = next.filter(|_| has_time(moment, tuning));
            let Some(next) = next.filter(|_| self.tried.len() < MOST_STRENGTHS) else {
                let best = tuning.path.best(&self.tried);
                let tried = std::mem::take(&mut self.tried);
                return Some(self.end(at, Then::Take(best, tried)));
            };
            (self.stays, self.since) = (false, at);
            self.begun += 1;
            return Some(Order { at, judges: false, then: Then::Go(next) });
        }
        // The sums of rounds at the strength before say nothing of this one.
        let residual = sums.residual();
        let is_over = residual <= tuning.tolerance || now - self.since >= tuning.rounds_each;
        let is_last_call = now + 3 * lag + 1 >= tuning.most_rounds;
        if of <= self.since || !(is_over || is_last_call) {
            return None;
        }
        let residual = if residual.is_finite() { residual } else { f64::MAX };
        self.judged = Some((at, TriedStrength { alpha, error: f64::MAX, residual }));
        let planned = tuning.path.first().get(self.begun).copied();
        let then = if let Some(next) = planned.filter(|_| has_time(moment, tuning)) {
            self.begun += 1;
            self.since = at;
            Then::Go(next)
        } else {
            self.stays = true;
            Then::Stay
        };
        Some(Order { at, judges: true, then })
    }

    fn end(&mut self, at: u64, then: Then) -> Order {
        self.stays = true;
        Order { at, judges: false, then }
    }

    pub(super) fn write(&self, to: &mut Writer) {
        write_tried(&self.tried, to);
        to.count(self.begun);
        to.word(self.since);
        to.flag(self.judged.is_some());
        if let Some((at, judged)) = &self.judged {
            to.word(*at);
            write_tried(&[*judged], to);
        }
        to.flag(self.stays);
    }

    pub(super) fn read(from: &mut Reader<'_>) -> Result<Self> {
        let (tried, begun, since) = (read_tried(from)?, from.count()?, from.word()?);
        let judged = if from.flag()? {
            let at = from.word()?;
            let one = read_tried(from)?.first().copied();
            Some((at, one.ok_or_else(|| from.refusal("holds no strength"))?))
        } else {
            None
        };
        Ok(Self { tried, begun, since, judged, stays: from.flag()? })
    }
}

/// Whether another strength can begin and be judged before rounds are used up: an order down, sums up, an order
/// down, errors up, the last order down.
fn has_time(Moment { now, lag, .. }: Moment, tuning: &Tuning) -> bool {
    now + 5 * lag + 2 <= tuning.most_rounds
}
