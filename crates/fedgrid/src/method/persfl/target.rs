//! A node as a target: it asks, scores the answers on its own rows and takes the best step.

use std::sync::Arc;

use super::{
    Answer, PersFl, Probe, Question, Refusal, Tally,
    candidate::{own_step, refitted},
    choice::Chooser,
    start::{first_hypothesis, first_weights, loss_of, parametric},
};
use crate::{
    algebra::{add_scaled, dot, squared_distance},
    bytes::{Reader, Writer},
    data::{Dataset, Features, Labels},
    error::Result,
    method::{
        Report,
        wire::{read_hypothesis, read_report, write_hypothesis, write_report},
    },
    model::{Hypothesis, LinearHypothesis, Storable},
    network::{Node, NodeId},
};

/// A node that asks.
#[derive(Debug)]
pub(super) struct Target {
    method: PersFl,
    node: Node,
    /// The rows of its start and of its probes of itself.
    train: Dataset,
    /// The rows by which answers are scored.
    scoring: Dataset,
    chooser: Chooser,
    /// The weights ŵ, for models of weights that are not refitted.
    weights: Option<Arc<[f64]>>,
    pub(super) hypothesis: Arc<dyn Hypothesis>,
    iteration: usize,
    /// The places of the candidates that were asked last.
    drawn: Vec<usize>,
    pub(super) report: Report,
}

/// What an answer would make of the target.
#[derive(Debug)]
enum Moved {
    Weights(Arc<[f64]>),
    Hypothesis(Arc<dyn Hypothesis>),
}

impl Target {
    pub(super) fn new(method: &PersFl, node: &Node, candidates: &[NodeId]) -> Result<Self> {
        let (train, scoring) = method.divided(node.id, &node.data)?;
        let mut candidates = candidates.to_vec();
        if method.own {
            candidates.push(node.id);
            candidates.sort_unstable();
        }
        let weights = match method.probe {
            Probe::Refit => None,
            _ => Some(first_weights(method, node, &train)?),
        };
        let hypothesis: Arc<dyn Hypothesis> = match &weights {
            Some(weights) => {
                let model = parametric(node.model.as_ref())?;
                model.hypothesis(train.features().names(), train.task(), weights).into()
            }
            None => first_hypothesis(method, node, &train)?,
        };
        // Nothing has been measured yet, so nothing has come to rest.
        let report = Report { change: 1.0, size: 1.0, ..Report::default() };
        Ok(Self {
            chooser: Chooser::new(&method.choice, node.id, &candidates),
            method: method.clone(),
            node: node.clone(),
            train,
            scoring,
            weights,
            hypothesis,
            iteration: 0,
            drawn: Vec::new(),
            report,
        })
    }

    /// Writes what was learnt and what is remembered of the candidates.
    pub(super) fn write(&self, to: &mut Writer) -> Result<()> {
        to.flag(self.weights.is_some());
        match &self.weights {
            Some(weights) => to.list(weights),
            None => write_hypothesis(self.hypothesis.as_ref(), to)?,
        }
        to.count(self.iteration);
        to.count(self.drawn.len());
        self.drawn.iter().for_each(|place| to.count(*place));
        write_report(&self.report, to);
        to.count(self.chooser.tallies.len());
        self.chooser.tallies.iter().for_each(|tally| tally.write(to));
        Ok(())
    }

    pub(super) fn read(&mut self, from: &mut Reader<'_>) -> Result<()> {
        if from.flag()? != self.weights.is_some() {
            return Err(from.refusal("is of another model"));
        }
        if let Some(weights) = &mut self.weights {
            let read = from.list()?;
            if read.len() != weights.len() {
                return Err(from.refusal("is of another model"));
            }
            let model = parametric(self.node.model.as_ref())?;
            let (names, task) = (self.train.features().names(), self.train.task());
            self.hypothesis = model.hypothesis(names, task, &read).into();
            *weights = read.into();
        } else {
            self.hypothesis = read_hypothesis(from, self.node.model.as_ref())?.into();
        }
        self.iteration = from.count()?;
        let (drawn, known) = (from.count()?, self.chooser.tallies.len());
        if drawn > known {
            return Err(from.refusal("draws more candidates than there are"));
        }
        self.drawn = (0..drawn).map(|_| from.count()).collect::<Result<_>>()?;
        self.report = read_report(from)?;
        if from.count()? != known || self.drawn.iter().any(|&place| place >= known) {
            return Err(from.refusal("is of another node"));
        }
        self.chooser.tallies.iter_mut().try_for_each(|tally| tally.read(from))
    }

    pub(super) fn tallies(&self) -> &[Tally] {
        &self.chooser.tallies
    }

