//! The rows of one node in the form in which its gradient is cheapest,
//!
//! ```text
//! ½ ∇L(w) = Xᵀ W (X w − y) + ridge w      2 m d products, m ≤ d
//!         = G w − b + ridge w             d² products,    m > d,   G = Xᵀ W X,  b = Xᵀ W y
//! ```
//!
//! and what a step s changes, without a difference of nearly equal losses,
//!
//! ```text
//! L(w) − L(w − s) = sᵀ∇L(w) − sᵀ(G + ridge) s
//! ```

use std::borrow::Cow;

use super::kernels::{combination, products};
use crate::{
    algebra::{add_outer, add_scaled, dot},
    data::Dataset,
    model::Linear,
};

/// The rows of one node.
#[derive(Debug)]
pub(super) struct RowBlock<'a> {
    pub(super) form: RowForm<'a>,
    pub(super) ridge: f64,
    /// How many weights are slopes.
    slopes: usize,
    pub(super) size: usize,
    /// Whether no row has any weight.
    pub(super) is_empty: bool,
}

#[derive(Debug)]
pub(super) enum RowForm<'a> {
    Rows { rows: Cow<'a, [f64]>, labels: Cow<'a, [f64]>, weights: Cow<'a, [f64]> },
    Moments { gram: Vec<f64>, right: Vec<f64>, square: f64 },
}

/// The current loss of a target and what its rewards are made of.
#[derive(Debug, Default)]
pub(super) struct LossPoint {
    pub(super) loss: f64,
    /// The residuals of rows, or half the gradient of moments.
    parts: Vec<f64>,
    room: Vec<f64>,
}

impl<'a> RowBlock<'a> {
    pub(super) fn new(model: &Linear, data: &'a Dataset) -> Self {
        let owned = Self::rows(model, data);
        match owned.form {
            // Then d² products are fewer than 2 m d, and the rows need not be read again.
            RowForm::Rows { ref rows, ref labels, ref weights } if labels.len() > owned.size => {
                let size = owned.size;
                let (mut gram, mut right) = (vec![0.0; size * size], vec![0.0; size]);
                let mut square = 0.0;
                for ((x, y), weight) in
                    rows.chunks_exact(size).zip(labels.iter()).zip(weights.iter())
                {
                    add_outer(&mut gram, *weight, x);
                    add_scaled(&mut right, weight * y, x);
                    square += weight * y * y;
                }
                Self { form: RowForm::Moments { gram, right, square }, ..owned }
            }
            _ => owned,
        }
    }

    fn rows(model: &Linear, data: &'a Dataset) -> Self {
        let slopes = data.features().columns();
        let size = slopes + usize::from(model.intercept);
        let rows = if model.intercept {
            data.features().iter().flat_map(|x| x.iter().copied().chain([1.0])).collect()
        } else {
            Cow::Borrowed(data.features().values())
        };
        let (labels, weights) = (data.labels().as_slice(), data.weights());
        let form = RowForm::Rows { rows, labels: labels.into(), weights: weights.into() };
        let is_empty = weights.iter().all(|weight| *weight == 0.0);
        Self { form, ridge: model.ridge, slopes, size, is_empty }
    }

