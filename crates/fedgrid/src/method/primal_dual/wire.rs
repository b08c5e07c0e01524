//! Weights and duals as bytes, and the state of a node between two rounds.

use super::{
    EdgeMessage, PrimalDualParticipant,
    edge::{CoupledUpdate, EdgeEndpoint, HEADER_BYTES},
    local_loss::Update,
};
use crate::{
    bytes::{Reader, Writer},
    error::Result,
    method::{
        Durable, Memory, Wire,
        wire::{read_report, write_report},
    },
    network::NodeId,
};

impl Wire for EdgeMessage {
    /// How many weights are coupled.
    type Shape = usize;

    /// The turn, the scale and the mark.
    const HEAD_BYTES: usize = HEADER_BYTES;

    fn most_numbers(shape: &usize) -> usize {
        *shape
    }

    fn encode(&self, to: &mut Writer) -> Result<()> {
        to.count(self.turn);
        to.finite("a scale", &[self.scale])?;
        to.flag(self.informed);
        to.finite("a weight or dual", &self.values)
    }

    fn decode(shape: &usize, from: &mut Reader<'_>) -> Result<Self> {
        let (turn, scale) = (from.count()?, from.finite(1)?[0]);
        // A scale divides the steps of both ends: one that is not positive would turn a step around.
        if scale <= 0.0 {
            return Err(from.refusal("has a scale that is not positive"));
        }
        let informed = from.flag()?;
        Ok(Self { turn, values: from.finite(*shape)?.into(), scale, informed })
    }
}

impl Durable for PrimalDualParticipant {
    fn shape(&self, from: NodeId) -> Option<usize> {
        let known = self.ends.binary_search_by_key(&from, |end| end.neighbour).is_ok();
        known.then_some(self.coupled.len())
    }

    fn snapshot(&self, to: &mut Writer) -> Result<()> {
        // A node without edges is what training alone made it when it joined.
        to.count(self.ends.len());
        if self.ends.is_empty() {
            return Ok(());
        }
        self.ends.iter().for_each(|end| end.write(to));
        self.balance.write(to);
        to.numbers(&self.weights);
        to.flag(self.update.is_some());
        if let Some(Update { proposed, slope, step }) = &self.update {
            to.numbers(proposed);
            to.numbers(slope);
            to.number(*step);
        }
        to.numbers(&self.moved.before);
        to.numbers(&self.moved.proposed);
        to.numbers(&self.shared);
        to.count(self.iterate);
        to.count(self.waited);
        to.flag(self.is_informed);
        let learnt = self.hypothesis.as_ref().and_then(|own| self.local.weights(own.as_ref()));
        to.list(&learnt.unwrap_or_default());
        // Steps are as long as this allows: without it a restored node would take other ones.
        to.number(self.local.lipschitz);
        write_report(&self.report, to);
        Ok(())
    }

    fn restore(&mut self, from: &mut Reader<'_>) -> Result<()> {
        if from.count()? != self.ends.len() {
            return Err(from.refusal("is of another node"));
        }
        if self.ends.is_empty() {
            return Ok(());
        }
        let (coupled, size) = (self.coupled.len(), self.weights.len());
        self.ends.iter_mut().try_for_each(|end: &mut EdgeEndpoint| end.read(coupled, from))?;
        self.balance.read(from)?;
        self.weights = from.numbers(size)?;
        self.update = None;
        if from.flag()? {
            let (proposed, slope) = (from.numbers(size)?, from.numbers(size)?);
            self.update = Some(Update { proposed, slope, step: from.number()? });
        }
        let (before, proposed) = (from.numbers(coupled)?, from.numbers(coupled)?);
        self.moved = CoupledUpdate { before, proposed };
        self.shared = from.numbers(coupled)?.into();
        (self.iterate, self.waited) = (from.count()?, from.count()?);
        self.is_informed = from.flag()?;
        let learnt = from.list()?;
        if !learnt.is_empty() && learnt.len() != size {
            return Err(from.refusal("is of another model"));
        }
        self.hypothesis = (!learnt.is_empty()).then(|| self.local.hypothesis(&learnt));
        self.local.lipschitz = from.number()?;
        self.report = read_report(from)?;
        Ok(())
    }

    fn takes_changes(&self) -> bool {
        true
    }

    /// Its weights, the duals of the edges that are still there, and the length of its steps; the conversations begin anew.
    /// The dual of a new edge is zero, so that nobody is pulled away from where it is.
    fn inherit(&mut self, former: &[NodeId], from: &mut Reader<'_>) -> Result<()> {
        let count = from.count()?;
        // Without edges its model was that of its own rows: it begins as it has just joined.
        if count == 0 {
            return Ok(());
        }
        if count != former.len() {
            return Err(from.refusal("is of another node"));
        }
        let (coupled, size) = (self.coupled.len(), self.weights.len());
        for id in former {
            let dual = EdgeEndpoint::read_dual(coupled, from)?;
            if let Ok(kept) = self.ends.binary_search_by_key(id, |end| end.neighbour) {
                self.ends[kept].begin_from(dual);
            }
        }
        self.balance.read(from)?;
        self.weights = from.numbers(size)?;
        if from.flag()? {
            // The last update: proposal, slope and step.
            from.numbers(2 * size + 1)?;
        }
        from.numbers(3 * coupled)?;
        let _counts = (from.count()?, from.count()?);
        self.is_informed |= from.flag()?;
        from.list()?;
        self.local.lipschitz = from.number()?;
        self.begin()
    }

    fn memory(&self) -> Memory {
        Memory::Conversation
    }
}
