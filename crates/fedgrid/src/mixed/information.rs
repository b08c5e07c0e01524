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

#[cfg(test)]
mod tests {
    use std::{borrow::Cow, sync::Arc};

    use super::*;
    use crate::{
        algebra::Pattern,
        mixed::{Likelihood, NodeMoments, Precision, structure::Structure},
        network::{Edge, Network},
    };

    const NODES: usize = 5;
    const ROWS: usize = 4;

    fn columns(node: usize, row: usize) -> [f64; 2] {
        [1.0, (1.3 * (node * ROWS + row) as f64).sin() + 0.2 * node as f64]
    }

    fn network() -> Network {
        let edges = [(0, 1, 1.0), (1, 2, 2.0), (2, 3, 0.5), (3, 4, 1.0), (4, 0, 1.5)];
        let edges = edges.map(|(a, b, weight)| Edge { source: a, target: b, weight });
        Network::new((0..NODES).map(|node| node.to_string()).collect(), edges).unwrap()
    }

    /// Ω(ρ) and its derivative, in full.
    fn omega(network: &Network, rho: f64) -> [Vec<f64>; 2] {
        let degrees: Vec<f64> = (0..NODES).map(|node| network.degree(node)).collect();
        let mean_degree = degrees.iter().sum::<f64>() / NODES as f64;
        let mut slope = vec![0.0; NODES * NODES];
        for (node, degree) in degrees.iter().enumerate() {
            slope[node * NODES + node] = degree / mean_degree - 1.0;
            for &(other, weight) in network.neighbours(node) {
                slope[node * NODES + other] = -weight / mean_degree;
            }
        }
        let one = |at: usize| f64::from(u8::from(at.is_multiple_of(NODES + 1)));
        let omega = slope.iter().enumerate().map(|(at, slope)| one(at) + rho * slope).collect();
        [omega, slope]
    }

    /// The evaluation with these labels, and the least r² of them.
    fn evaluated(labels: &[f64], relative: &Relative) -> (Evaluation, f64, Vec<f64>) {
        let precision = Precision::along(&network());
        let pattern = Pattern::new(precision.neighbours(), 2, usize::MAX).unwrap();
        let node = |node: usize| {
            let rows: Vec<([f64; 2], f64)> =
                (0..ROWS).map(|row| (columns(node, row), labels[node * ROWS + row])).collect();
            NodeMoments::new(2, rows.iter().map(|(x, y)| (&x[..], *y, 1.0)))
        };
        let problem = Problem {
            structure: Structure {
                columns: 2,
                fixed: &[0, 1],
                random: &[0, 1],
                free: 0,
                precision: &precision,
                pattern: Arc::new(pattern),
            },
            nodes: Cow::Owned((0..NODES).map(node).collect()),
            likelihood: Likelihood::Restricted,
            correlated: false,
        };
        let found = problem.evaluate(relative).unwrap();
        let squares = found.noise * problem.degrees_of_freedom();
        let information = found.average_information(&problem, relative, true);
        (found, squares, information)
    }

    /// r² is a quadratic form, yᵀ(σ²P)y, of which all products with P in the information are values.
    #[test]
    fn it_is_made_of_least_squares_of_its_own_directions() {
        let relative = Relative { factor: vec![0.8, 0.0, 0.0, 0.3], rho: 0.7, noise: None };
        let labels: Vec<f64> = (0..NODES * ROWS).map(|at| (2.1 * at as f64).cos()).collect();
        let (found, squares, information) = evaluated(&labels, &relative);
        let u = |node: usize, k: usize| found.deviations[2 * node + k];
        // −T Ω⁻¹Ω'u of each coefficient.
        let [omega, slope] = omega(&network(), relative.rho);
        let omega = crate::algebra::Cholesky::new(omega, NODES).unwrap();
        let along: Vec<Vec<f64>> = (0..2)
            .map(|k| {
                let product = |row: &[f64]| (0..NODES).map(|other| row[other] * u(other, k)).sum();
                let mut v: Vec<f64> = slope.chunks_exact(NODES).map(product).collect();
                omega.solve(&mut v);
                v.iter().map(|v| -relative.factor[3 * k] * v).collect()
            })
            .collect();
        let direction = |j: usize| -> Vec<f64> {
            let at = |node: usize, row: usize| {
                let x = columns(node, row);
                if j < 2 {
                    2.0 * u(node, j) * x[j]
                } else {
                    along[0][node] * x[0] + along[1][node] * x[1]
                }
            };
            (0..NODES * ROWS).map(|place| at(place / ROWS, place % ROWS)).collect()
        };
        let form = |labels: &[f64]| evaluated(labels, &relative).1;
        let product = |a: &[f64], b: &[f64]| {
            let sum: Vec<f64> = a.iter().zip(b).map(|(a, b)| a + b).collect();
            (form(&sum) - form(a) - form(b)) / 2.0
        };
        let freedom = squares / found.noise;
        for j in 0..3 {
            for l in 0..3 {
                let (f, g) = (direction(j), direction(l));
                let with_noise =
                    product(&labels, &f) * product(&labels, &g) / (found.noise.powi(2) * freedom);
                let expected = product(&f, &g) / found.noise - with_noise;
                let got = information[3 * j + l];
                assert!(
                    (got - expected).abs() < 1e-9 * (1.0 + expected.abs()),
                    "{j} {l}: {got} {expected}"
                );
            }
        }
    }
}
