//! The methods that an experiment asks for, with the settings that its keys stand for.

use fedgrid::{
    compare::{Approach, Baseline, Gtv, Plain, Settings, Weighting},
    data::Features,
    loss::Loss,
    method::{Coupling, FedAvg, FedRelax, LocalStep},
    observe::Stop,
    runtime::{InProcess, Order},
};

use super::{Graph, scales};
use crate::{
    error::{Error, Result},
    experiment::{
        BaselineKey, CouplingKey, DiscrepancyKey, Experiment, GtvKeys, MethodKeys, MethodKind,
        OrderKey, ShapeKey, SolverKey, StepKey, WeightingKey,
    },
};

/// Refuses methods that the models do not allow; gives those that are tried beside the experiment's.
pub(super) fn checked_methods(
    experiment: &Experiment,
    check_weights: impl Fn(&str) -> Result<()>,
    training: &Features,
    notes: &mut Vec<String>,
) -> Result<Vec<Baseline>> {
    if couples_weights(experiment.method.kind) {
        check_weights(experiment.method.kind.name())?;
        notes.extend(scales::note(training));
    }
    let baselines = baselines(experiment, check_weights)?;
    notes.extend(baselines.note);
    Ok(baselines.tried)
}

/// Whether a method needs models of weights; the others compare predictions.
pub(super) fn couples_weights(kind: MethodKind) -> bool {
    kind == MethodKind::Gtv || kind.baseline().is_some_and(Baseline::needs_weights)
}

/// What a study of nodes of these names is run with.
pub(super) fn settings(experiment: &Experiment, graph: &Graph) -> Settings {
    let method = &experiment.method;
    Settings {
        alpha: method.alpha.given(),
        tune_ridge: experiment.model.tunes_ridge(),
        method: match method.kind {
            MethodKind::Fedrelax => Approach::FedRelax(relaxation(method, experiment.seed)),
            MethodKind::Gtv => Approach::Gtv(variation(method)),
            MethodKind::Persfl => {
                let (names, clusters) = (graph.network.names(), graph.clusters.as_deref());
                Approach::PersFl(method.persfl.method(names, clusters, experiment.seed))
            }
            MethodKind::Local => Approach::Plain(Plain::Local),
            MethodKind::Pooled => Approach::Plain(Plain::Pooled),
            MethodKind::Shrunk => {
                Approach::Plain(Plain::Shrunk { couple_intercept: method.couple_intercept })
            }
            other => other.baseline().map_or_else(Approach::default, Approach::Baseline),
        },
        weighting: match method.weighting {
            WeightingKey::Nodes => Weighting::Nodes,
            WeightingKey::Rows => Weighting::Rows,
        },
        // Rows that arrive and the steps of rounds take rounds.
        direct: method.solver == SolverKey::Auto
            && method.persfl.online.is_none()
            && method.gtv == GtvKeys::default(),
        runtime: InProcess {
            stop: Stop { tolerance: method.tolerance, rounds: method.rounds },
            order: match method.order {
                OrderKey::AtOnce => Order::AtOnce,
                OrderKey::InTurn => Order::InTurn,
            },
        },
        // On a complete network shuffling changes nothing.
        shuffles: match (method.kind, experiment.network.shape) {
            (MethodKind::Persfl, Some(ShapeKey::Complete)) => 0,
            _ => experiment.compare.shuffles,
        },
        baselines: Vec::new(),
        fedavg: FedAvg {
            averaged: method.averaging.into(),
            steps: method.local_steps,
            participation: method.participation,
            ..FedAvg::default()
        },
        restarts: method.restarts,
        seed: experiment.seed,
    }
}

/// The methods that are tried beside the experiment's own.
struct Baselines {
    tried: Vec<Baseline>,
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
    let named: Vec<Baseline> = asked.iter().filter_map(|key| key.baseline()).collect();
    let (mut tried, mut left) = (Vec::new(), Vec::new());
    for baseline in Baseline::ALL {
        let by_name = named.contains(&baseline);
        if !(all || by_name) {
            continue;
        }
        let is_without_network = experiment.network.shape == Some(ShapeKey::None);
        let fits = if baseline.uses_network() && is_without_network {
            let sentence = format!("compare.baselines: {} needs a network", baseline.name());
            Err(Error::input(format!("{sentence}; give --edges, --nearest or --shape")))
        } else if baseline.needs_weights() {
            check_weights(baseline.name())
        } else if experiment.public.per_node {
            let found = "public.per_node is true";
            Err(Error::input(format!("{found}, expected one public set for \"fedmd\"")))
        } else {
            Ok(())
        };
        match fits {
            Ok(()) => tried.push(baseline),
            Err(error) if by_name => return Err(error),
            Err(_) => left.push(baseline.name()),
        }
    }
    let note = (!left.is_empty()).then(|| {
        format!("Baselines that these models and public points do not allow: {}.", left.join(", "))
    });
    Ok(Baselines { tried, note })
}

/// FedRelax as the experiment has it.
fn relaxation(keys: &MethodKeys, seed: u64) -> FedRelax {
    FedRelax {
        discrepancy: match keys.discrepancy {
            DiscrepancyKey::Auto => None,
            DiscrepancyKey::Squared => Some(Loss::Squared),
            DiscrepancyKey::Absolute => Some(Loss::Absolute),
            DiscrepancyKey::Huber => Some(Loss::Huber { threshold: keys.threshold }),
            DiscrepancyKey::CrossEntropy => Some(Loss::CrossEntropy),
            DiscrepancyKey::KullbackLeibler => Some(Loss::KullbackLeibler),
        },
        coupling: match keys.coupling {
            CouplingKey::OneSided => Coupling::OneSided,
            CouplingKey::Symmetric => Coupling::Symmetric,
        },
        couple_intercept: keys.couple_intercept,
        clip: keys.clip,
        relaxation: keys.relaxation,
        step: match keys.step {
            StepKey::Refit => LocalStep::Refit,
            StepKey::Distil => LocalStep::Distil { points: keys.distil_points, seed },
            StepKey::Descend => LocalStep::Descend {
                steps: keys.steps,
                optimiser: keys.optimiser.into(),
                size: keys.step_size,
            },
        },
        hub: keys.hub,
        ..FedRelax::default()
    }
}

/// Total variation of weights as the experiment has it.
fn variation(keys: &MethodKeys) -> Gtv {
    keys.gtv.of(Gtv {
        penalty: keys.penalty.into(),
        couple_intercept: keys.couple_intercept,
        tolerance: keys.tolerance,
        ..Gtv::default()
    })
}
