//! The rules that keep the promises of the protocol, one function each.
//!
//! A process follows [`SoundRules`], which changes none of them and costs nothing. The simulator's tests
//! break one rule at a time, to see that a broken promise is noticed.

use std::fmt::Debug;

use super::{
    Reason, Slot,
    frame::{Frame, FrameKind, PeerIdentity, SentPayloads},
};
use crate::{bytes::Reader, error::Result, method::Durable, network::NodeId};

/// What is known of the sender of a frame before the frame is looked at.
#[derive(Debug, Clone, Copy)]
pub struct KnownPeer {
    /// Who it was when it was last met.
    pub identity: Option<PeerIdentity>,
    /// A start of it that came from an old backup.
    pub barred: Option<PeerIdentity>,
    /// Its last durable round.
    pub durable_round: u64,
}

/// What becomes of a frame.
#[derive(Debug, Clone, PartialEq)]
pub enum Admission {
    /// It counts.
    Accepted,
    /// Its sender has been started again, and must be met first.
    Newcomer(PeerIdentity),
    /// It does not count.
    Refused(Reason),
}

/// The rules of a process. The default of each is the sound one.
pub trait Rules: Debug + Clone {
    /// Fencing: only the newest start of a sender counts, one copy of it, and none from an old backup.
    fn admit(&self, known: &KnownPeer, frame: &Frame) -> Admission {
        let sender = frame.sender();
        let met = known.identity.unwrap_or(PeerIdentity { epoch: 0, nonce: sender.nonce });
        if sender.epoch < met.epoch {
            return Admission::Refused(Reason::OldEpoch { newer: met.epoch });
        }
        if sender.epoch > met.epoch {
            // A start from an old backup stays refused even after it has caught up: what it sent in
            // between may differ from what it had sent before.
            let is_old = frame.durable_round < known.durable_round || known.barred == Some(sender);
            if !is_old {
                return Admission::Newcomer(sender);
            }
            let (found, kept) = (frame.durable_round, known.durable_round);
            return Admission::Refused(Reason::Rollback { found, kept });
        }
        if sender.nonce == met.nonce {
            Admission::Accepted
        } else {
            Admission::Refused(Reason::Copy)
        }
    }

    /// Every start has an epoch of its own.
    fn next_epoch(&self, last: u64) -> u64 {
        last + 1
    }

    /// Nothing that rests on a write is sent before the write is durable.
    fn waits_for(&self, _slot: Slot) -> bool {
        true
    }

    /// The round that is called durable while the state after `_written` is being written.
    fn durable_while_writing(&self, durable: u64, _written: u64) -> u64 {
        durable
    }

    /// What may be forgotten once the own round is durable: nothing, as neighbours may need it.
    fn forget_when_durable<'a>(
        &self,
        _round: u64,
        _sent: impl Iterator<Item = &'a mut SentPayloads>,
    ) {
    }

    /// A restarted process can send again what it had sent.
    fn restore_sent(&self, sent: SentPayloads) -> SentPayloads {
        sent
    }

    /// A restarted node is what it was.
    fn restore<P: Durable>(&self, participant: &mut P, mut from: Reader<'_>) -> Result<()> {
        participant.restore(&mut from)?;
        from.finish()
    }

    /// What is sent again has the same bytes.
    fn resend(&self, _kind: FrameKind, payload: &[u8]) -> Vec<u8> {
        payload.to_vec()
    }

    /// A payload counts in the round that it names.
    fn round_of(&self, named: u64, _next: u64) -> u64 {
        named
    }

    /// A payload that comes again must be the one that came before, by their digests.
    fn is_unchanged(&self, before: u64, now: u64) -> bool {
        before == now
    }

    /// In which order the links' messages are taken, given how many frames of each were accepted.
    fn link_order(&self, accepted_frames: &[u64]) -> Vec<usize> {
        (0..accepted_frames.len()).collect()
    }

    /// A node takes messages in order of the senders' ids: sums have the same bits for any arrival.
    fn sort_inbox<M>(&self, inbox: &mut [(NodeId, M)]) {
        inbox.sort_by_key(|(sender, _)| *sender);
    }

    /// In asynchronous rounds only a later message (epoch, round) replaces the latest.
    fn is_newer(&self, latest: (u64, u64), now: (u64, u64)) -> bool {
        now > latest
    }

    /// How often the sums of a child count.
    fn times_counted(&self, _accepted_frames: u64) -> usize {
        1
    }

    /// No process stops without the verdict of all, however little its own nodes change.
    fn stops_alone(&self, _is_own_reached: impl FnOnce() -> bool) -> bool {
        false
    }
}

/// The rules as they are meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SoundRules;

impl Rules for SoundRules {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_newest_start_counts_one_copy_of_it_and_none_from_an_old_backup() {
        let met = PeerIdentity { epoch: 3, nonce: 7 };
        let known = KnownPeer { identity: Some(met), barred: None, durable_round: 20 };
        let frame = |epoch, nonce, durable_round| Frame {
            kind: FrameKind::Hello,
            from: 0,
            to: 1,
            epoch,
            nonce,
            known_epoch: 0,
            durable_round,
            round: 21,
            payload: Vec::new(),
        };
        let admit = |known: &KnownPeer, frame: Frame| SoundRules.admit(known, &frame);
        let refused = |reason| Admission::Refused(reason);
        assert_eq!(admit(&known, frame(3, 7, 20)), Admission::Accepted);
        assert_eq!(admit(&known, frame(2, 7, 20)), refused(Reason::OldEpoch { newer: 3 }));
        assert_eq!(admit(&known, frame(3, 8, 20)), refused(Reason::Copy));
        let newcomer = PeerIdentity { epoch: 4, nonce: 9 };
        assert_eq!(admit(&known, frame(4, 9, 20)), Admission::Newcomer(newcomer));
        let rollback = |found| refused(Reason::Rollback { found, kept: 20 });
        assert_eq!(admit(&known, frame(4, 9, 19)), rollback(19));
        // Even after it has caught up.
        let barred = KnownPeer { barred: Some(newcomer), ..known };
        assert_eq!(admit(&barred, frame(4, 9, 25)), rollback(25));
        // Whoever was never met is a newcomer with its first epoch.
        let unknown = KnownPeer { identity: None, barred: None, durable_round: 0 };
        let first = PeerIdentity { epoch: 1, nonce: 5 };
        assert_eq!(admit(&unknown, frame(1, 5, 0)), Admission::Newcomer(first));
    }
}
