//! One plan for several sites, from what each tells of its own columns.
//!
//! ```text
//! summaries ─▶ counts and sums of all rows ─▶ completed keys      as rows in one table would complete them
//!           ─▶ means and covariances of the features that the plan makes
//! ```

use fedgrid::data::FeatureMoments;

use super::{
    ColumnPlan, ColumnRole, PlannedColumn, Problems, Purpose,
    calendar::{self, TimeFacts},
    levels::{self, LevelCount, LevelCounts},
    products::FeatureProducts,
    site_features::SiteFeatures,
    sums::{ColumnSummary, SiteSums, WeighedSums},
    treatment,
};
use crate::{
    error::Result,
    experiment::{ColumnKeys, ColumnKind, DataKeys, DateOrder, MissingRule},
    source::{Holds, moment},
};

/// What a site has told of its columns.
#[derive(Debug, Clone, Copy)]
pub struct SitePart<'a> {
    /// What messages call the site.
    pub site: &'a str,
    /// How many rows train there.
    pub rows: usize,
    /// How much they count in training.
    pub weight: f64,
    /// Its columns.
    pub columns: &'a [ColumnSummary],
    /// Products of its features.
    pub products: Option<&'a FeatureProducts>,
}

impl SitePart<'_> {
    fn column(&self, name: &str) -> Option<&ColumnSummary> {
        self.columns.iter().find(|column| column.name == name)
    }
}

impl ColumnPlan {
    /// The plan that sites agree on. What does not fit is added to the problems, with sites and columns.
    #[must_use]
    pub fn agreed(keys: &DataKeys, parts: &[SitePart<'_>], problems: &mut Problems) -> Self {
        let mut names: Vec<&str> = Vec::new();
        for column in parts.iter().flat_map(|part| part.columns) {
            if !names.contains(&column.name.as_str()) {
                names.push(&column.name);
            }
        }
        let column = |name: &str| SharedColumn { name, keys, parts }.planned(problems);
        let columns = names.into_iter().map(column).collect();
        let plan = Self { columns, missing_values: keys.missing_values.clone(), lags: None };
        plan.check_names(problems);
        plan
    }

    /// The means and covariances of the features that this plan makes of the rows of all sites.
    pub fn moments(&self, parts: &[SitePart<'_>]) -> Result<FeatureMoments> {
        let of = |part: &SitePart<'_>| SiteFeatures::new(self, part).moments();
        let all = parts.iter().map(of).collect::<fedgrid::Result<Vec<_>>>()?;
        Ok(FeatureMoments::of_parts(&all)?)
    }
}

/// A column as all sites have it.
struct SharedColumn<'a> {
    name: &'a str,
    keys: &'a DataKeys,
    parts: &'a [SitePart<'a>],
}

