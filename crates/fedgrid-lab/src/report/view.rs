//! What the page says, in words and in numbers ready to print.

use fedgrid::{
    compare::{Contestant, Kind, MethodKind},
    metric::Metric,
    penalty::Penalty,
};
use minijinja::{Value, context};

use super::{
    figures,
    map::{CLUSTER_COLOURS, Map, cluster_class, finite_gain},
};
use crate::{
    assembly::listed,
    number,
    outcome::{self, CandidateOutcome, Entry, Measured, NodeOutcome, Outcome},
};

/// What errors are called.
pub(super) fn metric(outcome: &Outcome) -> &str {
    let known = Metric::ALL.into_iter().find(|known| known.name() == outcome.metric);
    known.map_or(&outcome.metric, |known| known.about())
}

/// Whether errors are measured on test rows.
fn has_test(outcome: &Outcome) -> bool {
    figures::entries(&outcome.comparison).iter().any(|(_, entry)| entry.test.is_some())
}

/// Which rows errors are measured on.
pub(super) fn rows_measured(outcome: &Outcome) -> &'static str {
    match outcome.at_site {
        Some(Measured::Training) => "training",
        _ if has_test(outcome) => "test",
        _ => "validation",
    }
}

/// The method of the experiment in the words of a sentence: the network, or the name of a method that
/// knows none.
pub(super) fn who(outcome: &Outcome) -> &str {
    let kind = outcome.method.kind.as_str();
    let uses_network = MethodKind::named(kind).is_none_or(|kind| kind.facts().uses_network);
    if uses_network { "the network" } else { kind }
}

/// The label of the verdict: a colour and a few words.
pub(super) fn label(outcome: &Outcome) -> Value {
    let of_network = who(outcome) == "the network";
    let (class, text) = match outcome.verdict_kind {
        Some(Kind::CouplingOnly | Kind::Pooled | Kind::Local) if !of_network => {
            ("kind-pooled", "Another method is enough")
        }
        Some(Kind::Coupling) if !of_network => ("kind-undecided", "Undecided"),
        None if !of_network => ("kind-undecided", "Without a network"),
        Some(Kind::Network) => ("kind-network", "The network helps"),
        Some(Kind::Hub) => ("kind-coupling", "A hub helps, without a network"),
        Some(Kind::Coupling) => ("kind-coupling", "Coupling helps; the network is not confirmed"),
        Some(Kind::CouplingOnly) => ("kind-coupling", "Coupling helps, not this network"),
        Some(Kind::Pooled) => ("kind-pooled", "One model for all is enough"),
        Some(Kind::Local) => ("kind-local", "Nodes do better alone"),
        Some(Kind::Undecided) => ("kind-undecided", "Undecided"),
        None => ("kind-undecided", "No comparison"),
    };
    context! { class, text }
}

fn figure(name: &str, value: impl Into<Value>, detail: impl Into<Value>) -> Value {
    context! { name, value => value.into(), detail => detail.into(), warning => false }
}

/// The figures at the top of the page.
pub(super) fn key_figures(outcome: &Outcome) -> Vec<Value> {
    let network = &outcome.network;
    let alone = match network.isolated {
        0 => "none isolated".into(),
        isolated => format!("{} isolated", number::count(isolated)),
    };
    let mut shown = vec![
        figure(
            "Nodes",
            number::count(network.nodes),
            format!("in {}, {alone}", number::counted(network.components, "component")),
        ),
        figure(
            "Edges",
            number::count(network.edges),
            format!("{} neighbours on average", number::significant(network.mean_neighbours)),
        ),
    ];
    if let Some(gain) = &outcome.gain {
        let split = format!("{} / {}", number::count(gain.better), number::count(gain.worse));
        let detail = format!("with {} than alone", who(outcome));
        shown.push(figure("Nodes better / worse", split, detail));
        shown.push(against_rival(outcome, gain.rival, gain.difference, gain.standard_error));
    }
    let work = match outcome.rounds {
        0 => "solved in one place".into(),
        rounds => {
            format!("{}, {}", number::counted(rounds, "round"), number::bytes(outcome.bytes))
        }
    };
    shown.push(figure("Time", number::duration(outcome.seconds), work));
    let certificate = &outcome.certificate;
    let state = if certificate.converged { "converged" } else { "not converged" };
    shown.push(context! {
        name => "Certificate",
        value => number::significant(certificate.value),
        detail => format!("{}, {state}", certificate.kind),
        warning => !certificate.converged,
    });
    shown
}

