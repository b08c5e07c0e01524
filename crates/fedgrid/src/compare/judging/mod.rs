//! Whether the network helped all, found out by nodes whose rows stay where they are. After training they answer three
//! questions along a tree of the network ([`Inquiry`](crate::method::Inquiry)):
//!
//! ```text
//! mean      w̄ = Σ n_i w_i / Σ n_i        the models that nodes have alone, by their training rows: one model for all;
//!                                        without weights the mean prediction on public points, and of each node the
//!                                        model that is nearest to it
//! shrunk    β* = argmin Σ losses(β)      every node pulled to that, at the strength that is best on validation rows
//! verdict   sums over test rows          to the node that leads, which answers by the rule of `verdict.rs`
//! ```
//!
//! `told.rs` says which sums these are.

mod told;
mod verdict;

use std::sync::{Arc, OnceLock};

pub use told::FEWEST_ROWS;
pub use verdict::JointVerdict;

use self::told::{Field, NodeSums, Part};
use super::{Contestant, NodeEvidence, NodeScore, Study};
use crate::{
    algebra::scale,
    bytes::NUMBER_BYTES,
    data::{Dataset, Labels},
    error::{Error, Result},
    method::{Gathered, Hypotheses, Questions, Shrunk},
    model::Hypothesis,
    network::{Network, Node, NodeId},
    observe::Stop,
    runtime::InProcess,
};

/// The pulls to the mean model that are tried: half decades.
const PULL_HALF_DECADES: std::ops::RangeInclusive<i32> = -6..=6;
/// When a node that is pulled to a fixed model is at rest: nobody else moves, so that few rounds are enough.
const SHRUNK_STOP: Stop = Stop { tolerance: 1e-9, rounds: 30 };

/// What is judged, which must be the same at all sites.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JudgedBy {
    /// Whether models have weights whose mean is a model: those that are linear in them, all of one size.
    pub averages_weights: bool,
    /// Whether there are validation rows to choose a pull to the mean model on.
    pub tries_shrunk: bool,
}

impl JudgedBy {
    /// The most bytes that a message along an edge takes, where models, or predictions on all public points, are so many
    /// numbers.
    #[must_use]
    pub fn largest_message(
        self,
        (nodes, outputs): (usize, usize),
        shuffles: usize,
        model_size: usize,
    ) -> usize {
        let field = Field { contestants: self.contestants(), shuffles, outputs };
        let up = field.size().saturating_mul(nodes);
        let numbers = up.max(JointVerdict::size(&field)).max(model_size + 1);
        NUMBER_BYTES.saturating_mul(numbers.saturating_add(1))
    }

    fn contestants(self) -> Vec<Contestant> {
        let shrunk = self.tries_shrunk.then_some(Contestant::Shrunk);
        let before = [Contestant::Local, Contestant::Pooled].into_iter().chain(shrunk);
        before.chain([Contestant::Network]).collect()
    }
}

/// What the nodes of a site have learnt, each in their order.
#[derive(Debug, Clone)]
pub struct Learned {
    /// Alone.
    pub local: Vec<Arc<dyn Hypothesis>>,
    /// Over the network.
    pub network: Vec<Arc<dyn Hypothesis>>,
    /// Over each shuffled network.
    pub shuffled: Vec<Vec<Arc<dyn Hypothesis>>>,
}

/// What the nodes of a site answer.
#[derive(Debug)]
pub struct Judging {
    study: Study,
    own: Vec<NodeId>,
    learned: Learned,
    by: JudgedBy,
    field: Field,
    /// How many numbers a model, or its predictions on public points, is told in.
    model_size: usize,
    /// What the nodes here answer to the second question and to the last.
    validated: OnceLock<Result<Vec<Vec<f64>>>>,
    tested: OnceLock<Result<Vec<Vec<f64>>>>,
}

/// The questions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Question {
    Mean,
    Shrunk,
    Verdict,
}

