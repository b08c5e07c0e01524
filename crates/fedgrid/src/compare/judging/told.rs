//! What a node tells of its test rows: sums over all of them, from which whoever has those of all nodes pairs any two
//! methods as if it had the rows.
//!
//! ```text
//! of each method      Σ ℓ, Σ_b r̄_b, Σ θ                       losses, mean residuals of batches, tilts
//! of each pair        b/(b−1) Σ_b (d_b − n_b d̄)², Σ_b q_b q_bᵀ   d and q of two methods, as in `difference.rs`
//! of each shuffle     Σ ℓ
//! ```
//!
//! A batch has five rows at least, so that no number, nor anything that follows from all of them together, is about
//! fewer.

use crate::{
    compare::{Contestant, NodeEvidence, paired::PairedNode},
    error::{Error, Result},
};

/// The fewest rows that a sum which leaves a node is made of.
pub const FEWEST_ROWS: usize = 5;

/// What is compared, which all nodes know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Field {
    /// Those with a model at every node: without the network first, the network last.
    pub(super) contestants: Vec<Contestant>,
    /// How many shuffles there are.
    pub(super) shuffles: usize,
    /// How many numbers a prediction has.
    pub(super) outputs: usize,
}

impl Field {
    /// How many methods are paired: the contestants, and the mean of the shuffles behind them.
    fn methods(&self) -> usize {
        self.contestants.len() + usize::from(self.shuffles > 0)
    }

    /// The pairs that the rule may ask for, by place. Shuffles are compared with the network alone.
    fn pairs(&self) -> Vec<(usize, usize)> {
        let count = self.contestants.len();
        let all = (0..count).flat_map(|a| (a + 1..count).map(move |b| (a, b)));
        all.chain((self.shuffles > 0).then_some((count - 1, count))).collect()
    }

    /// How many numbers a node tells.
    pub(super) fn size(&self) -> usize {
        3 + self.methods() * (1 + 2 * self.outputs)
            + self.pairs().len() * (1 + self.outputs * self.outputs)
            + self.shuffles
    }

    pub(super) fn place(&self, contestant: Contestant) -> Option<usize> {
        self.contestants.iter().position(|own| *own == contestant)
    }
}

/// Whether a node is part of the verdict, and why not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// It is.
    Judged,
    /// It has no test rows.
    NoRows,
    /// It has so few, or one that counts for so much, that sums would tell single errors.
    FewRows,
    /// One of its errors is no finite number.
    NotFinite,
}

const PARTS: [Part; 4] = [Part::NoRows, Part::Judged, Part::FewRows, Part::NotFinite];

impl Part {
    pub(super) fn number(self) -> f64 {
        let place = PARTS.iter().position(|part| *part == self);
        place.map_or(0.0, |place| place as f64)
    }

    fn of_number(number: f64) -> Option<Self> {
        PARTS.into_iter().find(|part| part.number().to_bits() == number.to_bits())
    }
}

/// The sums of one method.
#[derive(Debug, Clone, PartialEq)]
struct MethodSums {
    loss: f64,
    residuals: Vec<f64>,
    tilts: Vec<f64>,
}

/// The sums of a pair that do not follow from those of its methods.
#[derive(Debug, Clone, PartialEq)]
struct PairSums {
    variance: f64,
    squares: Vec<f64>,
}

/// What a node tells.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct NodeSums {
    /// How many rows there are, or what they stand for.
    pub(super) rows: f64,
    batches: usize,
    methods: Vec<MethodSums>,
    pairs: Vec<PairSums>,
    /// The summed loss of each shuffle.
    pub(super) shuffles: Vec<f64>,
}

impl NodeSums {
    /// The sums over a node's rows by what these say of each contestant and of each shuffle.
    pub(super) fn new(
        field: &Field,
        contestants: &[NodeEvidence],
        shuffles: &[NodeEvidence],
    ) -> Self {
        let each: Vec<Vec<NodeEvidence>> = shuffles.iter().map(|one| vec![one.clone()]).collect();
        let mean = NodeEvidence::means(&each).into_iter().flatten();
        let all: Vec<NodeEvidence> = contestants.iter().cloned().chain(mean).collect();
        let sums = |own: &NodeEvidence| {
            // Paired with itself a method has its own mean residuals.
            let own_pair = PairedNode::new(own, own);
            MethodSums {
                loss: own.losses.iter().sum(),
                residuals: own_pair.residuals,
                tilts: summed(&own.tilts, field.outputs),
            }
        };
        let pair = |(a, b): (usize, usize)| {
            let PairedNode { variance, squares, .. } = PairedNode::new(&all[a], &all[b]);
            PairSums { variance, squares }
        };
        let counts = all[0].row_counts();
        Self {
            rows: counts.iter().sum(),
            batches: counts.len(),
            methods: all.iter().map(sums).collect(),
            pairs: field.pairs().into_iter().map(pair).collect(),
            shuffles: shuffles.iter().map(|one| one.losses.iter().sum()).collect(),
        }
    }

