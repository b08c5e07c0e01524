//! The iterations on the block system A = D − N: rounds, and three that are faster.
//!
//! Where rows pull harder than neighbours, `BiCGSTAB` with sweeps needs fewest products. Where
//! neighbours pull harder, conjugate gradients (if A is symmetric) or GMRES with D as preconditioner,
//! and what connected parts have in common is solved for first: with c from `coarse`, GMRES is given
//! `u = c + D⁻¹ (r − A c)` and conjugate gradients, which need symmetry, `u = c + D⁻¹ r`.

use super::{
    super::krylov::{
        Krylov, Limit, SplitSystem, conjugate_gradient, gmres, hopeful_conjugate_gradient,
        stabilised,
    },
    Solution,
    coarse::Coarse,
    factored::Factored,
    sweep::GaussSeidel,
    system::System,
};
use crate::{
    algebra::{Batch, Factors, add_scaled, norm, squared_distance},
    optimum::tasks::each_task,
};

/// A system with the factors of its diagonal blocks.
pub(super) struct Solver<'a> {
    system: System<'a>,
    factors: Factors,
    /// What connected parts have in common.
    coarse: Option<Coarse>,
}

impl<'a> Solver<'a> {
    pub(super) fn new(system: System<'a>) -> Self {
        Self { factors: system.factors(), coarse: None, system }
    }

    /// By conjugate gradients, `BiCGSTAB` or GMRES.
    pub(super) fn directly(mut self, start: Vec<f64>, limit: Limit) -> Solution {
        self.coarse = self.system.coarse();
        let definite = self.factors.shifts.iter().all(|shift| *shift == 0.0);
        let answer = if self.coarse.is_none() && definite && self.system.can_sweep() {
            Some(self.by_sweeps(start.clone(), limit))
        } else {
            None
        };
        // BiCGSTAB may break down short of the tolerance; then the others take over.
        let done = |answer: &Krylov| answer.residual <= limit.tolerance;
        let answer = answer.filter(done).unwrap_or_else(|| {
            if self.system.is_symmetric() {
                self.symmetrically(start, limit)
            } else {
                self.by_gmres(start, limit)
            }
        });
        let Krylov { x, products, residual, history } = answer;
        Solution { weights: x, products, residual, history }
    }

    /// By conjugate gradients; by sparse factors once these would have been cheaper.
    fn symmetrically(&self, start: Vec<f64>, limit: Limit) -> Krylov {
        let Some(most) = Factored::worth_products(&self.system).filter(|m| *m < limit.products)
        else {
            return self.by_conjugate_gradients(start, limit);
        };
        let (apply, precondition) =
            (|v: &[f64], out: &mut [f64]| self.system.apply(v, out), self.preconditioner());
        let few = Limit { products: most, ..limit };
        let first =
            hopeful_conjugate_gradient((&apply, &precondition), &self.system.right, start, few);
        if first.residual <= limit.tolerance {
            return first;
        }
        let rest = Limit { products: limit.products - first.products, ..limit };
        let Krylov { x, products, residual, mut history } =
            if let Some(factored) = Factored::new(&self.system) {
                let apply = |v: &[f64], out: &mut [f64]| self.system.apply(v, out);
                let precondition = |v: &[f64], out: &mut [f64]| factored.solve(v, out);
                conjugate_gradient(&apply, &precondition, &self.system.right, first.x, rest)
            } else {
                self.by_conjugate_gradients(first.x, rest)
            };
        history.splice(0..0, first.history);
        Krylov { x, products: first.products + products, residual, history }
    }

    fn by_conjugate_gradients(&self, start: Vec<f64>, limit: Limit) -> Krylov {
        let apply = |v: &[f64], out: &mut [f64]| self.system.apply(v, out);
        conjugate_gradient(&apply, &self.preconditioner(), &self.system.right, start, limit)
    }

    /// `out ← D⁻¹ v`, with what connected parts have in common.
    fn preconditioner(&self) -> impl Fn(&[f64], &mut [f64]) + Sync {
        |v, out| {
            self.solve(v, out);
            self.common(v, out);
        }
    }

