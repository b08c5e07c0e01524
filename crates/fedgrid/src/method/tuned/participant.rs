//! A node that takes part: it runs the method at the strengths of the moment, and passes sums and orders on.

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

/// The method at one of the strengths that run side by side.
#[derive(Debug)]
pub(super) struct Lane<M: Adjustable> {
    pub(super) alpha: f64,
    pub(super) inner: M::Participant,
}

/// A node that takes part in choosing a strength, and then in the method at that strength.
#[derive(Debug)]
pub struct TunedParticipant<M: Adjustable> {
    method: M,
    pub(super) plan: Arc<Plan>,
    view: View,
    /// The strengths of the moment; one after choosing.
    pub(super) lanes: Vec<Lane<M>>,
    /// How many rounds have ended.
    pub(super) round: u64,
    /// The own sums of the last rounds, oldest first, until those of the nodes below are here.
    pub(super) own: VecDeque<Vec<TreeSums>>,
    /// The sums that the parent is told next, one for each strength.
    pub(super) up: Option<Vec<TreeSums>>,
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
        let lane =
            |alpha: &f64| Ok(Lane { alpha: *alpha, inner: method.at(*alpha).join(view.clone())? });
        Ok(Self {
            lanes: plan.first.iter().map(lane).collect::<Result<_>>()?,
            method: method.clone(),
            lead: plan.tree.parents[view.node.id].is_none().then(Lead::default),
            plan: plan.clone(),
            view,
            round: 0,
            own: VecDeque::new(),
            up: None,
            due: None,
            passes_on: false,
            tried: None,
        })
    }

    /// The method at a strength, from its own start.
    pub(super) fn joined(&self, alpha: f64) -> Result<Lane<M>> {
        Ok(Lane { alpha, inner: self.method.at(alpha).join(self.view.clone())? })
    }

    pub(super) fn strengths(&self) -> Vec<f64> {
        self.lanes.iter().map(|lane| lane.alpha).collect()
    }

    /// What is shown until a strength is taken: of the best so far, or of the weakest.
    pub(super) fn shown(&self) -> &M::Participant {
        &self.lanes[0].inner
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
        self.plan.tree.height.max(1) - self.plan.tree.depths[self.id()]
    }

    /// The own sums of the round that has just ended at one strength.
    fn sums(&self, lane: &Lane<M>, judges: bool) -> TreeSums {
        let Report { change, size, .. } = lane.inner.report();
        // What has grown beyond all numbers is far from rest.
        let finite = |value: f64| if value.is_finite() { value } else { f64::MAX };
        let mut sums =
            TreeSums { change: finite(change), size: finite(size), ..TreeSums::default() };
        let tuning = &self.plan.tuning;
        let rows = tuning.validation.get(&self.id()).filter(|rows| judges && rows.rows() > 0);
        if let Some((rows, hypothesis)) = rows.zip(lane.inner.hypothesis()) {
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
        let due = self.due.as_ref().filter(|due| due.at == self.round);
        let judges = |place: usize| due.is_some_and(|due| due.judges.get(place) == Some(&true));
        let lanes = self.lanes.iter().enumerate();
        let own = lanes.map(|(place, lane)| self.sums(lane, judges(place))).collect();
        self.own.push_back(own);
        self.up = None;
        let Some(of) = self.round.checked_sub(self.behind() as u64).filter(|of| *of > 0) else {
            return;
        };
        let Some(mut total) = self.own.pop_front() else { return };
        for (_, message) in inbox.iter().filter(|(from, _)| self.children().contains(from)) {
            for (total, below) in total.iter_mut().zip(message.up.iter().flatten()) {
                *total = total.plus(below);
            }
        }
        let lag = self.plan.tree.height.max(1) as u64;
        let strengths = self.strengths();
        match &mut self.lead {
            None => self.up = Some(total),
            Some(lead) if self.due.is_none() => {
                let moment = Moment { now: self.round, of, lag };
                self.due = lead.next(moment, &total, (&self.plan.tuning, &strengths));
                self.passes_on = self.due.is_some();
            }
            Some(_) => {}
        }
    }

    /// Does what was ordered for this round.
    fn obey(&mut self, then: Then) -> Result<()> {
        let (strengths, tried) = match then {
            Then::Stay => return Ok(()),
            Then::Fail => return Err(no_rows()),
            Then::Go(strengths) => (strengths, None),
            Then::Take(alpha, tried) => (vec![alpha], Some(tried)),
        };
        self.tried = tried;
        let mut before: Vec<Option<Lane<M>>> = self.lanes.drain(..).map(Some).collect();
        // What begins comes first: it starts from the state of another strength, which may go on as it is.
        let is_same = |lane: &Lane<M>, alpha: f64| lane.alpha.to_bits() == alpha.to_bits();
        let known = |alpha| before.iter().flatten().any(|lane| is_same(lane, alpha));
        let begins = |alpha: &f64| -> Result<Option<Lane<M>>> {
            if known(*alpha) {
                return Ok(None);
            }
            let Some(start) = nearest(before.iter().flatten(), *alpha) else { return Ok(None) };
            let inner = self.method.at(*alpha).rejoin(self.view.clone(), &start.inner)?;
            Ok(Some(Lane { alpha: *alpha, inner }))
        };
        let begun = strengths.iter().map(begins).collect::<Result<Vec<_>>>()?;
        let goes_on = |(alpha, begun): (f64, Option<Lane<M>>)| {
            let is_it = |lane: &&mut Option<Lane<M>>| {
                lane.as_ref().is_some_and(|lane| is_same(lane, alpha))
            };
            begun.or_else(|| before.iter_mut().find(is_it).and_then(Option::take))
        };
        self.lanes = strengths.into_iter().zip(begun).filter_map(goes_on).collect();
        if self.tried.is_some() {
            (self.up, self.lead) = (None, None);
            self.own.clear();
        }
        Ok(())
    }
}

