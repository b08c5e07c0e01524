//! Bugs that are injected on purpose: each breaks one rule of the protocol.

use crate::{
    bytes::Reader,
    error::Result,
    method::Durable,
    network::NodeId,
    runtime::protocol::{
        Frame, FrameKind, Reason, Slot,
        frame::SentPayloads,
        rules::{Admission, KnownPeer, Rules, SoundRules},
    },
};

/// A broken rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum InjectedBug {
    /// Frames of older epochs are accepted.
    OldEpochs,
    /// Frames of a copy with the same epoch are accepted.
    Copies,
    /// A durable round that has fallen is not noticed.
    Rollbacks,
    /// The epoch is the same at every start.
    SameEpoch,
    /// Frames leave before the epoch is durable.
    SendBeforeEpoch,
    /// Frames of a round leave before the round is durable.
    SendBeforeDurable,
    /// A round is reported as durable before it is.
    EarlyDurable,
    /// Messages are taken in the order in which they came.
    ArrivalOrder,
    /// What is sent again differs a little.
    FreshNoise,
    /// The last frame that came counts, of whatever round.
    AnyRound,
    /// Payloads are forgotten when the own round is durable, though a neighbour may need them.
    EarlyForgetting,
    /// Checkpoints do not hold what may have to be sent again.
    NothingToResend,
    /// Whoever has little change in its own nodes stops.
    StopAlone,
    /// Sums that come twice count twice.
    SumsTwice,
    /// A restored node has forgotten its damping and its targets, its duals, or its ledger.
    Forgetful,
    /// A message that comes late replaces a newer one.
    AnyAge,
}

impl Rules for InjectedBug {
    fn admit(&self, known: &KnownPeer, frame: &Frame) -> Admission {
        match (self, SoundRules.admit(known, frame)) {
            (Self::OldEpochs, Admission::Refused(Reason::OldEpoch { .. }))
            | (Self::Copies, Admission::Refused(Reason::Copy)) => Admission::Accepted,
            (Self::Rollbacks, Admission::Refused(Reason::Rollback { .. })) => {
                Admission::Newcomer(frame.sender())
            }
            (_, sound) => sound,
        }
    }

    fn next_epoch(&self, last: u64) -> u64 {
        if *self == Self::SameEpoch { last.max(1) } else { last + 1 }
    }

    fn waits_for(&self, slot: Slot) -> bool {
        match slot {
            Slot::Identity => *self != Self::SendBeforeEpoch,
            Slot::State => *self != Self::SendBeforeDurable,
        }
    }

    fn durable_while_writing(&self, durable: u64, written: u64) -> u64 {
        if *self == Self::EarlyDurable { written } else { durable }
    }

    fn forget_when_durable<'a>(
        &self,
        round: u64,
        sent: impl Iterator<Item = &'a mut SentPayloads>,
    ) {
        if *self == Self::EarlyForgetting {
            sent.for_each(|sent| sent.retain(|(of, _), _| *of > round));
        }
    }

    fn restore_sent(&self, sent: SentPayloads) -> SentPayloads {
        if *self == Self::NothingToResend { SentPayloads::new() } else { sent }
    }

    fn restore<P: Durable>(&self, participant: &mut P, from: Reader<'_>) -> Result<()> {
        if *self == Self::Forgetful { Ok(()) } else { SoundRules.restore(participant, from) }
    }

    fn resend(&self, kind: FrameKind, payload: &[u8]) -> Vec<u8> {
        let mut payload = payload.to_vec();
        if *self == Self::FreshNoise && kind == FrameKind::State && payload.len() > 12 {
            payload[4] ^= 1;
        }
        payload
    }

    fn round_of(&self, named: u64, next: u64) -> u64 {
        if *self == Self::AnyRound { next } else { named }
    }

    fn is_unchanged(&self, before: u64, now: u64) -> bool {
        before == now || *self == Self::AnyRound
    }

    fn link_order(&self, accepted_frames: &[u64]) -> Vec<usize> {
        let mut order = SoundRules.link_order(accepted_frames);
        if *self == Self::ArrivalOrder {
            order.sort_by_key(|&link| accepted_frames[link]);
        }
        order
    }

    fn sort_inbox<M>(&self, inbox: &mut [(NodeId, M)]) {
        if *self != Self::ArrivalOrder {
            SoundRules.sort_inbox(inbox);
        }
    }

    fn is_newer(&self, latest: (u64, u64), now: (u64, u64)) -> bool {
        now > latest || *self == Self::AnyAge
    }

    fn times_counted(&self, accepted_frames: u64) -> usize {
        1 + usize::from(*self == Self::SumsTwice && accepted_frames.is_multiple_of(2))
    }

    fn stops_alone(&self, is_own_reached: impl FnOnce() -> bool) -> bool {
        *self == Self::StopAlone && is_own_reached()
    }
}
