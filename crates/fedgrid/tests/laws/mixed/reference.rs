//! Mixed models against lme4 and mgcv, whose numbers `tools/mixed_reference.R` makes again.

use std::collections::BTreeMap;

use fedgrid::{
    mixed::{
        Family, LaplaceModel, Likelihood, MixedEstimate, MixedModel, NodeMoments, NodeRows,
        Precision,
    },
    network::{Edge, Network},
};
use serde::Deserialize;

use super::{assert_close, diagonals};

#[derive(Deserialize)]
struct Reference {
    sets: BTreeMap<String, Rows>,
    linear: Vec<Linear>,
    laplace: Vec<Laplace>,
    classes: Vec<Classes>,
    network: Vec<Along>,
}

#[derive(Deserialize)]
struct Rows {
    nodes: usize,
    node: Vec<usize>,
    features: Vec<Vec<f64>>,
    labels: Vec<f64>,
    weights: Vec<f64>,
}

/// What is compared of every model.
#[derive(Deserialize)]
struct Expected {
    name: String,
    set: String,
    fixed: Vec<usize>,
    random: Vec<usize>,
    mean: Vec<f64>,
    deviance: f64,
}

#[derive(Deserialize)]
struct Deviations {
    correlated: bool,
    covariance: Vec<f64>,
    modes: Vec<f64>,
    mode_errors: Vec<f64>,
}

#[derive(Deserialize)]
struct Linear {
    #[serde(flatten)]
    expected: Expected,
    #[serde(flatten)]
    deviations: Deviations,
    restricted: bool,
    weighted: bool,
    mean_errors: Vec<f64>,
    noise: f64,
}

#[derive(Deserialize)]
struct Laplace {
    #[serde(flatten)]
    expected: Expected,
    #[serde(flatten)]
    deviations: Deviations,
    family: String,
    weighted: bool,
    mean_errors: Vec<f64>,
}

#[derive(Deserialize)]
struct Classes {
    #[serde(flatten)]
    expected: Expected,
    #[serde(flatten)]
    deviations: Deviations,
    #[serde(rename = "classes")]
    count: usize,
}

#[derive(Deserialize)]
struct Along {
    #[serde(flatten)]
    expected: Expected,
    edges: Vec<(usize, usize, f64)>,
    rho: f64,
    /// 1/T² of each random column.
    strengths: Vec<f64>,
    estimated: Estimated,
    noise: f64,
    coefficients: Vec<f64>,
    coefficient_covariances: Vec<f64>,
}

#[derive(Deserialize, PartialEq)]
#[serde(rename_all = "lowercase")]
enum Estimated {
    Nothing,
    Strengths,
    All,
}

fn reference() -> Reference {
    serde_json::from_str(include_str!("reference.json")).unwrap()
}

impl Rows {
    fn of_node(&self, node: usize) -> impl Iterator<Item = usize> + Clone + '_ {
        (0..self.node.len()).filter(move |row| self.node[*row] == node)
    }

    fn weight(&self, row: usize, weighted: bool) -> f64 {
        if weighted { self.weights[row] } else { 1.0 }
    }

    fn moments(&self, weighted: bool) -> Vec<NodeMoments> {
        let row =
            |row: usize| (&self.features[row][..], self.labels[row], self.weight(row, weighted));
        let columns = self.features[0].len();
        (0..self.nodes).map(|node| NodeMoments::new(columns, self.of_node(node).map(row))).collect()
    }

    fn rows(&self, family: Family, weighted: bool) -> Vec<NodeRows> {
        let label = |row: usize| match family {
            Family::Counts => vec![self.labels[row]],
            Family::Classes(2) => vec![1.0 - self.labels[row], self.labels[row]],
            Family::Classes(classes) => (0..classes)
                .map(|c| f64::from(u8::from((self.labels[row] - c as f64).abs() < 0.5)))
                .collect(),
        };
        let node = |node| {
            let own = self.of_node(node);
            let features = own.clone().flat_map(|row| self.features[row].clone()).collect();
            let weights = own.clone().map(|row| self.weight(row, weighted)).collect();
            let labels = own.flat_map(label).collect();
            NodeRows::new(family, self.features[0].len(), features, labels, weights)
        };
        (0..self.nodes).map(node).collect()
    }
}

fn roots(squares: &[f64]) -> Vec<f64> {
    squares.iter().map(|square| square.sqrt()).collect()
}

impl Expected {
    fn check(&self, found: &MixedEstimate, tolerance: f64) {
        assert!(found.converged, "{}", self.name);
        let what = |part: &str| format!("{}: {part}", self.name);
        assert_close(&found.mean, &self.mean, tolerance, &what("mean"));
        let difference = (found.deviance - self.deviance).abs();
        assert!(difference < tolerance, "{}: deviances differ by {difference}", self.name);
    }
}

impl Deviations {
    fn check(&self, found: &MixedEstimate, tolerance: f64, name: &str) {
        let what = |part: &str| format!("{name}: {part}");
        assert_close(&found.covariance, &self.covariance, tolerance, &what("covariance"));
        assert_close(&found.modes, &self.modes, tolerance, &what("modes"));
        // Squared, for where a variance is zero its root is known to half the digits only.
        let variances: Vec<f64> = self.mode_errors.iter().map(|error| error.powi(2)).collect();
        let size = self.covariance.len().isqrt();
        let own = diagonals(&found.mode_covariances, size);
        assert_close(&own, &variances, tolerance, &what("variances of modes"));
    }
}

