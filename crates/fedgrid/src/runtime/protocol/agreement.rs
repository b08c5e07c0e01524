//! When to stop: sums travel up the tree of processes, the verdict of the root travels down.
//!
//! In synchronous rounds all wait for the verdict at every check, so that the run ends at the same round
//! everywhere. Sums are formed in the order of the tree: their last bits depend on the split of the nodes
//! into processes, those of the models do not.
//!
//! In asynchronous rounds processes are in different rounds, so their sums are of no one iterate: the
//! rule must hold for three checks in a row between which all have reported anew.

use std::collections::BTreeMap;

use super::{ProtocolSettings, RoundMode, bases::Held};
use crate::{
    bytes::{Reader, Writer},
    error::Result,
    method::{Method, StopOn},
    observe::{Round, Stop},
    runtime::{
        layout::{Assignment, ProcessId},
        sums::{Sums, is_reached, remember},
    },
};

/// How many checks in a row must agree that an asynchronous run has converged: one alone may see a
/// moment in which changes happen to be small because messages are late.
const QUIET_CHECKS: u64 = 3;

/// A neighbour whose parent this process is.
#[derive(Debug)]
struct Child {
    link: usize,
    /// Its sums by round; in asynchronous rounds only the latest.
    sums: BTreeMap<u64, Sums>,
    /// The round of its sums at the last asynchronous check.
    checked_round: u64,
    /// The bases that all in its part of the tree have, where one is to be chosen.
    held: Option<Held>,
}

/// How far the processes have agreed to stop.
#[derive(Debug)]
pub(super) struct Agreement {
    mode: RoundMode,
    stop: Stop,
    stop_on: StopOn,
    alpha: f64,
    parent: Option<usize>,
    children: Vec<Child>,
    /// The objectives of earlier checks, for the root.
    objectives: Vec<f64>,
    /// How many checks in a row would have ended an asynchronous run.
    quiet_checks: u64,
    /// The last round that all have checked together.
    record: Option<Round>,
    /// Whether the run has ended by agreement.
    converged: bool,
    /// Whether the state being made durable is the last.
    is_last: bool,
    /// Whether a verdict has come while a state was being made durable.
    ends_when_durable: bool,
}

impl Agreement {
    pub(super) fn new(
        method: &impl Method,
        assignment: &Assignment,
        settings: &ProtocolSettings,
    ) -> Self {
        let link =
            |process: &ProcessId| assignment.peers.iter().position(|peer| peer.process == *process);
        let child = |link| Child { link, sums: BTreeMap::new(), checked_round: 0, held: None };
        Self {
            mode: settings.mode,
            stop: settings.stop,
            stop_on: method.stop_on(),
            alpha: method.alpha(),
            parent: assignment.parent.as_ref().and_then(link),
            children: assignment.children.iter().filter_map(link).map(child).collect(),
            objectives: Vec::new(),
            quiet_checks: 0,
            record: None,
            converged: false,
            is_last: false,
            ends_when_durable: false,
        }
    }

    /// The link to the next process on the way to the root; none at the root.
    pub(super) fn parent(&self) -> Option<usize> {
        self.parent
    }

    /// The links to the children.
    pub(super) fn children(&self) -> Vec<usize> {
        self.children.iter().map(|child| child.link).collect()
    }

    pub(super) fn record(&self) -> Option<&Round> {
        self.record.as_ref()
    }

    pub(super) fn converged(&self) -> bool {
        self.converged
    }

    pub(super) fn is_last(&self) -> bool {
        self.is_last
    }

    /// Takes note of a completed round: the number of rounds always ends a run.
    pub(super) fn count_round(&mut self, round: u64) {
        self.is_last = round >= self.stop.rounds as u64;
    }

    /// All have agreed that the run has converged.
    pub(super) fn end(&mut self) {
        (self.converged, self.is_last) = (true, true);
    }

    /// They have, but a state is still being made durable.
    pub(super) fn end_when_durable(&mut self) {
        self.ends_when_durable = true;
    }

    pub(super) fn ends_when_durable(&self) -> bool {
        self.ends_when_durable
    }

