//! What a federation may cost, said before it begins: rounds, bytes between sites, and time,
//!
//! ```text
//! bytes = rounds · 2 · edges between sites · (4 + bytes of a message)
//! ```
//!
//! (a message says what the method says at each of the strengths that run side by side while one is chosen) at most: rounds end earlier where they come to rest, and most messages are shorter.

use fedgrid::{
    compare::{Asking, DataShape, TuningBudget},
    method::tuned::{MOST_SIDE_BY_SIDE, tree_height},
    network::Network,
    runtime::protocol::EDGE_INDEX_BYTES,
};
use fedgrid_zenoh::provision::Site;

use super::sites::pairs;
use crate::{command::job::wrapped, terminal::Terminal};
use fedgrid_lab::{
    assembly::Common,
    error::{Error, Result},
    experiment::Experiment,
    number::{count, counted, significant},
};

/// How long a round takes over a wide network, in seconds: about a message there, and some work.
const USUAL_ROUND_SECS: f64 = 0.05;

/// More questions than a mixed model asked on any network so far: 98 on six nodes in a row, 175 on 198 stations.
const MANY_QUESTIONS: u64 = 200;

/// How many questions a federation that judges itself asks at most.
const MOST_QUESTIONS: u64 = 3;

fn cost(rounds: u64, bytes: u64) -> String {
    let all = count(usize::try_from(rounds).unwrap_or(usize::MAX));
    format!("{all} rounds, {}", bytes_and_time(rounds, bytes))
}

fn bytes_and_time(rounds: u64, bytes: u64) -> String {
    let megabytes = rounds as f64 * bytes as f64 / 1e6;
    let minutes = rounds as f64 * USUAL_ROUND_SECS / 60.0;
    format!(
        "{} MB between all sites, {} minutes at {USUAL_ROUND_SECS} s a round",
        significant(megabytes),
        significant(minutes)
    )
}

/// The most that a federation may cost.
pub(super) struct Budget {
    /// The rounds of the method.
    rounds: u64,
    /// What its questions take, if it asks until it has its answer, whatever rounds are allowed.
    asking: Option<Asking>,
    /// What choosing the strength takes, and how many rounds it may; none if that is given or estimated.
    pub(super) tuning: Option<(TuningBudget, u64)>,
    /// The most bytes of a round of the method between all sites (of questions, the mean), and of one in which strengths run
    /// side by side.
    bytes: [u64; 2],
    capped_by: Option<&'static str>,
}

impl Budget {
    /// That of an experiment at these sites.
    pub(super) fn new(experiment: &Experiment, common: &Common, sites: &[Site]) -> Result<Self> {
        let network = &common.network;
        let of_fit = common.largest_messages_of_fit(experiment, network)?;
        let tuning = common.largest_messages(experiment, network)?;
        let bytes: [u64; 2] = [of_fit, tuning].map(|messages| {
            let cut = pairs(network, sites).into_iter();
            cut.map(|(edge, _)| 2 * (EDGE_INDEX_BYTES + messages[edge]) as u64).sum()
        });
        let [_, tuning_bytes] = bytes;
        let approach = &experiment.method.approach;
        let shape = DataShape { task: common.about.task, features: common.about.features.len() };
        let asking = approach.at_sites().and_then(|method| method.asking(network, &shape));
        let (rounds, bytes) = match asking {
            // Twice up the tree and twice down: an edge carries four messages, two in each direction, in all rounds of it.
            Some(Asking::Rounds(each)) => {
                (MANY_QUESTIONS * each, bytes.map(|both| (2 * both).div_ceil(each.max(1))))
            }
            _ => (experiment.method.run.rounds as u64, bytes),
        };
        let tuning = TuningBudget::of(network, &**approach, experiment.compare.quick);
        let Some(tuning) = tuning.filter(|_| experiment.is_tuned_at_sites()) else {
            return Ok(Self { rounds, asking, tuning: None, bytes, capped_by: None });
        };
        let keys = &experiment.federation;
        let by_rounds = keys.tuning_rounds.unwrap_or(tuning.most_rounds);
        let by_bytes = keys.tuning_bytes.map(|most| most / tuning_bytes.max(1));
        if let Some((most, rounds)) = keys.tuning_bytes.zip(by_bytes)
            && rounds < tuning.fewest_rounds
        {
            return Err(Error::input(format!(
                "federation.tuning_bytes is {most}, expected at least {}: {} rounds of {tuning_bytes} bytes, the fewest that \
                 compare strengths here",
                tuning.fewest_rounds.saturating_mul(tuning_bytes),
                tuning.fewest_rounds
            )));
        }
        let allowed = by_bytes.map_or(by_rounds, |by_bytes| by_bytes.min(by_rounds));
        let capped_by = if by_bytes.is_some_and(|by_bytes| by_bytes < by_rounds) {
            Some("federation.tuning_bytes")
        } else {
            keys.tuning_rounds.map(|_| "federation.tuning_rounds")
        };
        Ok(Self { rounds, asking, tuning: Some((tuning, allowed)), bytes, capped_by })
    }

