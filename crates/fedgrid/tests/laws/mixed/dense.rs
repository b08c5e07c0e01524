//! The likelihood and what follows from it, by the definition with the covariance of all rows,
//!
//! ```text
//! V = diag(1/weights) + Z (Ω⁻¹ ⊗ T Tᵀ) Zᵀ,   β = (XᵀV⁻¹X)⁻¹ XᵀV⁻¹y,   σ² = (y − Xβ)ᵀV⁻¹(y − Xβ) / (N − d)
//! b_i = K_i V⁻¹(y − Xβ),   K_i = cov(b_i, y)/σ²
//! ```

use fedgrid::{
    algebra::{Cholesky, dot},
    mixed::{Likelihood, MixedEstimate},
    network::Network,
};

use super::{
    assert_close,
    sample::{ALL, COLUMNS, Plan, Row, Sample},
};

/// A matrix by its rows.
type Matrix = Vec<Vec<f64>>;

pub(super) struct Dense {
    pub(super) noise: f64,
    pub(super) deviance: f64,
    mean: Vec<f64>,
    mean_covariance: Vec<f64>,
    coefficients: Vec<f64>,
    coefficient_covariances: Vec<f64>,
    modes: Vec<f64>,
    mode_covariances: Vec<f64>,
}

fn transposed(a: &Matrix) -> Matrix {
    (0..a[0].len()).map(|k| a.iter().map(|row| row[k]).collect()).collect()
}

/// a bᵀ.
fn outer(a: &Matrix, b: &Matrix) -> Matrix {
    a.iter().map(|x| b.iter().map(|y| dot(x, y)).collect()).collect()
}

/// The rows of a times the inverse of a factored matrix.
fn over(a: &Matrix, factor: &Cholesky) -> Matrix {
    let solved = |row: &Vec<f64>| {
        let mut row = row.clone();
        factor.solve(&mut row);
        row
    };
    a.iter().map(solved).collect()
}

fn cholesky(matrix: &Matrix) -> Cholesky {
    Cholesky::new(matrix.concat(), matrix.len()).unwrap()
}

fn identity(size: usize) -> Matrix {
    (0..size).map(|a| (0..size).map(|b| f64::from(u8::from(a == b))).collect()).collect()
}

/// Ω⁻¹.
fn relatedness(network: &Network, rho: f64) -> Matrix {
    let nodes = network.len();
    let mean_degree = (0..nodes).map(|node| network.degree(node)).sum::<f64>() / nodes as f64;
    let mut omega = identity(nodes);
    for (node, row) in omega.iter_mut().enumerate() {
        row[node] = rho * network.degree(node) / mean_degree + 1.0 - rho;
        for &(other, weight) in network.neighbours(node) {
            row[other] = -rho * weight / mean_degree;
        }
    }
    over(&identity(nodes), &cholesky(&omega))
}

/// By the definition at a relative factor and ρ.
#[expect(clippy::too_many_lines, reason = "the definition is read in one piece")]
#[expect(clippy::needless_range_loop, reason = "nodes index rows and blocks alike")]
pub(super) fn dense(sample: &Sample, plan: &Plan, factor: &[f64], rho: f64) -> Dense {
    let q = plan.random.len();
    let factor: Matrix = factor.chunks_exact(q).map(<[f64]>::to_vec).collect();
    let relative = outer(&factor, &factor);
    let related = relatedness(&sample.network, rho);
    let rows: Vec<(usize, &Row)> = sample
        .rows
        .iter()
        .enumerate()
        .flat_map(|(node, rows)| rows.iter().map(move |row| (node, row)))
        .collect();
    let picked = |row: &Row| -> Vec<f64> { plan.random.iter().map(|k| row.0[*k]).collect() };
    // K of a node, q × N.
    let shared = |node: usize| -> Matrix {
        let column = |(other, row): &(usize, &Row)| -> Vec<f64> {
            let x = picked(row);
            relative.iter().map(|line| related[node][*other] * dot(line, &x)).collect()
        };
        transposed(&rows.iter().map(column).collect())
    };
    let between: Vec<Matrix> =
        (0..sample.rows.len()).map(|node| transposed(&shared(node))).collect();
    let mut variance: Matrix = rows
        .iter()
        .map(|(node, row)| between[*node].iter().map(|k| dot(k, &picked(row))).collect())
        .collect();
    for (place, (_, row)) in rows.iter().enumerate() {
        variance[place][place] += 1.0 / row.2;
    }
    let variance = cholesky(&variance);
    let means = plan.fixed.len();
    let of_means = |row: &Row| plan.fixed.iter().map(|k| row.0[*k]).collect();
    let features: Matrix = rows.iter().map(|(_, row)| of_means(row)).collect();
    let labels: Vec<f64> = rows.iter().map(|(_, row)| row.1).collect();
    let weighted = over(&transposed(&features), &variance);
    let information = cholesky(&outer(&weighted, &transposed(&features)));
    let mut mean: Vec<f64> = weighted.iter().map(|row| dot(row, &labels)).collect();
    information.solve(&mut mean);
    let residuals: Vec<f64> =
        features.iter().zip(&labels).map(|(x, y)| y - dot(x, &mean)).collect();
    let scaled = over(&vec![residuals.clone()], &variance).remove(0);
    let restricted = plan.likelihood == Likelihood::Restricted;
    let freedom = (rows.len() - if restricted { means } else { 0 }) as f64;
    let noise = dot(&scaled, &residuals) / freedom;
    let logarithms: f64 = rows.iter().map(|(_, row)| row.2.ln()).sum();
    let deviance = freedom * (1.0 + (std::f64::consts::TAU * noise).ln())
        + variance.log_determinant()
        // Weights are relative: their logarithms belong to no parameter.
        + logarithms
        + if restricted { information.log_determinant() } else { 0.0 };
    let mut found = Dense {
        noise,
        deviance,
        mean_covariance: over(&identity(means), &information).concat(),
        mean,
        coefficients: Vec::new(),
        coefficient_covariances: Vec::new(),
        modes: Vec::new(),
        mode_covariances: Vec::new(),
    };
    found.mean_covariance.iter_mut().for_each(|entry| *entry *= noise);
    for node in 0..sample.rows.len() {
        let own = shared(node);
        let mode: Vec<f64> = own.iter().map(|row| dot(row, &scaled)).collect();
        let known = outer(&over(&own, &variance), &own);
        let prior = |a: usize, b: usize| related[node][node] * relative[a][b];
        let mut sensitivity = vec![vec![0.0; means]; COLUMNS];
        let mut coefficients = vec![0.0; COLUMNS];
        for (k, &column) in plan.fixed.iter().enumerate() {
            sensitivity[column][k] = 1.0;
            coefficients[column] = found.mean[k];
        }
        for (a, &column) in plan.random.iter().enumerate() {
            coefficients[column] += mode[a];
            for (k, row) in weighted.iter().enumerate() {
                sensitivity[column][k] -= dot(&own[a], row);
            }
        }
        let mut covariance = outer(&over(&sensitivity, &information), &sensitivity);
        for (a, &row) in plan.random.iter().enumerate() {
            for (b, &column) in plan.random.iter().enumerate() {
                let spread = prior(a, b) - known[a][b];
                covariance[row][column] += spread;
                found.mode_covariances.push(noise * spread);
            }
        }
        found.coefficients.extend(coefficients);
        found.coefficient_covariances.extend(covariance.concat().iter().map(|x| noise * x));
        found.modes.extend(mode);
    }
    found
}

