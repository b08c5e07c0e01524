//! What a run found: the shape of `result.json` and of `--json`.

use std::collections::BTreeMap;

use fedgrid::{
    compare::{
        Bought, Certificate, Contestant, JointVerdict, Kind, MethodKind, NetworkEvidence,
        PathPoint, RoleMeasures,
    },
    observe::Round,
    privacy::PrivateKind,
    uncertainty::{CalibrationRows, CovarianceChoice, VarianceSource},
};
use serde::{Deserialize, Serialize};

use crate::{coefficients::CoefficientName, number::Apart, theory::Theory};

/// The result of a fit. It holds no path and no row; all but `seconds` and the days in `updates` depends only on the
/// experiment, the data and the seed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// The answer in one sentence.
    pub verdict: String,
    /// The answer in one word; none without a comparison.
    pub verdict_kind: Option<Kind>,
    /// The method that the answer advises, which `predict` uses; none without a comparison.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub advised: Option<Contestant>,
    /// Whether the network helps.
    pub helps: bool,
    /// What the errors are: `mse`, `mae`, `deviance`, `log_loss` or `error_rate`.
    pub metric: String,
    /// The names of the classes, in the order of tables of classes; none for numbers.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub classes: Vec<String>,
    /// At a site of a federation: on which of its rows both errors are measured.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub at_site: Option<Measured>,
    /// At a site of a federation that judges itself: what all sites have found together.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub federation: Option<FederationOutcome>,
    /// How each method did.
    pub comparison: Comparison,
    /// With rolling origins: how each method did at each of them; `comparison` is over all.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub origins: Vec<OriginOutcome>,
    /// The nodes, in order of the network.
    pub nodes: Vec<NodeOutcome>,
    /// Who gains and who loses against training alone; none without a comparison.
    pub gain: Option<Gain>,
    /// The method and the values it used.
    pub method: MethodUsed,
    /// How close the run came to where it was going.
    pub certificate: Certificate,
    /// How many rounds of messages were run; zero if it was solved directly.
    pub rounds: usize,
    /// How many bytes the edges carried in those rounds.
    pub bytes: usize,
    /// How many bytes the edges carry in one round of messages; zero for a method solved in one place.
    pub bytes_per_round: usize,
    /// What a reader must know before the verdict: what has not converged, or is not confirmed on rows
    /// of its own.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub warnings: Vec<String>,
    /// What a reader should know: columns left out, shared statistics, nodes without rows, fallbacks.
    pub notes: Vec<String>,
    /// What features are made of, where some are more than columns of numbers.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub columns: Vec<ColumnOutcome>,
    /// The network in numbers.
    pub network: NetworkSummary,
    /// The strengths tried by each method, with their validation errors.
    pub path: BTreeMap<String, Vec<PathPoint>>,
    /// The clusters of the solution, where the method makes neighbours equal.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub clusters: Option<Clusters>,
    /// What the papers' theory says of it; none without a pull.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub theory: Option<Theory>,
    /// How sure predictions are; none for classes.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub uncertainty: Option<Uncertainty>,
    /// How much nodes differ, coefficient by coefficient, where the method estimates it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub variances: Option<Variances>,
    /// What training rows say of the network, by a mixed model; none without a comparison along a network.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub evidence: Option<EvidenceOutcome>,
    /// What may be told of a row, and what that has bought; none without a section of privacy.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub privacy: Option<PrivacyOutcome>,
    /// The residuals by round or by product of the direct solver, or the certified gaps.
    pub residuals: Vec<f64>,
    /// After how many steps each of them was measured; empty if after each.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub steps: Vec<usize>,
    /// The rounds; none if it was solved directly.
    pub history: Vec<Round>,
    /// How the models came to know more rows than the comparison above; none if they were not updated.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub updates: Vec<UpdateOutcome>,
    /// How long it took, in seconds.
    pub seconds: f64,
    /// The seed of everything drawn.
    pub seed: u64,
    /// The version of fedgrid.
    pub version: String,
}

