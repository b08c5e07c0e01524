//! Choosing strengths on validation rows, for every contestant in the same way: a coarse grid of
//! pulls α and ridges, walked from strong to weak with warm starts. With ridges the search goes on from its best
//! (see [`super::descent`], where shuffled networks begin at once); without, the grid gets wider where its edge
//! wins, and finer around the best.

use std::{borrow::Cow, collections::BTreeMap, ops::RangeInclusive, sync::Arc};

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::{
    Contestant, NodeEvidence, NodeScore, RoleMeasures, Strength, Study, Watch,
    fitted::{Effort, FitRequest, StartingPoint},
    score::sum,
    strength::{Grid, PULL_EXPONENTS, Units, pull},
    trainer::{SharedRows, Trainer},
};
use crate::{
    data::Dataset,
    error::{Error, Result},
    model::LocalModel,
    network::Network,
};

/// One strength that was tried.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct PathPoint {
    /// The pull.
    pub alpha: f64,
    /// The ridge, where it was chosen.
    pub ridge: Option<f64>,
    /// The mean error on validation rows.
    pub validation: f64,
}

/// How a contestant did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Card {
    /// Who it is.
    pub contestant: Contestant,
    /// The strength chosen.
    pub strength: Strength,
    /// The mean error on validation rows at that strength.
    pub validation: f64,
    /// The mean error on test rows, if there are any.
    pub test: Option<f64>,
    /// The share of rows given their right class, on test rows or else on validation rows.
    pub accuracy: Option<f64>,
    /// What else people read, on test rows and on validation rows.
    #[serde(default)]
    pub measures: RoleMeasures,
    /// All strengths tried.
    pub path: Vec<PathPoint>,
    /// The errors of each node, on test rows or else on validation rows.
    pub nodes: Vec<NodeScore>,
    /// What test rows say beyond these errors; empty without test rows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<NodeEvidence>,
    /// Whether the fit that test rows score came as close as asked; true where there is none.
    #[serde(default = "yes")]
    pub converged: bool,
}

fn yes() -> bool {
    true
}

impl Card {
    /// The mean error that counts: on test rows, or else on validation rows.
    #[must_use]
    pub fn error(&self) -> f64 {
        self.test.unwrap_or(self.validation)
    }

    /// What the rows of that error say; of validation rows the sums.
    pub(super) fn rows(&self) -> Cow<'_, [NodeEvidence]> {
        if self.evidence.is_empty() {
            self.nodes.iter().map(NodeEvidence::of_sum).collect()
        } else {
            Cow::Borrowed(&self.evidence)
        }
    }
}

/// A strength with the validation scores of every node.
pub(super) struct Tried {
    pub(super) strength: Strength,
    scores: Vec<NodeScore>,
}

impl Tried {
    pub(super) fn error(&self) -> f64 {
        // Steps that were too long leave no number.
        let mean = NodeScore::total(&self.scores).mean();
        mean.filter(|error| error.is_finite()).unwrap_or(f64::INFINITY)
    }
}

/// The grid of pulls never spans more decades than this.
// Beyond, predictions no longer change with the pull: all nodes are equal, or alone.
pub(super) const MOST_DECADES: i32 = 7;
/// Numbers in the training rows that a search keeps between its walks at most: an eighth of a gigabyte.
const MOST_KEPT_NUMBERS: usize = 1 << 24;
/// Exponents of ten: the coarse grid of ridges, in units of the mean feature variance.
// Zero is tried as well; a ridge far above the variance of features leaves no slopes.
const RIDGE_EXPONENTS: RangeInclusive<i32> = -4..=1;

impl Study {
    /// Tunes a contestant on validation rows and scores it on test rows.
    pub fn card(&self, contestant: Contestant, watch: &dyn Watch) -> Result<Card> {
        self.judge(self.tune(contestant, watch)?, watch)
    }

    /// Tunes a contestant on validation rows; test rows are not looked at.
    pub fn tune(&self, contestant: Contestant, watch: &dyn Watch) -> Result<Card> {
        self.tune_near(contestant, None, watch)
    }

    /// The same from a strength, where one is known that cannot be far.
    pub fn tune_near(
        &self,
        contestant: Contestant,
        near: Option<Strength>,
        watch: &dyn Watch,
    ) -> Result<Card> {
        match self.by_name() {
            Some((study, order)) => Ok(study.tuned(contestant, near, watch)?.put_back(&order)),
            None => self.tuned(contestant, near, watch),
        }
    }