fn assert_same(found: &MixedEstimate, dense: &Dense) {
    const TOLERANCE: f64 = 1e-9;
    let check = |found: &[f64], dense: &[f64], what| assert_close(found, dense, TOLERANCE, what);
    check(&[found.deviance], &[dense.deviance], "deviance");
    check(&[found.noise], &[dense.noise], "noise");
    check(&found.mean, &dense.mean, "mean");
    check(&found.mean_covariance, &dense.mean_covariance, "covariance of the mean");
    check(&found.coefficients, &dense.coefficients, "coefficients");
    let covariances = &dense.coefficient_covariances;
    check(&found.coefficient_covariances, covariances, "covariances of coefficients");
    check(&found.modes, &dense.modes, "modes");
    check(&found.mode_covariances, &dense.mode_covariances, "covariances of modes");
}

#[test]
fn the_likelihood_and_all_that_follows_are_those_of_the_definition() {
    let sample = Sample::new(&[3, 0, 6, 1, 9, 4, 2]);
    let factor = [0.9, 0.0, -0.4, 0.6];
    for likelihood in [Likelihood::Restricted, Likelihood::Full] {
        for (fixed, rho) in
            [(&[0, 1, 2][..], 0.0), (&[0, 1, 2], 0.7), (&[0, 1], 0.7), (&[0, 1, 2], 0.999)]
        {
            let plan = Plan { fixed, random: &[0, 2], likelihood, rho: Some(rho), ..ALL };
            let found = sample.fit(&Plan { factor: Some(&factor), ..plan });
            assert_same(&found, &dense(&sample, &plan, &factor, rho));
        }
    }
}

#[test]
fn estimates_are_at_the_minimum_of_the_definition() {
    let sample = Sample::new(&[12, 0, 9, 10, 14, 8, 11, 1, 13, 9, 12, 10]);
    for (likelihood, correlated) in [
        (Likelihood::Restricted, false),
        (Likelihood::Restricted, true),
        (Likelihood::Full, false),
        (Likelihood::Full, true),
    ] {
        let plan = Plan { random: &[0, 1], correlated, likelihood, ..ALL };
        let found = sample.fit(&plan);
        assert!(found.converged && found.rho > 0.1 && found.rho < 0.999, "{}", found.rho);
        assert_same(&found, &dense(&sample, &plan, &found.factor, found.rho));
        let deviance = |factor: &[f64], rho: f64| dense(&sample, &plan, factor, rho).deviance;
        let entries = if correlated { &[0, 2, 3][..] } else { &[0, 3] };
        for step in [-1e-3, 1e-3] {
            for &entry in entries {
                let mut factor = found.factor.clone();
                factor[entry] += step * factor[0].abs();
                assert!(deviance(&factor, found.rho) > found.deviance, "{plan:?} {entry}");
            }
            let rho = found.rho + step * (1.0 - found.rho);
            assert!(deviance(&found.factor, rho) > found.deviance, "{plan:?} rho");
        }
    }
}
