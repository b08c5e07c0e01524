//! A small multi-layer perceptron, trained by gradient steps,
//!
//! ```text
//! W = argmin  Σ_r weight_r L(y_r, h_W(x_r)) + ridge Σ_l ‖slopes of layer l‖²
//! h_W(x) = A_L φ(A_{L−1} … φ(A_1 (x, 1)), 1)      φ = tanh or max(0, ·)
//! ```
//!
//! with squared loss for numbers and cross-entropy of the softmax for class probabilities. The
//! biases are never penalised. Rows of equal features are merged first, which leaves the objective
//! and its gradient as they are and makes training repeat to the last bit in any order of the rows.
//!
//! Training sees features of mean zero and variance one and the objective divided by the total
//! weight (and by the variance of numbers), so one step size serves all scales; the learnt weights
//! are those of the features as given. It begins at the mean label, ends after `epochs` or when
//! `patience` runs out, and returns the best weights it met: a local minimum at best.

mod coordinates;
mod layers;
mod perceptron_weights;
#[cfg(test)]
mod samples;
mod training;

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use self::layers::Activation;
use self::{
    layers::{Layers, RowPass},
    training::Training,
};
use super::{
    Hypothesis, LocalModel, Parametric, Rescaling, Storable, Stored, Tunable, WarmStart, check,
    solver::softmax,
};
use crate::{
    data::{Dataset, Features, Labels, Task},
    descent::Optimiser,
    error::{Error, Result, at_least_zero, same_size},
};

/// A multi-layer perceptron model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Perceptron {
    /// The number of units in each hidden layer, each at least one; none is a linear model.
    #[schemars(inner(range(min = 1)))]
    pub layers: Vec<usize>,
    /// What a hidden unit makes of its input.
    pub activation: Activation,
    /// How gradients become steps.
    pub optimiser: Optimiser,
    /// The step size above zero.
    #[serde(rename = "step_size")]
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub step: f64,
    /// How often all rows are seen at most.
    #[schemars(range(min = 1))]
    pub epochs: usize,
    /// How many distinct rows make a step; zero takes all.
    pub batch: usize,
    /// The pull ≥ 0 of the slopes to zero.
    #[serde(skip_serializing)]
    #[schemars(skip)]
    pub ridge: f64,
    /// After how many epochs without gain, 10⁻⁵ of the loss, training ends; zero never.
    pub patience: usize,
    /// The share of the distinct rows, from zero to below one, that do not train but tell when to
    /// stop; with none the training loss tells.
    #[schemars(range(min = 0), extend("exclusiveMaximum" = 1))]
    pub held_back: f64,
    /// What the start and the order of batches are drawn from.
    #[serde(skip_serializing)]
    #[schemars(skip)]
    pub seed: u64,
}

impl Default for Perceptron {
    fn default() -> Self {
        Self {
            layers: vec![16],
            activation: Activation::Tanh,
            optimiser: Optimiser::Adam,
            step: 0.01,
            epochs: 1000,
            batch: 0,
            ridge: 1e-4,
            patience: 50,
            held_back: 0.0,
            seed: 0,
        }
    }
}

impl LocalModel for Perceptron {
    fn fit(&self, data: &Dataset) -> Result<Box<dyn Hypothesis>> {
        self.train(data, None, None)
    }

    fn rescaling(&self) -> Rescaling {
        Rescaling::Standardised { intercept: true }
    }

    fn as_warm_start(&self) -> Option<&dyn WarmStart> {
        Some(self)
    }

    fn as_tunable(&self) -> Option<&dyn Tunable> {
        Some(self)
    }

    fn with_centre(&self, centre: &dyn Hypothesis) -> Option<Box<dyn LocalModel>> {
        let centre = self.weights(centre)?;
        Some(Box::new(CentredPerceptron { model: self.clone(), centre }))
    }

    fn as_parametric(&self) -> Option<&dyn Parametric> {
        Some(self)
    }
}

