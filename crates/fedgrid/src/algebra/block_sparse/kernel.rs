//! Products of dense panels, row by row in a slice.
//!
//! One factor is laid out in strips of a few columns, so that a strip's row is a few vectors; three rows of
//! the other meet it at a time, and their sums stay in registers. Every number is one sum in the order of
//! the columns of the other, whatever vectors and threads there are.

#![expect(clippy::inline_always, reason = "what is not inlined is not compiled for wide vectors")]

use rayon::prelude::*;

use crate::algebra::{SimdTask, simd};

/// The columns of a strip: with three rows nine vectors of sums, three of the strip and one of the rows.
const STRIP: usize = 12;
/// Columns of the last strip are filled up with zeros to a multiple of this, a vector.
const VECTOR: usize = 4;
/// Rows that one thread works on at a time.
const ROWS_PER_PART: usize = 48;
/// From how many multiplications on several threads work on a product.
const LEAST_SHARED: usize = 1 << 20;

/// A factor in strips of columns.
#[derive(Debug, Default)]
pub(in crate::algebra) struct Strips {
    numbers: Vec<f64>,
    depth: usize,
    width: usize,
}

impl Strips {
    /// Of a matrix with the given number of rows, of which a row's numbers are those of `row`.
    pub(in crate::algebra) fn of_rows<'a>(
        depth: usize,
        width: usize,
        row: impl Fn(usize) -> &'a [f64],
    ) -> Self {
        let mut strips = Self::new(depth, width);
        for k in 0..depth {
            let from = &row(k)[..width];
            for (index, part) in from.chunks(STRIP).enumerate() {
                let wide = strips.wide(index);
                let first = index * STRIP * depth + k * wide;
                strips.numbers[first..first + part.len()].copy_from_slice(part);
            }
        }
        strips
    }

    /// Of the transpose of a matrix with `width` rows.
    pub(in crate::algebra) fn of_turned<'a>(
        depth: usize,
        width: usize,
        row: impl Fn(usize) -> &'a [f64],
    ) -> Self {
        let mut strips = Self::new(depth, width);
        for column in 0..width {
            let (index, wide) = (column / STRIP, strips.wide(column / STRIP));
            let first = index * STRIP * depth + column % STRIP;
            let to = strips.numbers[first..].iter_mut().step_by(wide);
            to.zip(&row(column)[..depth]).for_each(|(to, from)| *to = *from);
        }
        strips
    }

    fn new(depth: usize, width: usize) -> Self {
        let padded = width.next_multiple_of(VECTOR);
        Self { numbers: vec![0.0; depth * padded], depth, width }
    }

    /// The columns of a strip, with those that fill it up.
    #[inline(always)]
    fn wide(&self, index: usize) -> usize {
        (self.width.next_multiple_of(VECTOR) - index * STRIP).min(STRIP)
    }

    fn count(&self) -> usize {
        self.width.div_ceil(STRIP)
    }

    #[inline(always)]
    fn strip(&self, index: usize) -> &[f64] {
        &self.numbers[index * STRIP * self.depth..][..self.wide(index) * self.depth]
    }
}

/// Where rows are in a slice: so many numbers from one to the next, the first of them `at` numbers on.
#[derive(Debug, Clone, Copy)]
pub(in crate::algebra) struct Place {
    pub(in crate::algebra) stride: usize,
    pub(in crate::algebra) at: usize,
}

/// Which columns of the result are computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::algebra) enum Part {
    /// All.
    All,
    /// Those up to the diagonal and a few beyond.
    Lower,
}

/// `to ← to + sign · A B` where A lies in other rows.
pub(in crate::algebra) fn add_product(
    (to, place): (&mut [f64], Place),
    (a, from): (&[f64], Place),
    b: &Strips,
    sign: f64,
    part: Part,
) {
    let rows = to.len() / place.stride.max(1);
    let in_part = |(index, to): (usize, &mut [f64])| {
        let first = index * ROWS_PER_PART;
        simd::dispatch(Between {
            to,
            place,
            a: &a[first * from.stride..],
            from,
            b,
            sign,
            limit: (part == Part::Lower).then_some(first),
        });
    };
    let chunk = ROWS_PER_PART * place.stride;
    if rows * b.depth * b.width < LEAST_SHARED {
        to.chunks_mut(chunk.max(1)).enumerate().for_each(in_part);
    } else {
        to.par_chunks_mut(chunk).enumerate().for_each(in_part);
    }
}

