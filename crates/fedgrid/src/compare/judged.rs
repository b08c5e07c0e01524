//! What people read of a contestant beside its error, on rows that its models have not seen.

use std::sync::Arc;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::{
    Contestant, Fitted, NodeScore, Strength, Study, Watch,
    fitted::{Effort, FitRequest, StartingPoint},
    score::sum,
    trainer::Trainer,
};
use crate::{
    data::Fold,
    error::{Error, Result},
    metric::{JudgedRows, Measures, Metric},
    model::Hypothesis,
};

/// The measures of a contestant by what rows are for.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RoleMeasures {
    /// On test rows, if there are any.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub test: Option<Measures>,
    /// On validation rows, where these are apart from training rows or there are no test rows.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub validation: Option<Measures>,
}

impl RoleMeasures {
    /// Whether nothing was measured.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.counting().is_none()
    }

    /// Those of the error that counts: on test rows, or else on validation rows.
    #[must_use]
    pub fn counting(&self) -> Option<&Measures> {
        self.test.as_ref().or(self.validation.as_ref())
    }
}

impl Study {
    /// The measures of hypotheses on the given rows of each node, in the units of the table; none without a row.
    #[must_use]
    pub fn measures(
        &self,
        hypotheses: &[Arc<dyn Hypothesis>],
        rows: &[Vec<usize>],
    ) -> Option<Measures> {
        self.measured(&self.judged_rows(hypotheses, rows))
    }

    /// The measures of what was fitted to all training rows.
    pub(super) fn measures_by_role(&self, fitted: &Fitted) -> RoleMeasures {
        let measures = |rows: &[Vec<usize>]| self.measures(&fitted.hypotheses, rows);
        let apart = match self.plan.folds.as_slice() {
            [fold] if fold.train == self.plan.train => Some(&fold.validation),
            _ => None,
        };
        RoleMeasures {
            test: measures(&self.plan.test),
            validation: apart.and_then(|rows| measures(rows)),
        }
    }

    /// The measures of a contestant on validation rows, each with models that were fitted without it.
    pub(super) fn measures_in_turn(
        &self,
        contestant: Contestant,
        strength: Strength,
        watch: &dyn Watch,
    ) -> Result<Option<Measures>> {
        if let Some((study, _)) = self.by_name() {
            return study.measures_in_turn(contestant, strength, watch);
        }
        Ok(self.in_turn(contestant, strength, watch)?.1)
    }

    /// The scores of each node on validation rows, each with models that were fitted without it, and their measures.
    pub(super) fn in_turn(
        &self,
        contestant: Contestant,
        strength: Strength,
        watch: &dyn Watch,
    ) -> Result<(Vec<NodeScore>, Option<Measures>)> {
        let judge = |fold: &Fold| {
            if watch.interrupted() {
                return Err(Error::Interrupted);
            }
            let fitted = self.fit_to(fold, (contestant, strength), watch)?;
            let scores = self.score(&fitted.hypotheses, &fold.validation);
            Ok((scores, self.judged_rows(&fitted.hypotheses, &fold.validation)))
        };
        // Folds are independent, and the nodes of each may learn in turn: all cores are busy.
        let folds = self.plan.folds.par_iter().map(judge).collect::<Result<Vec<_>>>()?;
        let scores = sum(folds.iter().map(|(scores, _)| scores));
        let judged: Vec<JudgedRows> = folds.into_iter().flat_map(|(_, judged)| judged).collect();
        Ok((scores, self.measured(&judged)))
    }

    fn fit_to(
        &self,
        fold: &Fold,
        (contestant, strength): (Contestant, Strength),
        watch: &dyn Watch,
    ) -> Result<Fitted> {
        let trainer = Trainer::new(self, watch, &fold.train, strength.ridge)?;
        let network = &self.network_of(contestant);
        let (start, effort) = (StartingPoint::Cold, Effort::Search);
        trainer.train(contestant, FitRequest::new(network, strength.alpha, start, effort))
    }

    fn measured(&self, judged: &[JudgedRows]) -> Option<Measures> {
        let are_counts = self.metric() == Metric::Deviance
            || self.models.iter().all(|model| model.is_of_counts());
        Measures::of(judged, self.target_unit(), are_counts)
    }

    fn judged_rows(
        &self,
        hypotheses: &[Arc<dyn Hypothesis>],
        rows: &[Vec<usize>],
    ) -> Vec<JudgedRows> {
        let judged = |(node, rows): (usize, &Vec<usize>)| {
            let data = self.rows[node].select(rows);
            JudgedRows {
                labels: data.labels().clone(),
                predictions: data.over_exposures(hypotheses[node].predict(data.features())),
                // As in the error of a comparison, a row counts for as many as it stands for.
                weights: (0..rows.len()).map(|row| data.count(row)).collect(),
            }
        };
        rows.par_iter().enumerate().map(judged).collect()
    }
}