impl Outcome {
    /// The row of the run's own method, with its name; none if nothing was measured.
    #[must_use]
    pub fn own(&self) -> Option<(&str, &Entry)> {
        self.comparison.own(&self.method.kind)
    }
}

/// What may be told of a row, and what that has bought.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PrivacyOutcome {
    /// The same in one sentence.
    pub sentence: String,
    /// What is private.
    pub kind: PrivateKind,
    /// ε.
    pub epsilon: f64,
    /// δ.
    pub delta: f64,
    /// Both as one number: to tell whether a row was another is as hard as to tell N(0, 1) from N(μ, 1).
    pub mu: f64,
    /// How often that is told rightly at best, where chance is one half.
    pub right_share: f64,
    /// How often a row of the one kind looks more like it than one of the other at best: the area under the curve.
    pub auc: f64,
    /// The deviation of the noise on each number that is released, in the units of the target: of labels the mean over nodes.
    pub noise: f64,
    /// What was released and noised, and what lay outside of the declared bounds.
    #[serde(flatten)]
    pub bought: Bought,
}

/// An update of the models of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UpdateOutcome {
    /// The title of the run that was updated.
    pub of: String,
    /// The day on which that run was finished, where its files tell it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub fitted: Option<String>,
    /// How many rows it was trained on.
    pub rows_before: usize,
    /// How many training rows were added.
    pub rows_added: usize,
    /// How many were left out, because the run knew them.
    pub rows_known: usize,
    /// The nodes that joined.
    pub new_nodes: Vec<String>,
    /// What stood for the rows before: `statistics`, or the `rows` themselves.
    pub by: UpdatedBy,
    /// Whether strengths were chosen again, or kept.
    pub tuned: bool,
    /// Whether intervals are calibrated by the errors of these models, or those of the run before.
    pub calibrated: bool,
}

/// What stands for the rows of the run before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UpdatedBy {
    /// Their sufficient statistics: no row was read again.
    Statistics,
    /// They were read again.
    Rows,
    /// Nothing: there was nothing to add, and all models are as they were.
    Nothing,
}

/// A column that features are made of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ColumnOutcome {
    /// Its name in the table.
    pub name: String,
    /// What is made of it, in words.
    pub treatment: String,
    /// The features that it became.
    pub features: Vec<String>,
}

/// Which rows an error is measured on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the variants are the roles of rows")]
pub enum Measured {
    Test,
    Validation,
    Training,
}

impl std::fmt::Display for Measured {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::Test => "test",
            Self::Validation => "validation",
            Self::Training => "training",
        })
    }
}

/// Whether the network helped all sites of a federation, as they have found together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FederationOutcome {
    /// What could not be judged, a sentence each: what a reader must know before the verdict.
    pub unjudged: Vec<String>,
    /// The answer in one sentence.
    pub verdict: String,
    /// The numbers it rests on. There `pooled` is the mean model.
    pub joint: JointVerdict,
    /// The pull to the mean model that is best on the validation rows of all; none where it was not sought.
    pub shrunk_pull: Option<f64>,
    /// The test rows of this site's own nodes: errors by method, node by node.
    pub nodes: Vec<JudgedNode>,
}

/// How each method did on the test rows of one node; nothing where it has none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "the fields are the methods")]
pub struct JudgedNode {
    pub name: String,
    /// How many test rows it has.
    pub rows: usize,
    pub local: Option<f64>,
    /// The mean model of all sites.
    pub mean: Option<f64>,
    /// Pulled to the mean model.
    pub shrunk: Option<f64>,
    pub network: Option<f64>,
    /// The mean over shuffled networks.
    pub shuffled: Option<f64>,
}

impl JudgedNode {
    /// The error of a method by the name that tables give it.
    #[must_use]
    pub fn error(&self, method: &str) -> Option<f64> {
        match method {
            "local" => self.local,
            "mean" => self.mean,
            "shrunk" => self.shrunk,
            "network" => self.network,
            "shuffled" => self.shuffled,
            _ => None,
        }
    }
}

