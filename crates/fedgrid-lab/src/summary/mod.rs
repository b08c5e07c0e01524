//! From cards and models to the outcome of a run.

mod choice;
mod evidence;
mod federation;
mod origins;
mod privacy;
mod uncertainty;
mod updated;
mod verdict;
mod weak;

use std::sync::Arc;

use fedgrid::{
    compare::{
        Card, Contestant, Fitted, MessageSizes, MessageTuning, NodeScore, RoleMeasures, Strength,
        Verdict, Weighting,
    },
    metric::Measures,
    network::NodeId,
};

use self::verdict::VerdictText;
pub use self::{
    federation::{Judged, federation},
    origins::OriginCards,
    uncertainty::{basis, level_in_words, variances},
    updated::updated,
};
use crate::{
    assembly::{Assembly, listed},
    experiment::Experiment,
    number::{counted, significant},
    outcome::{
        Clusters, ColumnOutcome, Comparison, Entry, Gain, MethodUsed, NetworkSummary, NodeOutcome,
        Outcome, Shape, Spread,
    },
    probes::{candidates, learned},
    theory::theory,
};

/// Puts the outcome of a run together.
#[must_use]
pub fn outcome(
    experiment: &Experiment,
    assembly: &Assembly,
    cards: &[Card],
    fitted: &Fitted,
    seconds: f64,
) -> Outcome {
    let study = &assembly.study;
    let main = study.main();
    let is_compared = experiment.compare.enabled;
    let verdict = if is_compared { Verdict::of(cards, main, &study.network) } else { None };
    let comparison = comparison(cards);
    let mut nodes = nodes(assembly, cards, fitted);
    let uncertainty = uncertainty::uncertainty(assembly, fitted).map(|found| {
        let own = nodes.iter_mut().zip(found.nodes);
        own.for_each(|(node, interval)| node.interval = Some(interval));
        found.uncertainty
    });
    let of_nodes: Vec<usize> = nodes.iter().map(|node| node.cluster).collect();
    let strength = strength(cards, main);
    Outcome {
        verdict: VerdictText {
            verdict: verdict.as_ref(),
            comparison: &comparison,
            main,
            nodes: study.network.len(),
            rows: scored_rows(cards, main),
            is_quick: study.settings.is_quick,
            pooled: "pooled",
        }
        .sentence(),
        verdict_kind: verdict.as_ref().map(|verdict| verdict.kind),
        advised: verdict.as_ref().map(|verdict| verdict::advised(verdict, main)),
        helps: verdict.as_ref().is_some_and(Verdict::helps),
        metric: study.metric().name().into(),
        classes: assembly.about.classes.clone(),
        at_site: None,
        federation: None,
        theory: strength.and_then(|strength| theory(study, strength, fitted, &of_nodes)),
        nodes,
        gain: verdict.as_ref().map(gain),
        method: method(assembly, cards, fitted),
        certificate: fitted.certificate.clone(),
        rounds: fitted.rounds.len(),
        bytes: fitted.rounds.iter().map(|round| round.bytes).sum(),
        bytes_per_round: bytes_per_round(assembly),
        warnings: warnings(assembly, cards, fitted, verdict.is_some()),
        notes: notes(assembly, cards, fitted),
        columns: columns(assembly),
        network: network(assembly),
        path: cards.iter().map(|card| (card.contestant.to_string(), card.path.clone())).collect(),
        clusters: fitted.clusters.as_deref().map(clusters),
        uncertainty,
        variances: uncertainty::variances(assembly, fitted),
        evidence: fitted.evidence.as_ref().map(evidence::evidence),
        privacy: privacy::privacy(experiment, study, fitted),
        residuals: fitted.residuals.clone(),
        steps: fitted.steps.clone(),
        history: fitted.rounds.clone(),
        comparison,
        origins: Vec::new(),
        updates: Vec::new(),
        seconds,
        seed: experiment.seed,
        version: env!("CARGO_PKG_VERSION").into(),
    }
}

fn columns(assembly: &Assembly) -> Vec<ColumnOutcome> {
    let all = assembly.about.columns.treatments().into_iter();
    all.map(|(name, treatment, features)| ColumnOutcome { name, treatment, features }).collect()
}

fn gain(verdict: &Verdict) -> Gain {
    // JSON has no infinity.
    let finite = |error: f64| Some(error).filter(|error| error.is_finite());
    Gain {
        better: verdict.better,
        worse: verdict.worse,
        rival: verdict.rival,
        difference: verdict.gain.gain,
        standard_error: finite(verdict.gain.standard_error),
        shape: verdict.shape.map(|shape| Shape {
            difference: shape.gain,
            standard_error: finite(shape.standard_error),
        }),
    }
}