fn against_rival(
    outcome: &Outcome,
    rival: Contestant,
    difference: f64,
    standard_error: Option<f64>,
) -> Value {
    let name = rival.to_string();
    let entries = figures::entries(&outcome.comparison);
    let error = entries
        .iter()
        .find(|(entry, _)| *entry == name)
        .map(|(_, entry)| entry.error())
        // A share of an error of zero is no number.
        .filter(|error| *error > 0.0);
    let side = if difference < 0.0 { "above" } else { "below" };
    let size = difference.abs();
    let value =
        error.map_or_else(|| number::significant(size), |error| number::percent(size / error));
    let spread = standard_error.filter(|error| error.is_finite()).map_or_else(
        || "one node cannot tell the standard error".into(),
        |error| format!("standard error {}", number::significant(error)),
    );
    figure(
        &format!("Error {side} {name}"),
        value,
        format!("by {}, {spread}", number::significant(size)),
    )
}

/// The table of the comparison.
pub(super) fn comparison(outcome: &Outcome) -> Value {
    let entries = figures::entries(&outcome.comparison);
    // Ties are all marked as best: nothing tells them apart.
    let best = entries.iter().map(|(_, entry)| entry.error()).fold(f64::INFINITY, f64::min);
    let digits = outcome.comparison.digits();
    let rows: Vec<Value> = entries
        .iter()
        .map(|(name, entry)| {
            let spread = entry.spread.as_ref().filter(|spread| spread.repeats > 1).map(|spread| {
                format!("{} to {}", digits.text(spread.min), digits.text(spread.max))
            });
            context! {
                name, spread,
                class => figures::class_of(name),
                about => about(outcome, name),
                repeats => entry.spread.as_ref().map(|spread| spread.repeats),
                validation => digits.text(entry.validation),
                test => digits.perhaps(entry.test),
                accuracy => entry.accuracy.map_or_else(|| number::ABSENT.into(), number::percent),
                alpha => number::perhaps(entry.alpha),
                ridge => number::perhaps(entry.ridge),
                best => entries.len() > 1 && entry.error() <= best,
            }
        })
        .collect();
    let any = |given: fn(&Entry) -> bool| entries.iter().any(|(_, entry)| given(entry));
    context! {
        rows,
        compared => entries.len() > 1,
        at_site => outcome.at_site.is_some(),
        measured => rows_measured(outcome),
        has_test => has_test(outcome),
        has_accuracy => any(|entry| entry.accuracy.is_some()),
        has_alpha => any(|entry| entry.alpha.is_some()),
        has_ridge => any(|entry| entry.ridge.is_some()),
    }
}

fn about(outcome: &Outcome, method: &str) -> String {
    if let Some(kind) = method.strip_prefix("by ") {
        return format!("not chosen: {}", outcome::about(kind));
    }
    let words = match method {
        "network" if !outcome.method.candidates.is_empty() => {
            let kind = &outcome.method.kind;
            return format!("by {kind}, chosen: {}", outcome::about(kind));
        }
        "local" => "every node alone",
        "pooled" => "one model for all nodes",
        "shrunk" => "every node pulled to the pooled model, no network",
        "mixed" => "coefficients of estimated spread (a mixed model), no network",
        "network" => outcome::about(&outcome.method.kind),
        "shuffled" => "the same network with its nodes in random places; means",
        other => outcome::about(other),
    };
    words.into()
}

/// Who gains and who is harmed, in sentences.
pub(super) fn gains(outcome: &Outcome) -> Vec<String> {
    let mut ranked: Vec<(f64, &NodeOutcome)> =
        outcome.nodes.iter().filter_map(|node| Some((finite_gain(node)?, node))).collect();
    ranked.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (Some(worst), Some(best)) = (ranked.first(), ranked.last()) else {
        return Vec::new();
    };
    let better = ranked.iter().filter(|(gain, _)| *gain > 0.0).count();
    let worse = ranked.iter().filter(|(gain, _)| *gain < 0.0).count();
    let values: Vec<f64> = ranked.iter().map(|(gain, _)| *gain).collect();
    let mut sentences = vec![format!(
        "The error is smaller with {} than alone at {} of {} and larger at {}; the median gain is {}.",
        who(outcome),
        number::count(better),
        number::counted(ranked.len(), "node"),
        number::count(worse),
        number::significant(figures::quantile(&values, 0.5)),
    )];
    let change = |(gain, node): &(f64, &NodeOutcome)| {
        let errors = format!("{} → {}", number::perhaps(node.local), number::perhaps(node.network));
        format!("{} ({errors}, gain {})", node.called(), number::significant(*gain))
    };
    if best.0 > 0.0 {
        sentences.push(format!("Gains most: {}.", change(best)));
    }
    if worst.0 < 0.0 {
        sentences.push(format!("Harmed most: {}.", change(worst)));
    }
    sentences
}

