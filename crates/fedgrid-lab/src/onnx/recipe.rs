//! What a model computes, in one form for all that can be written as ONNX,
//!
//! ```text
//! z = (x − mean) / deviation      scores = layers or trees of z      prediction = unit · link(scores)
//! ```

use std::borrow::Cow;

use fedgrid::{
    data::{Scaling, Task},
    model::{
        Activation, BoostingHypothesis, Constant, ForestHypothesis, GraphicalLassoHypothesis,
        Hypothesis, LinearHypothesis, LogisticHypothesis, PerceptronHypothesis, PoissonHypothesis,
        RescaledHypothesis, TreeHypothesis, TreeNodes,
    },
};

/// What a model computes. Columns are in the order of the table.
#[derive(Debug)]
pub(super) struct Recipe<'a> {
    /// What features are shifted and divided by; none if they are taken as they are.
    pub scaling: Option<&'a Scaling>,
    /// How scores are made of features.
    pub body: Body<'a>,
    /// How predictions are made of scores.
    pub link: Link,
    /// What numbers are multiplied by in the end.
    pub unit: f64,
}

/// How scores are made of features.
#[derive(Debug)]
pub(super) enum Body<'a> {
    /// By affine maps one after the other, with an activation between them: of each unit the slopes of its inputs,
    /// then its constant.
    Layers(Vec<Vec<Vec<f64>>>, Activation),
    /// By the sum of the leaves of trees.
    Trees(Trees<'a>),
}

/// Trees whose leaves are added up.
#[derive(Debug)]
pub(super) struct Trees<'a> {
    pub nodes: &'a TreeNodes,
    pub roots: Cow<'a, [u32]>,
    /// The column of each feature of the trees.
    pub columns: Vec<usize>,
    /// How many scores there are.
    pub width: usize,
    /// What the sum begins with.
    pub start: Vec<f64>,
    /// What it is divided by in the end.
    pub divisor: f64,
}

/// How predictions are made of scores.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Link {
    /// They are the scores.
    Identity,
    /// By the exponential function, for scores up to the limit of Poisson models.
    Exponential,
    /// Probabilities that sum to one; a single score is that of the second of two classes, the first has zero.
    Softmax,
}

/// What recipes must have in common to be computed by the same operators.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Shape {
    is_scaled: bool,
    link: Link,
    activation: Option<Activation>,
    /// The number of units of each layer; of trees the number of scores.
    units: Vec<usize>,
}

impl<'a> Recipe<'a> {
    /// The recipe of a model for these features; none if ONNX has no operators for it.
    pub(super) fn of(model: &'a dyn Hypothesis, features: &[String]) -> Option<Self> {
        let Some(rescaled) = model.downcast_ref::<RescaledHypothesis>() else {
            return Self::plain(model, features);
        };
        let inner = Self::plain(rescaled.model.as_ref(), features)?;
        let unit = if rescaled.task == Task::Regression { rescaled.scales.target() } else { 1.0 };
        Some(Self { scaling: Some(rescaled.scales.scaling()), unit, ..inner })
    }

    /// The recipe of a model that reads features as they are, in an order of its own.
    fn plain(model: &'a dyn Hypothesis, features: &[String]) -> Option<Self> {
        affine(model, features)
            .or_else(|| perceptron(model, features))
            .or_else(|| trees(model, features))
    }

    pub(super) fn shape(&self) -> Shape {
        let (activation, units) = match &self.body {
            // Without a layer between, the activation is nowhere.
            Body::Layers(layers, activation) => {
                ((layers.len() > 1).then_some(*activation), layers.iter().map(Vec::len).collect())
            }
            // One more than a list of layers can have, which has no empty one.
            Body::Trees(trees) => (None, vec![0, trees.width]),
        };
        Shape { is_scaled: self.scaling.is_some(), link: self.link, activation, units }
    }

    fn of_map(map: Vec<Vec<f64>>, link: Link) -> Self {
        let body = Body::Layers(vec![map], Activation::Relu);
        Self { scaling: None, body, link, unit: 1.0 }
    }
}

/// Where each of a model's features stands in the table; none if one does not.
fn columns_of(names: &[String], features: &[String]) -> Option<Vec<usize>> {
    names.iter().map(|name| features.iter().position(|own| own == name)).collect()
}

/// Slopes in the order of the table, then the constant.
fn unit_of(slopes: &[f64], constant: f64, (columns, width): (&[usize], usize)) -> Vec<f64> {
    let mut unit = vec![0.0; width];
    for (slope, &column) in slopes.iter().zip(columns) {
        unit[column] = *slope;
    }
    unit.push(constant);
    unit
}

