//! Injected bugs: the simulator must find each of them within a thousand seeds, and nothing without.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use super::{Change, Digests, Faults, Simulation, Violation, disk::Disk, run::SimulationRun};
use crate::{
    bytes::Reader,
    data::{Dataset, Features, Labels},
    error::Result,
    method::{
        Durable, FedRelax, Method, PersFl, PrimalDual, TriedStrength, TunedAtSites,
        persfl::Budget,
        tuned::{StrengthPath, Tuning},
    },
    metric::Metric,
    model::Linear,
    network::{Network, Node, NodeId, View, complete},
    observe::Stop,
    random::{Purpose, Stream},
    runtime::{
        Layout,
        protocol::{
            Frame, FrameKind, ProtocolSettings, Reason, RoundMode, Slot,
            frame::SentPayloads,
            rules::{Admission, KnownPeer, Rules, SoundRules},
        },
    },
};

/// A broken rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum InjectedBug {
    /// Frames of older epochs are accepted.
    OldEpochs,
    /// Frames of a copy with the same epoch are accepted.
    Copies,
    /// A durable round that has fallen is not noticed.
    Rollbacks,
    /// The epoch is the same at every start.
    SameEpoch,
    /// Frames leave before the epoch is durable.
    SendBeforeEpoch,
    /// Frames of a round leave before the round is durable.
    SendBeforeDurable,
    /// A round is reported as durable before it is.
    EarlyDurable,
    /// Messages are taken in the order in which they came.
    ArrivalOrder,
    /// What is sent again differs a little.
    FreshNoise,
    /// The last frame that came counts, of whatever round.
    AnyRound,
    /// Payloads are forgotten when the own round is durable, though a neighbour may need them.
    EarlyForgetting,
    /// Checkpoints do not hold what may have to be sent again.
    NothingToResend,
    /// Whoever has little change in its own nodes stops.
    StopAlone,
    /// Sums that come twice count twice.
    SumsTwice,
    /// A restored node has forgotten its damping and its targets, its duals, or its ledger.
    Forgetful,
    /// A message that comes late replaces a newer one.
    AnyAge,
}

impl Rules for InjectedBug {
    fn admit(&self, known: &KnownPeer, frame: &Frame) -> Admission {
        match (self, SoundRules.admit(known, frame)) {
            (Self::OldEpochs, Admission::Refused(Reason::OldEpoch { .. }))
            | (Self::Copies, Admission::Refused(Reason::Copy)) => Admission::Accepted,
            (Self::Rollbacks, Admission::Refused(Reason::Rollback { .. })) => {
                Admission::Newcomer(frame.sender())
            }
            (_, sound) => sound,
        }
    }

    fn next_epoch(&self, last: u64) -> u64 {
        if *self == Self::SameEpoch { last.max(1) } else { last + 1 }
    }

    fn waits_for(&self, slot: Slot) -> bool {
        match slot {
            Slot::Identity => *self != Self::SendBeforeEpoch,
            Slot::State => *self != Self::SendBeforeDurable,
            Slot::Bases => true,
        }
    }

    fn durable_while_writing(&self, durable: u64, written: u64) -> u64 {
        if *self == Self::EarlyDurable { written } else { durable }
    }

    fn forget_when_durable<'a>(
        &self,
        round: u64,
        sent: impl Iterator<Item = &'a mut SentPayloads>,
    ) {
        if *self == Self::EarlyForgetting {
            sent.for_each(|sent| sent.retain(|(of, _), _| *of > round));
        }
    }

    fn restore_sent(&self, sent: SentPayloads) -> SentPayloads {
        if *self == Self::NothingToResend { SentPayloads::new() } else { sent }
    }

    fn restore<P: Durable>(&self, participant: &mut P, from: Reader<'_>) -> Result<()> {
        if *self == Self::Forgetful { Ok(()) } else { SoundRules.restore(participant, from) }
    }

    fn resend(&self, kind: FrameKind, payload: &[u8]) -> Vec<u8> {
        let mut payload = payload.to_vec();
        if *self == Self::FreshNoise && kind == FrameKind::State && payload.len() > 12 {
            payload[4] ^= 1;
        }
        payload
    }

    fn round_of(&self, named: u64, next: u64) -> u64 {
        if *self == Self::AnyRound { next } else { named }
    }

    fn is_unchanged(&self, before: u64, now: u64) -> bool {
        before == now || *self == Self::AnyRound
    }

    fn link_order(&self, accepted_frames: &[u64]) -> Vec<usize> {
        let mut order = SoundRules.link_order(accepted_frames);
        if *self == Self::ArrivalOrder {
            order.sort_by_key(|&link| accepted_frames[link]);
        }
        order
    }

    fn sort_inbox<M>(&self, inbox: &mut [(NodeId, M)]) {
        if *self != Self::ArrivalOrder {
            SoundRules.sort_inbox(inbox);
        }
    }

    fn is_newer(&self, latest: (u64, u64), now: (u64, u64)) -> bool {
        now > latest || *self == Self::AnyAge
    }

    fn times_counted(&self, accepted_frames: u64) -> usize {
        1 + usize::from(*self == Self::SumsTwice && accepted_frames.is_multiple_of(2))
    }

    fn stops_alone(&self, is_own_reached: impl FnOnce() -> bool) -> bool {
        *self == Self::StopAlone && is_own_reached()
    }
}

