//! The process itself: what it holds, how it starts, and who hears of what.

use std::collections::VecDeque;

use rayon::prelude::*;

use super::{
    Action, Event, Frame, Kind, Mode, Notice, Reason, Settings, Slot, link::Link, mutant::Mutant,
};
use crate::{
    error::{Error, Result, same_size},
    method::{Durable, Memory, Method, StopOn},
    network::{NodeId, View},
    observe::Round,
    runtime::layout::{Peer, Seat},
};

/// A node that the process hosts.
#[derive(Debug)]
pub(super) struct Hosted<P: Durable> {
    pub(super) node: NodeId,
    pub(super) participant: P,
    /// Where each neighbour is, in order of their ids.
    pub(super) roads: Vec<(NodeId, Road)>,
    /// What was said to the node, in order of the speakers' ids.
    pub(super) inbox: Vec<(NodeId, P::Message)>,
}

/// Where a neighbour of a hosted node is.
#[derive(Debug, Clone, Copy)]
pub(super) enum Road {
    /// In this process, at this place.
    Here(usize),
    /// Behind this link, over the edge of this place.
    There(usize, u32),
}

/// What a process is about to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// It has not been started.
    New,
    /// Its epoch is being made durable.
    Booting,
    /// It waits for the messages of the next round, or for the next tick.
    Exchanging,
    /// The round is being made durable.
    Keeping,
    /// It waits for the sums of its children.
    Gathering,
    /// It waits for the verdict of its parent.
    Deciding,
    /// It has finished, and helps others to.
    Finished,
    /// It has ended.
    Halted,
}

/// One process of a federation. See the [module](super) for how it is driven.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "facts that do not exclude each other")]
pub struct Process<P: Durable> {
    pub(super) seat: Seat,
    pub(super) settings: Settings,
    pub(super) alpha: f64,
    pub(super) stop_on: StopOn,
    pub(super) memory: Memory,
    pub(super) hosted: Vec<Hosted<P>>,
    pub(super) links: Vec<Link<P::Message>>,
    pub(super) epoch: u64,
    pub(super) nonce: u64,
    pub(super) stage: Stage,
    /// How many rounds have been completed.
    pub(super) round: u64,
    /// The last durable round; the largest number when finished.
    pub(super) floor: u64,
    /// Whether the run has ended by agreement.
    pub(super) converged: bool,
    /// Whether the state being made durable is the last.
    pub(super) is_last: bool,
    /// Whether a verdict has come while a state was being made durable.
    pub(super) ends: bool,
    /// The requests that are not durable yet.
    pub(super) kept: VecDeque<(u64, Slot)>,
    pub(super) tickets: u64,
    /// For how many ticks the stage has lasted.
    pub(super) waited: u64,
    /// Messages of the current round between hosted nodes.
    pub(super) spoken: Vec<(usize, NodeId, P::Message)>,
    /// The objectives of earlier looks, for the root.
    pub(super) objectives: Vec<f64>,
    /// How many looks in a row would have ended an asynchronous run.
    pub(super) calm: u64,
    /// The rounds of the children's sums at the last look, in asynchronous rounds.
    pub(super) seen_sums: Vec<u64>,
    /// The last round that all have looked at together.
    pub(super) record: Option<Round>,
    /// The bytes that the edges of the own nodes carried in the last round.
    pub(super) bytes: usize,
    pub(super) is_settled: bool,
    pub(super) is_leaving: bool,
    pub(super) actions: Vec<Action>,
    #[cfg(test)]
    pub(crate) mutant: Option<Mutant>,
}

