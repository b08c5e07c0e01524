//! The smallest eigenvalue of a Laplacian above zero by a growing and restarted subspace,
//!
//! ```text
//! x = argmin  xᵀL x / xᵀx  over the subspace      r = L x − θ x      subspace ← subspace + M⁻¹ r
//! ```
//!
//! of vectors that add up to zero, where M ≈ L is the approximate factor and θ = xᵀL x / xᵀx. For
//! xᵀx = 1 there is an eigenvalue λ with |θ − λ| ≤ η λ, where η² = rᵀL⁺r / θ; with M in place of L, η
//! says when to stop. [Davidson's method with restarts that keep the last step: Stathopoulos and
//! Saad, "Restarting techniques for the (Jacobi–)Davidson symmetric eigenvalue methods".]

use rayon::prelude::*;

use super::{elimination::Elimination, laplacian::Laplacian};
use crate::{
    algebra::{Singular, add_scaled, dot, norm, scale},
    error::{Error, Result},
    random::{Purpose, Stream},
};

/// With how many random vectors the subspace begins: λ₂ may be multiple, as on a square grid.
const START_VECTORS: usize = 4;
/// How many vectors the subspace keeps in a restart, and how many it may have: each costs memory, and inner
/// products in every step.
const KEPT_VECTORS: usize = 8;
const MAX_VECTORS: usize = 20;
/// How many numbers of a vector are worked on together, so that they stay in the first cache.
const BLOCK_NUMBERS: usize = 4096;
/// The squared error η² to be reached; M is not L, so η is a third of the promised 1e-8.
const SQUARED_ERROR: f64 = 1e-17;
/// How many steps are taken at most; the hardest networks of our tests need 300.
const MAX_STEPS: usize = 2000;
/// A vector of which less than this share is new is rounding of the others.
const LEAST_NEW_SHARE: f64 = 1e-12;

/// Orthonormal vectors that add up to zero, and the Laplacian seen by them, `VᵀL V`.
struct Subspace<'a> {
    laplacian: &'a Laplacian,
    basis: Vec<Vec<f64>>,
    projected: Vec<Vec<f64>>,
}

/// The second smallest eigenvalue of the Laplacian of a connected network of two or more nodes.
pub(super) fn second_eigenvalue(laplacian: &Laplacian) -> Result<f64> {
    let factor = Elimination::new(laplacian);
    let mut space = Subspace { laplacian, basis: Vec::new(), projected: Vec::new() };
    for column in 0..START_VECTORS {
        space.add(smooth_random(laplacian, &factor, column));
    }
    // The rounding of x to 53 bits has an energy of its own, which no step can take away.
    let rounding = 16.0 * f64::EPSILON.powi(2) * laplacian.largest_degree();
    let mut last_step = Vec::new();
    for _ in 0..MAX_STEPS {
        let directions = space.directions();
        let mut x = space.combined(&directions[0]);
        let (value, step, error) = correction(laplacian, &factor, &mut x);
        if error <= SQUARED_ERROR + rounding / value || space.basis.len() + 1 == laplacian.len() {
            return Ok(value);
        }
        if space.basis.len() >= MAX_VECTORS {
            space.restart(&directions, &last_step);
            last_step = vec![1.0];
        } else {
            last_step.clone_from(&directions[0]);
        }
        space.add(step);
    }
    Err(Error::NotConverged { what: "the second eigenvalue of the Laplacian", steps: MAX_STEPS })
}

/// The value θ of x (which is normalised), the step M⁻¹ r and the squared error η².
fn correction(laplacian: &Laplacian, factor: &Elimination, x: &mut [f64]) -> (f64, Vec<f64>, f64) {
    // Rounding adds a constant, which costs no energy and would make the value too small.
    centre(x);
    scale(x, 1.0 / norm(x));
    let value = laplacian.energy(x);
    let mut residual = laplacian.times(x);
    add_scaled(&mut residual, -value, x);
    centre(&mut residual);
    let mut step = residual.clone();
    factor.solve(&mut step);
    centre(&mut step);
    let error = dot(&residual, &step) / value;
    (value, step, error)
}

fn smooth_random(laplacian: &Laplacian, factor: &Elimination, column: usize) -> Vec<f64> {
    let mut stream = Stream::new(0, column, 1, Purpose::Start);
    let mut x: Vec<f64> = (0..laplacian.len()).map(|_| stream.normal()).collect();
    centre(&mut x);
    factor.solve(&mut x);
    x
}

/// Subtracts the mean.
fn centre(x: &mut [f64]) {
    let mean = x.iter().sum::<f64>() / x.len() as f64;
    for x in x {
        *x -= mean;
    }
}

impl Subspace<'_> {
    /// Adds the part of a vector that is orthogonal to all others, if there is any.
    fn add(&mut self, mut vector: Vec<f64>) {
        let before = norm(&vector);
        // Once more, for what rounding leaves of the first time.
        for _ in 0..2 {
            centre(&mut vector);
            let overlaps = self.overlaps(&vector);
            self.add_combination(&mut vector, -1.0, &overlaps);
        }
        let length = norm(&vector);
        if length <= LEAST_NEW_SHARE * before {
            return;
        }
        scale(&mut vector, 1.0 / length);
        let image = self.laplacian.times(&vector);
        let mut row = self.overlaps(&image);
        self.projected.iter_mut().zip(&row).for_each(|(above, value)| above.push(*value));
        row.push(dot(&vector, &image));
        self.projected.push(row);
        self.basis.push(vector);
    }

    /// The eigenvectors of `VᵀL V`, smallest eigenvalue first.
    fn directions(&self) -> Vec<Vec<f64>> {
        let svd = Singular::new(&self.projected.concat(), self.basis.len());
        let mut pairs: Vec<(f64, Vec<f64>)> = svd.values.into_iter().zip(svd.right).collect();
        pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
        pairs.into_iter().map(|(_, direction)| direction).collect()
    }

    /// The inner product with each basis vector.
    fn overlaps(&self, vector: &[f64]) -> Vec<f64> {
        self.basis.par_iter().map(|other| dot(other, vector)).collect()
    }

    fn combined(&self, direction: &[f64]) -> Vec<f64> {
        let mut x = vec![0.0; self.laplacian.len()];
        self.add_combination(&mut x, 1.0, direction);
        x
    }

    /// `x ← x + factor · V direction`
    fn add_combination(&self, x: &mut [f64], factor: f64, direction: &[f64]) {
        x.par_chunks_mut(BLOCK_NUMBERS).enumerate().for_each(|(block, x)| {
            let start = block * BLOCK_NUMBERS;
            for (vector, part) in self.basis.iter().zip(direction) {
                add_scaled(x, factor * part, &vector[start..start + x.len()]);
            }
        });
    }

    /// Shrinks the subspace to its best directions and the best one of the step before, which
    /// together make a step as good as one of conjugate gradients.
    fn restart(&mut self, directions: &[Vec<f64>], last_step: &[f64]) {
        let mut last = last_step.to_vec();
        last.resize(self.basis.len(), 0.0);
        let kept = directions.iter().take(KEPT_VECTORS).chain([&last]);
        let vectors: Vec<Vec<f64>> = kept.map(|direction| self.combined(direction)).collect();
        self.basis.clear();
        self.projected.clear();
        for vector in vectors {
            self.add(vector);
        }
    }
}
