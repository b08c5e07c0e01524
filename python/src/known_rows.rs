//! What is known of the rows of a frame besides their features: how many each stands for, and a part of its target.

use fedgrid_lab::{
    columns::{KnownKind, KnownPart, weight_note},
    experiment::Experiment,
};
use numpy::{
    PyReadonlyArray1,
    ndarray::{ArrayView1, CowArray, Ix1},
};
use pyo3::{exceptions::PyValueError, prelude::*};

/// Numbers that Python gives for every row.
type GivenNumbers<'py> = Option<PyReadonlyArray1<'py, f64>>;

/// What is known of rows.
pub(crate) struct KnownRows {
    /// How many rows each one stands for.
    pub(crate) weights: Option<Vec<f64>>,
    /// Over how much each label was counted.
    pub(crate) exposures: Option<Vec<f64>>,
    /// What is subtracted from each label.
    offsets: Option<Vec<f64>>,
}

impl KnownRows {
    /// Refuses what is no weight, offset or exposure, with its row.
    pub(crate) fn new(
        experiment: &Experiment,
        (weights, known): (&GivenNumbers<'_>, &GivenNumbers<'_>),
        rows: usize,
    ) -> PyResult<Self> {
        let weight = |value: f64| match value {
            value if value.is_finite() && value >= 0.0 => Ok(value),
            value => Err(format!("is {value}, expected zero or a positive number")),
        };
        let weights = weights.as_ref().map(|given| read("weight", given, rows, weight));
        let mut all = Self { weights: weights.transpose()?, exposures: None, offsets: None };
        let Some((part, given)) = KnownPart::of(experiment).zip(known.as_ref()) else {
            return Ok(all);
        };
        let entering = |value: f64| match value {
            value if value.is_finite() => part.entering(value),
            value => Err(format!("is {value}, expected a finite number")),
        };
        let numbers = Some(read(part.role(), given, rows, entering)?);
        if part.kind == KnownKind::Offset {
            all.offsets = numbers;
        } else {
            all.exposures = numbers;
        }
        Ok(all)
    }

    /// How many rows one stands for.
    pub(crate) fn weight(&self, row: usize) -> f64 {
        self.weights.as_ref().map_or(1.0, |weights| weights[row])
    }

    /// Whether some rows stand for none.
    pub(crate) fn has_zeros(&self) -> bool {
        self.weights.iter().flatten().any(|weight| *weight == 0.0)
    }

    /// Targets less what is known of them.
    pub(crate) fn targets<'a>(&self, target: ArrayView1<'a, f64>) -> CowArray<'a, f64, Ix1> {
        match &self.offsets {
            Some(offsets) => {
                let less = target.iter().zip(offsets).map(|(label, known)| label - known);
                less.collect::<Vec<f64>>().into()
            }
            None => target.into(),
        }
    }

    /// What a reader should know of the rows that are used.
    pub(crate) fn notes(
        &self,
        experiment: &Experiment,
        is_used: impl Fn(usize) -> bool,
    ) -> Vec<String> {
        let name = experiment.data.weight.as_deref().unwrap_or("weight");
        let weights = self.weights.as_ref().map(|weights| {
            let used = || weights.iter().enumerate().filter(|(row, _)| is_used(*row));
            weight_note(name, used().map(|(_, weight)| weight).sum(), used().count())
        });
        let known = KnownPart::of(experiment).map(|part| part.note());
        weights.into_iter().chain(known).collect()
    }
}

fn read(
    what: &str,
    given: &PyReadonlyArray1<'_, f64>,
    rows: usize,
    number: impl Fn(f64) -> Result<f64, String>,
) -> PyResult<Vec<f64>> {
    let given = given.as_array();
    if given.len() != rows {
        let found = given.len();
        return Err(PyValueError::new_err(format!("{what} has {found} rows, expected {rows}")));
    }
    let one = |(row, value): (usize, &f64)| {
        number(*value).map_err(|found| {
            // The row goes between what was found and what was expected.
            let (value, expected) = found.split_once(", ").unwrap_or((&found, ""));
            PyValueError::new_err(format!("{what} {value} in row {row}, {expected}"))
        })
    };
    given.iter().enumerate().map(one).collect()
}