impl FederationOutcome {
    /// The methods that were compared, by name, with what they are and the error on the test rows of all sites; of the
    /// shuffles the mean.
    #[must_use]
    pub fn methods(&self) -> Vec<(&'static str, &'static str, f64)> {
        let known = [
            ("local", "every node alone", Contestant::Local),
            ("mean", "one model, the mean of all sites", Contestant::Pooled),
            ("shrunk", "pulled to the mean, no network", Contestant::Shrunk),
            ("network", "pulled to its neighbours", Contestant::Network),
        ];
        let known = known.into_iter();
        let mut methods: Vec<_> = known
            .filter_map(|(name, what, contestant)| {
                Some((name, what, self.joint.error(contestant)?))
            })
            .collect();
        let shuffles = self.joint.shuffles();
        if !shuffles.is_empty() {
            let mean = shuffles.iter().sum::<f64>() / shuffles.len() as f64;
            methods.push(("shuffled", "the network with shuffled nodes", mean));
        }
        methods
    }

    /// The mean error of a method over the test rows of some nodes.
    #[must_use]
    pub fn error_of(nodes: &[JudgedNode], method: &str) -> Option<f64> {
        let with_rows = || nodes.iter().filter(|node| node.rows > 0);
        let rows: usize = with_rows().map(|node| node.rows).sum();
        let losses = with_rows().map(|node| Some(node.rows as f64 * node.error(method)?));
        let losses = losses.collect::<Option<Vec<f64>>>()?;
        (rows > 0).then(|| losses.iter().sum::<f64>() / rows as f64)
    }
}

/// How each method did, each tuned in the same way.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields are the contestants")]
pub struct Comparison {
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub local: Option<Entry>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub pooled: Option<Entry>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub shrunk: Option<Entry>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub mixed: Option<Entry>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub network: Option<Entry>,
    /// The methods over the network that were not chosen, by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub members: BTreeMap<String, Entry>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub shuffled: Option<Entry>,
    /// Other methods, by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub baselines: BTreeMap<String, Entry>,
}

impl Comparison {
    /// The rows that every comparison has, by name, as far as they were tried.
    #[must_use]
    pub fn plain_rows(&self) -> Vec<(&'static str, &Entry)> {
        let all = [
            ("local", &self.local),
            ("pooled", &self.pooled),
            ("shrunk", &self.shrunk),
            ("mixed", &self.mixed),
            ("network", &self.network),
            ("shuffled", &self.shuffled),
        ];
        all.into_iter().filter_map(|(name, entry)| Some((name, entry.as_ref()?))).collect()
    }

    /// The row of the method of this name where it is a run's own, with what the row is called; none if it was not tried.
    #[must_use]
    pub fn own<'a>(&'a self, kind: &'a str) -> Option<(&'a str, &'a Entry)> {
        if let Some(network) = &self.network {
            return Some(("network", network));
        }
        let own = match kind {
            "local" => self.local.as_ref(),
            "pooled" => self.pooled.as_ref(),
            "shrunk" => self.shrunk.as_ref(),
            _ => self.baselines.get(kind),
        };
        own.map(|entry| (kind, entry))
    }

    /// All rows but those of methods that were not chosen, by name, in the order of tables.
    #[must_use]
    pub fn rows(&self) -> Vec<(&str, &Entry)> {
        let baselines = self.baselines.iter().map(|(name, entry)| (name.as_str(), entry));
        self.plain_rows().into_iter().chain(baselines).collect()
    }

    /// The digits that tell the errors of all methods apart.
    #[must_use]
    pub fn digits(&self) -> Apart {
        let plain = self.plain_rows().into_iter().map(|(_, entry)| entry);
        let all = plain.chain(self.members.values()).chain(self.baselines.values());
        Apart::new(all.map(Entry::error))
    }

    /// The errors of a contestant; none of a single shuffle.
    #[must_use]
    pub fn entry(&self, contestant: Contestant) -> Option<&Entry> {
        match contestant {
            Contestant::Local => self.local.as_ref(),
            Contestant::Pooled => self.pooled.as_ref(),
            Contestant::Shrunk => self.shrunk.as_ref(),
            Contestant::Mixed => self.mixed.as_ref(),
            Contestant::Network => self.network.as_ref(),
            Contestant::Member(kind) => self.members.get(kind.name()),
            Contestant::Shuffled(_) => None,
            Contestant::Baseline(kind) => self.baselines.get(kind.name()),
        }
    }
}

