//! A neighbour that sends bad frames to a running agent, thousands of them, while it trains: it trains
//! on, and ends with the same bits.

use std::{
    fs,
    ops::ControlFlow,
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    time::{Duration, Instant},
};

use fedgrid::random::{Purpose, Stream};
use fedgrid_zenoh::{
    agent::Status,
    frame::{Frame, FrameKind, seal},
    identity::{SigningKey, now},
    manifest::LinkProtocol,
    site_bundle::SiteBundle,
    transport::{self, KeyExpressions, SessionRole, SessionSettings},
};
use zenoh::{Wait, qos::CongestionControl};

use crate::{
    here::{Bits, Here},
    made::{How, Problem},
    scene::{Part, Scene, Spec, free_address},
};

/// So many bad frames must have reached the agent.
const BAD: u64 = 5000;
const VICTIM: u32 = 0;
const INSIDER: u32 = 2;

/// What is known of the victim from outside of its loop.
#[derive(Default)]
struct NeighbourStatus {
    refused: AtomicU64,
    has_met: AtomicBool,
    has_ended: AtomicBool,
}

/// Runs the victim here.
fn victim(scene: &Scene, seen: &NeighbourStatus) -> Bits {
    let end = Instant::now() + Duration::from_mins(2);
    let mut tell = |status: &Status| {
        seen.refused.store(status.refused, Ordering::Relaxed);
        seen.has_met.store(status.received_bytes > 0, Ordering::Relaxed);
        if Instant::now() < end { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    };
    let ended = Here::new(scene, VICTIM as usize, &mut tell).run();
    seen.has_ended.store(true, Ordering::Relaxed);
    ended.unwrap().0
}

/// A frame that is wrong in one of many ways, some of them under the insider's own signature.
fn bad(bundle: &SiteBundle, stream: &mut Stream) -> Vec<u8> {
    let (run, shape) = (bundle.manifest.run.0, bundle.manifest.fingerprint());
    let byte = |stream: &mut Stream| u8::try_from(stream.index(256)).unwrap();
    let noise =
        |stream: &mut Stream, size: usize| (0..size).map(|_| byte(stream)).collect::<Vec<u8>>();
    // Of a start that the receiver has met, but of a copy: whatever else it says, it is refused.
    let round = stream.index(50) as u64;
    let mut frame = Frame {
        kind: FrameKind::State,
        from: INSIDER as usize,
        to: VICTIM as usize,
        epoch: 1,
        nonce: 1,
        known_epoch: 1,
        durable_round: 0,
        round,
        payload: noise(stream, 92),
    };
    let sealed = |frame: &Frame| seal(frame, &run, shape, &bundle.key).unwrap();
    let whole = sealed(&frame);
    let place = stream.index(whole.len());
    match stream.index(14) {
        0 => {
            let size = stream.index(400);
            return noise(stream, size);
        }
        1 => return whole[..place].to_vec(),
        2 => {
            let mut flipped = whole;
            flipped[place] ^= 1 << stream.index(8);
            return flipped;
        }
        3 => return [whole.clone(), whole[..place].to_vec()].concat(),
        4 => {
            let mut lying = whole;
            lying[80..84].copy_from_slice(&noise(stream, 4));
            return lying;
        }
        5 => return seal(&frame, &run, shape, &SigningKey::from_bytes(&[9; 32])).unwrap(),
        6 => return seal(&frame, &[7; 16], shape, &bundle.key).unwrap(),
        7 => return seal(&frame, &run, shape ^ 1, &bundle.key).unwrap(),
        8 => frame.from = stream.index(5),
        9 => frame.to = 1 + stream.index(5),
        10 => (frame.epoch, frame.kind) = (0, FrameKind::Hello),
        11 => frame.round = u64::MAX - round,
        12 => frame.payload = vec![0; 2000 + stream.index(100_000)],
        _ => frame.payload = f64::NAN.to_le_bytes().repeat(1 + stream.index(12)),
    }
    sealed(&frame)
}

/// Sends bad frames in the insider's name until the victim has ended; the third process of the
/// federation, without which nobody gets beyond the first rounds, comes when most have arrived.
fn flood(scene: &Scene, seen: &NeighbourStatus) -> Part {
    let bundle = SiteBundle::read(&scene.bundle(INSIDER as usize), now()).unwrap();
    let listen = free_address();
    let settings = SessionSettings {
        manifest: &bundle.manifest,
        role: SessionRole::Process(INSIDER),
        folder: &bundle.folder,
        listen: Some(&listen),
        scouting: false,
        stage: 0,
    };
    let session = transport::open(&settings).unwrap();
    let key = KeyExpressions::new(&bundle.manifest).frame(VICTIM, INSIDER);
    let mut stream = Stream::new(11, 0, 0, Purpose::Shuffle);
    // Not before the honest one was met: who comes first with a key is its owner.
    while !seen.has_met.load(Ordering::Relaxed) && !seen.has_ended.load(Ordering::Relaxed) {
        std::thread::sleep(Duration::from_millis(20));
    }
    let mut late = None;
    while !seen.has_ended.load(Ordering::Relaxed) {
        for _ in 0..16 {
            let frame = bad(&bundle, &mut stream);
            let put = session.put(&key, frame).congestion_control(CongestionControl::Block);
            let _ = put.wait();
        }
        // Few at a time: a queue drops its oldest, and the good ones of the insider with them.
        std::thread::sleep(Duration::from_millis(2));
        if late.is_none() && seen.refused.load(Ordering::Relaxed) >= BAD {
            late = Some(scene.spawn(1));
        }
    }
    transport::close(session);
    late.expect("bad frames have come through")
}

#[test]
fn thousands_of_bad_frames_of_an_insider_change_no_bit_of_a_running_federation() {
    let problem = Problem { how: How::FedRelax, nodes: 6, points: 10, seed: 7 };
    let link = LinkProtocol::Quic;
    let scene = Scene::new(Spec {
        problem,
        processes: 3,
        link,
        rounds: 200,
        checkpoint_every: 10,
        trace: false,
    });
    let seen = NeighbourStatus::default();
    // The site of the insider takes part honestly; another with its site bundle does not.
    let honest = scene.spawn(INSIDER as usize);
    let (bits, late) = std::thread::scope(|scope| {
        let insider = scope.spawn(|| flood(&scene, &seen));
        (victim(&scene, &seen), insider.join().unwrap())
    });
    scene.wait_all(vec![honest, late], Duration::from_mins(1));
    fs::write(scene.path("p0.out"), serde_json::to_string(&bits).unwrap()).unwrap();
    let refused = seen.refused.load(Ordering::Relaxed);
    assert!(refused > BAD, "{refused}");
    assert_eq!(scene.predictions(), scene.expected());
}
