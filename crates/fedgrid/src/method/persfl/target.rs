//! A node as a target: it asks, scores the answers on its own rows and takes the best step.

use std::sync::Arc;

use rayon::prelude::*;

use super::{
    PersFl, Probe, ProbeAnswer, ProbeQuestion, ProbeRefusal, Tally,
    candidate::{own_step, refitted},
    choice::Chooser,
    proposal::{Proposal, distilled, mean},
    start::{first_hypothesis, first_weights, parametric},
    step::gradient_step,
};
use crate::{
    algebra::{add_scaled, dot, squared_distance},
    bytes::{Reader, Writer},
    data::{Dataset, Labels},
    error::Result,
    method::{
        Report,
        wire::{read_hypothesis, read_report, write_hypothesis, write_report},
    },
    model::{Hypothesis, Storable},
    network::{Node, NodeId},
};

/// A node that asks.
#[derive(Debug)]
pub(super) struct ProbingTarget {
    method: PersFl,
    pub(super) node: Node,
    /// The rows of its start and of its probes of itself.
    train: Dataset,
    /// The rows by which answers are scored.
    scoring: Dataset,
    chooser: Chooser,
    /// The weights ŵ, for models of weights that are not refitted.
    weights: Option<Arc<[f64]>>,
    pub(super) hypothesis: Arc<dyn Hypothesis>,
    iteration: usize,
    /// The indices of the candidates that were asked last.
    drawn: Vec<usize>,
    pub(super) report: Report,
}

