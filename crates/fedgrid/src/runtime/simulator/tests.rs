//! Planted faults: the simulator must find each of them within a thousand seeds, and nothing without.

use std::sync::Arc;

use super::{Digests, Faults, Simulation, Violation};
use crate::{
    data::{Dataset, Features, Labels},
    method::{Budget, Durable, FedRelax, Method, PersFl, PrimalDual},
    model::Linear,
    network::{Node, View, complete},
    observe::Stop,
    random::{Purpose, Stream},
    runtime::{
        Layout,
        protocol::{Mode, Settings, mutant::Mutant},
    },
};

const NODES: usize = 5;

fn views() -> (Vec<View>, Layout) {
    let network = complete(NODES).unwrap();
    let names: Arc<[String]> = ["a", "b"].map(String::from).into();
    let features = |node: usize, rows: usize, purpose: Purpose| {
        let mut stream = Stream::new(9, node, 0, purpose);
        let values = (0..2 * rows).map(|_| stream.normal()).collect();
        Features::new(names.clone(), values).unwrap()
    };
    let public = Arc::new(features(0, 3, Purpose::Public));
    let node = |id: usize| {
        let x = features(id, 4, Purpose::Data);
        let y = x.iter().map(|x| x[0] * id as f64 - x[1] + 0.1).collect();
        let data = Dataset::new(x, Labels::values(y)).unwrap();
        let model = Arc::new(Linear { ridge: 0.01, intercept: false });
        Node { id, data, model, public: public.clone() }
    };
    let views = network.views((0..NODES).map(node).collect()).unwrap();
    (views, Layout::apart(&network).unwrap())
}

/// What goes wrong while faults are sought.
fn faults() -> Faults {
    Faults {
        loss: 0.1,
        duplicate: 0.05,
        delay: 2,
        crash: 0.03,
        down: 6,
        zombie: 0.3,
        backup: 0.3,
        hostile: 0.1,
        until: 80,
        ..Faults::default()
    }
}

fn settings(mode: Mode) -> Settings {
    let stop = Stop { tolerance: 1e-3, rounds: 20 };
    Settings { mode, stop, look: 4, keep: 2, ..Settings::default() }
}

/// Runs seeds until a promise is broken; how many it took, and what was found.
fn caught<M: Method<Participant: Durable>>(
    method: &M,
    mode: Mode,
    seeds: u64,
    plant: impl Fn(&mut Simulation<'_, M>),
) -> Option<(u64, Violation)> {
    let (views, layout) = views();
    let calm = Simulation::new(method, &views, &layout).with_settings(settings(mode));
    let expected: Digests = match mode {
        Mode::Synchronous => Simulation { takes_digests: true, ..calm }.run(0).unwrap().digests,
        Mode::Asynchronous { .. } => Digests::new(),
    };
    let faults = faults();
    let mut simulation = Simulation {
        faults: &faults,
        deadline: 700,
        takes_digests: true,
        stops_at_violation: true,
        expected: Some(&expected),
        ..calm
    };
    plant(&mut simulation);
    (0..seeds).find_map(|seed| {
        let outcome = simulation.run(seed).unwrap();
        outcome.violations.into_iter().next().map(|violation| (seed + 1, violation))
    })
}

const LATE: Mode = Mode::Asynchronous { staleness: Some(30) };

#[test]
fn without_a_planted_fault_no_promise_is_broken() {
    let fedrelax = FedRelax { alpha: 0.3, ..FedRelax::default() };
    let primal_dual = PrimalDual { alpha: 0.1, ..PrimalDual::default() };
    let persfl = PersFl { candidates: 2, budget: Budget::Half, ..PersFl::default() };
    for mode in [Mode::Synchronous, LATE] {
        assert_eq!(caught(&fedrelax, mode, 60, |_| ()), None, "{mode:?}");
        assert_eq!(caught(&primal_dual, mode, 60, |_| ()), None, "{mode:?}");
    }
    assert_eq!(caught(&persfl, Mode::Synchronous, 60, |_| ()), None);
}

#[test]
fn every_planted_fault_is_caught_within_a_thousand_seeds() {
    let fedrelax = FedRelax { alpha: 0.3, ..FedRelax::default() };
    let synchronous = [
        Mutant::OldEpochs,
        Mutant::Copies,
        Mutant::Rollbacks,
        Mutant::SameEpoch,
        Mutant::SpeakBeforeEpoch,
        Mutant::SpeakBeforeKept,
        Mutant::EarlyFloor,
        Mutant::ArrivalOrder,
        Mutant::FreshNoise,
        Mutant::AnyRound,
        Mutant::EarlyForgetting,
        Mutant::NoOutbox,
        Mutant::StopAlone,
        Mutant::SumsTwice,
        Mutant::Forgetful,
    ];
    for mutant in synchronous {
        let found = caught(&fedrelax, Mode::Synchronous, 1000, |own| own.mutant = Some(mutant));
        assert!(found.is_some(), "{mutant:?} was not caught");
    }
    let late = caught(&fedrelax, LATE, 1000, |own| own.mutant = Some(Mutant::AnyAge));
    assert!(late.is_some(), "a word that went back was not caught");
    let sync = caught(&fedrelax, Mode::Synchronous, 1000, |own| own.forgets_to_sync = true);
    assert!(sync.is_some(), "a disk that forgets was not caught");
}

#[test]
fn a_ledger_and_duals_that_are_forgotten_are_caught() {
    let forget = |own: &mut Simulation<'_, _>| own.mutant = Some(Mutant::Forgetful);
    let persfl = PersFl { candidates: 2, budget: Budget::Half, ..PersFl::default() };
    let found = caught(&persfl, Mode::Synchronous, 1000, forget);
    assert!(found.is_some(), "a forgotten ledger was not caught");
    let forget = |own: &mut Simulation<'_, _>| own.mutant = Some(Mutant::Forgetful);
    let primal_dual = PrimalDual { alpha: 0.1, ..PrimalDual::default() };
    let found = caught(&primal_dual, Mode::Synchronous, 1000, forget);
    assert!(found.is_some(), "forgotten duals were not caught");
}

#[test]
fn one_seed_is_one_trace() {
    let (views, layout) = views();
    let (method, faults) = (FedRelax::default(), faults());
    let calm = Simulation::new(&method, &views, &layout);
    let simulation = Simulation { faults: &faults, ..calm }.with_settings(settings(LATE));
    let trace = |seed| simulation.run(seed).unwrap().trace;
    assert_eq!((trace(1), trace(2)), (trace(1), trace(2)));
    assert_ne!(trace(1), trace(2));
}
