//! Members come and go while a federation runs: whoever stays has the bits of the run, in one process, in which the
//! change happened after the same round.

use std::collections::{BTreeMap, BTreeSet};

use fedgrid::{
    bytes::{Reader, Writer, digest},
    method::{Durable, FedRelax, Method, Participant, PrimalDual},
    network::{Edge, Network, NodeId, View},
    observe::Stop,
    random::{Purpose, Stream},
    runtime::{
        Layout,
        protocol::{BasePlace, Membership, Process, ProtocolSettings},
        simulator::{Change, Digests, Faults, Simulation, SimulationOutcome},
    },
};

use super::setting::{Shape, network};

const SEED: u64 = 3;

fn settings(rounds: usize) -> ProtocolSettings {
    ProtocolSettings {
        stop: Stop { tolerance: -1.0, rounds },
        check_every: 10,
        checkpoint_every: 3,
        keeps_bases: true,
        ..ProtocolSettings::default()
    }
}

/// The nodes and edges of a project, where they are and who is gone.
#[derive(Clone)]
struct Project {
    nodes: usize,
    edges: Vec<Edge>,
    process_of: Vec<usize>,
    gone: BTreeSet<usize>,
    lost: BTreeMap<usize, u64>,
}

impl Project {
    /// Ten nodes in five processes.
    fn new() -> Self {
        let edges = network(10, 2, SEED).edges().to_vec();
        let process_of = (0..10).map(|id| id % 5).collect();
        Self { nodes: 10, edges, process_of, gone: BTreeSet::new(), lost: BTreeMap::new() }
    }

    /// A process with so many nodes, joined to each other in a line and to these.
    fn add(&self, count: usize, neighbours: &[NodeId]) -> Self {
        let mut after = self.clone();
        let process = self.process_of.iter().max().map_or(0, |last| last + 1);
        for id in self.nodes..self.nodes + count {
            let others: &[NodeId] = if id == self.nodes { neighbours } else { &[id - 1] };
            let edge = |&other: &NodeId| Edge { source: other, target: id, weight: 0.8 };
            after.edges.extend(others.iter().map(edge));
            after.process_of.push(process);
        }
        after.nodes += count;
        after
    }

    /// Without a process, which may have crashed for good at some tick.
    fn remove(&self, process: usize, lost_at: Option<u64>) -> Self {
        let mut after = self.clone();
        let is_left = |edge: &Edge| {
            [edge.source, edge.target].iter().all(|&node| self.process_of[node] != process)
        };
        after.edges.retain(is_left);
        after.gone.insert(process);
        after.lost = lost_at.map(|tick| (process, tick)).into_iter().collect();
        after
    }

    fn network(&self) -> Network {
        let names = (0..self.nodes).map(|id| format!("n{id}")).collect();
        Network::new(names, self.edges.iter().copied()).unwrap()
    }

    fn views(&self, shape: &Shape) -> Vec<View> {
        shape.views(&self.network(), 2, SEED)
    }

    fn layout(&self) -> Layout {
        Layout::new(&self.network(), &self.process_of).unwrap()
    }

    fn change(&self, tick: u64, shape: &Shape) -> Change {
        let (gone, lost) = (self.gone.clone(), self.lost.clone());
        Change { tick, views: self.views(shape), layout: self.layout(), gone, lost }
    }
}

/// The runs that follow each other in one process: whose nodes, and from which base.
fn chain(projects: &[Project], bases: &BTreeMap<u64, BasePlace>) -> Vec<(usize, u64)> {
    let mut chain = vec![(projects.len() - 1, bases[&(projects.len() as u64 - 1)].round)];
    let mut place = bases[&(projects.len() as u64 - 1)];
    while place.change > 0 {
        let round = bases[&place.change].round;
        chain.push((usize::try_from(place.change).unwrap(), round));
        place = bases[&place.change];
    }
    chain.push((0, 0));
    chain.reverse();
    chain
}

