//! The training rows of all nodes as a mixed model takes them.

use std::sync::Arc;

use super::{
    Mixed,
    kept::{Asked, KeptEstimates, MixedStart},
};
use crate::{
    data::Dataset,
    error::Result,
    mixed::{
        Design, Family, LaplaceModel, Likelihood, MixedEstimate, MixedModel, NetworkRatio,
        NodeMoments, NodeRows, Precision, RandomColumns, SearchStart,
    },
    model::Scales,
};

/// Columns and rows, for any number of fits.
pub(super) struct MixedRows {
    pub(super) design: Design,
    pub(super) random: RandomColumns,
    likelihood: Likelihood,
    nodes: Arc<Nodes>,
    /// How many nodes have rows.
    pub(super) with_rows: usize,
    /// What makes deviances those of labels and features in the units of the table.
    unit_deviance: f64,
    /// The coefficients that deviate, each with what a deviation of one noise is worth in the units of the table; nothing of
    /// classes and counts.
    deviating: Vec<(String, f64)>,
}

#[derive(Debug, PartialEq)]
pub(super) enum Nodes {
    Numbers(Vec<NodeMoments>),
    /// Classes or counts.
    Others(Family, Vec<NodeRows>),
}

/// A mixed model to be fitted to the rows.
#[derive(Clone, Copy)]
pub(super) struct Ask<'a> {
    pub(super) precision: &'a Precision,
    pub(super) rho: Option<f64>,
    pub(super) correlated: bool,
}

impl MixedRows {
    /// Of labels of a family, or of numbers with normal errors; keys are in the units of the table.
    pub(super) fn new(
        keys: &Mixed,
        rows: &[Dataset],
        family: Option<Family>,
        scales: Option<&Scales>,
    ) -> Result<Self> {
        let design = Design::new(rows, family.is_none())?;
        let names = rows[0].features().names();
        let unit = |name: &str| scales.map_or(1.0, |scales| scales.coefficient_unit(name));
        let pooling = keys.pooling(&|name, variance| variance / unit(name).powi(2));
        let random = design.random_columns(&pooling, names)?.of_each(family, design.columns());
        let (mut unit_deviance, mut deviating) = (0.0, Vec::new());
        if family.is_none() {
            let worth = |name: &str, column: usize| design.coefficient_unit(column) * unit(name);
            let noise = worth(Design::INTERCEPT, 0);
            deviating.extend(random.places.iter().map(|&column| {
                let name = design.name_of(column, names);
                (name.to_string(), worth(name, column) / noise)
            }));
            // −2 log of the density of labels, and for REML of the mean coefficients, in other units.
            let label = (design.label_variance().sqrt() * unit(Design::INTERCEPT)).ln();
            let count: f64 = rows.iter().map(Dataset::row_count).sum();
            unit_deviance = 2.0 * count * label;
            if keys.likelihood == Likelihood::Restricted {
                let of = |&column: &usize| {
                    let name = design.name_of(column, names);
                    (design.coefficient_unit(column) * unit(name)).ln()
                };
                unit_deviance -= 2.0 * design.fixed().iter().map(of).sum::<f64>();
            }
        }
        let nodes = match family {
            None => Nodes::Numbers(rows.iter().map(|data| design.moments(data)).collect()),
            Some(family) => {
                Nodes::Others(family, rows.iter().map(|data| design.rows(data, family)).collect())
            }
        };
        let nodes = Arc::new(nodes);
        let with_rows = rows.iter().filter(|data| data.rows() > 0).count();
        let likelihood = keys.likelihood;
        Ok(Self { design, random, likelihood, nodes, with_rows, unit_deviance, deviating })
    }

    /// Where a model was found, in the units of the table; none of classes and counts.
    pub(super) fn start_of(&self, ask: Ask, found: &MixedEstimate) -> Option<MixedStart> {
        let size = self.deviating.len();
        (size > 0).then(|| MixedStart {
            names: self.deviating.iter().map(|(name, _)| name.clone()).collect(),
            factor: self.rows_times(&found.factor, |worth| worth),
            rho: found.rho,
            along: ask.precision.has_edges(),
            correlated: ask.correlated,
        })
    }

