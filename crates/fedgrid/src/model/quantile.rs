//! Linear quantile regression,
//!
//! ```text
//! (w, b) = argmin  Σ_r weight_r ρ(y_r − wᵀx_r − b) + ridge ‖w‖²,      ρ(t) = max(level · t, (level − 1) · t)
//! ```
//!
//! so that about a share `level` of the weight lies below the prediction; level ½ is the median. The
//! intercept b is never penalised. Among several minimisers a pull of 10⁻⁹ chooses the shortest.
//!
//! The minimum is found by the method of multipliers, whose inner problems have derivatives that are
//! clipped lines of slope 1/δ,
//!
//! ```text
//! z ← argmin Σ_r weight_r ∫ clip(t/δ + α_r, level − 1, level) dt + …      α_r ← clip(t_r/δ + α_r, level − 1, level)
//! ```
//!
//! and ends when every row with an inner multiplier is met to 10⁻¹⁰ of the mean residual: the
//! conditions of the minimum then hold to about 10⁻⁹ of the total weight. [Koenker & Bassett 1978;
//! Rockafellar 1976.]

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    Hypothesis, LocalModel, Parametric, Rescaling, Steps, Tunable, Vanishing, check,
    solver::{Affine, AffineModel, CentredRegression, PiecewiseQuadratic, QuadraticPulls},
};
use crate::{
    data::{Dataset, Task},
    error::{Error, Result, at_least_zero},
};

const NAME: &str = "a quantile regression";

/// A pull relative to the total weight over the spread of the target, which chooses among several
/// minimisers.
const TIE_BREAKING_PULL: f64 = 1e-9;

/// A row is met if its residual is this share of the mean one.
const RESIDUAL_TOLERANCE: f64 = 1e-10;

/// Where rounding prevents the tolerance, so much is still a solution.
const WORST_RESIDUAL_TOLERANCE: f64 = 1e-7;

/// Updates of the multipliers at most.
const MOST_UPDATES: usize = 60;

/// The narrowest smoothing δ, as a share of the mean residual.
const NARROWEST_WIDTH_SHARE: f64 = 1e-6;

/// A linear model of a quantile of the target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Quantile {
    /// The share of the target below the prediction, between zero and one; ½ is the median.
    #[schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1))]
    pub level: f64,
    /// The pull ≥ 0 of the slopes to zero.
    #[serde(skip_serializing)]
    #[schemars(skip)]
    pub ridge: f64,
    /// Whether a constant is added to the prediction.
    pub intercept: bool,
}

impl Default for Quantile {
    fn default() -> Self {
        Self { level: 0.5, ridge: 0.0, intercept: true }
    }
}

impl Quantile {
    fn check(&self) -> Result<()> {
        at_least_zero("ridge", self.ridge)?;
        if self.level > 0.0 && self.level < 1.0 {
            return Ok(());
        }
        let expected = "a number between zero and one";
        Err(Error::Parameter { name: "level", value: self.level, expected })
    }

    /// The minimiser, sought from the centres of the pulls.
    fn minimise(
        &self,
        rows: &[f64],
        labels: &[f64],
        weights: &[f64],
        pulls: &QuadraticPulls,
    ) -> Result<Vec<f64>> {
        let (low, high) = (self.level - 1.0, self.level);
        let clipped =
            |slope: f64| PiecewiseQuadratic { rows, labels, weights, pulls, slope, low, high };
        let mut point = pulls.centres.clone();
        let mut multipliers = vec![0.0; labels.len()];
        let scale = mean_size(&clipped(1.0).residuals(&point), weights);
        let rounding = 1e-14 * labels.iter().fold(0.0, |a: f64, y| a.max(y.abs()));
        // The start meets all rows, and a smoothing of no width would divide by zero.
        if scale <= rounding {
            return Ok(point);
        }
        let mut violation = f64::INFINITY;
        let mut width = scale;
        let mut narrowest = NARROWEST_WIDTH_SHARE * scale;
        for _ in 0..MOST_UPDATES {
            // A narrow smoothing meets rows sooner, but its Newton steps need a near start.
            let narrower = (0.1 * width).max(narrowest);
            let mut problem = clipped(1.0 / narrower);
            point = match problem.minimise(&multipliers, point.clone()) {
                Ok(next) => {
                    width = narrower;
                    next
                }
                // The multipliers get there at any width; a wider one has gentler kinks.
                Err(_) if narrower < width => {
                    narrowest = width;
                    problem = clipped(1.0 / width);
                    problem.minimise(&multipliers, point)?
                }
                Err(error) => return Err(error),
            };
            let residuals = problem.residuals(&point);
            multipliers = problem.forces(&multipliers, &residuals);
            let unmet = |(t, force): (&f64, &f64)| {
                let met = (*t > 0.0 && *force >= high) || (*t < 0.0 && *force <= low);
                if met { 0.0 } else { t.abs() }
            };
            violation = residuals.iter().zip(&multipliers).map(unmet).fold(0.0, f64::max);
            if violation <= RESIDUAL_TOLERANCE * scale + rounding {
                return Ok(point);
            }
        }
        if violation <= WORST_RESIDUAL_TOLERANCE * scale {
            return Ok(point);
        }
        Err(Error::NotConverged { what: "the method of multipliers", steps: MOST_UPDATES })
    }
}