impl Study {
    /// Whether all nodes have models that are linear in weights of one size.
    #[must_use]
    pub fn averages_weights(&self) -> bool {
        let columns = self.public.first().map_or(0, |public| public.columns());
        let size = |node: usize| {
            let parametric = self.models[node].as_parametric()?;
            parametric.as_linear_outputs()?;
            Some(parametric.size(columns, self.task()))
        };
        let first = if self.models.is_empty() { None } else { size(0) };
        first.is_some() && (1..self.models.len()).all(|node| size(node) == first)
    }
}

/// A contestant and its models at the nodes that are here.
type ModelsOf = (Contestant, Vec<Arc<dyn Hypothesis>>);

impl Judging {
    /// The answers of these nodes of a study, in ascending order, whose rows are here.
    pub fn new(study: Study, own: &[NodeId], learned: Learned, by: JudgedBy) -> Result<Self> {
        let sizes = [&learned.local, &learned.network].into_iter().chain(&learned.shuffled);
        for found in sizes.map(Vec::len) {
            crate::error::same_size("models of judged nodes", found, own.len())?;
        }
        let field = Field {
            contestants: by.contestants(),
            shuffles: learned.shuffled.len(),
            outputs: study.task().outputs(),
        };
        let public = study.public.first().ok_or(Error::NoData)?;
        let of_weights = |node: usize| {
            let parametric = study.models[node].as_parametric();
            parametric.map_or(0, |own| own.size(public.columns(), study.task()))
        };
        let of_predictions = public.rows() * field.outputs;
        let model_size = if by.averages_weights { of_weights(0) } else { of_predictions };
        let (validated, tested) = (OnceLock::new(), OnceLock::new());
        let own = own.to_vec();
        Ok(Self { study, own, learned, by, field, model_size, validated, tested })
    }

    fn questions(&self) -> Vec<Question> {
        let shrunk = self.by.tries_shrunk.then_some(Question::Shrunk);
        [Question::Mean].into_iter().chain(shrunk).chain([Question::Verdict]).collect()
    }

    /// The verdict that all have heard.
    pub fn verdict(&self, conclusions: &[Vec<f64>]) -> Result<JointVerdict> {
        let last = conclusions.last().filter(|_| conclusions.len() == self.count());
        let missing = Error::Malformed { what: "the verdict", reason: "has not come" };
        JointVerdict::read(&self.field, last.ok_or(missing)?)
    }

    /// The strength of the pull to the mean model; none where it was not tried, or nobody had validation rows.
    #[must_use]
    pub fn shrunk_pull(&self, conclusions: &[Vec<f64>]) -> Option<f64> {
        let chosen = conclusions.get(1).filter(|_| self.by.tries_shrunk)?;
        (chosen[1] > 0.0).then_some(chosen[0])
    }

    /// How the nodes here do on some rows, method by method, once all was concluded. Of the shuffles the mean is given,
    /// as the first of them.
    pub fn scores(
        &self,
        conclusions: &[Vec<f64>],
        rows: &[Vec<usize>],
    ) -> Result<Vec<(Contestant, Vec<NodeScore>)>> {
        let score = |own: &[Arc<dyn Hypothesis>]| -> Vec<NodeScore> {
            let all = self.study.score(&self.everywhere(own), &self.only_own(rows));
            self.own.iter().map(|&node| all[node]).collect()
        };
        let all = self.hypotheses(conclusions)?;
        let mut scores: Vec<_> =
            all.iter().map(|(contestant, own)| (*contestant, score(own))).collect();
        let shuffles: Vec<Vec<NodeScore>> =
            self.learned.shuffled.iter().map(|own| score(own)).collect();
        if let Some(first) = shuffles.first() {
            let count = shuffles.len() as f64;
            let mean = |(place, own): (usize, &NodeScore)| {
                let loss = shuffles.iter().map(|all| all[place].loss).sum::<f64>() / count;
                NodeScore { loss, ..*own }
            };
            scores.push((Contestant::Shuffled(0), first.iter().enumerate().map(mean).collect()));
        }
        Ok(scores)
    }

