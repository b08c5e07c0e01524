//! `--set KEY=A,B,C`: a key and the values that it takes.
//!
//! Commas inside of brackets, braces and quotes do not part values, so that lists are values, too:
//! `data.features=["x","z"],["x"]` are two.

use serde::{Deserialize, Serialize};
use toml::Value;

use crate::{
    error::{Error, Result},
    experiment::Experiment,
};

/// A key with its values.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SweptKey {
    /// Its name, such as `network.nearest`.
    pub key: String,
    /// The values that it takes, in order.
    pub values: Vec<Value>,
}

impl SweptKey {
    /// Reads `key=a,b,c`.
    pub fn from_text(assignment: &str) -> Result<Self> {
        let wrong = |what: &str| {
            Error::input(format!("--set {assignment}: {what}; expected key.key=value,value"))
        };
        let (key, values) = assignment.split_once('=').ok_or_else(|| wrong("there is no value"))?;
        let key = key.trim().to_string();
        let parts = parts(values).ok_or_else(|| wrong("a bracket or quote is not closed"))?;
        if parts.len() > 1 && parts.iter().any(|part| part.trim().is_empty()) {
            return Err(wrong("there is nothing between two commas"));
        }
        let values: Vec<Value> =
            parts.iter().map(|part| Experiment::value_from_text(part)).collect();
        let twice = (1..values.len()).find(|&at| values[..at].contains(&values[at]));
        if let Some(at) = twice {
            let value = text(&values[at]);
            return Err(Error::input(format!(
                "--set {assignment}: {key} has the value {value} twice"
            )));
        }
        Ok(Self { key, values })
    }

    /// Whether there is more than one value.
    #[must_use]
    pub fn varies(&self) -> bool {
        self.values.len() > 1
    }
}

/// A value as tables have it: text without quotes, all else as in TOML.
pub(super) fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), Into::into)
}

/// A text parted at commas outside of brackets and quotes; none if one of these is not closed.
fn parts(text: &str) -> Option<Vec<String>> {
    let mut parts = vec![String::new()];
    let (mut open, mut quote, mut is_escaped) = (Vec::new(), None, false);
    for letter in text.chars() {
        let part = parts.last_mut().expect("there is always a part");
        match (quote, letter) {
            (Some(_), _) if is_escaped => is_escaped = false,
            // In TOML a backslash escapes in double quotes only.
            (Some('"'), '\\') => is_escaped = true,
            (Some(own), _) if own == letter => quote = None,
            (None, '"' | '\'') if part.trim().is_empty() || !open.is_empty() => {
                quote = Some(letter);
            }
            (None, '[') => open.push(']'),
            (None, '{') => open.push('}'),
            (None, _) if open.last() == Some(&letter) => drop(open.pop()),
            (None, ',') if open.is_empty() => {
                parts.push(String::new());
                continue;
            }
            _ => {}
        }
        part.push(letter);
    }
    (open.is_empty() && quote.is_none()).then_some(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(assignment: &str) -> Vec<String> {
        let key = SweptKey::from_text(assignment).unwrap();
        key.values.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn commas_part_values_but_not_inside_of_lists_and_quotes() {
        assert_eq!(values("network.nearest=4, 8,16"), ["4", "8", "16"]);
        assert_eq!(values("method.kind=fedrelax,gtv"), ["\"fedrelax\"", "\"gtv\""]);
        assert_eq!(values("method.alpha=0.1,auto"), ["0.1", "\"auto\""]);
        assert_eq!(values(r#"data.features=["x","z"],["x"]"#), [r#"["x", "z"]"#, r#"["x"]"#]);
        assert_eq!(values("title='a,b',\"c\\\",d\""), [r#""a,b""#, r#"'c",d'"#]);
        assert_eq!(values("data.lags={ y = [1, 2] },{}"), ["{ y = [1, 2] }", "{}"]);
        assert_eq!(values("data.node=rock'n,roll"), ["\"rock'n\"", "\"roll\""]);
    }

    #[test]
    fn what_is_no_list_of_values_is_refused() {
        for (assignment, what) in [
            ("network.nearest", "there is no value"),
            ("data.features=[\"x\"", "a bracket or quote is not closed"),
            ("network.nearest=4,,8", "there is nothing between two commas"),
            ("network.nearest=4,8,4", "network.nearest has the value 4 twice"),
        ] {
            let sentence = SweptKey::from_text(assignment).unwrap_err().to_string();
            assert!(sentence.contains(what), "{sentence}");
        }
    }
}
