//! The outcome of an update: models of all rows, and the comparison of the run before, which says whose it is.

use std::collections::BTreeMap;

use fedgrid::compare::{Card, Fitted};

use super::{method, network, uncertainty, warnings};
use crate::{
    assembly::Assembly,
    number::counted,
    outcome::{MethodUsed, NetworkSummary, NodeOutcome, Outcome, UpdateOutcome},
};

/// What an update leaves of the outcome before it: errors and verdict stay as they are, and are said to be of then. `rows`
/// is how many training rows each node has now.
#[must_use]
pub fn updated(
    old: &Outcome,
    assembly: &Assembly,
    (cards, fitted): (&[Card], &Fitted),
    (update, notes): (UpdateOutcome, Vec<String>),
    rows: &[usize],
) -> Outcome {
    let before = NetworkSummary {
        kind: old.network.kind.clone(),
        learned: old.network.learned.clone(),
        candidates: old.network.candidates.clone(),
        ..network(assembly)
    };
    let used = method(assembly, cards, fitted);
    let mut outcome = Outcome {
        nodes: nodes(old, assembly, fitted, rows),
        method: MethodUsed { candidates: old.method.candidates.clone(), ..used },
        certificate: fitted.certificate.clone(),
        rounds: fitted.rounds.len(),
        bytes: fitted.rounds.iter().map(|round| round.bytes).sum(),
        network: before,
        clusters: fitted.clusters.as_deref().map(super::clusters),
        // Of the models before; bounds of these were not looked for.
        theory: None,
        variances: uncertainty::variances(assembly, fitted),
        residuals: fitted.residuals.clone(),
        steps: fitted.steps.clone(),
        history: fitted.rounds.clone(),
        version: env!("CARGO_PKG_VERSION").into(),
        ..old.clone()
    };
    outcome.updates.push(update);
    let first = sentence(&outcome.updates);
    // A warning of an update before says less than this one.
    outcome.warnings.retain(|warning| !is_of_update(warning) && !is_of_convergence(warning));
    let own = warnings(assembly, &[], fitted, false);
    let own = own.into_iter().filter(|warning| is_of_convergence(warning));
    outcome.warnings.splice(0..0, std::iter::once(first).chain(own));
    outcome.verdict = of_before(&old.verdict);
    // What an update before had to say of itself is said again of this one.
    let is_of_fit = |note: &&String| old.updates.is_empty() || note.starts_with(EARLIER);
    let earlier = old.notes.iter().filter(is_of_fit).map(|note| of_earlier(note));
    outcome.notes = notes.into_iter().chain(earlier).collect();
    outcome
}

fn nodes(old: &Outcome, assembly: &Assembly, fitted: &Fitted, rows: &[usize]) -> Vec<NodeOutcome> {
    let study = &assembly.study;
    let clusters = fitted.clusters.clone().unwrap_or_else(|| study.clusters(&fitted.hypotheses));
    let old: BTreeMap<&str, &NodeOutcome> =
        old.nodes.iter().map(|node| (node.name.as_str(), node)).collect();
    let of_node = |(node, name): (usize, &String)| {
        let known = old.get(name.as_str()).map(|known| (*known).clone());
        let (cluster, neighbours) = (clusters[node], study.network.neighbours(node).len());
        let new = || NodeOutcome {
            name: name.clone(),
            label: assembly.labels.as_ref().map(|labels| labels[node].clone()),
            model: assembly.model_kinds[node].to_string(),
            rows: 0,
            scored_rows: 0,
            neighbours,
            local: None,
            network: None,
            gain: None,
            cluster,
            note: Some("joined by an update".into()),
            interval: None,
        };
        let known = known.unwrap_or_else(new);
        NodeOutcome { rows: rows[node], neighbours, cluster, ..known }
    };
    study.network.names().iter().enumerate().map(of_node).collect()
}

/// What a reader must know before the verdict of a run that was updated.
fn sentence(updates: &[UpdateOutcome]) -> String {
    let rows = counted(updates.iter().map(|one| one.rows_added).sum(), "training row");
    let first = updates.first().map(|one| (one.rows_before, one.fitted.as_deref()));
    let (before, when) = first.unwrap_or((0, None));
    let nodes = updates.iter().map(|one| one.new_nodes.len()).sum::<usize>();
    let joined =
        if nodes == 0 { String::new() } else { format!(" and {}", counted(nodes, "new node")) };
    let when = when.map_or_else(String::new, |when| format!(", of {when}"));
    let before = counted(before, "training row");
    format!(
        "{UPDATED} with {rows}{joined}; errors and verdict are those of the run before{when}, whose models knew {before}, \
         and nobody has compared methods since. Fit again for a verdict of today."
    )
}

const UPDATED: &str = "The models were updated";

fn is_of_update(warning: &str) -> bool {
    warning.starts_with(UPDATED)
}

fn is_of_convergence(warning: &str) -> bool {
    warning.starts_with("The run did not converge")
}

const BEFORE: &str = "Before the update: ";

fn of_before(verdict: &str) -> String {
    if verdict.starts_with(BEFORE) { verdict.into() } else { format!("{BEFORE}{verdict}") }
}

const EARLIER: &str = "Of the fit before: ";

fn of_earlier(note: &str) -> String {
    if note.starts_with(EARLIER) { note.into() } else { format!("{EARLIER}{note}") }
}
