//! One case at one seed: what `fit` compares, without its models.

use std::path::Path;

use fedgrid::compare::{Card, Contestant, Kind, RoleMeasures, Verdict, Watch};
use serde::{Deserialize, Serialize};

use crate::{
    assembly::{Assembly, Rolling},
    error::Result,
    experiment::Experiment,
    outcome::Comparison,
    pipeline::Pipeline,
    summary::{self, OriginCards},
};

/// What came of a cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CellRecord {
    /// The number of its case, from zero.
    pub case: usize,
    /// Its seed.
    pub seed: u64,
    /// What was found, or why there is nothing.
    #[serde(flatten)]
    pub outcome: CellOutcome,
}

/// What was found, or why there is nothing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CellOutcome {
    /// It was run.
    Found(Box<CellFound>),
    /// It cannot be run; the sentence says why.
    Failed(String),
}

/// What a cell found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CellFound {
    /// What errors are.
    pub metric: String,
    /// The method, which was chosen where none was named.
    pub method: String,
    /// The answer in one word; none without a comparison.
    pub verdict: Option<Kind>,
    /// How each contestant did.
    pub comparison: Comparison,
    /// The contestants whose fits did not converge.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unconverged: Vec<String>,
}

/// Runs an experiment as far as the table of its methods and its verdict.
pub(super) fn run(experiment: &Experiment, base: &Path, watch: &dyn Watch) -> Result<CellFound> {
    let rolling = Rolling::new(experiment, base)?;
    let last = rolling.count() - 1;
    let mut assembly = rolling.assembly(last, watch)?;
    choose(&mut assembly, watch).and_then(|known| {
        let contestants = Pipeline { experiment, assembly: &assembly }.contestants();
        let cards = cards(&assembly, &contestants, known, watch)?;
        let cards = over_origins(&rolling, (&assembly, cards), &contestants, watch)?;
        Ok(found(experiment, &assembly, &cards))
    })
}

fn found(experiment: &Experiment, assembly: &Assembly, cards: &[Card]) -> CellFound {
    let study = &assembly.study;
    let is_compared = experiment.compare.enabled;
    let verdict = is_compared.then(|| Verdict::of(cards, study.main(), &study.network)).flatten();
    let mut comparison = summary::comparison(cards);
    // Tables of classes and of calibration are for the report of a run; a sweep has many cells.
    let plain = [
        &mut comparison.local,
        &mut comparison.pooled,
        &mut comparison.shrunk,
        &mut comparison.mixed,
        &mut comparison.network,
        &mut comparison.shuffled,
    ];
    let others = comparison.members.values_mut().chain(comparison.baselines.values_mut());
    plain
        .into_iter()
        .flatten()
        .chain(others)
        .for_each(|entry| entry.metrics = RoleMeasures::default());
    let unconverged = cards.iter().filter(|card| !card.converged);
    CellFound {
        metric: study.metric().name().into(),
        method: study.settings.method.kind().name().into(),
        verdict: verdict.map(|verdict| verdict.kind),
        comparison,
        unconverged: unconverged.map(|card| card.contestant.to_string()).collect(),
    }
}

/// Tunes the methods that the study's own is chosen from and takes the best; gives their cards.
fn choose(assembly: &mut Assembly, watch: &dyn Watch) -> Result<Vec<Card>> {
    let tune = |member| assembly.study.tune(member, watch);
    let known =
        assembly.study.members().into_iter().map(tune).collect::<fedgrid::Result<Vec<_>>>()?;
    assembly.study.choose(&known);
    Ok(known)
}

/// The cards of these contestants, beside those that are known.
fn cards(
    assembly: &Assembly,
    contestants: &[Contestant],
    mut known: Vec<Card>,
    watch: &dyn Watch,
) -> Result<Vec<Card>> {
    let mut cards = Vec::new();
    for &contestant in contestants {
        let card = assembly.study.completed(contestant, &known, watch)?;
        known.push(card.clone());
        cards.push(card);
    }
    Ok(cards)
}

/// The cards over all rolling origins; of one study those that it has.
fn over_origins(
    rolling: &Rolling<'_>,
    (assembly, cards_of_last): (&Assembly, Vec<Card>),
    contestants: &[Contestant],
    watch: &dyn Watch,
) -> Result<Vec<Card>> {
    let Some((last, earlier)) = rolling.windows().split_last() else { return Ok(cards_of_last) };
    let mut origins = Vec::new();
    for (origin, window) in earlier.iter().enumerate() {
        let mut own = rolling.assembly(origin, watch)?;
        let known = choose(&mut own, watch)?;
        let cards = cards(&own, contestants, known, watch)?;
        origins.push(OriginCards::new(window, &own, cards));
    }
    origins.push(OriginCards::new(last, assembly, cards_of_last));
    Ok(OriginCards::joined(&origins))
}