    fn place(&self, node: NodeId) -> Result<usize> {
        let unknown =
            Error::Malformed { what: "a question", reason: "is to a node that is not here" };
        self.own.binary_search(&node).map_err(|_| unknown)
    }

    /// A model for every node, of which only those here are looked at.
    fn everywhere(&self, own: &[Arc<dyn Hypothesis>]) -> Vec<Arc<dyn Hypothesis>> {
        let mut all = vec![own[0].clone(); self.study.network.len()];
        self.own.iter().zip(own).for_each(|(&node, model)| all[node] = model.clone());
        all
    }

    fn only_own(&self, rows: &[Vec<usize>]) -> Vec<Vec<usize>> {
        let mut all = vec![Vec::new(); self.study.network.len()];
        self.own.iter().for_each(|&node| all[node].clone_from(&rows[node]));
        all
    }

    /// How many training rows a node has, or what they stand for.
    fn training_rows(&self, node: NodeId) -> f64 {
        let rows = &self.study.plan.train[node];
        rows.iter().map(|&row| self.study.rows[node].count(row)).sum()
    }

    /// What a node has learnt alone, as numbers whose mean is a model.
    fn model_numbers(&self, node: NodeId) -> Result<Vec<f64>> {
        let alone = &self.learned.local[self.place(node)?];
        let none = vec![0.0; self.model_size];
        if self.training_rows(node) == 0.0 {
            return Ok(none);
        }
        if self.by.averages_weights {
            let model = self.study.models[node].as_parametric();
            return Ok(model.and_then(|model| model.weights(alone.as_ref())).unwrap_or(none));
        }
        Ok(alone.predict(&self.study.public[node]).as_slice().to_vec())
    }

    /// The mean model as each node here uses it.
    fn mean_models(&self, mean: &[f64]) -> Result<Vec<Arc<dyn Hypothesis>>> {
        let (study, numbers) = (&self.study, &mean[..self.model_size]);
        let model = |&node: &NodeId| -> Result<Arc<dyn Hypothesis>> {
            let public = &study.public[node];
            if self.by.averages_weights {
                let model = study.models[node].as_parametric();
                let names: Arc<[String]> = public.names().to_vec().into();
                let model = model.map(|model| model.hypothesis(&names, study.task(), numbers));
                return model.map(Into::into).ok_or(Error::NoData);
            }
            let labels = Labels::new(study.task(), numbers.to_vec())?;
            let points = Dataset::new(public.as_ref().clone(), labels)?.with_total_weight(1.0);
            Ok(study.models[node].fit(&points)?.into())
        };
        self.own.iter().map(model).collect()
    }

    /// The nodes here as a network of their own without an edge.
    fn alone(&self) -> Result<(Network, Vec<Node>)> {
        let all = self.study.nodes(None);
        let own = |(id, &node): (usize, &NodeId)| Node { id, ..all[node].clone() };
        let names = self.own.iter().map(|&node| self.study.network.names()[node].clone());
        Ok((Network::new(names.collect(), [])?, self.own.iter().enumerate().map(own).collect()))
    }

    /// Every node here pulled to the mean model.
    fn shrunk(&self, mean: &[f64], pull: f64) -> Result<Vec<Arc<dyn Hypothesis>>> {
        let pooled: Hypotheses = self.mean_models(mean)?.into();
        let (network, nodes) = self.alone()?;
        let method = Shrunk { alpha: pull, pooled: pooled.clone(), ..Shrunk::default() };
        let runtime = InProcess { stop: SHRUNK_STOP, ..InProcess::default() };
        let run = runtime.run(&method, network.views(nodes)?)?;
        let own = run.hypotheses.into_iter().zip(pooled.iter());
        Ok(own.map(|(own, pooled)| own.unwrap_or_else(|| pooled.clone())).collect())
    }

