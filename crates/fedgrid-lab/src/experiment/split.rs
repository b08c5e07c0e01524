//! What rows are for: as a column says, or by their order in time.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toml::{Table, Value};

use super::TimeSpan;

/// What rows are for. `split = "part"` is short for `split = { column = "part" }`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SplitKeys {
    /// The column that says what each row is for: train, val (or validation), test.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<String>,
    /// What divides rows where no column does: data.time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<SplitBy>,
    /// By time: the share of rows that train, the earliest ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub train: Option<f64>,
    /// By time: the share of rows that validate, those after them; the rest, the latest, tests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub validation: Option<f64>,
    /// By time, with shares: whether all nodes are cut at the same times (the default) or each at its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cut: Option<CutKey>,
    /// By time: the first date, time or number that validates; earlier rows train.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub validation_from: Option<String>,
    /// By time: the first date, time or number that tests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub test_from: Option<String>,
    /// By time: the last date, time or number that is used; later rows are left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    /// By time: from how many origins, one after the other, the rows after them are predicted. The horizon before an
    /// origin validates, and rows before that train.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub origins: Option<usize>,
    /// By time: how far ahead is predicted, in units of data.time (days, of dates), or as in "6h". Lags that are
    /// shorter are refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub horizon: Option<String>,
    /// By time: how far apart origins are; by default the horizon, so that no row is tested twice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
}

/// What divides rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SplitBy {
    /// The column data.time: the past trains, the future tests.
    Time,
}

/// Where shares of rows are cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CutKey {
    /// At the same times for all nodes, so that no row trains that is later than a test row of another node.
    #[default]
    Common,
    /// At times of its own for each node.
    PerNode,
}

impl SplitKeys {
    /// Whether rows are divided by time.
    #[must_use]
    pub fn is_by_time(&self) -> bool {
        self.by == Some(SplitBy::Time)
    }

    /// The keys that are given besides `by`, with the way of dividing rows that each belongs to.
    fn given(&self) -> Vec<(&'static str, Option<&'static str>)> {
        let all = [
            ("train", Some("shares"), self.train.is_some()),
            ("validation", Some("shares"), self.validation.is_some()),
            ("cut", Some("shares"), self.cut.is_some()),
            ("validation_from", Some("dates"), self.validation_from.is_some()),
            ("test_from", Some("dates"), self.test_from.is_some()),
            ("until", Some("dates"), self.until.is_some()),
            ("origins", Some("origins"), self.origins.is_some()),
            ("step", Some("origins"), self.step.is_some()),
            ("horizon", None, self.horizon.is_some()),
        ];
        all.into_iter().filter(|(.., is_given)| *is_given).map(|(key, way, _)| (key, way)).collect()
    }

    /// Refuses keys that do not go together.
    pub(super) fn check(&self, time: Option<&String>) -> Result<(), String> {
        let given = self.given();
        if self.column.is_some() {
            let other = self.by.map(|_| "by").or(given.first().map(|(key, _)| *key));
            return match other {
                Some(key) => {
                    Err(format!("data.split.column and data.split.{key} exclude each other"))
                }
                None => Ok(()),
            };
        }
        if self.by.is_none() {
            return Err("data.split needs by = \"time\", or the name of a column".into());
        }
        if time.is_none() {
            return Err(
                "data.split.by = \"time\" needs data.time, the column that orders rows".into()
            );
        }
        let ways: Vec<_> = given.iter().filter_map(|(key, way)| Some((*key, (*way)?))).collect();
        if let [(first, way), rest @ ..] = &ways[..]
            && let Some((other, _)) = rest.iter().find(|(_, other)| other != way)
        {
            return Err(format!("data.split.{first} and data.split.{other} exclude each other"));
        }
        let expected = "train and validation (shares), validation_from and test_from (dates), or \
                        origins and horizon";
        match ways.first().map(|(_, way)| *way) {
            Some("shares") => self.check_shares()?,
            Some("dates") if self.validation_from.is_none() && self.test_from.is_none() => {
                return Err("data.split.until needs test_from or validation_from".into());
            }
            Some("origins") if self.origins.is_none() => {
                return Err("data.split.step needs data.split.origins".into());
            }
            Some("origins") if self.horizon.is_none() => {
                return Err("data.split.origins needs data.split.horizon".into());
            }
            Some(_) => {}
            None => return Err(format!("data.split by time needs {expected}")),
        }
        for (key, text) in [("horizon", &self.horizon), ("step", &self.step)] {
            if let Some(text) = text.as_ref().filter(|text| TimeSpan::read(text).is_none()) {
                return Err(format!("data.split.{key} is \"{text}\", expected {LENGTH}"));
            }
        }
        Ok(())
    }

