//! The verdict of a comparison in words.

use fedgrid::compare::{Contestant, Kind, Verdict};

use crate::{
    number::significant,
    outcome::{Comparison, Entry},
};

/// The verdict in one sentence.
pub(super) fn sentence(
    verdict: Option<&Verdict>,
    comparison: &Comparison,
    main: Contestant,
    nodes: usize,
) -> String {
    let of = |entry: &Option<Entry>| {
        let entry = entry.as_ref()?;
        Some(significant(entry.test.unwrap_or(entry.validation)))
    };
    if let Contestant::Baseline(baseline) = main {
        return hub_sentence(verdict, comparison, baseline.name(), nodes);
    }
    let network = of(&comparison.network).unwrap_or_default();
    let Some(verdict) = verdict else {
        return format!("The network's error is {network}; nothing was compared with it.");
    };
    let rival = match verdict.rival {
        Contestant::Local => of(&comparison.local),
        Contestant::Pooled => of(&comparison.pooled),
        _ => of(&comparison.shrunk),
    }
    .unwrap_or_default();
    let shuffled = of(&comparison.shuffled);
    let (name, gaining) = (verdict.rival, verdict.better);
    match verdict.kind {
        Kind::Network | Kind::Hub => {
            let shuffles = shuffled.map_or_else(String::new, |shuffled| {
                format!(", and {shuffled} when its nodes are shuffled")
            });
            format!(
                "Your network helps: error {network} against {rival} for the best method without \
                 it ({name}){shuffles}; {gaining} of {nodes} nodes gain."
            )
        }
        Kind::CouplingOnly => {
            let shuffles = shuffled.map_or_else(String::new, |shuffled| {
                format!(" and {shuffled} when its nodes are shuffled")
            });
            let shrunk = of(&comparison.shrunk).unwrap_or_default();
            format!(
                "Coupling the nodes helps, but the shape of your network does not: error {network} \
                 with it, {shrunk} without it (shrunk){shuffles}; use shrunk."
            )
        }
        Kind::Pooled | Kind::Local => {
            let (best, entry) = match verdict.kind {
                Kind::Pooled => ("pooled", of(&comparison.pooled)),
                _ => ("local", of(&comparison.local)),
            };
            format!(
                "Your network does not help here; use {best}: error {} against {network} with the \
                 network.",
                entry.unwrap_or_default()
            )
        }
        Kind::Undecided => format!(
            "Too few rows to tell whether your network helps: error {network} with it against \
             {rival} for the best method without it ({name})."
        ),
    }
}

/// The verdict on a method with a hub, which says nothing about a network.
fn hub_sentence(
    verdict: Option<&Verdict>,
    comparison: &Comparison,
    name: &str,
    nodes: usize,
) -> String {
    let said = |entry: Option<&Entry>| {
        entry.map_or_else(String::new, |e| significant(e.test.unwrap_or(e.validation)))
    };
    let own = said(comparison.baselines.get(name));
    let Some(verdict) = verdict else {
        return format!("The error of {name} is {own}; nothing was compared with it.");
    };
    let (rival, better) = (verdict.rival, verdict.better);
    let entry = match rival {
        Contestant::Local => comparison.local.as_ref(),
        Contestant::Pooled => comparison.pooled.as_ref(),
        _ => comparison.shrunk.as_ref(),
    };
    let against = said(entry);
    match verdict.kind {
        Kind::Hub | Kind::Network => format!(
            "{name} helps, without any network: error {own} against {against} for the best of \
             local, pooled and shrunk ({rival}); {better} of {nodes} nodes gain."
        ),
        Kind::Undecided => format!(
            "Too few rows to tell whether {name} helps: error {own} with it against {against} for \
             the best of local, pooled and shrunk ({rival})."
        ),
        Kind::CouplingOnly | Kind::Pooled | Kind::Local => format!(
            "{name} does not help here; use {rival}: error {against} against {own} with {name}."
        ),
    }
}
