//! One process that is a hundred times slower than the others.
//!
//! In asynchronous rounds nobody waits for it. As long as it has said nothing new the others have a
//! fixed point of their own, given its last word `h_s`,
//!
//! ```text
//! h_i = argmin  L_i(h) + α Σⱼ A_ij δ(h, h_j)      for all i ≠ s, with h_s as it was said
//! ```
//!
//! whose contraction is no worse than that of all, so they get there as fast as all would without a
//! slow one. The fixed point of all is reached at the pace of the slow one's own words.

use std::sync::Arc;

use fedgrid::{
    algebra::squared_distance,
    method::{Durable, FedRelax, Method},
    model::Hypothesis,
    network::{View, complete},
    observe::Stop,
    runtime::{
        InProcess, Layout,
        protocol::{ProtocolSettings, RoundMode},
        simulator::{Faults, Simulation, SimulationOutcome},
    },
};

use super::{
    asynchronous::{Hypotheses, linear, settings},
    setting::{Shape, network},
};

const NODES: usize = 12;

/// How far nodes but one are from where others are, relative to the size of these.
fn distance(found: &Hypotheses, best: &Hypotheses, but: Option<usize>) -> f64 {
    let (mut apart, mut size) = (0.0, 0.0);
    for node in (0..found.len()).filter(|node| Some(*node) != but) {
        let (found, best) = (linear(found[node].as_ref()), linear(best[node].as_ref()));
        apart += squared_distance(&found.slopes, &best.slopes);
        size += best.slopes.iter().map(|slope| slope * slope).sum::<f64>();
    }
    (apart / size).sqrt()
}

/// Where rounds in one process end.
fn fixed(method: &FedRelax, views: Vec<View>) -> Vec<Option<Arc<dyn Hypothesis>>> {
    let stop = Stop { tolerance: 1e-13, rounds: 5000 };
    InProcess { stop, ..InProcess::default() }.run(method, views).unwrap().hypotheses
}

/// The seed with which exactly one process is slow, and which one.
fn one_slow<M>(simulation: &Simulation<'_, M>) -> (u64, usize)
where
    M: Method<Participant: Durable>,
{
    let brief = Simulation { deadline: 1, ..*simulation };
    let alone = |seed: u64| {
        let slow = brief.run(seed).unwrap().slow;
        slow.first().copied().filter(|_| slow.len() == 1).map(|slow| (seed, slow))
    };
    (0..100).find_map(alone).expect("a seed with one slow process")
}

const SLOW: Faults = Faults { slow: 1.0 / NODES as f64, slowness: 100, ..Faults::NONE };

#[test]
fn the_others_are_as_fast_as_without_a_slow_one_and_all_end_at_the_fixed_point() {
    let network = network(NODES, 3, 5);
    let shape = Shape { rows: 20, columns: 5, points: 50, ..Shape::without_intercept(0.0) };
    let views = shape.views(&network, 3, 5);
    let method = FedRelax { alpha: 0.1, ..FedRelax::default() };
    let layout = Layout::apart(&network).unwrap();
    let calm = Simulation::new(&method, &views, &layout).with_settings(settings(1_000_000, 1));
    let late = Simulation { faults: &SLOW, ..calm };
    let (seed, slow) = one_slow(&late);
    // The word of one whose own rows weigh so much is its word alone.
    let mut stubborn = views.clone();
    stubborn[slow].node.data = stubborn[slow].node.data.clone().with_total_weight(1e12);
    let (all, given) = (fixed(&method, views.clone()), fixed(&method, stubborn));
    let alone = fixed(&FedRelax { alpha: 0.0, ..method.clone() }, views.clone());
    let after = |simulation: &Simulation<'_, _>, deadline: u64| -> SimulationOutcome {
        Simulation { deadline, ..*simulation }.run(seed).unwrap()
    };
    // Ticks from when all others have heard all their neighbours until they are within 1e-6.
    let ticks = |simulation: &Simulation<'_, _>, best: &Hypotheses, but: Option<usize>| {
        let is_begun = |ended: &SimulationOutcome| {
            let moved = |node: usize| {
                let (now, local) =
                    (linear(ended.hypotheses[node].as_ref()), linear(alone[node].as_ref()));
                Some(node) == but || squared_distance(&now.slopes, &local.slopes) > 1e-20
            };
            ended.hypotheses.iter().all(Option::is_some) && (0..NODES).all(moved)
        };
        let begun = (1..100).find(|&tick| is_begun(&after(simulation, tick))).unwrap();
        let is_near =
            |tick: &u64| distance(&after(simulation, *tick).hypotheses, best, but) <= 1e-6;
        let near = (begun..200).find(is_near).expect("they come near");
        (begun, near)
    };
    let (begun, near) = ticks(&calm, &all, None);
    let (late_begun, late_near) = ticks(&late, &given, Some(slow));
    let said = after(&late, late_near).hypotheses;
    assert!(distance(&said, &given, None) <= 1e-6, "the slow one has said one word");
    assert!(distance(&said, &all, Some(slow)) > 1e-4, "which holds the others back");
    let (usual, now) = ((near - begun) as f64, (late_near - late_begun) as f64);
    assert!(now <= 1.2 * usual, "{now} ticks beside a slow one, {usual} without");
    let end = after(&late, 30 * SLOW.slowness).hypotheses;
    assert!(distance(&end, &all, None) <= 1e-6, "thirty of its words bring all to the end");
}

#[test]
fn in_synchronous_rounds_the_slow_one_and_nobody_else_is_named() {
    let network = complete(NODES).unwrap();
    let views = Shape::default().views(&network, 2, 1);
    let (method, layout) = (FedRelax::default(), Layout::apart(&network).unwrap());
    let stop = Stop { tolerance: -1.0, rounds: 10 };
    let settings = ProtocolSettings {
        mode: RoundMode::Synchronous,
        patience_ticks: 5,
        check_every: 0,
        stop,
        ..ProtocolSettings::default()
    };
    let calm = Simulation::new(&method, &views, &layout).with_settings(settings);
    assert!(calm.run(1).unwrap().named.is_empty());
    let late = Simulation { faults: &SLOW, ..calm };
    let (seed, slow) = one_slow(&late);
    let outcome = late.run(seed).unwrap();
    assert_eq!(outcome.violations, []);
    assert_eq!(outcome.named.into_iter().collect::<Vec<_>>(), [slow]);
}
