//! The block system at one strength, A = D − N: its diagonal blocks D, what neighbours add to them,
//! and the products of both.
//!
//! ```text
//! one-sided   (N w)_i = α Σ_j A_ij K_j w_j
//! symmetric   (N w)_i = α Σ_j A_ij K_ij w_j
//! ```
//!
//! A round of FedRelax is `w ← D⁻¹ (q + N w)`. The preconditioned product `A D⁻¹ v = v − N D⁻¹ v`
//! costs no more than a round, because D itself has no part in it.

use std::{
    borrow::Cow,
    sync::{Mutex, MutexGuard, PoisonError},
};

use rayon::prelude::*;

use super::{Anchor, LinearNetwork, coarse::Coarse};
use crate::{
    algebra::{
        Batch, Factors, add_scaled, add_weighted_differences, add_weighted_rows_each, triangle,
    },
    network::Network,
    optimum::tasks::{MIN_SHARED_NUMBERS, TASK_NODES, each_task},
};

/// The block system at one strength.
pub(super) struct System<'a> {
    pub(super) moments: &'a LinearNetwork,
    pub(super) network: &'a Network,
    pub(super) alpha: f64,
    anchor_weight: f64,
    pub(super) right: Cow<'a, [f64]>,
    /// What each node's own weights are multiplied by: D where nodes have public sets of their own,
    /// and where they share one only what is not coupling; none if that is Q and the ridge.
    own: Option<Batch>,
    /// What makes directions definite that nothing tells.
    unseen: Option<&'a [f64]>,
    /// Room for `K_j w_j` of every node, kept from product to product.
    pub(super) shared: Mutex<Vec<f64>>,
}

impl<'a> System<'a> {
    pub(super) fn new(
        moments: &'a LinearNetwork,
        network: &'a Network,
        alpha: f64,
        anchor: Option<&Anchor>,
    ) -> Self {
        let anchor_weight = anchor.map_or(0.0, |anchor| anchor.weight);
        let mut right = Cow::Borrowed(moments.right.as_slice());
        if let Some(anchor) = anchor {
            let pulled = moments.weights_of(&anchor.hypothesis).repeat(network.len());
            moments.public.add_product(right.to_mut(), alpha * anchor.weight, 0, &pulled);
        }
        let (own, unseen, shared) = (None, None, Mutex::default());
        let mut system =
            Self { moments, network, alpha, anchor_weight, right, own, unseen, shared };
        if anchor_weight > 0.0 || !system.one_set() {
            system.own = Some(system.blocks(!system.one_set()));
        }
        system
    }

    /// The same without directions that nothing tells, for solvers: it has the solution of least length
    /// among those of the system.
    pub(super) fn definite(mut self) -> Self {
        let has_need = self.moments.ridges.contains(&0.0);
        if let Some(unseen) = self.moments.unseen.as_deref().filter(|_| has_need) {
            self.unseen = Some(unseen);
            self.own = Some(self.blocks(!self.one_set()));
        }
        self
    }

    /// `out ← out + B v` from a node on, with what each node's own weights are multiplied by.
    fn add_own(&self, out: &mut [f64], first: usize, v: &[f64]) {
        if let Some(own) = &self.own {
            own.add_product(out, 1.0, first, v);
        } else {
            let ridges = (&*self.moments.ridges, self.moments.names.len());
            self.moments.grams.add_ridged_product(ridges, out, 1.0, first, v);
        }
    }

    fn one_set(&self) -> bool {
        self.moments.one_set()
    }

    pub(super) fn is_symmetric(&self) -> bool {
        self.moments.symmetric || self.one_set()
    }

    /// Whether neighbours tell `K_j w_j` and no more, so that sweeps are possible.
    pub(super) fn can_sweep(&self) -> bool {
        self.one_set() || !self.moments.symmetric
    }

