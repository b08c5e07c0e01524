//! What methods that average weights at a hub have in common when they are compared.

use std::sync::Arc;

use super::{Contender, Facts, StrengthKey};
use crate::{
    compare::{
        Fitted,
        fitted::{FitRequest, StartingPoint},
        strength::{Grid, Units},
        trainer::Trainer,
    },
    error::Result,
    method::{FedAvg, Method},
};

/// A method that averages weights at a hub.
pub(super) trait HubContender: Method + std::fmt::Debug + Send {
    /// Its name in experiment files.
    const NAME: &'static str;
    /// What it does, in at most 31 letters.
    const ABOUT: &'static str;
    /// Its strength.
    const STRENGTH: StrengthKey;
    /// Whether nodes end with models of their own.
    const IS_PERSONAL: bool = true;
    /// Whether the strength before may be gone on from: its end does not depend on its start.
    const GOES_ON: bool = false;
    /// The keys of all methods that mean nothing to it.
    const WITHOUT: &'static [&'static str] = &["order"];

    /// How it averages.
    fn fedavg(&self) -> &FedAvg;

    /// The strengths that are tried, the simpler model first.
    fn strengths(units: &Units) -> Grid;

    /// The method at a strength, with how it averages in a study.
    fn at(&self, fedavg: FedAvg, strength: f64) -> Self;

    /// Refuses keys that do not go together.
    fn check_keys(&self) -> Result<(), String> {
        Ok(())
    }
}

impl<M: HubContender> Contender for M {
    fn about(&self) -> &'static str {
        M::ABOUT
    }

    fn strength_key(&self) -> Option<StrengthKey> {
        Some(M::STRENGTH)
    }

    fn facts(&self) -> Facts {
        Facts {
            uses_network: false,
            needs_weights: true,
            is_baseline: true,
            is_personal: M::IS_PERSONAL,
            hub: 1.0,
            without: M::WITHOUT,
            ..Facts::default()
        }
    }

    fn grid(&self, units: &Units) -> Result<Grid> {
        Ok(M::strengths(units))
    }

    fn fit(&self, trainer: &Trainer, request: FitRequest) -> Result<Fitted> {
        // Where the end depends on the start, every strength starts anew.
        let start: Option<Arc<[f64]>> = match request.start {
            StartingPoint::Common(start) if M::GOES_ON => Some(start),
            _ => None,
        };
        // A study's own method says for all rows with a hub how they average.
        let own = trainer.study.settings.method.averaging();
        let fedavg = trainer.averaging(own.unwrap_or(self.fedavg()), start);
        trainer.through_hub(&self.at(fedavg, request.strength), request.effort)
    }

    fn check(&self) -> Result<(), String> {
        self.check_keys()
    }

    fn averaging(&self) -> Option<&FedAvg> {
        Some(self.fedavg())
    }

    fn note_on_fit(&self, _: &Fitted) -> Option<String> {
        Some(format!("{} knows a hub and no network; the network is only drawn.", M::NAME))
    }
}
