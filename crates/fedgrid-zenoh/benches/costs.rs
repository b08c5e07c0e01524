//! What a federation costs: bytes above the payload, rounds per second, memory of an idle agent.
//!
//! `cargo bench -p fedgrid-zenoh`. Rates are of this machine and of what else runs on it; the bench
//! prints them beside the limits that were set (1.35 and 1.15 bytes per byte, 100 rounds a second with
//! a checkpoint every ten, 30 MB).

use std::{
    io::Write as _,
    ops::ControlFlow,
    path::{Path, PathBuf},
    process::{Child, Command},
    sync::Arc,
    time::{Duration, Instant},
};

use fedgrid::{
    data::{Dataset, Features, Labels},
    method::FedRelax,
    model::Linear,
    network::{Network, Node, View, partition, random_regular},
    observe::Stop,
    random::{Purpose, Stream},
    runtime::protocol::{DEFAULT_LARGEST_NUMBER, ProtocolSettings},
};
use fedgrid_zenoh::{
    agent::{self, Options},
    identity::now,
    manifest::{LinkProtocol, SharedSizes},
    provision::{Federation, Site},
    site_bundle::{SharedFiles, SiteBundle},
};

const NODES: usize = 32;
const PROCESSES: usize = 8;
const POINTS: usize = 100;

fn say(text: &str) {
    let _ = writeln!(std::io::stdout(), "{text}");
}

fn network() -> Network {
    random_regular(NODES, 4, 1).expect("32 nodes of degree 4")
}

fn views(network: &Network, own: &[usize]) -> Vec<View> {
    let names: Arc<[String]> = (0..4).map(|k| format!("x{k}")).collect();
    let draw = |count: usize, node: usize, purpose| {
        let mut stream = Stream::new(1, node, 0, purpose);
        (0..count).map(|_| stream.normal()).collect::<Vec<f64>>()
    };
    let public = draw(4 * POINTS, 0, Purpose::Public);
    let public = Arc::new(Features::new(names.clone(), public).expect("finite"));
    let model = Arc::new(Linear { ridge: 0.01, intercept: true });
    let node = |id: usize| {
        let features = Features::new(names.clone(), draw(40, id, Purpose::Data)).expect("finite");
        let data = Dataset::new(features, Labels::values(draw(10, id, Purpose::Split)));
        Node { id, data: data.expect("sizes"), model: model.clone(), public: public.clone() }
    };
    let views = network.views((0..NODES).map(node).collect()).expect("sizes");
    views.into_iter().filter(|view| own.contains(&view.node.id)).collect()
}

fn settings(rounds: usize, checkpoint_every: u64) -> ProtocolSettings {
    let stop = Stop { rounds, tolerance: -1.0 };
    ProtocolSettings { stop, checkpoint_every, check_every: 0, ..ProtocolSettings::default() }
}

/// One process of the federation: this binary with the environment of a part.
fn part(root: &Path) {
    let place = std::env::var("FEDGRID_PLACE").expect("a part has a place");
    let rounds = std::env::var("FEDGRID_ROUNDS").ok().and_then(|text| text.parse().ok());
    let checkpoint_every = std::env::var("FEDGRID_KEEP").ok().and_then(|text| text.parse().ok());
    let (rounds, checkpoint_every) =
        (rounds.expect("rounds"), checkpoint_every.expect("checkpoint_every"));
    let bundle = SiteBundle::read(&root.join(format!("kits/p{place}")), now()).expect("a good kit");
    let own: Vec<usize> =
        bundle.manifest.nodes_of(bundle.process).into_iter().map(|node| node as usize).collect();
    let views = views(&network(), &own);
    let method = FedRelax { alpha: 0.3, ..FedRelax::default() };
    let folder = root.join(format!("state{place}-{checkpoint_every}-{rounds}"));
    let options = Options::new(folder, settings(rounds, checkpoint_every));
    let mut begun = None;
    let outcome = agent::run(&bundle, &method, views, &options, &mut |status| {
        // The clock starts when all are there and rounds go on.
        if status.round > 0 && begun.is_none() {
            begun = Some((Instant::now(), status.round));
        }
        ControlFlow::Continue(())
    });
    let outcome = outcome.expect("a run");
    let seconds = begun.map_or(f64::NAN, |(begun, _)| begun.elapsed().as_secs_f64());
    let done = outcome.status.round - begun.map_or(0, |(_, round)| round);
    say(&format!("{} {} {}", done as f64 / seconds, outcome.status.sent_bytes, memory()));
}