impl WarmStart for Perceptron {
    fn refit(&self, data: &Dataset, current: &dyn Hypothesis) -> Result<Box<dyn Hypothesis>> {
        // A hypothesis of other features, classes or layers is no start.
        let start = self.weights(current);
        let size = self.size(data.features().columns(), data.task());
        self.train(data, start.filter(|start| start.len() == size).as_deref(), None)
    }
}

impl Tunable for Perceptron {
    fn with_ridge(&self, ridge: f64) -> Box<dyn LocalModel> {
        Box::new(Self { ridge, ..self.clone() })
    }
}

/// A perceptron that starts at given weights, and whose ridge pulls to them.
#[derive(Debug)]
struct CentredPerceptron {
    model: Perceptron,
    centre: Vec<f64>,
}

impl LocalModel for CentredPerceptron {
    fn fit(&self, data: &Dataset) -> Result<Box<dyn Hypothesis>> {
        let size = self.model.size(data.features().columns(), data.task());
        same_size("weights of the centre", self.centre.len(), size)?;
        self.model.train(data, Some(&self.centre), Some(&self.centre))
    }
}

impl Perceptron {
    /// The weights after training from a start, with the ridge pulling to a centre; from the model's
    /// own start and to zero where none are given.
    fn train(
        &self,
        data: &Dataset,
        start: Option<&[f64]>,
        centre: Option<&[f64]>,
    ) -> Result<Box<dyn Hypothesis>> {
        self.check_parameters()?;
        let layers = self.layers(data.features().columns(), data.task());
        let weights = Training::new(self, layers, data, centre)?.run(start);
        Ok(self.hypothesis(data.features().names(), data.task(), &weights))
    }

    fn layers(&self, columns: usize, task: Task) -> Layers {
        Layers::new(columns, &self.layers, self.activation, task)
    }

    fn check_parameters(&self) -> Result<()> {
        at_least_zero("ridge", self.ridge)?;
        at_least_zero("step", self.step)?;
        if self.step == 0.0 {
            return Err(Error::Parameter { name: "step", value: 0.0, expected: "above zero" });
        }
        if self.layers.contains(&0) {
            let expected = "one or more in each layer";
            return Err(Error::Parameter { name: "units", value: 0.0, expected });
        }
        if !(0.0..1.0).contains(&self.held_back) {
            let (value, expected) = (self.held_back, "a number from 0 to below 1");
            return Err(Error::Parameter { name: "held_back", value, expected });
        }
        Ok(())
    }
}

/// A learnt perceptron.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PerceptronHypothesis {
    /// The names of the features, in order.
    pub names: Arc<[String]>,
    /// What is predicted.
    pub task: Task,
    /// The number of units in each hidden layer.
    pub layers: Vec<usize>,
    /// What a hidden unit makes of its input.
    pub activation: Activation,
    /// Layer by layer and unit by unit: the slopes of its inputs, then its bias.
    pub weights: Vec<f64>,
}

impl PerceptronHypothesis {
    fn shape(&self) -> Layers {
        Layers::new(self.names.len(), &self.layers, self.activation, self.task)
    }
}

impl Hypothesis for PerceptronHypothesis {
    fn predict(&self, features: &Features) -> Labels {
        let shape = self.shape();
        let mut pass = RowPass::new(&shape);
        let mut labels = Labels::neutral(self.task, features.rows());
        let rows = labels.as_mut_slice().chunks_exact_mut(self.task.outputs());
        for (label, x) in rows.zip(features.iter()) {
            label.copy_from_slice(shape.forward(&self.weights, x, &mut pass));
            if self.task != Task::Regression {
                softmax(label);
            }
        }
        labels
    }

    fn save(&self) -> Option<Stored> {
        Stored::of(self)
    }
}

impl Storable for PerceptronHypothesis {
    const KIND: &'static str = "perceptron";

    fn domain(&self) -> (Option<&[String]>, Task) {
        (Some(&self.names), self.task)
    }

    /// Refuses weights of another number than the layers have, and such without a value.
    fn check(&self) -> Result<()> {
        let layers = self.shape();
        let expected = layers.checked_weight_count().ok_or(Error::Unsupported {
            what: "a perceptron",
            needs: "layers of which the weights can be counted",
        })?;
        same_size("weights of a perceptron", self.weights.len(), expected)?;
        check::finite("a weight of a perceptron", &self.weights)
    }
}

