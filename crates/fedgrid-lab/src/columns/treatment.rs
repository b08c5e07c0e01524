//! How one column becomes features: completed by the training rows, and then the same for all rows.

use std::{borrow::Cow, collections::BTreeMap};

use super::{
    TrainingRows, calendar,
    levels::{self, Others},
    problems::{Problems, WrongCells},
};
use crate::{
    experiment::{ColumnKeys, ColumnKind, MissingRule},
    source::{Column, finite, is_usable, moment},
};

/// What a column gave.
#[derive(Debug, Clone, Default)]
pub struct Encoded {
    /// The values of each of its features.
    pub columns: Vec<Vec<f64>>,
    /// How many cells were missing and filled.
    pub filled: usize,
    /// The cells that were no known level.
    pub others: Others,
}

/// What a plan is completed by.
#[derive(Debug, Clone, Copy)]
pub(super) struct Learnt<'a> {
    /// The rows that train.
    pub(super) training: TrainingRows<'a>,
    /// How many levels a category has at most.
    pub(super) most_levels: usize,
    /// What is done with missing cells, unless the column has a rule of its own.
    pub(super) missing: MissingRule,
}

/// Completes the keys of a column; says why it cannot be used, if so. What is wrong with it is told when it is encoded.
pub(super) fn complete(
    column: &Column,
    kind: ColumnKind,
    (given, is_named): (Option<&ColumnKeys>, bool),
    (learnt, places): (Learnt<'_>, &Problems),
) -> Result<ColumnKeys, Unusable> {
    let mut keys = given.cloned().unwrap_or_default();
    let is_declared =
        is_named || given.is_some_and(|given| given.kind.is_some() || given.levels.is_some());
    keys.kind = Some(kind);
    let rule = *keys.missing.get_or_insert(learnt.missing);
    match kind {
        ColumnKind::Number | ColumnKind::Truth | ColumnKind::Ignore => {}
        ColumnKind::Category => {
            let counts = levels::counts(column, learnt.training);
            if let Some(reason) = levels::refused(&counts).filter(|_| !is_declared) {
                return Err(Unusable::Ignored(reason));
            }
            levels::complete(&mut keys, &counts, learnt.most_levels);
        }
        ColumnKind::Time => {
            if keys.order.is_none() {
                keys.order = calendar::order_of(column, places).map_err(Unusable::Wrong)?;
            }
            let training = calendar::moments(column, keys.order, learnt.training.rows);
            let facts = calendar::TimeFacts::of(&training);
            calendar::complete(&mut keys, facts).map_err(Unusable::Ignored)?;
        }
    }
    let has_gaps = || learnt.training.rows.iter().any(|&row| column.is_gap(row));
    let fill = |keys: &ColumnKeys| filled_by(keys, rule, column, learnt.training);
    complete_gaps(&mut keys, rule, has_gaps, fill);
    Ok(keys)
}

/// Why a column is no feature.
pub(super) enum Unusable {
    /// There is nothing in it to learn from.
    Ignored(String),
    /// It cannot be read.
    Wrong(String),
}

/// Completes what missing cells are taken for, by what the training rows say.
pub(super) fn complete_gaps(
    keys: &mut ColumnKeys,
    rule: MissingRule,
    has_gaps: impl FnOnce() -> bool,
    fill: impl FnOnce(&ColumnKeys) -> Option<String>,
) {
    let is_category = keys.kind == Some(ColumnKind::Category);
    let is_filled = match rule {
        MissingRule::Refuse | MissingRule::Drop => return,
        // Their level of its own says all.
        MissingRule::Indicator => !is_category,
        MissingRule::Mean | MissingRule::MostFrequent => true,
    };
    if rule == MissingRule::Indicator && keys.indicator.is_none() {
        keys.indicator = Some(has_gaps());
    }
    if is_filled && keys.fill.is_none() {
        keys.fill = fill(keys);
    }
}

/// The mean or the most frequent value of the training rows, as text; none if they hold nothing.
fn filled_by(
    keys: &ColumnKeys,
    rule: MissingRule,
    column: &Column,
    training: TrainingRows<'_>,
) -> Option<String> {
    let numbers = || {
        let number = |&row: &usize| Some((column.number(row)?, training.count(row)));
        training.rows.iter().filter_map(number)
    };
    let is_mean = rule != MissingRule::MostFrequent;
    match keys.kind? {
        // The shortest text that reads back as the same bits, so that a stored plan fills as this one does.
        ColumnKind::Number if is_mean => mean(numbers()).map(|mean| mean.to_string()),
        ColumnKind::Number => {
            // By value, so that 1 and 1.0 are one.
            let bits = numbers().map(|(value, count)| (value.to_bits(), count));
            most_frequent(bits).map(|bits| f64::from_bits(bits).to_string())
        }
        ColumnKind::Time => {
            let moment = |&row: &usize| {
                Some((calendar::moment_at(column, keys.order, row)?, training.count(row)))
            };
            let moments: Vec<(i64, f64)> = training.rows.iter().filter_map(moment).collect();
            if is_mean { mean_moment(&moments) } else { most_frequent(moments.into_iter()) }
                .map(moment::written)
        }
        ColumnKind::Truth => {
            let truth = |&row: &usize| Some((column.truth(row)?, training.count(row)));
            most_frequent(training.rows.iter().filter_map(truth)).map(|truth| truth.to_string())
        }
        ColumnKind::Category => levels::most_frequent(&levels::counts(column, training)),
        ColumnKind::Ignore => None,
    }
}

/// The mean of numbers, to the same bit in whatever order they come.
pub(super) fn mean(values: impl Iterator<Item = (f64, f64)>) -> Option<f64> {
    let mut values: Vec<(f64, f64)> = values.filter(|(value, _)| value.is_finite()).collect();
    values.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let count = values.iter().map(|(_, count)| count).sum::<f64>();
    (count > 0.0).then(|| values.iter().map(|(value, count)| value * count).sum::<f64>() / count)
}

/// The mean of moments.
fn mean_moment(moments: &[(i64, f64)]) -> Option<i64> {
    let &(first, _) = moments.iter().min_by_key(|(moment, _)| *moment)?;
    if moments.iter().all(|(_, count)| count.to_bits() == 1.0_f64.to_bits()) {
        let sum: i128 = moments.iter().map(|(moment, _)| i128::from(*moment)).sum();
        return i64::try_from(sum.div_euclid(i128::try_from(moments.len()).ok()?)).ok();
    }
    // From the first on, days are exact to a millionth of a second.
    #[expect(clippy::cast_precision_loss, reason = "a table spans far less than 2^53 microseconds")]
    let after = mean(moments.iter().map(|(moment, count)| ((moment - first) as f64, *count)))?;
    #[expect(clippy::cast_possible_truncation, reason = "it lies among moments")]
    let whole = after.floor() as i64;
    Some(first + whole)
}

/// The most frequent of some values, each of which stands for so many; of equally frequent ones the least.
pub(super) fn most_frequent<T: Ord + Copy>(values: impl Iterator<Item = (T, f64)>) -> Option<T> {
    let mut counts: BTreeMap<T, f64> = BTreeMap::new();
    values.for_each(|(value, count)| *counts.entry(value).or_default() += count);
    let most = counts.values().copied().max_by(f64::total_cmp)?;
    counts.into_iter().find(|(_, count)| *count >= most).map(|(value, _)| value)
}

/// The names of the features that a column becomes.
pub(super) fn names(name: &str, keys: &ColumnKeys) -> Vec<String> {
    let mut names = match keys.kind {
        Some(ColumnKind::Category) => levels::names(name, keys),
        Some(ColumnKind::Time) => calendar::names(name, keys),
        _ => vec![name.to_string()],
    };
    names.extend(keys.indicator.unwrap_or(false).then(|| format!("{name}=(missing)")));
    names
}

/// The features of a column in the rows that are used, by its completed keys; what is wrong with it is added to the
/// problems.
pub(super) fn encode(
    column: &Column,
    keys: &ColumnKeys,
    is_used: &[bool],
    problems: &mut Problems,
) -> Encoded {
    let name = column.name();
    let mut made = Encoder::new(column, keys);
    let (mut gaps, mut first) = (0, None);
    // Most columns are plain numbers, whose cells need not be asked what they are one by one.
    let plain = column.plain_numbers().filter(|_| keys.kind == Some(ColumnKind::Number));
    for row in (0..column.rows()).filter(|&row| is_used[row]) {
        if let Some(value) = plain.map(|plain| plain[row]).filter(|value| is_usable(*value)) {
            made.encoded.columns[0][row] = value;
            continue;
        }
        if column.is_gap(row) {
            if made.fill(row) {
                made.encoded.filled += 1;
            } else {
                gaps += 1;
                first.get_or_insert(row);
            }
        } else {
            made.write(row);
        }
    }
    problems.add_cells(name, &made.wrong);
    problems.add_cells(name, &made.coder.wrong);
    if let Some(first) = first {
        problems.add_gaps(name, (gaps, column.rows()), first);
    }
    made.encoded.others = made.coder.others;
    made.encoded
}

/// What one column becomes, row by row.
struct Encoder<'a> {
    column: &'a Column,
    keys: &'a ColumnKeys,
    coder: levels::Coder<'a>,
    start: i64,
    wrong: WrongCells,
    encoded: Encoded,
    /// What a missing cell is taken for: the values of all features, or none.
    filling: Option<Vec<f64>>,
    /// Room for the features of one cell.
    values: Vec<f64>,
}