/// What came of a rolling origin.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OriginOutcome {
    /// The first time that validates; earlier rows train.
    pub validation_from: String,
    /// The first time that tests.
    pub test_from: String,
    /// The last time that tests.
    pub until: String,
    /// How many rows train.
    pub train_rows: usize,
    /// How many rows validate.
    pub validation_rows: usize,
    /// How many rows test.
    pub test_rows: usize,
    /// How each method did.
    pub comparison: Comparison,
}

impl OriginOutcome {
    /// The mean over origins of a method's error, and its standard error, which is not a number for one origin.
    #[must_use]
    pub fn spread(origins: &[Self], method: &str) -> (f64, f64) {
        let error = |origin: &Self| {
            let rows = origin.comparison.plain_rows();
            rows.iter().find(|(name, _)| *name == method).map(|(_, entry)| entry.error())
        };
        let errors: Vec<f64> = origins.iter().filter_map(error).collect();
        let count = errors.len() as f64;
        let mean = errors.iter().sum::<f64>() / count;
        let squares: f64 = errors.iter().map(|error| (error - mean).powi(2)).sum();
        (mean, (squares / (count - 1.0) / count).sqrt())
    }
}

/// The errors of one method; of several shuffles, their means.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// The mean error on validation rows.
    pub validation: f64,
    /// The mean error on test rows, if there are any.
    pub test: Option<f64>,
    /// The share of rows given their right class.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub accuracy: Option<f64>,
    /// What else people read, on test rows and on validation rows.
    #[serde(skip_serializing_if = "RoleMeasures::is_empty", default)]
    pub metrics: RoleMeasures,
    /// The pull, or other strength, chosen.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub alpha: Option<f64>,
    /// The ridge chosen.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub ridge: Option<f64>,
    /// How repetitions spread.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub spread: Option<Spread>,
}

impl Entry {
    /// The mean error that counts: on test rows, or else on validation rows.
    #[must_use]
    pub fn error(&self) -> f64 {
        self.test.unwrap_or(self.validation)
    }
}

/// The spread of repeated errors (on test rows, or else on validation rows).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// How many repetitions there were.
    pub repeats: usize,
    /// The smallest.
    pub min: f64,
    /// The largest.
    pub max: f64,
    /// The standard deviation.
    pub deviation: f64,
}

/// Who gains from the network against training alone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Gain {
    /// How many nodes have a smaller error than alone.
    pub better: usize,
    /// How many have a larger one.
    pub worse: usize,
    /// The best method without the network.
    pub rival: Contestant,
    /// How much smaller the network's mean error is than that rival's.
    pub difference: f64,
    /// The standard error of that difference, paired over nodes; none if one node cannot tell.
    pub standard_error: Option<f64>,
    /// How much smaller the network's mean error is than that of its shuffles; none without shuffles.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub shape: Option<Shape>,
}

/// What the shape of the network gains: the difference to the same network with shuffled nodes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Shape {
    /// How much smaller the network's mean error is than the mean of its shuffles.
    pub difference: f64,
    /// The standard error of that difference, paired over nodes; none if one node cannot tell.
    pub standard_error: Option<f64>,
}

/// Nodes joined by edges over which weights do not differ.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Clusters {
    /// How many there are.
    pub count: usize,
    /// How many nodes each has, the largest first.
    pub sizes: Vec<usize>,
}

