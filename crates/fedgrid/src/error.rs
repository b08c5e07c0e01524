//! What can go wrong: every message names what was found and what was expected.

/// A result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A refusal. The fields hold plain values: an error is a report.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages document the fields")]
pub enum Error {
    /// A hyper-parameter lies outside its range.
    #[error("{name} is {value}, expected {expected}")]
    Parameter { name: &'static str, value: f64, expected: &'static str },

    /// A value that must be a finite number is missing, not a number or infinite.
    #[error("{what} is {value} in row {row}, column '{column}', expected a finite number")]
    NotFinite { what: &'static str, value: f64, row: usize, column: String },

    /// Two things that belong together have different sizes.
    #[error("{what}: found {found}, expected {expected}")]
    Shape { what: &'static str, found: usize, expected: usize },

    /// A row weight is negative or not finite.
    #[error("the weight of row {row} is {value}, expected zero or a positive number")]
    RowWeight { row: usize, value: f64 },

    /// Over how much a label was counted is not a positive number.
    #[error("the exposure of row {row} is {value}, expected a positive number")]
    Exposure { row: usize, value: f64 },

    /// A model cannot be fitted to these data.
    #[error("{model} cannot be fitted: {reason}")]
    Fit { model: &'static str, reason: String },

    /// A key names a feature that does not exist.
    #[error("{key} names '{name}', expected one of {known}")]
    UnknownFeature { key: &'static str, name: String, known: String },

    /// Two nodes have one name.
    #[error("node '{name}' is listed twice")]
    DuplicateNode { name: String },

    /// An edge names a node that does not exist.
    #[error("edge {source_name} – {target_name}: node '{unknown}' is unknown")]
    UnknownNode { source_name: String, target_name: String, unknown: String },

    /// An edge joins a node to itself.
    #[error("edge {name} – {name} joins a node to itself")]
    SelfLoop { name: String },

    /// Two nodes are joined twice.
    #[error("edge {source_name} – {target_name} is listed twice")]
    DuplicateEdge { source_name: String, target_name: String },

    /// An edge weight is zero, negative or not a number.
    #[error("edge {source_name} – {target_name} has weight {weight}, expected a positive number")]
    EdgeWeight { source_name: String, target_name: String, weight: f64 },

    /// A number that belongs to a node is missing, not a number or infinite.
    #[error("{what} {column} of node '{name}' is {value}, expected a finite number")]
    NodeValue { what: &'static str, column: usize, name: String, value: f64 },

    /// An iteration has not reached its goal.
    #[error("{what} has not converged after {steps} steps")]
    NotConverged { what: &'static str, steps: usize },

    /// Something that only works for some settings was asked of others.
    #[error("{what} needs {needs}")]
    Unsupported { what: &'static str, needs: &'static str },

    /// A model without weights is asked for its weights.
    #[error(
        "the model of node {node} is {model}, which has no weights to couple; expected a model of \
         weights, such as linear or logistic, or a method that couples predictions"
    )]
    NotParametric { node: usize, model: String },

    /// Nodes whose weights cannot be compared.
    #[error(
        "node {node} couples {own} weights and node {neighbour} {other}: weights are coupled \
         between models of one size; a method that couples predictions takes any"
    )]
    MixedSizes { node: usize, own: usize, neighbour: usize, other: usize },

    /// Bytes that are not what they should be.
    #[error("{what} {reason}")]
    Malformed { what: &'static str, reason: &'static str },

    /// There is nothing to learn from.
    #[error("no node has a training row")]
    NoData,

    /// The run was asked to stop before its end.
    #[error("interrupted")]
    Interrupted,
}

/// Checks a hyper-parameter that must be zero or more.
pub(crate) fn at_least_zero(name: &'static str, value: f64) -> Result<()> {
    // Written so that not-a-number, which is neither above nor below, is refused as well.
    if value >= 0.0 && value.is_finite() {
        Ok(())
    } else {
        Err(Error::Parameter { name, value, expected: "zero or more" })
    }
}

/// Checks a hyper-parameter that must be above zero.
pub(crate) fn positive(name: &'static str, value: f64) -> Result<()> {
    if value > 0.0 && value.is_finite() {
        Ok(())
    } else {
        Err(Error::Parameter { name, value, expected: "a positive number" })
    }
}

/// Checks a count that must not be too small.
pub(crate) fn at_least(
    count: usize,
    name: &'static str,
    least: usize,
    expected: &'static str,
) -> Result<()> {
    if count >= least {
        Ok(())
    } else {
        Err(Error::Parameter { name, value: count as f64, expected })
    }
}

/// Checks that two sizes agree.
pub(crate) fn same_size(what: &'static str, found: usize, expected: usize) -> Result<()> {
    if found == expected { Ok(()) } else { Err(Error::Shape { what, found, expected }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parameter_error_says_what_was_found_and_what_would_do() {
        let error = at_least_zero("alpha", -1.0).unwrap_err();
        assert_eq!(error.to_string(), "alpha is -1, expected zero or more");
        assert!(at_least_zero("alpha", f64::NAN).is_err());
        assert!(at_least_zero("alpha", 0.0).is_ok());
    }
}
