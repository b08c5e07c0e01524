//! Why a prediction is what it is: a base that all rows have, and what each feature adds to it,
//!
//! ```text
//! score(x) = base + Σ_k part_k(x)
//! ```
//!
//! Of a model that is linear in its features `part_k = slope_k (x_k − mean_k)`, with the means of the training rows; of
//! trees the parts are Shapley values (`tree_shapley.rs`), of their sums and means the sums and means of these. The score
//! is the prediction where that is such a sum, and otherwise what the model makes its prediction of ([`ExplainedScore`]).

mod tree_shapley;

use std::sync::Arc;

use self::tree_shapley::TreeShapley;
use crate::{
    algebra::{add_scaled, scale},
    data::{Scaling, Task},
    model::{
        Blended, BoostingHypothesis, Constant, ForestHypothesis, Hypothesis, LinearHypothesis,
        LogisticHypothesis, PoissonHypothesis, RescaledHypothesis, TreeHypothesis, TreeNodes,
    },
};

/// What the parts of an explanation add up to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExplainedScore {
    /// The predicted number.
    Prediction,
    /// The logarithm of the predicted number.
    Logarithm,
    /// The probability of each class.
    Probabilities,
    /// The logarithm of the odds of classes: of the second of two, or one score for each of the last classes.
    LogOdds,
}

/// Why there is no explanation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unexplained {
    /// There is no method for models of this kind.
    Kind,
    /// The trees do not know how many rows each of their nodes has had: they are of an earlier version.
    Weightless,
}

/// A model that can tell why.
#[derive(Debug)]
pub struct Explainer<'a> {
    /// What the parts add up to.
    pub score: ExplainedScore,
    /// What all rows have, for each output.
    base: Vec<f64>,
    form: Form<'a>,
    columns: usize,
}

