//! Coefficients over nodes, as the page draws them, and how much they differ.

use fedgrid::uncertainty::{CovarianceChoice, VarianceSource};
use minijinja::{Value, context};

use super::{
    Page,
    chart::{self, Segment},
    figures::quantile,
    map::Map,
};
use crate::{
    coefficients::CoefficientName,
    number,
    outcome::{CoefficientOutcome, Outcome},
};

/// Nodes times coefficients that are drawn at most: a page of more takes long to open.
const MAX_DRAWN: usize = 20_000;
/// One coefficient of all nodes.
struct OverNodes<'a> {
    name: &'a CoefficientName,
    /// Its place among the coefficients.
    index: usize,
    /// The node, the value and the standard error.
    nodes: Vec<(usize, f64, Option<f64>)>,
    mean: f64,
    /// The standard deviation over the nodes.
    deviation: f64,
}

impl<'a> OverNodes<'a> {
    fn all(page: &Page<'a>) -> Vec<Self> {
        let coefficients = page.coefficients;
        let of = |(k, name): (usize, &'a CoefficientName)| {
            let nodes: Vec<(usize, f64, Option<f64>)> = coefficients
                .nodes
                .iter()
                .map(|own| (own.node, own.values[k], own.errors[k]))
                .filter(|(node, value, _)| value.is_finite() && *node < page.outcome.nodes.len())
                .collect();
            let count = nodes.len() as f64;
            let mean = nodes.iter().map(|(_, value, _)| value).sum::<f64>() / count;
            let squares: f64 = nodes.iter().map(|(_, value, _)| (value - mean).powi(2)).sum();
            Self { name, index: k, nodes, mean, deviation: (squares / count).sqrt() }
        };
        coefficients.names.iter().enumerate().map(of).filter(|one| one.nodes.len() > 1).collect()
    }

    /// How much nodes differ, relative to what they have in common.
    fn relative(&self) -> f64 {
        let size = self.mean.abs().max(f64::MIN_POSITIVE);
        if self.deviation > 0.0 { self.deviation / size } else { 0.0 }
    }

    fn said(value: f64, error: Option<f64>) -> String {
        let value = number::significant(value);
        error.map_or(value.clone(), |error| format!("{value} ± {}", number::significant(error)))
    }

    fn caterpillar(&self) -> Value {
        let mut nodes = self.nodes.clone();
        nodes.sort_by(|a, b| a.1.total_cmp(&b.1));
        let segment = |&(node, value, error): &(usize, f64, Option<f64>)| Segment {
            node,
            value,
            range: error.map(|error| (value - 2.0 * error, value + 2.0 * error)),
            told: Self::said(value, error),
        };
        let (every, segments) = chart::thinned(nodes.iter().map(segment).collect());
        let bars = if nodes.iter().any(|(_, _, error)| error.is_some()) {
            "Bars are two standard errors to each side. The line across is the mean of the nodes."
        } else {
            "The method knows no standard errors. The line across is the mean of the nodes."
        };
        let part = (every > 1).then(|| format!(" One of {every} nodes is drawn."));
        let label = format!("Caterpillar plot of {} over nodes", self.name);
        context! {
            svg => chart::caterpillar(&label, &segments, self.mean),
            y_label => self.name.to_string(),
            x_label => "nodes, by value",
            note => format!("{bars}{}", part.unwrap_or_default()),
        }
    }

    fn map(&self, map: &Map) -> Value {
        // Nodes were collected in ascending order.
        let find = |place: usize| {
            let found = self.nodes.binary_search_by_key(&place, |(node, ..)| *node).ok()?;
            Some(self.nodes[found])
        };
        let mut sizes: Vec<f64> =
            self.nodes.iter().map(|(_, value, _)| (value - self.mean).abs()).collect();
        sizes.sort_by(f64::total_cmp);
        // A few extreme nodes must not make all others look the same.
        let limit = quantile(&sizes, 0.9);
        let value = |place| Some(find(place)?.1);
        let name = (&*self.name.to_string(), self.index);
        context! {
            svg => map.by_coefficient(name, (self.mean, limit), value),
            low => number::significant(self.mean - limit),
            high => number::significant(self.mean + limit),
            missing => self.nodes.len() < map.len(),
        }
    }