#[test]
fn linear_models_are_those_of_lmer() {
    const TOLERANCE: f64 = 1e-5;
    let reference = reference();
    for case in reference.linear {
        let rows = &reference.sets[&case.expected.set];
        let model = MixedModel {
            nodes: &rows.moments(case.weighted),
            columns: rows.features[0].len(),
            fixed: &case.expected.fixed,
            random: &case.expected.random,
            variances: &[],
            free: 0,
            correlated: case.deviations.correlated,
            likelihood: if case.restricted { Likelihood::Restricted } else { Likelihood::Full },
            precision: &Precision::independent(rows.nodes),
            rho: None,
            factor: None,
        };
        let found = model.fit().unwrap();
        case.expected.check(&found, TOLERANCE);
        let name = &case.expected.name;
        case.deviations.check(&found, TOLERANCE, name);
        assert_close(&[found.noise], &[case.noise], TOLERANCE, &format!("{name}: noise"));
        let errors = roots(&diagonals(&found.mean_covariance, model.fixed.len()));
        assert_close(&errors, &case.mean_errors, TOLERANCE, &format!("{name}: errors"));
    }
}

#[test]
fn classes_and_counts_are_those_of_glmer() {
    const TOLERANCE: f64 = 1e-4;
    let reference = reference();
    for case in reference.laplace {
        let rows = &reference.sets[&case.expected.set];
        let family = if case.family == "counts" { Family::Counts } else { Family::Classes(2) };
        let model = LaplaceModel {
            nodes: &rows.rows(family, case.weighted),
            columns: rows.features[0].len(),
            fixed: &case.expected.fixed,
            random: &case.expected.random,
            variances: &[],
            free: 0,
            correlated: case.deviations.correlated,
            precision: &Precision::independent(rows.nodes),
            rho: None,
        };
        let found = model.fit().unwrap();
        case.expected.check(&found, TOLERANCE);
        case.deviations.check(&found, TOLERANCE, &case.expected.name);
        let errors = roots(&diagonals(&found.mean_covariance, model.fixed.len()));
        assert_close(&errors, &case.mean_errors, TOLERANCE, &case.expected.name);
    }
}

#[test]
fn three_classes_are_those_of_the_approximation_by_its_definition() {
    const TOLERANCE: f64 = 1e-4;
    let reference = reference();
    for case in reference.classes {
        let rows = &reference.sets[&case.expected.set];
        let family = Family::Classes(case.count);
        let model = LaplaceModel {
            nodes: &rows.rows(family, false),
            columns: family.outputs() * rows.features[0].len(),
            fixed: &case.expected.fixed,
            random: &case.expected.random,
            variances: &[],
            free: 0,
            correlated: case.deviations.correlated,
            precision: &Precision::independent(rows.nodes),
            rho: None,
        };
        let found = model.fit().unwrap();
        case.expected.check(&found, TOLERANCE);
        case.deviations.check(&found, TOLERANCE, &case.expected.name);
    }
}

#[test]
fn models_along_a_network_are_those_of_mgcv() {
    let reference = reference();
    for case in reference.network {
        let rows = &reference.sets[&case.expected.set];
        let names = (0..rows.nodes).map(|node| node.to_string()).collect();
        let edges =
            case.edges.iter().map(|&(source, target, weight)| Edge { source, target, weight });
        let size = case.strengths.len();
        let mut factor = vec![0.0; size * size];
        for (entry, strength) in factor.iter_mut().step_by(size + 1).zip(&case.strengths) {
            *entry = strength.sqrt().recip();
        }
        let model = MixedModel {
            nodes: &rows.moments(false),
            columns: rows.features[0].len(),
            fixed: &case.expected.fixed,
            random: &case.expected.random,
            variances: &[],
            free: 0,
            correlated: false,
            likelihood: Likelihood::Restricted,
            precision: &Precision::along(&Network::new(names, edges).unwrap()),
            rho: (case.estimated != Estimated::All).then_some(case.rho),
            factor: (case.estimated == Estimated::Nothing).then_some(&factor),
        };
        let tolerance = if case.estimated == Estimated::Nothing { 1e-6 } else { 1e-5 };
        let found = model.fit().unwrap();
        case.expected.check(&found, tolerance);
        let check = |found: &[f64], expected: &[f64], part: &str| {
            assert_close(found, expected, tolerance, &format!("{}: {part}", case.expected.name));
        };
        check(&[found.rho], &[case.rho], "rho");
        check(&[found.noise], &[case.noise], "noise");
        let covariance: Vec<f64> = factor.iter().map(|entry| case.noise * entry * entry).collect();
        check(&found.covariance, &covariance, "covariance");
        check(&found.coefficients, &case.coefficients, "coefficients");
        let covariances = &case.coefficient_covariances;
        check(&found.coefficient_covariances, covariances, "covariances of coefficients");
    }
}
