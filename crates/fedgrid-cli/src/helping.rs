//! Who helps whom, and what is told of networks that were learned or chosen.

use fedgrid::{
    compare::Fitted,
    method::{Kept, Learned},
};

use crate::{
    assembly::{Assembly, Candidate, Chosen},
    outcome::{CandidateOutcome, Help, LearnedSummary},
};

/// A learned network in numbers.
pub(crate) fn learned(learned: &Learned) -> LearnedSummary {
    let nodes = learned.network.len();
    let all = nodes * nodes.saturating_sub(1) / 2;
    LearnedSummary {
        pairs_probed: learned.pairs.len(),
        share: learned.pairs.len() as f64 / all.max(1) as f64,
        probes: learned.probes,
        edges: learned.network.edges().len(),
    }
}

/// The networks there were to choose from.
pub(crate) fn candidates(chosen: &Chosen) -> Vec<CandidateOutcome> {
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

/// Who helps whom: as the method's own probes have it, or those by which the network was learned.
#[must_use]
pub fn helps(assembly: &Assembly, fitted: &Fitted) -> Vec<Help> {
    let probed = fitted.tallies.iter().filter(|tally| tally.rewarded > 0);
    let from_probes = probed.map(|tally| Help {
        learner: tally.target,
        helper: tally.candidate,
        reward: tally.relative(),
        confidence: tally.adopted as f64 / tally.rewarded as f64,
        kept: tally.adopted > 0,
    });
    let pairs = assembly.chosen.as_ref().and_then(|chosen| chosen.learned.as_ref());
    let from_pairs = pairs.iter().flat_map(|learned| &learned.pairs).flat_map(|pair| {
        let Kept { source, target, forward, backward, confidence, kept, .. } = *pair;
        let help = |learner, helper, reward| Help { learner, helper, reward, confidence, kept };
        [help(source, target, forward), help(target, source, backward)]
    });
    if fitted.tallies.is_empty() { from_pairs.collect() } else { from_probes.collect() }
}
