//! In which rounds trees grow, where they keep their splits in between: while strengths are compared.

/// The rounds in which trees grow: 1, 4, 16, … rounds after nodes knew nothing of each other.
///
/// Labels change less and less, so that trees need to grow less and less often. Three rounds pass between the first two,
/// in which models hear of nodes farther away.
#[derive(Debug, Clone, Copy)]
pub(super) struct Growth {
    /// Rounds that the labels of the first round are worth.
    rounds_before: usize,
}

/// The labels of models of another strength are as good as those that so many rounds give from models that were
/// fitted alone.
const ROUNDS_OF_A_START: usize = 3;

impl Growth {
    /// From models of another strength, or from local ones.
    pub(super) fn new(has_start: bool) -> Self {
        Self { rounds_before: if has_start { ROUNDS_OF_A_START } else { 0 } }
    }

    /// Whether trees grow in a round, counted from one.
    pub(super) fn grows_in(self, round: usize) -> bool {
        let round = round + self.rounds_before;
        round.is_power_of_two() && round.trailing_zeros().is_multiple_of(2)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{
        super::step::{LocalStep, Stepper},
        *,
    };
    use crate::{
        data::{Dataset, Features, Labels},
        model::{LocalModel, Tree},
        network::Node,
    };

    #[test]
    fn trees_grow_in_the_first_round_and_ever_less_often_behind_it() {
        let rounds = |has_start| {
            let growth = Growth::new(has_start);
            (1..=70).filter(|&round| growth.grows_in(round)).collect::<Vec<usize>>()
        };
        assert_eq!(rounds(false), [1, 4, 16, 64]);
        assert_eq!(rounds(true), [1, 13, 61]);
    }

    #[test]
    fn the_same_labels_are_not_fitted_again_and_others_are() {
        let rows: Vec<[f64; 1]> = (0..12).map(|k| [f64::from(k)]).collect();
        let features = Features::from_rows(&["x"], &rows).unwrap();
        let labelled = |shift: f64| {
            let labels = (0..12).map(|k| f64::from(k * k) + shift * f64::from(k)).collect();
            Dataset::new(features.clone(), Labels::values(labels)).unwrap()
        };
        let (one, other) = (labelled(0.0), labelled(3.0));
        let model: Arc<dyn LocalModel> = Arc::new(Tree::default());
        let node = Node { id: 0, data: one.clone(), model, public: features.clone().into() };
        for growth in [None, Some(Growth::new(false))] {
            let mut stepper = Stepper::new(LocalStep::Refit, 0, growth);
            let (first, known) = stepper.step(&node, &one, None).unwrap();
            let (again, same) = stepper.step(&node, &one, Some(&first)).unwrap();
            assert!(Arc::ptr_eq(&first, &again) && known == same && !stepper.has_kept_splits());
            let (next, new) = stepper.step(&node, &other, Some(&again)).unwrap();
            assert!(!Arc::ptr_eq(&first, &next) && new != known);
            assert_eq!(stepper.has_kept_splits(), growth.is_some());
            assert_eq!(next.predict(&features), new);
        }
    }
}