const NODES: usize = 5;

fn views() -> (Vec<View>, Layout) {
    let network = complete(NODES).unwrap();
    let names: Arc<[String]> = ["a", "b"].map(String::from).into();
    let features = |node: usize, rows: usize, purpose: Purpose| {
        let mut stream = Stream::new(9, node, 0, purpose);
        let values = (0..2 * rows).map(|_| stream.normal()).collect();
        Features::new(names.clone(), values).unwrap()
    };
    let public = Arc::new(features(0, 3, Purpose::Public));
    let node = |id: usize| {
        let x = features(id, 4, Purpose::Data);
        let y = x.iter().map(|x| x[0] * id as f64 - x[1] + 0.1).collect();
        let data = Dataset::new(x, Labels::values(y)).unwrap();
        let model = Arc::new(Linear { ridge: 0.01, intercept: false });
        Node { id, data, model, public: public.clone() }
    };
    let views = network.views((0..NODES).map(node).collect()).unwrap();
    (views, Layout::apart(&network).unwrap())
}

/// What goes wrong while bugs are sought.
fn faults() -> Faults {
    Faults {
        loss: 0.1,
        duplicate: 0.05,
        delay: 2,
        crash: 0.03,
        down: 6,
        zombie: 0.3,
        backup: 0.3,
        hostile: 0.1,
        until: 80,
        ..Faults::default()
    }
}

fn settings(mode: RoundMode) -> ProtocolSettings {
    let stop = Stop { tolerance: 1e-3, rounds: 20 };
    ProtocolSettings {
        mode,
        stop,
        check_every: 4,
        checkpoint_every: 2,
        ..ProtocolSettings::default()
    }
}

/// Runs seeds until a promise is broken; how many it took, and what was found.
fn caught<M: Method<Participant: Durable>>(
    method: &M,
    mode: RoundMode,
    seeds: u64,
    (rules, disk): (impl Rules, Disk),
) -> Option<(u64, Violation)> {
    let (views, layout) = views();
    let undisturbed = Simulation::new(method, &views, &layout).with_settings(settings(mode));
    let expected: Digests = match mode {
        RoundMode::Synchronous => {
            Simulation { takes_digests: true, ..undisturbed }.run(0).unwrap().digests
        }
        RoundMode::Asynchronous { .. } => Digests::new(),
    };
    let faults = faults();
    let simulation = Simulation {
        faults: &faults,
        deadline: 700,
        takes_digests: true,
        stops_at_violation: true,
        expected: Some(&expected),
        ..undisturbed
    };
    (0..seeds).find_map(|seed| {
        let run = SimulationRun::new(&simulation, seed, rules.clone(), disk.clone());
        run.run().unwrap().violations.into_iter().next().map(|violation| (seed + 1, violation))
    })
}

const LATE: RoundMode = RoundMode::Asynchronous { staleness: Some(30) };

#[test]
fn without_an_injected_bug_no_promise_is_broken() {
    let fedrelax = FedRelax { alpha: 0.3, ..FedRelax::default() };
    let primal_dual = PrimalDual { alpha: 0.1, ..PrimalDual::default() };
    let persfl = PersFl { candidates: 2, budget: Budget::Half, ..PersFl::default() };
    for mode in [RoundMode::Synchronous, LATE] {
        assert_eq!(caught(&fedrelax, mode, 60, (SoundRules, Disk::default())), None, "{mode:?}");
        assert_eq!(caught(&primal_dual, mode, 60, (SoundRules, Disk::default())), None, "{mode:?}");
    }
    assert_eq!(caught(&persfl, RoundMode::Synchronous, 60, (SoundRules, Disk::default())), None);
}

#[test]
fn every_injected_bug_is_caught_within_a_thousand_seeds() {
    let fedrelax = FedRelax { alpha: 0.3, ..FedRelax::default() };
    let synchronous = [
        InjectedBug::OldEpochs,
        InjectedBug::Copies,
        InjectedBug::Rollbacks,
        InjectedBug::SameEpoch,
        InjectedBug::SendBeforeEpoch,
        InjectedBug::SendBeforeDurable,
        InjectedBug::EarlyDurable,
        InjectedBug::ArrivalOrder,
        InjectedBug::FreshNoise,
        InjectedBug::AnyRound,
        InjectedBug::EarlyForgetting,
        InjectedBug::NothingToResend,
        InjectedBug::StopAlone,
        InjectedBug::SumsTwice,
        InjectedBug::Forgetful,
    ];
    for bug in synchronous {
        let found = caught(&fedrelax, RoundMode::Synchronous, 1000, (bug, Disk::default()));
        assert!(found.is_some(), "{bug:?} was not caught");
    }
    let late = caught(&fedrelax, LATE, 1000, (InjectedBug::AnyAge, Disk::default()));
    assert!(late.is_some(), "a message that went back was not caught");
    let sync = caught(&fedrelax, RoundMode::Synchronous, 1000, (SoundRules, Disk::unsynced()));
    assert!(sync.is_some(), "a disk that forgets was not caught");
}

