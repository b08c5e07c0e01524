//! What training rows leave known of the coefficients of a mixed model, in the units of features and labels.

use serde::{Deserialize, Serialize};

use super::{
    Predictive, Response,
    predictive::{full, triangle},
};
use crate::{
    algebra::add_outer,
    data::{Dataset, by_name},
    mixed::{Design, Family, MixedEstimate, RandomColumns},
    model::Scales,
};

/// Where the variance of a coefficient over nodes is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VarianceSource {
    /// The likelihood of the training rows.
    Estimated,
    /// It was given.
    Given,
    /// There is none: the coefficient is the same at every node.
    Shared,
    /// It is as large as can be: the coefficient is each node's own.
    Free,
}

/// The likelihoods of a model without a network, with and without covariances of a node's coefficients.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct CovarianceChoice {
    /// Minus twice the logarithm of the (restricted) likelihood with one variance for each coefficient.
    pub without: f64,
    /// The same with covariances.
    pub with: f64,
    /// How many covariances that takes.
    pub covariances: usize,
    /// By how much it must be smaller.
    pub price: f64,
    /// Whether it is, so that covariances are taken.
    pub taken: bool,
}

/// One coefficient over all nodes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CoefficientSpread {
    /// Its mean β.
    pub mean: f64,
    /// The standard error of the mean; none if the rows do not determine it.
    pub standard_error: Option<f64>,
    /// The variance τ of a node's deviation from the mean, before neighbours are looked at; for the intercept at the
    /// means of all features. None if the coefficient is each node's own.
    pub variance: Option<f64>,
    /// Where the variance is from.
    pub source: VarianceSource,
    /// The standard deviation of the coefficient over the nodes there are.
    pub deviation: f64,
    /// The same as a change of the linear prediction: at a feature one standard deviation from its mean, or, for
    /// the intercept, at the means of all features.
    pub effect: f64,
}

/// The coefficients of one linear predictor over all nodes: every feature, then the intercept.
#[derive(Debug, Clone, PartialEq)]
pub struct PredictorPosterior {
    mean: Vec<f64>,
    /// Lower triangles: of the errors of the mean, and over the nodes there are.
    mean_covariance: Vec<f64>,
    between: Vec<f64>,
    /// The standard deviations before neighbours are looked at, the intercept's at the means of all features.
    deviations: Vec<f64>,
    sources: Vec<VarianceSource>,
    effects: Vec<f64>,
}

/// The coefficients of all nodes with the covariances of their errors.
#[derive(Debug, Clone)]
pub struct Posterior {
    /// How sure predictions are.
    pub predictive: Predictive,
    /// Numbers and counts have one linear predictor, classes one for each but the first.
    pub predictors: Vec<PredictorPosterior>,
    /// How deviations of a node's coefficients belong together, in the order of all predictors, with the
    /// intercept at the means of features; none where they were taken for independent.
    pub correlations: Option<Vec<f64>>,
    /// ρ.
    pub rho: f64,
    /// Minus twice the logarithm of the (restricted) likelihood.
    pub deviance: f64,
    /// What covariances of a node's coefficients were worth, where there was a choice.
    pub covariances: Option<CovarianceChoice>,
    /// The nodes whose rows do not determine every coefficient of their own: they have the mean of the others.
    pub undetermined: Vec<usize>,
}

impl Posterior {
    /// From an estimate whose coefficients of these places differ from node to node.
    #[must_use]
    pub fn new(
        design: &Design,
        (estimate, random): (&MixedEstimate, &RandomColumns),
        family: Option<Family>,
        rows: &[Dataset],
    ) -> Self {
        let response = match family {
            None => Response::Normal(design.label_variance() * estimate.noise),
            Some(Family::Counts) => Response::Counts,
            Some(Family::Classes(_)) => Response::Classes,
        };
        let outputs = family.map_or(1, Family::outputs);
        let scaled = Scaled { design, estimate, random, outputs };
        let (between, variance) = (scaled.between(), scaled.embedded(&estimate.covariance));
        let own = estimate.coefficient_covariances.chunks_exact(scaled.size().pow(2));
        let of_node =
            |all: &[f64]| (0..outputs).flat_map(|output| scaled.raw(all, output)).collect();
        let (means, rows) = (estimate.mean.len(), rows.iter().map(Dataset::row_count).sum::<f64>());
        let predictor = |output| scaled.predictor(output, &between, &variance);
        Self {
            predictive: Predictive {
                response,
                // Rows of small weights may leave none, and Student's t has one at least.
                degrees_of_freedom: (rows - means as f64).max(1.0),
                covariances: own.map(of_node).collect(),
                unseen: None,
            },
            predictors: (0..outputs).map(predictor).collect(),
            correlations: scaled.correlations(&variance),
            rho: estimate.rho,
            deviance: estimate.deviance,
            covariances: None,
            undetermined: estimate.undetermined.clone(),
        }
    }

