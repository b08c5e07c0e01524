//! What a node answers to an order, and the rounds between neighbours on the way.

use super::{
    order::Order,
    participant::{MixedParticipant, missing},
    sums::{levels, spreads},
    wire::MixedMessage,
};
use crate::{
    algebra::add_scaled,
    error::Result,
    mixed::{Means, slopes, totals},
    network::NodeId,
};

impl MixedParticipant {
    /// The own part of what an order asks for.
    pub(super) fn own_sums(&self, order: &Order) -> Result<Vec<f64>> {
        Ok(match order {
            Order::Levels => levels(&self.data, self.family.is_none()),
            Order::Spreads { means, label_mean } => {
                spreads(&self.data, means, self.family.is_none().then_some(*label_mean))
            }
            Order::Scales { .. } if self.family.is_some() => Vec::new(),
            Order::Scales { .. } => {
                let basis = self.basis.as_ref().ok_or_else(|| missing("no columns before it"))?;
                let d = basis.columns.count;
                let square = |&column: &usize| basis.moments.gram_entry(column * d + column);
                basis.columns.random.iter().map(square).collect()
            }
            Order::Reach(_) => vec![self.scalar.ratio],
            Order::Series { .. } => {
                let (system, basis) = self.known()?;
                let series = (&self.series, &self.chebyshev(), &basis.probes);
                system.elimination(&basis.moments, series)
            }
            Order::Slopes(means) => self.slopes(means)?,
            Order::Total(mean) => {
                let basis = self.basis.as_ref().ok_or_else(|| missing("no columns before it"))?;
                let rows = basis.others.as_ref().ok_or_else(|| missing("no such rows"))?;
                totals(rows, &basis.columns, mean)
            }
            Order::Bend => self.bend()?,
            Order::Centre => self.centre()?,
            // What is left is known once the children have told.
            Order::Look(_)
            | Order::Start { .. }
            | Order::Move { .. }
            | Order::Turn
            | Order::Finish { .. }
            | Order::Fail(_) => Vec::new(),
        })
    }

    pub(super) fn slopes(&self, means: &Means) -> Result<Vec<f64>> {
        let asked = self.basis.as_ref().zip(self.question.as_ref());
        let (basis, question) = asked.ok_or_else(|| missing("no question before it"))?;
        let at = (&basis.columns, self.own_precision(), question);
        Ok(slopes(&basis.moments, at, (&means.values, &self.part(means)?)))
    }

    /// What neighbours tell each other in this round of an order's work.
    pub(super) fn vectors(&self) -> Vec<f64> {
        match (self.order(), self.known()) {
            (Ok(Order::Reach(_)), _) => vec![self.scalar.value],
            (Ok(Order::Series { .. }), Ok((system, _))) => system.told(&self.series),
            _ => Vec::new(),
        }
    }

    /// A round of an order's work.
    pub(super) fn work(&mut self, inbox: &[(NodeId, MixedMessage)]) -> Result<()> {
        let order = self.order()?;
        let size =
            if matches!(order, Order::Series { .. }) { self.series.current.len() } else { 1 };
        let mut sum = vec![0.0; size];
        for (from, message) in inbox {
            let Ok(place) = self.neighbours.binary_search_by_key(from, |(id, _)| *id) else {
                continue;
            };
            if message.vectors.len() != size {
                return Err(missing("another number of vectors"));
            }
            add_scaled(&mut sum, self.neighbours[place].1, &message.vectors);
        }
        if matches!(order, Order::Series { .. }) {
            let chebyshev = self.chebyshev();
            let (Some(system), Some(basis)) = (&self.system, &self.basis) else {
                return Err(missing("no question before it"));
            };
            system.step(&mut self.series, (&chebyshev, &basis.probes), &sum);
        } else {
            let reach = self.known()?.0.reach();
            // For any positive numbers x the largest (Bx)_i/x_i bounds all eigenvalues of B. [Collatz]
            self.scalar.ratio = reach * sum[0] / self.scalar.value;
            self.scalar.value += reach * sum[0];
        }
        Ok(())
    }

    /// Takes what has come from the children: adds sums, or the largest of bounds.
    pub(super) fn gather(&mut self, inbox: &[(NodeId, MixedMessage)]) -> Result<()> {
        let order = self.order()?;
        let (is_bound, widths) = (matches!(order, Order::Reach(_)), self.widths());
        let of_child = |(from, message): &&(NodeId, MixedMessage)| {
            self.plan.tree.parents[*from] == Some(self.id) && !message.tree.is_empty()
        };
        for (from, message) in inbox.iter().filter(of_child) {
            if let (true, Some(elimination)) = (order.eliminates(), &mut self.elimination) {
                elimination.hear(*from, &message.tree, widths)?;
                continue;
            }
            if message.tree.len() != self.sums.len() {
                return Err(missing("another number of sums"));
            }
            for (own, other) in self.sums.iter_mut().zip(message.tree.iter()) {
                *own = if is_bound { own.max(*other) } else { *own + other };
            }
        }
        Ok(())
    }
}
