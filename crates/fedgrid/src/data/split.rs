//! Which rows train, which tune and which test.
//!
//! Strengths are chosen on validation rows and the comparison is read off test rows. With a stored
//! split there is one fold and the final models see its training rows only; without validation
//! rows the training rows of each node take turns (k folds), and the final models see them all.
//!
//! What is drawn depends on what rows hold and on how their nodes are called: the same table in another
//! order is divided in the same way.

use super::{Dataset, Features, by_name};
use crate::{
    error::{Error, Result},
    random::{Purpose, Stream},
};

/// What a row is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Models are fitted to it.
    Train,
    /// Strengths are chosen by it.
    Validation,
    /// Methods are compared by it.
    Test,
}

/// What roles and turns are drawn from.
#[derive(Debug, Clone, Copy)]
pub struct RowDraws<'a> {
    /// The name of each node.
    pub names: &'a [String],
    /// The rows of each node.
    pub rows: &'a [Dataset],
    /// The seed.
    pub seed: u64,
}

impl RowDraws<'_> {
    /// The nodes by name, each with its rows by what they hold.
    fn ranked(&self) -> impl Iterator<Item = (usize, Vec<usize>)> {
        by_name(self.names).into_iter().map(|node| {
            let rows = &self.rows[node];
            (node, rows.ranked_rows().unwrap_or_else(|| (0..rows.rows()).collect()))
        })
    }
}

/// One division of rows into those that train and those that validate, node by node.
#[derive(Debug, Clone, PartialEq)]
pub struct Fold {
    /// The training rows of each node.
    pub train: Vec<Vec<usize>>,
    /// The validation rows of each node.
    pub validation: Vec<Vec<usize>>,
}

/// How all rows are used, node by node.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The folds on which strengths are chosen.
    pub folds: Vec<Fold>,
    /// The rows that the final models see.
    pub train: Vec<Vec<usize>>,
    /// The rows by which methods are compared; none if all were needed for training.
    pub test: Vec<Vec<usize>>,
}

impl Plan {
    /// The plan for rows of given roles. Without a validation row, training rows take turns in
    /// `folds` folds.
    #[must_use]
    pub fn new(roles: &[Vec<Role>], folds: usize, draws: &RowDraws) -> Self {
        Self::unfolded(roles).folded(folds, draws)
    }

    /// The same plan with folds: where there is none, training rows take turns.
    #[must_use]
    pub fn folded(mut self, folds: usize, draws: &RowDraws) -> Self {
        if self.folds.is_empty() {
            self.folds = turns(&self.train, folds, draws);
        }
        self
    }

    /// The plan for so many rows of each node, all of which train; they take no turns yet.
    #[must_use]
    pub fn whole(rows: impl Iterator<Item = usize>) -> Self {
        let train: Vec<Vec<usize>> = rows.map(|count| (0..count).collect()).collect();
        Self { folds: Vec::new(), test: vec![Vec::new(); train.len()], train }
    }

    /// The plan for rows of which none take turns: without a validation row there is no fold, and
    /// nothing can be chosen.
    #[must_use]
    pub fn unfolded(roles: &[Vec<Role>]) -> Self {
        let of = |role: Role| -> Vec<Vec<usize>> {
            let rows = |roles: &Vec<Role>| (0..roles.len()).filter(|&r| roles[r] == role).collect();
            roles.iter().map(rows).collect()
        };
        let (train, validation, test) = (of(Role::Train), of(Role::Validation), of(Role::Test));
        let folds = if validation.iter().all(Vec::is_empty) {
            Vec::new()
        } else {
            vec![Fold { train: train.clone(), validation }]
        };
        Self { folds, train, test }
    }

