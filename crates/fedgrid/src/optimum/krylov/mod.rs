//! Solving `A x = b` by products with A alone, preconditioned,
//!
//! ```text
//! conjugate gradients   A symmetric positive definite
//! BiCGSTAB              A M⁻¹ not far from the identity
//! GMRES(60)             any other A
//! ```
//!
//! All stop at a relative residual ‖b − A x‖ / ‖b‖, which is measured afresh at the end and is the
//! certificate of the answer. Sums are formed in fixed blocks, so the bits do not depend on threads.

mod gmres;
mod stabilised;

use rayon::prelude::*;

pub(super) use gmres::gmres;
pub(super) use stabilised::stabilised;

use crate::algebra::add_scaled;

/// A solution with its certificate.
#[derive(Debug, Clone)]
pub(super) struct Krylov {
    /// The solution x.
    pub(super) x: Vec<f64>,
    /// How many products with A it took.
    pub(super) products: usize,
    /// The relative residual ‖b − A x‖ / ‖b‖ of the solution, measured, not estimated.
    pub(super) residual: f64,
    /// The relative residuals on the way, one per product.
    pub(super) history: Vec<f64>,
}

/// A linear map: `out ← A v`.
pub(super) type LinearMap<'a> = &'a (dyn Fn(&[f64], &mut [f64]) + Sync);

/// When to stop.
#[derive(Debug, Clone, Copy)]
pub struct Limit {
    /// The relative residual that is good enough.
    pub tolerance: f64,
    /// The largest number of products.
    pub products: usize,
}

/// Numbers of a vector that are summed together: blocks are fixed, so that sums do not depend on threads,
/// and large enough to be worth a task.
const BLOCK_NUMBERS: usize = 2048;

/// Up to so many blocks are summed by one thread: handing them over takes longer.
const FEW_BLOCKS: usize = 8;

/// The inner product, in fixed blocks.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    if a.len() <= FEW_BLOCKS * BLOCK_NUMBERS {
        let blocks = a.chunks(BLOCK_NUMBERS).zip(b.chunks(BLOCK_NUMBERS));
        return blocks.map(|(a, b)| crate::algebra::dot(a, b)).sum();
    }
    let partial: Vec<f64> = a
        .par_chunks(BLOCK_NUMBERS)
        .zip(b.par_chunks(BLOCK_NUMBERS))
        .map(|(a, b)| crate::algebra::dot(a, b))
        .collect();
    partial.iter().sum()
}

/// Preconditioned conjugate gradients from a given start.
pub(super) fn conjugate_gradient(
    apply: LinearMap,
    precondition: LinearMap,
    b: &[f64],
    start: Vec<f64>,
    limit: Limit,
) -> Krylov {
    conjugate_gradient_unless((apply, precondition), b, start, limit, |_| false)
}

/// After so many products the rate of conjugate gradients tells how many more they need,
const TELLING_PRODUCTS: usize = 6;
/// and not before this part of those that are allowed: residuals may rise at first.
const TELLING_PART: usize = 3;

/// The same, ended early where residuals so far tell that the products that are allowed will not do.
pub(super) fn hopeful_conjugate_gradient(
    maps: (LinearMap, LinearMap),
    b: &[f64],
    start: Vec<f64>,
    limit: Limit,
) -> Krylov {
    let telling = TELLING_PRODUCTS.max(limit.products / TELLING_PART);
    let is_hopeless = |history: &[f64]| {
        let Some(last) = history.last().filter(|_| history.len() > telling) else {
            return false;
        };
        let before = history[history.len() - 1 - TELLING_PRODUCTS / 2];
        let products = (TELLING_PRODUCTS / 2) as f64;
        // Written so that a residual that rises is hopeless, too.
        let rate = ((last / before).ln() / products).min(-f64::MIN_POSITIVE);
        let missing = (limit.tolerance / last).ln() / rate;
        history.len() as f64 + missing > HOPE_FACTOR * limit.products as f64
    };
    conjugate_gradient_unless(maps, b, start, limit, is_hopeless)
}

/// How many times the allowed products may seem to be needed: residuals fall faster towards the end.
const HOPE_FACTOR: f64 = 2.0;

fn conjugate_gradient_unless(
    (apply, precondition): (LinearMap, LinearMap),
    b: &[f64],
    start: Vec<f64>,
    limit: Limit,
    is_hopeless: impl Fn(&[f64]) -> bool,
) -> Krylov {
    let size = dot(b, b).sqrt();
    let mut x = start;
    let mut history = Vec::new();
    if size == 0.0 {
        x.fill(0.0);
        return Krylov { x, products: 0, residual: 0.0, history };
    }
    let mut residual = residual_of(apply, b, &x);
    let mut direction = vec![0.0; b.len()];
    precondition(&residual, &mut direction);
    let mut energy = dot(&residual, &direction);
    // Room for the product of a direction, and then for the preconditioned residual.
    let mut room = vec![0.0; b.len()];
    while history.len() < limit.products {
        let now = dot(&residual, &residual).sqrt() / size;
        history.push(now);
        // Rounding has made a direction useless where its energy or curvature is not positive.
        if now <= limit.tolerance || energy <= 0.0 || is_hopeless(&history) {
            break;
        }
        apply(&direction, &mut room);
        let curvature = dot(&direction, &room);
        if curvature <= 0.0 {
            break;
        }
        let step = energy / curvature;
        add_scaled(&mut x, step, &direction);
        add_scaled(&mut residual, -step, &room);
        precondition(&residual, &mut room);
        let next = dot(&residual, &room);
        let keep = next / energy;
        energy = next;
        direction.iter_mut().zip(&room).for_each(|(d, s)| *d = s + keep * *d);
    }
    // The measured residual needs room of its own.
    drop((residual, direction, room));
    finish(apply, b, x, history, size)
}

