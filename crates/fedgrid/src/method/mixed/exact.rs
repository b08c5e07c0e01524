//! A node in the elimination of all deviations: what it adds, and what it learns.

use super::{
    elimination::{Elimination, OwnParts},
    order::Order,
    participant::{MixedParticipant, Phase, missing},
};
use crate::{
    error::Result,
    mixed::{Means, NodeBlock, NodePart},
    network::NodeId,
};

impl MixedParticipant {
    /// Eliminates what there is to, once all children have told: with so many rounds of the phase left.
    pub(super) fn condense(&mut self, left: usize) -> Result<()> {
        let is_turn = left == self.plan.tree.depths[self.id];
        if !is_turn {
            return Ok(());
        }
        if self.order()?.eliminates() {
            self.sums = self.eliminate()?;
        }
        Ok(())
    }

    /// Eliminates, and says what is left to the parent.
    pub(super) fn eliminate(&mut self) -> Result<Vec<f64>> {
        let own = if self.family.is_some() { self.others_parts()? } else { self.own_parts()? };
        let widths = self.widths();
        let elimination = self.elimination.as_mut().ok_or_else(|| missing("no elimination"))?;
        Ok(elimination.condense(&own, widths))
    }

    /// The own block of the system at the question, and the own part of the equations of the mean coefficients.
    pub(super) fn own_parts(&self) -> Result<OwnParts> {
        let asked = self.basis.as_ref().zip(self.question.as_ref());
        let (basis, question) = asked.ok_or_else(|| missing("no question before it"))?;
        let own = self.own_precision();
        let NodeBlock { diagonal, sides } =
            NodeBlock::new(&basis.moments, &basis.columns, own, question);
        let corner = basis.moments.corner(&basis.columns.fixed);
        let (edge_side, value, coupling) = (Vec::new(), 0.0, own.coupling(question.rho));
        Ok(OwnParts { diagonal, sides, corner, edge_side, value, coupling })
    }

    /// Finds the own part of the solution, if the order is one that tells it.
    pub(super) fn expand(&mut self) -> Result<()> {
        let (values, covariance) = match self.order()? {
            Order::Slopes(Means { values, covariance }) => (values, covariance),
            Order::Finish { mean, .. } if self.family.is_none() => {
                let covariance = vec![0.0; mean.len() * mean.len()];
                (mean, covariance)
            }
            order if order.tells() && self.family.is_some() => (Vec::new(), Vec::new()),
            _ => return Ok(()),
        };
        let widths = self.widths();
        let Some(elimination) = &mut self.elimination else { return Ok(()) };
        // The right side is an unknown of minus one that has no error.
        let (p, solution) = (values.len(), [&values[..], &[-1.0]].concat());
        let mut inverse = vec![0.0; widths.tail * widths.tail];
        for (row, from) in covariance.chunks_exact(p.max(1)).enumerate() {
            inverse[row * widths.tail..row * widths.tail + p].copy_from_slice(from);
        }
        elimination.expand((&inverse, &solution), widths)
    }

    /// Makes what the elimination has come to, after a restart.
    pub(super) fn recall(&mut self) -> Result<()> {
        let is_complete = self.elimination.as_ref().is_some_and(Elimination::is_complete);
        if is_complete && self.question.is_some() {
            self.eliminate()?;
        }
        // An order that is being answered has used what it began with.
        let is_used = matches!(self.phase, Phase::Work | Phase::Up);
        if is_used || self.order.is_empty() { Ok(()) } else { self.expand() }
    }

    /// What a child is told beside an order: its part of a solution.
    pub(super) fn part_of(&self, child: NodeId) -> Vec<f64> {
        let tells = self.order().is_ok_and(|order| order.tells());
        let elimination = self.elimination.as_ref().filter(|_| tells);
        elimination.map_or_else(Vec::new, |all| all.part_of(child, self.widths()))
    }

    /// What is known of the own deviations at some mean coefficients.
    pub(super) fn part(&self, means: &Means) -> Result<NodePart> {
        if let Some(elimination) = &self.elimination {
            return elimination.own_part(self.own_precision().coupling(1.0), self.widths());
        }
        let (system, basis) = self.known()?;
        Ok(system.part((&self.series, &basis.probes), means))
    }
}
