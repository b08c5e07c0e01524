//! Passes over rows whose width the compiler knows, compiled for the processor's wide registers too.
//! Neither changes a bit: sums are added in the order that is written.

use pulp::{Arch, Simd, WithSimd};

/// A pass over rows of `W` numbers, or of several pieces of `W`, in one of two forms.
pub(super) trait Pass {
    type Output;

    /// Does the pass; to be marked `inline(always)`, so that it is compiled where it is dispatched.
    fn run<const W: usize, const FORM: bool>(self) -> Self::Output;
}

struct Sized<P, const W: usize, const FORM: bool>(P);

impl<P: Pass, const W: usize, const FORM: bool> WithSimd for Sized<P, W, FORM> {
    type Output = P::Output;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> P::Output {
        self.0.run::<W, FORM>()
    }
}

/// The widths that there are passes for; wider rows are done in pieces of the last.
const WIDTHS: [usize; 11] = [1, 2, 3, 4, 6, 8, 10, 12, 16, 24, 32];

/// The number of numbers that a row of a size is padded to.
pub(super) fn padded(size: usize) -> usize {
    let fitting = WIDTHS.iter().copied().find(|width| *width >= size);
    fitting.unwrap_or_else(|| size.next_multiple_of(4))
}

/// Does a pass over rows of a width.
pub(super) fn by_width<P: Pass>(width: usize, form: bool, pass: P) -> P::Output {
    match width {
        1 => dispatch::<P, 1>(form, pass),
        2 => dispatch::<P, 2>(form, pass),
        3 => dispatch::<P, 3>(form, pass),
        4 => dispatch::<P, 4>(form, pass),
        6 => dispatch::<P, 6>(form, pass),
        8 => dispatch::<P, 8>(form, pass),
        10 => dispatch::<P, 10>(form, pass),
        12 => dispatch::<P, 12>(form, pass),
        16 => dispatch::<P, 16>(form, pass),
        24 => dispatch::<P, 24>(form, pass),
        32 => dispatch::<P, 32>(form, pass),
        _ => dispatch::<P, PIECE>(form, pass),
    }
}

/// The size of the pieces of rows that are wider than any pass.
const PIECE: usize = 4;

fn dispatch<P: Pass, const W: usize>(form: bool, pass: P) -> P::Output {
    if form {
        Arch::new().dispatch(Sized::<P, W, true>(pass))
    } else {
        Arch::new().dispatch(Sized::<P, W, false>(pass))
    }
}

/// The inner product of two rows in four partial sums.
#[inline(always)]
pub(super) fn dot<const W: usize>(a: &[f64; W], b: &[f64; W]) -> f64 {
    let ((a, rest_a), (b, rest_b)) = (a.as_chunks::<4>(), b.as_chunks::<4>());
    let mut sums = [0.0; 4];
    for (a, b) in a.iter().zip(b) {
        for k in 0..4 {
            sums[k] += a[k] * b[k];
        }
    }
    let mut rest = [0.0; 2];
    for (k, (a, b)) in rest_a.iter().zip(rest_b).enumerate() {
        rest[k % 2] += a * b;
    }
    ((sums[0] + sums[2]) + (sums[1] + sums[3])) + (rest[0] + rest[1])
}
