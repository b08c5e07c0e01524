//! A federation in a temporary folder: site bundles, processes of their own, and what they leave.
//!
//! A process is this test binary itself, started for its test `part_of_a_federation` with a file that
//! says what to do.

use std::{
    collections::BTreeMap,
    fs,
    io::Write,
    net::TcpListener,
    ops::ControlFlow,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::atomic::{AtomicU16, Ordering},
    time::{Duration, Instant},
};

use fedgrid::{
    method::{Durable, Method, Participant},
    observe::Stop,
    runtime::{
        InProcess, Layout,
        protocol::{Action, DEFAULT_LARGEST_NUMBER, Event, Notice, Process, ProtocolSettings},
    },
};
use fedgrid_zenoh::{
    agent::{self, Options},
    identity::now,
    manifest::{LinkProtocol, Manifest, SharedSizes},
    provision::{Federation, Site},
    site_bundle::{SharedFiles, SiteBundle},
    transport::{ONE_THREAD, RUNTIME_VARIABLE},
};
use serde::{Deserialize, Serialize};

use crate::made::{Problem, Visitor};

/// What a federation does.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Spec {
    pub(crate) problem: Problem,
    pub(crate) processes: usize,
    pub(crate) link: LinkProtocol,
    pub(crate) rounds: usize,
    pub(crate) checkpoint_every: u64,
    /// Whether the states of all rounds are written down.
    pub(crate) trace: bool,
}

/// A federation in a folder.
pub(crate) struct Scene {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) spec: Spec,
    pub(crate) manifest: Manifest,
}

/// The hash of each node's state after each round.
pub(crate) type States = BTreeMap<(u64, usize), String>;

/// An address of this machine that no other test process uses: each has a host of its own.
pub(crate) fn free_address() -> String {
    static NEXT: AtomicU16 = AtomicU16::new(20_000);
    let [_, high, middle, low] = std::process::id().to_be_bytes();
    loop {
        let port = NEXT.fetch_add(1, Ordering::Relaxed);
        let address = format!("127.{high}.{middle}.{low}:{port}");
        if TcpListener::bind(&address).is_ok() {
            return address;
        }
    }
}

/// Tells what was measured, also where the output of tests is captured.
pub(crate) fn say(text: &str) {
    let _ = std::io::stderr().write_all(format!("{text}\n").as_bytes());
}

/// What protocol settings a spec stands for.
pub(crate) fn settings(spec: &Spec) -> ProtocolSettings {
    let stop = Stop { rounds: spec.rounds, tolerance: -1.0 };
    ProtocolSettings {
        stop,
        checkpoint_every: spec.checkpoint_every,
        check_every: 0,
        ..ProtocolSettings::default()
    }
}

impl Scene {
    pub(crate) fn new(spec: Spec) -> Self {
        Self::lasting(spec, 86_400)
    }

    /// With certificates that are good for so many seconds.
    pub(crate) fn lasting(spec: Spec, seconds: u64) -> Self {
        let number = |id: usize| u32::try_from(id).unwrap();
        let network = spec.problem.network();
        let edges = network.edges().iter();
        let edges = edges.map(|e| (number(e.source), number(e.target), e.weight)).collect();
        Self::provisioned(spec, edges, seconds)
    }

    /// With other edges than the problem's, for tests of links alone.
    pub(crate) fn with_edges(spec: Spec, edges: &[(usize, usize)]) -> Self {
        let number = |id: usize| u32::try_from(id).unwrap();
        let edges = edges.iter().map(|&(a, b)| (number(a), number(b), 1.0)).collect();
        Self::provisioned(spec, edges, 86_400)
    }

    fn provisioned(spec: Spec, edges: Vec<(u32, u32, f64)>, seconds: u64) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let network = spec.problem.network();
        let share = spec.problem.nodes.div_ceil(spec.processes);
        let site = |place: usize| Site {
            name: format!("p{place}"),
            address: Some(free_address()),
            nodes: (place * share..((place + 1) * share).min(spec.problem.nodes))
                .map(|node| u32::try_from(node).unwrap())
                .collect(),
        };
        let sites: Vec<Site> = (0..spec.processes).map(site).collect();
        let number = |id: usize| u32::try_from(id).unwrap();
        let shared = SharedFiles {
            experiment: serde_json::to_string(&spec).unwrap(),
            settings: String::new(),
            public: format!("{:?}", spec.problem.public().values()),
        };
        let federation = Federation {
            project: "test",
            shared: &shared,
            nodes: network.names(),
            edges,
            sites: &sites,
            link: spec.link,
            router: None,
            shape: SharedSizes { features: 4, outputs: 1, points: number(spec.problem.points) },
            checkpoint_every: spec.checkpoint_every,
            largest_number: DEFAULT_LARGEST_NUMBER,
            validity: (now() - 60, now() + seconds),
        };
        let manifest = federation.write(folder.path()).unwrap();
        Self { folder, spec, manifest }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn bundle(&self, place: usize) -> PathBuf {
        self.path("kits").join(format!("p{place}"))
    }

