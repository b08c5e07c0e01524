//! How many rounds sites take to choose a strength and to fit at it, beside a fit at that strength, on the bundled
//! network of weather stations.

#![expect(clippy::print_stdout, reason = "what was counted is told with --nocapture")]

use std::path::Path;

use fedgrid::{
    compare::{Contestant, RunsFederated, Study, TuningBudget, Unwatched},
    method::{Durable, Message, Method, Participant, TriedStrength},
    network::NodeId,
};
use fedgrid_lab::{assembly::Assembly, experiment::Experiment};

/// A federation checks every ten rounds whether to stop.
const CHECK_EVERY: usize = 10;

fn study() -> Study {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/colorado/colorado.toml");
    let (mut table, base, _) = Experiment::opened(Some(&path)).unwrap();
    for set in ["method.kind=fedrelax", "model.ridge=1e-6"] {
        Experiment::set(&mut table, set).unwrap();
    }
    Assembly::new(&Experiment::from_table(table, "").unwrap(), &base).unwrap().study
}

/// What a run has come to.
struct Ended {
    rounds: usize,
    /// From node to node.
    bytes: usize,
    strength: Option<f64>,
    tried: Vec<TriedStrength>,
    /// After which round the strength was known.
    known: usize,
}

/// Runs to the tolerance of the study, at the checks of a federation.
struct Rounds<'a>(&'a Study);

impl RunsFederated for Rounds<'_> {
    type Output = Ended;

    fn run<M: Method<Participant: Durable>>(self, method: &M) -> Ended {
        let Self(study) = self;
        let stop = study.settings.runtime.stop;
        let views = study.network.views(study.nodes(None)).unwrap();
        let mut nodes: Vec<_> = views.into_iter().map(|view| method.join(view).unwrap()).collect();
        let mut ended = Ended { rounds: 0, bytes: 0, strength: None, tried: Vec::new(), known: 0 };
        loop {
            let mut inboxes: Vec<Vec<(NodeId, _)>> = vec![Vec::new(); nodes.len()];
            for (from, node) in nodes.iter_mut().enumerate() {
                for (to, message) in node.send() {
                    ended.bytes += message.bytes();
                    inboxes[to].push((from, message));
                }
            }
            for (node, inbox) in nodes.iter_mut().zip(&inboxes) {
                node.receive(inbox).unwrap();
            }
            ended.rounds += 1;
            let reports = nodes.iter().map(Participant::report);
            let (change, size) =
                reports.fold((0.0, 0.0), |sum, own| (sum.0 + own.change, sum.1 + own.size));
            if ended.known == 0 && nodes[0].strength().is_some() {
                ended.known = ended.rounds;
            }
            let is_checked = ended.rounds.is_multiple_of(CHECK_EVERY);
            if is_checked && (change / size).sqrt() <= stop.tolerance {
                break;
            }
            assert!(ended.rounds < 2000, "not at rest");
        }
        (ended.strength, ended.tried) = (nodes[0].strength(), nodes[0].tried_strengths().to_vec());
        ended
    }
}

#[test]
fn choosing_and_fitting_take_at_most_three_times_the_rounds_of_a_fit_at_the_strength() {
    let mut study = study();
    let all: Vec<NodeId> = (0..study.network.len()).collect();
    let budget = TuningBudget::of(&study.network, &*study.settings.method, false).unwrap();
    let tuned = study.at_sites(&all, budget.most_rounds).unwrap().apply(Rounds(&study));
    for one in &tuned.tried {
        println!("{one:?}");
    }
    let card = study.tune(Contestant::Network, &Unwatched).unwrap();
    study.settings.alpha = tuned.strength;
    let fixed = study.at_sites(&all, 0).unwrap().apply(Rounds(&study));
    println!(
        "{} rounds of which {} to choose {:?}, {} bytes; {} rounds, {} bytes at the strength; {budget:?}",
        tuned.rounds, tuned.known, tuned.strength, tuned.bytes, fixed.rounds, fixed.bytes
    );
    assert_eq!(tuned.strength, Some(card.strength.alpha));
    assert!(tuned.rounds <= 3 * fixed.rounds, "{} beside {}", tuned.rounds, fixed.rounds);
}
