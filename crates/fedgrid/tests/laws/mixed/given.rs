//! Coefficients that are each node's own, and variances that are given.

use fedgrid::{
    algebra::dot,
    data::{Dataset, Labels},
    mixed::{Design, Family, LaplaceModel, Likelihood, MixedEstimate, Precision},
};

use super::{
    assert_close,
    dense::dense,
    diagonals,
    sample::{ALL, COLUMNS, Plan, Row, Sample},
};

/// The column that is each node's own.
const OWN: usize = 1;
/// The others.
const OTHERS: [usize; 2] = [0, 2];

/// The same rows without what the own column explains at each node: as many rows less one (Householder), in
/// which all weights are one.
fn without_own(sample: &Sample) -> Sample {
    let reduced = |rows: &Vec<Row>| -> Vec<Row> {
        let scaled = |(x, y, weight): &Row| -> Vec<f64> {
            x.iter().chain([y]).map(|value| weight.sqrt() * value).collect()
        };
        let mut all: Vec<Vec<f64>> = rows.iter().map(scaled).collect();
        if all.is_empty() {
            return Vec::new();
        }
        let mut mirror: Vec<f64> = all.iter().map(|row| row[OWN]).collect();
        mirror[0] += dot(&mirror, &mirror).sqrt().copysign(mirror[0]);
        let square = dot(&mirror, &mirror);
        for column in 0..=COLUMNS {
            let along: f64 = all.iter().zip(&mirror).map(|(row, m)| row[column] * m).sum();
            for (row, m) in all.iter_mut().zip(&mirror) {
                row[column] -= 2.0 * along / square * m;
            }
        }
        all[1..].iter().map(|row| (row[..COLUMNS].to_vec(), row[COLUMNS], 1.0)).collect()
    };
    Sample { network: sample.network.clone(), rows: sample.rows.iter().map(reduced).collect() }
}

fn part(found: &[f64], columns: &[usize]) -> Vec<f64> {
    let own = found.chunks_exact(COLUMNS);
    own.flat_map(|own| columns.iter().map(|column| own[*column])).collect()
}

/// The fit with a column of each node's own, and the exact one to rows without it.
fn own_and_exact(sample: &Sample, rho: Option<f64>) -> (MixedEstimate, MixedEstimate) {
    let found = sample.fit(&Plan { random: &[0, 2, OWN], free: 1, rho, ..ALL });
    let (fixed, random) = (&OTHERS[..], &OTHERS[..]);
    (found, without_own(sample).fit(&Plan { fixed, random, rho, ..ALL }))
}

#[test]
fn a_free_coefficient_is_a_fixed_effect_of_every_node() {
    let sample = Sample::new(&[12, 5, 9, 10, 14, 8, 11, 3, 13, 9, 12, 10]);
    for rho in [Some(0.0), Some(0.8), None] {
        let (found, exact) = own_and_exact(&sample, rho);
        assert!(found.converged && found.undetermined.is_empty());
        let check = |found: &[f64], exact: &[f64], what| assert_close(found, exact, 1e-6, what);
        check(&[found.rho, found.noise], &[exact.rho, exact.noise], "rho and noise");
        let spread = diagonals(&found.covariance, COLUMNS);
        check(&spread[..2], &diagonals(&exact.covariance, 2), "variances");
        check(&part(&found.coefficients, &OTHERS), &part(&exact.coefficients, &OTHERS), "others");
        // By the covariance of all rows, too.
        let plan = Plan { fixed: &OTHERS, random: &OTHERS, rho, ..ALL };
        let dense = dense(&without_own(&sample), &plan, &exact.factor, exact.rho);
        check(&[found.noise], &[dense.noise], "noise of the definition");
        for (node, rows) in sample.rows.iter().enumerate() {
            let own = &found.coefficients[node * COLUMNS..(node + 1) * COLUMNS];
            let sum = |value: &dyn Fn(&Row) -> f64| rows.iter().map(value).sum::<f64>();
            let square = sum(&|(x, _, w)| w * x[OWN] * x[OWN]);
            let rest = |(x, y, w): &Row| w * x[OWN] * (y - own[0] * x[0] - own[2] * x[2]);
            check(&[own[OWN]], &[sum(&rest) / square], "own coefficient");
            // Its error is that of a regression on its rows, and what the others' errors add.
            let covariance = |a: usize, b: usize| {
                exact.coefficient_covariances[(node * COLUMNS + a) * COLUMNS + b]
            };
            let slopes = OTHERS.map(|column| sum(&|(x, _, w)| w * x[OWN] * x[column]) / square);
            let mut expected = exact.noise / square;
            for (a, slope) in OTHERS.iter().zip(slopes) {
                for (b, other) in OTHERS.iter().zip(slopes) {
                    expected += slope * other * covariance(*a, *b);
                }
            }
            let at = (node * COLUMNS + OWN) * COLUMNS + OWN;
            check(&[found.coefficient_covariances[at]], &[expected], "its error");
        }
    }
}

