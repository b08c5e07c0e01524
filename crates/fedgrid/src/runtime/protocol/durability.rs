//! What is durable: requests to write, in order, and the last round that is safe from a crash.

use std::collections::VecDeque;

use super::{Action, ProtocolSettings, RoundMode, Slot, rules::Rules};
use crate::method::Memory;

/// What is being written, and what has been.
#[derive(Debug)]
pub(super) struct Durability {
    checkpoint_every: u64,
    keeps_every_round: bool,
    last_ticket: u64,
    /// Requests that are not durable yet, oldest first.
    pending: VecDeque<(u64, Slot)>,
    /// The last durable round; the largest number when finished.
    durable_round: u64,
}

impl Durability {
    pub(super) fn new(settings: &ProtocolSettings, memory: Memory) -> Self {
        Self {
            checkpoint_every: settings.checkpoint_every,
            keeps_every_round: match memory {
                Memory::Replaceable => false,
                // In synchronous rounds neighbours send again what a conversation needs.
                Memory::Conversation => settings.mode != RoundMode::Synchronous,
                Memory::Ledger => true,
            },
            last_ticket: 0,
            pending: VecDeque::new(),
            durable_round: 0,
        }
    }

    pub(super) fn request(&mut self, slot: Slot, bytes: Vec<u8>) -> Action {
        self.last_ticket += 1;
        let ticket = self.last_ticket;
        self.pending.push_back((ticket, slot));
        Action::Persist { ticket, slot, bytes }
    }

    /// The oldest request that is durable now; requests become durable in order.
    pub(super) fn confirm(&mut self, ticket: u64) -> Option<Slot> {
        let is_durable = self.pending.front().is_some_and(|(first, _)| *first <= ticket);
        is_durable.then(|| self.pending.pop_front()).flatten().map(|(_, slot)| slot)
    }

    pub(super) fn is_writing(&self, slot: Slot) -> bool {
        self.pending.iter().any(|(_, pending)| *pending == slot)
    }

    /// Whether the state after this round is to be kept.
    pub(super) fn is_due(&self, round: u64) -> bool {
        self.keeps_every_round || round.is_multiple_of(self.checkpoint_every)
    }

    pub(super) fn round(&self) -> u64 {
        self.durable_round
    }

    pub(super) fn begin(&mut self, written: u64, rules: &impl Rules) {
        self.durable_round = rules.durable_while_writing(self.durable_round, written);
    }

    /// This round is durable; the largest number says that no later one will come.
    pub(super) fn advance(&mut self, round: u64) {
        self.durable_round = self.durable_round.max(round);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_become_durable_in_order_and_each_once() {
        let settings = ProtocolSettings { checkpoint_every: 3, ..ProtocolSettings::default() };
        let mut durability = Durability::new(&settings, Memory::Replaceable);
        for slot in [Slot::Identity, Slot::State, Slot::Identity] {
            durability.request(slot, Vec::new());
        }
        assert_eq!(durability.confirm(2), Some(Slot::Identity));
        assert_eq!(durability.confirm(2), Some(Slot::State));
        assert_eq!(durability.confirm(2), None);
        assert!(durability.is_writing(Slot::Identity) && !durability.is_writing(Slot::State));
        assert_eq!([2, 3, 4].map(|round| durability.is_due(round)), [false, true, false]);
    }

    #[test]
    fn a_ledger_is_kept_after_every_round_and_a_conversation_where_frames_may_be_late() {
        let asynchronous = RoundMode::Asynchronous { staleness: None };
        for (memory, mode, is_due) in [
            (Memory::Ledger, RoundMode::Synchronous, true),
            (Memory::Conversation, RoundMode::Synchronous, false),
            (Memory::Conversation, asynchronous, true),
            (Memory::Replaceable, asynchronous, false),
        ] {
            let settings =
                ProtocolSettings { mode, checkpoint_every: 10, ..ProtocolSettings::default() };
            assert_eq!(Durability::new(&settings, memory).is_due(1), is_due, "{memory:?} {mode:?}");
        }
    }
}
