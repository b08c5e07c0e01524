//! FedMD in a comparison.

use super::{Contender, Facts, StrengthKey};
use crate::{
    compare::{
        Fitted,
        fitted::{Effort, FitRequest, StartingPoint},
        strength::{Grid, Units},
        trainer::Trainer,
    },
    error::Result,
    method::{FedMd, FedRelax, hub::around_hub},
    network::Network,
    observe::Stop,
    runtime::InProcess,
};

/// What tells strengths apart: more rounds change no ranking.
const SEARCH_TOLERANCE: f64 = 1e-3;
const SEARCH_ROUNDS: usize = 40;

impl Contender for FedMd {
    fn about(&self) -> &'static str {
        "pulled to the mean prediction"
    }

    fn strength_key(&self) -> Option<StrengthKey> {
        Some(StrengthKey::pull("The pull to the mean prediction; zero trains every node alone."))
    }

    fn facts(&self) -> Facts {
        Facts {
            uses_network: false,
            needs_common_points: true,
            uses_public: true,
            is_baseline: true,
            hub: 1.0,
            ..Facts::default()
        }
    }

    fn grid(&self, _: &Units) -> Result<Grid> {
        Ok(Grid::Decades(1.0))
    }

    fn fit(&self, trainer: &Trainer, request: FitRequest) -> Result<Fitted> {
        let mut stop = trainer.study.settings.runtime.stop;
        if request.effort == Effort::Search {
            stop = Stop {
                tolerance: stop.tolerance.max(SEARCH_TOLERANCE),
                rounds: stop.rounds.min(SEARCH_ROUNDS),
            };
        }
        let runtime = InProcess { stop, ..trainer.study.settings.runtime };
        let views = around_hub(trainer.nodes().to_vec())?;
        let method = Self { alpha: request.strength };
        let mut run = trainer.run_rounds(&method, views, runtime, request.effort)?;
        run.hypotheses.pop();
        trainer.finish_at_hub(run, StartingPoint::Cold)
    }

    fn pulls(&self, network: &Network) -> Option<(FedRelax, Vec<f64>)> {
        Some((FedRelax::default(), vec![1.0; network.len()]))
    }

    fn note_on_fit(&self, _: &Fitted) -> Option<String> {
        Some("fedmd knows a hub and no network; the network is only drawn.".into())
    }
}
