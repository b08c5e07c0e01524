//! A large network in four processes: the bits of one, its share of the memory, the traffic of the cut.
//!
//! A process is this test binary itself, started for its test `part_of_a_large_network`.

use std::{
    collections::BTreeMap,
    fs,
    ops::ControlFlow,
    path::{Path, PathBuf},
    process::{Child, Command},
    sync::Arc,
    time::Duration,
};

use fedgrid::{
    data::{Dataset, Features, Labels},
    method::{FedRelax, Participant},
    model::{Hypothesis, Linear},
    network::{Neighbour, Network, Node, View, grid, partition},
    observe::Stop,
    random::{Purpose, Stream},
    runtime::{
        InProcess,
        protocol::{DEFAULT_LARGEST_NUMBER, ProtocolSettings},
    },
};
use fedgrid_zenoh::{
    agent::{self, Options, network_of},
    identity::now,
    manifest::{LinkProtocol, Manifest, SharedSizes},
    provision::{Federation, Site},
    site_bundle::{SharedFiles, SiteBundle},
};

use crate::scene::{free_address, say};

const POINTS: usize = 8;
const ROUNDS: usize = 10;

fn draw(count: usize, node: usize, purpose: Purpose) -> Vec<f64> {
    let mut stream = Stream::new(1, node, 0, purpose);
    (0..count).map(|_| stream.normal()).collect()
}

fn public() -> Arc<Features> {
    let names: Arc<[String]> = ["a", "b"].map(String::from).into();
    Arc::new(Features::new(names, draw(2 * POINTS, 0, Purpose::Public)).unwrap())
}

/// What some nodes know: nothing of the others is made.
fn views(network: &Network, own: impl Iterator<Item = usize>) -> Vec<View> {
    let public = public();
    let model = Arc::new(Linear { ridge: 0.01, intercept: true });
    let view = |id: usize| {
        let features = Features::new(public.names().clone(), draw(10, id, Purpose::Data)).unwrap();
        let data = Dataset::new(features, Labels::values(draw(5, id, Purpose::Split))).unwrap();
        let neighbour =
            |&(id, weight): &(usize, f64)| Neighbour { id, weight, public: public.clone() };
        let neighbours = network.neighbours(id).iter().map(neighbour).collect();
        View { neighbours, node: Node { id, data, model: model.clone(), public: public.clone() } }
    };
    own.map(view).collect()
}

fn method() -> FedRelax {
    FedRelax { alpha: 0.3, ..FedRelax::default() }
}

fn provisioned(network: &Network, processes: usize, root: &Path) -> Manifest {
    let parts = partition(network, processes).unwrap();
    let number = |id: usize| u32::try_from(id).unwrap();
    let mut sites: Vec<Site> = (0..processes)
        .map(|place| Site {
            name: format!("p{place}"),
            address: Some(free_address()),
            nodes: Vec::new(),
        })
        .collect();
    for (node, &part) in parts.iter().enumerate() {
        sites[part].nodes.push(number(node));
    }
    let edges = network.edges().iter().map(|e| (number(e.source), number(e.target), e.weight));
    let federation = Federation {
        project: "large",
        shared: &SharedFiles::default(),
        nodes: network.names(),
        edges: edges.collect(),
        sites: &sites,
        link: LinkProtocol::Tcp,
        router: None,
        shape: SharedSizes { features: 2, outputs: 1, points: number(POINTS) },
        checkpoint_every: 5,
        largest_number: DEFAULT_LARGEST_NUMBER,
        validity: (now() - 60, now() + 86_400),
    };
    federation.write(root).unwrap()
}

/// The most memory that this process ever had, in kB.
fn peak() -> usize {
    let text = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default();
    line.split_whitespace().next().and_then(|word| word.parse().ok()).unwrap_or(0)
}

/// What a process leaves: predictions by node, bytes sent and its peak of memory.
type Left = (BTreeMap<usize, Vec<u64>>, u64, usize);