/// The rows that a contestant's error is measured on, such as `11,716 test rows`.
fn scored_rows(cards: &[Card], contestant: Contestant) -> String {
    let card = cards.iter().find(|card| card.contestant == contestant);
    card.map_or_else(String::new, |card| {
        let role = if card.test.is_some() { "test row" } else { "validation row" };
        counted(NodeScore::total(&card.nodes).rows, role)
    })
}

/// How each contestant did, by their cards.
#[must_use]
pub fn comparison(cards: &[Card]) -> Comparison {
    let entry = |contestant| cards.iter().find(|card| card.contestant == contestant).map(entry_of);
    let baselines = cards.iter().filter_map(|card| match card.contestant {
        Contestant::Baseline(kind) => Some((kind.to_string(), entry_of(card))),
        _ => None,
    });
    let members = cards.iter().filter_map(|card| match card.contestant {
        Contestant::Member(kind) => Some((kind.to_string(), entry_of(card))),
        _ => None,
    });
    let shuffles: Vec<&Card> =
        cards.iter().filter(|card| matches!(card.contestant, Contestant::Shuffled(_))).collect();
    let mean = |value: &dyn Fn(&Card) -> Option<f64>| {
        // A mean over some of the shuffles would not be comparable with the others.
        let values: Option<Vec<f64>> = shuffles.iter().map(|card| value(card)).collect();
        values.filter(|v| !v.is_empty()).map(|v| v.iter().sum::<f64>() / v.len() as f64)
    };
    let shuffled = mean(&|card| Some(card.validation)).map(|validation| Entry {
        validation,
        test: mean(&|card| card.test),
        accuracy: mean(&|card| card.accuracy),
        metrics: RoleMeasures {
            test: mean_measures(&shuffles, |card| card.measures.test.as_ref()),
            validation: mean_measures(&shuffles, |card| card.measures.validation.as_ref()),
        },
        alpha: None,
        ridge: None,
        spread: Some(spread(&shuffles.iter().map(|card| card.error()).collect::<Vec<_>>())),
    });
    Comparison {
        local: entry(Contestant::Local),
        pooled: entry(Contestant::Pooled),
        shrunk: entry(Contestant::Shrunk),
        mixed: entry(Contestant::Mixed),
        network: entry(Contestant::Network),
        members: members.collect(),
        shuffled,
        baselines: baselines.collect(),
    }
}

/// The mean measures of all cards; none where one has none.
fn mean_measures(cards: &[&Card], of: fn(&Card) -> Option<&Measures>) -> Option<Measures> {
    let all: Option<Vec<&Measures>> = cards.iter().map(|card| of(card)).collect();
    Measures::mean(&all?)
}

fn entry_of(card: &Card) -> Entry {
    Entry {
        validation: card.validation,
        test: card.test,
        accuracy: card.accuracy,
        metrics: card.measures.clone(),
        // Zero stands for methods without a strength, and for no pull at all.
        alpha: Some(card.strength.alpha).filter(|alpha| *alpha > 0.0),
        ridge: card.strength.ridge,
        spread: None,
    }
}

fn spread(errors: &[f64]) -> Spread {
    let mean = errors.iter().sum::<f64>() / errors.len() as f64;
    let squares: f64 = errors.iter().map(|error| (error - mean).powi(2)).sum();
    // One shuffle has no spread, which is written as zero.
    let free = errors.len().saturating_sub(1).max(1) as f64;
    Spread {
        repeats: errors.len(),
        min: errors.iter().copied().fold(f64::INFINITY, f64::min),
        max: errors.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        deviation: (squares / free).sqrt(),
    }
}

fn nodes(assembly: &Assembly, cards: &[Card], fitted: &Fitted) -> Vec<NodeOutcome> {
    let study = &assembly.study;
    let scores = |contestant| {
        cards.iter().find(|card| card.contestant == contestant).map(|card| card.nodes.as_slice())
    };
    let (local, network) = (scores(Contestant::Local), scores(study.main()));
    let mean = |scores: Option<&[NodeScore]>, node: usize| scores?.get(node)?.mean();
    // Methods that make neighbours exactly equal know their clusters; for others predictions are compared.
    let clusters = fitted.clusters.clone().unwrap_or_else(|| study.clusters(&fitted.hypotheses));
    (0..study.network.len())
        .map(|node| {
            let (local, network_error) = (mean(local, node), mean(network, node));
            NodeOutcome {
                name: study.network.names()[node].clone(),
                label: label(assembly, node),
                model: assembly.model_kinds[node].to_string(),
                rows: study.plan.train[node].len(),
                scored_rows: network.map_or(0, |scores| scores[node].rows),
                neighbours: study.network.neighbours(node).len(),
                local,
                network: network_error,
                gain: local.zip(network_error).map(|(local, network)| local - network),
                cluster: clusters[node],
                note: assembly.node_notes[node].clone(),
                interval: None,
            }
        })
        .collect()
}

