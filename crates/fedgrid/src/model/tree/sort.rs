//! The order of numbers, by digits of an integer that is in the same order,
//!
//! ```text
//! digits(x) = ⌊(key(x) − min key) / 2^shift⌋ < 2²⁶      sorted by 13 bits at a time
//! ```
//!
//! Numbers whose digits agree are then compared in full, so the order is exact and stable.

use std::cmp::Ordering;

/// Below this size comparing is faster than counting digits.
const FEWEST_COUNTED_ROWS: usize = 1000;

/// How many bits a digit has.
const DIGIT_BITS: u32 = 13;

/// How many digits there are.
const DIGIT_COUNT: u32 = 2;

/// An integer in the order of the numbers; both zeros have the same.
pub(super) fn key(x: f64) -> i64 {
    let bits = unsigned_zero(x).to_bits().cast_signed();
    bits ^ ((bits >> 63).cast_unsigned() >> 1).cast_signed()
}

/// Adding zero makes minus zero zero and changes nothing else.
pub(super) fn unsigned_zero(x: f64) -> f64 {
    x + 0.0
}

/// The order of two lists of numbers, both zeros being equal.
pub(super) fn compare(a: &[f64], b: &[f64]) -> Ordering {
    a.iter().map(|x| key(*x)).cmp(b.iter().map(|x| key(*x)))
}

/// Buffers that are kept from one sort to the next.
#[derive(Default)]
pub(super) struct Sorter {
    keys: Vec<u64>,
    /// Digits in the upper half, the index of the number in the lower half.
    records: Vec<u64>,
    spare: Vec<u64>,
    /// How often each value of each digit occurs.
    counts: [Vec<u32>; DIGIT_COUNT as usize],
}

impl Sorter {
    /// Writes the indices of the numbers in ascending order; equal numbers keep their order.
    pub(super) fn sort(&mut self, numbers: impl Iterator<Item = f64>, order: &mut Vec<u32>) {
        self.keys.clear();
        self.keys.extend(numbers.map(|x| key(x).cast_unsigned() ^ (1 << 63)));
        let low = self.keys.iter().copied().min().unwrap_or(0);
        let range = self.keys.iter().copied().max().unwrap_or(0) - low;
        // As many leading bits as the range leaves: then few numbers agree in all digits.
        let shift = (u64::BITS - DIGIT_COUNT * DIGIT_BITS).saturating_sub(range.leading_zeros());
        let indices = 0..u64::from(u32::try_from(self.keys.len()).expect("fewer than 2³² rows"));
        // With the index in its lower half a record equals no other, so every sort is stable.
        self.records.clear();
        self.records
            .extend(self.keys.iter().zip(indices).map(|(k, i)| (k - low) >> shift << 32 | i));
        if self.records.len() < FEWEST_COUNTED_ROWS {
            self.records.sort_unstable();
        } else {
            self.count_digits();
        }
        if shift > 0 {
            self.compare_in_full();
        }
        order.extend(self.records.iter().map(|&record| index(record)));
    }

    /// Sorts the records by each of their digits, the last one first.
    fn count_digits(&mut self) {
        const DIGIT_VALUES: u64 = 1 << DIGIT_BITS;
        let digit = |record: u64, pass: usize| {
            ((record >> (32 + DIGIT_BITS as usize * pass)) & (DIGIT_VALUES - 1)) as usize
        };
        let mut counts = std::mem::take(&mut self.counts);
        for counts in &mut counts {
            counts.clear();
            counts.resize(1 << DIGIT_BITS, 0);
        }
        for &record in &self.records {
            for (pass, counts) in counts.iter_mut().enumerate() {
                counts[digit(record, pass)] += 1;
            }
        }
        self.spare.resize(self.records.len(), 0);
        for (pass, counts) in counts.iter_mut().enumerate() {
            // All numbers share this digit: the pass would copy them and change nothing.
            if counts[digit(self.records[0], pass)] as usize == self.records.len() {
                continue;
            }
            let mut begin = 0;
            for count in counts.iter_mut() {
                begin += std::mem::replace(count, begin);
            }
            for &record in &self.records {
                let next = &mut counts[digit(record, pass)];
                self.spare[*next as usize] = record;
                *next += 1;
            }
            std::mem::swap(&mut self.records, &mut self.spare);
        }
        self.counts = counts;
    }

    /// Puts records of equal digits in the order of their numbers.
    fn compare_in_full(&mut self) {
        let keys = &self.keys;
        for run in self.records.chunk_by_mut(|a, b| a >> 32 == b >> 32).filter(|r| r.len() > 1) {
            run.sort_unstable_by_key(|&record| (keys[index(record) as usize], record));
        }
    }
}

/// The index that a record holds in its lower half.
#[expect(clippy::cast_possible_truncation, reason = "the lower half is wanted")]
fn index(record: u64) -> u32 {
    record as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, Stream};

    #[test]
    fn the_order_is_ascending_and_stable_for_numbers_of_all_kinds() {
        let mut stream = Stream::new(1, 0, 0, Purpose::Data);
        let mut sorter = Sorter::default();
        for (case, size) in [0, 1, 2, 50, 999, 1000, 1001, 3000].repeat(5).into_iter().enumerate() {
            let number = |_| match case / 8 {
                0 => stream.normal(),
                1 => stream.index(4) as f64 - 2.0,
                2 => 1e9 + 1e-6 * stream.normal(),
                3 => (600.0 * stream.normal()).exp().min(1e300) * stream.normal(),
                _ => -0.0 * stream.normal(),
            };
            let numbers: Vec<f64> = (0..size).map(number).collect();
            let mut order = Vec::new();
            sorter.sort(numbers.iter().copied(), &mut order);
            let mut expected: Vec<u32> = (0..u32::try_from(size).unwrap()).collect();
            let number = |index: &u32| numbers[*index as usize];
            expected.sort_by(|a, b| number(a).partial_cmp(&number(b)).unwrap());
            assert_eq!(order, expected, "case {case}");
        }
    }
}
