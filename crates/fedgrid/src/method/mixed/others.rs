//! A node whose labels are classes or counts: its part of Laplace's approximation, with what edges add.

use super::{
    elimination::{Elimination, OwnParts},
    participant::{MixedParticipant, missing},
};
use crate::{
    error::Result,
    mixed::{NodeLaplace, OPEN_SHARE},
};

impl MixedParticipant {
    /// The node's part of Laplace's approximation at the question.
    pub(super) fn laplace(&self) -> Result<(NodeLaplace<'_>, &Elimination)> {
        let basis = self.basis.as_ref().ok_or_else(|| missing("no columns before it"))?;
        let asked =
            self.question.as_ref().zip(basis.others.as_ref()).zip(self.elimination.as_ref());
        let ((question, rows), elimination) =
            asked.ok_or_else(|| missing("no question before it"))?;
        let (columns, own) = (&basis.columns, self.own_precision());
        Ok((NodeLaplace { rows, columns, own, question }, elimination))
    }

    /// The own block of the system at the deviations so far, with what Newton's step or v is made of.
    pub(super) fn others_parts(&self) -> Result<OwnParts> {
        let (laplace, elimination) = self.laplace()?;
        let (widths, u) = (self.widths(), &self.modes.deviations);
        let coupling = laplace.own.coupling(laplace.question.rho);
        let own = elimination.own(u, widths.own);
        let (value, diagonal, gradient) = laplace.at(own);
        let corner = vec![0.0];
        if self.modes.is_turned {
            let sides = laplace.turn(own, &self.modes.block[..widths.own * widths.own]);
            let (edge_side, value) = (Vec::new(), 0.0);
            return Ok(OwnParts { diagonal, sides, corner, edge_side, value, coupling });
        }
        let edges = elimination.edge_sums(u, widths);
        let edge_side = edges.iter().map(|sum| -coupling * sum).collect();
        let value = value - coupling * elimination.edge_product(u, u, widths);
        Ok(OwnParts { diagonal, sides: gradient, corner, edge_side, value, coupling })
    }

    /// The node's part of the gradient of Laplace's approximation.
    pub(super) fn bend(&self) -> Result<Vec<f64>> {
        let (laplace, elimination) = self.laplace()?;
        let (widths, u) = (self.widths(), &self.modes.deviations);
        let v = elimination.solution(widths)?;
        let (block, along_trace) = self.modes.block.split_at(widths.own * widths.own);
        let of = |all| elimination.own(all, widths.own);
        let mut sums = laplace.slopes(of(u), of(v), block);
        let along = elimination.edge_product(u, u, widths) - elimination.edge_product(u, v, widths);
        sums[0] -= along_trace[0] + laplace.own.coupling(1.0) * along;
        Ok(sums)
    }

    /// For every coefficient of the node's own its deviation and one, if rows determine it.
    pub(super) fn centre(&self) -> Result<Vec<f64>> {
        let (laplace, elimination) = self.laplace()?;
        let widths = self.widths();
        let block = elimination.own_part(0.0, widths)?.block;
        let u = elimination.own(&self.modes.deviations, widths.own);
        let one = |k: usize| {
            let is_known = f64::from(u8::from(block[k * (widths.own + 1)] <= OPEN_SHARE));
            [is_known * laplace.question.factor[k] * u[k], is_known]
        };
        Ok((widths.coupled..widths.own).flat_map(one).collect())
    }
}
