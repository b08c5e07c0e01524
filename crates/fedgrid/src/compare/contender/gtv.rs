//! Total variation of weights in a comparison: the minimum itself, or rounds of messages towards it.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{
    AtSites, Bound, Contender, Facts, Federated, MessageSizes, Objective, Place, StrengthKey, Told,
};
use crate::{
    bound::weights_of,
    compare::{
        Certificate, Fitted, Unwatched,
        fitted::{Effort, FitRequest, StartingPoint},
        strength::{Grid, Units},
        trainer::Trainer,
    },
    error::Result,
    method::{
        PrimalDual, StopOn, TunedAtSites,
        primal_dual::{EdgeMessage, PrimalStep, Scale},
        tuned::Tuning,
    },
    network::{Network, Node},
    observe::Stop,
    optimum::gtv::{Coupled, Goal, Minimum, clusters, clusters_of, minimise},
    penalty::Penalty,
};

/// A gap that tells strengths apart, and how many steps it is worth.
// Errors on validation rows differ by more than a per mille wherever the choice matters.
const SEARCH_GOAL: Goal = Goal { tolerance: 1e-3, steps: 500 };
/// Neighbours are equal if they differ by less than this share of the largest weights: far above what a
/// certified gap of 1e-6 leaves, far below what rows tell apart.
const EQUAL_SHARE: f64 = 1e-4;

/// Total variation of weights as it is minimised. Any key of its rounds that differs from its default makes
/// the fit go in rounds of messages.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Gtv {
    /// What the difference of two neighbours' weights costs.
    pub penalty: Penalty,
    /// Whether intercepts are coupled too; otherwise every node keeps its own.
    pub couple_intercept: bool,
    /// The certified gap, relative to the objective, that is good enough.
    #[serde(skip)]
    pub tolerance: f64,
    /// The largest number of steps over all edges.
    #[serde(skip)]
    pub steps: usize,
    /// In rounds of messages: how a node finds its next weights.
    #[serde(flatten, with = "step_keys")]
    #[schemars(with = "step_keys::PrimalStepKeys")]
    pub step: PrimalStep,
    /// In rounds of messages: the scale of the steps, one is the paper; without it every node balances its own.
    #[serde(with = "scale_key", skip_serializing_if = "is_adaptive")]
    #[schemars(with = "Option<f64>", extend("exclusiveMinimum" = 0))]
    pub scale: Scale,
    /// In rounds of messages: the share of each update that is taken, one is the paper.
    #[schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 2))]
    pub relaxation: f64,
    /// In rounds of messages: a number that no node's weights exceed in length, by which a gap is certified
    /// where a node's own rows do not determine its weights.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub radius: Option<f64>,
    /// In rounds of messages: what must fall to the tolerance: the certified relative gap (the residual where
    /// there is none), the residual, or how much the objective varies over ten rounds.
    pub stop_on: StopOn,
    /// In rounds of messages: whether to do what the authors' code does: its steps, losses summed over rows,
    /// and half of the squared penalty.
    pub paper_compat: bool,
}

impl Default for Gtv {
    fn default() -> Self {
        let Goal { tolerance, steps } = Goal::default();
        let PrimalDual { penalty, couple_intercept, scale, relaxation, step, radius, .. } =
            PrimalDual::default();
        let (stop_on, paper_compat) = (StopOn::Gap, false);
        Self {
            penalty,
            couple_intercept,
            tolerance,
            steps,
            step,
            scale,
            relaxation,
            radius,
            stop_on,
            paper_compat,
        }
    }
}

impl Gtv {
    /// The rounds of messages that minimise it.
    #[must_use]
    pub fn rounds(self, alpha: f64) -> PrimalDual {
        let Self { penalty, couple_intercept, scale, relaxation, step, .. } = self;
        let Self { radius, stop_on, paper_compat, .. } = self;
        PrimalDual {
            alpha,
            penalty,
            couple_intercept,
            scale,
            relaxation,
            step,
            radius,
            stop_on,
            paper_compat,
            ..PrimalDual::default()
        }
    }

    /// Whether the keys of its rounds say something.
    fn asks_for_rounds(self) -> bool {
        let Self { penalty, couple_intercept, tolerance, steps, .. } = self;
        self != Self { penalty, couple_intercept, tolerance, steps, ..Self::default() }
    }

    /// Whether neighbours can become equal, and so form clusters.
    fn makes_clusters(self) -> bool {
        self.penalty.rule().is_norm()
    }

    fn goal(self, effort: Effort) -> Goal {
        let Self { tolerance, steps, .. } = self;
        match effort {
            Effort::Search => Goal {
                tolerance: SEARCH_GOAL.tolerance.max(tolerance),
                steps: SEARCH_GOAL.steps.min(steps),
            },
            Effort::Final => Goal { tolerance, steps },
        }
    }

