//! A network that is split in two and heals: it comes to the same end, soon, and without a storm.

use fedgrid::{
    method::FedRelax,
    network::{Network, View},
    observe::Stop,
    runtime::{
        InProcess, Layout,
        protocol::{ProtocolSettings, RoundMode},
        simulator::{Faults, Simulation, SimulationOutcome},
    },
};

use super::{
    asynchronous::{Hypotheses, RIDGE, relaxed, settings},
    setting::{Shape, network},
};

const ALPHA: f64 = 0.1;

struct Problem {
    network: Network,
    views: Vec<View>,
    method: FedRelax,
}

impl Problem {
    fn new() -> Self {
        let network = network(24, 3, 7);
        let shape = Shape { rows: 20, columns: 5, points: 20, ..Shape::without_intercept(RIDGE) };
        let views = shape.views(&network, 3, 7);
        Self { network, views, method: FedRelax { alpha: ALPHA, ..FedRelax::default() } }
    }

    fn in_process(&self, stop: Stop) -> f64 {
        let runtime = InProcess { stop, ..InProcess::default() };
        self.objective(&runtime.run(&self.method, self.views.clone()).unwrap().hypotheses)
    }

    fn objective(&self, hypotheses: &Hypotheses) -> f64 {
        relaxed(&self.network, &self.views, hypotheses, ALPHA)
    }

    fn simulated(
        &self,
        settings: ProtocolSettings,
        faults: &Faults,
        seed: u64,
    ) -> SimulationOutcome {
        let layout = Layout::apart(&self.network).unwrap();
        let simulation = Simulation::new(&self.method, &self.views, &layout);
        let simulation = Simulation { takes_digests: true, ..simulation.with_settings(settings) };
        Simulation { faults, ..simulation }.run(seed).unwrap()
    }
}

fn split(from: u64) -> Faults {
    Faults { partition: Some(from..from + 300), ..Faults::default() }
}

/// The largest number of bytes in so many ticks in a row.
fn busiest(traffic: &[u64], ticks: usize) -> u64 {
    traffic.windows(ticks).map(|window| window.iter().sum()).max().unwrap_or(0)
}

/// No window of ticks of the disturbed run has twice the bytes that as many ticks have on average
/// once an undisturbed run is on its way.
fn assert_no_storm(calm: &SimulationOutcome, split: &SimulationOutcome) {
    let steady = &calm.traffic[10..calm.traffic.len() - 10];
    let mean = steady.iter().sum::<u64>() as f64 / steady.len() as f64;
    for ticks in [1, 5, 20] {
        let most = busiest(&split.traffic[10..], ticks) as f64 / (mean * ticks as f64);
        assert!(most <= 2.0, "{most} times the bytes in {ticks} ticks");
    }
}

#[test]
fn halves_that_did_not_hear_each_other_for_300_rounds_reach_the_fixed_point_soon_after() {
    let problem = Problem::new();
    let fixed = problem.in_process(Stop { tolerance: 1e-14, rounds: 5000 });
    let gap = |reached: f64| (reached - fixed).abs() / fixed;
    let rounds: Vec<usize> = (1..200).collect();
    let far = |&rounds: &usize| {
        let stop = Stop { tolerance: -1.0, rounds };
        gap(problem.in_process(stop)) > 1e-9
    };
    let calm_rounds = 1 + rounds.partition_point(far);
    let faults = split(3);
    for seed in 1..=3 {
        let ended = |rounds: usize| {
            let outcome = problem.simulated(settings(rounds, 1), &faults, seed);
            assert_eq!(outcome.violations, []);
            gap(problem.objective(&outcome.hypotheses))
        };
        let apart = ended(303);
        assert!(apart > 1e-6, "the split was felt: {apart:e}");
        let healed = ended(303 + 5 * calm_rounds);
        assert!(healed <= 1e-9, "{healed:e}, {calm_rounds} rounds without faults");
    }
}

#[test]
fn a_split_that_heals_makes_no_storm() {
    let problem = Problem::new();
    let together = ProtocolSettings { mode: RoundMode::Synchronous, ..settings(500, 1) };
    for (settings, seeds) in [(settings(400, 1), 1..=2), (together, 3..=4)] {
        let calm = problem.simulated(settings, &Faults::NONE, 0);
        for seed in seeds {
            let split = problem.simulated(settings, &split(30), seed);
            assert!(split.violations.is_empty() && split.counts.lost > 0);
            assert!(split.ticks > 330, "it has healed before the end");
            assert_no_storm(&calm, &split);
            if settings.mode == RoundMode::Synchronous {
                assert_eq!(split.digests, calm.digests);
            }
        }
    }
}