impl<P: Durable> Process<P> {
    /// A process that hosts the nodes of these views, which are those of its seat, in order.
    pub fn new<M: Method<Participant = P>>(
        method: &M,
        views: Vec<View>,
        seat: Seat,
        settings: Settings,
    ) -> Result<Self> {
        same_size("nodes of a process", views.len(), seat.nodes.len())?;
        if settings.keep == 0 {
            let expected = "one or more";
            return Err(Error::Parameter { name: "keep", value: 0.0, expected });
        }
        if settings.largest.is_nan() || settings.largest <= 0.0 {
            let (value, expected) = (settings.largest, "a positive number");
            return Err(Error::Parameter { name: "largest", value, expected });
        }
        if views.iter().map(|view| view.node.id).ne(seat.nodes.iter().copied()) {
            return Err(Error::Malformed { what: "a seat", reason: "is for other nodes" });
        }
        let hosted = hosted(method, views, &seat, settings.mode)?;
        let memory = hosted.first().map_or(Memory::Replaceable, |own| own.participant.memory());
        if memory == Memory::Ledger && settings.mode != Mode::Synchronous {
            return Err(Error::Unsupported {
                what: "asynchronous rounds",
                needs: "a method whose words may come late; probes are asked and answered in turn",
            });
        }
        let place_of = |node: NodeId| seat.nodes.binary_search(&node).ok();
        let shape = |place: usize, from: NodeId| hosted[place].participant.shape(from);
        let mut links: Vec<_> =
            seat.peers.iter().map(|peer| Link::new(peer, place_of, shape)).collect();
        for link in &mut links {
            link.is_timely = settings.mode == Mode::Synchronous;
            link.limit = settings.largest;
        }
        Ok(Self {
            seen_sums: vec![0; seat.children.len()],
            seat,
            settings,
            alpha: method.alpha(),
            stop_on: method.stop_on(),
            memory,
            hosted,
            links,
            epoch: 0,
            nonce: 0,
            stage: Stage::New,
            round: 0,
            floor: 0,
            converged: false,
            is_last: false,
            ends: false,
            kept: VecDeque::new(),
            tickets: 0,
            waited: 0,
            spoken: Vec::new(),
            objectives: Vec::new(),
            calm: 0,
            record: None,
            bytes: 0,
            is_settled: false,
            is_leaving: false,
            actions: Vec::new(),
            #[cfg(test)]
            mutant: None,
        })
    }

    /// Tells a hosted node, before it is started, what it has answered another node in earlier runs.
    pub fn charge(&mut self, node: NodeId, asker: NodeId, count: u64) {
        if let Ok(place) = self.seat.nodes.binary_search(&node) {
            self.hosted[place].participant.charge(asker, count);
        }
    }

    /// Whether a fault is planted; never outside of this crate's own tests.
    #[cfg_attr(not(test), expect(clippy::unused_self, reason = "only tests plant faults"))]
    pub(super) fn errs(&self, mutant: Mutant) -> bool {
        #[cfg(test)]
        return self.mutant == Some(mutant);
        #[cfg(not(test))]
        {
            let _ = mutant;
            false
        }
    }

    /// Takes note of an event; what is to be done, in order.
    pub fn step(&mut self, event: Event) -> Vec<Action> {
        if self.stage != Stage::Halted {
            match event {
                Event::Started { identity, state, nonce } => self.start(identity, state, nonce),
                Event::Received { frame } => self.hear(frame),
                Event::Persisted { ticket } => self.persisted(ticket),
                Event::Tick => self.tick(),
                Event::PeerLost { peer } => {
                    let lost = self.links.iter_mut().filter(|link| link.peer == peer);
                    lost.for_each(|link| link.is_lost = true);
                }
                Event::Leave => self.leave(),
            }
        }
        std::mem::take(&mut self.actions)
    }

    fn start(&mut self, identity: Option<Vec<u8>>, state: Option<Vec<u8>>, nonce: u64) {
        if self.stage != Stage::New {
            return;
        }
        self.nonce = nonce;
        let read = match identity {
            Some(bytes) => self.read_identity(&bytes),
            None => Ok(()),
        };
        let read = read.and_then(|()| state.map_or(Ok(()), |bytes| self.read_state(&bytes)));
        if let Err(error) = read {
            return self.halt(Reason::Failed(error));
        }
        if !(self.errs(Mutant::SameEpoch) && self.epoch > 0) {
            self.epoch += 1;
        }
        self.stage = Stage::Booting;
        self.keep_identity();
        if self.errs(Mutant::SpeakBeforeEpoch) {
            (0..self.links.len())
                .for_each(|link| self.say(link, Kind::Hello, self.round, Vec::new()));
        }
    }

    pub(super) fn halt(&mut self, reason: Reason) {
        self.stage = Stage::Halted;
        self.actions.push(Action::Halt(reason));
    }

    pub(super) fn notice(&mut self, notice: Notice) {
        self.actions.push(Action::Notice(notice));
    }

