//! Passes over the rows of a node, each a short loop of its own,
//!
//! ```text
//! W = Σ weight_r      ȳ = y₁ + Σ weight_r (y_r − y₁) / W      residual_r = weight_r (y_r − ȳ)
//! ```

/// The weight of some rows and their mean label, within the labels' range also after rounding.
// Inlined into a large function, the loop would keep its sums in memory.
#[inline(never)]
pub(super) fn weight_and_mean(
    members: &[u32],
    weight_and_label: impl Fn(usize) -> [f64; 2],
) -> (f64, f64) {
    // Sums of differences to one label keep their digits where all labels are large.
    let [_, first] = weight_and_label(members[0] as usize);
    let (mut total, mut sum, mut low, mut high) = (0.0, 0.0, first, first);
    for &row in members {
        let [weight, y] = weight_and_label(row as usize);
        total += weight;
        sum += weight * (y - first);
        low = if y < low { y } else { low };
        high = if y > high { y } else { high };
    }
    (total, (first + sum / total).clamp(low, high))
}

/// Writes `weight (y − mean)` for some rows; returns their squared error.
pub(super) fn write_residuals(
    members: &[u32],
    given: &[[f64; 2]],
    work: &mut [[f64; 2]],
    mean: f64,
) -> f64 {
    let mut error = 0.0;
    for &row in members {
        let [weight, y] = given[row as usize];
        let difference = y - mean;
        work[row as usize][1] = weight * difference;
        error += weight * difference * difference;
    }
    error
}

/// Writes the rows that go left, then those that go right, in some orders; both parts keep theirs.
pub(super) fn partition<const ORDERS: usize>(
    from: [&[u32]; ORDERS],
    to: [&mut [u32]; ORDERS],
    goes_right: &[u8],
    middle: usize,
) {
    let count = from[0].len();
    let from = from.map(|rows| &rows[..count]);
    let to = to.map(|rows| &mut rows[..count]);
    let mut left = [0; ORDERS];
    // A choice of numbers and not of ways: there is no branch to mispredict.
    for slot in 0..count {
        for k in 0..ORDERS {
            let row = from[k][slot];
            let goes = usize::from(goes_right[row as usize]);
            to[k][if goes == 1 { middle + slot - left[k] } else { left[k] }] = row;
            left[k] += 1 - goes;
        }
    }
}