    fn tuned(
        &self,
        contestant: Contestant,
        near: Option<Strength>,
        watch: &dyn Watch,
    ) -> Result<Card> {
        if let Some(privacy) = self.privacy_of(contestant) {
            return self.tuned_on_releases(contestant, privacy, watch);
        }
        let cheaper = self.for_search();
        let search = Search::new(cheaper.as_ref().unwrap_or(self), contestant, watch)?;
        let near = near.filter(|near| near.alpha > 0.0 && search.has_decades());
        let tried = match near {
            Some(near) => search.descend(near, Vec::new())?,
            None => search.run()?,
        };
        let best = best(&tried);
        // A strength that cheaper models have chosen is scored with the study's own.
        let own = match &cheaper {
            Some(_) => Some(self.in_turn(contestant, best.strength, watch)?),
            None => None,
        };
        let (own, measures) = own.unzip();
        let own = own.map(|scores| Tried { strength: best.strength, scores });
        let best = own.as_ref().unwrap_or(best);
        // A plot of the path needs numbers; that a strength diverged shows in its absence.
        let finite = tried.iter().filter(|tried| tried.error().is_finite());
        let path = finite.map(|tried| PathPoint {
            alpha: tried.strength.alpha,
            ridge: tried.strength.ridge,
            validation: tried.error(),
        });
        Ok(Card {
            contestant,
            strength: best.strength,
            validation: best.error(),
            test: None,
            accuracy: self.accuracy(&best.scores),
            measures: RoleMeasures {
                validation: measures.flatten().filter(|_| !self.plan.has_test()),
                test: None,
            },
            path: path.collect(),
            nodes: best.scores.clone(),
            evidence: Vec::new(),
            converged: true,
        })
    }

    /// Scores what was tuned on test rows, if there are any and it is not done.
    pub(super) fn judge(&self, mut card: Card, watch: &dyn Watch) -> Result<Card> {
        if !self.plan.has_test() && card.measures.validation.is_none() {
            card.measures.validation =
                self.measures_in_turn(card.contestant, card.strength, watch)?;
        }
        if card.test.is_some() || !self.plan.has_test() {
            return Ok(card);
        }
        // Test rows are looked at once, with a fit to all training rows at the strength that is already chosen.
        let fitted = self.fit_by_name(card.contestant, card.strength, watch)?;
        card.nodes = self.score(&fitted.hypotheses, &self.plan.test);
        card.evidence = self.evidence(&fitted.hypotheses, &self.plan.test);
        card.test = NodeScore::total(&card.nodes).mean();
        card.accuracy = self.accuracy(&card.nodes);
        card.measures = self.measures_by_role(&fitted);
        card.converged = fitted.certificate.converged;
        card.strength.alpha = fitted.strength.unwrap_or(card.strength.alpha);
        Ok(card)
    }

    /// The share of rows given their right class; none of numbers.
    fn accuracy(&self, nodes: &[NodeScore]) -> Option<f64> {
        (self.task().outputs() > 1).then(|| NodeScore::total(nodes).accuracy())
    }
}

/// Errors closer than this share are equal, and rounding does not decide.
pub(super) const TIE_SHARE: f64 = 1e-9;

pub(super) fn best(tried: &[Tried]) -> &Tried {
    // Of equals the first, which is the stronger pull and the larger ridge: the simpler model.
    let smaller = |a: &Tried, b: &Tried| b.error() < (1.0 - TIE_SHARE) * a.error();
    tried.iter().reduce(|a, b| if smaller(a, b) { b } else { a }).expect("a grid is never empty")
}

/// The search for the best strength of one contestant.
pub(super) struct Search<'a> {
    pub(super) study: &'a Study,
    contestant: Contestant,
    watch: &'a dyn Watch,
    network: Network,
    grid: Grid,
    ridge_unit: f64,
    pub(super) tunes_ridge: bool,
    tried: usize,
    /// Whether walks go on where others ended.
    pub(super) goes_on: bool,
    /// What was made for walks, and where these ended.
    trainers: BTreeMap<WalkKey, Trainer<'a>>,
    /// Of each fold, once it is needed.
    folds: Vec<Arc<SharedRows>>,
    /// Its validation rows, by nodes.
    validation: Vec<Vec<Dataset>>,
    ends: BTreeMap<WalkKey, Vec<End>>,
}

/// Where a fit at a pull ended.
struct End {
    alpha: f64,
    point: StartingPoint,
}