impl<'a> Encoder<'a> {
    fn new(column: &'a Column, keys: &'a ColumnKeys) -> Self {
        let start = keys.start.as_deref().and_then(|start| calendar::read(start, keys.order));
        let start = start.unwrap_or(0);
        let width = names(column.name(), keys).len();
        let columns = vec![vec![0.0; column.rows()]; width];
        let encoded = Encoded { columns, ..Encoded::default() };
        let (coder, wrong) = (levels::Coder::new(keys), WrongCells::default());
        let (filling, values) = (None, Vec::new());
        let mut made = Self { column, keys, coder, start, wrong, encoded, filling, values };
        made.filling = made.filling(width);
        made
    }

    /// The values of a missing cell.
    fn filling(&mut self, width: usize) -> Option<Vec<f64>> {
        let rule = self.keys.missing.unwrap_or_default();
        let is_level =
            rule == MissingRule::Indicator && self.keys.kind == Some(ColumnKind::Category);
        let mut values = match &self.keys.fill {
            Some(fill) => {
                let fill =
                    Column::of_text(self.column.name().into(), [Some(fill.as_str())].into_iter());
                self.values(&fill, 0)?
            }
            None if is_level => Vec::new(),
            None => return None,
        };
        // The column that says what is missing comes behind the features of a value.
        values.resize(width, 0.0);
        if self.keys.indicator == Some(true) {
            values[width - 1] = 1.0;
        }
        Some(values)
    }

