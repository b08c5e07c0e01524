//! Algorithm 1 for linear models, on plain rows and moments.
//!
//! Choice, adoption and start are those of the messages; gradients, losses and steps stand here a second
//! time because of their speed. Ten times as fast as numpy (docs/performance.md, "PersFL") asks for
//! products over four rows at once in wide registers, rewards without a second loss, and steps that are
//! formed only if they are taken, none of which a model's `gradient` and `loss` can give. Sums run in
//! another order than there, so that the two roads agree to 1e-11, not to the bit; a law holds it, and
//! that they adopt the same candidates.
//!
//! A candidate's gradient is formed from its rows or its moments, whichever is cheaper. The reward of
//! a candidate that a target has probed often comes from the inner products of their rows, formed
//! once,
//!
//! ```text
//! X_i s = 2η (X_i X_jᵀ) W_j (X_j w − y_j)      m_i m_j products instead of (m_i + m_j) d
//! ```
//!
//! so that only the step that is taken needs a gradient. Targets share no sum: the bits do not
//! depend on the number of threads.

use std::sync::Arc;

use rayon::prelude::*;

use super::{
    super::{Budget, PersFl, Probe, Tally, choice::Chooser, start::first_weights},
    candidates,
    kernels::{combination, gram, gram_row},
    row_block::{LossPoint, RowBlock},
};
use crate::{
    algebra::add_scaled,
    data::Dataset,
    error::{Error, Result, at_least_zero},
    model::{Linear, LinearHypothesis, LinearProximal},
    network::{Network, Node, NodeId},
};

/// How many numbers all targets together may keep of inner products with candidates: one gigabyte, so
/// that a laptop has room for the rows, too.
const MAX_KEPT_PRODUCTS: usize = 1 << 27;

/// Targets that learn linear models from the rows of all nodes.
///
/// ```
/// use fedgrid::{data::*, method::{LinearPool, PersFl}, model::Linear, network::Node};
/// use std::sync::Arc;
///
/// // Node 0 has one reading of y = 2 x, as has node 1; node 2 says y = −x.
/// let nodes: Vec<Node> = [2.0, 2.0, -1.0].iter().enumerate().map(|(id, slope)| {
///     let rows = Features::from_rows(&["x"], &[[1.0]])?;
///     let public = Arc::new(rows.clone());
///     let data = Dataset::new(rows, Labels::values(vec![*slope]))?;
///     Ok(Node { id, data, model: Arc::new(Linear { ridge: 0.0, intercept: false }), public })
/// }).collect::<fedgrid::Result<_>>()?;
/// let method = PersFl { step: 0.25, targets: Some([0].into()), ..PersFl::default() };
/// let mut pool = LinearPool::new(&method, &nodes)?.expect("the models are linear");
/// (0..50).for_each(|_| pool.step());
/// let (_, weights) = pool.weights().next().expect("there is a target");
/// assert!((weights[0] - 2.0).abs() < 1e-12);
/// # Ok::<(), fedgrid::Error>(())
/// ```
#[derive(Debug)]
pub struct LinearPool<'a> {
    method: PersFl,
    names: Arc<[String]>,
    blocks: Vec<RowBlock<'a>>,
    /// The factored rows of each node, for proximal probes.
    proximal: Vec<LinearProximal>,
    targets: Vec<LinearTarget>,
    iteration: usize,
}

#[derive(Debug)]
struct LinearTarget {
    id: NodeId,
    scoring: RowBlock<'static>,
    /// The rows by which a target probes itself.
    train: Option<Box<(RowBlock<'static>, Option<LinearProximal>)>>,
    chooser: Chooser,
    weights: Vec<f64>,
    /// The inner products of each candidate's rows with scoring rows, where they are kept.
    products: Vec<Option<Box<[f64]>>>,
    /// How many more numbers may be kept.
    room: usize,
    scratch: Scratch,
}

/// Room that is used again in every iteration.
#[derive(Debug, Default)]
struct Scratch {
    drawn: Vec<usize>,
    residuals: Vec<f64>,
    /// Of each candidate whose inner products are kept, what its step is combined with.
    factors: Vec<Vec<f64>>,
    moves: Vec<f64>,
    steps: Vec<f64>,
    rewards: Vec<f64>,
    point: LossPoint,
}

impl<'a> LinearPool<'a> {
    /// All targets of the method at their start, or none if a model is not linear, the models differ
    /// in shape, the probe is a refit, or rows arrive, which needs messages. Every node may be a
    /// candidate of every other.
    pub fn new(method: &PersFl, nodes: &'a [Node]) -> Result<Option<Self>> {
        Self::with(method, nodes, None)
    }

