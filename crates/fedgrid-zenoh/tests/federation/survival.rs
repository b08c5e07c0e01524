//! Killed processes come back, and nobody can tell from the states.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::{Duration, Instant},
};

use fedgrid::random::{Purpose, Stream};
use fedgrid_zenoh::{audit, frame::FrameKind, manifest::LinkProtocol};

use crate::{
    made::{How, Problem},
    scene::{Scene, Spec},
};

const ANSWER_TIMEOUT: Duration = Duration::from_mins(5);

fn scene(how: How, link: LinkProtocol, rounds: usize, checkpoint_every: u64, seed: u64) -> Scene {
    let problem = Problem { how, nodes: 32, points: 10, seed };
    Scene::new(Spec { problem, processes: 8, link, rounds, checkpoint_every, trace: true })
}

/// Waits until some process has done a round; false if all have ended.
fn wait_for(scene: &Scene, round: u64) {
    let end = Instant::now() + ANSWER_TIMEOUT;
    while (0..scene.spec.processes).all(|place| scene.round(place) < round) {
        assert!(Instant::now() < end, "round {round} is not reached: {}", scene.log(0));
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// A random process is killed and started again every five rounds; the states are those of a run
/// that was not disturbed.
fn killed_at_random(how: How, link: LinkProtocol, checkpoint_every: u64, rounds: usize, seed: u64) {
    let scene = scene(how, link, rounds, checkpoint_every, seed);
    let mut stream = Stream::new(seed, 0, 0, Purpose::Shuffle);
    let mut parts = scene.spawn_all();
    let mut kills = 0;
    for round in (5..rounds as u64).step_by(5) {
        wait_for(&scene, round);
        let place = stream.index(parts.len());
        parts[place].kill();
        parts[place] = scene.spawn(place);
        kills += 1;
    }
    scene.wait_all(parts, ANSWER_TIMEOUT);
    assert_eq!(kills, rounds.div_ceil(5) - 1);
    let (states, expected) = (scene.states(), scene.expected_states());
    assert!(states.iter().all(|(key, hash)| expected[key] == *hash), "a state differs");
    assert_eq!(states.len(), expected.len(), "every round of every node is there");
    assert_eq!(scene.predictions(), scene.expected());
    assert_audited(&scene);
}

/// What each process has written down of what it sent, whatever was killed: an unbroken chain, with its messages of
/// every round to every neighbour.
fn assert_audited(scene: &Scene) {
    for place in 0..scene.spec.processes {
        let mut rounds: BTreeMap<String, BTreeMap<u64, [u8; 32]>> = BTreeMap::new();
        let (head, torn) = audit::read(&scene.path(&format!("p{place}.audit")), |entry| {
            if entry.kind == Some(FrameKind::State) {
                let known = rounds.entry(entry.receiver).or_default();
                let before = known.insert(entry.round, entry.payload);
                // A round that is done again after a kill sends the same.
                assert!(
                    before.is_none_or(|before| before == entry.payload),
                    "round {}",
                    entry.round
                );
            }
        })
        .unwrap();
        assert!(torn == 0 && head.records > 0, "{torn} bytes after {} records", head.records);
        let process = u32::try_from(place).unwrap();
        let others = scene.manifest.neighbours_of(process);
        let names = others.iter().map(|&other| &scene.manifest.processes[other as usize].name);
        assert!(names.eq(rounds.keys().collect::<BTreeSet<_>>()), "{:?}", rounds.keys());
        for (receiver, sent) in rounds {
            let all: Vec<u64> = sent.into_keys().collect();
            let first = all[0];
            let expected: Vec<u64> = (first..first + all.len() as u64).collect();
            assert!(first <= 1 && all == expected, "p{place} to {receiver}: {all:?}");
            assert!(all.len() >= scene.spec.rounds, "p{place} to {receiver}: {}", all.len());
        }
    }
}

#[test]
fn a_random_process_killed_every_five_rounds_changes_no_state() {
    killed_at_random(How::FedRelax, LinkProtocol::Tcp, 1, 200, 1);
}

#[test]
fn neither_with_a_checkpoint_every_ten_rounds() {
    killed_at_random(How::PrimalDual, LinkProtocol::Tcp, 10, 200, 2);
}

#[test]
fn neither_where_answers_are_counted() {
    killed_at_random(How::PersFl, LinkProtocol::Tcp, 1, 200, 3);
}

/// Over datagrams nothing tells that a listener fell but its silence, which is noticed after two
/// seconds: fewer kills here.
#[test]
fn neither_over_the_default_link() {
    killed_at_random(How::FedRelax, LinkProtocol::Quic, 10, 30, 5);
}

/// Over TLS a process must outlive its neighbours, too: one that aborts is not started again here, and fails the test.
#[test]
fn neither_over_tls() {
    killed_at_random(How::FedRelax, LinkProtocol::Tls, 10, 60, 6);
}

#[test]
#[ignore = "takes minutes; part of make soak"]
fn two_hundred_kills_over_tls_abort_nobody() {
    for seed in 40..45 {
        killed_at_random(How::FedRelax, LinkProtocol::Tls, 10, 205, seed);
    }
}

#[test]
#[ignore = "takes half an hour; part of make soak"]
fn twenty_five_seeds_of_kills_change_no_state() {
    let kinds = [How::FedRelax, How::PrimalDual, How::PersFl, How::Trees];
    for (seed, how) in (10..35).zip(kinds.into_iter().cycle()) {
        killed_at_random(how, LinkProtocol::Tcp, if seed % 2 == 0 { 1 } else { 10 }, 200, seed);
    }
}

/// All processes are killed at once, again and again.
fn all_killed(how: How, checkpoint_every: u64, times: u64) {
    let rounds = 5 * (times + 1);
    let scene =
        scene(how, LinkProtocol::Tcp, usize::try_from(rounds).unwrap(), checkpoint_every, 4);
    let mut parts = scene.spawn_all();
    for time in 1..=times {
        wait_for(&scene, 5 * time);
        parts.clear();
        parts = scene.spawn_all();
    }
    scene.wait_all(parts, ANSWER_TIMEOUT);
    let (states, expected) = (scene.states(), scene.expected_states());
    assert!(states.iter().all(|(key, hash)| expected[key] == *hash), "a state differs");
    assert_eq!(scene.predictions(), scene.expected());
}

#[test]
fn all_processes_killed_at_once_change_no_state() {
    all_killed(How::FedRelax, 1, 5);
}

#[test]
#[ignore = "takes minutes; part of make soak"]
fn all_processes_killed_at_once_twenty_times_change_no_state() {
    all_killed(How::FedRelax, 1, 20);
    all_killed(How::PrimalDual, 10, 20);
}
