//! Products of small blocks, with the size known to the compiler up to 24.

#![expect(clippy::inline_always, reason = "what is not inlined is not compiled for wide vectors")]

use crate::algebra::{SimdTask, simd, small::by_size};

/// How a product counts.
#[derive(Clone, Copy)]
pub(super) struct Product {
    /// Whether it is subtracted from what is there, or added.
    pub(super) subtract: bool,
}

/// `to ← to ± A B` for blocks A below each other and one block B.
pub(super) fn multiply(size: usize, to: &mut [f64], a: &[f64], b: &[f64], product: Product) {
    let sign = if product.subtract { -1.0 } else { 1.0 };
    by_size!(size, fixed(to, a, b, sign), {
        for (to, a) in to.chunks_exact_mut(size).zip(a.chunks_exact(size)) {
            for (factor, b) in a.iter().zip(b.chunks_exact(size)) {
                crate::algebra::add_scaled(to, sign * factor, b);
            }
        }
    });
}

fn fixed<const N: usize>(to: &mut [f64], a: &[f64], b: &[f64], sign: f64) {
    let ((to, _), (a, _), (b, _)) =
        (to.as_chunks_mut::<N>(), a.as_chunks::<N>(), b.as_chunks::<N>());
    simd::dispatch(Rows::<N> { to, a, b, sign });
}

struct Rows<'a, const N: usize> {
    to: &'a mut [[f64; N]],
    a: &'a [[f64; N]],
    b: &'a [[f64; N]],
    sign: f64,
}

impl<const N: usize> SimdTask for Rows<'_, N> {
    #[inline(always)]
    fn run(self) {
        let Self { to, a, b, sign } = self;
        let Some(b) = b.first_chunk::<N>() else { return };
        for (to, a) in to.iter_mut().zip(a) {
            let mut sums = [0.0; N];
            for (factor, b) in a.iter().zip(b) {
                for (sum, b) in sums.iter_mut().zip(b) {
                    *sum += factor * b;
                }
            }
            for (to, sum) in to.iter_mut().zip(sums) {
                *to += sign * sum;
            }
        }
    }
}