    /// The features of a cell without those of its being missing; none if it is wrong.
    fn values(&mut self, column: &Column, row: usize) -> Option<Vec<f64>> {
        match self.keys.kind? {
            ColumnKind::Number | ColumnKind::Ignore => column.number(row).map(|value| vec![value]),
            ColumnKind::Truth => column.truth(row).map(|truth| vec![f64::from(u8::from(truth))]),
            ColumnKind::Category => {
                let level: Cow<'_, str> = column.level(row)?;
                let coded = self.coder.coded(row, &level)?;
                let mut columns = vec![vec![0.0]; self.encoded.columns.len().max(1)];
                self.coder.write(coded, &mut columns, 0);
                Some(columns.into_iter().map(|column| column[0]).collect())
            }
            ColumnKind::Time => {
                let moment = column.written_moment(row)?.moment(self.keys.order)?;
                Some(calendar::values(moment, self.start, self.keys))
            }
        }
    }

    /// Fills a missing cell; false if there is nothing to fill it with.
    fn fill(&mut self, row: usize) -> bool {
        let Some(filling) = &self.filling else { return false };
        self.encoded
            .columns
            .iter_mut()
            .zip(filling)
            .for_each(|(column, value)| column[row] = *value);
        true
    }

    /// Writes the features of a cell.
    fn write(&mut self, row: usize) {
        match self.keys.kind {
            Some(ColumnKind::Category) => {
                let Some(level) = self.column.level(row) else { return };
                if let Some(coded) = self.coder.coded(row, &level) {
                    self.coder.write(coded, &mut self.encoded.columns, row);
                }
            }
            Some(ColumnKind::Time) => {
                let written = self.column.written_moment(row);
                let Some(moment) = written.and_then(|date| date.moment(self.keys.order)) else {
                    let column = self.column;
                    return self.wrong.add(row, || calendar::misread(column, row));
                };
                calendar::write_values((moment, self.start), self.keys, &mut self.values);
                let columns = self.encoded.columns.iter_mut();
                columns.zip(&self.values).for_each(|(column, value)| column[row] = *value);
            }
            Some(ColumnKind::Truth) => {
                if let Some(truth) = self.column.truth(row) {
                    self.encoded.columns[0][row] = f64::from(u8::from(truth));
                } else {
                    let column = self.column;
                    self.wrong
                        .add(row, || format!("is '{}', expected true or false", column.cell(row)));
                }
            }
            _ => match finite(self.column, row) {
                Ok(value) => self.encoded.columns[0][row] = value,
                Err(found) => self.wrong.add(row, || found),
            },
        }
    }
}
