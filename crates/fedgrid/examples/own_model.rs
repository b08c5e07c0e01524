//! A model of one's own at the nodes: a step function with one threshold, beside linear models.
//!
//! ```sh
//! cargo run -p fedgrid --example own_model
//! ```

#![expect(clippy::print_stdout, reason = "an example shows what it gives")]

use std::sync::Arc;

use fedgrid::{
    Result,
    data::{Dataset, Features, Labels, Task},
    method::FedRelax,
    model::{Hypothesis, HypothesisKinds, Linear, LocalModel, Storable, Stored},
    network::{self, Node},
    runtime::InProcess,
};
use serde::{Deserialize, Serialize};

/// Predicts the mean label on either side of a given threshold of the first feature.
#[derive(Debug)]
struct Step {
    threshold: f64,
}

#[derive(Debug, Serialize, Deserialize)]
struct StepHypothesis {
    threshold: f64,
    below: f64,
    above: f64,
}

impl LocalModel for Step {
    /// The hypothesis of smallest weighted loss; rows of weight zero do not matter.
    fn fit(&self, data: &Dataset) -> Result<Box<dyn Hypothesis>> {
        let mean = |is_above: bool| {
            let (mut sum, mut weight) = (0.0, 0.0);
            for (row, x) in data.features().iter().enumerate() {
                if (x[0] > self.threshold) == is_above {
                    sum += data.weights()[row] * data.labels().row(row)[0];
                    weight += data.weights()[row];
                }
            }
            if weight > 0.0 { sum / weight } else { 0.0 }
        };
        let (below, above) = (mean(false), mean(true));
        Ok(Box::new(StepHypothesis { threshold: self.threshold, below, above }))
    }

    /// With its own kind, so that it is read from checkpoints, too.
    fn kinds(&self) -> HypothesisKinds {
        HypothesisKinds::builtin().with::<StepHypothesis>()
    }
}

impl Hypothesis for StepHypothesis {
    fn predict(&self, features: &Features) -> Labels {
        let label = |x: &[f64]| if x[0] > self.threshold { self.above } else { self.below };
        Labels::values(features.iter().map(label).collect())
    }

    /// Needed only for files and checkpoints: what can be saved is also `Storable`.
    fn save(&self) -> Option<Stored> {
        Stored::of(self)
    }
}

impl Storable for StepHypothesis {
    const KIND: &'static str = "step";

    fn domain(&self) -> (Option<&[String]>, Task) {
        (None, Task::Regression)
    }

    fn check(&self) -> Result<()> {
        Ok(())
    }
}

pub(crate) fn main() -> Result<()> {
    let public = Arc::new(Features::from_rows(&["x"], &[[-2.0], [-1.0], [1.0], [2.0]])?);
    let models: [Arc<dyn LocalModel>; 2] =
        [Arc::new(Step { threshold: 0.0 }), Arc::new(Linear { ridge: 0.0, intercept: true })];
    let nodes = models.into_iter().enumerate().map(|(id, model)| {
        let rows = Features::from_rows(&["x"], &[[-1.5], [-0.5], [0.5], [1.5]])?;
        let labels = Labels::values(vec![-1.0, -1.0, 1.0, 1.0]);
        Ok(Node { id, data: Dataset::new(rows, labels)?, model, public: public.clone() })
    });
    let views = network::path(2)?.views(nodes.collect::<Result<_>>()?)?;
    let method = FedRelax { alpha: 1.0, ..FedRelax::default() };
    let run = InProcess::default().run(&method, views)?;
    for (node, hypothesis) in run.hypotheses.iter().enumerate() {
        let hypothesis = hypothesis.as_ref().expect("both have rows");
        println!("node {node} predicts {:.3?}", hypothesis.predict(&public).as_slice());
    }
    let stored = run.hypotheses[0].as_ref().and_then(|hypothesis| hypothesis.save());
    println!("node 0 in a file: {}", serde_json::to_string(&stored).expect("plain values"));
    println!("converged after {} rounds: {}", run.history.len(), run.converged);
    Ok(())
}
