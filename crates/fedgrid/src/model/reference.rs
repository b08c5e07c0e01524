//! The linear family beside scikit-learn 1.9 on the same eight weighted rows. In Python,
//!
//! ```text
//! X, y, w, two, three, counts = …          the arrays below
//! W = w.sum(); ridge, lasso = 0.5, 0.8     sample_weight=w and tol=1e-13 or less everywhere
//! ```
#![expect(clippy::unreadable_literal, reason = "these are the numbers as Python prints them")]

use super::{ElasticNet, Huber, Linear, Logistic, Parametric, Poisson, Quantile};
use crate::data::{Dataset, Features, Labels};

const X: [[f64; 3]; 8] = [
    [0.5, 1.2, 3.0],
    [1.5, -0.3, 2.0],
    [-0.7, 0.8, 5.0],
    [2.2, 0.1, 4.0],
    [0.3, -1.5, 1.0],
    [-1.1, 0.4, 6.0],
    [0.9, 2.0, 3.5],
    [1.8, -0.9, 0.5],
];
const Y: [f64; 8] = [1.0, 2.5, -0.5, 3.0, 0.2, -1.4, 2.1, 9.0];
const W: [f64; 8] = [1.0, 2.0, 0.5, 1.0, 1.5, 1.0, 0.8, 1.2];
const TWO: [usize; 8] = [0, 1, 0, 1, 1, 0, 1, 0];
const THREE: [usize; 8] = [0, 1, 0, 1, 2, 2, 1, 0];
const COUNTS: [f64; 8] = [1.0, 3.0, 0.0, 4.0, 1.0, 0.0, 2.0, 5.0];
const RIDGE: f64 = 0.5;
const LASSO: f64 = 0.8;

/// The fitted weights are these; scikit-learn's own are exact to about 10⁻¹⁰.
fn assert_weights(model: &dyn Parametric, labels: Labels, expected: &[f64]) {
    assert_weights_within(1e-9, model, labels, expected);
}

fn assert_weights_within(tolerance: f64, model: &dyn Parametric, labels: Labels, expected: &[f64]) {
    let features = Features::from_rows(&["a", "b", "c"], &X).unwrap();
    let data = Dataset::weighted(features, labels, W.to_vec()).unwrap();
    let weights = model.weights(model.fit(&data).unwrap().as_ref()).unwrap();
    assert_eq!(weights.len(), expected.len());
    for (own, other) in weights.iter().zip(expected) {
        assert!((own - other).abs() <= tolerance * (1.0 + other.abs()), "{weights:?} {expected:?}");
    }
}

#[test]
fn ridge_lasso_and_elastic_net_are_those_of_scikit_learn() {
    let labels = || Labels::values(Y.to_vec());
    // Ridge(alpha=ridge, solver="svd")
    let expected = [1.6023044863643656, 0.2001209771414713, -0.585546643943015, 2.4797664367011345];
    assert_weights(&Linear { ridge: RIDGE, intercept: true }, labels(), &expected);
    // Lasso(alpha=lasso/(2*W))
    let expected = [1.6891746446416, 0.11208919403667009, -0.5192701937545854, 2.2246699373174437];
    let model = ElasticNet { ridge: 0.0, lasso: LASSO, intercept: true };
    assert_weights(&model, labels(), &expected);
    // a = lasso/(2*W) + ridge/W; ElasticNet(alpha=a, l1_ratio=lasso/(2*W)/a)
    let expected = [1.58241274963674, 0.1131505675787443, -0.5434784233661537, 2.380245502047864];
    let model = ElasticNet { ridge: RIDGE, lasso: LASSO, intercept: true };
    assert_weights(&model, labels(), &expected);
}

