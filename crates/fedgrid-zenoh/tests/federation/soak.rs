//! A long time with neighbours that come and go: an agent keeps its size.

use std::{
    fs,
    time::{Duration, Instant},
};

use fedgrid_zenoh::manifest::LinkProtocol;

use crate::{
    made::{How, Problem},
    scene::{Scene, Spec, say},
};

/// Resident memory in kB, open files and threads of a process.
fn size(pid: u32) -> [usize; 3] {
    let count = |what: &str| fs::read_dir(format!("/proc/{pid}/{what}")).unwrap().count();
    let text = fs::read_to_string(format!("/proc/{pid}/statm")).unwrap();
    let pages: usize = text.split(' ').nth(1).unwrap().parse().unwrap();
    [4 * pages, count("fd"), count("task")]
}

fn median(mut values: Vec<usize>) -> usize {
    values.sort_unstable();
    values[values.len() / 2]
}

/// The medians of some samples.
fn middle(samples: &[[usize; 3]]) -> [usize; 3] {
    std::array::from_fn(|place| median(samples.iter().map(|sample| sample[place]).collect()))
}

/// The last round in a process's log.
fn last_round(scene: &Scene, place: usize) -> u64 {
    let log = scene.log(place);
    let word = |line: &str| line.split(" round ").nth(1)?.split(',').next()?.parse().ok();
    log.lines().rev().find_map(word).unwrap_or(0)
}

#[test]
#[ignore = "takes half an hour, or FEDGRID_SOAK_MINUTES; part of make soak"]
fn agents_keep_their_size_while_a_neighbour_comes_and_goes() {
    let minutes = std::env::var("FEDGRID_SOAK_MINUTES").ok();
    let minutes: u64 = minutes.and_then(|text| text.parse().ok()).unwrap_or(30);
    let problem = Problem { how: How::FedRelax, nodes: 8, points: 20, seed: 3 };
    let (rounds, checkpoint_every) = (1_000_000_000, 10);
    let spec = Spec {
        problem,
        processes: 4,
        link: LinkProtocol::Quic,
        rounds,
        checkpoint_every,
        trace: false,
    };
    let scene = Scene::new(spec);
    let mut parts = scene.spawn_all();
    let end = Instant::now() + Duration::from_mins(minutes);
    let (mut samples, mut kills): (Vec<Vec<[usize; 3]>>, usize) = (vec![Vec::new(); 3], 0);
    while Instant::now() < end {
        std::thread::sleep(Duration::from_secs(2));
        for (place, samples) in samples.iter_mut().enumerate() {
            let ended = parts[place].child.try_wait().unwrap();
            assert!(ended.is_none(), "p{place}: {ended:?}\n{}", scene.log(place));
            samples.push(size(parts[place].child.id()));
        }
        parts[3].kill();
        parts[3] = scene.spawn(3);
        kills += 1;
    }
    for (place, samples) in samples.iter().enumerate() {
        let tenth = samples.len() / 10;
        let before = middle(&samples[tenth..2 * tenth]);
        let after = middle(&samples[samples.len() - tenth..]);
        say(&format!(
            "p{place}: kB, files and threads {before:?}, after {kills} reconnects {after:?}"
        ));
        assert!(after[0] as f64 <= 1.05 * before[0] as f64, "p{place}: {before:?} {after:?}");
        assert!(after[1] <= before[1] + 2 && after[2] <= before[2] + 2, "p{place}");
        assert!(last_round(&scene, place) > 10 * minutes, "rounds go on:\n{}", scene.log(place));
    }
}
