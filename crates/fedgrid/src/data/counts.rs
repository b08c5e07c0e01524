//! How many rows a row stands for, and over how much its label was counted,
//!
//! ```text
//! count k      the row k times, in fits, in sums over a node's rows and in errors
//! exposure e   label y counted over e:   Σ k (e μ − y log(e μ))  =  Σ k e (μ − (y / e) log μ) + what no model changes
//! ```
//!
//! so that a count over an exposure is a rate of as much more weight: models of rates need to know nothing else
//! ([`Dataset::rates`]). Where datasets have counts, their weights are proportional to them.

use super::{Dataset, Features, Labels};
use crate::error::{Error, Result, same_size};

impl Dataset {
    /// Rows of which each stands for so many, with a total weight of one.
    ///
    /// ```
    /// use fedgrid::data::{Dataset, Features, Labels};
    /// let features = Features::from_rows(&["month"], &[[1.0], [7.0]])?;
    /// let data = Dataset::counted(features, Labels::values(vec![-3.0, 21.0]), vec![3.0, 1.0])?;
    /// assert_eq!((data.weights(), data.row_count()), (&[0.75, 0.25][..], 4.0));
    /// # Ok::<(), fedgrid::Error>(())
    /// ```
    pub fn counted(features: Features, labels: Labels, counts: Vec<f64>) -> Result<Self> {
        let mut data = Self::weighted(features, labels, counts)?;
        data.counts = Some(data.weights.clone());
        Ok(data.with_total_weight(1.0))
    }

    /// How many rows each one stands for; none if each is one.
    #[must_use]
    pub fn counts(&self) -> Option<&[f64]> {
        self.counts.as_deref()
    }

    /// How many rows one stands for.
    #[must_use]
    pub fn count(&self, row: usize) -> f64 {
        self.counts.as_ref().map_or(1.0, |counts| counts[row])
    }

    /// How many rows all of them stand for.
    #[must_use]
    pub fn row_count(&self) -> f64 {
        self.counts.as_ref().map_or(self.rows() as f64, |counts| counts.iter().sum())
    }

    /// The same rows, whose labels were counted over these exposures.
    pub fn with_exposures(mut self, exposures: Vec<f64>) -> Result<Self> {
        same_size("exposures of rows", exposures.len(), self.rows())?;
        if let Some(row) = exposures.iter().position(|e| !(e.is_finite() && *e > 0.0)) {
            let value = exposures[row];
            return Err(Error::Exposure { row, value });
        }
        self.exposures = Some(exposures.into());
        Ok(self)
    }

    /// Over how much the label of each row was counted; none if over one.
    #[must_use]
    pub fn exposures(&self) -> Option<&[f64]> {
        self.exposures.as_deref()
    }

    /// Over how much the label of a row was counted.
    #[must_use]
    pub fn exposure(&self, row: usize) -> f64 {
        self.exposures.as_ref().map_or(1.0, |exposures| exposures[row])
    }

    /// The rates of rows with exposures, as models see them; rows without any stay as they are.
    #[must_use]
    pub fn rates(mut self) -> Self {
        let Some(exposures) = self.exposures.take() else { return self };
        let outputs = self.task().outputs();
        for (label, exposure) in self.labels.as_mut_slice().chunks_mut(outputs).zip(&*exposures) {
            for value in label {
                *value /= exposure;
            }
        }
        self.multiply_weights(&exposures);
        self
    }

    /// The rates of the rows of all nodes, which count as many rows as before in all, whatever the unit of exposures.
    #[must_use]
    pub fn all_rates(data: Vec<Self>) -> Vec<Self> {
        if data.iter().all(|own| own.exposures.is_none()) {
            return data;
        }
        let rows = |data: &[Self]| data.iter().map(Self::row_count).sum::<f64>();
        let before = rows(&data);
        let mut rates: Vec<Self> = data.into_iter().map(Self::rates).collect();
        // One factor for all nodes, which leaves their shares of all rows as exposures have them.
        let factor = before / rows(&rates);
        for counts in rates.iter_mut().filter_map(|own| own.counts.as_mut()) {
            counts.as_mut().iter_mut().for_each(|count| *count *= factor);
        }
        rates
    }

    /// What a model of rates predicts for these rows, as counts over their exposures.
    #[must_use]
    pub fn over_exposures(&self, mut predictions: Labels) -> Labels {
        if let Some(exposures) = self.exposures() {
            let outputs = predictions.task().outputs();
            let rows = predictions.as_mut_slice().chunks_mut(outputs);
            for (row, exposure) in rows.zip(exposures) {
                for value in row {
                    *value *= exposure;
                }
            }
        }
        predictions
    }

