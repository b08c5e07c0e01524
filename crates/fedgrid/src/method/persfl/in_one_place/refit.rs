//! Algorithm 2 in one process, for any kind of model: the refitted models themselves are scored and
//! taken, which no message may carry.
//!
//! The authors' code weighs the candidate's rows 1 and public points η; with m rows and |D| points
//! that is the step m/(η |D|) here.

use std::sync::Arc;

use rayon::prelude::*;

use super::{
    super::{Adoption, PersFl, Probe, Tally, target::ProbingTarget},
    candidates,
};
use crate::{
    error::{Error, Result},
    model::Hypothesis,
    network::{Network, Node, NodeId},
};

/// Targets that learn from the rows of all nodes by refits.
#[derive(Debug)]
pub struct RefitPool<'a> {
    nodes: &'a [Node],
    targets: Vec<ProbingTarget>,
}

impl<'a> RefitPool<'a> {
    /// All targets of the method at their start; every node may be a candidate of every other.
    pub fn new(method: &PersFl, nodes: &'a [Node]) -> Result<Self> {
        Self::with(method, nodes, None)
    }

    /// The same, where the candidates of a node are its neighbours.
    pub fn among(method: &PersFl, nodes: &'a [Node], network: &Network) -> Result<Self> {
        Self::with(method, nodes, Some(network))
    }

    fn with(method: &PersFl, nodes: &'a [Node], network: Option<&Network>) -> Result<Self> {
        let candidates = candidates(nodes, network)?;
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
        let begin = |node: &Node| ProbingTarget::new(method, node, candidates(node.id));
        let targets = nodes.par_iter().filter(|node| method.is_target(node.id, &node.data));
        Ok(Self { nodes, targets: targets.map(begin).collect::<Result<_>>()? })
    }

    /// One iteration of every target.
    pub fn step(&mut self) -> Result<()> {
        let nodes = self.nodes;
        self.targets.par_iter_mut().try_for_each(|target| {
            target.draw();
            target.refit(nodes)
        })
    }

    /// What each target has learnt, in order of ids.
    pub fn hypotheses(&self) -> impl Iterator<Item = (NodeId, &Arc<dyn Hypothesis>)> {
        self.targets.iter().map(|target| (target.node.id, &target.hypothesis))
    }

    /// What each target remembers of its candidates.
    pub fn tallies(&self) -> impl Iterator<Item = &Tally> {
        self.targets.iter().flat_map(ProbingTarget::tallies)
    }
}
