//! Where a loss has kinks it has many subgradients; these are the ones nearest to what is wanted, with the
//! height by which their lines may lie above the loss,
//!
//! ```text
//! L(v) ≥ L(w) + gᵀ(v − w) − excess      for all v
//! lasso |w_k|, w_k = 0       any slope in [−lasso, lasso], no excess
//! row ρ(y − η), η near y     any slope s in [−level, 1 − level], excess ρ − s (η − y)
//! ```
//!
//! Certificates of networks stand on them: a proximal step that is not exact costs tightness, never truth.

use super::affine::Affine;
use crate::{
    algebra::{Singular, add_scaled, dot},
    data::Dataset,
};

/// A row whose residual is below this share of the mean one is at its kink.
const KINK_RESIDUAL_SHARE: f64 = 1e-7;

/// And so is one whose residual is below this share of the largest label: less is rounding.
const KINK_LABEL_SHARE: f64 = 1e-9;

/// Singular values below this share of the largest say nothing about slopes.
const RANK_TOLERANCE: f64 = 1e-10;

impl Affine {
    /// Moves a subgradient towards what is wanted where slopes are zero.
    pub(crate) fn nearest_lasso(self, slopes: &[f64], gradient: &mut [f64], wanted: &[f64]) {
        for ((w, g), wanted) in slopes.iter().zip(gradient).zip(wanted) {
            if *w == 0.0 {
                *g += (wanted - *g).clamp(-self.lasso, self.lasso);
            }
        }
    }

    /// The subgradient of Σ weight max(−level (η − y), (1 − level)(η − y)) + penalty, and its excess.
    pub(crate) fn nearest_quantile(
        self,
        data: &Dataset,
        weights: &[f64],
        level: f64,
        wanted: &[f64],
    ) -> (Vec<f64>, f64) {
        let data = data.without_zero_weights();
        let (rows, labels) = (self.rows(data.features()), data.labels().as_slice());
        let width = weights.len().max(1);
        let over: Vec<f64> =
            rows.chunks_exact(width).zip(labels).map(|(x, y)| dot(x, weights) - y).collect();
        let mean = over.iter().map(|t| t.abs()).sum::<f64>() / over.len().max(1) as f64;
        let largest = labels.iter().fold(0.0, |a: f64, y| a.max(y.abs()));
        let near = KINK_RESIDUAL_SHARE * mean + KINK_LABEL_SHARE * largest;
        let mut gradient = self.penalty_gradient(&weights[..data.features().columns()]);
        gradient.resize(weights.len(), 0.0);
        let mut kinks = (Vec::new(), Vec::new());
        for ((x, t), weight) in rows.chunks_exact(width).zip(&over).zip(data.weights()) {
            if t.abs() <= near {
                kinks.0.extend(x.iter().map(|x| weight * x));
                kinks.1.push((*t, *weight));
            } else {
                add_scaled(&mut gradient, weight * if *t > 0.0 { 1.0 - level } else { -level }, x);
            }
        }
        // What the rows away from their kinks leave over is for the free slopes to make up.
        let mut left = wanted.to_vec();
        add_scaled(&mut left, -1.0, &gradient);
        let slopes = nearest_slopes(&kinks.0, left, (-level, 1.0 - level));
        let mut excess = 0.0;
        for ((row, slope), (t, weight)) in kinks.0.chunks_exact(width).zip(slopes).zip(kinks.1) {
            add_scaled(&mut gradient, slope, row);
            excess += weight * ((-level * t).max((1.0 - level) * t) - slope * t);
        }
        (gradient, excess)
    }
}