#[derive(Debug)]
enum Form<'a> {
    /// The slopes of each output, and the features of a row to which nothing is added.
    Linear(Vec<Vec<f64>>, &'a [f64]),
    Trees {
        trees: Vec<TreeShapley<'a>>,
        /// The column of the table of each feature of the trees.
        places: Vec<usize>,
        scaling: Option<&'a Scaling>,
        /// What is multiplied by in the end.
        unit: f64,
    },
    /// The mean of others, each with its share.
    Mean(Vec<(f64, Explainer<'a>)>),
}

impl<'a> Explainer<'a> {
    /// The explainer of a model for rows of the table with these features; `means` are those of the training rows, or zeros.
    pub fn new(
        model: &'a dyn Hypothesis,
        features: &[String],
        means: &'a [f64],
    ) -> Result<Self, Unexplained> {
        if let Some(blended) = model.downcast_ref::<Blended>() {
            return Self::of_mean(blended, features, means);
        }
        if let Some(constant) = model.downcast_ref::<Constant>() {
            let score = match constant.task {
                Task::Regression => ExplainedScore::Prediction,
                Task::Classification { .. } => ExplainedScore::Probabilities,
            };
            let slopes = vec![vec![0.0; means.len()]; constant.label.len()];
            let form = Form::Linear(slopes, means);
            return Ok(Self { score, base: constant.label.clone(), form, columns: means.len() });
        }
        let score = if model.downcast_ref::<LinearHypothesis>().is_some() {
            ExplainedScore::Prediction
        } else if model.downcast_ref::<PoissonHypothesis>().is_some() {
            ExplainedScore::Logarithm
        } else if model.downcast_ref::<LogisticHypothesis>().is_some() {
            ExplainedScore::LogOdds
        } else {
            return Self::of_trees(model, features);
        };
        let maps = model.coefficients().ok_or(Unexplained::Kind)?;
        let level = |map: &Vec<f64>| {
            let (intercept, slopes) = map.split_last().expect("a map has a constant");
            intercept + slopes.iter().zip(means).map(|(slope, mean)| slope * mean).sum::<f64>()
        };
        let base = maps.iter().map(level).collect();
        let slopes = maps.iter().map(|map| map[..map.len() - 1].to_vec()).collect();
        Ok(Self { score, base, form: Form::Linear(slopes, means), columns: means.len() })
    }

    /// The mean of predictions; what predictions are made of has no mean that predicts the same.
    fn of_mean(
        blended: &'a Blended,
        features: &[String],
        means: &'a [f64],
    ) -> Result<Self, Unexplained> {
        let part = |(share, model): &'a (f64, Arc<dyn Hypothesis>)| {
            Ok((*share, Self::new(model.as_ref(), features, means)?))
        };
        let parts = blended.parts().iter().map(part).collect::<Result<Vec<_>, _>>()?;
        let score = parts.first().ok_or(Unexplained::Kind)?.1.score;
        let is_mean = matches!(score, ExplainedScore::Prediction | ExplainedScore::Probabilities);
        if !is_mean || parts.iter().any(|(_, part)| part.score != score) {
            return Err(Unexplained::Kind);
        }
        let output = |k: usize| parts.iter().map(|(share, part)| share * part.base[k]).sum();
        let base = (0..parts[0].1.outputs()).map(output).collect();
        Ok(Self { score, base, form: Form::Mean(parts), columns: features.len() })
    }

    fn of_trees(model: &'a dyn Hypothesis, features: &[String]) -> Result<Self, Unexplained> {
        let rescaled = model.downcast_ref::<RescaledHypothesis>();
        let inner = rescaled.map_or(model, |own| own.model.as_ref());
        let own = Trees::of(inner).ok_or(Unexplained::Kind)?;
        if own.nodes.weights.len() != own.nodes.count() {
            return Err(Unexplained::Weightless);
        }
        let unit = rescaled.filter(|own| own.task == Task::Regression);
        let unit = unit.map_or(1.0, |own| own.scales.target());
        let scaling = rescaled.map(|own| own.scales.scaling());
        let place = |name: &String| features.iter().position(|own| own == name);
        let places: Option<Vec<usize>> = own.names.iter().map(place).collect();
        let places = places.ok_or(Unexplained::Kind)?;
        let tree = |&root: &u32| TreeShapley::new(own.nodes, root as usize, own.start.len());
        let trees: Vec<TreeShapley> = own.roots.iter().map(tree).collect();
        let mut base = own.start.clone();
        for tree in &trees {
            base.iter_mut().zip(tree.mean()).for_each(|(base, mean)| *base += mean / own.divisor);
        }
        scale(&mut base, unit);
        let form = Form::Trees { trees, places, scaling, unit: unit / own.divisor };
        Ok(Self { score: own.score, base, form, columns: features.len() })
    }

    /// Whether parts are Shapley values of trees.
    #[must_use]
    pub fn is_of_trees(&self) -> bool {
        match &self.form {
            Form::Linear(..) => false,
            Form::Trees { .. } => true,
            Form::Mean(parts) => parts.iter().any(|(_, part)| part.is_of_trees()),
        }
    }

    /// How many scores a row has.
    #[must_use]
    pub fn outputs(&self) -> usize {
        self.base.len()
    }

    /// What all rows have, for each output.
    #[must_use]
    pub fn base(&self) -> &[f64] {
        &self.base
    }

    /// What each feature of a row adds: all features of the first output, then of the second, and so on.
    #[must_use]
    pub fn parts(&self, x: &[f64]) -> Vec<f64> {
        match &self.form {
            Form::Linear(slopes, means) => {
                let part = |((slope, x), mean): ((&f64, &f64), &f64)| slope * (x - mean);
                let output = |slopes: &'_ Vec<f64>| -> Vec<f64> {
                    slopes.iter().zip(x).zip(means.iter()).map(part).collect()
                };
                slopes.iter().flat_map(output).collect()
            }
            Form::Mean(parts) => {
                let mut mean = vec![0.0; self.outputs() * self.columns];
                for (share, part) in parts {
                    add_scaled(&mut mean, *share, &part.parts(x));
                }
                mean
            }
            Form::Trees { trees, places, scaling, unit } => {
                let scaled = |&place: &usize| match scaling {
                    Some(own) => (x[place] - own.means[place]) / own.deviations[place],
                    None => x[place],
                };
                let row: Vec<f64> = places.iter().map(scaled).collect();
                let mut own = vec![0.0; self.outputs() * row.len()];
                for tree in trees {
                    tree.add(&row, &mut own);
                }
                let mut parts = vec![0.0; self.outputs() * self.columns];
                for (output, own) in own.chunks_exact(row.len().max(1)).enumerate() {
                    for (&place, part) in places.iter().zip(own) {
                        parts[output * self.columns + place] = unit * part;
                    }
                }
                parts
            }
        }
    }
}

