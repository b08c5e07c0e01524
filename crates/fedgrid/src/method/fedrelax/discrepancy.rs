//! How predictions are compared, as keys of a file.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::loss::Loss;

/// Which comparison, and what it needs to know.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub(super) struct DiscrepancyKeys {
    /// How predictions are compared; "auto" is the squared difference for numbers and the cross-entropy for
    /// classes.
    discrepancy: DiscrepancyName,
    /// For discrepancy "huber": the difference from which on it is linear.
    #[schemars(extend("exclusiveMinimum" = 0))]
    threshold: f64,
}

#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum DiscrepancyName {
    #[default]
    Auto,
    Squared,
    Absolute,
    Huber,
    CrossEntropy,
    KullbackLeibler,
}

impl Default for DiscrepancyKeys {
    fn default() -> Self {
        Self { discrepancy: DiscrepancyName::Auto, threshold: 1.0 }
    }
}

#[expect(clippy::ref_option, reason = "serde asks for a reference")]
pub(super) fn serialize<S: Serializer>(loss: &Option<Loss>, to: S) -> Result<S::Ok, S::Error> {
    let usual = DiscrepancyKeys::default();
    let discrepancy = match loss {
        None => DiscrepancyName::Auto,
        Some(Loss::Squared) => DiscrepancyName::Squared,
        Some(Loss::Absolute) => DiscrepancyName::Absolute,
        Some(Loss::Huber { .. }) => DiscrepancyName::Huber,
        Some(Loss::CrossEntropy) => DiscrepancyName::CrossEntropy,
        Some(Loss::KullbackLeibler) => DiscrepancyName::KullbackLeibler,
    };
    let threshold =
        if let Some(Loss::Huber { threshold }) = loss { *threshold } else { usual.threshold };
    DiscrepancyKeys { discrepancy, threshold }.serialize(to)
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Loss>, D::Error> {
    let DiscrepancyKeys { discrepancy, threshold } = DiscrepancyKeys::deserialize(from)?;
    Ok(match discrepancy {
        DiscrepancyName::Auto => None,
        DiscrepancyName::Squared => Some(Loss::Squared),
        DiscrepancyName::Absolute => Some(Loss::Absolute),
        DiscrepancyName::Huber => Some(Loss::Huber { threshold }),
        DiscrepancyName::CrossEntropy => Some(Loss::CrossEntropy),
        DiscrepancyName::KullbackLeibler => Some(Loss::KullbackLeibler),
    })
}