    /// Where a search begins: at what was found of fewer rows, if the same coefficients deviated.
    fn start_for(&self, ask: Ask, kept: &KeptEstimates) -> SearchStart {
        // Along a network a search from the end of another went on for hundreds of looks.
        let known = kept.start(false, ask.correlated).filter(|start| {
            let names = self.deviating.iter().map(|(name, _)| name);
            names.eq(&start.names) && start.factor.len() == start.names.len().pow(2)
        });
        SearchStart { apart: known.map(|start| self.rows_times(&start.factor, f64::recip)) }
    }

    /// T with each row times what a unit of its coefficient is worth.
    fn rows_times(&self, factor: &[f64], share: fn(f64) -> f64) -> Vec<f64> {
        let rows = factor.chunks_exact(self.deviating.len().max(1)).zip(&self.deviating);
        rows.flat_map(|(row, (_, worth))| row.iter().map(|x| share(*worth) * x)).collect()
    }

    /// What is known of labels, if their errors are not normal.
    pub(super) fn family(&self) -> Option<Family> {
        match &*self.nodes {
            Nodes::Numbers(_) => None,
            Nodes::Others(family, _) => Some(*family),
        }
    }

    /// How many coefficients a node has.
    pub(super) fn size(&self) -> usize {
        self.design.columns() * self.family().map_or(1, Family::outputs)
    }

    /// The deviance of raw labels and features, in the units of the table.
    pub(super) fn deviance(&self, deviance: f64) -> f64 {
        deviance + self.unit_deviance
    }

    /// Estimates a model, unless it was estimated before.
    pub(super) fn fit(&self, ask: Ask, kept: &KeptEstimates) -> Result<MixedEstimate> {
        let fixed = self.design.fixed_of_each(self.family());
        let asked = Asked {
            nodes: self.nodes.clone(),
            columns: self.size(),
            fixed: fixed.clone(),
            random: self.random.clone(),
            likelihood: self.likelihood,
            precision: ask.precision.clone(),
            rho: ask.rho,
            correlated: ask.correlated,
        };
        kept.found_or(asked, || match &*self.nodes {
            Nodes::Numbers(nodes) => {
                self.of_numbers(nodes, &fixed, ask).fit_from(&self.start_for(ask, kept))
            }
            Nodes::Others(_, nodes) => self.of_others(nodes, &fixed, ask).fit(),
        })
    }

    /// What the network adds to the likelihood of a model that was estimated without one, also with nodes in other
    /// places.
    pub(super) fn network_ratio(
        &self,
        (ask, without): (Ask, &MixedEstimate),
        orders: &[Vec<usize>],
        most_work: f64,
    ) -> Result<NetworkRatio> {
        let (fixed, without) = (self.design.fixed_of_each(self.family()), Some(without));
        let found = match &*self.nodes {
            Nodes::Numbers(nodes) => {
                let model = self.of_numbers(nodes, &fixed, ask);
                model.network_ratio_beside(without, orders, most_work)
            }
            Nodes::Others(_, nodes) => {
                let model = self.of_others(nodes, &fixed, ask);
                model.network_ratio_beside(without, orders, most_work)
            }
        }?;
        let (independent, along) = (self.deviance(found.independent), self.deviance(found.along));
        Ok(NetworkRatio { independent, along, ..found })
    }

    fn of_numbers<'a>(
        &'a self,
        nodes: &'a [NodeMoments],
        fixed: &'a [usize],
        Ask { precision, rho, correlated }: Ask<'a>,
    ) -> MixedModel<'a> {
        MixedModel {
            nodes,
            columns: self.size(),
            fixed,
            random: &self.random.places,
            variances: &self.random.variances,
            free: self.random.free,
            correlated,
            likelihood: self.likelihood,
            precision,
            rho,
            factor: None,
        }
    }

    fn of_others<'a>(
        &'a self,
        nodes: &'a [NodeRows],
        fixed: &'a [usize],
        Ask { precision, rho, correlated }: Ask<'a>,
    ) -> LaplaceModel<'a> {
        LaplaceModel {
            nodes,
            columns: self.size(),
            fixed,
            random: &self.random.places,
            variances: &self.random.variances,
            free: self.random.free,
            correlated,
            precision,
            rho,
        }
    }
}
