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
use crate::algebra::{add_scaled, scale};

/// The f of all parameters: the entries of T, and then ρ.
struct Directions {
    /// T.
    diagonal: Vec<f64>,
    /// `v_ρ` of each node; empty without ρ.
    along: Vec<f64>,
    /// How many parameters there are.
    count: usize,
    /// Xᵀf of each node, d rows of a number for every parameter.
    sides: Vec<f64>,
}

impl Evaluation {
    /// About the second derivatives by a diagonal T and then ρ.
    pub(super) fn average_information(
        &self,
        problem: &Problem,
        relative: &Relative,
        by_rho: bool,
    ) -> Vec<f64> {
        let structure = &problem.structure;
        let q = structure.size();
        let directions = self.directions(problem, relative, by_rho);
        let (count, along) = (directions.count, &directions.along);
        let fits = self.fits(problem, &directions);
        // The products of f with what is left of them, and then those with residuals.
        let mut sums = structure.summed(count * count + count, |i, sum| {
            let (products, residual) = sum.split_at_mut(count * count);
            self.add_products(problem, (&directions, &fits), i, products);
            let own = &self.deviations[i * q..(i + 1) * q];
            let weights = structure.coefficients(relative, &self.mean, own);
            let all = problem.nodes[i].cross_residuals(&weights);
            for (k, (&column, u)) in structure.random.iter().zip(own).enumerate() {
                residual[k] += 2.0 * u * all[column];
                if let Some(v) = along.get(i * q + k) {
                    residual[q] += v * all[column];
                }
            }
        });
        let residual = sums.split_off(count * count);
        // σ² moves with the variances, and takes part of what the deviance would bend by.
        let weight = 1.0 / (self.noise * self.noise * problem.degrees_of_freedom());
        for (sums, own) in sums.chunks_exact_mut(count).zip(&residual) {
            scale(sums, 1.0 / self.noise);
            add_scaled(sums, -weight * own, &residual);
        }
        sums
    }

    fn directions(&self, problem: &Problem, relative: &Relative, by_rho: bool) -> Directions {
        let structure = &problem.structure;
        let (d, q, precision) = (structure.columns, structure.size(), structure.precision);
        let diagonal: Vec<f64> = relative.factor.iter().step_by(q + 1).copied().collect();
        let mut along = Vec::new();
        if by_rho {
            along = precision.times_slope(&self.deviations, structure.width());
            self.omega.solve(&mut along, q);
            for own in along.chunks_exact_mut(q) {
                own.iter_mut().zip(&diagonal).for_each(|(v, scale)| *v *= -scale);
            }
        }
        let count = q + usize::from(by_rho);
        let mut sides = vec![0.0; problem.nodes.len() * d * count];
        sides.par_chunks_exact_mut((d * count).max(1)).enumerate().for_each(|(i, side)| {
            let gram = problem.nodes[i].gram.chunks_exact(d);
            let own = &self.deviations[i * q..(i + 1) * q];
            for (side, gram) in side.chunks_exact_mut(count).zip(gram) {
                for (k, (&column, u)) in structure.random.iter().zip(own).enumerate() {
                    side[k] = 2.0 * u * gram[column];
                    if let Some(v) = along.get(i * q + k) {
                        side[q] += v * gram[column];
                    }
                }
            }
        });
        Directions { diagonal, along, count, sides }
    }

    /// The mean coefficients and deviations that fit each f: `β_f`, and `u_f` of each node.
    fn fits(&self, problem: &Problem, directions: &Directions) -> (Vec<f64>, Vec<f64>) {
        let structure = &problem.structure;
        let (d, p, q) = (structure.columns, structure.means(), structure.size());
        let Directions { diagonal, count, sides, .. } = directions;
        let (count, own) = (*count, d * count);
        let row = |i: usize, column: usize| &sides[i * own + column * count..][..count];
        let mut deviations = vec![0.0; problem.nodes.len() * q * count];
        deviations.par_chunks_exact_mut((q * count).max(1)).enumerate().for_each(|(i, out)| {
            let out = out.chunks_exact_mut(count).zip(structure.random.iter().zip(diagonal));
            out.for_each(|(out, (&column, scale))| add_scaled(out, *scale, row(i, column)));
        });
        // What the deviations explain is taken from the mean's target: Qᵀ M⁻¹ Tᵀ Xᵀf = Wᵀ Tᵀ Xᵀf.
        let target = structure.summed(p * count, |i, sum| {
            for (sum, &column) in sum.chunks_exact_mut(count).zip(structure.fixed) {
                add_scaled(sum, 1.0, row(i, column));
            }
            let explained = deviations[i * q * count..(i + 1) * q * count].chunks_exact(count);
            for (k, explained) in explained.enumerate() {
                let w = structure.w(&self.projected, i, k);
                for (sum, w) in sum.chunks_exact_mut(count).zip(w) {
                    add_scaled(sum, -w, explained);
                }
            }
        });
        self.factor.solve(&mut deviations, count);
        let mut means = vec![0.0; p * count];
        for (out, entries) in
            means.chunks_exact_mut(count).zip(self.mean_covariance.chunks_exact(p))
        {
            for (entry, from) in entries.iter().zip(target.chunks_exact(count)) {
                add_scaled(out, *entry, from);
            }
        }
        deviations.par_chunks_exact_mut((q * count).max(1)).enumerate().for_each(|(i, out)| {
            for (k, out) in out.chunks_exact_mut(count).enumerate() {
                let w = structure.w(&self.projected, i, k);
                for (w, mean) in w.iter().zip(means.chunks_exact(count)) {
                    add_scaled(out, -w, mean);
                }
            }
        });
        (means, deviations)
    }

    /// Adds the part of a node in `f_jᵀ (f_l − X β_l − X T u_l)`.
    fn add_products(
        &self,
        problem: &Problem,
        (directions, (means, deviations)): (&Directions, &(Vec<f64>, Vec<f64>)),
        i: usize,
        sum: &mut [f64],
    ) {
        let structure = &problem.structure;
        let (d, q) = (structure.columns, structure.size());
        let Directions { diagonal, along, count, sides } = directions;
        let count = *count;
        // v_l − β_l − T u_l as coefficients of all columns, a number for every parameter.
        let mut left = vec![0.0; d * count];
        for (mean, &column) in means.chunks_exact(count).zip(structure.fixed) {
            add_scaled(&mut left[column * count..(column + 1) * count], -1.0, mean);
        }
        for (k, &column) in structure.random.iter().enumerate() {
            let left = &mut left[column * count..(column + 1) * count];
            add_scaled(left, -diagonal[k], &deviations[(i * q + k) * count..][..count]);
            left[k] += 2.0 * self.deviations[i * q + k];
            if let Some(v) = along.get(i * q + k) {
                left[q] += v;
            }
        }
        let side = sides[i * d * count..(i + 1) * d * count].chunks_exact(count);
        for (side, left) in side.zip(left.chunks_exact(count)) {
            for (sum, side) in sum.chunks_exact_mut(count).zip(side) {
                add_scaled(sum, *side, left);
            }
        }
    }
}
