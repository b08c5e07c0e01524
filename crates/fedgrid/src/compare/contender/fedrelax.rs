//! FedRelax in a comparison: networks of models with smooth losses are solved directly, all others run in rounds of
//! messages.

use super::{
    AtSites, Bound, Contender, Facts, Federated, MessageSizes, ModelsInUse, Objective, Place,
    StrengthKey, Told,
};
use crate::{
    compare::{
        Fitted,
        fitted::{Effort, FitRequest, StartingPoint},
        strength::{Grid, Units},
        trainer::Trainer,
    },
    data::Task,
    error::Result,
    loss::Loss,
    method::{
        FedRelax, Pooled, TunedAtSites,
        fedrelax::{Coupling, LocalStep, PredictionMessage, PredictionShape},
        tuned::Tuning,
    },
    network::Network,
};

impl Contender for FedRelax {
    fn about(&self) -> &'static str {
        "pulled to its neighbours"
    }

    fn strength_key(&self) -> Option<StrengthKey> {
        Some(StrengthKey::pull("The pull towards the neighbours; zero trains every node alone."))
    }

    fn facts(&self) -> Facts {
        let is_symmetric = self.coupling == Coupling::Symmetric;
        Facts {
            uses_public: true,
            exchanges_predictions: true,
            knows_lengths_only: true,
            couples_intercepts: self.couple_intercept,
            is_symmetric,
            hub: self.hub,
            solves_directly: self.step == LocalStep::Refit
                && self.clip.is_none()
                // Both discrepancies of classes have the same fixed point.
                && !matches!(self.discrepancy, Some(Loss::Absolute | Loss::Huber { .. })),
            without: &[],
            coupling: Some(if is_symmetric { "symmetric" } else { "one-sided" }),
            ..Facts::default()
        }
    }

    fn told(&self) -> Option<Told> {
        Some(Told::Predictions)
    }

    fn grid(&self, units: &Units) -> Result<Grid> {
        Ok(units.decades_over_degree(1.0, self.hub))
    }

    fn fit(&self, trainer: &Trainer, request: FitRequest) -> Result<Fitted> {
        if let Some(fitted) = trainer.solve_directly(&self.facts(), &request)? {
            return Ok(fitted);
        }
        let FitRequest { network, strength, start, effort, .. } = request;
        let has_hub = self.hub > 0.0;
        let method = Self {
            alpha: strength,
            pooled: if has_hub { Some(trainer.anchor()?) } else { None },
            pooled_predictions: if has_hub { Some(trainer.anchor_predictions()?) } else { None },
            start: if let StartingPoint::Hypotheses(start) = start { Some(start) } else { None },
            keep_splits: effort == Effort::Search,
            ..self.clone()
        };
        trainer.rounds(&method, network, self.hub, effort)
    }

    fn bind(&mut self, bound: &Bound) {
        if let LocalStep::Distil { seed, .. } = &mut self.step {
            *seed = bound.seed;
        }
    }

    fn check_models(&self, models: &ModelsInUse) -> Result<(), String> {
        let classes = models.task != Task::Regression;
        if self.coupling == Coupling::Symmetric && classes {
            return Err(
                "method.coupling is \"symmetric\", expected \"one-sided\" for classes".into()
            );
        }
        // Beyond one, steps leave the range of probabilities.
        if self.relaxation > 1.0 && classes {
            let found = format!("method.relaxation is {}", self.relaxation);
            return Err(format!("{found}, expected at most one for classes"));
        }
        if self.discrepancy.is_some_and(|loss| loss.is_of_classes() != classes) {
            let compares = if classes {
                "numbers, expected auto, cross-entropy or kullback-leibler for classes"
            } else {
                "classes, expected auto, squared, absolute or huber for numbers"
            };
            return Err(format!("method.discrepancy compares {compares}"));
        }
        let descends = matches!(self.step, LocalStep::Descend { .. });
        match models.without_weights().filter(|_| descends) {
            Some(model) => {
                Err(format!("method.step is \"descend\", expected refit or distil for {model}"))
            }
            None => Ok(()),
        }
    }

    fn pulls(&self, network: &Network) -> Option<(FedRelax, Vec<f64>)> {
        let weight = |node| network.degree(node) + self.hub;
        Some((self.clone(), (0..network.len()).map(weight).collect()))
    }

    fn objective(&self) -> Option<Objective<'_>> {
        Some(Objective::Predictions(self))
    }

    fn note_on_fit(&self, fitted: &Fitted) -> Option<String> {
        let note = "All models have smooth losses and this process holds all rows, so the fixed point of \
                    FedRelax was solved directly instead of in rounds of messages.";
        fitted.direct.then(|| note.into())
    }

    fn at_sites(&self) -> Option<&dyn AtSites> {
        Some(self)
    }
}

impl AtSites for FedRelax {
    fn federated(&self, strength: Option<f64>, place: Place) -> Result<Federated> {
        let alpha = strength.unwrap_or(0.0);
        let pooled = if self.hub > 0.0 { Some(Pooled.fit(place.nodes)?.into()) } else { None };
        Ok(Federated::FedRelax(Self { alpha, pooled, ..self.clone() }))
    }

    fn tuned(&self, network: &Network, tuning: Tuning) -> Result<Option<Federated>> {
        TunedAtSites::new(self.clone(), network, tuning).map(Federated::TunedFedRelax).map(Some)
    }

    fn can_be_tuned(&self) -> bool {
        true
    }

    fn largest_message(&self, sizes: &MessageSizes) -> usize {
        let (own, theirs) = sizes.points;
        let yours = (self.coupling == Coupling::Symmetric).then_some(theirs);
        sizes.with_tuning::<PredictionMessage>(PredictionShape { task: sizes.task, own, yours })
    }

    fn check_keys(&self) -> Result<(), [String; 3]> {
        if self.hub > 0.0 {
            return Err(["method.hub".into(), self.hub.to_string(), "0".into()]);
        }
        Ok(())
    }
}
