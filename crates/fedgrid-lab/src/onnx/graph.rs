//! A graph of operators that is being built, and the file that holds it.
//!
//! Numbers of fields and types are those of `onnx.proto`.

use super::wire::Message;

/// The versions of the operators that are used: of ONNX itself, and of its operators for trees and labels.
const OPERATORS: i64 = 17;
const ML_OPERATORS: i64 = 3;
/// The first in which trees have thresholds and leaves of double precision.
const TREE_OPERATORS: i64 = 5;
/// The version of the file's form; the second is that of `TREE_OPERATORS`.
const FORM: i64 = 8;
const TREE_FORM: i64 = 10;

/// The name of the operators for trees and labels.
const ML: &str = "ai.onnx.ml";

/// The type of the numbers or texts of a tensor.
#[derive(Debug, Clone, Copy)]
pub(super) enum Element {
    Byte = 2,
    Int = 7,
    Text = 8,
    Double = 11,
}

/// Values in a box of so many by so many.
#[derive(Debug)]
pub(super) struct Tensor(Message);

impl Tensor {
    fn begun(dims: &[usize], element: Element) -> Message {
        let dims: Vec<i64> = dims.iter().map(|&dim| whole(dim)).collect();
        Message::default().ints(1, &dims).int(2, element as i64)
    }

    pub(super) fn doubles(dims: &[usize], values: &[f64]) -> Self {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        Self(Self::begun(dims, Element::Double).bytes(9, &bytes))
    }

    pub(super) fn ints(dims: &[usize], values: &[i64]) -> Self {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        Self(Self::begun(dims, Element::Int).bytes(9, &bytes))
    }

    pub(super) fn small(values: &[u8]) -> Self {
        Self(Self::begun(&[values.len()], Element::Byte).bytes(9, values))
    }

    pub(super) fn texts<'a>(dims: &[usize], values: impl IntoIterator<Item = &'a str>) -> Self {
        let empty = Self::begun(dims, Element::Text);
        Self(values.into_iter().fold(empty, |tensor, text| tensor.text(6, text)))
    }
}

/// What an operator is told besides its inputs.
#[derive(Debug)]
pub(super) struct Attribute(Message);

impl Attribute {
    fn begun(name: &str, kind: i64) -> Message {
        Message::default().text(1, name).int(20, kind)
    }

    pub(super) fn int(name: &str, value: i64) -> Self {
        Self(Self::begun(name, 2).int(3, value))
    }

    pub(super) fn ints(name: &str, values: &[i64]) -> Self {
        Self(Self::begun(name, 7).ints(8, values))
    }

    pub(super) fn tensor(name: &str, value: &Tensor) -> Self {
        Self(Self::begun(name, 4).message(5, &value.0))
    }

    pub(super) fn texts<'a>(name: &str, values: impl IntoIterator<Item = &'a str>) -> Self {
        let empty = Self::begun(name, 8);
        Self(values.into_iter().fold(empty, |all, text| all.text(9, text)))
    }
}

/// Operators in the order in which they are computed. Values between them have names, which are numbers.
#[derive(Debug, Default)]
pub(super) struct Graph {
    nodes: Vec<Message>,
    constants: Vec<Message>,
    inputs: Vec<Message>,
    outputs: Vec<Message>,
    named: usize,
    has_ml: bool,
    has_trees: bool,
}

impl Graph {
    fn fresh(&mut self) -> String {
        self.named += 1;
        format!("v{}", self.named)
    }

    /// A value that is given with every call: so many columns for each row, or one value without columns.
    pub(super) fn input(&mut self, name: &str, element: Element, columns: Option<usize>) -> String {
        self.inputs.push(value(name, element, columns));
        name.into()
    }

    /// Gives a value to the caller under a name.
    pub(super) fn output(
        &mut self,
        name: &str,
        of: &str,
        (element, columns): (Element, Option<usize>),
    ) {
        self.outputs.push(value(name, element, columns));
        self.nodes.push(operator("Identity", &[of], name));
    }

    /// A value that is part of the file.
    pub(super) fn constant(&mut self, tensor: Tensor) -> String {
        let name = self.fresh();
        self.constants.push(tensor.0.text(8, &name));
        name
    }

    /// What an operator makes of its inputs.
    pub(super) fn op(&mut self, kind: &str, inputs: &[&str], told: &[Attribute]) -> String {
        let name = self.fresh();
        let told = told.iter().map(|attribute| &attribute.0);
        self.nodes.push(operator(kind, inputs, &name).messages(5, told));
        name
    }

    /// The same of the operators for trees and labels.
    pub(super) fn ml_op(&mut self, kind: &str, input: &str, told: &[Attribute]) -> String {
        self.has_ml = true;
        self.has_trees |= kind == "TreeEnsemble";
        let name = self.fresh();
        let told = told.iter().map(|attribute| &attribute.0);
        self.nodes.push(operator(kind, &[input], &name).messages(5, told).text(7, ML));
        name
    }

    /// The bytes of the file, with what it says of itself.
    pub(super) fn into_file(self, description: &str, facts: &[(&str, String)]) -> Vec<u8> {
        let graph = Message::default()
            .messages(1, &self.nodes)
            .text(2, "fedgrid")
            .messages(5, &self.constants)
            .messages(11, &self.inputs)
            .messages(12, &self.outputs);
        let versions = |domain: &str, version| Message::default().text(1, domain).int(2, version);
        let ml = versions(ML, if self.has_trees { TREE_OPERATORS } else { ML_OPERATORS });
        let fact = |(key, value): &(&str, String)| Message::default().text(1, key).text(2, value);
        Message::default()
            .int(1, if self.has_trees { TREE_FORM } else { FORM })
            .text(2, "fedgrid")
            .text(3, env!("CARGO_PKG_VERSION"))
            .text(6, description)
            .message(7, &graph)
            .message(8, &versions("", OPERATORS))
            .messages(8, self.has_ml.then_some(&ml))
            .messages(14, &facts.iter().map(fact).collect::<Vec<_>>())
            .into_bytes()
    }
}

fn operator(kind: &str, inputs: &[&str], output: &str) -> Message {
    let given = inputs.iter().fold(Message::default(), |node, input| node.text(1, input));
    given.text(2, output).text(4, kind)
}

/// The name, type and size of an input or output, which has a row per row that is predicted.
fn value(name: &str, element: Element, columns: Option<usize>) -> Message {
    let rows = Message::default().text(2, "rows");
    let columns = columns.map(|columns| Message::default().int(1, whole(columns)));
    let shape = Message::default().messages(1, [&rows].into_iter().chain(&columns));
    let tensor = Message::default().int(1, element as i64).message(2, &shape);
    Message::default().text(1, name).message(2, &Message::default().message(1, &tensor))
}

/// A count as files have it.
pub(super) fn whole(count: usize) -> i64 {
    i64::try_from(count).expect("counts of things in memory are below 2⁶³")
}
