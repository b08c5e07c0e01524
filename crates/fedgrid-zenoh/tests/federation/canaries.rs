//! No row leaves a process: canaries planted in features and labels are looked for in every byte on
//! the wire, in logs and in statuses, in many encodings. Leaks that are planted are found.

use std::{
    collections::BTreeSet,
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    ops::ControlFlow,
    sync::{Arc, Mutex},
    time::Duration,
};

use fedgrid::{
    data::{Dataset, Features, Labels},
    method::{
        Durable, FedRelax, Method, PersFl, PrimalDual,
        persfl::{Budget, Probe, Start},
    },
    model::{
        Boosting, ElasticNet, ExtraTrees, Forest, GraphicalLasso, Huber, Kernel, KernelRidge,
        Linear, LocalModel, Logistic, Mean, Neighbours, Perceptron, Poisson, Quantile, Smoother,
        Tree,
    },
    network::{Node, View, ring},
    observe::Stop,
    random::{Purpose, Stream},
    runtime::protocol::{DEFAULT_LARGEST_NUMBER, ProtocolSettings},
};
use fedgrid_zenoh::{
    agent::{self, Options},
    identity::now,
    manifest::{LinkProtocol, Manifest, SharedSizes},
    provision::{Federation, Site},
    site_bundle::{SharedFiles, SiteBundle},
};

use crate::scene::free_address;

const COLUMNS: usize = 4;
const NODES: usize = 4;

/// Rows of numbers that occur nowhere else, a label and features each.
fn rows(node: usize, count: usize) -> Vec<[f64; COLUMNS + 1]> {
    let mut stream = Stream::new(99, node, 0, Purpose::Data);
    (0..count)
        .map(|_| {
            let mut row: [f64; COLUMNS + 1] = std::array::from_fn(|_| stream.normal());
            row[COLUMNS] += 3.0 * row[0] + 1.0;
            row
        })
        .collect()
}

/// What a model is fitted to: the labels themselves, their magnitudes or their signs.
#[derive(Clone, Copy)]
pub(crate) enum Target {
    Numbers,
    Counts,
    Classes,
}

impl Target {
    fn shape(self) -> SharedSizes {
        let outputs = if matches!(self, Self::Classes) { 2 } else { 1 };
        SharedSizes { features: 4, outputs, points: 20 }
    }

    fn labels(self, rows: &[[f64; COLUMNS + 1]]) -> Labels {
        let of = rows.iter().map(|row| row[COLUMNS]);
        match self {
            Self::Numbers => Labels::values(of.collect()),
            Self::Counts => Labels::values(of.map(f64::abs).collect()),
            Self::Classes => {
                Labels::classes(2, &of.map(|y| usize::from(y > 1.0)).collect::<Vec<_>>()).unwrap()
            }
        }
    }
}

fn view(node: usize, count: usize, (model, target): (&Arc<dyn LocalModel>, Target)) -> Node {
    let rows = rows(node, count);
    let names: Arc<[String]> = (0..COLUMNS).map(|k| format!("x{k}")).collect();
    let features = rows.iter().flat_map(|row| row[..COLUMNS].to_vec()).collect();
    let features = Features::new(names.clone(), features).unwrap();
    let data = Dataset::new(features, target.labels(&rows)).unwrap().with_total_weight(1.0);
    let mut stream = Stream::new(1, 0, 0, Purpose::Public);
    let points = (0..20 * COLUMNS).map(|_| stream.normal()).collect();
    let public = Arc::new(Features::new(names, points).unwrap());
    Node { id: node, data, model: model.clone(), public }
}

/// Ways to write numbers down. Short ones are looked for as neighbours in a row, since two or four
/// bytes occur by chance.
fn encodings(row: &[f64; COLUMNS + 1]) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    for value in row {
        found.push(value.to_le_bytes().to_vec());
        found.push(value.to_be_bytes().to_vec());
        for digits in 8..17 {
            found.push(format!("{value:.digits$}").into_bytes());
            found.push(format!("{value:.digits$e}").into_bytes());
        }
        found.push(format!("{value}").into_bytes());
        found.push(format!("{:016x}", value.to_bits()).into_bytes());
        found.push(format!("{:016X}", value.to_bits()).into_bytes());
        found.push(base64(&value.to_le_bytes()));
        let scaled = scaled(*value);
        found.push(scaled.to_le_bytes().to_vec());
        found.push(scaled.to_be_bytes().to_vec());
        found.push(varint(scaled));
    }
    for pair in row.windows(2) {
        let short = |value: f64| {
            #[expect(clippy::cast_possible_truncation, reason = "the encoding is short")]
            let short = value as f32;
            short
        };
        found.push(pair.iter().flat_map(|&value| short(value).to_le_bytes()).collect());
        found.push(pair.iter().flat_map(|&value| short(value).to_be_bytes()).collect());
    }
    found
}

