//! Units, weights of classes and public points of a study that has grown: as a fit has them that sees all of its rows, be
//! these at hand or condensed to sums.

use std::sync::Arc;

use fedgrid::{
    data::{CondensedRows, Dataset, FeatureMoments, Features, Plan, Role, RowDraws, by_name},
    model::{LocalModel, Scales},
};

use super::{
    AllRows, DataSchema, Files, GrownRows, PointRows, PointSource, Rows, means, public::Public,
    ranges, trained::Trained,
};
use crate::{error::Result, experiment::Experiment};

/// Rows in the units of models, and all that they say before anything is trained.
pub(super) struct GrownUnits {
    /// The rows.
    pub(super) data: Vec<Dataset>,
    /// How they are used.
    pub(super) plan: Plan,
    /// From the units of the table to those of models.
    pub(super) scales: Option<Scales>,
    /// How often training rows of each class count; none if all count alike.
    pub(super) class_weights: Option<Vec<f64>>,
    /// The public points of every node.
    pub(super) public: Public,
    /// The least and the largest value of each feature, in the units of the table.
    pub(super) ranges: Vec<(f64, f64)>,
    /// The mean of each feature, in the units of the table.
    pub(super) means: Vec<f64>,
}

/// The nodes of a study with their models, and how its rows are read.
#[derive(Clone, Copy)]
pub(super) struct GrownNodes<'a> {
    pub(super) experiment: &'a Experiment,
    pub(super) files: Files<'a>,
    pub(super) about: &'a DataSchema,
    pub(super) names: &'a [String],
    pub(super) models: &'a [Arc<dyn LocalModel>],
}

impl GrownNodes<'_> {
    /// Those of rows.
    pub(super) fn units(self, rows: AllRows<'_>) -> Result<GrownUnits> {
        match rows {
            AllRows::Rows(rows) => self.of_rows(rows),
            AllRows::Sums { sums, units, points } => self.of_sums((sums, units), points),
        }
    }

    fn of_rows(self, GrownRows { data, roles }: GrownRows) -> Result<GrownUnits> {
        let Self { experiment, files, about, names, models } = self;
        let plan = self.plan(&roles, &data);
        let (ranges, means) = (ranges(&data, &plan), means(&data, &plan));
        let (classes, columns) = (about.classes.clone(), about.columns.clone());
        let mut rows = Rows { data, roles, classes, columns, notes: Vec::new() };
        let said = &mut Vec::new();
        let Trained { class_weights, counts, scales } =
            Trained::new(experiment, &mut rows, &plan, (names, models), said)?;
        let training = &plan.training_features(&rows.data)?;
        let training = PointRows::Rows(training, counts.as_deref());
        let source = PointSource { training, about, scales: scales.as_ref() };
        let public = Public::new(experiment, files, &source, (names, None))?;
        Ok(GrownUnits { data: rows.data, plan, scales, class_weights, public, ranges, means })
    }

    fn of_sums(
        self,
        (sums, units): (&[CondensedRows], Option<&Scales>),
        points: Option<Features>,
    ) -> Result<GrownUnits> {
        let Self { experiment, files, about, names, models } = self;
        let features: Arc<[String]> = about.features.clone().into();
        let table = |own: &CondensedRows| match units {
            Some(units) => units.condensed_for_table(own),
            None => Ok(own.clone()),
        };
        let table = sums.iter().map(table).collect::<fedgrid::Result<Vec<_>>>()?;
        let scales = Scales::of_condensed(names, (&features, &table), models)?
            .filter(|_| !experiment.federation.own_models);
        let scaled = |own: &CondensedRows| match &scales {
            Some(scales) => scales.condensed(own),
            None => Ok(own.clone()),
        };
        let seen = table.iter().map(scaled).collect::<fedgrid::Result<Vec<_>>>()?;
        let columns = seen_names(&features, scales.is_some());
        let moments = moments(&seen, &columns)?;
        let bounds = scaled_ranges(&about.ranges, scales.as_ref());
        let training = PointRows::Sums(&moments, &bounds);
        let source = PointSource { training, about, scales: scales.as_ref() };
        let public = Public::new(experiment, files, &source, (names, points))?;
        let data = seen.iter().map(|own| own.expanded(columns.clone()));
        let data = data.collect::<fedgrid::Result<Vec<_>>>()?;
        let roles: Vec<Vec<Role>> = data.iter().map(|own| vec![Role::Train; own.rows()]).collect();
        let (plan, ranges) = (self.plan(&roles, &data), about.ranges.clone());
        let means = self::moments(&table, &features)?.means().to_vec();
        Ok(GrownUnits { data, plan, scales, class_weights: None, public, ranges, means })
    }

    fn plan(self, roles: &[Vec<Role>], rows: &[Dataset]) -> Plan {
        let draws = RowDraws { names: self.names, rows, seed: self.experiment.seed };
        Plan::new(roles, self.experiment.data.folds, &draws)
    }
}

/// The features in the order in which models see them.
fn seen_names(features: &Arc<[String]>, is_scaled: bool) -> Arc<[String]> {
    if !is_scaled {
        return features.clone();
    }
    by_name(features).into_iter().map(|column| features[column].clone()).collect()
}

/// Means and covariances of all rows.
fn moments(sums: &[CondensedRows], names: &Arc<[String]>) -> Result<FeatureMoments> {
    let with_rows = sums.iter().filter(|own| own.rows() > 0);
    let parts = with_rows.map(|own| own.feature_moments(names.clone()));
    Ok(FeatureMoments::of_parts(&parts.collect::<fedgrid::Result<Vec<_>>>()?)?)
}

/// The least and the largest value of each feature as models see them.
fn scaled_ranges(ranges: &[(f64, f64)], scales: Option<&Scales>) -> Vec<(f64, f64)> {
    let Some(scales) = scales else { return ranges.to_vec() };
    let scaling = scales.scaling();
    let scaled =
        |column: usize, value: f64| (value - scaling.means[column]) / scaling.deviations[column];
    let own =
        |column: usize| ranges.get(column).map(|(a, b)| (scaled(column, *a), scaled(column, *b)));
    by_name(scales.names()).into_iter().filter_map(own).collect()
}