    fn shown(&self, map: &Map) -> Value {
        context! {
            name => self.name.to_string(),
            mean => number::significant(self.mean),
            deviation => number::significant(self.deviation),
            caterpillar => self.caterpillar(),
            map => self.map(map),
        }
    }
}

/// The coefficients over nodes, the one that differs most first; none if models have none.
pub(super) fn coefficients(page: &Page) -> Option<Value> {
    let mut all = OverNodes::all(page);
    all.retain(|one| one.deviation > 0.0);
    all.sort_by(|a, b| b.relative().total_cmp(&a.relative()));
    let drawn = (MAX_DRAWN / page.outcome.nodes.len().max(1)).max(1);
    let map = Map::new(&page.outcome.nodes, page.edges, page.positions);
    let (first, others) = all.split_first()?;
    let others: Vec<Value> = others.iter().take(drawn - 1).map(|other| other.shown(&map)).collect();
    let left_out = all.len() - 1 - others.len();
    Some(context! {
        first => first.shown(&map),
        others,
        left_out => (left_out > 0).then(|| number::counted(left_out, "more coefficient")),
    })
}

/// How much nodes differ, coefficient by coefficient; none where no method has estimated it.
pub(super) fn variances(outcome: &Outcome) -> Option<Value> {
    let variances = outcome.variances.as_ref()?;
    let row = |one: &CoefficientOutcome| {
        context! {
            name => one.name.to_string(),
            mean => number::significant(one.mean),
            error => number::perhaps(one.standard_error),
            deviation => number::significant(one.deviation),
            effect => number::significant(one.effect),
            variance => variance(one),
        }
    };
    let correlation = |one: &crate::outcome::Correlation| {
        let [first, second] = &one.between;
        format!("{first} and {second} {}", number::significant(one.value))
    };
    let mut correlations = variances.correlations.clone();
    correlations.sort_by(|a, b| b.value.abs().total_cmp(&a.value.abs()));
    correlations.truncate(LISTED_CORRELATIONS);
    Some(context! {
        rows => variances.coefficients.iter().map(row).collect::<Vec<_>>(),
        noise => variances.noise.map(|noise| number::significant(noise.sqrt())),
        rho => number::significant(variances.rho),
        deviance => number::decimal(variances.deviance),
        covariances => variances.covariances.as_ref().map(covariances),
        is_smooth => variances.rho > NEARLY_ONE,
        correlations => (!correlations.is_empty())
            .then(|| correlations.iter().map(correlation).collect::<Vec<_>>().join(", ")),
    })
}

/// From this ρ on the mean of all nodes, those that are not there among them, is hardly determined.
const NEARLY_ONE: f64 = 0.99;
/// The variance, with a word where rows do not say it.
fn variance(one: &CoefficientOutcome) -> String {
    let value = number::perhaps(one.variance);
    match one.source {
        VarianceSource::Estimated => value,
        VarianceSource::Given => format!("{value} (given)"),
        VarianceSource::Shared => "0 (the same everywhere)".into(),
        VarianceSource::Free => "each node’s own".into(),
    }
}

/// The likelihoods with and without covariances of a node's coefficients, and which was taken.
pub(super) fn covariances(choice: &CovarianceChoice) -> String {
    let shown = number::decimal;
    format!(
        "Without a network, minus twice the log-likelihood is {} with one variance for each coefficient and {} with \
         {} as well; these are {}, because it is {}smaller by more than {}, twice their number.",
        shown(choice.without),
        shown(choice.with),
        number::counted(choice.covariances, "covariance"),
        if choice.taken { "taken" } else { "not taken" },
        if choice.taken { "" } else { "not " },
        number::significant(choice.price),
    )
}

/// How many correlations are named, the largest first.
const LISTED_CORRELATIONS: usize = 5;
