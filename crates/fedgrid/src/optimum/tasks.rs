//! Work on the numbers of all nodes, node after node, in runs of nodes.

use rayon::prelude::*;

/// Nodes per parallel task: enough work to be worth a task, few enough to share out, and a multiple of the eight that
/// small matrices are worked on together.
pub(super) const TASK_NODES: usize = 64;

/// Products of fewer numbers than this are done on one core.
pub(super) const MIN_SHARED_NUMBERS: usize = 20_000;

/// Does something with runs of blocks of so many numbers, and is told the first node of each: in parallel if that is worth
/// the handing over.
pub(super) fn each_task(values: &mut [f64], size: usize, work: impl Fn(usize, &mut [f64]) + Sync) {
    if values.len() * size < MIN_SHARED_NUMBERS {
        work(0, values);
    } else {
        let tasks = values.par_chunks_mut(size * TASK_NODES).enumerate();
        tasks.for_each(|(task, blocks)| work(task * TASK_NODES, blocks));
    }
}