/// What people call a node; none if that is its name.
fn label(assembly: &Assembly, node: usize) -> Option<String> {
    let label = assembly.labels.as_ref()?.get(node)?;
    let is_new = !label.is_empty() && *label != assembly.study.network.names()[node];
    is_new.then(|| label.clone())
}

fn clusters(of_nodes: &[usize]) -> Clusters {
    let count = of_nodes.iter().map(|cluster| cluster + 1).max().unwrap_or(0);
    let mut sizes = vec![0; count];
    for &cluster in of_nodes {
        sizes[cluster] += 1;
    }
    Clusters { count, sizes }
}

/// Some things one after the other: `a, b and c`.
fn all_of(parts: &[String]) -> String {
    match parts {
        [first @ .., last] if !first.is_empty() => format!("{} and {last}", first.join(", ")),
        _ => parts.concat(),
    }
}

/// The strength that was chosen for the study's own method.
fn strength(cards: &[Card], main: Contestant) -> Option<Strength> {
    cards.iter().find(|card| card.contestant == main).map(|card| card.strength)
}

fn method(assembly: &Assembly, cards: &[Card], fitted: &Fitted) -> MethodUsed {
    let (settings, main) = (&assembly.study.settings, assembly.study.main());
    let strength = strength(cards, main);
    let facts = settings.method.facts();
    MethodUsed {
        kind: settings.method.kind().name().into(),
        candidates: choice::candidates(&assembly.study),
        penalty: facts.penalty.map(Into::into),
        // An estimate is that of the fit; without test rows the card has none.
        alpha: fitted.strength.or(strength.map(|strength| strength.alpha)).unwrap_or(0.0),
        ridge: strength.and_then(|strength| strength.ridge),
        coupling: facts.coupling.map(Into::into),
        couple_intercept: facts.couples_intercepts,
        // A hub that all methods of its kind have is no choice.
        hub: if facts.uses_network { facts.hub } else { 0.0 },
        weighting: match settings.weighting {
            Weighting::Nodes => "nodes".into(),
            Weighting::Rows => "rows".into(),
        },
        solver: if fitted.direct { "direct".into() } else { "rounds".into() },
        engine: fitted.engine.clone(),
        public: if facts.uses_public {
            assembly.public.clone()
        } else {
            format!("{}, for the shrunk rival only", assembly.public)
        },
    }
}

/// What all edges carry in a round, in both directions, where that is known before the first one.
fn bytes_per_round(assembly: &Assembly) -> usize {
    let study = &assembly.study;
    if !study.settings.method.facts().exchanges_predictions {
        return 0;
    }
    let (task, points) = (study.task(), |node: usize| study.public[node].rows());
    let names: Arc<[String]> = assembly.about.features.clone().into();
    let sent = |from: usize, to: usize| {
        let names = names.clone();
        let points = (points(from), points(to));
        let sizes = MessageSizes {
            task,
            names,
            weights: 0,
            points,
            fronts: Arc::default(),
            edge: (from, to),
            tuning: MessageTuning::None,
        };
        study.settings.method.at_sites().map_or(0, |method| method.largest_message(&sizes))
    };
    let both = |a: usize, b: usize| sent(a, b) + sent(b, a);
    study.network.edges().iter().map(|edge| both(edge.source, edge.target)).sum()
}

/// Which baselines have a smaller error than the experiment's own method.
fn better_baselines(cards: &[Card], main: Contestant) -> Option<String> {
    let own = cards.iter().find(|card| card.contestant == main)?;
    let is_baseline = |card: &&Card| matches!(card.contestant, Contestant::Baseline(_));
    let baselines: Vec<&Card> =
        cards.iter().filter(is_baseline).filter(|card| card.contestant != main).collect();
    let better: Vec<String> = baselines
        .iter()
        .filter(|card| card.error() < own.error())
        .map(|card| format!("{} ({})", card.contestant, significant(card.error())))
        .collect();
    (!baselines.is_empty()).then(|| {
        let whose =
            if main == Contestant::Network { "the network's".into() } else { format!("{main}'s") };
        let own = format!("{whose} {}", significant(own.error()));
        match better.len() {
            0 => format!("No baseline has a smaller error than {own}."),
            _ => format!("Baselines with a smaller error than {own}: {}.", better.join(", ")),
        }
    })
}

