//! The keys of PersFL: who is probed, what is asked and which step is taken.

use fedgrid::method::{Adoption, Choice, Online, PersFl, Probe, Start};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// For kind "persfl": how nodes probe each other. The step is method.alpha, the iterations are
/// method.rounds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PersFlKeys {
    /// What is asked: the gradient of the loss, a proximal step (models of weights), or a refitted
    /// model (any kind).
    pub probe: ProbeKey,
    /// How many neighbours are probed in an iteration.
    pub candidates: usize,
    /// Which ones: drawn evenly, mostly the best so far, the largest upper confidence bounds, or, as
    /// the papers' oracle, those of the node's own cluster.
    pub choice: ChoiceKey,
    /// For choice "oracle": the column of network.file that names each node's cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clusters: Option<String>,
    /// For choice "epsilon-greedy": the probability of drawing anyone.
    pub epsilon: f64,
    /// For choice "ucb": the width of the bounds.
    pub width: f64,
    /// How many of the best steps are averaged; one takes the best alone.
    pub top: usize,
    /// Whether a step must have a positive reward to be taken; the papers always step.
    pub only_if_better: bool,
    /// Whether nodes start from weights of zero or from their own models; refits always do so.
    pub start: StartKey,
    /// The share of a node's rows that is held back for the reward.
    pub held: f64,
    /// Whether a node may also draw itself and take the step of its own rows.
    pub own: bool,
    /// The nodes that learn, by name; by default all. The others only answer: they keep models of
    /// their own rows and are not scored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub targets: Option<Vec<String>>,
    /// Training rows that come one after the other, in the order of the table, instead of all at
    /// once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub online: Option<OnlineKeys>,
}

/// Rows that arrive: one in every iteration, in the order of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct OnlineKeys {
    /// With how many rows a node begins, and how many of the most recent ones count.
    pub batch: usize,
    /// How many rows must have come to a node before it asks again; zero never waits.
    pub enough: usize,
}

impl Default for OnlineKeys {
    fn default() -> Self {
        Self { batch: 10, enough: 0 }
    }
}

impl Default for PersFlKeys {
    fn default() -> Self {
        Self {
            probe: ProbeKey::default(),
            candidates: 20,
            choice: ChoiceKey::default(),
            clusters: None,
            epsilon: 0.1,
            width: 1.0,
            top: 1,
            only_if_better: false,
            start: StartKey::default(),
            held: 0.0,
            own: false,
            targets: None,
            online: None,
        }
    }
}

impl PersFlKeys {
    /// The method of these keys at nodes of these names and clusters.
    #[must_use]
    pub fn method(&self, names: &[String], clusters: Option<&[usize]>, seed: u64) -> PersFl {
        let named = |targets: &Vec<String>| {
            (0..names.len()).filter(|&node| targets.contains(&names[node])).collect()
        };
        PersFl {
            probe: match self.probe {
                ProbeKey::Gradient => Probe::Gradient,
                ProbeKey::Proximal => Probe::Proximal,
                ProbeKey::Refit => Probe::Refit,
            },
            candidates: self.candidates,
            choice: match self.choice {
                ChoiceKey::Uniform => Choice::Uniform,
                ChoiceKey::EpsilonGreedy => Choice::EpsilonGreedy { epsilon: self.epsilon },
                ChoiceKey::Ucb => Choice::Ucb { width: self.width },
                ChoiceKey::Oracle => Choice::Oracle { clusters: clusters.unwrap_or(&[]).into() },
            },
            adoption: match self.top {
                1 => Adoption::Best,
                count => Adoption::Top { count, by_reward: true },
            },
            only_if_better: self.only_if_better,
            start: match self.start {
                StartKey::Zero => Start::Zero,
                StartKey::Local => Start::Local,
            },
            held: self.held,
            own: self.own,
            targets: self.targets.as_ref().map(named),
            online: self.online.map(|OnlineKeys { batch, enough }| Online {
                feed: None,
                batch,
                enough,
            }),
            seed,
            ..PersFl::default()
        }
    }

    pub(super) fn check(&self) -> Result<(), String> {
        for (key, value) in [("candidates", self.candidates), ("top", self.top)] {
            if value == 0 {
                return Err(format!("method.persfl.{key} is 0, expected at least 1"));
            }
        }
        let ranges = [
            ("epsilon", self.epsilon, self.epsilon <= 1.0, "a probability from zero to one"),
            ("width", self.width, self.width.is_finite(), "zero or more"),
            ("held", self.held, self.held < 1.0, "zero or more and below one"),
        ];
        for (key, value, fits, expected) in ranges {
            if !(value >= 0.0 && fits) {
                return Err(format!("method.persfl.{key} is {value}, expected {expected}"));
            }
        }
        if self.targets.as_ref().is_some_and(Vec::is_empty) {
            return Err(
                "method.persfl.targets is empty, expected names of nodes; all learn without \
                        this key"
                    .into(),
            );
        }
        let least = if self.held > 0.0 { 2 } else { 1 };
        if let Some(OnlineKeys { batch, .. }) = self.online.filter(|online| online.batch < least) {
            let reason = if least == 2 { ", since method.persfl.held divides it" } else { "" };
            let found = format!("method.persfl.online.batch is {batch}");
            return Err(format!("{found}, expected at least {least}{reason}"));
        }
        match (self.choice == ChoiceKey::Oracle, &self.clusters) {
            (true, None) => {
                let found = "method.persfl.choice is \"oracle\", which is told the clusters";
                let expected = "method.persfl.clusters, a column of network.file";
                return Err(format!("{found}, expected {expected}"));
            }
            (false, Some(column)) => {
                let expected = "no such key without choice = \"oracle\"";
                return Err(format!("method.persfl.clusters is \"{column}\", expected {expected}"));
            }
            _ => {}
        }
        if self.probe == ProbeKey::Refit && self.top > 1 {
            return Err("method.persfl.top averages weights; probe \"refit\" needs top = 1".into());
        }
        Ok(())
    }
}

/// What is asked of a neighbour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ProbeKey {
    /// The gradient of its loss.
    #[default]
    Gradient,
    /// The minimiser of its loss nearby.
    Proximal,
    /// A model refitted to its rows.
    Refit,
}

/// Which neighbours are probed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ChoiceKey {
    /// Drawn evenly.
    #[default]
    Uniform,
    /// The best so far, and now and then any.
    EpsilonGreedy,
    /// The largest upper confidence bounds.
    Ucb,
    /// Those of the node's own cluster, which must be told.
    Oracle,
}

/// Where nodes start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StartKey {
    /// At weights of zero.
    #[default]
    Zero,
    /// At their own models.
    Local,
}
