//! Probes as tables and summaries: who helps whom, and what is known of networks that were learned or
//! chosen.

use fedgrid::{
    compare::Fitted,
    method::Tally,
    network::NodeId,
    network_learning::{LearnedNetwork, ProbedPair},
};

use crate::{
    assembly::{Assembly, Candidate, Chosen},
    outcome::{CandidateOutcome, Help, LearnedSummary},
};

/// A learned network in numbers.
#[must_use]
pub fn learned(learned: &LearnedNetwork) -> LearnedSummary {
    let nodes = learned.network.len();
    // A pair is probed in both directions at once.
    let all = nodes * nodes.saturating_sub(1) / 2;
    LearnedSummary {
        pairs_probed: learned.pairs.len(),
        share: learned.pairs.len() as f64 / all.max(1) as f64,
        probes: learned.probes,
        edges: learned.network.edges().len(),
    }
}

/// The networks there were to choose from.
#[must_use]
pub fn candidates(chosen: &Chosen) -> Vec<CandidateOutcome> {
    let outcome = |candidate: &Candidate| {
        Some(CandidateOutcome {
            name: candidate.key.name().into(),
            edges: candidate.edges,
            validation: candidate.validation?,
            chosen: candidate.key == chosen.key,
        })
    };
    chosen.candidates.iter().filter_map(outcome).collect()
}

/// The probes of each pair of nodes as a table.
#[must_use]
pub fn probes_csv<'a>(tallies: &[Tally], name: impl Fn(NodeId) -> &'a str) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let mut write = |record: &[String]| writer.write_record(record).expect("memory takes all");
    let heads =
        ["learner", "helper", "probes", "refused", "budget_spent", "adopted", "reward", "bytes"];
    write(&heads.map(String::from));
    for tally in tallies {
        let Tally { probes, refused, budget_spent, adopted, bytes, .. } = tally;
        write(&[
            name(tally.target).into(),
            name(tally.candidate).into(),
            probes.to_string(),
            refused.to_string(),
            budget_spent.to_string(),
            adopted.to_string(),
            tally.relative().to_string(),
            bytes.to_string(),
        ]);
    }
    String::from_utf8(writer.into_inner().expect("memory takes all")).expect("text stays text")
}

/// Who helps whom: as the method's own probes have it, or those by which the network was learned.
#[must_use]
pub fn helps(assembly: &Assembly, fitted: &Fitted) -> Vec<Help> {
    let from_probes = fitted.tallies.iter().filter_map(help);
    let pairs = assembly.chosen.as_ref().and_then(|chosen| chosen.learned.as_ref());
    let from_pairs = pairs.iter().flat_map(|learned| &learned.pairs).flat_map(|pair| {
        let ProbedPair { source, target, forward, backward, confidence, kept, .. } = *pair;
        let help = |learner, helper, reward| Help { learner, helper, reward, confidence, kept };
        [help(source, target, forward), help(target, source, backward)]
    });
    // A method that probes has asked along its whole run, the pairs of a learned network only before it.
    if fitted.tallies.is_empty() { from_pairs.collect() } else { from_probes.collect() }
}

/// What a candidate's answers were worth; none if none was scored.
#[must_use]
pub fn help(tally: &Tally) -> Option<Help> {
    (tally.rewarded > 0).then(|| Help {
        learner: tally.target,
        helper: tally.candidate,
        reward: tally.relative(),
        confidence: tally.adopted as f64 / tally.rewarded as f64,
        kept: tally.adopted > 0,
    })
}
