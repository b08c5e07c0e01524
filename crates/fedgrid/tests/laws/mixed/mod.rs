//! Laws of mixed models: the numbers of lme4 and mgcv, the likelihood by its definition, limits and
//! invariances.

mod dense;
mod evidence;
mod given;
mod invariances;
mod limits;
mod modes;
mod reference;
mod rounds;
mod sample;
mod study;

/// Numbers agree to a share of themselves; those that are small beside the others to a share of a tenth of
/// the largest.
fn assert_close(found: &[f64], expected: &[f64], tolerance: f64, what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    let largest = expected.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
    for (place, (a, b)) in found.iter().zip(expected).enumerate() {
        let scale = b.abs().max(0.1 * largest);
        assert!((a - b).abs() <= tolerance * scale, "{what}, number {place}: {a}, expected {b}");
    }
}

/// The diagonals of matrices of so many rows, one after the other.
fn diagonals(matrices: &[f64], size: usize) -> Vec<f64> {
    let diagonal = |matrix: &[f64]| matrix.iter().step_by(size + 1).copied().collect::<Vec<_>>();
    matrices.chunks_exact(size * size).flat_map(diagonal).collect()
}
