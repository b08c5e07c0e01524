//! What a site tells of the columns of its own training rows, so that all sites can have one plan: counts and sums.
//!
//! ```text
//! x_k ↦  mean_k over its cells,   b_k = x_k − mean_k, zero at missing cells,   Σ b_k²,  Σ b_k b_l
//! ```
//!
//! Features are those that any plan could make of a column: a number, one dummy for each level, parts of a date. What
//! a plan fills into missing cells, and from when it counts days, then only adds constants and multiples of the
//! column that says which cells are missing, which has its sums, too.
//!
//! What few rows have in common is not told: levels of fewer rows than `least_count` are counted together and not
//! named, and a column in which all rows but fewer than that are the same has no products with others, because
//! the products would be the other cells of these rows.

use std::{borrow::Cow, collections::BTreeMap};

use super::{
    Problems, Purpose,
    calendar::{self, TimeFacts},
    levels::LevelCount,
    products::FeatureDeviations,
    sums::{ColumnSummary, FeatureSums, SiteSums, TimeSums, WeighedSums},
    treatment,
};
use crate::{
    experiment::{ColumnKeys, ColumnKind, DataKeys, DateOrder, MissingRule, TimePart},
    source::{
        Column,
        moment::{Civil, DAY, written},
    },
};

/// How much a site tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SummaryOptions {
    /// How many rows a level, or a sum, must have.
    pub least_count: usize,
    /// Whether products of features are told.
    pub products: bool,
    /// Whether of the first day of a column of dates only the month is told.
    pub months: bool,
}

/// The training rows that a site tells of.
#[derive(Debug, Clone, Copy)]
pub struct ToldRows<'a> {
    /// Which these are.
    pub rows: &'a [usize],
    /// What each row of the table counts for; none if all count alike.
    pub weights: Option<RowWeights<'a>>,
}

/// What each row of a table counts for.
#[derive(Debug, Clone, Copy)]
pub struct RowWeights<'a> {
    /// How many rows it stands for.
    pub counts: &'a [f64],
    /// How much it counts in training.
    pub trained: &'a [f64],
}

impl ToldRows<'_> {
    /// How many rows one stands for.
    fn count(&self, row: usize) -> f64 {
        self.weights.map_or(1.0, |weights| weights.counts[row])
    }

    /// How much a row counts in training.
    #[must_use]
    pub fn trained(&self, row: usize) -> f64 {
        self.weights.map_or(1.0, |weights| weights.trained[row])
    }

    /// The training rows whose cells of a column hold something.
    #[must_use]
    pub fn present(&self, column: &Column) -> Vec<usize> {
        self.rows.iter().copied().filter(|&row| !column.is_gap(row)).collect()
    }
}

/// The part that the heaviest of some rows has in their weight.
#[must_use]
pub fn heaviest_part(weights: impl Iterator<Item = f64> + Clone) -> f64 {
    let heaviest = weights.clone().fold(0.0, f64::max);
    if heaviest > 0.0 { heaviest / weights.sum::<f64>() } else { 0.0 }
}

/// Whether sums over rows of these weights would tell one of them, because they are few or one outweighs the others.
#[must_use]
pub fn would_tell(weights: &[f64], least_count: usize) -> bool {
    let part = heaviest_part(weights.iter().copied());
    (1..least_count).contains(&weights.len()) || part * least_count as f64 > 1.0 + 1e-9
}

/// The name of the column that says which cells of another are missing.
pub(super) fn gap_name(column: &str) -> String {
    format!("{column}=(missing)")
}

impl ColumnSummary {
    /// What is told of a column; the deviations of its features are added to those of others, unless products with
    /// them would tell few rows.
    #[must_use]
    pub fn of(
        column: &Column,
        purpose: Purpose,
        keys: &DataKeys,
        (training, options): (ToldRows<'_>, SummaryOptions),
        deviations: &mut FeatureDeviations,
    ) -> Self {
        let name = column.name().to_string();
        let Purpose::Feature(kind) = purpose else { return Self { name, purpose, sums: None } };
        let look = SummarisedColumn::new(column, kind, keys, (training, options));
        let (sums, own) = look.sums();
        if !sums.is_apart {
            // What is the same in all rows has no products.
            let varies = |column: &Vec<f64>| column.iter().any(|deviation| *deviation != 0.0);
            for (name, column) in own.into_iter().filter(|(_, column)| varies(column)) {
                deviations.add(name, column);
            }
        }
        Self { name, purpose, sums: Some(sums) }
    }
}

/// A column that is looked at.
struct SummarisedColumn<'a> {
    column: &'a Column,
    kind: ColumnKind,
    given: ColumnKeys,
    rule: MissingRule,
    training: ToldRows<'a>,
    /// The training rows whose cells hold something.
    present: Vec<usize>,
    options: SummaryOptions,
}