    /// Other rows to train and score with.
    pub(super) fn renew(&mut self, rows: &Dataset) -> Result<()> {
        (self.train, self.scoring) = self.method.divided(self.node.id, rows)?;
        Ok(())
    }

    /// Draws candidates and says what to ask them; the target does not write to itself.
    pub(super) fn ask(&mut self) -> (Question, Vec<NodeId>) {
        let mut stream = self.method.stream(self.node.id, self.iteration);
        self.chooser.draw(self.method.candidates, &mut stream, &mut self.drawn);
        self.iteration += 1;
        let question = self.question();
        let mut asked = Vec::with_capacity(self.drawn.len());
        for &place in &self.drawn {
            let tally = &mut self.chooser.tallies[place];
            tally.probes += 1;
            if tally.candidate != self.node.id {
                tally.bytes += question.bytes();
                asked.push(tally.candidate);
            }
        }
        (question, asked)
    }

    fn question(&self) -> Question {
        let step = self.method.step;
        match (&self.weights, self.method.probe) {
            (Some(weights), Probe::Gradient) => Question::Gradient { weights: weights.clone() },
            (Some(weights), _) => Question::Proximal { weights: weights.clone(), step },
            (None, _) => {
                let predictions = Arc::new(self.hypothesis.predict(&self.node.public));
                Question::Refit { predictions, step }
            }
        }
    }

    /// Scores the answers, in order of the candidates' ids, and takes the best step.
    pub(super) fn hear<'a>(
        &mut self,
        answers: impl Iterator<Item = (NodeId, &'a Answer)>,
    ) -> Result<()> {
        let answers: Vec<(NodeId, &Answer)> = answers.collect();
        let before = self.loss(&self.current())?;
        self.report = Report { loss: before, ..Report::default() };
        let (mut rewards, mut moves) = (Vec::new(), Vec::new());
        for place in std::mem::take(&mut self.drawn) {
            let candidate = self.chooser.tallies[place].candidate;
            let heard = answers.binary_search_by_key(&candidate, |(from, _)| *from).ok();
            let moved = if candidate == self.node.id {
                self.by_itself()?
            } else {
                let answer = heard.map(|position| answers[position].1);
                self.chooser.tallies[place].bytes += answer.map_or(0, Answer::bytes);
                self.note_refusal(place, answer);
                answer.map(|answer| self.moved(answer)).transpose()?.flatten()
            };
            let Some(moved) = moved else { continue };
            let reward = before - self.loss(&moved)?;
            self.chooser.tallies[place].reward(reward, before);
            rewards.push(reward);
            moves.push((place, moved));
        }
        let taken = self.method.adoption.weights(&rewards, self.method.only_if_better);
        for (position, _) in &taken {
            self.chooser.tallies[moves[*position].0].adopted += 1;
        }
        let steps: Vec<(f64, &Moved)> =
            taken.iter().map(|(position, share)| (*share, &moves[*position].1)).collect();
        self.adopt(&steps)
    }

    fn note_refusal(&mut self, place: usize, answer: Option<&Answer>) {
        if let Some(Answer::Refused(reason)) = answer {
            let tally = &mut self.chooser.tallies[place];
            tally.refused += 1;
            tally.budget_spent += usize::from(*reason == Refusal::BudgetSpent);
        }
    }

    fn current(&self) -> Moved {
        match &self.weights {
            Some(weights) => Moved::Weights(weights.clone()),
            None => Moved::Hypothesis(self.hypothesis.clone()),
        }
    }

    /// What an answer would make of the target; none if it is refused or makes no sense here.
    fn moved(&self, answer: &Answer) -> Result<Option<Moved>> {
        Ok(match (answer, &self.weights) {
            (Answer::Numbers(numbers), Some(weights)) => self.stepped(weights, numbers),
            (Answer::Linear(linear), None) => {
                let known = linear.names == *self.train.features().names();
                let usable = known && linear.check().is_ok();
                usable.then(|| Moved::Hypothesis(linear.clone()))
            }
            (Answer::Predictions(labels), None) => {
                let fits = labels.rows() == self.node.public.rows()
                    && labels.task() == self.train.task()
                    && labels.as_slice().iter().all(|value| value.is_finite());
                fits.then(|| self.distilled(labels)).transpose()?.map(Moved::Hypothesis)
            }
            _ => None,
        })
    }

    /// The weights after a step to or along given numbers.
    fn stepped(&self, weights: &[f64], numbers: &[f64]) -> Option<Moved> {
        let fits = numbers.len() == weights.len() && numbers.iter().all(|x| x.is_finite());
        fits.then(|| {
            let mut moved = numbers.to_vec();
            if self.method.probe == Probe::Gradient {
                moved.copy_from_slice(weights);
                add_scaled(&mut moved, -self.method.step, numbers);
            }
            Moved::Weights(moved.into())
        })
    }

