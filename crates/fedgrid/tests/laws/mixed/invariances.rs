//! What mixed models do not depend on: orders, units, zeros and threads.

use fedgrid::{
    data::{Dataset, Labels},
    mixed::{Design, Family, LaplaceModel, MixedEstimate, MixedModel, Precision},
    network::grid,
};
use rayon::ThreadPoolBuilder;

use super::{
    assert_close,
    sample::{ALL, COLUMNS, Plan, Sample, network_of},
};

const COUNTS: [usize; 9] = [9, 0, 12, 1, 8, 11, 3, 7, 10];

fn assert_same(found: &MixedEstimate, expected: &MixedEstimate, tolerance: f64) {
    let check = |found: &[f64], expected: &[f64], what| {
        assert_close(found, expected, tolerance, what);
    };
    check(&[found.deviance], &[expected.deviance], "deviance");
    check(&[found.rho], &[expected.rho], "rho");
    check(&[found.noise], &[expected.noise], "noise");
    check(&found.mean, &expected.mean, "mean");
    check(&found.mean_covariance, &expected.mean_covariance, "covariance of the mean");
    check(&found.covariance, &expected.covariance, "covariance");
    check(&found.coefficients, &expected.coefficients, "coefficients");
    let covariances = &expected.coefficient_covariances;
    check(&found.coefficient_covariances, covariances, "covariances of coefficients");
}

#[test]
fn the_order_of_rows_does_not_matter() {
    let sample = Sample::new(&COUNTS);
    let mut reversed = sample.clone();
    reversed.rows.iter_mut().for_each(|rows| rows.reverse());
    assert_same(&reversed.fit(&ALL), &sample.fit(&ALL), 1e-6);
}

#[test]
fn estimates_follow_the_order_of_nodes() {
    let sample = Sample::new(&COUNTS);
    let nodes = COUNTS.len();
    // Where each node goes.
    let place = |node: usize| (4 * node + 2) % nodes;
    let edges = sample.network.edges().iter();
    let edges = edges.map(|edge| (place(edge.source), place(edge.target), edge.weight));
    let mut moved = Sample { network: network_of(nodes, edges), rows: vec![Vec::new(); nodes] };
    for (node, rows) in sample.rows.iter().enumerate() {
        moved.rows[place(node)].clone_from(rows);
    }
    let mut found = moved.fit(&ALL);
    let back = |all: &[f64], size: usize| -> Vec<f64> {
        (0..nodes).flat_map(|node| all[place(node) * size..][..size].to_vec()).collect()
    };
    found.coefficients = back(&found.coefficients, COLUMNS);
    found.coefficient_covariances = back(&found.coefficient_covariances, COLUMNS * COLUMNS);
    assert_same(&found, &sample.fit(&ALL), 1e-6);
}

/// Takes coefficients of other units back: each times its factor.
fn rescale(found: &mut MixedEstimate, factors: [f64; COLUMNS]) {
    for all in [&mut found.mean, &mut found.coefficients] {
        all.iter_mut().enumerate().for_each(|(at, w)| *w *= factors[at % COLUMNS]);
    }
    for all in
        [&mut found.mean_covariance, &mut found.covariance, &mut found.coefficient_covariances]
    {
        for (at, entry) in all.iter_mut().enumerate() {
            *entry *= factors[at / COLUMNS % COLUMNS] * factors[at % COLUMNS];
        }
    }
}

#[test]
fn estimates_follow_units() {
    let sample = Sample::new(&COUNTS);
    for correlated in [false, true] {
        let plan = Plan { correlated, ..ALL };
        let expected = sample.fit(&plan);
        let mut longer = sample.map(|row| row.0[1] *= 1e3).fit(&plan);
        rescale(&mut longer, [1.0, 1e3, 1.0]);
        // The restricted likelihood has a density of the mean in it.
        longer.deviance -= 2.0 * 1e3_f64.ln();
        assert_same(&longer, &expected, 1e-6);
        let mut smaller = sample.map(|row| row.1 *= 1e-3).fit(&plan);
        rescale(&mut smaller, [1e3; COLUMNS]);
        smaller.noise *= 1e6;
        let freedom = COUNTS.iter().sum::<usize>() - COLUMNS;
        smaller.deviance += 2.0 * freedom as f64 * 1e3_f64.ln();
        assert_same(&smaller, &expected, 1e-6);
    }
}

#[test]
fn where_zero_is_does_not_matter_if_deviations_are_correlated() {
    let plan = Plan { correlated: true, ..ALL };
    let sample = Sample::new(&COUNTS);
    let expected = sample.fit(&plan);
    let shift = 3.0;
    let mut found = sample.map(|row| row.0[1] += shift).fit(&plan);
    // The intercept is where the shifted feature is zero.
    for weights in found.coefficients.chunks_exact_mut(COLUMNS) {
        weights[0] += shift * weights[1];
    }
    assert_close(&found.coefficients, &expected.coefficients, 1e-5, "coefficients");
    assert_close(&[found.noise], &[expected.noise], 1e-5, "noise");
    assert_close(&[found.rho], &[expected.rho], 1e-5, "rho");
    assert!((found.deviance - expected.deviance).abs() < 1e-8);
    let slopes = |found: &MixedEstimate| -> Vec<f64> {
        let size = COLUMNS * COLUMNS;
        found.coefficient_covariances.chunks_exact(size).map(|own| own[COLUMNS + 1]).collect()
    };
    assert_close(&slopes(&found), &slopes(&expected), 1e-5, "variances of slopes");
}