    /// Starts a process.
    pub(crate) fn spawn(&self, place: usize) -> Part {
        self.spawn_as(place, "scene::part_of_a_federation")
    }

    /// Starts a process that does what another test does.
    pub(crate) fn spawn_as(&self, place: usize, test: &str) -> Part {
        let log = fs::OpenOptions::new()
            .append(true)
            .create(true)
            .open(self.path(&format!("p{place}.log")))
            .unwrap();
        let mut command = Command::new(std::env::current_exe().unwrap());
        // As the command sets it; without it, it can be seen what it is good for.
        if self.spec.link == LinkProtocol::Tls && std::env::var_os("FEDGRID_MANY_THREADS").is_none()
        {
            command.env(RUNTIME_VARIABLE, ONE_THREAD);
        }
        let child = command
            .args(["--exact", test, "--nocapture", "--test-threads=1"])
            // As the systemd unit does.
            .env("MALLOC_ARENA_MAX", "2")
            .env("FEDGRID_PART", self.folder.path())
            .env("FEDGRID_PLACE", place.to_string())
            .env("RAYON_NUM_THREADS", "1")
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn()
            .unwrap();
        Part { child, place }
    }

    /// Starts all processes.
    pub(crate) fn spawn_all(&self) -> Vec<Part> {
        (0..self.spec.processes).map(|place| self.spawn(place)).collect()
    }

    /// Waits until all have ended well.
    pub(crate) fn wait_all(&self, parts: Vec<Part>, patience: Duration) {
        let end = Instant::now() + patience;
        for mut part in parts {
            loop {
                match part.child.try_wait().unwrap() {
                    Some(status) if status.success() => break,
                    Some(status) => {
                        panic!("p{} failed, {status}:\n{}", part.place, self.log(part.place));
                    }
                    None => std::thread::sleep(Duration::from_millis(20)),
                }
                assert!(
                    Instant::now() < end,
                    "p{} has not ended:\n{}",
                    part.place,
                    self.log(part.place)
                );
            }
        }
    }

    pub(crate) fn log(&self, place: usize) -> String {
        fs::read_to_string(self.path(&format!("p{place}.log"))).unwrap_or_default()
    }

    /// The last round of which a process has written states.
    pub(crate) fn round(&self, place: usize) -> u64 {
        let text = fs::read_to_string(self.path(&format!("p{place}.trace"))).unwrap_or_default();
        let last = text.lines().rev().find_map(|line| line.split(' ').next()?.parse().ok());
        last.unwrap_or(0)
    }

    /// The states that all processes have written; those of a round that was done twice must agree.
    pub(crate) fn states(&self) -> States {
        let mut states = States::new();
        for place in 0..self.spec.processes {
            let path = self.path(&format!("p{place}.trace"));
            for line in fs::read_to_string(path).unwrap_or_default().lines() {
                let words: Vec<&str> = line.split(' ').collect();
                // A kill may cut a line.
                if let [round, node, hash] = words[..]
                    && hash.len() == 16
                {
                    let key = (round.parse().unwrap(), node.parse().unwrap());
                    let known = states.entry(key).or_insert_with(|| hash.to_string());
                    assert_eq!(known, hash, "round {round} of node {node} was done differently");
                }
            }
        }
        states
    }

    /// What all nodes predict at the end, bit for bit.
    pub(crate) fn predictions(&self) -> BTreeMap<usize, Vec<u64>> {
        let mut all = BTreeMap::new();
        for place in 0..self.spec.processes {
            let text = fs::read_to_string(self.path(&format!("p{place}.out"))).unwrap();
            all.extend(serde_json::from_str::<BTreeMap<usize, Vec<u64>>>(&text).unwrap());
        }
        all
    }

    /// What one process that hosts all nodes predicts, by the plain runtime.
    pub(crate) fn expected(&self) -> BTreeMap<usize, Vec<u64>> {
        self.spec.problem.visit(Plain(&self.spec))
    }

    /// The states of one process that hosts all nodes.
    pub(crate) fn expected_states(&self) -> States {
        self.spec.problem.visit(Alone(&self.spec))
    }
}

/// A process that is killed with its test.
pub(crate) struct Part {
    pub(crate) child: Child,
    pub(crate) place: usize,
}

impl Part {
    pub(crate) fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        self.kill();
    }
}

struct Plain<'a>(&'a Spec);

