//! The state of a process after a round,
//!
//! ```text
//! version u8 | round u64 | last? | converged? | objectives | bytes | nodes: id, snapshot
//!            | links: durable round, payloads that may have to be sent again
//! ```

use super::Process;
use crate::{
    bytes::{Reader, Writer},
    error::Result,
    method::Durable,
    runtime::protocol::rules::Rules,
};

/// The version of the layout and of what it means: a mixed model keeps the answers to the questions of its search, which
/// would be matched with others if a search began to ask them in another order.
const VERSION: u8 = 5;

impl<P: Durable, R: Rules> Process<P, R> {
    pub(super) fn state_bytes(&self) -> Result<Vec<u8>> {
        let mut to = Writer::default();
        to.mark(VERSION);
        to.word(self.rounds.round());
        self.agreement.write(&mut to);
        self.rounds.write(&mut to)?;
        self.peers.write(&mut to);
        Ok(to.into_bytes())
    }

    pub(super) fn read_state(&mut self, bytes: &[u8]) -> Result<()> {
        let mut from = Reader::new("the kept state", bytes);
        if from.mark()? != VERSION {
            return Err(from.refusal("is of another version"));
        }
        let round = from.word()?;
        self.agreement.read(&mut from)?;
        self.rounds.read(round, &mut from, &self.rules)?;
        self.peers.read(&mut from, &self.rules)?;
        self.durability.advance(if self.agreement.is_last() { u64::MAX } else { round });
        from.finish()
    }
}
