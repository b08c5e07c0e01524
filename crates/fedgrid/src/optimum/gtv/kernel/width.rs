//! Passes over rows whose width the compiler knows, compiled for the processor's wide registers too.
//! Neither changes a bit: sums are added in the order that is written.

use pulp::{Arch, Simd, WithSimd};

/// A pass over rows of `W` numbers, or of several pieces of `W`, in one of two forms.
pub(crate) trait WidthPass {
    type Output;

    /// Does the pass; to be marked `inline(always)`, so that it is compiled where it is dispatched.
    fn run<const W: usize, const FORM: bool>(self) -> Self::Output;
}

struct SizedPass<P, const W: usize, const FORM: bool>(P);

impl<P: WidthPass, const W: usize, const FORM: bool> WithSimd for SizedPass<P, W, FORM> {
    type Output = P::Output;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> P::Output {
        self.0.run::<W, FORM>()
    }
}

/// The width with which passes over wider rows are compiled: they then work on slices, so any will do.
const WIDE: usize = 4;

/// Declares the widths, in numbers, that there are passes for.
macro_rules! widths {
    ($($width:literal)*) => {
        /// The number of numbers that a row of a size is padded to.
        pub(crate) fn padded(size: usize) -> usize {
            let fitting = [$($width),*].into_iter().find(|width| *width >= size);
            fitting.unwrap_or_else(|| size.next_multiple_of(WIDE))
        }

        /// Does a pass over rows of a width.
        pub(crate) fn by_width<P: WidthPass>(width: usize, form: bool, pass: P) -> P::Output {
            match width {
                $($width => dispatch::<P, $width>(form, pass),)*
                _ => dispatch::<P, WIDE>(form, pass),
            }
        }
    };
}

// Each costs compile time in every pass; short rows, of which padding would be the largest share, have
// nearly all of theirs.
widths!(1 2 3 4 6 8 10 12 16 24 32);

fn dispatch<P: WidthPass, const W: usize>(form: bool, pass: P) -> P::Output {
    if form {
        Arch::new().dispatch(SizedPass::<P, W, true>(pass))
    } else {
        Arch::new().dispatch(SizedPass::<P, W, false>(pass))
    }
}
