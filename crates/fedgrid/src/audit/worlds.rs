//! Worlds in which rows take part by the toss of a coin, and what a neighbour computes from messages in each.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use rayon::prelude::*;

use super::{
    AuditSettings,
    likelihood_ratio::{Seen, World},
};
use crate::{
    algebra::Singular,
    compare::{Contestant, KeptEstimates, KeptLosses, Strength, Study, Told, Unwatched, Watch},
    data::{Dataset, Features, Labels, Task},
    error::{Error, Result},
    model::Hypothesis,
    network::NodeId,
    privacy::PrivateKind,
    random::{Purpose, Stream},
};

/// Points reach a direction if its singular value is at least this share of the largest: below, what rounding
/// does to predictions is larger than a per mille of the weights.
const SPANNED_SHARE: f64 = 1e-12;
/// Probabilities are told apart down to this one: its logarithm is as far as rounding of a softmax reaches.
const LEAST_PROBABILITY: f64 = 1e-12;

/// The rows of a node that take part or not.
pub(super) struct Candidates {
    pub(super) node: NodeId,
    /// Their places among the rows of the node, in order.
    pub(super) rows: Vec<usize>,
    /// Whether predictions on its public points determine the weights of its model.
    is_determined: bool,
}

/// Whether what is to be told apart is which label a row has.
pub(super) fn hides_labels(study: &Study) -> bool {
    study.settings.privacy.is_some_and(|privacy| privacy.kind == PrivateKind::Labels)
}

/// The training rows of each node, and as many of those that a fit does not see; training rows alone where only their labels
/// are to be told apart.
pub(super) fn candidates(study: &Study, seed: u64) -> Vec<Candidates> {
    // Most nodes have one set in common.
    let mut last: Option<(Arc<Features>, bool)> = None;
    let mut is_spanned = |public: &Arc<Features>| match &last {
        Some((known, spans)) if Arc::ptr_eq(known, public) => *spans,
        _ => last.insert((public.clone(), spans_weights(public))).1,
    };
    let own = |(node, train): (usize, &Vec<usize>)| {
        let mut held_back: Vec<usize> =
            (0..study.rows[node].rows()).filter(|row| !train.contains(row)).collect();
        let count = if hides_labels(study) { 0 } else { train.len().min(held_back.len()) };
        // Beyond the rounds of worlds: no coin is drawn from this stream.
        let mut stream = Stream::new(seed, node, usize::MAX, Purpose::Coins);
        let mut rows = Vec::new();
        stream.sample(&mut held_back, count, &mut rows);
        rows.extend(train);
        rows.sort_unstable();
        // Models of one convex loss are linear before their link.
        let model = study.models[node].as_parametric();
        let is_linear = model.is_some_and(|model| model.shape().convex);
        let is_determined = is_linear && is_spanned(&study.public[node]);
        (train.len() > 1).then_some(Candidates { node, rows, is_determined })
    };
    study.plan.train.iter().enumerate().filter_map(own).collect()
}

/// All worlds of an audit.
pub(super) struct Worlds<'a> {
    pub(super) study: &'a Study,
    pub(super) all: &'a [Candidates],
    pub(super) told: Told,
    pub(super) settings: AuditSettings,
}

