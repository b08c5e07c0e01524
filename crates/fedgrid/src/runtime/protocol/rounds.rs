//! The rounds of the hosted nodes: all send, their neighbours' messages come in, all learn.
//!
//! ```text
//! send → bundles to other processes + messages that stay here → inboxes by sender → learn → round + 1
//! ```

use std::collections::BTreeMap;

use rayon::prelude::*;

use super::{
    ProtocolSettings, RoundMode,
    bases::{Base, BaseNode},
    bundle::{Inbound, IncomingEdges, pack},
    rules::Rules,
};
use crate::{
    bytes::{Reader, Writer, digest},
    error::{Error, Result},
    method::{Durable, Memory, Message, Method, Wire},
    network::{NodeId, View},
    runtime::{
        layout::{Assignment, Peer},
        sums::Sums,
    },
};

/// From how many hosted nodes on they learn on all cores: below, handing out the work takes longer than
/// the work of most models.
const PARALLEL_FROM_NODES: usize = 16;

/// A node that the process hosts.
#[derive(Debug)]
struct HostedNode<P: Durable> {
    id: NodeId,
    participant: P,
    /// Where each neighbour is, in order of their ids.
    routes: Vec<(NodeId, Route)>,
    /// The messages to the node, in order of the senders' ids.
    inbox: Vec<(NodeId, P::Message)>,
}

impl<P: Durable> HostedNode<P> {
    /// Puts a message in place of the sender's former one.
    fn replace(&mut self, sender: NodeId, message: P::Message) {
        match self.inbox.binary_search_by_key(&sender, |(id, _)| *id) {
            Ok(known) => self.inbox[known].1 = message,
            Err(new) => self.inbox.insert(new, (sender, message)),
        }
    }

    fn snapshot(&self) -> Result<Vec<u8>> {
        let mut to = Writer::default();
        self.participant.snapshot(&mut to)?;
        Ok(to.into_bytes())
    }
}

/// Where a neighbour of a hosted node is.
#[derive(Debug, Clone, Copy)]
enum Route {
    /// In this process, at this index.
    Local(usize),
    /// Behind this link, over the edge of this index.
    Remote(usize, u32),
}

/// What has come from one neighbouring process.
#[derive(Debug)]
struct InboundLink<M: Wire> {
    edges: IncomingEdges<M>,
    /// The messages of the next synchronous rounds, as far as they have come.
    rounds: BTreeMap<u64, Vec<Inbound<M>>>,
    /// The digests of payloads by round, to notice one that comes again and differs.
    digests: BTreeMap<u64, u64>,
    /// Epoch and round of the latest message, in asynchronous rounds.
    latest: Option<(u64, u64)>,
    /// For how many rounds that message was used.
    rounds_used: u64,
}

/// What became of a payload of a synchronous round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Receipt {
    /// It is there for its round.
    Stored,
    /// Its round is over, or too far ahead.
    Ignored,
    /// Another payload of its round came before.
    Changed,
}

/// The hosted nodes and their messages.
#[derive(Debug)]
pub(super) struct HostedRounds<P: Durable> {
    nodes: Vec<HostedNode<P>>,
    links: Vec<InboundLink<P::Message>>,
    /// Messages of the current round between hosted nodes.
    local: Vec<Inbound<P::Message>>,
    /// How many rounds have been completed.
    round: u64,
    /// The bytes that the edges of the own nodes carried in the last round.
    bytes: usize,
    largest_number: f64,
}

impl<P: Durable> HostedRounds<P> {
    pub(super) fn new<M: Method<Participant = P>>(
        method: &M,
        views: Vec<View>,
        assignment: &Assignment,
        settings: &ProtocolSettings,
    ) -> Result<Self> {
        if views.iter().map(|view| view.node.id).ne(assignment.nodes.iter().copied()) {
            return Err(Error::Malformed { what: "an assignment", reason: "is for other nodes" });
        }
        let join = |view| join(method, view, assignment, settings.mode);
        let nodes = views.into_par_iter().map(join).collect::<Result<Vec<_>>>()?;
        let index_of = |node: NodeId| assignment.nodes.binary_search(&node).ok();
        let shape = |index: usize, from: NodeId| nodes[index].participant.shape(from);
        let link = |peer| InboundLink {
            edges: IncomingEdges::new(peer, settings.largest_number, index_of, shape),
            rounds: BTreeMap::new(),
            digests: BTreeMap::new(),
            latest: None,
            rounds_used: 0,
        };
        Ok(Self {
            links: assignment.peers.iter().map(link).collect(),
            nodes,
            local: Vec::new(),
            round: 0,
            bytes: 0,
            largest_number: settings.largest_number,
        })
    }

    /// What the nodes may forget; all have the same method.
    pub(super) fn memory(&self) -> Memory {
        self.nodes.first().map_or(Memory::Replaceable, |node| node.participant.memory())
    }

    pub(super) fn round(&self) -> u64 {
        self.round
    }