    fn by_gmres(&self, start: Vec<f64>, limit: Limit) -> Krylov {
        // The blocks that what parts have in common meets: A c.
        let beside = self.coarse.as_ref().map(|coarse| (coarse, self.system.blocks(false)));
        let apply = |v: &[f64], out: &mut [f64]| self.system.apply(v, out);
        let precondition = |v: &[f64], out: &mut [f64]| {
            self.solve_beside(beside.as_ref(), v, out);
            self.common(v, out);
        };
        let both = |v: &[f64], out: &mut [f64]| self.preconditioned(beside.as_ref(), v, out);
        let split = SplitSystem { apply: &apply, precondition: &precondition, both: &both };
        gmres(&split, &self.system.right, start, limit)
    }

    /// By `BiCGSTAB` with sweeps, for weak pulls.
    fn by_sweeps(&self, start: Vec<f64>, limit: Limit) -> Krylov {
        let (system, factors, sweep) =
            (&self.system, &self.factors, GaussSeidel::new(&self.system));
        let apply = |v: &[f64], out: &mut [f64]| system.apply(v, out);
        let precondition = |v: &[f64], out: &mut [f64]| sweep.solve(system, factors, v, out);
        let both = |v: &[f64], out: &mut [f64]| sweep.apply(system, factors, v, out);
        let split = SplitSystem { apply: &apply, precondition: &precondition, both: &both };
        stabilised(&split, &system.right, start, limit)
    }

    /// By rounds `w ← D⁻¹ (q + N w)`. With t for what is in brackets, `q − A w` is the next round's t
    /// less this round's.
    pub(super) fn in_rounds(&self, start: Vec<f64>, limit: Limit) -> Solution {
        let (system, size) = (&self.system, norm(&self.system.right).max(f64::MIN_POSITIVE));
        let (mut x, mut history) = (start, Vec::new());
        let (mut before, mut now) = (vec![0.0; x.len()], vec![0.0; x.len()]);
        if x.iter().any(|x| *x != 0.0) {
            system.apply(&x, &mut before);
            self.gather(&x, &mut now);
            add_scaled(&mut before, 1.0, &now);
        }
        while history.len() < limit.products {
            self.gather(&x, &mut now);
            let distances = system.each_of(&mut now, &mut x, |first, now, x| {
                add_scaled(now, 1.0, system.part(&system.right, first, now));
                x.copy_from_slice(now);
                self.factors.solve(first, x);
                squared_distance(now, system.part(&before, first, now))
            });
            history.push(distances.iter().sum::<f64>().sqrt() / size);
            if history[history.len() - 1] <= limit.tolerance {
                break;
            }
            std::mem::swap(&mut before, &mut now);
        }
        system.apply(&x, &mut now);
        let residual = squared_distance(&now, &system.right).sqrt() / size;
        Solution { weights: x, products: history.len(), residual, history }
    }

    /// `out ← N v`, with what the factors have more on their diagonals than D.
    fn gather(&self, v: &[f64], out: &mut [f64]) {
        self.system.pull(v, out);
        self.add_shifts(1.0, v, out);
    }

    /// `out ← out + factor · shift v`
    fn add_shifts(&self, factor: f64, v: &[f64], out: &mut [f64]) {
        let size = v.len().checked_div(self.factors.shifts.len()).unwrap_or(0);
        for (node, shift) in self.factors.shifts.iter().enumerate().filter(|(_, s)| **s > 0.0) {
            let block = node * size..(node + 1) * size;
            add_scaled(&mut out[block.clone()], factor * shift, &v[block]);
        }
    }

    /// `out ← D⁻¹ v`
    fn solve(&self, v: &[f64], out: &mut [f64]) {
        each_task(out, self.system.moments.size, |first, out| {
            out.copy_from_slice(self.system.part(v, first, out));
            self.factors.solve(first, out);
        });
    }