/// Slopes of rows within bounds whose sum is near what is wanted: those that would leave the bounds
/// are put on them, until none would.
fn nearest_slopes(rows: &[f64], mut wanted: Vec<f64>, bounds: (f64, f64)) -> Vec<f64> {
    let width = wanted.len().max(1);
    let mut slopes = vec![0.0; rows.len() / width];
    let mut free: Vec<usize> = (0..slopes.len()).collect();
    while !free.is_empty() {
        let own: Vec<f64> =
            free.iter().flat_map(|&r| rows[r * width..(r + 1) * width].iter().copied()).collect();
        let svd = Singular::new(&own, width);
        let largest = svd.values.iter().fold(0.0, |a: f64, b| a.max(*b));
        let mut found = vec![0.0; free.len()];
        for ((s, left), right) in svd.values.iter().zip(&svd.scaled_left).zip(&svd.right) {
            if *s > RANK_TOLERANCE * largest {
                add_scaled(&mut found, dot(right, &wanted) / (s * s), left);
            }
        }
        // Every turn but the last puts a slope on its bound for good, so there are no more turns
        // than rows.
        let before = free.len();
        let mut kept = Vec::new();
        for (&row, slope) in free.iter().zip(&found) {
            slopes[row] = slope.clamp(bounds.0, bounds.1);
            if (bounds.0..=bounds.1).contains(slope) {
                kept.push(row);
            } else {
                add_scaled(&mut wanted, -slopes[row], &rows[row * width..(row + 1) * width]);
            }
        }
        if kept.len() == before {
            break;
        }
        free = kept;
    }
    slopes
}

#[cfg(test)]
mod tests {
    use crate::{
        algebra::{dot, squared_distance},
        data::{Dataset, Features, Labels},
        model::{ElasticNet, Logistic, Parametric, Quantile},
        random::{Purpose, Stream},
    };

    #[test]
    fn no_line_of_a_nearest_subgradient_lies_above_the_loss_by_more_than_its_excess() {
        let stream = &mut Stream::new(4, 0, 0, Purpose::Data);
        let rows: Vec<[f64; 2]> = (0..6).map(|_| [stream.normal(), stream.normal()]).collect();
        let features = Features::from_rows(&["a", "b"], &rows).unwrap();
        // The plane w meets the first two rows all but exactly.
        let w = [0.7, 0.0, 0.2];
        let label = |(row, x): (usize, &[f64; 2])| {
            w[0] * x[0] + w[2] + if row < 2 { 1e-10 } else { stream.normal() }
        };
        let numbers: Vec<f64> = rows.iter().enumerate().map(label).collect();
        let classes = Labels::classes(2, &[0, 1, 1, 0, 1, 0]).unwrap();
        let numbers = Dataset::new(features.clone(), Labels::values(numbers)).unwrap();
        let classes = Dataset::new(features, classes).unwrap();
        let cases: [(Box<dyn Parametric>, &Dataset, bool); 3] = [
            (Box::new(ElasticNet { ridge: 0.1, lasso: 0.4, intercept: true }), &numbers, true),
            (Box::new(Logistic { ridge: 0.0, lasso: 0.4, intercept: true }), &classes, true),
            (Box::new(Quantile { level: 0.3, ridge: 0.1, intercept: true }), &numbers, false),
        ];
        for (model, data, exact) in cases {
            let gradient = model.gradient(data, &w);
            let wanted: Vec<f64> = gradient.iter().map(|g| g + 0.05 * stream.normal()).collect();
            let (near, excess) = model.subgradient(data, &w, &wanted);
            assert!((excess == 0.0) == exact && (0.0..1e-8).contains(&excess), "{model:?}");
            let distance = |g: &[f64]| squared_distance(g, &wanted);
            assert!(distance(&near) < distance(&gradient), "{model:?}");
            for _ in 0..500 {
                let size = 10.0_f64.powf(-12.0 * stream.uniform());
                let step: Vec<f64> = w.iter().map(|_| size * stream.normal()).collect();
                let v: Vec<f64> = w.iter().zip(&step).map(|(w, s)| w + s).collect();
                let line = model.loss(data, &w) + dot(&near, &step);
                assert!(model.loss(data, &v) >= line - excess - 1e-14, "{model:?}");
            }
        }
    }
}