    /// The same in the units of the table, from those that models are trained in.
    #[must_use]
    pub fn for_table(&self, scales: &Scales) -> Self {
        let unit = match self.predictive.response {
            Response::Normal(_) => scales.target(),
            Response::Counts | Response::Classes => 1.0,
        };
        let to_table = ToTable { scales, unit };
        let mut same = self.clone();
        if let Response::Normal(noise) = &mut same.predictive.response {
            *noise *= unit.powi(2);
        }
        let entries = to_table.size() * (to_table.size() + 1) / 2;
        for own in &mut same.predictive.covariances {
            own.chunks_exact_mut(entries).for_each(|own| to_table.covariance(own));
        }
        for predictor in &mut same.predictors {
            predictor.mean = scales.coefficients(&predictor.mean, unit);
            to_table.covariance(&mut predictor.mean_covariance);
            to_table.covariance(&mut predictor.between);
            let level = predictor.deviations.last().map(|deviation| unit * deviation);
            predictor.deviations = scales.coefficients(&predictor.deviations, unit);
            // At the means of features no slope adds to it.
            if let Some((last, level)) = predictor.deviations.last_mut().zip(level) {
                *last = level;
            }
            predictor.sources = to_table.places().map(|place| predictor.sources[place]).collect();
            let effects = to_table.places().map(|place| unit * predictor.effects[place]).collect();
            predictor.effects = effects;
        }
        same.correlations = self.correlations.as_ref().map(|all| to_table.correlations(all));
        same
    }

    /// The same for nodes that were at the given places.
    pub(crate) fn put_back(mut self, places: &[usize]) -> Self {
        let own = &self.predictive.covariances;
        self.predictive.covariances = places.iter().map(|&place| own[place].clone()).collect();
        let was_open = |node: &usize| self.undetermined.contains(&places[*node]);
        self.undetermined = (0..places.len()).filter(was_open).collect();
        self
    }

    /// How labels spread around predictions, at nodes that nothing is known of, too: one more node differs from the mean of
    /// n as they differ among each other, and that mean has the n-th part of it as its error.
    // Not the errors of the mean coefficients: those are of a mean of all networks, about which one network says nothing
    // where ρ is next to one.
    #[must_use]
    pub fn into_predictive(self) -> Predictive {
        let more = 1.0 + 1.0 / self.predictive.covariances.len().max(1) as f64;
        let widened = |own: &PredictorPosterior| own.between.iter().map(|b| more * b).collect();
        let unseen = self.predictors.first().map(widened);
        Predictive { unseen, ..self.predictive }
    }

    /// The standard errors of a node's coefficients: for each predictor those of every feature, then that of
    /// the intercept; none of what rows do not determine.
    #[must_use]
    pub fn standard_errors(&self, node: usize) -> Vec<Vec<Option<f64>>> {
        let size = self.predictors[0].mean.len();
        let errors = |own: &[f64]| (0..size).map(|k| error(diagonal(own, k))).collect();
        let own = &self.predictive.covariances[node];
        own.chunks_exact(size * (size + 1) / 2).map(errors).collect()
    }
}

impl PredictorPosterior {
    /// Every feature, then the intercept.
    #[must_use]
    pub fn spreads(&self) -> Vec<CoefficientSpread> {
        let spread = |k: usize| CoefficientSpread {
            mean: self.mean[k],
            // Where features are zero, slopes without an error of their mean are part of the level.
            standard_error: error(diagonal(&self.mean_covariance, k)).filter(|_| {
                k + 1 < self.mean.len() || !self.sources.contains(&VarianceSource::Free)
            }),
            variance: (self.sources[k] != VarianceSource::Free).then(|| self.deviations[k].powi(2)),
            source: self.sources[k],
            deviation: diagonal(&self.between, k).sqrt(),
            effect: self.effects[k],
        };
        (0..self.mean.len()).map(spread).collect()
    }
}