/// The method and the values it used.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MethodUsed {
    /// Its name.
    pub kind: String,
    /// The methods that it was chosen from; none if it was named.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub candidates: Vec<MethodCandidate>,
    /// What differences of weights cost: `norm`, `squared-norm` or `one-norm`; none for predictions.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub penalty: Option<String>,
    /// The pull.
    pub alpha: f64,
    /// The ridge, where it was chosen on validation rows.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub ridge: Option<f64>,
    /// `one-sided` or `symmetric`; none for weights.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub coupling: Option<String>,
    /// Whether levels are coupled.
    pub couple_intercept: bool,
    /// The weight of the pooled hub.
    pub hub: f64,
    /// Whether nodes or rows count the same.
    pub weighting: String,
    /// `direct` (in one place) or `rounds` (messages between nodes).
    pub solver: String,
    /// What has found the answer, in words.
    pub engine: String,
    /// How the public points were chosen, in words.
    pub public: String,
}

/// A method that could have been chosen.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MethodCandidate {
    /// Its name.
    pub kind: String,
    /// The mean error on validation rows, or on folds without such rows; none if it is no number.
    pub validation: Option<f64>,
    /// Whether it was chosen, for the least of these errors.
    pub chosen: bool,
}

/// The network in numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NetworkSummary {
    /// How many nodes.
    pub nodes: usize,
    /// How many edges.
    pub edges: usize,
    /// How many connected components.
    pub components: usize,
    /// How many nodes without a neighbour.
    pub isolated: usize,
    /// The mean number of neighbours.
    pub mean_neighbours: f64,
    /// Which network it is, where it was learned or chosen: `coordinates`, `edges`, `shape`,
    /// `learned`, `gradients`, `models` or `pooling`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub kind: Option<String>,
    /// What probes have found, if a network was learned.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub learned: Option<LearnedSummary>,
    /// The networks there were to choose from.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub candidates: Vec<CandidateOutcome>,
}

/// A learned network in numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LearnedSummary {
    /// How many pairs of nodes were probed.
    pub pairs_probed: usize,
    /// The share of all pairs that these are.
    pub share: f64,
    /// How many probes it took.
    pub probes: usize,
    /// How many pairs were kept as edges.
    pub edges: usize,
}

/// A network that could have been chosen.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CandidateOutcome {
    /// Which one.
    pub name: String,
    /// How many edges it has.
    pub edges: usize,
    /// The mean error on validation rows with it.
    pub validation: f64,
    /// Whether it was chosen.
    pub chosen: bool,
}

/// What one node was worth to another.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Help {
    /// Who learns.
    pub learner: usize,
    /// Who helps.
    pub helper: usize,
    /// By how much the helper's steps lowered the learner's loss, relative to it.
    pub reward: f64,
    /// How sure that is, from zero to one.
    pub confidence: f64,
    /// Whether the two were joined, or the helper's step was ever taken.
    pub kept: bool,
}

/// One node.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NodeOutcome {
    /// Its name.
    pub name: String,
    /// What people call it, where columns of the table of nodes say so.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub label: Option<String>,
    /// The kind of its model.
    pub model: String,
    /// How many training rows it has.
    pub rows: usize,
    /// How many rows its errors are measured on.
    pub scored_rows: usize,
    /// How many neighbours it has.
    pub neighbours: usize,
    /// Its mean error alone.
    pub local: Option<f64>,
    /// Its mean error with the network.
    pub network: Option<f64>,
    /// By how much the network lowers its mean error; negative is harm.
    pub gain: Option<f64>,
    /// The cluster that it belongs to, from zero for the largest: of the solution where it has
    /// clusters, otherwise of nodes with similar predictions.
    pub cluster: usize,
    /// What is special about it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub note: Option<String>,
    /// Its intervals; none for classes.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub interval: Option<NodeInterval>,
}

