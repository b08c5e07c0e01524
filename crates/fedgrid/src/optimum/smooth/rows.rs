//! Rows by columns, and the sums over them that make gradients and second derivatives of linear outputs,
//!
//! ```text
//! η_a = Σ_k W_ak x_k      ∇_ak = Σ_r weight_r s_ra x_rk      H_ak,bl = Σ_r weight_r c_rab x_rk x_rl
//! ```

use crate::{
    algebra::{Panel, add_scaled, dot, inner_products},
    data::Features,
    model::{Curvature, LinearOutputs},
};

/// Rows of features, a one behind each where there is an intercept, column after column.
#[derive(Debug)]
pub(super) struct Rows {
    columns: Vec<f64>,
    weights: Vec<f64>,
    width: usize,
}

/// The derivatives of the losses of all rows by their outputs, weighted, one output or pair after the other.
pub(super) struct Derivatives {
    slopes: Vec<f64>,
    curvatures: Vec<f64>,
}

impl Rows {
    pub(super) fn new(features: &Features, weights: &[f64], has_intercept: bool) -> Self {
        let used: Vec<usize> = (0..weights.len()).filter(|&row| weights[row] > 0.0).collect();
        let of = |column: usize| used.iter().map(move |&row| features.row(row)[column]);
        let mut columns: Vec<f64> = (0..features.columns()).flat_map(of).collect();
        if has_intercept {
            columns.resize(columns.len() + used.len(), 1.0);
        }
        let width = features.columns() + usize::from(has_intercept);
        Self { columns, weights: used.iter().map(|&row| weights[row]).collect(), width }
    }

    pub(super) fn total_weight(&self) -> f64 {
        self.weights.iter().sum()
    }

    fn column(&self, k: usize) -> &[f64] {
        let count = self.weights.len();
        &self.columns[k * count..(k + 1) * count]
    }

    /// The outputs of all rows, one output after the other.
    pub(super) fn outputs(&self, weights: &[f64]) -> Vec<f64> {
        let count = self.weights.len();
        let mut outputs = vec![0.0; weights.len() / self.width.max(1) * count];
        let each = outputs.chunks_exact_mut(count.max(1));
        for (out, own) in each.zip(weights.chunks_exact(self.width.max(1))) {
            own.iter().enumerate().for_each(|(k, w)| add_scaled(out, *w, self.column(k)));
        }
        outputs
    }

    /// A model's loss at given outputs; the label of a row is what `label` says.
    pub(super) fn value<'a>(
        &self,
        model: &dyn LinearOutputs,
        outputs: &[f64],
        label: impl Fn(usize) -> &'a [f64],
    ) -> f64 {
        let count = self.weights.len();
        let mut own = vec![0.0; outputs.len().checked_div(count).unwrap_or(0)];
        let mut value = 0.0;
        for (row, weight) in self.weights.iter().enumerate() {
            own.iter_mut().enumerate().for_each(|(a, own)| *own = outputs[a * count + row]);
            value += weight * model.row_value(label(row), &own);
        }
        value
    }

    /// The derivatives of a model's loss at given outputs; the label of a row is what `label` says.
    pub(super) fn derivatives<'a>(
        &self,
        model: &dyn LinearOutputs,
        outputs: &[f64],
        label: impl Fn(usize) -> &'a [f64],
        kind: Curvature,
    ) -> Derivatives {
        let count = self.weights.len();
        let size = outputs.len().checked_div(count).unwrap_or(0);
        let pairs = size * (size + 1) / 2;
        let mut slopes = vec![0.0; size * count];
        let mut curvatures = vec![0.0; pairs * count];
        let mut row_outputs = vec![0.0; size];
        let (mut slope, mut curvature) = (vec![0.0; size], vec![0.0; pairs]);
        for (row, weight) in self.weights.iter().enumerate() {
            for (a, output) in row_outputs.iter_mut().enumerate() {
                *output = outputs[a * count + row];
            }
            model.derivatives(label(row), &row_outputs, &mut slope, &mut curvature, kind);
            slope.iter().enumerate().for_each(|(a, s)| slopes[a * count + row] = weight * s);
            let own = curvature.iter().enumerate();
            own.for_each(|(pair, c)| curvatures[pair * count + row] = weight * c);
        }
        Derivatives { slopes, curvatures }
    }

    /// Adds the gradient by the weights, times a factor.
    pub(super) fn add_gradient(&self, derivatives: &Derivatives, factor: f64, out: &mut [f64]) {
        let slopes = derivatives.slopes.chunks_exact(self.weights.len().max(1));
        for (out, own) in out.chunks_exact_mut(self.width.max(1)).zip(slopes) {
            let columns = (0..self.width).map(|k| self.column(k));
            out.iter_mut().zip(columns).for_each(|(out, column)| *out += factor * dot(own, column));
        }
    }

    /// Adds the second derivative by the weights, a square matrix.
    pub(super) fn add_hessian(&self, derivatives: &Derivatives, out: &mut [f64]) {
        let (count, width) = (self.weights.len(), self.width);
        let size = out.len().isqrt();
        if count == 0 {
            return;
        }
        let (mut scaled, mut products) = (vec![0.0; count * width], vec![0.0; width * width]);
        let pairs = (0..size / width.max(1)).flat_map(|a| (0..=a).map(move |b| (a, b)));
        for ((a, b), own) in pairs.zip(derivatives.curvatures.chunks_exact(count)) {
            for (scaled, column) in
                scaled.chunks_exact_mut(count).zip(self.columns.chunks_exact(count))
            {
                let products = scaled.iter_mut().zip(own.iter().zip(column));
                products.for_each(|(out, (c, x))| *out = c * x);
            }
            let panel = Panel { numbers: &self.columns, stride: count, rows: width };
            let own = Panel { numbers: &scaled, ..panel };
            inner_products(own, panel, count, &mut products);
            for k in 0..width {
                for l in 0..=k {
                    let value = products[k * width + l];
                    // Both blocks of the pair, and both triangles of each block; what falls together is one entry.
                    let (ak, al, bk, bl) =
                        (a * width + k, a * width + l, b * width + k, b * width + l);
                    out[ak * size + bl] += value;
                    if l < k {
                        out[al * size + bk] += value;
                    }
                    if b < a {
                        out[bl * size + ak] += value;
                        if l < k {
                            out[bk * size + al] += value;
                        }
                    }
                }
            }
        }
    }
}
