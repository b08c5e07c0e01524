//! The average information of a mixed model: about the second derivatives of its deviance, from solutions
//! of the same system.
//!
//! ```text
//! f_k = ∂V/∂T_kk P y = X v_k,   v_k = 2 u_k in column k                T a diagonal
//! f_ρ = ∂V/∂ρ P y = X v_ρ,      v_ρ = −T Ω⁻¹Ω'u
//! ∂²/∂j∂l ≈ f_jᵀ P f_l − (eᵀf_j)(eᵀf_l)/(σ⁴ (N − p))               P f = (f − X β_f − X T u_f)/σ²
//! ```
//!
//! where `β_f` and `u_f` fit f as β and u fit y, and the second term is for σ², which follows. [Gilmour,
//! Thompson and Cullis 1995.]

use rayon::prelude::*;

use super::{
    deviance::{Evaluation, Problem},
    search::Relative,
};
use crate::algebra::{add_scaled, dot};

impl Evaluation {
    /// About the second derivatives by a diagonal T and then ρ; none where Ω is singular in rounding.
    pub(super) fn average_information(
        &self,
        problem: &Problem,
        relative: &Relative,
        by_rho: bool,
    ) -> Option<Vec<f64>> {
        let structure = &problem.structure;
        let (d, q) = (structure.columns, structure.size());
        let count = q + usize::from(by_rho);
        let residuals = self.cross_residuals(problem, relative);
        // v of each node, one row of q numbers for every parameter.
        let own = q * count;
        let directions = self.directions(problem, relative, by_rho)?;
        // Xᵀ f of each node, d rows of a number for every parameter.
        let mut sides = vec![0.0; problem.nodes.len() * d * count];
        sides.par_chunks_exact_mut((d * count).max(1)).enumerate().for_each(|(i, side)| {
            let gram = &problem.nodes[i].gram;
            for (j, v) in directions[i * own..(i + 1) * own].chunks_exact(q).enumerate() {
                for row in 0..d {
                    let columns = structure.random.iter().zip(v);
                    let product = columns.map(|(&column, v)| gram[row * d + column] * v);
                    side[row * count + j] = product.sum();
                }
            }
        });
        let fits = self.fits(problem, relative, &sides, count);
        let of_node = |i: usize| {
            node_information(problem, (relative, &fits, count), i, (&directions, &sides))
        };
        let parts: Vec<Vec<f64>> = (0..problem.nodes.len()).into_par_iter().map(of_node).collect();
        let mut information = vec![0.0; count * count];
        for part in &parts {
            add_scaled(&mut information, 1.0 / self.noise, part);
        }
        let mut along = vec![0.0; count];
        for (i, residual) in residuals.chunks_exact(q).enumerate() {
            for (j, v) in directions[i * own..(i + 1) * own].chunks_exact(q).enumerate() {
                along[j] += dot(residual, v);
            }
        }
        // σ² moves with the variances, and takes part of what the deviance would bend by.
        let weight = 1.0 / (self.noise * self.noise * problem.degrees_of_freedom());
        for j in 0..count {
            for l in 0..count {
                information[j * count + l] -= weight * along[j] * along[l];
            }
        }
        Some(information)
    }

    /// Xᵀe of each node on the random columns.
    fn cross_residuals(&self, problem: &Problem, relative: &Relative) -> Vec<f64> {
        let structure = &problem.structure;
        let q = structure.size();
        let of_node = |i: usize| {
            let own = &self.deviations[i * q..(i + 1) * q];
            let weights = structure.coefficients(relative, &self.mean, own);
            let all = problem.nodes[i].cross_residuals(&weights);
            structure.random.iter().map(|&column| all[column]).collect::<Vec<f64>>()
        };
        (0..problem.nodes.len()).flat_map(of_node).collect()
    }

