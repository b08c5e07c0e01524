//! The verdict of the node that leads, from the sums of all nodes, and as numbers for all.

use serde::{Deserialize, Serialize};

use super::told::{Field, NodeSums, Part, whole};
use crate::{
    compare::{Contestant, Difference, Kind, Verdict, difference::Paired, verdict::Compared},
    error::{Error, Result},
    network::Network,
};

/// What all sites know together: how each method did on the test rows of all, and the verdict.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JointVerdict {
    /// The rule's answer; none where no node, or only one, has test rows enough.
    pub verdict: Option<Verdict>,
    /// The mean error of each method; `pooled` is the mean model.
    pub errors: Vec<(Contestant, f64)>,
    /// What the network gains on each method without it.
    pub gains: Vec<(Contestant, Difference)>,
    /// How many test rows there are, or what they stand for.
    pub rows: f64,
    /// How many nodes they are of.
    pub judged: usize,
    /// How many nodes have no test rows.
    pub without_rows: usize,
    /// How many have so few, or one that counts for so much, that sums would tell single errors.
    pub few_rows: usize,
    /// How many have an error that is no finite number.
    pub not_finite: usize,
}

/// The kinds of verdicts, by the number that stands for each.
const KINDS: [Kind; 7] = [
    Kind::Network,
    Kind::Hub,
    Kind::Coupling,
    Kind::CouplingOnly,
    Kind::Pooled,
    Kind::Local,
    Kind::Undecided,
];

/// How many numbers a difference takes.
const DIFFERENCE_SIZE: usize = 4;

impl JointVerdict {
    /// The verdict by the sums of all nodes, in their order.
    pub(super) fn new(field: &Field, told: &[Vec<f64>], network: &Network) -> Result<Self> {
        let read = told.iter().map(|numbers| NodeSums::read(field, numbers));
        let read = read.collect::<Result<Vec<_>>>()?;
        let nodes: Vec<Option<&NodeSums>> = read.iter().map(|own| own.as_ref().ok()).collect();
        let judged: Vec<&NodeSums> = nodes.iter().flatten().copied().collect();
        let rows: f64 = judged.iter().map(|node| node.rows).sum();
        let mut joint = Self::without_errors(&read, rows);
        // One node cannot tell chance from effect.
        if judged.len() < 2 {
            return Ok(joint);
        }
        let paired = |first: usize, second: usize, loss: f64| {
            let pair = |node: Option<&NodeSums>| node.map(|own| own.paired(field, (first, second)));
            Paired::of(nodes.iter().copied().map(pair).collect(), loss)
        };
        let loss = |place: usize| judged.iter().map(|node| node.loss(place)).sum::<f64>();
        let error = |place: usize| loss(place) / rows;
        let own = field.contestants.len() - 1;
        let gain_of = |one: Contestant, other: Contestant| {
            let [one, other] = [one, other].map(|contestant| field.place(contestant));
            let (Some(one), Some(other)) = (one, other) else { return nothing() };
            if one == other {
                return Difference { error: error(one), ..nothing() };
            }
            paired(other, one, loss(other)).difference(network)
        };
        let shuffle =
            |place: usize| -> f64 { judged.iter().map(|node| node.shuffles[place]).sum() };
        let shuffles: Vec<f64> = (0..field.shuffles).map(|place| shuffle(place) / rows).collect();
        let shape = (field.shuffles > 0).then(|| {
            let of_node = |place: usize| {
                let loss = |node: Option<&NodeSums>| node.map_or(0.0, |own| own.shuffles[place]);
                nodes.iter().copied().map(loss).collect::<Vec<f64>>()
            };
            let losses: Vec<Vec<f64>> = (0..field.shuffles).map(of_node).collect();
            let mean = shuffles.iter().sum::<f64>() / field.shuffles as f64;
            let pair = paired(own + 1, own, rows * mean);
            pair.difference_from_places(&losses, network)
        });
        let errors = field.contestants.iter().enumerate();
        joint.errors = errors.map(|(place, contestant)| (*contestant, error(place))).collect();
        let numbered = shuffles.iter().enumerate();
        joint.errors.extend(numbered.map(|(k, error)| (Contestant::Shuffled(k), *error)));
        let others = &field.contestants[..own];
        joint.gains =
            others.iter().map(|other| (*other, gain_of(Contestant::Network, *other))).collect();
        let local = field.place(Contestant::Local).unwrap_or(0);
        let is_side = |is: fn(f64, f64) -> bool| {
            judged.iter().filter(|node| is(node.loss(own), node.loss(local))).count()
        };
        let compared = Compared {
            main: Contestant::Network,
            errors: joint.errors.clone(),
            gain_of: &gain_of,
            shape,
            sides: (is_side(|own, local| own < local), is_side(|own, local| own > local)),
        };
        joint.verdict = compared.verdict();
        Ok(joint)
    }