    /// The same, where the candidates of a node are its neighbours.
    pub fn among(method: &PersFl, nodes: &'a [Node], network: &Network) -> Result<Option<Self>> {
        Self::with(method, nodes, Some(network))
    }

    fn with(method: &PersFl, nodes: &'a [Node], network: Option<&Network>) -> Result<Option<Self>> {
        let candidates = candidates(nodes, network)?;
        method.check()?;
        check_budget(method)?;
        let Some(models) = linear_models(nodes)?.filter(|_| method.online.is_none()) else {
            return Ok(None);
        };
        let Some(first) = nodes.first().filter(|_| method.probe != Probe::Refit) else {
            return Ok(None);
        };
        let names = first.data.features().names().clone();
        let is_target = |node: &&Node| method.is_target(node.id, &node.data);
        let count = nodes.iter().filter(is_target).count().max(1);
        let blocks: Vec<RowBlock> = nodes
            .par_iter()
            .zip(&models)
            .map(|(node, model)| RowBlock::new(model, &node.data))
            .collect();
        let factored = |(node, model): (&Node, &&Linear)| LinearProximal::new(model, &node.data);
        let proximal = match method.probe {
            Probe::Proximal => {
                nodes.par_iter().zip(&models).map(factored).collect::<Result<_>>()?
            }
            _ => Vec::new(),
        };
        let begin = |node: &Node| {
            let room = MAX_KEPT_PRODUCTS / count;
            LinearTarget::new(method, node, models[node.id], candidates(node.id), room)
        };
        let targets = nodes.par_iter().filter(is_target).map(begin).collect::<Result<_>>()?;
        let method = method.clone();
        Ok(Some(Self { method, names, blocks, proximal, targets, iteration: 0 }))
    }

    /// One iteration of every target.
    pub fn step(&mut self) {
        let Self { method, blocks, proximal, targets, iteration, .. } = self;
        let iteration = std::mem::replace(iteration, *iteration + 1);
        let step = |target: &mut LinearTarget| target.step(method, blocks, proximal, iteration);
        // One target gains nothing from other threads and need not wait for them.
        match targets.as_mut_slice() {
            [only] => step(only),
            several => several.par_iter_mut().for_each(step),
        }
    }

    /// The weights of each target, in order of ids.
    #[must_use]
    pub fn weights(&self) -> impl ExactSizeIterator<Item = (NodeId, &[f64])> {
        self.targets.iter().map(|target| (target.id, target.weights.as_slice()))
    }

    /// What each target has learnt, in order of ids.
    #[must_use]
    pub fn hypotheses(&self) -> impl ExactSizeIterator<Item = (NodeId, LinearHypothesis)> {
        self.weights().map(|(id, weights)| {
            let slopes = weights[..self.names.len()].to_vec();
            let intercept = weights.get(self.names.len()).copied().unwrap_or(0.0);
            (id, LinearHypothesis { names: self.names.clone(), slopes, intercept })
        })
    }

    /// What each target remembers of its candidates.
    pub fn tallies(&self) -> impl Iterator<Item = &Tally> {
        self.targets.iter().flat_map(|target| &target.chooser.tallies)
    }
}

impl LinearTarget {
    fn new(
        method: &PersFl,
        node: &Node,
        model: &Linear,
        candidates: Vec<NodeId>,
        room: usize,
    ) -> Result<Self> {
        let (train, scoring) = method.divided(node.id, &node.data)?;
        let chooser = Chooser::new(method, node.id, candidates);
        let own = |train: &Dataset| -> Result<_> {
            let factored = match method.probe {
                Probe::Proximal => Some(LinearProximal::new(model, train)?),
                _ => None,
            };
            Ok(Box::new((RowBlock::new(model, train).into_owned(), factored)))
        };
        Ok(Self {
            id: node.id,
            weights: first_weights(method, node, &train)?.to_vec(),
            train: method.own.then(|| own(&train)).transpose()?,
            scoring: RowBlock::new(model, &scoring).into_owned(),
            products: vec![None; chooser.tallies.len()],
            chooser,
            room,
            scratch: Scratch::default(),
        })
    }

