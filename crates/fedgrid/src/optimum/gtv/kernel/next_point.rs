//! What follows T(z) = z⁺ in an iteration: itself, a point beyond it, or one between its reflection and an
//! anchor.

/// The next point of a step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum NextPoint {
    /// `z⁺` itself.
    Plain,
    /// `z⁺ + beyond · (z⁺ − z)`; what every node and its edges moved by is counted if asked for.
    Relaxed { beyond: f64, counted: bool },
    /// `keep · (2z⁺ − z) + pull · z₀`.
    Anchored { keep: f64, pull: f64 },
}

/// The kinds of next points as numbers, because passes are compiled for each and a constant parameter
/// cannot be an enum.
pub(crate) const PLAIN: u8 = 0;
pub(crate) const RELAX: u8 = 1;
pub(crate) const ANCHOR: u8 = 2;

impl NextPoint {
    pub(crate) fn is_anchored(self) -> bool {
        matches!(self, Self::Anchored { .. })
    }

    /// The factors of the reflection and of the anchor, or of the step beyond.
    pub(crate) fn factors(self) -> (f64, f64) {
        match self {
            Self::Plain => (0.0, 0.0),
            Self::Relaxed { beyond, .. } => (beyond, 0.0),
            Self::Anchored { keep, pull } => (keep, pull),
        }
    }
}
