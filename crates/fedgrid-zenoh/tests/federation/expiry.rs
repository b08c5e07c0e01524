//! A certificate that ends while a federation is at work ends the work, with a sentence; what was learnt
//! is kept.

use std::{sync::Arc, time::Duration};

use fedgrid::{
    data::{Dataset, Features, Labels},
    method::FedRelax,
    model::{Linear, LocalModel},
    network::{Node, View, path},
    observe::Stop,
    runtime::protocol::{LARGEST, Settings},
};
use fedgrid_zenoh::{
    Error,
    agent::{self, Flow, Options, Status},
    identity::now,
    kit::{Kit, Shared},
    manifest::{Link, Shape},
    provision::{Federation, Site},
};

use crate::scene::free_address;

fn views() -> Vec<View> {
    let names: Arc<[String]> = ["x".to_string()].into();
    let public = Arc::new(Features::new(names.clone(), vec![-1.0, 1.0]).unwrap());
    let model: Arc<dyn LocalModel> = Arc::new(Linear { ridge: 0.1, intercept: false });
    let node = |id: usize| {
        let features = Features::new(names.clone(), vec![0.5, 1.0]).unwrap();
        let labels = Labels::values(vec![id as f64, 1.0]);
        let data = Dataset::new(features, labels).unwrap().with_total_weight(1.0);
        Node { id, data, model: model.clone(), public: public.clone() }
    };
    path(2).unwrap().views(vec![node(0), node(1)]).unwrap()
}

#[test]
fn a_certificate_that_ends_at_work_is_named_and_the_state_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let site = |place: u32| Site {
        name: format!("p{place}"),
        address: Some(free_address()),
        nodes: vec![place],
    };
    let federation = Federation {
        project: "short",
        shared: &Shared::default(),
        nodes: &["a".to_string(), "b".to_string()],
        edges: vec![(0, 1, 1.0)],
        sites: &[site(0), site(1)],
        link: Link::Quic,
        router: None,
        shape: Shape { features: 1, outputs: 1, points: 2 },
        checkpoint_every: 1,
        largest_number: LARGEST,
        validity: (now() - 60, now() + 8),
    };
    federation.write(folder.path()).unwrap();
    let folder = &folder;
    let part = move |place: usize| {
        let kit = Kit::read(&folder.path().join(format!("kits/p{place}")), now()).unwrap();
        let own = views().into_iter().filter(|view| view.node.id == place).collect();
        let stop = Stop { rounds: 1_000_000_000, tolerance: -1.0 };
        let settings = Settings { stop, look: 0, ..Settings::default() };
        let state = folder.path().join(format!("state{place}"));
        let options =
            Options { tick: Duration::from_millis(50), ..Options::new(state.clone(), settings) };
        let method = FedRelax { alpha: 0.5, ..FedRelax::default() };
        let (mut last, late) = (0, now() + 60);
        let mut tell = |status: &Status| {
            last = status.round;
            if now() > late { Flow::Stop } else { Flow::Continue }
        };
        let ended = agent::run(&kit, &method, own, &options, &mut tell).map(|_| ());
        assert!(last > 5, "it was at work");
        let Err(Error::Certificate { found }) = ended else { panic!("{ended:?}") };
        assert!(found.contains("expired"), "{found}");
        let kept = std::fs::read_dir(state).unwrap().flatten().map(|entry| entry.path());
        let kept = kept.filter(|path| path.join("state-a").exists()).count();
        assert_eq!(kept, 1, "the state of the run is there");
        assert!(Kit::read(&kit.folder, now()).is_err(), "it does not begin again");
    };
    std::thread::scope(|scope| [0, 1].map(|place| scope.spawn(move || part(place))).map(drop));
}