    /// The factors of D.
    pub(super) fn factors(&self) -> Factors {
        // With sets of their own the blocks D are there already, and needed for products too.
        match &self.own {
            Some(own) if !self.one_set() => Factors::of(own),
            _ => Factors::new(self.blocks(true)),
        }
    }

    /// The solutions for weights that are equal over connected parts, if neighbours pull harder than
    /// rows: where they do not, rounds settle such weights as fast as any others.
    pub(super) fn coarse(&self) -> Option<Coarse> {
        let size = self.moments.size;
        let trace = |block: &[f64]| (0..size).map(|k| block[triangle(k) + k]).sum::<f64>();
        let (mut rows, mut pull) = (0.0, 0.0);
        for node in 0..self.network.len() {
            let held = self.moments.ridges[node] * self.moments.names.len() as f64;
            let moment = self.alpha * trace(self.moments.moment(node));
            rows += self.moments.grams.trace(node) + held + self.anchor_weight * moment;
            pull += self.network.degree(node) * moment;
        }
        (pull > rows)
            .then(|| Coarse::new(self.network, size, |node, sum| self.add_uncoupled(node, sum)))
    }

    /// Diagonal blocks, with or without what binds nodes to their neighbours.
    pub(super) fn blocks(&self, coupled: bool) -> Batch {
        let size = self.moments.size;
        let length = triangle(size);
        Batch::new(self.network.len(), size, |first, blocks| {
            for (node, block) in (first..).zip(blocks.chunks_exact_mut(length)) {
                self.add_uncoupled(node, block);
            }
            if coupled {
                self.add_coupling(first, blocks);
            }
        })
    }

    /// Adds what a node's rows, its ridge and its anchor multiply its weights by.
    pub(super) fn add_uncoupled(&self, node: usize, block: &mut [f64]) {
        let moments = self.moments;
        moments.grams.add_to(block, node);
        for column in 0..moments.names.len() {
            block[triangle(column) + column] += moments.ridges[node];
        }
        if self.anchor_weight > 0.0 {
            add_scaled(block, self.alpha * self.anchor_weight, moments.moment(node));
        }
        if let Some(unseen) = self.unseen.filter(|_| moments.ridges[node] == 0.0) {
            add_scaled(block, 1.0, unseen);
        }
    }

    /// Adds to the blocks from a node on what binds them to their neighbours.
    fn add_coupling(&self, first: usize, blocks: &mut [f64]) {
        let (moments, length) = (self.moments, triangle(self.moments.size));
        // K_ij is the mean of both ends' moments, of which each adds its half.
        let share = if self.is_symmetric() && !self.one_set() { 0.5 } else { 1.0 };
        if self.is_symmetric() {
            let own = if self.one_set() { 1.0 } else { 0.5 };
            for (node, block) in (first..).zip(blocks.chunks_exact_mut(length)) {
                add_scaled(
                    block,
                    own * self.alpha * self.network.degree(node),
                    moments.moment(node),
                );
            }
        }
        if !self.one_set() {
            let neighbours = |node: usize| self.network.neighbours(first + node);
            let factor = share * self.alpha;
            add_weighted_rows_each(blocks, factor, neighbours, &moments.triangles, length);
        }
    }

    /// `out ← A v`
    pub(super) fn apply(&self, v: &[f64], out: &mut [f64]) {
        let Some(own) = self.own.as_ref().filter(|_| !self.one_set()) else {
            return self.apply_hearing(v, v, out);
        };
        let mut shared = self.room(v.len());
        self.each_of(out, &mut shared[..v.len()], |first, out, shared| {
            let v = self.part(v, first, out);
            own.products(out, (&self.moments.public, shared), first, v);
        });
        self.add_told(-1.0, v, &shared, out);
    }