#[test]
fn a_node_without_rows_has_the_mean_of_a_free_coefficient() {
    let sample = Sample::new(&[12, 0, 9, 10, 14, 8, 11, 9]);
    let (found, exact) = own_and_exact(&sample, None);
    assert_eq!(found.undetermined, [1]);
    assert_close(&[found.noise, found.rho], &[exact.noise, exact.rho], 1e-6, "noise and rho");
    let own = part(&found.coefficients, &[OWN]);
    let others: f64 = own.iter().enumerate().filter(|(node, _)| *node != 1).map(|(_, w)| w).sum();
    assert_close(&[own[1]], &[others / 7.0], 1e-6, "mean");
    assert!(diagonals(&found.mean_covariance, COLUMNS)[OWN].abs() < f64::MIN_POSITIVE);
}

#[test]
fn rows_that_own_coefficients_use_up_are_refused() {
    let sample = Sample::new(&[1, 1, 1, 2]);
    let plan = Plan { random: &[0, OWN, 2], free: 2, rho: Some(0.0), ..ALL };
    let error = sample.try_fit(&plan).unwrap_err().to_string();
    assert!(error.contains("no more training rows than coefficients"), "{error}");
}

#[test]
fn variances_that_are_given_as_they_were_estimated_change_nothing() {
    let sample = Sample::new(&[12, 0, 9, 10, 14, 8, 11, 3, 13, 9, 12, 10]);
    for likelihood in [Likelihood::Restricted, Likelihood::Full] {
        let plan = Plan { likelihood, ..ALL };
        let expected = sample.fit(&plan);
        let all: Vec<Option<f64>> =
            diagonals(&expected.covariance, COLUMNS).into_iter().map(Some).collect();
        for given in [[all[0], all[1], all[2]], [None, all[1], None], [all[0], None, all[2]]] {
            let found = sample.fit(&Plan { variances: &given, ..plan });
            assert!(found.converged);
            let check = |found: &[f64], expected: &[f64], what| {
                assert_close(found, expected, 1e-6, what);
            };
            check(&[found.deviance], &[expected.deviance], "deviance");
            check(&[found.noise, found.rho], &[expected.noise, expected.rho], "noise and rho");
            check(&found.covariance, &expected.covariance, "covariance");
            check(&found.coefficients, &expected.coefficients, "coefficients");
            let errors = &expected.coefficient_covariances;
            check(&found.coefficient_covariances, errors, "errors");
        }
    }
}

#[test]
fn what_is_estimated_beside_a_given_variance_is_at_the_minimum_of_the_definition() {
    let sample = Sample::new(&[12, 0, 9, 10, 14, 8, 11, 3, 13, 9, 12, 10]);
    let given = 2.5;
    let plan = Plan { variances: &[None, Some(given), None], ..ALL };
    let found = sample.fit(&plan);
    assert_close(&[diagonals(&found.covariance, COLUMNS)[1]], &[given], 1e-12, "given");
    let freedom = (sample.rows.iter().map(Vec::len).sum::<usize>() - COLUMNS) as f64;
    // −2ℓ at a noise that is not the best one for the others.
    let deviance = |variances: [f64; COLUMNS], rho: f64, noise: f64| {
        let mut factor = vec![0.0; COLUMNS * COLUMNS];
        let diagonal = factor.iter_mut().step_by(COLUMNS + 1);
        diagonal.zip(variances).for_each(|(entry, tau)| *entry = (tau / noise).sqrt());
        let best = dense(&sample, &plan, &factor, rho);
        best.deviance + freedom * ((noise / best.noise).ln() + best.noise / noise - 1.0)
    };
    let spread = diagonals(&found.covariance, COLUMNS);
    let variances = [spread[0], given, spread[2]];
    let least = deviance(variances, found.rho, found.noise);
    assert_close(&[found.deviance], &[least], 1e-9, "deviance");
    for step in [0.99, 1.01] {
        for column in [0, 2] {
            let mut moved = variances;
            moved[column] *= step;
            assert!(deviance(moved, found.rho, found.noise) > least, "{column}");
        }
        assert!(deviance(variances, found.rho, step * found.noise) > least, "noise");
        let rho = 1.0 - step * (1.0 - found.rho);
        assert!(deviance(variances, rho, found.noise) > least, "rho");
    }
}

