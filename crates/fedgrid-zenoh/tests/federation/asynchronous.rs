//! Asynchronous rounds over Zenoh end where one process does.

use std::ops::ControlFlow;

use std::time::Duration;

use fedgrid::{
    method::{Durable, Method},
    observe::Stop,
    runtime::{InProcess, protocol::RoundMode},
};
use fedgrid_zenoh::manifest::LinkProtocol;

use crate::{
    here::{Bits, Here},
    made::{How, Problem, Visitor},
    scene::{Scene, Spec},
};

/// What nodes predict at the minimum.
struct Minimum<'a>(&'a Problem);

impl Visitor for Minimum<'_> {
    type Output = Vec<Vec<f64>>;

    fn visit<M: Method<Participant: Durable>>(self, method: &M) -> Self::Output {
        let nodes: Vec<usize> = (0..self.0.nodes).collect();
        let stop = Stop { tolerance: 1e-14, rounds: 50_000 };
        let runtime = InProcess { stop, ..InProcess::default() };
        let run = runtime.run(method, self.0.views(&nodes)).unwrap();
        let public = self.0.public();
        let said = run.hypotheses.iter().flatten().map(|one| one.predict(&public));
        said.map(|labels| labels.as_slice().to_vec()).collect()
    }
}

#[test]
fn total_variation_whose_processes_do_not_wait_ends_at_the_minimum() {
    ends_at_the_minimum(2, 800, Duration::from_millis(5));
}

#[test]
fn so_it_does_where_a_round_takes_longer_than_a_tick() {
    ends_at_the_minimum(4, 1500, Duration::from_millis(2));
}

fn ends_at_the_minimum(processes: usize, rounds: usize, tick: Duration) {
    let problem = Problem { how: How::PrimalDual, nodes: 8, points: 10, seed: 5 };
    let link = LinkProtocol::Tcp;
    let scene =
        Scene::new(Spec { problem, processes, link, rounds, checkpoint_every: 10, trace: false });
    let part = |place: usize| {
        let mode = RoundMode::Asynchronous { staleness: None };
        let mut tell = |_: &_| ControlFlow::Continue(());
        Here { mode, tick, ..Here::new(&scene, place, &mut tell) }.run().unwrap().0
    };
    let found: Bits = std::thread::scope(|scope| {
        let parts: Vec<_> = (0..processes).map(|place| scope.spawn(move || part(place))).collect();
        parts.into_iter().flat_map(|part| part.join().unwrap()).collect()
    });
    let minimum = problem.visit(Minimum(&problem));
    assert_eq!(found.len(), minimum.len());
    for (node, bits) in found {
        for (bits, best) in bits.into_iter().zip(&minimum[node]) {
            let value = f64::from_bits(bits);
            assert!((value - best).abs() <= 1e-9 * best.abs().max(1.0), "{node}: {value} {best}");
        }
    }
}
