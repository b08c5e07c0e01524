//! Questions and answers as bytes, and the state of a node between two rounds.

use std::sync::Arc;

use super::{PersFlMessage, PersFlParticipant, ProbeAnswer, ProbeQuestion, ProbeRefusal};
use crate::{
    bytes::{Reader, Writer},
    data::{Labels, Task},
    error::Result,
    method::{Durable, Memory, Wire},
    model::LinearHypothesis,
    network::NodeId,
};

/// What questions and answers of another node can look like.
#[derive(Debug, Clone, PartialEq)]
pub struct ProbeShape {
    /// What is predicted.
    pub task: Task,
    /// How many weights the receiver's model has; none for a model without.
    pub weights: Option<usize>,
    /// The receiver's features.
    pub names: Arc<[String]>,
    /// How many public points the sender has.
    pub theirs: usize,
    /// How many public points the receiver has.
    pub own: usize,
}

// The first byte of every message; stored snapshots and other versions rely on these numbers.
const GRADIENT: u8 = 1;
const PROXIMAL: u8 = 2;
const REFIT: u8 = 3;
const NUMBERS: u8 = 4;
const LINEAR: u8 = 5;
const PREDICTIONS: u8 = 6;
const REFUSED: u8 = 7;

impl Wire for PersFlMessage {
    type Shape = ProbeShape;

    /// Which question or answer it is.
    const HEAD_BYTES: usize = 1;

    fn most_numbers(shape: &ProbeShape) -> usize {
        let predictions = shape.task.outputs() * shape.theirs.max(shape.own);
        let weights = shape.weights.unwrap_or(0).max(shape.names.len() + 1);
        // A question has a step, too.
        1 + predictions.max(weights)
    }

    fn encode(&self, to: &mut Writer) -> Result<()> {
        match self {
            Self::Question(question) => write_question(question, to),
            Self::Answer(answer) => write_answer(answer, to),
        }
    }

    fn decode(shape: &ProbeShape, from: &mut Reader<'_>) -> Result<Self> {
        let weights = |from: &Reader<'_>| {
            shape.weights.ok_or_else(|| from.refusal("is for a model of weights"))
        };
        let predictions = |rows: usize, from: &mut Reader<'_>| {
            let values = from.finite(rows * shape.task.outputs())?;
            Labels::new(shape.task, values).map(Arc::new)
        };
        let answer = match from.mark()? {
            mark @ (GRADIENT | PROXIMAL) => {
                let weights = from.finite(weights(from)?)?.into();
                return Ok(Self::Question(match mark {
                    GRADIENT => ProbeQuestion::Gradient { weights },
                    _ => ProbeQuestion::Proximal { weights, step: from.finite(1)?[0] },
                }));
            }
            REFIT => {
                let predictions = predictions(shape.theirs, from)?;
                let step = from.finite(1)?[0];
                return Ok(Self::Question(ProbeQuestion::Refit { predictions, step }));
            }
            NUMBERS => ProbeAnswer::Numbers(from.finite(weights(from)?)?.into()),
            LINEAR => {
                let (names, slopes) = (shape.names.clone(), from.finite(shape.names.len())?);
                let intercept = from.finite(1)?[0];
                ProbeAnswer::Linear(Arc::new(LinearHypothesis { names, slopes, intercept }))
            }
            PREDICTIONS => ProbeAnswer::Predictions(predictions(shape.own, from)?),
            REFUSED => ProbeAnswer::Refused(match from.mark()? {
                0 => ProbeRefusal::BudgetSpent,
                1 => ProbeRefusal::NoRows,
                2 => ProbeRefusal::OtherModel,
                _ => return Err(from.refusal("refuses for an unknown reason")),
            }),
            _ => return Err(from.refusal("is neither a question nor an answer")),
        };
        Ok(Self::Answer(answer))
    }
}

fn write_question(question: &ProbeQuestion, to: &mut Writer) -> Result<()> {
    match question {
        ProbeQuestion::Gradient { weights } => {
            to.mark(GRADIENT);
            to.finite("a question", weights)
        }
        ProbeQuestion::Proximal { weights, step } => {
            to.mark(PROXIMAL);
            to.finite("a question", weights)?;
            to.finite("a step", &[*step])
        }
        ProbeQuestion::Refit { predictions, step } => {
            to.mark(REFIT);
            to.finite("a question", predictions.as_slice())?;
            to.finite("a step", &[*step])
        }
    }
}

