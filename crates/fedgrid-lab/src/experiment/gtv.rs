//! The keys of total variation in rounds of messages: the steps of the primal-dual method and what
//! ends it.

use fedgrid::{
    compare::Gtv,
    method::{PrimalStep, Scale, StopOn},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// For kind "gtv" in rounds of messages: how steps are taken and what ends them. Any key that says
/// something makes the fit go in rounds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct GtvKeys {
    /// How a node finds its next weights: by the proximal step of its model, by gradient steps up to
    /// an error that falls with the square of the round ("inexact"), or by one gradient step.
    pub step: GtvStepKey,
    /// For step "inexact": the error of the first round.
    pub error: f64,
    /// The scale of the steps, one is the paper; without it every node balances its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scale: Option<f64>,
    /// The share of each update that is taken, one is the paper.
    pub relaxation: f64,
    /// A number that no node's weights exceed in length, by which a gap is certified where a node's
    /// own rows do not determine its weights.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub radius: Option<f64>,
    /// What must fall to the tolerance: the certified relative gap (the residual where there is none),
    /// the residual, or how much the objective varies over ten rounds.
    pub stop_on: StopOnKey,
    /// Whether to do what the authors' code does: its steps, losses summed over rows, and half of the
    /// squared penalty.
    pub paper_compat: bool,
}

impl Default for GtvKeys {
    fn default() -> Self {
        Self {
            step: GtvStepKey::default(),
            error: 0.1,
            scale: None,
            relaxation: Gtv::default().relaxation,
            radius: None,
            stop_on: StopOnKey::default(),
            paper_compat: false,
        }
    }
}

impl GtvKeys {
    /// The method with these keys.
    #[must_use]
    pub fn of(&self, method: Gtv) -> Gtv {
        Gtv {
            scale: self.scale.map_or(Scale::Adaptive, Scale::Fixed),
            relaxation: self.relaxation,
            step: match self.step {
                GtvStepKey::Proximal => PrimalStep::Proximal,
                GtvStepKey::Inexact => PrimalStep::Inexact { error: self.error },
                GtvStepKey::Gradient => PrimalStep::Gradient,
            },
            radius: self.radius,
            stop_on: match self.stop_on {
                StopOnKey::Gap => StopOn::Gap,
                StopOnKey::Residual => StopOn::Residual,
                StopOnKey::Decrease => StopOn::Decrease,
            },
            paper_compat: self.paper_compat,
            ..method
        }
    }

    pub(super) fn check(&self) -> Result<(), String> {
        let positive = |value: f64| value > 0.0 && value.is_finite();
        let ranges = [
            ("error", self.error, positive(self.error), "a positive number"),
            (
                "scale",
                self.scale.unwrap_or(1.0),
                self.scale.is_none_or(positive),
                "a positive number",
            ),
            (
                "relaxation",
                self.relaxation,
                positive(self.relaxation) && self.relaxation < 2.0,
                "a number between zero and two",
            ),
            (
                "radius",
                self.radius.unwrap_or(1.0),
                self.radius.is_none_or(positive),
                "a positive number",
            ),
        ];
        for (key, value, fits, expected) in ranges {
            if !fits {
                return Err(format!("method.gtv.{key} is {value}, expected {expected}"));
            }
        }
        Ok(())
    }
}

/// How a node finds its next weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum GtvStepKey {
    /// By the proximal step of its model.
    #[default]
    Proximal,
    /// By gradient steps up to an error that falls with the square of the round.
    Inexact,
    /// By one gradient step.
    Gradient,
}

/// What must fall to the tolerance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StopOnKey {
    /// The certified relative gap, and the residual where there is none.
    #[default]
    Gap,
    /// How far a round is from a fixed point.
    Residual,
    /// How much the objective varies over ten rounds.
    Decrease,
}
