//! What a summary tells, in words that its site reads before it is written.

use super::summary::{SiteSummary, TargetSummary, WeighedRows};
use crate::{
    columns::{ColumnSummary, FeatureSums, Purpose, SiteSums, TimeSums},
    experiment::{ColumnKind, DateOrder},
    number::{count, counted, significant},
    source::moment::written,
};

impl SiteSummary {
    /// Everything that is in it: what about, and what is told of it.
    #[must_use]
    pub fn words(&self, target: &str) -> Vec<[String; 2]> {
        let names = self.nodes.join(", ");
        let nodes = format!("the names of {}: {names}", counted(self.nodes.len(), "node"));
        let counted = self.weighed.map_or_else(String::new, |weighed| {
            let WeighedRows { counted, trained } = weighed;
            let [counted, trained] = [counted, trained].map(significant);
            format!(
                ", which stand for {counted} and count {trained} in training; so do the sums below"
            )
        });
        let mut lines = vec![
            ["rows".into(), format!("{} train{counted}", count(self.rows))],
            ["nodes".into(), nodes],
            ["keys".into(), "keys of [data] in the experiment".into()],
            [target.into(), format!("target: {}", self.target.words(self.trained()))],
        ];
        for column in &self.columns {
            if let Some(words) = column.words() {
                lines.push([column.name.clone(), words]);
            }
        }
        let products = self.products.as_ref().map_or_else(
            || "none: columns are taken for independent of each other".into(),
            |products| {
                let pairs =
                    format!("sums over the rows of each two of {}", products.names.join(", "));
                format!("{pairs}, which are their covariances")
            },
        );
        lines.push(["products".into(), products]);
        lines
    }
}

impl TargetSummary {
    fn words(&self, weight: f64) -> String {
        match self {
            Self::Numbers { mean, squares } => {
                let deviation = (squares / weight).sqrt();
                format!(
                    "mean {}, standard deviation {}",
                    significant(*mean),
                    significant(deviation)
                )
            }
            Self::Classes { counts, rare_rows, .. } => {
                let named = counts.iter().map(|(name, rows)| format!("{name} in {}", count(*rows)));
                let named: Vec<String> = named.collect();
                format!("classes, {}{}", among(&named, "row"), hidden(*rare_rows, None, "class"))
            }
        }
    }
}

/// Some counts in words, or that there are none.
fn among(named: &[String], unit: &str) -> String {
    if named.is_empty() { "none named".into() } else { format!("{} {unit}s", named.join(", ")) }
}

/// What is not named.
fn hidden(rows: usize, values: Option<usize>, what: &str) -> String {
    if rows == 0 {
        return String::new();
    }
    let plural = if what == "class" { "classes".to_string() } else { format!("{what}s") };
    let what = if values == Some(1) { what.to_string() } else { plural };
    let values = values.map_or_else(String::new, |values| format!("{} ", count(values)));
    format!("; {} of {values}rarer {what} not named", counted(rows, "row"))
}

impl ColumnSummary {
    fn words(&self) -> Option<String> {
        let Some(sums) = &self.sums else {
            return matches!(self.purpose, Purpose::Ignored(_)).then(|| "empty".into());
        };
        let Purpose::Feature(kind) = self.purpose else { return None };
        let counts = || -> String {
            let named = sums.counts.iter();
            let named = named.map(|(value, rows)| format!("{value} in {}", count(*rows)));
            among(&named.collect::<Vec<_>>(), "row")
        };
        let mut words = match kind {
            ColumnKind::Category => vec![sums.levels()],
            ColumnKind::Truth => vec![counts()],
            ColumnKind::Time => {
                let when = sums.time.as_ref().map_or_else(|| "no date".into(), TimeSums::words);
                vec![when, sums.means()]
            }
            _ => vec![sums.means()],
        };
        if !matches!(kind, ColumnKind::Category | ColumnKind::Truth) && !sums.counts.is_empty() {
            words.push(counts());
        }
        if sums.missing > 0 {
            words.push(format!("{} missing", count(sums.missing)));
        }
        if sums.is_apart {
            words.push("no products, since few rows differ from all others".into());
        }
        Some(words.join("; "))
    }
}

impl SiteSums {
    fn levels(&self) -> String {
        let named = self.counts.iter();
        let named: Vec<String> =
            named.map(|(level, rows)| format!("{level} in {}", count(*rows))).collect();
        let levels = counted(named.len(), "level");
        let rest = hidden(self.rare_rows, Some(self.rare_values), "level");
        format!("{levels}: {}{rest}", among(&named, "row"))
    }

    /// Means and deviations, with names where there are several.
    fn means(&self) -> String {
        let [values, _] = self.trained();
        let one = |own: &FeatureSums| {
            // A column without a value has no squares either: its deviation is zero, and not zero over zero.
            let deviation = significant((own.squares / values.max(f64::MIN_POSITIVE)).sqrt());
            format!("mean {}, standard deviation {deviation}", significant(own.mean))
        };
        match &self.features[..] {
            [own] => one(own),
            all => {
                let named = all.iter().map(|own| format!("{} {}", own.name, one(own)));
                named.collect::<Vec<_>>().join("; ")
            }
        }
    }
}

impl TimeSums {
    fn words(&self) -> String {
        let facts = &self.facts;
        let (first, mean) = (written(facts.first), written(self.mean));
        let mut words = vec![format!("dates since {first}"), format!("mean {mean}")];
        if let Some(moment) = facts.moment {
            words.push(format!("all at {}", written(moment)));
        } else {
            words.extend(facts.month.map(|month| format!("all month {month}")));
            words.extend(facts.weekday.map(|day| format!("all weekday {day} (0 is Monday)")));
            words.extend(facts.time.map(|time| {
                let at = written(time);
                format!("all {}", at.split_once(' ').map_or("midnight", |(_, time)| time))
            }));
        }
        words.extend(self.order.map(|order| match order {
            DateOrder::DayFirst => String::from("the day first"),
            DateOrder::MonthFirst => String::from("the month first"),
        }));
        words.join(", ")
    }
}