/// Models whose scores are affine in the features.
fn affine<'a>(model: &'a dyn Hypothesis, features: &[String]) -> Option<Recipe<'a>> {
    let width = features.len();
    let of_linear = |linear: &LinearHypothesis, link| {
        let columns = columns_of(&linear.names, features)?;
        let unit = unit_of(&linear.slopes, linear.intercept, (&columns, width));
        Some(Recipe::of_map(vec![unit], link))
    };
    if let Some(linear) = model.downcast_ref() {
        return of_linear(linear, Link::Identity);
    }
    if let Some(PoissonHypothesis(linear)) = model.downcast_ref() {
        return of_linear(linear, Link::Exponential);
    }
    if let Some(logistic) = model.downcast_ref::<LogisticHypothesis>() {
        let columns = columns_of(&logistic.names, features)?;
        // With a map too few, the first class has the score zero.
        let first = logistic.classes - logistic.slopes.len();
        let maps = logistic.slopes.iter().zip(&logistic.intercepts);
        let own = maps.map(|(w, b)| unit_of(w, *b, (&columns, width)));
        let all = vec![vec![0.0; width + 1]; first].into_iter().chain(own).collect();
        return Some(Recipe::of_map(all, Link::Softmax));
    }
    if let Some(lasso) = model.downcast_ref::<GraphicalLassoHypothesis>() {
        let (columns, own) = (columns_of(&lasso.names, features)?, lasso.names.len());
        let size = own + 1 + usize::from(lasso.intercept);
        let precision = lasso.precision();
        let row = &precision[own * size..(own + 1) * size];
        let part = |entry: &f64| -entry / row[own];
        let slopes: Vec<f64> = row[..own].iter().map(part).collect();
        let constant = row.get(own + 1).map_or(0.0, part);
        let unit = unit_of(&slopes, constant, (&columns, width));
        return Some(Recipe::of_map(vec![unit], Link::Identity));
    }
    let Constant { label, .. } = model.downcast_ref()?;
    let map = label.iter().map(|label| unit_of(&[], *label, (&[], width))).collect();
    Some(Recipe::of_map(map, Link::Identity))
}

fn perceptron<'a>(model: &'a dyn Hypothesis, features: &[String]) -> Option<Recipe<'a>> {
    let own: &PerceptronHypothesis = model.downcast_ref()?;
    let columns = columns_of(&own.names, features)?;
    let (mut weights, mut inputs) = (own.weights.as_slice(), own.names.len());
    let mut layers: Vec<Vec<Vec<f64>>> = Vec::new();
    for &units in own.layers.iter().chain([&own.task.outputs()]) {
        let (layer, rest) = weights.split_at(units * (inputs + 1));
        layers.push(layer.chunks_exact(inputs + 1).map(<[f64]>::to_vec).collect());
        (weights, inputs) = (rest, units);
    }
    for unit in layers.first_mut()? {
        let (slopes, constant) = unit.split_at(own.names.len());
        *unit = unit_of(slopes, constant[0], (&columns, features.len()));
    }
    let link = if own.task == Task::Regression { Link::Identity } else { Link::Softmax };
    Some(Recipe { scaling: None, body: Body::Layers(layers, own.activation), link, unit: 1.0 })
}

fn trees<'a>(model: &'a dyn Hypothesis, features: &[String]) -> Option<Recipe<'a>> {
    let of_trees = |trees: Trees<'a>, link| {
        Some(Recipe { scaling: None, body: Body::Trees(trees), link, unit: 1.0 })
    };
    if let Some(TreeHypothesis { names, task, nodes }) = model.downcast_ref() {
        let (columns, width, roots) =
            (columns_of(names, features)?, task.outputs(), vec![0].into());
        let start = vec![0.0; width];
        return of_trees(
            Trees { nodes, roots, columns, width, start, divisor: 1.0 },
            Link::Identity,
        );
    }
    if let Some(ForestHypothesis { names, task, roots, nodes }) = model.downcast_ref() {
        let (columns, width, start) =
            (columns_of(names, features)?, task.outputs(), vec![0.0; task.outputs()]);
        let (divisor, roots) = (roots.len() as f64, roots.into());
        return of_trees(Trees { nodes, roots, columns, width, start, divisor }, Link::Identity);
    }
    let BoostingHypothesis { names, task, start, roots, nodes } = model.downcast_ref()?;
    let (columns, width) = (columns_of(names, features)?, start.len());
    let link = if *task == Task::Regression { Link::Identity } else { Link::Softmax };
    let (start, roots) = (start.clone(), roots.into());
    of_trees(Trees { nodes, roots, columns, width, start, divisor: 1.0 }, link)
}
