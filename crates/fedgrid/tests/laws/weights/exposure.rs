//! Counts over exposures: as statsmodels fits them, and as counts over one where all exposures are the same.

use std::sync::Arc;

use fedgrid::{
    compare::{Contestant, MethodKind, Strength, Study, Unwatched},
    data::{Dataset, Features, Labels},
    model::{LocalModel, ModelKind, Poisson},
};
use serde::Deserialize;

use super::sample::{Rows, Sample, Target};

#[derive(Deserialize)]
struct Reference {
    sets: Vec<ReferenceRows>,
}

#[derive(Deserialize)]
struct ReferenceRows {
    features: Vec<[f64; 2]>,
    exposure: Vec<f64>,
    weight: Vec<f64>,
    labels: Vec<f64>,
    fits: Vec<ReferenceFit>,
}

#[derive(Deserialize)]
struct ReferenceFit {
    weighted: bool,
    coefficients: [f64; 3],
    means: Vec<f64>,
}

impl ReferenceRows {
    fn data(&self, weighted: bool) -> Dataset {
        let features = Features::from_rows(&["a", "b"], &self.features).unwrap();
        let labels = Labels::values(self.labels.clone());
        let data = if weighted {
            Dataset::counted(features, labels, self.weight.clone())
        } else {
            Dataset::new(features, labels)
        };
        data.unwrap().with_exposures(self.exposure.clone()).unwrap()
    }
}

/// Numbers of statsmodels, which `tools/exposure_reference.py` makes again.
#[test]
fn counts_over_exposures_are_fitted_as_statsmodels_does_it() {
    let reference: Reference = serde_json::from_str(include_str!("reference.json")).unwrap();
    let model = Poisson { ridge: 0.0, intercept: true };
    for rows in &reference.sets {
        for fit in &rows.fits {
            let data = rows.data(fit.weighted);
            let fitted = model.fit(&data.clone().rates()).unwrap();
            let stored = model.as_parametric().unwrap().weights(fitted.as_ref()).unwrap();
            for (found, expected) in stored.iter().zip(&fit.coefficients) {
                assert!((found - expected).abs() < 1e-8, "{found} and {expected}");
            }
            let means = data.over_exposures(fitted.predict(data.features()));
            for (found, expected) in means.as_slice().iter().zip(&fit.means) {
                assert!((found - expected).abs() < 1e-8 * (1.0 + expected), "{found} {expected}");
            }
        }
    }
}

/// What each contestant of a study of counts predicts at new points.
fn rates(study: &Study, sample: &Sample, (contestant, alpha): (Contestant, f64)) -> Vec<f64> {
    let strength = Strength { alpha, ridge: Some(1e-3) };
    let fitted = study.fit_contestant(contestant, strength, &Unwatched).unwrap();
    let own = study.for_table(&fitted.hypotheses);
    own.iter().flat_map(|own| own.predict(&sample.points()).as_slice().to_vec()).collect()
}

/// A study of the same counts over one exposure.
fn over(sample: &Sample, exposure: f64) -> Study {
    let data = |rows: &Rows| {
        let data = Dataset::new(rows.features(), Labels::values(rows.y.clone())).unwrap();
        data.with_exposures(vec![exposure; rows.x.len()]).unwrap()
    };
    sample.study(sample.rows.iter().map(data).collect(), |rows| rows.roles.clone())
}

#[test]
fn counts_over_one_exposure_are_rates_of_counts() {
    const EXPOSURE: f64 = 7.0;
    let sample = Sample::new(5, Target::Counts, ModelKind::Poisson.with_defaults());
    for kind in [MethodKind::FedRelax, MethodKind::Gtv, MethodKind::Mixed] {
        let sample = Sample { method: kind.with_defaults(), ..sample.clone() };
        let [plain, over] = [over(&sample, 1.0), over(&sample, EXPOSURE)];
        // Losses of rates at public points are so much smaller than those of counts.
        let pull = if kind == MethodKind::FedRelax { EXPOSURE } else { 1.0 };
        let main = (Contestant::Network, 0.05);
        for (contestant, alpha) in [main, (Contestant::Local, 0.0), (Contestant::Pooled, 0.0)] {
            let counts = rates(&plain, &sample, (contestant, alpha));
            let rates = rates(&over, &sample, (contestant, pull * alpha));
            for (count, rate) in counts.iter().zip(&rates) {
                let difference = (EXPOSURE * rate - count).abs();
                assert!(difference < 1e-6 * count.max(1.0), "{kind}, {contestant}: {rate} {count}");
            }
        }
        // Errors are those of counts.
        let strength = Strength { alpha: 0.0, ridge: Some(1e-3) };
        let [a, b] = [&plain, &over].map(|study| {
            let fitted = study.fit_contestant(Contestant::Local, strength, &Unwatched).unwrap();
            study.score(&fitted.hypotheses, &study.plan.test)
        });
        for (a, b) in a.iter().zip(&b) {
            assert!((a.loss - b.loss).abs() < 1e-6 * (1.0 + a.loss), "{} {}", a.loss, b.loss);
        }
    }
}

#[test]
fn rows_of_the_same_features_are_one_of_their_joint_exposure() {
    let method = MethodKind::Mixed.with_defaults();
    let sample =
        Sample { method, ..Sample::new(8, Target::Counts, ModelKind::Poisson.with_defaults()) };
    // Every row in three parts, of which each has counted over a part of its exposure.
    let parts = |rows: &Rows, joined: bool| {
        let (mut x, mut y, mut exposure) = (Vec::new(), Vec::new(), Vec::new());
        for (row, (features, label)) in rows.x.iter().zip(&rows.y).enumerate() {
            let (first, second) = ((label / 2.0).floor(), (label / 3.0).floor());
            let shares = [(first, 0.5 + row as f64), (second, 2.0), (label - first - second, 0.1)];
            if joined {
                x.push(*features);
                y.push(*label);
                exposure.push(shares.iter().map(|(_, exposure)| exposure).sum());
            } else {
                for (count, over) in shares {
                    x.push(*features);
                    y.push(count);
                    exposure.push(over);
                }
            }
        }
        let features = Features::from_rows(&["a", "b"], &x).unwrap();
        let data = Dataset::new(features, Labels::values(y)).unwrap();
        data.with_exposures(exposure).unwrap()
    };
    let study = |joined: bool| {
        let data = sample.rows.iter().map(|rows| parts(rows, joined)).collect();
        let repeat = if joined { 1 } else { 3 };
        sample.study(data, |rows| rows.roles.iter().flat_map(|role| vec![*role; repeat]).collect())
    };
    let [joined, apart] =
        [study(true), study(false)].map(|study| rates(&study, &sample, (Contestant::Mixed, 0.0)));
    for (a, b) in joined.iter().zip(&apart) {
        assert!((a - b).abs() < 1e-6 * a.max(1.0), "{a} {b}");
    }
    let same: Arc<dyn LocalModel> = Arc::new(Poisson { ridge: 0.0, intercept: true });
    let [a, b] = [true, false].map(|joined| {
        let data = parts(&sample.rows[0], joined).rates();
        same.fit(&data).unwrap().predict(&sample.points()).as_slice().to_vec()
    });
    assert!(a.iter().zip(&b).all(|(a, b)| (a - b).abs() < 1e-9 * a.max(1.0)), "{a:?} {b:?}");
}