    /// Roles drawn at random for each node: the given shares train and validate, the rest tests.
    #[must_use]
    pub fn draw(train: f64, validation: f64, draws: &RowDraws) -> Vec<Vec<Role>> {
        let mut all: Vec<Vec<Role>> =
            draws.rows.iter().map(|data| vec![Role::Test; data.rows()]).collect();
        for (place, (node, ranked)) in draws.ranked().enumerate() {
            let first = share(ranked.len(), train);
            // Both shares at once, so that two roundings do not add up.
            let second = share(ranked.len(), train + validation);
            // A stream per node: its roles do not depend on the rows of others.
            let drawn = Stream::new(draws.seed, place, 0, Purpose::Split).permutation(ranked.len());
            for (turn, &rank) in drawn.iter().enumerate().take(second) {
                all[node][ranked[rank]] = if turn < first { Role::Train } else { Role::Validation };
            }
        }
        all
    }

    /// Whether methods can be compared on rows that nothing was chosen by.
    #[must_use]
    pub fn has_test(&self) -> bool {
        self.test.iter().any(|rows| !rows.is_empty())
    }

    /// The training rows of each node.
    #[must_use]
    pub fn training_rows(&self, rows: &[Dataset]) -> Vec<Dataset> {
        rows.iter().zip(&self.train).map(|(data, rows)| data.select(rows)).collect()
    }

    /// The features of the training rows of all nodes, under one another.
    pub fn training_features(&self, rows: &[Dataset]) -> Result<Features> {
        let mut parts =
            rows.iter().zip(&self.train).map(|(data, rows)| data.features().select(rows));
        let first = parts.next().ok_or(Error::NoData)?;
        parts.try_fold(first, |above, below| above.stacked(&below))
    }
}

/// A share of a count, rounded to the nearest row.
#[must_use]
pub fn share(count: usize, share: f64) -> usize {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 ≤ share ≤ 1")]
    let rows = (count as f64 * share).round() as usize;
    rows.min(count)
}

