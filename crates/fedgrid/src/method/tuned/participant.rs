//! A node that takes part: it runs the method at the strength of the moment, and passes sums and orders on.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
};

use super::{
    Adjustable, Plan, TriedStrength,
    lead::{Lead, Moment},
    order::{Order, Then, TreeSums, no_rows},
    wire::TunedMessage,
};
use crate::{
    data::Dataset,
    error::Result,
    method::{Method, Participant, Report, Tally},
    metric::Metric,
    model::Hypothesis,
    network::{NodeId, View},
};

/// A node that takes part in choosing a strength, and then in the method at that strength.
#[derive(Debug)]
pub struct TunedParticipant<M: Adjustable> {
    method: M,
    pub(super) plan: Arc<Plan>,
    view: View,
    /// The strength of the moment.
    pub(super) alpha: f64,
    /// The method at that strength.
    pub(super) inner: M::Participant,
    /// How many rounds have ended.
    pub(super) round: u64,
    /// The own sums of the last rounds, oldest first, until those of the nodes below are here.
    pub(super) own: VecDeque<TreeSums>,
    /// The sums that the parent is told next.
    pub(super) up: Option<TreeSums>,
    /// The order that all obey soon.
    pub(super) due: Option<Order>,
    /// Whether the nodes below are still to be told of it.
    pub(super) passes_on: bool,
    pub(super) lead: Option<Lead>,
    /// All strengths that were tried, at the end.
    pub(super) tried: Option<Vec<TriedStrength>>,
}

impl<M: Adjustable> TunedParticipant<M> {
    pub(super) fn new(method: &M, plan: &Arc<Plan>, view: View) -> Result<Self> {
        let alpha = plan.tuning.path.first()[0];
        Ok(Self {
            inner: method.at(alpha).join(view.clone())?,
            method: method.clone(),
            lead: plan.tree.parents[view.node.id].is_none().then(Lead::new),
            plan: plan.clone(),
            view,
            alpha,
            round: 0,
            own: VecDeque::new(),
            up: None,
            due: None,
            passes_on: false,
            tried: None,
        })
    }

    /// The method at the strength of the moment, from its own start.
    pub(super) fn joined(&self) -> Result<M::Participant> {
        self.method.at(self.alpha).join(self.view.clone())
    }

    pub(super) fn id(&self) -> NodeId {
        self.view.node.id
    }

    pub(super) fn parent(&self) -> Option<NodeId> {
        self.plan.tree.parents[self.id()]
    }

    pub(super) fn children(&self) -> &[NodeId] {
        &self.plan.children[self.id()]
    }

    /// How many rounds the sums of the nodes below are behind.
    pub(super) fn behind(&self) -> usize {
        self.plan.tree.height - self.plan.tree.depths[self.id()]
    }

    /// The own sums of the round that has just ended.
    fn sums(&self, judges: bool) -> TreeSums {
        let Report { change, size, .. } = self.inner.report();
        // What has grown beyond all numbers is far from rest.
        let finite = |value: f64| if value.is_finite() { value } else { f64::MAX };
        let mut sums =
            TreeSums { change: finite(change), size: finite(size), ..TreeSums::default() };
        let tuning = &self.plan.tuning;
        let rows = tuning.validation.get(&self.id()).filter(|rows| judges && rows.rows() > 0);
        if let Some((rows, hypothesis)) = rows.zip(self.inner.hypothesis()) {
            let loss = summed_loss(tuning.metric, hypothesis.as_ref(), rows);
            let is_lost = !loss.is_finite();
            sums.loss = if is_lost { 0.0 } else { loss };
            sums.rows = rows.row_count();
            sums.lost = f64::from(u8::from(is_lost));
        }
        sums
    }

    /// Takes the sums of the nodes below, and those of this one; the leader decides.
    fn gather(&mut self, inbox: &[(NodeId, TunedMessage<MessageOf<M>>)]) {
        let judges = self.due.as_ref().is_some_and(|due| due.judges && due.at == self.round);
        let own = self.sums(judges);
        self.own.push_back(own);
        self.up = None;
        let Some(of) = self.round.checked_sub(self.behind() as u64).filter(|of| *of > 0) else {
            return;
        };
        let Some(mut total) = self.own.pop_front() else { return };
        for (_, message) in inbox.iter().filter(|(from, _)| self.children().contains(from)) {
            total = message.up.iter().fold(total, TreeSums::plus);
        }
        let lag = self.plan.tree.height.max(1) as u64;
        match &mut self.lead {
            None => self.up = Some(total),
            Some(lead) if self.due.is_none() => {
                let moment = Moment { now: self.round, of, lag };
                self.due = lead.next(moment, &total, (&self.plan.tuning, self.alpha));
                self.passes_on = self.due.is_some();
            }
            Some(_) => {}
        }
    }

