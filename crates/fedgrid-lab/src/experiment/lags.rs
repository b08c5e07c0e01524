//! What is made of earlier values of a column.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toml::{Table, Value};

use super::{
    TimeSpan,
    split::{LENGTH, as_text},
};

/// What is made of earlier values of a column at the same node. `sales = [1, 7]` is short for
/// `sales = { lags = [1, 7] }`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LagKeys {
    /// The value so long before each row.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lags: Vec<String>,
    /// The mean of the values over so long before each row; with a horizon, before the time that is forecast.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub means: Vec<String>,
}

impl LagKeys {
    /// The features that are made of a column, each with its length of time; means come last.
    pub fn features(&self, column: &str) -> impl Iterator<Item = (String, bool, &str)> {
        let lags = self.lags.iter().map(|text| ("lag", false, text));
        let means = self.means.iter().map(|text| ("mean", true, text));
        lags.chain(means).map(move |(word, is_mean, text)| {
            let length: String = text.split_whitespace().collect();
            (format!("{column}.{word}_{length}"), is_mean, text.as_str())
        })
    }

    /// Refuses lengths that are none.
    pub(super) fn check(&self, column: &str) -> Result<(), String> {
        if self.lags.is_empty() && self.means.is_empty() {
            return Err(format!("data.lags.{column} is empty, expected lags, such as [1, 7]"));
        }
        let wrong = self.lags.iter().chain(&self.means).find(|text| TimeSpan::read(text).is_none());
        if let Some(text) = wrong {
            return Err(format!("data.lags.{column} holds \"{text}\", expected {LENGTH}"));
        }
        let names: Vec<String> = self.features(column).map(|(name, ..)| name).collect();
        match names.iter().enumerate().find(|(at, name)| names[..*at].contains(name)) {
            Some((_, name)) => {
                Err(format!("data.lags.{column} makes '{name}' twice, expected each once"))
            }
            None => Ok(()),
        }
    }
}

/// Writes the short form of lags in full, `sales = [1, 7]`, and numbers as text.
pub(super) fn in_full(table: &mut Table) {
    let data = table.get_mut("data").and_then(Value::as_table_mut);
    let lags = data.and_then(|data| data.get_mut("lags")).and_then(Value::as_table_mut);
    for (_, keys) in lags.into_iter().flatten() {
        // A number alone is one lag.
        as_text(keys);
        if keys.is_str() || keys.is_array() {
            let lags = std::mem::replace(keys, Value::Boolean(false));
            *keys = Value::Table(Table::from_iter([("lags".to_string(), lags)]));
        }
        for list in ["lags", "means"] {
            let Some(list) = keys.get_mut(list) else { continue };
            as_text(list);
            if list.is_str() {
                *list = Value::Array(vec![list.clone()]);
            }
            list.as_array_mut().into_iter().flatten().for_each(as_text);
        }
    }
}
