//! Choosing strengths on validation rows, for every contestant in the same way: a coarse grid of
//! pulls α and ridges, walked from strong to weak with warm starts, wider where its edge wins, finer
//! around the best. Shuffled networks are searched around the strength of the network itself.

use std::{borrow::Cow, ops::RangeInclusive};

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::{
    Contestant, NodeEvidence, NodeScore, RoleMeasures, Strength, Study, Watch,
    fitted::{Effort, FitRequest, StartingPoint},
    strength::{Grid, PULL_EXPONENTS, Units, pull},
    trainer::Trainer,
};
use crate::{
    error::{Error, Result},
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
struct Tried {
    strength: Strength,
    scores: Vec<NodeScore>,
}

impl Tried {
    fn error(&self) -> f64 {
        // Steps that were too long leave no number.
        let mean = NodeScore::total(&self.scores).mean();
        mean.filter(|error| error.is_finite()).unwrap_or(f64::INFINITY)
    }
}

/// The grid of pulls never spans more decades than this.
// Beyond, predictions no longer change with the pull: all nodes are equal, or alone.
const MOST_DECADES: i32 = 7;
/// Finer grids that a search from one strength tries at most, each around the best of all before.
const MOST_PASSES: usize = 4;
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

    /// The same around a strength, where one is known that cannot be far, and wider where an edge wins.
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
        let tried = Search::new(self, contestant, watch)?.run(near)?;
        let best = best(&tried);
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
            measures: RoleMeasures::default(),
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

fn best(tried: &[Tried]) -> &Tried {
    // Of equals the first, which is the stronger pull and the larger ridge: the simpler model.
    let smaller = |a: &Tried, b: &Tried| b.error() < (1.0 - TIE_SHARE) * a.error();
    tried.iter().reduce(|a, b| if smaller(a, b) { b } else { a }).expect("a grid is never empty")
}

/// The search for the best strength of one contestant.
struct Search<'a> {
    study: &'a Study,
    contestant: Contestant,
    watch: &'a dyn Watch,
    network: Network,
    grid: Grid,
    ridge_unit: f64,
    tunes_ridge: bool,
    tried: usize,
}

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
        })
    }

    fn run(mut self, from: Option<Strength>) -> Result<Vec<Tried>> {
        let from = from.filter(|from| from.alpha > 0.0 && matches!(self.grid, Grid::Decades(_)));
        let (mut exponents, mut ridges) = match from {
            Some(from) => {
                self.grid = Grid::Decades(from.alpha);
                (-1..=1, self.ridges_near(from.ridge))
            }
            None => (PULL_EXPONENTS, self.ridges()),
        };
        let first = match self.grid {
            Grid::Decades(unit) => pulls(unit, &exponents),
            _ => self.grid.first(),
        };
        let mut tried = self.evaluate(&first, &ridges)?;
        // While the edge of the grid wins, the grid is too narrow.
        while let Grid::Decades(unit) = self.grid {
            let strength = best(&tried).strength;
            if let Some(wider) = wider(strength.alpha, unit, &exponents) {
                exponents = wider.min(*exponents.start())..=wider.max(*exponents.end());
                tried.extend(self.evaluate(&[pull(unit, wider)], &ridges)?);
            } else if let Some(wider) = self.wider_ridge(strength.ridge, &ridges) {
                tried.extend(self.evaluate(&pulls(unit, &exponents), &[Some(wider)])?);
                ridges.push(Some(wider));
            } else {
                break;
            }
        }
        // Few decades may miss a valley that is slanted, so that a search from one strength goes on while an edge of the
        // finer grid wins, too.
        let passes = if from.is_some() { MOST_PASSES } else { 1 };
        for _ in 0..passes {
            let (pulls, ridges) = self.around(best(&tried).strength);
            if pulls.len() * ridges.len() <= 1 || self.study.settings.is_quick {
                break;
            }
            tried.extend(self.evaluate(&pulls, &ridges)?);
            if is_inside(best(&tried).strength, (&pulls, &ridges)) {
                break;
            }
        }
        Ok(tried)
    }

    fn ridges(&self) -> Vec<Option<f64>> {
        if self.tunes_ridge {
            let step = if self.study.settings.is_quick { 2 } else { 1 };
            let exponents = RIDGE_EXPONENTS.rev().step_by(step);
            let ridges = exponents.map(|k| Some(self.ridge_unit * 10_f64.powi(k)));
            ridges.chain([Some(0.0)]).collect()
        } else {
            vec![None]
        }
    }

    /// The ridges next to one.
    fn ridges_near(&self, ridge: Option<f64>) -> Vec<Option<f64>> {
        let Some(ridge) = ridge.filter(|_| self.tunes_ridge) else { return vec![None] };
        let beside = [self.larger_ridge(ridge), Some(ridge), self.smaller_ridge(ridge)];
        beside.into_iter().flatten().map(Some).collect()
    }

    /// The next ridge where the best one is the largest or the smallest of those tried, and not of all.
    fn wider_ridge(&self, best: Option<f64>, tried: &[Option<f64>]) -> Option<f64> {
        let best = best.filter(|_| self.tunes_ridge)?;
        let tried = || tried.iter().flatten().copied();
        if tried().all(|ridge| ridge <= best) {
            self.larger_ridge(best)
        } else if tried().all(|ridge| ridge >= best) {
            self.smaller_ridge(best)
        } else {
            None
        }
    }

    fn larger_ridge(&self, ridge: f64) -> Option<f64> {
        let [smallest, largest] = self.ridge_range();
        let larger = (10.0 * ridge).max(smallest);
        // Half a step of the finer grid beyond is still within.
        (larger < 2.0 * largest).then_some(larger)
    }

    /// The one below the smallest is none at all.
    fn smaller_ridge(&self, ridge: f64) -> Option<f64> {
        let [smallest, _] = self.ridge_range();
        let smaller = 0.1 * ridge;
        (ridge > 0.0).then_some(if smaller > 0.5 * smallest { smaller } else { 0.0 })
    }

    fn ridge_range(&self) -> [f64; 2] {
        [*RIDGE_EXPONENTS.start(), *RIDGE_EXPONENTS.end()].map(|k| self.ridge_unit * 10_f64.powi(k))
    }

    /// A finer grid around a strength.
    fn around(&self, strength: Strength) -> (Vec<f64>, Vec<Option<f64>>) {
        let steps = |steps: &[f64]| steps.iter().map(|step| 10_f64.powf(*step)).collect::<Vec<_>>();
        let pulls = match self.grid {
            Grid::Decades(_) => {
                steps(&[0.5, 0.25, 0.0, -0.25, -0.5]).iter().map(|f| f * strength.alpha).collect()
            }
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

    /// Tries all pairs; each ridge and fold walks the pulls in order, from the last solution.
    fn evaluate(&mut self, pulls: &[f64], ridges: &[Option<f64>]) -> Result<Vec<Tried>> {
        let folds = &self.study.plan.folds;
        // Ridges and folds are independent and run on all cores; pulls are not, because each starts from the
        // solution of the one before.
        let walks: Vec<(Option<f64>, usize)> = ridges
            .iter()
            .flat_map(|&ridge| (0..folds.len()).map(move |fold| (ridge, fold)))
            .collect();
        let scores = walks
            .par_iter()
            .map(|&(ridge, fold)| self.walk(pulls, ridge, fold))
            .collect::<Result<Vec<_>>>()?;
        let mut tried = Vec::new();
        for (position, &alpha) in pulls.iter().enumerate() {
            for (&ridge, scores) in ridges.iter().zip(scores.chunks_exact(folds.len())) {
                let folded = scores.iter().map(|walk| &walk[position]);
                tried.push(Tried { strength: Strength { alpha, ridge }, scores: sum(folded) });
            }
        }
        self.tried += tried.len();
        self.watch.tried(self.contestant, self.tried, self.tried);
        Ok(tried)
    }

    /// The validation scores of one fold at one ridge for all pulls.
    fn walk(&self, pulls: &[f64], ridge: Option<f64>, fold: usize) -> Result<Vec<Vec<NodeScore>>> {
        let fold = &self.study.plan.folds[fold];
        let trainer = Trainer::new(self.study, self.watch, &fold.train, ridge)?;
        let mut start = StartingPoint::Cold;
        let mut scores = Vec::with_capacity(pulls.len());
        for &alpha in pulls {
            // Between fits, so that Ctrl-C is answered within one.
            if self.watch.interrupted() {
                return Err(Error::Interrupted);
            }
            let (network, effort) = (&self.network, Effort::Search);
            let request = FitRequest::new(network, alpha, start, effort);
            let fitted = trainer.train(self.contestant, request)?;
            scores.push(self.study.score(&fitted.hypotheses, &fold.validation));
            start = fitted.next_start;
        }
        Ok(scores)
    }
}

/// Whether the best strength of a grid, from strong to weak, is none of its first and last; a grid of one has none.
fn is_inside(best: Strength, (pulls, ridges): (&[f64], &[Option<f64>])) -> bool {
    let inside = |place: Option<usize>, count: usize| {
        count == 1 || place.is_some_and(|place| place > 0 && place + 1 < count)
    };
    let pull = pulls.iter().position(|pull| is_near(*pull, best.alpha));
    let ridge = |one: &Option<f64>| is_near(one.unwrap_or(0.0), best.ridge.unwrap_or(0.0));
    inside(pull, pulls.len()) && inside(ridges.iter().position(ridge), ridges.len())
}

/// Whether two numbers are the same but for the rounding of powers of ten.
fn is_near(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * a.abs().max(b.abs())
}

/// Powers of ten of a pull, from strong to weak.
fn pulls(unit: f64, exponents: &RangeInclusive<i32>) -> Vec<f64> {
    exponents.clone().rev().map(|exponent| pull(unit, exponent)).collect()
}

/// The exponent beyond the grid, where its edge is best.
fn wider(alpha: f64, unit: f64, exponents: &RangeInclusive<i32>) -> Option<i32> {
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

/// The scores of each node, added up.
fn sum<'a>(folds: impl Iterator<Item = &'a Vec<NodeScore>>) -> Vec<NodeScore> {
    let mut folds = folds.cloned();
    let first = folds.next().unwrap_or_default();
    folds.fold(first, |sum, fold| sum.iter().zip(&fold).map(|(a, b)| a.plus(b)).collect())
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