/// The strengths of one ridge, from strong to weak.
pub(super) struct Walk {
    pub(super) ridge: Option<f64>,
    pub(super) pulls: Vec<f64>,
}

/// Ten-thousandths of a decade that a ridge is from its unit, and a fold: bits of ridges change with the unit of features.
type WalkKey = (Option<i64>, usize);

impl<'a> Search<'a> {
    fn new(study: &'a Study, contestant: Contestant, watch: &'a dyn Watch) -> Result<Self> {
        study.check()?;
        let network = study.network_of(contestant);
        let degrees: f64 = (0..network.len()).map(|node| network.degree(node)).sum();
        let mean_degree = degrees / network.len() as f64;
        let variance = feature_variance(study);
        let grid = Grid::of(&Units { study, variance, mean_degree }, contestant)?;
        let tunes_ridge = study.method_of(contestant).facts().tunes_ridge;
        let has_ridge = study.models.iter().any(|model| model.as_tunable().is_some());
        Ok(Self {
            study,
            contestant,
            watch,
            grid,
            ridge_unit: variance,
            tunes_ridge: study.settings.tune_ridge && has_ridge && tunes_ridge,
            network,
            tried: 0,
            goes_on: false,
            trainers: BTreeMap::new(),
            folds: Vec::new(),
            validation: Vec::new(),
            ends: BTreeMap::new(),
        })
    }

    fn run(mut self) -> Result<Vec<Tried>> {
        let (mut exponents, ridges) = (PULL_EXPONENTS, self.ridges());
        let mut tried = self.evaluate(&self.grid.first(), &ridges)?;
        if self.goes_on_from_best() {
            let from = best(&tried).strength;
            return self.descend(from, tried);
        }
        // While the edge of the grid wins, the grid is too narrow.
        while let Grid::Decades(unit) = self.grid {
            let alpha = best(&tried).strength.alpha;
            let Some(wider) = wider(alpha, unit, &exponents) else { break };
            exponents = wider.min(*exponents.start())..=wider.max(*exponents.end());
            tried.extend(self.evaluate(&[pull(unit, wider)], &ridges)?);
        }
        let (pulls, ridges) = self.around(best(&tried).strength);
        if pulls.len() * ridges.len() > 1 && !self.study.settings.is_quick {
            tried.extend(self.evaluate(&pulls, &ridges)?);
        }
        Ok(tried)
    }

    /// Whether fits go on from the best of a coarse grid. Where losses have several minima, a fit that starts from
    /// another one may end anywhere.
    fn goes_on_from_best(&self) -> bool {
        let is_convex = |model: &Arc<dyn LocalModel>| {
            model.as_parametric().is_none_or(|model| model.shape().convex)
        };
        self.tunes_ridge
            && self.has_decades()
            && !self.study.settings.is_quick
            && self.study.models.iter().all(is_convex)
    }

    fn has_decades(&self) -> bool {
        matches!(self.grid, Grid::Decades(_))
    }

    fn ridges(&self) -> Vec<Option<f64>> {
        if self.tunes_ridge {
            // Where the search goes on from the best, every other decade tells where that is.
            let is_coarse = self.goes_on_from_best() || self.study.settings.is_quick;
            let step = if is_coarse { 2 } else { 1 };
            let exponents = RIDGE_EXPONENTS.rev().step_by(step);
            let ridges = exponents.map(|k| Some(self.ridge_unit * 10_f64.powi(k)));
            ridges.chain([Some(0.0)]).collect()
        } else {
            vec![None]
        }
    }

    /// The ridges so many decades from one that are in the range of the grid, and none at all below it. A ridge next to
    /// nothing is like none: beside that are the decades of the range.
    pub(super) fn ridges_beside(&self, ridge: f64, steps: &[f64]) -> Vec<f64> {
        let [smallest, largest] = self.ridge_range();
        if ridge < smallest {
            return RIDGE_EXPONENTS.rev().map(|k| self.ridge_unit * 10_f64.powi(k)).collect();
        }
        let beside = steps.iter().map(|step| ridge * 10_f64.powf(*step));
        // Half a step of the finer grid beyond is still within.
        let within = beside.filter(|one| *one < 2.0 * largest && *one > 0.5 * smallest);
        within.chain((ridge < 5.0 * smallest).then_some(0.0)).collect()
    }

    fn ridge_range(&self) -> [f64; 2] {
        [*RIDGE_EXPONENTS.start(), *RIDGE_EXPONENTS.end()].map(|k| self.ridge_unit * 10_f64.powi(k))
    }