/// Resident memory in MB.
fn memory() -> f64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: f64 = text.split(' ').nth(1).and_then(|word| word.parse().ok()).unwrap_or(0.0);
    pages * 4096.0 / 1e6
}

fn provisioned(root: &Path, port: u16) -> usize {
    let network = network();
    let parts = partition(&network, PROCESSES).expect("as many nodes");
    let site = |place: usize| Site {
        name: format!("p{place}"),
        address: Some(format!("127.0.0.1:{}", usize::from(port) + place)),
        nodes: (0..NODES)
            .filter(|&node| parts[node] == place)
            .filter_map(|node| u32::try_from(node).ok())
            .collect(),
    };
    let number = |id: usize| u32::try_from(id).expect("a small number");
    let sites: Vec<Site> = (0..PROCESSES).map(site).collect();
    let federation = Federation {
        project: "costs",
        shared: &SharedFiles::default(),
        nodes: network.names(),
        edges: network.edges().iter().map(|e| (number(e.source), number(e.target), 1.0)).collect(),
        sites: &sites,
        link: LinkProtocol::Tls,
        router: None,
        shape: SharedSizes { features: 4, outputs: 1, points: number(POINTS) },
        checkpoint_every: 10,
        largest_number: DEFAULT_LARGEST_NUMBER,
        validity: (now() - 60, now() + 86_400),
    };
    federation.write(root).expect("a new folder").cut()
}

fn spawn(root: &Path, place: usize, rounds: usize, checkpoint_every: u64) -> Child {
    Command::new(std::env::current_exe().expect("this binary"))
        .env("FEDGRID_PART", root)
        .env("FEDGRID_PLACE", place.to_string())
        .env("FEDGRID_ROUNDS", rounds.to_string())
        .env("FEDGRID_KEEP", checkpoint_every.to_string())
        .env("RAYON_NUM_THREADS", "1")
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("a process")
}

/// The slowest rate, the bytes of all, and the largest memory.
fn measured(root: &Path, rounds: usize, checkpoint_every: u64) -> [f64; 3] {
    let parts: Vec<Child> =
        (0..PROCESSES).map(|place| spawn(root, place, rounds, checkpoint_every)).collect();
    let mut all = [f64::INFINITY, 0.0, 0.0];
    for part in parts {
        let output = part.wait_with_output().expect("an end");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let numbers: Vec<f64> = text.split_whitespace().filter_map(|w| w.parse().ok()).collect();
        let [rate, bytes, memory] = numbers[..] else { panic!("a part failed: {text}") };
        all = [all[0].min(rate), all[1] + bytes, all[2].max(memory)];
    }
    all
}

fn main() {
    if let Ok(root) = std::env::var("FEDGRID_PART") {
        return part(&PathBuf::from(root));
    }
    let folder = tempfile::tempdir().expect("a folder");
    let cut = provisioned(folder.path(), 26_000);
    let (rounds, payload) = (1000, 8 * POINTS);
    let [rate, bytes, _] = measured(folder.path(), rounds, 10);
    let per_byte = bytes / (2 * cut * payload * rounds) as f64;
    say(&format!(
        "{rate:.0} rounds per second with a checkpoint every ten, over mutual TLS (goal 100)"
    ));
    say(&format!("{per_byte:.3} bytes of frames per byte of bundled predictions (goal 1.15)"));
    let [rate, ..] = measured(folder.path(), 300, 1);
    say(&format!("{rate:.0} rounds per second with every round on disk"));
    // An agent without its neighbours waits.
    let mut idle = spawn(folder.path(), 0, 10, 1);
    std::thread::sleep(Duration::from_secs(5));
    let text = std::fs::read_to_string(format!("/proc/{}/statm", idle.id())).unwrap_or_default();
    let pages: f64 = text.split(' ').nth(1).and_then(|word| word.parse().ok()).unwrap_or(0.0);
    let _ = idle.kill().and_then(|()| idle.wait());
    say(&format!("{:.1} MB resident in an idle agent (goal 30)", pages * 4096.0 / 1e6));
}