    fn in_rounds(self, trainer: &Trainer, request: FitRequest) -> Result<Fitted> {
        let FitRequest { network, strength, start, effort, .. } = request;
        let start = if let StartingPoint::Hypotheses(start) = start { Some(start) } else { None };
        let rounds = PrimalDual { start, ..self.rounds(strength) };
        let fitted = trainer.rounds(&rounds, network, 0.0, effort)?;
        Ok(Fitted { clusters: self.clusters(trainer, network, &fitted), ..fitted })
    }

    /// The clusters of nodes with equal weights, where the penalty makes weights equal.
    fn clusters(self, trainer: &Trainer, network: &Network, fitted: &Fitted) -> Option<Vec<usize>> {
        if !self.makes_clusters() {
            return None;
        }
        let weights =
            weights_of(trainer.nodes(), &fitted.hypotheses, self.couple_intercept).ok()?;
        Some(clusters_of(network, |node| &weights[node], EQUAL_SHARE))
    }

    /// What a strength of one is worth. Where all nodes have the pooled weights w,
    ///
    /// ```text
    /// norms   mean ‖∇L_i(w)‖ / mean degree           what the duals of a node can balance
    /// ½‖·‖²   2 × mean feature variance / mean degree      what differences of predictions would count
    /// ```
    fn unit(self, units: &Units) -> Result<f64> {
        if !self.makes_clusters() {
            return Ok(2.0 * units.variance / units.mean_degree);
        }
        let study = units.study;
        let trainer = Trainer::new(study, &Unwatched, &study.plan.train, None)?;
        let pooled = trainer.anchor()?;
        let gradient = |node: &Node| {
            let model = node.model.as_parametric()?;
            let weights = model.weights(pooled[node.id].as_ref())?;
            let mut gradient = model.gradient(&node.data, &weights);
            if !self.couple_intercept {
                let columns = node.data.features().columns();
                model.intercepts(columns, node.data.task()).iter().for_each(|&k| gradient[k] = 0.0);
            }
            Some(self.penalty.dual_size(&gradient))
        };
        let with_rows = || trainer.nodes().iter().filter(|node| node.data.total_weight() > 0.0);
        let total: f64 = with_rows().filter_map(gradient).sum();
        let mean = total / with_rows().count().max(1) as f64;
        let mean_degree = units.mean_degree;
        Ok(if mean > 0.0 && mean.is_finite() { mean / mean_degree } else { 1.0 / mean_degree })
    }
}

impl Contender for Gtv {
    fn about(&self) -> &'static str {
        "weights like its neighbours'"
    }

    fn strength_key(&self) -> Option<StrengthKey> {
        Some(StrengthKey::pull("The weight of the total variation; zero trains every node alone."))
    }

    fn facts(&self) -> Facts {
        Facts {
            needs_weights: true,
            couples_intercepts: self.couple_intercept,
            asks_for_rounds: self.asks_for_rounds(),
            knows_lengths_only: self.penalty != Penalty::OneNorm,
            penalty: Some(self.penalty.name()),
            ..Facts::default()
        }
    }

    fn told(&self) -> Option<Told> {
        Some(Told::Weights)
    }

    fn grid(&self, units: &Units) -> Result<Grid> {
        if units.mean_degree == 0.0 {
            return Ok(Grid::Fixed(0.0));
        }
        Ok(Grid::Decades(self.unit(units)?))
    }

    fn fit(&self, trainer: &Trainer, request: FitRequest) -> Result<Fitted> {
        // Local training knows what to do with fewer rows than features; the minimiser would not.
        if request.strength == 0.0 {
            return trainer.alone();
        }
        if !trainer.study.settings.direct {
            return self.in_rounds(trainer, request);
        }
        let FitRequest { network, strength: alpha, start, effort, .. } = request;
        let goal = self.goal(effort);
        let losses = trainer.losses(self.couple_intercept)?;
        let start = if let StartingPoint::Minimum(start) = &start { Some(&**start) } else { None };
        let coupled = Coupled { alpha, penalty: self.penalty };
        let minimum = minimise(losses, network, coupled, start, goal)?;
        let hypotheses = losses.hypotheses(network, &minimum.weights);
        let mut hypotheses: Vec<_> = hypotheses.into_iter().map(|h| Some(h.into())).collect();
        trainer.fit_isolated(network, 0.0, &mut hypotheses)?;
        Ok(Fitted {
            residuals: minimum.history.iter().map(|(_, gap)| *gap).collect(),
            steps: minimum.history.iter().map(|(step, _)| *step).collect(),
            certificate: certificate(&minimum, goal),
            engine: minimum.engine.to_string(),
            clusters: (self.makes_clusters())
                .then(|| clusters(losses, network, &minimum.weights, EQUAL_SHARE)),
            next_start: StartingPoint::Minimum(Box::new(minimum)),
            ..Fitted::exact(trainer.fill_undetermined(network, 0.0, hypotheses)?)
        })
    }

    fn bind(&mut self, bound: &Bound) {
        self.tolerance = bound.tolerance;
    }

    fn objective(&self) -> Option<Objective<'_>> {
        Some(Objective::Weights(self))
    }

    fn note_on_fit(&self, fitted: &Fitted) -> Option<String> {
        fitted.direct.then(|| {
            format!(
                "This process holds all rows, so the total variation of weights was minimised in one \
                 place ({}) instead of in rounds of messages.",
                fitted.engine
            )
        })
    }

    fn at_sites(&self) -> Option<&dyn AtSites> {
        Some(self)
    }
}

