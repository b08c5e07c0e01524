//! Numbers that many may hold: a run of neighbouring ones among those of others.

use std::{ops::Deref, sync::Arc};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Neighbouring numbers. Clones and parts share them; who changes them gets a copy of their own.
#[derive(Debug, Clone, Default)]
pub(super) struct SharedNumbers {
    all: Arc<Vec<f64>>,
    first: usize,
    length: usize,
}

impl From<Vec<f64>> for SharedNumbers {
    fn from(numbers: Vec<f64>) -> Self {
        Self { first: 0, length: numbers.len(), all: Arc::new(numbers) }
    }
}

impl Deref for SharedNumbers {
    type Target = [f64];

    fn deref(&self) -> &[f64] {
        &self.all[self.first..self.first + self.length]
    }
}

impl PartialEq for SharedNumbers {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Serialize for SharedNumbers {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (**self).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for SharedNumbers {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Vec::deserialize(deserializer).map(Self::from)
    }
}

impl SharedNumbers {
    /// Some neighbouring numbers of these, without a copy.
    pub(super) fn part(&self, first: usize, length: usize) -> Self {
        debug_assert!(first + length <= self.length);
        Self { all: self.all.clone(), first: self.first + first, length }
    }

    /// Rows of so many numbers in the given order; neighbouring ones are shared.
    pub(super) fn select(&self, rows: &[usize], width: usize) -> Self {
        let start = rows.first().copied().unwrap_or(0);
        // Rows in sequence are the commonest selection.
        if rows.iter().copied().eq(start..start + rows.len()) {
            return self.part(start * width, rows.len() * width);
        }
        let mut numbers = Vec::with_capacity(rows.len() * width);
        for &row in rows {
            numbers.extend_from_slice(&self[row * width..(row + 1) * width]);
        }
        numbers.into()
    }

    /// Whether these are the others themselves, and not only equal to them.
    pub(super) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.all, &other.all)
            && (self.first, self.length) == (other.first, other.length)
    }

    /// The numbers, to be changed in place.
    pub(super) fn as_mut(&mut self) -> &mut [f64] {
        self.own()
    }

    /// These followed by others, without a copy where they follow each other already.
    pub(super) fn extend(&mut self, below: &Self) {
        if Arc::ptr_eq(&self.all, &below.all) && below.first == self.first + self.length {
            self.length += below.length;
            return;
        }
        self.own().extend_from_slice(below);
        // By now the store holds these numbers and no others.
        self.length = self.all.len();
    }

    /// All numbers of a store that holds no others and that nobody else looks at.
    fn own(&mut self) -> &mut Vec<f64> {
        // Changes must not reach numbers of others in the same store.
        if self.length < self.all.len() {
            *self = self.to_vec().into();
        }
        Arc::make_mut(&mut self.all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn four() -> SharedNumbers {
        vec![1.0, 2.0, 3.0, 4.0].into()
    }

    #[test]
    fn parts_are_shared_until_they_are_changed() {
        let all = four();
        let mut middle = all.select(&[1, 2], 1);
        assert!(Arc::ptr_eq(&middle.all, &all.all) && *middle == [2.0, 3.0]);
        assert!(middle.is(&all.part(1, 2)) && !middle.is(&vec![2.0, 3.0].into()));
        middle.as_mut()[0] = 9.0;
        assert_eq!((&*middle, &*all), (&[9.0, 3.0][..], &[1.0, 2.0, 3.0, 4.0][..]));
        assert_eq!(*all.select(&[1, 0], 2), [3.0, 4.0, 1.0, 2.0]);
        assert!(all.select(&[], 1).is_empty());
    }

    #[test]
    fn what_follows_already_is_joined_without_a_copy() {
        let all = four();
        let mut joined = all.part(0, 1);
        joined.extend(&all.part(1, 3));
        assert!(joined.is(&all));
        joined.extend(&all.part(0, 1));
        assert_eq!(*joined, [1.0, 2.0, 3.0, 4.0, 1.0]);
        assert_eq!(all, four());
    }
}
