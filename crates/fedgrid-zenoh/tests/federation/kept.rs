//! Files of this release, kept: later versions read them, or have a version of their own and say so.
//!
//! `kept/v1/` holds two kits (plain links, and QUIC with its certificates) and the state of a process after three
//! rounds, as `keep_files_of_this_release` has written them. Their keys and certificates are of no use to anyone.

use std::{
    collections::VecDeque,
    fs,
    path::{Path, PathBuf},
};

use fedgrid::{
    method::{Durable, Method},
    observe::Stop,
    runtime::{
        Layout,
        protocol::{Action, Event, Notice, Process, ProtocolSettings, Slot},
    },
};
use fedgrid_zenoh::{
    checkpoint::StoredState,
    manifest::{LinkProtocol, Manifest, SharedSizes},
    provision::{Federation, Site},
    site_bundle::{SharedFiles, SiteBundle, read_project},
};

use crate::made::{How, Problem, Visitor};

/// When the kits were made, and for how long their certificates are good.
const MADE: u64 = 1_800_000_000;
const DAY: u64 = 86_400;
const ROUNDS: u64 = 3;
/// Whose states they are.
const OWNER: [u8; 32] = [7; 32];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/federation/kept/v1")
}

fn kit(link: LinkProtocol) -> PathBuf {
    folder().join(link.name()).join("kits/east")
}

/// Runs all nodes in one process, from what is kept of an earlier one if there is, to this round.
struct Alone<'a> {
    problem: &'a Problem,
    identity: Option<Vec<u8>>,
    state: Option<Vec<u8>>,
    rounds: u64,
}

/// What a process has done and written: digests of rounds, its identity, and its states.
#[derive(Default)]
struct Written {
    digests: Vec<(u64, Vec<u64>)>,
    identity: Vec<u8>,
    states: Vec<Vec<u8>>,
}

impl Visitor for Alone<'_> {
    type Output = Written;

    fn visit<M: Method<Participant: Durable>>(self, method: &M) -> Self::Output {
        let nodes: Vec<usize> = (0..self.problem.nodes).collect();
        let layout = Layout::new(&self.problem.network(), &vec![0; self.problem.nodes]).unwrap();
        let stop = Stop { rounds: usize::try_from(self.rounds).unwrap(), tolerance: -1.0 };
        let settings = ProtocolSettings {
            stop,
            checkpoint_every: 1,
            check_every: 0,
            digests: true,
            ..ProtocolSettings::default()
        };
        let views = self.problem.views(&nodes);
        let mut process = Process::new(method, views, &layout.assignments()[0], settings).unwrap();
        let mut written = Written::default();
        let started =
            Event::Started { identity: self.identity, state: self.state, bases: None, nonce: 1 };
        let mut open: VecDeque<Action> = process.step(started).into();
        while let Some(action) = open.pop_front() {
            match action {
                Action::Persist { ticket, slot, bytes } => {
                    match slot {
                        Slot::State => written.states.push(bytes),
                        Slot::Identity => written.identity = bytes,
                        Slot::Bases => {}
                    }
                    open.extend(process.step(Event::Persisted { ticket }));
                }
                Action::Notice(Notice::Learnt { round, digests }) => {
                    let digests = digests.into_iter().map(|(_, digest)| digest).collect();
                    written.digests.push((round, digests));
                }
                Action::Halt(reason) => panic!("{reason}"),
                _ => {}
            }
        }
        written
    }
}

fn problem(how: How) -> Problem {
    Problem { how, nodes: 4, points: 3, seed: 1 }
}

const KINDS: [(How, &str); 3] =
    [(How::Trees, "fedrelax"), (How::PrimalDual, "gtv"), (How::PersFl, "persfl")];

/// Writes what is kept; to be run once for every version of kits or states, into a folder of its own.
#[test]
#[ignore = "writes files into the source tree"]
fn keep_files_of_this_release() {
    for link in [LinkProtocol::Tcp, LinkProtocol::Quic] {
        let site = |name: &str, port: u16, nodes: &[u32]| Site {
            name: name.into(),
            address: Some(format!("127.0.0.1:{port}")),
            nodes: nodes.to_vec(),
        };
        let sites = [site("east", 7447, &[0, 1]), site("west", 7448, &[2])];
        let shared = SharedFiles {
            experiment: "[method]\nkind = \"fedrelax\"\nalpha = 0.5\n".into(),
            settings: "{}".into(),
            public: "[[0.5, 1.5], [-1.0, 2.0]]".into(),
        };
        let federation = Federation {
            project: "kept",
            shared: &shared,
            nodes: &["a", "b", "c"].map(String::from),
            edges: vec![(0, 1, 1.0), (1, 2, 0.5)],
            sites: &sites,
            link,
            router: None,
            shape: SharedSizes { features: 2, outputs: 1, points: 2 },
            checkpoint_every: 10,
            largest_number: 1e12,
            validity: (MADE, MADE + 365 * DAY),
        };
        let made = folder().join(link.name());
        federation.write(&made).unwrap();
        // One kit is enough.
        for rest in ["project", "kits/west"] {
            fs::remove_dir_all(made.join(rest)).unwrap();
        }
    }
    for (how, name) in KINDS {
        let problem = problem(how);
        let (identity, state, rounds) = (None, None, ROUNDS + 4);
        let written = problem.visit(Alone { problem: &problem, identity, state, rounds });
        // A state that is not the last, so that there is something to go on with.
        let is_kept = |state: &&Vec<u8>| state[1..9] == ROUNDS.to_le_bytes();
        let state = written.states.iter().find(is_kept).unwrap().clone();
        for (part, state) in [("identity", written.identity), ("state", state)] {
            let stored = StoredState { sequence: ROUNDS, state };
            fs::write(folder().join(format!("{part}-{name}")), stored.to_bytes(&OWNER)).unwrap();
        }
    }
}

#[test]
fn kits_of_version_one_are_read() {
    for link in [LinkProtocol::Tcp, LinkProtocol::Quic] {
        let bundle = SiteBundle::read(&kit(link), MADE + DAY).unwrap();
        assert_eq!((bundle.name(), bundle.manifest.link), ("east", link));
        let manifest = &bundle.manifest;
        assert_eq!((manifest.checkpoint_every, manifest.shape.points), (10, 2));
        assert_eq!(manifest.edges, [(0, 1, 1.0), (1, 2, 0.5)]);
        // What is signed is what this version would sign: it is the same manifest, field by field.
        let key = read_project(&kit(link).join("project.pub")).unwrap();
        let text = fs::read_to_string(kit(link).join("manifest.txt")).unwrap();
        assert_eq!(&Manifest::verified(&text, &key).unwrap(), manifest);
        let body = text.split_once('\n').unwrap().1.trim_end();
        assert_eq!(serde_json::to_string(manifest).unwrap(), body, "give manifests a new version");
    }
}

#[test]
fn states_of_this_version_are_read_and_gone_on_with() {
    for (how, name) in KINDS {
        let kept = ["identity", "state"].map(|part| {
            let bytes = fs::read(folder().join(format!("{part}-{name}"))).unwrap();
            Some(StoredState::from_bytes(&bytes, &OWNER).unwrap().state)
        });
        let [identity, state] = kept;
        let (problem, rounds) = (problem(how), ROUNDS + 4);
        let whole =
            problem.visit(Alone { problem: &problem, identity: None, state: None, rounds }).digests;
        let seen = problem.visit(Alone { problem: &problem, identity, state, rounds }).digests;
        assert_eq!(seen, whole[whole.len() - 4..], "{name}");
    }
}
