//! The methods that an experiment asks for, with the settings that its keys stand for.

use fedgrid::{
    compare::{Bound, Member, MethodKind, Settings},
    observe::Stop,
    runtime::InProcess,
};

use super::{Graph, models::Models};
use crate::{
    error::{Error, Result},
    experiment::{BaselineKey, Experiment, MethodSection, ShapeKey, SolverKey},
};

/// The methods that the models allow, beside the experiment's own.
#[derive(Default)]
pub(super) struct AllowedMethods {
    /// Those that its own is chosen from.
    pub(super) members: Vec<MethodKind>,
    /// Those that are tried too.
    pub(super) baselines: Vec<MethodKind>,
}

/// Refuses methods that the models do not allow; gives the others.
pub(super) fn checked_methods(
    experiment: &Experiment,
    (models, check_weights): (&Models, impl Fn(&str) -> Result<()>),
    notes: &mut Vec<String>,
) -> Result<AllowedMethods> {
    let method = &experiment.method;
    let facts = method.approach.facts();
    if facts.needs_common_points && experiment.public.per_node {
        return Err(Error::input(common_points(method.name())));
    }
    if facts.needs_weights {
        check_weights(method.name())?;
    }
    let suits = |kind: &MethodKind| match kind {
        // A mixed model is a regression: who asks for something else shall not get one in its place.
        MethodKind::Mixed => models.are_regressions(),
        kind => !kind.facts().needs_weights || check_weights(kind.name()).is_ok(),
    };
    let members: Vec<MethodKind> = if method.is_chosen {
        MethodSection::MEMBERS.into_iter().filter(suits).collect()
    } else {
        Vec::new()
    };
    let baselines = baselines(experiment, check_weights)?;
    notes.extend(baselines.note);
    Ok(AllowedMethods { members, baselines: baselines.tried })
}

fn common_points(kind: &str) -> String {
    format!("public.per_node is true, expected one public set for \"{kind}\"")
}

/// What a study of nodes of these names is run with, and with which methods.
pub(super) fn settings(
    experiment: &Experiment,
    graph: &Graph,
    methods: AllowedMethods,
) -> Settings {
    let (method, run) = (&experiment.method, &experiment.method.run);
    let bound = Bound {
        names: graph.network.names(),
        clusters: graph.clusters.as_deref(),
        seed: experiment.seed,
        tolerance: run.tolerance,
    };
    let facts = method.approach.facts();
    let is_complete = experiment.network.shape == Some(ShapeKey::Complete);
    let (is_quick, likelihood_shuffles) =
        (experiment.compare.quick, experiment.compare.likelihood_shuffles);
    Settings {
        alpha: method.strength.given(),
        tune_ridge: experiment.model.tunes_ridge(),
        method: method.approach.clone().bound(&bound),
        members: methods
            .members
            .iter()
            .map(|kind| Member::new(kind.with_defaults().bound(&bound)))
            .collect(),
        weighting: run.weighting,
        metric: experiment.compare.metric,
        // They follow from training rows, which are not known here: whoever knows them fills them in.
        class_weights: None,
        // Rows that arrive and the steps of rounds take rounds.
        direct: run.solver == SolverKey::Auto && !facts.asks_for_rounds,
        runtime: InProcess {
            stop: Stop { tolerance: run.tolerance, rounds: run.rounds },
            order: run.order,
        },
        // On a complete network shuffling changes nothing.
        shuffles: if facts.is_blind_to_order && is_complete {
            0
        } else {
            experiment.compare.shuffles.min(if is_quick { 1 } else { usize::MAX })
        },
        // Nineteen are the fewest by which p can be as small as one in twenty.
        likelihood_shuffles: likelihood_shuffles.min(if is_quick { 19 } else { usize::MAX }),
        is_quick,
        baselines: methods.baselines,
        seed: experiment.seed,
        ..Settings::default()
    }
}

/// The methods that are tried beside the experiment's own.
struct Baselines {
    tried: Vec<MethodKind>,
    /// Which of all were left out.
    note: Option<String>,
}

/// Of the methods that are asked for, those that the models allow; one that is asked for by name and
/// that they do not allow is refused.
fn baselines(
    experiment: &Experiment,
    check_weights: impl Fn(&str) -> Result<()>,
) -> Result<Baselines> {
    let asked = &experiment.compare.baselines;
    let all = asked.contains(&BaselineKey::All);
    let (mut tried, mut left) = (Vec::new(), Vec::new());
    for kind in MethodKind::baselines() {
        let by_name = asked.contains(&BaselineKey::One(kind));
        if !(all || by_name) {
            continue;
        }
        let facts = kind.facts();
        let is_without_network = experiment.network.shape == Some(ShapeKey::None);
        let fits = if facts.uses_network && is_without_network {
            let sentence = format!("compare.baselines: {kind} needs a network");
            Err(Error::input(format!("{sentence}; give --edges, --nearest or --shape")))
        } else if facts.needs_weights {
            check_weights(kind.name())
        } else if facts.needs_common_points && experiment.public.per_node {
            Err(Error::input(common_points(kind.name())))
        } else {
            Ok(())
        };
        match fits {
            Ok(()) => tried.push(kind),
            Err(error) if by_name => return Err(error),
            // "all" asks for what fits: only a method that was named is missed.
            Err(_) => left.push(kind.name()),
        }
    }
    let note = (!left.is_empty()).then(|| {
        format!("Baselines that these models and public points do not allow: {}.", left.join(", "))
    });
    Ok(Baselines { tried, note })
}
