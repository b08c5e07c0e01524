//! Newton's equations of penalised linear outputs,
//!
//! ```text
//! (P + BᵀB) d = −g,      B = rows R_r ⊗ x_rᵀ,   P = diag p for every output
//! d = −P⁻¹g + P⁻¹Bᵀ (I + B P⁻¹ Bᵀ)⁻¹ B P⁻¹ g      (Woodbury)
//! ```
//!
//! where `R_rᵀR_r` is the weighted second derivative of row r by its outputs. With fewer rows than
//! columns the second form is solved, otherwise the first.

use crate::algebra::{Cholesky, add_scaled, dot};

/// Rows and pulls, ready for Newton's equations with ever other curvatures.
pub(crate) struct NewtonSystem<'a> {
    rows: &'a [f64],
    width: usize,
    /// The pull p of each column.
    strengths: &'a [f64],
    /// `x_rᵀ P⁻¹ x_s`, where there are fewer rows than columns.
    kernel: Option<Vec<f64>>,
}

impl<'a> NewtonSystem<'a> {
    /// Rows of the given width.
    pub(crate) fn new(rows: &'a [f64], width: usize, strengths: &'a [f64]) -> Self {
        let count = rows.len().checked_div(width).unwrap_or(0);
        // With fewer rows than columns the system of the rows is the smaller one; it divides by
        // every pull.
        let wide = count < width && strengths.iter().all(|p| *p > 0.0);
        let kernel = wide.then(|| {
            let over = |x: &[f64]| x.iter().zip(strengths).map(|(x, p)| x / p).collect::<Vec<_>>();
            let scaled: Vec<Vec<f64>> = rows.chunks_exact(width).map(over).collect();
            let all = rows.chunks_exact(width);
            all.flat_map(|x| scaled.iter().map(|y| dot(x, y)).collect::<Vec<_>>()).collect()
        });
        Self { rows, width, strengths, kernel }
    }

    /// The direction d for roots R, given row after row, and a gradient of so many outputs.
    pub(crate) fn direction(&self, roots: &[f64], outputs: usize, gradient: &[f64]) -> Vec<f64> {
        match &self.kernel {
            Some(kernel) => self.by_rows(kernel, roots, outputs, gradient),
            None => self.by_columns(roots, outputs, gradient),
        }
    }

    fn row_count(&self) -> usize {
        self.rows.len().checked_div(self.width).unwrap_or(0)
    }

    fn row(&self, row: usize) -> &[f64] {
        &self.rows[row * self.width..(row + 1) * self.width]
    }

    fn by_columns(&self, roots: &[f64], outputs: usize, gradient: &[f64]) -> Vec<f64> {
        let size = gradient.len();
        let mut hessian = vec![0.0; size * size];
        for row in 0..self.row_count() {
            let share = roots.len() / self.row_count();
            let root = &roots[row * share..(row + 1) * share];
            for a in 0..outputs {
                for b in 0..=a {
                    let lines = root.chunks_exact(outputs);
                    let curvature: f64 = lines.map(|line| line[a] * line[b]).sum();
                    // Rows on a straight part of their loss are many, and add nothing.
                    if curvature != 0.0 {
                        let corner = a * self.width * size + b * self.width;
                        add_block(&mut hessian, corner, curvature, self.row(row));
                    }
                }
            }
        }
        for k in 0..size {
            hessian[k * (size + 1)] += self.strengths[k % self.width];
        }
        damped_direction(&hessian, gradient)
    }

    fn by_rows(&self, kernel: &[f64], roots: &[f64], outputs: usize, gradient: &[f64]) -> Vec<f64> {
        let count = self.row_count();
        let over = |(k, g): (usize, &f64)| -g / self.strengths[k % self.width];
        let mut direction: Vec<f64> = gradient.iter().enumerate().map(over).collect();
        if count == 0 {
            return direction;
        }
        let lines = roots.len() / outputs;
        let (row_of, line) = (lines / count, |line: usize| &roots[line * outputs..][..outputs]);
        let mut matrix = vec![0.0; lines * lines];
        for i in 0..lines {
            for j in 0..=i {
                let rows = kernel[i / row_of * count + j / row_of];
                matrix[i * lines + j] = rows * dot(line(i), line(j)) + f64::from(u8::from(i == j));
            }
        }
        let product = |i: usize| {
            let of =
                |a: usize| dot(self.row(i / row_of), &direction[a * self.width..][..self.width]);
            (0..outputs).map(|a| line(i)[a] * of(a)).sum::<f64>()
        };
        let mut solution: Vec<f64> = (0..lines).map(product).collect();
        // I + B P⁻¹ Bᵀ has no eigenvalue below one: it fails for numbers that are not finite only.
        if let Some(factor) = Cholesky::new(matrix, lines) {
            factor.solve(&mut solution);
        }
        for (i, s) in solution.iter().enumerate() {
            for a in 0..outputs {
                let own = &mut direction[a * self.width..(a + 1) * self.width];
                let factor = -s * line(i)[a];
                for ((d, x), p) in own.iter_mut().zip(self.row(i / row_of)).zip(self.strengths) {
                    *d += factor * x / p;
                }
            }
        }
        direction
    }
}

/// Adds `factor · x xᵀ` to the block of a square matrix that begins at a corner.
pub(crate) fn add_block(matrix: &mut [f64], corner: usize, factor: f64, x: &[f64]) {
    let size = matrix.len().isqrt();
    for (k, a) in x.iter().enumerate() {
        let begin = corner + k * size;
        add_scaled(&mut matrix[begin..begin + x.len()], factor * a, x);
    }
}

/// −H⁻¹ g by Cholesky from the lower triangle, with damping where rounding has left H indefinite.
pub(crate) fn damped_direction(hessian: &[f64], gradient: &[f64]) -> Vec<f64> {
    let size = gradient.len();
    let largest = (0..size).map(|k| hessian[k * size + k]).fold(0.0, f64::max);
    let mut damping = 0.0;
    let mut direction: Vec<f64> = gradient.iter().map(|g| -g).collect();
    for _ in 0..16 {
        let mut damped = hessian.to_vec();
        (0..size).for_each(|k| damped[k * size + k] += damping);
        if let Some(factor) = Cholesky::new(damped, size) {
            factor.solve(&mut direction);
            break;
        }
        // From the size of rounding, sixteen trials reach the largest entry, where any finite
        // matrix has a factor.
        damping = (10.0 * damping).max(1e-14 * largest);
    }
    direction
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, Stream};

    #[test]
    fn rows_and_columns_give_the_same_direction() {
        let (count, width, outputs) = (4, 7, 3);
        let mut stream = Stream::new(1, 0, 0, Purpose::Data);
        let mut draw = |count: usize| (0..count).map(|_| stream.normal()).collect::<Vec<f64>>();
        let (rows, gradient) = (draw(count * width), draw(outputs * width));
        let roots = draw(count * 2 * outputs);
        let strengths: Vec<f64> = draw(width).iter().map(|x| 0.1 + x * x).collect();
        let wide = NewtonSystem::new(&rows, width, &strengths);
        assert!(wide.kernel.is_some());
        let tall = NewtonSystem { kernel: None, ..NewtonSystem::new(&rows, width, &strengths) };
        let by_rows = wide.direction(&roots, outputs, &gradient);
        let by_columns = tall.direction(&roots, outputs, &gradient);
        for (a, b) in by_rows.iter().zip(&by_columns) {
            assert!((a - b).abs() < 1e-10, "{a} and {b}");
        }
    }
}
