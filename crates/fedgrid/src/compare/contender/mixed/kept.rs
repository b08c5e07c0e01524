//! Estimates that were found, for whoever asks for the same again: in a comparison a mixed model is scored on
//! validation rows, on test rows and for evidence, each time from the same training rows.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use serde::{Deserialize, Serialize};

use super::rows::Nodes;
use crate::{
    error::Result,
    mixed::{Likelihood, MixedEstimate, Precision, RandomColumns},
};

/// All that an estimate depends on, so that a search from the same has the same bits.
#[derive(Debug, PartialEq)]
pub(super) struct Asked {
    pub(super) nodes: Arc<Nodes>,
    pub(super) columns: usize,
    pub(super) fixed: Vec<usize>,
    pub(super) random: RandomColumns,
    pub(super) likelihood: Likelihood,
    pub(super) precision: Precision,
    pub(super) rho: Option<f64>,
    pub(super) correlated: bool,
}

/// Where a mixed model was found, for whoever looks for that of more rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MixedStart {
    /// The coefficients that differ from node to node.
    pub names: Vec<String>,
    /// T, row by row, of coefficients in the units of the table and of a σ² of one.
    pub factor: Vec<f64>,
    /// ρ.
    pub rho: f64,
    /// Whether it was sought along a network.
    pub along: bool,
    /// Whether coefficients may deviate together.
    pub correlated: bool,
}

/// The latest estimates of mixed models of a study.
#[derive(Debug, Clone, Default)]
pub struct KeptEstimates {
    found: Arc<Mutex<VecDeque<(Asked, MixedEstimate)>>>,
    /// Where searches begin.
    starts: Arc<[MixedStart]>,
}

/// Numbers of all kept estimates and their rows at most, about: a quarter of a gigabyte.
const MOST_NUMBERS: usize = 1 << 25;

impl Asked {
    /// Moments and covariances of every node are most of what is kept.
    fn numbers(&self) -> usize {
        4 * self.precision.len() * (self.columns + 1).pow(2)
    }
}

impl KeptEstimates {
    /// None yet, which are looked for from where those of fewer rows were found.
    #[must_use]
    pub fn starting_from(starts: &[MixedStart]) -> Self {
        Self { starts: starts.into(), ..Self::default() }
    }

    /// Where the search for a model of this kind begins, if that is known.
    pub(super) fn start(&self, along: bool, correlated: bool) -> Option<&MixedStart> {
        self.starts.iter().find(|start| (start.along, start.correlated) == (along, correlated))
    }

    /// What was found for the same, or else what `find` finds.
    pub(super) fn found_or(
        &self,
        asked: Asked,
        find: impl FnOnce() -> Result<MixedEstimate>,
    ) -> Result<MixedEstimate> {
        let known =
            self.all().iter().find(|(own, _)| *own == asked).map(|(_, found)| found.clone());
        if let Some(found) = known {
            return Ok(found);
        }
        // Others may look for the same at this time: both find the same bits.
        let found = find()?;
        let mut all = self.all();
        all.push_back((asked, found.clone()));
        while all.iter().map(|(own, _)| own.numbers()).sum::<usize>() > MOST_NUMBERS {
            all.pop_front();
        }
        Ok(found)
    }

    fn all(&self) -> MutexGuard<'_, VecDeque<(Asked, MixedEstimate)>> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::mixed::{MixedModel, NodeMoments};

    fn asked(nodes: &[NodeMoments], correlated: bool) -> Asked {
        Asked {
            nodes: Arc::new(Nodes::Numbers(nodes.to_vec())),
            columns: 1,
            fixed: vec![0],
            random: RandomColumns { places: vec![0], variances: vec![None], free: 0 },
            likelihood: Likelihood::Restricted,
            precision: Precision::independent(nodes.len()),
            rho: None,
            correlated,
        }
    }

    #[test]
    fn the_same_is_sought_once_and_another_anew() {
        let (kept, count) = (KeptEstimates::default(), Cell::new(0));
        let nodes = |shift: f64| -> Vec<NodeMoments> {
            let row = |node: usize, row: usize| {
                (&[1.0][..], shift + (3 * node + 5 * row % 7) as f64, 1.0)
            };
            (0..6).map(|node| NodeMoments::new(1, (0..4).map(|at| row(node, at)))).collect()
        };
        let fit = |nodes: &[NodeMoments], correlated: bool| {
            kept.found_or(asked(nodes, correlated), || {
                count.set(count.get() + 1);
                let (precision, rho) = (&Precision::independent(nodes.len()), None);
                let (columns, fixed, random) = (1, &[0][..], &[0][..]);
                let (likelihood, variances, free) = (Likelihood::Restricted, &[][..], 0);
                let model = MixedModel {
                    nodes,
                    columns,
                    fixed,
                    random,
                    variances,
                    free,
                    correlated,
                    likelihood,
                    precision,
                    rho,
                    factor: None,
                };
                model.fit()
            })
            .unwrap()
        };
        let (first, again) = (fit(&nodes(0.0), false), fit(&nodes(0.0), false));
        assert_eq!(count.get(), 1);
        assert_eq!(first.coefficients, again.coefficients);
        assert_ne!(fit(&nodes(1.0), false).mean, first.mean);
        fit(&nodes(0.0), true);
        assert_eq!(count.get(), 3);
        // Another handle of the same study has the same memory.
        assert_eq!(kept.clone().all().len(), 3);
    }
}