/// What a process of a large network does; nothing where it is run as a plain test.
#[test]
fn part_of_a_large_network() {
    let (Ok(root), Ok(place)) = (std::env::var("FEDGRID_LARGE"), std::env::var("FEDGRID_PLACE"))
    else {
        return;
    };
    let root = PathBuf::from(root);
    let bundle = SiteBundle::read(&root.join(format!("kits/p{place}")), now()).unwrap();
    let own = bundle.manifest.nodes_of(bundle.process).into_iter().map(|node| node as usize);
    let views = views(&network_of(&bundle.manifest).unwrap(), own);
    let stop = Stop { rounds: ROUNDS, tolerance: -1.0 };
    let settings = ProtocolSettings {
        stop,
        checkpoint_every: 5,
        check_every: 0,
        ..ProtocolSettings::default()
    };
    let options = Options {
        // One machine runs all four and may be slow; what is asked for again counts as traffic.
        tick: Duration::from_secs(20),
        ..Options::new(root.join(format!("state{place}")), settings)
    };
    let outcome =
        agent::run(&bundle, &method(), views, &options, &mut |_| ControlFlow::Continue(()))
            .unwrap();
    let (peak, public) = (peak(), public());
    let predicted = outcome.process.participants().map(|(node, own)| {
        let values = own.hypothesis().unwrap().predict(&public);
        (node, values.as_slice().iter().map(|value| value.to_bits()).collect())
    });
    let left: Left = (predicted.collect(), outcome.status.sent_bytes, peak);
    fs::write(root.join(format!("left{place}")), serde_json::to_vec(&left).unwrap()).unwrap();
}

fn spawn(root: &Path, place: usize) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "large::part_of_a_large_network", "--test-threads=1"])
        .env("FEDGRID_LARGE", root)
        .env("FEDGRID_PLACE", place.to_string())
        .env("RAYON_NUM_THREADS", "1")
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap()
}

/// What so many processes leave, and how many edges were cut.
fn in_parts(network: &Network, processes: usize) -> (Vec<Left>, usize) {
    let folder = tempfile::tempdir().unwrap();
    let manifest = provisioned(network, processes, folder.path());
    let parts: Vec<Child> = (0..processes).map(|place| spawn(folder.path(), place)).collect();
    for mut part in parts {
        assert!(part.wait().unwrap().success(), "a part has failed");
    }
    let left = |place: usize| {
        let bytes = fs::read(folder.path().join(format!("left{place}"))).unwrap();
        serde_json::from_slice(&bytes).unwrap()
    };
    ((0..processes).map(left).collect(), manifest.cut())
}

fn in_one(network: &Network) -> BTreeMap<usize, Vec<u64>> {
    let stop = Stop { rounds: ROUNDS, tolerance: -1.0 };
    let views = views(network, 0..network.len());
    let run = InProcess { stop, ..InProcess::default() }.run(&method(), views).unwrap();
    let public = public();
    let bits = |h: &Option<Arc<dyn Hypothesis>>| {
        let values = h.as_ref().unwrap().predict(&public);
        values.as_slice().iter().map(|value| value.to_bits()).collect()
    };
    run.hypotheses.iter().map(bits).enumerate().collect()
}

/// The peaks of memory of the four processes, in kB.
fn agrees(network: &Network) -> Vec<usize> {
    let (parts, cut) = in_parts(network, 4);
    let all: BTreeMap<usize, Vec<u64>> =
        parts.iter().flat_map(|(predicted, ..)| predicted.clone()).collect();
    assert_eq!(all, in_one(network));
    // Two messages per edge of the cut and round, with its place; and at most a hundredth more, and
    // some kilobytes of greetings.
    let messages = (2 * cut * ROUNDS * (8 * POINTS + 4)) as f64;
    let sent = parts.iter().map(|(_, sent, _)| sent).sum::<u64>() as f64;
    assert!(sent >= messages, "{sent} bytes, {messages} of messages");
    assert!(sent <= 1.01 * messages + 60_000.0, "{sent} bytes, {messages} of messages");
    say(&format!("{sent} bytes sent, {messages} of messages over {cut} edges of the cut"));
    parts.iter().map(|(.., peak)| *peak).collect()
}

#[test]
fn four_thousand_nodes_in_four_processes_give_the_bits_of_one_and_send_the_cut() {
    agrees(&grid(64, 64).unwrap());
}

#[test]
#[ignore = "takes minutes; part of make soak"]
fn a_hundred_thousand_nodes_in_four_processes_take_their_share_and_send_the_cut() {
    let network = grid(317, 317).unwrap();
    let peaks = agrees(&network);
    let whole = in_parts(&network, 1).0[0].2;
    let ratios: Vec<f64> = peaks.iter().map(|&peak| 4.0 * peak as f64 / whole as f64).collect();
    say(&format!("{peaks:?} kB at the peak, {whole} kB in one process: {ratios:.2?} of the share"));
    assert!(ratios.iter().all(|&ratio| ratio <= 1.3), "{ratios:?}");
}