impl Visitor for Plain<'_> {
    type Output = BTreeMap<usize, Vec<u64>>;

    fn visit<M: Method<Participant: Durable>>(self, method: &M) -> Self::Output {
        let problem = &self.0.problem;
        let nodes: Vec<usize> = (0..problem.nodes).collect();
        let stop = settings(self.0).stop;
        let runtime = InProcess { stop, ..InProcess::default() };
        let run = runtime.run(method, problem.views(&nodes)).unwrap();
        let public = problem.public();
        let bits = |h: &std::sync::Arc<dyn fedgrid::model::Hypothesis>| {
            h.predict(&public).as_slice().iter().map(|value| value.to_bits()).collect()
        };
        run.hypotheses.iter().map(|h| bits(h.as_ref().unwrap())).enumerate().collect()
    }
}

struct Alone<'a>(&'a Spec);

impl Visitor for Alone<'_> {
    type Output = States;

    fn visit<M: Method<Participant: Durable>>(self, method: &M) -> States {
        let problem = &self.0.problem;
        let nodes: Vec<usize> = (0..problem.nodes).collect();
        let layout = Layout::new(&problem.network(), &vec![0; problem.nodes]).unwrap();
        let assignment = &layout.assignments()[0];
        let settings = ProtocolSettings { checkpoint_every: 1, digests: true, ..settings(self.0) };
        let mut process =
            Process::new(method, problem.views(&nodes), assignment, settings).unwrap();
        let mut states = States::new();
        let mut open: std::collections::VecDeque<Action> = process
            .step(Event::Started { identity: None, state: None, bases: None, nonce: 1 })
            .into();
        while let Some(action) = open.pop_front() {
            match action {
                Action::Persist { ticket, .. } => {
                    open.extend(process.step(Event::Persisted { ticket }));
                }
                Action::Notice(Notice::Learnt { round, digests }) => {
                    let lines = digests.iter();
                    states.extend(lines.map(|(node, d)| ((round, *node), format!("{d:016x}"))));
                }
                _ => {}
            }
        }
        assert_eq!(states.len(), self.0.rounds * problem.nodes);
        states
    }
}

struct Join<'a> {
    root: &'a Path,
    bundle: SiteBundle,
    spec: &'a Spec,
}

impl Visitor for Join<'_> {
    type Output = ();

    fn visit<M: Method<Participant: Durable>>(self, method: &M) {
        let name = self.bundle.name().to_string();
        let nodes = self.bundle.manifest.nodes_of(self.bundle.process);
        let nodes: Vec<usize> = nodes.iter().map(|&node| node as usize).collect();
        let views = self.spec.problem.views(&nodes);
        let options = Options {
            trace: self.spec.trace.then(|| self.root.join(format!("{name}.trace"))),
            audit: self.spec.trace.then(|| self.root.join(format!("{name}.audit"))),
            method: format!("{:?}", self.spec.problem.how),
            tick: Duration::from_millis(50),
            linger: Duration::from_mins(1),
            ..Options::new(self.root.join(format!("{name}.state")), settings(self.spec))
        };
        let mut told = Instant::now();
        let outcome = agent::run(&self.bundle, method, views, &options, &mut |status| {
            if told.elapsed() > Duration::from_secs(1) {
                told = Instant::now();
                let _ = writeln!(std::io::stderr(), "{}", status.line());
            }
            ControlFlow::Continue(())
        });
        let outcome = outcome.unwrap_or_else(|error| panic!("{name}: {error}"));
        let public = self.spec.problem.public();
        let all: BTreeMap<usize, Vec<u64>> = outcome
            .process
            .participants()
            .map(|(node, own)| {
                let values = own.hypothesis().unwrap().predict(&public);
                (node, values.as_slice().iter().map(|value| value.to_bits()).collect())
            })
            .collect();
        fs::write(
            self.root.join(format!("{name}.status")),
            serde_json::to_string(&outcome.status).unwrap(),
        )
        .unwrap();
        fs::write(self.root.join(format!("{name}.out")), serde_json::to_string(&all).unwrap())
            .unwrap();
    }
}

/// What a process of a federation does; nothing where it is run as a plain test.
#[test]
fn part_of_a_federation() {
    let (Ok(root), Ok(place)) = (std::env::var("FEDGRID_PART"), std::env::var("FEDGRID_PLACE"))
    else {
        return;
    };
    let root = PathBuf::from(root);
    let bundle = SiteBundle::read(&root.join("kits").join(format!("p{place}")), now()).unwrap();
    let spec: Spec = serde_json::from_str(&bundle.shared.experiment).unwrap();
    spec.problem.visit(Join { root: &root, bundle, spec: &spec });
}
