//! What happened over all seeds, as text and as JSON.

use std::fmt::Write;

use fedgrid::compare::MethodKind;
use fedgrid::runtime::simulator::{FaultCounts, SimulationOutcome};
use serde_json::{Value, json};

use super::ModeFlag;

/// How one seed has ended.
pub(super) struct Ended {
    pub(super) seed: u64,
    pub(super) distance: Option<f64>,
    pub(super) same_bits: bool,
    pub(super) outcome: SimulationOutcome,
}

/// What ends are compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Against {
    Optimum,
    Undisturbed,
}

impl Against {
    fn name(self) -> &'static str {
        match self {
            Self::Optimum => "fault-free optimum",
            Self::Undisturbed => "run without faults",
        }
    }
}

/// What happened over all seeds.
pub(super) struct SimulationReport {
    pub(super) nodes: usize,
    pub(super) processes: usize,
    pub(super) cut: usize,
    pub(super) mode: ModeFlag,
    pub(super) against: Against,
    pub(super) seeds: Vec<Ended>,
}

impl SimulationReport {
    fn sum(&self, count: fn(&FaultCounts) -> u64) -> u64 {
        self.seeds.iter().map(|seed| count(&seed.outcome.counts)).sum()
    }

    /// The distances of all seeds that ended with a model everywhere, the smallest first.
    fn distances(&self) -> Vec<f64> {
        let mut all: Vec<f64> = self.seeds.iter().filter_map(|seed| seed.distance).collect();
        // The median is told beside the largest: one unlucky seed says little about the method.
        all.sort_by(f64::total_cmp);
        all
    }

    pub(super) fn text(&self, method: &str, alpha: Option<f64>, chosen: bool) -> String {
        let kind = MethodKind::named(method).map(MethodKind::with_defaults);
        let is_estimated = kind.as_ref().is_some_and(|kind| kind.estimates_strength());
        let found = if is_estimated { "estimated" } else { "chosen by all nodes together" };
        let value = alpha.map_or_else(|| found.into(), |alpha| alpha.to_string());
        let Self { nodes, processes, cut, .. } = self;
        let strength = kind.and_then(|kind| kind.strength_key()).map_or("alpha", |key| key.name);
        let mut text = format!(
            "{nodes} nodes in {processes} processes, {cut} edges between them; {method}, \
             {strength} {value}, {} rounds",
            self.mode.name()
        );
        if chosen {
            let _ = write!(
                text,
                "\nThe experiment leaves {strength} to validation rows; set it with --set \
                 method.{strength}=…"
            );
        }
        let sound = self.seeds.iter().filter(|seed| seed.outcome.violations.is_empty()).count();
        let rounds = || self.seeds.iter().map(|seed| seed.outcome.rounds);
        let (least, most) = (rounds().min().unwrap_or(0), rounds().max().unwrap_or(0));
        let _ = write!(
            text,
            "\n{} seeds: {sound} ended as promised; {least} to {most} rounds\n\
             frames: {} sent, {} lost, {} doubled, {} hostile; rejected: {} of old starts, {} of old \
             backups, {} malformed\n\
             processes: {} crashes, {} torn writes, {} lost writes, {} zombies, {} old backups",
            self.seeds.len(),
            self.sum(|c| c.sent),
            self.sum(|c| c.lost),
            self.sum(|c| c.duplicated),
            self.sum(|c| c.hostile),
            self.sum(|c| c.fenced),
            self.sum(|c| c.rollbacks),
            self.sum(|c| c.malformed),
            self.sum(|c| c.crashes),
            self.sum(|c| c.torn),
            self.sum(|c| c.unwritten),
            self.sum(|c| c.zombies),
            self.sum(|c| c.backups),
        );
        let distances = self.distances();
        if let (Some(middle), Some(largest)) =
            (distances.get(distances.len() / 2), distances.last())
        {
            let same = self.seeds.iter().filter(|seed| seed.same_bits).count();
            let _ = write!(
                text,
                "\ndistance of predictions to the {}: median {middle:.1e}, largest {largest:.1e}; the \
                 bits of an undisturbed run in {same} of {}",
                self.against.name(),
                self.seeds.len()
            );
        }
        for seed in &self.seeds {
            if let Some(violation) = seed.outcome.violations.first() {
                let _ = write!(text, "\nseed {}: {violation}", seed.seed);
            }
        }
        text
    }

    pub(super) fn json(&self, method: &str, alpha: Option<f64>) -> Value {
        let seed = |seed: &Ended| {
            let SimulationOutcome { rounds, converged, ticks, trace, counts, violations, .. } =
                &seed.outcome;
            let violations: Vec<String> = violations.iter().map(ToString::to_string).collect();
            json!({
                "seed": seed.seed,
                "rounds": rounds,
                "converged": converged,
                "ticks": ticks,
                "trace": format!("{trace:016x}"),
                "distance": seed.distance,
                "same_bits": seed.same_bits,
                "sent": counts.sent,
                "bytes": counts.bytes,
                "lost": counts.lost,
                "duplicated": counts.duplicated,
                "crashes": counts.crashes,
                "torn": counts.torn,
                "unwritten": counts.unwritten,
                "zombies": counts.zombies,
                "backups": counts.backups,
                "hostile": counts.hostile,
                "fenced": counts.fenced,
                "rollbacks": counts.rollbacks,
                "malformed": counts.malformed,
                "violations": violations,
            })
        };
        json!({
            "method": method,
            "alpha": alpha,
            "mode": self.mode.name(),
            "nodes": self.nodes,
            "processes": self.processes,
            "cut": self.cut,
            "compared_with": self.against.name(),
            "largest_distance": self.distances().last(),
            "seeds": self.seeds.iter().map(seed).collect::<Vec<_>>(),
        })
    }
}