    /// `out ← D v − N heard`
    pub(super) fn apply_hearing(&self, v: &[f64], heard: &[f64], out: &mut [f64]) {
        if self.one_set() {
            return self.apply_differences(v, heard, out);
        }
        each_task(out, self.moments.size, |first, out| {
            out.fill(0.0);
            self.add_own(out, first, self.part(v, first, out));
        });
        self.add_pull(-1.0, heard, out);
    }

    /// The same on one public set, where `(A v)_i = Q_i v_i + α K Σ_j A_ij (v_i − v_j)`: differences
    /// lose no digits under a strong pull, where neighbours are close.
    fn apply_differences(&self, v: &[f64], heard: &[f64], out: &mut [f64]) {
        let size = self.moments.size;
        each_task(out, size, |first, out| {
            let own = self.part(v, first, out);
            let mut sums = vec![0.0; out.len()];
            let blocks = sums.chunks_exact_mut(size).zip(own.chunks_exact(size));
            for (node, (sum, own)) in (first..).zip(blocks) {
                add_weighted_differences(sum, own, self.network.neighbours(node), heard);
            }
            out.fill(0.0);
            self.add_own(out, first, own);
            self.moments.public.add_product(out, self.alpha, first, &sums);
        });
    }

    /// `out ← N v`
    pub(super) fn pull(&self, v: &[f64], out: &mut [f64]) {
        out.fill(0.0);
        self.add_pull(1.0, v, out);
    }

    /// `out ← out + factor · N v`
    fn add_pull(&self, factor: f64, v: &[f64], out: &mut [f64]) {
        let mut shared = self.room(if self.one_set() { 0 } else { v.len() });
        if !self.one_set() {
            each_task(&mut shared[..v.len()], self.moments.size, |first, out| {
                out.fill(0.0);
                self.moments.public.add_product(out, 1.0, first, self.part(v, first, out));
            });
        }
        self.add_told(factor, v, &shared, out);
    }

    /// Room for at least so many numbers of `K_j w_j`.
    fn room(&self, count: usize) -> MutexGuard<'_, Vec<f64>> {
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        // Never shorter: growing again would fill it with zeros anew.
        let room = count.max(shared.len());
        shared.resize(room, 0.0);
        shared
    }

    /// The same as [`Self::add_pull`] once the neighbours have told `K_j v_j`, if they have to.
    fn add_told(&self, factor: f64, v: &[f64], shared: &[f64], out: &mut [f64]) {
        let size = self.moments.size;
        let share = if self.moments.symmetric && !self.one_set() { 0.5 } else { 1.0 };
        let strength = factor * share * self.alpha;
        each_task(out, size, |first, out| {
            let neighbours = |node: usize| self.network.neighbours(first + node);
            if self.is_symmetric() {
                let mut sums = vec![0.0; out.len()];
                add_weighted_rows_each(&mut sums, 1.0, neighbours, v, size);
                self.moments.public.add_product(out, strength, first, &sums);
            }
            if !self.one_set() {
                add_weighted_rows_each(out, strength, neighbours, shared, size);
            }
        });
    }

    /// Does something with the blocks of tasks of two vectors: the number of the first node, and the blocks.
    pub(super) fn each_of<T: Send>(
        &self,
        a: &mut [f64],
        b: &mut [f64],
        work: impl Fn(usize, &mut [f64], &mut [f64]) -> T + Sync,
    ) -> Vec<T> {
        if a.len() * self.moments.size < MIN_SHARED_NUMBERS {
            return vec![work(0, a, b)];
        }
        let length = self.moments.size * TASK_NODES;
        let tasks = a.par_chunks_mut(length).zip(b.par_chunks_mut(length)).enumerate();
        tasks.map(|(task, (a, b))| work(task * TASK_NODES, a, b)).collect()
    }

    /// The blocks of `v` that belong to those of `out`, which begin with a node.
    pub(super) fn part<'b>(&self, v: &'b [f64], first: usize, out: &[f64]) -> &'b [f64] {
        &v[first * self.moments.size..][..out.len()]
    }
}