/// The maps with their legends and what a reader must know about them.
pub(super) fn maps(outcome: &Outcome, edges: &[(usize, usize, f64)], map: &Map) -> Value {
    let mut sizes: Vec<f64> = outcome.nodes.iter().filter_map(finite_gain).map(f64::abs).collect();
    sizes.sort_by(f64::total_cmp);
    // A few extreme nodes must not make all others look the same.
    let limit = figures::quantile(&sizes, 0.75);
    let gain = (!sizes.is_empty()).then(|| {
        context! {
            svg => map.by_gain(limit),
            low => number::significant(-limit),
            high => number::significant(limit),
            missing => outcome.nodes.iter().any(|node| finite_gain(node).is_none()),
        }
    });
    let clusters = outcome.nodes.iter().map(|node| node.cluster + 1).max().unwrap_or(0);
    let members =
        |cluster: usize| outcome.nodes.iter().filter(|node| node.cluster == cluster).count();
    let mut legend: Vec<Value> = (0..clusters.min(CLUSTER_COLOURS))
        .filter(|cluster| members(*cluster) > 0)
        .map(|cluster| {
            let text = format!("{cluster} ({})", number::counted(members(cluster), "node"));
            context! { class => cluster_class(cluster), text }
        })
        .collect();
    if clusters > CLUSTER_COLOURS {
        let others = outcome.nodes.iter().filter(|node| node.cluster >= CLUSTER_COLOURS).count();
        let text = format!("others ({})", number::counted(others, "node"));
        legend.push(context! { class => "other", text });
    }
    let places = if map.computed {
        "Positions are a computed layout: only who is next to whom means something."
    } else {
        "Positions are the nodes’ coordinates."
    };
    let drawn = edges_drawn(edges, map.drawn);
    let meaning = if outcome.clusters.is_some() {
        "Clusters are nodes with equal weights, joined by edges."
    } else {
        "Clusters are nodes whose models predict alike."
    };
    let cluster = context! { svg => map.by_cluster(), legend, meaning };
    context! { gain, cluster, places, drawn, shared => map.shared(), far => far(outcome, map) }
}

/// Which nodes are outside of what the map shows at first.
fn far(outcome: &Outcome, map: &Map) -> Option<String> {
    let names = map.far.iter().map(|&place| outcome.nodes[place].called());
    let verb = [
        "lies outside of what the map shows at first",
        "lie outside of what the map shows at first",
    ];
    (!map.far.is_empty()).then(|| listed(names, verb[0], verb[1]) + ".")
}

fn edges_drawn(edges: &[(usize, usize, f64)], drawn: usize) -> String {
    let (all, some) = (number::counted(edges.len(), "edge"), number::count(drawn));
    let weights = || edges.iter().map(|edge| edge.2);
    let weighted = weights().fold(f64::INFINITY, f64::min) < weights().fold(0.0, f64::max);
    match (drawn < edges.len(), weighted) {
        (true, true) => {
            format!("Of {all}, the {some} strongest are drawn; stronger ones stand out.")
        }
        (true, false) => format!("Of {all}, all of one weight, {some} are drawn."),
        (false, true) => "All edges are drawn; stronger ones stand out.".into(),
        (false, false) => "All edges are drawn.".into(),
    }
}