fn scaled(value: f64) -> i64 {
    #[expect(clippy::cast_possible_truncation, reason = "the value is small")]
    let scaled = (value * 1e15) as i64;
    scaled
}

/// Zigzag and seven bits a byte.
fn varint(value: i64) -> Vec<u8> {
    let mut left = (value.wrapping_shl(1) ^ (value >> 63)).cast_unsigned();
    let mut bytes = Vec::new();
    while left >= 0x80 {
        bytes.push(u8::try_from(left & 0x7f).unwrap() | 0x80);
        left >>= 7;
    }
    bytes.push(u8::try_from(left).unwrap());
    bytes
}

fn base64(bytes: &[u8]) -> Vec<u8> {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digit = |bits: u32| LETTERS[(bits & 63) as usize];
    let groups = bytes.chunks_exact(3).flat_map(|three| {
        let bits = three.iter().fold(0, |bits, byte| bits << 8 | u32::from(*byte));
        [digit(bits >> 18), digit(bits >> 12), digit(bits >> 6), digit(bits)]
    });
    groups.collect()
}

/// Looks for any of the canaries: by their first eight bytes, then whole.
struct Search {
    canaries: BTreeSet<Vec<u8>>,
    starts: BTreeSet<[u8; 7]>,
    lengths: BTreeSet<usize>,
}

impl Search {
    fn new(count: usize) -> Self {
        // Of a label that lost its sign the digits are left.
        let both = |row: [f64; COLUMNS + 1]| [row, row.map(f64::abs)];
        let all = (0..NODES).flat_map(|node| rows(node, count)).flat_map(both);
        let canaries: BTreeSet<Vec<u8>> =
            all.flat_map(|row| encodings(&row)).filter(|bytes| bytes.len() >= 7).collect();
        let starts = canaries.iter().map(|bytes| bytes[..7].try_into().unwrap()).collect();
        let lengths = canaries.iter().map(Vec::len).collect();
        Self { canaries, starts, lengths }
    }

    fn hits(&self, bytes: &[u8]) -> usize {
        let is_hit = |(place, window): (usize, &[u8])| {
            let start: [u8; 7] = window.try_into().unwrap();
            self.starts.contains(&start)
                && self.lengths.iter().any(|&length| {
                    bytes
                        .get(place..place + length)
                        .is_some_and(|found| self.canaries.contains(found))
                })
        };
        bytes.windows(7).enumerate().filter(|&found| is_hit(found)).count()
    }
}

/// Forwards an address to another and keeps every byte that passes.
pub(crate) fn tap(from: &str, to: &str, heard: &Arc<Mutex<Vec<u8>>>) {
    let listener = TcpListener::bind(from).unwrap();
    let (heard, to) = (Arc::clone(heard), to.to_string());
    std::thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let Ok(server) = TcpStream::connect(&to) else { continue };
            let ways =
                [(client.try_clone().unwrap(), server.try_clone().unwrap()), (server, client)];
            for (mut source, mut sink) in ways {
                let heard = Arc::clone(&heard);
                std::thread::spawn(move || {
                    let mut bytes = vec![0; 1 << 16];
                    while let Ok(size @ 1..) = source.read(&mut bytes) {
                        heard.lock().unwrap().extend(&bytes[..size]);
                        if sink.write_all(&bytes[..size]).is_err() {
                            break;
                        }
                    }
                    let _ = sink.shutdown(std::net::Shutdown::Both);
                });
            }
        }
    });
}

/// Everything that leaves two processes of two nodes each: the wire, and their statuses.
fn leaving<M>(method: &M, model: &Arc<dyn LocalModel>, count: usize, rounds: usize) -> Vec<u8>
where
    M: Method<Participant: Durable> + Sync,
{
    leaving_of(method, (model, Target::Numbers), count, rounds)
}

fn leaving_of<M>(
    method: &M,
    what: (&Arc<dyn LocalModel>, Target),
    count: usize,
    rounds: usize,
) -> Vec<u8>
where
    M: Method<Participant: Durable> + Sync,
{
    let (mut all, said, _) = overheard(LinkProtocol::Tcp, method, what, count, rounds);
    all.extend(said);
    all
}

