//! The node that leads: from sums over all nodes to the next order.

use std::sync::Arc;

use super::{
    elimination::unpacked,
    lead_modes::Climb,
    order::{Failure, Order, Sizes},
};
use crate::{
    bytes::{Reader, Writer},
    error::{Error, Result},
    mixed::{
        Answer, Chebyshev, Columns, Family, Known, Leader, Likelihood, Means, Next, Precision,
        Question, Setting, may_deviate, means,
    },
};

/// What the leader knows beside what all nodes do.
#[derive(Debug)]
pub(super) struct Lead {
    pub(super) leader: Option<Leader>,
    likelihood: Likelihood,
    /// Rows that count, and nodes that have any.
    counts: [f64; 2],
    weight: f64,
    pub(super) setting: Setting,
    pub(super) answers: Vec<Option<Answer>>,
    pub(super) question: Option<Question>,
    /// Logarithms of the determinants of M and S at the question.
    logarithms: (f64, f64),
    /// σ² of the answer that is the last, once it is found.
    pub(super) noise: Option<f64>,
    /// What is known of minima over deviations, for classes and counts.
    pub(super) climb: Climb,
}

/// What all nodes know.
#[derive(Debug, Clone)]
pub(super) struct Common {
    pub(super) sizes: Sizes,
    pub(super) known: Known,
    /// How many nodes there are.
    pub(super) nodes: usize,
    /// Where the mean coefficient of each column is that deviates along the network.
    pub(super) mean_places: Vec<Option<usize>>,
    /// Whether all deviations are eliminated; otherwise series and drawn probes take their place.
    pub(super) is_exact: bool,
    /// What labels are, where they are classes or counts.
    pub(super) family: Option<Family>,
    /// The columns with a mean coefficient and those that deviate, of so many, where labels are classes or counts.
    pub(super) columns: Option<Columns>,
}

impl Lead {
    pub(super) fn new(
        precision: &Arc<Precision>,
        likelihood: Likelihood,
        rho: Option<f64>,
    ) -> Self {
        Self {
            leader: Leader::new(precision, likelihood, rho).ok(),
            likelihood,
            counts: [0.0; 2],
            weight: 0.0,
            setting: Setting::default(),
            answers: Vec::new(),
            question: None,
            logarithms: (0.0, 0.0),
            noise: None,
            climb: Climb::default(),
        }
    }

    /// What comes after an order that was answered by these sums.
    pub(super) fn next(&mut self, order: &Order, sums: &[f64], common: &Common) -> Order {
        let fixed = common.sizes.fixed;
        match order {
            Order::Levels => self.spreads(sums),
            Order::Spreads { means, .. } => {
                let (label_squares, mut products) = (sums[0], sums[1..].to_vec());
                let ranges = products.split_off(means.len() * means.len());
                let [rows, with_rows] = self.counts;
                let deviating = may_deviate(&ranges, rows > with_rows);
                Order::Scales { weight: self.weight, products, label_squares, deviating }
            }
            Order::Scales { .. } if common.columns.is_some() => self.climb(common),
            Order::Scales { .. } => {
                self.setting = self.setting(sums, common);
                let has_rows = self.setting.freedom >= 1.0;
                if has_rows { self.ask(common) } else { Order::Fail(Failure::FewRows) }
            }
            Order::Reach(question) => series(question.clone(), sums[0]),
            Order::Look(_) => {
                // The equations of the mean coefficients are what no node could eliminate.
                let rows = unpacked(sums.get(2..).unwrap_or_default(), fixed + 1);
                self.meant(means(&[&rows, &sums[..1]].concat(), fixed), common)
            }
            Order::Series { .. } => self.meant(means(sums, fixed), common),
            Order::Slopes(means) => match self.noise {
                Some(noise) => self.finish(noise, &means.values, (sums, common)),
                None => self.answered(sums, common),
            },
            Order::Total(_) => {
                self.climb.totals.push(sums.to_vec());
                self.climb(common)
            }
            Order::Start { .. } | Order::Move { .. } => self.looked(sums, common),
            Order::Turn => self.turned(sums, common),
            Order::Bend => self.bent(sums, common),
            Order::Centre => self.centred(sums, common),
            Order::Finish { .. } | Order::Fail(_) => order.clone(),
        }
    }