    /// A finer grid around a strength.
    fn around(&self, strength: Strength) -> (Vec<f64>, Vec<Option<f64>>) {
        let steps = |steps: &[f64]| steps.iter().map(|step| 10_f64.powf(*step)).collect::<Vec<_>>();
        let pulls = match self.grid {
            Grid::Decades(_) => finer_pulls(strength.alpha),
            _ => vec![strength.alpha],
        };
        let ridges = match strength.ridge {
            // Half decades: the error is flat around its minimum, and finer steps would follow the noise of the
            // validation rows.
            Some(ridge) if ridge > 0.0 => {
                steps(&[0.5, 0.0, -0.5]).iter().map(|f| Some(f * ridge)).collect()
            }
            other => vec![other],
        };
        (pulls, ridges)
    }

    /// Tries all pairs.
    fn evaluate(&mut self, pulls: &[f64], ridges: &[Option<f64>]) -> Result<Vec<Tried>> {
        let walk = |ridge: &Option<f64>| Walk { ridge: *ridge, pulls: pulls.to_vec() };
        let walks: Vec<Walk> = ridges.iter().map(walk).collect();
        let mut walked: Vec<_> = self.walk_all(&walks)?.into_iter().map(Vec::into_iter).collect();
        // By pulls first: of equals the first is taken, which has the stronger pull.
        let all = (0..pulls.len())
            .flat_map(|_| walked.iter_mut().filter_map(Iterator::next).collect::<Vec<_>>());
        Ok(all.collect())
    }

    /// Tries the strengths of all walks; every fold walks the pulls in order, from the last solution.
    pub(super) fn walk_all(&mut self, walks: &[Walk]) -> Result<Vec<Vec<Tried>>> {
        self.make_folds()?;
        let folds = self.study.plan.folds.len();
        // Ridges and folds are independent and run on all cores; pulls are not, because each starts from the
        // solution of the one before.
        let mut asked = Vec::new();
        for walk in walks {
            for fold in 0..folds {
                let key = (self.place(walk.ridge), fold);
                asked.push((walk, key, self.start(key, walk.pulls[0])));
            }
        }
        let with_trainer = |(walk, key, start)| (walk, key, start, self.trainers.remove(&key));
        let asked: Vec<_> = asked.into_iter().map(with_trainer).collect();
        let ended = asked.into_par_iter().map(|(walk, key, start, known)| {
            let trainer = match known {
                Some(trainer) => trainer,
                None => self.trainer(walk.ridge, key.1)?,
            };
            let (scores, ends) = self.walk(&trainer, &walk.pulls, (key.1, start))?;
            Ok((key, scores, trainer, ends))
        });
        let mut scores = Vec::new();
        for (key, walked, trainer, ends) in ended.collect::<Result<Vec<_>>>()? {
            scores.push(walked);
            self.ends.insert(key, ends);
            if self.has_room() {
                self.trainers.insert(key, trainer);
            }
        }
        let tried = |(walk, scores): (&Walk, &[Vec<Vec<NodeScore>>])| -> Vec<Tried> {
            let at = |(position, &alpha): (usize, &f64)| Tried {
                strength: Strength { alpha, ridge: walk.ridge },
                scores: sum(scores.iter().map(|fold| &fold[position])),
            };
            walk.pulls.iter().enumerate().map(at).collect()
        };
        let tried: Vec<_> = walks.iter().zip(scores.chunks_exact(folds)).map(tried).collect();
        self.tried += tried.iter().map(Vec::len).sum::<usize>();
        self.watch.tried(self.contestant, self.tried, self.tried);
        Ok(tried)
    }

