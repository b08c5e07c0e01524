//! Rolling origins: how each method did at each of them.

use fedgrid::compare::Card;

use super::comparison;
use crate::{
    assembly::{Assembly, OriginWindow},
    outcome::OriginOutcome,
};

/// How all contestants did at an origin.
#[derive(Debug, Clone)]
pub struct OriginCards {
    window: OriginWindow,
    cards: Vec<Card>,
    /// How many rows have validated.
    validated: usize,
}

impl OriginCards {
    /// The cards of a study at an origin.
    #[must_use]
    pub fn new(window: &OriginWindow, assembly: &Assembly, cards: Vec<Card>) -> Self {
        let folds = &assembly.study.plan.folds;
        let validated = folds.iter().flat_map(|fold| &fold.validation).map(Vec::len).sum();
        Self { window: window.clone(), cards, validated }
    }

    /// The cards of the contestants of all origins, each over all of them.
    #[must_use]
    pub fn joined<'a>(origins: &'a [Self]) -> Vec<Card> {
        let Some(last) = origins.last() else { return Vec::new() };
        let of = |own: &Card| {
            let card = |origin: &'a Self| {
                let found = origin.cards.iter().find(|card| card.contestant == own.contestant);
                found.map(|card| (card, origin.validated))
            };
            // Who was not tried at some origin cannot be compared over all of them.
            let cards: Option<Vec<(&Card, usize)>> = origins.iter().map(card).collect();
            Card::joined(&cards?)
        };
        last.cards.iter().filter_map(of).collect()
    }

    /// What a reader must know of rows that several origins test.
    #[must_use]
    pub fn overlap(origins: &[Self]) -> Option<String> {
        let overlaps = origins.len() > 1 && origins.iter().any(|origin| origin.window.overlaps);
        overlaps.then(|| {
            "Origins are closer than the horizon: rows that several of them test count as so many rows, so that \
             standard errors are somewhat too small."
                .into()
        })
    }

    /// What came of an origin.
    #[must_use]
    pub fn outcome(&self) -> OriginOutcome {
        let [train, validation, test] = self.window.rows;
        OriginOutcome {
            validation_from: self.window.validation_from.clone(),
            test_from: self.window.test_from.clone(),
            until: self.window.until.clone(),
            train_rows: train,
            validation_rows: validation,
            test_rows: test,
            comparison: comparison(&self.cards),
        }
    }
}
