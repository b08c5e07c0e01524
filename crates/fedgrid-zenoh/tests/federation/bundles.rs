//! A round that no frame can hold ends a run with a sentence; it is not waited for.

use std::{
    ops::ControlFlow,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use fedgrid::{
    data::{Dataset, Features, Labels},
    method::FedRelax,
    model::{LocalModel, Mean},
    network::{Node, View, path},
    observe::Stop,
    runtime::protocol::{DEFAULT_LARGEST_NUMBER, ProtocolSettings},
};
use fedgrid_zenoh::{
    Error,
    agent::{self, Options, Status},
    frame::LARGEST_FRAME_BYTES,
    identity::now,
    manifest::{LinkProtocol, SharedSizes},
    provision::{Federation, Site},
    site_bundle::{SharedFiles, SiteBundle},
};

use crate::scene::free_address;

/// One more prediction than fits.
const POINTS: usize = LARGEST_FRAME_BYTES / 8;

fn views() -> Vec<View> {
    let names: Arc<[String]> = ["x".to_string()].into();
    let public = Arc::new(Features::new(names.clone(), vec![0.0; POINTS]).unwrap());
    let model: Arc<dyn LocalModel> = Arc::new(Mean);
    let node = |id: usize| {
        let features = Features::new(names.clone(), vec![0.0, 1.0]).unwrap();
        let labels = Labels::values(vec![id as f64, 1.0]);
        let data = Dataset::new(features, labels).unwrap().with_total_weight(1.0);
        Node { id, data, model: model.clone(), public: public.clone() }
    };
    path(2).unwrap().views(vec![node(0), node(1)]).unwrap()
}

#[test]
fn a_round_above_the_cap_is_an_error_that_says_what_would_do() {
    let folder = tempfile::tempdir().unwrap();
    let site = |place: u32| Site {
        name: format!("p{place}"),
        address: Some(free_address()),
        nodes: vec![place],
    };
    let federation = Federation {
        project: "large",
        shared: &SharedFiles::default(),
        nodes: &["a".to_string(), "b".to_string()],
        edges: vec![(0, 1, 1.0)],
        sites: &[site(0), site(1)],
        link: LinkProtocol::Tcp,
        router: None,
        shape: SharedSizes { features: 1, outputs: 1, points: u32::try_from(POINTS).unwrap() },
        checkpoint_every: 1,
        largest_number: DEFAULT_LARGEST_NUMBER,
        validity: (now() - 60, now() + 3600),
    };
    federation.write(folder.path()).unwrap();
    let over = AtomicBool::new(false);
    let (over, folder) = (&over, &folder);
    let part = move |place: usize| {
        let bundle =
            SiteBundle::read(&folder.path().join(format!("kits/p{place}")), now()).unwrap();
        let own = views().into_iter().filter(|view| view.node.id == place).collect();
        let stop = Stop { rounds: 2, tolerance: -1.0 };
        let settings = ProtocolSettings { stop, ..ProtocolSettings::default() };
        let options = Options {
            tick: Duration::from_millis(50),
            ..Options::new(folder.path().join(format!("state{place}")), settings)
        };
        let method = FedRelax { alpha: 0.5, ..FedRelax::default() };
        let mut tell = |_: &Status| {
            if over.load(Ordering::Relaxed) {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        };
        let ended = agent::run(&bundle, &method, own, &options, &mut tell).map(|_| ());
        over.store(true, Ordering::Relaxed);
        (place, ended)
    };
    let ended = std::thread::scope(|scope| {
        [0, 1].map(|place| scope.spawn(move || part(place))).map(|part| part.join().unwrap())
    });
    // The first to speak ends with the error; the other may end before it has anyone to speak to.
    assert!(ended.iter().any(|(_, ended)| ended.is_err()), "{ended:?}");
    for (place, ended) in ended {
        let Err(error) = ended else { continue };
        let Error::TooLarge { name, bytes, cap } = &error else { panic!("{error}") };
        assert_eq!(
            (name.as_str(), *cap),
            (format!("p{}", 1 - place).as_str(), LARGEST_FRAME_BYTES)
        );
        assert!(
            *bytes > LARGEST_FRAME_BYTES && error.to_string().contains("fewer public points"),
            "{error}"
        );
    }
}
