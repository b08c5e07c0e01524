//! PersFL with other losses, models and rows that arrive.

use std::sync::Arc;

use fedgrid::{
    data::{Dataset, Labels},
    method::{
        Method, Participant, PersFl,
        persfl::{Feed, LinearPool, Online, Probe, Start},
    },
    model::{Activation, Huber, Hypothesis, Linear, Logistic, Perceptron, Quantile, Tree},
    network::{Node, NodeId, complete},
};

use super::setting::{Made, made};

/// A target that starts anywhere learns its cluster from others.
#[test]
fn rewards_tell_the_own_cluster_for_other_losses_and_models() {
    type Dress = Box<dyn Fn(Made) -> Made>;
    let models: [(Dress, Probe); 5] = [
        (Box::new(|m| m.with_model(Huber { threshold: 1.0, ..Huber::default() })), Probe::Gradient),
        (
            Box::new(|m| m.with_model(Quantile { level: 0.5, ..Quantile::default() })),
            Probe::Gradient,
        ),
        (
            Box::new(|m| m.with_model(Quantile { level: 0.5, ..Quantile::default() })),
            Probe::Proximal,
        ),
        (Box::new(|m| m.with_model(Linear::default())), Probe::Refit),
        (Box::new(|m| m.with_model(Tree::default())), Probe::Refit),
    ];
    for (with_model, probe) in models {
        let made = with_model(made((0..12).map(|id| id % 2).collect(), [12, 2], 0.1, 5));
        let targets = Some([0].into());
        let method = PersFl { probe, step: 0.3, candidates: 6, targets, ..PersFl::default() };
        let run = made.by_messages(&method, 30);
        let taken = |same: bool| -> usize {
            let of = run.tallies.iter();
            of.filter(|t| (t.candidate % 2 == 0) == same).map(|tally| tally.adopted).sum()
        };
        assert!(taken(true) >= 24, "{probe:?} {} of 30", taken(true));
        assert_eq!(taken(true) + taken(false), 30);
        assert!(run.hypotheses[1].is_none(), "only targets learn");
    }
}

#[test]
fn a_perceptron_and_a_classifier_learn_by_gradient_probes() {
    let base = made((0..10).map(|id| id % 2).collect(), [20, 2], 0.1, 5);
    let loss = |node: &Node, hypothesis: &Arc<dyn Hypothesis>| {
        let predicted = hypothesis.predict(node.data.features());
        fedgrid::loss::Loss::of(node.data.task()).mean(node.data.labels(), &predicted)
    };
    let classes = |node: &Node| {
        let class = |y: &f64| usize::from(*y > 0.0);
        let labels: Vec<usize> = node.data.labels().as_slice().iter().map(class).collect();
        let labels = Labels::classes(2, &labels).unwrap();
        let data = Dataset::new(node.data.features().clone(), labels).unwrap();
        Node { data, model: Arc::new(Logistic::default()), ..node.clone() }
    };
    let logistic =
        Made { nodes: base.nodes.iter().map(classes).collect(), ..made(vec![0], [1, 2], 0.0, 1) };
    let network =
        Perceptron { layers: vec![4], activation: Activation::Tanh, ..Perceptron::default() };
    let perceptron = base.with_model(network);
    let first = perceptron.nodes[0].model.fit(&perceptron.nodes[2].data).unwrap();
    let given: Arc<[Option<Arc<dyn Hypothesis>>]> = vec![Some(first.into()); 10].into();
    for (made, start) in [(logistic, Start::Zero), (perceptron, Start::Given(given))] {
        let method = PersFl { start, step: 0.02, candidates: 5, ..PersFl::default() };
        let views = complete(10).unwrap().views(made.nodes.clone()).unwrap();
        let before = method.join(views[1].clone()).unwrap();
        let before = loss(&made.nodes[1], before.hypothesis().unwrap());
        let after = made.by_messages(&method, 60);
        let after = loss(&made.nodes[1], after.hypotheses[1].as_ref().unwrap());
        assert!(after < 0.8 * before, "{after} of {before}");
    }
}

#[test]
fn what_cannot_be_probed_is_refused_with_a_reason() {
    let made = made(vec![0, 0], [3, 2], 0.0, 1).with_model(Tree::default());
    let views = complete(2).unwrap().views(made.nodes.clone()).unwrap();
    let error = PersFl::default().join(views[0].clone()).unwrap_err().to_string();
    assert_eq!(
        error,
        "a gradient or proximal probe needs a model of weights at every target; \
         use the refit probe for the others"
    );
    assert!(LinearPool::new(&PersFl::default(), &made.nodes).unwrap().is_none());
}

#[test]
fn a_target_waits_until_enough_rows_have_come() {
    #[derive(Debug)]
    struct Slow(Dataset);
    impl Feed for Slow {
        fn arrived(&self, node: NodeId, _: usize) -> Option<Dataset> {
            (node == 0).then(|| self.0.clone())
        }
    }
    let made = made(vec![0, 0], [3, 2], 0.0, 1);
    let feed = Arc::new(Slow(made.nodes[0].data.select(&[0])));
    let online = Some(Online { feed: Some(feed), batch: 3, enough: 3 });
    let method = PersFl { online, targets: Some([0].into()), ..PersFl::default() };
    // One row comes in every iteration, so every third can begin: the fourth, the seventh, …
    assert_eq!(made.by_messages(&method, 12).tallies[0].probes, 3);
}
