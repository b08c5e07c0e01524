//! Studies whose methods know of rows what a squared loss knows, so that condensed rows are as good as rows.

use super::{Contestant, MethodKind, Study};
use crate::{
    data::{CondensedRows, Task},
    error::Result,
};

impl Study {
    /// Whether these contestants take [`CondensedRows`] and condensed public points for rows and points: linear models,
    /// by methods that are solved in one place.
    #[must_use]
    pub fn takes_condensed_rows(&self, contestants: &[Contestant]) -> bool {
        let is_solved = |contestant: &Contestant| {
            let method = self.method_of(*contestant);
            let is_known = matches!(
                method.kind(),
                MethodKind::Local
                    | MethodKind::Pooled
                    | MethodKind::Shrunk
                    | MethodKind::Mixed
                    | MethodKind::FedRelax
                    | MethodKind::Gtv
            );
            is_known && method.facts().solves_directly && !method.facts().asks_for_rounds
        };
        self.settings.direct
            // What is drawn to releases needs these again.
            && self.settings.privacy.is_none()
            && self.task() == Task::Regression
            && self.rows.iter().all(|data| data.exposures().is_none())
            && self.models.iter().all(|model| model.as_linear().is_some())
            && contestants.iter().all(is_solved)
    }

    /// The training rows of every node, condensed, in the units of the study.
    pub fn condensed_rows(&self) -> Result<Vec<CondensedRows>> {
        self.training(&self.plan.train).iter().map(CondensedRows::of).collect()
    }
}
