//! The way up and down the tree of supernodes, with subtrees at the same time, and above them those of a level.
//!
//! What a supernode computes depends on what it is handed alone, and that is in a fixed order: the number
//! of threads changes no bit.

use rayon::prelude::*;

use super::pattern::Pattern;

impl Pattern {
    /// Visits every supernode after those below it, with what these hand up, in order; gives what each
    /// computes and what it hands up. None as soon as a visit is none.
    pub(super) fn up<O: Send, V: Send>(
        &self,
        visit: impl Fn(usize, Vec<V>) -> Option<(O, V)> + Sync,
    ) -> Option<Vec<O>> {
        let mut handed: Vec<Option<V>> = self.supernodes.iter().map(|_| None).collect();
        let mut outputs: Vec<Option<O>> = self.supernodes.iter().map(|_| None).collect();
        let within = |(handed, outputs, first): (&mut [Option<V>], &mut [Option<O>], usize)| {
            for at in 0..handed.len() {
                let children = &self.supernodes[first + at].children;
                // Subtrees are whole: the children of a supernode in one are in it, too.
                let taken = children.iter().filter_map(|child| handed[child - first].take());
                let (output, up) = visit(first + at, taken.collect())?;
                (outputs[at], handed[at]) = (Some(output), Some(up));
            }
            Some(())
        };
        let parts = self.parts(&mut handed, &mut outputs);
        parts.into_par_iter().map(within).collect::<Option<Vec<()>>>()?;
        for level in self.levels.iter() {
            let mut take = |&at: &usize| {
                let children = self.supernodes[at].children.iter();
                (at, children.filter_map(|&child| handed[child].take()).collect())
            };
            let taken: Vec<(usize, Vec<V>)> = level.iter().map(&mut take).collect();
            for (&at, done) in level.iter().zip(each(taken, |(at, taken)| visit(at, taken))) {
                let (output, up) = done?;
                (outputs[at], handed[at]) = (Some(output), Some(up));
            }
        }
        Some(outputs.into_iter().flatten().collect())
    }

    /// Visits every supernode after the one above it, with what that hands down; gives what each computes.
    /// A visit gives that and what every child is handed, in order.
    pub(super) fn down<O: Send, V: Send>(
        &self,
        visit: impl Fn(usize, Option<V>) -> (O, Vec<V>) + Sync,
    ) -> Vec<O> {
        let mut handed: Vec<Option<V>> = self.supernodes.iter().map(|_| None).collect();
        let mut outputs: Vec<Option<O>> = self.supernodes.iter().map(|_| None).collect();
        for level in self.levels.iter().rev() {
            let taken: Vec<(usize, Option<V>)> =
                level.iter().map(|&at| (at, handed[at].take())).collect();
            let done = each(taken, |(at, taken)| visit(at, taken));
            for (&at, (output, below)) in level.iter().zip(done) {
                outputs[at] = Some(output);
                for (&child, value) in self.supernodes[at].children.iter().zip(below) {
                    handed[child] = Some(value);
                }
            }
        }
        let within = |(handed, outputs, first): (&mut [Option<V>], &mut [Option<O>], usize)| {
            for at in (0..handed.len()).rev() {
                let (output, below) = visit(first + at, handed[at].take());
                outputs[at] = Some(output);
                for (&child, value) in self.supernodes[first + at].children.iter().zip(below) {
                    handed[child - first] = Some(value);
                }
            }
        };
        self.parts(&mut handed, &mut outputs).into_par_iter().for_each(within);
        outputs.into_iter().flatten().collect()
    }

    /// Two lists cut into those of subtrees, with the first supernode of each.
    fn parts<'a, A, B>(
        &self,
        mut a: &'a mut [A],
        mut b: &'a mut [B],
    ) -> Vec<(&'a mut [A], &'a mut [B], usize)> {
        let mut parts = Vec::with_capacity(self.subtrees.len());
        let mut at = 0;
        for range in self.subtrees.iter() {
            let (_, rest_a) = a.split_at_mut(range.start - at);
            let (_, rest_b) = b.split_at_mut(range.start - at);
            let (own_a, rest_a) = rest_a.split_at_mut(range.len());
            let (own_b, rest_b) = rest_b.split_at_mut(range.len());
            parts.push((own_a, own_b, range.start));
            (a, b, at) = (rest_a, rest_b, range.end);
        }
        parts
    }
}

/// What becomes of each, at the same time; a single one is not worth the way to other threads.
fn each<T: Send, R: Send>(all: Vec<T>, visit: impl Fn(T) -> R + Sync) -> Vec<R> {
    if all.len() > 1 {
        all.into_par_iter().map(&visit).collect()
    } else {
        all.into_iter().map(visit).collect()
    }
}
