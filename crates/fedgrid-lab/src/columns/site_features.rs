//! The moments of the features that a plan makes of the rows of a site, from the sums that the site has told,
//!
//! ```text
//! f = b + mean + (fill − mean) m      b: what a cell differs from the mean by, zero if it is missing;  m: one if it is
//! ```
//!
//! which is a sum of quantities whose products are known.

use fedgrid::data::FeatureMoments;

use super::{
    ColumnPlan, Problems, agreement::SitePart, calendar, summary::gap_name, sums::SiteSums,
    treatment,
};
use crate::{
    experiment::{ColumnKeys, ColumnKind, TimePart},
    source::Column,
};

/// Something that features are sums of multiples of.
struct Quantity {
    /// Which column it is of.
    column: usize,
    mean: f64,
    squares: f64,
    /// How much the rows whose cells of its column hold something count, if it is one of the levels of a category.
    cells: Option<f64>,
    /// Its place among the products.
    place: Option<usize>,
}

/// A feature of the plan: its mean, and the quantities that it is made of.
struct CombinedFeature {
    mean: f64,
    of: Vec<(usize, f64)>,
}

/// What a plan makes of a site's rows.
pub(super) struct SiteFeatures<'a> {
    part: &'a SitePart<'a>,
    names: Vec<String>,
    quantities: Vec<Quantity>,
    features: Vec<CombinedFeature>,
}

impl<'a> SiteFeatures<'a> {
    pub(super) fn new(plan: &ColumnPlan, part: &'a SitePart<'a>) -> Self {
        let (quantities, features) = (Vec::new(), Vec::new());
        let mut made = Self { part, names: plan.feature_names(), quantities, features };
        for (at, (name, keys)) in plan.features().enumerate() {
            made.add(at, name, keys);
        }
        made
    }

    /// Adds the features of a column.
    fn add(&mut self, column: usize, name: &str, keys: &ColumnKeys) {
        let own = self.part.columns.iter().find(|own| own.name == name);
        let sums = own.and_then(|own| own.sums.as_ref());
        let names = treatment::names(name, keys);
        let filling = filling(name, keys);
        // A column without any value is missing in all rows.
        let missing = sums.map_or(1.0, |sums| sums.trained()[1] / self.part.weight);
        let first = self.quantities.len();
        if let Some(sums) = sums {
            self.add_quantities(column, name, keys, sums);
        }
        // Where some cells are missing, the column that says so was added last.
        let gap = (0.0 < missing && missing < 1.0).then(|| self.quantities.len() - 1);
        for (feature, fill) in names.iter().zip(filling) {
            let chosen = sums.map_or_else(Vec::new, |sums| chosen(feature, name, keys, sums));
            let mean: f64 = chosen.iter().map(|&at| self.quantities[first + at].mean).sum();
            let mean = if chosen.is_empty() { mean } else { mean - shift(feature, name, keys) };
            let mut of: Vec<(usize, f64)> = chosen.iter().map(|at| (first + at, 1.0)).collect();
            of.extend(gap.map(|gap| (gap, fill - mean)));
            self.features.push(CombinedFeature { mean: mean + (fill - mean) * missing, of });
        }
    }

    fn add_quantities(&mut self, column: usize, name: &str, keys: &ColumnKeys, sums: &SiteSums) {
        let products = self.part.products;
        let place = |name: &str| {
            products.filter(|_| !sums.is_apart)?.names.iter().position(|known| known == name)
        };
        let is_level = keys.kind == Some(ColumnKind::Category) && !keys.ordered;
        let [cells, missing] = sums.trained();
        for feature in &sums.features {
            self.quantities.push(Quantity {
                column,
                mean: feature.mean,
                squares: feature.squares,
                cells: is_level.then_some(cells),
                place: place(&feature.name),
            });
        }
        if sums.missing > 0 {
            let share = missing / self.part.weight;
            self.quantities.push(Quantity {
                column,
                mean: 0.0,
                squares: missing * (1.0 - share),
                cells: None,
                place: place(&gap_name(name)),
            });
        }
    }

    /// The sum of products of two quantities; zero where it was not told.
    fn product(&self, a: usize, b: usize) -> f64 {
        let (one, other) = (&self.quantities[a], &self.quantities[b]);
        if a == b {
            return one.squares;
        }
        // No row has two levels.
        // Σ (a − p)(b − q) over n cells, with a b = 0 in each, is −n p q.
        if let (Some(cells), Some(_)) = (one.cells, other.cells)
            && one.column == other.column
        {
            return -cells * one.mean * other.mean;
        }
        let places = one.place.zip(other.place).zip(self.part.products);
        places.map_or(0.0, |((a, b), products)| products.sums[a.max(b)][a.min(b)])
    }

    pub(super) fn moments(&self) -> fedgrid::Result<FeatureMoments> {
        let SitePart { rows, weight, .. } = *self.part;
        let size = self.features.len();
        let mut covariance = vec![0.0; size * size];
        for (a, one) in self.features.iter().enumerate() {
            for (b, other) in self.features.iter().enumerate().take(a + 1) {
                let pairs = one.of.iter().flat_map(|x| other.of.iter().map(move |y| (*x, *y)));
                let sum: f64 = pairs.map(|((i, x), (j, y))| x * y * self.product(i, j)).sum();
                covariance[a * size + b] = sum / weight;
                covariance[b * size + a] = sum / weight;
            }
        }
        let means = self.features.iter().map(|feature| feature.mean).collect();
        let all = FeatureMoments::new(self.names.clone().into(), rows, means, covariance)?;
        Ok(all.counting(weight))
    }
}

/// The features that a plan makes of a missing cell.
fn filling(name: &str, keys: &ColumnKeys) -> Vec<f64> {
    let gap = Column::of_text(name.into(), std::iter::once(None));
    let made = treatment::encode(&gap, keys, &[true], &mut Problems::new(""));
    made.columns.iter().map(|column| column[0]).collect()
}

/// Which of the features that a site has told of make up one of the plan.
fn chosen(feature: &str, name: &str, keys: &ColumnKeys, sums: &SiteSums) -> Vec<usize> {
    let told = || sums.features.iter().enumerate();
    let is_other = keys.kind == Some(ColumnKind::Category) && feature == format!("{name}=(other)");
    if !is_other {
        return told().filter(|(_, own)| own.name == feature).map(|(at, _)| at).collect();
    }
    // All levels that have no feature of their own.
    let known: Vec<String> =
        keys.levels.iter().flatten().map(|level| format!("{name}={level}")).collect();
    told().filter(|(_, own)| !known.contains(&own.name)).map(|(at, _)| at).collect()
}

/// What days since the start are less than days since 1970.
fn shift(feature: &str, name: &str, keys: &ColumnKeys) -> f64 {
    let is_days = keys.kind == Some(ColumnKind::Time)
        && feature == format!("{name}.{}", TimePart::Days.name());
    let start = keys.start.as_deref().filter(|_| is_days);
    start.map_or(0.0, |start| calendar::days_before(start, keys.order))
}
