//! The section of privacy: what may be told of a row, and the bounds that nobody reads from rows.

use std::collections::BTreeMap;

use fedgrid::{
    compare::MethodKind,
    privacy::{Budget, PrivateKind},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ColumnKeys, ColumnKind, Experiment, MissingRule, PublicKind};

/// What nodes may tell of a row, in all. Each row is noised once, and other nodes know what follows from that only.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PrivacyKeys {
    /// What is private: labels, where features and which rows there are is no secret; or whole rows.
    #[serde(default)]
    pub kind: PrivateKind,
    /// ε: how much likelier anything that is told may be by a row, as a logarithm. Below one is strict, above ten is little.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub epsilon: f64,
    /// δ: in which share of cases more may be told; far less than one over the number of rows.
    #[serde(default = "delta")]
    #[schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1))]
    pub delta: f64,
    /// Between what labels lie, in the units of the table, as anybody could know; those outside are moved to the bound.
    pub labels: BoundsKeys,
    /// For kind "rows": the same of each feature.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub features: BTreeMap<String, BoundsKeys>,
}

/// Between what values lie.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BoundsKeys {
    /// The least.
    pub least: f64,
    /// The most.
    pub most: f64,
}

impl BoundsKeys {
    /// Half of what lies between them.
    #[must_use]
    pub fn half(self) -> f64 {
        0.5 * (self.most - self.least)
    }

    /// Their middle.
    #[must_use]
    pub fn middle(self) -> f64 {
        f64::midpoint(self.least, self.most)
    }

    fn check(self, key: &str) -> Result<(), String> {
        let Self { least, most } = self;
        if least.is_finite() && most.is_finite() && least < most {
            return Ok(());
        }
        Err(format!("{key} is {least} to {most}, expected two numbers, the larger one as most"))
    }
}

/// Whether what becomes of a column is learnt from rows.
fn is_learnt(keys: &ColumnKeys) -> bool {
    let is_number = matches!(keys.kind, None | Some(ColumnKind::Number));
    !is_number || !matches!(keys.missing, None | Some(MissingRule::Refuse))
}

/// The usual δ.
fn delta() -> f64 {
    1e-5
}

impl PrivacyKeys {
    /// ε and δ.
    #[must_use]
    pub fn budget(&self) -> Budget {
        Budget { epsilon: self.epsilon, delta: self.delta }
    }

    /// Refuses what cannot be kept private.
    pub(super) fn check(&self, experiment: &Experiment) -> Result<(), String> {
        self.labels.check("privacy.labels")?;
        for (name, bounds) in &self.features {
            bounds.check(&format!("privacy.features.{name}"))?;
        }
        self.budget().mu().map_err(|error| format!("privacy.{error}"))?;
        let are_rows = self.kind == PrivateKind::Rows;
        if !are_rows && !self.features.is_empty() {
            return Err("privacy.features is for privacy.kind = \"rows\": where labels are private, features are no \
                        secret"
                .into());
        }
        let refusals = self.of_data(experiment).into_iter().chain(Self::of_method(experiment));
        match refusals.into_iter().find_map(|(is_wrong, sentence)| is_wrong.then_some(sentence)) {
            Some(sentence) => Err(sentence.into()),
            None => Ok(()),
        }
    }

    /// What of the data lets a row have a say in more than its own noise, each with whether it is asked for.
    fn of_data(&self, experiment: &Experiment) -> [(bool, &'static str); 9] {
        let (data, network, public) = (&experiment.data, &experiment.network, &experiment.public);
        let are_rows = self.kind == PrivateKind::Rows;
        let by_time = data.time_split();
        [
            (
                data.weight.is_some() || data.exposure.is_some() || data.offset.is_some(),
                "[privacy] and data.weight, data.offset or data.exposure exclude each other: what a row counts for would \
                 not be bounded",
            ),
            (
                !data.lags.is_empty(),
                "[privacy] and data.lags exclude each other: earlier labels would be features, which are not noised",
            ),
            (
                data.split.is_none(),
                "[privacy] needs data.split, a column or times that say what rows are for: roles that are drawn depend on \
                 what rows hold",
            ),
            (
                by_time.is_some_and(|split| split.origins.is_some()),
                "[privacy] and data.split.origins exclude each other: each origin would release the same rows again",
            ),
            (
                are_rows && by_time.is_some(),
                "privacy.kind is \"rows\" and data.split is by time, expected a column that says what rows are for: which \
                 rows there are would move the cuts",
            ),
            (
                network.learn.is_some() || !network.candidates.is_empty(),
                "[privacy] and network.learn or network.candidates exclude each other: such a network is made of rows as \
                 they are",
            ),
            (
                are_rows && !matches!(public.kind, PublicKind::Box | PublicKind::File),
                "privacy.kind is \"rows\", expected public.kind = \"box\", which then is the box of privacy.features, or \
                 \"file\": other public points are made of rows",
            ),
            (
                are_rows && data.columns.values().any(is_learnt),
                "privacy.kind is \"rows\" and there is data.columns, expected features that are columns of numbers without \
                 gaps: levels and fills are learnt from rows",
            ),
            (
                are_rows && data.features.is_none(),
                "privacy.kind is \"rows\", expected data.features: which columns there are must not depend on rows",
            ),
        ]
    }

    /// The same of methods.
    fn of_method(experiment: &Experiment) -> [(bool, &'static str); 5] {
        let (method, compare) = (&experiment.method, &experiment.compare);
        [
            (
                method.is_chosen
                    || !matches!(method.approach.kind(), MethodKind::FedRelax | MethodKind::Mixed),
                "[privacy] needs method.kind = \"fedrelax\" or \"mixed\", which learn from releases as from rows",
            ),
            (
                method.approach.facts().hub > 0.0,
                "[privacy] and method.hub exclude each other: the twins of the neighbours are all that a node hears",
            ),
            (
                !compare.baselines.is_empty(),
                "[privacy] and compare.baselines exclude each other: they would be trained on rows as they are",
            ),
            (
                experiment.federation != super::FederationKeys::default(),
                "[privacy] and [federation] exclude each other: what sites tell beside a release is not noised",
            ),
            (
                !experiment.data.has_validation()
                    && method.approach.kind() == MethodKind::FedRelax
                    && (method.strength.given().is_none() || experiment.model.tunes_ridge()),
                "[privacy] needs validation rows to choose strengths on, once they are noised, or method.alpha and \
                 model.ridge: rows that take turns would be noised for each turn",
            ),
        ]
    }
}
