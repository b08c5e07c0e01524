//! Predictions as JSON, row by row, for the command and for the server.

use serde::{Serialize, Serializer, ser::SerializeMap};

use super::Served;
use crate::{assembly::DataSchema, kept_models::RunModels};

/// What is predicted for a row.
#[derive(Debug, Serialize)]
pub struct AnsweredRow<'a> {
    row: usize,
    node: &'a str,
    prediction: Predicted<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    probabilities: Option<Probabilities<'a>>,
    /// If intervals are asked for.
    #[serde(flatten)]
    ends: Option<Ends>,
    by: &'static str,
}

/// The ends of an interval; null where a row has none.
#[derive(Debug, Serialize)]
struct Ends {
    lower: Option<f64>,
    upper: Option<f64>,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Predicted<'a> {
    Number(f64),
    Class(&'a str),
}

/// The probability of each class.
#[derive(Debug)]
struct Probabilities<'a> {
    classes: &'a [String],
    shares: &'a [f64],
}

impl Serialize for Probabilities<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.classes.len()))?;
        for (class, share) in self.classes.iter().zip(self.shares) {
            map.serialize_entry(class, share)?;
        }
        map.end()
    }
}

impl<'a> AnsweredRow<'a> {
    /// The row at this place.
    #[must_use]
    pub fn new(about: &'a DataSchema, served: &'a Served, row: usize) -> Self {
        let outputs = about.task.outputs();
        let own = &served.values[row * outputs..][..outputs];
        let classes = &about.classes;
        let has_classes = !classes.is_empty();
        let prediction = if has_classes {
            Predicted::Class(&classes[most_probable(own)])
        } else {
            Predicted::Number(own[0])
        };
        let ends = served.intervals.as_ref().map(|intervals| intervals[row].unzip());
        Self {
            row: row + 1,
            node: &served.nodes[row],
            prediction,
            probabilities: has_classes.then_some(Probabilities { classes, shares: own }),
            ends: ends.map(|(lower, upper)| Ends { lower, upper }),
            by: served.by[row].word(),
        }
    }
}

/// The place of the largest probability; the first of equals.
#[must_use]
pub fn most_probable(shares: &[f64]) -> usize {
    (0..shares.len()).fold(0, |best, next| if shares[next] > shares[best] { next } else { best })
}

/// Which method has predicted, and what else could have; `way` is how another is asked for, such as `--use`.
#[must_use]
pub fn method_note(models: &RunModels, way: &str) -> String {
    let RunModels { used, advised, methods, .. } = models;
    let others = methods.iter().filter(|name| *name != used).map(String::as_str);
    let others = others.collect::<Vec<_>>().join(", ");
    let others = if others.is_empty() { others } else { format!(" ({way} takes {others}, too)") };
    let advice = match (used == advised, methods.first() == Some(used)) {
        (true, true) => String::new(),
        (true, false) => ", as the verdict advises".into(),
        (false, _) => format!(" instead of {advised}"),
    };
    format!("predicted by {used}{advice}{others}")
}