/// Counts and classes of a sample.
fn labelled(sample: &Sample) -> [(Family, Vec<Dataset>); 2] {
    let with = |label: &dyn Fn(&[f64]) -> Labels| -> Vec<Dataset> {
        let data = sample.datasets().into_iter();
        let make = |data: Dataset| {
            let labels = label(data.labels().as_slice());
            Dataset::weighted(data.features().clone(), labels, data.weights().to_vec()).unwrap()
        };
        data.map(make).collect()
    };
    let counts = |y: &[f64]| Labels::values(y.iter().map(|y| y.abs().round()).collect());
    let classes = |y: &[f64]| {
        let classes: Vec<usize> = y.iter().map(|y| usize::from(*y > 2.0)).collect();
        Labels::classes(2, &classes).unwrap()
    };
    [(Family::Counts, with(&counts)), (Family::Classes(2), with(&classes))]
}

#[test]
fn free_coefficients_of_classes_and_counts_have_no_pull_and_given_variances_change_nothing() {
    let sample = Sample::new(&[30, 28, 0, 35, 31, 29, 26, 33]);
    let precision = &Precision::along(&sample.network);
    for (family, rows) in labelled(&sample) {
        let design = Design::new(&rows, false).unwrap();
        let nodes: Vec<_> = rows.iter().map(|data| design.rows(data, family)).collect();
        let model = LaplaceModel {
            nodes: &nodes,
            columns: COLUMNS,
            fixed: design.fixed(),
            random: &[0, 2, OWN],
            variances: &[],
            free: 0,
            correlated: false,
            precision,
            rho: None,
        };
        let all = model.fit().unwrap();
        let given: Vec<Option<f64>> =
            diagonals(&all.covariance, COLUMNS).into_iter().map(Some).collect();
        let found = LaplaceModel { variances: &given, ..model }.fit().unwrap();
        assert_close(&found.coefficients, &all.coefficients, 1e-4, "coefficients");
        assert_close(&[found.deviance], &[all.deviance], 1e-8, "deviance");
        let own = LaplaceModel { free: 1, ..model }.fit().unwrap();
        assert_eq!(own.undetermined, [2]);
        for (node, weights) in own.coefficients.chunks_exact(COLUMNS).enumerate() {
            // What a node's own coefficient would gain by moving, beside what it is known to.
            let (score, information) = slope_of_own(&design, &rows[node], family, weights);
            let tolerance = 1e-5 * f64::sqrt(information);
            assert!(score.abs() <= tolerance, "{family:?}, node {node}: {score} {information}");
        }
        let own: Vec<f64> = part(&own.coefficients, &[OWN]);
        let others: f64 = own.iter().sum::<f64>() - own[2];
        assert_close(&[own[2]], &[others / 7.0], 1e-6, "mean");
    }
}

/// The derivative of a node's log-likelihood by its own coefficient, and its information.
fn slope_of_own(design: &Design, rows: &Dataset, family: Family, weights: &[f64]) -> (f64, f64) {
    let raw = design.to_raw(weights);
    let mut found = (0.0, 0.0);
    let labels = rows.labels();
    for (row, x) in rows.features().iter().enumerate() {
        let predictor = dot(&raw[..COLUMNS - 1], x) + raw[COLUMNS - 1];
        let (mean, variance, label) = match family {
            Family::Counts => (predictor.exp(), predictor.exp(), labels.row(row)[0]),
            Family::Classes(_) => {
                let share = 1.0 / (1.0 + (-predictor).exp());
                (share, share * (1.0 - share), labels.row(row)[1])
            }
        };
        let mut unit = vec![0.0; COLUMNS];
        unit[OWN] = 1.0;
        let slopes = design.to_raw(&unit);
        let column = dot(&slopes[..COLUMNS - 1], x) + slopes[COLUMNS - 1];
        let weight = rows.weights()[row];
        found.0 += weight * (label - mean) * column;
        found.1 += weight * variance * column * column;
    }
    found
}

#[test]
fn a_free_column_that_no_row_of_a_node_has_is_the_mean_there() {
    let mut sample = Sample::new(&[12, 7, 9, 10, 14, 8, 11, 9]);
    sample.rows[3].iter_mut().for_each(|row| row.0[OWN] = 0.0);
    let found = sample.fit(&Plan { random: &[0, 2, OWN], free: 1, rho: Some(0.5), ..ALL });
    assert_eq!(found.undetermined, [3]);
    let own = part(&found.coefficients, &[OWN]);
    let others: f64 = own.iter().sum::<f64>() - own[3];
    assert_close(&[own[3]], &[others / 7.0], 1e-6, "mean");
}