    pub(super) fn into_owned(self) -> RowBlock<'static> {
        let Self { form, ridge, slopes, size, is_empty } = self;
        let form = match form {
            RowForm::Rows { rows, labels, weights } => RowForm::Rows {
                rows: rows.into_owned().into(),
                labels: labels.into_owned().into(),
                weights: weights.into_owned().into(),
            },
            RowForm::Moments { gram, right, square } => RowForm::Moments { gram, right, square },
        };
        RowBlock { form, ridge, slopes, size, is_empty }
    }

    /// The plain rows, where the block is kept as such and has no ridge.
    pub(super) fn plain_rows(&self) -> Option<&[f64]> {
        match &self.form {
            RowForm::Rows { rows, .. } if self.ridge == 0.0 => Some(rows),
            _ => None,
        }
    }

    /// How many rows there are; none for moments.
    pub(super) fn count(&self) -> usize {
        match &self.form {
            RowForm::Rows { labels, .. } => labels.len(),
            RowForm::Moments { .. } => 0,
        }
    }

    /// `factor · W (X w − y)`, for blocks of rows.
    pub(super) fn residuals(&self, w: &[f64], factor: f64, out: &mut Vec<f64>) {
        if let RowForm::Rows { rows, labels, weights } = &self.form {
            out.resize(labels.len(), 0.0);
            products(rows, w, out);
            for ((out, y), weight) in out.iter_mut().zip(labels.iter()).zip(weights.iter()) {
                *out = factor * (weight * (*out - y));
            }
        }
    }

    /// `factor · ½ ∇L(w)`, with the residuals as room.
    pub(super) fn half_gradient(
        &self,
        w: &[f64],
        factor: f64,
        residuals: &mut Vec<f64>,
        out: &mut [f64],
    ) {
        match &self.form {
            RowForm::Rows { .. } => {
                self.residuals(w, factor, residuals);
                self.combined(residuals, out);
            }
            RowForm::Moments { gram, right, .. } => {
                products(gram, w, out);
                out.iter_mut().zip(right).for_each(|(out, b)| *out = factor * (*out - b));
            }
        }
        if self.ridge > 0.0 {
            add_scaled(&mut out[..self.slopes], factor * self.ridge, &w[..self.slopes]);
        }
    }

    /// `Xᵀ factors`, for blocks of rows.
    pub(super) fn combined(&self, factors: &[f64], out: &mut [f64]) {
        if let RowForm::Rows { rows, .. } = &self.form {
            combination(rows, factors, out);
        }
    }

    /// Looks at the loss from these weights.
    pub(super) fn look(&self, w: &[f64], point: &mut LossPoint) {
        let slopes = &w[..self.slopes];
        match &self.form {
            RowForm::Rows { rows, labels, weights } => {
                point.parts.resize(labels.len(), 0.0);
                products(rows, w, &mut point.parts);
                point.parts.iter_mut().zip(labels.iter()).for_each(|(part, y)| *part -= y);
                let squares = point.parts.iter().zip(weights.iter());
                point.loss = squares.map(|(residual, weight)| weight * residual * residual).sum();
            }
            RowForm::Moments { gram, right, square } => {
                point.parts.resize(self.size, 0.0);
                products(gram, w, &mut point.parts);
                let bent = dot(w, &point.parts);
                // Near a perfect fit the three terms cancel and may fall below zero by rounding.
                point.loss = (bent - 2.0 * dot(w, right) + square).max(0.0);
                point.parts.iter_mut().zip(right).for_each(|(part, b)| *part -= b);
            }
        }
        point.loss += self.ridge * dot(slopes, slopes);
    }

    /// The reward `L(w) − L(w − s)` of a step from the weights last looked from.
    pub(super) fn reward(&self, w: &[f64], step: &[f64], point: &mut LossPoint) -> f64 {
        let ridge = if self.ridge > 0.0 {
            let step = &step[..self.slopes];
            self.ridge * (2.0 * dot(step, w) - dot(step, step))
        } else {
            0.0
        };
        let LossPoint { parts, room, .. } = point;
        ridge
            + match &self.form {
                RowForm::Rows { rows, .. } => {
                    room.resize(parts.len(), 0.0);
                    products(rows, step, room);
                    self.reward_along(room, parts)
                }
                RowForm::Moments { gram, .. } => {
                    room.resize(self.size, 0.0);
                    products(gram, step, room);
                    2.0 * dot(step, parts) - dot(step, room)
                }
            }
    }

    /// The reward of a step that moves the predictions by `moves`, for rows without a ridge.
    pub(super) fn reward_of_moves(&self, moves: &[f64], point: &LossPoint) -> f64 {
        self.reward_along(moves, &point.parts)
    }

    fn reward_along(&self, moves: &[f64], residuals: &[f64]) -> f64 {
        let RowForm::Rows { weights, .. } = &self.form else { return 0.0 };
        let term = |u: f64, r: f64, weight: f64| weight * u * (2.0 * r - u);
        // Four partial sums in a fixed order: additions need not wait, and the bits are the same anywhere.
        let (u, u_rest) = moves.as_chunks::<4>();
        let (r, r_rest) = residuals.as_chunks::<4>();
        let (w, w_rest) = weights.as_chunks::<4>();
        let mut sums = [0.0; 4];
        for ((u, r), w) in u.iter().zip(r).zip(w) {
            (0..4).for_each(|k| sums[k] += term(u[k], r[k], w[k]));
        }
        let rest = u_rest.iter().zip(r_rest).zip(w_rest).map(|((u, r), w)| term(*u, *r, *w));
        rest.fold((sums[0] + sums[1]) + (sums[2] + sums[3]), |sum, term| sum + term)
    }
}
