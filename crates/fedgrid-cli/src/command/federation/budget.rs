//! What a federation may cost, said before it begins: rounds, bytes between sites, and time,
//!
//! ```text
//! bytes = rounds · 2 · edges between sites · (4 + bytes of a message)
//! ```
//!
//! at most: rounds end earlier where they come to rest, and most messages are shorter.

use fedgrid::{compare::TuningBudget, network::Network, runtime::protocol::EDGE_INDEX_BYTES};
use fedgrid_zenoh::provision::Site;

use super::sites::pairs;
use crate::{command::job::wrapped, terminal::Terminal};
use fedgrid_lab::{
    error::{Error, Result},
    experiment::Experiment,
    number::{count, significant},
};

/// How long a round takes over a wide network, in seconds: about a message there, and some work.
const USUAL_ROUND_SECS: f64 = 0.05;

/// The most that a federation may cost.
pub(super) struct Budget {
    /// The rounds of the method.
    rounds: u64,
    /// What choosing the strength takes, and how many rounds it may; none if that is given or estimated.
    pub(super) tuning: Option<(TuningBudget, u64)>,
    /// The bytes of a round between all sites.
    bytes: u64,
    capped_by: Option<&'static str>,
}

impl Budget {
    /// That of an experiment at these sites, whose messages along an edge take so many bytes.
    pub(super) fn new(
        experiment: &Experiment,
        network: &Network,
        (sites, message): (&[Site], usize),
    ) -> Result<Self> {
        let cut = pairs(network, sites).len();
        let bytes = 2 * (cut * (EDGE_INDEX_BYTES + message)) as u64;
        let rounds = experiment.method.run.rounds as u64;
        let tuning =
            TuningBudget::of(network, &*experiment.method.approach, experiment.compare.quick);
        let Some(tuning) = tuning.filter(|_| experiment.is_tuned_at_sites()) else {
            return Ok(Self { rounds, tuning: None, bytes, capped_by: None });
        };
        let keys = &experiment.federation;
        let by_rounds = keys.tuning_rounds.unwrap_or(tuning.most_rounds);
        let by_bytes = keys.tuning_bytes.map(|most| most / bytes.max(1));
        if let Some((most, rounds)) = keys.tuning_bytes.zip(by_bytes)
            && rounds < tuning.fewest_rounds
        {
            return Err(Error::input(format!(
                "federation.tuning_bytes is {most}, expected at least {}: {} rounds of {bytes} bytes, the fewest that \
                 compare strengths here",
                tuning.fewest_rounds.saturating_mul(bytes),
                tuning.fewest_rounds
            )));
        }
        let allowed = by_bytes.map_or(by_rounds, |by_bytes| by_bytes.min(by_rounds));
        let capped_by = if by_bytes.is_some_and(|by_bytes| by_bytes < by_rounds) {
            Some("federation.tuning_bytes")
        } else {
            keys.tuning_rounds.map(|_| "federation.tuning_rounds")
        };
        Ok(Self { rounds, tuning: Some((tuning, allowed)), bytes, capped_by })
    }

    /// Says it.
    pub(super) fn tell(&self, terminal: Terminal) {
        let cost = |rounds: u64| {
            let megabytes = rounds as f64 * self.bytes as f64 / 1e6;
            let minutes = rounds as f64 * USUAL_ROUND_SECS / 60.0;
            format!(
                "{} rounds, {} MB between all sites, {} minutes at {USUAL_ROUND_SECS} s a round",
                count(usize::try_from(rounds).unwrap_or(usize::MAX)),
                significant(megabytes),
                significant(minutes)
            )
        };
        if let Some((tuning, rounds)) = self.tuning {
            let cap = match self.capped_by {
                Some(key) => format!("as {key} says"),
                None => "which federation.tuning_rounds or tuning_bytes can make fewer".into(),
            };
            terminal.say(&wrapped(&format!(
                "Sites choose the strength together: about {} strengths, at most {}, {cap}.",
                tuning.strengths,
                cost(rounds)
            )));
        }
        terminal.say(&wrapped(&format!("The method then takes at most {}.", cost(self.rounds))));
    }
}