    /// The same rows, each counting as often again as its class says.
    #[must_use]
    pub fn weighed_by_class(mut self, classes: &[f64]) -> Self {
        let factor = |row: usize| -> f64 {
            self.labels.row(row).iter().zip(classes).map(|(share, weight)| share * weight).sum()
        };
        let factors: Vec<f64> = (0..self.rows()).map(factor).collect();
        self.multiply_weights(&factors);
        self
    }

    fn multiply_weights(&mut self, factors: &[f64]) {
        let counts = self.counts.get_or_insert_with(|| vec![1.0; factors.len()].into());
        for numbers in [counts.as_mut(), self.weights.as_mut()] {
            numbers.iter_mut().zip(factors).for_each(|(number, factor)| *number *= factor);
        }
    }

    /// The same rows, of which the first count as others do and the rest once.
    pub(crate) fn counting_as(mut self, first: &Self) -> Self {
        self.counts = first.counts.as_ref().map(|counts| {
            let rest = self.rows() - counts.len();
            [counts, &vec![1.0; rest][..]].concat().into()
        });
        self
    }

    /// Other features and labels of the same rows.
    pub(crate) fn with_values(&self, features: Features, labels: Labels) -> Result<Self> {
        same_size("labelled rows", labels.rows(), features.rows())?;
        same_size("row weights", self.weights.len(), features.rows())?;
        Ok(Self { features, labels, ..self.clone() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data() -> Dataset {
        let features = Features::from_rows(&["x"], &[[1.0], [2.0], [3.0]]).unwrap();
        Dataset::counted(features, Labels::values(vec![4.0, 6.0, 1.0]), vec![1.0, 2.0, 1.0])
            .unwrap()
    }

    #[test]
    fn counts_stay_with_their_rows_and_weights_stay_proportional_to_them() {
        let part = data().select(&[2, 1]);
        assert_eq!((part.counts(), part.row_count()), (Some(&[1.0, 2.0][..]), 3.0));
        assert_eq!(part.with_total_weight(6.0).weights(), [2.0, 4.0]);
        let plain = Dataset::new(data().features().clone(), data().labels().clone()).unwrap();
        assert_eq!((plain.row_count(), plain.count(1), plain.counts()), (3.0, 1.0, None));
        let ones = vec![1.0; 3];
        let same = Dataset::counted(plain.features().clone(), plain.labels().clone(), ones);
        assert_eq!(same.unwrap().weights(), plain.weights());
        // Rows that count and rows that do not are each one where they meet.
        let both = plain.stacked(&data()).unwrap();
        assert_eq!(both.counts(), Some(&[1.0, 1.0, 1.0, 1.0, 2.0, 1.0][..]));
    }

    #[test]
    fn rates_are_labels_over_exposures_that_weigh_as_much_more() {
        let rates = data().with_exposures(vec![2.0, 1.0, 0.5]).unwrap().rates();
        assert_eq!(rates.labels().as_slice(), [2.0, 6.0, 2.0]);
        assert_eq!(rates.weights(), [0.5, 0.5, 0.125]);
        assert_eq!((rates.row_count(), rates.exposures()), (4.5, None));
        assert_eq!(rates.clone().rates(), rates);
        let all = |unit: f64| {
            let exposures = [2.0, 1.0, 0.5].map(|e| e * unit).to_vec();
            let [own] = &Dataset::all_rates(vec![data().with_exposures(exposures).unwrap()])[..]
            else {
                panic!("one node stays one")
            };
            (own.row_count(), own.counts().unwrap().to_vec())
        };
        assert_eq!((all(1.0), all(1.0).0), (all(8.0), 4.0));
        let refusal = data().with_exposures(vec![1.0, 0.0, 1.0]).unwrap_err();
        assert_eq!(refusal.to_string(), "the exposure of row 1 is 0, expected a positive number");
    }

    #[test]
    fn a_class_that_weighs_twice_is_its_rows_twice() {
        let features = Features::from_rows(&["x"], &[[1.0], [2.0]]).unwrap();
        let labels = Labels::classes(2, &[1, 0]).unwrap();
        let data = Dataset::new(features, labels).unwrap().weighed_by_class(&[1.0, 2.0]);
        assert_eq!((data.weights(), data.row_count()), (&[1.0, 0.5][..], 3.0));
    }
}
