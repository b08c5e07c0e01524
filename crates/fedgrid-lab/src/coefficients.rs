//! The coefficients of all nodes with their standard errors, in the units of the table.

use fedgrid::compare::Fitted;
use serde::{Deserialize, Serialize};

use crate::{assembly::Assembly, source::csv_text};

/// What the coefficient is called that belongs to no feature.
pub const INTERCEPT: &str = "intercept";

/// The coefficients of a run whose models are linear in the features, or their logarithms or odds are.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Coefficients {
    /// Which coefficients there are.
    pub names: Vec<CoefficientName>,
    /// The nodes whose models have them.
    pub nodes: Vec<NodeCoefficients>,
}

/// Which coefficient.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CoefficientName {
    /// The class whose odds it is about; none for numbers.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub class: Option<String>,
    /// Its feature, or "intercept".
    pub coefficient: String,
}

/// The coefficients of a node.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NodeCoefficients {
    /// The position of the node.
    pub node: usize,
    /// Their values.
    pub values: Vec<f64>,
    /// Their standard errors; none where the method knows none, or the rows do not determine a coefficient.
    pub errors: Vec<Option<f64>>,
}

impl std::fmt::Display for CoefficientName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.class {
            Some(class) => write!(f, "{} ({class})", self.coefficient),
            None => f.write_str(&self.coefficient),
        }
    }
}

impl Coefficients {
    /// Those of what was fitted.
    #[must_use]
    pub fn new(assembly: &Assembly, fitted: &Fitted) -> Self {
        let (study, size) = (&assembly.study, assembly.about.features.len() + 1);
        let (posterior, hypotheses) =
            (study.posterior(fitted), study.for_table(&fitted.hypotheses));
        let maps: Vec<Option<Vec<Vec<f64>>>> =
            hypotheses.iter().map(|hypothesis| hypothesis.coefficients()).collect();
        let count = maps.iter().flatten().map(Vec::len).max().unwrap_or(0);
        let of_node = |(node, maps): (usize, Option<Vec<Vec<f64>>>)| {
            let maps = maps?;
            let errors = posterior.as_ref().map(|posterior| posterior.standard_errors(node));
            let errors = errors.unwrap_or_default();
            // Without a map of its own, the first class has zeros that are no estimates.
            let padded = |found: usize| count.saturating_sub(found) * size;
            let (values, known) = (vec![0.0; padded(maps.len())], vec![None; padded(errors.len())]);
            Some(NodeCoefficients {
                node,
                values: values.into_iter().chain(maps.into_iter().flatten()).collect(),
                errors: known.into_iter().chain(errors.into_iter().flatten()).collect(),
            })
        };
        let nodes = maps.into_iter().enumerate().filter_map(of_node).collect();
        Self { names: names(assembly, count), nodes }
    }

    /// The table of them, node by node.
    #[must_use]
    pub fn csv(&self, nodes: &[String]) -> String {
        let has_classes = self.names.iter().any(|name| name.class.is_some());
        let class = |text: &str| has_classes.then(|| text.to_string());
        let head = ["coefficient", "value", "standard_error"].map(String::from);
        let head = ["node".to_string()].into_iter().chain(class("class")).chain(head).collect();
        let of_node = |own: &NodeCoefficients| -> Vec<Vec<String>> {
            let cells = self.names.iter().zip(own.values.iter().zip(&own.errors));
            let record = |(name, (value, error)): (&CoefficientName, (&f64, &Option<f64>))| {
                let error = error.map_or_else(String::new, |error| error.to_string());
                let class = class(name.class.as_deref().unwrap_or_default());
                let first = [nodes[own.node].clone()].into_iter().chain(class);
                first.chain([name.coefficient.clone(), value.to_string(), error]).collect()
            };
            cells.map(record).collect()
        };
        csv_text(std::iter::once(head).chain(self.nodes.iter().flat_map(of_node)))
    }
}

/// The names of the coefficients of so many linear maps, of which the last classes have one each.
pub(crate) fn names(assembly: &Assembly, maps: usize) -> Vec<CoefficientName> {
    let about = &assembly.about;
    let first = about.classes.len().saturating_sub(maps);
    let of_map = |map: usize| {
        let class = about.classes.get(first + map).cloned();
        let names = about.features.iter().map(String::as_str).chain([INTERCEPT]);
        names.map(move |name| CoefficientName { class: class.clone(), coefficient: name.into() })
    };
    (0..maps).flat_map(of_map).collect()
}