impl<'a> SummarisedColumn<'a> {
    fn new(
        column: &'a Column,
        kind: ColumnKind,
        keys: &DataKeys,
        (training, options): (ToldRows<'a>, SummaryOptions),
    ) -> Self {
        let given = keys.columns.get(column.name()).cloned().unwrap_or_default();
        let rule = given.missing.unwrap_or(keys.missing);
        let present = training.present(column);
        Self { column, kind, given, rule, training, present, options }
    }

    /// The sums, and what features differ from their means by.
    fn sums(&self) -> (SiteSums, Vec<(String, Vec<f64>)>) {
        let (counts, [rare_values, rare_rows]) = self.counts();
        let training = self.training.rows;
        let keys = self.widest_keys(&counts, rare_rows);
        let mut is_training = vec![false; self.column.rows()];
        for &row in training {
            is_training[row] = true;
        }
        // What is wrong with the table was said before anything is told of it.
        let mut said = Problems::new("");
        let made = treatment::encode(self.column, &keys, &is_training, &mut said).columns;
        let names = treatment::names(self.column.name(), &keys);
        let missing = training.len() - self.present.len();
        let gaps = training.iter().filter(|&&row| self.column.is_gap(row));
        let (gaps, filled) = (self.weights(gaps), self.weights(self.present.iter()));
        // Whichever are fewer are told by products with the column that says which cells are missing.
        let mut is_apart = missing > 0 && (self.would_tell(&gaps) || self.would_tell(&filled));
        let (mut own, mut features) = (Vec::new(), Vec::with_capacity(names.len()));
        for (name, values) in names.into_iter().zip(made) {
            let present: Vec<(f64, f64)> =
                self.present.iter().map(|&row| (values[row], self.training.trained(row))).collect();
            let others = unusual(&present);
            is_apart |= self.would_tell(&others);
            // Of equal numbers without rounding.
            let mean = if others.is_empty() { present.first().map(|(x, _)| *x) } else { None };
            let mean = mean.or_else(|| treatment::mean(present.iter().copied())).unwrap_or(0.0);
            let square = |(x, weight): &(f64, f64)| weight * (x - mean).powi(2);
            let mut squares: Vec<f64> = present.iter().map(square).collect();
            // Sorted, so that the sum has the same bits in whatever order rows come.
            squares.sort_by(f64::total_cmp);
            features.push(FeatureSums { name: name.clone(), mean, squares: squares.iter().sum() });
            let deviation =
                |&row: &usize| if self.column.is_gap(row) { 0.0 } else { values[row] - mean };
            own.push((name, training.iter().map(deviation).collect()));
        }
        let trained = [total(filled), total(gaps)];
        if missing > 0 {
            let share = trained[1] / (trained[0] + trained[1]);
            let gap = |&row: &usize| f64::from(u8::from(self.column.is_gap(row))) - share;
            own.push((gap_name(self.column.name()), training.iter().map(gap).collect()));
        }
        let time = self.time(keys.order);
        let weighed = self.training.weights.map(|_| self.weighed(&counts, trained, time));
        let counts = counts.into_iter().map(|(value, count)| (value, count.rows)).collect();
        let values = self.present.len();
        #[rustfmt::skip]
        let sums = SiteSums {
            values, missing, counts, rare_values, rare_rows, time, features, is_apart, weighed,
        };
        (sums, own)
    }

    /// How much some rows count in training.
    fn weights<'r>(&self, rows: impl Iterator<Item = &'r usize>) -> Vec<f64> {
        rows.map(|&row| self.training.trained(row)).collect()
    }

    /// Whether sums over rows of these weights would tell one of them.
    fn would_tell(&self, weights: &[f64]) -> bool {
        would_tell(weights, self.options.least_count)
    }

