//! Algorithm 2 in one process, for any kind of model: the refitted models themselves are scored and
//! taken, which no message may carry.
//!
//! The authors' code weighs the candidate's rows 1 and public points η; with m rows and |D| points
//! that is the step m/(η |D|) here.

use std::sync::Arc;

use rayon::prelude::*;

use super::{
    Adoption, PersFl, Probe, Tally,
    candidate::refitted,
    choice::Chooser,
    start::{first_hypothesis, loss_of},
};
use crate::{
    data::Dataset,
    error::{Error, Result, same_size},
    model::Hypothesis,
    network::{Network, Node, NodeId},
};

/// Targets that learn from the rows of all nodes by refits.
#[derive(Debug)]
pub struct RefitPool<'a> {
    method: PersFl,
    nodes: &'a [Node],
    targets: Vec<Learning>,
    iteration: usize,
}

#[derive(Debug)]
struct Learning {
    id: NodeId,
    train: Dataset,
    scoring: Dataset,
    chooser: Chooser,
    hypothesis: Arc<dyn Hypothesis>,
}

impl<'a> RefitPool<'a> {
    /// All targets of the method at their start; every node may be a candidate of every other.
    pub fn new(method: &PersFl, nodes: &'a [Node]) -> Result<Self> {
        Self::with(method, nodes, &|node| (0..nodes.len()).filter(|&id| id != node).collect())
    }

    /// The same, where the candidates of a node are its neighbours.
    pub fn among(method: &PersFl, nodes: &'a [Node], network: &Network) -> Result<Self> {
        same_size("nodes of the network", network.len(), nodes.len())?;
        let neighbours = |node| network.neighbours(node).iter().map(|(id, _)| *id).collect();
        Self::with(method, nodes, &neighbours)
    }

    fn with(
        method: &PersFl,
        nodes: &'a [Node],
        candidates: &(dyn Fn(NodeId) -> Vec<NodeId> + Sync),
    ) -> Result<Self> {
        method.check()?;
        if method.probe != Probe::Refit || method.adoption != Adoption::Best {
            return Err(Error::Unsupported {
                what: "refitting in one process",
                needs: "the refit probe, and the best step alone",
            });
        }
        if method.online.is_some() {
            return Err(Error::Unsupported { what: "rows that arrive", needs: "messages" });
        }
        let begin = |node: &Node| {
            let (train, scoring) = method.divided(node.id, &node.data)?;
            let mut others = candidates(node.id);
            others.extend(method.own.then_some(node.id));
            others.sort_unstable();
            let chooser = Chooser::new(&method.choice, node.id, &others);
            let hypothesis = first_hypothesis(method, node, &train)?;
            Ok(Learning { id: node.id, train, scoring, chooser, hypothesis })
        };
        let targets = nodes.par_iter().filter(|node| method.is_target(node.id, &node.data));
        let targets = targets.map(begin).collect::<Result<_>>()?;
        Ok(Self { method: method.clone(), nodes, targets, iteration: 0 })
    }

    /// One iteration of every target.
    pub fn step(&mut self) -> Result<()> {
        let (method, nodes, iteration) = (&self.method, self.nodes, self.iteration);
        self.iteration += 1;
        self.targets.par_iter_mut().try_for_each(|target| target.step(method, nodes, iteration))
    }

    /// What each target has learnt, in order of ids.
    pub fn hypotheses(&self) -> impl Iterator<Item = (NodeId, &Arc<dyn Hypothesis>)> {
        self.targets.iter().map(|target| (target.id, &target.hypothesis))
    }

    /// What each target remembers of its candidates.
    pub fn tallies(&self) -> impl Iterator<Item = &Tally> {
        self.targets.iter().flat_map(|target| &target.chooser.tallies)
    }
}

impl Learning {
    fn step(&mut self, method: &PersFl, nodes: &[Node], iteration: usize) -> Result<()> {
        let mut drawn = Vec::new();
        let mut stream = method.stream(self.id, iteration);
        self.chooser.draw(method.candidates, &mut stream, &mut drawn);
        let target = &nodes[self.id];
        let predictions = self.hypothesis.predict(&target.public);
        let before = loss_of(self.hypothesis.as_ref(), &self.scoring);
        let fit = |&place: &usize| -> Result<Option<Arc<dyn Hypothesis>>> {
            let candidate = self.chooser.tallies[place].candidate;
            let data = if candidate == self.id { &self.train } else { &nodes[candidate].data };
            if data.total_weight() == 0.0 {
                return Ok(None);
            }
            let near = (target.public.as_ref(), &predictions);
            Ok(Some(refitted(target.model.as_ref(), data, near, method.step)?.into()))
        };
        let fitted = drawn.par_iter().map(fit).collect::<Result<Vec<_>>>()?;
        let mut rewards = Vec::with_capacity(fitted.len());
        for (&place, fitted) in drawn.iter().zip(&fitted) {
            let tally = &mut self.chooser.tallies[place];
            tally.probes += 1;
            let Some(fitted) = fitted else {
                tally.refused += 1;
                rewards.push(f64::NAN);
                continue;
            };
            let reward = before - loss_of(fitted.as_ref(), &self.scoring);
            tally.reward(reward, before);
            rewards.push(reward);
        }
        for (position, _) in method.adoption.weights(&rewards, method.only_if_better) {
            self.chooser.tallies[drawn[position]].adopted += 1;
            if let Some(fitted) = &fitted[position] {
                self.hypothesis = fitted.clone();
            }
        }
        Ok(())
    }
}
