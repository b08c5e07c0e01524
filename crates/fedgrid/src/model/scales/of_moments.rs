//! The scales of rows of which only means and covariances are known, because they are with several sites.

use std::sync::Arc;

use super::{Rescaling, Scales};
use crate::{
    data::{FeatureMoments, Scaling, by_name},
    error::{Result, same_size},
    model::LocalModel,
};

impl Scales {
    /// The scales of training rows with these moments; `target` has the mean and the deviation of a target of
    /// numbers. As those of the rows themselves, but for the units of slopes, which need the rows of every node. None
    /// if some model reads rows as they are.
    #[must_use]
    pub fn of_moments(
        features: &FeatureMoments,
        target: Option<(f64, f64)>,
        models: &[Arc<dyn LocalModel>],
    ) -> Option<Self> {
        let asked: Vec<Rescaling> = models.iter().map(|model| model.rescaling()).collect();
        if asked.contains(&Rescaling::Nothing) {
            return None;
        }
        let moments = || features.means().iter().enumerate();
        let variance = |column: usize| features.covariance(column, column).max(0.0);
        let scaling = if asked.iter().all(|asked| asked.is_shifted()) {
            let deviation = |(column, mean): (usize, &f64)| spread(*mean, variance(column).sqrt());
            Scaling {
                means: features.means().to_vec(),
                deviations: moments().map(deviation).collect(),
            }
        } else {
            let size = |(column, mean): (usize, &f64)| {
                let square = mean * mean + variance(column);
                if square > 0.0 { square.sqrt() } else { 1.0 }
            };
            Scaling {
                means: vec![0.0; features.means().len()],
                deviations: moments().map(size).collect(),
            }
        };
        let are_counts = models.iter().any(|model| model.smallest_label() > f64::NEG_INFINITY);
        let target = target.filter(|_| !are_counts);
        let target = target.map_or(1.0, |(mean, deviation)| spread(mean, deviation));
        Some(Self { names: features.names().clone(), scaling, target })
    }

    /// Moments of features of the table as models see them.
    pub fn moments(&self, table: &FeatureMoments) -> Result<FeatureMoments> {
        same_size("feature columns", table.means().len(), self.names.len())?;
        let order = by_name(&self.names);
        let Scaling { means, deviations } = &self.scaling;
        let scaled = order.iter().map(|&c| (table.means()[c] - means[c]) / deviations[c]).collect();
        let pairs = order.iter().flat_map(|&a| order.iter().map(move |&b| (a, b)));
        let covariance =
            pairs.map(|(a, b)| table.covariance(a, b) / (deviations[a] * deviations[b])).collect();
        let names = order.iter().map(|&column| self.names[column].clone()).collect();
        Ok(FeatureMoments::new(names, table.rows(), scaled, covariance)?.counting(table.count()))
    }
}

/// A deviation; one where it is no more than the rounding of the mean.
fn spread(mean: f64, deviation: f64) -> f64 {
    if deviation > 1e-12 * mean.abs() { deviation } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        data::{Dataset, Features, Labels},
        model::{Linear, Poisson, Tree},
        random::{Purpose, Stream},
    };

    #[test]
    fn moments_give_the_scales_of_their_rows() {
        let mut stream = Stream::new(5, 0, 0, Purpose::Data);
        let row = |_| [100.0 + stream.normal(), 3.0 * stream.normal(), 4.0];
        let rows: Vec<[f64; 3]> = (0..40).map(row).collect();
        let rows = Features::from_rows(&["c", "a", "b"], &rows).unwrap();
        let labels: Vec<f64> = (0..40).map(|k| f64::from(k % 7)).collect();
        let mean = labels.iter().sum::<f64>() / 40.0;
        let deviation = (labels.iter().map(|y| (y - mean).powi(2)).sum::<f64>() / 40.0).sqrt();
        let data = Dataset::new(rows.clone(), Labels::values(labels)).unwrap();
        let moments = FeatureMoments::of(&rows).unwrap();
        let models: [Arc<dyn LocalModel>; 4] = [
            Arc::new(Linear::default()),
            Arc::new(Linear { ridge: 0.0, intercept: false }),
            Arc::new(Tree::default()),
            Arc::new(Poisson::default()),
        ];
        for model in models {
            let models = [model];
            // Of one node, units of slopes are not known either.
            let expected = Scales::of(&["n".into()], std::slice::from_ref(&data), &models).unwrap();
            let expected = expected.unwrap();
            let found = Scales::of_moments(&moments, Some((mean, deviation)), &models).unwrap();
            assert!((found.target() / expected.target() - 1.0).abs() < 1e-12);
            let (own, all) = (found.features(&rows).unwrap(), expected.features(&rows).unwrap());
            let pairs = own.values().iter().zip(all.values());
            assert!(
                pairs.clone().count() == 120 && pairs.clone().all(|(a, b)| (a - b).abs() < 1e-9)
            );
            let (scaled, seen) =
                (found.moments(&moments).unwrap(), FeatureMoments::of(&all).unwrap());
            assert_eq!(scaled.names(), seen.names());
            for a in 0..3 {
                assert!((scaled.means()[a] - seen.means()[a]).abs() < 1e-9);
                for b in 0..3 {
                    assert!((scaled.covariance(a, b) - seen.covariance(a, b)).abs() < 1e-9);
                }
            }
        }
    }
}
