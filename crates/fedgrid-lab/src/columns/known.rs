//! What is known of rows besides their features: how many each stands for, and a part of its target.

use serde::{Deserialize, Serialize};

use super::problems::{Problems, WrongCells};
use crate::{
    experiment::{DataKeys, Experiment},
    number::{counted, tick},
    source::{Column, finite},
};

/// A part of the target that is known beforehand, and how it enters a prediction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KnownPart {
    /// The column that holds it.
    pub column: String,
    /// How it enters.
    pub kind: KnownKind,
}

/// How a known part enters a prediction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum KnownKind {
    /// It is added.
    Offset,
    /// It is what a rate is multiplied by.
    Exposure,
    /// The logarithm of that.
    LogExposure,
}

impl KnownPart {
    /// That of an experiment, whose models are of counts or not.
    #[must_use]
    pub fn of(experiment: &Experiment) -> Option<Self> {
        let keys = &experiment.data;
        let offset = || {
            let of_counts = experiment.model.models().all(|model| model.as_local().is_of_counts());
            let kind = if of_counts { KnownKind::LogExposure } else { KnownKind::Offset };
            keys.offset.clone().map(|column| Self { column, kind })
        };
        let exposure = keys.exposure.clone();
        exposure.map(|column| Self { column, kind: KnownKind::Exposure }).or_else(offset)
    }

    /// What messages call it.
    #[must_use]
    pub fn role(&self) -> &'static str {
        if self.kind == KnownKind::Exposure { "exposure" } else { "offset" }
    }

    /// What a reader should know of it.
    #[must_use]
    pub fn note(&self) -> String {
        let column = &self.column;
        match self.kind {
            KnownKind::Offset => {
                format!("Predictions are the offset '{column}' and what is learnt besides it.")
            }
            KnownKind::Exposure => format!(
                "Counts are over '{column}': rates per unit of it are learnt, and errors are those of counts."
            ),
            KnownKind::LogExposure => format!(
                "Counts are over an exposure of logarithm '{column}': rates per unit of it are learnt, and errors \
                 are those of counts."
            ),
        }
    }

    /// The number of each row that is used, as it enters: an exposure, or what is added.
    #[must_use]
    pub fn read(&self, column: &Column, is_used: &[bool], problems: &mut Problems) -> Vec<f64> {
        let mut wrong = WrongCells::default();
        let number = |row: usize| {
            if !is_used[row] {
                return 1.0;
            }
            let found = finite(column, row).and_then(|value| self.entering(value));
            found.unwrap_or_else(|found| {
                wrong.add(row, || found);
                1.0
            })
        };
        let numbers = (0..column.rows()).map(number).collect();
        problems.add_cells(column.name(), &wrong);
        numbers
    }

    /// A cell as it enters, or what is wrong with it.
    pub fn entering(&self, value: f64) -> Result<f64, String> {
        match self.kind {
            KnownKind::Offset => Ok(value),
            KnownKind::Exposure if value > 0.0 => Ok(value),
            KnownKind::Exposure => Err(format!("is {value}, expected a positive number")),
            KnownKind::LogExposure => {
                let exposure = value.exp();
                let is_sound = exposure > 0.0 && exposure.is_finite();
                let expected = "expected the logarithm of an exposure, between -700 and 700";
                if is_sound { Ok(exposure) } else { Err(format!("is {value}, {expected}")) }
            }
        }
    }

    /// A prediction with its known part.
    #[must_use]
    pub fn completed(&self, prediction: f64, entering: f64) -> f64 {
        match self.kind {
            KnownKind::Offset => prediction + entering,
            KnownKind::Exposure | KnownKind::LogExposure => prediction * entering,
        }
    }
}

/// How many rows each one stands for, by the column of weights.
#[must_use]
pub fn read_weights(column: &Column, is_used: &[bool], problems: &mut Problems) -> Vec<f64> {
    let mut wrong = WrongCells::default();
    let number = |row: usize| {
        if !is_used[row] {
            return 0.0;
        }
        let found = finite(column, row).and_then(|value| match value {
            value if value >= 0.0 => Ok(value),
            value => Err(format!("is {value}, expected zero or a positive number")),
        });
        found.unwrap_or_else(|found| {
            wrong.add(row, || found);
            1.0
        })
    };
    let numbers = (0..column.rows()).map(number).collect();
    problems.add_cells(column.name(), &wrong);
    numbers
}

/// What a reader should know of rows that stand for several.
#[must_use]
pub fn weight_note(column: &str, total: f64, rows: usize) -> String {
    let total = tick(total);
    format!("Rows count as '{column}' says: {} of the table as {total}.", counted(rows, "row"))
}

/// The names of a column that is a weight more often than a feature.
const LIKE_WEIGHTS: [&str; 6] = ["w", "weight", "weights", "sample_weight", "wt", "freq"];

/// A feature that is called like a weight may have been meant as one.
#[must_use]
pub fn question_weight(keys: &DataKeys, features: &[&str]) -> Option<String> {
    if keys.weight.is_some() {
        return None;
    }
    // Who names a column, or says what it is, has thought of it.
    let is_open = |name: &&&str| {
        !keys.columns.contains_key(**name)
            && !keys.features.iter().flatten().any(|listed| listed == **name)
    };
    let is_like = |name: &&&str| LIKE_WEIGHTS.contains(&name.to_lowercase().as_str());
    features.iter().filter(is_open).find(is_like).map(|name| {
        format!(
            "Column '{name}' is used as a feature; if it says how many rows each one stands for, give --weight {name} \
             (key data.weight)."
        )
    })
}
