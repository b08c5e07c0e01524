//! The strength of a shuffled network, sought from one that cannot be far: that of the network itself, or of the shuffle
//! before. Around the best strength so far, pulls and ridges within a decade are tried, half a decade
//! apart, until none of them is better; then pulls a quarter of a decade away. How near that comes to a whole grid is in
//! docs/verdict.md.

use super::{
    Strength,
    tuning::{Search, Tried, Walk, best},
};
use crate::error::Result;

/// How far from the best the pulls are that are tried, in decades: two steps, because errors of trees are not smooth.
const PULL_STEPS_DECADES: [f64; 5] = [1.0, 0.5, 0.0, -0.5, -1.0];
/// The same around the end.
const LAST_STEPS_DECADES: [f64; 2] = [0.25, -0.25];
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
    /// Goes from a strength to the best of those around it, and on from there.
    pub(super) fn descend(mut self, from: Strength) -> Result<Vec<Tried>> {
        self.goes_on = true;
        let ridge = from.ridge.filter(|_| self.tunes_ridge);
        let mut centre = Strength { ridge, ..from };
        let mut tried = self.beside(centre, &PULL_STEPS_DECADES, &[])?;
        for _ in 0..MOST_MOVES {
            let at_centre = tried.iter().find(|tried| is_same(tried.strength, centre));
            let before = at_centre.map_or(f64::INFINITY, Tried::error);
            let found = best(&tried);
            if found.error() > (1.0 - WORTHWHILE_SHARE) * before {
                break;
            }
            centre = found.strength;
            let more = self.beside(centre, &PULL_STEPS_DECADES, &tried)?;
            tried.extend(more);
        }
        if !self.study.settings.is_quick {
            let end = best(&tried).strength;
            let more = self.beside(end, &LAST_STEPS_DECADES, &tried)?;
            tried.extend(more);
        }
        Ok(tried)
    }

    /// Tries the pulls so many decades from a strength, and the ridges beside it, that were not tried yet.
    fn beside(&mut self, centre: Strength, steps: &[f64], tried: &[Tried]) -> Result<Vec<Tried>> {
        let Strength { alpha, ridge } = centre;
        let pulls = |steps: &[f64]| steps.iter().map(|step| alpha * 10_f64.powf(*step)).collect();
        let mut walks = vec![Walk { ridge, pulls: pulls(steps) }];
        if let Some(ridge) = ridge {
            for one in self.ridges_beside(ridge, &RIDGE_STEPS_DECADES) {
                let is_next = (one / ridge).log10().abs() < 0.75;
                let pulls = pulls(if is_next { &SLANTED_STEPS_DECADES } else { &[0.0] });
                walks.push(Walk { ridge: Some(one), pulls });
            }
        }
        for Walk { ridge, pulls } in &mut walks {
            let is_new = |alpha: &f64| {
                let asked = Strength { alpha: *alpha, ridge: *ridge };
                !tried.iter().any(|tried| is_same(tried.strength, asked))
            };
            pulls.retain(is_new);
        }
        walks.retain(|walk| !walk.pulls.is_empty());
        Ok(self.walk_all(&walks)?.into_iter().flatten().collect())
    }
}

/// Whether two strengths are the same but for the rounding of powers of ten.
fn is_same(a: Strength, b: Strength) -> bool {
    let is_near = |a: f64, b: f64| (a - b).abs() <= 1e-9 * a.abs().max(b.abs());
    is_near(a.alpha, b.alpha) && is_near(a.ridge.unwrap_or(0.0), b.ridge.unwrap_or(0.0))
}
