//! Sweeps over the nodes in which later ones hear earlier ones' new weights (block Gauss–Seidel),
//!
//! ```text
//! M = D − L,  N = L + U      u_i = D_i⁻¹ (v_i + α Σ_{j before i} A_ij K_j u_j)
//! A M⁻¹ v = v − U u
//! ```
//!
//! so that a preconditioned product passes over every edge once, like a round, and does the work of
//! nearly two. Nodes are taken in eight classes, one after another, and those of a class at once:
//! the answer does not depend on the number of threads. [Eisenstat (1981) for the products.]

use std::sync::PoisonError;

use rayon::prelude::*;

use super::system::System;
use crate::{
    algebra::{Factors, add_weighted_rows_each},
    optimum::tasks::TASK_NODES,
};

/// How many classes there are: more hear more, fewer share out better.
const SWEEP_CLASSES: usize = 8;

/// The order of a system's nodes in sweeps.
pub(super) struct GaussSeidel {
    /// The runs of nodes that are a task, class by class: the first node and its position.
    tasks: Vec<(usize, usize)>,
    /// Where each class begins among the tasks, and where the last one ends.
    classes: Vec<usize>,
    /// The positions of all neighbours, by position: first those heard in the sweep itself.
    terms: Vec<(usize, f64)>,
    /// Where those of a position begin, and where those begin that are not heard; then where all end.
    offsets: Vec<usize>,
}

impl GaussSeidel {
    pub(super) fn new(system: &System) -> Self {
        let nodes = system.network.len();
        let (mut tasks, mut classes, mut positions) = (Vec::new(), vec![0], vec![0; nodes]);
        let mut position = 0;
        for class in 0..SWEEP_CLASSES {
            for first in (class * TASK_NODES..nodes).step_by(SWEEP_CLASSES * TASK_NODES) {
                tasks.push((first, position));
                for own in positions.iter_mut().skip(first).take(TASK_NODES) {
                    *own = position;
                    position += 1;
                }
            }
            classes.push(tasks.len());
        }
        let class = |node: usize| node / TASK_NODES % SWEEP_CLASSES;
        let mut terms = vec![(0, 0.0); 2 * system.network.edges().len()];
        let mut offsets = Vec::with_capacity(2 * nodes + 1);
        let mut start = 0;
        for node in tasks.iter().flat_map(|(first, _)| *first..nodes.min(first + TASK_NODES)) {
            let neighbours = system.network.neighbours(node);
            let list = &mut terms[start..start + neighbours.len()];
            // One list from its front and its back at once, because which it is cannot be foreseen.
            let (mut front, mut back) = (0, list.len());
            for &(neighbour, weight) in neighbours {
                let heard = class(neighbour) < class(node);
                list[if heard { front } else { back - 1 }] = (positions[neighbour], weight);
                front += usize::from(heard);
                back -= usize::from(!heard);
            }
            offsets.extend([start, start + front]);
            start += neighbours.len();
        }
        offsets.push(start);
        Self { tasks, classes, terms, offsets }
    }

    /// The neighbours of a position that are heard in the sweep.
    fn before(&self, position: usize) -> &[(usize, f64)] {
        &self.terms[self.offsets[2 * position]..self.offsets[2 * position + 1]]
    }

    /// And those that are not.
    fn after(&self, position: usize) -> &[(usize, f64)] {
        &self.terms[self.offsets[2 * position + 1]..self.offsets[2 * position + 2]]
    }

    /// Sweeps: `u` and `K u`, both in the order of positions.
    fn run(&self, system: &System, factors: &Factors, v: &[f64], [u, shared]: [&mut [f64]; 2]) {
        let (size, mut done) = (system.moments.size, 0);
        let (mut u_rest, length) = (u, v.len());
        for bounds in self.classes.windows(2) {
            let tasks = &self.tasks[bounds[0]..bounds[1]];
            let end = self.tasks.get(bounds[1]).map_or(length, |(_, position)| position * size);
            // Classes before are done and read only; those of one class do not read each other.
            let (known, rest) = shared.split_at_mut(done);
            let (u_class, u_next) = u_rest.split_at_mut(end - done);
            let blocks = u_class
                .par_chunks_mut(TASK_NODES * size)
                .zip(rest[..end - done].par_chunks_mut(TASK_NODES * size));
            blocks.zip(tasks).for_each(|((u, shared), (first, position))| {
                u.copy_from_slice(system.part(v, *first, u));
                let terms = |node: usize| self.before(position + node);
                add_weighted_rows_each(u, system.alpha, terms, known, size);
                factors.solve(*first, u);
                shared.fill(0.0);
                system.moments.public.add_product(shared, 1.0, *first, u);
            });
            (u_rest, done) = (u_next, end);
        }
    }

    /// `out ← M⁻¹ v`
    pub(super) fn solve(&self, system: &System, factors: &Factors, v: &[f64], out: &mut [f64]) {
        let mut room = system.shared.lock().unwrap_or_else(PoisonError::into_inner);
        room.resize(2 * v.len(), 0.0);
        let (u, shared) = room.split_at_mut(v.len());
        self.run(system, factors, v, [&mut *u, shared]);
        let size = system.moments.size;
        for (first, position) in &self.tasks {
            let length = (TASK_NODES * size).min(v.len() - first * size);
            out[first * size..][..length].copy_from_slice(&u[position * size..][..length]);
        }
    }

    /// `out ← A M⁻¹ v`
    pub(super) fn apply(&self, system: &System, factors: &Factors, v: &[f64], out: &mut [f64]) {
        let size = system.moments.size;
        let mut room = system.shared.lock().unwrap_or_else(PoisonError::into_inner);
        room.resize(2 * v.len(), 0.0);
        let (u, shared) = room.split_at_mut(v.len());
        self.run(system, factors, v, [u, &mut *shared]);
        let shared = &*shared;
        let mut positions = vec![0; out.len().div_ceil(TASK_NODES * size)];
        self.tasks.iter().for_each(|(first, position)| positions[first / TASK_NODES] = *position);
        out.par_chunks_mut(TASK_NODES * size).zip(positions).enumerate().for_each(
            |(task, (out, position))| {
                out.copy_from_slice(system.part(v, task * TASK_NODES, out));
                let terms = |node: usize| self.after(position + node);
                add_weighted_rows_each(out, -system.alpha, terms, shared, size);
            },
        );
    }
}
