//! Questions that all nodes answer together once they have learnt, each along a tree of the network,
//!
//! ```text
//! answers up     a sum over the nodes below and this one, or the sums of each of them
//! conclusion     what the node that leads makes of them
//! down           the conclusion, to all; the next question may depend on it
//! ```
//!
//! A question takes twice the height of the tree. Nobody waits for anybody but its neighbours in the tree, all count the
//! same rounds, and sums are formed in the order of nodes, so the bits are the same for any split of the nodes into
//! processes. What is asked, and what may be told of the rows of a node, is the affair of [`Questions`].

mod wire;

use std::{fmt::Debug, sync::Arc};

pub use wire::{InquiryMessage, InquiryShape};

use super::{Method, Participant, Report, tree::Tree};
use crate::{
    error::{Error, Result},
    model::Hypothesis,
    network::{Network, NodeId, View},
};

/// What becomes of answers on their way to the node that leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gathered {
    /// They are added up at every node of the tree.
    Summed,
    /// Each goes to the node that leads as it is.
    Each,
}

/// What all nodes are asked, one question after the other. Everybody must find the same sizes.
pub trait Questions: Debug + Send + Sync {
    /// How many questions there are.
    fn count(&self) -> usize;

    /// What becomes of the answers to a question.
    fn gathered(&self, question: usize) -> Gathered;

    /// How many numbers a node answers.
    fn answer_size(&self, question: usize) -> usize;

    /// How many numbers a conclusion has.
    fn conclusion_size(&self, question: usize) -> usize;

    /// What a node that is here answers, given the conclusions of the questions before.
    fn answer(&self, node: NodeId, conclusions: &[Vec<f64>]) -> Result<Vec<f64>>;

    /// What the node that leads makes of the sum of all answers, or of the answer of each node in their order.
    fn conclude(&self, answers: &[Vec<f64>], conclusions: &[Vec<f64>]) -> Result<Vec<f64>>;
}

/// Nodes that answer questions along a tree.
#[derive(Debug, Clone)]
pub struct Inquiry {
    plan: Arc<Plan>,
}

/// What all nodes know.
#[derive(Debug)]
struct Plan {
    questions: Arc<dyn Questions>,
    tree: Tree,
    children: Vec<Vec<NodeId>>,
    /// The nodes below each and itself, in the order in which their answers travel: itself, then child by child.
    below: Vec<Vec<NodeId>>,
}

impl Plan {
    /// How many rounds answers take up the tree, and conclusions down.
    fn height(&self) -> u64 {
        self.tree.height.max(1) as u64
    }

    /// How many numbers a node tells its parent.
    fn size_up(&self, node: NodeId, question: usize) -> usize {
        let size = self.questions.answer_size(question);
        match self.questions.gathered(question) {
            Gathered::Summed => size,
            Gathered::Each => size * self.below[node].len(),
        }
    }
}

impl Inquiry {
    /// Questions along a network, in which everyone must be able to reach everyone.
    pub fn new(network: &Network, questions: Arc<dyn Questions>) -> Result<Self> {
        let needs =
            "a network in which every node is joined to every other, if only through others";
        let what = "a question to all nodes";
        let tree = Tree::new(network).ok_or(Error::Unsupported { what, needs })?;
        let children = tree.children();
        let mut below: Vec<Vec<NodeId>> = (0..network.len()).map(|node| vec![node]).collect();
        let mut deepest_first: Vec<NodeId> = (0..network.len()).collect();
        deepest_first.sort_by_key(|node| std::cmp::Reverse(tree.depths[*node]));
        for node in deepest_first {
            let of_children: Vec<NodeId> =
                children[node].iter().flat_map(|child| below[*child].clone()).collect();
            below[node].extend(of_children);
        }
        Ok(Self { plan: Arc::new(Plan { questions, tree, children, below }) })
    }

    /// How many rounds all questions take.
    #[must_use]
    pub fn rounds(&self) -> usize {
        let rounds = 2 * self.plan.height() * self.plan.questions.count() as u64;
        usize::try_from(rounds).unwrap_or(usize::MAX)
    }
}

/// The node that leads a network, to which all answers go: the first of those that are nearest to all others; none if
/// the network falls apart.
#[must_use]
pub fn leader(network: &Network) -> Option<NodeId> {
    Tree::new(network)?.parents.iter().position(Option::is_none)
}

impl Method for Inquiry {
    type Participant = InquiryParticipant;

    fn join(&self, view: View) -> Result<InquiryParticipant> {
        let mut participant = InquiryParticipant {
            plan: self.plan.clone(),
            node: view.node.id,
            round: 0,
            conclusions: Vec::new(),
            gathered: Vec::new(),
        };
        participant.begin()?;
        Ok(participant)
    }
}

/// A node that answers.
#[derive(Debug)]
pub struct InquiryParticipant {
    plan: Arc<Plan>,
    node: NodeId,
    /// How many rounds have ended.
    round: u64,
    conclusions: Vec<Vec<f64>>,
    /// The answer to the question of the moment, and what came from below.
    gathered: Vec<f64>,
}

/// What a node does in a round.
enum Turn {
    /// It tells its parent what it has gathered.
    Up(NodeId),
    /// It tells those below what was concluded.
    Down,
    Nothing,
}

impl InquiryParticipant {
    /// What was concluded, question by question.
    #[must_use]
    pub fn conclusions(&self) -> &[Vec<f64>] {
        &self.conclusions
    }