    fn trainer(&self, ridge: Option<f64>, fold: usize) -> Result<Trainer<'a>> {
        let rows = &self.study.plan.folds[fold].train;
        let shared = (&rows[..], self.folds[fold].clone());
        Trainer::sharing(self.study, self.watch, shared, ridge)
    }

    /// Makes the rows of all folds ready: before walks run at the same time, none of which may wait for another.
    fn make_folds(&mut self) -> Result<()> {
        if self.folds.is_empty() {
            let study = self.study;
            let folds = study.plan.folds.par_iter();
            let made = folds.map(|fold| SharedRows::new(study, &fold.train).map(Arc::new));
            self.folds = made.collect::<Result<_>>()?;
            let folds = study.plan.folds.iter();
            self.validation = folds.map(|fold| study.select(&fold.validation)).collect();
        }
        Ok(())
    }

    /// Where a ridge is among others.
    #[expect(clippy::cast_possible_truncation, reason = "ridges are some decades apart")]
    fn place(&self, ridge: Option<f64>) -> Option<i64> {
        let decades = |ridge: f64| (ridge / self.ridge_unit).max(f64::MIN_POSITIVE).log10();
        ridge.map(|ridge| (1e4 * decades(ridge)).round() as i64)
    }

    /// Where a walk begins: cold, so that nothing depends on the order of a grid; or, from a known strength, where a fit
    /// in the same fold ended whose ridge and pull are nearest.
    fn start(&self, (place, fold): WalkKey, alpha: f64) -> StartingPoint {
        if !self.goes_on {
            return StartingPoint::Cold;
        }
        // In ten-thousandths of a decade, so that rounding does not choose between two that are as far.
        let distance = |(other, end): &(Option<i64>, &End)| {
            let of_pull = (1e4 * (end.alpha / alpha).log10()).round().abs();
            place.unwrap_or(0).abs_diff(other.unwrap_or(0)) as f64 + of_pull
        };
        let known = self.ends.iter().filter(|((_, own), _)| *own == fold);
        let known = known.flat_map(|((other, _), ends)| ends.iter().map(|end| (*other, end)));
        let nearest = known.min_by(|a, b| distance(a).total_cmp(&distance(b)));
        nearest.map_or(StartingPoint::Cold, |(_, end)| end.point.clone())
    }

    /// Whether one more trainer may be kept.
    fn has_room(&self) -> bool {
        let numbers = |data: &Dataset| data.features().rows() * data.features().columns();
        let of_all: usize = self.study.rows.iter().map(numbers).sum();
        (self.trainers.len() + 1) * of_all <= MOST_KEPT_NUMBERS
    }

    /// The validation scores of one fold at one ridge for all pulls, and where the first and the last end.
    fn walk(
        &self,
        trainer: &Trainer,
        pulls: &[f64],
        (fold, mut start): (usize, StartingPoint),
    ) -> Result<(Vec<Vec<NodeScore>>, Vec<End>)> {
        let validation = &self.validation[fold];
        let (mut scores, mut ends) = (Vec::with_capacity(pulls.len()), Vec::new());
        for &alpha in pulls {
            // Between fits, so that Ctrl-C is answered within one.
            if self.watch.interrupted() {
                return Err(Error::Interrupted);
            }
            let (network, effort) = (&self.network, Effort::Search);
            let request = FitRequest::new(network, alpha, start, effort);
            let fitted = trainer.train(self.contestant, request)?;
            scores.push(self.study.score_on(&fitted.hypotheses, validation));
            start = fitted.next_start;
            ends.truncate(1);
            ends.push(End { alpha, point: start.clone() });
        }
        Ok((scores, ends))
    }
}

/// The pulls of a finer grid around one.
pub(super) fn finer_pulls(alpha: f64) -> Vec<f64> {
    [0.5, 0.25, 0.0, -0.25, -0.5].iter().map(|step| 10_f64.powf(*step) * alpha).collect()
}

/// The exponent beyond the grid, where its edge is best.
pub(super) fn wider(alpha: f64, unit: f64, exponents: &RangeInclusive<i32>) -> Option<i32> {
    let (weakest, strongest) = (*exponents.start(), *exponents.end());
    if strongest - weakest >= MOST_DECADES {
        None
    } else if alpha >= pull(unit, strongest) {
        Some(strongest + 1)
    } else if alpha <= pull(unit, weakest) {
        Some(weakest - 1)
    } else {
        None
    }
}

/// The mean variance of the features over all training rows.
fn feature_variance(study: &Study) -> f64 {
    let columns = study.rows.first().map_or(0, |rows| rows.features().columns());
    let (mut count, mut sums, mut squares) = (0.0, vec![0.0; columns], vec![0.0; columns]);
    for (data, rows) in study.rows.iter().zip(&study.plan.train) {
        for &row in rows {
            let own = data.count(row);
            count += own;
            for (column, x) in data.features().row(row).iter().enumerate() {
                sums[column] += own * x;
                squares[column] += own * (x * x);
            }
        }
    }
    let variance = |(sum, square): (&f64, &f64)| (square / count - (sum / count).powi(2)).max(0.0);
    // Rounding may leave a constant column slightly below zero, hence the maximum above.
    let total: f64 = sums.iter().zip(&squares).map(variance).sum();
    // Without any spread there is no scale, and no slope to pull on either.
    if total > 0.0 { total / columns as f64 } else { 1.0 }
}