    /// The models of all contestants.
    fn hypotheses(&self, conclusions: &[Vec<f64>]) -> Result<Vec<ModelsOf>> {
        let mean = conclusions.first().ok_or(Error::NoData)?;
        let model = |contestant: &Contestant| {
            let own = match contestant {
                Contestant::Pooled => self.mean_models(mean)?,
                // Where nobody could choose a pull, the mean model itself stands in, which is the strongest.
                Contestant::Shrunk => match self.shrunk_pull(conclusions) {
                    Some(pull) => self.shrunk(mean, pull)?,
                    None => self.mean_models(mean)?,
                },
                Contestant::Network => self.learned.network.clone(),
                _ => self.learned.local.clone(),
            };
            Ok((*contestant, own))
        };
        self.field.contestants.iter().map(model).collect()
    }

    /// The validation rows of a node, if sums over them tell no single error.
    fn validation(&self, node: NodeId) -> Option<Dataset> {
        let [fold] = self.study.plan.folds.as_slice() else { return None };
        let rows = &fold.validation[node];
        let is_held = fold.train == self.study.plan.train;
        (is_held && self.part_of(node, rows) == Part::Judged)
            .then(|| self.study.rows[node].select(rows))
    }

    /// Whether sums over these rows of a node may leave it.
    fn part_of(&self, node: NodeId, rows: &[usize]) -> Part {
        let counts: Vec<f64> = rows.iter().map(|&row| self.study.rows[node].count(row)).collect();
        let (total, most) =
            (counts.iter().sum::<f64>(), counts.iter().copied().fold(0.0, f64::max));
        let is_heavy = most > total / FEWEST_ROWS as f64 * (1.0 + 1e-9);
        match rows.len() {
            0 => Part::NoRows,
            _ if total <= 0.0 => Part::NoRows,
            count if count < FEWEST_ROWS || is_heavy => Part::FewRows,
            _ => Part::Judged,
        }
    }

    /// The losses of each node here on its validation rows at each pull, which of these are no number, and the rows.
    fn validation_sums(&self, mean: &[f64]) -> Result<Vec<Vec<f64>>> {
        let (pulls, metric) = (pulls(), self.study.metric());
        let held: Vec<Option<Dataset>> =
            self.own.iter().map(|&node| self.validation(node)).collect();
        let mut sums = vec![vec![0.0; 2 * pulls.len() + 1]; self.own.len()];
        for (at, pull) in pulls.iter().enumerate() {
            let models = self.shrunk(mean, *pull)?;
            for ((sums, rows), model) in sums.iter_mut().zip(&held).zip(&models) {
                let Some(rows) = rows else { continue };
                let predictions = rows.over_exposures(model.predict(rows.features()));
                let losses = metric.rows(rows.labels(), &predictions);
                let losses = losses.iter().enumerate().map(|(row, own)| rows.count(row) * own);
                let loss: f64 = losses.sum();
                let place = if loss.is_finite() { at } else { pulls.len() + at };
                sums[place] = if loss.is_finite() { loss } else { 1.0 };
                sums[2 * pulls.len()] = rows.row_count();
            }
        }
        Ok(sums)
    }

    /// What each node here tells of its test rows.
    fn test_sums(&self, conclusions: &[Vec<f64>]) -> Result<Vec<Vec<f64>>> {
        let part = |&node: &NodeId| self.part_of(node, &self.study.plan.test[node]);
        let parts: Vec<Part> = self.own.iter().map(part).collect();
        let mut rows = vec![Vec::new(); self.study.network.len()];
        for (&node, _) in self.own.iter().zip(&parts).filter(|(_, part)| **part == Part::Judged) {
            rows[node].clone_from(&self.study.plan.test[node]);
        }
        let evidence = |own: &[Arc<dyn Hypothesis>]| -> Vec<NodeEvidence> {
            let all = self.study.evidence_by(&self.everywhere(own), &rows, FEWEST_ROWS);
            self.own.iter().map(|&node| all[node].clone()).collect()
        };
        let all = self.hypotheses(conclusions)?;
        let contestants: Vec<Vec<NodeEvidence>> =
            all.iter().map(|(_, own)| evidence(own)).collect();
        let shuffles: Vec<Vec<NodeEvidence>> =
            self.learned.shuffled.iter().map(|own| evidence(own)).collect();
        let told = |(place, part): (usize, &Part)| {
            let at = |all: &[Vec<NodeEvidence>]| -> Vec<NodeEvidence> {
                all.iter().map(|own| own[place].clone()).collect()
            };
            let mut nothing = vec![0.0; self.field.size()];
            nothing[0] = part.number();
            if *part != Part::Judged {
                return nothing;
            }
            let told = NodeSums::new(&self.field, &at(&contestants), &at(&shuffles)).numbers();
            nothing[0] = Part::NotFinite.number();
            if told.iter().all(|number| number.is_finite()) { told } else { nothing }
        };
        Ok(parts.iter().enumerate().map(told).collect())
    }
}

