//! What a node keeps of the minimum over all deviations, where labels are classes or counts.

/// Numbers of all nodes of the front, and the node's own block of M⁻¹.
#[derive(Debug, Clone, Default)]
pub(super) struct Modes {
    /// u.
    pub(super) deviations: Vec<f64>,
    /// u before the last step.
    pub(super) before: Vec<f64>,
    /// Newton's step.
    pub(super) step: Vec<f64>,
    /// The node's block of M⁻¹, q × q, then the own edges' share of its traces.
    pub(super) block: Vec<f64>,
    /// Whether the last system was that of v, and not of a step.
    pub(super) is_turned: bool,
}

impl Modes {
    /// At a new question: where the last search ended, or zeros.
    pub(super) fn start(&mut self, size: usize, is_fresh: bool) {
        if is_fresh || self.deviations.len() != size {
            self.deviations = vec![0.0; size];
        }
        self.is_turned = false;
    }

    /// Goes so much of a step, which is the last one unless it is given.
    pub(super) fn go(&mut self, length: f64, step: Option<&[f64]>) {
        if let Some(step) = step {
            self.before.clone_from(&self.deviations);
            self.step = step.to_vec();
        }
        self.is_turned = false;
        let moved = self.before.iter().zip(&self.step);
        self.deviations = moved.map(|(u, step)| u - length * step).collect();
    }
}
