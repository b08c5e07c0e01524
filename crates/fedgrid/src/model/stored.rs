//! Hypotheses as plain values in files,
//!
//! ```text
//! {"kind": "linear", "names": ["x"], "slopes": [2.0], "intercept": 0.5}
//! ```
//!
//! and the registry of kinds that reads them back. A hypothesis that can be stored implements
//! [`Storable`] in its own file; those of this crate are listed in `builtin.rs`, those of other crates
//! are added with [`HypothesisKinds::with`].

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};

use super::{Hypothesis, RescaledHypothesis};
use crate::{
    data::Task,
    error::{Error, Result},
};

/// A hypothesis of any kind as plain values, to be kept in a file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Stored {
    kind: String,
    // In the order of the hypothesis's own fields, so that files keep their text.
    #[serde(flatten)]
    values: Map<String, Value>,
}

impl Stored {
    /// The values of a hypothesis; none if they cannot be written as JSON.
    pub fn of<H: Storable>(hypothesis: &H) -> Option<Self> {
        Self::of_values(H::KIND, hypothesis)
    }

    /// The name of its kind; of one that was learnt in other units, that of what was learnt.
    #[must_use]
    pub fn kind(&self) -> &str {
        let inner = self.values.get("model").and_then(|model| model.get("kind"));
        let is_rescaled = self.kind == RescaledHypothesis::KIND;
        inner.filter(|_| is_rescaled).and_then(Value::as_str).unwrap_or(&self.kind)
    }

    /// Values under the name of their kind; none if they cannot be written as JSON.
    pub(super) fn of_values(kind: &str, values: &impl Serialize) -> Option<Self> {
        match serde_json::to_value(values) {
            Ok(Value::Object(values)) => Some(Self { kind: kind.into(), values }),
            _ => None,
        }
    }

    /// The values, if they are those of this type.
    pub(super) fn into_values<T: DeserializeOwned>(self) -> Result<T> {
        serde_json::from_value(Value::Object(self.values))
            .map_err(|_| malformed("does not hold the values of its kind"))
    }
}

/// A hypothesis that can be kept in a file and read again.
pub trait Storable: Hypothesis + Serialize + DeserializeOwned {
    /// The name of the kind in files.
    const KIND: &'static str;

    /// The features that it reads, in order, or none if it reads no features; and what it predicts.
    fn domain(&self) -> (Option<&[String]>, Task);

    /// Refuses values that no fit gives: lists of the wrong length, indices that do not exist,
    /// numbers that are not finite. A hypothesis that passes predicts for every row.
    fn check(&self) -> Result<()>;
}

/// The features and the task of rows that a hypothesis is to be for; none if any will do.
type ForRows<'a> = Option<(&'a [String], Task)>;

type Load = fn(Stored, ForRows) -> Result<Box<dyn Hypothesis>>;