    /// The question of a round, counted from zero, and how many rounds of it were before.
    fn moment(&self) -> (usize, u64) {
        let length = 2 * self.plan.height();
        (usize::try_from(self.round / length).unwrap_or(usize::MAX), self.round % length)
    }

    fn depth(&self) -> u64 {
        self.plan.tree.depths[self.node] as u64
    }

    fn is_over(&self, question: usize) -> bool {
        question >= self.plan.questions.count()
    }

    /// Answers the next question, if there is one.
    fn begin(&mut self) -> Result<()> {
        let (question, _) = self.moment();
        if self.is_over(question) {
            return Ok(());
        }
        self.gathered = self.plan.questions.answer(self.node, &self.conclusions)?;
        if self.gathered.len() != self.plan.questions.answer_size(question) {
            return Err(Error::Shape {
                what: "numbers of an answer",
                found: self.gathered.len(),
                expected: self.plan.questions.answer_size(question),
            });
        }
        Ok(())
    }

    /// What is done in the round that comes.
    fn turn(&self) -> Turn {
        let (question, before) = self.moment();
        let (height, depth) = (self.plan.height(), self.depth());
        match self.plan.tree.parents[self.node] {
            _ if self.is_over(question) => Turn::Nothing,
            // Those who are farthest begin, so that all below have told when it is a node's turn.
            Some(parent) if before + depth == height => Turn::Up(parent),
            _ if before == height + depth => Turn::Down,
            _ => Turn::Nothing,
        }
    }

    /// Takes what a node below has gathered.
    fn take(&mut self, question: usize, numbers: &[f64]) {
        match self.plan.questions.gathered(question) {
            Gathered::Summed => {
                self.gathered.iter_mut().zip(numbers).for_each(|(sum, own)| *sum += own);
            }
            Gathered::Each => self.gathered.extend(numbers),
        }
    }

    /// The conclusion of the node that leads.
    fn concluded(&self, question: usize) -> Result<Vec<f64>> {
        let questions = &self.plan.questions;
        let answers = match questions.gathered(question) {
            Gathered::Summed => vec![self.gathered.clone()],
            Gathered::Each => {
                let order = &self.plan.below[self.node];
                let mut answers = vec![Vec::new(); order.len()];
                let each = self.gathered.chunks_exact(questions.answer_size(question).max(1));
                for (node, own) in order.iter().zip(each) {
                    answers[*node] = own.to_vec();
                }
                answers
            }
        };
        let concluded = questions.conclude(&answers, &self.conclusions)?;
        if concluded.len() != questions.conclusion_size(question) {
            return Err(Error::Shape {
                what: "numbers of a conclusion",
                found: concluded.len(),
                expected: questions.conclusion_size(question),
            });
        }
        Ok(concluded)
    }
}

impl Participant for InquiryParticipant {
    type Message = InquiryMessage;

    fn send(&mut self) -> Vec<(NodeId, InquiryMessage)> {
        let message = |numbers: &Vec<f64>| InquiryMessage { numbers: numbers.clone() };
        match self.turn() {
            Turn::Up(parent) => vec![(parent, message(&self.gathered))],
            Turn::Down => {
                let Some(last) = self.conclusions.last() else { return Vec::new() };
                let children = &self.plan.children[self.node];
                children.iter().map(|child| (*child, message(last))).collect()
            }
            Turn::Nothing => Vec::new(),
        }
    }

    fn receive(&mut self, inbox: &[(NodeId, InquiryMessage)]) -> Result<()> {
        let plan = self.plan.clone();
        let (question, before) = self.moment();
        self.round += 1;
        if self.is_over(question) {
            return Ok(());
        }
        let (height, depth) = (plan.height(), self.depth());
        let parent = plan.tree.parents[self.node];
        // In the round in which those below tell, all of them do, and nothing else counts.
        if before + depth + 1 == height {
            for child in &plan.children[self.node] {
                let told = inbox.iter().find(|(from, _)| from == child);
                let expected = plan.size_up(*child, question);
                let numbers = expected_of(told, expected)?;
                self.take(question, numbers);
            }
        }
        if parent.is_none() && before + 1 == height {
            let concluded = self.concluded(question)?;
            self.conclusions.push(concluded);
        }
        if parent.is_some() && before + 1 == height + depth {
            let told = inbox.iter().find(|(from, _)| Some(*from) == parent);
            let numbers = expected_of(told, plan.questions.conclusion_size(question))?;
            self.conclusions.push(numbers.to_vec());
        }
        if before + 1 == 2 * height { self.begin() } else { Ok(()) }
    }

    fn hypothesis(&self) -> Option<&Arc<dyn Hypothesis>> {
        None
    }

    /// Nothing is learnt, so the number of rounds alone ends a run.
    fn report(&self) -> Report {
        Report { change: 1.0, size: 1.0, ..Report::default() }
    }
}

/// The numbers of a message that must be there, as many as all know.
fn expected_of(told: Option<&(NodeId, InquiryMessage)>, expected: usize) -> Result<&[f64]> {
    match told {
        Some((_, message)) if message.numbers.len() == expected => Ok(&message.numbers),
        _ => Err(Error::Malformed {
            what: "the answer of a neighbour",
            reason: "is not of the size that all nodes know",
        }),
    }
}
