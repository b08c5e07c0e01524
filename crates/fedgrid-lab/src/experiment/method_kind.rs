//! Which method, and which keys it has.

use fedgrid::compare::Baseline;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A method.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MethodKind {
    /// Exchange of predictions on public points.
    #[default]
    Fedrelax,
    /// The minimum of the losses and the total variation of weights.
    Gtv,
    /// Probes of the neighbours: every node takes the step that helps it most.
    Persfl,
    /// One model for all, averaged at a hub.
    Fedavg,
    /// The same with a proximal term.
    Fedprox,
    /// A model of each node, pulled to the averaged one.
    Ditto,
    /// A mixture of a node's own model and the averaged one.
    Apfl,
    /// Several averaged models, of which each node trains the best.
    Ifca,
    /// Averaging in clusters that are split where their nodes pull apart.
    Clustered,
    /// The averaged model after some steps of each node alone.
    FineTuned,
    /// Averaging with neighbours.
    Gossip,
    /// Every node pulled to the mean prediction on public points.
    Fedmd,
    /// Every node alone.
    Local,
    /// One model for all.
    Pooled,
    /// Every node pulled to the pooled model.
    Shrunk,
}

impl MethodKind {
    /// The method as one that others are compared with, if it is.
    #[must_use]
    pub fn baseline(self) -> Option<Baseline> {
        Some(match self {
            Self::Fedrelax
            | Self::Gtv
            | Self::Persfl
            | Self::Local
            | Self::Pooled
            | Self::Shrunk => return None,
            Self::Fedavg => Baseline::Fedavg,
            Self::Fedprox => Baseline::Fedprox,
            Self::Ditto => Baseline::Ditto,
            Self::Apfl => Baseline::Apfl,
            Self::Ifca => Baseline::Ifca,
            Self::Clustered => Baseline::Clustered,
            Self::FineTuned => Baseline::FineTuned,
            Self::Gossip => Baseline::Gossip,
            Self::Fedmd => Baseline::Fedmd,
        })
    }

    /// Its name in the experiment file.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Fedrelax => "fedrelax",
            Self::Gtv => "gtv",
            Self::Persfl => "persfl",
            Self::Local => "local",
            Self::Pooled => "pooled",
            Self::Shrunk => "shrunk",
            other => other.baseline().map_or("", Baseline::name),
        }
    }

    /// Whether it cannot do without a network.
    #[must_use]
    pub fn needs_network(self) -> bool {
        matches!(self, Self::Fedrelax | Self::Gtv | Self::Persfl | Self::Gossip)
    }

    /// Whether a key of the method means something to it.
    pub(super) fn knows(self, key: &str) -> bool {
        match key {
            "penalty" | "gtv" => self == Self::Gtv,
            "persfl" => self == Self::Persfl,
            "restarts" => self == Self::Ifca,
            "participation" | "averaging" | "local_steps" => {
                self.baseline().is_some() && !matches!(self, Self::Gossip | Self::Fedmd)
            }
            "couple_intercept" => matches!(self, Self::Fedrelax | Self::Gtv | Self::Shrunk),
            "alpha" | "rounds" => !matches!(self, Self::Local | Self::Pooled),
            "coupling" | "hub" | "discrepancy" | "threshold" | "clip" | "relaxation" | "order"
            | "step" | "steps" | "optimiser" | "step_size" | "distil_points" => {
                self == Self::Fedrelax
            }
            "tolerance" => !matches!(self, Self::Persfl | Self::Local | Self::Pooled),
            _ => true,
        }
    }
}