    /// The numbers, in a fixed order, as many as the size of the field.
    pub(super) fn numbers(&self) -> Vec<f64> {
        let mut numbers = vec![Part::Judged.number(), self.rows, self.batches as f64];
        for MethodSums { loss, residuals, tilts } in &self.methods {
            numbers.push(*loss);
            numbers.extend(residuals);
            numbers.extend(tilts);
        }
        for PairSums { variance, squares } in &self.pairs {
            numbers.push(*variance);
            numbers.extend(squares);
        }
        numbers.extend(&self.shuffles);
        numbers
    }

    /// What a node has told; none where it is no part of the verdict.
    pub(super) fn read(field: &Field, numbers: &[f64]) -> Result<Result<Self, Part>> {
        let wrong =
            |reason| Error::Malformed { what: "what a node tells of its test rows", reason };
        let (mut left, outputs) = (numbers.iter().copied(), field.outputs);
        let mut next = || left.next().ok_or_else(|| wrong("is too short"));
        let part = Part::of_number(next()?).ok_or_else(|| wrong("has an unknown beginning"))?;
        if part != Part::Judged {
            return Ok(Err(part));
        }
        let rows = next()?;
        let batches = whole(next()?).filter(|batches| *batches > 0 && rows > 0.0);
        let batches = batches.ok_or_else(|| wrong("is of no rows"))?;
        let mut list = |count: usize| (0..count).map(|_| next()).collect::<Result<Vec<f64>>>();
        let method = |list: &mut dyn FnMut(usize) -> Result<Vec<f64>>| {
            Ok(MethodSums { loss: list(1)?[0], residuals: list(outputs)?, tilts: list(outputs)? })
        };
        let methods = (0..field.methods()).map(|_| method(&mut list)).collect::<Result<_>>()?;
        let pair = |list: &mut dyn FnMut(usize) -> Result<Vec<f64>>| {
            Ok(PairSums { variance: list(1)?[0], squares: list(outputs * outputs)? })
        };
        let pairs = field.pairs().iter().map(|_| pair(&mut list)).collect::<Result<_>>()?;
        let shuffles = list(field.shuffles)?;
        Ok(Ok(Self { rows, batches, methods, pairs, shuffles }))
    }

    /// The summed loss of a contestant, by its place.
    pub(super) fn loss(&self, place: usize) -> f64 {
        self.methods[place].loss
    }

    /// Two methods by their places; the mean of the shuffles is behind the contestants.
    pub(super) fn paired(&self, field: &Field, (first, second): (usize, usize)) -> PairedNode {
        let (low, high) = (first.min(second), first.max(second));
        let pairs = field.pairs();
        let place = pairs.iter().position(|pair| *pair == (low, high));
        let place = place.expect("the rule asks for two different methods of the field");
        let PairSums { variance, squares } = &self.pairs[place];
        let (a, b) = (&self.methods[low], &self.methods[high]);
        let both = |a: &[f64], b: &[f64], of: fn(f64, f64) -> f64| {
            a.iter().zip(b).map(|(a, b)| of(*a, *b)).collect::<Vec<f64>>()
        };
        let pair = PairedNode {
            rows: self.rows,
            batches: self.batches,
            gain: a.loss - b.loss,
            variance: *variance,
            residuals: both(&a.residuals, &b.residuals, |a, b| 0.5 * (a + b)),
            squares: squares.clone(),
            tilts: both(&a.tilts, &b.tilts, |a, b| b - a),
        };
        if first == low { pair } else { pair.turned() }
    }
}

/// Sums over batches, one for every output.
fn summed(values: &[f64], outputs: usize) -> Vec<f64> {
    let of_output = |output| values.iter().skip(output).step_by(outputs.max(1)).sum();
    (0..outputs).map(of_output).collect()
}

/// A small count that travelled as a number.
pub(super) fn whole(number: f64) -> Option<usize> {
    let is_count = number >= 0.0 && number.fract() == 0.0 && number < 2_f64.powi(53);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is a count")]
    is_count.then_some(number as usize)
}