    /// Who can be judged, on so many rows.
    fn without_errors(read: &[Result<NodeSums, Part>], rows: f64) -> Self {
        let count = |part| read.iter().filter(|own| own.as_ref().err() == Some(&part)).count();
        Self {
            verdict: None,
            errors: Vec::new(),
            gains: Vec::new(),
            rows,
            judged: read.iter().flatten().count(),
            without_rows: count(Part::NoRows),
            few_rows: count(Part::FewRows),
            not_finite: count(Part::NotFinite),
        }
    }

    /// How many numbers it is told in.
    pub(super) fn size(field: &Field) -> usize {
        let others = field.contestants.len() - 1;
        6 + field.contestants.len() + field.shuffles + DIFFERENCE_SIZE * (others + 1) + 4
    }

    /// The numbers.
    pub(super) fn numbers(&self, field: &Field) -> Vec<f64> {
        let counts = [self.judged, self.without_rows, self.few_rows, self.not_finite];
        let mut numbers = vec![f64::from(u8::from(self.verdict.is_some())), self.rows];
        numbers.extend(counts.map(|count| count as f64));
        if let Some(verdict) = &self.verdict {
            let kind = KINDS.iter().position(|kind| *kind == verdict.kind).unwrap_or(0);
            let rival = field.place(verdict.rival).unwrap_or(0);
            let facts = [kind, rival, verdict.better, verdict.worse];
            numbers.extend(facts.map(|fact| fact as f64));
            numbers.extend(self.errors.iter().map(|(_, error)| *error));
            self.gains.iter().for_each(|(_, gain)| write(gain, &mut numbers));
            write(&verdict.shape.unwrap_or_else(nothing), &mut numbers);
        }
        numbers.resize(Self::size(field), 0.0);
        numbers
    }

    /// What the node that leads has told.
    pub(super) fn read(field: &Field, numbers: &[f64]) -> Result<Self> {
        let wrong = || Error::Malformed { what: "the verdict", reason: "is damaged" };
        if numbers.len() != Self::size(field) {
            return Err(wrong());
        }
        let count = |place: usize| whole(numbers[place]).ok_or_else(wrong);
        let mut joint = Self {
            verdict: None,
            errors: Vec::new(),
            gains: Vec::new(),
            rows: numbers[1],
            judged: count(2)?,
            without_rows: count(3)?,
            few_rows: count(4)?,
            not_finite: count(5)?,
        };
        if numbers[0] == 0.0 {
            return Ok(joint);
        }
        let kind = *KINDS.get(count(6)?).ok_or_else(wrong)?;
        let own = field.contestants.len() - 1;
        let rival = *field.contestants[..own].get(count(7)?).ok_or_else(wrong)?;
        let (better, worse) = (count(8)?, count(9)?);
        let shuffles = (0..field.shuffles).map(Contestant::Shuffled);
        let named = field.contestants.iter().copied().chain(shuffles);
        joint.errors = named.zip(numbers[10..].iter().copied()).collect();
        let after = 10 + joint.errors.len();
        let mut differences = numbers[after..].chunks_exact(DIFFERENCE_SIZE).map(read);
        let others = field.contestants[..own].iter().copied();
        joint.gains = others.zip(differences.by_ref()).collect();
        let shape = differences.next().filter(|_| field.shuffles > 0);
        let gain = joint.gains.iter().find(|(other, _)| *other == rival);
        let gain = gain.map(|(_, gain)| *gain).ok_or_else(wrong)?;
        joint.verdict = Some(Verdict { kind, rival, gain, shape, better, worse });
        Ok(joint)
    }

    /// The mean error of a method, if it was compared.
    #[must_use]
    pub fn error(&self, contestant: Contestant) -> Option<f64> {
        let found = self.errors.iter().find(|(other, _)| *other == contestant);
        found.map(|(_, error)| *error)
    }

    /// The errors of the shuffles.
    #[must_use]
    pub fn shuffles(&self) -> Vec<f64> {
        let is_shuffle = |own: &&(Contestant, f64)| matches!(own.0, Contestant::Shuffled(_));
        self.errors.iter().filter(is_shuffle).map(|(_, error)| *error).collect()
    }
}

/// No difference.
fn nothing() -> Difference {
    Difference { gain: 0.0, standard_error: 0.0, degrees: 1.0, error: 0.0 }
}

/// A standard error that is not known is infinite, which travels as a negative number.
fn write(difference: &Difference, numbers: &mut Vec<f64>) {
    let Difference { gain, standard_error, degrees, error } = *difference;
    let standard_error = if standard_error.is_finite() { standard_error } else { -1.0 };
    numbers.extend([gain, standard_error, degrees, error]);
}

fn read(numbers: &[f64]) -> Difference {
    let standard_error = if numbers[1] < 0.0 { f64::INFINITY } else { numbers[1] };
    Difference { gain: numbers[0], standard_error, degrees: numbers[2], error: numbers[3] }
}