/// What each node was after each round where members change after these rounds, without any process or protocol.
fn in_one_process<M: Method<Participant: Durable>>(
    method: &M,
    (projects, shape): (&[Project], &Shape),
    chain: &[(usize, u64)],
    rounds: u64,
) -> Digests {
    let snapshot = |participant: &M::Participant| {
        let mut to = Writer::default();
        participant.snapshot(&mut to).unwrap();
        to.into_bytes()
    };
    let mut digests = Digests::new();
    // What the nodes of the run before were after its last round, and their neighbours.
    let mut before: Vec<(Vec<NodeId>, Vec<u8>)> = Vec::new();
    for (place, &(index, from)) in chain.iter().enumerate() {
        let project = &projects[index];
        let views = project.views(shape);
        let ids = |view: &View| view.neighbours.iter().map(|other| other.id).collect::<Vec<_>>();
        let neighbours: Vec<Vec<NodeId>> = views.iter().map(ids).collect();
        let join = |view: View| method.join(view).unwrap();
        let mut nodes: Vec<M::Participant> = views.into_iter().map(join).collect();
        for (id, node) in nodes.iter_mut().enumerate().filter(|_| from > 0) {
            match before.get(id) {
                Some((former, state)) => {
                    node.inherit(former, &mut Reader::new("a state", state)).unwrap();
                }
                None => node.begin_late(),
            }
        }
        let end = chain.get(place + 1).map_or(rounds, |&(_, next)| next);
        for round in from + 1..=end {
            let mut inboxes = vec![Vec::new(); nodes.len()];
            for (id, node) in nodes.iter_mut().enumerate() {
                for (to, message) in node.send() {
                    inboxes[to].push((id, message));
                }
            }
            for (id, (node, inbox)) in nodes.iter_mut().zip(&inboxes).enumerate() {
                node.receive(inbox).unwrap();
                let is_gone = |project: &Project| project.gone.contains(&project.process_of[id]);
                // Who has crashed for good may have done one round less than those who went on.
                let is_last = round == end && is_gone(&projects[projects.len() - 1]);
                if !is_gone(project) && !is_last {
                    digests.insert((round, id), digest(&snapshot(node)));
                }
            }
        }
        before = neighbours.into_iter().zip(nodes.iter().map(snapshot)).collect();
    }
    digests
}

/// The run has ended well, with the bits of one process in which members change after the same rounds.
fn has_the_bits_of_one_process<M: Method<Participant: Durable>>(
    method: &M,
    (projects, shape): (&[Project], &Shape),
    rounds: u64,
    outcome: &SimulationOutcome,
) {
    assert_eq!(outcome.violations, [], "{:?}", outcome.counts);
    let chain = chain(projects, &outcome.bases);
    let expected = in_one_process(method, (projects, shape), &chain, rounds);
    let differ = expected.iter().filter(|(at, value)| outcome.digests.get(at) != Some(value));
    let differ: Vec<_> = differ.map(|(at, _)| at).collect();
    assert!(differ.is_empty(), "{} of {}: {differ:?}", differ.len(), expected.len());
    assert_eq!(outcome.rounds, rounds);
}

/// Everything at once, to the end.
fn storm() -> Faults {
    Faults {
        loss: 0.2,
        duplicate: 0.1,
        delay: 2,
        crash: 0.01,
        down: 6,
        zombie: 0.2,
        backup: 0.2,
        hostile: 0.1,
        until: 1500,
        ..Faults::default()
    }
}

/// A site joins, one crashes for good and is removed, the one that led goes, and a site of two nodes joins while that is
/// still under way.
fn coming_and_going(seed: u64) -> (Vec<Project>, [u64; 4]) {
    let first = Project::new();
    let added = first.add(1, &[0, 4, 7]);
    let begun = 60 + 13 * (seed % 7);
    let lost = added.remove(3, Some(begun + 200));
    let left = lost.remove(0, None);
    let last = left.add(2, &[6, 9]);
    (vec![first, added, lost, left, last], [begun, begun + 290, begun + 420, begun + 424])
}

