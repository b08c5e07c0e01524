//! A certificate that ends while a federation is at work ends the work, with a sentence; what was learnt
//! is kept.

use std::ops::ControlFlow;

use fedgrid_zenoh::{
    Error, agent::Status, identity::now, manifest::LinkProtocol, site_bundle::SiteBundle,
};

use crate::{
    here::Here,
    made::{How, Problem},
    scene::{Scene, Spec},
};

#[test]
fn a_certificate_that_ends_at_work_is_named_and_the_state_is_kept() {
    let problem = Problem { how: How::FedRelax, nodes: 4, points: 5, seed: 1 };
    let (rounds, link) = (1_000_000_000, LinkProtocol::Quic);
    let spec = Spec { problem, processes: 2, link, rounds, checkpoint_every: 1, trace: false };
    let scene = Scene::lasting(spec, 8);
    let scene = &scene;
    let part = move |place: usize| {
        let (mut last, late) = (0, now() + 60);
        let mut tell = |status: &Status| {
            last = status.round;
            if now() > late { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let here = Here::new(scene, place, &mut tell);
        let state = here.state.clone();
        let Err(Error::Certificate { found }) = here.run() else { panic!("it has not ended so") };
        assert!(last > 5 && found.contains("expired"), "after round {last}: {found}");
        let kept = std::fs::read_dir(state).unwrap().flatten().map(|entry| entry.path());
        let kept = kept.filter(|path| path.join("state-a").exists()).count();
        assert_eq!(kept, 1, "the state of the run is there");
        assert!(SiteBundle::read(&scene.bundle(place), now()).is_err(), "it does not begin again");
    };
    std::thread::scope(|scope| [0, 1].map(|place| scope.spawn(move || part(place))).map(drop));
}
