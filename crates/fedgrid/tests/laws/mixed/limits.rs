//! Limits of mixed models: no spread is the pooled model, a wide one is local training, and a node without
//! rows has what its neighbours say.

use fedgrid::{
    algebra::{Cholesky, add_outer, add_scaled},
    mixed::Precision,
};

use super::{
    assert_close, diagonals,
    sample::{ALL, COLUMNS, Plan, Row, Sample, network_of},
};

fn least_squares<'a>(rows: impl Iterator<Item = &'a Row>) -> Vec<f64> {
    let (mut gram, mut weights) = (vec![0.0; COLUMNS * COLUMNS], vec![0.0; COLUMNS]);
    for (x, y, weight) in rows {
        add_outer(&mut gram, *weight, x);
        add_scaled(&mut weights, weight * y, x);
    }
    Cholesky::new(gram, COLUMNS).unwrap().solve(&mut weights);
    weights
}

/// T as so many times the identity, with and without a network.
fn spread(factor: f64) -> (Sample, [Vec<f64>; 2]) {
    let sample = Sample::new(&[5, 8, 4, 12, 2, 7]);
    let mut factors = vec![0.0; COLUMNS * COLUMNS];
    factors.iter_mut().step_by(COLUMNS + 1).for_each(|entry| *entry = factor);
    let coefficients = [0.0, 0.9].map(|rho| {
        sample.fit(&Plan { factor: Some(&factors), rho: Some(rho), ..ALL }).coefficients
    });
    (sample, coefficients)
}

#[test]
fn without_spread_all_nodes_have_the_pooled_model() {
    for factor in [0.0, 1e-5] {
        let (sample, coefficients) = spread(factor);
        let pooled = least_squares(sample.rows.iter().flatten());
        for weights in coefficients.iter().flat_map(|all| all.chunks_exact(COLUMNS)) {
            assert_close(weights, &pooled, 1e-7, "pooled");
        }
    }
}

#[test]
fn with_a_wide_spread_nodes_with_enough_rows_have_local_models() {
    let (sample, coefficients) = spread(1e4);
    for all in coefficients {
        for (weights, rows) in all.chunks_exact(COLUMNS).zip(&sample.rows) {
            if rows.len() > COLUMNS {
                assert_close(weights, &least_squares(rows.iter()), 1e-6, "local");
            }
        }
    }
}

#[test]
fn a_node_without_rows_has_the_mean_of_its_neighbours_and_larger_errors() {
    let rho = 0.8;
    let sample = Sample::new(&[9, 0, 12, 10, 8, 11]);
    let found = sample.fit(&Plan { rho: Some(rho), ..ALL });
    // Ω b is zero at a node without rows: neighbours count by their weights, the mean by 1 − ρ.
    let network = &sample.network;
    let mean_degree = (0..6).map(|node| network.degree(node)).sum::<f64>() / 6.0;
    let own = rho * network.degree(1) + (1.0 - rho) * mean_degree;
    let mut expected = vec![0.0; COLUMNS];
    for &(neighbour, weight) in network.neighbours(1) {
        let there = &found.modes[neighbour * COLUMNS..(neighbour + 1) * COLUMNS];
        add_scaled(&mut expected, rho * weight / own, there);
    }
    assert_close(&found.modes[COLUMNS..2 * COLUMNS], &expected, 1e-9, "deviations");
    let variances = diagonals(&found.coefficient_covariances, COLUMNS);
    for (node, there) in variances.chunks_exact(COLUMNS).enumerate().filter(|(node, _)| *node != 1)
    {
        for k in 0..COLUMNS {
            assert!(variances[COLUMNS + k] > there[k], "node {node}, column {k}");
        }
    }
}

#[test]
fn a_node_without_rows_and_edges_has_the_mean_and_the_whole_variance() {
    let mut sample = Sample::new(&[9, 0, 12, 10, 8, 11]);
    let others = [(0, 2, 1.0), (2, 3, 2.0), (3, 4, 1.0), (4, 5, 1.0)];
    sample.network = network_of(6, others.into_iter());
    let independent = sample.fit_with(&ALL, &Precision::independent(6));
    let apart = sample.fit(&Plan { rho: Some(0.8), ..ALL });
    // Ω has 1 − ρ at a node without edges.
    for (found, precision) in [(independent, 1.0), (apart, 0.2)] {
        let own = &found.coefficients[COLUMNS..2 * COLUMNS];
        assert_close(own, &found.mean, 1e-12, "mean");
        let size = COLUMNS * COLUMNS;
        let mut expected = found.mean_covariance.clone();
        add_scaled(&mut expected, 1.0 / precision, &found.covariance);
        let covariance = &found.coefficient_covariances[size..2 * size];
        assert_close(covariance, &expected, 1e-9, "variance");
    }
}