/// Trees whose leaves are added to a start, after they are divided.
struct Trees<'a> {
    score: ExplainedScore,
    names: &'a [String],
    nodes: &'a TreeNodes,
    roots: Vec<u32>,
    start: Vec<f64>,
    divisor: f64,
}

impl<'a> Trees<'a> {
    fn of(model: &'a dyn Hypothesis) -> Option<Self> {
        let by_task = |task: Task| match task {
            Task::Regression => ExplainedScore::Prediction,
            Task::Classification { .. } => ExplainedScore::Probabilities,
        };
        if let Some(TreeHypothesis { names, task, nodes }) = model.downcast_ref() {
            let (start, score) = (vec![0.0; task.outputs()], by_task(*task));
            return Some(Self { score, names, nodes, roots: vec![0], start, divisor: 1.0 });
        }
        if let Some(ForestHypothesis { names, task, roots, nodes }) = model.downcast_ref() {
            let (start, divisor) = (vec![0.0; task.outputs()], roots.len() as f64);
            let (score, roots) = (by_task(*task), roots.clone());
            return Some(Self { score, names, nodes, roots, start, divisor });
        }
        let BoostingHypothesis { names, task, start, roots, nodes } = model.downcast_ref()?;
        let score = match task {
            Task::Regression => ExplainedScore::Prediction,
            Task::Classification { .. } => ExplainedScore::LogOdds,
        };
        let (roots, start) = (roots.clone(), start.clone());
        Some(Self { score, names, nodes, roots, start, divisor: 1.0 })
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;
    use crate::{
        data::{Dataset, Features, Labels},
        model::{Boosting, Linear, LocalModel, Logistic, Neighbours, Poisson, Tree},
        random::{Purpose, Stream},
    };

    #[derive(Deserialize)]
    struct Reference {
        cases: Vec<ReferenceCase>,
    }

    #[derive(Deserialize)]
    struct ReferenceCase {
        outputs: usize,
        trees: Vec<TreeNodes>,
        rows: Vec<Vec<f64>>,
        base: Vec<f64>,
        parts: Vec<Vec<f64>>,
    }

    fn names(count: usize) -> Vec<String> {
        (0..count).map(|k| format!("x{k}")).collect()
    }

    #[test]
    fn forests_are_explained_as_by_the_package_shap() {
        let reference: Reference = serde_json::from_str(include_str!("reference.json")).unwrap();
        for case in reference.cases {
            let (mut nodes, mut roots) = (TreeNodes::default(), Vec::new());
            case.trees.iter().for_each(|tree| roots.push(nodes.append(tree)));
            let task = match case.outputs {
                1 => Task::Regression,
                classes => Task::Classification { classes },
            };
            let names = names(case.rows[0].len());
            let forest = ForestHypothesis { names: names.clone().into(), task, roots, nodes };
            let means = vec![0.0; names.len()];
            let explainer = Explainer::new(&forest, &names, &means).unwrap();
            let close = |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-9);
            assert!(close(explainer.base(), &case.base), "{:?} {:?}", explainer.base, case.base);
            for (row, expected) in case.rows.iter().zip(&case.parts) {
                let parts = explainer.parts(row);
                assert!(close(&parts, expected), "{parts:?} {expected:?}");
            }
        }
    }

    /// Rows whose labels depend on three features, as numbers, counts or classes.
    fn data(task: Task) -> Dataset {
        let mut stream = Stream::new(3, 0, 0, Purpose::Data);
        let values: Vec<f64> = (0..3 * 60).map(|_| stream.normal()).collect();
        let features = Features::new(names(3).into(), values).unwrap();
        let score = |x: &[f64]| x[0] * x[1] + x[2];
        let labels = match task {
            Task::Regression => features.iter().map(|x| score(x).abs().round()).collect(),
            Task::Classification { classes } => {
                let class =
                    |x: &[f64]| (usize::from(score(x) > 0.0) + usize::from(x[0] > 0.9)) % classes;
                let one = |x| (0..classes).map(move |k| f64::from(u8::from(k == class(x))));
                features.iter().flat_map(one).collect()
            }
        };
        Dataset::new(features, Labels::new(task, labels).unwrap()).unwrap()
    }

