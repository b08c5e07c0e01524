//! What follows from what a node was told: its columns, its part of a system, and in the end its model.

use super::{
    MixedKeys,
    participant::{Basis, DRAWN_PROBES, MixedParticipant, missing},
};
use crate::{
    error::Result,
    mixed::{
        ColumnSums, Columns, Design, Family, Known, Means, NodeMoments, NodeSystem, Pooling,
        Probes, weights,
    },
    random::{Purpose, Stream},
};

impl MixedParticipant {
    /// Makes what follows from what the node was told.
    pub(super) fn remember(&mut self) -> Result<()> {
        if self.basis.is_none() && !self.scales.is_empty() {
            self.basis = Some(self.columns()?);
        }
        let asked = self.basis.as_ref().zip(self.question.as_ref());
        if let Some((basis, question)) = asked.filter(|_| self.elimination.is_none()) {
            let own = self.own_precision();
            let system = NodeSystem::new(&basis.moments, &basis.columns, own, question);
            self.system = Some(system.ok_or_else(|| missing("no finite numbers"))?);
        }
        if let (Some((_, mean)), Some((basis, question))) = (self.ending.split_first(), asked) {
            let deviations = if self.family.is_some() {
                let (laplace, elimination) = self.laplace()?;
                let q = laplace.columns.random.len();
                elimination.own(&self.modes.deviations, q).to_vec()
            } else {
                let covariance = vec![0.0; mean.len() * mean.len()];
                self.part(&Means { values: mean.to_vec(), covariance })?.deviations
            };
            let own = weights(&basis.columns, question, mean, &deviations);
            let names = self.data.features().names();
            self.hypothesis = Some(basis.design.hypothesis(names, self.family, &own));
        }
        Ok(())
    }

    pub(super) fn known(&self) -> Result<(&NodeSystem, &Basis)> {
        self.system
            .as_ref()
            .zip(self.basis.as_ref())
            .ok_or_else(|| missing("no question before it"))
    }

    /// The columns, from sums over the rows of all nodes.
    pub(super) fn columns(&self) -> Result<Basis> {
        // Only numbers with normal errors have labels that are scaled.
        let is_scaled = self.family.is_none();
        let sums = ColumnSums {
            weight: self.scales[0],
            label_squares: self.scales[usize::from(is_scaled)],
            products: self.scales[2..].to_vec(),
            deviating: self.deviating.clone(),
            label_mean: if is_scaled { self.means[0] } else { 0.0 },
            means: self.means[1..].to_vec(),
        };
        let design = Design::of_sums(&sums);
        let MixedKeys { shared, free, variances, .. } = &self.plan.keys;
        let (shared, free, variances) = (shared.clone(), free.clone(), variances.clone());
        let pooling = Pooling { shared, free, variances };
        let random = design.random_columns(&pooling, self.data.features().names())?;
        let random = random.of_each(self.family, design.columns());
        let known = Known { variances: random.variances, free: random.free };
        let others = self.family.map(|family| design.rows(&self.data, family));
        let moments = match self.family {
            None => design.moments(&self.data),
            Some(_) => NodeMoments::new(design.columns(), std::iter::empty()),
        };
        let probes = self.probes(random.places.len());
        let count = design.columns() * self.family.map_or(1, Family::outputs);
        let fixed = design.fixed_of_each(self.family);
        let columns = Columns { count, fixed, random: random.places, free: random.free };
        Ok(Basis { design, columns, known, moments, others, probes })
    }

    /// The probes for so many coefficients of the node, where a series needs them.
    pub(super) fn probes(&self, size: usize) -> Probes {
        let count = if self.elimination.is_some() { 0 } else { DRAWN_PROBES };
        let mut stream = Stream::new(self.plan.keys.seed, self.id, 0, Purpose::Traces);
        let mut sign = || if stream.index(2) == 0 { -1.0 } else { 1.0 };
        let values = (0..size * count).map(|_| sign()).collect();
        Probes { values, count, weight: 1.0 / DRAWN_PROBES as f64 }
    }
}
