//! Members have changed: all choose the base from which they go on, and take it up.
//!
//! ```text
//! own bases ∩ those of all children → parent … → the newest at the root → children …      durable before it is told on
//! ```

use super::{Process, Stage};
use crate::{
    error::{Error, Result},
    method::Durable,
    runtime::protocol::{
        FrameKind, Notice, Reason, Slot,
        bases::{Base, BasePlace, choice_to_bytes},
        rules::Rules,
    },
};

impl<P: Durable, R: Rules> Process<P, R> {
    /// Whether states are kept at checks.
    pub(super) fn keeps_bases(&self) -> bool {
        let is_possible = self.is_synchronous() && self.settings.check_every > 0;
        self.settings.keeps_bases && is_possible && self.rounds.takes_changes()
    }

    /// Keeps the state at a check; false if it has to be made durable first.
    pub(super) fn has_base(&mut self) -> Result<bool> {
        let place = BasePlace { change: self.membership.change, round: self.rounds.round() };
        // After a restart from a state before the check it is learnt again, in the same bits.
        if !self.keeps_bases() || self.bases.has(place) {
            return Ok(true);
        }
        self.bases.keep(Base { place, nodes: self.rounds.base_nodes()? });
        self.write_bases();
        Ok(!self.rules.waits_for(Slot::Bases))
    }

    /// Keeps the state at the end, from which a run with other rows can go on; nothing waits for it but the last state.
    pub(super) fn keep_last_base(&mut self) -> Result<()> {
        let place = BasePlace { change: self.membership.change, round: self.rounds.round() };
        if self.keeps_bases() && !self.bases.has(place) {
            self.bases.keep(Base { place, nodes: self.rounds.base_nodes()? });
            self.write_bases();
        }
        Ok(())
    }

    fn write_bases(&mut self) {
        let bytes = self.bases.to_bytes();
        self.actions.push(self.durability.request(Slot::Bases, bytes));
    }

    /// Tells the parent which bases all in this part of the tree have, once all children have told theirs; the root chooses.
    pub(super) fn try_choose(&mut self) {
        if self.stage != Stage::Choosing || !self.agreement.without_bases().is_empty() {
            return;
        }
        // Where rounds go on, some must be left.
        let rounds = self.settings.stop.rounds as u64;
        let before = if self.membership.anew { u64::MAX } else { rounds };
        let own = self.bases.held(self.membership.since, before);
        let held = self.agreement.common_bases(own);
        if let Some(parent) = self.agreement.parent() {
            self.send_kept(parent, FrameKind::Held, 0, held.to_bytes());
            return;
        }
        let Some(place) = held.newest() else {
            let reason =
                "of the members have no check in common; one of them may come from an old backup";
            let error = Error::Malformed { what: "the kept bases", reason };
            return self.halt(Reason::Failed(error));
        };
        self.go_on_from(place);
    }

    /// Takes a base up, and makes that durable.
    pub(super) fn go_on_from(&mut self, place: BasePlace) {
        if self.stage != Stage::Choosing {
            return;
        }
        if let Err(error) = self.take_up(place) {
            return self.halt(Reason::Failed(error));
        }
        self.notice(Notice::GoesOn { from: place });
        // Bases first: without a state the choice is made anew, from what is left then.
        self.write_bases();
        self.write_state();
    }

    fn take_up(&mut self, place: BasePlace) -> Result<()> {
        let is_new = place.change < self.membership.since;
        let base = if is_new { None } else { self.bases.get(place) };
        if base.is_none() && !is_new {
            let reason = "do not have the one that the others have chosen";
            return Err(Error::Malformed { what: "the kept bases", reason });
        }
        let base = base.filter(|_| place != BasePlace::BEGINNING);
        let round = if self.membership.anew { 0 } else { place.round };
        self.rounds.go_on(round, base)?;
        self.bases.keep_only(place);
        self.chosen = Some(place);
        Ok(())
    }

    /// Says to the children what was chosen, once that is durable here.
    pub(super) fn tell_choice(&mut self) {
        if self.has_told_choice {
            return;
        }
        self.has_told_choice = true;
        if let Some(place) = self.chosen {
            for child in self.agreement.children() {
                self.send(child, FrameKind::Chosen, place.round, choice_to_bytes(place));
            }
        }
    }

    /// Answers a child that asks what was chosen.
    pub(super) fn answer_choice(&mut self, link: usize) {
        if let (Some(place), true) = (self.chosen, self.has_told_choice) {
            self.send(link, FrameKind::Chosen, place.round, choice_to_bytes(place));
        }
    }

    /// A base is durable.
    pub(super) fn bases_durable(&mut self) {
        if self.stage == Stage::Holding {
            self.gather();
        }
    }

    /// Asks for the bases of the children, or for the choice.
    pub(super) fn ask_for_choice(&mut self) {
        let missing = self.agreement.without_bases();
        if missing.is_empty() {
            let parent: Vec<usize> = self.agreement.parent().into_iter().collect();
            self.ask(&parent, self.rounds.round(), FrameKind::Chosen);
        } else {
            self.ask(&missing, self.rounds.round(), FrameKind::Held);
        }
    }

    /// Waits for all to choose.
    pub(super) fn begin_choosing(&mut self) {
        (self.stage, self.ticks_waited) = (Stage::Choosing, 0);
        self.try_choose();
    }
}