fn twenty_seeds<M: Method<Participant: Durable>>(method: &M) {
    let shape = Shape::default();
    let rounds = 300;
    let (mut crashes, mut went_back, mut skipped) = (0, 0, 0);
    for seed in 0..20 {
        let (projects, ticks) = coming_and_going(seed);
        let later = projects[1..].iter().zip(ticks);
        let changes: Vec<Change> =
            later.map(|(project, tick)| project.change(tick, &shape)).collect();
        let (views, layout, faults) = (projects[0].views(&shape), projects[0].layout(), storm());
        let undisturbed = Simulation::new(method, &views, &layout).with_settings(settings(300));
        let simulation = Simulation {
            faults: &faults,
            takes_digests: true,
            stops_at_violation: true,
            changes: &changes,
            ..undisturbed
        };
        let outcome = simulation.run(seed).unwrap();
        assert!(outcome.bases.contains_key(&4), "seed {seed}: {:?}", outcome.bases);
        has_the_bits_of_one_process(method, (&projects, &shape), rounds, &outcome);
        crashes += outcome.counts.crashes;
        went_back += outcome.counts.rollbacks;
        skipped += usize::from(chain(&projects, &outcome.bases).len() < 5);
    }
    assert!(crashes > 1000 && went_back > 20, "{crashes} crashes, {went_back} old backups");
    // A change that comes while the one before it is under way takes its place, now and then.
    assert!(skipped > 0, "no change came in the middle of another");
}

#[test]
fn members_of_fedrelax_come_and_go_in_300_rounds_of_faults_and_change_no_bit_of_the_others() {
    twenty_seeds(&FedRelax { alpha: 0.5, ..FedRelax::default() });
}

#[test]
fn members_of_gtv_come_and_go_in_300_rounds_of_faults_and_change_no_bit_of_the_others() {
    twenty_seeds(&PrimalDual { alpha: 0.1, ..PrimalDual::default() });
}

/// A run without faults of the first of some projects, in which members change to the others.
fn calm<M: Method<Participant: Durable>>(
    method: &M,
    (projects, shape): (&[Project], &Shape),
    ticks: &[u64],
) -> SimulationOutcome {
    let later = projects[1..].iter().zip(ticks);
    let changes: Vec<_> = later.map(|(project, &tick)| project.change(tick, shape)).collect();
    let (views, layout) = (projects[0].views(shape), projects[0].layout());
    let simulation = Simulation::new(method, &views, &layout).with_settings(settings(3000));
    Simulation { changes: &changes, ..simulation }.run(1).unwrap()
}

fn ends_where_those_end_who_were_there_from_the_beginning<M: Method<Participant: Durable>>(
    method: &M,
) {
    let shape = Shape::default();
    let (projects, ticks) = coming_and_going(0);
    let last = &projects[4];
    let changed = calm(method, (&projects, &shape), &ticks);
    let fresh = calm(method, (&projects[4..], &shape), &[]);
    let views = last.views(&shape);
    for node in (0..last.nodes).filter(|&node| !last.gone.contains(&last.process_of[node])) {
        let predictions = |outcome: &SimulationOutcome| {
            let own = outcome.hypotheses[node].as_ref().unwrap();
            own.predict(&views[node].node.public).as_slice().to_vec()
        };
        for (a, b) in predictions(&changed).iter().zip(predictions(&fresh)) {
            assert!((a - b).abs() < 1e-6 * (1.0 + b.abs()), "node {node}: {a} and {b}");
        }
    }
}

#[test]
fn members_that_come_and_go_lead_to_the_models_of_those_who_are_there_at_the_end() {
    let relax = FedRelax { alpha: 0.5, ..FedRelax::default() };
    ends_where_those_end_who_were_there_from_the_beginning(&relax);
    let total = PrimalDual { alpha: 0.1, ..PrimalDual::default() };
    ends_where_those_end_who_were_there_from_the_beginning(&total);
}

#[test]
fn a_new_node_is_silent_for_a_round_and_then_where_its_neighbours_lead_it() {
    let shape = Shape::default();
    let project = Project::new().add(1, &[2]);
    let view = project.views(&shape).pop().unwrap();
    let method = FedRelax { alpha: 0.5, ..FedRelax::default() };
    let neighbour = project.views(&shape).swap_remove(2);
    let mut known = method.join(neighbour).unwrap();
    let message = known.send().into_iter().find(|(to, _)| *to == 10).unwrap().1;
    let (mut late, mut early) = (method.join(view.clone()).unwrap(), method.join(view).unwrap());
    late.begin_late();
    assert!(late.send().is_empty() && !early.send().is_empty());
    for node in [&mut late, &mut early] {
        node.receive(&[(2, message.clone())]).unwrap();
    }
    let saved = |node: &<FedRelax as Method>::Participant| node.hypothesis().unwrap().save();
    assert_eq!(saved(&late), saved(&early));
    assert!(!late.send().is_empty());
}

