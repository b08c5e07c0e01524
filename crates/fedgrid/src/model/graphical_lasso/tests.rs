//! The laws of parametric models for a loss that is finite only where Θ is positive definite, and what
//! the model owes to least squares.

use super::*;
use crate::{
    algebra::{add_scaled, norm, scale},
    model::Linear,
    random::{Purpose, Stream},
};

fn data(rows: usize, seed: u64) -> Dataset {
    let mut stream = Stream::new(seed, 0, 0, Purpose::Data);
    let names = ["a", "b"].map(String::from).into();
    let values = (0..2 * rows).map(|_| 1.0 + stream.normal()).collect();
    let features = Features::new(names, values).unwrap();
    let label = |x: &[f64], stream: &mut Stream| 2.0 * x[0] - x[1] + 3.0 + 0.5 * stream.normal();
    let labels = Labels::values(features.iter().map(|x| label(x, &mut stream)).collect());
    let weights = (0..rows).map(|_| 0.1 + stream.uniform()).collect();
    Dataset::weighted(features, labels, weights).unwrap()
}

fn models() -> Vec<GraphicalLasso> {
    let strengths = [(0.0, 0.0), (0.1, 0.0), (0.0, 0.3), (0.05, 0.7)];
    let model =
        |(ridge, lasso)| [true, false].map(|intercept| GraphicalLasso { ridge, lasso, intercept });
    strengths.into_iter().flat_map(model).collect()
}

/// Random weights near those of the identity.
fn point(model: &GraphicalLasso, seed: u64) -> Vec<f64> {
    let mut stream = Stream::new(seed, 1, 0, Purpose::Start);
    let mut weights = model.start(2, Task::Regression);
    for weight in &mut weights {
        *weight += 0.1 * stream.normal();
    }
    weights
}

#[test]
fn the_gradient_is_that_of_the_loss() {
    let data = data(12, 1);
    for (model, seed) in models().iter().flat_map(|model| (0..3).map(move |seed| (model, seed))) {
        let point = point(model, seed);
        for (k, slope) in model.gradient(&data, &point).iter().enumerate() {
            let loss = |step: f64| {
                let mut moved = point.clone();
                moved[k] += step;
                model.loss(&data, &moved)
            };
            let quotient = (loss(1e-6) - loss(-1e-6)) / 2e-6;
            assert!((slope - quotient).abs() < 1e-6 * (1.0 + slope.abs()), "{model:?}");
        }
    }
}

/// How far a slope of the loss is from given numbers, at the nearest of all slopes.
fn distance(model: &GraphicalLasso, data: &Dataset, weights: &[f64], expected: &[f64]) -> f64 {
    let lassos = weights_of(&model.problem(data).lassos, model.variables(2));
    let slopes = model.gradient(data, weights);
    let each = slopes.iter().zip(expected).zip(lassos.iter().zip(weights));
    let miss = each.map(|((slope, expected), (lasso, weight))| {
        let miss = (slope - expected).abs();
        // At the kink every slope within the lasso is one.
        if *weight == 0.0 { (miss - lasso).max(0.0) } else { miss }
    });
    miss.fold(0.0, f64::max)
}

#[test]
fn a_proximal_step_meets_the_conditions_of_its_minimum() {
    let silent =
        Dataset::weighted(data(2, 3).features().clone(), data(2, 3).labels().clone(), vec![0.0; 2])
            .unwrap();
    for model in models() {
        for (data, step) in [0.01, 1.0, 30.0]
            .iter()
            .flat_map(|t| [data(12, 1), data(1, 2), silent.clone()].map(move |data| (data, *t)))
        {
            let centre = point(&model, 7);
            let found = model.proximal(&data, &centre, step).unwrap();
            let mut pull = centre.clone();
            add_scaled(&mut pull, -1.0, &found);
            scale(&mut pull, 1.0 / step);
            let miss = distance(&model, &data, &found, &pull);
            assert!(miss < 1e-7 * (1.0 + 1.0 / step), "{model:?}, step {step}: {miss}");
        }
        for step in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(model.proximal(&data(12, 1), &point(&model, 1), step).is_err());
        }
        assert!(model.proximal(&data(12, 1), &point(&model, 1)[1..], 1.0).is_err());
    }
}

