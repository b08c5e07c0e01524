//! Does the network help? Every method is tuned in the same way on the same validation rows and
//! scored on the same test rows:
//!
//! ```text
//! local      every node alone
//! pooled     one model for all
//! shrunk     every node pulled to the pooled model, no network
//! mixed      coefficients that differ by as much as the rows say, no network
//! network    every node pulled to its neighbours
//! shuffled   the same network with its nodes in random places, several times
//! baselines  other methods, if asked for
//! ```
//!
//! The method of the network is named, or chosen of several on validation rows ([`Member`]).

mod bought;
mod choice;
mod clusters;
mod condensed;
mod contender;
mod descent;
mod difference;
mod direct;
mod evidence;
mod few_rows;
mod fitted;
mod hub;
mod intervals;
mod joined;
mod judged;
mod judging;
mod kept_losses;
mod node_order;
mod nodes;
mod paired;
mod path_at_sites;
mod private;
mod rounds;
mod score;
mod shared;
mod strength;
mod student;
mod trainer;
mod tuning;
mod verdict;
mod weak;

use std::sync::Arc;

pub use bought::Bought;
pub use choice::Member;
pub use contender::{
    Approach, Asking, AtSites, Bound, Choose, Contender, Correlated, DataShape, Facts, Federated,
    Gtv, KeptEstimates, LocalRow, MessageSizes, MessageTuning, MethodKind, Mixed, MixedStart,
    ModelsInUse, NetworkEvidence, Objective, PersFlKeys, Place, PooledRow, RunsFederated,
    StrengthKey, Told, TuningBudget, WhichCandidates,
};
pub use difference::Difference;
pub use evidence::NodeEvidence;
pub use fitted::{Certificate, FitRequest, Fitted};
pub use intervals::NodeCoverage;
pub use judged::RoleMeasures;
pub use judging::{FEWEST_ROWS, JointVerdict, JudgedBy, Judging, Learned};
pub use kept_losses::KeptLosses;
pub use private::Published;
use schemars::JsonSchema;
pub use score::{NodeScore, ScoreCounts};
use serde::{Deserialize, Serialize};
pub use strength::{Grid, Strength, Units};
pub use trainer::Trainer;
pub use tuning::{Card, PathPoint};
pub use verdict::{Kind, Verdict};
pub use weak::WeakPulls;

use crate::{
    data::{Dataset, Features, Plan, Task, by_name},
    error::{Error, Result, same_size},
    metric::Metric,
    model::{Hypothesis, LocalModel, Scales},
    network::{Network, NodeId},
    observe::Round,
    privacy::Privacy,
    random::{Purpose, Stream},
    runtime::InProcess,
    uncertainty::Posterior,
};

/// What is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Contestant {
    /// Every node alone.
    Local,
    /// One model for all.
    Pooled,
    /// Every node pulled to the pooled model.
    Shrunk,
    /// A mixed model without the network.
    Mixed,
    /// The study's own method over its network.
    Network,
    /// A method over the network that the study's own is chosen from.
    Member(MethodKind),
    /// The same with shuffled nodes, for the shuffle of this number.
    Shuffled(usize),
    /// Another method.
    Baseline(MethodKind),
}

impl Contestant {
    /// Whether it is one of those that every study compares with.
    #[must_use]
    pub fn is_plain(self) -> bool {
        matches!(self, Self::Local | Self::Pooled | Self::Shrunk | Self::Mixed)
    }

    /// Whether every node gets a model of its own.
    #[must_use]
    pub fn is_personal(self) -> bool {
        match self {
            Self::Pooled => false,
            Self::Baseline(kind) => kind.facts().is_personal,
            _ => true,
        }
    }

    /// Whether it depends on who is whose neighbour.
    #[must_use]
    pub fn uses_network(self) -> bool {
        match self {
            Self::Local | Self::Pooled | Self::Shrunk | Self::Mixed => false,
            Self::Network | Self::Member(_) | Self::Shuffled(_) => true,
            Self::Baseline(kind) => kind.facts().uses_network,
        }
    }
}

impl std::fmt::Display for Contestant {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Local => f.write_str("local"),
            Self::Pooled => f.write_str("pooled"),
            Self::Shrunk => f.write_str("shrunk"),
            Self::Mixed => f.write_str("mixed"),
            Self::Network => f.write_str("network"),
            Self::Member(kind) => write!(f, "network ({kind})"),
            Self::Shuffled(number) => write!(f, "shuffled {}", number + 1),
            Self::Baseline(kind) => f.write_str(kind.name()),
        }
    }
}

/// How rows count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Weighting {
    /// Every node counts the same: its loss is the mean over its rows.
    #[default]
    Nodes,
    /// Every row counts the same: a node's loss is its sum of rows over the mean number of rows.
    Rows,
}