impl ProbingTarget {
    pub(super) fn new(method: &PersFl, node: &Node, candidates: Vec<NodeId>) -> Result<Self> {
        let (train, scoring) = method.divided(node.id, &node.data)?;
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
            chooser: Chooser::new(method, node.id, candidates),
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
            None => write_hypothesis(self.hypothesis.as_ref(), self.node.model.as_ref(), to)?,
        }
        to.count(self.iteration);
        to.count(self.drawn.len());
        self.drawn.iter().for_each(|index| to.count(*index));
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
        if from.count()? != known || self.drawn.iter().any(|&index| index >= known) {
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

    /// Draws the candidates of the next iteration.
    pub(super) fn draw(&mut self) {
        self.chooser.draw(&self.method, self.iteration, &mut self.drawn);
        self.iteration += 1;
    }

    /// Draws candidates and says what to ask them; the target sends nothing to itself.
    pub(super) fn ask(&mut self) -> (ProbeQuestion, Vec<NodeId>) {
        self.draw();
        let question = self.question();
        let mut asked = Vec::with_capacity(self.drawn.len());
        for &index in &self.drawn {
            let tally = &mut self.chooser.tallies[index];
            if tally.candidate != self.node.id {
                tally.bytes += question.bytes();
                asked.push(tally.candidate);
            }
        }
        (question, asked)
    }

    fn question(&self) -> ProbeQuestion {
        let step = self.method.step;
        match (&self.weights, self.method.probe) {
            (Some(weights), Probe::Gradient) => {
                ProbeQuestion::Gradient { weights: weights.clone() }
            }
            (Some(weights), _) => ProbeQuestion::Proximal { weights: weights.clone(), step },
            (None, _) => {
                let predictions = Arc::new(self.hypothesis.predict(&self.node.public));
                ProbeQuestion::Refit { predictions, step }
            }
        }
    }

    /// Scores the answers, which come in order of the candidates' ids, and takes the best step.
    pub(super) fn receive<'a>(
        &mut self,
        answers: impl Iterator<Item = (NodeId, &'a ProbeAnswer)>,
    ) -> Result<()> {
        let answers: Vec<(NodeId, &ProbeAnswer)> = answers.collect();
        let mut proposals = Vec::with_capacity(self.drawn.len());
        for index in self.drawn.clone() {
            let candidate = self.chooser.tallies[index].candidate;
            proposals.push(if candidate == self.node.id {
                self.by_itself()?
            } else {
                let found = answers.binary_search_by_key(&candidate, |(from, _)| *from).ok();
                let answer = found.map(|position| answers[position].1);
                self.chooser.tallies[index].bytes += answer.map_or(0, ProbeAnswer::bytes);
                self.note_refusal(index, answer);
                answer.map(|answer| self.proposed(answer)).transpose()?.flatten()
            });
        }
        self.take_best(&proposals)
    }

    /// Refits the target's model on the rows of every drawn candidate, which one process has at hand, and
    /// takes the best of the refitted models themselves.
    pub(super) fn refit(&mut self, nodes: &[Node]) -> Result<()> {
        let predictions = self.hypothesis.predict(&self.node.public);
        let propose = |&index: &usize| -> Result<Option<Proposal>> {
            let candidate = self.chooser.tallies[index].candidate;
            let own = candidate == self.node.id;
            let data = if own { &self.train } else { &nodes[candidate].data };
            let has_rows = data.total_weight() > 0.0;
            has_rows.then(|| self.refitted(data, &predictions)).transpose()
        };
        let proposals = self.drawn.par_iter().map(propose).collect::<Result<Vec<_>>>()?;
        for (&index, proposal) in self.drawn.iter().zip(&proposals) {
            self.chooser.tallies[index].refused += usize::from(proposal.is_none());
        }
        self.take_best(&proposals)
    }

    /// Scores what each drawn candidate would make of the target, and takes the best.
    fn take_best(&mut self, proposals: &[Option<Proposal>]) -> Result<()> {
        let before = self.current().loss(&self.node, &self.scoring)?;
        self.report = Report { loss: before, ..Report::default() };
        let drawn = std::mem::take(&mut self.drawn);
        let mut rewards = Vec::with_capacity(drawn.len());
        for (&index, proposal) in drawn.iter().zip(proposals) {
            // Whoever did not answer has no reward, and what is no number is never taken.
            let Some(proposal) = proposal else {
                rewards.push(f64::NAN);
                continue;
            };
            let reward = before - proposal.loss(&self.node, &self.scoring)?;
            self.chooser.tallies[index].reward(reward, before);
            rewards.push(reward);
        }
        let taken = self.chooser.adopt(&self.method, &drawn, &rewards);
        let part = |(position, share): (usize, f64)| Some((share, proposals[position].as_ref()?));
        let parts: Vec<(f64, &Proposal)> = taken.into_iter().filter_map(part).collect();
        self.take_mean(&parts)
    }

    fn note_refusal(&mut self, index: usize, answer: Option<&ProbeAnswer>) {
        if let Some(ProbeAnswer::Refused(reason)) = answer {
            let tally = &mut self.chooser.tallies[index];
            tally.refused += 1;
            tally.budget_spent += usize::from(*reason == ProbeRefusal::BudgetSpent);
        }
    }

    fn current(&self) -> Proposal {
        match &self.weights {
            Some(weights) => Proposal::Weights(weights.clone()),
            None => Proposal::Hypothesis(self.hypothesis.clone()),
        }
    }

    /// What an answer would make of the target; none if it is a refusal or makes no sense here.
    fn proposed(&self, answer: &ProbeAnswer) -> Result<Option<Proposal>> {
        Ok(match (answer, &self.weights) {
            (ProbeAnswer::Numbers(numbers), Some(weights)) => self.stepped(weights, numbers),
            (ProbeAnswer::Linear(linear), None) => {
                // Slopes are in the order of names: another order would be another model.
                let known = linear.names == *self.train.features().names();
                let usable = known && linear.check().is_ok();
                usable.then(|| Proposal::Hypothesis(linear.clone()))
            }
            (ProbeAnswer::Predictions(labels), None) => {
                let fits = labels.rows() == self.node.public.rows()
                    && labels.task() == self.train.task()
                    && labels.as_slice().iter().all(|value| value.is_finite());
                fits.then(|| distilled(&self.node, labels)).transpose()?.map(Proposal::Hypothesis)
            }
            _ => None,
        })
    }

    /// The weights after a step to or along given numbers.
    fn stepped(&self, weights: &[f64], numbers: &[f64]) -> Option<Proposal> {
        let fits = numbers.len() == weights.len() && numbers.iter().all(|x| x.is_finite());
        fits.then(|| match self.method.probe {
            Probe::Gradient => gradient_step(weights, numbers, self.method.step),
            _ => numbers.to_vec(),
        })
        .map(|stepped| Proposal::Weights(stepped.into()))
    }

    /// The step that the target's own rows suggest.
    fn by_itself(&self) -> Result<Option<Proposal>> {
        let question = self.question();
        if let ProbeQuestion::Refit { predictions, .. } = &question {
            return self.refitted(&self.train, predictions).map(Some);
        }
        let numbers = own_step(self.node.model.as_ref(), &self.train, &question)?;
        let weights = self.weights.as_ref();
        Ok(numbers.zip(weights).and_then(|(numbers, weights)| self.stepped(weights, &numbers)))
    }

    /// The target's model refitted to some rows near its own predictions.
    fn refitted(&self, data: &Dataset, predictions: &Labels) -> Result<Proposal> {
        let near = (self.node.public.as_ref(), predictions);
        let fitted = refitted(self.node.model.as_ref(), data, near, self.method.step)?;
        Ok(Proposal::Hypothesis(fitted.into()))
    }

    /// Takes the mean of some proposals, which are all of one kind; none leaves everything as it is.
    fn take_mean(&mut self, parts: &[(f64, &Proposal)]) -> Result<()> {
        let (mut weights, mut hypotheses) = (Vec::new(), Vec::new());
        for (share, proposal) in parts {
            match proposal {
                Proposal::Weights(part) => weights.push((*share, part)),
                Proposal::Hypothesis(part) => hypotheses.push((*share, part)),
            }
        }
        if let (Some(old), Some((_, first))) = (&self.weights, weights.first()) {
            let mut new = vec![0.0; first.len()];
            for (share, part) in &weights {
                add_scaled(&mut new, *share, part);
            }
            self.report.change = squared_distance(old, &new);
            self.report.size = dot(&new, &new);
            let model = parametric(self.node.model.as_ref())?;
            let (names, task) = (self.train.features().names(), self.train.task());
            self.hypothesis = model.hypothesis(names, task, &new).into();
            self.weights = Some(new.into());
            return Ok(());
        }
        let new = match hypotheses.as_slice() {
            [] => return Ok(()),
            [(_, only)] => (*only).clone(),
            several => mean(&self.node, several)?,
        };
        // Hypotheses have no weights to compare: they have moved by as much as their predictions.
        let old = self.hypothesis.predict(&self.node.public);
        let now = new.predict(&self.node.public);
        self.report.change = squared_distance(old.as_slice(), now.as_slice());
        self.report.size = dot(now.as_slice(), now.as_slice());
        self.hypothesis = new;
        Ok(())
    }
}
