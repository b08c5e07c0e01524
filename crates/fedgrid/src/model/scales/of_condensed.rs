//! Condensed rows in the units of models and in those of a table, and the scales that all rows have which they stand for.

use std::sync::Arc;

use super::{Scales, Scaling};
use crate::{
    data::{CondensedRows, Dataset, Features, Task, by_name},
    error::Result,
    model::LocalModel,
};

impl Scales {
    /// The scales of rows of which these are the sums, one for each of the nodes of these names, in the units of a table
    /// with these features. As [`Scales::of`] has them of the rows: units know of rows how many there are, their means and
    /// their products.
    pub fn of_condensed(
        names: &[String],
        (features, rows): (&Arc<[String]>, &[CondensedRows]),
        models: &[Arc<dyn LocalModel>],
    ) -> Result<Option<Self>> {
        let expanded = rows.iter().map(|own| own.expanded(features.clone()));
        Self::of(names, &expanded.collect::<Result<Vec<_>>>()?, models)
    }

    /// Rows as models see them in the units of the table, to the last digits.
    pub fn rows_for_table(&self, scaled: &Dataset) -> Result<Dataset> {
        let mut labels = scaled.labels().clone();
        if labels.task() == Task::Regression {
            labels.as_mut_slice().iter_mut().for_each(|label| *label *= self.target);
        }
        if scaled.rows() == 0 {
            return scaled.with_values(Features::empty(self.names.clone()), labels);
        }
        let (order, Scaling { means, deviations }) = (by_name(&self.names), &self.scaling);
        let mut values = vec![0.0; scaled.rows() * order.len()];
        for (row, x) in values.chunks_exact_mut(order.len()).zip(scaled.features().iter()) {
            for (x, &column) in x.iter().zip(&order) {
                row[column] = deviations[column] * x + means[column];
            }
        }
        scaled.with_values(Features::new(self.names.clone(), values)?, labels)
    }

    /// Condensed rows of the table as models see them.
    pub fn condensed(&self, table: &CondensedRows) -> Result<CondensedRows> {
        let (order, Scaling { means, deviations }) = (self.order(table)?, &self.scaling);
        let value = |k: usize, value: f64| match order[k] {
            column if column < means.len() => (value - means[column]) / deviations[column],
            _ => value / self.target,
        };
        Ok(table.mapped(&order, value, |k| 1.0 / self.unit(order[k])))
    }

    /// Condensed rows as models see them in the units of the table.
    pub fn condensed_for_table(&self, scaled: &CondensedRows) -> Result<CondensedRows> {
        let (order, Scaling { means, deviations }) = (self.order(scaled)?, &self.scaling);
        let mut places = order.clone();
        order.iter().enumerate().for_each(|(place, &column)| places[column] = place);
        let value = |column: usize, value: f64| {
            if column < means.len() {
                deviations[column] * value + means[column]
            } else {
                self.target * value
            }
        };
        Ok(scaled.mapped(&places, value, |column| self.unit(column)))
    }

    /// The columns of the table in the order in which models have them, the target behind them, if it is there.
    fn order(&self, rows: &CondensedRows) -> Result<Vec<usize>> {
        let mut order = by_name(&self.names);
        // Public points have no target.
        if rows.check(order.len()).is_err() || rows.rows() == 0 {
            order.push(order.len());
        }
        rows.check(order.len())?;
        Ok(order)
    }

    /// What one is worth in a column of the table, the target behind the features.
    fn unit(&self, column: usize) -> f64 {
        self.scaling.deviations.get(column).copied().unwrap_or(self.target)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        data::{FeatureMoments, Labels},
        model::Linear,
        random::{Purpose, Stream},
    };

    /// Rows of nodes of different slopes, in columns whose order is not that of their names.
    fn rows() -> Vec<Dataset> {
        let of_node = |node: usize| {
            let mut stream = Stream::new(3, node, 0, Purpose::Data);
            let slope = 1.0 + stream.normal();
            let (mut x, mut y) = (Vec::new(), Vec::new());
            for _ in 0..[30, 1, 4][node % 3] {
                x.push([1e3 + stream.normal(), 5.0, 0.1 * stream.normal()]);
                y.push(7.0 + slope * x[x.len() - 1][0] + stream.normal());
            }
            let counts = (0..x.len()).map(|_| 0.5 + stream.uniform()).collect();
            let features = Features::from_rows(&["c", "a", "b"], &x).unwrap();
            Dataset::counted(features, Labels::values(y), counts).unwrap()
        };
        (0..9).map(of_node).collect()
    }

    fn check_near(a: &[f64], b: &[f64]) {
        assert_eq!(a.len(), b.len());
        for (a, b) in a.iter().zip(b) {
            assert!((a - b).abs() < 1e-9 * (1.0 + b.abs()), "{a} {b}");
        }
    }

    #[test]
    fn condensed_rows_give_the_scales_of_their_rows_and_go_there_and_back() {
        let data = rows();
        let names: Vec<String> = (0..data.len()).map(|node| format!("n{node}")).collect();
        let model: Arc<dyn LocalModel> = Arc::new(Linear { intercept: true, ridge: 0.0 });
        let models = vec![model; data.len()];
        let truth = Scales::of(&names, &data, &models).unwrap().unwrap();
        let sums: Vec<_> = data.iter().map(|own| CondensedRows::of(own).unwrap()).collect();
        let table = data[0].features().names();
        let found = Scales::of_condensed(&names, (table, &sums), &models).unwrap().unwrap();
        check_near(&found.scaling.means, &truth.scaling.means);
        check_near(&found.scaling.deviations, &truth.scaling.deviations);
        check_near(&[found.target], &[truth.target]);
        for (own, sums) in data.iter().zip(&sums) {
            let seen = truth.condensed(sums).unwrap();
            let direct = CondensedRows::of(&truth.rows(own).unwrap()).unwrap();
            let names: Arc<[String]> = ["a", "b", "c"].map(String::from).into();
            let moments = |rows: &CondensedRows| rows.feature_moments(names.clone()).unwrap();
            let (seen_moments, direct) = (moments(&seen), moments(&direct));
            check_near(seen_moments.means(), direct.means());
            (0..9).for_each(|at| {
                let of = |moments: &FeatureMoments| moments.covariance(at / 3, at % 3);
                check_near(&[of(&seen_moments)], &[of(&direct)]);
            });
            let table_rows = truth.rows_for_table(&truth.rows(own).unwrap()).unwrap();
            check_near(table_rows.features().values(), own.features().values());
            check_near(table_rows.labels().as_slice(), own.labels().as_slice());
            let back = truth.condensed_for_table(&seen).unwrap().expanded(table.clone()).unwrap();
            let there = sums.expanded(table.clone()).unwrap();
            check_near(back.features().values(), there.features().values());
            check_near(back.labels().as_slice(), there.labels().as_slice());
        }
        let points = CondensedRows::of_points(data[0].features());
        let scaled = CondensedRows::of_points(&truth.features(data[0].features()).unwrap());
        let back = truth.condensed_for_table(&scaled).unwrap();
        assert!(back.check(3).is_ok());
        let means = |points: &CondensedRows| {
            let points = points.expanded_points(table.clone()).unwrap();
            FeatureMoments::of(&points).unwrap().means().to_vec()
        };
        check_near(&means(&back), &means(&points));
    }
}