/// Each node's rows in random order, dealt to the folds one by one. Dealing goes on from node to
/// node, so that nodes with one row do not all lose it in the same fold.
fn turns(train: &[Vec<usize>], folds: usize, draws: &RowDraws) -> Vec<Fold> {
    let nodes = train.len();
    let empty = Fold { train: vec![Vec::new(); nodes], validation: vec![Vec::new(); nodes] };
    let mut dealt = vec![empty; folds];
    let mut turn = 0;
    for (place, (node, mut order)) in draws.ranked().enumerate() {
        // Roles list the rows of a node in ascending order.
        order.retain(|row| train[node].binary_search(row).is_ok());
        // Round 0 of this stream is for roles.
        Stream::new(draws.seed, place, 1, Purpose::Split).shuffle(&mut order);
        for row in order {
            for (number, fold) in dealt.iter_mut().enumerate() {
                let part = if number == turn { &mut fold.validation } else { &mut fold.train };
                part[node].push(row);
            }
            turn = (turn + 1) % folds;
        }
    }
    // In the order of the table, so that sums over rows round alike in all folds.
    for fold in &mut dealt {
        fold.train.iter_mut().chain(&mut fold.validation).for_each(|rows| rows.sort_unstable());
    }
    dealt
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Labels;

    /// Nodes with so many different rows.
    fn rows(counts: &[usize]) -> (Vec<String>, Vec<Dataset>) {
        let row = |node: usize, row: usize| [(node * 7 + row * row) as f64 % 11.0];
        let data = |(node, &count): (usize, &usize)| {
            let values: Vec<[f64; 1]> = (0..count).map(|k| row(node, k)).collect();
            let labels = Labels::values((0..count).map(|k| ((k * 5) % 7) as f64).collect());
            Dataset::new(Features::from_rows(&["x"], &values).unwrap(), labels).unwrap()
        };
        let names = (0..counts.len()).map(|node| format!("n{node}")).collect();
        (names, counts.iter().enumerate().map(data).collect())
    }

    #[test]
    fn every_training_row_validates_exactly_once_and_never_in_its_own_fold() {
        let roles = vec![vec![Role::Train; 7], vec![Role::Train], vec![], vec![Role::Train; 3]];
        let (names, data) = rows(&[7, 1, 0, 3]);
        let plan = Plan::new(&roles, 5, &RowDraws { names: &names, rows: &data, seed: 1 });
        for (node, roles) in roles.iter().enumerate() {
            let mut seen: Vec<usize> =
                plan.folds.iter().flat_map(|fold| fold.validation[node].clone()).collect();
            seen.sort_unstable();
            assert_eq!(seen, (0..roles.len()).collect::<Vec<_>>());
            for fold in &plan.folds {
                assert!(fold.validation[node].iter().all(|row| !fold.train[node].contains(row)));
                let both = fold.train[node].len() + fold.validation[node].len();
                assert_eq!(both, roles.len());
            }
        }
        assert!(!plan.has_test());
    }

    #[test]
    fn a_stored_split_is_one_fold_and_the_final_models_never_see_validation_rows() {
        let (names, data) = rows(&[3]);
        let roles = [vec![Role::Test, Role::Train, Role::Validation]];
        let plan = Plan::new(&roles, 5, &RowDraws { names: &names, rows: &data, seed: 1 });
        assert_eq!(plan.folds, [Fold { train: vec![vec![1]], validation: vec![vec![2]] }]);
        assert_eq!((plan.train, plan.test), (vec![vec![1]], vec![vec![0]]));
    }

    #[test]
    fn rows_that_all_train_need_no_roles() {
        let (names, data) = rows(&[3, 0, 1]);
        let draws = &RowDraws { names: &names, rows: &data, seed: 5 };
        let roles = Plan::draw(1.0, 0.0, draws);
        assert_eq!(Plan::whole([3, 0, 1].into_iter()), Plan::unfolded(&roles));
        assert_eq!(
            Plan::whole([3, 0, 1].into_iter()).folded(2, draws),
            Plan::new(&roles, 2, draws)
        );
    }

    #[test]
    fn drawn_roles_keep_the_shares() {
        let (names, data) = rows(&[100, 1]);
        let roles = Plan::draw(0.5, 0.25, &RowDraws { names: &names, rows: &data, seed: 3 });
        let count = |role| roles[0].iter().filter(|r| **r == role).count();
        let counts = [Role::Train, Role::Validation, Role::Test].map(count);
        assert_eq!(counts, [50, 25, 25]);
        assert_eq!(roles[1], [Role::Train]);
    }

    #[test]
    fn another_order_of_rows_and_nodes_draws_the_same_roles_and_turns() {
        let (names, data) = rows(&[20, 9, 5]);
        let drawn = |names: &[String], rows: &[Dataset]| {
            let draws = &RowDraws { names, rows, seed: 4 };
            let roles = Plan::draw(0.6, 0.0, draws);
            Plan::new(&roles, 3, draws)
        };
        let (order, moved) = ([2, 0, 1], |rows: usize| (0..rows).rev().collect::<Vec<_>>());
        let other_names: Vec<String> = order.iter().map(|&node| names[node].clone()).collect();
        let other: Vec<Dataset> =
            order.iter().map(|&node| data[node].select(&moved(data[node].rows()))).collect();
        let (plan, again) = (drawn(&names, &data), drawn(&other_names, &other));
        let held = |data: &Dataset, rows: &[usize]| {
            let chosen = data.select(rows);
            let order = chosen.ranked_rows().unwrap_or_else(|| (0..chosen.rows()).collect());
            chosen.select(&order)
        };
        for (place, &node) in order.iter().enumerate() {
            let same = |a: &[Vec<usize>], b: &[Vec<usize>]| {
                assert_eq!(held(&data[node], &a[node]), held(&other[place], &b[place]));
            };
            same(&plan.train, &again.train);
            same(&plan.test, &again.test);
            for (fold, other) in plan.folds.iter().zip(&again.folds) {
                same(&fold.validation, &other.validation);
            }
        }
    }
}
