//! Numbers as bytes: little-endian, in a fixed layout, without names or nesting.
//!
//! ```text
//! mark  u8        count  u64        number  f64, every bit kept        part  count, then its bytes
//! ```
//!
//! A reader never makes room for more than the bytes it has in hand: lists are read by a length that
//! the reader expects, and a length that was written down is checked against what is left first.

use crate::error::{Error, Result};

/// The bytes of a number.
pub const NUMBER_BYTES: usize = 8;

/// Writes values one after the other.
#[derive(Debug, Clone, Default)]
pub struct Writer {
    bytes: Vec<u8>,
    limit: Option<f64>,
}

impl Writer {
    /// Appends to existing bytes.
    #[must_use]
    pub fn after(bytes: Vec<u8>) -> Self {
        Self { bytes, limit: None }
    }

    /// Refuses numbers for others whose magnitude is above this limit.
    #[must_use]
    pub fn with_limit(self, limit: f64) -> Self {
        Self { limit: Some(limit), ..self }
    }

    /// What has been written.
    #[must_use]
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// How many bytes have been written.
    #[must_use]
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether nothing has been written.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// A small number, or which of some kinds follows.
    pub fn mark(&mut self, mark: u8) {
        self.bytes.push(mark);
    }

    /// Yes or no.
    pub fn flag(&mut self, flag: bool) {
        self.mark(u8::from(flag));
    }

    /// A whole number.
    pub fn word(&mut self, word: u64) {
        self.bytes.extend_from_slice(&word.to_le_bytes());
    }

    /// Whole numbers, one after the other.
    pub fn words(&mut self, words: &[u64]) {
        for word in words {
            self.word(*word);
        }
    }

    /// A whole number of four bytes.
    pub fn short(&mut self, short: u32) {
        self.bytes.extend_from_slice(&short.to_le_bytes());
    }

    /// How many there are of something, or the index of one.
    pub fn count(&mut self, count: usize) {
        self.word(count as u64);
    }

    /// A number, bit for bit.
    pub fn number(&mut self, number: f64) {
        self.bytes.extend_from_slice(&number.to_le_bytes());
    }

    /// Numbers, bit for bit, without their count.
    pub fn numbers(&mut self, numbers: &[f64]) {
        self.bytes.reserve(NUMBER_BYTES * numbers.len());
        for number in numbers {
            self.number(*number);
        }
    }

    /// Numbers that others will read: refused unless all are finite and within the limit, if any.
    pub fn finite(&mut self, what: &'static str, numbers: &[f64]) -> Result<()> {
        if let Some(reason) = fault(numbers, self.limit) {
            return Err(Error::Malformed { what, reason });
        }
        self.numbers(numbers);
        Ok(())
    }

    /// Numbers and, before them, how many there are.
    pub fn list(&mut self, numbers: &[f64]) {
        self.count(numbers.len());
        self.numbers(numbers);
    }

    /// Bytes and, before them, how many there are.
    pub fn part(&mut self, bytes: &[u8]) {
        self.count(bytes.len());
        self.bytes.extend_from_slice(bytes);
    }
}

/// What is wrong with numbers for others, if anything.
fn fault(numbers: &[f64], limit: Option<f64>) -> Option<&'static str> {
    if !numbers.iter().all(|number| number.is_finite()) {
        return Some("holds a number that is not finite");
    }
    let is_absurd = |limit: f64| numbers.iter().any(|number| number.abs() > limit);
    limit.is_some_and(is_absurd).then_some("holds a number beyond the limit of the federation")
}

/// Reads what a [`Writer`] wrote.
#[derive(Debug, Clone)]
pub struct Reader<'a> {
    what: &'static str,
    left: &'a [u8],
    limit: Option<f64>,
}

impl<'a> Reader<'a> {
    /// Reads these bytes; `what` names them in error messages.
    #[must_use]
    pub fn new(what: &'static str, bytes: &'a [u8]) -> Self {
        Self { what, left: bytes, limit: None }
    }

    /// See [`Writer::with_limit`].
    #[must_use]
    pub fn with_limit(self, limit: f64) -> Self {
        Self { limit: Some(limit), ..self }
    }

    /// The refusal of these bytes.
    #[must_use]
    pub fn refusal(&self, reason: &'static str) -> Error {
        Error::Malformed { what: self.what, reason }
    }

    /// How many bytes are left.
    #[must_use]
    pub fn left(&self) -> usize {
        self.left.len()
    }

    /// The end: nothing may be left.
    pub fn finish(self) -> Result<()> {
        if self.left.is_empty() { Ok(()) } else { Err(self.refusal("is longer than expected")) }
    }