impl AtSites for Gtv {
    fn federated(&self, strength: Option<f64>, _: Place) -> Result<Federated> {
        Ok(Federated::PrimalDual(self.rounds(strength.unwrap_or(0.0))))
    }

    fn tuned(&self, network: &Network, tuning: Tuning) -> Result<Option<Federated>> {
        let method = self.rounds(1.0);
        TunedAtSites::new(method, network, tuning).map(Federated::TunedPrimalDual).map(Some)
    }

    fn can_be_tuned(&self) -> bool {
        true
    }

    /// Weights come to rest more slowly than predictions, and duals hide how far they have to go.
    fn search_stop(&self) -> Stop {
        Stop { tolerance: 1e-5, rounds: 200 }
    }

    /// In the units of models, in which a gradient is about as long as one.
    fn grid_at_sites(&self, units: &Units) -> Option<Grid> {
        // In one process pooled weights and the gradients of all nodes tell more.
        let unit = if self.makes_clusters() { 1.0 } else { 2.0 * units.variance };
        let unit = unit / units.mean_degree;
        Some(if unit.is_finite() { Grid::Decades(unit) } else { Grid::Fixed(0.0) })
    }

    fn largest_message(&self, sizes: &MessageSizes) -> usize {
        sizes.with_tuning::<EdgeMessage>(sizes.weights)
    }
}

fn certificate(minimum: &Minimum, goal: Goal) -> Certificate {
    let known = minimum.certificate;
    let gap = minimum.relative_gap().filter(|gap| gap.is_finite());
    let (kind, value) = gap.map_or_else(
        || ("optimality residual", known.node_residual.max(known.edge_residual)),
        |gap| ("certified relative gap", gap),
    );
    Certificate {
        kind: kind.into(),
        value,
        converged: value <= goal.tolerance,
        reason: known.unbounded.map(ToString::to_string),
    }
}

fn is_adaptive(scale: &Scale) -> bool {
    *scale == Scale::Adaptive
}

/// The scale of steps as an optional number.
mod scale_key {
    use super::{Deserialize, Deserializer, Scale, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(scale: &Scale, to: S) -> Result<S::Ok, S::Error> {
        match scale {
            Scale::Adaptive => to.serialize_none(),
            Scale::Fixed(scale) => scale.serialize(to),
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Scale, D::Error> {
        Ok(Option::<f64>::deserialize(from)?.map_or(Scale::Adaptive, Scale::Fixed))
    }
}

/// The step of a node as two keys.
mod step_keys {
    use super::{Deserialize, Deserializer, JsonSchema, PrimalStep, Serialize, Serializer};

    #[derive(Debug, Serialize, Deserialize, JsonSchema)]
    #[serde(default)]
    pub(super) struct PrimalStepKeys {
        /// In rounds of messages: how a node finds its next weights: by the proximal step of its model, by
        /// gradient steps up to an error that falls with the square of the round ("inexact"), or by one
        /// gradient step.
        step: PrimalStepName,
        /// For step "inexact": the error of the first round.
        #[schemars(extend("exclusiveMinimum" = 0))]
        error: f64,
    }

    #[derive(Debug, Clone, Copy, Default, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "kebab-case")]
    enum PrimalStepName {
        #[default]
        Proximal,
        Inexact,
        Gradient,
    }

    impl Default for PrimalStepKeys {
        fn default() -> Self {
            Self { step: PrimalStepName::Proximal, error: 0.1 }
        }
    }

    pub(super) fn serialize<S: Serializer>(step: &PrimalStep, to: S) -> Result<S::Ok, S::Error> {
        let usual = PrimalStepKeys::default();
        match *step {
            PrimalStep::Proximal => usual,
            PrimalStep::Inexact { error } => {
                PrimalStepKeys { step: PrimalStepName::Inexact, error }
            }
            PrimalStep::Gradient => PrimalStepKeys { step: PrimalStepName::Gradient, ..usual },
        }
        .serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<PrimalStep, D::Error> {
        let PrimalStepKeys { step, error } = PrimalStepKeys::deserialize(from)?;
        Ok(match step {
            PrimalStepName::Proximal => PrimalStep::Proximal,
            PrimalStepName::Inexact => PrimalStep::Inexact { error },
            PrimalStepName::Gradient => PrimalStep::Gradient,
        })
    }
}