/// A system whose preconditioned product A M⁻¹ costs less than its parts.
#[derive(Clone, Copy)]
pub(super) struct SplitSystem<'a> {
    /// A
    pub(super) apply: LinearMap<'a>,
    /// M⁻¹
    pub(super) precondition: LinearMap<'a>,
    /// A M⁻¹
    pub(super) both: LinearMap<'a>,
}

fn residual_of(apply: LinearMap, b: &[f64], x: &[f64]) -> Vec<f64> {
    let mut residual = vec![0.0; b.len()];
    apply(x, &mut residual);
    residual.iter_mut().zip(b).for_each(|(r, b)| *r = b - *r);
    residual
}

fn finish(apply: LinearMap, b: &[f64], x: Vec<f64>, history: Vec<f64>, size: f64) -> Krylov {
    let residual = residual_of(apply, b, &x);
    let residual = dot(&residual, &residual).sqrt() / size;
    Krylov { x, products: history.len(), residual, history }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        algebra::{add_outer, add_symmetric_product},
        random::{Purpose, Stream},
    };

    const TIGHT: Limit = Limit { tolerance: 1e-12, products: 500 };

    fn normals(count: usize, seed: u64) -> Vec<f64> {
        let mut stream = Stream::new(seed, 0, 0, Purpose::Data);
        (0..count).map(|_| stream.normal()).collect()
    }

    fn plain(v: &[f64], out: &mut [f64]) {
        out.copy_from_slice(v);
    }

    #[test]
    fn conjugate_gradients_solve_a_positive_definite_system() {
        let n = 30;
        let mut matrix = vec![0.0; n * n];
        normals(n * 40, 1).chunks_exact(n).for_each(|x| add_outer(&mut matrix, 1.0, x));
        let apply = |v: &[f64], out: &mut [f64]| {
            out.fill(0.0);
            add_symmetric_product(out, 1.0, &matrix, v);
        };
        let b = normals(n, 2);
        let answer = conjugate_gradient(&apply, &plain, &b, vec![0.0; n], TIGHT);
        assert!(answer.residual <= 1e-11, "{}", answer.residual);
    }

    #[test]
    fn conjugate_gradients_end_early_where_they_will_not_do() {
        let n = 400;
        let solved = |largest: f64| {
            // Eigenvalues from one to the largest, evenly.
            let apply = |v: &[f64], out: &mut [f64]| {
                let value = |k: usize| 1.0 + (largest - 1.0) * k as f64 / (n - 1) as f64;
                out.iter_mut().zip(v).enumerate().for_each(|(k, (out, v))| *out = value(k) * v);
            };
            let limit = Limit { tolerance: 1e-8, products: 30 };
            let b = normals(n, 7);
            let hopeful = hopeful_conjugate_gradient((&apply, &plain), &b, vec![0.0; n], limit);
            (hopeful, conjugate_gradient(&apply, &plain, &b, vec![0.0; n], limit))
        };
        let (easy, same) = solved(3.0);
        assert!(easy.residual <= 1e-8 && easy.products < 30);
        assert_eq!(easy.x, same.x);
        let (hard, patient) = solved(1e5);
        assert!(hard.products < 15 && patient.products == 30, "{}", hard.products);
    }

    #[test]
    fn gmres_solves_a_system_without_symmetry_beyond_one_cycle() {
        let n = 150;
        let noise = normals(n * n, 3);
        let apply = |v: &[f64], out: &mut [f64]| {
            out.copy_from_slice(v);
            add_symmetric_product(out, 0.07, &noise, v);
        };
        let b = normals(n, 4);
        let split = SplitSystem { apply: &apply, precondition: &plain, both: &apply };
        let answer = gmres(&split, &b, normals(n, 5), Limit { products: 5000, ..TIGHT });
        assert!(answer.residual <= 1e-11, "{} {}", answer.residual, answer.products);
    }

    #[test]
    fn bicgstab_solves_what_is_near_the_identity() {
        let n = 150;
        let noise = normals(n * n, 3);
        let apply = |v: &[f64], out: &mut [f64]| {
            out.copy_from_slice(v);
            add_symmetric_product(out, 0.03, &noise, v);
        };
        let split = SplitSystem { apply: &apply, precondition: &plain, both: &apply };
        let b = normals(n, 4);
        for start in [vec![0.0; n], normals(n, 5)] {
            let answer = stabilised(&split, &b, start, TIGHT);
            assert!(answer.residual <= TIGHT.tolerance, "{} {}", answer.residual, answer.products);
        }
    }

    #[test]
    fn a_zero_right_side_has_the_zero_solution() {
        let answer = conjugate_gradient(&plain, &plain, &[0.0; 3], vec![1.0; 3], TIGHT);
        assert_eq!(answer.x, [0.0; 3]);
    }
}