#[test]
fn the_fit_has_no_slope_and_stays_where_it_is() {
    let data = data(12, 1);
    for model in models() {
        let fitted = model.weights(model.fit(&data).unwrap().as_ref()).unwrap();
        let flat = vec![0.0; fitted.len()];
        assert!(distance(&model, &data, &fitted, &flat) < 1e-7, "{model:?}");
        let mut moved = model.proximal(&data, &fitted, 1.0).unwrap();
        add_scaled(&mut moved, -1.0, &fitted);
        assert!(norm(&moved) < 1e-7 * norm(&fitted), "{model:?}");
        let again = model.hypothesis(data.features().names(), data.task(), &fitted);
        assert_eq!(model.weights(again.as_ref()).unwrap(), fitted);
    }
}

#[test]
fn without_ridge_and_lasso_it_predicts_as_least_squares() {
    let data = data(12, 1);
    for intercept in [true, false] {
        let own = GraphicalLasso { ridge: 0.0, lasso: 0.0, intercept }.fit(&data).unwrap();
        let linear = Linear { ridge: 0.0, intercept }.fit(&data).unwrap();
        let (own, linear) = (own.predict(data.features()), linear.predict(data.features()));
        for (a, b) in own.as_slice().iter().zip(linear.as_slice()) {
            assert!((a - b).abs() < 1e-10, "{a} {b}");
        }
    }
}

#[test]
fn a_strong_lasso_finds_everything_independent_and_predicts_the_mean() {
    let data = data(12, 1);
    let fitted = GraphicalLasso { lasso: 1e4, ridge: 0.0, intercept: true }.fit(&data).unwrap();
    let own = fitted.downcast_ref::<GraphicalLassoHypothesis>().expect("a graphical lasso").clone();
    let precision = own.precision();
    assert!([1, 2, 6].iter().all(|&k| precision[k] == 0.0), "{precision:?}");
    let mean = data.mean_label()[0];
    for prediction in fitted.predict(data.features()).as_slice() {
        assert!((prediction - mean).abs() < 1e-6, "{prediction} {mean}");
    }
}

#[test]
fn with_lasso_weights_are_copies_of_rows_and_no_weight_is_no_row() {
    let data = data(9, 1);
    let model = GraphicalLasso { ridge: 0.01, lasso: 0.2, intercept: true };
    let (features, labels) = (data.features().clone(), data.labels().clone());
    let counts: Vec<f64> = (0..9).map(|row| f64::from(row % 3)).collect();
    let copies: Vec<usize> = (0..9).rev().flat_map(|row| vec![row; row % 3]).collect();
    let weighted = Dataset::weighted(features.clone(), labels.clone(), counts).unwrap();
    let copied = Dataset::weighted(features, labels, vec![1.0; 9]).unwrap().select(&copies);
    let fit = |data: &Dataset| model.weights(model.fit(data).unwrap().as_ref()).unwrap();
    for (a, b) in fit(&weighted).iter().zip(fit(&copied)) {
        assert!((a - b).abs() < 1e-9 * (1.0 + b.abs()), "{a} {b}");
    }
}

#[test]
fn rows_that_leave_a_variance_zero_and_odd_values_are_refused() {
    let model = GraphicalLasso { ridge: 0.0, lasso: 0.1, intercept: true };
    let message = model.fit(&data(2, 1)).unwrap_err().to_string();
    assert_eq!(
        message,
        "a graphical lasso cannot be fitted: its rows leave a variance zero; a ridge above zero \
         would do"
    );
    assert!(GraphicalLasso { lasso: -1.0, ..model.clone() }.fit(&data(9, 1)).is_err());
    let sound = model
        .fit(&data(9, 1))
        .unwrap()
        .downcast_ref::<GraphicalLassoHypothesis>()
        .expect("a graphical lasso")
        .clone();
    sound.check().unwrap();
    let refused =
        |weights: Vec<f64>| GraphicalLassoHypothesis { weights, ..sound.clone() }.check().is_err();
    assert!(refused(vec![1.0; 3]) && refused(vec![f64::NAN; 10]) && refused(vec![-1.0; 10]));
}
