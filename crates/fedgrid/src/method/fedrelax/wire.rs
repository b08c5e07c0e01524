//! Predictions as bytes, and the state of a node between two rounds.

use std::sync::Arc;

use super::{FedRelaxParticipant, PredictionMessage, pull::Target};
use crate::{
    bytes::{Reader, Writer},
    data::{Labels, Task},
    error::Result,
    method::{
        Durable, Memory, Wire,
        wire::{read_hypothesis, read_report, write_hypothesis, write_report},
    },
    network::NodeId,
};

/// How many predictions a neighbour sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PredictionShape {
    /// What is predicted.
    pub task: Task,
    /// How many public points the sender has.
    pub own: usize,
    /// How many public points the receiver has, where the sender predicts them, too.
    pub yours: Option<usize>,
}

impl Wire for PredictionMessage {
    type Shape = PredictionShape;

    const HEAD_BYTES: usize = 0;

    fn most_numbers(shape: &PredictionShape) -> usize {
        shape.task.outputs() * (shape.own + shape.yours.unwrap_or(0))
    }

    fn encode(&self, to: &mut Writer) -> Result<()> {
        to.finite("a prediction", self.own.as_slice())?;
        let yours = self.yours.as_ref().map_or(&[][..], |yours| yours.as_slice());
        to.finite("a prediction", yours)
    }

    fn decode(shape: &PredictionShape, from: &mut Reader<'_>) -> Result<Self> {
        let mut labels = |rows: usize| {
            let values = from.finite(rows * shape.task.outputs())?;
            Labels::new(shape.task, values).map(Arc::new)
        };
        Ok(Self { own: labels(shape.own)?, yours: shape.yours.map(labels).transpose()? })
    }
}

impl Durable for FedRelaxParticipant {
    fn shape(&self, from: NodeId) -> Option<PredictionShape> {
        let points = self.pulls.points_of(from)?;
        let yours = self.pulls.is_symmetric().then(|| self.node.public.rows());
        Some(PredictionShape { task: self.node.data.task(), own: points.rows(), yours })
    }

    fn snapshot(&self, to: &mut Writer) -> Result<()> {
        to.flag(self.hypothesis.is_some());
        if let Some(hypothesis) = &self.hypothesis {
            write_hypothesis(hypothesis.as_ref(), self.node.model.as_ref(), to)?;
        }
        to.count(self.predictions.len());
        self.predictions.iter().for_each(|labels| to.numbers(labels.as_slice()));
        to.number(self.loss);
        to.count(self.targets.len());
        self.targets.iter().for_each(|target| target.write(to));
        // Points without predictions in the last round keep the labels they had before.
        let (rows, outputs) = (self.node.data.rows(), self.node.data.task().outputs());
        to.numbers(&self.augmented.labels().as_slice()[rows * outputs..]);
        to.numbers(&self.augmented.weights()[rows..]);
        self.stepper.write(to)?;
        self.damping.write(to);
        to.flag(self.pulls.towards_zero());
        write_report(&self.report, to);
        Ok(())
    }

    fn restore(&mut self, from: &mut Reader<'_>) -> Result<()> {
        let task = self.node.data.task();
        self.hypothesis = if from.flag()? {
            Some(read_hypothesis(from, self.node.model.as_ref())?.into())
        } else {
            None
        };
        let public_sets = &self.pulls.public_sets;
        self.predictions = match from.count()? {
            0 => Vec::new(),
            count if count == public_sets.len() => {
                let read = public_sets.iter().map(|set| {
                    Labels::new(task, from.numbers(set.points.rows() * task.outputs())?)
                });
                read.collect::<Result<_>>()?
            }
            _ => return Err(from.refusal("is of another node")),
        };
        self.loss = from.number()?;
        self.targets = match from.count()? {
            0 => Vec::new(),
            count if count == public_sets.len() => {
                let read = public_sets
                    .iter()
                    .map(|set| Target::read(set.points.rows(), task.outputs(), from));
                read.collect::<Result<_>>()?
            }
            _ => return Err(from.refusal("is of another node")),
        };
        let rows = self.node.data.rows();
        let (labels, weights) = self.augmented.labels_and_weights_mut();
        let points = weights.len() - rows;
        labels[rows * task.outputs()..].copy_from_slice(&from.numbers(points * task.outputs())?);
        weights[rows..].copy_from_slice(&from.numbers(points)?);
        self.stepper.read(from)?;
        self.damping.read(from)?;
        self.pulls.set_towards_zero(from.flag()?);
        self.report = read_report(from)?;
        Ok(())
    }

    fn takes_changes(&self) -> bool {
        true
    }

    /// Its model; pulls and damping are those of other neighbours, and begin anew.
    fn inherit(&mut self, _: &[NodeId], from: &mut Reader<'_>) -> Result<()> {
        let hypothesis = if from.flag()? {
            Some(read_hypothesis(from, self.node.model.as_ref())?)
        } else {
            None
        };
        // What local training gave is the result there.
        if !self.ignores_pulls {
            self.begin_from(hypothesis.map(Arc::from));
        }
        Ok(())
    }

    /// It is silent for a round, and its first model is fitted to what its neighbours predict: a model of its own rows alone
    /// would pull them away from where they are.
    fn begin_late(&mut self) {
        if !self.ignores_pulls && self.pulls.total() > 0.0 {
            self.begin_from(None);
        }
    }

    fn expect_late_messages(&mut self) {
        self.damping.never_damp();
    }

    fn memory(&self) -> Memory {
        Memory::Replaceable
    }
}