    fn step(
        &mut self,
        method: &PersFl,
        blocks: &[RowBlock],
        proximal: &[LinearProximal],
        iteration: usize,
    ) {
        let mut scratch = std::mem::take(&mut self.scratch);
        self.chooser.draw(method, iteration, &mut scratch.drawn);
        self.scoring.look(&self.weights, &mut scratch.point);
        let size = self.weights.len();
        scratch.steps.resize(scratch.drawn.len() * size, 0.0);
        scratch.factors.resize(scratch.drawn.len(), Vec::new());
        scratch.rewards.clear();
        for position in 0..scratch.drawn.len() {
            let index = scratch.drawn[position];
            let reward = self.probe(method, blocks, proximal, (position, index), &mut scratch);
            let tally = &mut self.chooser.tallies[index];
            // No rows, or no proximal step: by messages that would be a refusal.
            if reward.is_nan() {
                tally.refused += 1;
            } else {
                tally.reward(reward, scratch.point.loss);
            }
            scratch.rewards.push(reward);
        }
        for (position, share) in self.chooser.adopt(method, &scratch.drawn, &scratch.rewards) {
            let (index, step) = (scratch.drawn[position], position * size..(position + 1) * size);
            let step = &mut scratch.steps[step];
            if self.products[index].is_some() {
                // Only now is the step itself needed.
                let block = &blocks[self.chooser.tallies[index].candidate];
                block.combined(&scratch.factors[position], step);
            }
            add_scaled(&mut self.weights, -share, step);
        }
        self.scratch = scratch;
    }

    /// The reward of one candidate; its step is left in `scratch`, unless inner products are kept. Not
    /// a number where the candidate has no rows.
    fn probe(
        &mut self,
        method: &PersFl,
        blocks: &[RowBlock],
        proximal: &[LinearProximal],
        (position, index): (usize, usize),
        scratch: &mut Scratch,
    ) -> f64 {
        let Tally { candidate, rewarded, .. } = self.chooser.tallies[index];
        let itself = candidate == self.id;
        if method.probe == Probe::Gradient && !itself {
            self.keep(index, rewarded, &blocks[candidate]);
        }
        // Rows that are held back score, so a target probes itself by the others.
        let own = self.train.as_deref().filter(|_| itself);
        let block = own.map_or(&blocks[candidate], |own| &own.0);
        if block.is_empty {
            return f64::NAN;
        }
        let factor = 2.0 * method.step;
        if let Some(kept) = &self.products[index] {
            let factors = &mut scratch.factors[position];
            block.residuals(&self.weights, factor, factors);
            let count = self.scoring.count();
            scratch.moves.resize(gram_row(count), 0.0);
            combination(kept, factors, &mut scratch.moves);
            return self.scoring.reward_of_moves(&scratch.moves[..count], &scratch.point);
        }
        let size = self.weights.len();
        let step = &mut scratch.steps[position * size..(position + 1) * size];
        match (method.probe, own.and_then(|own| own.1.as_ref()).or(proximal.get(candidate))) {
            (Probe::Proximal, Some(factored)) => {
                // argmin η L(w) + ‖w − ŵ‖² is the proximal step with τ = η/2.
                let moved = factored.step(&self.weights, method.step / 2.0);
                let Ok(moved) = moved else { return f64::NAN };
                step.iter_mut().zip(&self.weights).zip(&moved).for_each(|((s, w), v)| *s = w - v);
            }
            _ => block.half_gradient(&self.weights, factor, &mut scratch.residuals, step),
        }
        self.scoring.reward(&self.weights, step, &mut scratch.point)
    }

    /// Keeps the inner products with a candidate once it has been probed so often that they would
    /// have paid for themselves.
    fn keep(&mut self, index: usize, probed: usize, block: &RowBlock) {
        let (Some(own), Some(rows)) = (self.scoring.plain_rows(), block.plain_rows()) else {
            return;
        };
        // Forming them costs m_i m_j d products, a probe without them (m_i + m_j) d: where they are formed
        // once earlier probes have cost as much, a wrong guess costs no more than twice the best.
        let (mine, theirs) = (self.scoring.count(), block.count());
        let (pays, length) = (probed * (mine + theirs) >= mine * theirs, gram_row(mine) * theirs);
        if pays && self.products[index].is_none() && length <= self.room {
            self.room -= length;
            self.products[index] = Some(gram(rows, own, self.weights.len()).into_boxed_slice());
        }
    }
}

fn check_budget(method: &PersFl) -> Result<()> {
    if method.budget != Budget::Unlimited {
        return Err(Error::Unsupported {
            what: "a budget of probes",
            needs: "messages; in one process all rows are at hand",
        });
    }
    Ok(())
}

/// The models of all nodes, or none if one is not linear or they differ in shape.
fn linear_models(nodes: &[Node]) -> Result<Option<Vec<&Linear>>> {
    let models: Option<Vec<&Linear>> = nodes.iter().map(|node| node.model.as_linear()).collect();
    let Some(models) = models else { return Ok(None) };
    for model in &models {
        at_least_zero("ridge", model.ridge)?;
    }
    let shape = |node: &Node, model: &Linear| (node.data.features().columns(), model.intercept);
    let mut shapes = nodes.iter().zip(&models).map(|(node, model)| shape(node, model));
    let first = shapes.next();
    Ok(shapes.all(|other| Some(other) == first).then_some(models))
}