    /// What all nodes are alike in, from the squares of columns.
    fn setting(&self, squares: &[f64], common: &Common) -> Setting {
        let [rows, with_rows] = self.counts;
        let unit = |total: &f64| if *total > 0.0 { (with_rows / total).sqrt() } else { 1.0 };
        let freedom = match self.likelihood {
            Likelihood::Restricted => rows - common.sizes.fixed as f64,
            Likelihood::Full => rows,
        };
        let units = squares.iter().map(unit).collect();
        let (noise, mean) = (None, Vec::new());
        Setting { units, freedom, is_noisy: !common.is_exact, noise, mean }
    }

    /// Whether the question is only about where the search for σ² starts.
    fn is_first(&self, common: &Common) -> bool {
        common.columns.is_none() && common.known.has_any() && self.setting.noise.is_none()
    }

    /// What comes after the mean coefficients.
    fn meant(&mut self, means: Option<(Means, f64, f64)>, common: &Common) -> Order {
        match means {
            Some((means, log_m, log_s)) => self.slopes(means, (log_m, log_s), common),
            None if self.noise.is_some() || self.is_first(common) => Order::Fail(Failure::Singular),
            None => {
                self.answers.push(None);
                self.ask(common)
            }
        }
    }

    /// What comes after the gradient.
    fn answered(&mut self, sums: &[f64], common: &Common) -> Order {
        let known = self.leader.as_ref().zip(self.question.as_ref());
        let setting = (&self.setting, &common.known);
        let answer = known.and_then(|(leader, question)| {
            leader.answer(question, setting, (self.logarithms, sums))
        });
        if !self.is_first(common) {
            self.answers.push(answer);
            return self.ask(common);
        }
        let Some(answer) = answer else { return Order::Fail(Failure::Singular) };
        let q = common.sizes.random;
        let open = &sums[4 + 2 * q..4 + 3 * q];
        let (noise, freedom) = (answer.noise, self.setting.freedom);
        self.setting.noise = common.known.first_noise(noise, freedom, (open, common.nodes));
        if self.setting.noise.is_some() { self.ask(common) } else { Order::Fail(Failure::FewRows) }
    }

    /// How many nodes have rows.
    pub(super) fn with_rows(&self) -> f64 {
        self.counts[1]
    }

    fn spreads(&mut self, sums: &[f64]) -> Order {
        let [weight, rows, with_rows, labels] = [sums[0], sums[1], sums[2], sums[3]];
        (self.weight, self.counts) = (weight, [rows, with_rows]);
        if weight <= 0.0 {
            return Order::Fail(Failure::FewRows);
        }
        let means = sums[4..].iter().map(|sum| sum / weight).collect();
        Order::Spreads { means, label_mean: labels / weight }
    }

    /// The end: mean coefficients, and what all nodes deviate by there. [`Structure::centre`](crate::mixed)
    fn finish(&self, noise: f64, mean: &[f64], (sums, common): (&[f64], &Common)) -> Order {
        let mut mean = mean.to_vec();
        let factor = self.question.iter().flat_map(|question| &question.factor);
        let common_deviations = &sums[4 + 3 * common.sizes.random..];
        for ((t, place), sum) in factor.zip(&common.mean_places).zip(common_deviations) {
            if let Some(place) = *place {
                mean[place] += t * sum / common.nodes as f64;
            }
        }
        Order::Finish { noise, mean }
    }

