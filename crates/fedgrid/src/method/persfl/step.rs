//! The step of Algorithm 1 and its length,
//!
//! ```text
//! w̃_j = ŵ − η ∇L_j(ŵ),      η = 1 / median_j ℓ_j,    ℓ_j the largest curvature of L_j at zero
//! ```

use rayon::prelude::*;

use crate::{
    algebra::{add_scaled, norm, scale},
    data::{Dataset, Task},
    model::Parametric,
};

/// How often the power method multiplies by the curvature: a step needs two digits of ℓ, which are there
/// by then.
const POWER_ITERATIONS: usize = 20;

/// ŵ − η g for a gradient g.
pub(crate) fn gradient_step(weights: &[f64], gradient: &[f64], step: f64) -> Vec<f64> {
    let mut moved = weights.to_vec();
    add_scaled(&mut moved, -step, gradient);
    moved
}

/// A step that suits most nodes: one over the median of the largest curvatures of their losses at
/// zero, found by powers of `v ↦ ∇L(v) − ∇L(0)`.
pub(crate) fn suitable_step(model: &dyn Parametric, data: &[Dataset], task: Task) -> f64 {
    let curvature = |data: &Dataset| {
        let size = model.size(data.features().columns(), task);
        let base = model.gradient(data, &vec![0.0; size]);
        // No symmetry of the columns can make this start perpendicular to what is sought.
        let mut v: Vec<f64> = (0..size).map(|k| 1.0 + (k % 7) as f64).collect();
        let mut largest = 0.0;
        for _ in 0..POWER_ITERATIONS {
            let length = norm(&v);
            if length == 0.0 {
                break;
            }
            scale(&mut v, 1.0 / length);
            let mut image = model.gradient(data, &v);
            add_scaled(&mut image, -1.0, &base);
            largest = norm(&image);
            v = image;
        }
        largest
    };
    let mut curvatures: Vec<f64> =
        data.par_iter().filter(|data| data.total_weight() > 0.0).map(curvature).collect();
    curvatures.sort_by(f64::total_cmp);
    // The median: a few nodes of huge curvature must not slow down all others.
    let middle = curvatures.get(curvatures.len() / 2).copied().unwrap_or(1.0);
    if middle > 0.0 { 1.0 / middle } else { 1.0 }
}
