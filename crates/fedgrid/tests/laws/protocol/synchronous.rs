//! Synchronous rounds have the bits of one process.

use std::sync::Arc;

use fedgrid::{
    descent::Optimiser,
    method::{
        Adjustable, Durable, FedRelax, Method, PersFl, PrimalDual, TriedStrength, TunedAtSites,
        fedrelax::{Coupling, LocalStep},
        persfl::{Budget, Probe},
        tuned::{StrengthPath, Tuning},
    },
    metric::Metric,
    model::{
        Boosting, Forest, Huber, KernelRidge, Linear, LocalModel, Neighbours, Perceptron, Tree,
    },
    network::{Network, View, complete},
    observe::Stop,
    runtime::{
        InProcess, Layout,
        protocol::ProtocolSettings,
        simulator::{Faults, Simulation},
    },
};

use super::setting::{Shape, layouts, network, same_bits};

fn settings(rounds: usize, keep: u64) -> ProtocolSettings {
    let stop = Stop { tolerance: -1.0, rounds };
    ProtocolSettings { stop, check_every: 7, checkpoint_every: keep, ..ProtocolSettings::default() }
}

/// Everything at once.
pub(super) fn storm(until: u64) -> Faults {
    Faults {
        loss: 0.2,
        duplicate: 0.1,
        delay: 3,
        crash: 0.02,
        zombie: 0.3,
        backup: 0.2,
        hostile: 0.2,
        partition: Some(20..40),
        slow: 0.2,
        until,
        ..Faults::default()
    }
}

/// The same for one layout, one state kept in three rounds, and these models.
fn survives(method: &FedRelax, model: &Arc<dyn LocalModel>) {
    let network = network(6, 2, 3);
    let views = Shape { model: model.clone(), rows: 12, ..Shape::default() }.views(&network, 2, 3);
    let settings = settings(9, 3);
    let stop = settings.stop;
    let run = InProcess { stop, ..InProcess::default() }.run(method, views.clone()).unwrap();
    let layout = Layout::new(&network, &[0, 0, 1, 1, 2, 2]).unwrap();
    let faults = Faults { crash: 0.05, ..storm(60) };
    let simulation = Simulation::new(method, &views, &layout).with_settings(settings);
    let outcome = Simulation { faults: &faults, ..simulation }.run(2).unwrap();
    assert_eq!(outcome.violations, [], "{model:?}");
    assert!(outcome.counts.crashes > 0, "nothing was restored");
    assert!(same_bits(&run, &outcome.hypotheses), "{model:?}");
}

#[test]
fn models_of_every_kind_are_restored_bit_for_bit() {
    let models: [Arc<dyn LocalModel>; 7] = [
        Arc::new(Tree::default()),
        Arc::new(Forest { trees: 3, ..Forest::default() }),
        Arc::new(Boosting { trees: 3, ..Boosting::default() }),
        Arc::new(KernelRidge::default()),
        Arc::new(Neighbours::default()),
        Arc::new(Huber::default()),
        Arc::new(Perceptron { layers: vec![3], ..Perceptron::default() }),
    ];
    for model in models {
        survives(&FedRelax { alpha: 0.3, ..FedRelax::default() }, &model);
    }
}

#[test]
fn steps_relaxation_and_symmetric_coupling_are_restored_bit_for_bit() {
    let linear: Arc<dyn LocalModel> = Arc::new(Linear::default());
    let descend = LocalStep::Descend { steps: 2, optimiser: Optimiser::RmsProp, size: 0.05 };
    let distil = LocalStep::Distil { points: 4, seed: 3 };
    for step in [descend, distil] {
        survives(&FedRelax { alpha: 0.3, step, ..FedRelax::default() }, &linear);
    }
    let coupling = Coupling::Symmetric;
    survives(&FedRelax { alpha: 0.3, coupling, ..FedRelax::default() }, &linear);
    let zero_first = true;
    survives(&FedRelax { alpha: 0.3, relaxation: 0.7, zero_first, ..FedRelax::default() }, &linear);
}