/// The pulls to the mean model, from strong to weak: of equals the strongest is taken, which is the simplest.
fn pulls() -> Vec<f64> {
    PULL_HALF_DECADES.rev().map(|half| 10_f64.powf(f64::from(half) / 2.0)).collect()
}

/// The pull of the smallest summed error, and whether there is one.
fn best_pull(sums: &[f64]) -> Vec<f64> {
    let pulls = pulls();
    let (losses, rest) = sums.split_at(pulls.len());
    let (lost, rows) = rest.split_at(pulls.len());
    if rows[0] <= 0.0 {
        return vec![0.0, 0.0];
    }
    let known = pulls.iter().zip(losses).zip(lost).filter(|(_, lost)| **lost == 0.0);
    let best =
        known.map(|(own, _)| own).reduce(|best, own| if own.1 < best.1 { own } else { best });
    best.map_or(vec![0.0, 0.0], |(pull, _)| vec![*pull, 1.0])
}

impl Questions for Judging {
    fn count(&self) -> usize {
        self.questions().len()
    }

    fn gathered(&self, question: usize) -> Gathered {
        match self.questions()[question] {
            Question::Verdict => Gathered::Each,
            _ => Gathered::Summed,
        }
    }

    fn answer_size(&self, question: usize) -> usize {
        match self.questions()[question] {
            Question::Mean => self.model_size + 1,
            Question::Shrunk => 2 * pulls().len() + 1,
            Question::Verdict => self.field.size(),
        }
    }

    fn conclusion_size(&self, question: usize) -> usize {
        match self.questions()[question] {
            Question::Mean => self.model_size,
            Question::Shrunk => 2,
            Question::Verdict => JointVerdict::size(&self.field),
        }
    }

    fn answer(&self, node: NodeId, conclusions: &[Vec<f64>]) -> Result<Vec<f64>> {
        let place = self.place(node)?;
        // Nodes hear the same, and what is needed of all of them together is made once.
        let of_all = |made: &OnceLock<Result<Vec<Vec<f64>>>>, make: &dyn Fn() -> Result<_>| {
            made.get_or_init(make).clone().map(|mut all| all.swap_remove(place))
        };
        match self.questions()[conclusions.len()] {
            Question::Mean => {
                let (rows, mut numbers) = (self.training_rows(node), self.model_numbers(node)?);
                scale(&mut numbers, rows);
                numbers.push(rows);
                Ok(numbers)
            }
            Question::Shrunk => of_all(&self.validated, &|| self.validation_sums(&conclusions[0])),
            Question::Verdict => of_all(&self.tested, &|| self.test_sums(conclusions)),
        }
    }

    fn conclude(&self, answers: &[Vec<f64>], conclusions: &[Vec<f64>]) -> Result<Vec<f64>> {
        match self.questions()[conclusions.len()] {
            Question::Mean => {
                let (rows, sums) = answers[0].split_last().ok_or(Error::NoData)?;
                if *rows <= 0.0 {
                    return Err(Error::NoData);
                }
                Ok(sums.iter().map(|sum| sum / rows).collect())
            }
            Question::Shrunk => Ok(best_pull(&answers[0])),
            Question::Verdict => {
                let verdict = JointVerdict::new(&self.field, answers, &self.study.network)?;
                Ok(verdict.numbers(&self.field))
            }
        }
    }
}
