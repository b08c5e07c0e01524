//! How much a node's model makes of each column: by how much its error rises when the cells of the column are
//! shuffled among the node's rows,
//!
//! ```text
//! rise_k = mean over shuffles of  error(rows with column k shuffled) − error(rows)
//! ```
//!
//! [Breiman 2001, "Random Forests", section 10]. Features that are made of one column are shuffled together.

use std::sync::Arc;

use fedgrid::{
    data::{Dataset, Features, Labels, Task, by_name},
    model::{Hypothesis, Scales},
    random::{Purpose, Stream},
};
use serde::Serialize;

use crate::assembly::Assembly;

/// How often each column is shuffled.
const SHUFFLES: usize = 10;

/// What columns are worth to a node's model.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Importance {
    /// Which rows were asked for: `test`, `validation` or `training`.
    pub rows_are: &'static str,
    /// How many there are.
    pub rows: usize,
    /// The error on these rows as they are.
    pub error: f64,
    /// The columns, the most important first.
    pub columns: Vec<ImportantColumn>,
}

/// What a column is worth.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ImportantColumn {
    /// The column of the table.
    pub column: String,
    /// By how much the error rises without it.
    pub rise: f64,
    /// The standard deviation of that over shuffles.
    pub deviation: f64,
}

impl Importance {
    /// How many rows models are asked for, to know the importance of all columns of all nodes.
    #[must_use]
    pub fn asked_rows(assembly: &Assembly) -> usize {
        let nodes = 0..assembly.study.rows.len();
        let rows: usize = nodes.map(|node| rows_of(assembly, node).1.len()).sum();
        rows * SHUFFLES * assembly.about.columns_of_features().len()
    }

    /// The importance for the model of a node, or why there is none.
    pub(super) fn of(
        assembly: &Assembly,
        node: usize,
        model: &dyn Hypothesis,
    ) -> Result<Self, String> {
        let (rows_are, rows) = rows_of(assembly, node);
        if rows.len() < 2 {
            return Err("the node has too few rows to shuffle a column among them".into());
        }
        let asked = Asked::new(assembly, &assembly.study.rows[node].select(&rows), model);
        let error = asked.error(asked.features.clone());
        let mut columns: Vec<ImportantColumn> = (assembly.about.columns_of_features().into_iter())
            .map(|group| asked.rise(group, node, error))
            .collect();
        columns.sort_by(|a, b| b.rise.total_cmp(&a.rise));
        Ok(Self { rows_are, rows: rows.len(), error, columns })
    }
}

/// The rows that a node's model is asked for: validation rows that it has not seen, or else test rows, or else those
/// that it was trained on.
fn rows_of(assembly: &Assembly, node: usize) -> (&'static str, Vec<usize>) {
    let plan = &assembly.study.plan;
    let is_seen = |row: &usize| plan.train[node].contains(row) || plan.test[node].contains(row);
    let all = 0..assembly.study.rows[node].rows();
    let unseen: Vec<usize> = all.filter(|row| !is_seen(row)).collect();
    match (unseen.is_empty(), plan.test[node].is_empty()) {
        (false, _) => ("validation", unseen),
        (true, false) => ("test", plan.test[node].clone()),
        (true, true) => ("training", plan.train[node].clone()),
    }
}

/// A model with the rows that it is asked for, both in the units of the table.
struct Asked<'a> {
    assembly: &'a Assembly,
    model: &'a dyn Hypothesis,
    data: Dataset,
    /// The labels in the units of the table.
    labels: Labels,
    names: Arc<[String]>,
    features: Vec<f64>,
}

impl<'a> Asked<'a> {
    fn new(assembly: &'a Assembly, data: &Dataset, model: &'a dyn Hypothesis) -> Self {
        let scales = assembly.study.scales.as_ref();
        let features = match scales {
            Some(scales) => data.features().iter().flat_map(|z| unscaled(scales, z)).collect(),
            None => data.features().values().to_vec(),
        };
        let mut labels = data.labels().clone();
        if let (Task::Regression, Some(scales)) = (assembly.study.task(), scales) {
            labels.as_mut_slice().iter_mut().for_each(|label| *label *= scales.target());
        }
        let names = assembly.about.features.clone().into();
        Self { assembly, model, data: data.clone(), labels, names, features }
    }

    /// The mean error of the rows with these features, in the units of the table.
    fn error(&self, features: Vec<f64>) -> f64 {
        let Ok(features) = Features::new(self.names.clone(), features) else { return f64::NAN };
        let predictions = self.data.over_exposures(self.model.predict(&features));
        self.assembly.study.metric().mean(&self.labels, &predictions)
    }

    /// By how much the error rises when a column's features are shuffled.
    fn rise(
        &self,
        (column, places): (String, Vec<usize>),
        node: usize,
        error: f64,
    ) -> ImportantColumn {
        let (width, rows) = (self.assembly.about.features.len(), self.data.rows());
        let seed = self.assembly.study.settings.seed;
        let rises: Vec<f64> = (0..SHUFFLES)
            .map(|shuffle| {
                let order = Stream::new(seed, node, shuffle, Purpose::Shuffle).permutation(rows);
                let mut features = self.features.clone();
                for (row, &other) in order.iter().enumerate() {
                    for &place in &places {
                        features[row * width + place] = self.features[other * width + place];
                    }
                }
                self.error(features) - error
            })
            .collect();
        let mean = rises.iter().sum::<f64>() / SHUFFLES as f64;
        let squares: f64 = rises.iter().map(|rise| (rise - mean).powi(2)).sum();
        ImportantColumn { column, rise: mean, deviation: (squares / SHUFFLES as f64).sqrt() }
    }
}

/// Features of the study in the units and the order of the table.
fn unscaled(scales: &Scales, z: &[f64]) -> Vec<f64> {
    let (scaling, mut x) = (scales.scaling(), vec![0.0; z.len()]);
    for (z, column) in z.iter().zip(by_name(scales.names())) {
        x[column] = z * scaling.deviations[column] + scaling.means[column];
    }
    x
}
