//! The choice of the study's own method of several,
//!
//! ```text
//! k* = argmin_k  min_s  E_validation(k, s)
//! ```
//!
//! over methods k and their strengths s: each is tuned as if it were the study's own, on the same
//! validation rows or folds, and the one of least error is taken. Test rows score all of them, afterwards.

use super::{Approach, Card, Contestant, MethodKind, Strength, Study, Watch, tuning::TIE_SHARE};
use crate::error::Result;

/// A method that the study's own is chosen from.
#[derive(Debug, Clone)]
pub struct Member {
    /// The method with its keys.
    pub method: Approach,
    /// The mean error on validation rows at its best strength, once the choice is made.
    pub validation: Option<f64>,
}

impl Member {
    /// A method that is not tuned yet.
    #[must_use]
    pub fn new(method: Approach) -> Self {
        Self { method, validation: None }
    }
}

impl Study {
    /// The methods that the study's own is chosen from; none if it is given.
    #[must_use]
    pub fn members(&self) -> Vec<Contestant> {
        let kind = |member: &Member| Contestant::Member(member.method.kind());
        self.settings.members.iter().map(kind).collect()
    }

    /// The member of a kind, with its keys.
    pub(super) fn member(&self, kind: MethodKind) -> Approach {
        let mut all = self.settings.members.iter().map(|member| &member.method);
        all.find(|method| method.kind() == kind).cloned().unwrap_or_else(|| kind.with_defaults())
    }

    /// Makes the member of least validation error the study's own method, by the cards of all; of equals the
    /// first, which is the simpler.
    pub fn choose(&mut self, tuned: &[Card]) {
        for member in &mut self.settings.members {
            let contestant = Contestant::Member(member.method.kind());
            let card = tuned.iter().find(|card| card.contestant == contestant);
            member.validation = card.map(|card| card.validation);
        }
        let error = |member: &Member| member.validation.unwrap_or(f64::INFINITY);
        let is_better = |a: &Member, b: &Member| error(b) < (1.0 - TIE_SHARE) * error(a);
        let members = self.settings.members.iter();
        let best = members.reduce(|a, b| if is_better(a, b) { b } else { a });
        if let Some(best) = best {
            self.settings.method = best.method.clone();
        }
    }

    /// A strength near which that of a shuffle is sought: of the shuffle before, or else of the network itself, which is
    /// the same method on the same rows.
    fn known_strength(&self, contestant: Contestant, known: &[Card]) -> Option<Strength> {
        let Contestant::Shuffled(number) = contestant else { return None };
        let before = number.checked_sub(1).map(Contestant::Shuffled);
        let chosen = Contestant::Member(self.settings.method.kind());
        let of = |wanted: Contestant| known.iter().rfind(|card| card.contestant == wanted);
        let card = before.and_then(of).or_else(|| of(Contestant::Network)).or_else(|| of(chosen));
        card.map(|card| card.strength)
    }

    /// The card of a contestant, on test rows too; what is known already is not computed again.
    pub fn completed(
        &self,
        contestant: Contestant,
        known: &[Card],
        watch: &dyn Watch,
    ) -> Result<Card> {
        let chosen = Contestant::Member(self.settings.method.kind());
        // A shuffle of a complete network is the network itself.
        let is_network = contestant == Contestant::Network
            || matches!(contestant, Contestant::Shuffled(_))
                && self.network_of(contestant) == self.network;
        let is_same = |card: &Card| {
            let is_its = card.contestant == Contestant::Network || card.contestant == chosen;
            card.contestant == contestant || is_network && is_its
        };
        // The last, because a card is known without its errors on test rows first.
        let tuned = match known.iter().rfind(|card| is_same(card)) {
            Some(card) => Card { contestant, ..card.clone() },
            None => self.tune_near(contestant, self.known_strength(contestant, known), watch)?,
        };
        self.judge(tuned, watch)
    }
}
