//! All participants in one process, in synchronous rounds, on all cores.
//!
//! Every message of a round is delivered before the next begins, in order of the senders' ids, and
//! all sums are formed in that order: the bits do not depend on the number of threads.

use std::{ops::ControlFlow, sync::Arc};

use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::sums::{Sums, is_reached, remember};
use crate::{
    error::{Error, Result},
    method::{Message, Method, Participant, Report, Tally},
    model::Hypothesis,
    network::{NodeId, View},
    observe::{Observer, Round, Silent, Stop},
};

/// The runtime of one process.
#[derive(Debug, Clone, Copy, Default)]
pub struct InProcess {
    /// When a run stops.
    pub stop: Stop,
    /// When nodes learn from each other's messages.
    pub order: Order,
}

/// When nodes learn from each other's messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// All learn at once from the messages of the round before (Jacobi).
    #[default]
    AtOnce,
    /// One after the other by id, each from what those before it have just learnt
    /// (Gauss–Seidel): fewer rounds, on one core.
    InTurn,
}

/// What a run has left.
#[derive(Debug, Clone)]
pub struct Run {
    /// What each node has learnt; none where nothing determines it.
    pub hypotheses: Vec<Option<Arc<dyn Hypothesis>>>,
    /// The rounds.
    pub history: Vec<Round>,
    /// Whether the residual fell to the tolerance.
    pub converged: bool,
    /// The nodes that had to damp their neighbours' pull.
    pub damped: Vec<NodeId>,
    /// The bytes that travelled from node to node.
    pub traffic: Vec<Traffic>,
    /// What probing nodes remember of those they probed.
    pub tallies: Vec<Tally>,
}

/// The bytes that one node sent to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Traffic {
    /// The sender.
    pub from: NodeId,
    /// The receiver.
    pub to: NodeId,
    /// The bytes of all rounds.
    pub bytes: usize,
}

impl InProcess {
    /// Runs a method over these views to its end.
    pub fn run<M: Method>(&self, method: &M, views: Vec<View>) -> Result<Run> {
        self.observed(method, views, &mut Silent)
    }

    /// Runs a method, showing every round to an observer.
    pub fn observed<M: Method>(
        &self,
        method: &M,
        views: Vec<View>,
        observer: &mut dyn Observer,
    ) -> Result<Run> {
        let mut participants =
            views.into_par_iter().map(|view| method.join(view)).collect::<Result<Vec<_>>>()?;
        let mut run = Run {
            hypotheses: current(&participants),
            history: Vec::new(),
            converged: false,
            damped: Vec::new(),
            traffic: Vec::new(),
            tallies: Vec::new(),
        };
        let (mut inboxes, mut objectives) = (Vec::new(), Vec::new());
        while run.history.len() < self.stop.rounds && !run.converged {
            match self.order {
                Order::AtOnce => {
                    exchange(&mut participants, &mut inboxes, &mut run.traffic);
                    participants
                        .par_iter_mut()
                        .zip(&inboxes)
                        .try_for_each(|(participant, inbox)| participant.receive(inbox))?;
                }
                Order::InTurn => {
                    if inboxes.is_empty() {
                        exchange(&mut participants, &mut inboxes, &mut run.traffic);
                    }
                    in_turn(&mut participants, &mut inboxes, &mut run.traffic)?;
                }
            }
            run.hypotheses = current(&participants);
            let reports: Vec<Report> = participants.iter().map(Participant::report).collect();
            let bytes = inboxes.iter().flatten().map(|(_, message)| message.bytes()).sum();
            let sums = Sums::of(&reports, bytes);
            let mut record = sums.round(run.history.len() + 1, method.alpha());
            // Before the observer, who may change the record it is shown.
            run.converged = is_reached(&self.stop, method.stop_on(), &record, &objectives);
            remember(record.objective, &mut objectives);
            let flow = observer.round(&mut record, &run.hypotheses);
            run.history.push(record);
            run.damped = (0..reports.len()).filter(|&node| reports[node].damped).collect();
            if flow == ControlFlow::Break(()) {
                return Err(Error::Interrupted);
            }
            if observer.has_seen_enough() {
                break;
            }
        }
        let tallies = participants.iter().flat_map(Participant::tallies);
        run.tallies = tallies.filter(|tally| tally.probes > 0).copied().collect();
        Ok(run)
    }
}

fn current<P: Participant>(participants: &[P]) -> Vec<Option<Arc<dyn Hypothesis>>> {
    participants.iter().map(|participant| participant.hypothesis().cloned()).collect()
}

/// The messages to each node, in order of the senders' ids.
type Inboxes<M> = Vec<Vec<(NodeId, M)>>;

/// Lets each node learn from the latest messages of its neighbours, and send at once.
fn in_turn<P: Participant>(
    participants: &mut [P],
    inboxes: &mut Inboxes<P::Message>,
    traffic: &mut Vec<Traffic>,
) -> Result<()> {
    let mut next = 0;
    for from in 0..participants.len() {
        participants[from].receive(&inboxes[from])?;
        for (to, message) in participants[from].send() {
            count(traffic, &mut next, Traffic { from, to, bytes: message.bytes() });
            match inboxes[to].binary_search_by_key(&from, |(id, _)| *id) {
                Ok(known) => inboxes[to][known].1 = message,
                Err(new) => inboxes[to].insert(new, (from, message)),
            }
        }
    }
    Ok(())
}

/// Lets all send and sorts the messages by receiver, instead of those of the round before.
fn exchange<P: Participant>(
    participants: &mut [P],
    inboxes: &mut Inboxes<P::Message>,
    traffic: &mut Vec<Traffic>,
) {
    let outboxes: Vec<_> = participants.par_iter_mut().map(Participant::send).collect();
    inboxes.resize_with(participants.len(), Vec::new);
    // Cleared, not made anew: rounds are many, and the inboxes keep their room.
    inboxes.iter_mut().for_each(Vec::clear);
    let mut next = 0;
    for (from, outbox) in outboxes.into_iter().enumerate() {
        for (to, message) in outbox {
            count(traffic, &mut next, Traffic { from, to, bytes: message.bytes() });
            inboxes[to].push((from, message));
        }
    }
}

/// Adds to the traffic of an edge, kept in order of its ends. Rounds mostly repeat themselves, so
/// the entry after that of the last message is tried first.
fn count(traffic: &mut Vec<Traffic>, next: &mut usize, sent: Traffic) {
    let ends = |traffic: &Traffic| (traffic.from, traffic.to);
    if traffic.get(*next).is_none_or(|known| ends(known) != ends(&sent)) {
        *next = traffic.binary_search_by_key(&ends(&sent), ends).unwrap_or_else(|new| {
            traffic.insert(new, Traffic { bytes: 0, ..sent });
            new
        });
    }
    traffic[*next].bytes += sent.bytes;
    *next += 1;
}
