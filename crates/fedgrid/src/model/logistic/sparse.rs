//! Logistic regression with a lasso: the proximal Newton method on the centred columns themselves.
//!
//! ```text
//! η = W (x − c) + a,      b = a − W c
//! ```
//!
//! with c the weighted mean row, so that slopes and intercepts hardly depend on each other.

use super::{Logistic, LogisticHypothesis, row_loss::CrossEntropy};
use crate::{
    algebra::dot,
    data::Dataset,
    error::Result,
    model::solver::{Affine, PenalisedLoss, RowLoss, centre},
};

impl Logistic {
    /// The shape and the penalty of each output.
    pub(super) fn affine(&self) -> Affine {
        Affine { ridge: self.ridge, lasso: self.lasso, intercept: self.intercept }
    }

    /// The minimiser for rows of positive weight.
    pub(super) fn solve_sparse(&self, data: &Dataset) -> Result<LogisticHypothesis> {
        let columns = data.features().columns();
        let centre = centre(data.features(), data.weights(), self.intercept);
        let width = self.affine().size(columns);
        let mut rows = self.affine().rows(data.features());
        for row in rows.chunks_exact_mut(width.max(1)) {
            row.iter_mut().zip(&centre).for_each(|(x, c)| *x -= c);
        }
        let loss = CrossEntropy::new(data);
        let mut strengths = vec![2.0 * self.ridge; columns];
        strengths.resize(width, 0.0);
        let zeros = vec![0.0; loss.outputs() * width];
        let problem = PenalisedLoss {
            loss: &loss,
            rows: &rows,
            width,
            weights: data.weights(),
            strengths: &strengths,
            centres: &zeros,
            lassos: &self.affine().lassos(columns),
        };
        let parameters = problem.minimise(zeros.clone())?;
        let vectors = parameters.chunks_exact(width.max(1)).map(|own| {
            let slopes = own[..columns].to_vec();
            let intercept = own.get(columns).copied().unwrap_or(0.0) - dot(&slopes, &centre);
            (slopes, intercept)
        });
        Ok(self.hypothesis_of(data, vectors))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        data::{Features, Labels, Task},
        model::{Hypothesis, LocalModel, Parametric},
        random::{Purpose, Stream},
        testing,
    };

    fn data(classes: usize, rows: usize, columns: usize) -> Dataset {
        let mut stream = Stream::new(3, 0, 0, Purpose::Data);
        let values: Vec<f64> = (0..rows * columns).map(|_| 2.0 + stream.normal()).collect();
        let class = |x: &[f64]| if x[0] > 2.0 { classes - 1 } else { 0 };
        let mut labels: Vec<usize> = values.chunks_exact(columns).map(class).collect();
        for row in (0..rows).step_by(3) {
            labels[row] = stream.index(classes);
        }
        let names = (0..columns).map(|column| format!("x{column}")).collect();
        let labels = Labels::classes(classes, &labels).unwrap();
        let weights = (0..rows).map(|_| 0.1 + stream.uniform()).collect();
        Dataset::weighted(Features::new(names, values).unwrap(), labels, weights).unwrap()
    }

    fn fit(model: &Logistic, data: &Dataset) -> LogisticHypothesis {
        model.fit(data).unwrap().downcast_ref::<LogisticHypothesis>().expect("logistic").clone()
    }

    #[test]
    fn logistic_with_a_lasso_keeps_the_laws_of_local_and_parametric_models() {
        for classes in [2, 3] {
            for (ridge, lasso, intercept) in [(0.0, 0.3, true), (0.1, 0.2, true), (0.0, 0.1, false)]
            {
                let model = Logistic { ridge, lasso, intercept };
                let task = Task::Classification { classes };
                testing::check_local_model(&model, task);
                testing::check_parametric(&model, task);
            }
        }
    }

    #[test]
    fn slopes_are_zero_or_balance_the_lasso() {
        for (classes, rows, columns) in [(2, 40, 5), (3, 40, 5), (2, 8, 30), (4, 8, 30)] {
            let data = data(classes, rows, columns);
            for (ridge, lasso) in [(0.0, 0.01), (0.0, 1.0), (0.2, 0.1)] {
                let model = Logistic { ridge, lasso, intercept: true };
                let fitted = fit(&model, &data);
                let weights = model.weights(&fitted).unwrap();
                let smooth = Logistic { lasso: 0.0, ..model }.gradient(&data, &weights);
                for (k, (w, g)) in weights.iter().zip(&smooth).enumerate() {
                    let lasso = if k % (columns + 1) == columns { 0.0 } else { lasso };
                    let violation = if *w == 0.0 {
                        (g.abs() - lasso).max(0.0)
                    } else {
                        (g + lasso * w.signum()).abs()
                    };
                    assert!(violation < 1e-8, "{classes} classes, {ridge} {lasso}: {violation}");
                }
            }
        }
    }

    #[test]
    fn a_vanishing_lasso_changes_nothing_and_a_strong_one_leaves_every_feature_out() {
        for classes in [2, 3] {
            let data = data(classes, 40, 4);
            let model = Logistic { ridge: 0.1, lasso: 0.0, intercept: true };
            let (plain, close) =
                (fit(&model, &data), fit(&Logistic { lasso: 1e-12, ..model }, &data));
            let (p, q) = (plain.predict(data.features()), close.predict(data.features()));
            assert!(p.as_slice().iter().zip(q.as_slice()).all(|(p, q)| (p - q).abs() < 1e-9));
            let strong = fit(&Logistic { ridge: 0.1, lasso: 1e3, intercept: true }, &data);
            assert!(strong.slopes.concat().iter().all(|w| *w == 0.0));
            let prediction = strong.predict(data.features());
            for (p, mean) in prediction.row(0).iter().zip(data.mean_label()) {
                assert!((p - mean).abs() < 1e-9);
            }
        }
    }
}
