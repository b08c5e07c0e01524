//! Orders that depend on what things are called or hold, not on where a file happens to have them.

use std::cmp::Ordering;

use super::Dataset;

/// The positions of names in their order: numbers by size, text by letters.
#[must_use]
pub fn by_name(names: &[String]) -> Vec<usize> {
    let numbers: Option<Vec<i64>> = names.iter().map(|name| name.parse().ok()).collect();
    let mut order: Vec<usize> = (0..names.len()).collect();
    match numbers {
        // `07` and `7` are one number, but two names.
        Some(numbers) => order.sort_by_key(|&at| (numbers[at], &names[at])),
        None => order.sort_by_key(|&at| &names[at]),
    }
    order
}

impl Dataset {
    /// The rows by label, then by features in the order of their names, then by what they count for; none if they are
    /// in that order. Of equal rows the first stays the first, which nothing can tell from another order.
    #[must_use]
    pub fn ranked_rows(&self) -> Option<Vec<usize>> {
        let columns = by_name(self.features().names());
        let compare = |a: &usize, b: &usize| {
            let (left, right) = (self.features().row(*a), self.features().row(*b));
            let features = columns.iter().map(|&column| numbers(left[column], right[column]));
            // From the last, by which class zero comes first.
            let labels = self.labels().row(*a).iter().zip(self.labels().row(*b)).rev();
            let [counts, exposures] =
                [Self::count, Self::exposure].map(|of| numbers(of(self, *a), of(self, *b)));
            let mut differences =
                labels.map(|(a, b)| numbers(*a, *b)).chain(features).chain([counts, exposures]);
            differences.find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
        };
        let mut rows: Vec<usize> = (0..self.rows()).collect();
        if rows.is_sorted_by(|a, b| compare(a, b).is_le()) {
            return None;
        }
        rows.sort_by(compare);
        Some(rows)
    }
}

/// Finite numbers by size; a zero has no sign.
fn numbers(a: f64, b: f64) -> Ordering {
    a.partial_cmp(&b).unwrap_or(Ordering::Equal)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        data::{Features, Labels},
        error::Result,
    };

    #[test]
    fn numbers_are_in_order_of_size_and_text_in_that_of_letters() {
        let order =
            |names: &[&str]| by_name(&names.iter().map(ToString::to_string).collect::<Vec<_>>());
        assert_eq!(order(&["10", "9", "-1"]), [2, 1, 0]);
        assert_eq!(order(&["b10", "b9", "a"]), [2, 0, 1]);
        assert_eq!(order(&["7", "07", "x"]), [1, 0, 2]);
    }

    #[test]
    fn rows_are_ranked_by_label_and_then_by_features_in_the_order_of_their_names() -> Result<()> {
        let features =
            Features::from_rows(&["z", "a"], &[[0.0, 2.0], [9.0, 1.0], [1.0, 1.0], [5.0, 5.0]])?;
        let data = Dataset::new(features, Labels::values(vec![3.0, 3.0, 3.0, -1.0]))?;
        assert_eq!(data.ranked_rows(), Some(vec![3, 2, 1, 0]));
        assert_eq!(data.select(&[3, 2, 1, 0]).ranked_rows(), None);
        let equal = data.select(&[1, 1, 1]);
        assert_eq!(equal.ranked_rows(), None);
        let classes = Labels::classes(3, &[2, 0, 1, 0])?;
        let classes = Dataset::new(data.features().clone(), classes)?;
        assert_eq!(classes.ranked_rows(), Some(vec![1, 3, 2, 0]));
        Ok(())
    }
}