    /// The record of sums over some nodes.
    pub(super) fn round(&self, round: u64, sums: &Sums) -> Round {
        sums.round(usize::try_from(round).unwrap_or(usize::MAX), self.alpha)
    }

    pub(super) fn set_record(&mut self, round: u64, total: &Sums) {
        self.record = Some(self.round(round, total));
    }

    /// Takes the sums of a child, in a process that has completed `own_round`.
    pub(super) fn receive(&mut self, link: usize, round: u64, sums: Sums, own_round: u64) {
        let Some(child) = self.children.iter_mut().find(|child| child.link == link) else { return };
        if self.mode == RoundMode::Synchronous {
            // Sums of an earlier round come again when a neighbour sends again; their verdict is known.
            if round >= own_round {
                child.sums.entry(round).or_insert(sums);
            }
        } else if child.sums.last_key_value().is_none_or(|(last, _)| *last < round) {
            // Only the latest counts, or memory would grow with every check.
            child.sums = BTreeMap::from([(round, sums)]);
        }
    }

    /// The links to children whose sums of a round are missing.
    pub(super) fn missing(&self, round: u64) -> Vec<usize> {
        let missing = self.children.iter().filter(|child| !child.sums.contains_key(&round));
        missing.map(|child| child.link).collect()
    }

    /// Takes the bases of a child.
    pub(super) fn receive_bases(&mut self, link: usize, held: Held) {
        if let Some(child) = self.children.iter_mut().find(|child| child.link == link) {
            child.held = Some(held);
        }
    }

    /// The links to children whose bases are not known.
    pub(super) fn without_bases(&self) -> Vec<usize> {
        let missing = self.children.iter().filter(|child| child.held.is_none());
        missing.map(|child| child.link).collect()
    }

    /// The bases that all in this part of the tree have.
    pub(super) fn common_bases(&self, own: Held) -> Held {
        let children = self.children.iter().filter_map(|child| child.held.as_ref());
        children.fold(own, |common, held| common.and(held))
    }

    /// Adds the children's sums of a round, each so many times.
    pub(super) fn total(&self, own: Sums, round: u64, times: impl Fn(usize) -> usize) -> Sums {
        let mut total = own;
        for child in &self.children {
            if let Some(sums) = child.sums.get(&round) {
                (0..times(child.link)).for_each(|_| total.add(sums));
            }
        }
        total
    }

    /// The latest sums, if all children have reported anew since the last asynchronous check.
    pub(super) fn latest_total(&mut self, own: Sums) -> Option<Sums> {
        let latest = |child: &Child| {
            let (round, sums) = child.sums.last_key_value()?;
            // Sums that are counted twice could agree three times without any new round.
            (*round > child.checked_round).then_some((*round, *sums))
        };
        let latest: Vec<(u64, Sums)> = self.children.iter().map(latest).collect::<Option<_>>()?;
        let mut total = own;
        for (child, (round, sums)) in self.children.iter_mut().zip(&latest) {
            child.checked_round = *round;
            total.add(sums);
        }
        Some(total)
    }

    /// The verdict of the root: whether the run has converged.
    pub(super) fn judge(&mut self, round: u64, total: &Sums) -> bool {
        let record = self.round(round, total);
        let reached = is_reached(&self.stop, self.stop_on, &record, &self.objectives);
        remember(record.objective, &mut self.objectives);
        reached
    }

    /// The verdict of the root in asynchronous rounds.
    pub(super) fn judge_latest(&mut self, round: u64, total: &Sums) -> bool {
        self.quiet_checks = if self.judge(round, total) { self.quiet_checks + 1 } else { 0 };
        self.quiet_checks >= QUIET_CHECKS
    }

    /// Forgets sums of rounds before this one.
    pub(super) fn forget_before(&mut self, round: u64) {
        self.children.iter_mut().for_each(|child| child.sums = child.sums.split_off(&round));
    }

    pub(super) fn write(&self, to: &mut Writer) {
        to.flag(self.is_last);
        to.flag(self.converged);
        to.list(&self.objectives);
    }

    pub(super) fn read(&mut self, from: &mut Reader<'_>) -> Result<()> {
        (self.is_last, self.converged) = (from.flag()?, from.flag()?);
        self.objectives = from.list()?;
        Ok(())
    }
}
