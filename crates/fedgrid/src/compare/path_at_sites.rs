//! The strengths that sites try: those of a search in one process, where the ridge is given, and the same choice
//! among them. What a search would try one after the other is tried side by side, as far as it does not depend on what
//! comes of it: the coarse grid, then what makes it wider, then the finer steps.

use super::{
    strength::{Grid, PULL_EXPONENTS, pull},
    tuning::{TIE_SHARE, finer_pulls, wider},
};
use crate::method::tuned::{StrengthPath, TriedStrength};

/// A grid as sites walk it.
#[derive(Debug, Clone)]
pub(super) struct PathAtSites {
    pub(super) grid: Grid,
    /// Whether the coarse grid is enough.
    pub(super) is_quick: bool,
}

/// What was tried, as a search in one process would list it.
struct Walked {
    tried: Vec<TriedStrength>,
    /// The next of the coarse grid, of the wider one, or of the finer one; nothing at the end.
    next: Vec<f64>,
}

impl PathAtSites {
    /// The coarse grid, from weak to strong.
    fn first(&self) -> Vec<f64> {
        self.grid.first().into_iter().rev().collect()
    }

    fn walked(&self, tried: &[TriedStrength]) -> Walked {
        let first = self.first();
        let coarse = first.len().min(tried.len());
        // A search lists the strongest first, and of equals takes the first.
        let mut listed: Vec<TriedStrength> = tried[..coarse].iter().rev().copied().collect();
        if coarse < first.len() {
            return Walked { tried: listed, next: first[coarse..].to_vec() };
        }
        let mut left = tried[coarse..].iter().copied();
        let at_end = |tried| Walked { tried, next: Vec::new() };
        let Grid::Decades(unit) = self.grid else { return at_end(listed) };
        let mut exponents = PULL_EXPONENTS;
        while let Some(exponent) = wider(best(&listed).alpha, unit, &exponents) {
            exponents = exponent.min(*exponents.start())..=exponent.max(*exponents.end());
            match left.next() {
                Some(tried) => listed.push(tried),
                None => return Walked { tried: listed, next: vec![pull(unit, exponent)] },
            }
        }
        if self.is_quick {
            return at_end(listed);
        }
        let middle = best(&listed).alpha;
        // The one in the middle was tried.
        let is_other = |alpha: &f64| (alpha / middle).ln().abs() > 1e-9;
        let finer = finer_pulls(middle).into_iter().rev().filter(is_other);
        let next = finer.skip(left.len()).collect();
        // From strong to weak again.
        let finest: Vec<TriedStrength> = left.collect();
        listed.extend(finest.into_iter().rev());
        Walked { tried: listed, next }
    }
}

/// The best of some in the order of a search.
fn best(listed: &[TriedStrength]) -> TriedStrength {
    let smaller = |a: &TriedStrength, b: &TriedStrength| b.error < (1.0 - TIE_SHARE) * a.error;
    let best = listed.iter().reduce(|a, b| if smaller(a, b) { b } else { a });
    *best.expect("a path is never empty")
}

impl StrengthPath for PathAtSites {
    fn next(&self, tried: &[TriedStrength]) -> Vec<f64> {
        self.walked(tried).next
    }

    fn best(&self, tried: &[TriedStrength]) -> f64 {
        best(&self.walked(tried).tried).alpha
    }
}