    /// Does what was ordered for this round.
    fn obey(&mut self, then: Then) -> Result<()> {
        let (alpha, tried) = match then {
            Then::Stay => return Ok(()),
            Then::Fail => return Err(no_rows()),
            Then::Go(alpha) => (alpha, None),
            Then::Take(alpha, tried) => (alpha, Some(tried)),
        };
        (self.alpha, self.tried) = (alpha, tried);
        self.inner = self.method.at(alpha).rejoin(self.view.clone(), &self.inner)?;
        if self.tried.is_some() {
            (self.up, self.lead) = (None, None);
            self.own.clear();
        }
        Ok(())
    }
}

/// What a method sends.
pub(super) type MessageOf<M> = <<M as Method>::Participant as Participant>::Message;

impl<M: Adjustable> Participant for TunedParticipant<M> {
    type Message = TunedMessage<MessageOf<M>>;

    fn send(&mut self) -> Vec<(NodeId, Self::Message)> {
        let none = || TunedMessage { method: None, up: None, down: None };
        let mut messages: BTreeMap<NodeId, Self::Message> = BTreeMap::new();
        for (to, message) in self.inner.send() {
            messages.entry(to).or_insert_with(none).method = Some(message);
        }
        if let (Some(parent), Some(up)) = (self.parent(), self.up) {
            messages.entry(parent).or_insert_with(none).up = Some(up);
        }
        if std::mem::take(&mut self.passes_on) {
            for child in &self.plan.children[self.view.node.id] {
                messages.entry(*child).or_insert_with(none).down.clone_from(&self.due);
            }
        }
        messages.into_iter().collect()
    }

    fn receive(&mut self, inbox: &[(NodeId, Self::Message)]) -> Result<()> {
        self.round += 1;
        let of_method =
            |(from, message): &(NodeId, Self::Message)| Some((*from, message.method.clone()?));
        let messages: Vec<_> = inbox.iter().filter_map(of_method).collect();
        self.inner.receive(&messages)?;
        if self.tried.is_some() {
            return Ok(());
        }
        let parent = self.parent();
        let told = inbox.iter().find(|(from, _)| Some(*from) == parent);
        if let Some(order) = told.and_then(|(_, message)| message.down.as_ref())
            && self.due.is_none()
            && (self.round..=self.round + self.plan.tree.height as u64).contains(&order.at)
        {
            (self.due, self.passes_on) = (Some(order.clone()), true);
        }
        self.gather(inbox);
        if self.due.as_ref().is_some_and(|due| due.at == self.round) {
            // Those at the ends of the tree hear of it in the round in which it is obeyed: nobody is below them.
            let due = self.due.take();
            self.passes_on = false;
            self.obey(due.map_or(Then::Stay, |due| due.then))?;
        }
        Ok(())
    }

    fn hypothesis(&self) -> Option<&Arc<dyn Hypothesis>> {
        self.inner.hypothesis()
    }

    /// Until a strength is taken the run is as far from its end as can be.
    fn report(&self) -> Report {
        let last = self.inner.report();
        let variation = self.alpha * last.variation;
        if self.tried.is_some() {
            return Report { variation, ..last };
        }
        Report { variation, change: 1.0, size: 1.0, gap: None, ..last }
    }

    fn strength(&self) -> Option<f64> {
        self.tried.as_ref().map(|_| self.alpha)
    }

    fn tried_strengths(&self) -> &[TriedStrength] {
        self.tried.as_deref().unwrap_or_default()
    }

    fn tallies(&self) -> &[Tally] {
        self.inner.tallies()
    }
}

/// The errors of a hypothesis on some rows, each as often as it stands for, summed up.
fn summed_loss(metric: Metric, hypothesis: &dyn Hypothesis, rows: &Dataset) -> f64 {
    let predictions = rows.over_exposures(hypothesis.predict(rows.features()));
    let losses = metric.rows(rows.labels(), &predictions);
    losses.iter().enumerate().map(|(row, loss)| rows.count(row) * loss).sum()
}