fn has_the_bits_of_one_process<M: Method<Participant: Durable>>(method: &M, is_complete: bool) {
    let network = if is_complete { complete(8).unwrap() } else { network(10, 2, 3) };
    let views = Shape::default().views(&network, 2, 3);
    let stop = settings(24, 1).stop;
    let run = InProcess { stop, ..InProcess::default() }.run(method, views.clone()).unwrap();
    for (place, layout) in layouts(&network).iter().enumerate() {
        for keep in [1, 5] {
            let simulation =
                Simulation::new(method, &views, layout).with_settings(settings(24, keep));
            let calm = Simulation {
                takes_digests: true,
                stops_at_violation: true,
                deadline: 3000,
                ..simulation
            };
            let outcome = calm.run(1).unwrap();
            assert_eq!(outcome.violations, [], "layout {place}");
            assert!(same_bits(&run, &outcome.hypotheses), "layout {place}, keep {keep}");
            for seed in 0..4 {
                let faults = &storm(150);
                let expected = Some(&outcome.digests);
                let stormy = Simulation { faults, expected, ..calm }.run(seed).unwrap();
                assert_eq!(
                    stormy.violations,
                    [],
                    "layout {place}, keep {keep}, seed {seed}: {:?}",
                    stormy.counts
                );
                assert!(same_bits(&run, &stormy.hypotheses), "layout {place}, seed {seed}");
            }
        }
    }
}

#[test]
fn fedrelax_in_processes_has_the_bits_of_one_process_whatever_goes_wrong() {
    has_the_bits_of_one_process(&FedRelax { alpha: 0.5, ..FedRelax::default() }, false);
}

#[test]
fn primal_dual_in_processes_has_the_bits_of_one_process_whatever_goes_wrong() {
    has_the_bits_of_one_process(&PrimalDual { alpha: 0.1, ..PrimalDual::default() }, false);
}

/// A method whose strength the nodes of these views choose on rows of theirs.
fn tuned<M: Adjustable>(method: M, network: &Network, views: &[View]) -> TunedAtSites<M> {
    #[derive(Debug)]
    struct Three;
    impl StrengthPath for Three {
        fn next(&self, tried: &[TriedStrength]) -> Vec<f64> {
            match tried.len() {
                0 => vec![0.1, 0.5],
                2 => vec![0.2],
                _ => Vec::new(),
            }
        }
        fn best(&self, tried: &[TriedStrength]) -> f64 {
            let best = tried.iter().min_by(|a, b| a.error.total_cmp(&b.error));
            best.expect("some were tried").alpha
        }
    }
    let validation = views.iter().map(|view| (view.node.id, view.node.data.clone()));
    let tuning = Tuning {
        path: Arc::new(Three),
        metric: Metric::Mse,
        validation: validation.collect(),
        tolerance: 1e-2,
        rounds_each: 6,
        most_rounds: 60,
    };
    TunedAtSites::new(method, network, tuning).unwrap()
}

fn tuned_has_the_bits_of_one_process<M: Adjustable>(method: M) {
    let network = network(10, 2, 3);
    let views = Shape::default().views(&network, 2, 3);
    let method = tuned(method, &network, &views);
    let stop = settings(70, 1).stop;
    let run = InProcess { stop, ..InProcess::default() }.run(&method, views.clone()).unwrap();
    for (place, layout) in layouts(&network).iter().enumerate() {
        for keep in [1, 5] {
            let simulation =
                Simulation::new(&method, &views, layout).with_settings(settings(70, keep));
            let calm = Simulation {
                takes_digests: true,
                stops_at_violation: true,
                deadline: 6000,
                ..simulation
            };
            let outcome = calm.run(1).unwrap();
            assert_eq!(outcome.violations, [], "layout {place}");
            assert!(same_bits(&run, &outcome.hypotheses), "layout {place}, keep {keep}");
            for seed in 0..4 {
                let faults = &storm(300);
                let expected = Some(&outcome.digests);
                let stormy = Simulation { faults, expected, ..calm }.run(seed).unwrap();
                let (found, counts) = (&stormy.violations, &stormy.counts);
                assert_eq!(*found, [], "layout {place}, keep {keep}, seed {seed}: {counts:?}");
                assert!(same_bits(&run, &stormy.hypotheses), "layout {place}, seed {seed}");
            }
        }
    }
}

#[test]
fn a_strength_that_nodes_choose_has_the_bits_of_one_process_whatever_goes_wrong() {
    tuned_has_the_bits_of_one_process(FedRelax::default());
    tuned_has_the_bits_of_one_process(PrimalDual::default());
}

#[test]
fn persfl_in_processes_has_the_bits_of_one_process_whatever_goes_wrong() {
    let method = PersFl { candidates: 3, budget: Budget::Half, ..PersFl::default() };
    has_the_bits_of_one_process(&method, true);
    let refit = PersFl { probe: Probe::Refit, step: 1.0, ..method };
    has_the_bits_of_one_process(&refit, true);
}