/// What a reader must know before the verdict.
fn warnings(assembly: &Assembly, cards: &[Card], fitted: &Fitted, is_judged: bool) -> Vec<String> {
    let mut warnings = Vec::new();
    if assembly.study.settings.is_quick {
        warnings.push(
            "This is a first look (--quick): strengths are on a coarse grid, and few shuffled networks are tried. Run \
             without it before you decide."
                .into(),
        );
    }
    let certificate = &fitted.certificate;
    if !certificate.converged {
        let allowed = assembly.study.settings.runtime.stop.rounds;
        let rounds = match (fitted.direct, fitted.came_no_nearer(allowed)) {
            (true, _) => "",
            (false, true) => {
                "; its rounds were ended where they came no nearer to rest, as those of trees and the like may"
            }
            (false, false) => "; more rounds (method.rounds) may help",
        };
        warnings.push(format!(
            "The run did not converge: {} {}{rounds}.",
            certificate.kind,
            significant(certificate.value)
        ));
    }
    let main = assembly.study.main();
    // The verdict compares errors, and one that has not converged may still change.
    let others = cards.iter().filter(|card| card.contestant != main && !card.converged);
    let others: Vec<String> = others.map(|card| card.contestant.to_string()).collect();
    if !others.is_empty() {
        warnings
            .push(format!("Rows of the comparison that did not converge: {}.", others.join(", ")));
    }
    if is_judged && !assembly.study.plan.has_test() {
        let folds = assembly.study.plan.folds.len();
        let rows = if folds > 1 {
            format!("the {folds} folds of the training rows that strengths were chosen on")
        } else {
            "the validation rows that strengths were chosen on".into()
        };
        warnings.push(format!(
            "There are no test rows: the verdict rests on {rows}, so errors are somewhat too small."
        ));
    }
    warnings
}

/// What a reader should know of the rows, the fit and the comparison.
#[must_use]
pub fn notes(assembly: &Assembly, cards: &[Card], fitted: &Fitted) -> Vec<String> {
    let mut notes = assembly.notes.clone();
    notes.extend(choice::note(&assembly.study));
    notes.extend(better_baselines(cards, assembly.study.main()));
    notes.extend(weak::notes(&fitted.weak, assembly.study.network.names()));
    notes.extend(assembly.study.settings.method.note_on_fit(fitted));
    if let Some(posterior) = fitted.posterior.as_ref().filter(|own| !own.undetermined.is_empty()) {
        let names = assembly.study.network.names();
        let open = posterior.undetermined.iter().map(|&node| names[node].as_str());
        notes.push(format!(
            "{} without rows that determine a free coefficient, and {} the mean of the other nodes there.",
            listed(open, "is", "are"),
            if posterior.undetermined.len() == 1 { "has" } else { "have" },
        ));
    }
    if let Some(reason) = &fitted.certificate.reason {
        notes.push(format!("No gap is certified: {reason}."));
    }
    notes.extend(damping_note(&fitted.damped, assembly.study.network.names()));
    notes
}

/// Names the nodes that damp what they hear, if there are any.
fn damping_note(damped: &[NodeId], names: &[String]) -> Option<String> {
    let who = damped.iter().map(|&node| names[node].as_str());
    let who = listed(who, "is damping what it hears", "are damping what they hear");
    (!damped.is_empty()).then(|| format!("{who}, because the rounds were growing."))
}

fn network(assembly: &Assembly) -> NetworkSummary {
    let network = &assembly.study.network;
    let statistics = network.statistics();
    NetworkSummary {
        nodes: network.len(),
        edges: network.edges().len(),
        components: statistics.sizes.len(),
        isolated: statistics.isolated.len(),
        mean_neighbours: 2.0 * network.edges().len() as f64 / network.len() as f64,
        kind: assembly.chosen.as_ref().map(|chosen| chosen.key.name().into()),
        learned: assembly.chosen.as_ref().and_then(|chosen| chosen.learned.as_ref()).map(learned),
        candidates: assembly.chosen.as_ref().map_or_else(Vec::new, candidates),
    }
}

#[cfg(test)]
mod tests {
    use super::damping_note;

    #[test]
    fn one_node_hears_and_several_hear() {
        let names = ["a", "b", "c"].map(String::from);
        assert_eq!(damping_note(&[], &names), None);
        let note = |damped: &[usize]| damping_note(damped, &names).unwrap();
        let why = "because the rounds were growing.";
        assert_eq!(note(&[1]), format!("Node 'b' is damping what it hears, {why}"));
        assert_eq!(note(&[0, 2]), format!("Nodes 'a', 'c' are damping what they hear, {why}"));
    }
}
