//! The strength that is best around one that cannot be far: for a shuffled network that of the network itself, or of the
//! shuffle before; for all others the best of a coarse grid. Pulls within a decade are tried, half a decade apart,
//! until none of them is better; then the ridges beside, and so on until neither helps; then pulls a quarter of a decade
//! away. How near that comes to a whole grid is in docs/verdict.md.

use super::{
    Strength,
    tuning::{Search, Tried, Walk, best},
};
use crate::error::Result;

/// How far from the best the pulls are that are tried, in decades: two steps, because errors of trees are not smooth.
const PULL_STEPS_DECADES: [f64; 5] = [1.0, 0.5, 0.0, -0.5, -1.0];
/// The same around the end.
const LAST_STEPS_DECADES: [f64; 2] = [0.25, -0.25];
/// The ridges around the end, relative to its own.
const LAST_RIDGE_STEPS_DECADES: [f64; 2] = [0.5, -0.5];
/// The ridges beside one, relative to it.
const RIDGE_STEPS_DECADES: [f64; 4] = [1.0, 0.5, -0.5, -1.0];
/// How far from the best the pulls are that are tried at the ridges next to it: the valley of errors may be slanted.
const SLANTED_STEPS_DECADES: [f64; 3] = [0.5, 0.0, -0.5];
/// The share of its error that a move has to gain: shuffles differ by more, and towards equal nodes, or nodes alone, ever
/// smaller gains would lead on for ever.
const WORTHWHILE_SHARE: f64 = 5e-4;
/// Moves at most, of a decade each: beyond, all nodes are equal, or alone.
const MOST_MOVES: usize = 7;

impl Search<'_> {
    /// Goes from a strength, around which some may be tried already, to the best of those beside it, and on from there.
    pub(super) fn descend(mut self, from: Strength, mut tried: Vec<Tried>) -> Result<Vec<Tried>> {
        self.goes_on = true;
        let ridge = from.ridge.filter(|_| self.tunes_ridge);
        let mut centre = Strength { ridge, ..from };
        for _ in 0..MOST_MOVES {
            let walks = vec![pulls_beside(centre, &PULL_STEPS_DECADES)];
            self.try_new(walks, &mut tried)?;
            // While stronger or weaker pulls are better, ridges can wait.
            if moves(&mut centre, &tried) {
                continue;
            }
            self.try_new(self.ridge_walks(centre), &mut tried)?;
            if !moves(&mut centre, &tried) {
                break;
            }
        }
        if !self.study.settings.is_quick {
            let end = best(&tried).strength;
            self.try_new(vec![pulls_beside(end, &LAST_STEPS_DECADES)], &mut tried)?;
            let end = best(&tried).strength;
            let ridges = end.ridge.map_or_else(Vec::new, |ridge| {
                self.ridges_beside(ridge, &LAST_RIDGE_STEPS_DECADES)
            });
            let at_end = |ridge: f64| Walk { ridge: Some(ridge), pulls: vec![end.alpha] };
            self.try_new(ridges.into_iter().map(at_end).collect(), &mut tried)?;
        }
        Ok(tried)
    }

    /// The ridges beside a strength, each with a few pulls.
    fn ridge_walks(&self, centre: Strength) -> Vec<Walk> {
        let Some(ridge) = centre.ridge else { return Vec::new() };
        let walk = |one: f64| {
            let is_next = (one / ridge).log10().abs() < 0.75;
            let steps: &[f64] = if is_next { &SLANTED_STEPS_DECADES } else { &[0.0] };
            Walk { ridge: Some(one), ..pulls_beside(centre, steps) }
        };
        self.ridges_beside(ridge, &RIDGE_STEPS_DECADES).into_iter().map(walk).collect()
    }

    /// Tries what was not tried yet.
    fn try_new(&mut self, mut walks: Vec<Walk>, tried: &mut Vec<Tried>) -> Result<()> {
        for Walk { ridge, pulls } in &mut walks {
            let is_new = |alpha: &f64| {
                let asked = Strength { alpha: *alpha, ridge: *ridge };
                !tried.iter().any(|tried| is_same(tried.strength, asked))
            };
            pulls.retain(is_new);
        }
        walks.retain(|walk| !walk.pulls.is_empty());
        tried.extend(self.walk_all(&walks)?.into_iter().flatten());
        Ok(())
    }
}

/// The pulls so many decades from a strength, at its ridge.
fn pulls_beside(Strength { alpha, ridge }: Strength, steps: &[f64]) -> Walk {
    Walk { ridge, pulls: steps.iter().map(|step| alpha * 10_f64.powf(*step)).collect() }
}

/// Moves a centre to the best strength, if that is better by enough.
fn moves(centre: &mut Strength, tried: &[Tried]) -> bool {
    let at_centre = tried.iter().find(|tried| is_same(tried.strength, *centre));
    let before = at_centre.map_or(f64::INFINITY, Tried::error);
    let found = best(tried);
    let is_better = found.error() <= (1.0 - WORTHWHILE_SHARE) * before;
    if is_better {
        *centre = found.strength;
    }
    is_better
}

/// Whether two strengths are the same but for the rounding of powers of ten.
fn is_same(a: Strength, b: Strength) -> bool {
    let is_near = |a: f64, b: f64| (a - b).abs() <= 1e-9 * a.abs().max(b.abs());
    is_near(a.alpha, b.alpha) && is_near(a.ridge.unwrap_or(0.0), b.ridge.unwrap_or(0.0))
}