    fn check_shares(&self) -> Result<(), String> {
        let Some(train) = self.train else {
            return Err("data.split by time needs train, the share of rows that trains".into());
        };
        let validation = self.validation.unwrap_or(0.0);
        for (key, share) in [("train", train), ("validation", validation)] {
            if !(0.0..=1.0).contains(&share) {
                return Err(format!(
                    "data.split.{key} is {share}, expected a share between 0 and 1"
                ));
            }
        }
        if train + validation > 1.0 {
            return Err("data.split.train and data.split.validation add up to more than 1".into());
        }
        Ok(())
    }
}

/// What a length of time may be, in words.
pub(super) const LENGTH: &str =
    "a length of time above zero: a number, or as in \"6h\" (s, min, h, d, w)";

/// Writes the short form of a split in full, and dates and numbers as text.
pub(super) fn in_full(table: &mut Table) {
    let Some(data) = table.get_mut("data").and_then(Value::as_table_mut) else { return };
    let Some(split) = data.get_mut("split") else { return };
    if split.is_str() {
        // Anything may stand here: the value moves into the section that takes its place.
        let column = std::mem::replace(split, Value::Boolean(false));
        *split = Value::Table(Table::from_iter([("column".to_string(), column)]));
    }
    for key in ["validation_from", "test_from", "until", "horizon", "step"] {
        if let Some(value) = split.get_mut(key) {
            as_text(value);
        }
    }
}

/// Writes a number or a date as text.
pub(super) fn as_text(value: &mut Value) {
    // Dates need no quotes in TOML, and are read as those of tables are.
    if matches!(value, Value::Integer(_) | Value::Float(_) | Value::Datetime(_)) {
        *value = Value::String(value.to_string());
    }
}

/// Writes a split column in its short form.
pub(super) fn in_short(table: &mut Table) {
    let data = table.get_mut("data").and_then(Value::as_table_mut);
    let Some(split) = data.and_then(|data| data.get_mut("split")) else { return };
    if let Some(column) = split.get("column").cloned() {
        *split = column;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(text: &str) -> String {
        let mut table: Table = format!("data.split = {text}").parse().unwrap();
        in_full(&mut table);
        let keys: SplitKeys = table["data"]["split"].clone().try_into().unwrap();
        keys.check(Some(&"day".into())).err().unwrap_or_default()
    }

    #[test]
    fn keys_that_do_not_go_together_are_refused() {
        let needs = "data.split by time needs train and validation (shares), validation_from and \
                     test_from (dates), or origins and horizon";
        for (text, sentence) in [
            ("\"part\"", ""),
            ("{ by = \"time\", train = 0.6, validation = 0.2, cut = \"per-node\" }", ""),
            ("{ by = \"time\", validation_from = 2024-05-01, test_from = \"2024-07-01\" }", ""),
            ("{ by = \"time\", test_from = 30, until = 40, horizon = 5 }", ""),
            ("{ by = \"time\", origins = 5, horizon = \"6h\", step = 1 }", ""),
            ("{ by = \"time\" }", needs),
            ("{ by = \"time\", horizon = 3 }", needs),
            ("{ train = 0.5 }", "data.split needs by = \"time\", or the name of a column"),
            (
                "{ column = \"part\", train = 0.5 }",
                "data.split.column and data.split.train exclude each other",
            ),
            (
                "{ by = \"time\", train = 0.5, test_from = 3 }",
                "data.split.train and data.split.test_from exclude each other",
            ),
            (
                "{ by = \"time\", until = 3, origins = 5 }",
                "data.split.until and data.split.origins exclude each other",
            ),
            (
                "{ by = \"time\", validation = 0.5 }",
                "data.split by time needs train, the share of rows that trains",
            ),
            (
                "{ by = \"time\", train = 1.5 }",
                "data.split.train is 1.5, expected a share between 0 and 1",
            ),
            (
                "{ by = \"time\", train = 0.9, validation = 0.2 }",
                "data.split.train and data.split.validation add up to more than 1",
            ),
            ("{ by = \"time\", until = 3 }", "data.split.until needs test_from or validation_from"),
            ("{ by = \"time\", origins = 3 }", "data.split.origins needs data.split.horizon"),
            ("{ by = \"time\", step = 3 }", "data.split.step needs data.split.origins"),
            (
                "{ by = \"time\", origins = 3, horizon = \"soon\" }",
                "data.split.horizon is \"soon\", expected a length of time above zero: a number, or as in \
                 \"6h\" (s, min, h, d, w)",
            ),
        ] {
            assert_eq!(refusal(text), sentence, "{text}");
        }
    }
}
