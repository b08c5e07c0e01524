//! Losses that were made ready, for whoever asks for the same again: the searches for the network and for its shuffles
//! meet the same rows with the same ridges.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use crate::{data::Dataset, error::Result, model::LocalModel, network::Node, optimum::gtv::Losses};

/// What losses depend on.
#[derive(Debug, Clone)]
pub(super) struct AskedLosses {
    /// The models before they get their ridge.
    pub(super) models: Vec<Arc<dyn LocalModel>>,
    pub(super) ridge: Option<f64>,
    pub(super) couple_intercept: bool,
    pub(super) data: Vec<Dataset>,
}

/// The latest losses of a study.
#[derive(Debug, Clone, Default)]
pub struct KeptLosses(Arc<Mutex<Known>>);

type Known = VecDeque<(AskedLosses, Arc<Losses>)>;

/// Numbers of all kept losses at most, about: a quarter of a gigabyte.
const MOST_NUMBERS: usize = 1 << 25;

impl AskedLosses {
    pub(super) fn new(
        models: &[Arc<dyn LocalModel>],
        ridge: Option<f64>,
        couple_intercept: bool,
        nodes: &[Node],
    ) -> Self {
        let data = nodes.iter().map(|node| node.data.clone()).collect();
        Self { models: models.to_vec(), ridge, couple_intercept, data }
    }

    fn is(&self, other: &Self) -> bool {
        self.ridge.map(f64::to_bits) == other.ridge.map(f64::to_bits) && self.is_like(other)
    }

    /// Whether no more than the ridge differs.
    fn is_like(&self, other: &Self) -> bool {
        let same = |(a, b): (&Arc<dyn LocalModel>, &Arc<dyn LocalModel>)| Arc::ptr_eq(a, b);
        self.couple_intercept == other.couple_intercept
            && self.models.len() == other.models.len()
            && self.models.iter().zip(&other.models).all(same)
            && self.data == other.data
    }

    /// Rows, and a basis with a few vectors for every node.
    fn numbers(&self) -> usize {
        let of_node = |data: &Dataset| {
            let columns = data.features().columns() + 1;
            columns * (data.rows() + 2 * columns)
        };
        self.data.iter().map(of_node).sum()
    }
}

impl KeptLosses {
    /// Those that were made for the same, or else what `make` makes, which is given some of another ridge if there are
    /// any.
    pub(super) fn found_or(
        &self,
        asked: AskedLosses,
        make: impl FnOnce(Option<&Losses>) -> Result<Losses>,
    ) -> Result<Arc<Losses>> {
        let find = |is: fn(&AskedLosses, &AskedLosses) -> bool| {
            self.all().iter().find(|(own, _)| is(own, &asked)).map(|(_, losses)| losses.clone())
        };
        if let Some(known) = find(AskedLosses::is) {
            return Ok(known);
        }
        // Others may make the same at this time: both have the same bits.
        let made = Arc::new(make(find(AskedLosses::is_like).as_deref())?);
        let mut all = self.all();
        all.push_back((asked, made.clone()));
        while all.iter().map(|(own, _)| own.numbers()).sum::<usize>() > MOST_NUMBERS {
            all.pop_front();
        }
        Ok(made)
    }

    fn all(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::{
        data::{Features, Labels},
        model::Linear,
    };

    fn node(labels: [f64; 2]) -> Node {
        let features = Features::from_rows(&["x"], &[[0.0], [1.0]]).unwrap();
        Node {
            id: 0,
            data: Dataset::new(features.clone(), Labels::values(labels.to_vec())).unwrap(),
            model: Arc::new(Linear { ridge: 0.1, intercept: true }),
            public: Arc::new(features),
        }
    }

    #[test]
    fn the_same_losses_are_made_once_and_others_anew() {
        let (kept, made) = (KeptLosses::default(), Cell::new(0));
        let one = node([1.0, 2.0]);
        let models = [one.model.clone()];
        let ask = |node: &Node, models: &[Arc<dyn LocalModel>], ridge, couple| {
            let nodes = std::slice::from_ref(node);
            let asked = AskedLosses::new(models, ridge, couple, nodes);
            let make = |like: Option<&Losses>| {
                made.set(made.get() + 1);
                Losses::beside(like, nodes, couple)
            };
            kept.found_or(asked, make).unwrap();
            made.get()
        };
        assert_eq!(ask(&one, &models, Some(0.1), true), 1);
        assert_eq!(ask(&node([1.0, 2.0]), &models, Some(0.1), true), 1);
        assert_eq!(ask(&node([1.0, 3.0]), &models, Some(0.1), true), 2);
        assert_eq!(ask(&one, &models, Some(0.2), true), 3);
        assert_eq!(ask(&one, &models, Some(0.1), false), 4);
        assert_eq!(ask(&one, &[node([0.0; 2]).model], Some(0.1), true), 5);
    }
}