/// The choices of a study.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The strength of the study's own method; none chooses it on validation rows.
    pub alpha: Option<f64>,
    /// Whether the ridge of models that have one is chosen on validation rows too.
    pub tune_ridge: bool,
    /// How nodes learn together.
    pub method: Approach,
    /// The methods that it is chosen from, the simpler first; none if it is given.
    pub members: Vec<Member>,
    /// How rows count.
    pub weighting: Weighting,
    /// What errors are; none is the usual one of the task.
    pub metric: Option<Metric>,
    /// How often the training rows of each class count; none if all count alike.
    pub class_weights: Option<Vec<f64>>,
    /// Whether what can be solved directly is; otherwise it runs in rounds of messages.
    pub direct: bool,
    /// When rounds stop, and who hears whom when.
    pub runtime: InProcess,
    /// How many shuffled networks there are to beat.
    pub shuffles: usize,
    /// How many shuffled networks the likelihood of the training rows is compared with, at most.
    pub likelihood_shuffles: usize,
    /// Whether a coarse grid of strengths is enough.
    pub is_quick: bool,
    /// Which other methods are tried too.
    pub baselines: Vec<MethodKind>,
    /// What nodes release, where they know of each other nothing else; none if methods see rows as they are.
    pub privacy: Option<Privacy>,
    /// The seed of everything drawn.
    pub seed: u64,
    /// Mixed models that were found, so that the same are not sought again.
    pub kept: KeptEstimates,
    /// Losses that were made ready, so that they need not be again.
    pub kept_losses: KeptLosses,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            alpha: None,
            tune_ridge: true,
            method: Approach::default(),
            members: Vec::new(),
            weighting: Weighting::Nodes,
            metric: None,
            class_weights: None,
            direct: true,
            runtime: InProcess::default(),
            shuffles: 5,
            likelihood_shuffles: 99,
            is_quick: false,
            baselines: Vec::new(),
            privacy: None,
            seed: 1,
            kept: KeptEstimates::default(),
            kept_losses: KeptLosses::default(),
        }
    }
}

/// Who watches a study.
pub trait Watch: Sync {
    /// Called after each fit of the search; `foreseen` is the current estimate of their number.
    fn tried(&self, contestant: Contestant, done: usize, foreseen: usize);

    /// Whether the study shall stop.
    fn interrupted(&self) -> bool;

    /// A round of messages of a final fit has ended.
    fn round(&self, _: &Round) {}
}

/// A watch that looks away.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unwatched;

impl Watch for Unwatched {
    fn tried(&self, _: Contestant, _: usize, _: usize) {}

    fn interrupted(&self) -> bool {
        false
    }
}

/// All that one process needs to answer whether a network helps.
#[derive(Debug, Clone)]
pub struct Study {
    /// The network.
    pub network: Network,
    /// All rows of each node, whatever they are for.
    pub rows: Vec<Dataset>,
    /// The model of each node.
    pub models: Vec<Arc<dyn LocalModel>>,
    /// The public points of each node; one set for all if they are the same `Arc`.
    pub public: Vec<Arc<Features>>,
    /// Which rows are for what.
    pub plan: Plan,
    /// From the units of a table to those of the rows and public points above; none if they are the same.
    pub scales: Option<Scales>,
    /// The choices.
    pub settings: Settings,
}

impl Study {
    /// Checks that the parts belong together.
    pub fn check(&self) -> Result<()> {
        same_size("nodes with rows", self.rows.len(), self.network.len())?;
        same_size("nodes with a model", self.models.len(), self.network.len())?;
        same_size("nodes with public points", self.public.len(), self.network.len())?;
        if self.plan.train.iter().all(Vec::is_empty) { Err(Error::NoData) } else { Ok(()) }
    }

    /// What nodes have learnt, for rows of the table.
    #[must_use]
    pub fn for_table(&self, learnt: &[Arc<dyn Hypothesis>]) -> Vec<Arc<dyn Hypothesis>> {
        match &self.scales {
            Some(scales) => learnt.iter().map(|one| scales.for_table(one, self.task())).collect(),
            None => learnt.to_vec(),
        }
    }

    /// What a number that models predict is worth in the units of the table.
    pub(crate) fn target_unit(&self) -> f64 {
        match (self.task(), &self.scales) {
            (Task::Regression, Some(scales)) => scales.target(),
            _ => 1.0,
        }
    }

    /// What errors are: strengths are chosen by it, methods are compared by it, and the verdict is in it.
    #[must_use]
    pub fn metric(&self) -> Metric {
        self.settings.metric.unwrap_or(Metric::of(self.task()))
    }

    /// What an error of models is worth in the units of the table: squares, where it is one of squares.
    pub(crate) fn error_unit(&self) -> f64 {
        self.metric().unit(self.target_unit())
    }

    /// What the rows say of the coefficients of all nodes, in the units of the table.
    #[must_use]
    pub fn posterior(&self, fitted: &Fitted) -> Option<Posterior> {
        let own = fitted.posterior.as_ref()?;
        Some(self.scales.as_ref().map_or_else(|| own.clone(), |scales| own.for_table(scales)))
    }