    /// `out ← D⁻¹ (v − A c)`
    fn solve_beside(&self, beside: Option<&(&Coarse, Batch)>, v: &[f64], out: &mut [f64]) {
        let Some((coarse, blocks)) = beside else { return self.solve(v, out) };
        let weights = coarse.solve(v);
        each_task(out, self.system.moments.size, |first, out| {
            out.copy_from_slice(self.system.part(v, first, out));
            let mut common = vec![0.0; out.len()];
            coarse.add(&weights, first, &mut common);
            blocks.add_product(out, -1.0, first, &common);
            self.factors.solve(first, out);
        });
    }

    /// `out ← out + c`
    fn common(&self, v: &[f64], out: &mut [f64]) {
        if let Some(coarse) = &self.coarse {
            coarse.add(&coarse.solve(v), 0, out);
        }
    }

    /// `out ← A M⁻¹ v`, which is `v − N D⁻¹ (v − A c)`.
    fn preconditioned(&self, beside: Option<&(&Coarse, Batch)>, v: &[f64], out: &mut [f64]) {
        let mut solved = vec![0.0; v.len()];
        self.solve_beside(beside, v, &mut solved);
        self.gather(&solved, out);
        each_task(out, self.system.moments.size, |first, out| {
            let v = self.system.part(v, first, out);
            out.iter_mut().zip(v).for_each(|(out, v)| *out = v - *out);
        });
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{super::LinearNetwork, *};
    use crate::{
        data::{Dataset, Features, Labels, normal_points},
        model::Linear,
        network::{Clustered, Network, Node},
        random::{Purpose, Stream},
    };

    const LIMIT: Limit = Limit { tolerance: 1e-11, products: 20_000 };

    /// Two clusters of 150 nodes with three rows each, on public sets of their own or a common one.
    fn made(own_sets: bool, symmetric: bool) -> (Network, LinearNetwork) {
        let made = Clustered { clusters: 2, nodes: 150, inside: 0.05, between: 0.01, seed: 4 };
        let data = made.linear_data(4, 3, 0.1).unwrap().data;
        let points = |node: usize| {
            let mut stream = Stream::new(5, node, 0, Purpose::Public);
            let values = (0..4 * 30).map(|_| stream.normal()).collect();
            Arc::new(Features::new(data[0].features().names().clone(), values).unwrap())
        };
        let common = points(usize::MAX);
        let node = |(id, data): (usize, &crate::data::Dataset)| Node {
            id,
            data: data.clone(),
            model: Arc::new(Linear { ridge: 0.1, intercept: true }),
            public: if own_sets { points(id) } else { common.clone() },
        };
        let nodes: Vec<Node> = data.iter().enumerate().map(node).collect();
        (made.make().unwrap().0, LinearNetwork::new(&nodes, symmetric, true).unwrap().unwrap())
    }

    fn far(a: &[f64], b: &[f64]) -> f64 {
        squared_distance(a, b).sqrt() / norm(b)
    }

    #[test]
    fn every_way_ends_where_rounds_end() {
        for (own_sets, symmetric) in [(true, false), (true, true), (false, false)] {
            let (network, linear) = made(own_sets, symmetric);
            for alpha in [0.01, 3.0] {
                let start = vec![0.0; 300 * 5];
                let rounds = linear.relax(&network, alpha, start.clone(), LIMIT).unwrap().weights;
                let solver = || Solver::new(System::new(&linear, &network, alpha, None));
                let direct = solver().directly(start.clone(), LIMIT);
                assert!(direct.residual <= LIMIT.tolerance, "{} {alpha}", direct.residual);
                assert!(far(&direct.weights, &rounds) < 1e-8, "{own_sets} {symmetric} {alpha}");
                let by_gmres = solver().by_gmres(start.clone(), LIMIT);
                assert!(far(&by_gmres.x, &rounds) < 1e-8, "GMRES {own_sets} {symmetric} {alpha}");
                if solver().system.can_sweep() {
                    let swept = solver().by_sweeps(start, LIMIT);
                    assert!(far(&swept.x, &rounds) < 1e-8, "sweeps {own_sets} {alpha}");
                }
            }
        }
    }

    /// All dummies of three levels, which add up to the intercept, and a constant column.
    fn collinear(own_sets: bool, symmetric: bool, rows: usize) -> (Network, LinearNetwork) {
        let made = Clustered { clusters: 2, nodes: 20, inside: 0.4, between: 0.05, seed: 4 };
        let names: Arc<[String]> = ["x", "a", "b", "c", "one"].map(String::from).into();
        let draw = |rows: usize, stream: &mut Stream| {
            let row = |_| {
                let level = stream.index(3);
                let dummy = |k: usize| f64::from(u8::from(level == k));
                [stream.normal(), dummy(0), dummy(1), dummy(2), 1.0]
            };
            let values: Vec<f64> = (0..rows).flat_map(row).collect();
            Features::new(names.clone(), values).unwrap()
        };
        // As a study draws them: from the moments of rows, which rounding has touched.
        let public = |stream: &mut Stream| {
            let rows = draw(500, stream);
            Arc::new(normal_points(&rows, 100, stream).unwrap())
        };
        let common = public(&mut Stream::new(6, 0, 0, Purpose::Public));
        let node = |id: usize| {
            let mut stream = Stream::new(5, id, 0, Purpose::Data);
            let features = draw(rows + id % 5, &mut stream);
            let labels =
                features.iter().map(|x| x[0] + 2.0 * x[2] + 50.0 + stream.normal()).collect();
            Node {
                id,
                data: Dataset::new(features, Labels::values(labels)).unwrap(),
                model: Arc::new(Linear { ridge: 0.0, intercept: true }),
                public: if own_sets { public(&mut stream) } else { common.clone() },
            }
        };
        let nodes: Vec<Node> = (0..40).map(node).collect();
        (made.make().unwrap().0, LinearNetwork::new(&nodes, symmetric, true).unwrap().unwrap())
    }

    #[test]
    fn collinear_columns_are_no_reason_to_stall() {
        for (own_sets, symmetric) in [(true, false), (true, true), (false, false)] {
            for rows in [4, 1000] {
                let (network, linear) = collinear(own_sets, symmetric, rows);
                for alpha in [1e-4, 0.01, 1.0, 100.0, 1e4] {
                    let case = format!("{own_sets} {symmetric} {rows} {alpha}");
                    let start = linear.common_weights().repeat(40);
                    let solution = linear.solve(&network, alpha, None, start, LIMIT).unwrap();
                    let (residual, products) = (solution.residual, solution.products);
                    // Rounding in products of size α limits what can be reached.
                    let reachable = LIMIT.tolerance.max(1e-14 * alpha);
                    assert!(residual <= reachable, "{case}: {residual}");
                    assert!(products < 300, "{case}: {products}");
                    let largest = solution.weights.iter().fold(0.0, |a: f64, b| a.max(b.abs()));
                    assert!(largest < 100.0, "{case}: {largest}");
                }
            }
        }
    }

    #[test]
    fn what_parts_have_in_common_saves_products_under_a_strong_pull() {
        let (network, linear) = made(true, false);
        let start = vec![0.0; 300 * 5];
        let solver = Solver::new(System::new(&linear, &network, 100.0, None));
        assert!(solver.system.coarse().is_some());
        let without = solver.by_gmres(start.clone(), LIMIT).products;
        let with = solver.directly(start, LIMIT).products;
        assert!(2 * with < without, "{with} {without}");
    }

    #[test]
    fn the_bits_of_solutions_do_not_depend_on_the_number_of_threads() {
        for (own_sets, alpha) in [(true, 0.01), (true, 3.0), (false, 0.01), (false, 3.0)] {
            let (network, linear) = made(own_sets, false);
            let solved = |threads: usize| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                let start = vec![0.0; 300 * 5];
                pool.install(|| linear.solve(&network, alpha, None, start, LIMIT).unwrap().weights)
            };
            let one = solved(1);
            assert_eq!(one, solved(2), "{own_sets} {alpha}");
            assert_eq!(one, solved(8), "{own_sets} {alpha}");
        }
    }
}