    fn take(&mut self, count: usize) -> Result<&'a [u8]> {
        let Some((taken, left)) = self.left.split_at_checked(count) else {
            return Err(self.refusal("is shorter than expected"));
        };
        self.left = left;
        Ok(taken)
    }

    fn eight(&mut self) -> Result<[u8; 8]> {
        Ok(self.take(8)?.try_into().expect("eight bytes were taken"))
    }

    /// See [`Writer::mark`].
    pub fn mark(&mut self) -> Result<u8> {
        Ok(self.take(1)?[0])
    }

    /// See [`Writer::flag`].
    pub fn flag(&mut self) -> Result<bool> {
        match self.mark()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(self.refusal("has a flag that is neither zero nor one")),
        }
    }

    /// See [`Writer::word`].
    pub fn word(&mut self) -> Result<u64> {
        Ok(u64::from_le_bytes(self.eight()?))
    }

    /// See [`Writer::short`].
    pub fn short(&mut self) -> Result<u32> {
        let four = self.take(4)?.try_into().expect("four bytes were taken");
        Ok(u32::from_le_bytes(four))
    }

    /// See [`Writer::count`].
    pub fn count(&mut self) -> Result<usize> {
        usize::try_from(self.word()?).map_err(|_| self.refusal("has a count that is too large"))
    }

    /// See [`Writer::number`].
    pub fn number(&mut self) -> Result<f64> {
        Ok(f64::from_le_bytes(self.eight()?))
    }

    /// See [`Writer::numbers`].
    pub fn numbers(&mut self, count: usize) -> Result<Vec<f64>> {
        let size = count
            .checked_mul(NUMBER_BYTES)
            .ok_or_else(|| self.refusal("has a count that is too large"))?;
        let eights = self.take(size)?.chunks_exact(8);
        Ok(eights.map(|eight| f64::from_le_bytes(eight.try_into().expect("eight bytes"))).collect())
    }

    /// See [`Writer::finite`].
    pub fn finite(&mut self, count: usize) -> Result<Vec<f64>> {
        let numbers = self.numbers(count)?;
        match fault(&numbers, self.limit) {
            None => Ok(numbers),
            Some(reason) => Err(self.refusal(reason)),
        }
    }

    /// See [`Writer::list`].
    pub fn list(&mut self) -> Result<Vec<f64>> {
        let count = self.count()?;
        self.numbers(count)
    }

    /// See [`Writer::part`].
    pub fn part(&mut self) -> Result<&'a [u8]> {
        let count = self.count()?;
        self.take(count)
    }
}

/// A number that depends on every bit: it tells states apart, and protects against no one who means
/// harm. Like FNV-1a it multiplies after every exclusive or, but eight bytes at a time by the golden
/// ratio, and folds the upper half down.
#[must_use]
pub fn digest(bytes: &[u8]) -> u64 {
    let mix = |hash: u64, word: u64| {
        let mixed = (hash ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed ^ (mixed >> 32)
    };
    let mut eights = bytes.chunks_exact(8);
    let word = |eight: &[u8]| u64::from_le_bytes(eight.try_into().expect("eight bytes"));
    let hash = eights.by_ref().map(word).fold(0xcbf2_9ce4_8422_2325 ^ bytes.len() as u64, mix);
    eights.remainder().iter().map(|&byte| u64::from(byte)).fold(hash, mix)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read_bit_for_bit() {
        let numbers = [0.0, -0.0, f64::MIN_POSITIVE / 2.0, f64::NEG_INFINITY, 1.0 / 3.0];
        let mut writer = Writer::default();
        writer.mark(7);
        writer.flag(true);
        writer.word(u64::MAX);
        writer.short(9);
        writer.list(&numbers);
        writer.part(b"abc");
        let bytes = writer.into_bytes();
        let mut reader = Reader::new("a test", &bytes);
        assert_eq!((reader.mark().unwrap(), reader.flag().unwrap()), (7, true));
        assert_eq!((reader.word().unwrap(), reader.short().unwrap()), (u64::MAX, 9));
        let read = reader.list().unwrap();
        assert!(read.iter().zip(&numbers).all(|(a, b)| a.to_bits() == b.to_bits()));
        assert_eq!(reader.part().unwrap(), b"abc");
        reader.finish().unwrap();
    }

    #[test]
    fn lengths_that_lie_are_refused_before_any_room_is_made() {
        let mut writer = Writer::default();
        writer.count(usize::MAX / 4);
        let bytes = writer.into_bytes();
        let message = |read: Result<()>| read.unwrap_err().to_string();
        let mut list = Reader::new("a list", &bytes);
        assert_eq!(message(list.list().map(drop)), "a list has a count that is too large");
        let mut part = Reader::new("a part", &bytes);
        assert_eq!(message(part.part().map(drop)), "a part is shorter than expected");
        assert_eq!(
            message(Reader::new("a word", &bytes).finish()),
            "a word is longer than expected"
        );
        let nan = f64::NAN.to_le_bytes();
        assert!(Reader::new("a number", &nan).finite(1).is_err());
        assert!(Writer::default().finite("a number", &[f64::INFINITY]).is_err());
    }

    #[test]
    fn numbers_beyond_a_limit_are_refused_on_both_sides() {
        for (number, is_fine) in
            [(1e12_f64, true), (-1e12, true), (1.001e12, false), (-1e300, false)]
        {
            let bytes = number.to_le_bytes();
            let mut reader = Reader::new("a number", &bytes).with_limit(1e12);
            assert_eq!(reader.finite(1).is_ok(), is_fine, "{number}");
            let mut writer = Writer::default().with_limit(1e12);
            assert_eq!(writer.finite("a number", &[number]).is_ok(), is_fine, "{number}");
            assert!(Reader::new("a number", &bytes).finite(1).is_ok(), "{number} without a limit");
        }
    }

    #[test]
    fn every_bit_changes_the_digest() {
        let bytes: Vec<u8> = (0..37).collect();
        for bit in 0..bytes.len() * 8 {
            let mut other = bytes.clone();
            other[bit / 8] ^= 1 << (bit % 8);
            assert_ne!(digest(&bytes), digest(&other));
        }
        assert_ne!(digest(&bytes), digest(&bytes[..36]));
    }
}
