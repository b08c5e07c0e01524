//! A method of one's own: every node tells its neighbours the mean of its labels, and predicts the mean
//! of all means it has heard of. It runs in one process as it would in a federation.
//!
//! ```sh
//! cargo run -p fedgrid --example own_method
//! ```

#![expect(clippy::print_stdout, reason = "an example shows what it gives")]

use std::sync::Arc;

use fedgrid::{
    Result,
    data::{Dataset, Features, Labels, Task},
    method::{Message, Method, Participant, Report},
    model::{Constant, Hypothesis, Linear},
    network::{self, Node, NodeId, View},
    observe::Stop,
    runtime::{InProcess, Order},
};

/// The method: its hyper-parameters, of which it has one.
struct Consensus {
    /// The share of the neighbours' mean that is taken in each round.
    share: f64,
}

/// What is sent along an edge: one number, and no row.
#[derive(Clone)]
struct Mean(f64);

impl Message for Mean {
    fn bytes(&self) -> usize {
        8
    }
}

/// What runs at one node. It knows its view and its inbox, nothing else.
struct Averaging {
    share: f64,
    neighbours: Vec<NodeId>,
    mean: f64,
    hypothesis: Arc<dyn Hypothesis>,
    report: Report,
}

impl Averaging {
    fn set(&mut self, mean: f64) {
        self.report.change = (mean - self.mean).powi(2);
        self.report.size = mean * mean;
        self.mean = mean;
        self.hypothesis = Arc::new(Constant { task: Task::Regression, label: vec![mean] });
    }
}

impl Method for Consensus {
    type Participant = Averaging;

    fn join(&self, view: View) -> Result<Averaging> {
        let labels = view.node.data.labels().as_slice();
        let mean = labels.iter().sum::<f64>() / labels.len().max(1) as f64;
        Ok(Averaging {
            share: self.share,
            neighbours: view.neighbours.iter().map(|neighbour| neighbour.id).collect(),
            mean,
            hypothesis: Arc::new(Constant { task: Task::Regression, label: vec![mean] }),
            report: Report::default(),
        })
    }
}

impl Participant for Averaging {
    type Message = Mean;

    fn send(&mut self) -> Vec<(NodeId, Mean)> {
        self.neighbours.iter().map(|&to| (to, Mean(self.mean))).collect()
    }

    fn receive(&mut self, inbox: &[(NodeId, Mean)]) -> Result<()> {
        // A silent neighbour changes nothing, so lost messages only slow learning down.
        if !inbox.is_empty() {
            let heard = inbox.iter().map(|(_, mean)| mean.0).sum::<f64>() / inbox.len() as f64;
            self.set((1.0 - self.share) * self.mean + self.share * heard);
        }
        Ok(())
    }

    fn hypothesis(&self) -> Option<&Arc<dyn Hypothesis>> {
        Some(&self.hypothesis)
    }

    fn report(&self) -> Report {
        self.report
    }
}

pub(crate) fn main() -> Result<()> {
    let public = Arc::new(Features::from_rows(&["x"], &[[0.0]])?);
    let model = Arc::new(Linear::default());
    let nodes = [1.0, 5.0, 9.0].into_iter().enumerate().map(|(id, label)| {
        let data =
            Dataset::new(Features::from_rows(&["x"], &[[0.0]])?, Labels::values(vec![label]))?;
        Ok(Node { id, data, model: model.clone(), public: public.clone() })
    });
    let views = network::ring(3)?.views(nodes.collect::<Result<_>>()?)?;
    let stop = Stop { tolerance: 1e-9, rounds: 200 };
    let run = InProcess { stop, order: Order::AtOnce }.run(&Consensus { share: 0.5 }, views)?;
    let means = run.hypotheses.iter().flatten().map(|h| h.predict(&public).row(0)[0]);
    println!("means {:.6?} after {} rounds", means.collect::<Vec<_>>(), run.history.len());
    Ok(())
}
