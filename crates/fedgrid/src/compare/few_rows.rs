//! Linear models with more features than rows, in as many columns as the rows span,
//!
//! ```text
//! x ↦ Qᵀx,   w = Q z         Q an orthonormal basis of all training rows and public points
//! ```
//!
//! A part of w that no row sees changes no prediction on a row or a public point, and makes a ridge and any
//! difference of weights longer: so every best w lies in the span, also the shortest one without a ridge. Lengths are
//! those of z. The cost of a fit goes with rows, then, and not with features.

use std::sync::Arc;

use super::Study;
use crate::{
    algebra::{add_scaled, dot, norm, scale},
    data::Features,
    error::Result,
    model::{Hypothesis, LinearHypothesis},
    network::Node,
};

/// What is left of a row beside the span of others, relative to the row, if it is of rounding only: public points are
/// combinations of rows to about fifteen digits.
const ROUNDING: f64 = 1e-9;

/// The columns that rows span.
#[derive(Debug)]
pub(super) struct FewRows {
    /// The columns of Q.
    basis: Vec<Vec<f64>>,
    names: Arc<[String]>,
    /// The names of z.
    own_names: Arc<[String]>,
}

impl Study {
    /// Whether lengths of weights are all that its methods know of them, and models are linear and solved directly.
    fn knows_lengths_only(&self) -> bool {
        let settings = &self.settings;
        let members = settings.members.iter().map(|member| member.method.facts());
        let baselines = settings.baselines.iter().map(|kind| kind.facts());
        settings.direct
            && self.models.iter().all(|model| model.as_linear().is_some())
            && members
                .chain(baselines)
                .chain([settings.method.facts()])
                .all(|one| one.knows_lengths_only)
    }
}

impl FewRows {
    /// The span of the rows and public points of some nodes; none where it is not much less than all features.
    pub(super) fn new(study: &Study, nodes: &[Node]) -> Option<Self> {
        let names = nodes.first()?.data.features().names().clone();
        let rows: usize = nodes.iter().map(|node| node.data.rows()).sum();
        if 2 * rows > names.len() || !study.knows_lengths_only() {
            return None;
        }
        let mut basis: Vec<Vec<f64>> = Vec::new();
        let mut seen: Vec<*const Features> = Vec::new();
        for node in nodes {
            let points = Arc::as_ptr(&node.public);
            let is_new = !seen.contains(&points);
            seen.extend(is_new.then_some(points));
            let points = node.public.iter().filter(|_| is_new);
            for row in node.data.features().iter().chain(points) {
                let mut rest = row.to_vec();
                // Twice, because the first time leaves the rounding of a long row.
                for _ in 0..2 {
                    for q in &basis {
                        let along = dot(q, &rest);
                        add_scaled(&mut rest, -along, q);
                    }
                }
                let length = norm(&rest);
                if length > ROUNDING * norm(row) {
                    scale(&mut rest, 1.0 / length);
                    basis.push(rest);
                }
                if 2 * basis.len() > names.len() {
                    return None;
                }
            }
        }
        // Rows without a column could not be told apart.
        if basis.is_empty() {
            return None;
        }
        let own_names = (0..basis.len()).map(|k| format!("z{k}")).collect();
        Some(Self { basis, names, own_names })
    }

    /// The nodes with these columns.
    pub(super) fn nodes(&self, nodes: Vec<Node>) -> Result<Vec<Node>> {
        let mut known: Vec<(Arc<Features>, Arc<Features>)> = Vec::new();
        let own = |mut node: Node| {
            let place = known.iter().position(|(from, _)| Arc::ptr_eq(from, &node.public));
            let place = place.map_or_else(
                || {
                    known.push((node.public.clone(), Arc::new(self.features(&node.public)?)));
                    Ok(known.len() - 1)
                },
                Ok,
            )?;
            node.public = known[place].1.clone();
            let features = self.features(node.data.features())?;
            node.data = node.data.with_values(features, node.data.labels().clone())?;
            Ok(node)
        };
        nodes.into_iter().map(own).collect()
    }

    fn features(&self, rows: &Features) -> Result<Features> {
        if rows.rows() == 0 {
            return Ok(Features::empty(self.own_names.clone()));
        }
        let values = rows.iter().flat_map(|row| self.basis.iter().map(move |q| dot(q, row)));
        Features::new(self.own_names.clone(), values.collect())
    }

    /// A hypothesis for rows of all features.
    pub(super) fn of_all_features(&self, own: &Arc<dyn Hypothesis>) -> Arc<dyn Hypothesis> {
        let turned =
            own.downcast_ref::<LinearHypothesis>().filter(|own| own.names == self.own_names);
        let Some(LinearHypothesis { slopes, intercept, .. }) = turned else { return own.clone() };
        let mut all = vec![0.0; self.names.len()];
        self.basis.iter().zip(slopes).for_each(|(q, z)| add_scaled(&mut all, *z, q));
        Arc::new(LinearHypothesis { names: self.names.clone(), slopes: all, intercept: *intercept })
    }
}