/// From the units that models are trained in to those of the table, for linear predictors in this unit.
struct ToTable<'a> {
    scales: &'a Scales,
    unit: f64,
}

impl ToTable<'_> {
    fn size(&self) -> usize {
        self.scales.names().len() + 1
    }

    /// Where models have each coefficient of the table, the intercept last.
    fn places(&self) -> impl Iterator<Item = usize> {
        let order = by_name(self.scales.names());
        let mut places = vec![order.len(); order.len() + 1];
        order.iter().enumerate().for_each(|(place, &column)| places[column] = place);
        places.into_iter()
    }

    /// A V Aᵀ for the lower triangle of V, where A gives the coefficients of the table.
    fn covariance(&self, covariance: &mut [f64]) {
        let (mut matrix, size) = (full(covariance), self.size());
        for row in matrix.chunks_exact_mut(size) {
            row.copy_from_slice(&self.scales.coefficients(row, self.unit));
        }
        for column in 0..size {
            let along: Vec<f64> = (0..size).map(|row| matrix[row * size + column]).collect();
            let along = self.scales.coefficients(&along, self.unit);
            along.iter().enumerate().for_each(|(row, entry)| matrix[row * size + column] = *entry);
        }
        covariance.copy_from_slice(&triangle(&matrix));
    }

    fn correlations(&self, all: &[f64]) -> Vec<f64> {
        let whole = all.len().isqrt();
        let first_places = (0..whole).step_by(self.size());
        let order: Vec<usize> =
            first_places.flat_map(|first| self.places().map(move |place| first + place)).collect();
        order.iter().flat_map(|a| order.iter().map(move |b| all[a * whole + b])).collect()
    }
}

/// An entry on the diagonal of a triangle; rounding of raw units may leave less than nothing.
fn diagonal(triangle: &[f64], k: usize) -> f64 {
    triangle[k * (k + 3) / 2].max(0.0)
}

/// The standard error of a variance; what has none was left out.
fn error(variance: f64) -> Option<f64> {
    (variance > 0.0).then(|| variance.sqrt())
}

/// An estimate in the units of its design: the intercept first.
struct Scaled<'a> {
    design: &'a Design,
    estimate: &'a MixedEstimate,
    random: &'a RandomColumns,
    outputs: usize,
}

impl<'a> Scaled<'a> {
    fn columns(&self) -> usize {
        self.design.columns()
    }

    fn size(&self) -> usize {
        self.columns() * self.outputs
    }

    /// A matrix of the random coefficients as one of all.
    fn embedded(&self, small: &[f64]) -> Vec<f64> {
        let (size, mut large) = (self.size(), vec![0.0; self.size().pow(2)]);
        let places = &self.random.places;
        for (row, small) in places.iter().zip(small.chunks_exact(places.len().max(1))) {
            for (column, entry) in places.iter().zip(small) {
                large[row * size + column] = *entry;
            }
        }
        large
    }

    /// The expected covariance of coefficients over the nodes that determine them: that of their estimates, and the
    /// mean of what these leave open.
    fn between(&self) -> Vec<f64> {
        let size = self.size();
        let is_known = |node: &usize| !self.estimate.undetermined.contains(node);
        let of = |all: &'a [f64], size: usize| -> Vec<&'a [f64]> {
            let parts = all.chunks_exact(size.max(1)).enumerate();
            parts.filter(|(node, _)| is_known(node)).map(|(_, part)| part).collect()
        };
        let nodes = of(&self.estimate.coefficients, size);
        let count = nodes.len().max(1) as f64;
        let mean = |k: usize| nodes.iter().map(|own| own[k]).sum::<f64>() / count;
        let means: Vec<f64> = (0..size).map(mean).collect();
        let own = self.random.places.len().pow(2);
        let open = of(&self.estimate.mode_covariances, own);
        let open = |at: usize| open.iter().map(|part| part[at]).sum::<f64>() / count;
        let mut sum = self.embedded(&(0..own).map(open).collect::<Vec<_>>());
        for own in nodes {
            let deviation: Vec<f64> = own.iter().zip(&means).map(|(w, mean)| w - mean).collect();
            add_outer(&mut sum, 1.0 / count, &deviation);
        }
        sum
    }