/// The table of networks there were to choose from; none without a choice.
pub(super) fn candidates(outcome: &Outcome) -> Option<Vec<Value>> {
    let candidates = &outcome.network.candidates;
    let row = |one: &CandidateOutcome| {
        let about = match one.name.as_str() {
            "coordinates" => "nearest by coordinates",
            "edges" => "the given edges",
            "shape" => "a plain shape",
            "learned" => "who helped whom, by probes",
            "gradients" => "similar gradients",
            "models" => "close weights of own models",
            _ => "one regression does as well as two",
        };
        context! {
            about,
            name => &one.name,
            edges => number::count(one.edges),
            validation => number::significant(one.validation),
            chosen => one.chosen,
        }
    };
    (!candidates.is_empty()).then(|| candidates.iter().map(row).collect())
}

/// How it was trained: names and values.
pub(super) fn training(outcome: &Outcome) -> Vec<Value> {
    let method = &outcome.method;
    let weighting = match method.weighting.as_str() {
        "nodes" => "every node counts the same",
        "rows" => "every row counts the same",
        other => other,
    };
    let solver = match method.solver.as_str() {
        "direct" => format!("in one place: {}", method.engine),
        "rounds" => "rounds of messages between neighbours".into(),
        other => other.into(),
    };
    let levels = if method.couple_intercept { "coupled" } else { "each node’s own" };
    let names: Vec<&str> = method.candidates.iter().map(|one| one.kind.as_str()).collect();
    let of =
        if names.len() > 1 { format!(", chosen of {}", names.join(", ")) } else { String::new() };
    let mut settings = vec![
        ("Method", format!("{}{of}", method.kind)),
        (strength(outcome), number::significant(method.alpha)),
    ];
    settings.extend(method.ridge.map(|ridge| ("Ridge", number::significant(ridge))));
    if method.hub > 0.0 {
        settings.push(("Weight of the pooled hub", number::significant(method.hub)));
    }
    settings.extend(method.coupling.clone().map(|coupling| ("Coupling", coupling)));
    settings.extend(method.penalty.as_deref().map(|penalty| ("Penalty", in_words(penalty))));
    settings.extend([
        ("Levels (intercepts)", levels.into()),
        ("Weighting", weighting.into()),
        ("Solver", solver),
        ("Public points", method.public.clone()),
    ]);
    if outcome.bytes_per_round > 0 {
        settings.push(("Traffic of one round", number::bytes(outcome.bytes_per_round)));
    }
    settings.into_iter().map(|(name, value)| context! { name, value }).collect()
}

/// What the strength of the method is called.
pub(super) fn strength(outcome: &Outcome) -> &'static str {
    let kind = MethodKind::named(&outcome.method.kind);
    match kind.and_then(|kind| kind.with_defaults().strength_key()).map(|key| key.name) {
        None | Some("alpha") => "Strength α",
        Some("step") => "Step η",
        Some("clusters") => "Clusters",
        Some("steps") => "Steps alone",
        Some("share") => "Share of the own model",
        Some("threshold") => "Threshold of a split",
        Some("pace") => "Factor of the step size",
        Some(name) => name,
    }
}

fn in_words(penalty: &str) -> String {
    let known = Penalty::ALL.into_iter().find(|known| known.name() == penalty);
    known.map_or(penalty, |known| known.rule().about()).into()
}

/// The table of nodes.
pub(super) fn nodes(outcome: &Outcome) -> Value {
    let nodes = &outcome.nodes;
    // A column in which all cells are the same is a sentence.
    let model = nodes.first().map(|node| node.model.as_str());
    let model = model.filter(|model| nodes.iter().all(|node| node.model == *model));
    let row = |node: &NodeOutcome| {
        let change = match node.gain {
            Some(gain) if gain > 0.0 => "better",
            Some(gain) if gain < 0.0 => "worse",
            _ => "",
        };
        let number = |value: Option<f64>| number::perhaps(value.filter(|value| value.is_finite()));
        context! {
            change,
            name => &node.name,
            label => &node.label,
            local => number(node.local),
            network => number(node.network),
            gain => number(node.gain),
            cluster => node.cluster,
            colour => cluster_class(node.cluster),
            rows => number::count(node.rows),
            scored => number::count(node.scored_rows),
            neighbours => node.neighbours,
            model => &node.model,
            note => node.note.as_deref().unwrap_or(""),
        }
    };
    context! {
        rows => nodes.iter().map(row).collect::<Vec<_>>(),
        model,
        has_local => nodes.iter().any(|node| node.local.is_some()),
        has_notes => nodes.iter().any(|node| node.note.is_some()),
        has_labels => nodes.iter().any(|node| node.label.is_some()),
    }
}