impl SharedColumn<'_> {
    /// Each site with its column of this name.
    fn all(&self) -> impl Iterator<Item = (&str, Option<&ColumnSummary>)> {
        self.parts.iter().map(|part| (part.site, part.column(self.name)))
    }

    /// The sums of all sites that have any.
    fn sums(&self) -> impl Iterator<Item = &SiteSums> {
        self.all().filter_map(|(_, column)| column?.sums.as_ref())
    }

    fn planned(&self, problems: &mut Problems) -> PlannedColumn {
        let name = self.name.to_string();
        let kinds: Vec<(&str, ColumnKind)> = self.all().filter_map(site_kind).collect();
        let role = match kinds.first() {
            None => self.unused(),
            Some(&(_, kind)) => {
                // All sites are told of at once, and a column that they differ in is planned no further.
                let before = problems.sentences().len();
                self.check(&kinds, problems);
                if problems.sentences().len() > before {
                    ColumnRole::Ignored { reason: "sites differ".into() }
                } else {
                    self.feature(kind, problems)
                }
            }
        };
        PlannedColumn { name, role }
    }

    /// What a column is that no site has as a feature.
    fn unused(&self) -> ColumnRole {
        let purpose = self.all().find_map(|(_, column)| column).map(|column| &column.purpose);
        match purpose {
            Some(Purpose::Node) => ColumnRole::Node,
            Some(Purpose::Target) => ColumnRole::Target,
            Some(Purpose::Split) => ColumnRole::Split,
            Some(Purpose::Time) => ColumnRole::Time,
            Some(Purpose::Weight) => ColumnRole::Weight,
            Some(Purpose::Offset) => ColumnRole::Offset,
            Some(Purpose::Exposure) => ColumnRole::Exposure,
            Some(Purpose::Ignored(reason)) => ColumnRole::Ignored { reason: reason.clone() },
            _ => ColumnRole::Unlisted,
        }
    }

    /// Refuses a column that not all sites have, or not as the same.
    fn check(&self, kinds: &[(&str, ColumnKind)], problems: &mut Problems) {
        let name = self.name;
        let without: Vec<&str> =
            self.all().filter(|(_, column)| column.is_none()).map(|(site, _)| site).collect();
        if !without.is_empty() {
            problems.add(format!(
                "column '{name}' is at {} and not at {}; add it there (its cells may be empty, with a rule \
                 data.missing), or leave it out everywhere with data.exclude",
                kinds[0].0,
                without.join(", ")
            ));
        }
        let (first, kind) = kinds[0];
        if let Some((site, other)) = kinds.iter().find(|(_, other)| *other != kind) {
            problems.add(format!(
                "column '{name}' holds {} at {first} and {} at {site}; write it alike, or say what it is: \
                 data.columns.{name} = \"number\", \"truth\", \"category\", \"time\" or \"ignore\"",
                held(kind),
                held(*other)
            ));
        }
        let told = self
            .all()
            .filter_map(|(site, column)| Some((site, column?.sums.as_ref()?.time?.order?)));
        let told: Vec<(&str, DateOrder)> = told.collect();
        let first = told.first().copied();
        if let Some((first, (site, _))) =
            first.zip(told.iter().find(|(_, order)| Some(*order) != first.map(|(_, order)| order)))
        {
            problems.add(format!(
                "column '{name}' has day and month in one order at {} and in the other at {site}; write dates as \
                 2024-01-31 at one of them",
                first.0
            ));
        }
        let rule = self.rule();
        let empty = self.all().find(|(_, column)| column.is_some_and(is_empty));
        if let Some((site, _)) = empty.filter(|_| rule == MissingRule::Refuse) {
            problems.add(format!(
                "column '{name}' is empty at {site}; give data.missing (or data.columns.{name}.missing), or leave it \
                 out with data.exclude"
            ));
        }
    }

    fn rule(&self) -> MissingRule {
        let own = self.keys.columns.get(self.name).and_then(|own| own.missing);
        own.unwrap_or(self.keys.missing)
    }

    /// The role of a column that is a feature, unless all rows together say that it is none.
    fn feature(&self, kind: ColumnKind, problems: &mut Problems) -> ColumnRole {
        let given = self.keys.columns.get(self.name);
        let is_named = self.keys.features.iter().flatten().any(|one| one == self.name);
        let is_declared =
            is_named || given.is_some_and(|given| given.kind.is_some() || given.levels.is_some());
        let mut keys = given.cloned().unwrap_or_default();
        keys.kind = Some(kind);
        let rule = *keys.missing.get_or_insert(self.keys.missing);
        let counts = self.counts();
        let found = match kind {
            ColumnKind::Category => {
                let refused = self.refused(&counts).filter(|_| !is_declared);
                self.complete_levels(&mut keys, &counts);
                refused.map_or(Ok(()), Err)
            }
            ColumnKind::Time => {
                let told = self.sums().find_map(|sums| sums.time?.order);
                keys.order = keys.order.or(told);
                let facts = self.sums().filter_map(|sums| sums.time.map(|time| time.facts));
                calendar::complete(&mut keys, facts.reduce(TimeFacts::joined))
            }
            _ => Ok(()),
        };
        if let Err(reason) = found {
            return ColumnRole::Ignored { reason };
        }
        let is_missing = self.all().any(|(_, column)| {
            column.is_some_and(|own| is_empty(own) || own.sums.as_ref().is_some_and(has_gaps))
        });
        let fill = |keys: &ColumnKeys| self.fill(keys, rule, &counts);
        treatment::complete_gaps(&mut keys, rule, || is_missing, fill);
        let is_filled = matches!(rule, MissingRule::Mean | MissingRule::MostFrequent);
        if is_missing && is_filled && keys.fill.is_none() {
            problems.add(format!(
                "column '{0}' has missing cells, and no value is in so many rows of a site that it is named; set \
                 data.columns.{0}.fill, or data.columns.{0}.missing = \"mean\"",
                self.name
            ));
        }
        ColumnRole::Feature { keys }
    }

    /// How often named values occur at all sites.
    fn counts(&self) -> LevelCounts<'_> {
        let mut all = LevelCounts::new();
        for (value, LevelCount { rows, count }) in self.sums().flat_map(SiteSums::level_counts) {
            let own = all.entry(value.into()).or_default();
            own.rows += rows;
            own.count += count;
        }
        all
    }

    /// Why a column of text is no category, if it is none.
    fn refused(&self, counts: &LevelCounts<'_>) -> Option<String> {
        let hidden: usize = self.sums().map(|sums| sums.rare_rows).sum();
        if hidden == 0 {
            return levels::refused(counts);
        }
        let rows = counts.values().map(|own| own.rows).sum::<usize>() + hidden;
        // At most so many: sites may hide the same ones.
        let values = counts.len() + self.sums().map(|sums| sums.rare_values).sum::<usize>();
        // The rule that a pooled table is held to, as far as counts tell.
        let is_many = values > levels::FEW_LEVELS && 2 * values > rows;
        match counts.len() {
            _ if is_many => Some(format!("text, {values} values in {rows} training rows")),
            0 => Some("no level in so many rows of a site that it is named".into()),
            _ => None,
        }
    }

    fn complete_levels(&self, keys: &mut ColumnKeys, counts: &LevelCounts<'_>) {
        levels::complete(keys, counts, self.keys.most_levels);
        let has_others = self.sums().any(|sums| sums.rare_rows > 0);
        if keys.other.is_none() && has_others && !keys.ordered {
            keys.other = Some(true);
        }
    }

    /// The mean or the most frequent value of all sites, as text.
    fn fill(
        &self,
        keys: &ColumnKeys,
        rule: MissingRule,
        counts: &LevelCounts<'_>,
    ) -> Option<String> {
        let is_mean = rule != MissingRule::MostFrequent;
        match keys.kind? {
            ColumnKind::Number if is_mean => {
                let cells: f64 = self.sums().map(SiteSums::counted).sum();
                let sum: f64 = self.sums().map(|sums| sums.mean() * sums.counted()).sum();
                (cells > 0.0).then(|| (sum / cells).to_string())
            }
            ColumnKind::Number => {
                let most = counts.values().map(|own| own.count).max_by(f64::total_cmp)?;
                let of = counts.iter().filter(|(_, own)| own.count >= most);
                // As in one table: of equally frequent numbers the one of least bits.
                let bits = of.filter_map(|(value, _)| value.parse::<f64>().ok()).map(f64::to_bits);
                bits.min().map(|bits| f64::from_bits(bits).to_string())
            }
            ColumnKind::Time if is_mean => self.mean_moment().map(moment::written),
            ColumnKind::Ignore => None,
            _ => levels::most_frequent(counts),
        }
    }

    /// The mean of all moments.
    fn mean_moment(&self) -> Option<i64> {
        if self.sums().any(|sums| sums.weighed.is_some()) {
            return self.weighed_moment();
        }
        let whole = |sums: &SiteSums| -> Option<(i128, i128)> {
            let (time, cells) = (sums.time?, i128::try_from(sums.values).ok()?);
            // The mean and what rounding took from it are the whole sum: the mean of all is that of one table.
            Some((i128::from(time.mean) * cells + i128::from(time.rest), cells))
        };
        let sums = self.sums().filter_map(whole);
        let (sum, cells) = sums.reduce(|all, one| (all.0 + one.0, all.1 + one.1))?;
        i64::try_from(sum.div_euclid(cells)).ok()
    }

    /// The mean of moments that stand for so many each.
    fn weighed_moment(&self) -> Option<i64> {
        let of = |sums: &SiteSums| -> Option<(i64, f64, f64)> {
            let WeighedSums { values, mean, .. } = sums.weighed.as_ref()?;
            Some((sums.time?.facts.first, (*mean)?, *values))
        };
        let all: Vec<(i64, f64, f64)> = self.sums().filter_map(of).collect();
        let first = all.iter().map(|(first, ..)| *first).min()?;
        let cells: f64 = all.iter().map(|(.., count)| count).sum();
        #[expect(
            clippy::cast_precision_loss,
            reason = "a table spans far less than 2^53 microseconds"
        )]
        let after = |(own, mean, count): &(i64, f64, f64)| count * ((own - first) as f64 + mean);
        let after = all.iter().map(after).sum::<f64>() / cells;
        #[expect(clippy::cast_possible_truncation, reason = "it lies among moments")]
        let whole = after.floor() as i64;
        Some(first + whole)
    }
}

fn site_kind<'a>(
    (site, column): (&'a str, Option<&'a ColumnSummary>),
) -> Option<(&'a str, ColumnKind)> {
    match column?.purpose {
        Purpose::Feature(kind) => Some((site, kind)),
        _ => None,
    }
}

/// Whether a column that would be a feature has no value.
fn is_empty(column: &ColumnSummary) -> bool {
    column.sums.is_none()
}

fn has_gaps(sums: &SiteSums) -> bool {
    sums.missing > 0
}

fn held(kind: ColumnKind) -> Holds {
    match kind {
        ColumnKind::Number => Holds::Numbers,
        ColumnKind::Truth => Holds::Truths,
        ColumnKind::Category => Holds::Text,
        ColumnKind::Time => Holds::Times,
        ColumnKind::Ignore => Holds::Nothing,
    }
}
