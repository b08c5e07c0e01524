//! What messages of the primal-dual method keep, and what happens when they are lost.

use super::{ALL, assert_close, linear, method, runtime, weights};
use crate::setting::Setting;
use fedgrid::{
    data::Task,
    method::{Method, Participant, PrimalDual, primal_dual::EdgeMessage},
    network::{NodeId, View},
    penalty::Penalty,
    random::{Purpose, Stream},
};

#[test]
fn the_bits_of_duals_do_not_depend_on_the_number_of_threads() {
    let setting = Setting { empty: vec![1], ..Setting::new(Task::Regression) };
    for penalty in ALL {
        let run = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let work = || runtime(0.0, 200).run(&method(0.3, penalty), setting.views()).unwrap();
            let run = pool.install(work);
            (weights(&run), run.history)
        };
        let one = run(1);
        assert_eq!(one, run(2));
        assert_eq!(one, run(8));
    }
}

#[test]
fn every_round_carries_one_message_along_each_edge() {
    let setting = Setting::new(Task::Regression);
    let run = runtime(0.0, 6).run(&method(0.3, Penalty::Norm), setting.views()).unwrap();
    let message = 8 * Setting::size() + 17;
    for round in &run.history {
        assert_eq!(round.bytes, setting.network.edges().len() * message);
    }
    assert!(run.traffic.iter().all(|traffic| traffic.bytes == 3 * message));
}

/// Rounds in which messages are lost, told again late, or arrive twice. What each node says is kept
/// whenever it changes.
fn faulty(method: &PrimalDual, views: Vec<View>, rounds: usize, loss: f64) -> Vec<Vec<Vec<f64>>> {
    let mut nodes: Vec<_> = views.into_iter().map(|view| method.join(view).unwrap()).collect();
    let mut said: Vec<Vec<Vec<f64>>> = vec![Vec::new(); nodes.len()];
    let mut late: Vec<Vec<(NodeId, EdgeMessage)>> = vec![Vec::new(); nodes.len()];
    let mut stream = Stream::new(3, 0, 0, Purpose::Shuffle);
    for _ in 0..rounds {
        let mut inboxes = late;
        late = vec![Vec::new(); nodes.len()];
        for (from, node) in nodes.iter_mut().enumerate() {
            for (to, message) in node.send() {
                let fate = stream.uniform();
                if fate >= loss {
                    inboxes[to].push((from, message.clone()));
                }
                if loss > 0.0 && (fate < 0.3 * loss || fate > 0.9) {
                    late[to].push((from, message));
                }
            }
        }
        for ((node, inbox), said) in nodes.iter_mut().zip(&inboxes).zip(&mut said) {
            node.receive(inbox).unwrap();
            let now = linear(node.hypothesis().unwrap().as_ref());
            if said.last() != Some(&now) {
                said.push(now);
            }
        }
    }
    said
}

#[test]
fn lost_late_and_repeated_messages_cost_time_and_change_no_bit() {
    let setting = Setting::new(Task::Regression);
    for penalty in ALL {
        let method = method(0.3, penalty);
        let whole = faulty(&method, setting.views(), 400, 0.0);
        for loss in [0.1, 0.5] {
            for (whole, torn) in whole.iter().zip(faulty(&method, setting.views(), 400, loss)) {
                assert!(torn.len() > 20 && torn.len() < whole.len(), "{}", torn.len());
                assert_eq!(torn[..], whole[..torn.len()]);
            }
        }
    }
}

#[test]
fn nodes_that_go_on_without_what_is_lost_end_at_the_same_place() {
    let setting = Setting::new(Task::Regression);
    for penalty in ALL {
        let patient = method(0.3, penalty);
        let run = runtime(1e-12, 20_000).run(&patient, setting.views()).unwrap();
        for patience in [0, 3] {
            let hasty = PrimalDual { patience: Some(patience), ..patient.clone() };
            let said = faulty(&hasty, setting.views(), 6000, 0.4);
            let last: Vec<Vec<f64>> =
                said.iter().map(|said| said.last().unwrap().clone()).collect();
            assert_close(&last, &weights(&run), 1e-6);
        }
    }
}
