//! The inner products of all rows of one panel with all rows of another, `C = A Bᵀ`.

use super::block_sparse::{Part, Place, Strips, add_product};

/// Rows of numbers: the first at the start, each a stride behind the one before.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Panel<'a> {
    pub(crate) numbers: &'a [f64],
    pub(crate) stride: usize,
    pub(crate) rows: usize,
}

/// `out ← A Bᵀ` over the first `depth` numbers of each row; `out` has a row for each of A's. Every product is one sum in
/// the order of the columns.
pub(crate) fn inner_products(a: Panel, b: Panel, depth: usize, out: &mut [f64]) {
    out.fill(0.0);
    if depth == 0 || b.rows == 0 {
        return;
    }
    let strips = Strips::of_turned(depth, b.rows, |row| &b.numbers[row * b.stride..]);
    let to = (&mut out[..a.rows * b.rows], Place { stride: b.rows, at: 0 });
    add_product(to, (a.numbers, Place { stride: a.stride, at: 0 }), &strips, 1.0, Part::All);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, Stream};

    #[test]
    fn every_product_is_that_of_its_two_rows_to_the_bit() {
        let mut stream = Stream::new(3, 0, 0, Purpose::Data);
        let numbers: Vec<f64> = (0..20 * 23).map(|_| stream.normal()).collect();
        for (m, n, depth) in [(1, 1, 1), (4, 2, 8), (5, 3, 7), (9, 4, 0), (7, 7, 23), (3, 8, 22)] {
            let a = Panel { numbers: &numbers, stride: 23, rows: m };
            let b = Panel { numbers: &numbers[10 * 23..], stride: 23, rows: n };
            let mut out = vec![f64::NAN; m * n];
            inner_products(a, b, depth, &mut out);
            for (i, row) in out.chunks_exact(n).enumerate() {
                for (j, sum) in row.iter().enumerate() {
                    let row = |at: usize| numbers[at * 23..][..depth].iter();
                    let expected = row(i).zip(row(10 + j)).fold(0.0, |sum, (x, y)| sum + x * y);
                    assert_eq!(sum.to_bits(), f64::to_bits(expected), "{m} {n} {depth}");
                }
            }
        }
    }
}
