//! The network: frames are lost, doubled, delayed, held up by a partition, or forged.

use super::world::{Happening, TICK, World};
use crate::{
    bytes::digest,
    method::{Durable, Method},
    runtime::protocol::{Frame, HEAD, Kind},
};

/// How many frames are remembered to be replayed.
const MEMORY: usize = 64;

impl<M: Method<Participant: Durable>> World<'_, M> {
    pub(super) fn send(&mut self, frame: &Frame) {
        self.counts.sent += 1;
        self.counts.bytes += frame.payload.len() as u64;
        let tick = usize::try_from(self.now / TICK).unwrap_or(usize::MAX);
        self.traffic.resize(self.traffic.len().max(tick + 1), 0);
        self.traffic[tick] += (HEAD + frame.payload.len()) as u64;
        self.mix(&[5, frame.kind as u64, frame.round, digest(&frame.payload)]);
        if self.faults.hostile > 0.0 {
            let place = self.stream.index(MEMORY);
            match self.recent.get_mut(place) {
                Some(old) => *old = frame.clone(),
                None => self.recent.push(frame.clone()),
            }
        }
        let is_cut = self.faults.partition.as_ref().is_some_and(|when| {
            let ends = [self.halves[frame.from], self.halves[frame.to]];
            let is_across = ends[0] != ends[1] && (!self.faults.one_way || ends[0]);
            is_across && when.contains(&(self.now / TICK))
        });
        let copies =
            1 + usize::from(self.faults.duplicate > 0.0 && self.chance(self.faults.duplicate));
        for _ in 0..copies {
            if is_cut || (self.faults.loss > 0.0 && self.chance(self.faults.loss)) {
                self.counts.lost += 1;
                continue;
            }
            let late = self.draw(self.faults.delay * TICK + 1);
            let slow = self.is_slow[frame.to] && self.is_faulty();
            let late = if slow { late + self.faults.slowness } else { late };
            self.later(1 + late, Happening::Arrival { frame: frame.clone() });
        }
        self.counts.duplicated += copies as u64 - 1;
    }

    /// A moment below a number of them.
    pub(super) fn draw(&mut self, below: u64) -> u64 {
        self.stream.index(usize::try_from(below).unwrap_or(usize::MAX)) as u64
    }

    fn chance(&mut self, probability: f64) -> bool {
        self.stream.uniform() < probability
    }

    /// A frame that no honest process would send, or would send now: an old one, a mutilated one whose
    /// sender is a neighbour all the same, one of a stranger, or noise.
    pub(super) fn attack(&mut self) {
        if self.recent.is_empty() {
            return;
        }
        self.counts.hostile += 1;
        let place = self.stream.index(self.recent.len());
        let mut frame = self.recent[place].clone();
        let (kind, end) = (self.stream.index(6), frame.payload.len());
        match kind {
            0 => {}
            1 if end > 0 => frame.payload.truncate(end - 1),
            2 if frame.kind == Kind::State => frame.payload.extend_from_slice(&[0; 9]),
            3 if frame.kind == Kind::State && end >= 8 => {
                frame.payload[end - 8..].copy_from_slice(&f64::NAN.to_le_bytes());
            }
            4 => frame.from = self.simulation.layout.seats().len() + 7,
            _ => {
                let bytes: Vec<u8> = (0..self.stream.index(200))
                    .map(|_| u8::try_from(self.stream.index(256)).unwrap_or(0))
                    .collect();
                let Ok(random) = Frame::decode(&bytes, 1 << 10) else { return };
                frame = random;
            }
        }
        // A mutilated frame of the round that is waited for would do the most harm.
        if matches!(kind, 1..=3) {
            frame.round += self.stream.index(3) as u64;
        }
        self.later(1, Happening::Arrival { frame });
    }
}
