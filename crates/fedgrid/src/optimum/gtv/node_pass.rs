//! The pass over the nodes of a block: `w⁺ = prox_{τ L}(w − τ p)`, its reflection and the next point.

use super::{
    packed::Packed,
    sweep::Next,
    width::{Pass, dot},
};
use crate::{
    algebra::{add_scaled, squared_distance},
    error::Result,
};

/// What the pass over a block of nodes works on.
pub(super) struct Nodes<'a> {
    pub(super) packed: &'a Packed<'a>,
    pub(super) degrees: &'a [f64],
    pub(super) first: usize,
    pub(super) w: &'a mut [f64],
    pub(super) reflected: &'a mut [f64],
    pub(super) p: &'a [f64],
    pub(super) anchor: &'a [f64],
    pub(super) next: Next,
}

impl Pass for Nodes<'_> {
    type Output = Result<f64>;

    #[inline(always)]
    fn run<const W: usize, const ANCHORED: bool>(self) -> Result<f64> {
        if self.packed.width > W {
            return self.wide::<ANCHORED>();
        }
        let Nodes { packed, degrees, first, w, reflected, p, anchor, next } = self;
        let (keep, pull) = next.factors();
        let coupled = packed.losses.coupled;
        let ((w, _), (x, _)) = (w.as_chunks_mut::<W>(), reflected.as_chunks_mut::<W>());
        let ((p, _), (z, _)) = (p.as_chunks::<W>(), anchor.as_chunks::<W>());
        let mut moved = 0.0;
        for (place, ((w, x), p)) in w.iter_mut().zip(x).zip(p).enumerate() {
            let node = first + place;
            let tau = packed.steps[node];
            let mut from = [0.0; W];
            for k in 0..W {
                from[k] = w[k] - tau * p[k];
            }
            let mut to = [0.0; W];
            if packed.is_spectral(node) {
                to = packed.step(node, &from);
            } else {
                packed.convex_step(node, &from, &mut to)?;
            }
            let mut step = [0.0; W];
            for k in 0..W {
                step[k] = to[k] - w[k];
                x[k] = to[k] + step[k];
                w[k] = if ANCHORED { keep * x[k] + pull * z[place][k] } else { to[k] };
            }
            // Uncoupled weights have steps of their own, which tell nothing about the balance.
            step[coupled..].fill(0.0);
            moved += degrees[node].max(1.0) * dot(&step, &step);
        }
        Ok(moved)
    }
}

impl Nodes<'_> {
    /// The pass for rows wider than any other.
    #[inline(always)]
    fn wide<const ANCHORED: bool>(self) -> Result<f64> {
        let Nodes { packed, degrees, first, w, reflected, p, anchor, next } = self;
        let (keep, pull) = next.factors();
        let (width, coupled) = (packed.width, packed.losses.coupled);
        let mut moved = 0.0;
        let (mut from, mut to) = (vec![0.0; width], vec![0.0; width]);
        let rows = w.chunks_exact_mut(width).zip(reflected.chunks_exact_mut(width));
        for (place, ((w, x), p)) in rows.zip(p.chunks_exact(width)).enumerate() {
            let node = first + place;
            from.copy_from_slice(w);
            add_scaled(&mut from, -packed.steps[node], p);
            if packed.is_spectral(node) {
                packed.wide_step(node, &from, &mut to);
            } else {
                packed.convex_step(node, &from, &mut to)?;
            }
            moved += degrees[node].max(1.0) * squared_distance(&to[..coupled], &w[..coupled]);
            x.iter_mut().zip(&to).zip(&*w).for_each(|((x, to), w)| *x = 2.0 * to - w);
            if ANCHORED {
                let z = &anchor[place * width..(place + 1) * width];
                w.iter_mut().zip(&*x).zip(z).for_each(|((w, x), z)| *w = keep * x + pull * z);
            } else {
                w.copy_from_slice(&to);
            }
        }
        Ok(moved)
    }
}