/// The kinds of hypotheses that can be read from files.
#[derive(Debug, Clone, Default)]
pub struct HypothesisKinds(BTreeMap<&'static str, Load>);

impl HypothesisKinds {
    /// These and one more.
    #[must_use]
    pub fn with<H: Storable>(mut self) -> Self {
        self.0.insert(H::KIND, load::<H>);
        self
    }

    /// The hypothesis that was stored, if it passes its check; and, where features and task are given,
    /// if it is one for rows of these.
    pub fn load(&self, stored: Stored, rows: ForRows) -> Result<Box<dyn Hypothesis>> {
        // It holds another hypothesis, of any of these kinds.
        if stored.kind == RescaledHypothesis::KIND {
            let hypothesis = RescaledHypothesis::load(stored, self)?;
            let domain = (Some(hypothesis.scales.names()), hypothesis.task);
            check_domain(domain, rows)?;
            return Ok(Box::new(hypothesis));
        }
        let load = self.0.get(stored.kind.as_str());
        load.ok_or(malformed("is of no known kind"))?(stored, rows)
    }
}

fn load<H: Storable>(stored: Stored, rows: ForRows) -> Result<Box<dyn Hypothesis>> {
    let hypothesis: H = stored.into_values()?;
    // Before anything asks it to predict: a file may be damaged, or made by hand.
    hypothesis.check()?;
    check_domain(hypothesis.domain(), rows)?;
    Ok(Box::new(hypothesis))
}

/// Refuses what is for other rows.
fn check_domain((own_names, own_task): (Option<&[String]>, Task), rows: ForRows) -> Result<()> {
    let fits = |(names, task)| own_task == task && own_names.is_none_or(|own| own == names);
    if rows.is_none_or(fits) {
        return Ok(());
    }
    Err(malformed("is for other features or another task"))
}

fn malformed(reason: &'static str) -> Error {
    Error::Malformed { what: "a stored hypothesis", reason }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        data::{Dataset, Features, Labels},
        model::{
            Boosting, ExtraTrees, Forest, Linear, LinearHypothesis, LocalModel, Logistic, Tree,
        },
        random::{Purpose, Stream},
    };
    use serde_json::{Value, json};

    fn data(task: Task) -> Dataset {
        let mut stream = Stream::new(1, 0, 0, Purpose::Data);
        let names = ["a", "b"].map(String::from).into();
        let features = Features::new(names, (0..60).map(|_| stream.normal()).collect()).unwrap();
        let labels = match task {
            Task::Regression => Labels::values((0..30).map(|_| stream.normal()).collect()),
            Task::Classification { classes } => {
                let labels: Vec<usize> = (0..30).map(|_| stream.index(classes)).collect();
                Labels::classes(classes, &labels).unwrap()
            }
        };
        Dataset::new(features, labels).unwrap()
    }

    fn stored(task: Task) -> Vec<Value> {
        let forest = Forest { trees: 3, ..Forest::default() };
        let boosting = Boosting { trees: 3, ..Boosting::default() };
        let extra = ExtraTrees(Forest { trees: 3, ..ExtraTrees::default().0 });
        let own: Box<dyn LocalModel> = match task {
            Task::Regression => Box::new(Linear::default()),
            Task::Classification { .. } => Box::new(Logistic::default()),
        };
        let tree = Box::new(Tree::default());
        let models = [own, tree, Box::new(forest), Box::new(boosting), Box::new(extra)];
        let fitted = models.iter().map(|model| model.fit(&data(task)).unwrap().save().unwrap());
        fitted.map(|stored| serde_json::to_value(stored).unwrap()).collect()
    }

    fn load(value: Value) -> Result<Box<dyn Hypothesis>> {
        let stored = serde_json::from_value(value).map_err(|_| malformed("has no kind"))?;
        HypothesisKinds::builtin().load(stored, None)
    }

    /// All paths into nested lists and objects.
    fn paths(value: &Value, at: &str, all: &mut Vec<String>) {
        all.push(at.to_string());
        match value {
            Value::Array(items) => items
                .iter()
                .enumerate()
                .take(4)
                .for_each(|(k, item)| paths(item, &format!("{at}/{k}"), all)),
            Value::Object(items) => {
                items.iter().for_each(|(k, item)| paths(item, &format!("{at}/{k}"), all));
            }
            _ => {}
        }
    }

    #[test]
    fn what_a_fit_gives_is_accepted() {
        let classes = |classes| Task::Classification { classes };
        for task in [Task::Regression, classes(2), classes(3)] {
            assert!(stored(task).into_iter().all(|value| load(value).is_ok()));
        }
    }

    #[test]
    fn a_stored_hypothesis_that_was_changed_is_refused_or_still_predicts() {
        let classes = |classes| Task::Classification { classes };
        let changes =
            [json!(0), json!(1), json!(7), json!(4_000_000_000_u32), json!(1e308), json!([])];
        let mut refused = 0;
        for task in [Task::Regression, classes(2), classes(3)] {
            for value in stored(task) {
                let mut all = Vec::new();
                paths(&value, "", &mut all);
                for (at, change) in all.iter().flat_map(|at| changes.iter().map(move |c| (at, c))) {
                    let mut changed = value.clone();
                    *changed.pointer_mut(at).unwrap() = change.clone();
                    match load(changed) {
                        Ok(changed) => drop(changed.predict(data(task).features())),
                        Err(Error::Malformed { .. }) => {}
                        Err(_) => refused += 1,
                    }
                }
            }
        }
        assert!(refused > 50, "{refused}");
    }

    #[test]
    fn a_branch_that_leads_back_is_refused() {
        let mut value = stored(Task::Regression).remove(2);
        value["nodes"]["right"][0] = json!(1);
        assert_eq!(load(value).unwrap_err().to_string(), "the right branch: found 1, expected 2");
    }

    #[test]
    fn hypotheses_fit_their_own_features_and_task() {
        let classes = Task::Classification { classes: 2 };
        let names = ["a", "b"].map(String::from);
        for (task, other) in [(Task::Regression, classes), (classes, Task::Regression)] {
            for value in stored(task) {
                let stored: Stored = serde_json::from_value(value).unwrap();
                let fits = |names: &[String], task: Task| {
                    HypothesisKinds::builtin().load(stored.clone(), Some((names, task))).is_ok()
                };
                assert!(fits(&names, task), "{stored:?}");
                assert!(!fits(&names[..1], task) && !fits(&names, other));
            }
        }
    }

    #[test]
    fn the_text_begins_with_the_kind_and_keeps_the_order_of_the_fields() {
        let names: std::sync::Arc<[String]> = ["b", "a"].map(String::from).into();
        let linear = LinearHypothesis { names, slopes: vec![1.0, -0.1], intercept: 1e-300 };
        let text = serde_json::to_string(&linear.save().unwrap()).unwrap();
        let expected =
            r#"{"kind":"linear","names":["b","a"],"slopes":[1.0,-0.1],"intercept":1e-300}"#;
        assert_eq!(text, expected);
        let again: Stored = serde_json::from_str(&text).unwrap();
        assert_eq!(serde_json::to_string(&again).unwrap(), text);
        let loaded = HypothesisKinds::builtin().load(again, None).unwrap();
        assert_eq!(loaded.downcast_ref(), Some(&linear));
    }

    /// As another crate would write it.
    #[derive(Debug, Serialize, Deserialize)]
    struct Doubled {
        factor: f64,
    }

    impl Hypothesis for Doubled {
        fn predict(&self, features: &Features) -> Labels {
            Labels::values(features.iter().map(|x| self.factor * x[0]).collect())
        }

        fn save(&self) -> Option<Stored> {
            Stored::of(self)
        }
    }

    impl Storable for Doubled {
        const KIND: &'static str = "doubled";

        fn domain(&self) -> (Option<&[String]>, Task) {
            (None, Task::Regression)
        }

        fn check(&self) -> Result<()> {
            crate::error::at_least_zero("factor", self.factor)
        }
    }

    #[test]
    fn a_kind_that_is_added_is_loaded_and_checked_and_one_that_is_not_is_refused() {
        let stored = |factor| Doubled { factor }.save().unwrap();
        let kinds = HypothesisKinds::builtin().with::<Doubled>();
        let features = data(Task::Regression).features().clone();
        let loaded = kinds.load(stored(2.0), None).unwrap();
        assert_eq!(loaded.predict(&features), Doubled { factor: 2.0 }.predict(&features));
        assert!(kinds.load(stored(-1.0), None).is_err());
        let refusal = HypothesisKinds::builtin().load(stored(2.0), None).unwrap_err().to_string();
        assert_eq!(refusal, "a stored hypothesis is of no known kind");
    }
}
