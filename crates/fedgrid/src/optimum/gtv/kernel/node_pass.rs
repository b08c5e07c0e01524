//! The pass over the nodes of a block: `w⁺ = prox_{τ L}(w − τ p)`, its reflection and the next point.

use std::array;

use super::{
    next_point::{ANCHOR, NextPoint, PLAIN, RELAX},
    packed::{PackedLosses, ProximalKind},
    width::WidthPass,
};
use crate::{
    algebra::{add_scaled, row_dot, squared_distance},
    error::Result,
};

/// What the pass over a block of nodes works on.
pub(crate) struct NodeBlock<'a> {
    pub(crate) packed: &'a PackedLosses<'a>,
    pub(crate) first: usize,
    pub(crate) w: &'a mut [f64],
    pub(crate) reflected: &'a mut [f64],
    /// `p = Dᵀu`; zero afterwards, for the edges to add to.
    pub(crate) p: &'a mut [f64],
    pub(crate) anchor: &'a [f64],
    pub(crate) counts: &'a mut [f64],
    pub(crate) next: NextPoint,
}

impl WidthPass for NodeBlock<'_> {
    type Output = Result<f64>;

    #[inline(always)]
    fn run<const W: usize, const ANCHORED: bool>(self) -> Result<f64> {
        if self.packed.width > W {
            return self.wide::<ANCHORED>();
        }
        match self.next {
            _ if ANCHORED => self.rows::<W, ANCHOR>(),
            NextPoint::Plain => self.rows::<W, PLAIN>(),
            _ => self.rows::<W, RELAX>(),
        }
    }
}

impl NodeBlock<'_> {
    #[inline(always)]
    fn rows<const W: usize, const STEP: u8>(self) -> Result<f64> {
        let NodeBlock { packed, first, w, reflected, p, anchor, counts, next } = self;
        let (keep, pull) = next.factors();
        let (coupled, degrees) = (packed.losses.coupled, &packed.layout.degrees);
        // Uncoupled weights have steps of their own, which tell nothing about the balance.
        let share: [f64; W] = array::from_fn(|k| if k < coupled { 1.0 } else { 0.0 });
        let ((w, _), (x, _)) = (w.as_chunks_mut::<W>(), reflected.as_chunks_mut::<W>());
        let ((p, _), (z, _)) = (p.as_chunks_mut::<W>(), anchor.as_chunks::<W>());
        let mut moved = 0.0;
        for (slot, ((w, x), p)) in w.iter_mut().zip(x).zip(p).enumerate() {
            let node = first + slot;
            let (tau, old, pulled) = (packed.steps[node], *w, *p);
            // Zero for the edges to add to, while the row is in the cache.
            *p = [0.0; W];
            let from: [f64; W] = array::from_fn(|k| old[k] - tau * pulled[k]);
            let to = if let ProximalKind::Convex = packed.kinds[node] {
                let mut to = [0.0; W];
                packed.convex_step(node, &from, &mut to)?;
                to
            } else {
                packed.step(node, &from)
            };
            let step: [f64; W] = array::from_fn(|k| to[k] - old[k]);
            let reflection: [f64; W] = array::from_fn(|k| to[k] + step[k]);
            *x = reflection;
            *w = match STEP {
                PLAIN => to,
                RELAX => array::from_fn(|k| to[k] + keep * step[k]),
                _ => {
                    let z = z[slot];
                    array::from_fn(|k| keep * reflection[k] + pull * z[k])
                }
            };
            if STEP == ANCHOR || STEP == RELAX && !counts.is_empty() {
                let shared: [f64; W] = array::from_fn(|k| share[k] * step[k]);
                let squares = degrees[node].max(1.0) * row_dot(&shared, &step);
                moved += squares;
                if let Some(count) = counts.get_mut(slot) {
                    *count += squares;
                }
            }
        }
        Ok(moved)
    }

    /// The pass for rows wider than any other.
    #[inline(always)]
    fn wide<const ANCHORED: bool>(self) -> Result<f64> {
        let NodeBlock { packed, first, w, reflected, p, anchor, counts, next } = self;
        let (keep, pull) = next.factors();
        let (width, coupled) = (packed.width, packed.losses.coupled);
        let degrees = &packed.layout.degrees;
        let mut moved = 0.0;
        let (mut from, mut to) = (vec![0.0; width], vec![0.0; width]);
        let rows = w.chunks_exact_mut(width).zip(reflected.chunks_exact_mut(width));
        for (slot, ((w, x), p)) in rows.zip(p.chunks_exact_mut(width)).enumerate() {
            let node = first + slot;
            from.copy_from_slice(w);
            add_scaled(&mut from, -packed.steps[node], p);
            p.fill(0.0);
            if let ProximalKind::Convex = packed.kinds[node] {
                packed.convex_step(node, &from, &mut to)?;
            } else {
                packed.wide_step(node, &from, &mut to);
            }
            let squares = degrees[node].max(1.0) * squared_distance(&to[..coupled], &w[..coupled]);
            moved += squares;
            if let Some(count) = counts.get_mut(slot) {
                *count += squares;
            }
            x.iter_mut().zip(&to).zip(&*w).for_each(|((x, to), w)| *x = 2.0 * to - w);
            if ANCHORED {
                let z = &anchor[slot * width..(slot + 1) * width];
                w.iter_mut().zip(&*x).zip(z).for_each(|((w, x), z)| *w = keep * x + pull * z);
            } else {
                w.iter_mut().zip(&to).for_each(|(w, to)| *w = to + keep * (to - *w));
            }
        }
        Ok(moved)
    }
}