/// `to ← to + sign · A B` where A lies in the same rows, of so many numbers each.
pub(super) fn add_product_within(
    rows: &mut [f64],
    stride: usize,
    (to, a): (usize, usize),
    b: &Strips,
    sign: f64,
) {
    let in_part = |rows: &mut [f64]| simd::dispatch(Within { rows, stride, to, a, b, sign });
    let chunk = ROWS_PER_PART * stride;
    if rows.len() / stride.max(1) * b.depth * b.width < LEAST_SHARED {
        rows.chunks_mut(chunk.max(1)).for_each(in_part);
    } else {
        rows.par_chunks_mut(chunk).for_each(in_part);
    }
}

/// `to ← to + sign · Aᵀ B`, where A has a row for every row of B.
pub(super) fn add_turned_product(
    (to, place): (&mut [f64], Place),
    (a, from): (&[f64], Place),
    b: &Strips,
    sign: f64,
) {
    simd::dispatch(Turned { to, place, a, from, b, sign });
}

struct Between<'a> {
    to: &'a mut [f64],
    place: Place,
    a: &'a [f64],
    from: Place,
    b: &'a Strips,
    sign: f64,
    /// The number of the first row, where columns beyond a row's own number are left out.
    limit: Option<usize>,
}

impl SimdTask for Between<'_> {
    #[inline(always)]
    fn run(self) {
        let Self { to, place, a, from, b, sign, limit } = self;
        let mut rows = to.chunks_exact_mut(place.stride);
        let mut row = 0;
        let of = |row: usize| &a[row * from.stride + from.at..][..b.depth];
        while let Some(first) = rows.next() {
            // The number of the last of three rows, or of one.
            let most = |last: usize| match limit {
                Some(own) => ((own + last) / STRIP + 1).min(b.count()),
                None => b.count(),
            };
            if rows.len() >= 2 {
                let (Some(second), Some(third)) = (rows.next(), rows.next()) else { return };
                let mut out =
                    [&mut first[place.at..], &mut second[place.at..], &mut third[place.at..]];
                let a = [of(row), of(row + 1), of(row + 2)];
                for index in 0..most(row + 2) {
                    meet(&mut out, a, (b, index), sign);
                }
                row += 3;
            } else {
                let mut out = [&mut first[place.at..]];
                for index in 0..most(row) {
                    meet(&mut out, [of(row)], (b, index), sign);
                }
                row += 1;
            }
        }
    }
}

struct Within<'a> {
    rows: &'a mut [f64],
    stride: usize,
    to: usize,
    a: usize,
    b: &'a Strips,
    sign: f64,
}

impl SimdTask for Within<'_> {
    #[inline(always)]
    fn run(self) {
        let Self { rows, stride, to, a, b, sign } = self;
        let mut rows = rows.chunks_exact_mut(stride);
        let parts = |row| split(row, (to, a), b.depth);
        while let Some(first) = rows.next() {
            let (first, a_first) = parts(first);
            if rows.len() >= 2 {
                let (Some(second), Some(third)) = (rows.next(), rows.next()) else { return };
                let ((second, a_second), (third, a_third)) = (parts(second), parts(third));
                let mut out = [first, second, third];
                let a = [a_first, a_second, a_third];
                for index in 0..b.count() {
                    meet(&mut out, a, (b, index), sign);
                }
            } else {
                let mut out = [first];
                for index in 0..b.count() {
                    meet(&mut out, [a_first], (b, index), sign);
                }
            }
        }
    }
}

/// The part of a row that is written, and the one that is read.
#[inline(always)]
fn split(row: &mut [f64], (to, a): (usize, usize), depth: usize) -> (&mut [f64], &[f64]) {
    if to < a {
        let (written, read) = row.split_at_mut(a);
        (&mut written[to..], &read[..depth])
    } else {
        let (read, written) = row.split_at_mut(to);
        (written, &read[a..][..depth])
    }
}

struct Turned<'a> {
    to: &'a mut [f64],
    place: Place,
    a: &'a [f64],
    from: Place,
    b: &'a Strips,
    sign: f64,
}

