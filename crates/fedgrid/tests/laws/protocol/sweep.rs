//! Many seeds, each with other faults, splits and checkpoints: no promise is ever broken.

use fedgrid::{
    method::{Durable, FedRelax, Method, PersFl, PrimalDual, persfl::Budget},
    network::complete,
    observe::Stop,
    runtime::{
        protocol::{ProtocolSettings, RoundMode},
        simulator::{Faults, Simulation},
    },
};

use rayon::prelude::*;

use super::{
    setting::{Shape, layouts, network},
    synchronous::storm,
};

const LATE: RoundMode = RoundMode::Asynchronous { staleness: Some(25) };

fn sweep<M: Method<Participant: Durable>>(
    method: &M,
    mode: RoundMode,
    is_complete: bool,
    seeds: u64,
) {
    let network = if is_complete { complete(6).unwrap() } else { network(8, 2, 3) };
    let views = Shape::default().views(&network, 2, 3);
    let layouts = layouts(&network);
    (0..seeds).into_par_iter().for_each(|seed| {
        let layout = &layouts[1 + usize::try_from(seed % 3).unwrap()];
        let tolerance = if seed.is_multiple_of(2) { 1e-3 } else { -1.0 };
        let stop = Stop { tolerance, rounds: 20 };
        let keep = 1 + seed % 4;
        let settings = ProtocolSettings {
            mode,
            stop,
            check_every: 5,
            checkpoint_every: keep,
            ..ProtocolSettings::default()
        };
        let simulation = Simulation::new(method, &views, layout).with_settings(settings);
        let calm = Simulation {
            takes_digests: true,
            stops_at_violation: true,
            deadline: 3000,
            ..simulation
        };
        let digests = calm.run(0).unwrap().digests;
        let expected = (mode == RoundMode::Synchronous).then_some(&digests);
        let faults = Faults { one_way: seed.is_multiple_of(5), ..storm(120) };
        let stormy = Simulation { faults: &faults, expected, ..calm };
        let outcome = stormy.run(seed).unwrap();
        assert_eq!(outcome.violations, [], "seed {seed}, {mode:?}: {:?}", outcome.counts);
        if seed.is_multiple_of(8) {
            let again = stormy.run(seed).unwrap();
            assert_eq!((again.trace, again.ticks), (outcome.trace, outcome.ticks), "seed {seed}");
        }
    });
}

fn all(seeds: u64) {
    for mode in [RoundMode::Synchronous, LATE] {
        sweep(&FedRelax { alpha: 0.5, ..FedRelax::default() }, mode, false, seeds);
        sweep(&PrimalDual { alpha: 0.1, ..PrimalDual::default() }, mode, false, seeds);
    }
    let persfl = PersFl { candidates: 3, budget: Budget::Half, ..PersFl::default() };
    sweep(&persfl, RoundMode::Synchronous, true, seeds);
}

#[test]
fn a_thousand_federations_keep_every_promise_and_a_seed_is_a_trace() {
    all(200);
}

#[test]
#[ignore = "ten thousand federations; part of make soak"]
fn ten_thousand_federations_keep_every_promise() {
    all(2000);
}