    /// What is to be predicted.
    #[must_use]
    pub fn task(&self) -> Task {
        self.rows.first().map_or(Task::Regression, Dataset::task)
    }

    /// All contestants, in the order in which they are tried.
    #[must_use]
    pub fn contestants(&self) -> Vec<Contestant> {
        let main = self.main();
        let shuffles = if main == Contestant::Network { self.settings.shuffles } else { 0 };
        let baselines = self.settings.baselines.iter().copied().map(Contestant::Baseline);
        let own = Contestant::Member(self.settings.method.kind());
        // A mixed model is of rows that are summed up as they are.
        let is_private = self.settings.privacy.is_some();
        [Contestant::Local, Contestant::Pooled, Contestant::Shrunk, Contestant::Mixed]
            .into_iter()
            .filter(|one| !(is_private && *one == Contestant::Mixed))
            .chain((!main.is_plain()).then_some(main))
            .chain(self.members().into_iter().filter(|member| *member != own))
            // After the network: a shuffle is judged against it, and an interrupted run keeps the network's card.
            .chain((0..shuffles).map(Contestant::Shuffled))
            .chain(baselines.filter(|baseline| *baseline != main))
            .collect()
    }

    /// The study's own method: the network, or one that knows none.
    #[must_use]
    pub fn main(&self) -> Contestant {
        let method = &self.settings.method;
        match method.kind() {
            MethodKind::Local => Contestant::Local,
            MethodKind::Pooled => Contestant::Pooled,
            MethodKind::Shrunk => Contestant::Shrunk,
            kind if !method.facts().uses_network => Contestant::Baseline(kind),
            _ => Contestant::Network,
        }
    }

    /// The method that trains a contestant, with its keys.
    pub(crate) fn method_of(&self, contestant: Contestant) -> Approach {
        let own = &self.settings.method;
        let kind = match contestant {
            Contestant::Local => MethodKind::Local,
            Contestant::Pooled => MethodKind::Pooled,
            Contestant::Shrunk => MethodKind::Shrunk,
            Contestant::Mixed => MethodKind::Mixed,
            Contestant::Network | Contestant::Shuffled(_) => own.kind(),
            Contestant::Member(kind) => return self.member(kind),
            Contestant::Baseline(kind) => kind,
        };
        if kind == own.kind() { own.clone() } else { kind.with_defaults() }
    }

    /// Whether a contestant is the study's own method, over whatever network.
    pub(crate) fn is_own(&self, contestant: Contestant) -> bool {
        matches!(contestant, Contestant::Shuffled(_)) || contestant == self.main()
    }

    /// The network that a contestant uses.
    #[must_use]
    pub fn network_of(&self, contestant: Contestant) -> Network {
        match contestant {
            Contestant::Mixed => self.network.without_edges(),
            Contestant::Shuffled(number) => self.network.shuffled(&self.shuffle(number)),
            _ => self.network.clone(),
        }
    }

    /// The node that each place of the network gets in the shuffle of this number.
    fn shuffle(&self, number: usize) -> Vec<NodeId> {
        shuffle(self.settings.seed, number, self.network.len())
    }

    /// Nodes in components of the network without any training row: nothing there determines a
    /// model, so they fall back to the pooled one, and every report names them.
    #[must_use]
    pub fn without_data(&self) -> Vec<NodeId> {
        undetermined(&self.network, |node| !self.plan.train[node].is_empty())
    }
}

/// The node that each of so many places gets in the shuffle of this number.
fn shuffle(seed: u64, number: usize, nodes: usize) -> Vec<NodeId> {
    // Each has a stream of its own, so that more of them leave the first ones as they are.
    Stream::new(seed, number, 0, Purpose::Shuffle).permutation(nodes)
}

/// The network in which nodes have changed places, in the shuffle of this number: that of a comparison with this seed,
/// for which no rows are needed.
#[must_use]
pub fn shuffled_network(network: &Network, seed: u64, number: usize) -> Network {
    let order = by_name(network.names());
    let mut places = vec![0; order.len()];
    order.iter().enumerate().for_each(|(place, &node)| places[node] = place);
    // A comparison has its nodes in the order of their names.
    network.ordered(&order).shuffled(&shuffle(seed, number, network.len())).ordered(&places)
}

/// The nodes that no node with rows can reach.
fn undetermined(network: &Network, has_rows: impl Fn(NodeId) -> bool) -> Vec<NodeId> {
    let mut reached = vec![false; network.len()];
    let mut open: Vec<NodeId> = (0..network.len()).filter(|&node| has_rows(node)).collect();
    for &node in &open {
        reached[node] = true;
    }
    while let Some(node) = open.pop() {
        for &(neighbour, _) in network.neighbours(node) {
            if !std::mem::replace(&mut reached[neighbour], true) {
                open.push(neighbour);
            }
        }
    }
    (0..network.len()).filter(|&node| !reached[node]).collect()
}