#[test]
fn methods_that_cannot_go_on_among_others_say_so() {
    let project = Project::new();
    let (views, layout) = (project.views(&Shape::default()), project.layout());
    let own = &layout.assignments()[0];
    let views: Vec<View> = own.nodes.iter().map(|&node| views[node].clone()).collect();
    let made = |settings: ProtocolSettings| {
        let method = FedRelax::default();
        let process = Process::new(&method, views.clone(), own, settings).unwrap();
        process.among(Membership { change: 1, ..Membership::default() }).map(|_| ())
    };
    assert!(made(settings(10)).is_ok());
    let without_checks = made(ProtocolSettings { check_every: 0, ..settings(10) }).unwrap_err();
    assert!(without_checks.to_string().contains("a change of members"), "{without_checks}");
    assert!(made(ProtocolSettings { keeps_bases: false, ..settings(10) }).is_err());
}

/// Sites in a ring, each joined to two more that are drawn; every change takes some away and adds some.
fn ten_thousand(count: usize) -> Vec<Project> {
    let mut stream = Stream::new(SEED, 0, 0, Purpose::Network);
    let mut edges = BTreeMap::new();
    for id in 0..count {
        let others = std::iter::once((id + 1) % count).chain((0..2).map(|_| stream.index(count)));
        for other in others.filter(|&other| other != id).collect::<Vec<_>>() {
            let (source, target) = (id.min(other), id.max(other));
            edges.insert((source, target), Edge { source, target, weight: 1.0 });
        }
    }
    let first = Project {
        nodes: count,
        edges: edges.into_values().collect(),
        process_of: (0..count).collect(),
        gone: BTreeSet::new(),
        lost: BTreeMap::new(),
    };
    let mut projects = vec![first];
    for change in 0..4 {
        let mut project = projects[change].clone();
        let (from, to) = (change * count / 50, (change + 1) * count / 50);
        let is_gone = |node: usize| (from..to).contains(&node);
        project.edges.retain(|edge| !is_gone(edge.source) && !is_gone(edge.target));
        project.gone.extend(from..to);
        for _ in 0..count / 50 {
            let others: BTreeSet<usize> = (0..3).map(|_| to + stream.index(count - to)).collect();
            project = project.add(1, &others.into_iter().collect::<Vec<_>>());
        }
        projects.push(project);
    }
    projects
}

fn sites_come_and_go_in_a_large_federation(count: usize) {
    let shape = Shape { rows: 4, points: 2, ..Shape::default() };
    let projects = ten_thousand(count);
    let ticks = [18, 36, 54, 72];
    let later = projects[1..].iter().zip(ticks);
    let changes: Vec<Change> = later.map(|(project, tick)| project.change(tick, &shape)).collect();
    let faults = Faults { loss: 0.01, crash: 1e-4, until: 60, ..Faults::default() };
    let (views, layout) = (projects[0].views(&shape), projects[0].layout());
    let method = FedRelax { alpha: 0.5, ..FedRelax::default() };
    let simulation = Simulation::new(&method, &views, &layout);
    let simulation = simulation.with_settings(ProtocolSettings { check_every: 4, ..settings(28) });
    let simulation = Simulation {
        faults: &faults,
        takes_digests: true,
        stops_at_violation: true,
        changes: &changes,
        ..simulation
    };
    let outcome = simulation.run(1).unwrap();
    assert!(outcome.bases.contains_key(&4), "{:?}", outcome.bases);
    has_the_bits_of_one_process(&method, (&projects, &shape), 28, &outcome);
}

#[test]
fn four_hundred_sites_of_whom_many_come_and_go_have_the_bits_of_one_process() {
    sites_come_and_go_in_a_large_federation(400);
}

#[test]
#[ignore = "takes minutes; part of make soak"]
fn ten_thousand_sites_of_whom_many_come_and_go_have_the_bits_of_one_process() {
    sites_come_and_go_in_a_large_federation(10_000);
}