impl NodeOutcome {
    /// What people call it.
    #[must_use]
    pub fn called(&self) -> &str {
        self.label.as_deref().unwrap_or(&self.name)
    }
}

/// How sure predictions are.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Uncertainty {
    /// The level of the intervals that are told of here.
    pub level: f64,
    /// Which rows calibrate them.
    pub calibration: CalibrationRows,
    /// Whether the method says how errors of coefficients widen them, from row to row.
    pub has_posterior: bool,
    /// How often they cover test rows; none without such rows, or without an interval.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub coverage: Option<Coverage>,
    /// The residuals of calibration rows; none without such rows.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub residuals: Option<ResidualCheck>,
}

/// How often intervals cover test rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Coverage {
    /// How many test rows have an interval.
    pub rows: usize,
    /// How many nodes have such rows.
    pub nodes: usize,
    /// The share of these rows that lie in their interval.
    pub covered: f64,
    /// The share that the tenth of the nodes with the least coverage reaches at most.
    pub worst_tenth: f64,
    /// How many nodes have a share below `below`.
    pub nodes_below: usize,
    /// The level less a tenth.
    pub below: f64,
    /// The mean width of the intervals.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub mean_width: Option<f64>,
}

/// Residuals on rows that no model has seen, over the deviations of predictions where these are known.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ResidualCheck {
    /// How many there are.
    pub rows: usize,
    /// Their mean.
    pub mean: f64,
    /// Their standard deviation.
    pub deviation: f64,
    /// The middle of each of so many equal parts of them, in ascending order.
    pub quantiles: Vec<f64>,
}

/// The intervals of a node.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NodeInterval {
    /// What they rest on, or why there are none.
    pub basis: String,
    /// Their mean width over the test rows.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub width: Option<f64>,
    /// The share of its test rows that lie in their interval.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub covered: Option<f64>,
    /// The mean residual of its calibration rows.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub residual: Option<f64>,
    /// The standard error of that mean.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub residual_error: Option<f64>,
}

/// How much nodes differ, as training rows say.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Variances {
    /// Coefficient by coefficient.
    pub coefficients: Vec<CoefficientOutcome>,
    /// Which of a node's coefficients deviate together; none where they were taken for independent.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub correlations: Vec<Correlation>,
    /// The variance of rows around their prediction, for numbers.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub noise: Option<f64>,
    /// How much nodes resemble their neighbours.
    pub rho: f64,
    /// Minus twice the logarithm of the (restricted) likelihood.
    pub deviance: f64,
    /// The same with and without covariances of a node's coefficients, where both were fitted.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub covariances: Option<CovarianceChoice>,
}

/// What training rows say of the network.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EvidenceOutcome {
    /// In words, with what it does not say.
    pub sentence: String,
    /// In numbers.
    #[serde(flatten)]
    pub numbers: NetworkEvidence,
}

/// One coefficient over all nodes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CoefficientOutcome {
    /// Which one.
    #[serde(flatten)]
    pub name: CoefficientName,
    /// Its mean.
    pub mean: f64,
    /// The standard error of the mean; none if the rows do not determine it.
    pub standard_error: Option<f64>,
    /// The variance of a node's deviation, before neighbours are looked at; of the intercept at the means of the
    /// features. None if the coefficient is each node's own.
    pub variance: Option<f64>,
    /// Where the variance is from.
    #[serde(default = "estimated")]
    pub source: VarianceSource,
    /// The standard deviation over the nodes there are.
    pub deviation: f64,
    /// The same as a change of the prediction, at a feature one standard deviation from its mean.
    pub effect: f64,
}

fn estimated() -> VarianceSource {
    VarianceSource::Estimated
}

/// How two coefficients of a node deviate together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Correlation {
    /// Which coefficients.
    pub between: [String; 2],
    /// From minus one to one.
    pub value: f64,
}

/// What a baseline does, in a few words.
pub fn about(name: &str) -> &'static str {
    MethodKind::named(name).map_or("", MethodKind::about)
}
