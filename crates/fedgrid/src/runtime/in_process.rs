//! All participants in one process, in synchronous rounds, on all cores.
//!
//! Every message of a round is delivered before the next begins, in order of the senders' ids, and
//! all sums are formed in that order: the bits do not depend on the number of threads.

use std::{ops::ControlFlow, sync::Arc};

use rayon::prelude::*;

use crate::{
    error::{Error, Result},
    method::{Message, Method, Participant, Report},
    model::Hypothesis,
    network::{NodeId, View},
    observe::{Observer, Round, Silent, Stop},
};

/// The runtime of one process.
#[derive(Debug, Clone, Copy, Default)]
pub struct InProcess {
    /// When a run stops.
    pub stop: Stop,
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
    /// The nodes that had to damp what they heard.
    pub damped: Vec<NodeId>,
    /// The bytes that travelled from node to node.
    pub traffic: Vec<Traffic>,
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
        };
        while run.history.len() < self.stop.rounds && !run.converged {
            let inboxes = exchange(&mut participants, &mut run.traffic, run.history.len());
            participants
                .par_iter_mut()
                .zip(&inboxes)
                .try_for_each(|(participant, inbox)| participant.receive(inbox))?;
            run.hypotheses = current(&participants);
            let reports: Vec<Report> = participants.iter().map(Participant::report).collect();
            let mut record = summary(run.history.len() + 1, method.alpha(), &reports, &inboxes);
            run.converged = record.residual <= self.stop.tolerance;
            let flow = observer.round(&mut record, &run.hypotheses);
            run.history.push(record);
            run.damped = (0..reports.len()).filter(|&node| reports[node].damped).collect();
            if flow == ControlFlow::Break(()) {
                return Err(Error::Interrupted);
            }
        }
        Ok(run)
    }
}

fn current<P: Participant>(participants: &[P]) -> Vec<Option<Arc<dyn Hypothesis>>> {
    participants.iter().map(|participant| participant.hypothesis().cloned()).collect()
}

/// Lets all speak and sorts what was said by receiver.
fn exchange<P: Participant>(
    participants: &mut [P],
    traffic: &mut Vec<Traffic>,
    round: usize,
) -> Vec<Vec<(NodeId, P::Message)>> {
    let outboxes: Vec<_> = participants.iter_mut().map(Participant::send).collect();
    let mut inboxes: Vec<Vec<(NodeId, P::Message)>> =
        participants.iter().map(|_| Vec::new()).collect();
    let mut place = 0;
    for (from, outbox) in outboxes.into_iter().enumerate() {
        for (to, message) in outbox {
            count(traffic, &mut place, Traffic { from, to, bytes: message.bytes() }, round);
            inboxes[to].push((from, message));
        }
    }
    inboxes
}

/// Adds to the traffic of an edge. Rounds mostly repeat their order, so the search starts where the
/// last message was counted.
fn count(traffic: &mut Vec<Traffic>, place: &mut usize, sent: Traffic, round: usize) {
    let matches = |known: &Traffic| (known.from, known.to) == (sent.from, sent.to);
    let found = if round == 0 {
        None
    } else if traffic.get(*place).is_some_and(matches) {
        Some(*place)
    } else {
        traffic.iter().position(matches)
    };
    if let Some(found) = found {
        traffic[found].bytes += sent.bytes;
        *place = found + 1;
    } else {
        traffic.push(sent);
    }
}

/// The record of a round from the reports of all nodes, in order of their ids.
fn summary<M: Message>(
    round: usize,
    alpha: f64,
    reports: &[Report],
    inboxes: &[Vec<(NodeId, M)>],
) -> Round {
    let sum = |value: fn(&Report) -> f64| reports.iter().map(value).sum::<f64>();
    let loss = sum(|report| report.loss);
    // Both ends report an edge, so half the sum counts it once.
    let gtv = 0.5 * sum(|report| report.variation);
    let size = sum(|report| report.size);
    let residual = if size > 0.0 { (sum(|report| report.change) / size).sqrt() } else { 0.0 };
    let bytes = inboxes.iter().flatten().map(|(_, message)| message.bytes()).sum();
    Round { round, objective: loss + alpha * gtv, loss, gtv, residual, bytes, validation: None }
}
