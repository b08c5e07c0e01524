//! Who is not who they say is not heard: twelve processes on real links with certificates, and more
//! than forty moves against each.

use std::{
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use fedgrid_zenoh::{
    frame::{Frame, FrameKind, FrameVerifier, seal},
    identity::{Authority, Certified, SigningKey, now},
    manifest::LinkProtocol,
    provision::Project,
    site_bundle::SiteBundle,
    transport::{self, Answers, KeyExpressions, SessionRole, SessionSettings, Transport},
};
use zenoh::{Session, Wait};

use crate::{
    made::{How, Problem},
    scene::{Scene, Spec},
};

/// Twelve in a ring, and one that is everyone's neighbour and not there.
const VICTIMS: usize = 12;
const ABSENT: u32 = 12;
const EPOCH: u64 = 3;
const LAST: u64 = 100;

pub(crate) struct Mute;

impl Answers for Mute {
    fn frames(&self, _: u32, _: u64) -> Vec<Vec<u8>> {
        Vec::new()
    }

    fn status(&self, _: Option<&[u8]>) -> String {
        String::new()
    }

    fn manifest(&self) -> String {
        String::new()
    }

    fn take_manifest(&self, _: &[u8]) {}
}

/// A process that listens.
struct Victim {
    place: u32,
    bundle: SiteBundle,
    verifier: FrameVerifier,
    transport: Transport,
}

impl Victim {
    fn new(scene: &Scene, place: u32) -> Self {
        let bundle = SiteBundle::read(&scene.bundle(place as usize), now()).unwrap();
        let others = bundle.manifest.neighbours_of(place);
        let verifier = bundle.verifier(others.into_iter().map(|other| (other, EPOCH, 1000)), LAST);
        let settings = SessionSettings {
            manifest: &bundle.manifest,
            role: SessionRole::Process(place),
            folder: &bundle.folder,
            listen: None,
            scouting: false,
            stage: 0,
        };
        let answers: Arc<dyn Answers> = Arc::new(Mute);
        let transport = Transport::new(&settings, place, &answers).unwrap();
        Self { place, bundle, verifier, transport }
    }

    /// How many frames came, and how many of them were accepted.
    fn heard(&self, wait: Duration) -> (usize, usize) {
        let (mut came, mut accepted) = (0, 0);
        while let Some((_, bytes)) = self.transport.inbox().next(wait) {
            came += 1;
            accepted += usize::from(self.verifier.verify(&bytes).is_ok());
        }
        (came, accepted)
    }

    fn next(&self) -> u32 {
        (self.place + 1) % u32::try_from(VICTIMS).unwrap()
    }
}

/// Twelve that listen, once each has heard a good frame of its neighbour: the control.
fn victims(scene: &Scene) -> Vec<Victim> {
    let victims: Vec<Victim> =
        (0..u32::try_from(VICTIMS).unwrap()).map(|place| Victim::new(scene, place)).collect();
    let end = Instant::now() + Duration::from_mins(1);
    for victim in &victims {
        let insider = &victims[victim.next() as usize];
        let (run, shape) = (victim.bundle.manifest.run.0, victim.bundle.manifest.fingerprint());
        let frame = good(insider.place, victim.place);
        let sealed = seal(&frame, &run, shape, &insider.bundle.key).unwrap();
        while victim.heard(Duration::from_millis(100)).1 == 0 {
            assert!(Instant::now() < end, "p{} hears no good frame", victim.place);
            insider.transport.send(victim.place, sealed.clone());
        }
    }
    std::thread::sleep(Duration::from_millis(300));
    for victim in &victims {
        victim.heard(Duration::ZERO);
    }
    victims
}

fn wheel(link: LinkProtocol) -> Scene {
    let problem = Problem { how: How::FedRelax, nodes: VICTIMS + 1, points: 4, seed: 1 };
    let spec = Spec {
        problem,
        processes: VICTIMS + 1,
        link,
        rounds: 5,
        checkpoint_every: 1,
        trace: false,
    };
    let hub = VICTIMS;
    let ring = (0..VICTIMS).map(|node| (node, (node + 1) % VICTIMS));
    let edges: Vec<_> = ring.chain((0..VICTIMS).map(|node| (node, hub))).collect();
    Scene::with_edges(spec, &edges)
}

/// A frame that its receiver would accept from this sender.
fn good(from: u32, to: u32) -> Frame {
    Frame {
        kind: FrameKind::State,
        from: from as usize,
        to: to as usize,
        epoch: EPOCH,
        nonce: 1,
        known_epoch: 1,
        durable_round: 0,
        round: 7,
        payload: vec![1; 64],
    }
}

/// What a neighbour with a valid certificate may try on its own link, in one frame each.
fn insider_frames(victim: &Victim, insider: &Victim) -> Vec<(&'static str, Vec<u8>)> {
    let (run, shape) = (insider.bundle.manifest.run.0, insider.bundle.manifest.fingerprint());
    let (from, to) = (insider.place, victim.place);
    let key = &insider.bundle.key;
    let stranger = SigningKey::from_bytes(&[9; 32]);
    let with = |change: &dyn Fn(&mut Frame)| {
        let mut frame = good(from, to);
        change(&mut frame);
        seal(&frame, &run, shape, key).unwrap()
    };
    let cut = |size: usize| with(&|_| ())[..size].to_vec();
    let flipped = |place: usize| {
        let mut bytes = with(&|_| ());
        bytes[place] ^= 1;
        bytes
    };
    let far = (u32::from(to > 5) * 12 + to + 4) % 12;
    let mut moves = vec![
        ("as the absent neighbour", with(&|frame| frame.from = ABSENT as usize)),
        ("as the receiver itself", with(&|frame| frame.from = to as usize)),
        ("as a process that is no neighbour", with(&|frame| frame.from = far as usize)),
        ("as a process that does not exist", with(&|frame| frame.from = 77)),
        ("for the absent neighbour", with(&|frame| frame.to = ABSENT as usize)),
        ("for nobody", with(&|frame| frame.to = 77)),
        ("of an earlier epoch", with(&|frame| frame.epoch = EPOCH - 1)),
        ("of epoch zero", with(&|frame| frame.epoch = 0)),
        ("of a round beyond the last", with(&|frame| frame.round = LAST + 1)),
        ("of the last round that numbers have", with(&|frame| frame.round = u64::MAX)),
        ("with more than its edges can say", with(&|frame| frame.payload = vec![0; 1001])),
        ("of another run", seal(&good(from, to), &[0; 16], shape, key).unwrap()),
        ("of another shape", seal(&good(from, to), &run, shape ^ 1, key).unwrap()),
        ("signed by a stranger", seal(&good(from, to), &run, shape, &stranger).unwrap()),
        ("signed by the receiver", seal(&good(from, to), &run, shape, &victim.bundle.key).unwrap()),
        ("without signature", cut(84 + 64 + 16)),
        ("cut in its header", cut(40)),
        ("empty", Vec::new()),
        ("with bytes behind", [with(&|_| ()), vec![0]].concat()),
        ("twice in one", [with(&|_| ()), with(&|_| ())].concat()),
    ];
    let places = [0, 4, 6, 7, 8, 24, 28, 33, 41, 48, 56, 64, 72, 80, 84, 147, 148, 163, 164, 227];
    moves.extend(places.map(|place| ("changed on the way", flipped(place))));
    moves
}

#[test]
fn neighbours_cannot_speak_for_others_nor_say_again_what_is_over() {
    [LinkProtocol::Quic, LinkProtocol::Tls].into_iter().for_each(insiders_against);
}

fn insiders_against(link: LinkProtocol) {
    let scene = wheel(link);
    let victims = victims(&scene);
    let (mut moves, mut accepted, mut came) = (0, 0, 0);
    for victim in &victims {
        let insider = &victims[victim.next() as usize];
        let frames = insider_frames(victim, insider);
        assert!(frames.len() >= 40);
        // Few at a time: a queue drops its oldest.
        for some in frames.chunks(8) {
            moves += some.len();
            for (_, bytes) in some {
                insider.transport.send(victim.place, bytes.clone());
            }
            // On a busy machine a frame may take its time; once all are there nobody waits.
            for _ in some {
                let Some((_, bytes)) = victim.transport.inbox().next(Duration::from_secs(5)) else {
                    break;
                };
                came += 1;
                accepted += usize::from(victim.verifier.verify(&bytes).is_ok());
            }
        }
    }
    assert!(moves >= 480, "{moves}");
    assert_eq!(came, moves, "every move has reached its victim");
    assert_eq!(accepted, 0, "of {moves} moves");
    for victim in victims {
        victim.transport.close();
    }
}

/// A session with other certificates than a member's, to all victims.
fn stranger(scene: &Scene, folder: &Path, link: Option<(&str, &Certified)>) -> Option<Session> {
    std::fs::create_dir_all(folder).unwrap();
    let authority = std::fs::read_to_string(scene.bundle(0).join("authority.pem")).unwrap();
    std::fs::write(folder.join("authority.pem"), authority).unwrap();
    if let Some((_, certified)) = link {
        std::fs::write(folder.join("link.pem"), &certified.certificate).unwrap();
        std::fs::write(folder.join("link.key"), &certified.key).unwrap();
    }
    let settings = SessionSettings {
        manifest: &scene.manifest,
        role: SessionRole::Operator,
        folder,
        listen: None,
        scouting: false,
        stage: 0,
    };
    let mut json = settings.json();
    json["access_control"] = serde_json::json!({ "enabled": false });
    if link.is_none() {
        json["transport"]["link"]["tls"] =
            serde_json::json!({ "root_ca_certificate": folder.join("authority.pem") });
    }
    // A session that cannot even be opened has failed, too.
    zenoh::open(zenoh::Config::from_json5(&json.to_string()).unwrap()).wait().ok()
}

#[test]
fn strangers_are_not_heard_whatever_their_certificate_says() {
    [LinkProtocol::Quic, LinkProtocol::Tls].into_iter().for_each(strangers_against);
}

fn strangers_against(link: LinkProtocol) {
    let scene = wheel(link);
    let victims = victims(&scene);
    let text = |name: &str| std::fs::read_to_string(scene.path("project").join(name)).unwrap();
    let ours =
        Authority::from_stored("test", text("authority.pem"), text("authority.key")).unwrap();
    let theirs = Authority::new("test", (0, now() + 1000)).unwrap();
    let (from, to) = (now() - 1000, now() + 1000);
    let made = |authority: &Authority, name: &str, validity| {
        authority.certify(name, &["127.0.0.1".into()], validity).unwrap()
    };
    let certificates = [
        ("of another authority, with a member's name", Some(made(&theirs, "p1", (from, to)))),
        ("of another authority, with the operator's", Some(made(&theirs, "operator", (from, to)))),
        ("expired", Some(made(&ours, "p1", (from, from + 10)))),
        ("not good yet", Some(made(&ours, "p1", (to, to + 1000)))),
        ("without a name", Some(made(&ours, "", (from, to)))),
        ("of a site that is no member", Some(made(&ours, "p77", (from, to)))),
        ("with a pattern for a name", Some(made(&ours, "*", (from, to)))),
        ("of the operator", Some(made(&ours, "operator", (from, to)))),
        ("of the router, where there is none", Some(made(&ours, "router", (from, to)))),
        ("none", None),
    ];
    let mut moves = 0;
    for (place, (what, certified)) in certificates.iter().enumerate() {
        let folder = scene.path(&format!("stranger-{place}"));
        let link = certified.as_ref().map(|certified| (*what, certified));
        let Some(session) = stranger(&scene, &folder, link) else {
            moves += 4 * VICTIMS;
            continue;
        };
        std::thread::sleep(Duration::from_millis(400));
        for victim in &victims {
            let neighbour = &victims[victim.next() as usize];
            moves += against(&session, victim, neighbour);
        }
        std::thread::sleep(Duration::from_millis(300));
        for victim in &victims {
            victim.transport.ask(ABSENT, 0);
            let heard = victim.heard(Duration::from_millis(20));
            assert_eq!(heard, (0, 0), "a certificate {what} was heard by p{}", victim.place);
            let seen = victim.transport.manifest_of(ABSENT);
            assert_eq!(seen, None, "a certificate {what} stood in for a neighbour");
        }
        transport::close(session);
    }
    assert!(moves >= 480, "{moves}");
    for victim in victims {
        victim.transport.close();
    }
}

/// Four moves of a stranger against one victim: a true frame said again, a forged one, an answer and
/// a sign of life in the name of the absent neighbour.
fn against(session: &Session, victim: &Victim, neighbour: &Victim) -> usize {
    let keys = KeyExpressions::new(&victim.bundle.manifest);
    let (run, shape) = (victim.bundle.manifest.run.0, victim.bundle.manifest.fingerprint());
    let frame = good(neighbour.place, victim.place);
    let again = seal(&frame, &run, shape, &neighbour.bundle.key).unwrap();
    let forged = seal(&frame, &run, shape, &SigningKey::from_bytes(&[9; 32])).unwrap();
    for (from, frame) in [(neighbour.place, again), (ABSENT, forged.clone())] {
        let _ = session.put(keys.frame(victim.place, from), frame).wait();
    }
    let answer = forged.clone();
    let _ = session
        .declare_queryable(keys.state(ABSENT, victim.place))
        .callback(move |query| {
            let _ = query.reply(query.key_expr(), answer.clone()).wait();
        })
        .background()
        .wait();
    if let Ok(token) =
        session.liveliness().declare_token(keys.live(&ABSENT.to_string(), "1")).wait()
    {
        std::mem::forget(token);
    }
    4
}

#[test]
fn neither_a_revoked_site_nor_its_former_key_is_heard_by_those_who_know() {
    thief_against(|project| project.revoke("p1").unwrap());
    thief_against(|project| project.rotate("p1", 1).unwrap());
}

fn thief_against(take_away: impl Fn(&mut Project)) {
    let scene = wheel(LinkProtocol::Quic);
    let before = scene.path("before");
    copy(&scene.bundle(1), &before);
    take_away(&mut Project::open(scene.folder.path()).unwrap());
    let victim = Victim::new(&scene, 0);
    // The former site bundle of p1, which its thief still has.
    let thief = SiteBundle::read(&before, now()).unwrap();
    let settings = SessionSettings {
        manifest: &thief.manifest,
        role: SessionRole::Process(1),
        folder: &before,
        listen: None,
        scouting: false,
        stage: 0,
    };
    let answers: Arc<dyn Answers> = Arc::new(Mute);
    let transport = Transport::new(&settings, 1, &answers).unwrap();
    std::thread::sleep(Duration::from_millis(500));
    let (run, shape) = (thief.manifest.run.0, thief.manifest.fingerprint());
    for round in 0..10 {
        let frame = Frame { round, ..good(1, 0) };
        transport.send(0, seal(&frame, &run, shape, &thief.key).unwrap());
    }
    assert_eq!(victim.heard(Duration::from_secs(1)).1, 0);
    transport.close();
    victim.transport.close();
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for file in std::fs::read_dir(from).unwrap().flatten() {
        std::fs::copy(file.path(), to.join(file.file_name())).unwrap();
    }
}