fn write_answer(answer: &ProbeAnswer, to: &mut Writer) -> Result<()> {
    match answer {
        ProbeAnswer::Numbers(numbers) => {
            to.mark(NUMBERS);
            to.finite("an answer", numbers)
        }
        ProbeAnswer::Linear(linear) => {
            to.mark(LINEAR);
            to.finite("an answer", &linear.slopes)?;
            to.finite("an answer", &[linear.intercept])
        }
        ProbeAnswer::Predictions(labels) => {
            to.mark(PREDICTIONS);
            to.finite("an answer", labels.as_slice())
        }
        ProbeAnswer::Refused(refusal) => {
            to.mark(REFUSED);
            to.mark(match refusal {
                ProbeRefusal::BudgetSpent => 0,
                ProbeRefusal::NoRows => 1,
                ProbeRefusal::OtherModel => 2,
            });
            Ok(())
        }
    }
}

impl Durable for PersFlParticipant {
    fn shape(&self, from: NodeId) -> Option<ProbeShape> {
        let index = self.known.binary_search_by_key(&from, |(id, _)| *id).ok()?;
        let (rows, model) = (&self.recent.rows, &self.candidate.model);
        let columns = rows.features().columns();
        Some(ProbeShape {
            task: rows.task(),
            weights: model.as_parametric().map(|model| model.size(columns, rows.task())),
            names: rows.features().names().clone(),
            theirs: self.known[index].1.rows(),
            own: self.public.rows(),
        })
    }

    fn snapshot(&self, to: &mut Writer) -> Result<()> {
        to.flag(self.asking);
        to.count(self.recent.tick);
        to.count(self.recent.fresh);
        // A restarted candidate that had forgotten what it answered could be asked for all of it again.
        let asked = self.candidate.spent.questions();
        let asked = asked.map(|(target, said)| (target, PersFlMessage::Question(said.clone())));
        let said = self.answers.iter();
        let said = said.map(|(target, said)| (*target, PersFlMessage::Answer(said.clone())));
        for part in [asked.collect::<Vec<_>>(), said.collect()] {
            to.count(part.len());
            for (target, message) in part {
                to.count(target);
                message.encode(to)?;
            }
        }
        self.target.as_ref().map_or(Ok(()), |target| target.write(to))
    }

    fn restore(&mut self, from: &mut Reader<'_>) -> Result<()> {
        self.asking = from.flag()?;
        // Rows that have arrived are not kept: the feed gives them again.
        let (ticks, fresh) = (from.count()?, from.count()?);
        for _ in 0..ticks {
            let renewed = self.recent.tick(self.id)?;
            if let (Some(target), true) = (&mut self.target, renewed) {
                target.renew(&self.recent.rows)?;
            }
        }
        self.recent.fresh = fresh;
        let mut spent = self.candidate.spent.of_earlier_runs();
        for _ in 0..from.count()? {
            match self.read(from)? {
                (target, PersFlMessage::Question(question)) => spent.recall(target, question),
                _ => return Err(from.refusal("has an answer in place of a question")),
            }
        }
        self.candidate.spent = spent;
        self.answers.clear();
        for _ in 0..from.count()? {
            match self.read(from)? {
                (target, PersFlMessage::Answer(answer)) => self.answers.push((target, answer)),
                _ => return Err(from.refusal("has a question in place of an answer")),
            }
        }
        self.target.as_mut().map_or(Ok(()), |target| target.read(from))
    }

    fn memory(&self) -> Memory {
        Memory::Ledger
    }

    fn charges(&self) -> Vec<(NodeId, u64)> {
        self.candidate.spent.counts().collect()
    }

    fn charge(&mut self, asker: NodeId, count: u64) {
        self.candidate.spent.charge(asker, count);
    }
}

impl PersFlParticipant {
    /// A message of its own snapshot, and the target that it was heard from or is meant for. Answers
    /// are of the shape in which the target reads them.
    fn read(&self, from: &mut Reader<'_>) -> Result<(NodeId, PersFlMessage)> {
        let target = from.count()?;
        let mut shape = self.shape(target).ok_or_else(|| from.refusal("is of another node"))?;
        shape.own = shape.theirs;
        Ok((target, PersFlMessage::decode(&shape, from)?))
    }
}