    pub(super) fn participants(&self) -> impl Iterator<Item = (NodeId, &P)> {
        self.nodes.iter().map(|node| (node.id, &node.participant))
    }

    pub(super) fn charge(&mut self, node: NodeId, asker: NodeId, count: u64) {
        if let Ok(index) = self.nodes.binary_search_by_key(&node, |node| node.id) {
            self.nodes[index].participant.charge(asker, count);
        }
    }

    /// The most bytes that a bundle from a neighbour takes.
    pub(super) fn largest_bundle(&self, link: usize) -> usize {
        self.links[link].edges.largest_bytes
    }

    /// Epoch and round of a neighbour's latest message, and for how many rounds it was used.
    pub(super) fn latest(&self, link: usize) -> ((u64, u64), u64) {
        (self.links[link].latest.unwrap_or_default(), self.links[link].rounds_used)
    }

    /// Whether an asynchronous round must wait for a neighbour's next message.
    pub(super) fn is_stale(&self, link: usize, most_rounds: Option<u64>) -> bool {
        let InboundLink { latest, rounds_used, .. } = &self.links[link];
        latest.is_none() || most_rounds.is_some_and(|most| *rounds_used >= most)
    }

    /// Lets all nodes send: the payload to each neighbouring process.
    pub(super) fn send(&mut self) -> Vec<Result<Vec<u8>>> {
        let send = |node: &mut HostedNode<P>| node.participant.send();
        let outboxes: Vec<_> = if self.nodes.len() < PARALLEL_FROM_NODES {
            self.nodes.iter_mut().map(send).collect()
        } else {
            self.nodes.par_iter_mut().map(send).collect()
        };
        let mut bundles: Vec<Vec<(u32, P::Message)>> = vec![Vec::new(); self.links.len()];
        // Counted where messages are sent, so that local edges count as in one process.
        self.bytes = 0;
        self.local.clear();
        for (node, outbox) in self.nodes.iter().zip(outboxes) {
            for (to, message) in outbox {
                let route = node.routes.binary_search_by_key(&to, |(id, _)| *id);
                // A method may send to nodes that are no neighbours; no edge carries that.
                let Ok(route) = route else { continue };
                self.bytes += message.bytes();
                match node.routes[route].1 {
                    Route::Local(index) => self.local.push((index, node.id, message)),
                    Route::Remote(link, edge) => bundles[link].push((edge, message)),
                }
            }
        }
        // An empty bundle is sent, too: it says that a round has no message.
        bundles.into_iter().map(|bundle| pack(bundle, self.largest_number)).collect()
    }

    /// Hands on messages between hosted nodes, in asynchronous rounds.
    pub(super) fn deliver_local(&mut self) {
        for (index, sender, message) in self.local.drain(..) {
            self.nodes[index].replace(sender, message);
        }
    }

    /// Takes the payload of a synchronous round.
    pub(super) fn receive(
        &mut self,
        link: usize,
        round: u64,
        payload: &[u8],
        rules: &impl Rules,
    ) -> Result<Receipt> {
        let round = rules.round_of(round, self.round + 1);
        // A neighbour that has this process's last messages may be one round ahead, never two.
        if round > self.round + 2 {
            return Ok(Receipt::Ignored);
        }
        let link = &mut self.links[link];
        let (messages, now) = (link.edges.unpack(payload)?, digest(payload));
        if !rules.is_unchanged(*link.digests.entry(round).or_insert(now), now) {
            return Ok(Receipt::Changed);
        }
        if round <= self.round {
            return Ok(Receipt::Ignored);
        }
        link.rounds.entry(round).or_insert(messages);
        Ok(Receipt::Stored)
    }

    /// Takes the payload of an asynchronous round if it is newer than the latest.
    pub(super) fn receive_latest(
        &mut self,
        link: usize,
        now: (u64, u64),
        payload: &[u8],
        rules: &impl Rules,
    ) -> Result<()> {
        let link = &mut self.links[link];
        let messages = link.edges.unpack(payload)?;
        if link.latest.is_none_or(|latest| rules.is_newer(latest, now)) {
            (link.latest, link.rounds_used) = (Some(now), 0);
            for (index, sender, message) in messages {
                self.nodes[index].replace(sender, message);
            }
        }
        Ok(())
    }

    /// The links whose payload of the next synchronous round is missing.
    pub(super) fn missing(&self) -> Vec<usize> {
        let next = self.round + 1;
        (0..self.links.len()).filter(|&link| !self.links[link].rounds.contains_key(&next)).collect()
    }

    /// Fills the inboxes with the messages of the next synchronous round.
    pub(super) fn fill_inboxes(&mut self, accepted_frames: &[u64], rules: &impl Rules) {
        self.nodes.iter_mut().for_each(|node| node.inbox.clear());
        // Links are in order of process ids, which is not the order of node ids: inboxes are sorted below.
        for link in rules.link_order(accepted_frames) {
            let messages = self.links[link].rounds.remove(&(self.round + 1));
            self.local.extend(messages.into_iter().flatten());
        }
        for (index, sender, message) in self.local.drain(..) {
            self.nodes[index].inbox.push((sender, message));
        }
        self.nodes.iter_mut().for_each(|node| rules.sort_inbox(&mut node.inbox));
    }

