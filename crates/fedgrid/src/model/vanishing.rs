//! What becomes of a fit as the weight of some of its rows goes to zero,
//!
//! ```text
//! lim_{ε → 0} fit(own rows, ε · others)   =   fit(own rows) ?
//! ```
//!
//! Methods that pull by predictions add public points to a node's rows, with weights that are
//! proportional to α. So this says what α → 0 is for the model.

use crate::{data::Dataset, model::solver::Basis};

/// What a fit to a node's own rows and others becomes as the weight of the others goes to zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Vanishing {
    /// The fit to the own rows, and it gets there without a jump.
    Forgotten,
    /// One of several fits that are equally good for the own rows: the others choose which, at any
    /// weight above zero, while the own rows alone leave the choice to a convention.
    Choosing,
    /// Something else: a leaf that holds one row predicts its label, whatever the row weighs. Or
    /// nobody knows.
    Remembered,
}

impl Vanishing {
    /// Of a linear model: forgotten if a ridge or the rows themselves determine it.
    pub(super) fn of_linear(ridge: f64, intercept: bool, own: &Dataset) -> Self {
        if ridge > 0.0 || determines_slopes(own, intercept) {
            Self::Forgotten
        } else {
            Self::Choosing
        }
    }
}

/// Whether the rows vary in every direction.
fn determines_slopes(own: &Dataset, intercept: bool) -> bool {
    let own = own.without_zero_weights();
    let columns = own.features().columns();
    // Fewer rows than unknowns leave a direction free, whatever they are.
    let enough = own.rows() >= columns + usize::from(intercept);
    enough && Basis::principal(&own, intercept).scales.len() == columns
}

/// Whether every column has different values. One that has not is divided by one, and as soon as
/// anything else has a weight, by a deviation of about the root of that weight.
pub(super) fn every_column_varies(own: &Dataset) -> bool {
    (0..own.features().columns()).all(|column| varies(own, column))
}

/// Whether some column has different values.
pub(super) fn some_column_varies(own: &Dataset) -> bool {
    (0..own.features().columns()).any(|column| varies(own, column))
}

fn varies(own: &Dataset, column: usize) -> bool {
    let rows = own.features().iter().zip(own.weights());
    let mut values = rows.filter(|(_, weight)| **weight > 0.0).map(|(x, _)| x[column]);
    let first = values.next();
    values.any(|value| Some(value) != first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        data::{Features, Labels},
        model::{
            GraphicalLasso, Huber, KernelRidge, Linear, LocalModel, Logistic, Neighbours, Smoother,
            Tree,
        },
    };

    fn data(values: &[f64], columns: usize) -> Dataset {
        let names = (0..columns).map(|k| format!("x{k}")).collect();
        let features = Features::new(names, values.to_vec()).unwrap();
        let labels = Labels::values(vec![1.0; features.rows()]);
        Dataset::new(features, labels).unwrap()
    }

    #[test]
    fn a_linear_model_forgets_what_its_ridge_or_its_rows_determine() {
        let (plane, line) = ([0.0, 1.0, 1.0, 0.0, 3.0, 1.0], [0.0, 0.0, 1.0, 2.0, 2.0, 4.0]);
        let (plain, ridge) = (Linear::default(), Linear { ridge: 1e-3, intercept: true });
        assert_eq!(plain.vanishing_rows(&data(&plane, 2)), Vanishing::Forgotten);
        assert_eq!(plain.vanishing_rows(&data(&line, 2)), Vanishing::Choosing);
        assert_eq!(plain.vanishing_rows(&data(&plane[..4], 2)), Vanishing::Choosing);
        assert_eq!(ridge.vanishing_rows(&data(&line, 2)), Vanishing::Forgotten);
        let through_zero = Huber { intercept: false, ..Huber::default() };
        assert_eq!(through_zero.vanishing_rows(&data(&plane[..4], 2)), Vanishing::Forgotten);
    }

    #[test]
    fn a_column_that_never_varies_is_no_unit_for_distances() {
        let (varied, constant) = ([0.0, 1.0, 1.0, 2.0], [0.0, 1.0, 1.0, 1.0]);
        let scaled = Neighbours::default();
        let plain = Neighbours { standardise: false, ..Neighbours::default() };
        assert_eq!(scaled.vanishing_rows(&data(&varied, 2)), Vanishing::Forgotten);
        assert_eq!(scaled.vanishing_rows(&data(&constant, 2)), Vanishing::Remembered);
        assert_eq!(plain.vanishing_rows(&data(&constant, 2)), Vanishing::Forgotten);
        let kernel = KernelRidge { standardise: false, ..KernelRidge::default() };
        assert_eq!(kernel.vanishing_rows(&data(&constant, 2)), Vanishing::Forgotten);
        assert_eq!(kernel.vanishing_rows(&data(&constant[..2], 2)), Vanishing::Remembered);
    }

    #[test]
    fn unknown_models_remember() {
        let rows = data(&[0.0, 1.0, 3.0], 1);
        for model in [&Tree::default() as &dyn LocalModel, &Smoother::default()] {
            assert_eq!(model.vanishing_rows(&rows), Vanishing::Remembered);
        }
        for model in [&GraphicalLasso::default() as &dyn LocalModel, &Logistic::default()] {
            assert_eq!(model.vanishing_rows(&rows), Vanishing::Forgotten);
        }
    }
}