/// Where a strength starts: from the one that is fewest decades away, the first of two.
fn nearest<'a, M: Adjustable>(
    lanes: impl Iterator<Item = &'a Lane<M>>,
    alpha: f64,
) -> Option<&'a Lane<M>> {
    // In ten-thousandths of a decade, so that rounding does not choose between two that are as far.
    let distance = |lane: &Lane<M>| (1e4 * (lane.alpha / alpha).log10()).round().abs();
    lanes.min_by(|a, b| distance(a).total_cmp(&distance(b)))
}

/// What a method sends.
pub(super) type MessageOf<M> = <<M as Method>::Participant as Participant>::Message;

impl<M: Adjustable> Participant for TunedParticipant<M> {
    type Message = TunedMessage<MessageOf<M>>;

    fn send(&mut self) -> Vec<(NodeId, Self::Message)> {
        let count = self.lanes.len();
        let none = || TunedMessage { method: vec![None; count], up: None, down: None };
        let mut messages: BTreeMap<NodeId, Self::Message> = BTreeMap::new();
        for (place, lane) in self.lanes.iter_mut().enumerate() {
            for (to, message) in lane.inner.send() {
                messages.entry(to).or_insert_with(none).method[place] = Some(message);
            }
        }
        if let (Some(parent), Some(up)) = (self.parent(), &self.up) {
            messages.entry(parent).or_insert_with(none).up = Some(up.clone());
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
        for (place, lane) in self.lanes.iter_mut().enumerate() {
            let of_lane = |(from, message): &(NodeId, Self::Message)| {
                Some((*from, message.method.get(place)?.clone()?))
            };
            let messages: Vec<_> = inbox.iter().filter_map(of_lane).collect();
            lane.inner.receive(&messages)?;
        }
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
        self.shown().hypothesis()
    }

    /// Until a strength is taken the run is as far from its end as can be.
    fn report(&self) -> Report {
        let last = self.shown().report();
        let variation = self.lanes[0].alpha * last.variation;
        if self.tried.is_some() {
            return Report { variation, ..last };
        }
        Report { variation, change: 1.0, size: 1.0, gap: None, ..last }
    }

    fn strength(&self) -> Option<f64> {
        self.tried.as_ref().map(|_| self.lanes[0].alpha)
    }

    fn tried_strengths(&self) -> &[TriedStrength] {
        self.tried.as_deref().unwrap_or_default()
    }

    fn tallies(&self) -> &[Tally] {
        self.shown().tallies()
    }
}

/// The errors of a hypothesis on some rows, each as often as it stands for, summed up.
fn summed_loss(metric: Metric, hypothesis: &dyn Hypothesis, rows: &Dataset) -> f64 {
    let predictions = rows.over_exposures(hypothesis.predict(rows.features()));
    let losses = metric.rows(rows.labels(), &predictions);
    losses.iter().enumerate().map(|(row, loss)| rows.count(row) * loss).sum()
}
