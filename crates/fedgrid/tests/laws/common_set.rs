//! "Towards Model-Agnostic Federated Learning over Networks" has one common test set; there its
//! Algorithms 1 and 2 are FedRelax as "Plug In and Learn" has it,
//!
//! ```text
//! eq. 12   h_i ← argmin  L_i(h) + (λ/2m') Σ_j A_ij Σ_r (h(x_r) − h_j(x_r))²       is  α = λ/2
//! eq. 10   h_i ← argmin  L_i(h) + (λ/2) Σ_j A_ij d(h, h_j),   d of eq. 5          is  α = λ
//! ```
//!
//! from h ≡ 0, which is what a first round that hears zeros begins with. For squared loss d is twice the
//! mean squared difference, because eq. 5 counts both directions.

use std::sync::Arc;

use crate::setting::Setting;
use fedgrid::{
    data::{Dataset, Labels, Task},
    method::FedRelax,
    model::{Hypothesis, Linear, LocalModel, Tree},
    network::Node,
    observe::Stop,
    runtime::{InProcess, Order},
};

const LAMBDA: f64 = 0.7;
const ROUNDS: usize = 4;

/// The algorithm as it stands in the paper: every neighbour adds one labelled copy of the test set.
/// `directions` is how often the squared difference of two nodes counts: once in eq. 12, twice in eq. 5.
fn of_the_paper(setting: &Setting, nodes: &[Node], directions: f64) -> Vec<Box<dyn Hypothesis>> {
    let points = &nodes[0].public;
    let share = directions * LAMBDA / 2.0 / points.rows() as f64;
    let mut heard = vec![Labels::values(vec![0.0; points.rows()]); nodes.len()];
    let mut hypotheses = Vec::new();
    for _ in 0..ROUNDS {
        let update = |node: &Node| {
            let mut rows = node.data.clone();
            for &(neighbour, weight) in setting.network.neighbours(node.id) {
                let weights = vec![share * weight; points.rows()];
                let labels = heard[neighbour].clone();
                let copy = Dataset::weighted(points.as_ref().clone(), labels, weights).unwrap();
                rows = rows.stacked(&copy).unwrap();
            }
            node.model.fit(&rows).unwrap()
        };
        hypotheses = nodes.iter().map(update).collect();
        heard = hypotheses.iter().map(|hypothesis| hypothesis.predict(points)).collect();
    }
    hypotheses
}

#[test]
fn on_a_common_test_set_the_first_paper_is_fedrelax() {
    let models: [Arc<dyn LocalModel>; 2] =
        [Arc::new(Linear { ridge: 1e-3, intercept: true }), Arc::new(Tree::default())];
    for model in models {
        let setting = Setting { models: vec![model], ..Setting::new(Task::Regression) };
        let nodes = setting.nodes();
        for (directions, alpha) in [(1.0, LAMBDA / 2.0), (2.0, LAMBDA)] {
            let method = FedRelax { alpha, zero_first: true, ..FedRelax::default() };
            let stop = Stop { tolerance: 0.0, rounds: ROUNDS };
            let runtime = InProcess { stop, order: Order::AtOnce };
            let run = runtime.run(&method, setting.views()).unwrap();
            let theirs = of_the_paper(&setting, &nodes, directions);
            for (node, (ours, theirs)) in nodes.iter().zip(run.hypotheses.iter().zip(&theirs)) {
                let ours = ours.as_ref().unwrap();
                for rows in [node.data.features(), node.public.as_ref()] {
                    let (a, b) = (ours.predict(rows), theirs.predict(rows));
                    for (a, b) in a.as_slice().iter().zip(b.as_slice()) {
                        assert!((a - b).abs() < 1e-9, "{a} {b}");
                    }
                }
            }
        }
    }
}