impl SimdTask for Turned<'_> {
    #[inline(always)]
    fn run(self) {
        let Self { to, place, a, from, b, sign } = self;
        let mut rows = to.chunks_exact_mut(place.stride);
        let mut row = 0;
        while let Some(first) = rows.next() {
            if rows.len() >= 2 {
                let (Some(second), Some(third)) = (rows.next(), rows.next()) else { return };
                let mut out =
                    [&mut first[place.at..], &mut second[place.at..], &mut third[place.at..]];
                let columns = (a, Place { at: from.at + row, ..from });
                for index in 0..b.count() {
                    meet_turned(&mut out, columns, (b, index), sign);
                }
                row += 3;
            } else {
                let mut out = [&mut first[place.at..]];
                let columns = (a, Place { at: from.at + row, ..from });
                for index in 0..b.count() {
                    meet_turned(&mut out, columns, (b, index), sign);
                }
                row += 1;
            }
        }
    }
}

/// Adds the products of some rows with a strip.
#[inline(always)]
fn meet<const R: usize>(
    out: &mut [&mut [f64]; R],
    a: [&[f64]; R],
    (b, index): (&Strips, usize),
    sign: f64,
) {
    let (strip, first) = (b.strip(index), index * STRIP);
    let left = b.width - first;
    match b.wide(index) {
        12 => store(out, first, left, sums::<R, 12>(a, strip), sign),
        8 => store(out, first, left, sums::<R, 8>(a, strip), sign),
        // Strips are filled up to a multiple of four, so that there are no other widths.
        _ => store(out, first, left, sums::<R, 4>(a, strip), sign),
    }
}

/// Three rows are walked together in variables of their own: an index that is checked in the loop, or sums that are
/// reached by one, would keep these in memory, at half the speed.
#[inline(always)]
fn sums<const R: usize, const N: usize>(a: [&[f64]; R], strip: &[f64]) -> [[f64; N]; R] {
    let mut sums = [[0.0; N]; R];
    let (strip, _) = strip.as_chunks::<N>();
    if R == 3 {
        let (mut x, mut y, mut z) = ([0.0; N], [0.0; N], [0.0; N]);
        for (((b, p), q), r) in strip.iter().zip(a[0]).zip(a[1]).zip(a[2]) {
            add(&mut x, *p, b);
            add(&mut y, *q, b);
            add(&mut z, *r, b);
        }
        (sums[0], sums[1], sums[2]) = (x, y, z);
    } else {
        for (sum, row) in sums.iter_mut().zip(a) {
            strip.iter().zip(row).for_each(|(b, factor)| add(sum, *factor, b));
        }
    }
    sums
}

#[inline(always)]
fn add<const N: usize>(sum: &mut [f64; N], factor: f64, b: &[f64; N]) {
    for c in 0..N {
        sum[c] += factor * b[c];
    }
}

/// The same for some columns of A.
#[inline(always)]
fn meet_turned<const R: usize>(
    out: &mut [&mut [f64]; R],
    columns: (&[f64], Place),
    (b, index): (&Strips, usize),
    sign: f64,
) {
    let (strip, first) = (b.strip(index), index * STRIP);
    let left = b.width - first;
    match b.wide(index) {
        12 => store(out, first, left, sums_turned::<R, 12>(columns, strip), sign),
        8 => store(out, first, left, sums_turned::<R, 8>(columns, strip), sign),
        _ => store(out, first, left, sums_turned::<R, 4>(columns, strip), sign),
    }
}

#[inline(always)]
fn sums_turned<const R: usize, const N: usize>(
    (a, from): (&[f64], Place),
    strip: &[f64],
) -> [[f64; N]; R] {
    let mut sums = [[0.0; N]; R];
    let (strip, _) = strip.as_chunks::<N>();
    let rows = a.chunks(from.stride).zip(strip);
    if R == 3 {
        let (mut x, mut y, mut z) = ([0.0; N], [0.0; N], [0.0; N]);
        for (row, b) in rows {
            let Some([p, q, r]) = row[from.at..].first_chunk::<3>() else { break };
            add(&mut x, *p, b);
            add(&mut y, *q, b);
            add(&mut z, *r, b);
        }
        (sums[0], sums[1], sums[2]) = (x, y, z);
    } else {
        for (row, b) in rows {
            sums.iter_mut().zip(&row[from.at..]).for_each(|(sum, factor)| add(sum, *factor, b));
        }
    }
    sums
}

#[inline(always)]
fn store<const R: usize, const N: usize>(
    out: &mut [&mut [f64]; R],
    first: usize,
    left: usize,
    sums: [[f64; N]; R],
    sign: f64,
) {
    for (out, sums) in out.iter_mut().zip(sums) {
        let out = &mut out[first..];
        match out.first_chunk_mut::<N>().filter(|_| left >= N) {
            Some(out) => {
                for c in 0..N {
                    out[c] += sign * sums[c];
                }
            }
            None => store_some(&mut out[..left], sums, sign),
        }
    }
}