    /// What the rows count for, by which columns are planned.
    fn weighed(
        &self,
        counts: &BTreeMap<String, LevelCount>,
        [trained, trained_missing]: [f64; 2],
        time: Option<TimeSums>,
    ) -> WeighedSums {
        let values = self.present.iter().map(|&row| self.training.count(row)).collect();
        #[expect(
            clippy::cast_precision_loss,
            reason = "a table spans far less than 2^53 microseconds"
        )]
        let number = |&row: &usize| {
            let value = match (self.kind, time) {
                (ColumnKind::Number, _) => self.column.number(row)?,
                (ColumnKind::Time, Some(time)) => {
                    let moment = self.column.written_moment(row)?.moment(self.order())?;
                    (moment - time.facts.first) as f64
                }
                _ => return None,
            };
            Some((value, self.training.count(row)))
        };
        WeighedSums {
            values: total(values),
            mean: treatment::mean(self.present.iter().filter_map(number)),
            counts: counts.iter().map(|(value, own)| (value.clone(), own.count)).collect(),
            trained,
            trained_missing,
        }
    }

    /// How often values occur, where that is needed; how many values are too rare to be named, and in how many rows.
    fn counts(&self) -> (BTreeMap<String, LevelCount>, [usize; 2]) {
        let mut all: BTreeMap<String, Vec<f64>> = BTreeMap::new();
        let is_frequent = self.rule == MissingRule::MostFrequent;
        let is_time = self.kind == ColumnKind::Time;
        let order = if is_time { self.order() } else { None };
        let text = |row: usize| -> Option<String> {
            match self.kind {
                ColumnKind::Category => self.column.level(row).map(Cow::into_owned),
                ColumnKind::Truth => self.column.truth(row).map(|truth| truth.to_string()),
                ColumnKind::Number if is_frequent => {
                    self.column.number(row).map(|number| number.to_string())
                }
                ColumnKind::Time if is_frequent => {
                    self.column.written_moment(row)?.moment(order).map(written)
                }
                _ => None,
            }
        };
        for &row in &self.present {
            if let Some(value) = text(row) {
                all.entry(value).or_default().push(self.training.count(row));
            }
        }
        let all = all.into_iter().map(|(value, counts)| {
            (value, LevelCount { rows: counts.len(), count: total(counts) })
        });
        let all: BTreeMap<String, LevelCount> = all.collect();
        // That a column holds true and false is no secret, and how often is its mean.
        if self.kind == ColumnKind::Truth {
            return (all, [0, 0]);
        }
        let declared = self.given.levels.as_deref();
        let is_named = |value: &String, count: LevelCount| {
            count.rows >= self.options.least_count
                && declared.is_none_or(|levels| levels.contains(value))
        };
        let (named, rare): (BTreeMap<_, _>, BTreeMap<_, _>) =
            all.into_iter().partition(|(value, count)| is_named(value, *count));
        (named, [rare.len(), rare.values().map(|own| own.rows).sum()])
    }

    /// The keys by which a column becomes all features that any plan could make of it.
    fn widest_keys(&self, counts: &BTreeMap<String, LevelCount>, rare_rows: usize) -> ColumnKeys {
        let given = &self.given;
        let mut keys = ColumnKeys { kind: Some(self.kind), ..ColumnKeys::default() };
        match self.kind {
            ColumnKind::Category if given.ordered => {
                (keys.levels, keys.ordered) = (given.levels.clone(), true);
            }
            ColumnKind::Category => {
                keys.levels = Some(counts.keys().cloned().collect());
                keys.other = (rare_rows > 0).then_some(true);
            }
            ColumnKind::Time => {
                keys.order = self.order();
                let usual = [TimePart::Days, TimePart::Month, TimePart::Weekday, TimePart::Hour];
                keys.parts = Some(given.parts.clone().unwrap_or_else(|| usual.to_vec()));
                keys.calendar = Some(given.calendar.unwrap_or_default());
                keys.start = Some(written(0));
            }
            _ => {}
        }
        keys
    }

    /// Which of day and month comes first, where some date needs it.
    fn order(&self) -> Option<DateOrder> {
        // Dates that leave it open were refused when the table was read.
        let found = || calendar::order_of(self.column, &Problems::new("")).ok().flatten();
        self.given.order.or_else(found)
    }

    fn time(&self, order: Option<DateOrder>) -> Option<TimeSums> {
        (self.kind == ColumnKind::Time).then_some(())?;
        let moments = calendar::moments(self.column, order, self.training.rows);
        let mut facts = TimeFacts::of(&moments)?;
        if self.options.months {
            facts.first -= (Civil::of(facts.first).day - 1) * DAY;
        }
        // A moment of today is some 1.7e15: five thousand of them overflow 64 bits.
        let sum: i128 = moments.iter().map(|&moment| i128::from(moment)).sum();
        let count = i128::try_from(moments.len()).ok()?;
        let tells = |row: usize| self.column.written_moment(row)?.told_order();
        let told = self.given.order.or_else(|| (0..self.column.rows()).find_map(tells));
        Some(TimeSums {
            order: told,
            mean: i64::try_from(sum.div_euclid(count)).ok()?,
            rest: i64::try_from(sum.rem_euclid(count)).ok()?,
            facts,
        })
    }
}

/// The weights of numbers that differ from the most frequent one.
fn unusual(values: &[(f64, f64)]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
    let same = |a: &(f64, f64), b: &(f64, f64)| a.0.to_bits() == b.0.to_bits();
    let usual = sorted.chunk_by(same).max_by_key(|chunk| chunk.len());
    let usual = usual.map_or(0, |chunk| chunk[0].0.to_bits());
    values.iter().filter(|(x, _)| x.to_bits() != usual).map(|(_, weight)| *weight).collect()
}

/// A sum to the same bit in whatever order its parts come.
fn total(mut weights: Vec<f64>) -> f64 {
    weights.sort_by(f64::total_cmp);
    weights.iter().sum()
}