    /// What the scores of a row predict.
    fn predicted(score: ExplainedScore, scores: &[f64]) -> Vec<f64> {
        match score {
            ExplainedScore::Prediction | ExplainedScore::Probabilities => scores.to_vec(),
            ExplainedScore::Logarithm => vec![scores[0].exp()],
            ExplainedScore::LogOdds if scores.len() == 1 => {
                let second = 1.0 / (1.0 + (-scores[0]).exp());
                vec![1.0 - second, second]
            }
            ExplainedScore::LogOdds => {
                let sum: f64 = scores.iter().map(|score| score.exp()).sum();
                scores.iter().map(|score| score.exp() / sum).collect()
            }
        }
    }

    #[test]
    fn base_and_parts_add_up_to_what_is_predicted() {
        let classes = |classes| Task::Classification { classes };
        let (number, two, three) = (Task::Regression, classes(2), classes(3));
        let boosting = Boosting { trees: 7, ..Boosting::default() };
        let cases: [(&dyn LocalModel, Task); 9] = [
            (&Linear::default(), number),
            (&Poisson::default(), number),
            (&Logistic { ridge: 0.1, ..Logistic::default() }, two),
            (&Tree::default(), number),
            (&Tree::default(), two),
            (&Tree::default(), three),
            (&boosting, number),
            (&boosting, two),
            (&boosting, three),
        ];
        let means = [0.3, -0.2, 0.1];
        for (model, task) in cases {
            let data = data(task);
            let hypothesis = model.fit(&data).unwrap();
            let names = names(3);
            let explainer = Explainer::new(hypothesis.as_ref(), &names, &means).unwrap();
            let labels = hypothesis.predict(data.features());
            for (row, x) in data.features().iter().enumerate() {
                let parts = explainer.parts(x);
                let sums = parts.chunks_exact(3).map(|own| own.iter().sum::<f64>());
                let scores: Vec<f64> =
                    explainer.base().iter().zip(sums).map(|(base, sum)| base + sum).collect();
                let found = predicted(explainer.score, &scores);
                for (found, label) in found.iter().zip(labels.row(row)) {
                    assert!((found - label).abs() < 1e-9, "{model:?} {task:?}: {found} {label}");
                }
            }
        }
    }

    #[test]
    fn models_without_a_method_and_trees_without_weights_say_so() {
        let (data, names, means) = (data(Task::Regression), names(3), [0.0; 3]);
        let near = Neighbours::default().fit(&data).unwrap();
        let why = Explainer::new(near.as_ref(), &names, &means).unwrap_err();
        assert_eq!(why, Unexplained::Kind);
        let tree = Tree::default().fit(&data).unwrap();
        let mut tree = tree.downcast_ref::<TreeHypothesis>().unwrap().clone();
        tree.nodes.weights.clear();
        let why = Explainer::new(&tree, &names, &means).unwrap_err();
        assert_eq!(why, Unexplained::Weightless);
    }

    #[test]
    fn a_mean_of_models_is_explained_by_the_mean_of_their_parts() {
        let (data, names, means) = (data(Task::Regression), names(3), [0.5; 3]);
        let [linear, tree] = [&Linear::default() as &dyn LocalModel, &Tree::default()]
            .map(|m| m.fit(&data).unwrap());
        let parts = vec![(1.0, Arc::from(linear)), (3.0, Arc::from(tree))];
        let blended = Blended::new(parts).unwrap();
        let explainer = Explainer::new(&blended, &names, &means).unwrap();
        let labels = blended.predict(data.features());
        for (row, x) in data.features().iter().enumerate() {
            let sum: f64 = explainer.parts(x).iter().sum();
            assert!((explainer.base()[0] + sum - labels.row(row)[0]).abs() < 1e-9);
        }
    }
}
