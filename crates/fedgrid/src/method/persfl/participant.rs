//! A node that takes part in PersFL, as target and as candidate. Rounds alternate: in one all ask,
//! in the next all answer, so the runtime must let all speak at once.

use std::sync::Arc;

use super::{
    PersFl, PersFlMessage, ProbeAnswer, ProbeQuestion, Tally, candidate::ProbedCandidate,
    online::Recent, target::ProbingTarget,
};
use crate::{
    data::Features,
    error::Result,
    method::{Participant, Report},
    model::Hypothesis,
    network::{NodeId, View},
};

/// A node that asks and answers.
#[derive(Debug)]
pub struct PersFlParticipant {
    pub(super) id: NodeId,
    pub(super) candidate: ProbedCandidate,
    pub(super) target: Option<ProbingTarget>,
    pub(super) recent: Recent,
    /// The node's own public points.
    pub(super) public: Arc<Features>,
    /// The public points of those who may ask, in order of their ids.
    pub(super) known: Vec<(NodeId, Arc<Features>)>,
    /// Whether this round is one of questions.
    pub(super) asking: bool,
    pub(super) answers: Vec<(NodeId, ProbeAnswer)>,
}

impl PersFlParticipant {
    pub(super) fn new(method: &PersFl, view: View) -> Result<Self> {
        let View { mut node, neighbours } = view;
        let recent = Recent::new(method.online.as_ref(), node.data)?;
        node.data = recent.rows.clone();
        let ids: Vec<NodeId> = neighbours.iter().map(|neighbour| neighbour.id).collect();
        let target = method.is_target(node.id, &node.data);
        let target = target.then(|| ProbingTarget::new(method, &node, ids)).transpose()?;
        Ok(Self {
            id: node.id,
            candidate: ProbedCandidate::new(node.id, &node.model, method.budget),
            target,
            recent,
            public: node.public,
            known: neighbours.into_iter().map(|known| (known.id, known.public)).collect(),
            asking: true,
            answers: Vec::new(),
        })
    }

    fn answer(&mut self, from: NodeId, question: &ProbeQuestion) -> Result<()> {
        // Whoever is not known here is not answered.
        if let Ok(index) = self.known.binary_search_by_key(&from, |(id, _)| *id) {
            let points = self.known[index].1.as_ref();
            let answer = self.candidate.answer(&self.recent.rows, (from, points), question)?;
            self.answers.push((from, answer));
        }
        Ok(())
    }
}

impl Participant for PersFlParticipant {
    type Message = PersFlMessage;

    fn send(&mut self) -> Vec<(NodeId, PersFlMessage)> {
        if !self.asking {
            let answers = std::mem::take(&mut self.answers);
            return answers
                .into_iter()
                .map(|(to, said)| (to, PersFlMessage::Answer(said)))
                .collect();
        }
        // A round without questions still alternates, so that nodes that wait stay in step with others.
        let Some(target) = self.target.as_mut().filter(|_| self.recent.is_enough()) else {
            return Vec::new();
        };
        let (question, mut asked) = target.ask();
        // In order of ids, like the messages of every other method.
        asked.sort_unstable();
        asked.into_iter().map(|to| (to, PersFlMessage::Question(question.clone()))).collect()
    }

    fn receive(&mut self, inbox: &[(NodeId, PersFlMessage)]) -> Result<()> {
        if self.asking {
            for (from, message) in inbox {
                if let PersFlMessage::Question(question) = message {
                    self.answer(*from, question)?;
                }
            }
        } else {
            if let Some(target) = &mut self.target {
                let answers = inbox.iter().filter_map(|(from, message)| match message {
                    PersFlMessage::Answer(answer) => Some((*from, answer)),
                    PersFlMessage::Question(_) => None,
                });
                target.receive(answers)?;
            }
            let renewed = self.recent.tick(self.id)?;
            if let (Some(target), true) = (&mut self.target, renewed) {
                target.renew(&self.recent.rows)?;
            }
        }
        self.asking = !self.asking;
        Ok(())
    }

    fn hypothesis(&self) -> Option<&Arc<dyn Hypothesis>> {
        self.target.as_ref().map(|target| &target.hypothesis)
    }

    fn report(&self) -> Report {
        self.target.as_ref().map_or_else(Report::default, |target| target.report)
    }

    fn tallies(&self) -> &[Tally] {
        self.target.as_ref().map_or(&[], ProbingTarget::tallies)
    }
}