    /// The latest messages are used for one more asynchronous round.
    pub(super) fn use_latest(&mut self) {
        self.links.iter_mut().for_each(|link| link.rounds_used += 1);
    }

    /// Lets all nodes learn from their inboxes: the end of a round.
    pub(super) fn learn(&mut self) -> Result<()> {
        let receive = |node: &mut HostedNode<P>| node.participant.receive(&node.inbox);
        if self.nodes.len() < PARALLEL_FROM_NODES {
            self.nodes.iter_mut().try_for_each(receive)?;
        } else {
            self.nodes.par_iter_mut().try_for_each(receive)?;
        }
        self.round += 1;
        Ok(())
    }

    /// Forgets what is only needed to compare payloads of rounds before this one.
    pub(super) fn forget_before(&mut self, round: u64) {
        self.links.iter_mut().for_each(|link| link.digests = link.digests.split_off(&round));
    }

    /// The digest of each node's snapshot.
    pub(super) fn digests(&self) -> Result<Vec<(NodeId, u64)>> {
        self.nodes.iter().map(|node| Ok((node.id, digest(&node.snapshot()?)))).collect()
    }

    /// Whether the nodes can go on among others.
    pub(super) fn takes_changes(&self) -> bool {
        self.nodes.iter().all(|node| node.participant.takes_changes())
    }

    /// The nodes as a base has them.
    pub(super) fn base_nodes(&self) -> Result<Vec<BaseNode>> {
        let base = |node: &HostedNode<P>| {
            let neighbours = node.routes.iter().map(|(id, _)| *id).collect();
            Ok(BaseNode { id: node.id, neighbours, snapshot: node.snapshot()?.into() })
        };
        self.nodes.iter().map(base).collect()
    }

    /// Goes on after a round from a base, or beside others who do.
    pub(super) fn go_on(&mut self, round: u64, base: Option<&Base>) -> Result<()> {
        self.round = round;
        let Some(base) = base else {
            if round > 0 {
                self.nodes.iter_mut().for_each(|node| node.participant.begin_late());
            }
            return Ok(());
        };
        for node in &mut self.nodes {
            let Some(former) = base.nodes.iter().find(|former| former.id == node.id) else {
                return Err(Error::Malformed { what: "a base", reason: "is of other nodes" });
            };
            let mut from = Reader::new("a node at a base", &former.snapshot);
            node.participant.inherit(&former.neighbours, &mut from)?;
        }
        Ok(())
    }

    /// How the last round went in this process.
    pub(super) fn sums(&self) -> Sums {
        let reports: Vec<_> = self.nodes.iter().map(|node| node.participant.report()).collect();
        Sums::of(&reports, self.bytes)
    }

    pub(super) fn write(&self, to: &mut Writer) -> Result<()> {
        to.count(self.bytes);
        to.count(self.nodes.len());
        for node in &self.nodes {
            to.count(node.id);
            to.part(&node.snapshot()?);
        }
        Ok(())
    }

    pub(super) fn read(
        &mut self,
        round: u64,
        from: &mut Reader<'_>,
        rules: &impl Rules,
    ) -> Result<()> {
        (self.round, self.bytes) = (round, from.count()?);
        if from.count()? != self.nodes.len() {
            return Err(from.refusal("is of other nodes"));
        }
        for node in &mut self.nodes {
            let id: NodeId = from.count()?;
            let part = Reader::new("the kept state of a node", from.part()?);
            if id != node.id {
                return Err(part.refusal("is of another node"));
            }
            rules.restore(&mut node.participant, part)?;
        }
        Ok(())
    }
}

/// A node that has joined, with the routes to its neighbours.
fn join<M: Method<Participant: Durable>>(
    method: &M,
    view: View,
    assignment: &Assignment,
    mode: RoundMode,
) -> Result<HostedNode<M::Participant>> {
    let id = view.node.id;
    let route = |other: NodeId| {
        let remote = |(link, peer): (usize, &Peer)| {
            let edge = peer.outgoing.binary_search(&(id, other)).ok()?;
            Some(Route::Remote(link, u32::try_from(edge).ok()?))
        };
        let local = assignment.nodes.binary_search(&other).ok().map(Route::Local);
        local.or_else(|| assignment.peers.iter().enumerate().find_map(remote))
    };
    let others = view.neighbours.iter().map(|neighbour| neighbour.id);
    let routes = others.filter_map(|other| Some((other, route(other)?))).collect();
    let mut participant = method.join(view)?;
    if mode != RoundMode::Synchronous {
        participant.expect_late_messages();
    }
    Ok(HostedNode { id, participant, routes, inbox: Vec::new() })
}