/// The weighted mean of absolute values.
fn mean_size(values: &[f64], weights: &[f64]) -> f64 {
    let total: f64 = weights.iter().sum();
    let sum: f64 = values.iter().zip(weights).map(|(value, weight)| weight * value.abs()).sum();
    if total > 0.0 { sum / total } else { 0.0 }
}

impl LocalModel for Quantile {
    fn predicts(&self, task: Task) -> bool {
        task == Task::Regression
    }

    fn fit(&self, data: &Dataset) -> Result<Box<dyn Hypothesis>> {
        self.check()?;
        check::numbers(NAME, data.task())?;
        check::weight(NAME, data.total_weight())?;
        let data = data.without_zero_weights();
        let centred = CentredRegression::new(&data, self.intercept);
        let CentredRegression { basis, rows, labels, .. } = &centred;
        let spread = mean_size(labels, data.weights());
        let choice =
            if spread > 0.0 { TIE_BREAKING_PULL * data.total_weight() / spread } else { 1.0 };
        let penalties = basis.penalties(self.ridge, self.intercept);
        let strengths: Vec<f64> = penalties.iter().map(|ridge| (2.0 * ridge).max(choice)).collect();
        let pulls = QuadraticPulls { centres: vec![0.0; strengths.len()], strengths };
        let parameters = self.minimise(rows, labels, data.weights(), &pulls)?;
        Ok(Box::new(centred.hypothesis(&parameters)))
    }

    /// The level is not penalised, and between two labels any level may be as good.
    fn vanishing_rows(&self, _own: &Dataset) -> Vanishing {
        Vanishing::Choosing
    }

    fn rescaling(&self) -> Rescaling {
        Rescaling::Affine { intercept: self.intercept }
    }

    fn as_tunable(&self) -> Option<&dyn Tunable> {
        Some(self)
    }

    fn as_parametric(&self) -> Option<&dyn Parametric> {
        Some(self)
    }
}

impl Tunable for Quantile {
    fn with_ridge(&self, ridge: f64) -> Box<dyn LocalModel> {
        Box::new(Self { ridge, ..*self })
    }
}

impl AffineModel for Quantile {
    fn affine(&self) -> Affine {
        Affine { ridge: self.ridge, lasso: 0.0, intercept: self.intercept }
    }

    /// The level per unit below the label, one less the level per unit above it.
    fn row_loss(&self, label: f64, output: f64) -> f64 {
        (self.level * (label - output)).max((self.level - 1.0) * (label - output))
    }

    fn row_slope(&self, label: f64, output: f64) -> f64 {
        match label - output {
            0.0 => 0.0,
            t if t > 0.0 => -self.level,
            _ => 1.0 - self.level,
        }
    }

    fn is_smooth(&self) -> bool {
        false
    }

    fn subgradient_near(&self, data: &Dataset, w: &[f64], wanted: &[f64]) -> (Vec<f64>, f64) {
        self.affine().nearest_quantile(data, w, self.level, wanted)
    }