#[test]
fn a_ledger_and_duals_that_are_forgotten_are_caught() {
    let forget = || (InjectedBug::Forgetful, Disk::default());
    let persfl = PersFl { candidates: 2, budget: Budget::Half, ..PersFl::default() };
    let found = caught(&persfl, RoundMode::Synchronous, 1000, forget());
    assert!(found.is_some(), "a forgotten ledger was not caught");
    let primal_dual = PrimalDual { alpha: 0.1, ..PrimalDual::default() };
    let found = caught(&primal_dual, RoundMode::Synchronous, 1000, forget());
    assert!(found.is_some(), "forgotten duals were not caught");
}

/// FedRelax at a strength of two that the nodes choose on their own rows.
fn tuned() -> TunedAtSites<FedRelax> {
    #[derive(Debug)]
    struct Two;
    impl StrengthPath for Two {
        fn next(&self, tried: &[TriedStrength]) -> Vec<f64> {
            if tried.is_empty() { vec![0.1, 0.6] } else { Vec::new() }
        }
        fn best(&self, tried: &[TriedStrength]) -> f64 {
            let best = tried.iter().min_by(|a, b| a.error.total_cmp(&b.error));
            best.expect("some were tried").alpha
        }
    }
    let (views, _) = views();
    let validation = views.iter().map(|view| (view.node.id, view.node.data.clone()));
    let tuning = Tuning {
        path: Arc::new(Two),
        metric: Metric::Mse,
        validation: validation.collect(),
        tolerance: 1e-1,
        rounds_each: 2,
        most_rounds: 18,
    };
    TunedAtSites::new(FedRelax::default(), &complete(NODES).unwrap(), tuning).unwrap()
}

#[test]
fn sums_and_orders_that_are_forgotten_or_come_from_old_backups_are_caught() {
    let synchronous = RoundMode::Synchronous;
    assert_eq!(caught(&tuned(), synchronous, 60, (SoundRules, Disk::default())), None);
    for bug in [InjectedBug::Forgetful, InjectedBug::Rollbacks, InjectedBug::AnyRound] {
        let found = caught(&tuned(), synchronous, 1000, (bug, Disk::default()));
        assert!(found.is_some(), "{bug:?} was not caught");
    }
    let sync = caught(&tuned(), synchronous, 1000, (SoundRules, Disk::unsynced()));
    assert!(sync.is_some(), "a disk that forgets was not caught");
}

#[test]
fn one_seed_is_one_trace() {
    let (views, layout) = views();
    let (method, faults) = (FedRelax::default(), faults());
    let undisturbed = Simulation::new(&method, &views, &layout);
    let simulation = Simulation { faults: &faults, ..undisturbed }.with_settings(settings(LATE));
    let trace = |seed| simulation.run(seed).unwrap().trace;
    assert_eq!((trace(1), trace(2)), (trace(1), trace(2)));
    assert_ne!(trace(1), trace(2));
}

/// A site is removed while the others may be anywhere between two checks.
fn caught_in_a_change(rules: &impl Rules, seeds: u64) -> Option<(u64, Violation)> {
    let (views, layout) = views();
    let method = FedRelax { alpha: 0.3, ..FedRelax::default() };
    let left = complete(NODES).unwrap();
    let left = left.edges().iter().filter(|edge| edge.target + 1 < NODES).copied();
    let names = (0..NODES).map(|id| id.to_string()).collect();
    let left = Network::new(names, left).unwrap();
    let nodes = views.iter().map(|view| view.node.clone()).collect();
    let faults = Faults { zombie: 0.0, backup: 0.0, hostile: 0.0, ..faults() };
    let settings = ProtocolSettings {
        keeps_bases: true,
        stop: Stop { tolerance: -1.0, rounds: 20 },
        ..settings(RoundMode::Synchronous)
    };
    let undisturbed = Simulation::new(&method, &views, &layout).with_settings(settings);
    let after = left.views(nodes).unwrap();
    (0..seeds).find_map(|seed| {
        let change = Change {
            tick: 12 + seed % 30,
            views: after.clone(),
            layout: Layout::apart(&left).unwrap(),
            gone: BTreeSet::from([NODES - 1]),
            lost: BTreeMap::new(),
        };
        let changes = [change];
        let simulation = Simulation {
            faults: &faults,
            deadline: 2000,
            stops_at_violation: true,
            changes: &changes,
            ..undisturbed
        };
        let run = SimulationRun::new(&simulation, seed, rules.clone(), Disk::default());
        run.run().unwrap().violations.into_iter().next().map(|violation| (seed + 1, violation))
    })
}

#[test]
fn a_site_that_is_removed_anywhere_between_two_checks_breaks_no_promise() {
    assert_eq!(caught_in_a_change(&SoundRules, 200), None);
}