    /// The bytes of a round of the method between all sites.
    pub(super) fn bytes_per_round(&self) -> usize {
        usize::try_from(self.bytes[0]).unwrap_or(usize::MAX)
    }

    /// Says what it takes to find out afterwards whether the network helped, with these shuffled networks.
    pub(super) fn tell_judging(
        &self,
        (network, shuffled): (&Network, &[Network]),
        sites: &[Site],
        terminal: Terminal,
    ) {
        let height = tree_height(network).unwrap_or(0).max(1) as u64;
        terminal.say(&wrapped(&format!(
            "Judging takes at most {} rounds more, with small messages.",
            MOST_QUESTIONS * 2 * height
        )));
        let cut = |network: &Network| pairs(network, sites).len() as u64;
        let Some(most) = shuffled.iter().map(cut).max() else { return };
        // Shuffled nodes have neighbours anywhere, so that more edges join two sites.
        let more = |bytes: u64| bytes.saturating_mul(most) / cut(network).max(1);
        let [bytes, tuning_bytes] = self.bytes.map(more);
        let tuning_rounds = self.tuning.map_or(0, |(_, rounds)| rounds);
        let megabytes =
            (self.rounds as f64 * bytes as f64 + tuning_rounds as f64 * tuning_bytes as f64) / 1e6;
        terminal.say(&wrapped(&format!(
            "Each of {} with shuffled nodes takes as many rounds as training, and at most {} MB between all sites.",
            counted(shuffled.len(), "network"),
            significant(megabytes)
        )));
    }

    /// Says it.
    pub(super) fn tell(&self, terminal: Terminal) {
        let [bytes, tuning_bytes] = self.bytes;
        if let Some((tuning, rounds)) = self.tuning {
            let cap = match self.capped_by {
                Some(key) => format!("as {key} says"),
                None => "which federation.tuning_rounds or tuning_bytes can make fewer".into(),
            };
            terminal.say(&wrapped(&format!(
                "Sites choose the strength together: about {} strengths, up to {MOST_SIDE_BY_SIDE} of them side by side, \
                 at most {} rounds where the grid need not get wider, in all at most {}, {cap}.",
                tuning.strengths,
                count(usize::try_from(tuning.usual_rounds.min(rounds)).unwrap_or(usize::MAX)),
                cost(rounds, tuning_bytes)
            )));
        }
        let cost = cost(self.rounds, bytes);
        terminal.say(&wrapped(&match self.asking {
            None => format!("The method then takes at most {cost}."),
            Some(Asking::Rounds(each)) => format!(
                "The method asks until its estimates stand, whatever method.rounds is: a question takes {each} rounds, and \
                 {MANY_QUESTIONS} questions, more than it has needed on any network so far, {cost}."
            ),
            Some(Asking::Series) => format!(
                "The method asks until its estimates stand, whatever method.rounds is. This network is too dense for an \
                 elimination, so that a question takes as many rounds as a series has terms: a few dozen, or tens of \
                 thousands where neighbours are nearly alike. {} rounds take {}. With fewer edges or features it is exact \
                 and takes fewer rounds.", count(10_000), bytes_and_time(10_000, bytes)
            ),
        }));
    }
}
