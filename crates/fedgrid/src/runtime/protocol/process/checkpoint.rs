//! The state of a process after a round,
//!
//! ```text
//! version u8 | round u64 | last? | converged? | objectives | bytes | nodes: id, snapshot
//!            | links: durable round, payloads that may have to be sent again
//!            | the base from which the run goes on, where members have changed: change u64, round u64
//! ```

use super::Process;
use crate::{
    bytes::{Reader, Writer},
    error::Result,
    method::Durable,
    runtime::protocol::{
        bases::{BasePlace, Bases},
        rules::Rules,
    },
};

/// The version where members have changed; all others are as they were before that could be.
const CHANGED_VERSION: u8 = 6;

/// The version of the layout and of what it means: a mixed model keeps the answers to the questions of its search, which
/// would be matched with others if a search began to ask them in another order.
const VERSION: u8 = 5;

impl<P: Durable, R: Rules> Process<P, R> {
    pub(super) fn state_bytes(&self) -> Result<Vec<u8>> {
        let mut to = Writer::default();
        to.mark(if self.chosen.is_some() { CHANGED_VERSION } else { VERSION });
        to.word(self.rounds.round());
        self.agreement.write(&mut to);
        self.rounds.write(&mut to)?;
        self.peers.write(&mut to);
        if let Some(BasePlace { change, round }) = self.chosen {
            to.words(&[change, round]);
        }
        Ok(to.into_bytes())
    }

    pub(super) fn read_state(&mut self, bytes: &[u8]) -> Result<()> {
        let mut from = Reader::new("the kept state", bytes);
        let version = from.mark()?;
        if ![VERSION, CHANGED_VERSION].contains(&version) {
            return Err(from.refusal("is of another version"));
        }
        let round = from.word()?;
        self.agreement.read(&mut from)?;
        self.rounds.read(round, &mut from, &self.rules)?;
        self.peers.read(&mut from, &self.rules)?;
        if version == CHANGED_VERSION {
            self.chosen = Some(BasePlace { change: from.word()?, round: from.word()? });
            self.has_told_choice = true;
        }
        self.durability.advance(if self.agreement.is_last() { u64::MAX } else { round });
        from.finish()
    }

    pub(super) fn read_bases(&mut self, bytes: &[u8]) -> Result<()> {
        self.bases = Bases::read(bytes)?;
        Ok(())
    }
}
