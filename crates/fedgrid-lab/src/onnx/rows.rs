//! Predictions of rows by the models of their nodes, as operators.

use fedgrid::model::{Activation, PoissonHypothesis};

use super::{
    graph::{Attribute, Element, Graph, Tensor, whole},
    recipe::{Body, Link, Recipe, Shape},
    trees::sum_of_leaves,
};

/// The rows of a call: names of values in the graph.
#[derive(Debug, Clone)]
pub(super) struct Rows {
    /// The features, a column each.
    pub features: String,
    /// The place of each row's node; none if there is one node.
    pub place: Option<String>,
}

impl Rows {
    /// The predictions of these rows, as many columns as the task has outputs.
    pub(super) fn predictions(&self, graph: &mut Graph, recipes: &[Recipe<'_>]) -> String {
        let mut shapes: Vec<Shape> = Vec::new();
        let mut group_of = Vec::new();
        for recipe in recipes {
            let shape = recipe.shape();
            let known = shapes.iter().position(|known| *known == shape);
            group_of.push(known.unwrap_or(shapes.len()));
            if known.is_none() {
                shapes.push(shape);
            }
        }
        let mut found: Option<String> = None;
        for group in 0..shapes.len() {
            let members = || group_of.iter().enumerate().filter(move |(_, own)| **own == group);
            let own: Vec<&Recipe<'_>> = members().map(|(node, _)| &recipes[node]).collect();
            // Rows of other nodes are asked, too, of the first model; their answers are not taken.
            let mut places = vec![0; recipes.len()];
            members().enumerate().for_each(|(place, (node, _))| places[node] = whole(place));
            let rows = if shapes.len() == 1 { self.clone() } else { self.at(graph, &places) };
            let answers = rows.of_group(graph, &own);
            found = Some(match found {
                None => answers,
                Some(others) => {
                    let is_own: Vec<i64> =
                        group_of.iter().map(|own| i64::from(*own == group)).collect();
                    let is_own = self.whole_per_row(graph, &is_own);
                    let is_own = graph.op("Cast", &[&is_own], &[Attribute::int("to", 9)]);
                    let is_own = unsqueezed(graph, &is_own);
                    graph.op("Where", &[&is_own, &answers, &others], &[])
                }
            });
        }
        found.expect("a run has a node")
    }

    /// The same rows, their nodes at other places.
    fn at(&self, graph: &mut Graph, places: &[i64]) -> Self {
        let place = self.place.is_some().then(|| self.whole_per_row(graph, places));
        Self { features: self.features.clone(), place }
    }

    /// The predictions by models of one shape.
    fn of_group(&self, graph: &mut Graph, recipes: &[&Recipe<'_>]) -> String {
        let mut x = self.features.clone();
        let scalings: Vec<_> = recipes.iter().filter_map(|recipe| recipe.scaling).collect();
        if !scalings.is_empty() {
            let means: Vec<&[f64]> = scalings.iter().map(|own| own.means.as_slice()).collect();
            let deviations: Vec<&[f64]> =
                scalings.iter().map(|own| own.deviations.as_slice()).collect();
            let (means, deviations) =
                (self.per_row(graph, &means), self.per_row(graph, &deviations));
            x = graph.op("Sub", &[&x, &means], &[]);
            x = graph.op("Div", &[&x, &deviations], &[]);
        }
        let scores = match &recipes[0].body {
            Body::Layers(layers, activation) => {
                self.of_layers(graph, recipes, (x, layers.len(), *activation))
            }
            Body::Trees(_) => self.of_trees(graph, recipes, x),
        };
        let linked = linked(graph, recipes[0], scores);
        let units: Vec<[f64; 1]> = recipes.iter().map(|recipe| [recipe.unit]).collect();
        self.changed(graph, "Mul", linked, (&units, 1.0))
    }

    fn of_layers(
        &self,
        graph: &mut Graph,
        recipes: &[&Recipe<'_>],
        (mut x, count, activation): (String, usize, Activation),
    ) -> String {
        for layer in 0..count {
            let own = recipes.iter().filter_map(|recipe| match &recipe.body {
                Body::Layers(layers, _) => Some(&layers[layer]),
                Body::Trees(_) => None,
            });
            let own: Vec<&Vec<Vec<f64>>> = own.collect();
            x = self.affine(graph, &own, &x);
            if layer + 1 < count {
                let kind = match activation {
                    Activation::Relu => "Relu",
                    Activation::Tanh => "Tanh",
                };
                x = graph.op(kind, &[&x], &[]);
            }
        }
        x
    }

    /// An affine map of each row: all nodes' the same, or each node's own.
    fn affine(&self, graph: &mut Graph, maps: &[&Vec<Vec<f64>>], x: &str) -> String {
        let (outputs, inputs) = (maps[0].len(), maps[0].first().map_or(0, |unit| unit.len() - 1));
        let slopes_of = |map: &Vec<Vec<f64>>| -> Vec<f64> {
            (0..inputs).flat_map(|input| map.iter().map(move |unit| unit[input])).collect()
        };
        let slopes: Vec<Vec<f64>> = maps.iter().map(|map| slopes_of(map)).collect();
        let constants: Vec<Vec<f64>> =
            maps.iter().map(|map| map.iter().map(|unit| unit[inputs]).collect()).collect();
        let constants: Vec<&[f64]> = constants.iter().map(Vec::as_slice).collect();
        let product = match self.place.as_ref().filter(|_| !all_same(&slopes)) {
            None => {
                let own = graph.constant(Tensor::doubles(&[inputs, outputs], &slopes[0]));
                graph.op("MatMul", &[x, &own], &[])
            }
            Some(place) => {
                let all = slopes.concat();
                let all = graph.constant(Tensor::doubles(&[maps.len(), inputs, outputs], &all));
                let own = graph.op("Gather", &[&all, place], &[]);
                let axis = graph.constant(Tensor::ints(&[1], &[1]));
                let row = graph.op("Unsqueeze", &[x, &axis], &[]);
                let product = graph.op("MatMul", &[&row, &own], &[]);
                graph.op("Squeeze", &[&product, &axis], &[])
            }
        };
        let constants = self.per_row(graph, &constants);
        graph.op("Add", &[&product, &constants], &[])
    }

    fn of_trees(&self, graph: &mut Graph, recipes: &[&Recipe<'_>], mut x: String) -> String {
        let trees = recipes.iter().filter_map(|recipe| match &recipe.body {
            Body::Trees(trees) => Some(trees),
            Body::Layers(..) => None,
        });
        let trees: Vec<_> = trees.collect();
        if let Some(place) = self.place.as_ref().filter(|_| trees.len() > 1) {
            let to_double = [Attribute::int("to", Element::Double as i64)];
            let place = graph.op("Cast", &[place], &to_double);
            let place = unsqueezed(graph, &place);
            x = graph.op("Concat", &[&x, &place], &[Attribute::int("axis", 1)]);
        }
        let sum = sum_of_leaves(graph, &trees, &x);
        let starts: Vec<&[f64]> = trees.iter().map(|trees| trees.start.as_slice()).collect();
        let sum = self.changed(graph, "Add", sum, (&starts, 0.0));
        let divisors: Vec<[f64; 1]> = trees.iter().map(|trees| [trees.divisor]).collect();
        self.changed(graph, "Div", sum, (&divisors, 1.0))
    }

    /// A value that is changed by numbers of each row's node, unless all of them change nothing.
    fn changed<N: AsRef<[f64]>>(
        &self,
        graph: &mut Graph,
        by: &str,
        value: String,
        (numbers, nothing): (&[N], f64),
    ) -> String {
        let mut all = numbers.iter().flat_map(AsRef::as_ref);
        if all.all(|number| number.to_bits() == nothing.to_bits()) {
            return value;
        }
        let numbers: Vec<&[f64]> = numbers.iter().map(AsRef::as_ref).collect();
        let own = self.per_row(graph, &numbers);
        graph.op(by, &[&value, &own], &[])
    }

    /// The numbers of each row's node; one row for all, where all nodes have the same.
    fn per_row(&self, graph: &mut Graph, numbers: &[&[f64]]) -> String {
        let width = numbers[0].len();
        match self.place.as_ref().filter(|_| !all_same(numbers)) {
            None => graph.constant(Tensor::doubles(&[1, width], numbers[0])),
            Some(place) => {
                let all = Tensor::doubles(&[numbers.len(), width], &numbers.concat());
                let all = graph.constant(all);
                graph.op("Gather", &[&all, place], &[])
            }
        }
    }

    /// A whole number of each row's node.
    fn whole_per_row(&self, graph: &mut Graph, numbers: &[i64]) -> String {
        let all = graph.constant(Tensor::ints(&[numbers.len()], numbers));
        let place = self.place.as_deref().unwrap_or_default();
        graph.op("Gather", &[&all, place], &[])
    }
}

fn linked(graph: &mut Graph, recipe: &Recipe<'_>, scores: String) -> String {
    match recipe.link {
        Link::Identity => scores,
        Link::Exponential => {
            let most = Tensor::doubles(&[1, 1], &[PoissonHypothesis::LARGEST_OUTPUT]);
            let most = graph.constant(most);
            let scores = graph.op("Min", &[&scores, &most], &[]);
            graph.op("Exp", &[&scores], &[])
        }
        Link::Softmax => {
            let is_single = matches!(&recipe.body, Body::Trees(trees) if trees.width == 1);
            let scores = if is_single {
                let both = graph.constant(Tensor::doubles(&[1, 2], &[0.0, 1.0]));
                graph.op("Mul", &[&scores, &both], &[])
            } else {
                scores
            };
            graph.op("Softmax", &[&scores], &[Attribute::int("axis", 1)])
        }
    }
}

/// A list as a column.
pub(super) fn unsqueezed(graph: &mut Graph, list: &str) -> String {
    let axis = graph.constant(Tensor::ints(&[1], &[1]));
    graph.op("Unsqueeze", &[list, &axis], &[])
}

/// Whether all lists are the same to the last bit.
fn all_same<N: AsRef<[f64]>>(lists: &[N]) -> bool {
    let bits = |list: &N| -> Vec<u64> { list.as_ref().iter().map(|x| x.to_bits()).collect() };
    let first = lists.first().map(bits);
    lists.iter().all(|list| Some(bits(list)) == first)
}