    fn proximal_step(&self, data: &Dataset, centre: &[f64], steps: Steps) -> Result<Vec<f64>> {
        self.check()?;
        check::numbers(NAME, data.task())?;
        self.affine().proximal(data, centre, steps, |rows, labels, weights, pulls| {
            self.minimise(rows, labels, weights, pulls)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        algebra::dot,
        data::{Features, Labels, Task},
        model::LinearHypothesis,
        random::{Purpose, Stream},
        testing::{self, Yardstick},
    };

    fn data(rows: &[[f64; 2]], labels: Vec<f64>, weights: Vec<f64>) -> Dataset {
        let features = Features::from_rows(&["a", "b"], rows).unwrap();
        Dataset::weighted(features, Labels::values(labels), weights).unwrap()
    }

    fn fit(model: &Quantile, data: &Dataset) -> LinearHypothesis {
        model.fit(data).unwrap().downcast_ref::<LinearHypothesis>().expect("linear").clone()
    }

    #[test]
    fn quantile_keeps_the_laws_of_local_and_parametric_models() {
        for (level, ridge, intercept) in
            [(0.5, 0.0, true), (0.9, 0.3, true), (0.2, 0.2, false), (0.3, 0.0, false)]
        {
            let model = Quantile { level, ridge, intercept };
            let loss =
                |y: &[f64], p: &[f64]| (level * (y[0] - p[0])).max((level - 1.0) * (y[0] - p[0]));
            let yardstick = Yardstick { loss: &loss, target: std::convert::identity };
            testing::check_local_model_by(&model, Task::Regression, &yardstick);
            testing::check_parametric(&model, Task::Regression);
        }
    }

    /// The loss has no negative slope in any direction; rows that are met count by their kink.
    #[test]
    fn no_direction_leads_down_from_the_fit_by_more_than_a_millionth() {
        let mut stream = Stream::new(1, 0, 0, Purpose::Data);
        for (round, (level, ridge)) in [(0.5, 0.0), (0.9, 0.0), (0.1, 0.5), (0.5, 2.0)]
            .into_iter()
            .cycle()
            .take(40)
            .enumerate()
        {
            // Every other round has whole numbers, where many rows tie.
            let mut draw = || {
                let x = 3.0 * stream.normal();
                if round % 2 == 0 { x } else { x.round() }
            };
            let rows: Vec<[f64; 2]> = (0..25).map(|_| [draw(), 10.0 + draw()]).collect();
            let data = data(&rows, rows.iter().map(|x| x[0] + draw()).collect(), vec![0.04; 25]);
            let model = Quantile { level, ridge, intercept: true };
            let fitted = fit(&model, &data);
            for _ in 0..50 {
                let direction = [stream.normal(), stream.normal(), 10.0 * stream.normal()];
                let mut slope = 2.0 * ridge * dot(&fitted.slopes, &direction[..2]);
                let predictions = fitted.predict(data.features());
                for (row, x) in rows.iter().enumerate() {
                    let t = data.labels().as_slice()[row] - predictions.as_slice()[row];
                    let fall = -dot(x, &direction[..2]) - direction[2];
                    let side = if t.abs() < 1e-7 { fall } else { t };
                    slope += 0.04 * fall * if side > 0.0 { level } else { level - 1.0 };
                }
                assert!(slope >= -1e-6, "{model:?}: {slope}");
            }
        }
    }

    #[test]
    fn a_constant_is_the_weighted_quantile() {
        let data = data(&[[1.0, 1.0]; 4], vec![5.0, 1.0, 2.0, 9.0], vec![1.0, 1.0, 2.0, 1.5]);
        for (level, expected) in [(0.1, 1.0), (0.4, 2.0), (0.7, 5.0), (0.9, 9.0)] {
            let fitted = fit(&Quantile { level, ..Quantile::default() }, &data);
            assert!((fitted.intercept - expected).abs() < 1e-9, "{level}: {fitted:?}");
        }
    }

    #[test]
    fn of_several_medians_the_one_closest_to_the_mean_is_chosen() {
        let data = data(&[[1.0, 1.0]; 4], vec![0.0, 1.0, 3.0, 20.0], vec![1.0; 4]);
        assert!((fit(&Quantile::default(), &data).intercept - 3.0).abs() < 1e-9);
    }

    #[test]
    fn a_level_outside_of_zero_and_one_is_refused() {
        let data = data(&[[1.0, 1.0]; 2], vec![5.0, 1.0], vec![1.0; 2]);
        let message = Quantile { level: 1.0, ..Quantile::default() }.fit(&data).unwrap_err();
        assert_eq!(message.to_string(), "level is 1, expected a number between zero and one");
    }
}
