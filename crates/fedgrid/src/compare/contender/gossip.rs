//! Averaging with neighbours in a comparison.

use super::{Contender, Facts, StrengthKey};
use crate::{
    compare::{
        Fitted,
        fitted::FitRequest,
        hub::{BASELINE_ITERATIONS, BASELINE_TOLERANCE},
        strength::{Grid, Units},
        trainer::Trainer,
    },
    error::Result,
    method::{Gossip, gossip::common_step},
    runtime::InProcess,
};

impl Contender for Gossip {
    fn about(&self) -> &'static str {
        "averaged with its neighbours"
    }

    fn strength_key(&self) -> Option<StrengthKey> {
        Some(StrengthKey::PACE)
    }

    fn facts(&self) -> Facts {
        Facts { needs_weights: true, is_baseline: true, ..Facts::default() }
    }

    fn grid(&self, _: &Units) -> Result<Grid> {
        Ok(Grid::listed(&[0.01, 0.03, 0.1, 0.3, 1.0]))
    }

    fn fit(&self, trainer: &Trainer, request: FitRequest) -> Result<Fitted> {
        let step = request.strength * common_step(trainer.nodes())?;
        let method = Self { step, ..self.clone() };
        // News crosses one edge in a round, where a hub needs one for all; its steps are smaller, too.
        let stop = trainer.baseline_stop(2 * BASELINE_ITERATIONS, 0.1 * BASELINE_TOLERANCE);
        let runtime = InProcess { stop, ..trainer.study.settings.runtime };
        let views = request.network.views(trainer.nodes().to_vec())?;
        let run = trainer.run_rounds(&method, views, runtime, request.effort)?;
        trainer.finish(run, request.network, 0.0)
    }
}