/// Raw coefficients of all nodes and their covariances from columns of a design.
fn designed(datasets: &[Dataset], precision: &Precision, family: Option<Family>) -> [Vec<f64>; 2] {
    let design = Design::new(datasets, family.is_none()).unwrap();
    let (columns, random) = (design.columns(), [0, 1, 2]);
    let found = match family {
        None => {
            let nodes: Vec<_> = datasets.iter().map(|data| design.moments(data)).collect();
            let likelihood = ALL.likelihood;
            let (random, nodes) = (&random[..], &nodes[..]);
            let (correlated, rho, factor) = (false, None, None);
            let fixed = design.fixed();
            let model = MixedModel {
                nodes,
                columns,
                fixed,
                random,
                variances: &[],
                free: 0,
                correlated,
                likelihood,
                precision,
                rho,
                factor,
            };
            model.fit()
        }
        Some(family) => {
            let nodes: Vec<_> = datasets.iter().map(|data| design.rows(data, family)).collect();
            let (random, nodes) = (&random[..], &nodes[..]);
            let (fixed, correlated, rho) = (design.fixed(), false, None);
            LaplaceModel {
                nodes,
                columns,
                fixed,
                random,
                variances: &[],
                free: 0,
                correlated,
                precision,
                rho,
            }
            .fit()
        }
    };
    let found = found.unwrap();
    let raw = found.coefficients.chunks_exact(columns).flat_map(|own| design.to_raw(own));
    let covariances = found.coefficient_covariances.chunks_exact(columns * columns);
    let covariances = covariances.flat_map(|own| design.covariance_to_raw(own));
    [raw.collect(), covariances.collect()]
}

#[test]
fn columns_of_a_design_make_every_model_independent_of_zeros_and_units() {
    let sample = Sample::new(&COUNTS);
    let (shift, unit) = (40.0, 1e3);
    let changed = sample.map(|row| row.0[1] = unit * (row.0[1] + shift));
    let precision = Precision::along(&sample.network);
    for family in [None, Some(Family::Classes(2)), Some(Family::Counts)] {
        let labelled = |sample: &Sample| -> Vec<Dataset> {
            let label = |data: Dataset| {
                let labels = data.labels().as_slice().iter();
                let labels = match family {
                    None => return data,
                    Some(Family::Counts) => {
                        Labels::values(labels.map(|y| y.abs().round()).collect())
                    }
                    Some(_) => {
                        let classes: Vec<usize> = labels.map(|y| usize::from(*y > 2.0)).collect();
                        Labels::classes(2, &classes).unwrap()
                    }
                };
                let weights = data.weights().to_vec();
                Dataset::weighted(data.features().clone(), labels, weights).unwrap()
            };
            sample.datasets().into_iter().map(label).collect()
        };
        let expected = designed(&labelled(&sample), &precision, family);
        let mut found = designed(&labelled(&changed), &precision, family);
        // Raw coefficients: both slopes, then the intercept.
        for weights in found[0].chunks_exact_mut(COLUMNS) {
            weights[0] *= unit;
            weights[2] += shift * weights[0];
        }
        assert_close(&found[0], &expected[0], 1e-7, "coefficients");
        let slopes = |all: &[f64]| -> Vec<f64> {
            all.chunks_exact(COLUMNS * COLUMNS).map(|own| own[0]).collect()
        };
        let own: Vec<f64> = slopes(&found[1]).iter().map(|x| unit * unit * x).collect();
        assert_close(&own, &slopes(&expected[1]), 1e-7, "variances of slopes");
    }
}

#[test]
fn one_thread_and_eight_give_the_same_bits() {
    let mut sample = Sample::new(&COUNTS.repeat(4));
    sample.network = grid(6, 6).unwrap();
    let precision = Precision::along(&sample.network);
    let with = |threads: usize| {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let found = sample.fit(&Plan { correlated: true, ..ALL });
            let mut datasets = sample.datasets();
            for data in &mut datasets {
                let counts = data.labels().as_slice().iter().map(|y| y.abs().round()).collect();
                *data = Dataset::new(data.features().clone(), Labels::values(counts)).unwrap();
            }
            let counts = designed(&datasets, &precision, Some(Family::Counts));
            let numbers = [
                found.mean,
                found.factor,
                vec![found.rho, found.noise, found.deviance],
                found.coefficients,
                found.coefficient_covariances,
            ];
            let all = numbers.into_iter().chain(counts).flatten();
            all.map(f64::to_bits).collect::<Vec<u64>>()
        })
    };
    assert_eq!(with(1), with(8));
}