/// The first columns of a strip alone. Apart from the others: a number of columns that is not known would keep all
/// sums in memory.
#[inline(never)]
fn store_some<const N: usize>(out: &mut [f64], sums: [f64; N], sign: f64) {
    for (out, sum) in out.iter_mut().zip(sums) {
        *out += sign * sum;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, Stream};

    fn random(count: usize, seed: u64) -> Vec<f64> {
        let mut stream = Stream::new(seed, 0, 0, Purpose::Data);
        (0..count).map(|_| stream.normal()).collect()
    }

    /// `C + sign · A B`, number by number.
    fn plain(c: &[f64], a: &[f64], b: &[f64], depth: usize, sign: f64) -> Vec<f64> {
        let width = b.len() / depth;
        let entry = |at: usize| -> f64 {
            let (row, column) = (at / width, at % width);
            let products = (0..depth).map(|k| a[row * depth + k] * b[k * width + column]);
            c[at] + sign * products.fold(0.0, |sum, product| sum + product)
        };
        (0..c.len()).map(entry).collect()
    }

    #[test]
    fn products_of_any_shape_are_those_of_plain_sums_to_the_bit() {
        // The last one is large enough for several threads.
        for (rows, depth, width) in
            [(1, 1, 1), (2, 3, 5), (3, 17, 17), (7, 5, 12), (50, 4, 29), (130, 100, 100)]
        {
            let (a, b) = (random(rows * depth, 1), random(depth * width, 2));
            let c = random(rows * width, 3);
            let strips = Strips::of_rows(depth, width, |k| &b[k * width..(k + 1) * width]);
            for sign in [1.0, -1.0] {
                let expected = plain(&c, &a, &b, depth, sign);
                let mut found = c.clone();
                let (to, from) = (Place { stride: width, at: 0 }, Place { stride: depth, at: 0 });
                add_product((&mut found, to), (&a, from), &strips, sign, Part::All);
                assert_eq!(found, expected);
                let turned: Vec<f64> =
                    (0..depth * rows).map(|at| a[at % rows * depth + at / rows]).collect();
                let mut found = c.clone();
                let from = Place { stride: rows, at: 0 };
                add_turned_product((&mut found, to), (&turned, from), &strips, sign);
                assert_eq!(found, expected);
                check_within(&c, &a, (rows, depth, width), &strips, (sign, &expected));
            }
            let turned: Vec<f64> =
                (0..depth * width).map(|at| b[at % depth * width + at / depth]).collect();
            let same = Strips::of_turned(depth, width, |column| &turned[column * depth..][..depth]);
            assert_eq!(same.numbers, strips.numbers);
        }
    }

    fn check_within(
        c: &[f64],
        a: &[f64],
        (rows, depth, width): (usize, usize, usize),
        strips: &Strips,
        (sign, expected): (f64, &[f64]),
    ) {
        let stride = depth + width;
        for (to, from) in [(0, width), (depth, 0)] {
            let mut both = vec![0.0; rows * stride];
            for row in 0..rows {
                both[row * stride + to..][..width].copy_from_slice(&c[row * width..][..width]);
                both[row * stride + from..][..depth].copy_from_slice(&a[row * depth..][..depth]);
            }
            add_product_within(&mut both, stride, (to, from), strips, sign);
            for row in 0..rows {
                assert_eq!(both[row * stride + to..][..width], expected[row * width..][..width]);
            }
        }
    }

    #[test]
    fn the_lower_part_is_computed_up_to_the_diagonal() {
        let (size, depth) = (100, 9);
        let a = random(size * depth, 1);
        let row = |row: usize| &a[row * depth..(row + 1) * depth];
        let strips = Strips::of_turned(depth, size, row);
        let mut found = vec![0.0; size * size];
        let (to, from) = (Place { stride: size, at: 0 }, Place { stride: depth, at: 0 });
        add_product((&mut found, to), (&a, from), &strips, 1.0, Part::Lower);
        for i in 0..size {
            for j in 0..=i {
                let expected = row(i).iter().zip(row(j)).fold(0.0, |sum, (x, y)| sum + x * y);
                assert_eq!(found[i * size + j].to_bits(), expected.to_bits());
            }
        }
    }
}
