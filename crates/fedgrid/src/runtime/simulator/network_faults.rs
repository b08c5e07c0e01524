//! The network: frames are lost, doubled, delayed, held up by a partition, or forged.

use super::{FaultCounts, Faults};
use crate::{
    random::Stream,
    runtime::protocol::{FRAME_HEAD_BYTES, Frame, FrameKind},
};

/// How many moments a tick has: a frame or a write takes one.
pub(super) const MOMENTS_PER_TICK: u64 = 4;

/// How many frames are remembered to be replayed: of several rounds, so that most are out of date.
const REMEMBERED_FRAMES: usize = 64;

/// Draws a moment below a number of them.
pub(super) fn draw(stream: &mut Stream, below: u64) -> u64 {
    stream.index(usize::try_from(below).unwrap_or(usize::MAX)) as u64
}

/// A network in which things go wrong.
#[derive(Debug)]
pub(super) struct FaultyNetwork<'a> {
    faults: &'a Faults,
    /// Which processes are in the first half of a partition.
    in_first_half: Vec<bool>,
    is_slow: Vec<bool>,
    /// Frames that may be replayed, in the run that they are of.
    recent: Vec<(Frame, usize)>,
    /// The bytes of all frames in each tick.
    traffic: Vec<u64>,
}

impl<'a> FaultyNetwork<'a> {
    pub(super) fn new(processes: usize, faults: &'a Faults, stream: &mut Stream) -> Self {
        let mut in_first_half: Vec<bool> =
            (0..processes).map(|process| 2 * process < processes).collect();
        stream.shuffle(&mut in_first_half);
        let is_slow = (0..processes).map(|_| stream.uniform() < faults.slow).collect();
        Self { faults, in_first_half, is_slow, recent: Vec::new(), traffic: Vec::new() }
    }

    /// Whether all faults but loss, duplicates and delay still happen.
    pub(super) fn is_faulty(&self, now: u64) -> bool {
        now < self.faults.until.saturating_mul(MOMENTS_PER_TICK)
    }

    pub(super) fn is_slow(&self, process: usize, now: u64) -> bool {
        self.is_slow[process] && self.is_faulty(now)
    }

    /// The slow processes, and the traffic of each tick.
    pub(super) fn into_parts(self) -> (Vec<bool>, Vec<u64>) {
        (self.is_slow, self.traffic)
    }

    /// Sends a frame: after how many moments each copy of it that is not lost arrives.
    pub(super) fn send(
        &mut self,
        (frame, change): (&Frame, usize),
        now: u64,
        stream: &mut Stream,
        counts: &mut FaultCounts,
    ) -> Vec<u64> {
        let faults = self.faults;
        counts.sent += 1;
        counts.bytes += frame.payload.len() as u64;
        let tick = usize::try_from(now / MOMENTS_PER_TICK).unwrap_or(usize::MAX);
        self.traffic.resize(self.traffic.len().max(tick + 1), 0);
        self.traffic[tick] += (FRAME_HEAD_BYTES + frame.payload.len()) as u64;
        if faults.hostile > 0.0 {
            let slot = stream.index(REMEMBERED_FRAMES);
            match self.recent.get_mut(slot) {
                Some(old) => *old = (frame.clone(), change),
                None => self.recent.push((frame.clone(), change)),
            }
        }
        let is_cut = faults.partition.as_ref().is_some_and(|when| {
            let ends = [self.in_first_half[frame.from], self.in_first_half[frame.to]];
            let is_across = ends[0] != ends[1] && (!faults.one_way || ends[0]);
            is_across && when.contains(&(now / MOMENTS_PER_TICK))
        });
        // A fault that cannot happen draws nothing, so that switching it off keeps a seed's trace.
        let is_doubled = faults.duplicate > 0.0 && stream.uniform() < faults.duplicate;
        counts.duplicated += u64::from(is_doubled);
        let mut arrivals = Vec::new();
        for _ in 0..=usize::from(is_doubled) {
            if is_cut || (faults.loss > 0.0 && stream.uniform() < faults.loss) {
                counts.lost += 1;
                continue;
            }
            let late = draw(stream, faults.delay * MOMENTS_PER_TICK + 1);
            let slow = if self.is_slow(frame.to, now) { faults.slowness } else { 0 };
            arrivals.push(1 + late + slow);
        }
        arrivals
    }

    /// A frame that no honest process would send, or would send now: an old one, a mutilated one whose
    /// sender is a neighbour all the same, one of a stranger, or noise.
    pub(super) fn forge(
        &mut self,
        stream: &mut Stream,
        counts: &mut FaultCounts,
    ) -> Option<(Frame, usize)> {
        if self.recent.is_empty() {
            return None;
        }
        counts.hostile += 1;
        let (mut frame, change) = self.recent[stream.index(self.recent.len())].clone();
        let (kind, end) = (stream.index(6), frame.payload.len());
        match kind {
            0 => {}
            1 if end > 0 => frame.payload.truncate(end - 1),
            2 if frame.kind == FrameKind::State => frame.payload.extend_from_slice(&[0; 9]),
            3 if frame.kind == FrameKind::State && end >= 8 => {
                frame.payload[end - 8..].copy_from_slice(&f64::NAN.to_le_bytes());
            }
            4 => frame.from = self.is_slow.len() + 7,
            _ => {
                let bytes: Vec<u8> = (0..stream.index(200))
                    .map(|_| u8::try_from(stream.index(256)).unwrap_or(0))
                    .collect();
                frame = Frame::decode(&bytes, 1 << 10).ok()?;
            }
        }
        // A mutilated frame of the round that is waited for would do the most harm.
        if matches!(kind, 1..=3) {
            frame.round += stream.index(3) as u64;
        }
        Some((frame, change))
    }
}