    /// v of each node for every parameter.
    fn directions(&self, problem: &Problem, relative: &Relative, by_rho: bool) -> Option<Vec<f64>> {
        let structure = &problem.structure;
        let (q, precision) = (structure.size(), structure.precision);
        let moved = if by_rho {
            let slope = precision.times_slope(&self.deviations, structure.width());
            precision.solved(&structure.pattern, relative.rho, &slope, q)?
        } else {
            Vec::new()
        };
        let mut all = Vec::new();
        for i in 0..problem.nodes.len() {
            let u = &self.deviations[i * q..(i + 1) * q];
            for (k, u) in u.iter().enumerate() {
                let first = all.len();
                all.resize(first + q, 0.0);
                all[first + k] = 2.0 * u;
            }
            if by_rho {
                let own = &moved[i * q..(i + 1) * q];
                all.extend((0..q).map(|k| -dot(&relative.factor[k * q..(k + 1) * q], own)));
            }
        }
        Some(all)
    }

    /// The mean coefficients and deviations that fit each f: `β_f`, and `u_f` of each node.
    fn fits(
        &self,
        problem: &Problem,
        relative: &Relative,
        sides: &[f64],
        count: usize,
    ) -> (Vec<f64>, Vec<f64>) {
        let structure = &problem.structure;
        let (d, p, q) = (structure.columns, structure.means(), structure.size());
        let mut deviations = vec![0.0; problem.nodes.len() * q * count];
        let mut target = vec![0.0; p * count];
        for (i, side) in sides.chunks_exact((d * count).max(1)).enumerate() {
            for (target, &column) in target.chunks_exact_mut(count).zip(structure.fixed) {
                add_scaled(target, 1.0, &side[column * count..(column + 1) * count]);
            }
            for row in 0..q {
                let out = &mut deviations[(i * q + row) * count..][..count];
                for (k, &column) in structure.random.iter().enumerate() {
                    let entry = relative.factor[k * q + row];
                    add_scaled(out, entry, &side[column * count..(column + 1) * count]);
                }
            }
        }
        // What the deviations explain is taken from the mean's target: Qᵀ M⁻¹ Tᵀ Xᵀf = Wᵀ Tᵀ Xᵀf.
        for (at, row) in deviations.chunks_exact(count).enumerate() {
            for (column, w) in structure.w(&self.projected, 0, at).iter().enumerate() {
                add_scaled(&mut target[column * count..(column + 1) * count], -w, row);
            }
        }
        self.factor.solve(&mut deviations, count);
        let mut means = vec![0.0; p * count];
        for row in 0..p {
            for column in 0..p {
                let entry = self.mean_covariance[row * p + column];
                let from = &target[column * count..(column + 1) * count];
                add_scaled(&mut means[row * count..(row + 1) * count], entry, from);
            }
        }
        for (at, out) in deviations.chunks_exact_mut(count).enumerate() {
            for (column, w) in structure.w(&self.projected, 0, at).iter().enumerate() {
                add_scaled(out, -w, &means[column * count..(column + 1) * count]);
            }
        }
        (means, deviations)
    }
}

/// The part of a node in `f_jᵀ (f_l − X β_l − X T u_l)`.
fn node_information(
    problem: &Problem,
    (relative, fits, count): (&Relative, &(Vec<f64>, Vec<f64>), usize),
    i: usize,
    (directions, sides): (&[f64], &[f64]),
) -> Vec<f64> {
    let structure = &problem.structure;
    let (d, q) = (structure.columns, structure.size());
    let mut part = vec![0.0; count * count];
    let side = &sides[i * d * count..(i + 1) * d * count];
    for l in 0..count {
        // v_l − β_l − T u_l as coefficients of all columns.
        let mut left = vec![0.0; d];
        for (row, &column) in structure.fixed.iter().enumerate() {
            left[column] = -fits.0[row * count + l];
        }
        let own = (0..q).map(|k| fits.1[(i * q + k) * count + l]).collect::<Vec<f64>>();
        for (k, &column) in structure.random.iter().enumerate() {
            let explained = dot(&relative.factor[k * q..(k + 1) * q], &own);
            left[column] += directions[(i * count + l) * q + k] - explained;
        }
        for (row, value) in left.iter().enumerate() {
            let from = &side[row * count..(row + 1) * count];
            (0..count).for_each(|j| part[j * count + l] += from[j] * value);
        }
    }
    part
}
