//! A running agent whose disk fills up: it ends with an error that says so, and goes on from what it
//! kept as soon as there is space.

use std::{
    fs::{self, File},
    io::Write,
    ops::ControlFlow,
    path::Path,
    time::Duration,
};

use fedgrid_zenoh::{Error, manifest::LinkProtocol};

use crate::{
    damage::on_small_disk,
    here::{Bits, Here},
    made::{How, Problem},
    scene::{Scene, Spec, say},
};

#[test]
fn an_agent_whose_disk_fills_up_says_so_and_goes_on_when_there_is_space() {
    let folder = tempfile::tempdir().unwrap();
    if !on_small_disk("full_disk::trains_on_a_small_disk", folder.path()) {
        say("skipped: no small disk can be mounted here");
    }
}

/// Takes all the space that is left.
fn fill(disk: &Path) {
    let mut ballast = File::create(disk.join("ballast")).unwrap();
    while ballast.write_all(&[0; 1 << 12]).is_ok() {}
}

/// What is done on the small disk; nothing where it is run as a plain test.
#[test]
fn trains_on_a_small_disk() {
    let Ok(disk) = std::env::var("FEDGRID_DISK") else { return };
    let disk = Path::new(&disk);
    let problem = Problem { how: How::FedRelax, nodes: 4, points: 10, seed: 7 };
    let (link, rounds) = (LinkProtocol::Tcp, 600);
    let scene =
        Scene::new(Spec { problem, processes: 2, link, rounds, checkpoint_every: 1, trace: false });
    let other = scene.spawn(1);
    let mut reached = 0;
    for _ in 0..2 {
        let before = reached;
        let error = run(&scene, disk, &mut |round| {
            reached = round;
            round > before
        });
        let error = error.expect_err("the disk was full before the end");
        assert!(matches!(error, Error::NoSpace { .. }), "{error}");
        assert!(reached > before && reached < rounds as u64, "round {reached} after {before}");
        fs::remove_file(disk.join("ballast")).unwrap();
    }
    let bits = run(&scene, disk, &mut |_| false).unwrap();
    scene.wait_all(vec![other], Duration::from_mins(1));
    fs::write(scene.path("p0.out"), serde_json::to_string(&bits).unwrap()).unwrap();
    assert_eq!(scene.predictions(), scene.expected());
}

/// Runs the first process, whose state is on the disk; that is filled once it should be.
fn run(scene: &Scene, disk: &Path, is_time: &mut dyn FnMut(u64) -> bool) -> Result<Bits, Error> {
    let mut is_full = false;
    let mut tell = |status: &fedgrid_zenoh::agent::Status| {
        if !is_full && is_time(status.round) {
            is_full = true;
            fill(disk);
        }
        ControlFlow::Continue(())
    };
    let here = Here { state: disk.join("state"), ..Here::new(scene, 0, &mut tell) };
    here.run().map(|(bits, _)| bits)
}
