//! Where random bits come from.

use crate::random::Stream;

/// A source of random bits. Noise protects only from those who cannot draw it again: what leaves a site needs bits of its
/// system. In tests and rehearsals they come from the seed, so that a run can be repeated.
pub trait Bits {
    /// The next 64 bits.
    fn next(&mut self) -> u64;
}

impl Bits for Stream {
    fn next(&mut self) -> u64 {
        self.bits()
    }
}