    /// Asks to make bytes durable.
    pub(super) fn persist(&mut self, slot: Slot, bytes: Vec<u8>) {
        self.tickets += 1;
        let ticket = self.tickets;
        self.kept.push_back((ticket, slot));
        self.actions.push(Action::Persist { ticket, slot, bytes });
    }

    fn persisted(&mut self, ticket: u64) {
        // Requests become durable in order.
        while let Some(&(first, slot)) = self.kept.front() {
            if first > ticket {
                return;
            }
            self.kept.pop_front();
            match slot {
                Slot::Identity => self.identity_kept(),
                Slot::State => self.state_kept(),
            }
        }
    }

    /// Goes on from what was kept.
    pub(super) fn resume(&mut self) {
        (0..self.links.len()).for_each(|link| self.say(link, Kind::Hello, self.round, Vec::new()));
        if self.is_last {
            self.finish();
        } else if self.round > 0 {
            self.after_round();
        } else {
            self.begin_round();
        }
    }

    /// Sends a frame to a neighbour.
    pub(super) fn say(&mut self, link: usize, kind: Kind, round: u64, payload: Vec<u8>) {
        let to = &self.links[link];
        if to.refused.is_some() {
            return;
        }
        let known = to.met.map_or(0, |met| met.epoch);
        let frame = Frame {
            kind,
            from: self.seat.process,
            to: to.peer,
            epoch: self.epoch,
            nonce: self.nonce,
            known,
            floor: self.floor,
            round,
            payload,
        };
        self.actions.push(Action::Send { frame });
    }

    /// Says something that may have to be said again. Only those who have met this process as it is
    /// now are told: whoever has seen a later state of it would have said so.
    pub(super) fn say_for_good(&mut self, link: usize, kind: Kind, round: u64, payload: Vec<u8>) {
        if self.links[link].knows_us {
            self.say(link, kind, round, payload.clone());
        }
        self.links[link].outbox.insert((round, kind), payload);
    }

    /// Says again what was said.
    pub(super) fn say_again(&mut self, link: usize, round: u64, kind: Kind) {
        if !self.links[link].knows_us {
            return;
        }
        if let Some(payload) = self.links[link].outbox.get(&(round, kind)) {
            let mut payload = payload.clone();
            if self.errs(Mutant::FreshNoise) && kind == Kind::State && payload.len() > 12 {
                payload[4] ^= 1;
            }
            self.say(link, kind, round, payload);
        }
    }

    fn leave(&mut self) {
        if matches!(self.stage, Stage::New | Stage::Booting) {
            self.actions.push(Action::Left);
            self.stage = Stage::Halted;
            return;
        }
        self.is_leaving = true;
        if self.stage != Stage::Keeping {
            self.say_goodbye();
        }
    }

    /// The last durable state is what the process comes back with.
    pub(super) fn say_goodbye(&mut self) {
        (0..self.links.len()).for_each(|link| self.say(link, Kind::Leave, self.round, Vec::new()));
        self.actions.push(Action::Left);
        self.stage = Stage::Halted;
    }
}

/// The nodes of a process, joined, with the ways to their neighbours.
fn hosted<M: Method<Participant: Durable>>(
    method: &M,
    views: Vec<View>,
    seat: &Seat,
    mode: Mode,
) -> Result<Vec<Hosted<M::Participant>>> {
    let road = |node: NodeId, other: NodeId| {
        let there = |(place, peer): (usize, &Peer)| {
            let edge = peer.outgoing.binary_search(&(node, other)).ok()?;
            Some(Road::There(place, u32::try_from(edge).ok()?))
        };
        let here = seat.nodes.binary_search(&other).ok().map(Road::Here);
        here.or_else(|| seat.peers.iter().enumerate().find_map(there))
    };
    let join = |view: View| {
        let node = view.node.id;
        let others = view.neighbours.iter().map(|neighbour| neighbour.id);
        let roads = others.filter_map(|other| Some((other, road(node, other)?))).collect();
        let mut participant = method.join(view)?;
        if mode != Mode::Synchronous {
            participant.expect_late_words();
        }
        Ok(Hosted { node, participant, roads, inbox: Vec::new() })
    };
    views.into_par_iter().map(join).collect()
}