/// What is heard on the wire between two processes of two nodes each over such links, what their
/// statuses say, and their manifest.
pub(crate) fn overheard<M>(
    link: LinkProtocol,
    method: &M,
    (model, target): (&Arc<dyn LocalModel>, Target),
    count: usize,
    rounds: usize,
) -> (Vec<u8>, Vec<u8>, Manifest)
where
    M: Method<Participant: Durable> + Sync,
{
    let folder = tempfile::tempdir().unwrap();
    let heard = Arc::new(Mutex::new(Vec::new()));
    let inside = [free_address(), free_address()];
    let outside = [free_address(), free_address()];
    for (from, to) in outside.iter().zip(&inside) {
        tap(from, to, &heard);
    }
    let site = |place: usize| Site {
        name: format!("partner-{place}"),
        address: Some(outside[place].clone()),
        nodes: if place == 0 { vec![0, 1] } else { vec![2, 3] },
    };
    let names: Vec<String> = (0..NODES).map(|node| format!("hospital-{node}")).collect();
    let federation = Federation {
        project: "canaries",
        shared: &SharedFiles::default(),
        nodes: &names,
        edges: vec![(0, 1, 1.0), (1, 2, 1.0), (2, 3, 1.0), (0, 3, 1.0)],
        sites: &[site(0), site(1)],
        link,
        router: None,
        shape: target.shape(),
        checkpoint_every: 1,
        largest_number: DEFAULT_LARGEST_NUMBER,
        validity: (now() - 60, now() + 3600),
    };
    let manifest = federation.write(folder.path()).unwrap();
    let part = |place: usize| {
        let bundle =
            SiteBundle::read(&folder.path().join(format!("kits/partner-{place}")), now()).unwrap();
        let nodes: Vec<Node> = (0..NODES).map(|node| view(node, count, (model, target))).collect();
        let views = ring(NODES).unwrap().views(nodes).unwrap();
        let views: Vec<View> = views.into_iter().filter(|view| view.node.id / 2 == place).collect();
        let stop = Stop { rounds, tolerance: -1.0 };
        let settings = ProtocolSettings { stop, check_every: 2, ..ProtocolSettings::default() };
        let options = Options {
            listen: Some(inside[place].clone()),
            tick: Duration::from_millis(50),
            ..Options::new(folder.path().join(format!("state{place}")), settings)
        };
        let mut said = String::new();
        let outcome = agent::run(&bundle, method, views, &options, &mut |status| {
            said.push_str(&serde_json::to_string(status).unwrap());
            said.push_str(&status.line());
            ControlFlow::Continue(())
        });
        assert!(outcome.unwrap().finished);
        said
    };
    let said: Vec<String> = std::thread::scope(|scope| {
        let parts = [0, 1].map(|place| scope.spawn(move || part(place)));
        parts.into_iter().map(|part| part.join().unwrap()).collect()
    });
    let all = heard.lock().unwrap().clone();
    assert!(all.len() > 1000, "the tap has heard something");
    (all, said.concat().into_bytes(), manifest)
}

pub(crate) fn relax() -> FedRelax {
    FedRelax { alpha: 0.5, ..FedRelax::default() }
}

#[test]
fn a_hundred_thousand_canaries_stay_at_home() {
    let count = 100_000 / NODES / (COLUMNS + 1);
    let model: Arc<dyn LocalModel> = Arc::new(Linear { ridge: 0.01, intercept: true });
    let search = Search::new(count);
    assert_eq!(search.hits(&leaving(&relax(), &model, count, 20)), 0);
    let coupled = PrimalDual { alpha: 0.1, ..PrimalDual::default() };
    assert_eq!(search.hits(&leaving(&coupled, &model, count, 20)), 0, "total variation");
    let (start, budget) = (Start::Local, Budget::Half);
    let probing = PersFl { candidates: 2, start, budget, ..PersFl::default() };
    assert_eq!(search.hits(&leaving(&probing, &model, count, 20)), 0, "probes");
}

