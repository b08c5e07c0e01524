//! What a frame costs on the wire: all bytes of a plain TCP link are counted, Zenoh's included.

use std::{
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use fedgrid_zenoh::{
    audit::{self, AuditLog},
    frame::{Frame, FrameKind, seal},
    identity::now,
    manifest::LinkProtocol,
    site_bundle::SiteBundle,
    transport::{Answers, SessionRole, SessionSettings, Transport},
};

use crate::{
    canaries::tap,
    impersonation::Mute,
    made::{How, Problem},
    scene::{Scene, Spec, free_address, say},
};

const FRAMES: usize = 200;

fn transport(scene: &Scene, place: u32, listen: Option<&str>) -> (SiteBundle, Transport) {
    let bundle = SiteBundle::read(&scene.bundle(place as usize), now()).unwrap();
    let settings = SessionSettings {
        manifest: &bundle.manifest,
        role: SessionRole::Process(place),
        folder: &bundle.folder,
        listen,
        scouting: false,
        stage: 0,
    };
    let answers: Arc<dyn Answers> = Arc::new(Mute);
    let transport = Transport::new(&settings, place, &answers).unwrap();
    (bundle, transport)
}

/// The bytes on the wire per byte of messages, for frames of so many messages of 100 predictions.
fn ratio(messages: usize) -> f64 {
    let problem = Problem { how: How::FedRelax, nodes: 2, points: 100, seed: 1 };
    let spec = Spec {
        problem,
        processes: 2,
        link: LinkProtocol::Tcp,
        rounds: 1,
        checkpoint_every: 1,
        trace: false,
    };
    let scene = Scene::new(spec);
    let (inside, heard) = (free_address(), Arc::new(Mutex::new(Vec::new())));
    let address = scene.manifest.processes[0].address.clone().unwrap();
    tap(&address, &inside, &heard);
    let (_, receiver) = transport(&scene, 0, Some(&inside));
    let (bundle, sender) = transport(&scene, 1, None);
    let frame = |round: usize| Frame {
        kind: FrameKind::State,
        from: 1,
        to: 0,
        epoch: 1,
        nonce: 1,
        known_epoch: 1,
        durable_round: 0,
        round: round as u64,
        // The protocol writes the place of the edge before each message.
        payload: vec![7; messages * (800 + 4)],
    };
    let send = |round: usize, patience: Duration| {
        let bytes = seal(&frame(round), &bundle.manifest.run.0, 1, &bundle.key).unwrap();
        sender.send(0, bytes);
        receiver.inbox().next(patience)
    };
    let end = Instant::now() + Duration::from_mins(1);
    while send(0, Duration::from_millis(500)).is_none() {
        assert!(Instant::now() < end, "the link does not come up");
    }
    std::thread::sleep(Duration::from_millis(500));
    while receiver.inbox().next(Duration::ZERO).is_some() {}
    let before = heard.lock().unwrap().len();
    let begun = Instant::now();
    for round in 0..FRAMES {
        assert!(send(round, Duration::from_mins(1)).is_some(), "frame {round} is lost");
    }
    std::thread::sleep(Duration::from_millis(200));
    // Each side says every half second that it is there, in a few bytes.
    let alive = 2.0 * 8.0 * (2.0 * begun.elapsed().as_secs_f64() + 2.0);
    let carried = (heard.lock().unwrap().len() - before) as f64 - alive;
    sender.close();
    receiver.close();
    carried / (FRAMES * messages * 800) as f64
}

#[test]
fn a_frame_of_a_hundred_predictions_costs_at_most_a_third_more_than_they_do() {
    let single = ratio(1);
    assert!((1.0..=1.35).contains(&single), "{single}");
    // The messages of two processes that share two edges, and eight.
    let (two, eight) = (ratio(2), ratio(8));
    assert!((1.0..=1.15).contains(&two), "{two}");
    assert!((1.0..two).contains(&eight), "{eight}");
}

/// What writing down a frame costs beside sending it, as it is done and if every record were made safe by itself.
#[test]
#[ignore = "measures; says times and asserts sizes only"]
fn what_a_record_of_a_frame_costs() {
    const RECORDS: u64 = 5_000;
    let problem = Problem { how: How::FedRelax, nodes: 2, points: 100, seed: 1 };
    let spec = Spec {
        problem,
        processes: 2,
        link: LinkProtocol::Tcp,
        rounds: 1,
        checkpoint_every: 1,
        trace: false,
    };
    let scene = Scene::new(spec);
    let bundle = SiteBundle::read(&scene.bundle(0), now()).unwrap();
    let frame = |round| Frame {
        kind: FrameKind::State,
        from: 0,
        to: 1,
        epoch: 1,
        nonce: 1,
        known_epoch: 1,
        durable_round: 0,
        round,
        payload: vec![7; 804],
    };
    let begun = Instant::now();
    for round in 0..RECORDS {
        seal(&frame(round), &bundle.manifest.run.0, 1, &bundle.key).unwrap();
    }
    let sealing = begun.elapsed() / u32::try_from(RECORDS).unwrap();
    for (name, every) in [("never", RECORDS + 1), ("every 10th", 10), ("each", 1)] {
        let path = scene.path(name);
        let mut log = AuditLog::open(&path, &bundle.manifest, "fedrelax").unwrap();
        let begun = Instant::now();
        for round in 0..RECORDS {
            log.record(&frame(round), 984, "p1", now()).unwrap();
            if round % every == every - 1 {
                log.sync().unwrap();
            }
        }
        let each = begun.elapsed() / u32::try_from(RECORDS).unwrap();
        drop(log);
        let begun = Instant::now();
        let mut seen = 0;
        audit::read(&path, |_| seen += 1).unwrap();
        let checking = begun.elapsed() / u32::try_from(RECORDS).unwrap();
        say(&format!(
            "a record {each:?} ({name} made safe), checked in {checking:?}; sealing {sealing:?}"
        ));
        assert_eq!((seen, std::fs::metadata(&path).unwrap().len()), (RECORDS, 224 * RECORDS));
    }
}