#[test]
fn logistic_regression_of_two_classes_is_that_of_scikit_learn() {
    let labels = || Labels::classes(2, &TWO).unwrap();
    // LogisticRegression(C=1/(2*ridge), solver="newton-cg")
    let expected =
        [0.5331451550696256, -0.18367413812359126, -0.0773923180599235, 0.13934907663493643];
    let model = Logistic { ridge: RIDGE, lasso: 0.0, intercept: true };
    assert_weights(&model, labels(), &expected);
    // LogisticRegression(C=1/lasso, l1_ratio=1, solver="saga")
    let expected = [0.4512832276164472, 0.0, -0.05306628305089026, 0.13770807977509691];
    let model = Logistic { ridge: 0.0, lasso: LASSO, intercept: true };
    assert_weights(&model, labels(), &expected);
    // s = lasso + 2*ridge; LogisticRegression(C=1/s, l1_ratio=lasso/s, solver="saga")
    let expected = [0.28245134662308385, 0.0, -0.09126242571278627, 0.37770865071148707];
    let model = Logistic { ridge: RIDGE, lasso: LASSO, intercept: true };
    assert_weights(&model, labels(), &expected);
}

#[test]
fn logistic_regression_of_three_classes_is_that_of_scikit_learn() {
    let labels = || Labels::classes(3, &THREE).unwrap();
    // The same with y=three, and intercept_ - intercept_.mean().
    let expected = [
        [0.0, 0.0, -0.19935876143395276, 0.6308297646773483],
        [0.9346798123182617, 0.0, 0.10042611626816675, -0.8245350615430117],
        [-0.8354537546920647, -1.001303070453402, 0.0, 0.19370529686566335],
    ];
    let model = Logistic { ridge: 0.0, lasso: LASSO, intercept: true };
    assert_weights(&model, labels(), &expected.concat());
    let expected = [
        [0.0, 0.0, -0.09876903096938815, 0.23671072072231225],
        [0.5422471598429062, 0.00819583270605631, 0.05649042557436033, -0.3829796863597291],
        [-0.544252923263094, -0.46770693988181783, 0.0, 0.14626896563741687],
    ];
    let model = Logistic { ridge: RIDGE, lasso: LASSO, intercept: true };
    assert_weights(&model, labels(), &expected.concat());
}

#[test]
fn quantile_and_poisson_regression_are_those_of_scikit_learn() {
    // QuantileRegressor(quantile=level, alpha=0, solver="highs")
    for (level, expected) in [
        (0.5, [1.6495568685376663, 0.21787296898079758, 0.05908419497784364, -0.02714180206794739]),
        (0.8, [0.32620219613782736, -0.661681181370692, -1.5625141991669826, 8.59858008330178]),
    ] {
        let model = Quantile { level, ridge: 0.0, intercept: true };
        assert_weights(&model, Labels::values(Y.to_vec()), &expected);
    }
    // PoissonRegressor(alpha=2*ridge/W, solver="newton-cholesky")
    let expected =
        [0.9060731621959165, 0.1501751909760637, -0.22657768808976797, 0.22613734534314436];
    let model = Poisson { ridge: RIDGE, intercept: true };
    assert_weights(&model, Labels::values(COUNTS.to_vec()), &expected);
}

/// scikit-learn's `HuberRegressor` also learns a scale, and stops about 10⁻⁵ from its minimum.
#[test]
fn huber_regression_is_that_of_scipy() {
    // A, b = X with a column of ones and y, each row 10*w times;
    // scipy.optimize.least_squares(lambda z: A @ z - b, zeros(4), loss="huber", f_scale=threshold,
    //                              xtol=1e-15, ftol=1e-15, gtol=1e-15)
    for (threshold, expected) in [
        (0.5, [1.4271492397379617, 0.29307589641706644, -0.13793272153642966, 0.6703250485748742]),
        (1.35, [1.4940387859399593, 0.2730172844010024, -0.24036006160169182, 1.0693352032049648]),
    ] {
        let model = Huber { threshold, ridge: 0.0, intercept: true };
        assert_weights_within(1e-7, &model, Labels::values(Y.to_vec()), &expected);
    }
}