#[test]
fn no_model_and_no_method_lets_a_canary_out() {
    let count = 100;
    let search = Search::new(count);
    let floor = 5.0 / count as f64 - 1e-12;
    let models: [Arc<dyn LocalModel>; 8] = [
        Arc::new(Linear { ridge: 0.01, intercept: true }),
        Arc::new(Tree { max_depth: 6, min_leaf_weight: floor }),
        Arc::new(Forest { trees: 5, min_leaf_weight: floor, ..Forest::default() }),
        Arc::new(Boosting { trees: 5, min_leaf_weight: floor, ..Boosting::default() }),
        Arc::new(Neighbours { k: 5, ..Neighbours::default() }),
        Arc::new(KernelRidge::default()),
        Arc::new(Perceptron { epochs: 3, ..Perceptron::default() }),
        Arc::new(Mean),
    ];
    for model in &models {
        assert_eq!(search.hits(&leaving(&relax(), model, count, 4)), 0, "{model:?}");
    }
    let linear = &models[0];
    let coupled = PrimalDual { alpha: 0.1, ..PrimalDual::default() };
    assert_eq!(search.hits(&leaving(&coupled, linear, count, 8)), 0);
    for probe in [Probe::Gradient, Probe::Proximal, Probe::Refit] {
        let (start, budget) = (Start::Local, Budget::Half);
        let probing = PersFl { probe, candidates: 2, start, budget, ..PersFl::default() };
        assert_eq!(search.hits(&leaving(&probing, linear, count, 6)), 0, "{probe:?}");
    }
}

#[test]
fn no_other_kind_of_model_lets_a_canary_out() {
    let count = 100;
    let search = Search::new(count);
    let floor = 5.0 / count as f64 - 1e-12;
    let forest = Forest { trees: 5, min_leaf_weight: floor, ..Forest::default() };
    // As wide and as stiff as a site asks for: no row has more than a fifth part in a prediction.
    let wide = Kernel::Gaussian { width: 2.0 };
    let models: [(Arc<dyn LocalModel>, Target); 9] = [
        (Arc::new(ElasticNet::default()), Target::Numbers),
        (Arc::new(Huber::default()), Target::Numbers),
        (Arc::new(Quantile::default()), Target::Numbers),
        (Arc::new(Poisson::default()), Target::Counts),
        (Arc::new(Logistic::default()), Target::Classes),
        (Arc::new(GraphicalLasso::default()), Target::Numbers),
        (Arc::new(ExtraTrees(forest)), Target::Numbers),
        (Arc::new(Smoother { kernel: wide, ..Smoother::default() }), Target::Numbers),
        (
            Arc::new(KernelRidge { kernel: wide, ridge: 1.0, ..KernelRidge::default() }),
            Target::Numbers,
        ),
    ];
    for (model, target) in &models {
        let all = leaving_of(&relax(), (model, *target), count, 4);
        assert_eq!(search.hits(&all), 0, "{model:?}");
    }
    let coupled = PrimalDual { alpha: 0.1, ..PrimalDual::default() };
    assert_eq!(search.hits(&leaving(&coupled, &models[1].0, count, 8)), 0, "weights of Huber");
    let (start, budget) = (Start::Local, Budget::Half);
    let probe = Probe::Gradient;
    let probing = PersFl { probe, candidates: 2, start, budget, ..PersFl::default() };
    let logistic = leaving_of(&probing, (&models[4].0, Target::Classes), count, 6);
    assert_eq!(search.hits(&logistic), 0, "probes of logistic regression");
}

#[test]
fn planted_leaks_are_caught() {
    let count = 100;
    let search = Search::new(count);
    let grown: Arc<dyn LocalModel> = Arc::new(Tree { max_depth: 30, min_leaf_weight: 0.0 });
    assert!(search.hits(&leaving(&relax(), &grown, count, 2)) > 0, "a fully grown tree");
    let nearest: Arc<dyn LocalModel> = Arc::new(Neighbours { k: 1, ..Neighbours::default() });
    assert!(search.hits(&leaving(&relax(), &nearest, count, 2)) > 0, "the nearest neighbour");
    let narrow = Kernel::Gaussian { width: 0.05 };
    let smoother: Arc<dyn LocalModel> =
        Arc::new(Smoother { kernel: narrow, ..Smoother::default() });
    assert!(search.hits(&leaving(&relax(), &smoother, count, 2)) > 0, "a narrow smoother");
    let row = rows(2, count)[40];
    assert!(search.hits(format!("bad row {row:?}").as_bytes()) > 0, "a row in a log line");
    assert!(search.hits(format!("label {:.9}", row[COLUMNS]).as_bytes()) > 0, "a label");
    for (place, bytes) in encodings(&row).iter().enumerate() {
        let text = [b"noise".as_slice(), bytes, b"noise"].concat();
        assert!(bytes.len() < 7 || search.hits(&text) > 0, "encoding {place}");
    }
}