impl Worlds<'_> {
    /// What is seen of each node with candidates, in all worlds.
    pub(super) fn seen(&self, strength: Strength, watch: &dyn Watch) -> Result<Vec<Seen>> {
        let (count, done) = (self.settings.worlds, AtomicUsize::new(0));
        let look = |world: usize| {
            if watch.interrupted() {
                return Err(Error::Interrupted);
            }
            let seen = self.world(world, strength)?;
            watch.tried(self.study.main(), done.fetch_add(1, Ordering::Relaxed) + 1, count);
            Ok(seen)
        };
        let worlds = (0..count).into_par_iter().map(look).collect::<Result<Vec<Vec<World>>>>()?;
        let mut seen: Vec<Seen> = self.all.iter().map(|_| Seen::default()).collect();
        for world in worlds {
            seen.iter_mut().zip(world).for_each(|(seen, own)| seen.worlds.push(own));
        }
        Ok(seen)
    }

    /// What is seen of each node with candidates in one world.
    fn world(&self, world: usize, strength: Strength) -> Result<Vec<World>> {
        let toss = |candidates: &Candidates| {
            let mut stream =
                Stream::new(self.settings.seed, candidates.node, world, Purpose::Coins);
            candidates.rows.iter().map(|_| stream.uniform() < 0.5).collect::<Vec<bool>>()
        };
        let coins: Vec<Vec<bool>> = self.all.iter().map(toss).collect();
        let mut study = self.study.clone();
        if let Some(privacy) = &mut study.settings.privacy {
            // Each world draws its own noise.
            let mut stream = Stream::new(self.settings.seed, usize::MAX, world, Purpose::Privacy);
            privacy.seed = stream.bits();
        }
        let hides_labels = hides_labels(self.study);
        for (candidates, coins) in self.all.iter().zip(&coins) {
            if hides_labels {
                let node = candidates.node;
                let middle = study.settings.privacy.map_or(0.0, |privacy| privacy.middle);
                study.rows[node] = other_labels(&study.rows[node], candidates, (coins, middle))?;
                continue;
            }
            let rows = candidates.rows.iter().zip(coins).filter(|(_, is_in)| **is_in);
            study.plan.train[candidates.node] = rows.map(|(row, _)| *row).collect();
        }
        if study.settings.privacy.is_some() && !hides_labels {
            self.hold_out(&mut study);
        }
        // What was kept is of other rows, and would be kept for all worlds.
        (study.settings.kept, study.settings.kept_losses) =
            (KeptEstimates::default(), KeptLosses::default());
        let models = self.models(&study, strength)?;
        let mut seen = Vec::with_capacity(self.all.len());
        for (candidates, took_part) in self.all.iter().zip(coins) {
            let node = candidates.node;
            let rows = study.rows[node].select(&candidates.rows).rates();
            let mut told = vec![Vec::with_capacity(models.len()); rows.rows()];
            for model in &models {
                let rebuilt = self.rebuilt(&model[node], candidates)?;
                predictions(&rows, rebuilt.as_ref(), &mut told);
            }
            seen.push(World { took_part, told });
        }
        Ok(seen)
    }

    /// Where rows are released apart that train and that validate: no candidate validates.
    fn hold_out(&self, study: &mut Study) {
        let (train, [fold]) = (&study.plan.train, &mut study.plan.folds[..]) else { return };
        fold.train.clone_from(train);
        for candidates in self.all {
            fold.validation[candidates.node].retain(|row| !candidates.rows.contains(row));
        }
    }

    /// The models of all nodes of which messages tell.
    fn models(&self, study: &Study, strength: Strength) -> Result<Vec<Vec<Arc<dyn Hypothesis>>>> {
        let alone = |ridge| (Contestant::Local, Strength { alpha: 0.0, ridge });
        let own = (study.main(), strength);
        if let Some(privacy) = &study.settings.privacy {
            let published = study.published(privacy)?;
            let asked = [alone(strength.ridge), own];
            let twins = asked.iter().map(|of| Ok(published.twins(*of, &Unwatched)?.hypotheses));
            return twins.collect();
        }
        let asked = match self.told {
            Told::Predictions => vec![alone(strength.ridge), own],
            Told::Weights => vec![own],
            // From means and products follow least squares of the node alone.
            Told::Moments => vec![alone(Some(0.0)), own],
        };
        let fitted = study.fit_several(&asked, &Unwatched)?;
        Ok(fitted.into_iter().map(|fitted| fitted.hypotheses).collect())
    }

    /// The model as far as messages tell it.
    fn rebuilt(
        &self,
        own: &Arc<dyn Hypothesis>,
        candidates: &Candidates,
    ) -> Result<Arc<dyn Hypothesis>> {
        if self.told != Told::Predictions || candidates.is_determined {
            return Ok(own.clone());
        }
        // Predictions on public points, as rows to learn from.
        let public = &self.study.public[candidates.node];
        let told = Dataset::new((**public).clone(), own.predict(public))?;
        Ok(self.study.models[candidates.node].fit(&told)?.into())
    }
}

/// Rows of a node in which candidates have their own labels, or those at the farther bound, as coins say.
fn other_labels(
    rows: &Dataset,
    candidates: &Candidates,
    (coins, middle): (&[bool], f64),
) -> Result<Dataset> {
    let mut labels = rows.labels().as_slice().to_vec();
    for (&row, _) in candidates.rows.iter().zip(coins).filter(|(_, is_own)| !**is_own) {
        labels[row] = if labels[row] > middle { middle - 1.0 } else { middle + 1.0 };
    }
    rows.with_values(rows.features().clone(), Labels::values(labels))
}

/// Whether linear predictions on these points determine slopes and intercept.
pub(super) fn spans_weights(points: &Features) -> bool {
    let size = points.columns() + 1;
    let rows: Vec<f64> = points.iter().flat_map(|x| x.iter().copied().chain([1.0])).collect();
    let values = Singular::values(&rows, size);
    let largest = values.iter().copied().fold(0.0, f64::max);
    points.rows() >= size && values.iter().all(|value| *value > SPANNED_SHARE * largest)
}

/// Adds what a model predicts for each row: a number, or the log-odds of the row's own class.
fn predictions(rows: &Dataset, model: &dyn Hypothesis, told: &mut [Vec<f64>]) {
    let predicted = model.predict(rows.features());
    for (row, told) in told.iter_mut().enumerate() {
        told.push(match rows.task() {
            Task::Regression => predicted.row(row)[0],
            Task::Classification { .. } => {
                let shares = rows.labels().row(row).iter().zip(predicted.row(row));
                let share: f64 = shares.map(|(label, share)| label * share).sum();
                let share = share.clamp(LEAST_PROBABILITY, 1.0 - LEAST_PROBABILITY);
                (share / (1.0 - share)).ln()
            }
        });
    }
}
