//! What is kept of a process after a round,
//!
//! ```text
//! version u8 | round u64 | last? | converged? | objectives | bytes | nodes: id, snapshot | links: floor, outbox
//! ```

use super::{Process, mutant::Mutant};
use crate::{
    bytes::{Reader, Writer},
    error::Result,
    method::Durable,
    network::NodeId,
};

/// The version of the kept state.
const VERSION: u8 = 2;

impl<P: Durable> Process<P> {
    pub(super) fn write_state(&self) -> Result<Vec<u8>> {
        let mut to = Writer::default();
        to.mark(VERSION);
        to.word(self.round);
        to.flag(self.is_last);
        to.flag(self.converged);
        to.list(&self.objectives);
        to.count(self.bytes);
        to.count(self.hosted.len());
        for hosted in &self.hosted {
            to.count(hosted.node);
            let mut part = Writer::default();
            hosted.participant.snapshot(&mut part)?;
            to.part(&part.into_bytes());
        }
        to.count(self.links.len());
        for link in &self.links {
            to.word(link.floor);
            link.write_outbox(&mut to);
        }
        Ok(to.into_bytes())
    }

    pub(super) fn read_state(&mut self, bytes: &[u8]) -> Result<()> {
        let mut from = Reader::new("the kept state", bytes);
        if from.mark()? != VERSION {
            return Err(from.refusal("is of another version"));
        }
        self.round = from.word()?;
        (self.is_last, self.converged) = (from.flag()?, from.flag()?);
        (self.objectives, self.bytes) = (from.list()?, from.count()?);
        if from.count()? != self.hosted.len() {
            return Err(from.refusal("is of other nodes"));
        }
        let forgets = self.errs(Mutant::Forgetful);
        for hosted in &mut self.hosted {
            let node: NodeId = from.count()?;
            let mut part = Reader::new("the kept state of a node", from.part()?);
            if node != hosted.node {
                return Err(part.refusal("is of another node"));
            }
            if !forgets {
                hosted.participant.restore(&mut part)?;
                part.finish()?;
            }
        }
        if from.count()? != self.links.len() {
            return Err(from.refusal("is of another federation"));
        }
        for link in &mut self.links {
            let floor = from.word()?;
            link.read_outbox(&mut from)?;
            link.forget(floor);
        }
        if self.errs(Mutant::NoOutbox) {
            self.links.iter_mut().for_each(|link| link.outbox.clear());
        }
        self.floor = if self.is_last { u64::MAX } else { self.round };
        from.finish()
    }
}
