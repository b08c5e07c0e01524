//! The same code compiled for several widths of vectors, of which the machine's widest is run.

#![expect(clippy::inline_always, reason = "what is not inlined is not compiled for wide vectors")]

use pulp::{Arch, Simd, WithSimd};

/// Work on many numbers, worth compiling for several widths of vectors.
///
/// `run` must be inlined always, with all that it calls in its loops.
pub(crate) trait SimdTask {
    /// Does the work.
    fn run(self);
}

/// Runs work compiled for the widest vectors of this machine. The order of its operations, and with
/// it every bit, is that of the portable code: the compiler neither joins nor reorders operations on
/// floating-point numbers.
pub(crate) fn dispatch(work: impl SimdTask) {
    Arch::new().dispatch(Compiled(work));
}

struct Compiled<K>(K);

impl<K: SimdTask> WithSimd for Compiled<K> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        self.0.run();
    }
}