#[cfg(test)]
mod tests {
    use super::{
        samples::{CLASSES, small, wave},
        *,
    };
    use crate::{model::Linear, testing};

    #[test]
    fn perceptron_keeps_the_laws_of_local_models() {
        let wide = Perceptron { ridge: 0.0, ..small(&[4, 3], Activation::Relu) };
        let batched = Perceptron { batch: 7, optimiser: Optimiser::RmsProp, ..wide.clone() };
        for model in [small(&[8], Activation::Tanh), wide, batched, small(&[], Activation::Tanh)] {
            testing::check_local_model(&model, Task::Regression);
            testing::check_local_model(&model, Task::Classification { classes: 2 });
            testing::check_local_model(&model, CLASSES);
        }
    }

    #[test]
    fn a_refit_begins_where_the_last_fit_ended_and_is_never_worse() {
        let data = wave(40, Task::Regression);
        let model = small(&[6], Activation::Tanh);
        let first = model.fit(&data).unwrap();
        let second = model.refit(&data, first.as_ref()).unwrap();
        let objective = |h: &dyn Hypothesis| model.loss(&data, &model.weights(h).unwrap());
        assert!(objective(second.as_ref()) <= objective(first.as_ref()) * (1.0 + 1e-12));

        let still = Perceptron { epochs: 0, ..model.clone() };
        let same = still.refit(&data, first.as_ref()).unwrap();
        let (p, q) = (first.predict(data.features()), same.predict(data.features()));
        assert!(p.as_slice().iter().zip(q.as_slice()).all(|(p, q)| (p - q).abs() < 1e-12));
        let other = small(&[5], Activation::Tanh).fit(&data).unwrap();
        let anew = model.refit(&data, other.as_ref()).unwrap();
        assert_eq!(anew.save(), first.save(), "another shape is no start");
    }

    #[test]
    fn a_strong_ridge_ends_at_its_centre() {
        let data = wave(30, Task::Regression);
        let model = Perceptron { ridge: 1e9, ..small(&[4], Activation::Tanh) };
        let centre = small(&[4], Activation::Tanh).fit(&data).unwrap();
        let fitted = model.with_centre(centre.as_ref()).unwrap().fit(&data).unwrap();
        let (p, q) = (centre.predict(data.features()), fitted.predict(data.features()));
        assert!(p.as_slice().iter().zip(q.as_slice()).all(|(p, q)| (p - q).abs() < 0.05));
        assert!(model.with_centre(Linear::default().fit(&data).unwrap().as_ref()).is_none());
    }

    #[test]
    fn wrong_parameters_and_damaged_perceptrons_are_refused() {
        let data = wave(10, Task::Regression);
        for wrong in [
            Perceptron { step: 0.0, ..Perceptron::default() },
            Perceptron { layers: vec![3, 0], ..Perceptron::default() },
            Perceptron { held_back: 1.0, ..Perceptron::default() },
            Perceptron { ridge: -1.0, ..Perceptron::default() },
        ] {
            assert!(wrong.fit(&data).is_err(), "{wrong:?}");
        }
        let odd = Labels::new(CLASSES, [0.9, 0.9, -0.8].repeat(10)).unwrap();
        let odd = Dataset::new(data.features().clone(), odd).unwrap();
        assert!(Perceptron::default().fit(&odd).is_err());

        let fitted = small(&[3], Activation::Relu).fit(&data).unwrap();
        let sound = fitted.downcast_ref::<PerceptronHypothesis>().unwrap().clone();
        assert!(sound.check().is_ok());
        let huge = vec![usize::MAX, usize::MAX];
        assert!(PerceptronHypothesis { layers: huge, ..sound.clone() }.check().is_err());
        assert!(PerceptronHypothesis { weights: vec![0.0; 3], ..sound.clone() }.check().is_err());
        let weights = vec![f64::NAN; sound.weights.len()];
        assert!(PerceptronHypothesis { weights, ..sound }.check().is_err());
    }
}