    /// The gradient at the mean coefficients; at the end, what nodes deviate by there.
    fn slopes(&mut self, mut means: Means, logarithms: (f64, f64), common: &Common) -> Order {
        self.logarithms = logarithms;
        // What mean coefficients take from the rows counts in the restricted likelihood only.
        let is_last = self.noise.is_some();
        if is_last || self.likelihood == Likelihood::Full || self.is_first(common) {
            means.covariance.fill(0.0);
        }
        Order::Slopes(means)
    }

    /// The next question, or the one with the largest likelihood once more: then all know its solution.
    pub(super) fn ask(&mut self, common: &Common) -> Order {
        let Some(leader) = &self.leader else { return Order::Fail(Failure::Dense) };
        let question = if self.is_first(common) {
            common.known.first_question(&self.setting.units)
        } else {
            match leader.next((&self.setting, &common.known), &self.answers) {
                Ok(Next::Ask(question)) => question,
                Ok(Next::Found { question, answer }) => {
                    self.noise = self.answers[answer].as_ref().map(|answer| answer.noise);
                    question
                }
                Err(_) => return Order::Fail(Failure::Singular),
            }
        };
        self.question = Some(question.clone());
        match question {
            question if common.columns.is_some() => self.start(question, false),
            question if common.is_exact => Order::Look(question),
            // Without edges there is nothing to bound.
            question if question.rho == 0.0 => series(question, 0.0),
            question => Order::Reach(question),
        }
    }

    pub(super) fn write(&self, to: &mut Writer) {
        to.numbers(&self.counts);
        to.numbers(&[self.weight, self.setting.freedom, self.logarithms.0, self.logarithms.1]);
        to.flag(self.setting.is_noisy);
        to.list(&self.setting.units);
        to.list(self.setting.noise.as_slice());
        to.list(&self.setting.mean.iter().flat_map(|(w, error)| [*w, *error]).collect::<Vec<_>>());
        Question::write(self.question.as_ref(), to);
        self.climb.write(to);
        to.list(self.noise.as_slice());
        to.count(self.answers.len());
        for answer in &self.answers {
            to.list(&answer.as_ref().map_or_else(Vec::new, |answer| {
                let Answer { deviance, by_rho, by_noise, noise, by_factor, by_mean } = answer;
                [&[*deviance, *by_rho, *by_noise, *noise], &by_factor[..], by_mean].concat()
            }));
            to.count(answer.as_ref().map_or(0, |answer| answer.by_mean.len()));
        }
    }

    pub(super) fn read(&mut self, from: &mut Reader<'_>) -> Result<()> {
        self.counts = [from.number()?, from.number()?];
        (self.weight, self.setting.freedom) = (from.number()?, from.number()?);
        self.logarithms = (from.number()?, from.number()?);
        self.setting.is_noisy = from.flag()?;
        self.setting.units = from.list()?;
        self.setting.noise = from.list()?.first().copied();
        self.setting.mean = from.list()?.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect();
        self.question = Question::read(from)?;
        self.climb.read(from)?;
        self.noise = from.list()?.first().copied();
        self.answers.clear();
        for _ in 0..from.count()? {
            let (mut numbers, means) = (from.list()?, from.count()?);
            let by_mean = numbers.split_off(numbers.len().checked_sub(means).ok_or_else(damaged)?);
            self.answers.push(match &numbers[..] {
                [] => None,
                [deviance, by_rho, by_noise, noise, by_factor @ ..] => Some(Answer {
                    deviance: *deviance,
                    by_factor: by_factor.to_vec(),
                    by_rho: *by_rho,
                    by_noise: *by_noise,
                    noise: *noise,
                    by_mean,
                }),
                _ => return Err(damaged()),
            });
        }
        Ok(())
    }
}

/// The series of a question whose edges add so much.
fn series(question: Question, radius: f64) -> Order {
    let terms = Chebyshev::new(radius).terms();
    Order::Series { question, radius, terms }
}

fn damaged() -> Error {
    Error::Malformed { what: "the kept state", reason: "holds an answer of another size" }
}