    /// The step that the target's own rows suggest.
    fn by_itself(&self) -> Result<Option<Moved>> {
        let (model, question) = (self.node.model.as_ref(), self.question());
        if let Question::Refit { predictions, step } = &question {
            let near = (self.node.public.as_ref(), predictions.as_ref());
            let fitted = refitted(model, &self.train, near, *step)?;
            return Ok(Some(Moved::Hypothesis(fitted.into())));
        }
        let numbers = own_step(model, &self.train, &question)?;
        let weights = self.weights.as_ref();
        Ok(numbers.zip(weights).and_then(|(numbers, weights)| self.stepped(weights, &numbers)))
    }

    /// The target's model fitted to predictions on its public points: what another kind of model
    /// can tell without travelling itself.
    fn distilled(&self, labels: &Labels) -> Result<Arc<dyn Hypothesis>> {
        let points: &Features = &self.node.public;
        let share = 1.0 / points.rows().max(1) as f64;
        let weights = vec![share; points.rows()];
        let data = Dataset::weighted(points.clone(), labels.clone(), weights)?;
        Ok(self.node.model.fit(&data)?.into())
    }

    fn loss(&self, moved: &Moved) -> Result<f64> {
        let data = &self.scoring;
        Ok(match moved {
            Moved::Weights(weights) => parametric(self.node.model.as_ref())?.loss(data, weights),
            Moved::Hypothesis(hypothesis) => loss_of(hypothesis.as_ref(), data),
        })
    }

    /// Takes the mean of some steps; none leaves everything as it is.
    fn adopt(&mut self, steps: &[(f64, &Moved)]) -> Result<()> {
        let mean = |parts: &[(f64, &[f64])]| {
            let mut sum = vec![0.0; parts[0].1.len()];
            for (share, part) in parts {
                add_scaled(&mut sum, *share, part);
            }
            sum
        };
        let weights: Vec<(f64, &[f64])> = steps
            .iter()
            .filter_map(|(share, moved)| match moved {
                Moved::Weights(weights) => Some((*share, weights.as_ref())),
                Moved::Hypothesis(_) => None,
            })
            .collect();
        if let (Some(old), false) = (&self.weights, weights.is_empty()) {
            let new = mean(&weights);
            self.report.change = squared_distance(old, &new);
            self.report.size = dot(&new, &new);
            let model = parametric(self.node.model.as_ref())?;
            let (names, task) = (self.train.features().names(), self.train.task());
            self.hypothesis = model.hypothesis(names, task, &new).into();
            self.weights = Some(new.into());
            return Ok(());
        }
        let hypotheses: Vec<(f64, &Arc<dyn Hypothesis>)> = steps
            .iter()
            .filter_map(|(share, moved)| match moved {
                Moved::Hypothesis(hypothesis) => Some((*share, hypothesis)),
                Moved::Weights(_) => None,
            })
            .collect();
        let new = match hypotheses.as_slice() {
            [] => return Ok(()),
            [(_, only)] => (*only).clone(),
            several => self.mean(several)?,
        };
        let old = self.hypothesis.predict(&self.node.public);
        let now = new.predict(&self.node.public);
        self.report.change = squared_distance(old.as_slice(), now.as_slice());
        self.report.size = dot(now.as_slice(), now.as_slice());
        self.hypothesis = new;
        Ok(())
    }

    /// The mean of hypotheses: of linear ones itself, of others a fit to their mean prediction.
    fn mean(&self, several: &[(f64, &Arc<dyn Hypothesis>)]) -> Result<Arc<dyn Hypothesis>> {
        let names = self.train.features().names().clone();
        let mut sum = LinearHypothesis { slopes: vec![0.0; names.len()], names, intercept: 0.0 };
        let mut all_linear = true;
        let mut labels = Labels::neutral(self.train.task(), self.node.public.rows());
        labels.as_mut_slice().fill(0.0);
        for (share, hypothesis) in several {
            match hypothesis.downcast_ref::<LinearHypothesis>() {
                Some(linear) => {
                    add_scaled(&mut sum.slopes, *share, &linear.slopes);
                    sum.intercept += share * linear.intercept;
                }
                None => all_linear = false,
            }
            let predicted = hypothesis.predict(&self.node.public);
            add_scaled(labels.as_mut_slice(), *share, predicted.as_slice());
        }
        if all_linear { Ok(Arc::new(sum)) } else { self.distilled(&labels) }
    }
}