    /// The part of a matrix of all coefficients that belongs to one predictor.
    fn block(&self, all: &[f64], output: usize) -> Vec<f64> {
        let (columns, first) = (self.columns(), output * self.columns());
        let row = |k: usize| &all[(first + k) * self.size() + first..][..columns];
        (0..columns).flat_map(row).copied().collect()
    }

    /// The same in raw units, as a lower triangle.
    fn raw(&self, all: &[f64], output: usize) -> Vec<f64> {
        triangle(&self.design.covariance_to_raw(&self.block(all, output)))
    }

    /// The mean of one predictor and the covariance of its errors, with zeros for columns that have none.
    fn mean(&self, output: usize) -> (Vec<f64>, Vec<f64>) {
        let (columns, fixed) = (self.columns(), self.design.fixed());
        let (first, size) = (output * fixed.len(), self.outputs * fixed.len());
        let (mut mean, mut covariance) = (vec![0.0; columns], vec![0.0; columns * columns]);
        for (a, row) in fixed.iter().enumerate() {
            mean[*row] = self.estimate.mean[first + a];
            for (b, column) in fixed.iter().enumerate() {
                let entry = self.estimate.mean_covariance[(first + a) * size + first + b];
                covariance[row * columns + column] = entry;
            }
        }
        (mean, covariance)
    }

    fn predictor(&self, output: usize, between: &[f64], variance: &[f64]) -> PredictorPosterior {
        let (design, columns) = (self.design, self.columns());
        let (mean, mean_covariance) = self.mean(output);
        let mean = design.to_raw(&mean);
        let scaled = self.block(between, output);
        let effect = |k: usize| {
            let square = self.column(k).map_or(0.0, |column| scaled[column * (columns + 1)]);
            (design.label_variance() * square.max(0.0)).sqrt()
        };
        PredictorPosterior {
            effects: (0..mean.len()).map(effect).collect(),
            mean,
            mean_covariance: triangle(&design.covariance_to_raw(&mean_covariance)),
            deviations: (0..=self.features())
                .map(|k| self.deviation(variance, output, k))
                .collect(),
            sources: (0..=self.features()).map(|k| self.source(output, k)).collect(),
            between: self.raw(between, output),
        }
    }

    /// The standard deviation of a raw coefficient before neighbours are looked at.
    fn deviation(&self, variance: &[f64], output: usize, k: usize) -> f64 {
        let Some(column) = self.column(k) else { return 0.0 };
        let own = output * self.columns() + column;
        let square = variance[own * (self.size() + 1)].max(0.0);
        self.design.coefficient_unit(column) * square.sqrt()
    }

    fn source(&self, output: usize, k: usize) -> VarianceSource {
        let random = self.random;
        let own = self.column(k).map(|column| output * self.columns() + column);
        match random.places.iter().position(|place| Some(*place) == own) {
            None => VarianceSource::Shared,
            // Free columns are the last.
            Some(place) if place >= random.places.len() - random.free => VarianceSource::Free,
            Some(place) if random.variances[place].is_some() => VarianceSource::Given,
            Some(_) => VarianceSource::Estimated,
        }
    }

    fn features(&self) -> usize {
        self.columns() - 1 + self.design.left_out().count()
    }

    /// The column of a raw coefficient.
    fn column(&self, k: usize) -> Option<usize> {
        if k == self.features() { Some(0) } else { self.design.column_of(k) }
    }

    /// The correlations of deviations, features before the intercept; none if all are zero.
    fn correlations(&self, variance: &[f64]) -> Option<Vec<f64>> {
        let (size, of_each) = (self.size(), self.features() + 1);
        let entry = |a: usize, b: usize| variance[a * size + b];
        if !(0..size).any(|a| (0..a).any(|b| entry(a, b) != 0.0)) {
            return None;
        }
        let place = |k: usize| {
            let column = self.column(k % of_each)?;
            Some(k / of_each * self.columns() + column)
        };
        let correlation = |a: usize, b: usize| {
            let (Some(a), Some(b)) = (place(a), place(b)) else {
                return f64::from(u8::from(a == b));
            };
            let scale = (entry(a, a) * entry(b, b)).sqrt();
            if a == b {
                1.0
            } else if scale > 0.0 {
                entry(a, b) / scale
            } else {
                0.0
            }
        };
        let all = self.outputs * of_each;
        Some((0..all * all).map(|at| correlation(at / all, at % all)).collect())
    }
}
